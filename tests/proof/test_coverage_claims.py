"""The claims about coverage: complete, comparable, honest about defaults, and able to fail."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest

from steelyard.estimate import paired_right_or_wrong
from steelyard.estimate.named_intervals import JOINT, offered_intervals
from steelyard.estimate.sums_rows import offered_for_sums
from steelyard.estimate.table_rows import offered
from steelyard.metrics.catalogue import parse
from steelyard.proof.claims import Claim, Point, Setting
from steelyard.proof.coverage import bounds, designs, grouped, jaccard, means, paired, ranking, sums, tables, unpaired
from steelyard.proof.coverage import prior_sensitivity as priors
from steelyard.proof.coverage import textbook as taught
from steelyard.proof.judging import held
from steelyard.proof.running import tried
from steelyard.proof.simulation import Study, coverage, simulated
from steelyard.results.measurement import Interval
from steelyard.tally.counts import Counts

ROOMS = (jaccard, tables, means, grouped, designs, ranking, bounds, paired, unpaired, priors, taught)
ALONE = ("drawn from its prior", "not offered")  # nothing competes


@cache
def every() -> tuple[Claim, ...]:
    return tuple(claim for room in ROOMS for claim in room.claims())


@cache
def families() -> dict[str, list[Claim]]:
    found: dict[str, list[Claim]] = {}
    for claim in every():
        found.setdefault(claim.family, []).append(claim)
    return found


def test_names_sentences_bands_and_grids() -> None:
    names = [claim.name for claim in every()]
    assert len(set(names)) == len(names)
    for claim in every():
        assert claim.says, claim.name
        assert claim.quick, claim.name
        assert claim.full, claim.name
        bounds = (claim.band.low, claim.band.high, claim.band.mean_low, claim.band.mean_high, claim.band.fails)
        assert any(bound is not None for bound in bounds), claim.name


def test_each_family_has_one_default_and_one_grid() -> None:
    """Methods compete on the same settings, or a comparison would compare settings."""
    for family, claims in families().items():
        assert sum(claim.default for claim in claims) == (0 if any(part in family for part in ALONE) else 1), family
        assert len({(str(claim.quick), str(claim.full)) for claim in claims}) == 1, family


def grouped_offered(proportion: bool) -> list[str]:
    return [*(["wilson"] if proportion else []), "delta", "percentile", "bca", "studentized"]


def methods(family: str) -> set[str]:
    return {claim.method for claim in families()[family]}


def test_every_method_that_is_offered_has_its_claim() -> None:
    table = Counts.binary(tp=1, fp=1, fn=1, tn=1)
    f1, macro = parse("f1"), parse("macro_f1")
    assert methods("F1 of one class") == set(offered(f1, f1.proportion(table, 1)))
    for family in tables.FAMILIES:
        assert methods(family) == set(offered(macro, None))
    assert methods("a mean of bounded scores") == set(offered_for_sums(parse("mean"), (0.0, 1.0), "items"))
    for family, of in sums.QUANTITIES.items():
        assert methods(family) == set(offered_for_sums(parse(of.metric), None, "items"))
    assert methods("a paired difference") == {*offered_intervals("flips"), *paired.DRAWN}
    assert methods("a paired difference of F1") == set(offered_intervals(JOINT))
    assert methods("an unpaired difference") == set(offered_intervals("proportions"))


def test_every_method_that_is_offered_for_a_design_or_a_bound_has_its_claim() -> None:
    for family, of in designs.QUANTITIES.items():
        metric = parse(of.metric)
        if metric.family == "table":
            assert methods(family) == set(grouped_offered(True))
        elif metric.family != "ranking":
            kind = "weights" if "weighted" in family else "items"
            bounded = (0.0, 1.0) if metric.base in ("mean", "pass@", "brier") else None
            assert methods(family) == set(offered_for_sums(metric, bounded, kind))
    f1 = parse("f1")
    two_sided = set(offered(f1, f1.proportion(Counts.binary(tp=1, fp=1, fn=1, tn=1), 1)))
    for bound in ("a lower bound", "an upper bound"):
        assert methods(f"{bound} of F1") == two_sided - {"hdi"}  # the shortest interval has two sides
        assert methods(f"{bound} of a mean of bounded scores") == methods("a mean of bounded scores")
    assert methods("a lower bound of macro F1") == methods("macro F1") - {"bayes", "hdi"}
    assert methods("a lower bound of a proportion of groups") == set(grouped_offered(True))
    for family in ("a mean of groups", "AUC", "a paired difference of scores"):
        assert methods(f"a lower bound of {family}") == methods(family)


def test_a_bound_is_judged_by_its_own_end_alone() -> None:
    """A lower bound far below the truth covers, and one above it does not, whatever the other end is."""
    for low, covers in ((0.1, 1.0), (0.6, 0.0)):
        found = Interval(low=low, high=0.2, confidence_level=0.95, side="lower", method="any")
        study = Study(family="a draw", draw=lambda s, rng: 0.0, truth=lambda s: 0.5, interval=lambda *_, found=found: found, slow={})
        (point_found,) = coverage(study, "any", {"runs": 3}, np.random.default_rng(0))
        assert point_found.found == covers


def test_ties_lost_call_two_systems_that_never_differ_different() -> None:
    """With no disagreement every exchange ties: none differs by more, so p is 0."""
    assert taught.ties_lost(20)(0).tolist() == [True]
    assert taught.ties_lost(20)(5).tolist() == [True, False, False, False, False, True]  # 1/16 counted, 0 lost


def test_the_truths_of_designs_are_those_of_many_items() -> None:
    """The law of large numbers as the oracle: one huge sample of each design, within five standard errors of what it should be."""
    for family, of in designs.QUANTITIES.items():
        many = {"groups": 20_000} if "groups" in of.settings[0] else {"n": 100_000}
        items = of.draw(many, np.random.default_rng(1))
        found = designs.interval(of.metric, "delong" if of.metric == "auc" else "", items, 0)
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        middle, half = (found.low + found.high) / 2, (found.high - found.low) / 2
        assert abs(middle - of.truth(many)) < 2.5 * half, family


def test_the_default_is_asked_of_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paired_right_or_wrong, "USUAL", "newcombe")
    assert next(claim.method for claim in paired.claims() if claim.default) == "newcombe"


def point(claim: Claim, setting: Setting) -> Point:
    (found,) = claim.work(setting, np.random.default_rng(0))
    return found


def test_methods_of_a_family_see_the_same_samples() -> None:
    seen: dict[str, list[float]] = {"one": [], "other": []}

    def interval(method: str, sample: float, seed: int) -> Interval:
        seen[method].append(sample)
        return Interval(low=0.0, high=sample, confidence_level=0.95, side="two", method=method)

    study = Study(family="a draw", draw=lambda s, rng: float(rng.random()), truth=lambda s: 0.5, interval=interval, slow={"other": 3})
    said = dict.fromkeys(seen, ("", jaccard.TWO_SIDED["wilson"][1]))
    one, other = simulated(study, said, "one", quick=({"n": 3, "runs": 30},), full=({"n": 3, "runs": 30},))
    first, second = point(one, one.quick[0]), point(other, other.quick[0])
    assert first.where == second.where == "n=3"
    assert seen["one"][::3] == seen["other"]
    assert len(set(seen["one"])) == 30
    assert first.found == np.mean([sample >= 0.5 for sample in seen["one"]])
    assert first.error > 0
    (again,) = coverage(study, "one", one.quick[0], np.random.default_rng(99))
    assert again != first  # another seed, other samples


def test_samples_without_an_interval_are_left_out_of_the_share() -> None:
    def interval(method: str, sample: float, seed: int) -> Interval | None:
        return None if seed % 2 else Interval(low=None, high=1.0, confidence_level=0.95, side="upper", method=method)

    study = Study(family="a draw", draw=lambda s, rng: 0.0, truth=lambda s: 0.5, interval=interval, slow={})
    (found,) = coverage(study, "any", {"runs": 10}, np.random.default_rng(0))
    assert found.found == 1.0
    assert found.width == 0.5  # the distance of a bound from the truth


def judged(claim: Claim, *settings: Setting) -> list[str]:
    return list(held(claim, [tried(claim, setting, 0) for setting in settings or claim.quick]).faults)


def by_name(name: str) -> Claim:
    return next(claim for claim in every() if claim.name == name)


EXACT = [
    "an upper bound of F1: coverage of wilson",
    "a paired difference: coverage of tango",
    "an unpaired difference: coverage of wald",
    "a proportion drawn from its prior: coverage of hdi",
]  # one of each kind: `steelyard certify --quick`, which a build runs, tries all of them


@pytest.mark.parametrize("name", EXACT)
def test_exact_claims_hold_on_the_quick_grid(name: str) -> None:
    assert judged(by_name(name)) == []


def test_f1_at_20_items_is_what_an_earlier_study_found() -> None:
    """Mean .9563 and least .9206 of the twelve settings, added up over (TP + FP + FN, TP) there; simulated before that: .956 and .918."""
    found = tried(by_name("F1 of one class: coverage of wilson"), {"n": 20}, 0)
    assert (found.mean, found.least) == pytest.approx((0.9563, 0.9206), abs=6e-5)


def narrower(method: str, side: str, *cells: int, of: object) -> tuple[float, float]:
    low, high = of(method, side, *cells)  # type: ignore[operator]
    return low + 0.2 * (high - low), high - 0.2 * (high - low)


@pytest.mark.parametrize(
    ("room", "name"),
    [
        (jaccard, "F1 of one class: coverage of wilson"),
        (paired, "a paired difference: coverage of tango"),
        (unpaired, "an unpaired difference: coverage of newcombe"),
    ],
)
def test_a_method_broken_on_purpose_is_found_out(room: object, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "ends", partial(narrower, of=room.ends))  # type: ignore[attr-defined]
    faults = judged(by_name(name), by_name(name).quick[0])
    assert any("claimed at least" in fault for fault in faults)


def test_a_mended_weakness_is_told() -> None:
    claim = by_name("an unpaired difference: coverage of wald")
    assert claim.band.fails is not None
    mended = replace(claim, work=partial(unpaired.coverage, "two", "miettinen-nurminen"))
    assert any("which is gone" in fault for fault in judged(mended))


def cheap() -> Iterator[tuple[str, str]]:
    for family in ("macro F1", "a mean of groups", "AUC"):
        yield family, next(claim.method for claim in families()[family] if claim.default)
    yield from (("a paired difference of ratios", "delta"), ("an unpaired difference of means", "t"))


@pytest.mark.parametrize(("family", "method"), list(cheap()))
def test_simulated_claims_hold_on_a_part_of_the_quick_grid(family: str, method: str) -> None:
    claim = by_name(f"{family}: coverage of {method}")
    found = held(claim, [tried(claim, {**setting, "runs": 60}, 0) for setting in claim.quick])
    assert found.faults == ()
    assert found.worst_error > 0
    assert found.width is not None
    assert found.width > 0
