"""Train, run and understand attention-based neural machine translation."""

__version__ = "0.1.0.dev0"
