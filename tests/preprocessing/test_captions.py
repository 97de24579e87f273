"""Captioned images become a data directory: every format, every image once, and no bad image without its name."""

import io
import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from nmt_cli.config import resolve
from nmt_cli.corpus.captions import parse_caption_spec, read_captions
from nmt_cli.corpus.images import decode_image, find_image
from nmt_cli.data.directory import DataDirectory
from nmt_cli.demo import scenes
from nmt_cli.errors import CorpusError, NmtError, UsageError
from nmt_cli.preprocessing import PreprocessRequest, preprocess

SIDE = 24


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("demo") / "scenes"
    scenes.write(out, 40, side=SIDE)
    return out


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Six images a.jpg … f.jpg, each of one color."""
    folder = tmp_path / "photos"
    folder.mkdir()
    for number, name in enumerate("abcdef"):
        Image.new("RGB", (40, 30), (40 * number, 255 - 40 * number, 100)).save(folder / f"{name}.jpg")
    return folder


def run(folder: Path, out: Path, *, settings: tuple[str, ...] = (), **specs: Any) -> DataDirectory:
    given = {"train": [str(folder / "train.jsonl")], **specs}
    resolved = resolve(assignments=[f"data.image_size={SIDE}", "vocabulary.kind=word", *settings])
    preprocess(
        PreprocessRequest(
            source_lang="", target_lang="en", images=[folder], out=out, settings=resolved, **given
        )
    )
    return DataDirectory.open(out)


def specs_of(demo: Path) -> dict[str, Any]:
    return {name: [str(demo / f"{name}.jsonl")] for name in ("train", "valid", "test")}


def test_every_image_is_stored_once_and_every_pair_has_its_own(demo: Path, tmp_path: Path) -> None:
    data = run(demo, tmp_path / "data", **specs_of(demo))
    for split in ("train", "valid", "test"):
        records = [json.loads(line) for line in (demo / f"{split}.jsonl").read_text().splitlines()]
        rows = getattr(data, split)
        assert rows.images is not None
        assert len(rows.images) == len(records)
        numbers = np.arange(len(rows))
        expected = [(record["image"], text) for record in records for text in record["captions"]]
        assert (
            list(zip(rows.texts(numbers, "source"), rows.texts(numbers, "target"), strict=True)) == expected
        )
        for name, content in zip(rows.texts(numbers, "source"), rows.sources(numbers).content(), strict=True):
            np.testing.assert_array_equal(content, np.asarray(Image.open(demo / name)))
    assert (tmp_path / "data" / "test.objects.json").exists()


def test_the_same_images_give_the_same_bytes_with_any_number_of_workers(demo: Path, tmp_path: Path) -> None:
    manifests = []
    for workers in (1, 3):
        run(demo, tmp_path / str(workers), workers=workers, **specs_of(demo))
        manifests.append((tmp_path / str(workers) / "manifest.json").read_bytes())
    assert manifests[0] == manifests[1]


def test_an_image_that_a_held_out_corpus_lists_again_is_stored_once(demo: Path, tmp_path: Path) -> None:
    lines = (demo / "test.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "again.jsonl").write_text("".join([lines[0], lines[0], *lines[1:], lines[0]]))
    data = run(demo, tmp_path / "data", test=[str(tmp_path / "again.jsonl")])
    assert data.test is not None
    names = data.test.texts(np.arange(len(data.test)), "source")
    changes = 1 + sum(one != other for one, other in pairwise(names))
    assert changes == len(set(names)) == len(lines)
    assert data.test.images is not None
    assert len(data.test.images) == len(lines)


def test_an_image_that_two_folders_have_is_ambiguous(photos: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.jpg").write_bytes((photos / "b.jpg").read_bytes())
    with pytest.raises(UsageError, match=r"a\.jpg is in both"):
        find_image("a.jpg", [photos, tmp_path / "other"])
    assert find_image("a.jpg", [photos, photos]) == photos / "a.jpg"


@pytest.mark.parametrize("corpora", [1, 2])
def test_whole_images_are_held_out_if_no_sets_are_given(demo: Path, tmp_path: Path, corpora: int) -> None:
    """Also if several corpora have the same images."""
    data = run(demo, tmp_path / "data", train=[str(demo / "train.jsonl")] * corpora)
    names = {}
    for split in ("train", "valid", "test"):
        rows = getattr(data, split)
        names[split] = set(rows.texts(np.arange(len(rows)), "source"))
    assert (len(names["valid"]), len(names["test"])) == (2, 2)
    assert len(names["train"]) == 36
    assert not names["train"] & names["valid"]
    assert not (names["train"] | names["valid"]) & names["test"]


def test_no_scene_for_training_has_a_held_out_combination(demo: Path) -> None:
    found = scenes.generate(200, seed=3)
    assert {split: len(members) for split, members in found.items()} == {
        "train": 200,
        "valid": 20,
        "test": 20,
        "unseen": 20,
    }
    assert not any(scene.is_unseen for split in ("train", "valid", "test") for scene in found[split])
    assert all(scene.is_unseen for scene in found["unseen"])
    assert found == scenes.generate(200, seed=3)
    words = {word for scene in found["train"] for text in scene.captions for word in text.split()}
    assert words >= {word for scene in found["unseen"] for text in scene.captions for word in text.split()}


def test_a_box_contains_its_object(demo: Path) -> None:
    for line in (demo / "train.jsonl").read_text().splitlines():
        record = json.loads(line)
        pixels = np.asarray(Image.open(demo / record["image"])).astype(int)
        dark = pixels.min(axis=2) < 200
        outside = dark.copy()
        for each in record["objects"]:
            left, top, right, bottom = (round(edge) for edge in each["box"])
            assert dark[top:bottom, left:right].any()
            outside[max(0, top - 1) : bottom + 1, max(0, left - 1) : right + 1] = False
        assert not outside.any()


# ------------------------------------------------------------------------------------------------------------
# Formats of captions.


def coco(path: Path) -> None:
    images = [{"id": 7, "file_name": "b.jpg"}, {"id": 3, "file_name": "a.jpg"}]
    notes = [(3, "one"), (7, "two"), (3, "three\nfour")]
    content = {"images": images, "annotations": [{"image_id": id_, "caption": text} for id_, text in notes]}
    path.write_text(json.dumps(content))


FORMATS: dict[str, Callable[[Path], Any]] = {
    "x.jsonl": lambda path: path.write_text(
        '{"image": "a.jpg", "captions": ["one", "three four"]}\n\n{"image": "b.jpg", "caption": "two"}\n'
    ),
    "x.json": coco,
    "Flickr8k.token.txt": lambda path: path.write_text("a.jpg#0\tone\nb.jpg#0\ttwo\na.jpg#1\tthree four\n"),
    "captions.txt": lambda path: path.write_text('image,caption\na.jpg,one\nb.jpg,two\na.jpg,"three four"\n'),
    "results.csv": lambda path: path.write_text(
        "image_name| comment_number| comment\na.jpg| 0| one\nb.jpg| 0| two\na.jpg| 1| three four\n"
    ),
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_gives_each_image_with_all_its_captions(tmp_path: Path, name: str) -> None:
    FORMATS[name](tmp_path / name)
    found = {
        image.name: image.texts for image in read_captions(parse_caption_spec(str(tmp_path / name), "en"))
    }
    assert found == {"a.jpg": ("one", "three four"), "b.jpg": ("two",)}
    (tmp_path / "list.txt").write_text("b.jpg\n")
    spec = parse_caption_spec(f"{tmp_path / name}#{tmp_path / 'list.txt'}@weight=2", "en")
    assert [image.name for image in read_captions(spec)] == ["b.jpg"]
    assert spec.weight == 2


def test_a_dataset_with_an_image_column_is_read(photos: Path, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [{"bytes": (photos / f"{name}.jpg").read_bytes(), "path": f"{name}.jpg"} for name in "ab"]
    table = pa.table({"image": rows, "caption": pa.array([["one", "two"], ["three"]])})
    pq.write_table(table, tmp_path / "x.parquet")
    spec = parse_caption_spec(f"hf:{tmp_path / 'x.parquet'}", "en")
    found = list(read_captions(spec))
    assert [image.texts for image in found] == [("one", "two"), ("three",)]
    assert found[0].content == (photos / "a.jpg").read_bytes()
    pq.write_table(table, tmp_path / "y.parquet")
    other = read_captions(parse_caption_spec(f"hf:{tmp_path / 'y.parquet'}", "en"))
    assert len({image.name for image in (*found, *other)}) == 4


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.jsonl", '{"image": 1.5, "captions": []}\n', "line 1 is not a captioned image"),
        ("x.jsonl", "nonsense\n", "line 1 is not a captioned image"),
        ("x.json", '{"images": []}', "is not an annotation file of COCO captions"),
        ("x.token.txt", "a.jpg#0\tone\nbroken\n", "line 2 has no tab"),
        ("x.csv", "a,b\n1,2\n", "has no columns for images and captions"),
        ("x.csv", "image,caption\na.jpg\n", "row 2 has 1 columns"),
        ("x.po", "", "is not a known format of captions"),
    ],
)
def test_a_file_that_has_no_captions_is_an_error(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(NmtError) as error:
        list(read_captions(parse_caption_spec(str(tmp_path / name), "en")))
    assert message in error.value.message


# ------------------------------------------------------------------------------------------------------------
# Hostile images.


def exif_rotated(path: Path) -> None:
    image = Image.new("RGB", (20, 20), "white")
    image.paste("red", (0, 0, 20, 10))  # the top is red; turned by 90° clockwise it is on the right
    exif = image.getexif()
    exif[0x0112] = 6
    image.save(path, exif=exif)


def animated(path: Path) -> None:
    frames = [Image.new("RGB", (20, 20), color) for color in ("red", "blue")]
    frames[0].save(path, save_all=True, append_images=frames[1:])


HANDLED: dict[str, tuple[str, Callable[[Path], Any], tuple[int, int, int]]] = {
    "CMYK": ("a.jpg", lambda path: Image.new("CMYK", (20, 20), (0, 255, 255, 0)).save(path), (255, 0, 0)),
    "16 bits": (
        "a.png",
        lambda path: Image.fromarray(np.full((9, 9), 51200, np.uint16)).save(path),
        (200, 200, 200),
    ),
    "rotated": ("a.jpg", exif_rotated, (255, 0, 0)),
    "animated": ("a.gif", animated, (255, 0, 0)),
    "palette": (
        "a.png",
        lambda path: Image.new("RGB", (9, 9), (255, 0, 0)).convert("P").save(path),
        (255, 0, 0),
    ),
    "transparent": (
        "a.png",
        lambda path: Image.new("RGBA", (9, 9), (0, 0, 0, 0)).save(path),
        (255, 255, 255),
    ),
    "gray": ("a.png", lambda path: Image.new("L", (9, 9), 77).save(path), (77, 77, 77)),
    "bilevel": ("a.png", lambda path: Image.new("1", (9, 9), 1).save(path), (255, 255, 255)),
    "one pixel": ("a.png", lambda path: Image.new("RGB", (1, 1), (255, 0, 0)).save(path), (255, 0, 0)),
    "very wide": ("a.png", lambda path: Image.new("RGB", (3000, 1), (255, 0, 0)).save(path), (255, 0, 0)),
}


@pytest.mark.parametrize("kind", HANDLED)
def test_an_unusual_image_becomes_three_bytes_per_pixel(tmp_path: Path, kind: str) -> None:
    name, make, color = HANDLED[kind]
    make(tmp_path / name)
    decoded = decode_image(tmp_path / name, name, 8)
    assert decoded.pixels.shape == (8, 8, 3)
    assert decoded.pixels.dtype == np.uint8
    assert abs(decoded.pixels[2, 6].astype(int) - color).max() <= 6  # at the top right


def huge() -> bytes:
    """A PNG that says it has 100,000 × 100,000 pixels."""
    file = io.BytesIO()
    Image.new("L", (1, 1)).save(file, "PNG")
    content = bytearray(file.getvalue())
    content[16:24] = (100_000).to_bytes(4) * 2
    import zlib

    content[29:33] = zlib.crc32(content[12:29]).to_bytes(4)
    return bytes(content)


def jpeg() -> bytes:
    file = io.BytesIO()
    Image.effect_noise((64, 64), 50).save(file, "JPEG")
    return file.getvalue()


REFUSED: dict[str, tuple[bytes | None, str]] = {
    "missing": (None, "is not in"),
    "empty": (b"", "is not an image in a known format"),
    "text": (b"<svg></svg>", "is not an image in a known format"),
    "truncated": (jpeg()[:300], "cannot be decoded"),
    "huge": (huge(), "more than 80,000,000"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_bad_image_is_named_and_only_its_captions_are_dropped(
    photos: Path, tmp_path: Path, kind: str
) -> None:
    content, problem = REFUSED[kind]
    if content is None:
        (photos / "c.jpg").unlink()
    else:
        (photos / "c.jpg").write_bytes(content)
    lines = [
        json.dumps({"image": f"{name}.jpg", "captions": [f"a {name}", f"the {name}"]}) for name in "abcdef"
    ]
    (photos / "train.jsonl").write_text("\n".join(lines))
    reports: list[Any] = []
    request = PreprocessRequest(
        source_lang="",
        target_lang="en",
        images=[photos],
        train=[str(photos / "train.jsonl")],
        out=tmp_path / "data",
        settings=resolve(
            assignments=["data.image_size=8", "vocabulary.kind=word", "data.valid_size=0", "data.test_size=0"]
        ),
    )
    card = preprocess(request, reports.append)
    [warning] = [each for each in reports if hasattr(each, "hint")]
    assert "c.jpg" in warning.message
    assert problem in warning.message
    assert card.drop_log.counts == {"bad_image": 2}
    data = DataDirectory.open(tmp_path / "data")
    assert data.images is not None
    assert (len(data.images), len(data.train)) == (5, 10)
    with pytest.raises(CorpusError, match=r"c\.jpg"):
        run(
            photos,
            tmp_path / "other",
            valid=[str(photos / "train.jsonl")],
            settings=("data.in_heldout=false",),
        )
    assert not (tmp_path / "other").exists()


def test_features_are_stored_as_they_are(tmp_path: Path) -> None:
    features = np.random.default_rng(1).normal(size=(4, 3, 5)).astype(np.float32)
    np.save(tmp_path / "features.npy", features)
    lines = [json.dumps({"image": row, "captions": [f"word{row}"]}) for row in (2, 0, 3)]
    (tmp_path / "train.jsonl").write_text("\n".join(lines))
    request = PreprocessRequest(
        source_lang="",
        target_lang="en",
        images=[tmp_path / "features.npy"],
        train=[str(tmp_path / "train.jsonl")],
        out=tmp_path / "data",
        settings=resolve(assignments=["vocabulary.kind=word", "data.valid_size=0", "data.test_size=0"]),
    )
    preprocess(request)
    images = DataDirectory.open(tmp_path / "data").images
    assert images is not None
    assert images.kind == "features"
    np.testing.assert_array_equal(images.values, features[[2, 0, 3]])


def test_a_features_file_with_other_contents_is_an_error(tmp_path: Path) -> None:
    np.save(tmp_path / "bad.npy", np.array(["a"]))
    request = PreprocessRequest(
        source_lang="",
        target_lang="en",
        images=[tmp_path / "bad.npy"],
        train=["x.jsonl"],
        out=tmp_path / "data",
    )
    (tmp_path / "x.jsonl").write_text("")
    with pytest.raises(NmtError, match=r"x\.jsonl|not an array"):
        preprocess(request)
    with pytest.raises(UsageError, match="not a folder"):
        preprocess(
            PreprocessRequest(
                source_lang="",
                target_lang="en",
                images=[tmp_path / "no"],
                train=[str(tmp_path / "x.jsonl")],
                out=tmp_path / "d",
            )
        )


def test_a_damaged_file_of_images_is_refused(demo: Path, tmp_path: Path) -> None:
    run(demo, tmp_path / "data", **specs_of(demo))
    path = tmp_path / "data" / "train.images.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(NmtError, match=r"train\.images\.npy"):
        DataDirectory.open(tmp_path / "data")
