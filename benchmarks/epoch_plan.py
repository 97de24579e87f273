"""Time and memory of planning an epoch of so many pairs with synthetic lengths: the table in docs/scaling.md.

python benchmarks/epoch_plan.py 50000000
"""

import resource
import sys
import time

import numpy as np

from nmt_cli.config import TrainConfig
from nmt_cli.data.batch_plan import plan_epoch


def main() -> None:
    """Print one line."""
    pairs = int(sys.argv[1])
    random = np.random.default_rng(1)
    target = np.clip(random.lognormal(3.1, 0.6, pairs), 1, 250).astype(np.uint16)
    source = np.clip(target * random.normal(1, 0.15, pairs).astype(np.float32), 1, 250).astype(np.uint16)
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
