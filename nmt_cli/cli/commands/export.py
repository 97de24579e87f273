"""`nmt export`: a model that translates without torch."""

from importlib.util import find_spec
from typing import Literal

from nmt_cli.cli.display.console import Verbosity, messages
from nmt_cli.cli.options import shared, translation
from nmt_cli.cli.options.checks import check_data, check_runs
from nmt_cli.errors import UsageError
from nmt_cli.files.atomic import check_new_directory
from nmt_cli.files.manifest import export_refusal


def export(
    run: translation.Run,
    out: translation.ExportOut,
    int8: translation.ExportInt8 = False,
    shortlist: translation.Shortlist = "auto",
    data: translation.ExportData = None,
    license_name: translation.License = None,
    config: shared.Config = None,
    settings: shared.Set = None,
    overwrite: shared.Overwrite = False,
    quiet: shared.Quiet = False,
) -> None:
    """Export a model to a folder that needs no torch.

    [cyan]nmt export RUN_DIR --out DIR --int8[/]

    The folder can be used like a run directory, [cyan]nmt translate DIR[/], or without
    nmt, by [cyan]python DIR/translate.py < input > output[/]
    """
    level = shared.verbosity(quiet=quiet)
    size = _shortlist_size(shortlist)
    for name in ("onnx", "onnxruntime"):
        if find_spec(name) is None:
            raise UsageError(f"nmt export needs the package {name}", hint="pip install 'nmt-cli[export]'")
    check_runs([run], text_hint="nmt export RUN_DIR --out DIR")
    if data is not None:
        check_data(data)
    check_new_directory(out, overwrite=overwrite, refusal=export_refusal)
    search = shared.search_settings(config, settings, {})

    from nmt_cli.export.folder import export as export_run

    def report(message: str) -> None:
        if level > Verbosity.QUIET:
            messages().print(message)

    result = export_run(
        run,
        out,
        int8=int8,
        shortlist=size,
        data=data,
        search=search,
        license_name=license_name,
        overwrite=overwrite,
        report=report,
    )
    report(f"wrote {out} ({result.bytes / 1e6:.1f} MB); translate with: nmt translate {out}")


def _shortlist_size(text: str) -> Literal["auto", "none"] | int:
    if text == "auto":
        return "auto"
    if text == "none":
        return "none"
    if not text.isdecimal() or not 1 <= int(text) <= 10_000:
        raise UsageError(
            f"--shortlist {text} is not a size", hint="give a number from 1 to 10000, auto or none"
        )
    return int(text)
