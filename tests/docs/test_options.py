"""Every command and option that a page shows exists, and so does every setting, preset, recipe and file."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer  # noqa: TID251 - the commands as typer knows them

from nmt_cli.cli.app import app
from nmt_cli.config import PRESETS, setting_names
from nmt_cli.recipe import ladder_names, recipe_names
from tests.docs.commands import PAGES, REPOSITORY, Shown, shown_commands

COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
SHOWN = [shown for page in PAGES for shown in shown_commands(page)]


def _name(shown: Shown) -> str:
    return f"{shown.page.parent.name}/{shown.page.name}: {' '.join(shown.words)[:60]}"


def test_commands_are_found() -> None:
    assert len(SHOWN) > 100
    assert {"README.md", "tutorial.md", "training.md", "evaluation.md"} <= {
        shown.page.name for shown in SHOWN
    }


@pytest.mark.parametrize("shown", SHOWN, ids=_name)
def test_a_shown_command_and_its_options_exist(shown: Shown) -> None:
    _, name, *words = shown.words
    if name.startswith("--"):
        assert name in ("--help", "--version")
        return
    if not re.fullmatch(r"[a-z-]+", name):
        pytest.skip("no command is named")
    assert name in COMMANDS, shown.line
    options = {
        text for parameter in COMMANDS[name].params for text in (*parameter.opts, *parameter.secondary_opts)
    }
    for word, after in zip(words, [*words[1:], ""], strict=False):
        option = word.partition("=")[0]
        if re.fullmatch(r"--?[a-z][a-z-]*", option):
            assert option in options | {"--help", "-h"}, f"{option} in: {shown.line}"
        if word == "--set":
            key = after.partition("=")[0]
            assert key in setting_names() or re.search(r"[A-Z…*]|section\.key", key), (
                f"{key} in: {shown.line}"
            )
        if word == "--preset":
            assert after in PRESETS or after == "NAME", shown.line
    if name == "recipe" and words and not words[0].startswith("-"):
        assert words[0] in [*recipe_names(), *ladder_names(), "NAME"], shown.line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)|src=\"([^\"]+)\"", page.read_text("utf-8")):
        (link,) = filter(None, target)
        if not link.startswith(("https://", "http://", "mailto:")):
            assert (page.parent / link).exists(), link


SECTION_LINK = r"\]\(([\w./-]*)#([^)]+)\)"


def anchors(page: Path) -> set[str]:
    """What GitHub makes of the headings of a page."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_links_to_sections_lead_to_headings(page: Path) -> None:
    for target, anchor in re.findall(SECTION_LINK, page.read_text("utf-8")):
        assert anchor in anchors(page.parent / target if target else page), f"{target}#{anchor}"


def test_links_to_sections_are_found() -> None:
    assert sum(len(re.findall(SECTION_LINK, page.read_text("utf-8"))) for page in PAGES) > 50


def test_the_readme_links_to_every_page() -> None:
    readme = (REPOSITORY / "README.md").read_text("utf-8")
    for page in (REPOSITORY / "docs").glob("*.md"):
        assert f"docs/{page.name}" in readme, page.name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_no_line_is_longer_than_120_characters(page: Path) -> None:
    assert [line for line in page.read_text("utf-8").split("\n") if len(line) > 120] == []


def test_every_file_that_contributing_names_exists() -> None:
    text = (REPOSITORY / "CONTRIBUTING.md").read_text("utf-8")
    of_a_run = ("checkpoints/", "state/")
    named = [name for name in re.findall(r"`([\w./-]+(?:/|\.py|\.md))`", text) if name not in of_a_run]
    assert len(named) > 50
    for name in named:
        # Modules may be named without their package if it was named before.
        assert [*REPOSITORY.glob(name), *(REPOSITORY / "nmt_cli").rglob(name)], name


def test_the_makefile_has_a_target_for_every_recipe() -> None:
    done = subprocess.run(
        ["make", "--dry-run", "--print-data-base", "help"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    (targets,) = re.findall(r"^RECIPES := (.*)$", done.stdout, re.MULTILINE)
    assert sorted(targets.split()) == sorted([*recipe_names(), *ladder_names()])
    makefile = (REPOSITORY / "Makefile").read_text("utf-8")
    assert not set(targets.split()) & set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
