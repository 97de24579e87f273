"""The peak of the machine: a matrix product big enough that nothing but multiplying counts."""

import time

import torch

_SIZE = 2048
OPERATIONS = 1e12  # the unit in which the limit is told


def measure(seconds: float) -> tuple[float, float]:
    """Operations per second of wall clock and per second of CPU time."""
    from nmt_cli.model.device import use_fast_products  # other toolkits' environments lack nmt_cli

    use_fast_products()
    a, b = torch.ones(_SIZE, _SIZE), torch.ones(_SIZE, _SIZE)
    out = torch.empty(_SIZE, _SIZE)
    torch.mm(a, b, out=out)
    products, wall, cpu = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - wall < seconds:
        torch.mm(a, b, out=out)
        products += 1
    operations = products * 2 * _SIZE**3
    return operations / (time.perf_counter() - wall), operations / (time.process_time() - cpu)
