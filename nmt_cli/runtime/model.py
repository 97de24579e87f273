"""An exported folder: checked files, the ONNX sessions, and the shortlist of target tokens.

Nothing in the folder is code to this module. Each file is read once, without following links, and compared with the
size and the SHA-256 in manifest.json; a graph whose weights lie outside its own file is refused.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nmt_cli.runtime.search import BOS, EOS, UNK, Floats, Integers, RuntimeFailure, Step
from nmt_cli.runtime.settings import parse_files, parse_json, parse_settings
from nmt_cli.runtime.vocabulary import Vocabulary

KIND = "export"
FORMAT = 1
_MANIFEST_LIMIT = 1 << 20  # bytes
_AGAIN = "copy the whole folder again, or export the model again"
_FAILURE = "the model in this folder cannot be run; export it again"
_COUNTS = np.arange(64)


class Folder:
    """The files of an exported model, each as its manifest describes it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            content = parse_json(self._bytes("manifest.json"))
            if content["kind"] != KIND:
                raise RuntimeFailure(
                    f"{path} is not an exported model", "give a folder that `nmt export` wrote"
                )
            if int(content["format"]) > FORMAT:
                raise RuntimeFailure(f"{path} has a newer format than this runtime", "upgrade nmt-cli")
            self._files = parse_files(content)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            raise RuntimeFailure(f"{path / 'manifest.json'} is damaged", _AGAIN) from error

    def __contains__(self, name: str) -> bool:
        return name in self._files

    def read(self, name: str) -> bytes:
        """The content of a file that the manifest lists."""
        if name not in self._files:
            raise RuntimeFailure(f"{self.path} has no {name}", _AGAIN)
        size, sha256 = self._files[name]
        content = self._bytes(name, size)
        if len(content) < size:
            raise RuntimeFailure(f"{self.path / name} is truncated: {len(content)} of {size} bytes", _AGAIN)
        if hashlib.sha256(content).hexdigest() != sha256:
            raise RuntimeFailure(f"{self.path / name} was changed after it was written", _AGAIN)
        return content

    def _bytes(self, name: str, size: int = _MANIFEST_LIMIT) -> bytes:
        """A regular file, up to one byte more than `size`."""
        try:
            descriptor = os.open(self.path / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor, not a path
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    raise RuntimeFailure(f"{self.path / name} is not a regular file", _AGAIN)
                return file.read(size + 1)
        except OSError as error:
            raise RuntimeFailure(f"cannot read {self.path / name}: {error.strerror}", _AGAIN) from error


class Model:
    """The two graphs, the vocabularies and the settings."""

    def __init__(self, path: Path, *, threads: int = 0) -> None:
        """`threads` of ONNX Runtime; 0: all cores."""
        folder = Folder(path)
        self.path, self.threads = path, threads
        try:
            self.settings = parse_settings(folder.read("settings.json"))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RuntimeFailure(f"{path / 'settings.json'} is damaged", _AGAIN) from error
        names = ("shared", "shared") if "shared.model" in folder else ("source", "target")
        self.source, self.target = (
            Vocabulary(folder.read(f"{name}.model"), words=kind == "word")
            for name, kind in zip(names, self.settings["vocabulary"], strict=True)
        )
        self._all_ids = np.arange(len(self.target.pieces))
        self._encoder = self._session(folder.read("encoder.onnx"), "encoder.onnx")
        self._decoder = self._session(folder.read("decoder.onnx"), "decoder.onnx")
        self.encoder_outputs = [value.name for value in self._encoder.get_outputs()]
        self.decoder_inputs = [value.name for value in self._decoder.get_inputs()]
        self.decoder_outputs = [value.name for value in self._decoder.get_outputs()]
        self.has_attention = "attention" in self.decoder_outputs
        self.carried = [
            name for name in self.decoder_inputs if name.startswith(("memory_", "table_", "state_"))
        ]
        self.states = [
            (name, name.replace("state", "next")) for name in self.carried if name.startswith("state_")
        ]
        self.shortlist = Shortlist(folder, self) if "shortlist.npy" in folder else None
        self._check_signature()

    def _session(self, model: bytes, name: str) -> Any:
        if refers_outside(model):
            raise RuntimeFailure(f"{self.path / name} keeps weights in another file", _FAILURE)
        try:
            import onnxruntime
        except ImportError as error:
            raise RuntimeFailure("onnxruntime is not installed", "pip install onnxruntime") from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = self.threads, 1
        options.log_severity_level = 4
        # Threads that spin while they wait slow down everything else on the machine.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # ONNX Runtime's own exceptions have no common class
            raise RuntimeFailure(f"{self.path / name} is not a usable ONNX model", _FAILURE) from error

    def _check_signature(self) -> None:
        needed = {"tokens", "scores", "exclude", "count"}
        given = {"source", "lengths"} | ({"shortlist", "allowed"} if self.shortlist else set())
        if (
            set(self.decoder_inputs) != {*needed, *self.carried}
            or not set(self.encoder_outputs) >= set(self.carried)
            or {value.name for value in self._encoder.get_inputs()} != given
            or not {"best", "index", "peak", *(after for _, after in self.states)}
            <= set(self.decoder_outputs)
        ):
            raise RuntimeFailure(f"the graphs in {self.path} are not those of `nmt export`", _FAILURE)

    def encode(
        self, rows: Sequence[Sequence[int]], *, forced: Sequence[int] = (), full: bool = False
    ) -> Decoding:
        """Read sentences, given as ids without <eos>. `forced` ids are available to all; `full`: all ids are."""
        lengths = np.array([len(row) + 1 for row in rows], np.int64)
        source = np.zeros((len(rows), int(lengths.max())), np.int64)
        for padded, row in zip(source, rows, strict=True):
            padded[: len(row)], padded[len(row)] = row, EOS
        feed: dict[str, Any] = {"source": source, "lengths": lengths.astype(np.int32)}
        ids = self._all_ids
        if self.shortlist is not None:
            if full:
                allowed = np.zeros((len(rows), len(ids)), np.float32)
            else:
                ids, allowed = self.shortlist.of(rows, forced)
            feed |= {"shortlist": ids, "allowed": allowed}
        values = self.run(self._encoder, self.encoder_outputs, feed)
        return Decoding(self, ids, lengths, values)

    def run(self, session: Any, outputs: Sequence[str], feed: dict[str, Any]) -> dict[str, Any]:
        """The outputs of a graph by name."""
        try:
            return dict(zip(outputs, session.run(outputs, feed), strict=True))
        except Exception as error:
            raise RuntimeFailure(
                f"ONNX Runtime failed: {str(error).splitlines()[0][:200]}", _FAILURE
            ) from error

    def step(self, feed: dict[str, Any]) -> dict[str, Any]:
        """One decoder step."""
        return self.run(self._decoder, self.decoder_outputs, feed)


class Decoding:
    """B sentences that the encoder has read; what `search` calls a decoder."""

    def __init__(self, model: Model, ids: Integers, lengths: Integers, values: dict[str, Any]) -> None:
        self.ids, self.lengths = ids, lengths
        self._model = model
        self._feed = {name: values[name] for name in model.carried}
        for name, _ in model.states:
            self._feed[name] = self._feed[name][:, None]  # one hypothesis per sentence

    def step(
        self, tokens: Integers, parents: Integers | None, scores: Floats, exclude: Floats, count: int
    ) -> Step:
        """See `search.Decoder`."""
        model, feed = self._model, self._feed
        if parents is not None:
            for name, _ in model.states:
                state = feed[name]  # (B, K, …)
                feed[name] = state.reshape(-1, *state.shape[2:])[parents]
        feed["tokens"], feed["scores"], feed["exclude"] = tokens, scores[:, :, None], exclude[:, None]
        feed["count"] = _COUNTS[count : count + 1] if count < len(_COUNTS) else np.array([count])
        values = model.step(feed)
        for name, after in model.states:
            feed[name] = values[after]
        return Step(values["best"], values["index"], values["peak"], values.get("attention"))

    def select(self, rows: Integers) -> None:
        """Keep the memory of these sentences; states are chosen by the parents of the next step."""
        for name, value in self._feed.items():
            if name.startswith("memory_"):
                self._feed[name] = value[rows]


class Shortlist:
    """The target tokens that a sentence may use: the likely ones of its pieces, frequent ones, and copies.

    If the source has bytes of unknown characters, so may the translation.
    """

    def __init__(self, folder: Folder, model: Model) -> None:
        try:
            table = np.load(io.BytesIO(folder.read("shortlist.npy")), allow_pickle=False)
            frequent = np.array(model.settings["shortlist"]["frequent"], np.int64)
        except (ValueError, TypeError, EOFError, MemoryError) as error:
            raise RuntimeFailure(f"{folder.path / 'shortlist.npy'} is damaged", _AGAIN) from error
        V, size = len(model.target.pieces), len(model.source.pieces)
        if (
            table.ndim != 2
            or table.dtype.kind != "u"
            or len(table) != size
            or max(table.max(initial=0), frequent.max(initial=0)) >= V
        ):
            raise RuntimeFailure(f"{folder.path / 'shortlist.npy'} does not fit the vocabulary", _AGAIN)
        self._table = table  # (V, n) the likely target tokens of each source token
        self._always = np.zeros(V, bool)
        self._always[frequent] = True
        self._always[[UNK, BOS, EOS]] = True
        self._bytes = np.flatnonzero(model.target.is_byte)
        self._source_bytes = model.source.is_byte
        self._joint = model.source is model.target or model.source.pieces == model.target.pieces

    def of(self, rows: Sequence[Sequence[int]], forced: Sequence[int] = ()) -> tuple[Integers, Floats]:
        """The tokens (N,) of all sentences, ascending, and 0 or -∞ (B, N) for those that each may use."""
        allowed = np.repeat(self._always[None], len(rows), axis=0)  # (B, V)
        for row, mask in zip(rows, allowed, strict=True):
            mask[self._table[row].ravel()] = True
            if self._joint:
                mask[row] = True
            if self._source_bytes[row].any():
                mask[self._bytes] = True
        if forced:
            allowed[:, list(forced)] = True
        ids = np.flatnonzero(allowed.any(axis=0))
        return ids, np.where(allowed[:, ids], np.float32(0), np.float32(-np.inf))


# ONNX files are protocol buffers. These fields lead to tensors: graph and functions of a ModelProto; node, initializer
# and sparse_initializer of a GraphProto; t, g, tensors, graphs and sparse tensors of an AttributeProto.
_FIELDS: dict[str, dict[int, str]] = {
    "model": {7: "graph", 25: "function"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "function": {7: "node"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {},
}
_EXTERNAL_DATA, _DATA_LOCATION = 13, 14  # fields of TensorProto


def refers_outside(model: bytes) -> bool:
    """Whether a tensor of this ONNX model has its data in another file; true as well if it cannot be parsed."""
    waiting = [("model", memoryview(model))]
    try:
        while waiting:
            kind, data = waiting.pop()
            for field, value in _proto_fields(data):
                if kind == "tensor" and field in (_EXTERNAL_DATA, _DATA_LOCATION):
                    return True
                if field in _FIELDS[kind] and not isinstance(value, int):
                    waiting.append((_FIELDS[kind][field], value))
    except (IndexError, ValueError):
        return True
    return False


def _proto_fields(data: memoryview) -> Iterator[tuple[int, memoryview | int]]:
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        wire = key & 7
        if wire == 0:
            value, position = _varint(data, position)
            yield key >> 3, value
            continue
        size = {1: 8, 5: 4}.get(wire, 0)
        if wire == 2:
            size, position = _varint(data, position)
        elif not size:
            raise ValueError("no such wire type")
        if position + size > len(data):
            raise ValueError("truncated")
        yield key >> 3, data[position : position + size]
        position += size


def _varint(data: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & 127) << shift
        position, shift = position + 1, shift + 7
        if byte < 128:
            return value, position
        if shift > 63:
            raise ValueError("too long")
