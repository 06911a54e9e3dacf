"""A suite that is run until it is decided: one rule for all tasks, killed and resumed, limited, checked again from its rows."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.cli.main import main
from steelyard.errors import DataError, SteelyardError, UsageError

N = 400
TASKS = ("alpha", "beta", "gamma")
MODEL = """
calls = []
wrong = {wrong}
def answer(question):
    calls.append(question)
    name, number = question.split()
    if {fails}:
        raise RuntimeError("down")
    return "no" if int(number) % wrong[name] == 0 else "yes"
"""


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three tasks with references that have nine of ten right."""
    home = tmp_path_factory.mktemp("made")
    with contextlib.chdir(home):
        make_references()
    return home


@pytest.fixture
def place(tmp_path: Path, made_once: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(made_once, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def make_references() -> None:
    for name in TASKS:
        rows = [{"id": f"{name}-{i}", "q": f"{name} {i}", "y": "yes"} for i in range(N)]
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        Path(f"{name}.toml").write_text(f'[task]\nname = "{name}"\ndata = "{name}.jsonl"\ninput = "{{q}}"\ntruth = "y"\nscorer = "exact"\n')
        sy.run(f"{name}.toml", lambda question: "no" if int(question.split()[1]) % 10 == 0 else "yes", name="m", output="ref.jsonl")
        sy.record("ref.jsonl", task=name, model="m", deterministic=True)
        Path("ref.jsonl").unlink()
        Path("ref.jsonl.run").unlink()


@pytest.fixture
def model(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """A module `candidate` with a model that is wrong as told; gives the module."""
    import importlib

    def made(fails: str = "False", **wrong: int) -> Any:
        Path("candidate.py").write_text(MODEL.format(wrong=dict.fromkeys(TASKS, 10) | wrong, fails=fails))
        sys.modules.pop("candidate", None)
        importlib.invalidate_caches()
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        return importlib.import_module("candidate")

    return made


def suite(head: str = "", check: str = "", run: str = "", tasks: tuple[str, ...] = TASKS) -> str:
    checks = "".join(
        f'[[checks]]\ntask = "{name}"\nmodel = "m"\ntheta = 0.05\n{check}\n'
        f'run = {{task = "{name}.toml", model = "python:candidate:answer", output = "{name}.out.jsonl", concurrency = 1{run}}}\n'
        for name in tasks
    )
    Path("suite.toml").write_text(f"[suite]\n{head}\n{checks}")
    return "suite.toml"


def test_a_healthy_suite_passes_with_few_calls(place: Path, model: Callable[..., Any]) -> None:
    asked = model().calls
    found = sy.run_suite(suite(), until="decided")
    assert found.verdict == "pass"
    assert found.exit_code == 0
    facts = found.stopping
    assert facts is not None
    assert len(asked) == facts["calls"] == facts["calls_available"] - facts["calls_saved"] < N * 3 / 2
    assert [task["alpha"] for task in facts["tasks"]] == [pytest.approx(0.05 / 6)] * 3
    assert all(task["lambda"] >= task["needed"] for task in facts["tasks"])
    assert found.correction == "sequential"
    assert f"{len(asked):,} of 1,200 calls" in found.conclusion
    assert "all tasks together: no drop shown" in str(found)
    assert type(found).from_dict(json.loads(json.dumps(found.to_dict()))).to_dict() == found.to_dict()
    assert not list(Path().glob("*.journal"))


def test_a_suite_of_one_task_speaks_of_one(place: Path, model: Callable[..., Any]) -> None:
    model()
    found = sy.run_suite(suite(tasks=TASKS[:1]), until="decided")
    assert found.conclusion.startswith("The only task rules out a drop of its theta")


def test_one_task_that_dropped_is_named_and_ends_it(place: Path, model: Callable[..., Any]) -> None:
    asked = model(beta=4).calls
    found = sy.run_suite(suite(), until="decided")
    assert found.verdict == "regression"
    assert found.stopping is not None
    assert found.stopping["named"] == ("beta m",) or found.stopping["pooled"]["worse"]
    every = sy.run_suite(suite(), until="decided", stop="all")
    assert every.verdict == "regression"
    assert [verdict.verdict for verdict in every.verdicts] == ["pass", "regression", "pass"]
    assert found.stopping["calls"] <= every.stopping["calls"] if every.stopping else False
    assert len(asked) == found.stopping["calls"] + (every.stopping or {})["calls"]


def test_what_was_left_open_says_so_and_check_comes_to_the_same(place: Path, model: Callable[..., Any]) -> None:
    model(alpha=3)
    found = sy.run_suite(suite(), until="decided")
    assert found.verdict == "regression"
    for verdict in found.verdicts:
        if not verdict.n:
            continue
        again = sy.check(f"{verdict.task}.out.jsonl", task=verdict.task, model="m")
        assert again.verdict == verdict.verdict
        assert again.conclusion == verdict.conclusion
        assert again.alpha == pytest.approx(0.05 / 6)
    assert any("the suite was decided first" in verdict.conclusion for verdict in found.verdicts)
    notes = json.loads(Path("alpha.out.jsonl.run").read_text())
    assert notes["stopping"]["suite"]["tasks"] == 3
    with pytest.raises(SteelyardError, match="not complete"):
        sy.record("alpha.out.jsonl", task="alpha", model="other")


def test_all_a_little_worse_is_found_together(place: Path, model: Callable[..., Any]) -> None:
    model(alpha=6, beta=6, gamma=6)
    found = sy.run_suite(suite(), until="decided")
    assert found.verdict == "regression"
    if not (found.stopping or {})["named"]:
        assert "some task dropped, but it is not clear which" in found.conclusion


def test_a_limit_ends_the_suite_and_a_higher_one_goes_on(place: Path, model: Callable[..., Any]) -> None:
    asked = model().calls
    straight = sy.run_suite(suite(), until="decided")
    used = len(asked)
    asked.clear()
    for limit in (1, 40, 100):
        found = sy.run_suite(suite(), until="decided", max_calls=limit)
        assert found.verdict == "inconclusive"
        assert found.exit_code == 2
        assert len(asked) == limit
        assert f"limit of {limit} call" in found.conclusion
        assert str(found)
        assert [verdict.verdict for verdict in found.verdicts].count("regression") == 0
    found = sy.run_suite(suite(), until="decided")
    assert len(asked) == used
    assert found.stopping == straight.stopping
    assert len(set(asked)) == len(asked)


def test_a_killed_suite_goes_on_at_the_same_look(place: Path, model: Callable[..., Any]) -> None:
    asked = model(fails='len(calls) == int(__import__("os").environ.get("KILL_AT", "0")) and __import__("os")._exit(9)').calls
    straight = sy.run_suite(suite(), until="decided")
    used = len(asked)
    for _ in range(2):
        env = {**os.environ, "KILL_AT": "70", "PYTHONPATH": str(place)}
        killed = subprocess.run(
            [sys.executable, "-m", "steelyard", "run", "--suite", "suite.toml", "--until", "decided"], env=env, capture_output=True
        )
        assert killed.returncode == 9, killed.stderr
    asked.clear()
    found = sy.run_suite(suite(), until="decided")
    assert found.stopping == straight.stopping
    assert len(asked) == used - 2 * 69
    assert not list(Path().glob("*.journal"))


def test_what_is_known_beforehand_is_said_once_with_its_tasks(
    place: Path, model: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    model()
    with pytest.raises(SystemExit):
        main(["run", "--suite", suite(check="margin = 0.02"), "--until", "decided", "--max-calls", "1"])
    said = [line for line in capsys.readouterr().err.splitlines() if "often ends undecided" in line]
    assert len(said) == 1
    assert said[0].startswith("before the first question of alpha, beta, gamma: with fewer than about")


def test_a_correction_that_is_not_used_is_told(place: Path, model: Callable[..., Any]) -> None:
    model()
    found = sy.run_suite(suite('correction = "holm"'), until="decided", max_calls=1)
    assert any("correction = 'holm' is not used" in warning for warning in found.warnings)
    assert not sy.run_suite(suite('correction = "pooled"'), until="decided", max_calls=1).warnings


def test_a_resumed_suite_with_another_alpha_is_refused(place: Path, model: Callable[..., Any]) -> None:
    model()
    sy.run_suite(suite(), until="decided", max_calls=50)
    with pytest.raises(UsageError, match="begun with other settings"):
        sy.run_suite(suite("alpha = 0.01"), until="decided")
    with pytest.raises(UsageError, match="begun with other settings"):
        sy.run_suite(suite(tasks=TASKS[:2]), until="decided")


def test_a_model_that_is_down_ends_the_suite_as_an_error(place: Path, model: Callable[..., Any]) -> None:
    model(fails='name == "beta"')
    with pytest.raises(DataError, match=r"Too many errors|no answer"):
        sy.run_suite(suite(), until="decided")
    assert Path("alpha.out.jsonl.journal").exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"check": 'tier = "advisory"'}, "is advisory"),
        ({"check": 'waiver = {reason = "x", until = 2999-01-01}'}, "has a waiver"),
        ({"check": "alpha = 0.01"}, "alpha of its own"),
        ({"run": ", max_calls = 5"}, "max_calls"),
        ({"run": ", n = 5"}, "has n in"),
    ],
)
def test_what_does_not_fit_is_refused_before_the_first_question(
    place: Path, model: Callable[..., Any], given: dict[str, str], said: str
) -> None:
    asked = model().calls
    with pytest.raises(UsageError, match=said):
        sy.run_suite(suite(**given), until="decided")
    assert not asked


def test_what_no_suite_does_is_refused_before_the_first_question(place: Path, model: Callable[..., Any]) -> None:
    asked = model().calls
    with pytest.raises(UsageError, match="decided"):
        sy.run_suite(suite(), max_calls=5)
    with pytest.raises(UsageError, match="A whole suite stops with until='decided' alone"):
        sy.run_suite(suite('budget = {series = "s"}'), max_calls=5)
    with pytest.raises(UsageError, match="stop must be first or all, not 'never'"):
        sy.run_suite(suite(), until="decided", stop="never")
    with pytest.raises(SteelyardError, match="asks the same as check"):
        sy.run_suite(suite(tasks=("alpha", "alpha")), until="decided")
    with pytest.raises(UsageError, match=r"'alpha' says no prices.* prices = \{input = 0\.15, output = 0\.6\} in its table `run`"):
        sy.run_suite(suite(), until="decided", max_cost=1)
    with pytest.raises(UsageError, match=r"'alpha' says no prices"):
        sy.run_suite(suite(run=", max_cost = 1"))
    with pytest.raises(UsageError, match=r"'alpha' runs its model, and such a check cannot have 'by'.* check that file with by"):
        sy.run_suite(suite(check='by = "language"'))
    with pytest.raises(UsageError, match=r"cannot have 'metric'.* the task file says it"):
        sy.run_suite(suite(check='metric = "accuracy"'), until="decided")
    assert not asked


def test_a_task_of_three_items_is_no_pass(place: Path, model: Callable[..., Any]) -> None:
    rows = [{"id": f"d{i}", "q": f"alpha {i}", "y": "yes"} for i in range(1, 4)]
    Path("delta.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("delta.toml").write_text('[task]\nname = "delta"\ndata = "delta.jsonl"\ninput = "{q}"\ntruth = "y"\nscorer = "exact"\n')
    module = model()
    sy.run("delta.toml", module.answer, name="m", output="ref.jsonl")
    sy.record("ref.jsonl", task="delta", model="m", deterministic=True)
    found = sy.run_suite(suite(tasks=("alpha", "delta")), until="decided")
    assert found.verdict == "inconclusive"
    assert "delta m ran out of items" in found.conclusion
    assert [verdict.verdict for verdict in found.verdicts] == ["pass", "inconclusive"]


def test_groups_stay_out_of_the_heap(place: Path, model: Callable[..., Any]) -> None:
    rows = [{"id": f"g{i}", "q": f"alpha {i}", "y": "yes", "topic": f"t{i // 4}"} for i in range(N)]
    Path("grouped.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("grouped.toml").write_text(
        '[task]\nname = "grouped"\ndata = "grouped.jsonl"\ninput = "{q}"\ntruth = "y"\nscorer = "exact"\n'
        'group = "topic"\nwhole_groups = true\n'
    )
    module = model()
    sy.run("grouped.toml", module.answer, name="m", output="ref.jsonl")
    sy.record("ref.jsonl", task="grouped", model="m", deterministic=True, group="group")
    found = sy.run_suite(suite(tasks=("alpha", "grouped")), until="decided")
    assert found.verdict in ("pass", "inconclusive")
    assert found.stopping is not None
    assert found.stopping["pooled"] is None
    again = sy.check("grouped.out.jsonl", task="grouped", model="m")
    assert again.verdict == found.verdicts[1].verdict


def test_the_command_and_that_check_suite_does_not_pool_what_stopped_early(
    place: Path, model: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    model()

    def code_of(*words: str) -> Any:
        with pytest.raises(SystemExit) as stop:
            main(list(words))
        return stop.value.code

    assert code_of("run", "--suite", suite(), "--until", "decided", "--stop", "all", "--format", "json") == 0
    plain = json.loads(capsys.readouterr().out)
    assert plain["stopping"]["rule"]["stop"] == "all"
    assert code_of("run", "--suite", suite(), "--stop", "all") == 3
    assert code_of("run", "--suite", suite(), "--until", "decided", "--max-calls", "20") == 2
    assert "limit of 20 calls" in capsys.readouterr().out
    assert code_of("run", "alpha.toml", "--model", "python:candidate:answer", "--stop", "all") == 3
    for path in Path().glob("*.journal"):
        path.unlink()
    sy.run_suite(suite(), until="decided")
    Path("results.toml").write_text("".join(f'[[checks]]\ntask = "{name}"\nmodel = "m"\nresult = "{name}.out.jsonl"\n' for name in TASKS))
    found = sy.check_suite("results.toml")
    assert found.verdict == "pass"
    assert found.pooled is not None
    assert found.pooled.m == 0
    assert sum("not pooled" in words for words in found.warnings) == 3


# ---- nights, directions and metrics ----------------------------------------------------------------------------------------


def test_a_suite_with_a_budget_runs_until_decided_if_it_is_no_night(place: Path, model: Callable[..., Any]) -> None:
    model()
    suite('budget = {series = "main", false_alarms_per_year = 1, runs_per_year = 365}')
    with pytest.raises(UsageError, match="cannot be a night"):
        sy.run_suite("suite.toml", until="decided")
    with pytest.raises(UsageError, match="cannot be a night"):
        sy.run_suite("suite.toml", until="decided", series="other")
    assert sy.run_suite("suite.toml", until="decided", series="none").verdict == "pass"
    with pytest.raises(SystemExit) as end:
        main(["run", "--suite", "suite.toml", "--until", "decided", "--series", "none", "--quiet"])
    assert end.value.code == 0


@pytest.mark.parametrize("given", [{"night": "tonight"}, {"series": "main"}])
def test_a_night_of_a_suite_without_a_budget_is_refused_until_decided_too(
    place: Path, model: Callable[..., Any], given: dict[str, str]
) -> None:
    model()
    suite()
    with pytest.raises(UsageError, match="no budget"):
        sy.run_suite("suite.toml", until="decided", **given)  # type: ignore[arg-type]


def test_every_task_has_its_own_direction(place: Path, model: Callable[..., Any]) -> None:
    """A task of errors beside one of right answers, one of them not asked at all."""
    model()
    first = (place / "alpha.toml").read_text()
    (place / "alpha.toml").write_text(first + 'metric = "error"\n')
    sy.run("alpha.toml", "python:candidate:answer", name="m", output="e.jsonl", against="none")
    with pytest.raises(UsageError, match=r"measured by 'error', but the entry that it would replace is of 'accuracy'"):
        sy.record("e.jsonl", task="alpha", model="m", update=True, reason="another metric")
    sy.record("e.jsonl", task="alpha", model="m", metric="error", update=True, reason="another metric", deterministic=True)
    suite(tasks=("beta", "alpha"))
    found = sy.run_suite("suite.toml", until="decided")
    assert "rules out a loss of its theta" in found.conclusion
    stopped = sy.run_suite("suite.toml", until="decided", max_calls=1)
    assert [(each.task, each.metric, each.higher_is_better) for each in stopped.verdicts] == [
        ("beta", "accuracy", True),
        ("alpha", "error", False),
    ]
    assert "the limit of 1 call was reached" in stopped.conclusion


@pytest.mark.parametrize("until", ["decided", None])
@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("suite.toml", r"Check 1 \(alpha\) would overwrite the suite file"),
        ("beta.jsonl", r"Check 1 \(alpha\) would overwrite a file that is read, '.*beta\.jsonl'"),
        ("beta.toml", r"Check 1 \(alpha\) would overwrite a file that is read"),
        ("steelyard.toml", r"Check 1 \(alpha\) would overwrite a file that is read"),
        ("beta.out.jsonl", r"Check 1 \(alpha\) and Check 2 \(beta\) would both write"),
    ],
)
def test_rows_of_a_check_are_written_over_nothing_that_the_suite_needs(
    place: Path, model: Callable[..., Any], output: str, words: str, until: str | None
) -> None:
    asked = model().calls
    (place / "steelyard.toml").write_text("[tasks.alpha]\n")
    suite(tasks=("alpha", "beta"))
    file = place / "suite.toml"
    file.write_text(file.read_text().replace("alpha.out.jsonl", output))
    before = {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()}
    with pytest.raises(UsageError, match=words):
        sy.run_suite("suite.toml", until=until)
    assert {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()} == before
    assert not asked


@pytest.mark.parametrize("until", ["decided", None])
def test_a_refusal_of_one_check_says_which_and_names_its_keys(place: Path, model: Callable[..., Any], until: str | None) -> None:
    model(fails="name == 'beta' and int(number) % 40 == 3")
    suite(tasks=("alpha", "beta"), run=", max_error_rate = 0.5")
    with pytest.raises(DataError, match=r"^Check of 'beta': .*missing = \"drop\"") as told:
        sy.run_suite("suite.toml", until=until)
    assert "missing='" not in str(told.value)


@pytest.mark.parametrize(("missing", "done"), [("drop", "were left out"), ("wrong", "count as wrong")])
def test_a_verdict_says_what_became_of_items_without_an_answer(place: Path, model: Callable[..., Any], missing: str, done: str) -> None:
    """As `check` of the same rows says it."""
    model(fails="int(number) % 40 == 3")
    suite(tasks=("alpha",), check=f'missing = "{missing}"', run=", max_error_rate = 0.5")
    [verdict] = sy.run_suite("suite.toml", until="decided").verdicts
    gone, rows = ([json.loads(line)["score"] is None for line in Path("alpha.out.jsonl").read_text().splitlines()] for _ in "ab")
    assert f"{sum(gone)} of {len(rows)} items without a score {done} (missing='{missing}')" in verdict.warnings
    again = sy.check("alpha.out.jsonl", task="alpha", model="m", theta=0.05, missing=missing)
    assert any(f"{sum(gone)} of" in each and done in each for each in again.warnings)
