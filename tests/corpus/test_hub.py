"""Hub datasets, through the real `load_dataset` on local files, without a network."""

import json
import os
import subprocess
import sys
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nmt_cli.corpus import hub, parse_spec, read_pairs
from nmt_cli.errors import CorpusError

PAIRS = [(f"Satz {i}", f"sentence {i}") for i in range(25)]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture
def struct_file(tmp_path: Path) -> Path:
    path = tmp_path / "struct.parquet"
    rows = [{"de": source, "en": target} for source, target in PAIRS]
    pq.write_table(pa.table({"id": list(range(len(rows))), "translation": rows}), path)
    return path


@pytest.fixture
def flat_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "multi30k"
    folder.mkdir()
    for split, pairs in (("train", PAIRS), ("test", PAIRS[:5])):
        source, target = zip(*pairs, strict=True)
        pq.write_table(pa.table({"en": list(target), "de": list(source)}), folder / f"{split}.parquet")
    return folder


def pairs(text: str, block_pairs: int = 8192) -> list[tuple[str, str]]:
    spec = parse_spec(text, source_lang="de", target_lang="en")
    return [
        pair
        for block in read_pairs(spec, block_pairs=block_pairs)
        for pair in zip(block.source, block.target, strict=True)
    ]


def failure(text: str) -> CorpusError:
    with pytest.raises(CorpusError) as caught:
        pairs(text)
    assert "\n" not in caught.value.message
    return caught.value


@pytest.mark.parametrize("streaming", ["", "@streaming=true"])
class TestShapes:
    def test_a_translation_struct(self, struct_file: Path, streaming: str) -> None:
        for block_pairs in (4, 8192):
            assert pairs(f"hf:parquet@data_files={struct_file}{streaming}", block_pairs) == PAIRS

    def test_flat_columns(self, flat_folder: Path, streaming: str) -> None:
        assert pairs(f"hf:{flat_folder}{streaming}") == PAIRS
        assert pairs(f"hf:{flat_folder}::test{streaming}") == PAIRS[:5]

    def test_local_files(self, struct_file: Path, tmp_path: Path, streaming: str) -> None:
        path = tmp_path / "x.jsonl"
        path.write_text("\n".join(json.dumps({"prompt": a, "answer": b}) for a, b in PAIRS), encoding="utf-8")
        assert pairs(f"hf:{struct_file}{streaming}") == PAIRS
        assert pairs(f"hf:{path}#prompt,answer{streaming}") == PAIRS
        assert pairs(f"hf:json::test#prompt,answer@data_files={path}{streaming}") == PAIRS

    def test_missing_text_is_blank_and_line_breaks_are_spaces(self, tmp_path: Path, streaming: str) -> None:
        path = tmp_path / "x.parquet"
        pq.write_table(pa.table({"de": ["a", None, "c\nd"], "en": [None, "2", "3"]}), path)
        assert pairs(f"hf:{path}{streaming}") == [("a", ""), ("", "2"), ("c d", "3")]


def test_a_slice_of_a_split_is_read(struct_file: Path) -> None:
    assert pairs(f"hf:{struct_file}::train[:3]") == PAIRS[:3]


class TestErrors:
    def test_missing_columns_are_an_error_that_lists_the_columns(self, struct_file: Path) -> None:
        with pytest.raises(CorpusError) as caught:
            list(read_pairs(parse_spec(f"hf:{struct_file}", source_lang="fr", target_lang="en")))
        assert "no columns fr and en" in caught.value.message
        assert "id, translation.de, translation.en" in caught.value.hint

    def test_columns_of_numbers_are_refused(self, struct_file: Path) -> None:
        assert "contains int64, not text" in failure(f"hf:{struct_file}#id,translation.en").message

    def test_splits_and_configs_are_listed(self, flat_folder: Path) -> None:
        error = failure(f"hf:{flat_folder}::valid")
        assert "has no split valid" in error.message
        assert "train, test" in error.hint
        error = failure(f"hf:{flat_folder}:test")
        assert "has no config test" in error.message
        assert f"hf:{flat_folder}::test" in error.hint

    def test_missing_and_broken_files_are_reported(self, tmp_path: Path) -> None:
        assert "nowhere.parquet" in failure(f"hf:parquet@data_files={tmp_path}/nowhere.parquet").message
        (tmp_path / "x.parquet").write_bytes(b"no parquet")
        assert "arquet" in failure(f"hf:{tmp_path}/x.parquet").message

    def test_a_loading_script_is_not_run(self, tmp_path: Path) -> None:
        (tmp_path / "old").mkdir()
        (tmp_path / "old" / "old.py").write_text("raise SystemExit", encoding="utf-8")
        error = failure(f"hf:{tmp_path}/old")
        assert "loading script" in error.message
        assert "refs/convert/parquet" in error.hint


class TestUnplugged:
    @pytest.fixture(autouse=True)
    def unplug(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(hub, "_reachable", lambda endpoint: False)

    def test_an_unreachable_hub_is_reported(self) -> None:
        error = failure("hf:someone/something")
        assert "is unreachable" in error.message
        assert "HF_HUB_OFFLINE=1" in error.hint

    def test_a_cached_dataset_still_loads(self, flat_folder: Path, cache: Path) -> None:
        assert pairs(f"hf:{flat_folder}") == PAIRS
        (cache / "multi30k").rename(cache / "bentrevett___multi30k")
        assert pairs("hf:bentrevett/multi30k") == PAIRS

    def test_offline_mode_ends_with_the_attempt(self) -> None:
        failure("hf:someone/something")
        assert not datasets.config.HF_HUB_OFFLINE


def test_an_endpoint_without_a_listener_is_not_reachable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("urllib.request.getproxies", dict)
    assert not hub._reachable("http://127.0.0.1:9")
    assert not hub._reachable("https://host.invalid")


def test_importing_the_corpus_package_imports_nothing_heavy() -> None:
    heavy = ["torch", "datasets", "pandas", "pyarrow"]
    code = f"import sys, nmt_cli.corpus; print([name for name in {heavy} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_what_datasets_logs_is_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"de": "a", "en": "b"}\nno JSON\n')
    code = """
import sys
from nmt_cli.corpus import parse_spec, read_pairs
try:
    list(read_pairs(parse_spec(f"hf:json@data_files={sys.argv[1]}", source_lang="de", target_lang="en")))
except Exception as error:
    print(type(error).__name__, error)
"""
    command = [sys.executable, "-c", code, str(path)]
    environment = {**os.environ, "HF_HOME": str(tmp_path)}
    found = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert found.stderr == ""
    assert found.stdout.startswith("CorpusError hf:json@data_files=")
    assert "JSON parse error" in found.stdout


def test_an_overlong_name_of_a_dataset_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "_reachable", lambda endpoint: False)
    assert failure("hf:" + "x" * 300).hint
