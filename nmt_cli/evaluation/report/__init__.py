"""The report: one HTML page that needs nothing else.

style          how it looks, in light and in dark
charts         pictures of figures, as SVG
differences    two sentences, and the words that only one of them has
example_cards  sentences side by side
page           all of it together
"""

from nmt_cli.evaluation.report.page import report_page

__all__ = ["report_page"]
