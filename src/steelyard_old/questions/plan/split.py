"""Of N labels, how many to train on and how many to test on? The curve says what training buys, the interval what testing costs."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np

from steelyard_old.errors import DataError, UsageError
from steelyard_old.estimate.curve_fit import CurveFitting
from steelyard_old.estimate.curve_points import points_of
from steelyard_old.infer.learning.learning_curve import CurveFit
from steelyard_old.infer.planning.split import Expected, best_whole, edge, expected_wilson
from steelyard_old.infer.resampling.bootstrap import check_draws
from steelyard_old.late_dataclass import dataclass
from steelyard_old.metrics.catalogue import parse
from steelyard_old.options.measure import settle
from steelyard_old.options.option import documented, number, whole
from steelyard_old.options.plan_split import OPTIONS
from steelyard_old.results import signature
from steelyard_old.results.base import Warnings
from steelyard_old.results.details import PlanDetails
from steelyard_old.results.learning_curve import LearningCurve
from steelyard_old.results.plan import Curve, Plan, SplitRow, WhatIf

LEAST_TEST = 10  # items, below which a test says nothing
FAR, FARTHEST = 4, 1000  # times the largest size: a guess, and fiction
PLACES = 61
SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)  # of the items, to train on: what people take without asking


@documented(
    OPTIONS,
    "a Plan",
    curve="Points of (training size, score): a file, a frame, rows, columns, or a LearningCurve.",
)
def plan_split(
    curve: Any,
    *,
    total: int,
    width: float | None = None,
    within: float = 0.002,
    size: str | None = None,
    score: str | None = None,
    train_score: str | None = None,
    seed_column: str | None = None,
    n_test: int | str | None = None,
    higher_is_better: bool | None = None,
    confidence_level: float = 0.95,
    draws: int = 2000,
    seed: int | None = 0,
) -> Plan:
    """Of `total` labelled items, how many to train on and how many to test on.

    More training items make a better model, by the curve error = a + b n^-c through the points; more test items make a shorter
    interval. The answer is the split whose expected lower end of the interval is highest (for errors, whose upper end is
    lowest), or with `width` the smallest test set that gives this width. The score is a share of items that are right or wrong.
    `details` has train, test, score, lower, upper, and the splits that are nearly as good.

    >>> p = plan_split({"size": [100, 400, 900, 1600, 2500], "accuracy": [0.85, 0.9, 0.9167, 0.925, 0.93]}, total=5000)
    >>> p.details.train, p.details.test, round(p.details.lower, 4)
    (3019, 1981, 0.9199)
    """
    settings = settle(confidence_level=confidence_level, draws=draws, seed=seed)
    check_draws(settings.draws, settings.confidence_level, "two")
    if isinstance(curve, LearningCurve) and not parse(curve.metric).scored:
        raise UsageError(
            f"A split can be planned for a curve of accuracy or error, not of {curve.metric}: the interval of "
            "any other metric does not follow from the number of test items.",
            got="a metric whose interval does not follow from the number of test items",
            need="a curve of accuracy or error",
            hint="learning_curve(..., metric='accuracy')",
        )
    points, up = points_of(
        curve, size=size, score=score, train_score=train_score, seed_column=seed_column, n_test=n_test, higher_is_better=higher_is_better
    )
    if not ((points.scores >= 0) & (points.scores <= 1)).all():
        odd = points.scores[(points.scores < 0) | (points.scores > 1)][0]
        raise DataError(
            f"A split can be planned for shares of right (or wrong) answers between 0 and 1, not for a score of {odd:g}.",
            got=f"{odd:g}",
            need="shares of right (or wrong) answers, between 0 and 1",
            hint="the interval of a loss does not follow from the number of test items",
        )
    total = whole("total", total, least=2)
    wanted = None if width is None else number("width", width, above=0, below=1, hint="0.02 is an interval from 0.91 to 0.93")
    loss = number("within", within, above=0, below=1, hint="0.002 is the default")
    fitting = CurveFitting(points=points, up=up, settings=settings)
    fit = fitting.fit(points)
    fitting.refuse_flat(fit)
    return SplitQuestion(fitting, fit, total, wanted, loss, Warnings()).answer()


@dataclass(frozen=True, slots=True)
class Chosen:
    """One way to split: how many train and test, the score of the model, and what the test is expected to say of it."""

    train: int
    test: int
    score: float
    expected: Expected


@dataclass(frozen=True, slots=True, eq=False)
class SplitQuestion:
    """The curve and what was asked of it. Inside, scores are shares of right answers: an error is turned."""

    curve: CurveFitting
    fit: CurveFit
    total: int
    width: float | None
    loss: float
    warnings: Warnings

    # ---- one split -----------------------------------------------------------------------------------------------------

    @property
    def smallest(self) -> int:
        return int(self.curve.points.sizes.min())

    @property
    def largest(self) -> int:
        return int(self.curve.points.sizes.max())

    @property
    def level(self) -> float:
        return self.curve.settings.confidence_level

    def right(self, train: int, fit: CurveFit | None = None) -> float:
        """The share of right answers after training on so many."""
        return min(max(1 - float((fit or self.fit).law.error(train)[0]), 0.0), 1.0)

    def split(self, test: int, total: int, fit: CurveFit | None = None, shift: float = 0.0) -> Chosen:
        p = min(max(self.right(total - test, fit) + shift, 0.0), 1.0)
        return Chosen(total - test, test, p, expected_wilson(p, test, self.level))

    def best(self, total: int, fit: CurveFit | None = None, shift: float = 0.0) -> Chosen | None:
        """The split that was asked for; None where the total leaves no room for it."""
        most = total - self.smallest
        if most < LEAST_TEST:
            return None
        if self.width is None:
            test = best_whole(lambda m: self.split(m, total, fit, shift).expected.low, LEAST_TEST, most)
            return self.split(test, total, fit, shift)
        wide, narrowest = self.width, self.narrowest(total, fit, shift)
        if self.split(narrowest, total, fit, shift).expected.width > wide:
            return None
        test = edge(lambda m: self.split(m, total, fit, shift).expected.width <= wide, narrowest, LEAST_TEST)
        return self.split(test, total, fit, shift)

    def narrowest(self, total: int, fit: CurveFit | None = None, shift: float = 0.0) -> int:
        """The test set with the shortest interval: not always the largest, since a worse model is harder to pin down."""
        return best_whole(lambda m: -self.split(m, total, fit, shift).expected.width, LEAST_TEST, total - self.smallest)

    # ---- the answer ----------------------------------------------------------------------------------------------------

    def answer(self) -> Plan:
        if self.total < self.smallest + LEAST_TEST:
            raise UsageError(
                f"{self.total:,} items are too few to split: the curve starts at {self.smallest:,} training "
                f"items, and {LEAST_TEST} are needed to test on, {self.smallest + LEAST_TEST:,} in all.",
                got=f"a total of {self.total:,}",
                need=f"at least {self.smallest + LEAST_TEST:,}: the smallest training size of the curve, {self.smallest:,}, and "
                f"{LEAST_TEST} to test on",
                hint="measure the curve at smaller sizes, or label more",
            )
        if self.total > FARTHEST * self.largest:
            raise UsageError(
                f"A total of {self.total:,} is more than {FARTHEST} times the largest size of the curve ({self.largest:,}).",
                got=f"a total of {self.total:,} and a curve up to {self.largest:,}",
                need=f"at most {FARTHEST} times the largest size",
                hint="measure the curve at larger sizes",
            )
        found = self.best(self.total)
        if found is None:
            most = self.narrowest(self.total)
            raise UsageError(
                f"No split of {self.total:,} items reaches a width of {self.width:g}: the best, with {most:,} "
                f"test items, has an expected width of {self.split(most, self.total).expected.width:.4g}.",
                got=f"an expected width of {self.split(most, self.total).expected.width:.4g} at best, with {most:,} test items",
                need="a larger width or a larger total",
                hint="plan estimate with a width says how many test items it takes",
            )
        low, high = self.nearly(found)
        self.warn(found)
        return Plan(
            goal="split",
            n=found.train,
            conclusion=self.conclusion(found, low, high),
            assumed=self.assumed(),
            rows=self.totals(),
            steps=self.usual(found),
            sensitivity=self.sensitivity(),
            curve=self.drawn(found),
            details=PlanDetails.of(self.details(found, low, high)),
            warnings=tuple(self.warnings),
            signature=signature.write(
                {
                    "goal": "split",
                    "metric": self.curve.points.metric,
                    "n": len(self.curve.points.sizes),
                    "total": self.total,
                    "design": self.curve.design,
                    "method": "power-law" if self.curve.up else "power-law-of-losses",
                    "interval": "wilson",
                    "width": self.width,
                    "within": self.loss,
                    "level": self.level,
                    "draws": self.curve.settings.draws,
                    "seed": self.curve.settings.seed,
                }
            ),
        )

    def nearly(self, found: Chosen) -> tuple[int, int]:
        """The smallest and the largest test set whose lower bound is within the loss; of a wanted width, not wider either."""
        floor = found.expected.low - self.loss

        def good(test: int) -> bool:
            at = self.split(test, self.total).expected
            return at.low >= floor and (self.width is None or at.width <= self.width)

        most = self.total - self.smallest
        return found.test if self.width is not None else edge(good, found.test, LEAST_TEST), edge(good, found.test, most)

    # ---- in words ------------------------------------------------------------------------------------------------------

    def shown(self, p: float) -> float:
        """A share of right answers as the score that was given."""
        return float(self.curve.turn(1 - p))

    def bound(self, expected: Expected) -> float:
        """The end that matters: the lower one of a score, the upper one of an error."""
        return self.shown(expected.low)

    @property
    def word(self) -> str:
        return "lower bound" if self.curve.up else "upper bound"

    def conclusion(self, found: Chosen, low: int, high: int) -> str:
        metric, percent = self.curve.points.metric, f"{100 * self.level:g}%"
        said = f"Train on {found.train:,} and test on {found.test:,} of {self.total:,} items: "
        said += f"the model is expected to reach {metric} {self.shown(found.score):.4f}, "
        if self.width is None:
            said += f"with a {percent} {self.word} of {self.bound(found.expected):.4f}."
        else:
            said += f"with a {percent} interval that is {found.expected.width:.4f} wide."
        if low == high:
            return f"{said} Every other split costs more than {self.loss:g} of the {self.word}."
        return f"{said} From {low:,} to {high:,} test items are nearly as good ({self.word} within {self.loss:g})."

    def assumed(self) -> str:
        what = f"{'1 - ' if self.curve.up else ''}{self.curve.points.metric} = a + b n^-c"
        return (
            f"{what}, fitted to {self.smallest:,} to {self.largest:,} training items; training and test items alike and independent, "
            f"each answer right or wrong; the {100 * self.level:g}% Wilson interval, its ends averaged over all test sets of that size. "
            f"Splits that train on fewer than {self.smallest:,} or test on fewer than {LEAST_TEST} items are not considered."
        )

    def how(self, found: Chosen) -> str:
        train, test = _shares(found.train, found.test)
        command = f"steelyard split DATA --train {train} --test {test} --seed {self.curve.settings.seed}"
        return f"Split before anything is trained, and test once: {command} (shares are reached roughly)."

    def warn(self, found: Chosen) -> None:
        warn = self.warnings.add
        if found.train > FAR * self.largest:
            warn(
                f"{found.train:,} training items are {found.train / self.largest:.3g} times the largest size of the curve: beyond {FAR} "
                "times, a curve fitted to small sizes is a guess; measure one more size first"
            )
        if found.train == self.smallest:
            warn(f"the best split trains on no more than the smallest size that was tried ({self.smallest:,}); the best may be lower still")
        if self.fit.flat > 0.05:
            warn(f"the scores hardly improve with the size: {100 * self.fit.flat:.0f}% of the redrawn curves are flat")
        if self.fit.redrawn is None:
            warn("the points lie exactly on a curve, or all seeds agree, so how sure the curve is cannot be said")

    # ---- around the answer ---------------------------------------------------------------------------------------------

    def totals(self) -> tuple[SplitRow, ...]:
        """The same question for half, twice and four times as many items."""
        rows = []
        for total in (self.total // 2, self.total, 2 * self.total, 4 * self.total):
            at = self.best(total) if total <= FARTHEST * self.largest else None
            if at is not None:
                rows.append(SplitRow.of({"total": total, **self.row(at)}))
        return tuple(rows)

    def row(self, at: Chosen) -> dict[str, Any]:
        return {
            "train": at.train,
            "test": at.test,
            "score": self.shown(at.score),
            self.word.replace(" ", "_"): self.bound(at.expected),
            "width": at.expected.width,
        }

    def usual(self, found: Chosen) -> tuple[SplitRow, ...]:
        """The splits that people take by custom, and what each loses."""
        rows = []
        for share in SHARES:
            test = self.total - round(share * self.total)
            if LEAST_TEST <= test <= self.total - self.smallest:
                at = self.split(test, self.total)
                lost = round(found.expected.low - at.expected.low, 4)
                rows.append(SplitRow.of({"split": f"{share:.0%} to train", **self.row(at), "worse_by": lost + 0.0}))
        return tuple(rows)

    def sensitivity(self) -> tuple[WhatIf, ...]:
        """Another level of the curve, and the curve without its largest size."""
        cases: list[tuple[str, CurveFit, float]] = []
        for shift in (-0.02, 0.02):
            if 0 < self.right(self.largest) + shift < 1:
                told = f"the score is {abs(shift):g} {'lower' if (shift < 0) == self.curve.up else 'higher'}"
                cases.append((told, self.fit, shift))
        rest = self.curve.fit(self.curve.points.without_largest())
        if rest.falls:
            cases.append((f"the largest size ({self.largest:,}) is left out", rest, 0.0))
        rows = []
        for told, fit, shift in cases:
            at = self.best(self.total, fit, shift)
            rows.append(WhatIf.of({"if": told, **({"train": None, "test": None} if at is None else self.row(at))}))
        return tuple(rows)

    def drawn(self, found: Chosen) -> Curve:
        """The bound by the number of test items, and the score of the model beside it."""
        most = self.total - self.smallest
        tests = np.unique(np.round(np.geomspace(LEAST_TEST, most, PLACES)).astype(int)).tolist()
        splits = [self.split(test, self.total) for test in tests]
        return Curve(
            x_label="test items",
            y_label=f"{self.word} of {self.curve.points.metric}",
            x=tuple(float(at.test) for at in splits),
            y=tuple(self.bound(at.expected) for at in splits),
            beside=tuple((float(at.test), self.shown(at.score)) for at in splits),
            beside_label=f"{self.curve.points.metric} of the model",
            mark=(float(found.test), self.bound(found.expected)),
        )

    def details(self, found: Chosen, low: int, high: int) -> dict[str, Any]:
        at = self.curve.level_of(self.fit.error(found.train, self.level))
        ends = sorted((self.shown(found.expected.low), self.shown(found.expected.high)))
        return {
            "total": self.total,
            "train": found.train,
            "test": found.test,
            "metric": self.curve.points.metric,
            "higher_is_better": self.curve.up,
            "score": self.shown(found.score),
            "score_interval": {"low": at["low"], "high": at["high"], "confidence_level": self.level},
            "lower": ends[0],
            "upper": ends[1],
            "width": found.expected.width,
            "confidence_level": self.level,
            "interval": "wilson",
            "nearly_as_good": {"within": self.loss, "test_low": low, "test_high": high},
            "fit": {
                "a": float(self.fit.law.a[0]),
                "b": float(self.fit.law.scale[0]),
                "c": float(self.fit.law.c[0]),
                "of": "1 - score" if self.curve.up else "score",
            },
            "sizes": [int(n) for n in np.unique(self.curve.points.sizes)],
            "beyond": found.train / self.largest if math.isfinite(found.train) else None,
            "seed": self.curve.settings.seed,
            "how": self.how(found),
            "measured": self.curve.points.measured,
        }


def _shares(train: int, test: int) -> tuple[str, str]:
    """Both shares as decimals that add up to 1: four digits, or as many as tell the smaller one to a hundredth of itself.

    >>> _shares(800, 200), _shares(1_999_972, 28)
    (('0.8', '0.2'), ('0.999986', '0.000014'))
    """
    exact = Decimal(test) / (train + test)
    digits = max(4, 2 - min(exact, 1 - exact).adjusted())
    rounded = round(exact, digits)
    return f"{(1 - rounded).normalize():f}", f"{rounded.normalize():f}"
