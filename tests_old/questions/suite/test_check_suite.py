"""Many guards, one verdict: Holm, tiers, waivers that end, result patterns, and suite files that say something wrong."""

from __future__ import annotations

import datetime
import math
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pytest

import steelyard_old as sy
from steelyard_old.errors import SteelyardError
from steelyard_old.estimate.guard.suite_file import SuiteCheck
from steelyard_old.questions.suite.check_suite import check_suite, judged
from steelyard_old.results.comparison import Test
from steelyard_old.results.verdict import Suite, Verdict

TODAY = datetime.date(2026, 6, 15)
N, SIGMA, REFERENCE = 1000, 50.0, 70.0
ERROR = SIGMA * math.sqrt(2 / N)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Ten tasks with a bare number each: a value decides the p-value exactly."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "references").mkdir()
    for i in range(10):
        entry = f"m:\n  - accuracy: {REFERENCE}\n    num_samples: {N}\n    sigma: {SIGMA}\n    scale: percent\n"
        (tmp_path / "references" / f"t{i}.yaml").write_text(entry, encoding="utf-8")
    return tmp_path


def value(p: float) -> float:
    """The score whose p-value is p."""
    return REFERENCE + NormalDist().inv_cdf(p) * ERROR


def suite(*checks: str, head: str = "", today: datetime.date = TODAY, correction: str | None = "holm") -> Suite:
    """Adjusted by Holm, whose numbers are worked out by hand, unless the head says otherwise; None: as by default."""
    if correction is not None and "correction" not in head:
        head = f'{head}\ncorrection = "{correction}"'
    text = (f"[suite]\n{head}\n" if head else "") + "\n".join(f"[[checks]]\n{one}\n" for one in checks)
    Path("suite.toml").write_text(text, encoding="utf-8")
    return check_suite("suite.toml", today=today)


def guard(i: int, p: float, *more: str) -> str:
    return "\n".join([f'task = "t{i}"', 'model = "m"', f"value = {value(p)!r}", *more])


def adjusted(found: Suite) -> list[float | None]:
    return [row["p_adjusted"] for row in found.rows]


# Holm


def test_adjusted_p_values_by_hand() -> None:
    """Holm over .01, .04, .03, .5: 4 x .01, 3 x .03, then never below the one before."""
    found = suite(*(guard(i, p) for i, p in enumerate((0.01, 0.04, 0.03, 0.5))))
    assert adjusted(found) == pytest.approx([0.04, 0.09, 0.09, 0.5], rel=1e-9)
    assert found.verdict == "regression"
    assert [row["counts_as"] for row in found.rows] == ["regression", "unconfirmed", "unconfirmed", "pass"]
    assert found.exit_code == 1
    assert found.correction == "holm"


def test_red_alone_but_not_among_many_is_unconfirmed_and_said() -> None:
    found = suite(*(guard(i, p) for i, p in enumerate((0.03, 0.4, 0.6, 0.7))))
    assert found.verdict == "pass"
    assert found.verdicts[0].verdict == "regression"
    assert found.rows[0]["counts_as"] == "unconfirmed"
    assert any("t0 m: significant on its own" in warning for warning in found.warnings)
    assert "1 unconfirmed" in found.conclusion


def test_unconfirmed_with_theta_is_inconclusive() -> None:
    found = suite(guard(0, 0.03, "theta = 10"), *(guard(i, 0.5) for i in (1, 2, 3)))
    assert found.verdict == "inconclusive"
    assert found.exit_code == 2


def test_one_guard_alone_is_not_corrected() -> None:
    found = suite(guard(0, 0.03))
    assert found.verdict == "regression"
    assert adjusted(found) == pytest.approx([0.03], rel=1e-9)
    assert found.verdicts[0].mde == sy.check(value=value(0.03), task="t0", model="m").mde


@pytest.mark.parametrize(("correction", "expected"), [("none", [0.03, 0.02]), ("bonferroni", [0.06, 0.04]), ("holm", [0.04, 0.04])])
def test_other_corrections(correction: str, expected: list[float]) -> None:
    assert adjusted(suite(guard(0, 0.03), guard(1, 0.02), head=f'correction = "{correction}"')) == pytest.approx(expected, rel=1e-9)


def test_an_unknown_correction_is_refused() -> None:
    with pytest.raises(SteelyardError, match="holm"):
        suite(guard(0, 0.03), head='correction = "bh"')


def test_theta_guards_must_all_pass_at_their_own_alpha() -> None:
    """Intersection-union: one that cannot rule its theta out holds the suite up, without any correction."""
    healthy = [guard(i, 0.5, "theta = 10") for i in range(3)]
    assert suite(*healthy).verdict == "pass"
    assert suite(*healthy, guard(3, 0.5, "theta = 1")).verdict == "inconclusive"


def test_a_supporting_guard_that_cannot_rule_its_theta_out_is_no_silent_pass() -> None:
    """A suite passes with theta if every guard passes at its own alpha. Its doubt may weigh less, but is said."""
    found = suite(guard(0, 0.5, "theta = 10"), guard(1, 0.5, "theta = 1", 'tier = "supporting"'))
    assert found.verdict == "inconclusive" or any("t1" in warning for warning in found.warnings)


def test_the_mde_of_many_is_at_alpha_over_m() -> None:
    found = suite(*(guard(i, 0.5) for i in range(5)), guard(5, 0.5, 'tier = "advisory"'))
    z = NormalDist().inv_cdf
    assert found.verdicts[0].mde == pytest.approx(-(z(0.05 / 5) + z(0.2)) * ERROR, rel=1e-9)
    assert found.verdicts[5].mde == pytest.approx(-(z(0.05) + z(0.2)) * ERROR, rel=1e-9)


def test_a_margin_does_not_grow_with_the_family() -> None:
    found = suite(guard(0, 0.5, "margin = 2"), guard(1, 0.5))
    z = NormalDist().inv_cdf
    assert found.verdicts[0].mde == pytest.approx(2 - (z(0.025) + z(0.2)) * ERROR, rel=1e-9)


def test_alpha_and_beta_of_one_half_divide_by_nothing() -> None:
    """z is 0 for both: the drop found alone is 0, and among two it is z(.25)."""
    found = suite(guard(0, 0.6, "alpha = 0.5", "beta = 0.5"), guard(1, 0.5, "alpha = 0.5", "beta = 0.5"), head="alpha = 0.5")
    assert all(one.mde is not None and math.isfinite(one.mde) for one in found.verdicts)


def test_a_guard_with_a_threshold_has_no_p_value_but_counts(home: Path) -> None:
    (home / "references" / "floor.yaml").write_text("m:\n  - threshold: 4.0\n", encoding="utf-8")
    good, bad = ('task = "floor"\nmodel = "m"\nvalue = ' + text for text in ("4.0", "3.9"))
    assert suite(good, guard(0, 0.5)).verdict == "pass"
    found = suite(bad, guard(0, 0.04))
    assert found.verdict == "regression"
    assert adjusted(found) == [None, pytest.approx(0.04, rel=1e-9)]


# Tiers


def test_advisory_guards_are_outside_the_family() -> None:
    found = suite(guard(0, 0.02), guard(1, 0.5), *(guard(i, 1e-9, 'tier = "advisory"') for i in range(2, 8)))
    assert adjusted(found)[:2] == pytest.approx([0.04, 0.5], rel=1e-9)
    assert adjusted(found)[2:] == [None] * 6
    assert found.verdict == "regression"
    assert suite(guard(0, 0.5), guard(1, 1e-9, 'tier = "advisory"')).verdict == "pass"


def test_a_supporting_guard_can_turn_the_suite_red() -> None:
    assert suite(guard(0, 0.5), guard(1, 1e-6, 'tier = "supporting"')).verdict == "regression"


def test_the_tier_of_the_suite_is_the_default() -> None:
    found = suite(guard(0, 1e-9), guard(1, 0.5, 'tier = "critical"'), head='tier = "advisory"')
    assert [row["tier"] for row in found.rows] == ["advisory", "critical"]
    assert found.verdict == "pass"


def test_only_advisory_guards_are_a_pass_of_nothing_and_said() -> None:
    """A suite without any guard that counts cannot fail: that is no silent pass."""
    found = suite(guard(0, 1e-9, 'tier = "advisory"'))
    assert found.verdict == "inconclusive" or found.warnings


def test_an_unknown_tier_is_refused() -> None:
    with pytest.raises(SteelyardError, match="critical, supporting or advisory"):
        suite(guard(0, 0.5, 'tier = "important"'))


# Waivers

WAIVER = 'waiver = {{reason = "bug 123", until = {until}}}'


@pytest.mark.parametrize("until", ["2026-06-15", '"2026-06-15"', "2027-01-01", "2026-06-15T00:00:00Z"])
def test_a_waiver_in_force_is_shown_counted_and_stays_in_the_family(until: str) -> None:
    found = suite(guard(0, 1e-6, WAIVER.format(until=until)), guard(1, 0.3))
    assert found.verdict == "pass"
    assert found.rows[0]["counts_as"] == "waived"
    assert found.rows[0]["waiver"]["in_force"]
    assert adjusted(found) == pytest.approx([2e-6, 0.3], rel=1e-6)
    assert "1 waived" in found.conclusion
    assert "bug 123" in str(found)
    assert found.verdicts[0].waiver is not None


def test_a_waiver_does_not_make_the_others_red_any_easier() -> None:
    found = suite(guard(0, 0.9, WAIVER.format(until="2027-01-01")), guard(1, 0.03))
    assert adjusted(found)[1] == pytest.approx(0.06, rel=1e-9)
    assert found.rows[1]["counts_as"] == "unconfirmed"


def test_a_waiver_that_has_ended_is_ignored_and_said() -> None:
    found = suite(guard(0, 1e-6, WAIVER.format(until="2026-06-14")), guard(1, 0.5))
    assert found.verdict == "regression"
    assert any("expired on 2026-06-14" in warning for warning in found.warnings)
    assert not found.rows[0]["waiver"]["in_force"]


@pytest.mark.parametrize(
    "waiver",
    [
        "waiver = {until = 2027-01-01}",
        'waiver = {reason = "", until = 2027-01-01}',
        'waiver = {reason = "  ", until = 2027-01-01}',
        'waiver = {reason = "x"}',
        'waiver = {reason = "x", until = "soon"}',
        'waiver = {reason = "x", until = 20270101}',
        "waiver = {reason = 3, until = 2027-01-01}",
        'waiver = {reason = "x", until = 07:32:00}',
        "waiver = true",
        'waiver = "always"',
        'waiver = {reason = "x", until = 2027-01-01, forever = true}',
    ],
)
def test_a_waiver_without_reason_or_end_is_refused(waiver: str) -> None:
    with pytest.raises(SteelyardError, match="waiver"):
        suite(guard(0, 0.5, waiver))


# Result files


def run_file(path: Path, scores: list[int]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(f'{{"id": "q{i}", "score": {s}}}' for i, s in enumerate(scores)) + "\n", encoding="utf-8")


BY_RESULT = 'task = "own"\nmodel = "m"\nresult = "{pattern}"'


def test_results_are_relative_to_the_suite_file_and_may_be_patterns(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_file(home / "ci" / "runs" / "own_2026.jsonl", [1] * 40 + [0] * 20)
    sy.record(str(home / "ci" / "runs" / "own_2026.jsonl"), task="own", model="m")
    text = "[suite]\ndirectory = '../references'\n[[checks]]\n" + BY_RESULT.format(pattern="runs/own_*.jsonl")
    (home / "ci" / "suite.toml").write_text(text, encoding="utf-8")
    (home / "elsewhere").mkdir()
    monkeypatch.chdir(home / "elsewhere")
    found = check_suite(home / "ci" / "suite.toml")
    assert found.verdict == "pass"
    assert found.verdicts[0].design == "paired"


def test_patterns_work_in_a_directory_with_brackets(home: Path) -> None:
    where = home / "build[12]"
    run_file(where / "own_1.jsonl", [1] * 40 + [0] * 20)
    sy.record(str(where / "own_1.jsonl").replace("[", "[[]"), task="own", model="m", directory=home / "references")
    (where / "suite.toml").write_text("[[checks]]\n" + BY_RESULT.format(pattern="own_*.jsonl"), encoding="utf-8")
    assert check_suite(where / "suite.toml", directory=home / "references").verdict == "pass"


def test_no_match_and_two_matches_are_refused(home: Path) -> None:
    with pytest.raises(SteelyardError, match=r"No file matches 'runs/\*\.jsonl', the result of check 1 in 'suite\.toml'\."):
        suite(BY_RESULT.format(pattern="runs/*.jsonl"))
    run_file(home / "runs" / "a.jsonl", [1, 0])
    run_file(home / "runs" / "b.jsonl", [1, 0])
    with pytest.raises(SteelyardError, match=r"2 files match the result of check 1 in 'suite\.toml': runs/a\.jsonl,"):
        suite(BY_RESULT.format(pattern="runs/*.jsonl"))


def test_a_missing_result_stops_the_suite(home: Path) -> None:
    run_file(home / "a.jsonl", [1] * 40 + [0] * 20)
    sy.record(str(home / "a.jsonl"), task="own", model="m")
    with pytest.raises(SteelyardError, match=r"missing.jsonl"):
        suite(guard(0, 0.5), BY_RESULT.format(pattern="missing.jsonl"))


def test_a_missing_reference_stops_the_suite() -> None:
    with pytest.raises(SteelyardError, match=r"sy\.record"):
        suite(guard(0, 0.5), 'task = "nowhere"\nmodel = "m"\nvalue = 1.0')


# Suite files that say something wrong: one line, never a crash


@pytest.mark.parametrize(
    "text",
    [
        "",
        "checks = 3",
        "checks = []",
        "[checks]\ntask = 't0'",
        "suite = 1\n[[checks]]\ntask='t0'\nmodel='m'\nvalue=70",
        "[suite]\nalpha = 'x'\n[[checks]]\ntask='t0'\nmodel='m'\nvalue=70",
        "[suite]\nalpha = 0.7\n[[checks]]\ntask='t0'\nmodel='m'\nvalue=70",
        "[suite]\nalpah = 0.05\n[[checks]]\ntask='t0'\nmodel='m'\nvalue=70",
        "[[checks]]\ntask='t0'\nmodel='m'",
        "[[checks]]\ntask='t0'\nvalue=70",
        "[[checks]]\ntask=3\nmodel='m'\nvalue=70",
        "[[checks]]\ntask='t0'\nmodel='m'\nvalue=70\nresult='x.jsonl'",
        "[[checks]]\ntask='t0'\nmodel='m'\nvalue='seventy'",
        "[[checks]]\ntask='t0'\nmodel='m'\nvalue=nan",
        "[[checks]]\ntask='t0'\nmodel='m'\nvalue=true",
        "[[checks]]\ntask='t0'\nmodel='m'\nvalue=70\nspec='FP8'",
        "[[checks]]\ntask='t0'\nmodel='m'\nvalue=70\nspec={quant_algo=['FP8']}",
        "[[checks]]\ntask='t0'\nmodel='m'\nvalue=70\nspec=3",
        "[[checks]]\ntask='t0'\nmodel='m'\nvalue=70\nprotocol='greedy'",
        "[[checks]]\ntask='t0'\nmodel='m'\nresult='x.jsonl'\ncolumns='id'",
        "[[checks]]\ntask='t0'\nmodel='m'\nvalue=70\ncolumns={directory='/tmp'}",
        "[[checks]]\ntask='t0'\nmodel='m'\nvalue=70\ncolumns={task='t1'}",
        "[[checks]]\ntask='t0'\nmodel='m'\nvalue=70\ncolumns={idd='x'}",
        "[[checks]]\ntask='t0'\nmodel='m'\nvalue=70\ntheta='3'\nthteta=3",
        "[[checks]]\ntask='t0'\nmodel='m'\nvalue=70\ntarget='people'",
        "[[checks]]\ntask='t0'\nmodel='m'\nvalue=70\nscale='permille'",
        "[[checks]]\ntask='t0'\nmodel='m'\nvalue=70\ntier=['critical']",
        "[[checks]]\ntask='../references/t0'\nmodel='m'\nvalue=70",
        "[[checks]]\ntask='t0'\nmodel='m'\nvalue=70\nnum_samples=1.5",
        "[suite]\ncorrection = ['holm']\n[[checks]]\ntask='t0'\nmodel='m'\nvalue=70",
        "[[checks]\n",
        "a = 1\na = 2",
        "\x00",
    ],
)
def test_mistakes_in_the_file_are_told(text: str) -> None:
    Path("suite.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SteelyardError) as told:
        check_suite("suite.toml", today=TODAY)
    assert str(told.value)


def test_a_suite_that_is_not_text_or_not_there() -> None:
    Path("suite.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SteelyardError, match="suite"):
        check_suite("suite.toml")
    with pytest.raises(SteelyardError, match=r"nothing.toml"):
        check_suite("nothing.toml")
    with pytest.raises(SteelyardError, match="suite"):
        check_suite(".")


# Judging, without files


def verdict_of(p: float | None, word: str | None = None, *, theta: float | None = None, alpha: float = 0.05) -> Verdict:
    chosen = word or ("regression" if p is not None and p <= alpha else "pass")
    test = Test(name="z", alternative="less", statistic=None, p_value=p)
    return Verdict(verdict=chosen, task="t", model="m", test=test, theta=theta, alpha=alpha, mde=0.02)


def judge(*verdicts: Verdict, tiers: str = "", alpha: float = 0.05) -> Suite:
    names = {"c": "critical", "s": "supporting", "a": "advisory"}
    guards = [SuiteCheck(options={}, tier=names[t], waiver=None) for t in (tiers or "c" * len(verdicts))]
    return judged(guards, verdicts, alpha, "holm", None, TODAY, [])


def test_the_order_of_guards_changes_nothing() -> None:
    several = [verdict_of(p) for p in (0.04, 0.001, 0.3, 0.02)]
    one, other = judge(*several), judge(*several[::-1])
    assert one.verdict == other.verdict
    assert adjusted(one) == adjusted(other)[::-1]


def test_an_inconclusive_guard_makes_an_inconclusive_suite() -> None:
    assert judge(verdict_of(0.5), verdict_of(0.5, "inconclusive", theta=0.01)).verdict == "inconclusive"
    assert judge(verdict_of(1e-9), verdict_of(0.5, "inconclusive", theta=0.01)).verdict == "regression"


def test_a_guard_with_a_stricter_alpha_of_its_own_is_not_called_red_beyond_it() -> None:
    """A suite is red by its own alpha; what each row says must agree with what it counts as."""
    found = judge(verdict_of(0.01, alpha=0.001), verdict_of(0.5))
    row = found.rows[0]
    assert (row["counts_as"] == "regression") == (found.verdict == "regression")
    assert row["confirmed"] == (row["counts_as"] == "regression")


def test_to_dict_has_the_keys_of_the_contract() -> None:
    answer: dict[str, Any] = judge(verdict_of(0.5)).to_dict()
    assert {"kind", "schema", "verdict", "correction", "verdicts", "warnings", "signature"} <= set(answer)
    assert answer["kind"] == "suite"
    assert answer["verdicts"][0]["tier"] == "critical"
