"""`nmt preprocess`: from parallel or monolingual text to a data directory."""

from nmt_cli.preprocess.card import DataCard
from nmt_cli.preprocess.pipeline import preprocess
from nmt_cli.preprocess.request import Progress, Report, Reporter, Request

__all__ = ["DataCard", "Progress", "Report", "Reporter", "Request", "preprocess"]
