"""Damaged, foreign and tampered folders: one clear error, and nothing outside the folder is read."""

import hashlib
import json
import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from nmt_cli.runtime.folder import RuntimeFailure, refers_outside
from nmt_cli.runtime.translate import ExportedTranslator

FILES = ("encoder.onnx", "decoder.onnx", "shared.model", "settings.json")


@pytest.fixture
def folder(exported: Path, tmp_path: Path) -> Path:
    import shutil

    return Path(shutil.copytree(exported, tmp_path / "copy"))


def replace_file(folder: Path, name: str, content: bytes) -> None:
    """A hostile folder: its manifest describes the file as it is."""
    (folder / name).write_bytes(content)
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    manifest["files"][name] = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")


def refused(folder: Path) -> str:
    with pytest.raises(RuntimeFailure) as caught:
        ExportedTranslator(folder, threads=1).translate(["ba de."])
    assert "\n" not in caught.value.message
    assert caught.value.hint
    return caught.value.message


@pytest.mark.parametrize("name", FILES)
def test_a_truncated_changed_or_missing_file_is_named(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[:-1])
    assert f"{name} is truncated" in refused(folder)
    (folder / name).write_bytes(bytes([content[0] ^ 1]) + content[1:])
    assert f"{name} was changed after it was written" in refused(folder)
    (folder / name).unlink()
    assert name in refused(folder)


@pytest.mark.parametrize("name", ["encoder.onnx", "decoder.onnx"])
@pytest.mark.parametrize("content", [b"", b"not a model", b"\x08\x08" * 100, bytes(range(256))])
def test_a_foreign_file_with_a_fitting_manifest_is_refused(folder: Path, name: str, content: bytes) -> None:
    replace_file(folder, name, content)
    assert name in refused(folder)


def test_a_graph_of_something_else_is_refused(folder: Path) -> None:
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", values[:1], values[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    replace_file(folder, "decoder.onnx", model.SerializeToString())
    assert "not those of `nmt export`" in refused(folder)


def test_the_graphs_of_another_model_give_one_line(folder: Path, tmp_path: Path) -> None:
    from nmt_cli.export.folder import export
    from tests.translator.runs import make_run

    other = make_run(tmp_path / "other", ["model.hidden_size=32"])
    export(other, tmp_path / "exported", shortlist="none")
    replace_file(folder, "decoder.onnx", (tmp_path / "exported" / "decoder.onnx").read_bytes())
    assert "ONNX Runtime failed" in refused(folder)


@pytest.mark.parametrize("place", ["initializer", "attribute", "loop"])
@pytest.mark.parametrize("target", ["/etc/passwd", "../../secret", "beside.bin"])
def test_weights_outside_the_file_are_refused(folder: Path, place: str, target: str) -> None:
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=target)
    model = onnx.load_from_string((folder / "decoder.onnx").read_bytes())
    if place == "initializer":
        model.graph.initializer.append(tensor)
    else:
        node = helper.make_node("Constant", [], ["w"], value=tensor)
        if place == "loop":
            node = helper.make_node("If", ["c"], ["r"], then_branch=helper.make_graph([node], "b", [], []))
        model.graph.node.append(node)
    replace_file(folder, "decoder.onnx", model.SerializeToString())
    assert "keeps weights in another file" in refused(folder)


def test_embedded_weights_are_not_taken_for_external_ones(exported: Path) -> None:
    for name in ("encoder.onnx", "decoder.onnx"):
        assert not refers_outside((exported / name).read_bytes())
    assert refers_outside(b"\xff" * 20)  # what cannot be parsed is not trusted


def test_links_and_special_files_are_not_followed(folder: Path, tmp_path: Path) -> None:
    (folder / "decoder.onnx").rename(tmp_path / "elsewhere.onnx")
    (folder / "decoder.onnx").symlink_to(tmp_path / "elsewhere.onnx")
    assert "decoder.onnx" in refused(folder)
    (folder / "decoder.onnx").unlink()
    os.mkfifo(folder / "decoder.onnx")
    assert "not a regular file" in refused(folder)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"kind": "run"}',
        '{"kind": "export", "format": "x"}',
        '{"kind": "export", "format": 99}',
    ],
)
def test_a_manifest_of_something_else_is_refused(folder: Path, content: str) -> None:
    (folder / "manifest.json").write_text(content, "utf-8")
    refused(folder)


@pytest.mark.parametrize(
    "content", [b"[]", b"{}", b'{"vocabulary": ["bpe"]}', b'{"vocabulary": ["bpe", "bpe"]}', b"\xff"]
)
def test_damaged_settings_give_one_line(folder: Path, content: bytes) -> None:
    replace_file(folder, "settings.json", content)
    refused(folder)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("search.beam_size", 10**9),
        ("search.beam_size", "5"),
        ("search.beam_size", True),
        ("search.max_length", 10**9),
        ("search.max_length", 0),
        ("search.min_length", 10**6),
        ("search.length_penalty", float("nan")),
        ("search.length_penalty", 300),
        ("search.max_length_ratio", float("inf")),
        ("search.stopping", []),
        ("search.sampling", True),
        ("search.sampling", "\x1b[31m"),
        ("search.unknown", 1),
        ("search", None),
        ("max_tokens", 0),
        ("max_tokens", 1.5),
        ("lowercase", "no"),
        ("replacements", [["", "x"]]),
        ("replacements", [[1, 2]]),
        ("replacements", 3),
        ("vocabulary", ["bpe"]),
        ("vocabulary", ["bpe", {}]),
        ("target_language", "\x1b]0;x\x07"),
        ("model_sha256", "$(touch x)"),
        ("data_sha256", None),
        ("shortlist", {"frequent": [-1]}),
        ("shortlist", {"frequent": [2**40]}),
    ],
)
def test_hostile_settings_are_refused(folder: Path, path: str, value: object) -> None:
    settings = json.loads((folder / "settings.json").read_text("utf-8"))
    section, _, key = path.rpartition(".")
    (settings[section] if section else settings)[key] = value
    replace_file(folder, "settings.json", json.dumps(settings).encode())
    assert "settings.json is damaged" in refused(folder)


@pytest.mark.parametrize("name", ["manifest.json", "settings.json"])
def test_deeply_nested_json_is_refused(folder: Path, name: str) -> None:
    if name == "settings.json":
        replace_file(folder, name, b"[" * 100_000)
    else:
        (folder / name).write_bytes(b"[" * 100_000)
    assert f"{name} is damaged" in refused(folder)


@pytest.mark.parametrize("size", [-2, 2**70, "1", None])
def test_hostile_sizes_in_a_manifest_are_refused(folder: Path, size: object) -> None:
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    manifest["files"]["settings.json"]["size"] = size
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    assert "manifest.json is damaged" in refused(folder)


@pytest.mark.parametrize("damage", ["pickle", "shape", "range", "garbage"])
def test_a_damaged_shortlist_is_refused(folder: Path, tmp_path: Path, damage: str) -> None:
    settings = json.loads((folder / "settings.json").read_text("utf-8"))
    settings["shortlist"] = {"frequent": [5]}
    replace_file(folder, "settings.json", json.dumps(settings).encode())
    tables = {
        "pickle": np.array([{"a": 1}], object),
        "shape": np.zeros((3, 2), np.uint16),
        "range": np.full((330, 2), 60000, np.uint16),
        "garbage": np.zeros(1, np.uint8),
    }
    np.save(tmp_path / "x.npy", tables[damage], allow_pickle=damage == "pickle")
    content = (tmp_path / "x.npy").read_bytes() if damage != "garbage" else b"\x93NUMPY garbage"
    replace_file(folder, "shortlist.npy", content)
    assert "shortlist.npy" in refused(folder)


def test_a_model_that_returns_nan_gives_one_line(folder: Path) -> None:
    model = onnx.load_from_string((folder / "decoder.onnx").read_bytes())
    for tensor in model.graph.initializer:
        array = numpy_helper.to_array(tensor)
        if array.dtype == np.float32 and array.size > 100:
            tensor.CopyFrom(numpy_helper.from_array(np.full_like(array, np.nan), tensor.name))
    replace_file(folder, "decoder.onnx", model.SerializeToString())
    assert "search found no translation" in refused(folder)
