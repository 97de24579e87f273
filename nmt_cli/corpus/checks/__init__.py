"""Heuristic checks of a corpus: warnings about common problems. Reading order:

inspector           all checks in one pass over the blocks of a corpus
alignment           misaligned regions, based on the lengths of lines
characters          signs of wrong conversions and of tokenized text
language            whether each side is in the expected language, and which language a text is in
language_profiles   function words, scripts and codes of languages
"""
