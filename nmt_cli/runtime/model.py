"""A loaded model: the vocabularies, the ONNX sessions, and the shortlist of target tokens."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece

from nmt_cli.runtime.folder import (
    COPY_AGAIN,
    Floats,
    Folder,
    Integers,
    RuntimeFailure,
    refers_outside,
)
from nmt_cli.runtime.search import BOS, EOS, PAD, UNK, Step
from nmt_cli.runtime.segments import CONTROL
from nmt_cli.runtime.words import SPACE

_FAILURE = "the model in this folder cannot be run; export it again"
_COUNTS = np.arange(64)


class Vocabulary:
    """The pieces of one language; the same text gives the same ids as in training."""

    def __init__(self, model: bytes, *, words: bool) -> None:
        """`words`: every piece is a word (kind `word`)."""
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
            ids = [getattr(self._processor, f"{name}_id")() for name in ("pad", "unk", "bos", "eos")]
        except RuntimeError:
            ids = []
        if not model or ids != [PAD, UNK, BOS, EOS]:
            raise RuntimeFailure(
                "the vocabulary is not a sentencepiece model of nmt", "export the model again"
            )
        self.words = words
        self.pieces: list[str] = self._processor.id_to_piece(list(range(self._processor.get_piece_size())))

    @cached_property
    def is_byte(self) -> Any:
        """(V,) whether each id is one of the 256 bytes that spell unknown characters."""
        return np.array(self._processor.is_byte(list(range(len(self.pieces)))), bool)

    @cached_property
    def has_unknown(self) -> bool:
        """Whether <unk> can occur; otherwise unknown characters are spelled in bytes."""
        return not self.is_byte.any()

    @cached_property
    def banned(self) -> Integers:
        """Ids that no translation may contain: pad, bos, control characters, and <unk> if nothing is unknown."""
        banned = {PAD, BOS} if self.has_unknown else {PAD, UNK, BOS}
        for i, (piece, is_byte) in enumerate(zip(self.pieces, self.is_byte.tolist(), strict=True)):
            text = bytes([int(piece[3:5], 16)]).decode(errors="replace") if is_byte else piece
            if CONTROL.search(text):
                banned.add(i)
        return np.array(sorted(banned))

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {piece.removeprefix(SPACE): i for i, piece in enumerate(self.pieces) if i > EOS}

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, without <eos>."""
        if self.words:
            return [[self._ids.get(word, UNK) for word in text.split(" ") if word] for text in texts]
        # One by one: for a list sentencepiece starts a thread, which takes longer than to encode a line.
        return [self._processor.encode(text, out_type=int) for text in texts]

    def surfaces(self, text: str) -> list[str]:
        """What each id of `encode` stands for in the text, also where it is <unk>."""
        if self.words:
            return [word for word in text.split(" ") if word]
        return [piece.replace(SPACE, "") for piece in self._processor.encode(text, out_type=str)]

    def decode(self, ids: Sequence[int], unknown: Iterable[str] = ()) -> str:
        """The text of `ids`; each <unk> takes the next text of `unknown`, if any."""
        if not self.has_unknown:
            return str(self._processor.decode(list(ids)))
        texts, before = iter(unknown), SPACE if self.words else ""
        pieces = [
            before + next(texts, "<unk>") if i == UNK else self.pieces[i]
            for i in ids
            if i not in (PAD, BOS, EOS)
        ]
        return "".join(pieces).replace(SPACE, " ").removeprefix(" ")


class Model:
    """The two graphs, the vocabularies and the settings."""

    def __init__(self, path: Path, *, threads: int = 0) -> None:
        """`threads` of ONNX Runtime; 0: all cores."""
        folder = Folder(path)
        self.path, self.threads = path, threads
        self.settings = folder.settings()
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
            raise RuntimeFailure(f"{folder.path / 'shortlist.npy'} is damaged", COPY_AGAIN) from error
        V, size = len(model.target.pieces), len(model.source.pieces)
        if (
            table.ndim != 2
            or table.dtype.kind != "u"
            or len(table) != size
            or max(table.max(initial=0), frequent.max(initial=0)) >= V
        ):
            raise RuntimeFailure(f"{folder.path / 'shortlist.npy'} does not fit the vocabulary", COPY_AGAIN)
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
