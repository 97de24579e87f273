"""Evaluation of translations: scores with signatures, intervals and tests, and what lies behind a score.

request        what to evaluate
result         what comes out; the schema of --json
texts          hypotheses, references and sources, read block by block
systems        hypothesis files, and run directories that translate
test_set       references, source, target language and tokenizer
comparison     sacreBLEU statistics of a block; intervals and p-values
tally          everything counted for one system
output_errors, length_buckets, training_text, examples, warnings   the analysis behind the score
evaluate       all of it together: `evaluate(Request(...))`
recording      the score of a run, written into its run directory
markdown, report/   the result for people
alignments     word alignments against gold alignments, a separate evaluation
"""
