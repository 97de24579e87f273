"""`nmt evaluate` as users meet it."""

import json
from pathlib import Path
from typing import Any

import pytest
from sacrebleu.metrics import BLEU  # type: ignore[attr-defined]

from nmt_cli.evaluation.result import AlignmentEvaluation, Evaluation, schema_text

from .conftest import Run

REPOSITORY = Path(__file__).resolve().parent.parent.parent
SCHEMA = REPOSITORY / "docs" / "evaluation.schema.json"
LINES = [f"Satz Nummer {n} steht hier, und {'lang ' * (n % 6)}ist er auch." for n in range(40)]


def write(name: str, lines: list[str]) -> None:
    Path(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


def true_bleu() -> float:
    """BLEU of the good system, by sacreBLEU."""
    return float(BLEU().corpus_score([line.replace("auch", "ja") for line in LINES], [LINES]).score)


@pytest.fixture(autouse=True)
def _in_a_folder_with_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("ref.de", LINES)
    write("src.en", [line.replace("Satz", "sentence") for line in LINES])
    write("hyp.good.de", [line.replace("auch", "ja") for line in LINES])
    write("hyp.bad.de", [line.replace("steht hier", "war da") for line in LINES])


GOOD = ("evaluate", "hyp.good.de", "--reference", "ref.de", "--samples", 20)
BOTH = ("evaluate", "hyp.good.de", "hyp.bad.de", "--reference", "ref.de", "--samples", 20)


def test_plain_prints_the_score_and_nothing_else(nmt: Run) -> None:
    outcome = nmt(*GOOD, "--plain", "--quiet")
    assert outcome.code == 0
    assert outcome.stdout == f"BLEU = {true_bleu():.2f}\n"
    assert outcome.stderr == ""


def test_the_table_has_scores_intervals_p_values_and_signatures(nmt: Run) -> None:
    outcome = nmt(*BOTH, "--baseline", "bad")
    assert outcome.code == 0
    rows = [line.split() for line in outcome.stdout.split("\n")]
    assert rows[0] == ["system", "BLEU", "p", "chrF2", "p", "length"]
    assert rows[1][:3] == ["good", "84.8", "±"]
    assert rows[2][:2] == ["bad", "(baseline)"]
    assert "nrefs:1|bs:20|seed:12345|case:mixed|eff:no|tok:13a|smooth:exp|version:" in outcome.stdout
    assert "target language de, by the name ref.de" in outcome.stdout
    assert "scoring: 40" in outcome.stderr


def test_nothing_is_truncated_at_80_columns(nmt: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.console import Console

    monkeypatch.setattr("nmt_cli.cli.display.evaluation.results", lambda: Console(width=80, highlight=False))
    long = "a-system-with-a-very-long-name-that-nobody-can-read-at-once"
    Path("hyp.bad.de").rename(f"hyp.{long}.de")
    outcome = nmt(
        "evaluate",
        "hyp.good.de",
        f"hyp.{long}.de",
        "-r",
        "ref.de",
        "--samples",
        20,
        "-m",
        "bleu,chrf,chrf++,ter",
    )
    assert outcome.code == 0
    table = outcome.stdout.split("\n\n")[0:2]
    assert all(len(line) <= 80 for block in table for line in block.split("\n"))
    assert "…" not in outcome.stdout
    for name in ("BLEU", "chrF2", "chrF2++", "TER"):
        assert name in "".join(table)
    assert "".join(table).count(" ± ") == 8


def test_json_is_what_the_published_schema_says(nmt: Run) -> None:
    outcome = nmt(*BOTH, "--source", "src.en", "--json", "-m", "bleu,chrf,ter")
    result = json.loads(outcome.stdout)
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    assert violations(result, schema, schema) == []
    assert Evaluation.model_validate_json(outcome.stdout).sentences == 40
    assert result["systems"][0]["scores"][0]["signature"].startswith("nrefs:1|bs:20|seed:12345|")
    assert result["versions"]["sacrebleu"]
    broken = {**result, "sentences": "many", "surprise": 1}
    del broken["systems"]
    assert len(violations(broken, schema, schema)) > 0


def test_json_of_alignments_is_what_the_published_schema_says(nmt: Run) -> None:
    write("hyp.talp", ["0-0 1-1"])
    write("gold.talp", ["1-1 2p2"])
    outcome = nmt("align-eval", "hyp.talp", "--gold", "gold.talp", "--json")
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    assert violations(json.loads(outcome.stdout), schema, schema) == []
    assert AlignmentEvaluation.model_validate_json(outcome.stdout).systems[0].aer == 0.0
    table = nmt("align-eval", "hyp.talp", "--gold", "gold.talp")
    assert table.stdout.split("\n")[1].split() == ["hyp.talp", "100.0", "100.0", "0.0", "2"]
    plain = nmt("align-eval", "hyp.talp", "--gold", "gold.talp", "--plain")
    assert plain.stdout == "AER = 0.00\n"


def test_text_is_aligned_line_by_line(nmt: Run) -> None:
    write("text.en", ["the dog sleeps", "the cat sleeps", "", "a dog", "a cat", "the dog runs"])
    write("text.de", ["der Hund schläft", "der Kater schläft", "", "ein Hund", "ein Kater", "der Hund rennt"])
    outcome = nmt("align", "--source", "text.en", "--target", "text.de")
    assert outcome.code == 0, outcome.stderr
    three, two = "0-0 1-1 2-2", "0-0 1-1"
    assert outcome.stdout.split("\n") == [three, three, "", two, two, three, ""]
    assert "6 lines, 5 of them aligned with 13 links" in outcome.stderr
    again = nmt("align", "-s", "text.en", "-t", "-", "--lowercase", "-q", stdin=Path("text.de").read_bytes())
    assert again.stdout == outcome.stdout
    assert again.stderr == ""
    write("short.de", ["der Hund schläft"])
    unequal = nmt("align", "-s", "text.en", "-t", "short.de")
    assert unequal.code == 1
    assert "text.en has 6 lines, short.de has 1" in unequal.error


def test_several_alignments_are_ranked_and_their_format_can_be_changed(nmt: Run) -> None:
    write("gold.talp", ["0-0 1-2"])
    write("good.talp", ["0-0 2-1"])
    write("bad.talp", ["0-0"])
    arguments = ("align-eval", "bad.talp", "good.talp", "--gold", "gold.talp", "--gold-base", 0, "--reverse")
    assert nmt(*arguments, "--plain").stdout == "good.talp\tAER = 0.00\nbad.talp\tAER = 33.33\n"
    write("src", ["one"])
    past = nmt("align-eval", "good.talp", "--gold", "gold.talp", "--gold-base", 0, "--source", "src")
    assert "links past the end of the source sentence" in past.stderr
    missing = nmt("align-eval", "good.talp")
    assert (missing.code, missing.error) == (2, "error: missing option '--gold'")


def test_the_published_schema_is_that_of_the_result() -> None:
    assert SCHEMA.read_text(encoding="utf-8") == schema_text(), (
        "python -m nmt_cli.evaluation.result > docs/evaluation.schema.json"
    )


def test_markdown_is_a_table_with_signatures(nmt: Run) -> None:
    lines = nmt(*BOTH, "--markdown").stdout.split("\n")
    assert lines[0] == "| system | BLEU | p | chrF2 | p | length |"
    assert lines[2].startswith("| good | 84.8 ± ")
    assert any(line.startswith("- BLEU: `nrefs:1|bs:20") for line in lines)


def test_the_report_is_a_complete_page(nmt: Run) -> None:
    outcome = nmt(*BOTH, "--report", "report.html", "--source", "src.en")
    assert outcome.code == 0
    page = Path("report.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert page.endswith("</html>\n")
    assert "wrote report.html" in outcome.stderr
    assert "BLEU by source length" in page


def test_standard_input_is_a_system(nmt: Run) -> None:
    stdin = Path("hyp.good.de").read_bytes()
    outcome = nmt("evaluate", "-", "-r", "ref.de", "--samples", 0, "--plain", stdin=stdin)
    assert outcome.stdout == f"BLEU = {true_bleu():.2f}\n"


def test_randomization_has_its_own_signature(nmt: Run) -> None:
    outcome = nmt(*BOTH, "--test", "randomization", "--trials", 64, "--seed", 7)
    assert "nrefs:1|bs:20|ar:64|seed:7|" in outcome.stdout
    assert "paired approximate randomization, 64 samples, seed 7" in outcome.stdout


BAD_INPUT = {
    "nothing": ([], 2, "no systems to score", "hypothesis files"),
    "no reference": (["hyp.good.de"], 2, "no reference to score against", "--reference FILE"),
    "missing": (["none.de", "-r", "ref.de"], 1, "none.de does not exist", "similar names"),
    "missing reference": (["hyp.good.de", "-r", "refs.de"], 1, "refs.de does not exist", "similar names"),
    "empty": (["empty.de", "-r", "ref.de"], 1, "empty.de is empty", "one sentence per line"),
    "empty reference": (["hyp.good.de", "-r", "empty.de"], 1, "empty.de is empty", ""),
    "short": (
        ["short.de", "-r", "ref.de"],
        1,
        "short.de has 39 lines, ref.de has 40",
        "they seem to diverge at line 11",
    ),
    "long": (
        ["long.de", "-r", "ref.de"],
        1,
        "long.de has 42 lines, ref.de has 40",
        "long.de has extra blank lines from line 41 on",
    ),
    "short source": (
        ["hyp.good.de", "-r", "ref.de", "-s", "short.de"],
        1,
        "short.de has 39 lines, ref.de has 40",
        "line n of one file",
    ),
    "latin": (["latin.de", "-r", "ref.de"], 1, "latin.de is not UTF-8", "iconv"),
    "binary": (["binary.de", "-r", "ref.de"], 1, "gzip data, not text", ".gz"),
    "directory": ([".", "-r", "ref.de"], 1, "has no manifest.json", "run directory"),
    "tokenizer": (["hyp.good.de", "-r", "ref.de", "--tokenize", "13"], 2, "did you mean 13a?", "intl"),
    "metric": (["hyp.good.de", "-r", "ref.de", "-m", "blue"], 2, "did you mean bleu?", "chrf++"),
    "baseline": (["hyp.good.de", "-r", "ref.de", "-b", "x"], 2, "the baseline x is not one", "hyp.good"),
    "twice": (["hyp.good.de", "./hyp.good.de", "-r", "ref.de"], 2, "is listed twice", "once"),
    "standard input twice": (["-", "-r", "-"], 2, "standard input (-) is given more than once", "as files"),
    "no metric": (["hyp.good.de", "-r", "ref.de", "-m", ""], 2, "unknown metric ''", "chrf++"),
    "two outputs": (
        ["hyp.good.de", "-r", "ref.de", "--json", "--plain"],
        2,
        "cannot be used together",
        "choose",
    ),
    "settings": (
        ["hyp.good.de", "-r", "ref.de", "--set", "search.beam_size=2"],
        2,
        "needs a run",
        "as they are",
    ),
    "save": (
        ["hyp.good.de", "-r", "ref.de", "--save-hypotheses", "x"],
        2,
        "needs exactly one run directory, not 0",
        "one at a time",
    ),
    "report": (["hyp.good.de", "-r", "ref.de", "--report", "no/where.html"], 1, "cannot write", ""),
}


@pytest.mark.parametrize("name", BAD_INPUT)
def test_bad_input_gives_an_error_and_a_hint(nmt: Run, name: str) -> None:
    arguments, code, message, hint = BAD_INPUT[name]
    Path("empty.de").touch()
    write("short.de", LINES[:10] + LINES[11:])
    write("long.de", [*LINES, "", ""])
    Path("latin.de").write_bytes("\n".join(f"größer über {n}" for n in range(40)).encode("latin-1"))
    Path("binary.de").write_bytes(b"\x1f\x8b\x08\0" + b"\0" * 50)
    outcome = nmt("evaluate", "--quiet", "--samples", "0", *arguments)
    assert outcome.code == code, outcome.stderr
    assert message in outcome.error
    assert hint in outcome.hint


def test_a_stray_byte_is_a_warning_that_names_the_line(nmt: Run) -> None:
    content = Path("hyp.good.de").read_bytes().split(b"\n")
    content[6] += b"\xff"
    Path("stray.de").write_bytes(b"\n".join(content))
    outcome = nmt("evaluate", "stray.de", "-r", "ref.de", "--samples", 0)
    assert outcome.code == 0
    assert "warning: stray.de: line 7 is not UTF-8" in outcome.stderr


def test_a_report_that_cannot_be_written_is_rejected_before_the_work(nmt: Run) -> None:
    outcome = nmt(*GOOD, "--report", "no/where.html")
    assert (outcome.code, outcome.stdout) == (1, "")
    assert "cannot write no/where.html" in outcome.error


def test_a_full_disk_is_an_error(nmt: Run) -> None:
    outcome = nmt(*GOOD, "--report", "/dev/full")
    assert outcome.code == 1
    assert "No space left" in outcome.error


def violations(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> list[str]:
    """How a value violates a JSON schema; knows the keywords of our schema only."""
    known = {"$schema", "$defs", "$ref", "anyOf", "type", "properties", "required", "additionalProperties"}
    known |= {"items", "const", "enum", "title", "description", "default"}
    assert set(schema) <= known, set(schema) - known
    if "$ref" in schema:
        return violations(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root)
    if "anyOf" in schema:
        found = [violations(value, option, root) for option in schema["anyOf"]]
        return [] if [] in found else min(found, key=len)
    wrong = []
    if "const" in schema and value != schema["const"]:
        wrong.append(f"{value!r} is not {schema['const']!r}")
    if "enum" in schema and value not in schema["enum"]:
        wrong.append(f"{value!r} is not one of {schema['enum']}")
    kinds: dict[str, Any] = {"object": dict, "array": list, "string": str, "null": type(None)}
    kinds |= {"integer": int, "number": (int, float), "boolean": bool}
    kind = schema.get("type")
    if kind and (not isinstance(value, kinds[kind]) or (isinstance(value, bool) and kind != "boolean")):
        return [*wrong, f"{value!r} is no {kind}"]
    if kind == "array":
        wrong += [problem for item in value for problem in violations(item, schema["items"], root)]
    if kind == "object" and "properties" in schema:
        wrong += [f"{name} is missing" for name in schema.get("required", ()) if name not in value]
        for name, item in value.items():
            if name in schema["properties"]:
                wrong += violations(item, schema["properties"][name], root)
            elif schema.get("additionalProperties", True) is False:
                wrong.append(f"{name} is not in the schema")
    return wrong
