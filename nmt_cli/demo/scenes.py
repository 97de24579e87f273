"""The embedded images: rendered scenes of colored shapes, with captions and the box of every object.

    a green triangle                                          one object
    three yellow circles                                      two to four of a kind
    a red square to the left of a blue circle                 two objects; the other way round is a caption, too
    a large red square above a small blue circle              sizes are mentioned where they differ

Simple scenes all have two objects of medium or large size, side by side: "a red square and a blue circle", the left one
first.

Some combinations of color and shape never occur in training: every scene of the split `unseen` has one. The other
splits have the distribution of training.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_cli.errors import UsageError
from nmt_cli.files.atomic import new_directory
from nmt_cli.files.manifest import demo_refusal, write_manifest

COLORS = {
    "red": (214, 39, 40),
    "green": (44, 160, 44),
    "blue": (31, 90, 200),
    "yellow": (240, 200, 20),
    "purple": (140, 60, 170),
    "white": (250, 250, 250),
}
SHAPES = ("circle", "square", "triangle", "cross", "diamond", "bar")
HELD_OUT = (("red", "square"), ("blue", "triangle"), ("green", "circle"))
RELATIONS = {"to the left of": (-1, 0), "to the right of": (1, 0), "above": (0, -1), "below": (0, 1)}
OPPOSITE = {"to the left of": "to the right of", "above": "below"}
OPPOSITE |= {there: back for back, there in OPPOSITE.items()}
NUMBERS = {2: "two", 3: "three", 4: "four"}
SIZES = {"small": 0.10, "medium": 0.14, "large": 0.17}  # radius, of the side of the image
NAMED_SIZES = ("small", "large")  # in captions
SPLITS = ("train", "valid", "test", "unseen")

SIDE = 48  # pixels
MAX_SCENES = 100_000
_LARGEST_HELD_OUT = 300  # scenes of each of the other splits; a small set gets a tenth of its size
_BACKGROUND, _OUTLINE = 235, 30


class Object(NamedTuple):
    """A colored shape; lengths are fractions of the side of the image."""

    shape: str
    color: str
    size: str
    x: float  # of the center, from the left
    y: float  # from the top

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, top, right and bottom."""
        r = SIZES[self.size]
        return self.x - r, self.y - r, self.x + r, self.y + r


class Scene(NamedTuple):
    """What is in an image, and how it is described."""

    objects: tuple[Object, ...]
    captions: tuple[str, ...]

    @property
    def is_unseen(self) -> bool:
        """Whether it has a combination that is never trained on."""
        return any((each.color, each.shape) in HELD_OUT for each in self.objects)

    def record(self, image: str, side: int) -> dict[str, Any]:
        """The line of captions.jsonl; boxes in pixels."""
        plural = len({(each.shape, each.color) for each in self.objects}) < len(self.objects)
        return {
            "image": image,
            "captions": list(self.captions),
            "objects": [
                {
                    "word": _plural(each.shape) if plural else each.shape,
                    "box": [round(edge * side, 1) for edge in each.box],
                }
                for each in self.objects
            ],
        }


def scenes(seed: int, *, simple: bool = False) -> Iterator[Scene]:
    """An endless stream of scenes."""
    random = Random(f"nmt scenes {seed}")
    while True:
        kind = random.random()
        if simple:
            yield _two(random, simple=True)
        elif kind < 0.15:
            yield _one(random)
        elif kind < 0.4:
            yield _several(random)
        else:
            yield _two(random, simple=False)


def render(scene: Scene, side: int, random: Random) -> NDArray[np.uint8]:
    """The image (side, side, 3), on a light ground with a little noise."""
    noise = np.frombuffer(random.randbytes(side * side * 3), np.uint8).reshape(side, side, 3) % 16
    image = (_BACKGROUND + noise).astype(np.uint8)
    y, x = (np.mgrid[:side, :side] + 0.5) / side  # of the centers of the pixels
    for each in scene.objects:
        shade, r = random.uniform(0.85, 1.0), SIZES[each.size]
        image[_inside(each, x, y, r)] = _OUTLINE
        image[_inside(each, x, y, r - 1.5 / side)] = [round(shade * part) for part in COLORS[each.color]]
    return image


def generate(size: int, *, seed: int = 1, simple: bool = False) -> dict[str, list[Scene]]:
    """`size` scenes for training, and a tenth of that, at most 300, for each of the other splits."""
    _check(size)
    wanted = dict.fromkeys(SPLITS, max(1, min(_LARGEST_HELD_OUT, size // 10))) | {"train": size}
    found: dict[str, list[Scene]] = {split: [] for split in SPLITS}
    for scene in scenes(seed, simple=simple):
        splits = ("unseen",) if scene.is_unseen else SPLITS[:-1]
        split = next((name for name in splits if len(found[name]) < wanted[name]), None)
        if split is not None:
            found[split].append(scene)
        if all(len(found[name]) == wanted[name] for name in SPLITS):
            break
    return found


def write(
    out: Path, size: int, *, seed: int = 1, side: int = SIDE, simple: bool = False, overwrite: bool = False
) -> dict[str, list[Scene]]:
    """Write `train|valid|test|unseen.jsonl` and the images into the directory `out`, all or none."""
    from PIL import Image

    _check(size)
    with new_directory(out, overwrite=overwrite, refusal=demo_refusal) as building:
        (building / "images").mkdir()
        found = generate(size, seed=seed, simple=simple)
        for split, members in found.items():
            random = Random(f"nmt scenes {seed} {split}")
            lines = []
            for number, scene in enumerate(members, start=1):
                name = f"images/{split}-{number:05}.png"
                Image.fromarray(render(scene, side, random)).save(building / name)
                lines.append(json.dumps(scene.record(name, side)) + "\n")
            (building / f"{split}.jsonl").write_text("".join(lines), "utf-8", newline="\n")
        write_manifest(building, "demo")
    return found


def _one(random: Random) -> Scene:
    color, shape = _look(random)
    size = random.choice(NAMED_SIZES)
    each = Object(shape, color, size, *(random.uniform(0.22, 0.78) for _ in "xy"))
    return Scene((each,), (f"a {color} {shape}",))


def _several(random: Random) -> Scene:
    """Two to four of a kind, in different quarters of the image."""
    color, shape = _look(random)
    number = random.choice(list(NUMBERS))
    quarters = random.sample([(0.25, 0.25), (0.75, 0.25), (0.25, 0.75), (0.75, 0.75)], number)
    objects = tuple(
        Object(shape, color, "small", x + random.uniform(-0.08, 0.08), y + random.uniform(-0.08, 0.08))
        for x, y in quarters
    )
    return Scene(objects, (f"{NUMBERS[number]} {color} {_plural(shape)}",))


def _two(random: Random, *, simple: bool) -> Scene:
    """Two objects of different shapes, one beside or above the other."""
    shapes = random.sample(SHAPES, 2)
    colors = [random.choice(list(COLORS)) for _ in shapes]
    smaller = "medium" if simple else "small"
    sizes = random.choice([(smaller, smaller), ("large", "large"), (smaller, "large"), ("large", smaller)])
    relation = random.choice(list(RELATIONS)[:2] if simple else list(RELATIONS))
    dx, dy = RELATIONS[relation]
    shift, jitter = random.uniform(-0.12, 0.12), [random.uniform(-0.04, 0.04) for _ in range(4)]
    places = [
        (
            0.5 + sign * 0.25 * dx + shift * abs(dy) + jitter[k],
            0.5 + sign * 0.25 * dy + shift * abs(dx) + jitter[k + 2],
        )
        for k, sign in enumerate((1, -1))
    ]
    objects = tuple(
        Object(shape, color, size, *place)
        for shape, color, size, place in zip(shapes, colors, sizes, places, strict=True)
    )
    if simple:
        first, second = sorted(objects, key=lambda each: each.x)
        caption = f"a {first.color} {first.shape} and a {second.color} {second.shape}"
        return Scene((first, second), (caption,))
    names = [
        f"a {size + ' ' if sizes[0] != sizes[1] else ''}{color} {shape}"
        for shape, color, size in zip(shapes, colors, sizes, strict=True)
    ]
    captions = (f"{names[0]} {relation} {names[1]}", f"{names[1]} {OPPOSITE[relation]} {names[0]}")
    return Scene(objects, captions)


def _look(random: Random) -> tuple[str, str]:
    return random.choice(list(COLORS)), random.choice(SHAPES)


def _plural(shape: str) -> str:
    return f"{shape}es" if shape.endswith("s") else f"{shape}s"


def _inside(each: Object, x: NDArray[np.float64], y: NDArray[np.float64], r: float) -> NDArray[np.bool_]:
    """The pixels of an object of radius r."""
    dx, dy = (x - each.x) / r, (y - each.y) / r
    if each.shape == "circle":
        inside = dx**2 + dy**2 <= 1
    elif each.shape == "diamond":
        inside = abs(dx) + abs(dy) <= 1
    elif each.shape == "bar":
        inside = (abs(dx) <= 1) & (abs(dy) <= 0.4)
    elif each.shape == "square":
        inside = np.maximum(abs(dx), abs(dy)) <= 0.88
    elif each.shape == "triangle":
        inside = (dy <= 0.9) & (2 * abs(dx) <= dy + 1)
    else:
        inside = (np.minimum(abs(dx), abs(dy)) <= 0.33) & (np.maximum(abs(dx), abs(dy)) <= 1)
    return np.asarray(inside, np.bool_)


def _check(size: int) -> None:
    if not 1 <= size <= MAX_SCENES:
        raise UsageError(f"cannot render {size} scenes", hint=f"choose a size from 1 to {MAX_SCENES}")
