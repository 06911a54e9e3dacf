"""What a run that stops when it is decided will cost, design by design: the rule that runs, tried on the items at hand."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import UsageError
from steelyard_old.infer.planning.information_bound import bound_of_answers, bound_of_one_answer
from steelyard_old.infer.planning.stored_answers import PLACES, StoredAnswers, binned
from steelyard_old.infer.sequential.candidates import simulated_candidates
from steelyard_old.infer.sequential.el_cost import Law, expected_ends, operating
from steelyard_old.infer.sequential.sequential_cost import OperatingCharacteristics, expected_items
from steelyard_old.infer.sequential.wavering import FEWEST_ANSWERS, WaveringStrata, strata_of
from steelyard_old.late_dataclass import dataclass

POOL = 100_000  # items where none are given
RUNS = 1000
FEWEST_RUNS = 20  # of several candidates
POOL_OF_CANDIDATES = 20_000  # items of such a run where none are given
ADDED, FAILING, EVENLY = "added", "answers that fail", "all scores alike"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDesign:
    """One design: calls and decisions if nothing changed, and if theta was lost, by the place where it was lost.

    bound: the information bound, the fewest calls on average that any rule with these errors could do with (None: not known
    for scores). reach: of the items of the pool, how many can be asked before the wavering ones run out.
    """

    design: str
    rule: str
    strata: WaveringStrata | None
    healthy: OperatingCharacteristics
    dropped: Mapping[str, OperatingCharacteristics]
    bound: tuple[float, float] | None
    pool: int | None
    reach: int | None

    @property
    def alpha(self) -> float:
        """Healthy runs that are called a regression."""
        return self.healthy.regression

    @property
    def usual(self) -> OperatingCharacteristics:
        """The drop where it is most likely to be: in proportion to what there is to lose."""
        return next(iter(self.dropped.values()))

    @property
    def dearest(self) -> OperatingCharacteristics:
        """The place of the drop that takes most calls on average."""
        return max(self.dropped.values(), key=lambda ends: ends.items)


def one_answer(
    theta: float,
    churn: float,
    alpha: float = 0.05,
    beta: float = 0.2,
    *,
    step: int = 32,
    pool: int | None = None,
    margin: float = 0.0,
    binding: bool = True,
    paths: int = 500,
) -> RunDesign:
    """One answer on record, right or wrong: the profile-likelihood McNemar test. The drop adds losses to the churn.

    With a margin it is the empirical-likelihood rule, as in a run. Reference: McNemar1947; Wald1947.

    >>> found = one_answer(0.05, 0.05, paths=100)
    >>> round(found.healthy.items, -1), found.alpha <= 0.05, [round(x) for x in found.bound]
    (100.0, True, [69, 146])
    """

    def ended(drop: float) -> OperatingCharacteristics:
        if not margin:
            return expected_items(theta, churn, drop, alpha, beta, batch=step, available=pool, binding=binding, paths=paths)
        law = ((-1.0, churn / 2 + drop), (0.0, 1 - churn - drop), (1.0, churn / 2))
        return expected_ends(theta, law, alpha, beta, margin=margin, batch=step, available=pool, runs=paths)

    healthy, dropped = ended(0.0), ended(theta)
    return RunDesign(
        design="one answer",
        rule="empirical-likelihood" if margin else "profile-mcnemar",
        strata=None,
        healthy=healthy,
        dropped={ADDED: dropped},
        bound=None if margin else bound_of_one_answer(theta, churn, alpha, beta),
        pool=pool,
        reach=pool,
    )


def candidates_beside(
    theta: float,
    churn: float,
    candidates: int,
    alpha: float,
    beta: float = 0.2,
    *,
    step: int = 32,
    pool: int | None = None,
    candidates_in_all: int = 1000,
    seed: int = 0,
) -> RunDesign:
    """Several candidates against one baseline that is asked once, each at `alpha`: items are calls of all models together.

    Formula: runs are simulated; their calls are those of all candidates and of the baseline, which is asked as far as the last of
    them. How they end: any candidate worse where nothing changed, the one that lost theta otherwise. Reference: McNemar1947; Dunn1961.

    >>> found = candidates_beside(0.1, 0.05, 3, 0.05 / 3, pool=1000, candidates_in_all=60)
    >>> found.healthy.items < 4 * found.healthy.items_90, found.healthy.items < found.usual.items
    (True, True)
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    items = POOL_OF_CANDIDATES if pool is None else pool
    runs = max(FEWEST_RUNS, candidates_in_all // candidates)

    def ended(broken: bool) -> OperatingCharacteristics:
        calls, decided = np.zeros(runs, np.int64), np.zeros((runs, 3), bool)
        for place in range(runs):
            ends, asked = simulated_candidates(
                rng,
                candidates=candidates,
                items=items,
                theta=theta,
                discordance=churn,
                alpha=alpha,
                beta=beta,
                step=step,
                broken=broken,
            )
            calls[place] = sum(asked) + max(asked)
            seen = ends[:1] if broken else ends
            decided[place] = ["regression" in seen, set(seen) == {"pass"}, "exhausted" in seen and "regression" not in seen]
        return operating(calls, decided)

    return RunDesign(
        design=f"{candidates} candidates",
        rule="profile-mcnemar",
        strata=None,
        healthy=ended(False),
        dropped={ADDED: ended(True)},
        bound=None,
        pool=pool,
        reach=pool,
    )


def answers_on_record(
    items: StoredAnswers,
    theta: float,
    alpha: float = 0.05,
    beta: float = 0.2,
    *,
    margin: float = 0.0,
    strata: WaveringStrata | None = None,
    step: int = 32,
    pool: int | None = None,
    reach: int | None = None,
    runs: int = RUNS,
    seed: int = 0,
) -> RunDesign:
    """Several answers on record: the empirical-likelihood rule on the new answer minus their mean, in `strata` weighted back.

    `reach`: the items that can be asked, where the order of the pool is known. Reference: Owen1988; Wald1947; Neyman1934.

    >>> from steelyard_old.infer.planning.stored_answers import beta_answers
    >>> found = answers_on_record(beta_answers(0.75, 0.1, 4), 0.05, runs=200)
    >>> found.healthy.items < 120, list(found.dropped)
    (True, ['anywhere', 'stable', 'wavering'])
    """
    k = None if strata is None else strata.k(items.wavering)
    ends = (-1.0, 1.0) if strata is None else strata.ends
    share = 1.0 if k is None else min(1.0, 1 / float(k[np.array(items.share) > 0].max()))
    known = pool if reach is None else reach

    def ended(law: Law) -> OperatingCharacteristics:
        within = 1.0 if reach is not None or pool is None else share
        sure = {"margin": margin, "batch": step, "ends": ends}
        return expected_ends(theta, law, alpha, beta, **sure, available=known, reach=within, runs=runs, seed=seed)

    after = {place: items.dropped(theta, place) for place in PLACES}
    if after[PLACES[0]] is None:
        raise UsageError(
            f"theta {theta:g} cannot be lost at an accuracy of {items.accuracy:.4g}.",
            got=f"theta {theta:g} at an accuracy of {items.accuracy:.4g}",
            need="a drop below the accuracy",
        )
    answers = min(items.answers)
    return RunDesign(
        design=f"{answers} answers" if strata is None else f"{answers} in strata",
        rule="empirical-likelihood",
        strata=strata,
        healthy=ended(items.law(k)),
        dropped={place: ended(each.law(k)) for place, each in after.items() if each is not None},
        bound=None if margin else bound_of_answers(items, theta, alpha, beta, k),
        pool=pool,
        reach=None if known is None else math.floor(known if reach is not None else known * share),
    )


def strata_for(
    items: StoredAnswers, theta: float, alpha: float = 0.05, beta: float = 0.2, *, pool: int | None = None
) -> WaveringStrata | None:
    """The strata that a run over a pool of such items is asked by; None where all items are asked alike.

    Reference: Neyman1934.

    >>> from steelyard_old.infer.planning.stored_answers import beta_answers
    >>> strata_for(beta_answers(0.75, 0.05, 4), 0.02, pool=5000).sizes
    {'stable': 4543, 'wavering': 457}
    """
    answers = min(items.answers)
    if answers < FEWEST_ANSWERS:
        return None
    right, given = np.array(items.right), np.array(items.answers)
    copies = np.diff(np.round(np.concatenate([[0.0], np.cumsum(items.share)]) * (POOL if pool is None else pool))).astype(int)
    found = strata_of(np.repeat(right * (given - right) / (given * (given - 1.0)), copies), answers, theta=theta, alpha=alpha, beta=beta)
    return found if found.factor > 1 and found.wavering else None


def scores_on_record(
    differences: npt.ArrayLike,
    score_range: tuple[float, float],
    mean: float,
    theta: float,
    alpha: float = 0.05,
    beta: float = 0.2,
    *,
    margin: float = 0.0,
    strata: WaveringStrata | None = None,
    wavering: npt.ArrayLike | None = None,
    step: int = 32,
    pool: int | None = None,
    reach: int | None = None,
    runs: int = RUNS,
    seed: int = 0,
) -> RunDesign:
    """Scores in a known range: the empirical-likelihood rule on differences like these, of healthy answers, whose mean is taken to be 0.

    `mean`: of the scores. A drop is a share of answers that score lowest, or a little less in all. `wavering`: which of the
    differences are of items that `strata` ask more often; `reach`: how many can be asked then. Reference: Owen1988; Neyman1934.

    >>> found = scores_on_record([-0.1, 0.0, 0.0, 0.1], (0.0, 1.0), 0.8, 0.05, runs=200)
    >>> found.healthy.items <= 96, found.usual.regression > 0.7
    (True, True)
    """
    low, width = score_range[0], score_range[1] - score_range[0]
    x = np.asarray(differences, float)
    x = x - x.mean()
    if not 0 < theta < mean - low:
        raise UsageError(
            f"theta {theta:g} cannot be lost where scores are {mean:.4g} on average and {low:g} at least.",
            got=f"theta {theta:g} where scores are {mean:.4g} on average and {low:g} at least",
            need="a drop to a score that is possible",
        )
    k = np.ones(len(x)) if strata is None or wavering is None else strata.k(wavering)
    healthy = [(value, p * float(np.mean(k == each)), each) for each in np.unique(k).tolist() for value, p in binned(x[k == each], width)]
    depth = (mean - low) / width
    lowest = [max(-1.0, value - depth) for value, _, _ in healthy]  # no difference lies below the range
    fail = theta / width / sum(p * (value - end) for (value, p, _), end in zip(healthy, lowest, strict=True))
    failed = [(end, p * fail, each) for end, (_, p, each) in zip(lowest, healthy, strict=True)]
    failed += [(value, p * (1 - fail), each) for value, p, each in healthy]
    evenly = [(max(-1.0, value - theta / width), p, each) for value, p, each in healthy]
    known = pool if reach is None else reach

    def ended(law: list[tuple[float, float, float]]) -> OperatingCharacteristics:
        """Of a law of (difference, share of the pool, k of its items): an item is asked k times as often, and its difference is over k."""
        asked = sum(p * each for _, p, each in law)
        return expected_ends(
            theta / width,
            tuple((value / each, p * each / asked) for value, p, each in law),
            alpha,
            beta,
            margin=margin / width,
            batch=step,
            ends=(-1.0, 1.0) if strata is None else strata.ends,
            available=known,
            runs=runs,
            seed=seed,
        )

    return RunDesign(
        design="scores" if strata is None else "scores in strata",
        rule="empirical-likelihood",
        strata=strata,
        healthy=ended(healthy),
        dropped={FAILING: ended(failed), EVENLY: ended(evenly)},
        bound=None,
        pool=pool,
        reach=known,
    )
