"""Exact captions and pointing for each kind of scene: the table of scenes in docs/captioning.md.

python benchmarks/scenes.py RUN_DIR scenes/test.jsonl scenes/unseen.jsonl
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from nmt_cli.data.images import Boxes, Images
from nmt_cli.demo.scenes import NAMED_SIZES, NUMBERS, RELATIONS
from nmt_cli.evaluation.captions import pointing
from nmt_cli.translator import Captioner, Details

KINDS = ("one object", "two to four of a kind", "relation", "relation and sizes")


def main() -> None:
    """Print the table."""
    run, *files = map(Path, sys.argv[1:])
    captioner = Captioner.load(run)
    print("| scene | combinations | images | exact captions | the word for an object looks at it (chance) |")
    print("| --- | --- | ---: | ---: | ---: |")
    for file in files:
        name = "unseen" if file.stem == "unseen" else "seen"
        records = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        pixels = [captioner.read(file.parent / record["image"])[0][1] for record in records]
        found = captioner.caption(Images(np.stack(pixels)).rows(), details=Details(attention=True))
        for kind in ("all", *KINDS):
            rows = [
                row for row, record in enumerate(records) if kind in ("all", kind_of(record["captions"][0]))
            ]
            exact = 100 * np.mean([found[row].text in records[row]["captions"] for row in rows])
            boxes = [boxes_of(records[row], pixels[row].shape[0]) for row in rows]
            looks = pointing([found[row] for row in rows], boxes)
            shown = "" if looks is None else f"{looks.accuracy:.1f} % ({looks.chance:.1f} %)"
            print(f"| {kind} | {name} | {len(rows)} | {exact:.1f} % | {shown} |")


def kind_of(caption: str) -> str:
    """What a caption of a scene describes."""
    if caption.split()[0] in NUMBERS.values():
        return "two to four of a kind"
    if not any(relation in caption for relation in RELATIONS):
        return "one object"
    return "relation and sizes" if any(size in caption for size in NAMED_SIZES) else "relation"


def boxes_of(record: dict[str, Any], side: int) -> Boxes:
    """The objects of a line of captions.jsonl, as fractions of the side of a square image."""
    boxes = []
    for each in record["objects"]:
        left, top, right, bottom = (edge / side for edge in each["box"])
        boxes.append((each["word"], left, top, right, bottom))
    return tuple(boxes)


if __name__ == "__main__":
    main()
