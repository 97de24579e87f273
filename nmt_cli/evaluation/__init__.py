"""Evaluation of translations: scores with signatures, intervals and tests, and what lies behind a score.

request        what to evaluate, and the test set, language and tokenizer that follow from it
result         what comes out; these models define --json
systems        hypothesis files, and run directories that translate and record their scores
texts          hypotheses, references and sources, read block by block and in step
scoring        statistics of blocks, sums for each system, intervals and p-values
breakdowns     BLEU by sentence length, word recall by frequency in the training data
output_errors  empty, untranslated and repetitive hypotheses, missing numbers
examples       the best and worst sentences, and where they differ from the reference
warnings       what makes a score misleading
evaluate       all of it together: `evaluate(Request(...))`
report         the result as an HTML page and as Markdown
alignments     word alignments against gold alignments, an evaluation of its own
"""
