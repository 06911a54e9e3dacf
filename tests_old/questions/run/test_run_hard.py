"""`run` pressed hard: every way to stop, every kind of reference, and `check` of what was written comes to the same verdict."""

from __future__ import annotations

import functools
import hashlib
import json
import math
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard_old as sy
from cases import every
from steelyard_old.errors import DataError, SteelyardError, UsageError
from steelyard_old.questions.run.task import prepare

N = 400
DATA = [
    {"id": f"q{i}", "x": i, "y": "yes" if i % 2 else "no", "group": f"g{i % 40}", "level": "hard" if i % 4 == 0 else "easy"}
    for i in range(N)
]


def task_of(**more: Any) -> dict[str, Any]:
    """Odd or even? The input is the number."""
    own = {"name": "t", "data": DATA, "input": "{x}", "truth": "y", "scorer": "exact", **more}
    return {
        "task": {key: value for key, value in own.items() if key != "options"},
        **({"scorer": more["options"]} if "options" in more else {}),
    }


def wrong_on(fails: Callable[[int], bool]) -> Callable[[str], str]:
    def answer(question: str) -> str:
        x = int(question)
        return "neither" if fails(x) else "yes" if x % 2 else "no"

    return answer


@functools.cache
def spread(x: int, salt: int = 0) -> float:
    """A number in 0..1 for each item, without any pattern."""
    return float(np.random.default_rng((x, salt)).random())


good = wrong_on(lambda x: spread(x) < 0.15)
same = wrong_on(lambda x: spread(x) < 0.15)
poor = wrong_on(lambda x: spread(x) < 0.15 or spread(x, 1) < 0.3)
hopeless = wrong_on(lambda x: True)
other = wrong_on(lambda x: spread(x, 2) < 0.15)
MODELS = (good, same, poor, hopeless, other)
KEPT: Path


@pytest.fixture
def place(tmp_path: Path) -> dict[str, Any]:
    return {"directory": tmp_path / "references"}


@pytest.fixture(scope="module", autouse=True)
def kept(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Where `recorded` keeps what it made, for the tests that begin with the same reference."""
    global KEPT
    KEPT = tmp_path_factory.mktemp("kept")


def recorded(task: Any, place: Mapping[str, Any], *models: Any, **options: Any) -> None:
    """Runs of models, made by `run` and put on record together as m; of the models above once, and then copied."""
    if any(model not in MODELS for model in models):
        _record(task, place, *models, **options)
        return
    home = KEPT / hashlib.sha256(repr((task, list(map(MODELS.index, models)), options)).encode()).hexdigest()
    if not home.exists():
        home.mkdir()
        _record(task, {"directory": home / "references"}, *models, **options)
    shutil.copytree(home / "references", place["directory"])


def _record(task: Any, place: Mapping[str, Any], *models: Any, **options: Any) -> None:
    outs = []
    for i, model in enumerate(models):
        out = Path(place["directory"]).parent / f"ref{i}.jsonl"
        sy.run(task, model, name="m", output=out, against="none")
        outs.append(out)
    sy.record(*outs, task="t", model="m", **place, **{"deterministic": len(models) == 1, **options})


def judged(task: Any, place: Mapping[str, Any], model: Any, **options: Any) -> sy.Verdict:
    """The verdict of a run, which `check` of its rows must come to as well."""
    out = Path(place["directory"]).parent / "now.jsonl"
    found = sy.run(task, model, name="m", output=out, until="decided", **place, **options)
    assert found.verdict is not None
    plain = found.to_dict()
    json.dumps(plain, allow_nan=False)
    rules = {name: options[name] for name in ("missing", "alpha", "beta", "theta", "margin") if name in options}
    again = sy.check(out, task="t", model="m", **place, **rules)
    assert again.verdict == found.verdict.verdict, (again.conclusion, found.verdict.conclusion)
    assert again.p_value == found.verdict.p_value
    assert again.difference == found.verdict.difference
    assert again.n == found.verdict.n
    assert (again.theta, again.alpha, again.beta, again.margin) == (
        found.verdict.theta,
        found.verdict.alpha,
        found.verdict.beta,
        found.verdict.margin,
    )
    assert str(found)
    facts = found.verdict.details["stopping"]
    assert facts["n_used"] + facts["n_saved"] == facts["n_available"]
    low, high = found.verdict.difference["lower"], found.verdict.difference["upper"]
    if low is not None and high is not None:
        assert low < high, "an interval without width"
    if found.verdict.verdict == "regression" and found.verdict.p_value is not None and "rates" not in found.verdict.details:
        assert found.verdict.p_value <= found.verdict.alpha
    return found.verdict


# ---- every rule ------------------------------------------------------------------------------------------------------------

RULES: dict[str, dict[str, Any]] = {
    "default": {},
    "mcnemar": {"stopping": "mcnemar"},
    "lan-demets": {"stopping": "lan-demets"},
    "e-process": {"stopping": "e-process"},
    "e-mcnemar": {"stopping": "e-mcnemar"},
    "sprt": {"stopping": "sprt", "discordance": 0.1},
    "one look": {"looks": 1, "stopping": "mcnemar"},
    "empirical likelihood": {"stopping": "empirical-likelihood"},
    "empirical likelihood, every item": {"stopping": "empirical-likelihood", "every": 1},
    "one look, lan-demets": {"looks": 1, "stopping": "lan-demets"},
    "every item": {"every": 1},
    "every item, lan-demets": {"every": 1, "stopping": "lan-demets"},
    "never before the end": {"every": 10_000},
    "never before the end, lan-demets": {"every": 10_000, "stopping": "lan-demets"},
    "strict": {"alpha": 0.01, "beta": 0.01},
    "beta as alpha": {"beta": 0.05},
    "many looks": {"looks": 60, "every": 1, "stopping": "mcnemar"},
}


@pytest.mark.parametrize("rule", RULES)
def test_the_same_model_passes_or_stays_in_doubt_and_a_broken_one_is_found(place: dict[str, Any], rule: str) -> None:
    recorded(task_of(), place, good)
    options = {"theta": 0.1, **RULES[rule]}
    healthy = judged(task_of(), place, same, **options)
    assert healthy.verdict in ("pass", "inconclusive")
    if rule not in ("e-mcnemar", "e-process", "sprt"):  # an SPRT of disagreements learns nothing where there are none
        assert healthy.verdict == "pass", healthy.conclusion
    broken = judged(task_of(), place, poor, **options)
    assert broken.verdict == "regression", broken.conclusion
    if not RULES[rule]:
        assert judged(task_of(), place, hopeless, **options).verdict == "regression"


@pytest.mark.parametrize("rule", ["mcnemar", "e-mcnemar", "sprt"])
@pytest.mark.parametrize("why", ["margin", "repeats", "groups", "scores"])
def test_rules_for_right_or_wrong_refuse_what_they_are_not_for(place: dict[str, Any], rule: str, why: str) -> None:
    tasks = {"groups": task_of(group="group", whole_groups=True), "scores": task_of(scorer="token-f1")}
    task = tasks.get(why, task_of())
    recorded(task, place, good)
    options: dict[str, Any] = {"margin": {"margin": 0.02}, "repeats": {"repeats": 2}}.get(why, {})
    options |= {"discordance": 0.1} if rule == "sprt" else {}
    asked: list[str] = []
    with pytest.raises(UsageError, match="lan-demets"):
        sy.run(task, asked.append, name="m", until="decided", theta=0.1, stopping=rule, **options, **place)
    assert not asked


@pytest.mark.parametrize(
    "options",
    [
        {"theta": 0},
        {"theta": -0.1},
        {"theta": math.nan},
        {"theta": 1.5},
        {"theta": 0.1, "alpha": 0},
        {"theta": 0.1, "alpha": 0.7},
        {"theta": 0.1, "beta": 1.2},
        {"theta": 0.1, "margin": 0.2},
        {"theta": 0.1, "margin": -0.1},
        {"theta": 0.1, "looks": 0},
        {"theta": 0.1, "every": -1},
        {"theta": 0.1, "stopping": "peek"},
        {"theta": 0.1, "stopping": "sprt"},
        {"theta": 0.1, "stopping": "sprt", "discordance": 2},
        {"theta": 0.1, "stopping": "sprt", "discordance": 0.0},
        {"theta": 0.1, "missing": "skip"},
        {"theta": 0.1, "unmatched": "skip"},
        {"theta": 0.1, "scale": "permille"},
        {"theta": 0.1, "against": "none"},
        {"theta": 0.1, "against": "nobody"},
        {},
    ],
    ids=str,
)
def test_a_plan_that_makes_no_sense_is_refused_before_anything_is_asked(place: dict[str, Any], options: dict[str, Any]) -> None:
    recorded(task_of(), place, good)
    asked: list[str] = []
    with pytest.raises(SteelyardError):
        sy.run(task_of(), lambda question: asked.append(question) or "yes", name="m", until="decided", **options, **place)
    assert not asked


def test_an_unknown_option_is_an_error_of_ours_not_of_python() -> None:
    with pytest.raises(UsageError, match="Did you mean theta"):
        sy.run(task_of(), good, name="m", thetta=0.1)


def test_few_items_are_told_or_judged_but_never_a_pass_by_lack_of_items(place: dict[str, Any]) -> None:
    task = task_of(data=DATA[:12])
    recorded(task, place, wrong_on(lambda x: False))
    found = judged(task, place, wrong_on(lambda x: x == 3), theta=0.05)
    assert found.verdict == "inconclusive"
    assert found.exit_code == 2


def test_items_exhausted_are_inconclusive_even_where_a_fixed_test_would_pass(place: dict[str, Any]) -> None:
    """theta .02 is not ruled out by 400 items with 25% disagreement, and no fixed-n interval is put in its place."""
    recorded(task_of(), place, good)
    found = judged(task_of(), place, other, theta=0.02)
    assert found.verdict in ("inconclusive", "regression", "pass")
    if found.n == N and found.details["stopping"]["decision"] == "exhausted":
        assert found.verdict == "inconclusive"
        assert found.needed is not None


# ---- every kind of reference ---------------------------------------------------------------------------------------------------


def test_references_of_several_runs_are_not_judged_by_mcnemar(place: dict[str, Any]) -> None:
    recorded(task_of(), place, good, other, wrong_on(lambda x: spread(x, 5) < 0.15))
    found = judged(task_of(), place, same, theta=0.1)
    assert found.test == "empirical-likelihood SPRT"
    assert judged(task_of(), place, hopeless, theta=0.1).verdict == "regression"
    assert found.flips is None


def test_a_reference_in_percent_has_theta_in_percent(place: dict[str, Any]) -> None:
    recorded(task_of(), place, good, scale="percent")
    found = judged(task_of(), place, same, theta=10)
    assert found.verdict == "pass"
    assert (found.scale, found.theta, found.mde) == ("percent", 10, 10)
    assert found.candidate["value"] > 1
    plan = found.details["stopping"]["plan"]
    assert plan["theta"] == pytest.approx(0.1)
    broken = judged(task_of(), place, poor, theta=10)
    assert broken.verdict == "regression"
    assert broken.difference["estimate"] < -5
    with pytest.raises(SteelyardError):  # a tenth of a point, asked for by mistake, is not 10 points
        sy.run(task_of(), same, name="m", until="decided", theta=200, **place)


def test_theta_of_the_entry_is_used_and_the_option_comes_first(place: dict[str, Any]) -> None:
    recorded(task_of(), place, good, theta=0.1)
    assert judged(task_of(), place, same).theta == 0.1
    found = sy.run(task_of(), same, name="m", until="decided", theta=0.2, **place)
    assert found.verdict is not None
    assert found.verdict.theta == 0.2


def test_hashed_ids(place: dict[str, Any]) -> None:
    recorded(task_of(), place, good, ids="hashed")
    assert judged(task_of(), place, same, theta=0.1).verdict == "pass"
    assert judged(task_of(), place, poor, theta=0.1).verdict == "regression"


@pytest.mark.parametrize("stopping", [None, "lan-demets", "e-process"])
def test_groups_are_kept_whole(place: dict[str, Any], stopping: str | None) -> None:
    task = task_of(group="group", whole_groups=True)
    recorded(task, place, good)
    for model, verdicts in ((same, ("pass", "inconclusive")), (hopeless, ("regression",))):
        found = judged(task, place, model, theta=0.2, stopping=stopping)
        assert found.verdict in verdicts, found.conclusion
        assert found.n % 10 == 0
        assert found.design == "clustered"


def test_groups_in_any_order_are_refused(place: dict[str, Any]) -> None:
    task = task_of(group="group")
    recorded(task, place, good)
    with pytest.raises(UsageError, match="whole_groups"):
        sy.run(task, same, name="m", until="decided", theta=0.1, **place)


def test_a_reference_with_groups_and_a_task_without(place: dict[str, Any]) -> None:
    """`check` would judge by the groups on record; to stop as if the items were independent would be another question."""
    recorded(task_of(group="group"), place, good)
    try:
        found = sy.run(task_of(), same, name="m", until="decided", theta=0.1, **place)
    except SteelyardError:
        return
    assert found.verdict is not None
    assert found.verdict.design == "clustered" or any("group" in warning for warning in found.verdict.warnings), found.verdict.design


def test_strata(place: dict[str, Any]) -> None:
    task = task_of(strata="level")
    recorded(task, place, good)
    assert judged(task, place, same, theta=0.1).verdict == "pass"
    assert judged(task, place, poor, theta=0.1).verdict == "regression"


@pytest.mark.parametrize("missing", ["drop", "wrong"])
@pytest.mark.parametrize("stopping", [None, "lan-demets"])
def test_failed_items_left_out_or_wrong_are_so_for_check_too(place: dict[str, Any], missing: str, stopping: str | None) -> None:
    def failing(question: str) -> str:
        if int(question) % 50 == 7:
            raise RuntimeError("no luck")
        return same(question)

    recorded(task_of(), place, good)
    options = {"missing": missing, "max_error_rate": 1, "theta": 0.15, "stopping": stopping}
    assert judged(task_of(), place, failing, **options).verdict == "pass"
    late = judged(task_of(), place, failing, **{**options, "theta": 0.001, "every": 399})
    assert late.verdict == ("inconclusive" if missing == "drop" else "regression"), late.conclusion  # eight losses, no gain
    assert late.n == (N - 8 if missing == "drop" else N)


@pytest.mark.parametrize("every", [32, 50, 399, 400])
def test_the_last_items_fail_and_are_left_out(place: dict[str, Any], every: int) -> None:
    """The end of the items is the end, also when nothing was added to them: exhausted, and an estimate all the same."""
    task = task_of()
    recorded(task, place, good)
    last = {int(case.id[1:]) for case in prepare(task).cases[-20:]}

    def failing(question: str) -> str:
        if int(question) in last:
            raise RuntimeError("no luck")
        return same(question)

    found = judged(task, place, failing, theta=0.001, missing="drop", max_error_rate=1, every=every)
    assert found.verdict == "inconclusive"
    assert found.details["stopping"]["decision"] == "exhausted"
    assert found.n == N - 20


def test_failed_items_under_the_budget_end_the_run_that_looks_and_the_same_command_goes_on(place: dict[str, Any], tmp_path: Path) -> None:
    recorded(task_of(), place, good)
    calls: list[str] = []

    def once(question: str) -> str:
        calls.append(question)
        if calls.count(question) == 1 and int(question) % 100 == 7:
            raise RuntimeError("no luck")
        return same(question)

    out = tmp_path / "o.jsonl"
    found, refusals = None, []
    while found is None and len(refusals) < 5:
        try:
            found = sy.run(task_of(), once, name="m", output=out, until="decided", theta=0.1, **place)
        except DataError as told:
            refusals.append(str(told))
    assert refusals
    assert all("missing=" in each for each in refusals)
    assert found is not None
    assert found.verdict is not None
    assert found.verdict.verdict == "pass"
    assert max(calls.count(question) for question in calls) <= 2


def test_fewer_items_than_on_record(place: dict[str, Any]) -> None:
    recorded(task_of(), place, good)
    with pytest.raises(DataError, match="unmatched='drop'"):
        sy.run(task_of(n=200), same, name="m", until="decided", theta=0.1, **place)
    found = sy.run(
        task_of(n=200),
        same,
        name="m",
        until="decided",
        theta=0.1,
        unmatched="drop",
        output=Path(place["directory"]).parent / "few.jsonl",
        **place,
    )
    assert found.verdict is not None
    assert found.verdict.verdict == "pass"
    again = sy.check(Path(place["directory"]).parent / "few.jsonl", task="t", model="m", **place)
    assert again.verdict == "pass"
    whole = sy.run(task_of(n=200), same, name="m", unmatched="drop", **place)
    assert whole.verdict is not None
    assert whole.verdict.n == 200


def test_another_seed_than_on_record_is_judged_by_the_same_items_or_refused(place: dict[str, Any], tmp_path: Path) -> None:
    recorded(task_of(), place, good)
    out = tmp_path / "seed.jsonl"
    found = sy.run(task_of(), same, name="m", until="decided", theta=0.1, seed=7, output=out, **place)
    assert found.verdict is not None
    assert sy.check(out, task="t", model="m", **place).verdict == found.verdict.verdict


def test_margin(place: dict[str, Any]) -> None:
    recorded(task_of(), place, good)
    slightly = wrong_on(lambda x: spread(x) < 0.15 or spread(x, 3) < 0.03)
    found = judged(task_of(), place, slightly, theta=0.25, margin=0.1)
    assert found.margin == 0.1
    assert found.verdict == "pass", found.conclusion
    assert judged(task_of(), place, hopeless, theta=0.25, margin=0.1).verdict == "regression"


def test_less_is_better(place: dict[str, Any]) -> None:
    """error: the share of wrong answers. Whoever is wrong more often is worse."""
    task = task_of(metric="error")
    recorded(task, place, good, metric="error")
    healthy = judged(task, place, same, theta=0.1)
    assert healthy.verdict == "pass"
    assert healthy.higher_is_better is False
    assert healthy.candidate["value"] < 0.5
    assert judged(task, place, hopeless, theta=0.1).verdict == "regression"
    assert judged(task, place, wrong_on(lambda x: False), theta=0.1).verdict == "pass"


def test_less_is_better_between_two_models() -> None:
    task = task_of(metric="error")
    found = sy.run(task, good, hopeless, name=["old", "new"], until="decided", theta=0.1)
    assert found.verdict is not None
    assert found.verdict.verdict == "regression"
    back = sy.run(task, hopeless, good, name=["old", "new"], until="decided", theta=0.1)
    assert back.verdict is not None
    assert back.verdict.verdict == "pass"


def test_less_of_a_score_is_better(place: dict[str, Any]) -> None:
    """A score of the user's own, of which less is better, as the entry says."""
    task = task_of(scorer=None, metric="mean", range=[0, 1])
    task["task"].pop("scorer")

    class Task:
        name, data, input, truth, metric, range = "t", DATA, "{x}", "y", "mean", (0, 1)

        @staticmethod
        def score(answer: str, row: Mapping[str, Any]) -> float:
            return 0.25 if answer == row["y"] else 0.75

    recorded(Task, place, good, higher_is_better=False)
    assert judged(Task, place, same, theta=0.1).verdict == "pass"
    worse = judged(Task, place, hopeless, theta=0.1)
    assert worse.verdict == "regression"
    assert worse.higher_is_better is False


def test_token_f1_stops_by_its_known_range(place: dict[str, Any]) -> None:
    task = task_of(scorer="token-f1")
    recorded(task, place, good)
    found = judged(task, place, same, theta=0.1)
    assert found.verdict == "pass"
    assert found.test == "empirical-likelihood SPRT"
    assert judged(task, place, poor, theta=0.1).verdict == "regression"


def test_wer_is_a_ratio_and_is_not_stopped_early(place: dict[str, Any], tmp_path: Path) -> None:
    task = task_of(scorer="wer")
    found = sy.run(task, good, name="m", output=tmp_path / "w.jsonl")
    assert found.measurement is not None
    wrong = sum(spread(i) < 0.15 for i in range(N))
    assert found.measurement.estimate == pytest.approx(wrong / N)
    with pytest.raises(UsageError):
        sy.run(task, good, poor, name=["a", "b"], until="decided", theta=0.1)
    with pytest.raises(UsageError):
        sy.run(task, good, name="m", until="width=.2")
    both = sy.run(task, good, poor, name=["a", "b"])
    assert both.comparison is not None
    assert both.comparison.difference.estimate > 0.1


def test_a_reference_that_is_a_number_alone(place: dict[str, Any]) -> None:
    recorded(task_of(), place, good, items=False)
    with pytest.raises(UsageError, match="outcomes"):
        sy.run(task_of(), same, name="m", until="decided", theta=0.1, **place)
    found = sy.run(task_of(), hopeless, name="m", **place)
    assert found.verdict is not None
    assert (found.verdict.verdict, found.verdict.design) == ("regression", "unpaired")


def test_a_reference_that_is_a_threshold(place: dict[str, Any]) -> None:
    place["directory"].mkdir()
    (place["directory"] / "t.yaml").write_text("m:\n  - threshold: 0.5\n    metric: accuracy\n")
    found = sy.run(task_of(), hopeless, name="m", **place)
    assert found.verdict is not None
    assert found.verdict.verdict == "regression"
    with pytest.raises(SteelyardError):
        sy.run(task_of(), same, name="m", until="decided", theta=0.1, **place)


def test_theta_of_the_configuration(place: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "steelyard.toml").write_text("[tasks.t]\ntheta = 0.1\nalpha = 0.01\n")
    recorded(task_of(), place, good)
    found = sy.run(task_of(), same, name="m", until="decided", config=tmp_path / "steelyard.toml", **place)
    assert found.verdict is not None
    assert (found.verdict.theta, found.verdict.alpha) == (0.1, 0.01)


def test_the_plan_is_not_changed_after_the_looks(place: dict[str, Any], tmp_path: Path) -> None:
    recorded(task_of(), place, good)
    out = tmp_path / "o.jsonl"
    sy.run(task_of(), poor, name="m", until="decided", theta=0.1, output=out, **place)
    for change in ({"theta": 0.3}, {"alpha": 0.2}, {"beta": 0.01}, {"margin": 0.05}):
        with pytest.raises(UsageError, match=r"The run was planned and stopped with .*; it cannot be checked with"):
            sy.check(out, task="t", model="m", **change, **place)


@pytest.mark.parametrize("planned", ["two models", "another reference", "a reference that was replaced since"])
def test_a_run_is_not_checked_by_a_reference_that_it_was_not_planned_against(place: dict[str, Any], tmp_path: Path, planned: str) -> None:
    """It stopped by other differences than those that would be looked at: neither its alpha nor its estimate hold."""
    recorded(task_of(), place, good)
    out = tmp_path / "o.jsonl"
    if planned == "two models":
        found = sy.run(task_of(), hopeless, same, name=["a", "b"], until="decided", theta=0.1, output=out)
        out = Path(found.models[1].output or "")
    elif planned == "another reference":
        sy.run(task_of(), hopeless, name="z", output=tmp_path / "z.jsonl")
        sy.record(tmp_path / "z.jsonl", task="t", model="z", deterministic=True, **place)
        found = sy.run(task_of(), same, name="z", until="decided", theta=0.1, output=out, **place)
    else:
        found = sy.run(task_of(), poor, name="m", until="decided", theta=0.1, output=out, **place)
        sy.run(task_of(), other, name="m", output=tmp_path / "new.jsonl", against="none")
        sy.record(tmp_path / "new.jsonl", task="t", model="m", deterministic=True, update=True, reason="new", **place)
    assert found.n < N
    with pytest.raises(SteelyardError, match=r"planned|reference"):
        sy.check(out, task="t", model="m", **place)


def test_a_run_that_was_never_narrow_enough_is_complete(place: dict[str, Any], tmp_path: Path) -> None:
    """All items were asked, so nothing was stopped by their answers: `check` has what it needs."""
    recorded(task_of(), place, good)
    out = tmp_path / "w.jsonl"
    found = sy.run(task_of(), same, name="m", until="width=.01", output=out, **place)
    assert found.n == N
    assert sy.check(out, task="t", model="m", **place).verdict == "pass"


def test_rows_in_another_order_or_a_part_of_them_are_no_run_that_stopped(place: dict[str, Any], tmp_path: Path) -> None:
    recorded(task_of(), place, good)
    out = tmp_path / "o.jsonl"
    sy.run(task_of(), poor, name="m", until="decided", theta=0.1, output=out, **place)
    lines = out.read_text().splitlines(keepends=True)
    out.write_text("".join(sorted(lines)))
    with pytest.raises(SteelyardError, match="changed"):
        sy.check(out, task="t", model="m", **place)


def test_a_fixed_interval_of_a_run_that_stopped_is_not_given_without_a_word(place: dict[str, Any], tmp_path: Path) -> None:
    """Never a fixed-n interval after optional stopping: `measure` and `compare` read the rows, and the notes lie beside them."""
    recorded(task_of(), place, good)
    out = tmp_path / "o.jsonl"
    found = sy.run(task_of(), poor, name="m", until="decided", theta=0.1, output=out, **place)
    assert found.n < N
    measured = sy.measure(out, metric="accuracy")
    assert any("stopped" in warning for warning in measured.warnings), measured.warnings


def test_an_interrupted_run_that_looks_comes_to_the_same_verdict(place: dict[str, Any], tmp_path: Path) -> None:
    recorded(task_of(), place, good)
    slightly = wrong_on(lambda x: spread(x) < 0.15 or spread(x, 3) < 0.08)
    undisturbed = sy.run(task_of(), slightly, name="m", until="decided", theta=0.08, output=tmp_path / "a.jsonl", **place)

    class Interrupt:
        def __call__(self, asked: Any) -> None:
            if asked.done == 30:
                raise KeyboardInterrupt

        def ending(self, in_flight: int) -> None:
            pass

    out = tmp_path / "b.jsonl"
    with pytest.raises(KeyboardInterrupt):
        sy.run(task_of(), slightly, name="m", until="decided", theta=0.08, output=out, progress=Interrupt(), **place)
    again = sy.run(task_of(), slightly, name="m", until="decided", theta=0.08, output=out, **place)
    assert again.verdict is not None
    assert undisturbed.verdict is not None
    assert again.verdict.to_dict() == undisturbed.verdict.to_dict()
    plain = [
        [{key: row[key] for key in row if key != "seconds"} for row in map(json.loads, path.read_text().splitlines())]
        for path in (tmp_path / "a.jsonl", out)
    ]
    assert plain[0] == plain[1]


# ---- protocol --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change", [{"input": "{x} "}, {"scorer": "contains"}, {"system": "Be brief."}, {"protocol": {"revision": 2}}, {"shots": 2}], ids=str
)
def test_another_protocol_is_another_question(place: dict[str, Any], change: dict[str, Any]) -> None:
    recorded(task_of(), place, good)
    asked: list[str] = []
    with pytest.raises(SteelyardError, match=r"protocol|prompt|scorer|shots"):
        sy.run(task_of(**change), lambda question: asked.append(question) or "yes", name="m", until="decided", theta=0.1, **place)
    assert not asked


def test_a_changed_truth_is_not_compared_in_silence(place: dict[str, Any]) -> None:
    """The reference pins the items, ids and a hash of their content: another truth under the same id is another item."""
    recorded(task_of(), place, good)
    changed = [{**row, "y": "no" if row["y"] == "yes" else "yes"} for row in DATA]
    with pytest.raises(SteelyardError, match="truth or content"):
        sy.run(task_of(data=changed), same, name="m", **place)


def test_a_changed_question_is_not_compared_in_silence(place: dict[str, Any]) -> None:
    """The same id and truth, but another question: the reference pins a hash of the content of its items."""
    recorded(task_of(), place, good)
    changed = [{**row, "x": row["x"] + 2 * N} for row in DATA]
    try:
        found = sy.run(task_of(data=changed), same, name="m", **place)
    except SteelyardError:
        return
    assert found.verdict is not None
    assert any("content" in warning or "changed" in warning for warning in found.verdict.warnings), (
        found.verdict.verdict,
        found.verdict.warnings,
    )


def test_a_changed_truth_is_told_before_anything_is_asked(place: dict[str, Any]) -> None:
    recorded(task_of(), place, good)
    changed = [{**row, "y": "no" if row["y"] == "yes" else "yes"} for row in DATA]
    asked: list[str] = []
    with pytest.raises(SteelyardError):
        sy.run(task_of(data=changed), lambda question: asked.append(question) or "yes", name="m", **place)
    assert not asked


# ---- two models --------------------------------------------------------------------------------------------------------------


def test_two_models_are_asked_side_by_side() -> None:
    """What changes with time meets both alike: neither is ever far ahead of the other."""
    order: list[str] = []

    def noted(name: str, model: Callable[[str], str]) -> Callable[[str], str]:
        def answer(question: str) -> str:
            order.append(name)
            return model(question)

        return answer

    found = sy.run(task_of(), noted("a", good), noted("b", poor), name=["a", "b"], concurrency=1)
    assert found.comparison is not None
    assert [found.comparison.baseline.name, found.comparison.candidate.name] == ["a", "b"]
    assert len(order) == 2 * N
    ahead = np.cumsum([1 if name == "a" else -1 for name in order])
    assert abs(ahead).max() <= 64


def test_two_models_decided(tmp_path: Path) -> None:
    found = sy.run(task_of(), good, poor, name=["a", "b"], until="decided", theta=0.1, output=tmp_path / "o.jsonl")
    assert found.verdict is not None
    assert found.verdict.verdict == "regression"
    assert [model.name for model in found.models] == ["a", "b"]
    assert found.n < N
    paths = [Path(model.output or "") for model in found.models]
    for path in paths:
        assert len(path.read_text().splitlines()) == found.n
    assert not (tmp_path / "o.jsonl.journal").exists()
    compared = sy.compare(*paths)
    assert compared.difference.estimate == pytest.approx(found.verdict.candidate["value"] - found.verdict.reference["value"])
    twins = sy.run(task_of(), good, same, name=["a", "b"], until="decided", theta=0.1)
    assert twins.verdict is not None
    assert twins.verdict.verdict == "pass"
    json.dumps(twins.to_dict(), allow_nan=False)


def test_two_models_with_repeats_decided() -> None:
    found = sy.run(task_of(), good, poor, name=["a", "b"], until="decided", theta=0.1, repeats=3)
    assert found.verdict is not None
    assert found.verdict.verdict == "regression"
    assert found.verdict.flips is None
    assert found.models[0].counts["n"] == 3 * found.n
    assert found.measurement is not None
    assert found.measurement.interval is not None


def test_two_models_in_percent() -> None:
    found = sy.run(task_of(), good, poor, name=["a", "b"], until="decided", theta=10, scale="percent")
    assert found.verdict is not None
    assert found.verdict.verdict == "regression"
    assert found.verdict.candidate["value"] > 1
    with pytest.raises(SteelyardError):
        sy.run(task_of(), good, poor, name=["a", "b"], until="decided", theta=10)


def test_two_models_of_one_function_are_told_apart() -> None:
    with pytest.raises(UsageError, match=r"Two models have the name 'a'\."):
        sy.run(task_of(), good, good, name=["a", "a"])


@pytest.mark.parametrize("options", [{"against": "m"}, {"spec": {"quant_algo": "FP8"}}], ids=str)
def test_two_models_and_a_reference_are_one_question_too_many(place: dict[str, Any], options: dict[str, Any]) -> None:
    recorded(task_of(), place, good)
    with pytest.raises(UsageError):
        sy.run(task_of(), good, poor, name=["a", "b"], **options, **place)


@pytest.mark.parametrize("missing", ["drop", "wrong"])
def test_two_models_of_which_one_fails_now_and_then(missing: str) -> None:
    def failing(question: str) -> str:
        if int(question) % 50 == 7:
            raise RuntimeError("no luck")
        return same(question)

    found = sy.run(task_of(), good, failing, name=["a", "b"], until="decided", theta=0.15, missing=missing, max_error_rate=0.5)
    assert found.verdict is not None
    assert found.verdict.verdict == "pass"
    whole = sy.run(task_of(), good, failing, name=["a", "b"], missing=missing, max_error_rate=0.5)
    assert whole.comparison is not None


def test_two_models_until_a_width_are_compared_or_refused() -> None:
    """Whose width? Two models that end without a comparison and without a verdict have answered nothing."""
    try:
        found = sy.run(task_of(), good, poor, name=["a", "b"], until="width=.3")
    except UsageError:
        return
    assert found.comparison is not None or found.verdict is not None


# ---- what cannot be measured -----------------------------------------------------------------------------------------------


@every("metric", ["auc", "brier", "mae", "rmse", "pass@2", "f1", "precision", "perplexity"])
def test_a_metric_that_the_task_cannot_give_is_told_before_anything_is_asked(metric: str) -> None:
    asked: list[str] = []
    with pytest.raises(SteelyardError):
        sy.run(task_of(metric=metric), lambda question: asked.append(question) or "yes", name="m")
    assert not asked


@pytest.mark.parametrize("metric", ["macro_f1", "kappa", "pass@2", "error"])
def test_a_width_is_that_of_the_metric(metric: str) -> None:
    """The sequence is one of means of scores; around any other number it is an interval of something else."""
    try:
        found = sy.run(task_of(metric=metric), good, name="m", until="width=.25", repeats=2)
    except UsageError:
        return
    assert metric == "error", "the confidence sequence of the mean score was put around another metric"
    assert found.measurement is not None
    interval = found.measurement.interval
    assert interval is not None
    assert interval.low is not None
    assert interval.high is not None
    assert interval.low <= (found.measurement.estimate or 0.0) <= interval.high


def test_an_output_that_is_a_directory_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    asked: list[str] = []
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(SteelyardError):
        sy.run(task_of(), lambda question: asked.append(question) or "yes", name="m", output=folder)
    assert not asked


@pytest.mark.parametrize(
    "options",
    [
        {"missing": "skip"},
        {"prices": {"input": 1}},
        {"prices": {"input": -1, "output": 1}},
        {"max_error_rate": 2},
    ],
    ids=str,
)
def test_a_bad_option_is_told_before_anything_is_asked(options: dict[str, Any]) -> None:
    asked: list[str] = []
    with pytest.raises(SteelyardError):
        sy.run(task_of(), lambda question: asked.append(question) or "yes", **{"name": "m", **options})
    assert not asked


# ---- repeats -----------------------------------------------------------------------------------------------------------------


def test_repeats_against_a_reference(place: dict[str, Any]) -> None:
    recorded(task_of(), place, good)
    found = judged(task_of(), place, same, theta=0.1, repeats=3)
    assert found.verdict == "pass"
    assert found.test == "empirical-likelihood SPRT"
    assert judged(task_of(), place, poor, theta=0.1, repeats=2).verdict == "regression"


def test_repeats_with_failures_and_a_width() -> None:
    """Three answers an item, some of them errors that are left out: items differ in how many answers they have."""
    calls: list[str] = []

    def failing(question: str) -> str:
        calls.append(question)
        if int(question) % 40 == 7 and calls.count(question) == 2:
            raise RuntimeError("no luck")
        return same(question)

    found = sy.run(task_of(), failing, name="m", repeats=3, until="width=.15", missing="drop", max_error_rate=0.5)
    assert found.measurement is not None
    interval = found.measurement.interval
    assert interval is not None
    assert interval.low is not None
    assert interval.high is not None
    assert interval.low < (found.measurement.estimate or 0) < interval.high


# ---- models ------------------------------------------------------------------------------------------------------------------


def test_an_estimator_without_classes() -> None:
    class Threshold:
        def predict(self, table: Any) -> Any:
            return np.where(np.asarray(table, float)[:, 0] % 2 == 1, "yes", "no")

    found = sy.run(task_of(input=["x"]), Threshold(), name="m")
    assert found.measurement is not None
    assert found.measurement.estimate == 1


def test_an_estimator_that_is_not_fitted_is_told() -> None:
    from sklearn.linear_model import LogisticRegression

    with pytest.raises(DataError, match="NotFittedError"):
        sy.run(task_of(input=["x"]), LogisticRegression(), name="m")


def test_labels_that_are_numbers_match_truths_that_are_numbers() -> None:
    from sklearn.tree import DecisionTreeClassifier

    data = [{"id": i, "x": i, "y": i % 2} for i in range(60)]
    model = DecisionTreeClassifier(random_state=0).fit([[row["x"]] for row in data], [row["y"] for row in data])
    found = sy.run(task_of(data=data, input=["x"]), model, name="m")
    assert found.measurement is not None
    assert found.measurement.estimate == 1


@every(
    "value", [True, 3, 2.5, np.float32(2.5), np.int64(3), np.str_("yes"), ["yes"], {"said": "yes"}, ("yes",), np.array(["yes"])], ids=repr
)
def test_what_a_function_may_return(value: Any) -> None:
    found = sy.run(task_of(data=DATA[:40]), lambda question: value, name="m", max_error_rate=1, missing="wrong")
    json.dumps(found.to_dict(), allow_nan=False)
    assert found.models[0].counts["n"] == 40


def test_an_interrupt_keeps_what_was_answered(tmp_path: Path) -> None:
    out, calls = tmp_path / "o.jsonl", []

    def stopping(question: str) -> str:
        calls.append(question)
        return good(question)

    class Interrupt:
        def __call__(self, asked: Any) -> None:
            if asked.done == 50:
                raise KeyboardInterrupt

        def ending(self, in_flight: int) -> None:
            pass

    with pytest.raises(KeyboardInterrupt):
        sy.run(task_of(), stopping, name="m", output=out, progress=Interrupt())
    assert not out.exists()
    first = len(calls)
    sy.run(task_of(), stopping, name="m", output=out)
    assert len(calls) == N
    assert 50 <= first < N


# ---- the error rates -----------------------------------------------------------------------------------------------------------


def test_a_rate_that_rose_is_red_in_a_suite_too(place: dict[str, Any], tmp_path: Path) -> None:
    """The suite corrects p-values; the p-value of the metric says nothing of the rate that made the guard red."""

    def cut(question: str) -> dict[str, Any]:
        return {"said": same(question), "finish": "length" if int(question) % 3 == 0 else "stop"}

    recorded(task_of(), place, good)
    sy.run(task_of(), cut, name="m", output=tmp_path / "cut.jsonl", against="none")
    assert sy.check(tmp_path / "cut.jsonl", task="t", model="m", **place).verdict == "regression"
    suite = tmp_path / "suite.toml"
    suite.write_text('[[checks]]\ntask = "t"\nmodel = "m"\nresult = "cut.jsonl"\n')
    assert sy.check_suite(suite, **place).verdict == "regression"


def test_rates_in_percent_of_a_stopped_run_are_those_of_check(place: dict[str, Any]) -> None:
    def cut(question: str) -> dict[str, Any]:
        return {"said": same(question), "finish": "length" if int(question) % 3 == 0 else "stop"}

    recorded(task_of(), place, good)
    found = judged(task_of(), place, cut, theta=0.1)
    assert found.verdict == "regression"
    assert "truncated" in found.conclusion


# ---- calibration -------------------------------------------------------------------------------------------------------------------

MANY, FEW = 300, 40


def simulated(runs: int, drop: float, seed: int, **options: Any) -> tuple[float, float, float]:
    """Shares of regressions and passes, and the mean share of items asked, over runs of a noisy model against a noisy twin.

    Each item is right with probability .85 in either run, independently: 25.5% of the items disagree. The drop is taken
    off the candidate's.
    """
    rng = np.random.default_rng(seed)
    n = 300
    task = task_of(data=DATA[:n])
    red = green = used = 0.0
    for _ in range(runs):
        was, now = rng.random(n) < 0.85, rng.random(n) < 0.85 - drop
        pair = [wrong_on(lambda x, right=right: not right[x]) for right in (was, now)]  # type: ignore[misc]
        found = sy.run(task, *pair, name=["a", "b"], until="decided", concurrency=1, **options)
        assert found.verdict is not None
        red += found.verdict.verdict == "regression"
        green += found.verdict.verdict == "pass"
        used += found.n / n
    return red / runs, green / runs, used / runs


def at_most(share: float, runs: int) -> float:
    return share + 4 * math.sqrt(share * (1 - share) / runs)


@pytest.mark.long
@pytest.mark.parametrize("runs", [FEW, pytest.param(MANY, marks=pytest.mark.long)])
@pytest.mark.parametrize("stopping", [None, pytest.param("lan-demets", marks=pytest.mark.long)])
def test_false_alarms_are_no_more_than_alpha(runs: int, stopping: str | None) -> None:
    red, _, used = simulated(runs, 0.0, 1, theta=0.1, stopping=stopping)
    assert red <= at_most(0.05, runs), (red, used)


@pytest.mark.long
@pytest.mark.parametrize("runs", [FEW, pytest.param(MANY, marks=pytest.mark.long)])
def test_a_drop_of_theta_is_found(runs: int) -> None:
    """With 36% disagreement under the drop, .15 needs fewer than the 300 items there are, so power is that of the plan."""
    red, green, used = simulated(runs, 0.15, 2, theta=0.15)
    assert red >= (0.75 if runs == MANY else 1 - at_most(0.25, runs)), (red, used)
    assert green <= at_most(0.2, runs), (green, used)


def test_a_crash_is_not_worth_0_where_scores_on_record_go_below_0(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the range says what the worst score is; a run until decided asks for it before the first question."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("below_zero.py").write_text(
        "asked = []\n"
        "def score(answer, truth):\n    return float(answer)\n"
        "def before(question):\n    return str(int(question) % 6 - 4)\n"
        "def after(question):\n    asked.append(question)\n    return str(int(question) % 6 - 4) if int(question) % 6 > 3 else 1 / 0\n"
    )
    Path("d.jsonl").write_text("".join(f'{{"id": "{i}", "q": "{i}", "y": ""}}\n' for i in range(120)))
    task = '[task]\nname = "t"\ndata = "d.jsonl"\ninput = "{q}"\ntruth = "y"\nscorer = "below_zero:score"\nmetric = "mean"\n'
    Path("t.toml").write_text(task)
    sy.run("t.toml", "python:below_zero:before", name="m", output="ref.jsonl")
    sy.record("ref.jsonl", task="t", model="m")
    asked: dict[str, Any] = {"against": "m", "until": "decided", "theta": 0.5, "missing": "wrong", "max_error_rate": 0.9}
    with pytest.raises(DataError, match="missing score cannot count as wrong") as told:
        sy.run("t.toml", "python:below_zero:after", **asked)
    assert "range = [LOW, HIGH] in the task" in str(told.value)
    assert not __import__("below_zero").asked
    Path("t.toml").write_text(task + "range = [-4, 1]\n")
    found = sy.run("t.toml", "python:below_zero:after", **asked).verdict
    assert found is not None
    assert found.verdict == "regression"
