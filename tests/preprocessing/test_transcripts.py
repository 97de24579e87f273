"""Recordings become a data directory: every recording once, frames memory-mapped, and no bad file without its name."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmt_cli.config import resolve
from nmt_cli.data.audio import AudioReader
from nmt_cli.data.directory import DataDirectory, preset_for
from nmt_cli.data.recordings import RecordingRows, Recordings
from nmt_cli.demo import numbers
from nmt_cli.errors import CorpusError, NmtError, UsageError
from nmt_cli.preprocessing import PreprocessRequest, preprocess


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("demo") / "tones"
    numbers.write(out, 40)
    return out


def run(folder: Path, out: Path, *, settings: tuple[str, ...] = (), **options: Any) -> DataDirectory:
    given = {"train": [str(folder / "train.jsonl")], "source_lang": "", "target_lang": "en", **options}
    preprocess(PreprocessRequest(audio=[folder], out=out, settings=resolve(assignments=settings), **given))
    return DataDirectory.open(out)


def specs_of(demo: Path) -> dict[str, Any]:
    return {name: [str(demo / f"{name}.jsonl")] for name in ("train", "valid", "test")}


def test_every_recording_is_stored_as_its_frames(demo: Path, tmp_path: Path) -> None:
    data = run(demo, tmp_path / "data", **specs_of(demo))
    assert preset_for(tmp_path / "data") == ("chan2016", "recordings")
    assert data.vocabularies.target.kind == "char"
    assert data.resolved.provenance["vocabulary.kind"] == "recordings"
    reader = AudioReader([demo], 16_000, 40)
    for split in ("train", "valid", "test"):
        records = [json.loads(line) for line in (demo / f"{split}.jsonl").read_text().splitlines()]
        rows = getattr(data, split)
        order = np.arange(len(rows))
        texts = zip(rows.texts(order, "source"), rows.texts(order, "target"), strict=True)
        assert list(texts) == [(record["audio"], record["text"]) for record in records]
        sources = rows.sources(order)
        assert isinstance(sources, RecordingRows)
        frames, lengths = sources.padded()
        assert rows.source_lengths.tolist() == [-(-length // 4) for length in lengths.tolist()]
        for row, record in enumerate(records):
            expected = reader.read(demo / record["audio"])
            assert lengths[row] == len(expected)
            np.testing.assert_array_equal(frames[row, : len(expected)], expected.astype(np.float32))
            assert not frames[row, len(expected) :].any()


def test_the_same_recordings_give_the_same_bytes_with_any_number_of_workers(
    demo: Path, tmp_path: Path
) -> None:
    manifests = []
    for workers in (1, 3):
        run(demo, tmp_path / str(workers), workers=workers, **specs_of(demo))
        manifests.append((tmp_path / str(workers) / "manifest.json").read_bytes())
    assert manifests[0] == manifests[1]


def test_settings_of_the_user_take_precedence(demo: Path, tmp_path: Path) -> None:
    data = run(
        demo,
        tmp_path / "data",
        settings=("vocabulary.kind=bpe", "vocabulary.size=300", "data.mel_bands=80", "data.sample_rate=8000"),
        **specs_of(demo),
    )
    assert data.vocabularies.target.kind == "bpe"
    assert data.recordings is not None
    assert data.recordings.shape == (80,)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "bad.wav is not in"),
        (b"", "is empty"),
        (b"fLaC", "is FLAC, not WAV"),
        (b"RIFF", "is not a WAV file"),
    ],
)
def test_a_bad_recording_is_named_and_only_its_transcript_is_dropped(
    demo: Path, tmp_path: Path, content: bytes | None, message: str
) -> None:
    folder = tmp_path / "tones"
    shutil.copytree(demo, folder)
    if content is not None:
        (folder / "bad.wav").write_bytes(content)
    bad = '{"audio": "bad.wav", "text": "bad"}\n'
    (folder / "more.jsonl").write_text((folder / "train.jsonl").read_text() + bad)
    reports: list[Any] = []
    request = PreprocessRequest(
        source_lang="",
        target_lang="en",
        audio=[folder],
        out=tmp_path / "data",
        **{**specs_of(folder), "train": [str(folder / "more.jsonl")]},
    )
    card = preprocess(request, reports.append)
    assert card.drop_log.counts == {"bad_audio": 1}
    warning = next(report for report in reports if getattr(report, "name", "") == "bad-audio")
    assert message in warning.message
    assert len(DataDirectory.open(tmp_path / "data").train) == 40
    (folder / "valid.jsonl").write_text(bad)
    with pytest.raises(CorpusError, match="every recording of the valid set") as error:
        preprocess(PreprocessRequest(**{**vars(request), "out": tmp_path / "other", **specs_of(folder)}))
    assert message in error.value.message
    assert not (tmp_path / "other").exists()


def test_only_the_first_missing_recordings_are_named(demo: Path, tmp_path: Path) -> None:
    missing = (json.dumps({"audio": f"no-{number}.wav", "text": "one"}) + "\n" for number in range(300))
    (tmp_path / "train.jsonl").write_text((demo / "train.jsonl").read_text() + "".join(missing))
    specs = {**specs_of(demo), "train": [str(tmp_path / "train.jsonl")]}
    request = PreprocessRequest(
        source_lang="", target_lang="en", audio=[demo], out=tmp_path / "data", **specs
    )
    card = preprocess(request)
    assert card.drop_log.counts == {"bad_audio": 300}
    messages = [warning.message for warning in card.warnings if warning.name == "bad-audio"]
    assert len(messages) == 11
    assert messages[-1] == "290 more training recordings could not be read"


def test_a_recording_is_in_one_corpus_of_a_held_out_set(demo: Path, tmp_path: Path) -> None:
    first = (demo / "test.jsonl").read_text().splitlines(keepends=True)[1]
    (tmp_path / "more.jsonl").write_text(first)
    specs = specs_of(demo)
    name = re.escape(json.loads(first)["audio"])
    with pytest.raises(CorpusError, match=f"{name} is in two corpora of the test set"):
        run(demo, tmp_path / "data", **{**specs, "test": [*specs["test"], str(tmp_path / "more.jsonl")]})


def test_long_recordings_are_dropped_from_training_only(demo: Path, tmp_path: Path) -> None:
    data = run(demo, tmp_path / "data", settings=("data.max_seconds=0.8",), **specs_of(demo))
    assert data.recordings is not None
    frames = data.recordings.frames(np.arange(len(data.recordings)))
    assert 0 < len(frames) < 40
    assert frames.max() <= 80
    assert data.valid is not None
    assert len(data.valid) == 4
    with pytest.raises(CorpusError, match="all training transcripts were dropped: too_long 40"):
        run(demo, tmp_path / "other", settings=("data.max_seconds=0.01",), **specs_of(demo))


def test_sets_are_held_out_if_none_are_given(demo: Path, tmp_path: Path) -> None:
    data = run(demo, tmp_path / "data")
    assert data.valid is not None
    assert data.test is not None
    assert (len(data.train), len(data.valid), len(data.test)) == (36, 2, 2)


@pytest.mark.parametrize("settings", [("data.length_ratio=true",), ("vocabulary.joint=false",)])
def test_filters_that_compare_two_languages_are_rejected(
    demo: Path, tmp_path: Path, settings: tuple[str, ...]
) -> None:
    with pytest.raises(UsageError, match="the sources are recordings"):
        run(demo, tmp_path / "data", settings=settings, **specs_of(demo))


def test_a_place_that_is_not_a_folder_is_an_error(demo: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a folder"):
        request = PreprocessRequest(
            source_lang="",
            target_lang="en",
            audio=[demo / "nowhere"],
            out=tmp_path / "data",
            **specs_of(demo),
        )
        preprocess(request)


@pytest.mark.parametrize("name", ["train.frames.npy", "train.frame_ends.npy", "valid.frames.npy"])
def test_damaged_frames_are_an_error(demo: Path, tmp_path: Path, name: str) -> None:
    run(demo, tmp_path / "data", **specs_of(demo))
    path = tmp_path / "data" / name
    content = path.read_bytes()
    for damaged in (content[:-8], content[:100], b"", content[:-1] + bytes([content[-1] ^ 1])):
        path.write_bytes(damaged)
        with pytest.raises(NmtError, match=name.replace(".", r"\.")):
            DataDirectory.open(tmp_path / "data")
    path.unlink()
    with pytest.raises(NmtError):
        DataDirectory.open(tmp_path / "data")


def test_recordings_in_memory_and_on_disk_are_the_same(demo: Path, tmp_path: Path) -> None:
    data = run(demo, tmp_path / "data", **specs_of(demo))
    assert data.recordings is not None
    reader = AudioReader([demo], 16_000, 40)
    paths = [demo / json.loads(line)["audio"] for line in (demo / "train.jsonl").read_text().splitlines()]
    memory = Recordings.of([reader.read(path) for path in paths])
    np.testing.assert_array_equal(memory.values, data.recordings.values)
    rows = np.array([3, 1, 3])
    np.testing.assert_array_equal(memory.take(rows), data.recordings.take(rows))
