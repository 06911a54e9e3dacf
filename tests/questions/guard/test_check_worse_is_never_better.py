"""A run that gets worse, item by item, never turns from inconclusive to pass: of every kind of metric that can be recorded.

With theta, a run passes as long as its bound lies above -theta. So this holds for every theta exactly if the bound never rises while
items get worse, until the run is called a regression. An item that gets better may move it either way: spread is what t lives on.
ECE is left out: a probability that gets worse may be better calibrated.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import steelyard as sy
from cases import seldom

Rows = list[dict[str, Any]]
Worse = Callable[[dict[str, Any], float], dict[str, Any]]
STEPS = 14
HIGHER = ("accuracy", "macro_f1", "kappa", "mean", "r2")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


class Kind(NamedTuple):
    """How rows of a run are drawn, what makes one of them worse (by so much of what it can lose), and how they are asked about."""

    rows: Callable[[np.random.Generator, int], Rows]
    worse: Worse
    options: dict[str, Any]
    theta: Any = 0.5


def scores(low: float, high: float) -> Callable[[np.random.Generator, int], Rows]:
    return lambda rng, n: [{"id": f"q{i}", "score": x} for i, x in enumerate(rng.uniform(low, high, n))]


def lower_score(to: float) -> Worse:
    return lambda row, share: {**row, "score": row["score"] - share * (row["score"] - to)}


def labels(rng: np.random.Generator, n: int) -> Rows:
    truth, right = rng.integers(0, 3, n), rng.random(n) < 0.85
    return [
        {"id": f"q{i}", "truth": "abc"[t], "prediction": "abc"[(t + (not ok)) % 3]}
        for i, (t, ok) in enumerate(zip(truth, right, strict=True))
    ]


def wrong_label(row: dict[str, Any], share: float) -> dict[str, Any]:
    return {**row, "prediction": "abc"[("abc".index(row["truth"]) + 1) % 3]} if row["prediction"] == row["truth"] else row


def chances(rng: np.random.Generator, n: int) -> Rows:
    positive = np.arange(n) % 2 == 0
    chance = np.clip(np.where(positive, 0.7, 0.3) + rng.normal(0, 0.2, n), 0.02, 0.98)
    return [{"id": f"q{i}", "truth": "yes" if y else "no", "p": p} for i, (y, p) in enumerate(zip(positive, chance, strict=True))]


def worse_chance(row: dict[str, Any], share: float) -> dict[str, Any]:
    end = 0.01 if row["truth"] == "yes" else 0.99
    return {**row, "p": row["p"] + share * (end - row["p"])}


def numbers(rng: np.random.Generator, n: int) -> Rows:
    truth = rng.normal(0, 2, n)
    return [{"id": f"q{i}", "truth": t, "prediction": t + e} for i, (t, e) in enumerate(zip(truth, rng.normal(0, 0.5, n), strict=True))]


def farther(row: dict[str, Any], share: float) -> dict[str, Any]:
    return {**row, "prediction": row["prediction"] + share * np.sign(row["prediction"] - row["truth"])}


def speech(rng: np.random.Generator, n: int) -> Rows:
    words = rng.integers(5, 40, n)
    return [{"id": f"q{i}", "errors": e, "words": w} for i, (e, w) in enumerate(zip(rng.binomial(words, 0.1), words, strict=True))]


def misheard(row: dict[str, Any], share: float) -> dict[str, Any]:
    return {**row, "errors": row["errors"] + max(1, round(share * (row["words"] - row["errors"])))} if row["errors"] < row["words"] else row


def drafts(rng: np.random.Generator, n: int) -> Rows:
    drafted = rng.integers(20, 60, n)
    return [{"id": f"q{i}", "taken": t, "drafted": d} for i, (t, d) in enumerate(zip(rng.binomial(drafted, 0.7), drafted, strict=True))]


def refused(row: dict[str, Any], share: float) -> dict[str, Any]:
    return {**row, "taken": row["taken"] - max(1, round(share * row["taken"])) if row["taken"] else 0}


def texts(rng: np.random.Generator, n: int) -> Rows:
    tokens = rng.integers(50, 300, n)
    return [{"id": f"q{i}", "loss": x * t, "tokens": t} for i, (x, t) in enumerate(zip(rng.normal(2, 0.3, n), tokens, strict=True))]


def unlikely(row: dict[str, Any], share: float) -> dict[str, Any]:
    return {**row, "loss": row["loss"] * (1 + share)}


def in_groups(rows: Callable[[np.random.Generator, int], Rows], size: int) -> Callable[[np.random.Generator, int], Rows]:
    return lambda rng, n: [{**row, "group": f"g{i // size}"} for i, row in enumerate(rows(rng, n))]


def weighted(rng: np.random.Generator, n: int) -> Rows:
    return [{**row, "weight": w} for row, w in zip(scores(0, 9)(rng, n), rng.uniform(0.5, 2, n), strict=True)]


WER = {"metric": "wer", "ratio": "errors/words"}
PERPLEXITY = {"metric": "perplexity", "ratio": "loss/tokens"}
OF_CHANCES = {"probability": "p", "positive": "yes"}
KINDS = {
    "accuracy": Kind(labels, wrong_label, {"metric": "accuracy"}),
    "error": Kind(labels, wrong_label, {"metric": "error"}),
    "macro_f1": Kind(labels, wrong_label, {"metric": "macro_f1"}),
    "kappa": Kind(labels, wrong_label, {"metric": "kappa"}),
    "scores": Kind(scores(3, 9), lower_score(1), {"metric": "mean"}),
    "scores in 0 to 1": Kind(scores(0.4, 1), lower_score(0), {"metric": "mean"}),
    "scores of a range": Kind(scores(0, 1), lower_score(0), {"metric": "mean", "range": (0, 1)}),
    "weighted scores": Kind(weighted, lower_score(0), {"metric": "mean", "weight": "weight"}),
    "a share of scores": Kind(scores(0.4, 1), lower_score(0), {"metric": "mean"}, "50%"),
    "brier": Kind(chances, worse_chance, {"metric": "brier", **OF_CHANCES}),
    "log_loss": Kind(chances, worse_chance, {"metric": "log_loss", **OF_CHANCES}),
    "mae": Kind(numbers, farther, {"metric": "mae"}),
    "rmse": Kind(numbers, farther, {"metric": "rmse"}),
    "r2": Kind(numbers, farther, {"metric": "r2"}),
    "wer": Kind(speech, misheard, WER),
    "a share of wer": Kind(speech, misheard, WER, "50%"),
    "acceptance": Kind(drafts, refused, {"metric": "acceptance_rate", "ratio": "taken/drafted"}),
    "perplexity": Kind(texts, unlikely, PERPLEXITY),
    "a share of perplexity": Kind(texts, unlikely, PERPLEXITY, "50%"),
    "scores in groups": Kind(in_groups(scores(3, 9), 4), lower_score(1), {"metric": "mean", "group": "group"}),
    "accuracy in groups": Kind(in_groups(labels, 4), wrong_label, {"metric": "accuracy", "group": "group"}),
    "macro_f1 in groups": Kind(in_groups(labels, 4), wrong_label, {"metric": "macro_f1", "group": "group"}),
    "wer in groups": Kind(in_groups(speech, 4), misheard, {**WER, "group": "group"}),
}


def path(kind: Kind, rng: np.random.Generator, n: int, *, little: bool) -> list[Rows]:
    """A run, and then one after the other with one more item worse, or the same ones again; a little or up to all they can lose."""
    rows = kind.rows(rng, n)
    out = [rows]
    for place in rng.integers(0, min(n, 3 * STEPS), STEPS):
        rows = [kind.worse(row, float(rng.uniform(0.001, 0.02 if little else 1))) if i == place else row for i, row in enumerate(rows)]
        out.append(rows)
    return out


def bound(found: sy.Verdict, relative: bool) -> float:
    """What has to lie above -theta, up is good."""
    if not relative:
        assert found.difference.lower is not None
        return found.difference.lower
    assert found.ratio is not None
    end = found.ratio.lower if found.higher_is_better else found.ratio.upper
    return -np.inf if end is None else -abs(end - 1) if (end < 1) == found.higher_is_better else abs(end - 1)


@pytest.mark.parametrize(("n", "little"), [(32, True), (200, False), *seldom((32, False), (200, True))])
@pytest.mark.parametrize("name", KINDS)
def test_a_run_that_gets_worse_never_turns_from_inconclusive_to_pass(name: str, n: int, little: bool) -> None:
    kind = KINDS[name]
    runs = path(kind, np.random.default_rng(n + little), n, little=little)
    recorded = {key: value for key, value in kind.options.items() if key != "range"}
    sy.record(runs[0], task="t", model="m", deterministic=True, **recorded)
    relative, before = isinstance(kind.theta, str), np.inf
    for run in runs:
        found = sy.check(run, task="t", model="m", theta=kind.theta, draws=1000, **kind.options)
        if found.verdict == "regression":
            return
        now = bound(found, relative)
        assert now <= before + 1e-12, (name, n, [before, now])
        before = now


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if not isinstance(kind.theta, str)])
def test_two_systems_the_same(name: str) -> None:
    """`compare` has the same ends: as one system gets worse, the lower end of what is good never rises while p is above its level."""
    kind = KINDS[name]
    runs = path(kind, np.random.default_rng(5), 80, little=True)
    options = kind.options | ({"metric": "ratio"} if kind.options["metric"] in ("wer", "acceptance_rate") else {})
    higher_is_better, before = "taken" in runs[0][0] or kind.options["metric"] in HIGHER, np.inf
    for run in runs:
        found = sy.compare(runs[0], run, draws=1000, **options)
        assert found.test.p_value is not None
        if found.test.p_value <= 0.05:
            return
        ends = found.difference.interval
        assert ends is not None
        now = ends.low if higher_is_better else -ends.high
        assert now <= before + 1e-12, (name, [before, now])
        before = now


def test_an_unchanged_run_is_no_worse_off_than_one_with_a_changed_item() -> None:
    """The fault that was: nothing changed, inconclusive; one utterance worse, pass."""
    rng = np.random.default_rng(1)
    rows = speech(rng, 200)
    sy.record(rows, task="t", model="m", deterministic=True, **WER)
    worse = [{**row, "errors": row["errors"] + 3} if i == 0 else row for i, row in enumerate(rows)]
    for theta in (0.005, 0.01, 0.02, 0.04):
        verdicts = [sy.check(run, task="t", model="m", theta=theta).verdict for run in (rows, worse)]
        assert verdicts != ["inconclusive", "pass"], theta
    assert sy.check(rows, task="t", model="m", theta=0.02).verdict == "pass"


TAKE_MARGINS = [name for name in KINDS if "share" not in name and not name.startswith(("macro", "kappa", "rmse", "r2", "perplexity"))]


@pytest.mark.parametrize("name", TAKE_MARGINS)
def test_a_regression_beyond_a_margin_stays_one_as_items_get_worse(name: str) -> None:
    """All items have lost a little more than the margin; then one after the other fails altogether, which widens the spread by far more."""
    kind, rng = KINDS[name], np.random.default_rng(11)
    before = kind.rows(rng, 60)
    now = [kind.worse(row, 0.25 if i % 4 else 0.2) for i, row in enumerate(before)]
    recorded = {key: value for key, value in kind.options.items() if key != "range"}
    sy.record(before, task="t", model="m", deterministic=True, **recorded)
    upper = sy.check(now, task="t", model="m", draws=1000, **kind.options).difference.upper
    assert upper is not None
    assert upper < 0
    margin = -0.95 * upper
    for place in range(-1, 12):
        now = [kind.worse(row, 1.0) if i == 4 * place else row for i, row in enumerate(now)]
        found = sy.check(now, task="t", model="m", margin=margin, draws=1000, **kind.options)
        assert found.verdict == "regression", (place, found.p_value, found.difference.estimate)


@pytest.mark.parametrize("grouped", [False, True])
def test_one_item_that_fails_altogether_does_not_hide_a_fall_of_all_the_others(grouped: bool) -> None:
    before = [{"id": f"q{i}", "score": 0.9, **({"group": f"g{i // 2}"} if grouped else {})} for i in range(40)]
    now = [{**row, "score": 0.84 - 0.002 * (i % 5)} for i, row in enumerate(before)]
    sy.record(before, task="t", model="m", metric="mean", deterministic=True)
    for run in (now, [{**now[0], "score": 0.0}, *now[1:]]):
        found = sy.check(run, task="t", model="m", margin=0.05)
        assert (found.verdict, found.test) == ("regression", "sign-flip")
        assert found.p_value < 1e-4


def test_a_margin_is_held_against_by_all_signs_of_what_is_lost_beyond_it() -> None:
    rng = np.random.default_rng(3)
    before, lost = rng.uniform(0.5, 1, 10).round(3), rng.uniform(-0.1, 0.4, 10).round(3)
    rows = [[{"id": str(i), "score": float(x)} for i, x in enumerate(scores)] for scores in (before, before - lost)]
    sy.record(rows[0], task="t", model="m", metric="mean", deterministic=True)
    found = sy.check(rows[1], task="t", model="m", margin=0.05)
    sums = np.array(list(product((-1, 1), repeat=10))) @ (0.05 - lost)
    assert found.p_value == pytest.approx((sums <= (0.05 - lost).sum() + 1e-9).mean(), abs=1e-12)
