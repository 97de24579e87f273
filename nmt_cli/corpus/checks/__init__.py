"""Heuristic checks of a corpus: warnings about what usually goes wrong."""
