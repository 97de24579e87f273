"""Heuristic checks of a corpus: warnings about common problems."""
