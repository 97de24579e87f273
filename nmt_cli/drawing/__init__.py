"""Charts, attention maps and pages, shared by curves, cards, reports and explanations. Reading order:

charts      SVG: elements, text, tick values and axes; the charts of the evaluation report
curves      curves.svg: training loss and validation scores
attention   an attention matrix as a heat map, or several side by side
lines       a line for each system: gradients by distance, BLEU over time
images      attention over an image, a picture for each word
markup      HTML pages from Jinja templates, tables in Markdown
"""
