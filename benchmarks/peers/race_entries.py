"""How `race.py` trains and runs each toolkit: by its own commands, on files of piece ids.

All train one LSTM layer per side: embeddings 256, encoder 256 per direction, decoder 512, `general` attention without
input feeding. Peers have no dropout on word vectors. fairseq is not here: its training needs compiled extensions.
Each peer has settings that suit it; OpenNMT-py is here twice, also with as many of our defaults as it can express.
"""

import json
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nmt_cli.config import TrainConfig
from peers.install import python_of

Command = list[str | Path]
DEFAULTS = TrainConfig()


@dataclass(frozen=True)
class Pieces:
    """The corpus as files of piece ids, one sentence per line, and the data directory they are from."""

    folder: Path
    source: str
    target: str
    data: Path

    def file(self, split: str, language: str) -> Path:
        """One side of a split."""
        return self.folder / f"{split}.{language}"


class Entry(ABC):
    """A toolkit with its settings."""

    name: str
    peer = ""  # the environment it runs in; "" is ours
    writes_ids = True  # as it reads them; otherwise text

    def __init__(self, peers: Path) -> None:
        self.python = python_of(peers, self.peer) if self.peer else Path(sys.executable)

    @abstractmethod
    def train(self, pieces: Pieces, folder: Path, updates: int, seed: int) -> list[Command]:
        """Commands that train for so many updates, with a learning rate that decays towards the end."""

    @abstractmethod
    def updates(self, log: str) -> int:
        """How many updates a training has made, by what it printed."""

    @abstractmethod
    def translate(self, pieces: Pieces, folder: Path, source: Path, output: Path) -> Command:
        """A command that translates with a beam of 5."""


class Ours(Entry):
    """Our own toolkit, with its defaults."""

    name = "nmt"
    settings: tuple[str, ...] = ()
    writes_ids = False

    def train(self, pieces: Pieces, folder: Path, updates: int, seed: int) -> list[Command]:
        """See Entry."""
        settings = (
            "train.max_epochs=0",
            f"train.max_updates={updates}",
            f"train.seed={seed}",
            "train.samples=0",
            *self.settings,
        )
        options = [part for setting in settings for part in ("--set", setting)]
        command: Command = [self.python, "-m", "nmt_cli", "train", pieces.data, "--out", folder / "run"]
        return [[*command, "--threads", "1", *options]]

    def updates(self, log: str) -> int:
        """See Entry."""
        return int(re.findall(r"^update ([\d,]+) ", log, re.MULTILINE)[-1].replace(",", ""))

    def translate(self, pieces: Pieces, folder: Path, source: Path, output: Path) -> Command:
        """See Entry."""
        raw = source.with_name(f"{source.name}.txt")
        command: Command = [self.python, "-m", "nmt_cli", "translate", folder / "run", "--threads", "1"]
        return [*command, "--beam", "5", "-i", raw, "-o", output]


class OpenNMT(Entry):
    """OpenNMT-py with Adam; from 60 percent on, the learning rate is multiplied by 0.7 every 5 percent."""

    name = "OpenNMT-py"
    peer = "opennmt_py"
    optimization: Mapping[str, object] = {"learning_rate": 0.001, "batch_size": 1024, "max_grad_norm": 5}

    def train(self, pieces: Pieces, folder: Path, updates: int, seed: int) -> list[Command]:
        """See Entry."""
        sides = {"path_src": pieces.source, "path_tgt": pieces.target}
        corpora = {
            name: {side: str(pieces.file(split, language)) for side, language in sides.items()}
            for name, split in {"corpus_1": "train", "valid": "valid"}.items()
        }
        config = folder / "config.yaml"
        every = max(1, updates // 20)
        config.write_text(
            json.dumps(  # which is YAML too
                {
                    "data": corpora,
                    "save_data": str(folder / "example"),
                    "src_vocab": str(folder / "vocab"),
                    "tgt_vocab": str(folder / "vocab"),
                    "share_vocab": True,
                    "save_model": str(folder / "model"),
                    "save_checkpoint_steps": updates,
                    "valid_steps": updates,
                    "train_steps": updates,
                    "report_every": 10,
                    "encoder_type": "brnn",
                    "decoder_type": "rnn",
                    "rnn_type": "LSTM",
                    "layers": 1,
                    "hidden_size": 512,
                    "word_vec_size": 256,
                    "global_attention": "general",
                    "input_feed": 0,
                    "dropout": [0.3],
                    "label_smoothing": 0.1,
                    "optim": "adam",
                    "learning_rate_decay": 0.7,
                    "start_decay_steps": round(updates * 0.6),
                    "decay_steps": every,
                    "batch_type": "tokens",
                    "normalization": "tokens",
                    "num_workers": 0,
                    "seed": seed,
                    **self.optimization,
                }
            )
        )
        build: Command = [self.python, "-m", "onmt.bin.build_vocab", "-config", config, "-n_sample", "-1"]
        return [build, [self.python, "-m", "onmt.bin.train", "-config", config]]

    def updates(self, log: str) -> int:
        """See Entry."""
        return int(re.findall(r"Step (\d+)/", log)[-1])

    def translate(self, pieces: Pieces, folder: Path, source: Path, output: Path) -> Command:
        """See Entry."""
        (model,) = folder.glob("model_step_*.pt")
        command: Command = [self.python, "-m", "onmt.bin.translate", "-model", model, "-src", source]
        return [*command, "-output", output, "-beam_size", "5", "-batch_size", "64"]


class OpenNMTWithOurSettings(OpenNMT):
    """Our learning rate, batch size, clipping and moving average; it has no cosine schedule and no tied embeddings."""

    name = "OpenNMT-py, our settings"
    optimization: Mapping[str, object] = {
        "learning_rate": DEFAULTS.learning_rate,
        "batch_size": DEFAULTS.batch_tokens,
        "max_grad_norm": DEFAULTS.clip_norm,
        "average_decay": round(1 - DEFAULTS.ema_decay, 6),
    }


class Joey(Entry):
    """Joey NMT with Adam and a learning rate that is halved when validation does not improve, as in its examples."""

    name = "Joey NMT"
    peer = "joey"

    def train(self, pieces: Pieces, folder: Path, updates: int, seed: int) -> list[Command]:
        """See Entry."""
        config = folder / "config.yaml"
        settings = {
            "name": "race",
            "model_dir": str(folder / "model"),
            "use_cuda": False,
            "random_seed": seed,
            "data": _joey_data(pieces, folder / "vocab"),
            "testing": {
                "beam_size": 5,
                "beam_alpha": 1.0,
                "batch_size": 64,
                "batch_type": "sentence",
                "max_output_length": 100,
                "eval_metrics": ["bleu"],
            },
            "training": {
                "optimizer": "adam",
                "learning_rate": 0.001,
                "learning_rate_min": 0.0001,
                "scheduling": "plateau",
                "patience": 1,
                "decrease_factor": 0.5,
                "label_smoothing": 0.1,
                "loss": "crossentropy",
                "normalization": "tokens",
                "clip_grad_norm": 5.0,
                "batch_size": 1024,
                "batch_type": "token",
                "updates": updates,
                "epochs": 1000,
                "logging_freq": 10,
                "validation_freq": max(10, updates // 100 * 10),  # a multiple of logging_freq
                "early_stopping_metric": "ppl",
                "keep_best_ckpts": 1,
                "overwrite": True,
            },
            "model": _JOEY_MODEL,
        }
        config.write_text(json.dumps(settings))
        return [[self.python, "-m", "joeynmt", "train", config, "--skip-test"]]

    def updates(self, log: str) -> int:
        """See Entry."""
        return int(re.findall(r"Step:\s+(\d+)", log)[-1])

    def translate(self, pieces: Pieces, folder: Path, source: Path, output: Path) -> Command:
        """See Entry."""
        script = (
            "import sys; from joeynmt.__main__ import main; from joeynmt.config import BaseConfig\n"
            f"sys.stdin = open({str(source)!r}); BaseConfig.n_best = 1; main()"  # 2.3 looks for it there
        )
        config = folder / "config.yaml"
        return [self.python, "-c", script, "translate", config, "--output-path", output]


_JOEY_LAYER = {"type": "recurrent", "rnn_type": "lstm", "num_layers": 1, "dropout": 0.3} | {
    "embeddings": {"embedding_dim": 256, "scale": False, "dropout": 0.0}
}
_JOEY_MODEL = {
    "initializer": "xavier_uniform",
    "embed_initializer": "normal",
    "embed_init_weight": 0.1,
    "bias_initializer": "zeros",
    "init_rnn_orthogonal": True,
    "lstm_forget_gate": 1.0,
    "tied_embeddings": True,
    "tied_softmax": False,
    "encoder": {**_JOEY_LAYER, "hidden_size": 256, "bidirectional": True},
    "decoder": {
        **_JOEY_LAYER,
        "hidden_size": 512,
        "attention": "luong",
        "input_feeding": False,
        "hidden_dropout": 0.3,
        "init_hidden": "bridge",
    },
}


def _joey_data(pieces: Pieces, vocabulary: Path) -> dict[str, object]:
    """The section `data`; writes the vocabulary, which is all ids of the training set."""
    words = {
        word
        for language in (pieces.source, pieces.target)
        for line in pieces.file("train", language).read_text("utf-8").split("\n")
        for word in line.split()
    }
    vocabulary.write_text("\n".join(["<unk>", "<pad>", "<s>", "</s>", *sorted(words)]) + "\n", "utf-8")

    def side(language: str) -> dict[str, object]:
        return {"lang": language, "level": "word", "max_length": 100, "voc_file": str(vocabulary)}

    return {
        "train": str(pieces.folder / "train"),
        "dev": str(pieces.folder / "valid"),
        "dataset_type": "plain",
        "src": side(pieces.source),
        "trg": side(pieces.target),
    }


ENTRIES: tuple[type[Entry], ...] = (Ours, OpenNMT, OpenNMTWithOurSettings, Joey)
