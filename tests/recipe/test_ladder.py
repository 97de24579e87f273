"""`nmt recipe ladder`: the definition that comes with nmt, and a small ladder through the command."""

import re
import tomllib
from itertools import islice, pairwise
from pathlib import Path
from zlib import crc32

import pytest

from nmt_cli.config import resolve
from nmt_cli.demo.corpus import chains
from nmt_cli.evaluation.evaluate import evaluate
from nmt_cli.evaluation.request import EvaluateRequest
from nmt_cli.recipe import definition
from nmt_cli.recipe.definition import assignments, recipes_folder
from nmt_cli.recipe.ladder import find_ladder, ladder_names
from nmt_cli.recipe.ladder_page import LadderResult, Row, ladder_page
from tests.browser import WIDTHS, Browser
from tests.cli.conftest import Run
from tests.docs.commands import REPOSITORY, shell_lines

from .conftest import TINY
from .test_command import commands

SMALL = f"""
title = "Two rungs <and> a passage"
pairs = 300
clauses = 2
time = "seconds"
beam_size = 2
expect = ["A & B"]

{TINY}
[settings.search]
max_length = 12

[[rung]]
name = "without"
title = "Without attention"
idea = "One vector"
preset = "cho2014"

[[rung]]
name = "with"
title = "With attention"
idea = "Many vectors"
preset = "luong2015"
[rung.settings.model]
encoder_layers = 1

[[passage]]
source = "Paul closed the door."
reference = "Paul hat die Tür zugemacht."
attention = true
"""


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the one ladder `two`."""
    folder = tmp_path / "recipes"
    (folder / "two").mkdir(parents=True)
    (folder / "two" / "ladder.toml").write_text(SMALL, "utf-8")
    monkeypatch.setattr(definition, "recipes_folder", lambda: folder)
    monkeypatch.setattr("nmt_cli.recipe.ladder.recipes_folder", lambda: folder)
    return folder


def test_the_rungs_climb_from_no_attention_to_input_feeding() -> None:
    assert ladder_names() == ["ladder"]
    ladder = find_ladder("ladder").ladder
    models = [
        resolve(
            None,
            [f"model.preset={rung.preset}", *assignments(ladder.settings), *assignments(rung.settings)],
        ).config.model
        for rung in ladder.rung
    ]
    assert [model.attention != "none" for model in models] == [False] * 3 + [True] * 3
    assert [model.reverse_source for model in models] == [False, True, False, False, False, False]
    assert [model.context_every_step for model in models][:3] == [False, False, True]
    assert [model.query for model in models][3:5] == ["before", "after"]
    assert [model.input_feeding for model in models][4:] == [False, True]
    assert len({(model.hidden_size, model.embedding_size, model.decoder_layers) for model in models}) == 1


def test_the_passages_are_never_training_sentences() -> None:
    splits = {text: split for split, _, text in islice(chains(1, 4), 400)}
    for passage in find_ladder("ladder").ladder.passage:
        assert crc32(passage.source.encode()) % 20 == 1
    assert all((crc32(text.encode()) % 20 == 1) == (split == "test") for text, split in splits.items())


def test_the_readme_names_every_rung() -> None:
    readme = (recipes_folder() / "ladder" / "README.md").read_text("utf-8")
    assert readme.startswith("# ladder\n")
    for rung in find_ladder("ladder").ladder.rung:
        assert f"`{rung.name}`" in readme


def test_the_tutorial_trains_the_same_systems_on_the_same_text() -> None:
    ladder, page = find_ladder("ladder").ladder, REPOSITORY / "docs" / "tutorial.md"
    (file,) = re.findall(
        r"small\.toml <<'END'\n(.*?)^END$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    shown = {"vocabulary": ladder.settings["vocabulary"], **tomllib.loads(file)}
    assert shown == ladder.settings
    lines = list(shell_lines(page))
    (text,) = (line for line in lines if line.startswith("nmt demo-data"))
    assert f"--clauses {ladder.clauses} --size {ladder.pairs}" in text
    assert any(f"--set vocabulary.size={ladder.settings['vocabulary']['size']} " in line for line in lines)
    trained = {}
    for words in (line.split() for line in lines if line.startswith("nmt train")):
        pairs = list(pairwise(words))
        name = Path(dict(pairs)["--out"]).name
        settings = sorted(value for option, value in pairs if option == "--set")
        trained[name] = (dict(pairs)["--preset"], settings)
    assert trained == {rung.name: (rung.preset, sorted(assignments(rung.settings))) for rung in ladder.rung}


@pytest.mark.usefixtures("small")
class TestSmallLadder:
    def test_it_writes_a_page_and_a_second_run_repeats_only_what_is_missing(
        self, nmt: Run, tmp_path: Path
    ) -> None:
        out = tmp_path / "out"
        first = nmt("recipe", "two", "--out", out, "--threads", 1)
        assert first.code == 0, first.stderr
        names = ["demo-data", "preprocess", "train", "train", "evaluate", "evaluate", "explain", "explain"]
        assert [words[1] for words in commands(first.stderr)] == names
        assert re.search(r"^system +BLEU +beam 2 +1–", first.stdout, re.MULTILINE)
        page = (out / "ladder.html").read_text("utf-8")
        assert "Two rungs &lt;and&gt; a passage" in page
        assert "A &amp; B" in page
        assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page
        assert not re.search(r"(src|href)=|<script|url\(", page)
        assert str(tmp_path) not in page
        assert page.count("<svg") == 2  # the chart, and the map of the one system with attention

        (out / "ladder.html").unlink()
        (out / "with.json").unlink()
        again = nmt("recipe", "two", "--out", out, "--threads", 1)
        assert again.code == 0, again.stderr
        assert [words[1:3] for words in commands(again.stderr)] == [["explain", f"{out}/with"]]
        assert (out / "ladder.html").read_text("utf-8") == page

    def test_nothing_is_written_through_a_link(self, nmt: Run, tmp_path: Path) -> None:
        out, mine = tmp_path / "out", tmp_path / "mine"
        out.mkdir()
        for name in ("recipe.json", "greedy.json", "ladder.html"):
            (out / name).symlink_to(mine)
            outcome = nmt("recipe", "two", "--out", out, "--threads", 1)
            assert outcome.code == 1
            assert f"{name} is a symbolic link" in outcome.error
            (out / name).unlink()
        assert not mine.exists()
        assert not list(out.iterdir())

    def test_dry_run_shows_the_commands_and_writes_nothing(self, nmt: Run, tmp_path: Path) -> None:
        out = tmp_path / "out"
        lines = nmt("recipe", "two", "--out", out, "--dry-run").stdout.rstrip("\n").split("\n")
        assert lines[0] == f"nmt demo-data --out {out}/text --size 300 --clauses 2"
        assert lines[4].endswith(f"--set search.beam_size=1 > {out}/greedy.json")
        assert not out.exists()

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--data", "."], "generates its own text"),
            (["--processes", "2"], "too small for several processes"),
            (["--set", "train.sead=2"], "did you mean train.seed"),
        ],
    )
    def test_impossible_options_are_rejected(
        self, nmt: Run, tmp_path: Path, options: list[str], message: str
    ) -> None:
        found = nmt("recipe", "two", "--out", tmp_path / "out", *options)
        assert found.code == 2
        assert message in found.error
        assert not (tmp_path / "out").exists()


def test_the_page_fits_every_window_and_its_text_never_runs(browser: Browser, tmp_path: Path) -> None:
    evil = "<script>document.title='run'</script>"
    lines = [f"Zeile {n} mit {'sehr ' * n}vielen Wörtern {evil}" for n in range(30)]
    (tmp_path / "reference.de").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    ladder, names = find_ladder("ladder").ladder, list[Path]()
    for rung in ladder.rung:
        names.append(tmp_path / f"{rung.name}.de")
        names[-1].write_text("".join(f"{line}\n" for line in lines), "utf-8")
    evaluation = evaluate(EvaluateRequest(names, [tmp_path / "reference.de"], samples=20))
    rows = [
        Row(rung.title, rung.idea, 400_000, 2.5, system, system)
        for rung, system in zip(ladder.rung, evaluation.systems, strict=True)
    ]
    words = [{"text": word} for word in ("Peter", evil, "gewaschen", "<eos>")]
    explained = {"translation": lines[9], "source_words": words, "target_words": words}
    explanations = [[{**explained, "word_attention": [[0.25] * 4] * 4}] * len(ladder.passage)] * len(rows)
    page = ladder_page(ladder, LadderResult(rows, evaluation, explanations), "nmt recipe ladder")
    for dark in (False, True):
        browser.open(page, dark=dark)
        for width in WIDTHS:
            browser.resize(width)
            assert browser.overflow() <= 0
    assert browser.run("document.title") == ladder.title
    assert browser.console() == []
    assert browser.requests() == []
    colors = browser.run(
        "[...document.querySelectorAll('.legend i')].map((i) => getComputedStyle(i).backgroundColor)"
    )
    assert len(set(colors)) == len(ladder.rung) + 1
