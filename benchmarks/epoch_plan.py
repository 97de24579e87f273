"""Time and memory of planning an epoch of so many pairs with synthetic lengths: the table in docs/scaling.md.

python benchmarks/epoch_plan.py 50000000
"""

import resource
import sys
import time

import numpy as np

from nmt_cli.config import TrainConfig
from nmt_cli.data.batch_plan import plan_epoch

BLOCK = 1_000_000


def main() -> None:
    """Print one line."""
    pairs = int(sys.argv[1])
    random = np.random.default_rng(1)
    target, source = np.empty(pairs, np.uint16), np.empty(pairs, np.uint16)
    for i in range(0, pairs, BLOCK):  # so that the peak of memory is that of planning
        block = target[i : i + BLOCK]
        block[:] = np.clip(random.lognormal(3.1, 0.6, len(block)), 1, 250)
        source[i : i + BLOCK] = np.clip(block * random.normal(1, 0.15, len(block)), 1, 250)
    start = time.process_time()
    plan = plan_epoch(source, target, TrainConfig(batch_tokens=32768), 1)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    size = (plan.rows.nbytes + plan.starts.nbytes) >> 20
    print(
        f"{pairs:,} pairs: {len(plan):,} batches, {seconds:.1f} CPU s, plan {size:,} MB, peak of process {peak:,} MB"
    )


if __name__ == "__main__":
    main()
