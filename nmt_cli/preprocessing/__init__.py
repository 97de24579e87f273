"""`nmt preprocess`: from parallel or monolingual text, images or recordings to a data directory. Reading order:

request         the input, the reports, and the settings that follow from the input
pipeline        all stages in order
splits          cleaned training pairs, which are kept, and a log of those dropped; validation and test sets
alignments      given word alignments, read along with the training pairs
media           the same stages for sources that are not text
captions        captioned images
transcripts     recordings with transcripts
encoding        the file of cleaned pairs; their token ids, the filters that need them, and statistics
tags            tags of corpora, and a warning where few tagged pairs are left
token_links     from links between words to links between their tokens
card            the data card
"""

from nmt_cli.preprocessing.card import DataCard
from nmt_cli.preprocessing.pipeline import preprocess
from nmt_cli.preprocessing.request import PreprocessRequest, Report, Reporter

__all__ = ["DataCard", "PreprocessRequest", "Report", "Reporter", "preprocess"]
