"""Charts, attention maps and pages, shared by curves, cards, reports and explanations. Reading order:

svg         elements, text, tick values and axes
curves      curves.svg: training loss and validation scores
charts      the charts of the evaluation report
attention   an attention matrix as a heat map
markup      HTML pages from Jinja templates, tables in Markdown
"""
