"""Every published figure is reproduced to the printed decimals."""

from pathlib import Path

import pytest

from nmt_cli.metrics.corpus_metric import CorpusMetric, Statistics
from nmt_cli.metrics.resampling import bootstrap, bootstrap_p_value

from .conftest import lines_of, rows_of

BASELINE = "LIUM-NMT.4900"


@pytest.fixture(scope="session")
def wmt17_statistics(wmt17: Path) -> dict[str, dict[str, Statistics]]:
    """For BLEU and chrF the statistics of all sixteen systems, counted once."""
    reference = lines_of(wmt17 / "ref.de.gz")
    systems = [row["system"] for row in rows_of(wmt17 / "published_scores.tsv")]
    found: dict[str, dict[str, Statistics]] = {}
    for key in ("bleu", "chrf"):
        metric = CorpusMetric(key)
        metric.prepare([reference])
        found[key] = {name: metric.statistics(lines_of(wmt17 / f"hyp.{name}.de.gz")) for name in systems}
    return found


def test_all_scores_of_wmt17_are_reproduced(
    wmt17: Path, wmt17_statistics: dict[str, dict[str, Statistics]]
) -> None:
    rows = rows_of(wmt17 / "published_scores.tsv")
    assert len(rows) == 16
    for row in rows:
        for key, column, printed in (
            ("bleu", "sacrebleu2.6.0_bleu13a", "readme_bleu"),
            ("chrf", "sacrebleu2.6.0_chrf2", "readme_chrf2"),
        ):
            score = CorpusMetric(key).score(wmt17_statistics[key][row["system"]].sum(axis=0))
            assert f"{score:.4f}" == row[column], row["system"]
            if row[printed]:
                assert f"{score:.1f}" == row[printed]


def test_scores_of_untokenized_text_are_reproduced(wmt17: Path) -> None:
    metric = CorpusMetric("bleu", tokenize="none")
    metric.prepare([lines_of(wmt17 / "ref.de.gz")])
    for row in rows_of(wmt17 / "published_scores.tsv"):
        statistics = metric.statistics(lines_of(wmt17 / f"hyp.{row['system']}.de.gz"))
        assert f"{metric.score(statistics.sum(axis=0)):.4f}" == row["sacrebleu2.6.0_bleu_tok_none"]


def test_the_p_values_of_the_sacrebleu_readme_are_reproduced(
    wmt17: Path, wmt17_statistics: dict[str, dict[str, Statistics]]
) -> None:
    compared = 0
    for key, column in (("bleu", "readme_paired_bs_p_bleu"), ("chrf", "readme_paired_bs_p_chrf2")):
        metric = CorpusMetric(key)
        statistics = wmt17_statistics[key]
        scores = bootstrap(metric, statistics, samples=1000, seed=12345)
        real = {name: metric.score(rows.sum(axis=0)) for name, rows in statistics.items()}
        for row in rows_of(wmt17 / "published_scores.tsv"):
            if row[column]:
                name = row["system"]
                p = bootstrap_p_value(scores[BASELINE], scores[name], abs(real[name] - real[BASELINE]))
                assert f"{p:.4f}" == row[column], name
                compared += 1
    assert compared == 8


@pytest.mark.parametrize(("pair", "tokenize", "systems"), [("en-de", "13a", 9), ("en-zh", "zh", 5)])
def test_all_scores_of_wmt22_are_reproduced(corpora: Path, pair: str, tokenize: str, systems: int) -> None:
    """Against reference A, reference B, and both."""
    folder, language = corpora / "wmt" / f"wmt22.{pair}", pair[-2:]
    texts = {name: lines_of(folder / f"ref.{name}.{language}.gz") for name in "AB"}
    # Of two references with the same chrF the first one counts; WMT named B first.
    sets = {"A": [texts["A"]], "B": [texts["B"]], "all": [texts["B"], texts["A"]]}
    published = {
        (row["system"], row["metric"].lower()): row["score"]
        for row in rows_of(folder / "published_scores.tsv")
    }
    names = sorted({system for system, _ in published})
    assert len(names) == systems
    for key in ("bleu", "chrf"):
        metric = CorpusMetric(key, tokenize=tokenize)
        for name, references in sets.items():
            metric.prepare(references)
            for system in names:
                statistics = metric.statistics(lines_of(folder / f"hyp.{system}.{language}.gz"))
                score = metric.score(statistics.sum(axis=0))
                expected = float(published[system, f"{key}-{name.lower()}"])
                assert score == pytest.approx(expected, abs=5e-5), (system, key, name)
