"""Exported models against the run directories they come from: the same translations, the same contract."""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nmt_cli import Details, Translator
from nmt_cli.config.presets import TRANSLATION_PRESETS
from nmt_cli.errors import UsageError
from nmt_cli.export import shortlist
from nmt_cli.export.folder import export, sign, write_graphs, write_settings
from nmt_cli.export.shortlist import cooccurrence, model_1
from nmt_cli.files.manifest import write_manifest
from nmt_cli.run import RunDirectory
from nmt_cli.runtime.folder import RuntimeFailure
from nmt_cli.runtime.translate import ExportedTranslator
from nmt_cli.runtime.words import links_of
from tests.translator.runs import LINES, make_run

TEXTS = [*LINES[:25], "", "unknown Wörter ✓", " \t", "x", "a\u2028b\x85c", "\udc80 lone", "\ufeffmark", "▁"]
quick = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def layers_of(preset: str) -> list[str]:
    layers = 2 if preset == "gnmt2016" else 1
    return [f"model.preset={preset}", f"model.encoder_layers={layers}", f"model.decoder_layers={layers}"]


@pytest.mark.parametrize("preset", TRANSLATION_PRESETS)
def test_an_export_translates_like_its_run(tmp_path: Path, preset: str) -> None:
    run = make_run(tmp_path / "run", layers_of(preset), prefers_bytes=False)
    export(run, tmp_path / "out", shortlist="none")
    for search in ({"beam_size": 1}, {"beam_size": 4, "n_best": 2}):
        torch, onnx = (
            Translator.load(run, device="cpu", search=search),
            ExportedTranslator(tmp_path / "out", search=search, threads=1),
        )
        assert torch.has_attention == onnx.has_attention
        asked: Any = {"scores": True, "attention": torch.has_attention, "alignment": torch.has_attention}
        expected = torch.translate(TEXTS, details=Details(**asked))
        for one, other in zip(onnx.translate(TEXTS, **asked), expected, strict=True):
            assert one.text == other.text
            assert (one.source, one.parts) == (other.source, other.parts)
            assert one.target_pieces == other.target_pieces
            assert one.source_pieces == other.source_pieces
            assert one.score == pytest.approx(other.score, abs=1e-4)
            assert one.log_probability == pytest.approx(other.log_probability, abs=1e-3)
            assert (one.attention is None) == (other.attention is None)
            assert (one.alignment is None) == (other.alignment is None)
            if one.attention is not None and other.attention is not None:
                assert one.attention == pytest.approx(other.attention.numpy(), abs=1e-4)
                if preset == "vaswani2017":  # its saturated heads make exact ties
                    continue
                links = links_of(other.attention.numpy(), one.source_groups, one.target_groups)
                assert links == other.alignment
            assert [n.text for n in one.n_best or ()] == [n.text for n in other.n_best or ()]


@pytest.mark.parametrize("kind", ["word", "char", "unigram"])
def test_every_kind_of_vocabulary_is_exported(tmp_path: Path, kind: str) -> None:
    size = ["vocabulary.size=40"] if kind == "word" else []
    run = make_run(tmp_path / "run", [f"vocabulary.kind={kind}", "vocabulary.joint=false", *size])
    export(run, tmp_path / "out", shortlist="none")
    torch = Translator.load(run, device="cpu", search={"beam_size": 3})
    texts = [*TEXTS, "nowhere seen ba"]
    found = ExportedTranslator(tmp_path / "out", search={"beam_size": 3}).translate(texts)
    assert [one.text for one in found] == [one.text for one in torch.translate(texts)]


def test_lower_case_and_replacements_are_exported(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", ["data.lowercase=true"])
    (run / "normalization.tsv").write_text("bo\tba\n", "utf-8")
    write_manifest(run, "run")
    export(run, tmp_path / "out", shortlist="none")
    torch, onnx = Translator.load(run, device="cpu"), ExportedTranslator(tmp_path / "out")
    for one, other in zip(onnx.translate(["BO ba De."]), torch.translate(["BO ba De."]), strict=True):
        assert one.source == other.source == "ba ba de."
        assert one.text == other.text


@quick
@given(st.lists(st.text(max_size=30), max_size=6))
def test_every_text_gives_one_line_and_a_blank_text_a_blank_one(exported: Path, texts: list[str]) -> None:
    for beam in (1, 3):
        found = ExportedTranslator(exported, search={"beam_size": beam}, threads=1).translate(texts)
        assert len(found) == len(texts)
        for text, translation in zip(texts, found, strict=True):
            assert not set("\n\r") & set(translation.text)
            translation.text.encode()
            assert bool(text.strip()) == bool(translation.parts)


def test_a_prefix_begins_every_translation_and_long_lines_are_translated_in_parts(
    run: Path, exported: Path
) -> None:
    search = {"beam_size": 2, "n_best": 2}
    torch = Translator.load(run, device="cpu", search=search, max_tokens=20)
    onnx = ExportedTranslator(exported, search=search, max_tokens=20)
    texts = [" ".join(LINES[:30]), LINES[3], "ba. " * 3 + "de" * 200]
    prefixes = ["ba du ", "", "ga\x85\x9b31m \x1b"]
    expected = torch.translate(
        texts, prefixes=prefixes, details=Details(scores=True, attention=True, alignment=True)
    )
    found = onnx.translate(texts, prefixes=prefixes, scores=True, attention=True, alignment=True)
    for one, other in zip(found, expected, strict=True):
        assert one.text == other.text
        assert one.parts == other.parts
        assert one.alignment == other.alignment
        assert one.reached_limit == other.reached_limit
        assert one.score == pytest.approx(other.score, abs=1e-4)
        assert [n.text for n in one.n_best or ()] == [n.text for n in other.n_best or ()]
        assert one.attention is not None
        assert one.attention.shape == (len(one.target_pieces), len(one.source_pieces))
    assert found[0].parts > 20
    assert found[0].text.startswith("ba du")
    assert found[2].text.startswith(prefixes[2])


def test_forced_decoding_equals_that_of_the_run(run: Path, exported: Path) -> None:
    torch, onnx = Translator.load(run, device="cpu"), ExportedTranslator(exported)
    sources, targets = TEXTS[:26], TEXTS[1:27]
    expected = torch.score(sources, targets, details=Details(scores=True, alignment=True))
    for one, other in zip(onnx.score(sources, targets, alignment=True), expected, strict=True):
        assert one.token_log_probabilities == pytest.approx(other.token_log_probabilities, abs=1e-4)
        assert one.target_pieces == other.target_pieces
        assert one.score == pytest.approx(other.score, abs=1e-4)
        assert one.alignment == other.alignment


def with_shortlist(run: Path, folder: Path, *, int8: bool) -> Path:
    """An export with a shortlist of 10 from the lines themselves, without trying it on a validation set."""
    opened = RunDirectory.open(run)
    ids, V = opened.vocabularies.source.encode(LINES), len(opened.vocabularies.target)
    table = model_1(ids, ids, V, V).table(V, V, 10)
    export(run, folder, shortlist="none", int8=int8)
    write_graphs(folder, opened.load_model(), opened.config, int8=int8, shortlist=True)
    np.save(folder / "shortlist.npy", table, allow_pickle=False)
    content = json.loads((folder / "settings.json").read_text("utf-8"))
    write_settings(folder, {**content, "shortlist": {"frequent": [300, 301, 302]}})
    sign(folder)
    return folder


def test_the_speed_of_a_shortlist_does_not_need_a_precise_clock(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = RunDirectory.open(run)
    ids, V = opened.vocabularies.source.encode(LINES), len(opened.vocabularies.target)
    monkeypatch.setattr(shortlist, "_lexicon", lambda run, data: model_1(ids, ids, V, V))
    monkeypatch.setattr(RunDirectory, "held_out", lambda run, split: (LINES[:2], LINES[:2]))
    monkeypatch.setattr(time, "process_time", lambda: 1.0)  # as with `ulimit -t`, which makes it coarse
    said: list[str] = []
    export(run, tmp_path / "out", shortlist=5, report=said.append)
    assert "1.00 × as fast" in said[-1]


@pytest.mark.parametrize("int8", [False, True])
@pytest.mark.parametrize("shortlist", [False, True])
@pytest.mark.parametrize("beam", [1, 4])
def test_neighbors_do_not_change_a_translation(
    tmp_path: Path, run: Path, int8: bool, shortlist: bool, beam: int
) -> None:
    if shortlist:
        folder = with_shortlist(run, tmp_path / "out", int8=int8)
    else:
        folder = tmp_path / "out"
        export(run, folder, shortlist="none", int8=int8)
    translator = ExportedTranslator(folder, search={"beam_size": beam}, threads=1)
    together = translator.translate(TEXTS, scores=True)
    for text, one in zip(TEXTS, together, strict=True):
        [alone] = translator.translate([text], scores=True)
        assert alone.text == one.text
        assert alone.score == pytest.approx(one.score, abs=1e-4)


def test_a_shortlist_limits_the_tokens_but_not_a_prefix_copies_or_bytes(tmp_path: Path, run: Path) -> None:
    translator = ExportedTranslator(with_shortlist(run, tmp_path / "out", int8=False), threads=1)
    model = translator.model
    assert model.shortlist is not None
    [plain] = model.source.encode(["ba de."])
    ids, allowed = model.shortlist.of([plain])
    assert set(plain) <= set(ids.tolist())
    assert len(ids) < 60 < len(model.target.pieces)
    assert not model.target.is_byte[ids].any()
    [spelled] = model.source.encode(["ba ✓"])
    ids, allowed = model.shortlist.of([plain, spelled])
    assert model.target.is_byte[ids].sum() == 256
    assert np.isneginf(allowed[0][model.target.is_byte[ids]]).all()  # the neighbor's bytes are not its own
    [found] = translator.translate(["ba de."], prefixes=["zyx"])
    assert found.text.startswith("zyx")
    [scored] = translator.score(["ba de."], ["zyx"])  # over the whole vocabulary
    assert scored.log_probability == pytest.approx(
        Translator.load(run, device="cpu").score(["ba de."], ["zyx"])[0].log_probability, abs=1e-3
    )


def test_em_finds_the_translations_that_mere_cooccurrence_misses() -> None:
    from nmt_cli.vocabulary.token_ids import Ragged

    # Token i is translated by i + 10; 20 is twice in every target sentence.
    draw = np.random.default_rng(0)
    source = [draw.choice(np.arange(4, 10), 3, replace=False).tolist() for _ in range(200)]
    target = [[20, 20, *(token + 10 for token in row)] for row in source]
    pairs = Ragged.from_rows(source), Ragged.from_rows(target)
    best = model_1(*pairs, 10, 30, iterations=8).table(10, 30, 1)[4:, 0]
    assert best.tolist() == [token + 10 for token in range(4, 10)]
    assert cooccurrence(*pairs, 10, 30).table(10, 30, 1)[4:, 0].tolist() == [20] * 6


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (["model.attention_span=local-m", "model.attention_window=3"], "attention_span = local-m"),
        (["model.attention=location"], "attention = location"),
        (["model.attention=uniform"], "attention = uniform"),
        (
            ["model.preset=bahdanau2015", "model.context_gate=true"],
            "context_gate = true",
        ),
        (["model.hard_attention=true"], "hard_attention = true"),
        (["model.attention=additive", "model.coverage=true"], "coverage = true"),
        (["model.copying=true"], "copying = true"),
        (["model.heads=4"], "heads = 4"),
    ],
    ids=str,
)
def test_what_cannot_be_exported_is_refused_by_name(tmp_path: Path, settings: list[str], name: str) -> None:
    run = make_run(tmp_path / "run", settings)
    with pytest.raises(UsageError, match=f"model.{name} cannot be exported: "):
        export(run, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_search_settings_that_the_runtime_lacks_are_refused_at_export(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", ["search.no_repeat_ngram=3"])
    with pytest.raises(UsageError, match=r"search\.no_repeat_ngram = 3"):
        export(run, tmp_path / "out", shortlist="none")
    export(run, tmp_path / "out", shortlist="none", search={"no_repeat_ngram": 0})
    assert ExportedTranslator(tmp_path / "out").config.beam_size == 5


@pytest.mark.parametrize("search", [{"beam_size": 0}, {"beam_size": 2, "n_best": 3}], ids=str)
def test_impossible_beams_are_refused(exported: Path, search: dict[str, Any]) -> None:
    with pytest.raises(RuntimeFailure):
        ExportedTranslator(exported, search=search)


def test_the_model_card_has_the_front_matter_of_a_model_hub_and_the_license(
    tmp_path: Path, run: Path
) -> None:
    export(run, tmp_path / "out", shortlist="none", license_name="CC-BY-4.0")
    _, front_matter, card = (tmp_path / "out" / "README.md").read_text("utf-8").split("---\n", 2)
    lines = front_matter.splitlines()
    assert lines[:4] == ["language:", "- xx", "- yy", "license: cc-by-4.0"]
    assert "pipeline_tag: translation" in lines
    assert "- License: CC-BY-4.0" in card.splitlines()
    export(run, tmp_path / "out", shortlist="none", overwrite=True)
    card = (tmp_path / "out" / "README.md").read_text("utf-8")
    assert "the run records no license of its training data" in card
    with pytest.raises(UsageError, match="not a license identifier"):
        export(run, tmp_path / "other", license_name="a\ntags: x")


def test_the_manifest_names_the_opset_of_both_graphs(exported: Path) -> None:
    manifest = json.loads((exported / "manifest.json").read_text("utf-8"))
    for name in ("encoder.onnx", "decoder.onnx"):
        versions = {one.domain: one.version for one in onnx.load(exported / name).opset_import}
        assert versions[""] == manifest["opset"]
