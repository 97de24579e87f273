"""Parallel text: SPECs, readers, cleaning, duplicates, and checks for common problems."""

from nmt_cli.corpus.checks.inspector import Inspector, compare_sets
from nmt_cli.corpus.readers import Block, read_pairs
from nmt_cli.corpus.spec import Spec, parse_spec

__all__ = ["Block", "Inspector", "Spec", "compare_sets", "parse_spec", "read_pairs"]
