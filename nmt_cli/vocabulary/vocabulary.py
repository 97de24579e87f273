"""Vocabularies: sentencepiece models that turn text into token ids and back."""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
import sentencepiece
from numpy.typing import NDArray

from nmt_cli.config.data import DEFAULT_SIZE, VocabularyConfig
from nmt_cli.errors import VocabularyError
from nmt_cli.files.atomic import cannot_write
from nmt_cli.files.manifest import Manifest
from nmt_cli.vocabulary.sampling import BpeDropout, Pieces, Sampler, UnigramSampling, fields
from nmt_cli.vocabulary.token_ids import BOS, EOS, PAD, UNK, Ragged, narrowest

__all__ = ["BOS", "EOS", "PAD", "UNK", "Vocabularies", "Vocabulary"]

_KINDS = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}  # TrainerSpec.ModelType of sentencepiece_model.proto
SHARED, SIDES = "shared.model", ("source.model", "target.model")
_SPACE = "▁"  # U+2581, sentencepiece's marker for a space
_UNKNOWN = "<unk>"
# Control characters but tab: what `data.control` drops from the training text, and line breaks.
CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f]")
# Unigram models depend on the number of threads: fixing it gives the same model on every machine.
_TRAINING_THREADS = 4
# sentencepiece skips lines of more than 4192 bytes; this many characters never exceed that.
_LONGEST_LINE = 1000


class Vocabulary:
    """The pieces of one language, or of two languages that share them.

    Any text survives `encode` and `decode` unchanged, with two exceptions: a literal '▁' (U+2581),
    sentencepiece's marker for a space, becomes a space; and a vocabulary with a real <unk> (kind `word`, or
    without byte fallback) loses what it does not know. Text that looks like a reserved piece ("<s>", "<unk>",
    "<0x41>") is ordinary text. Ids never contain <eos>: `nmt_cli.data.batches.collate` adds it.
    """

    def __init__(self, model: bytes) -> None:
        """`model` is a serialized sentencepiece model, as `save` writes it."""
        self._model = model
        self._processor = _processor(model)
        self.kind = _kind(model)

    @classmethod
    def train(cls, lines: Iterable[str], config: VocabularyConfig, *, most: int = DEFAULT_SIZE) -> Self:
        """Train on `lines`, which are read once; the same lines give the same model on any machine.

        `most` is the largest size if the settings have none.
        """
        _check_size(config)
        word = config.kind == "word"
        text = _TrainingText(lines)
        model = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(text),
                model_writer=model,
                model_type=config.kind,
                vocab_size=config.size or most,
                hard_vocab_limit=config.size is not None and config.kind != "char",
                byte_fallback=config.bytes_for_unknown,
                character_coverage=config.character_coverage,
                # Without a piece of its own, a space would be decoded as a literal '▁'.
                required_chars="" if word else _SPACE,
                # A piece of kind `word` starts with its space.
                user_defined_symbols=[_SPACE + symbol if word else symbol for symbol in config.symbols],
                normalization_rule_name="identity",
                remove_extra_whitespaces=word,
                pad_id=PAD,
                unk_id=UNK,
                bos_id=BOS,
                eos_id=EOS,
                num_threads=_TRAINING_THREADS,
                minloglevel=2,
            )
        except (RuntimeError, ValueError, TypeError, OverflowError) as error:
            if text.failure is not None:
                raise text.failure from None
            raise _explain(str(error), config.size or most, text) from error
        return cls(model.getvalue())

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a model written by `save` or by sentencepiece itself."""
        try:
            content = path.read_bytes()
        except OSError as error:
            raise VocabularyError(
                f"cannot read {path}: {error.strerror}",
                hint="give a file written by `nmt preprocess`, such as shared.model",
            ) from error
        return cls.parse(content, path)

    @classmethod
    def parse(cls, content: bytes, path: Path) -> Self:
        """The model in the content of the file at `path`."""
        try:
            return cls(content)
        except VocabularyError as error:
            raise VocabularyError(f"{path}: {error.message}", hint=error.hint) from error

    def save(self, path: Path) -> None:
        """Write the model."""
        try:
            path.write_bytes(self._model)
        except OSError as error:
            raise cannot_write(path, error) from error

    def __len__(self) -> int:
        return int(self._processor.get_piece_size())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self._model == other._model

    def __hash__(self) -> int:
        return hash(self._model)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle only the model, for worker processes."""
        return _received, (self._model,)

    @cached_property
    def pieces(self) -> tuple[str, ...]:
        """All pieces by id, with '▁' for a space."""
        try:
            return tuple(self._processor.id_to_piece(list(range(len(self)))))
        except UnicodeDecodeError as error:
            raise VocabularyError(
                "the vocabulary has pieces that are not UTF-8", hint="`nmt preprocess` creates a new one"
            ) from error

    @cached_property
    def is_byte(self) -> NDArray[np.bool_]:
        """For each id, whether it is one of the 256 byte pieces, which encode unknown characters."""
        return np.array(self._processor.is_byte(list(range(len(self)))), np.bool_)

    @property
    def has_unknown(self) -> bool:
        """Whether <unk> can occur; otherwise unknown characters are encoded as bytes."""
        return not self.is_byte.any()

    @cached_property
    def banned(self) -> tuple[int, ...]:
        """Ids that no translation may contain: pad, bos, control characters, and <unk> if nothing is unknown.

        A tab is text: it separates columns, and `data.control` keeps it in the training data. Bytes from 0x80 on are
        parts of longer characters, so the two that spell U+0080 to U+009F are not banned.
        """
        banned = {PAD, BOS} if self.has_unknown else {PAD, UNK, BOS}
        for token, (piece, is_byte) in enumerate(zip(self.pieces, self.is_byte.tolist(), strict=True)):
            text = bytes([int(piece[3:5], 16)]).decode(errors="replace") if is_byte else piece
            if CONTROL.search(text):
                banned.add(token)
        return tuple(sorted(banned))

    @cached_property
    def continues_word(self) -> NDArray[np.bool_]:
        """For each id, whether it continues the word before it: it starts with a letter, a digit or a mark.

        Bytes from 0x80 on are taken for letters. With kind `word`, every id is a word of its own.
        """
        starts = np.array([_is_letter(piece[:1]) for piece in self.pieces], np.bool_)
        for token in np.flatnonzero(self.is_byte).tolist():
            value = int(self.pieces[token][3:5], 16)
            starts[token] = value >= 0x80 or _is_letter(chr(value))
        starts[: EOS + 1] = False
        return starts & (self.kind != "word")

    @cached_property
    def _words(self) -> dict[str, int]:
        return {piece.removeprefix(_SPACE): token for token, piece in enumerate(self.pieces) if token > EOS}

    def encode(self, texts: Sequence[str], *, threads: int = 1) -> Ragged:
        """Ids of each text in the narrowest type, without <eos>; threads do not change the result."""
        if self.kind == "word":
            # sentencepiece merges consecutive <unk>; translation needs one for each word.
            known = self._words
            rows = [[known.get(word, UNK) for word in text.split(" ") if word] for text in texts]
        else:
            rows = self._processor.encode(list(texts), out_type=int, num_threads=threads)
        return Ragged.from_rows(rows, narrowest(len(self)))

    def surfaces(self, text: str) -> list[str]:
        """The text of each id of `encode`, even of <unk>, without spaces."""
        if self.kind == "word":
            return [word for word in text.split(" ") if word]
        return [piece.replace(_SPACE, "") for piece in self._processor.encode(text, out_type=str)]

    @property
    def has_many_segmentations(self) -> bool:
        """Whether a text has several segmentations to sample from: not with kind `char` or `word`."""
        return self.kind in ("bpe", "unigram")

    def sample(self, texts: Sequence[str], strength: float, seed: int) -> Ragged:
        """Ids of a random segmentation of each text; the same texts and seed give the same ids in any process.

        `bpe`: each merge is skipped with probability `strength` (BPE-dropout, Provilkov et al. 2020).
        `unigram`: a segmentation is drawn with its probability to the power of `strength` (Kudo 2018), so a small
        one varies more. With a strength of 0 there is no sampling: the ids are those of `encode`.
        """
        assert 0 <= strength <= 1
        if not strength or not self.has_many_segmentations:
            return self.encode(texts)
        rows = self._sampler.sample(self._text_pieces.words(texts), strength, seed)
        return Ragged.from_rows(rows, narrowest(len(self)))

    @cached_property
    def _text_pieces(self) -> Pieces:
        return Pieces(self._model, self._processor.normalize)

    @cached_property
    def _sampler(self) -> Sampler:
        return (BpeDropout if self.kind == "bpe" else UnigramSampling)(self._text_pieces)

    def decode(self, ids: Sequence[int] | NDArray[Any], *, unknown: Iterable[str] = ()) -> str:
        """The text of `ids` without reserved ones; each <unk> becomes the next text of `unknown`, if any."""
        plain = [int(token) for token in ids]
        if not self.has_unknown:
            return str(self._processor.decode(plain))
        texts = iter(unknown)
        before = _SPACE if self.kind == "word" else ""
        pieces = [
            before + next(texts, _UNKNOWN) if token == UNK else self.pieces[token]
            for token in plain
            if token not in (PAD, BOS, EOS)
        ]
        return "".join(pieces).replace(_SPACE, " ").removeprefix(" ")


@lru_cache(maxsize=2)
def _received(model: bytes) -> Vocabulary:
    """A vocabulary sent to this process; one that is sent with every block of text is loaded once."""
    return Vocabulary(model)


@dataclass(frozen=True)
class Vocabularies:
    """The vocabularies of source and target; a joint one is the same object twice."""

    source: Vocabulary
    target: Vocabulary

    @classmethod
    def train(
        cls,
        lines: Callable[[tuple[str, ...]], Iterable[str]],
        config: VocabularyConfig,
        *,
        most: int = DEFAULT_SIZE,
    ) -> Self:
        """One joint vocabulary, or one for each side; `lines` returns the text of the given sides."""
        if config.joint:
            both = Vocabulary.train(lines(("source", "target")), config, most=most)
            return cls(both, both)
        source, target = (
            Vocabulary.train(lines((side,)), config, most=most) for side in ("source", "target")
        )
        return cls(source, target)

    @property
    def joint(self) -> bool:
        """Whether source and target share one vocabulary."""
        return self.source is self.target

    def save(self, directory: Path) -> None:
        """Write shared.model, or source.model and target.model."""
        if self.joint:
            self.source.save(directory / SHARED)
        else:
            self.source.save(directory / SIDES[0])
            self.target.save(directory / SIDES[1])

    @classmethod
    def load(cls, directory: Path, files: Manifest | None = None) -> Self:
        """Read the files written by `save`; with a manifest, only those that it lists, compared with their hashes."""

        def exists(name: str) -> bool:
            return name in files if files is not None else (directory / name).exists()

        def read(name: str) -> Vocabulary:
            path = directory / name
            return Vocabulary.load(path) if files is None else Vocabulary.parse(files.read(name), path)

        if exists(SHARED):
            vocabulary = read(SHARED)
            return cls(vocabulary, vocabulary)
        if not all(exists(side) for side in SIDES):
            raise VocabularyError(
                f"{directory} has no vocabulary",
                hint="give a directory with shared.model, or with source.model and target.model",
            )
        return cls(read(SIDES[0]), read(SIDES[1]))


class _TrainingText:
    """Lines as sentencepiece accepts them: not blank, without line breaks, long ones in parts."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.empty = True
        self.failure: BaseException | None = None
        self._lines = lines

    def __iter__(self) -> Iterator[str]:
        try:
            for line in self._lines:
                # A piece that contains a line break would change the line count of a translation.
                text = line.replace("\n", " ").replace("\r", " ")
                if text.strip():
                    self.empty = False
                    yield from _parts(text)
        except Exception as error:  # sentencepiece would keep only its text
            self.failure = error
            raise


def _is_letter(character: str) -> bool:
    return character == "_" or (character != "" and unicodedata.category(character)[0] in "LNM")


def _parts(text: str) -> Iterator[str]:
    while len(text) > _LONGEST_LINE:
        space = text.rfind(" ", 1, _LONGEST_LINE)
        cut = space if space > 0 else _LONGEST_LINE
        yield text[:cut]
        text = text[cut:]
    yield text


def _check_size(config: VocabularyConfig) -> None:
    if config.kind in ("bpe", "unigram"):
        return  # also needs every character of the text, which sentencepiece counts
    smallest = 4 + 256 * config.bytes_for_unknown + len(config.symbols) + 1
    if config.size is not None and config.size < smallest:
        raise VocabularyError(
            f"vocabulary.size = {config.size} is too small: {smallest - 1} pieces are reserved",
            hint=f"set vocabulary.size to {smallest} or more",
        )


def _explain(message: str, size: int, text: _TrainingText) -> VocabularyError:
    if text.empty or "!sentences_.empty()" in message:
        return VocabularyError(
            "there is no text to train the vocabulary on",
            hint="give training data with at least one non-blank line",
        )
    if found := re.search(r"too high \(\d+\).* <= (\d+)", message):
        return VocabularyError(
            f"vocabulary.size = {size} is too large for this text",
            hint=f"set vocabulary.size to {found[1]} or less, or give more text",
        )
    if found := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        return VocabularyError(
            f"vocabulary.size = {size} is too small for the characters of this text",
            hint=f"set vocabulary.size to {found[1]} or more, or vocabulary.character_coverage below 1",
        )
    return VocabularyError(
        f"sentencepiece cannot train a vocabulary: {message}",
        hint="try another vocabulary.kind or vocabulary.size",
    )


def _processor(model: bytes) -> Any:
    try:
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    except RuntimeError:
        processor = None
    if processor is None or not model:  # sentencepiece accepts an empty file as a model
        raise VocabularyError(
            "not a sentencepiece model", hint="it may be truncated; `nmt preprocess` creates a new one"
        )
    ids = (processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id())
    if ids != (PAD, UNK, BOS, EOS):
        raise VocabularyError(
            f"the ids of pad, unk, bos and eos are {', '.join(map(str, ids))} instead of 0, 1, 2, 3",
            hint="train it with --pad_id=0 --unk_id=1 --bos_id=2 --eos_id=3, or with `nmt preprocess`",
        )
    return processor


def _kind(model: bytes) -> str:
    try:
        return _KINDS[_model_type(model)]
    except (KeyError, IndexError, ValueError, TypeError, AssertionError) as error:
        raise VocabularyError(
            "not a sentencepiece model of a known kind", hint="`nmt preprocess` creates a new one"
        ) from error


def _model_type(model: bytes) -> int:
    """Field 3 of the trainer's settings, field 2 of the model: sentencepiece has no function that returns it."""
    settings = next((value for field, value in fields(model) if field == 2), b"")
    assert isinstance(settings, bytes)
    found = next((value for field, value in fields(settings) if field == 3), 1)
    assert isinstance(found, int)
    return found
