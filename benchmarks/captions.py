"""The table in docs/captioning.md, from the evaluations of `make captions`; exits with 1 if a goal is missed.

python benchmarks/captions.py captions/seen.json captions/unseen.json
"""

import json
import sys
from pathlib import Path
from typing import Any

SYSTEMS = {
    "soft": "soft",
    "hard": "soft, then hard",
}
# At least so many percent of exact captions, and of words that look at their object.
EXACT = {("soft", "seen"): 95.0, ("soft", "unseen"): 80.0, ("hard", "seen"): 80.0}
POINTING = {("soft", "seen"): 75.0, ("hard", "seen"): 75.0}


def main() -> None:
    """Print the table, and exit with 1 if a goal is missed."""
    print("| attention | combinations | exact captions | the word for an object looks at it (chance) |")
    print("| --- | --- | ---: | ---: |")
    missed = []
    results = [
        (Path(path).stem, system)
        for path in sys.argv[1:]
        for system in json.loads(Path(path).read_text())["systems"]
    ]
    for name, title in SYSTEMS.items():
        for combinations, system in results:
            if system["name"] != name:
                continue
            found: dict[str, Any] = system["captions"]
            pointing = found["pointing"]
            looks = "" if pointing is None else f"{pointing['accuracy']:.1f} % ({pointing['chance']:.1f} %)"
            print(f"| {title} | {combinations} | {found['exact']:.1f} % | {looks} |")
            goal = EXACT.get((name, combinations), 0.0)
            if found["exact"] < goal:
                missed.append(f"{name}, {combinations}: less than {goal:.0f} % of the captions are exact")
            goal = POINTING.get((name, combinations), 0.0)
            if goal and (pointing is None or pointing["accuracy"] < goal):
                missed.append(
                    f"{name}, {combinations}: less than {goal:.0f} % of the words look at their object"
                )
    if missed:
        sys.exit("\n".join(missed))


if __name__ == "__main__":
    main()
