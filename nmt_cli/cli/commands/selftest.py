"""`nmt selftest`: whether training and search work on this device."""

import typer

from nmt_cli.cli.display.console import messages, results
from nmt_cli.cli.options import shared
from nmt_cli.config.defaults import DEVICE


def selftest(device: shared.Device = DEVICE, threads: shared.Threads = None) -> None:
    """Check training and search on a device, in about two minutes.

    [cyan]nmt selftest --device cuda[/]

    Every preset for text must agree with the CPU and learn in the best precision
    of the device. Send us the report, whether it passes or not.
    """
    from nmt_cli.info.machine import machine_info
    from nmt_cli.model.device import choose_device
    from nmt_cli.training.selftest import selftest as run

    machine = machine_info()
    place = choose_device(device)
    hardware = ", ".join(machine.devices) if place.type == "cuda" else machine.processor
    results().print(
        f"nmt {machine.nmt}, torch {machine.packages['torch']}, {place}: {hardware}", highlight=False
    )
    failed = total = 0
    for check in run(device, threads):
        total += 1
        failed += not check.passed
        verdict = "ok    " if check.passed else "FAILED"
        line = f"{verdict} {check.name:18} {check.preset:14} {check.seconds:5.1f} s  {check.detail}"
        results().print(line, highlight=False, markup=False, soft_wrap=True)
    if failed:
        messages().print(f"{failed} of {total} checks failed")
        raise typer.Exit(1)
    messages().print(f"all {total} checks passed")
