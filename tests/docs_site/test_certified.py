"""The guides have the figures of the full certificate that lies beside them, and that certificate is of this code."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from scripts import script
from steelyard.proof.catalogue import every_claim
from steelyard.proof.claims import counted, words
from steelyard.proof.judging import held
from steelyard.proof.running import tried
from steelyard.questions.learners.learners import FALSE_ALARMS
from steelyard.results.certificate import CertifiedSetting

DOCS = Path(__file__).parents[2] / "docs"
AGAIN = {  # exact sums that cost next to nothing
    "a proportion: coverage of wilson": {"n": 20},
    "a lower bound of a proportion: coverage of clopper-pearson": {"n": 10},
    "F1 of one class: coverage of wilson": {"n": 10},
    "right or wrong on the same items: size of mcnemar-midp": {"n": 50},
    "a paired difference: coverage of tango": {"n": 10},
    "an unpaired difference: coverage of newcombe": {"n1": 10, "n2": 10},
    "a guard on the same items, right or wrong: power of bare number": {"n": 100},
    "a plan for a threshold: power of bayes": {"expected": 0.95, "threshold": 0.9},
}


@pytest.fixture(scope="module")
def certified() -> ModuleType:
    return script(DOCS / "certified.py")


def test_the_guides_are_in_step(certified: ModuleType) -> None:
    late = [page for page in certified.pages() if certified.written(page, text := (DOCS / page).read_text(encoding="utf-8")) != text]
    assert not late, "python docs/certified.py --write puts the figures in"


def test_a_figure_that_was_typed_is_found_and_put_right(certified: ModuleType) -> None:
    text = (DOCS / "methods.md").read_text(encoding="utf-8")
    good = next(figures for page, words, figures in certified.sentences() if page == "methods.md" and "unlucky" in words)
    wrong = text.replace(f"as little as {good[1]} at an unlucky", "as little as 0.99 at an unlucky")
    assert wrong != text
    assert certified.written("methods.md", wrong) == text


def test_words_that_are_gone_are_a_fault(certified: ModuleType) -> None:
    text = (DOCS / "limits.md").read_text(encoding="utf-8")
    with pytest.raises(LookupError, match="found 0 times"):
        certified.written("limits.md", text.replace("of the time", "of cases"))


def test_the_certificate_has_every_claim_in_every_setting(certified: ModuleType) -> None:
    kept = certified.certificate()
    declared = {claim.name: {certified.RUNS.sub("", words(setting)).strip() for setting in claim.full} for claim in every_claim()}
    assert {name: set(settings) for name, settings in kept.items()} == declared, "steelyard certify --full has to be run again"


@pytest.mark.parametrize("name", AGAIN)
def test_the_certificate_is_of_this_code(name: str, certified: ModuleType) -> None:
    claim = next(claim for claim in every_claim() if claim.name == name)
    found, kept = tried(claim, AGAIN[name], 0), certified.certificate()[name][words(AGAIN[name])]
    assert float(kept["least"]) == pytest.approx(found.least, abs=1e-12)
    assert float(kept["mean"]) == pytest.approx(found.mean, abs=1e-12)


def test_the_warning_about_learners_has_the_figures(certified: ModuleType) -> None:
    found = {
        method: certified.told_apart(f"two learners, split by split: size of {method}") for method in FALSE_ALARMS if "naive" not in method
    }
    assert found | {"repeated naive": certified.told_apart(certified.NAIVE)} == FALSE_ALARMS


def test_every_certificate_holds(certified: ModuleType) -> None:
    assert {row["holds"] for settings in certified.certificate().values() for row in settings.values()} == {"True"}


def stored(row: dict[str, str]) -> CertifiedSetting:
    """A line of the certificate as it was found."""
    whole: dict[str, Any] = {name: row[name] for name in ("setting", "least_at", "most_at")}
    whole |= {name: int(row[name]) for name in ("points", "runs")}
    whole |= {name: float(row[name]) for name in CertifiedSetting.names() if name not in whole and row.get(name)}
    return CertifiedSetting(**whole)


def test_every_claim_holds_by_what_is_stored(certified: ModuleType) -> None:
    """Bands and the judge may have changed since the page was written: what was found then is judged again."""
    kept = certified.certificate()
    assert [fault for claim in every_claim() for fault in held(claim, [stored(row) for row in kept[claim.name].values()]).faults] == []


def test_the_runs_that_are_stored_are_those_of_the_shares(certified: ModuleType) -> None:
    for name, settings in certified.certificate().items():
        for setting, row in settings.items():
            found = stored(row)
            if found.runs:
                again = counted("", round(found.least * found.runs), found.runs)
                assert (found.least, found.least_error) == pytest.approx((again.found, again.error)), f"{name} at {setting}"


PARAMETERS = re.compile(r"(share|AUC|drop|accuracy) (of|is) 0\.\d+|width 0\.\d+|up to 0\.\d+")  # figures that are no findings
SAID = re.compile(r"(?<![\d.])0\.\d+")


def test_what_is_said_of_a_method_is_what_was_found(certified: ModuleType) -> None:
    """Every share in the sentence of a claim is, to two digits, one that the full certificate found: worst, mean or of some setting."""
    stale = []
    for claim in every_claim():
        rows = list(certified.certificate()[claim.name].values())
        points = [float(row["points"]) for row in rows]
        found = [float(row[what]) for row in rows for what in ("least", "most", "mean")]
        found.append(sum(float(row["mean"]) * many for row, many in zip(rows, points, strict=True)) / sum(points))
        figures = [float(figure) for figure in SAID.findall(PARAMETERS.sub("", claim.says))]
        stale += [f"{claim.name}: {claim.says}" for figure in figures if min(abs(figure - one) for one in found) > 0.0101]
    assert stale == []
