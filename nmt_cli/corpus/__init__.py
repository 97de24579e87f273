"""Parallel text. Reading order:

spec         SPEC: how users name a corpus on the command line
locate       the files of a SPEC, and hints if they are missing
readers      any SPEC as a stream of blocks of pairs
hub          datasets on the Hugging Face Hub
cleaning     normalization and filters
duplicates   fingerprints: duplicates and held-out sets
workers      worker processes that keep the order of a stream
checks       warnings about common problems
"""

from nmt_cli.corpus.checks.inspector import Inspector, compare_sets
from nmt_cli.corpus.readers import Block, read_pairs
from nmt_cli.corpus.spec import Spec, parse_spec

__all__ = ["Block", "Inspector", "Spec", "compare_sets", "parse_spec", "read_pairs"]
