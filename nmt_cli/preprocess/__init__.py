"""`nmt preprocess`: from parallel or monolingual text to a data directory."""

from nmt_cli.preprocess.card import DataCard
from nmt_cli.preprocess.pipeline import preprocess
from nmt_cli.preprocess.request import Report, Reporter, Request

__all__ = ["DataCard", "Report", "Reporter", "Request", "preprocess"]
