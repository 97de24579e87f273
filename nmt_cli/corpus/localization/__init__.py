"""Localization formats as streams of units: a source text, its translation, and whether it is finished.

unit             a unit, and the reasons for which one is skipped
xml_stream       XML in bounded memory, without entities and without network access
inline_markup    the text of a segment: which inline elements are code and which are text
tmx              translation memories
xliff            XLIFF 1.2 and 2.x
po               gettext PO
units            the units of any of these files
"""
