"""Features of pretrained networks: those of the network itself, from the images to captions of new ones."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from typer.testing import CliRunner

from nmt_cli.cli.app import app
from nmt_cli.config import DataConfig
from nmt_cli.corpus.images import decode_image
from nmt_cli.data.backbone import Backbone, default_image_size, import_torchvision
from nmt_cli.data.directory import DataDirectory
from nmt_cli.data.images import Images
from nmt_cli.demo import scenes
from nmt_cli.errors import ConfigError, CorpusError, DirectoryError, NmtError, UsageError
from nmt_cli.evaluation.media import _images_of
from nmt_cli.files.manifest import write_manifest
from nmt_cli.run import RunDirectory
from nmt_cli.run.directory import listed
from nmt_cli.translator import Captioner

try:
    TORCHVISION = import_torchvision("resnet18")
except UsageError as error:
    pytest.skip(f"{error.message}: {error.hint}", allow_module_level=True)

SIDE = 64
NETWORKS = ("resnet18", "squeezenet1_1", "mobilenet_v3_small")
MEAN, STD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Images with captions, and random weights for some networks."""
    folder = tmp_path_factory.mktemp("backbone")
    scenes.write(folder / "scenes", 40, side=48)
    for name in NETWORKS:
        torch.manual_seed(1)
        save_file(network(name).state_dict(), folder / f"{name}.safetensors")
    return folder


def network(name: str) -> nn.Module:
    """As torchvision makes it, with random weights."""
    made: nn.Module = TORCHVISION.models.get_model(name, weights=None)
    return made.eval()


def config(folder: Path, name: str, **settings: Any) -> DataConfig:
    weights = str(folder / f"{name}.safetensors")
    return DataConfig(**{"backbone": name, "backbone_weights": weights, "image_size": SIDE, **settings})


def settings_for(folder: Path, name: str = "squeezenet1_1") -> list[str]:
    values = {"backbone": name, "backbone_weights": folder / f"{name}.safetensors", "image_size": SIDE}
    return [part for key, value in values.items() for part in ("--set", f"data.{key}={value}")]


def nmt(*arguments: object, code: int = 0) -> Any:
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == code, (result.stdout, result.stderr, result.exception)
    return result


def preprocess(folder: Path, out: Path, *options: object, code: int = 0) -> Any:
    pictures = folder / "scenes"
    sets = [part for name in ("train", "valid", "test") for part in (f"--{name}", pictures / f"{name}.jsonl")]
    words = ("--set", "vocabulary.kind=word", "--workers", 1, "--out", out)
    return nmt("preprocess", "--images", pictures, "--target-lang", "en", *sets, *words, *options, code=code)


@pytest.fixture(scope="module")
def run(folder: Path) -> Path:
    """A model on the features of SqueezeNet, trained for a few updates."""
    data, out = folder / "data", folder / "run"
    preprocess(folder, data, *settings_for(folder))
    small = ("model.hidden_size=8", "model.embedding_size=8", "train.max_updates=3", "train.validate_every=3")
    options = [part for each in small for part in ("--set", each)]
    nmt("train", data, "--out", out, "--threads", 1, *options)
    return out


# ------------------------------------------------------------------------------------------------------------
# Features.


def resnet18_by_hand(net: Any, x: Tensor) -> Tensor:
    x = net.maxpool(net.relu(net.bn1(net.conv1(x))))
    found: Tensor = net.layer4(net.layer3(net.layer2(net.layer1(x))))
    return found


def features_by_hand(net: Any, x: Tensor) -> Tensor:
    found: Tensor = net.features(x)
    return found


@pytest.mark.parametrize(
    ("name", "layer", "by_hand"),
    [
        ("resnet18", None, resnet18_by_hand),
        ("squeezenet1_1", None, features_by_hand),
        ("squeezenet1_1", "features.3", lambda net, x: net.features[:4](x)),
        ("mobilenet_v3_small", None, features_by_hand),
        ("mobilenet_v3_small", "avgpool", lambda net, x: net.avgpool(net.features(x))),
    ],
)
def test_features_are_those_of_the_network_called_by_hand(
    name: str, layer: str | None, by_hand: Callable[[Any, Tensor], Tensor], folder: Path
) -> None:
    backbone = Backbone.read(config(folder, name, backbone_layer=layer))
    pixels = np.random.default_rng(1).integers(0, 256, (3, SIDE, SIDE, 3), dtype=np.uint8)
    torch.manual_seed(1)
    net = network(name)
    with torch.no_grad():
        image = torch.tensor((pixels / 255 - MEAN) / STD, dtype=torch.float32).permute(0, 3, 1, 2)
        expected = by_hand(net, image)  # (B, D, h, w)
    expected = expected.flatten(2).transpose(1, 2)
    assert backbone.shape == tuple(expected.shape[1:])
    np.testing.assert_allclose(backbone(pixels), expected.numpy(), rtol=1e-4, atol=1e-5)


FAMILIES = {
    "alexnet": 6,
    "convnext_tiny": 7,
    "densenet121": 7,
    "efficientnet_b0": 7,
    "googlenet": 7,
    "inception_v3": 5,
    "maxvit_t": 7,
    "mnasnet0_5": 7,
    "mobilenet_v2": 7,
    "regnet_y_400mf": 7,
    "resnet18": 7,
    "resnext50_32x4d": 7,
    "shufflenet_v2_x0_5": 7,
    "squeezenet1_1": 13,
    "swin_t": 7,
    "vgg11": 7,
    "vit_b_32": 7,
    "wide_resnet50_2": 7,
}


@pytest.mark.parametrize("name", FAMILIES)
def test_the_default_layer_of_every_family_is_a_grid(name: str, folder: Path) -> None:
    assert Backbone(config(folder, name, image_size=224)).shape[0] == FAMILIES[name] ** 2


@pytest.mark.parametrize("name", FAMILIES)
def test_a_network_of_every_family_takes_its_own_weights(name: str, folder: Path) -> None:
    backbone = Backbone(config(folder, name, image_size=224))
    state = backbone._network.state_dict()  # on the meta device
    backbone._load(state, "the network", CorpusError, "")
    assert backbone._needed.keys() <= state.keys()


def test_every_network_of_torchvision_is_of_a_known_family() -> None:
    names = TORCHVISION.models.list_models(module=TORCHVISION.models)
    families = {name.rstrip("0123456789").split("_")[0].rstrip("0123456789_x") for name in FAMILIES}
    unknown = [name for name in names if not name.startswith(tuple(families))]
    assert not unknown


def test_channels_inside_a_swin_transformer_are_features(folder: Path) -> None:
    assert Backbone(config(folder, "swin_t", image_size=224, backbone_layer="features")).shape == (49, 768)


def test_the_weights_of_later_layers_are_neither_needed_nor_kept(folder: Path, tmp_path: Path) -> None:
    settings = config(folder, "squeezenet1_1", backbone_layer="features.3")
    Backbone.read(settings).save(tmp_path)
    kept = tmp_path / "backbone.safetensors"
    assert {name.split(".")[1] for name in load_file(kept)} == {"0", "3"}
    again = Backbone.read(settings.model_copy(update={"backbone_weights": str(kept)}))
    pixels = np.random.default_rng(1).integers(0, 256, (2, SIDE, SIDE, 3), dtype=np.uint8)
    np.testing.assert_array_equal(again(pixels), Backbone.read(settings)(pixels))


def test_torchs_random_numbers_stay_as_they_are(folder: Path) -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    Backbone.read(config(folder, "resnet18"))
    Backbone(config(folder, "regnet_y_400mf"))  # is not built on the meta device
    assert torch.equal(before, torch.get_rng_state())


# ------------------------------------------------------------------------------------------------------------
# From images to captions.


def test_stored_features_are_those_of_the_images(run: Path, folder: Path) -> None:
    data = DataDirectory.open(folder / "data")
    backbone = Backbone.read(config(folder, "squeezenet1_1"))
    assert data.config.data.backbone_layer == "features"
    names = data.train.texts(np.arange(3), "source")
    pixels = [decode_image(folder / "scenes" / name, name, SIDE).pixels for name in names]
    assert data.images is not None
    rows = data.train.gather(np.arange(3), "source").values
    np.testing.assert_allclose(
        data.images.take(rows.astype(np.int64)), backbone(np.stack(pixels)), rtol=1e-4, atol=1e-5
    )


def test_the_same_images_give_the_same_bytes_with_any_number_of_workers(run: Path, folder: Path) -> None:
    preprocess(folder, folder / "again", *settings_for(folder), "--workers", 3, "--overwrite")
    for name in ("train.images.npy", "backbone.safetensors"):
        assert (folder / "again" / name).read_bytes() == (folder / "data" / name).read_bytes()


@pytest.mark.parametrize(
    ("name", "size"), [("resnet50", 224), ("inception_v3", 299), ("efficientnet_b4", 380), ("swin_v2_t", 256)]
)
def test_the_default_size_of_images_is_that_of_the_network(name: str, size: int, folder: Path) -> None:
    assert default_image_size(name) == size
    assert Backbone(config(folder, name, image_size=size)).shape[0] > 1


def test_images_have_224_pixels_unless_their_size_is_set(folder: Path, tmp_path: Path) -> None:
    weights = f"data.backbone_weights={folder / 'squeezenet1_1.safetensors'}"
    preprocess(folder, tmp_path / "data", "--set", "data.backbone=squeezenet1_1", "--set", weights)
    assert DataDirectory.open(tmp_path / "data").config.data.image_size == 224


def test_a_copied_run_describes_and_explains_new_images(run: Path, folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(run, tmp_path / "copy")
    assert "backbone.safetensors" in json.loads((copy / "manifest.json").read_text())["files"]
    images = [folder / "scenes" / "images" / f"unseen-{number:05}.png" for number in (1, 2)]
    described = nmt("caption", copy, *images, "--json", "--attention").stdout.splitlines()
    grid = {len(row) for line in described for row in json.loads(line)["attention"]}
    assert (len(described), grid) == (2, {9})
    strip = tmp_path / "strip.svg"
    nmt("explain", copy, images[0], "--svg", strip)
    assert strip.read_text("utf-8").count("<rect") >= 9
    shown = nmt("evaluate", copy, "--source", folder / "scenes" / "unseen.jsonl", "--no-record")
    assert "captions are exact" in shown.stdout


def test_the_backbone_is_named_by_nmt_info_and_in_the_model_card(run: Path) -> None:
    assert json.loads(nmt("info", run, "--json").stdout)[0]["backbone"] == "squeezenet1_1"
    assert "backbone" in nmt("info", run).stdout
    assert "pretrained `squeezenet1_1`" in (run / "README.md").read_text("utf-8")


def test_images_of_the_test_set_get_the_captions_of_their_stored_features(run: Path, folder: Path) -> None:
    captioner, opened = Captioner.load(run), RunDirectory.open(run)
    texts, images = opened.held_out("test"), opened.images("test")
    assert texts is not None
    assert images is not None
    names = list(dict.fromkeys(texts[0]))
    read = np.stack([captioner.read(folder / "scenes" / name)[0][1] for name in names])
    np.testing.assert_allclose(read, images.values, rtol=1e-4, atol=1e-5)


def test_a_test_set_of_several_batches_has_the_features_of_its_images(run: Path, folder: Path) -> None:
    source = folder / "scenes" / "train.jsonl"
    found = _images_of(source, [RunDirectory.open(run)])
    assert len(found.media) > 2 * Backbone.at_once
    assert isinstance(found.media, Images)
    pixels = [decode_image(folder / "scenes" / name, name, SIDE).pixels for name in found.item_names]
    expected = Backbone.read(config(folder, "squeezenet1_1"))(np.stack(pixels))
    np.testing.assert_allclose(found.media.values, expected, rtol=1e-4, atol=1e-5)


def test_the_stored_test_set_is_evaluated_without_torchvision(run: Path) -> None:
    code = (
        "import sys; sys.modules['torchvision'] = None\n"
        "sys.argv = ['nmt', *sys.argv[1:]]\nfrom nmt_cli.cli import main; main()"
    )
    command = [sys.executable, "-c", code]
    evaluated = subprocess.run(
        [*command, "evaluate", run, "--no-record"], capture_output=True, text=True, check=False
    )
    assert evaluated.returncode == 0, evaluated.stderr
    image = run.parent / "scenes" / "images" / "test-00001.png"
    failed = subprocess.run([*command, "caption", run, image], capture_output=True, text=True, check=False)
    assert failed.returncode == 2
    assert failed.stderr.splitlines() == [
        "error: data.backbone = squeezenet1_1 needs torchvision",
        "hint: pip install 'nmt-cli[vision]'",
    ]


def test_features_in_a_file_are_described_but_not_explained(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "features.npy"
    np.save(path, np.zeros((2, 9, 512), np.float32))
    assert len(nmt("caption", run, path).stdout.splitlines()) == 2
    assert f"{path} has features, not an image" in " ".join(nmt("explain", run, path, code=2).stderr.split())


def test_runs_with_other_backbones_are_not_combined(run: Path, folder: Path, tmp_path: Path) -> None:
    other = shutil.copytree(run, tmp_path / "other")
    tensors = load_file(other / "backbone.safetensors")
    save_file({name: 2 * tensor for name, tensor in tensors.items()}, other / "backbone.safetensors")
    write_manifest(other, "run", listed(other))
    with pytest.raises(UsageError, match="read images differently"):
        Captioner.load(run, other)
    source = folder / "scenes" / "unseen.jsonl"
    shown = nmt("evaluate", run, other, "--source", source, "--no-record", code=2)
    assert "different backbones" in shown.stderr


# ------------------------------------------------------------------------------------------------------------
# What is wrong, in one line.


@pytest.mark.parametrize(
    ("settings", "kind", "message"),
    [
        ({"backbone": "resnet81"}, ConfigError, r"no network 'resnet81' \(did you mean resnet18\?\)"),
        ({"backbone": "resnet34"}, CorpusError, "lacks the weights .* others of resnet34"),
        ({"backbone": "alexnet"}, CorpusError, "lacks the weights"),
        ({"backbone_layer": "layr4"}, ConfigError, r"no layer 'layr4' \(did you mean layer4\?\)"),
        ({"backbone": "vit_b_32", "image_size": 72}, ConfigError, "cannot read images of 72 pixels"),
        ({"backbone": "googlenet", "backbone_layer": "aux1"}, ConfigError, "does not use its layer aux1"),
        ({"backbone_weights": "missing.safetensors"}, CorpusError, "does not exist"),
    ],
)
def test_a_wrong_setting_is_one_clear_error(
    settings: dict[str, str], kind: type[NmtError], message: str, folder: Path
) -> None:
    with pytest.raises(kind, match=message):
        Backbone.read(config(folder, "resnet18").model_copy(update=settings))


def changed(folder: Path, **tensors: Tensor | None) -> dict[str, Tensor]:
    known = {**load_file(folder / "squeezenet1_1.safetensors"), **tensors}
    return {name: tensor for name, tensor in known.items() if tensor is not None}


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"features.0.weight": None}, "lacks the weights features.0.weight of squeezenet1_1"),
        ({"head.weight": torch.zeros(1)}, "has weights that squeezenet1_1 does not: head.weight"),
        (
            {"features.0.weight": torch.zeros(64, 3, 5, 5)},
            "features.0.weight has shape 64×3×5×5, but squeezenet1_1 needs 64×3×3×3",
        ),
        ({"features.0.bias": torch.zeros(64, dtype=torch.int64)}, "has type torch.int64"),
        ({"features.0.bias": torch.full((64,), torch.nan)}, "not finite"),
    ],
)
def test_weights_that_do_not_fit_are_one_clear_error(
    tensors: dict[str, Tensor | None], message: str, folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "weights.safetensors"
    save_file(changed(folder, **tensors), path)
    with pytest.raises(CorpusError, match=message.replace(".", r"\.")):
        Backbone.read(config(folder, "squeezenet1_1", backbone_weights=str(path)))(
            np.zeros((1, SIDE, SIDE, 3), np.uint8)
        )


def test_a_vision_transformer_reads_the_size_of_its_weights(folder: Path, tmp_path: Path) -> None:
    made = TORCHVISION.models.get_model("vit_b_32", weights=None, image_size=96)
    path = tmp_path / "weights.safetensors"
    save_file(made.state_dict(), path)
    settings = config(folder, "vit_b_32", image_size=96, backbone_weights=str(path))
    assert Backbone.read(settings).shape == (9, 768)
    with pytest.raises(
        CorpusError, match="pos_embedding has shape 1×10×768, but vit_b_32 needs 1×50×768"
    ) as error:
        Backbone.read(settings.model_copy(update={"image_size": 224}))
    assert error.value.hint == "set data.image_size to the size that these weights were trained with"


def test_published_weights_of_a_densenet_have_older_names(folder: Path, tmp_path: Path) -> None:
    state = network("densenet121").state_dict()
    older = {re.sub(r"(denselayer\d+\.(?:norm|conv))", r"\1.", name): state[name] for name in state}
    assert older.keys() != state.keys()
    path = tmp_path / "weights.safetensors"
    save_file(older, path)
    settings = config(
        folder, "densenet121", backbone_weights=str(path), backbone_layer="features.denseblock1"
    )
    Backbone.read(settings).save(tmp_path)
    kept = load_file(tmp_path / "backbone.safetensors")
    assert kept
    assert all(torch.equal(kept[name], state[name]) for name in kept)


@pytest.mark.parametrize("legacy", [False, True])
def test_a_pickle_is_rejected_and_the_hint_converts_it(legacy: bool, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "squeezenet.pth"
    state = load_file(folder / "squeezenet1_1.safetensors")
    torch.save(state, path, _use_new_zipfile_serialization=not legacy)
    with pytest.raises(CorpusError, match="is a pickle, which can run code") as error:
        Backbone.read(config(folder, "squeezenet1_1", backbone_weights=str(path)))
    command = error.value.hint.removeprefix("convert it: ").replace("python", sys.executable, 1)
    subprocess.run(command, shell=True, check=True)
    converted = str(tmp_path / "squeezenet.safetensors")
    Backbone.read(config(folder, "squeezenet1_1", backbone_weights=converted))


def test_weights_whose_header_begins_like_a_pickle_are_read(folder: Path, tmp_path: Path) -> None:
    """A safetensors file begins with the length of its header, which may be any byte."""
    path = tmp_path / "weights.safetensors"
    state = load_file(folder / "squeezenet1_1.safetensors")
    for length in range(256):
        save_file(state, path, metadata={"padding": " " * length})
        if path.read_bytes()[0] == 0x80:
            break
    assert path.read_bytes()[0] == 0x80
    Backbone.read(config(folder, "squeezenet1_1", backbone_weights=str(path)))


@pytest.mark.parametrize("content", [b"", b"abc", b"\xff" * 64])
def test_other_files_are_not_weights(content: bytes, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    path.write_bytes(content)
    with pytest.raises(CorpusError, match="cannot be read as safetensors"):
        Backbone.read(config(folder, "squeezenet1_1", backbone_weights=str(path)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"backbone": "resnet18"}, "data.backbone = resnet18 needs weights"),
        ({"backbone_weights": "a.safetensors"}, "data.backbone_weights has no effect without data.backbone"),
        ({"backbone_layer": "layer4"}, "data.backbone_layer has no effect without data.backbone"),
    ],
)
def test_settings_of_a_backbone_belong_together(settings: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DataConfig(**settings)


def test_a_backbone_needs_images(folder: Path, tmp_path: Path) -> None:
    text = tmp_path / "train.en"
    text.write_text("a\nb\n")
    options = settings_for(folder)
    shown = nmt("preprocess", "-t", "en", "--train", text, "--out", tmp_path / "data", *options, code=2)
    assert "data.backbone needs images" in shown.stderr
    np.save(tmp_path / "features.npy", np.zeros((3, 2, 4), np.float32))
    images = ("--images", tmp_path / "features.npy", "--train", folder / "scenes" / "train.jsonl")
    shown = nmt("preprocess", "-t", "en", *images, "--out", tmp_path / "data", *options, code=2)
    assert "names a file that has them already" in shown.stderr
    assert not (tmp_path / "data").exists()


def damaged(run: Path, out: Path, change: Callable[[dict[str, Tensor]], None]) -> Path:
    """A run whose backbone was changed, with a manifest that fits."""
    copy = shutil.copytree(run, out)
    tensors = load_file(copy / "backbone.safetensors")
    change(tensors)
    save_file(tensors, copy / "backbone.safetensors")
    write_manifest(copy, "run", listed(copy))
    return copy


def test_a_damaged_backbone_of_a_run_is_reported(run: Path, folder: Path, tmp_path: Path) -> None:
    image = folder / "scenes" / "images" / "test-00001.png"
    flipped = shutil.copytree(run, tmp_path / "flipped")
    content = bytearray((flipped / "backbone.safetensors").read_bytes())
    content[-1] ^= 1
    (flipped / "backbone.safetensors").write_bytes(content)
    with pytest.raises(DirectoryError, match=r"backbone\.safetensors was changed after it was written"):
        Captioner.load(flipped).read(image)
    lacking = damaged(run, tmp_path / "lacking", lambda tensors: tensors.__delitem__("features.0.bias"))
    with pytest.raises(DirectoryError, match=r"lacks the weights features\.0\.bias"):
        Captioner.load(lacking).read(image)
    missing = shutil.copytree(run, tmp_path / "missing")
    (missing / "backbone.safetensors").unlink()
    write_manifest(missing, "run", listed(missing))
    with pytest.raises(DirectoryError, match=r"backbone\.safetensors is missing"):
        Captioner.load(missing).read(image)


@pytest.mark.parametrize("change", [{"backbone": "resnet999"}, {"backbone_layer": "x"}, {"image_size": 256}])
def test_forged_settings_of_a_backbone_are_reported(
    change: dict[str, object], run: Path, folder: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(run, tmp_path / "copy")
    settings = json.loads((copy / "config.json").read_text("utf-8"))
    settings["settings" if "settings" in settings else "config"]["data"].update(change)
    (copy / "config.json").write_text(json.dumps(settings), "utf-8")
    write_manifest(copy, "run", listed(copy))
    with pytest.raises(DirectoryError, match="backbone"):
        Captioner.load(copy).read(folder / "scenes" / "images" / "test-00001.png")


def test_weights_are_downloaded_only_if_asked_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = load_file(folder / "squeezenet1_1.safetensors")
    asked: list[str] = []

    def load(url: str, *arguments: Any, **options: Any) -> dict[str, Tensor]:
        assert options["weights_only"]
        assert options["check_hash"]
        asked.append(url)
        return state

    monkeypatch.setattr(TORCHVISION.models._api, "load_state_dict_from_url", load)
    here = Backbone.read(config(folder, "squeezenet1_1"))
    assert not asked
    there = Backbone.read(config(folder, "squeezenet1_1", backbone_weights="download"))
    assert [url.rpartition("/")[2].split("-")[0] for url in asked] == ["squeezenet1_1"]
    pixels = np.zeros((1, SIDE, SIDE, 3), np.uint8)
    np.testing.assert_array_equal(here(pixels), there(pixels))


@pytest.mark.parametrize("content", [b"", b"abc", b"<html>" * 99, b"PK\x03\x04" + bytes(99)])
def test_a_damaged_download_is_one_clear_error(
    content: bytes, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    url = TORCHVISION.models.get_model_weights("squeezenet1_1").DEFAULT.url
    cached = tmp_path / "hub" / "checkpoints" / url.rpartition("/")[2]
    cached.parent.mkdir(parents=True)
    cached.write_bytes(content)
    with pytest.raises(CorpusError, match="the downloaded weights of squeezenet1_1 are damaged") as error:
        Backbone.read(config(folder, "squeezenet1_1", backbone_weights="download"))
    assert error.value.hint == f"delete {cached} and try again"


def test_a_failed_download_is_one_clear_error(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(url: str, *arguments: Any, **options: Any) -> dict[str, Tensor]:
        raise OSError("no network")

    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setattr(TORCHVISION.models._api, "load_state_dict_from_url", load)
    with pytest.raises(CorpusError, match="cannot be downloaded: no network") as error:
        Backbone.read(config(folder, "squeezenet1_1", backbone_weights="download"))
    assert "data.backbone_weights=FILE.safetensors" in error.value.hint
