"""Evaluation of translations: scores with signatures, intervals and tests, and what lies behind a score.

request        what to evaluate, and the test set, language and tokenizer that follow from it
result         what comes out; these models define --json
captions       exact captions, and where attention looks
media          test sets of images or recordings
systems        hypothesis files, and run directories that translate and record their scores
texts          hypotheses, references and sources, read block by block and in step
scoring        statistics of blocks, sums for each system, intervals and p-values
breakdowns     BLEU by sentence length, word recall by frequency; the best and worst sentences as examples
warnings       output errors (empty, untranslated, repetitive) and what else makes a score misleading
evaluate       all of it together: `evaluate(EvaluateRequest(...))`
report         the result as an HTML page and as Markdown, without the absolute paths of this machine
alignments     word alignments against gold alignments, an evaluation of its own
"""
