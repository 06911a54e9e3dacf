"""Runs that stop by a range of scores: where the range comes from, scores outside it, looks that are noted, and runs of 0.1.0."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard_old as sy
from cases import every
from steelyard_old.cli.main import main
from steelyard_old.errors import DataError, UsageError
from steelyard_old.estimate.guard.sequential import StoppingPlan
from steelyard_old.questions.run.task import prepare

N = 300
DATA = [{"id": f"q{i}", "x": i, "y": "yes"} for i in range(N)]


def scored(**more: Any) -> Any:
    """A task whose scorer reads the score from the answer."""

    def score(answer: str, row: Mapping[str, Any]) -> float:
        return float(answer)

    body = {"name": "t", "data": DATA, "input": "{x}", "truth": "y", "metric": "mean", "score": staticmethod(score), **more}
    return type("Task", (), body)


def said(values: Mapping[int, float] | None = None, level: float = 0.5, spread: float = 0.4) -> Any:
    """A model that answers with scores around a level; some are given."""

    def answer(question: str) -> str:
        x = int(question)
        return str((values or {}).get(x, level + spread * (np.random.default_rng(x).random() - 0.5)))

    return answer


@pytest.fixture
def place(tmp_path: Path) -> dict[str, Any]:
    return {"directory": tmp_path / "references"}


def yes(question: str) -> str:
    return "yes"


@pytest.fixture(scope="module")
def all_right(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reference that has every item right, made once."""
    place = {"directory": tmp_path_factory.mktemp("right") / "references"}
    recorded(RIGHT, place, yes)
    return place["directory"]


@pytest.fixture
def right(place: dict[str, Any], all_right: Path) -> dict[str, Any]:
    shutil.copytree(all_right, place["directory"])
    return place


def recorded(task: Any, place: Mapping[str, Any], *models: Any) -> None:
    outs = []
    for number, model in enumerate(models):
        out = Path(place["directory"]).parent / f"reference{number}.jsonl"
        sy.run(task, model, name="m", output=out, against="none")
        outs.append(out)
    sy.record(*outs, task="t", model="m", deterministic=len(models) == 1, **place)


def run(task: Any, place: Mapping[str, Any], model: Any, **options: Any) -> tuple[sy.Verdict, Path]:
    out = Path(place["directory"]).parent / "now.jsonl"
    found = sy.run(task, model, name="m", output=out, until="decided", **place, **{"theta": 0.1, **options})
    assert found.verdict is not None
    assert str(found)
    return found.verdict, out


# ---- the range ---------------------------------------------------------------------------------------------------------------


def test_the_range_of_the_task_comes_first(place: dict[str, Any]) -> None:
    task = scored(range=(-1, 2))
    recorded(task, place, said())
    found, _ = run(task, place, said())
    facts = found.details["stopping"]
    assert (facts["plan"]["score_range"], facts["plan"]["range_from"]) == ([-1.0, 2.0], "task")
    assert facts["rule"]["range"] == [-1.0, 2.0]
    assert "range:-1,2" in found.signature
    assert "stopping:empirical-likelihood|step:32" in found.signature


def test_else_that_of_the_scorer(place: dict[str, Any]) -> None:
    task = {"task": {"name": "t", "data": DATA, "input": "{x}", "truth": "y", "scorer": "token-f1"}}
    recorded(task, place, yes)
    found, _ = run(task, place, yes)
    assert found.verdict == "pass"
    assert found.details["stopping"]["plan"]["range_from"] == "scorer"


def test_else_the_lowest_and_the_highest_score_on_record_and_it_is_printed(place: dict[str, Any]) -> None:
    task = scored()
    recorded(task, place, said({7: -3.0, 8: 5.0}))
    found, _ = run(task, place, said({7: -3.0, 8: 5.0}), theta=0.5)
    facts = found.details["stopping"]
    assert (facts["plan"]["score_range"], facts["plan"]["range_from"]) == ([-3.0, 5.0], "record")
    assert any("-3 to 5 is taken, the lowest and the highest on record" in words for words in found.warnings)
    assert "-3 to 5" in str(found)
    assert found.test == "empirical-likelihood SPRT"


def test_several_stored_answers_have_the_range_of_single_ones(place: dict[str, Any]) -> None:
    task = scored()
    recorded(task, place, said({3: 0.0}), said({3: 4.0}))
    found, _ = run(task, place, said(), theta=0.5)
    assert found.details["stopping"]["plan"]["score_range"] == [0.0, 4.0]


def test_without_any_range_the_weaker_rule_says_so(place: dict[str, Any]) -> None:
    task = scored()
    recorded(task, place, said(spread=0.0))
    found, _ = run(task, place, said(spread=0.0))
    assert found.test == "Lan-DeMets group-sequential"
    assert any("no range of scores is known" in words for words in found.warnings)


# ---- a score outside ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("declared", "stopping"), [((0, 1), "empirical-likelihood"), (None, "e-process")])
def test_a_score_outside_ends_the_run_undecided_with_its_rows(
    place: dict[str, Any], declared: tuple[int, int] | None, stopping: str
) -> None:
    """The worst regression there can be must not hide behind a refusal: rows are kept, the item is named, the exit code is 2."""
    task = scored(**({} if declared is None else {"range": declared}))
    recorded(task, place, said())
    asked: list[str] = []

    def broken(question: str) -> str:
        asked.append(question)
        return "-50" if len(asked) == 20 else str(said()(question))

    out = Path(place["directory"]).parent / "now.jsonl"
    whole = sy.run(task, broken, name="m", output=out, until="decided", theta=0.05, stopping=stopping, concurrency=1, **place)
    found = whole.verdict
    assert found is not None
    assert found.verdict == "inconclusive"
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    worst = min(rows, key=lambda row: row["score"])
    assert worst["score"] == -50
    assert repr(worst["id"]) in found.conclusion
    assert found.details["stopping"]["outside"]["item"] == worst["id"]
    assert found.details["stopping"]["decision"] == "outside"
    assert found.p_value is None
    assert found.difference["lower"] is None
    assert found.needed is not None
    assert "range = [LOW, HIGH]" in found.needed["why"]
    assert whole.measurement is not None
    assert whole.measurement.interval is None
    again = sy.check(out, task="t", model="m", **place)
    assert again.verdict == "inconclusive"
    assert again.details["stopping"]["outside"] == found.details["stopping"]["outside"]


# ---- looks -------------------------------------------------------------------------------------------------------------------

RIGHT = {"task": {"name": "t", "data": DATA, "input": "{x}", "truth": "y", "scorer": "exact"}}


@pytest.mark.parametrize("every", [1, 7, 32, 64])
def test_every_batch_is_judged_and_checked_alike(right: dict[str, Any], every: int) -> None:
    for model, verdict in ((yes, "pass"), (lambda question: "no" if int(question) % 4 == 0 else "yes", "regression")):
        found, out = run(RIGHT, right, model, every=every)
        assert found.verdict == verdict
        again = sy.check(out, task="t", model="m", **right)
        assert (again.verdict, again.difference, again.p_value) == (found.verdict, found.difference, found.p_value)
        assert f"stopping:profile-mcnemar|step:{every}|spending:hsd%3A3|kappa:2.5" in found.signature
        assert all(look["n"] % every == 0 or look["n"] == N for look in found.details["stopping"]["looks"])


def test_a_pass_shows_the_likelihood_ratio_that_was_needed(right: dict[str, Any]) -> None:
    found, _ = run(RIGHT, right, yes)
    last = found.details["stopping"]["looks"][-1]
    assert last["lambda"] >= last["needed"]
    assert f"log likelihood ratio {last['lambda']:.2f}; a pass needs {last['needed']:.2f}" in found.conclusion


def test_looks_with_a_rule_that_has_none_are_refused_before_the_first_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in DATA), encoding="utf-8")
    Path("t.toml").write_text('[task]\nname = "t"\ndata = "data.jsonl"\ninput = "{x}"\ntruth = "y"\nscorer = "exact"\n', encoding="utf-8")
    Path("says.csv").write_text("id,prediction\n" + "".join(f"q{i},yes\n" for i in range(N)), encoding="utf-8")
    sy.record([{"id": row["id"], "score": 1.0} for row in DATA], task="t", model="m", deterministic=True)
    words = ["run", "t.toml", "--model", "file:says.csv", "--name", "m", "--until", "decided", "--looks", "10", "--theta", "0.1"]
    for options in ([], ["--stopping", "sprt", "--discordance", "0.1"]):
        with contextlib.redirect_stderr(io.StringIO()) as error, pytest.raises(SystemExit) as stop:
            main([*words, *options])
        assert stop.value.code == 3
        assert "so it cannot plan 10 looks" in error.getvalue()
        assert "--every" in error.getvalue()


def test_looks_without_a_decision_to_come_to_are_refused() -> None:
    with pytest.raises(UsageError, match=r"looks=5 needs until='decided' and a rule that plans looks\."):
        sy.run(RIGHT, yes, name="m", looks=5)


def test_a_small_pool_is_told_beforehand(right: dict[str, Any]) -> None:
    found, _ = run(RIGHT, right, yes, theta=0.02)
    assert any(
        "with fewer than about 2,000 items, a run with theta 0.02 often ends undecided (you have 300;" in words for words in found.warnings
    )
    assert not any("often ends undecided" in words for words in run(RIGHT, right, yes, theta=0.1)[0].warnings)


def test_few_items_are_those_that_tell_theta_from_the_margin(right: dict[str, Any]) -> None:
    found, _ = run(RIGHT, right, yes, theta=0.1, margin=0.09)
    assert any(
        "fewer than about 8,000 items, a run with theta 0.1 and margin 0.09 often ends undecided" in words for words in found.warnings
    )


def test_a_run_that_stops_needs_a_theta_above_the_margin(right: dict[str, Any]) -> None:
    for stopping in (None, "e-process", "lan-demets"):
        with pytest.raises(UsageError, match=r"A run that stops early needs a theta above the margin \(0\.02\)"):
            run(RIGHT, right, yes, theta=0.02, margin=0.02, stopping=stopping)
    with pytest.raises(UsageError, match=r"theta 0\.02 is below the margin 0\.03\.") as refused:
        run(RIGHT, right, yes, theta=0.02, margin=0.03)
    assert "at least the margin" not in str(refused.value)


def test_a_reference_that_was_recorded_again_under_a_run_is_told_in_words(right: dict[str, Any]) -> None:
    run(RIGHT, right, yes, max_calls=40, theta=0.02)
    rows = [{"id": row["id"], "score": float(row["x"] % 9 > 0)} for row in DATA]
    sy.record(rows, task="t", model="m", update=True, reason="again", deterministic=True, **right)
    with pytest.raises(UsageError, match="other settings: the reference has been recorded again since") as refused:
        run(RIGHT, right, yes, max_calls=40, theta=0.02)
    assert "another output=" in str(refused.value)
    assert len(str(refused.value)) < 400, "no digests"


# ---- what was noted ----------------------------------------------------------------------------------------------------------


@every(
    ("change", "words"),
    [
        (lambda noted: noted["looks"][0].update(statistic=9), "statistic"),
        (lambda noted: noted["looks"][0].update(disagreements=9), "disagreements"),
        (lambda noted: noted["looks"][-1].update(decision="regression"), "decision pass, where the run noted regression"),
        (lambda noted: noted["looks"].pop(0), "where the run noted"),
        (lambda noted: noted["rule"].update(kappa=1.35), "kappa 1.35, here 2.5"),
        (lambda noted: noted["rule"].update(version=7), "version 7, here 1"),
    ],
)
def test_looks_that_do_not_come_out_again_are_refused(right: dict[str, Any], change: Any, words: str) -> None:
    notes = Path(right["directory"]).parent / "now.jsonl.run"
    kept = notes.with_name("kept")
    if not kept.exists():
        run(RIGHT, right, lambda question: "no" if question == "17" else "yes", every=16)
        shutil.copy(notes, kept)
    plain = json.loads(kept.read_text(encoding="utf-8"))
    change(plain["stopping"])
    notes.write_text(json.dumps(plain), encoding="utf-8")
    with pytest.raises(DataError, match=words):
        sy.check(notes.with_suffix(""), task="t", model="m", **right)


# ---- runs that 0.1.0 began -----------------------------------------------------------------------------------------------------

OF_OLD = ("kind", "theta", "alpha", "beta", "margin", "looks", "every", "n_max", "right_or_wrong", "one_answer")
OF_OLD += ("groups", "largest_group", "discordance", "score_range", "binding")


def test_a_plan_of_0_1_0_is_read_and_written_as_it_was() -> None:
    plain = dict(zip(OF_OLD, (None, 0.1, 0.05, 0.2, 0.0, 20, 32, 200, True, True, None, None, None, [0.0, 1.0], True), strict=True))
    plan = StoppingPlan.from_dict(plain)
    assert plan.to_dict() == plain
    assert plan.rule().plan()["rule"] == "mcnemar"
    assert StoppingPlan.from_dict({**plain, "right_or_wrong": False}).rule().plan()["rule"] == "lan-demets"
    assert StoppingPlan.from_dict({**plain, "kind": "e-process"}).rule().plan()["rule"] == "e-process"
    assert "default of 0.1.0" in plan.why


def test_a_run_that_0_1_0_began_goes_on_by_its_rule(right: dict[str, Any]) -> None:
    """Its journal has the plan of then. The answers were paid for: they are used, and the rule is not changed midway."""
    _, out = run(RIGHT, right, yes)
    calls: list[str] = []
    most = [40]

    def dying(question: str) -> str:
        calls.append(question)
        if len(calls) > most[0]:
            raise SystemExit
        return "yes"

    out.unlink()
    Path(f"{out}.run").unlink()
    with pytest.raises(DataError, match="the same command asks it again"):
        run(RIGHT, right, dying, every=64, concurrency=1)
    journal = Path(f"{out}.journal")
    first, *rest = journal.read_bytes().splitlines(keepends=True)
    header = json.loads(first)
    plan = {key: value for key, value in header["identity"]["stopping"].items() if key in OF_OLD}
    body = json.dumps(
        {"journal": header["journal"], "identity": {**header["identity"], "stopping": {**plan, "looks": 20}}}, separators=(",", ":")
    )
    journal.write_bytes(b'%s,"sum":"%08x"}\n' % (body[:-1].encode(), zlib.crc32(body.encode())) + b"".join(rest))
    already, most[0] = len(calls), 1000
    found, _ = run(RIGHT, right, dying, every=64, concurrency=1)
    assert found.test == "exact group-sequential McNemar"
    assert found.verdict == "pass"
    assert len(calls) - already < 64
    assert sy.check(out, task="t", model="m", **right).verdict == "pass"


# ---- a pass is the end -------------------------------------------------------------------------------------------------------


def test_no_pass_can_be_overruled_so_the_rules_are_binding(place: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by a crash after it, not by a higher limit, not by `check` with another plan, and not by the same command: that asks anew."""
    asked: list[str] = []

    def right(question: str) -> str:
        asked.append(question)
        return "yes"

    task = {"task": {"name": "t", "data": DATA, "input": "{x}", "truth": "y", "scorer": "exact"}}
    recorded(task, place, right)
    asked.clear()

    def crash(*_: Any) -> None:
        raise OSError("the disk is gone")

    with monkeypatch.context() as broken:
        broken.setattr("steelyard_old.questions.run.answer.write_run", crash)
        with pytest.raises(OSError, match="gone"):
            run(task, place, right)
    before = len(asked)
    found, out = run(task, place, right, max_calls=N)
    assert (found.verdict, found.details["stopping"]["plan"]["binding"]) == ("pass", True)
    assert found.n is not None
    assert found.n <= before, "the pass comes again at its look, though the journal knows answers beyond it"
    assert len(asked) == len(set(asked)) <= found.n + 2, "nothing is asked twice, and two may be under way when it ends"
    assert not out.with_name(out.name + ".journal").exists()
    for other in ({"theta": 0.05}, {"alpha": 0.1}, {"beta": 0.1}):
        with pytest.raises(UsageError, match="cannot be checked with"):
            sy.check(out, task="t", model="m", **place, **other)
    asked.clear()
    again, _ = run(task, place, right)
    assert again.n == found.n
    assert len(asked) >= found.n, "a new run, of new answers"


def test_the_last_look_is_made_though_nothing_was_added_since_the_one_before(place: dict[str, Any], tmp_path: Path) -> None:
    """The items after the look at 32 have no answer and are dropped: the run is out of items, and says so; `check` comes to the same."""
    data = DATA[:40]
    task = {"task": {"name": "t", "data": data, "input": "{x}", "truth": "y", "scorer": "exact"}}
    recorded(task, place, yes)
    order = [case.id for case in prepare(task).cases]
    (tmp_path / "now.csv").write_text("id,prediction\n" + "".join(f"{name},{'no' if name == order[3] else 'yes'}\n" for name in order[:32]))
    found, out = run(task, place, f"file:{tmp_path / 'now.csv'}", theta=0.02, missing="drop", max_error_rate=1.0)
    assert (found.verdict, found.details["stopping"]["decision"], found.n) == ("inconclusive", "exhausted", 32)
    assert [look["n"] for look in found.details["stopping"]["looks"]] == [32, 32]
    assert sy.check(out, task="t", model="m", missing="drop", **place).conclusion == found.conclusion
