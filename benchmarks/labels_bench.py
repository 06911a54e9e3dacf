"""Many labels: growth with the number of labels at fixed N, and with N where every item may have its own label, beside scikit-learn.

Ours is the public call with its default draws. The peer is scikit-learn with a loop over items, scaled to the draws that ours made;
where ours draws nothing for the answer, the peer's estimate alone, which is less work than ours. Every answer is checked first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import binom, binomtest
from sklearn.metrics import accuracy_score, classification_report, f1_score, matthews_corrcoef

import steelyard as sy
from benchmarks.checks import same, same_share
from benchmarks.timing import Duel, Row, Unmeasured, Wrong, at_least, below, cpu, power, power_of_labels, scratch, seconds, unjudged

ITEMS, LABELS = 20_000, (10, 100, 1_000, 10_000)
SIZES = (1_000, 10_000, 100_000)
CHECKED = 200  # exchanges by hand, to check p
SLOW = 1.0  # seconds: what takes longer is timed once
KEYS = (
    "labels.time",
    "labels.growth",
    "labels.rows",
    "labels.sklearn",
    "labels.stand-in-time",
    "labels.stand-in-growth",
    "labels.few-rows",
)
Ints = npt.NDArray[np.integer[Any]]
Three = tuple[Ints, Ints, Ints]


def rows(*, quick: bool) -> Iterator[Row | Unmeasured]:
    for row in chain(fixed_items(quick=quick), own_labels(quick=quick), stand_in(quick=quick), few_rows(quick=quick)):
        yield unjudged(row) if quick else row
    if quick:
        yield Unmeasured(KEYS, "--quick stops at 1,000 labels in 20,000 items, and at 1,000 items with a label each")
    else:
        yield checked(SIZES[-1])


def data(n: int, k: int) -> Three:
    """All k labels, equally often; two systems that share three quarters of their answers, four of five right, errors on the next three."""
    rng = np.random.default_rng(0)
    truth = rng.permutation(np.arange(n) % k)
    a, own = (np.where(rng.random(n) < right, truth, (truth + rng.integers(1, 4, n)) % k) for right in (0.8, 0.81))
    return truth, a, np.where(rng.random(n) < 0.75, a, own)


# ---- growth ----------------------------------------------------------------------------------------------------------


def fixed_items(*, quick: bool) -> Iterator[Row]:
    taken = Taken()
    for k in LABELS[:3] if quick else LABELS:
        yield from taken.kept(k, asked(f"N={ITEMS:,}, {k:,} labels", data(ITEMS, k)))
    yield from taken.growth("labels.growth", f"N={ITEMS:,}, growth with the labels K", power_of_labels)


def own_labels(*, quick: bool) -> Iterator[Row]:
    taken = Taken()
    for n in SIZES[:1] if quick else SIZES:
        made = asked(f"N={n:,}, {n:,} labels", data(n, n))
        for name, row, fight in taken.noted(n, made):
            yield row
            yield below("labels.time", f"N={n:,}, {n:,} labels, {name}: CPU time", median(fight.ours), seconds)
    yield from taken.growth("labels.rows", "as many labels as items, growth with N", power)


def stand_in(*, quick: bool) -> Iterator[Row]:
    """Without a mistake no bootstrap has an answer, and a posterior stands in for it."""
    spent: dict[int, float] = {}
    for k in (50, 500)[: 1 if quick else 2]:
        truth = np.arange(2_000) % k

        def ours(truth: Ints = truth) -> Any:
            return sy.measure(truth, truth, metric="mcc")

        row = ours().row
        same(f"MCC of {k} labels without a mistake", (row.estimate,), (matthews_corrcoef(truth, truth),))
        if row.interval is None or row.interval.method != "bayes" or not row.interval.low < row.interval.high == 1.0:
            raise Wrong(f"MCC of {k} labels without a mistake: {row.interval}")
        spent[k] = min(cpu(ours) for _ in range(3))
        key = "labels.stand-in-time" if k == 500 else None
        yield below(key, f"N=2,000, {k} labels without a mistake, MCC: CPU time", spent[k], seconds)
    if not quick:
        shown = ", ".join(f"{k}: {seconds(t)}" for k, t in spent.items())
        steps = np.log(spent[500] / spent[50]) / np.log(10)
        yield below("labels.stand-in-growth", "the same: growth with the labels K", float(steps), power_of_labels, shown)


def few_rows(*, quick: bool) -> Iterator[Row]:
    """Hardly more items than labels: most classes have one to four items."""
    for k in (500,) if quick else (500, 2_000):
        truth, a, b = data(2_000, k)
        for name, call in (
            ("measure", lambda truth=truth, a=a: sy.measure(truth, a, metric="macro_f1")),
            ("compare", lambda truth=truth, a=a, b=b: sy.compare(truth, a, b, metric="macro_f1")),
        ):
            found = call()
            value = found.row.estimate if name == "measure" else found.baseline.estimate
            same(f"macro-F1 of {k} labels", (value,), (f1_score(truth, a, average="macro"),))
            yield below("labels.few-rows", f"N=2,000, {k:,} labels, {name}: CPU time", min(cpu(call) for _ in range(2)), seconds)


Made = tuple[str, Row, Duel]  # the call, its row, its times


class Taken:
    """CPU seconds of each call by size, ours and the peer's."""

    def __init__(self) -> None:
        self.spent: dict[str, dict[int, float]] = {}

    def noted(self, size: int, made: Iterator[Made]) -> Iterator[Made]:
        for name, row, fight in made:
            for who, times in ((f"{name}, ours", fight.ours), (f"{name}, scikit-learn", fight.peer)):
                self.spent.setdefault(who, {})[size] = median(times)
            yield name, row, fight

    def kept(self, size: int, made: Iterator[Made]) -> Iterator[Row]:
        for _, row, _ in self.noted(size, made):
            yield row

    def growth(self, key: str, title: str, show: Callable[[float], str]) -> Iterator[Row]:
        """The steepest step from one size to the next, as a power: a slope over all sizes would be flattened by the constant part."""
        for who, spent in self.spent.items():
            if len(spent) < 2:
                continue
            steps = np.diff(np.log(list(spent.values()))) / np.diff(np.log(list(spent)))
            shown = ", ".join(f"{size:,}: {seconds(t)}" for size, t in spent.items())
            yield below(key if who.endswith("ours") else None, f"{title}: {who}", float(steps.max()), show, shown)


def asked(title: str, three: Three) -> Iterator[Made]:
    for name, question in (
        ("sy.measure", measured),
        ("sy.compare", compared),
        ("sy.compare, macro_f1", compared_macro),
    ):
        yield (name, *question(f"{title}, {name}", three))


def fight_of(ours: Callable[[], Any], peer: Callable[[], Any], scale: float, plus: Callable[[], Any] | None = None) -> Duel:
    """Turn and turn about; the answer was checked, so ours is warm. plus: what the peer does once, not in every draw."""

    def both() -> tuple[float, float]:
        return cpu(ours), scale * cpu(peer) + (cpu(plus) if plus else 0.0)

    pairs = [both()]
    if pairs[0][0] < SLOW:
        pairs += [both() for _ in range(4)]
    return Duel(tuple(o for o, _ in pairs), tuple(p for _, p in pairs))


def told(key: str | None, title: str, peer: str, fight: Duel, note: str) -> tuple[Row, Duel]:
    rounds = "one round; " if len(fight.ours) == 1 else ""
    return at_least(key, f"{title}: {peer}", fight, f"{rounds}{note}"), fight


def macro(truth: Ints, prediction: Ints) -> float:
    return float(f1_score(truth, prediction, average="macro", zero_division=0))


# ---- measure ---------------------------------------------------------------------------------------------------------


def measured(title: str, three: Three) -> tuple[Row, Duel]:
    """By default: accuracy; with classes also macro-F1, and precision, recall and F1 of every label."""
    truth, a, _ = three
    n = len(truth)

    def ours() -> Any:
        return sy.measure(truth, a)

    def report() -> Any:
        return classification_report(truth, a, output_dict=True, zero_division=np.nan)

    found = {row.name: row for row in ours().rows}
    same(f"{title}, accuracy", (found["accuracy"].estimate,), (accuracy_score(truth, a),))
    wilson = binomtest(int((truth == a).sum()), n).proportion_ci(method="wilson")
    interval = found["accuracy"].interval
    same(f"{title}, Wilson's interval", (interval.low, interval.high), (wilson.low, wilson.high), 1e-9)
    if len(found) == 1:  # labels of one item each are no classes
        note = f"accuracy with its interval, {n:,} labels being mostly singletons; the peer gives the estimate alone"
        return told(None, title, "accuracy_score", fight_of(ours, lambda: accuracy_score(truth, a), 1.0), note)
    same_report(title, found, report())
    same(f"{title}, macro-F1", (next(row.estimate for row in found.values() if row.metric == "macro_f1"),), (macro(truth, a),))
    if found["macro_f1"].interval is None:
        note = (
            "no interval of macro-F1 can be given, so nothing is drawn; intervals of every label's numbers, the peer gives estimates alone"
        )
        return told(None, title, "classification_report", fight_of(ours, report, 1.0), note)
    draws, few, rng = 10_000, 20, np.random.default_rng(1)

    def loop() -> None:
        for _ in range(few):
            rows = rng.integers(0, n, n)
            macro(truth[rows], a[rows])

    note = f"intervals of every number; the peer drew {few} resamples a round for macro-F1 alone, scaled linearly to our {draws:,}"
    return told("labels.sklearn", title, "classification_report and a loop over f1_score", fight_of(ours, loop, draws / few, report), note)


def same_report(title: str, found: dict[str, Any], report: dict[str, Any]) -> None:
    """Every number of every label. Without a prediction, precision is undefined on both sides."""
    for label in (name for name in report if name.isdigit()):
        for ours, theirs in (("precision", "precision"), ("recall", "recall"), ("f1", "f1-score")):
            mine, other = found[f"{ours}[{label}]"].estimate, report[label][theirs]
            if mine is None or np.isnan(other):
                if not (mine is None and np.isnan(other)):
                    raise Wrong(f"{title}, {ours} of {label}: {mine!r}, the peer {other!r}")
                continue
            same(f"{title}, {ours} of {label}", (mine,), (other,))


# ---- compare ---------------------------------------------------------------------------------------------------------


def swaps(three: Three, value: Callable[[Ints, Ints], float], draws: int, seed: int) -> list[float]:
    """Differences of two systems whose answers change places at random."""
    truth, a, b = three
    rng, drawn = np.random.default_rng(seed), []
    for _ in range(draws):
        swap = rng.random(len(truth)) < 0.5
        drawn.append(value(truth, np.where(swap, a, b)) - value(truth, np.where(swap, b, a)))
    return drawn


def compared(title: str, three: Three) -> tuple[Row, Duel]:
    """By default accuracy, with McNemar's mid-p."""
    truth, a, b = three

    def ours() -> Any:
        return sy.compare(truth, a, b)

    found = ours()
    same(f"{title}, difference", (found.difference.estimate,), (accuracy_score(truth, b) - accuracy_score(truth, a),))
    gained, lost = int(((a != truth) & (b == truth)).sum()), int(((a == truth) & (b != truth)).sum())
    law, fewer = binom(gained + lost, 0.5), min(gained, lost)
    same(f"{title}, p", (found.p_value,), (min(1.0, 2 * law.cdf(fewer) - law.pmf(fewer)),), 1e-9)
    draws, few = 10_000, 20
    note = f"exact p; the peer drew {few} times a round, scaled linearly to {draws:,}"
    fight = fight_of(ours, lambda: swaps(three, accuracy_score, few, 2), draws / few)
    return told("labels.sklearn", title, "randomization by a loop over accuracy_score", fight, note)


def compared_macro(title: str, three: Three) -> tuple[Row, Duel]:
    """Macro-F1, with the randomization test; fewer draws where all would take minutes."""
    truth, a, b = three
    classes = len(np.unique(np.concatenate(three)))

    def ours() -> Any:
        return sy.compare(truth, a, b, metric="macro_f1")

    def by_hand(truth: Ints, prediction: Ints) -> float:
        hit, there, said = (np.bincount(x, minlength=classes) for x in (truth[truth == prediction], truth, prediction))
        return float(np.mean(2 * hit / (there + said)))

    start = process_time()
    found = ours()
    first = process_time() - start
    gap = macro(truth, b) - macro(truth, a)
    same(f"{title}, difference", (found.difference.estimate,), (gap,))
    draws = found.test.details["draws"]
    drawn = np.abs(swaps(three, by_hand, CHECKED, 3))
    same_share(f"{title}, p", found.p_value, float(np.mean(drawn >= abs(gap))), CHECKED, draws)
    few = 2 if len(truth) > ITEMS else 10
    method = found.difference.interval.method
    sides = "of the two systems by bootstrap" if found.baseline.interval else "of the two systems cannot be given"
    note = (
        f"{draws:,} draws for p, the interval of the difference by {method}, those {sides}; "
        f"the peer drew {few} times a round for p alone, scaled linearly to {draws:,}"
    )

    def loop() -> Any:
        return swaps(three, macro, few, 2)

    fight = Duel((first,), (draws / few * cpu(loop),)) if first > SLOW else fight_of(ours, loop, draws / few)
    return told("labels.sklearn", title, "randomization by a loop over f1_score", fight, note)


# ---- check -----------------------------------------------------------------------------------------------------------


def checked(n: int) -> Row:
    """The whole call with ids, texts, and the reference file; the peer has no such question."""
    truth, a, b = data(n, n)
    text = np.array([f"answer {i}" for i in range(n)])
    ids = np.arange(n).astype(str)
    runs = [{"id": ids, "truth": text[truth], "prediction": text[side]} for side in (a, b)]
    with scratch() as folder:
        place = Path(folder, "references")
        sy.record(runs[0], task="texts", model="model", directory=place)

        def ours() -> Any:
            return sy.check(runs[1], task="texts", model="model", directory=place)

        found = ours()
        same("sy.check, difference", (found.difference["estimate"],), (accuracy_score(truth, b) - accuracy_score(truth, a),))
        return below("labels.time", f"N={n:,}, {n:,} labels as texts, sy.check: CPU time", cpu(ours, 3), seconds)
