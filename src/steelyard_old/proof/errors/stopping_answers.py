"""Claims about stopping early with several answers on record: wherever a drop sits, changed but no worse, and in pools that end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from steelyard_old.infer.planning.run_designs import strata_for
from steelyard_old.infer.planning.stored_answers import PLACES, StoredAnswers, beta_answers
from steelyard_old.infer.sequential.el_cost import expected_ends
from steelyard_old.infer.sequential.el_sprt import EmpiricalLikelihoodSprt
from steelyard_old.infer.sequential.sequential_cost import OperatingCharacteristics, expected_items
from steelyard_old.infer.sequential.wavering import WaveringStrata, answer_variance, strata_of
from steelyard_old.proof.claims import Band, BandText, Claim, Point, Setting, counted, declared
from steelyard_old.proof.trials import told

FAMILY = "stopping early, several answers on record"
ACCURACY = 0.75
THETAS, CHURNS, BATCHES = (0.02, 0.05, 0.1, 0.2), (0.02, 0.05, 0.1, 0.2), (1, 7, 32, 64)
FEW = (0.05, 0.2)  # churns that are tried with sixteen answers
STRATA, ALIKE = "in strata", "all items alike"
SAME, CHANGED, GAINS = "the same", "some lost, as many gained", "rare gains, losses anywhere"
TURNED = 0.015  # of the items: lost, or gained, for good
SIZES: dict[str, BandText] = {
    STRATA: ("a model that is no worse is called a regression in alpha of the runs at most, changed or not", Band(high=0.05)),
    ALIKE: ("a model that is no worse is called a regression in alpha of the runs at most, changed or not", Band(high=0.05)),
}
POWERS: dict[str, BandText] = {
    STRATA: ("a drop of theta passes in beta of the runs at most, wherever it sits", Band(low=0.8)),
    ALIKE: ("a drop of theta passes in beta of the runs at most, wherever it sits", Band(low=0.8)),
}
RUNS = {1: 300, 7: 1000, 32: 1500, 64: 1500}  # by batch: a look after every item costs thirty times as much


def claims() -> Iterator[Claim]:
    base: Setting = {"theta": 0.05, "discordance": 0.1, "batch": 32, "answers": 4, "runs": 500}
    for method in (STRATA, ALIKE):
        for kind, said, quick, full in (
            ("size", SIZES, [{"model": model, **base} for model in (SAME, CHANGED)], _healthy()),
            ("power", POWERS, [{"drop": place, **base} for place in PLACES[1:]], _dropped()),
        ):
            tried = [one for one in full if method == STRATA or (one["answers"], one["batch"]) == (4, 32)]
            yield from declared(kind, FAMILY, {method: said[method]}, STRATA, called, quick=tuple(quick), full=tuple(tried))
    yield from _pools()
    yield from _scores()


# ---- wherever the drop sits ----------------------------------------------------------------------------------------------------


def _healthy() -> Iterator[Setting]:
    """Every theta, churn and batch with four answers; models that changed after batches of 32; sixteen answers at two churns."""
    for theta in THETAS:
        for churn in CHURNS:
            for batch in BATCHES:
                yield _setting(theta, churn, batch, 4, model=SAME)
            for model in (CHANGED, GAINS):
                yield _setting(theta, churn, 32, 4, model=model)
            if churn in FEW:
                for model in (SAME, CHANGED, GAINS):
                    yield _setting(theta, churn, 32, 16, model=model)


def _dropped() -> Iterator[Setting]:
    """The same, for drops on stable items after every batch, and anywhere or on wavering ones after 32, where there is enough to lose."""
    for theta in THETAS:
        for churn in CHURNS:
            places = [(4, place, batch) for batch in BATCHES for place in PLACES if batch == 32 or place == PLACES[1]]
            for answers, place, batch in [*places, *((16, place, 32) for place in PLACES if churn in FEW)]:
                if beta_answers(ACCURACY, churn, answers).dropped(theta, place) is not None:
                    yield _setting(theta, churn, batch, answers, drop=place)


def _setting(theta: float, churn: float, batch: int, answers: int, **which: str) -> Setting:
    return {**which, "theta": theta, "discordance": churn, "batch": batch, "answers": answers, "runs": RUNS[batch]}


def called(method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """The share of runs that end in a regression, where differences follow the law of these items; the pool is large."""
    runs = int(setting["runs"])
    share = ended(method, setting, int(rng.integers(2**32))).regression
    yield counted(told(setting), round(share * runs), runs)


def ended(method: str, setting: Setting, seed: int) -> OperatingCharacteristics:
    theta, churn, batch, answers = (setting[name] for name in ("theta", "discordance", "batch", "answers"))
    items = beta_answers(ACCURACY, float(churn), int(answers))
    strata = strata_for(items, float(theta)) if method == STRATA else None
    after = items.dropped(float(theta), str(setting["drop"])) if "drop" in setting else healthy(items, str(setting["model"]))
    if after is None:
        raise ValueError(told(setting))
    return expected_ends(
        float(theta),
        after.law(None if strata is None else strata.k(items.wavering)),
        batch=int(batch),
        ends=(-1.0, 1.0) if strata is None else strata.ends,
        runs=int(setting["runs"]),
        seed=seed,
    )


def healthy(items: StoredAnswers, model: str) -> StoredAnswers | None:
    """A model that is no worse: the same, one that lost and gained as many items for good, one whose gains are rare and large."""
    if model == SAME:
        return items
    if model == CHANGED:
        return items.changed(TURNED)
    less = items.dropped(TURNED)
    wrong = float(np.array(items.share)[items.stored == 0].sum())
    if less is None or wrong < TURNED:
        return None
    return replace(less, chance=tuple(p + TURNED / wrong * (m == 0) for p, m in zip(less.chance, items.right, strict=True)))


# ---- pools that end ------------------------------------------------------------------------------------------------------------


def _pools() -> Iterator[Claim]:
    """Pools drawn item by item, with answers on record, asked in the order and the strata that a run would take."""
    base = [{"pool": pool, "answers": answers, "theta": 0.02, "discordance": 0.05} for pool in (1300, 2000) for answers in (1, 4, 16)]
    drops = [{**one, "drop": place} for one in base for place in (PLACES[:2] if one["answers"] > 1 else PLACES[:1])]
    family = "stopping early in pools of 1,300 and 2,000 items"
    quick = {"pool": 1300, "answers": 4, "theta": 0.1, "discordance": 0.1, "runs": 60}
    for kind, name, said, settings, nominal in (
        ("size", family, ("a healthy run is called a regression in alpha of the runs at most", Band(high=0.05)), base, None),
        ("power", family, ("a drop of theta is found in seven of ten runs or more, though items run out", Band(low=0.7)), drops, None),
        ("size", f"{family}, drops that pass", ("a drop of theta passes in beta of the runs at most", Band(high=0.2)), drops, 0.2),
    ):
        yield from declared(
            kind,
            name,
            {"as run asks": said},
            "as run asks",
            partial(in_pools, "pass" if nominal else "regression"),
            quick=({**quick, **({"drop": PLACES[1]} if settings is drops else {})},),
            full=tuple({**one, "runs": 1000} for one in settings),
            nominal=nominal,
        )


def in_pools(end: str, method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """The share of pools in which a run ends so."""
    del method
    runs = int(setting["runs"])
    if setting["answers"] == 1:
        drop = float(setting["theta"]) if "drop" in setting else 0.0
        churn, pool, seed = float(setting["discordance"]), int(setting["pool"]), int(rng.integers(2**32))
        found = expected_items(float(setting["theta"]), churn, drop, available=pool, paths=runs, seed=seed)
        yield Point(told(setting), found.regression if end == "regression" else found.passed, max(found.regression_error, 1e-6))
        return
    yield counted(told(setting), sum(run_over(rng, setting) == end for _ in range(runs)), runs)


def run_over(rng: np.random.Generator, setting: Setting) -> str:
    """One pool, one record, one run: how it ends."""
    pool, answers, theta = int(setting["pool"]), int(setting["answers"]), float(setting["theta"])
    mixed = float(setting["discordance"]) / (2 * ACCURACY * (1 - ACCURACY))
    size = mixed / (1 - mixed)
    p = rng.beta(ACCURACY * size, (1 - ACCURACY) * size, pool)
    right = rng.binomial(answers, p)
    variance = answer_variance(right, answers)
    if "drop" in setting:
        concerned = np.ones(pool, bool) if setting["drop"] == PLACES[0] else right == answers
        p = p * (1 - concerned * theta * pool / float(p[concerned].sum()))
    strata = strata_of(variance, answers, theta=theta)
    wavering = variance > 0
    order, enough = strata.order(rng.uniform(1e-12, 1.0, pool), wavering)
    x = strata.weighted((rng.random(pool) < p) - right / answers, wavering)[order]
    return end_of(EmpiricalLikelihoodSprt(theta=theta, score_range=(0.0, 1.0), ends=strata.ends), x, enough)


# ---- scores, some items of which always score the same ---------------------------------------------------------------------------


SCORES: dict[str, tuple[float, tuple[tuple[float, float], ...]]] = {  # of an item that wavers: its mean, and what answers add to it
    "one of two scores": (0.5, ((-0.4, 0.5), (0.4, 0.5))),
    "rare falls": (0.8, ((-0.63, 0.1), (0.07, 0.9))),
    "rare gains": (0.2, ((-0.07, 0.9), (0.63, 0.1))),
}
MOVED = 0.03  # of the stable items: a little lost, or as much gained, for good


def _scores() -> Iterator[Claim]:
    laws: list[Setting] = [{"scores": name, "wavering": share, "answers": 4} for name in SCORES for share in (0.1, 0.4)]
    laws.append({"scores": "one of two scores", "wavering": 0.4, "answers": 16})
    quick: Setting = {"scores": "one of two scores", "wavering": 0.2, "answers": 4, "pool": 1000, "theta": 0.1, "runs": 60}
    for kind, said, which in (
        ("size", SIZES[STRATA], [{"model": model} for model in (SAME, CHANGED)]),
        ("power", POWERS[STRATA], [{"drop": place} for place in PLACES[1:]]),
    ):
        yield from declared(
            kind,
            "stopping early, scores in strata",
            {STRATA: said},
            STRATA,
            of_scores,
            quick=({**quick, **which[0]},),
            full=tuple(
                {**one, **law, "pool": 3000, "theta": 0.03, "runs": 1000}
                for one in which
                for law in laws
                if one.get("drop") != PLACES[2] or float(law["wavering"]) * SCORES[str(law["scores"])][0] > 0.03  # enough to lose
            ),
        )


def of_scores(method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """The share of runs that end in a regression."""
    del method
    runs = int(setting["runs"])
    yield counted(told(setting), sum(run_of_scores(rng, setting) == "regression" for _ in range(runs)), runs)


def run_of_scores(rng: np.random.Generator, setting: Setting) -> str:
    """One pool of scores, one record, one run that asks wavering items twice as often: how it ends. A drop is answers that score 0."""
    pool, answers, theta = int(setting["pool"]), int(setting["answers"]), float(setting["theta"])
    mean, law = SCORES[str(setting["scores"])]
    wavers = rng.random(pool) < float(setting["wavering"])
    level = np.where(wavers, mean, rng.beta(4, 2, pool))
    added, shares = np.array(law).T
    record, now = np.split(level + wavers * rng.choice(added, (answers + 1, pool), p=shares), [answers])
    new = now[0]
    if setting.get("model") == CHANGED:
        moved, far = np.where(wavers, 0.5, rng.random(pool)), np.minimum(level, 1 - level)
        new = new - far * (moved < MOVED) + far * (moved > 1 - MOVED)
    if "drop" in setting:
        concerned = wavers if setting["drop"] == PLACES[2] else ~wavers
        new = np.where(concerned & (rng.random(pool) < theta * pool / float(level[concerned].sum())), 0.0, new)
    varied = np.ptp(record, axis=0) > 0
    strata = WaveringStrata(answers=answers, stable=int((~varied).sum()), wavering=int(varied.sum()))
    order, enough = strata.order(rng.uniform(1e-12, 1.0, pool), varied)
    x = strata.weighted(new - record.mean(axis=0), varied)[order]
    return end_of(EmpiricalLikelihoodSprt(theta=theta, score_range=(0.0, 1.0), ends=strata.ends), x, enough)


def end_of(rule: EmpiricalLikelihoodSprt, x: np.typing.NDArray[np.float64], enough: int) -> str:
    """How a run ends that looks at these differences in batches of 32."""
    n = 0
    while rule.decision == "continue":
        n = min(n + 32, enough)
        rule.look(x[:n], last=n == enough)
    return rule.decision
