"""Parallel text. Reading order:

spec           SPEC: how users name a corpus on the command line
locate         the files of a SPEC, and hints if they are missing
block          a block of pairs, and a unit of a localization file
readers        any SPEC as a stream of blocks: text files, also in a ZIP archive
tables         TSV, JSON lines and CSV
localization   TMX, PO and XLIFF as streams of units and of blocks
hub            datasets on the Hugging Face Hub
captions       captioned images: COCO, Flickr, JSON lines
images         decoding of images, and features
transcripts    recordings with transcripts: JSON lines, LibriSpeech, Common Voice
cleaning       normalization and filters
duplicates     fingerprints: duplicates and held-out sets
workers        worker processes that keep the order of a stream
checks         warnings about common problems
"""

from nmt_cli.corpus.block import Block
from nmt_cli.corpus.readers import read_pairs
from nmt_cli.corpus.spec import Spec, parse_spec

__all__ = ["Block", "Spec", "parse_spec", "read_pairs"]
