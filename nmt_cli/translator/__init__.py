"""Text to text with a model. Reading order:

translator          `Translator`: segment, encode, search in batches of similar length, decode, restore the order
media               `MediaTranslator`: the same with sources that are not text
captioner           `Captioner`: with images
transcriber         `Transcriber`: with recordings
segmentation        lines → segments: normalized, and split where a line is too long
terminology         terms that translations must contain, and words that they must not
constraints         terms and banned words as token ids, for search
translation         `Translation`: from hypotheses, and from the segments of a line; words, alignments, <unk>
minimum_bayes_risk  the candidate with the highest expected chrF or BLEU
reranking           an order of candidates that other models prefer
forced_decoding     how probable given translations are
loading             run directories → models
streaming           an endless input, window by window; lines of JSON with terms and prefixes of their own
confidence          how confident the model is on the validation set, and the threshold for a warning
"""

from nmt_cli.translator.captioner import Captioner
from nmt_cli.translator.media import MediaTranslator
from nmt_cli.translator.transcriber import Transcriber
from nmt_cli.translator.translation import Details, Translation
from nmt_cli.translator.translator import Translator

__all__ = ["Captioner", "Details", "MediaTranslator", "Transcriber", "Translation", "Translator"]
