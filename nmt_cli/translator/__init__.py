"""Texts to texts with a model, to be read in this order:

words         pieces of a vocabulary → words between spaces, and attention between them
alignment     links between words from attention
translation   what is known of a translated line
segments      lines that are too long, cut where it hurts least
parts         what is searched for: lines, or parts of long ones
filling       batches whose shape cannot change a result
decoding      from ids that search found to text
joining       one translation from those of the parts
quantization  products in 8-bit integers
loading       run directories → models that belong together
forced        how probable given translations are
translator    `Translator`: encode, search in batches of similar length, decode, put back in order
lines, pairs  bytes → lines, one text or two
stream        an endless text, window by window
formats       how a line is written
"""

from nmt_cli.translator.translation import Details, Translation
from nmt_cli.translator.translator import Translator

__all__ = ["Details", "Translation", "Translator"]
