"""One system in a process of its own; it translates a batch whenever it is asked to.

    python -m peers.translation_worker SYSTEM SENTENCES.json THREADS OPTIONS

A line on stdin is an order: a list of batches in JSON, each a list of the numbers of sentences. Its answer is a
line of JSON on stdout. All else that a toolkit prints goes to stderr.
"""

import json
import os
import resource
import sys
import time
import warnings
from pathlib import Path

import torch

from peers.batches import EOS, PAD


def main() -> None:
    """Build the system, then obey."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    system, path, threads, options = sys.argv[1:]
    began = time.perf_counter()
    from peers.searches import SEARCHES

    torch.set_num_threads(int(threads))
    torch.manual_seed(1)
    warnings.simplefilter("ignore")
    translate = SEARCHES[system](**json.loads(options))
    sentences = [[*ids, EOS] for ids in json.loads(Path(path).read_text())]
    print(json.dumps({"build": time.perf_counter() - began}), file=answers, flush=True)
    for line in sys.stdin:
        answer = {"wall": 0.0, "cpu": 0.0, "found": 0}
        for rows in json.loads(line):
            batch = [sentences[row] for row in rows]
            longest = max(map(len, batch))
            source = torch.tensor([ids + [PAD] * (longest - len(ids)) for ids in batch])
            lengths = torch.tensor([len(ids) for ids in batch])
            wall, cpu = time.perf_counter(), time.process_time()
            with torch.inference_mode():
                found = translate(source, lengths)
            answer["wall"] += time.perf_counter() - wall
            answer["cpu"] += time.process_time() - cpu
            answer["found"] += sum(n + 1 == len(ids) for n, ids in zip(found, batch, strict=True))
        answer["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
