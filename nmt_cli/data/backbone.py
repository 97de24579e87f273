"""The backbone of a captioning model: a pretrained network of torchvision, frozen, whose features replace the pixels.

`nmt preprocess` computes the features of all images once. The data directory, and every run on it, has the weights in
`backbone.safetensors`, as far as the chosen layer needs them, so that a model can describe other images.

Letters: B images · L positions, the cells of the feature map, row by row · D size of their features
"""

from __future__ import annotations

import importlib
import re
import shlex
import sys
import warnings
from collections.abc import Mapping
from contextlib import redirect_stdout
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
import safetensors.torch
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from torch import Tensor, nn

from nmt_cli.config.data import DOWNLOAD
from nmt_cli.errors import (
    ConfigError,
    CorpusError,
    DirectoryError,
    NmtError,
    UsageError,
    did_you_mean,
    first_line,
)
from nmt_cli.files.byte_stream import check_readable
from nmt_cli.files.languages import BACKBONE

if TYPE_CHECKING:
    from nmt_cli.config import DataConfig
    from nmt_cli.files.manifest import Manifest

# The last layer with a position for each part of the image, by the beginning of the name of a network; others have it
# in `features`.
_LAYERS = {
    "googlenet": "inception5b",
    "inception": "Mixed_7c",
    "maxvit": "blocks.3",
    "mnasnet": "layers",
    "regnet": "trunk_output",
    "resnet": "layer4",
    "resnext": "layer4",
    "shufflenet": "conv5",
    "swin": "permute",
    "vit": "encoder",
    "wide_resnet": "layer4",
}
# Their published weights expect another normalization, which the network itself applies.
_TRANSFORM_INPUT = ("googlenet", "inception_v3")
# What the published weights of a DenseNet call norm.1 is norm1 in the network.
_DENSENET = re.compile(r"\.(norm|conv)\.([12])\.")
_PICKLES = (b"PK\x03\x04", b"\x80")  # how the files of `torch.save` begin, now and formerly
_CONVERT = (
    "convert it: python -c 'import sys, torch, safetensors.torch as s; "
    "s.save_file(torch.load(sys.argv[1], weights_only=True), sys.argv[2])' {} {}"
)
_MISFIT = "data.backbone_weights must have the weights of data.backbone, as torchvision names them"
_OTHER_SIZE = "set data.image_size to the size that these weights were trained with"


class Backbone:
    """Images (B, side, side, 3) → features (B, L, D) of one layer of a network."""

    at_once = 8  # images in a batch; 32 of 224 pixels took VGG-16 848 MB

    def __init__(self, config: DataConfig) -> None:
        """The network of the section `data`, without weights."""
        assert config.backbone is not None
        self.name, self._side = config.backbone, config.image_size
        self._torchvision = import_torchvision(self.name)
        self._network = self._build()
        self.layer = config.backbone_layer or _default_layer(self.name)
        known = [name for name, _ in self._network.named_modules() if name]
        if self.layer not in known:
            raise ConfigError(
                f"{self.name} has no layer {self.layer!r}{did_you_mean(self.layer, known)}",
                hint=f"choose another data.backbone_layer, or leave it out to use {_default_layer(self.name)}",
            )
        self._network.get_submodule(self.layer).register_forward_hook(_stop)
        self._needed = self._trace()
        transforms = _transforms(self._torchvision, self.name)
        self._mean, self._std = torch.tensor(transforms.mean), torch.tensor(transforms.std)

    @classmethod
    def read(cls, config: DataConfig) -> Self:
        """With the weights that the settings name."""
        backbone = cls(config)
        assert config.backbone_weights is not None
        if config.backbone_weights == DOWNLOAD:
            backbone._load(backbone._download(), f"the download of {backbone.name}", CorpusError, _MISFIT)
        else:
            path = Path(config.backbone_weights)
            backbone._load(_read_weights(path), str(path), CorpusError, _MISFIT)
        return backbone

    @classmethod
    def open_verified(cls, files: Manifest, config: DataConfig) -> Self:
        """With the weights in a data or run directory."""
        path, hint = files.directory.path / BACKBONE, "copy the whole directory again"
        content = files.read(BACKBONE)
        try:
            backbone, tensors = cls(config), safetensors.torch.load(content)
        except ConfigError as error:
            raise DirectoryError(
                f"the backbone of {files.directory.path} cannot be built: {error.message}", hint=hint
            ) from error
        except (SafetensorError, KeyError, ValueError, RuntimeError) as error:
            raise DirectoryError(f"{path} is not a safetensors file: {error}", hint=hint) from error
        backbone._load(tensors, str(path), DirectoryError, hint)
        return backbone

    def save(self, directory: Path) -> None:
        """Write the weights."""
        from nmt_cli.data.split import writing  # imports Arrow, which reading does not need

        tensors = {name: tensor.contiguous() for name, tensor in self._needed.items()}
        with writing(directory / BACKBONE):
            (directory / BACKBONE).write_bytes(safetensors.torch.save(tensors, metadata={"format": "pt"}))

    def __call__(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Images (B, side, side, 3) → features (B, L, D)"""
        blocks = [
            self._features(pixels[first : first + self.at_once])
            for first in range(0, len(pixels), self.at_once)
        ]
        return np.concatenate(blocks)

    def _features(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        scaled = torch.tensor(pixels) / 255  # (B, side, side, 3)
        images = ((scaled - self._mean) / self._std).permute(0, 3, 1, 2)  # (B, 3, side, side)
        try:
            features = self._run(images)
        except (RuntimeError, IndexError) as error:  # an index among the weights, or no memory
            raise CorpusError(
                f"{self.name} failed: {first_line(error)}",
                hint="check data.backbone_weights, and that there is enough memory",
            ) from error
        if not bool(features.isfinite().all()):
            raise CorpusError(
                f"{self.name} computed features that are not finite", hint="check data.backbone_weights"
            )
        return features.numpy()

    @torch.inference_mode()
    def _run(self, images: Tensor) -> Tensor:
        """Images (B, 3, side, side) → features (B, L, D); what follows the layer is not computed."""
        try:
            self._network(images)
        except _ReachedError as reached:
            return self._positions(reached.output)
        raise ConfigError(
            f"{self.name} does not use its layer {self.layer} to describe images",
            hint=f"choose another data.backbone_layer, such as {_default_layer(self.name)}",
        )

    def _positions(self, output: Any) -> Tensor:
        """What a layer computes → features (B, L, D)"""
        if isinstance(output, Tensor) and output.ndim == 4:
            # Inside, a Swin transformer has channels last.
            is_last = self.name.startswith("swin") and self.layer != "permute"
            return output.flatten(1, 2) if is_last else output.flatten(2).transpose(1, 2)  # (B, h·w, D)
        if isinstance(output, Tensor) and output.ndim == 3:
            tokens = output.shape[1] - 1  # without that of the whole image, which comes first
            return output[:, 1:] if isqrt(tokens) ** 2 == tokens else output
        if isinstance(output, Tensor) and output.ndim == 2:
            return output[:, None]
        raise ConfigError(
            f"the layer {self.layer} of {self.name} does not compute features of an image",
            hint=f"choose another data.backbone_layer, such as {_default_layer(self.name)}",
        )

    def _build(self) -> nn.Module:
        """The network without memory for its weights."""
        models = self._torchvision.models
        _check_network(models, self.name)
        options: dict[str, Any] = {}
        if self.name in _TRANSFORM_INPUT:
            options = {"init_weights": False, "transform_input": True}
        elif self.name.startswith("vit_"):
            options = {"image_size": self._side}  # it has a vector for each position
        with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                with torch.device("meta"):
                    network = models.get_model(self.name, weights=None, **options)
            except NotImplementedError:  # its sizes are computed with tensors
                network = models.get_model(self.name, weights=None, **options).to("meta")
            except AssertionError as error:  # a ViT whose patches do not cover the image
                raise self._unreadable(error) from error
        assert isinstance(network, nn.Module)
        return network.eval()

    def _trace(self) -> dict[str, Tensor]:
        """The weights, without memory, that the layer needs; sets `shape`, L and D."""
        entered: list[str] = []
        done: set[str] = set()
        hooks = []
        for name, module in self._network.named_modules():
            hooks += [
                module.register_forward_pre_hook(lambda module, inputs, name=name: entered.append(name)),
                module.register_forward_hook(lambda module, inputs, output, name=name: done.add(name)),
            ]
        try:
            features = self._run(torch.zeros(1, 3, self._side, self._side, device="meta"))
        except (RuntimeError, AssertionError, ValueError, IndexError, TypeError) as error:
            raise self._unreadable(error) from error
        finally:
            for hook in hooks:
                hook.remove()
        self.shape = features.shape[1], features.shape[2]
        done.add(self.layer)
        # A module that has finished may have used all weights inside it, an unfinished one only its own.
        return {
            name: tensor
            for name, tensor in self._network.state_dict().items()
            if not name.endswith("num_batches_tracked")
            and (name.rpartition(".")[0] in entered or any(name.startswith(f"{each}.") for each in done))
        }

    def _unreadable(self, error: Exception) -> ConfigError:
        return ConfigError(
            f"{self.name} cannot read images of {self._side} pixels: {first_line(error)}",
            hint=f"set data.image_size={default_image_size(self.name)}, which its weights were trained with",
        )

    def _load(self, tensors: Mapping[str, Tensor], origin: str, kind: type[NmtError], hint: str) -> None:
        """Take the weights from `tensors`, which may also have those of other layers of the network."""
        if self.name.startswith("densenet"):
            tensors = {_DENSENET.sub(r".\1\2.", name): tensor for name, tensor in tensors.items()}
        known = self._network.state_dict()
        if missing := [name for name in self._needed if name not in tensors]:
            raise kind(f"{origin} lacks the weights {missing[0]}{_others(missing)} of {self.name}", hint=hint)
        if surplus := [name for name in tensors if name not in known]:
            raise kind(
                f"{origin} has weights that {self.name} does not: {surplus[0]}{_others(surplus)}", hint=hint
            )
        for name, expected in self._needed.items():
            found = tensors[name]
            if found.shape != expected.shape:
                has, needs = ("×".join(map(str, each.shape)) for each in (found, expected))
                raise kind(
                    f"{origin}: {name} has shape {has}, but {self.name} needs {needs}",
                    hint=_OTHER_SIZE if (name, hint) == ("encoder.pos_embedding", _MISFIT) else hint,
                )
            if found.is_floating_point() != expected.is_floating_point():
                raise kind(f"{origin}: {name} has type {found.dtype} instead of {expected.dtype}", hint=hint)
        self._needed = {name: tensors[name].to(each.dtype) for name, each in self._needed.items()}
        known.update(self._needed)  # it also has the version of each module, which MNASNet reads
        self._network.load_state_dict(known, assign=True)

    def _download(self) -> Mapping[str, Tensor]:
        """The best weights that torchvision offers; it keeps them for the next time."""
        weights = self._torchvision.models.get_model_weights(self.name).DEFAULT
        cached = Path(torch.hub.get_dir()) / "checkpoints" / weights.url.rpartition("/")[2]
        try:
            # A pickle from pytorch.org, but read with nothing but tensors allowed.
            with redirect_stdout(sys.stderr), warnings.catch_warnings():  # it reports the download on stdout
                warnings.simplefilter("ignore")
                state: Mapping[str, Tensor] = weights.get_state_dict(
                    progress=False, check_hash=True, weights_only=True
                )
        except Exception as error:  # a damaged pickle can raise almost anything
            # A download gets there only if it is complete and its hash is right.
            if cached.is_file() and not isinstance(error, PermissionError | MemoryError):
                raise CorpusError(
                    f"the downloaded weights of {self.name} are damaged",
                    hint=f"delete {cached} and try again",
                ) from error
            raise CorpusError(
                f"the weights of {self.name} cannot be downloaded: {error}",
                hint=f"get {weights.url} elsewhere, and name a file: data.backbone_weights=FILE.safetensors",
            ) from error
        return state


def use_one_thread() -> None:
    """Let torch use a single CPU thread."""
    torch.set_num_threads(1)


def default_image_size(name: str) -> int:
    """Width and height, in pixels, of the images that torchvision's weights for a network expect."""
    torchvision = import_torchvision(name)
    _check_network(torchvision.models, name)
    [size] = _transforms(torchvision, name).crop_size
    return int(size)


def _transforms(torchvision: Any, name: str) -> Any:
    """How torchvision prepares images for a network."""
    return torchvision.models.get_model_weights(name).DEFAULT.transforms()


def _check_network(models: Any, name: str) -> None:
    known = models.list_models(module=models)
    if name not in known:
        raise ConfigError(
            f"torchvision has no network {name!r}{did_you_mean(name, known)}",
            hint="data.backbone is a network that classifies images, such as resnet50, vgg16 or vit_b_16",
        )


class _ReachedError(Exception):
    """The chosen layer has computed its output."""

    def __init__(self, output: Any) -> None:
        super().__init__()
        self.output = output


def _stop(module: nn.Module, inputs: Any, output: Any) -> NoReturn:
    raise _ReachedError(output)


def _default_layer(name: str) -> str:
    return next((layer for start, layer in _LAYERS.items() if name.startswith(start)), "features")


def _others(names: list[str]) -> str:
    return f" and {len(names) - 1} others" if len(names) > 1 else ""


def _read_weights(path: Path) -> dict[str, Tensor]:
    check_readable(path)
    try:
        return safetensors.torch.load_file(path)
    except (OSError, SafetensorError, KeyError, ValueError, RuntimeError) as error:
        if _is_pickle(path):
            converted = path.with_suffix(".safetensors")
            hint = _CONVERT.format(shlex.quote(str(path)), shlex.quote(str(converted)))
            raise CorpusError(f"{path} is a pickle, which can run code", hint=hint) from error
        raise CorpusError(
            f"{path} cannot be read as safetensors: {error}",
            hint=f"set data.backbone_weights to a safetensors file, or to {DOWNLOAD}",
        ) from error


def _is_pickle(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4).startswith(_PICKLES)
    except OSError:
        return False


_operators: list[torch.library.Library] = []  # an operator exists as long as its library


def import_torchvision(network: str) -> Any:
    """The package torchvision, which nothing else imports."""
    try:
        return importlib.import_module("torchvision")
    except ImportError as error:
        raise UsageError(
            f"data.backbone = {network} needs torchvision", hint="pip install 'nmt-cli[vision]'"
        ) from error
    except RuntimeError as error:
        if "operator torchvision::nms does not exist" not in str(error):
            raise _unusable(error) from error
    # The wheel on PyPI has operators that were compiled for torch with CUDA. A CPU build of torch cannot load them, and
    # then the import fails where torchvision describes two of them. The networks need none of these operators, so it is
    # enough that the two are declared.
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]  # what was imported before the error
    library: Any = torch.library.Library("torchvision", "DEF")  # type: ignore[no-untyped-call]
    for operator in ("nms", "qnms"):
        library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _operators.append(library)
    try:
        return importlib.import_module("torchvision")
    except (ImportError, RuntimeError) as error:
        raise _unusable(error) from error


def _unusable(error: Exception) -> UsageError:
    return UsageError(
        f"torchvision cannot be imported: {error}",
        hint=f"install the version of torchvision that belongs to torch {torch.__version__}",
    )
