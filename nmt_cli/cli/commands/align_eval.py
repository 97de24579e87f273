"""`nmt align-eval`: precision, recall and error rate of word alignments."""

from nmt_cli.cli.display.evaluation import show_alignments
from nmt_cli.cli.options import evaluation
from nmt_cli.cli.options.checks import check_texts, choose_one
from nmt_cli.config.defaults import ALIGNMENTS_BASE, GOLD_BASE


def align_eval(
    alignments: evaluation.Alignments,
    gold: evaluation.Gold,
    source: evaluation.AlignedSource = None,
    target: evaluation.AlignedTarget = None,
    base: evaluation.AlignmentsBase = ALIGNMENTS_BASE,
    gold_base: evaluation.GoldBase = GOLD_BASE,
    reverse: evaluation.Reverse = False,
    plain: evaluation.PlainAer = False,
    json: evaluation.Json = False,
    markdown: evaluation.Markdown = False,
) -> None:
    """Evaluate word alignments: precision, recall and AER.

    [cyan]nmt score RUN_DIR --source a.en --target a.de --alignments > hyp.talp[/]
    [cyan]nmt align-eval hyp.talp --gold gold.talp[/]
    """
    output = choose_one(("plain", "json", "markdown"), (plain, json, markdown), default="table")
    check_texts([*alignments, gold, source, target])

    from nmt_cli.evaluation.alignments import AlignmentRequest, evaluate_alignments

    request = AlignmentRequest(alignments, gold, base, gold_base, reverse, source, target)
    show_alignments(evaluate_alignments(request), output)
