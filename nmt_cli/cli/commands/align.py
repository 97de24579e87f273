"""`nmt align`: word alignments of parallel text, without a model."""

from functools import partial

from nmt_cli.cli.display.console import messages
from nmt_cli.cli.display.lines import LineWarnings
from nmt_cli.cli.options import evaluation, shared, translation
from nmt_cli.cli.options.checks import check_texts
from nmt_cli.errors import UsageError


def align(
    source: evaluation.SourceToAlign,
    target: evaluation.TargetToAlign,
    strict: translation.Strict = False,
    out: translation.OutputFile = None,
    lowercase: evaluation.Lowercase = False,
    quiet: shared.Quiet = False,
) -> None:
    """Align the words of parallel text by expectation maximization.

    [cyan]nmt align --source a.en --target a.de > a.talp[/]

    Each output line lists the links of a pair in Pharaoh format: [cyan]1-2[/] is a link
    from source word 1 to target word 2, counted from 0. Words are separated by
    spaces. The model is estimated on the text itself: the more text, the better.
    """
    if str(source) == str(target) == "-":
        raise UsageError("only one side can come from standard input", hint="give a file for the other side")
    check_texts([source, target])

    from nmt_cli.data.aligner import align_texts
    from nmt_cli.files.line_reader import Pairs, TextInput
    from nmt_cli.files.line_writer import line_output
    from nmt_cli.runtime.words import pharaoh

    warnings = LineWarnings(messages())
    texts = [
        TextInput(path, strict=strict, undecodable=partial(warnings.undecodable, file=str(path)))
        for path in (source, target)
    ]
    pairs = [(one.lower(), other.lower()) if lowercase else (one, other) for one, other in Pairs(*texts)]
    links = aligned = 0
    with line_output(out) as write, warnings:
        for found in align_texts([one for one, _ in pairs], [other for _, other in pairs]):
            write([pharaoh(found)])
            links += len(found)
            aligned += bool(found)
    if not quiet:
        warnings.console.print(f"{len(pairs):,} lines, {aligned:,} of them aligned with {links:,} links")
