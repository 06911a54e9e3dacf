"""What is said about two learners: one sentence that does not claim too much, and what to bear in mind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.estimate.measure_options import MeasureOptions
from steelyard.evaluate.learners.folds import LearnerAnswer, Outcome
from steelyard.infer.learning.crossval import SplitTest
from steelyard.metrics.base import Metric
from steelyard.questions.learners.design import Scheme

FEWEST = 30  # test items of a split, below which its score is far from normal
# How often equal learners give p <= .05, those of TRIED: `steelyard certify --full --only learners`.
TRIED = "ridge regression and nearest neighbours on 60 to 300 items"
FALSE_ALARMS = {
    "corrected-repeated-kfold": "4 to 11%",
    "corrected-resampled": "5 to 11%",
    "5x2cv-t": "6 to 13%",
    "5x2cv-f": "5 to 15%",
    "kfold": "6 to 16%",
    "repeated naive": "56 to 66%",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The sentences about one comparison."""

    metric: Metric
    scheme: Scheme
    names: tuple[str, str]
    settings: MeasureOptions

    def warn(
        self, found: SplitTest, outcomes: Sequence[Outcome], *, sizes: Sequence[int], undefined: int, failures: Sequence[Mapping[str, Any]]
    ) -> None:
        """What was lost, what is approximate and by how much, what is too small."""
        say = self.settings.warn
        if failures:
            lost = len({(f["repeat"], f["fold"]) for f in failures})
            say(
                f"{lost} of {len(outcomes)} splits failed, the first in {failed_where(failures[0])} ({failures[0]['error']}); "
                f"the answer rests on {len(sizes)}"
            )
        if undefined:
            say(f"{self.metric.name} was undefined in {undefined} split(s), which were left out; the answer rests on {len(sizes)}")
        if found.note:
            say(found.note)
        say(self.caveat())
        if min(sizes) < FEWEST:
            small = sum(size < FEWEST for size in sizes)
            say(
                f"{small} of {len(sizes)} test sets have fewer than {FEWEST} items (the smallest {min(sizes)}): "
                "use fewer folds or more data"
            )
        self._pass_on(outcomes)

    def caveat(self) -> str:
        """What the test is worth, with the figure that was measured."""
        method, repeats = self.scheme.method, self.scheme.repeats or 1
        if method == "disjoint-sets":
            return "this compares the two fitted models, not the learners: another training set could turn the answer round"
        if method == "kfold" and repeats > 1:
            return (
                f"the naive t over repeated folds takes {repeats} looks at the same items for new data: it found a difference between "
                f"equal learners in {FALSE_ALARMS['repeated naive']} of cases instead of 5% ({TRIED}); "
                "corrected-repeated-kfold is the remedy"
            )
        if method == "kfold":
            return (
                "the training sets of the folds overlap, which the naive k-fold t ignores: it found a difference between equal learners in "
                f"{FALSE_ALARMS[method]} of cases instead of 5% ({TRIED}); corrected-repeated-kfold is the remedy"
            )
        return (
            "approximate, as every test by cross-validation: training sets overlap, and no unbiased estimate of the variance exists; equal "
            f"learners gave p <= 0.05 in {FALSE_ALARMS[method]} of cases ({TRIED}); others may give it less often, as randomised forests do"
        )

    def warn_classes(self, names: Sequence[str], classes: npt.NDArray[np.int64] | None) -> None:
        """Classes that cannot be in every fold."""
        folds = self.scheme.folds
        if classes is None or folds is None:
            return
        many = np.bincount(classes, minlength=len(names))
        rare = [f"{name!r} ({count})" for name, count in zip(names, many.tolist(), strict=True) if count < folds]
        if rare:
            shown = ", ".join(rare[:5]) + (f" and {len(rare) - 5} more" if len(rare) > 5 else "")
            self.settings.warn(f"{len(rare)} class(es) have fewer items than there are folds, so that some folds lack them: {shown}")

    def _pass_on(self, outcomes: Sequence[Outcome]) -> None:
        """The learners' own warnings, each once, with how many splits it came from."""
        for side, name in enumerate(self.names):
            answers = [outcome.answers[side] for outcome in outcomes]
            heard = Counter(sentence for answer in answers if isinstance(answer, LearnerAnswer) for sentence in answer.said)
            for sentence, times in heard.most_common(3):
                self.settings.warn(f"{name} warned in {times} of {len(outcomes)} splits: {sentence}")

    def conclusion(self, found: SplitTest, mean: float, alternative: str) -> str:
        """One plain sentence."""
        baseline, candidate = self.names
        what = "models" if self.scheme.method == "disjoint-sets" else "learners"
        p = found.p_value
        if p is None:
            return f"The difference in {self.metric.name} cannot be judged: it is {mean:+.3g} without any spread over the splits."
        if found.note:
            return f"{candidate} and {baseline} scored the same {self.metric.name} in every split (p = 1)."
        shown = "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}" if p < 0.995 else "p = 1"
        about = "approximately" if self.scheme.method != "disjoint-sets" else "for these two models"
        if p > 1 - self.settings.confidence_level or mean == 0:
            if alternative != "two-sided":
                claim = f"the {self.metric.name} of {candidate} is {alternative} than that of {baseline}"
                return f"It was not shown that {claim} ({shown}, {about})."
            return f"The two {what} could not be told apart in {self.metric.name} ({shown}, {about}), which does not show them equal."
        better = "better" if (mean > 0) == self.metric.higher_is_better else "worse"
        doubt = "; this test finds differences too often" if self.scheme.naive else ""
        by = f"by {abs(mean):.3g} in {self.metric.name} on data like these"
        return f"{candidate} did {better} than {baseline} {by} ({shown}, {about}){doubt}."


def failed_where(failure: Mapping[str, Any]) -> str:
    """fold 3 of repeat 2, fitting GaussianNB"""
    return f"fold {failure['fold']} of repeat {failure['repeat']}, {failure['during']} {failure['learner']}"
