"""The referee: scores with signature and uncertainty, comparisons, and what lies behind a score.

request          what is asked for
result           what is answered; the schema of --json
texts            lines of files, block by block
systems          files of hypotheses and runs that translate
test_set         references, sources, language and tokenizer
counting         sacreBLEU's statistics of a block, in one or more processes
tally            what is counted of one system
comparing        intervals and p-values
faults, length_buckets, training_text, examples, notices   what is looked at besides
evaluate         all of it together
recording        the score of a run, where the run is
alignments       word alignments against gold ones
report/          the HTML page; `markdown` the same for a pull request
"""

from nmt_cli.evaluation.evaluate import evaluate
from nmt_cli.evaluation.request import Progress, Request
from nmt_cli.evaluation.result import AlignmentEvaluation, Evaluation

__all__ = ["AlignmentEvaluation", "Evaluation", "Progress", "Request", "evaluate"]
