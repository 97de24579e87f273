"""Fetching: complete and verified downloads, excerpts, and errors without a network."""

import functools
import hashlib
import re
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from nmt_cli.corpus import hub
from nmt_cli.errors import CorpusError
from nmt_cli.recipe import Corpora, choose_corpora, find_recipe
from nmt_cli.recipe.definition import NamedRecipe
from nmt_cli.recipe.sources import SMOKE_PAIRS, fetch


class Silent(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def server(text: Path) -> Iterator[str]:
    """The folder `text` on the web."""
    web = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Silent, directory=str(text)))
    threading.Thread(target=web.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{web.server_address[1]}"
    web.shutdown()
    web.server_close()


def on_the_web(server: str) -> Corpora:
    train, valid, test = ((f"{server}/{name}.de,{server}/{name}.en",) for name in ("train", "valid", "test"))
    return Corpora(train, valid, test)


class TestDownloads:
    def test_whole_files_are_downloaded(
        self, numbers: NamedRecipe, server: str, text: Path, tmp_path: Path
    ) -> None:
        found = fetch(on_the_web(server), numbers.recipe, tmp_path / "got", smoke=False)
        assert found.train == (f"{tmp_path}/got/train/train.de,{tmp_path}/got/train/train.en",)
        assert (tmp_path / "got/train/train.en").read_bytes() == (text / "train.en").read_bytes()

    def test_existing_files_are_not_fetched_again(
        self, numbers: NamedRecipe, server: str, tmp_path: Path
    ) -> None:
        fetch(on_the_web(server), numbers.recipe, tmp_path / "got", smoke=False)
        (tmp_path / "got/test/test.de").write_text("mine\n")
        fetch(on_the_web(server), numbers.recipe, tmp_path / "got", smoke=False)
        assert (tmp_path / "got/test/test.de").read_text() == "mine\n"

    def test_a_file_with_another_hash_is_rejected(
        self, numbers: NamedRecipe, server: str, text: Path, tmp_path: Path
    ) -> None:
        right = hashlib.sha256((text / "train.de").read_bytes()).hexdigest()
        recipe = numbers.recipe.model_copy(update={"sha256": {"train.de": right, "train.en": "0" * 64}})
        with pytest.raises(CorpusError) as caught:
            fetch(on_the_web(server), recipe, tmp_path / "got", smoke=False)
        assert "train.en has changed: its SHA-256" in caught.value.message
        assert (tmp_path / "got/train/train.de").exists()
        assert not (tmp_path / "got/train/train.en").exists()

    def test_a_missing_file_suggests_local_data(
        self, numbers: NamedRecipe, server: str, tmp_path: Path
    ) -> None:
        corpora = Corpora((f"{server}/none.de,{server}/none.en",))
        with pytest.raises(CorpusError) as caught:
            fetch(corpora, numbers.recipe, tmp_path / "got", smoke=False)
        assert "none.de cannot be fetched: File not found" in caught.value.message
        assert "--data DIR" in caught.value.hint

    @pytest.mark.parametrize("name", ["multi30k-en-fr", "multi30k-de-en", "wmt14-en-de"])
    @pytest.mark.parametrize("smoke", [False, True])
    def test_without_a_network_a_recipe_fails_and_names_local_files(
        self, name: str, smoke: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(hub, "_reachable", lambda endpoint: False)
        monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")  # nobody listens there
        found = find_recipe(name)
        with pytest.raises(CorpusError) as caught:
            fetch(choose_corpora(found, None, smoke=smoke), found.recipe, tmp_path, smoke=smoke)
        assert re.search("is unreachable|cannot be fetched", caught.value.message)
        assert (
            f"--data DIR (train: {found.recipe.local.train[0]}.{found.recipe.source_lang}"
            in caught.value.hint
        )


class TestExcerpts:
    def test_a_smoke_run_reads_the_first_pairs(
        self, numbers: NamedRecipe, text: Path, tmp_path: Path
    ) -> None:
        chosen = choose_corpora(numbers, text, smoke=True)
        found = fetch(chosen, numbers.recipe, tmp_path / "got", smoke=True)
        assert found.test == (f"{tmp_path}/got/test",)
        assert (tmp_path / "got/train.de").read_text("utf-8") == (text / "train.de").read_text("utf-8")

    def test_the_stand_in_for_train_is_split_into_three_sets(
        self, numbers: NamedRecipe, text: Path, tmp_path: Path
    ) -> None:
        fetch(Corpora((f"{text}/train",), stand_in=True), numbers.recipe, tmp_path / "got", smoke=True)
        lines = {
            name: (tmp_path / f"got/{name}.en").read_text("utf-8").split("\n")[:-1] for name in SMOKE_PAIRS
        }
        assert {name: len(found) for name, found in lines.items()} == {"train": 220, "valid": 30, "test": 50}
        assert len({line for found in lines.values() for line in found}) == 300
