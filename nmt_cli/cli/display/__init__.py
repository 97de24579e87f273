"""Terminal output.

console       messages, results, and progress through named stages
lines         progress while lines are processed, and warnings about single lines
training      reports of training: two live lines in a terminal, plain lines elsewhere
evaluation    the results of `nmt evaluate` and `nmt align-eval`
explanation   an explanation in a terminal, or as plain text in a pipe
"""
