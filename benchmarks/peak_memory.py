"""Peak memory of an `nmt` command and its workers."""

import subprocess
import sys
from collections.abc import Sequence

WORKERS = 2
_MEASURED_RUN = """
import multiprocessing, resource, sys
from nmt_cli.cli import main
sys.argv = ["nmt", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
for worker in multiprocessing.active_children():
    worker.join()  # only those count that have ended
own, largest_child = (
    resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
)
print(own + int(sys.argv[-1]) * largest_child)
"""


def peak_memory(command: Sequence[object]) -> int:
    """Bytes: the process itself and, for each worker, as much as the largest of them."""
    arguments = [*map(str, command), "--workers", str(WORKERS)]
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED_RUN, *arguments], stdout=subprocess.PIPE, text=True, check=True
    )
    return 1024 * int(done.stdout.split()[-1])
