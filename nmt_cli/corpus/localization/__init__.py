"""Localization formats as streams of units: a source text, its translation, and whether it is finished.

xml_stream       XML in bounded memory, without entities and without network access; inline elements as code or text
tmx              translation memories
xliff            XLIFF 1.2 and 2.x
po               gettext PO
reader           the units of any of these files, and blocks of pairs
"""
