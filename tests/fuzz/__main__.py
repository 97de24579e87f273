"""`python -m tests.fuzz`: random trials until the time is up, then a table of verdicts and a command per finding."""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.fork_server import fork_server
from tests.fuzz.originals import Originals
from tests.fuzz.trial import Trial, all_trials, run_trial


def main() -> int:
    """Run trials; 1 if there are findings."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument(
        "--seed", type=int, default=random.SystemRandom().randrange(10**6), help="of all trials"
    )
    parser.add_argument("--minutes", type=float, default=3.0, help="how long to go on")
    parser.add_argument("--only", default="", help="only trials whose name contains this text")
    parser.add_argument("--trial", type=Trial.parse, help="run this trial alone, and keep its folder")
    options = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="nmt-fuzz-"))
    home = {"HOME": str(place / "home"), "XDG_CACHE_HOME": str(place / "cache")}
    with fork_server(home) as server:
        originals = Originals.make(place, server)
        if options.trial is not None:
            verdict = run_trial(options.trial, originals, server, place / "trial")
            print(f"{options.trial}\n{verdict.name}\n{verdict.details}\nfolder: {place / 'trial'}")
            return int(verdict.is_finding)
        print(f"seed {options.seed}; to repeat: make fuzz SEED={options.seed}", flush=True)
        counts: Counter[tuple[str, str]] = Counter()
        end = time.monotonic() + 60 * options.minutes
        for trial in all_trials(originals, random.Random(options.seed)):
            if time.monotonic() > end:
                break
            if options.only not in str(trial):
                continue
            with tempfile.TemporaryDirectory(dir=place, ignore_cleanup_errors=True) as folder:
                verdict = run_trial(trial, originals, server, Path(folder) / "trial")
            counts["forged" if trial.forged else "damaged", verdict.name] += 1
            if verdict.is_finding:
                print(f"\n{verdict.name}: {verdict.details.strip()}\n  make fuzz TRIAL='{trial}'", flush=True)
    shutil.rmtree(place, ignore_errors=True)
    return _summarize(counts)


def _summarize(counts: Counter[tuple[str, str]]) -> int:
    done = {key: count for key, count in counts.items() if key[1] != "not applicable"}
    print(f"\n{sum(done.values())} trials")
    for (state, name), count in sorted(done.items()):
        print(f"{count:7}  {state:8}  {name}")
    return int(
        bool(done.keys() - {(s, n) for s in ("forged", "damaged") for n in ("clean error", "harmless")})
    )


if __name__ == "__main__":
    sys.exit(main())
