"""Parallel text: where it is, how it is read, and what usually is wrong with it."""

from nmt_cli.corpus.checks.corpus import Inspector, compare_sets
from nmt_cli.corpus.readers import read_pairs
from nmt_cli.corpus.rows import Block
from nmt_cli.corpus.spec import Spec, parse_spec

__all__ = ["Block", "Inspector", "Spec", "compare_sets", "parse_spec", "read_pairs"]
