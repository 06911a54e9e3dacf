"""A suite as a night of a series: the evidence of all nights decides, is stored whole, and replayed to the same."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard_old as sy
from cases import seldom
from steelyard_old.errors import DataError, SourceError, SteelyardError, UsageError
from steelyard_old.estimate.past.nights import decision_of, nights_of, replay
from steelyard_old.history.nights import events_of, state_of
from steelyard_old.history.store import open_history
from steelyard_old.infer.nights.watch import RULES
from steelyard_old.render.formats import FORMATS, result_text
from steelyard_old.results.catalogue import result_of
from steelyard_old.results.verdict import Suite

URL = "sqlite:///runs.db"
BUDGET = 'budget = {series = "main", false_alarms_per_year = 1, runs_per_year = 365}'
CI = ("GITHUB_RUN_ID", "CI_PIPELINE_ID", "BUILDKITE_BUILD_ID", "CIRCLE_WORKFLOW_ID", "BUILD_BUILDID", "BUILD_TAG", "GITHUB_EVENT_NAME")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in (*CI, "CI_MERGE_REQUEST_IID", "SYSTEM_PULLREQUEST_PULLREQUESTID"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


class Nights:
    """A suite of small tasks whose items leave their usual answer now and then, run night after night."""

    def __init__(self, tasks: int = 2, items: int = 80, runs: int = 3, noise: float = 0.02, seed: int = 1, head: str = BUDGET) -> None:
        self.rng, self.noise, self.tasks, self.count = np.random.default_rng(seed), noise, tasks, 0
        self.usual = [(self.rng.random(items) < 0.8).astype(float) for _ in range(tasks)]
        self.ids = [f"q{i}" for i in range(items)]
        self.more: dict[int, str] = {}
        for j in range(tasks):
            self.record(j, runs)
        self.write_suite(head)

    def record(self, j: int, runs: int = 1, **more: Any) -> None:
        made = [self.rows(self.run(j)) for _ in range(runs)]
        sy.record(*made, task=f"t{j}", model="m", **more)

    def rows(self, scores: Any) -> list[dict[str, Any]]:
        return [{"id": name, "score": float(score)} for name, score in zip(self.ids, scores, strict=True)]

    def run(self, j: int) -> Any:
        usual = self.usual[j]
        return np.where(self.rng.random(len(usual)) < self.noise, 1 - usual, usual)

    def write_suite(self, head: str = BUDGET, only: Any = None) -> None:
        text = f"[suite]\n{head}\n"
        for j in range(self.tasks) if only is None else only:
            text += f'[[checks]]\ntask = "t{j}"\nmodel = "m"\nresult = "t{j}.csv"\n{self.more.get(j, "")}\n'
        Path("suite.toml").write_text(text, encoding="utf-8")

    def break_items(self, j: int, many: int) -> None:
        right = np.flatnonzero(self.usual[j] == 1)[:many]
        self.usual[j] = self.usual[j].copy()
        self.usual[j][right] = 0

    def write(self) -> None:
        for j in range(self.tasks):
            lines = [f"{name},{score:g}\n" for name, score in zip(self.ids, self.run(j), strict=True)]
            Path(f"t{j}.csv").write_text("id,score\n" + "".join(lines), encoding="utf-8")

    def night(self, **more: Any) -> Suite:
        self.write()
        self.count += 1
        return sy.check_suite("suite.toml", **{"history": URL, "night": f"n{self.count}", **more})

    def several(self, many: int) -> list[Suite]:
        return [self.night() for _ in range(many)]

    def until(self, verdict: str, most: int = 8) -> Suite:
        """The first night whose series comes to a verdict."""
        return next(one for _ in range(most) if (one := self.night()).nights is not None and one.nights.verdict == verdict)


# ---- the colour --------------------------------------------------------------------------------------------------------------


def test_a_loss_at_one_task_turns_the_suite_red_until_it_is_acknowledged() -> None:
    nights = Nights()
    assert [one.verdict for one in nights.several(6)] == ["pass"] * 6
    nights.break_items(1, 15)
    found = nights.several(5)
    first = next(i for i, one in enumerate(found) if one.verdict == "regression")
    assert first <= 2
    red = found[first]
    assert red.exit_code == 1
    assert red.nights is not None
    assert red.nights.alarm
    assert red.nights.named == ("t1 m",)
    assert red.nights.evidence >= red.nights.line == 365
    assert [row["counts_as"] for row in red.rows][1] == "regression"
    assert red.nights.since is not None
    assert int(red.nights.since["night"][1:]) <= 7  # the chart may have left 0 before
    assert all(one.verdict == "regression" for one in found[first:])
    later = found[-1]
    assert later.nights is not None
    assert later.nights.unacknowledged
    assert not later.nights.alarm
    assert "not acknowledged" in later.conclusion
    done = sy.acknowledge(accept=True, reason="intended", history=URL)
    assert (done.how, done.since["night"], done.named) == ("accept", red.nights.since["night"], ("t1 m",))
    assert [one.verdict for one in nights.several(3)] == ["pass"] * 3


def test_a_cause_that_is_gone_goes_back_to_the_nights_before() -> None:
    nights = Nights()
    nights.several(4)
    kept = nights.usual[1]
    nights.break_items(1, 15)
    assert nights.until("regression", 4).verdict == "regression"
    nights.usual[1] = kept
    assert nights.night().verdict == "regression"  # still: nobody has said that it is fixed
    sy.acknowledge("main", fixed=True, reason="rolled back", history=URL)
    assert [one.verdict for one in nights.several(3)] == ["pass"] * 3
    nights.break_items(1, 15)
    assert nights.until("regression", 4).verdict == "regression"


def test_what_one_night_shows_is_unconfirmed() -> None:
    nights = Nights()
    nights.several(3)
    usual = nights.usual[0]
    nights.break_items(0, 6)
    found = nights.night()
    nights.usual[0] = usual
    assert found.verdict == "pass"
    assert found.rows[0]["counts_as"] == "unconfirmed"
    assert found.verdicts[0].verdict == "regression"
    assert found.pooled is not None
    assert found.pooled.verdict != "regression"
    assert "worse tonight by itself" in result_text(found)


def test_few_items_lost_for_good_are_changed_not_a_regression() -> None:
    nights = Nights(tasks=3, items=100, noise=0.002)
    nights.several(8)
    nights.break_items(2, 3)
    found = nights.several(7)
    changed = [one for one in found if one.nights is not None and one.nights.verdict == "changed"]
    assert len(changed) == 1
    assert changed[0].verdict == "pass"
    assert changed[0].rows[2]["counts_as"] == "changed"
    assert "Changed: worse on these very items since" in changed[0].conclusion
    assert "not shown for new items" in changed[0].conclusion
    assert any("not shown for new items" in warning for warning in changed[0].warnings)
    assert {one["task"] for one in changed[0].nights.fell} == {"t2 m"}  # type: ignore[union-attr]
    assert all(one.verdict == "pass" for one in found)


@pytest.mark.parametrize(("more", "word"), [("theta = 0.5", "inconclusive"), *seldom(('theta = 0.5\ntier = "supporting"', "pass"))])
def test_changed_is_a_doubt_where_there_is_a_theta(more: str, word: str) -> None:
    nights = Nights(tasks=3, items=100, noise=0.002)
    nights.more = dict.fromkeys(range(3), more)
    nights.write_suite()
    nights.several(8)
    nights.break_items(2, 3)
    assert nights.until("changed").verdict == word


def test_about_runs_a_change_is_a_regression() -> None:
    nights = Nights(items=100, noise=0.002)
    nights.more = dict.fromkeys(range(2), 'target = "runs"')
    nights.write_suite()
    nights.several(5)
    nights.break_items(1, 3)
    assert nights.until("regression").verdict == "regression"
    nights.more = {0: 'target = "runs"'}
    nights.write_suite()
    with pytest.raises(UsageError, match="about items and about runs"):
        nights.night()


# ---- what a night is ---------------------------------------------------------------------------------------------------------


def test_a_retry_gets_the_decision_of_then_and_moves_nothing() -> None:
    nights = Nights()
    nights.several(2)
    nights.break_items(0, 30)
    nights.break_items(1, 30)
    before = nights.night(night="tonight")
    with open_history(URL) as store:
        many = len(events_of(store, "main"))
        runs = store.runs()[2]
    again = nights.night(night="tonight")
    assert before.nights is not None
    assert again.nights is not None
    assert again.nights.retry
    assert again.nights.evidence == before.nights.evidence
    assert again.verdict == before.verdict
    assert any("judged before" in warning for warning in again.warnings)
    with open_history(URL) as store:
        assert len(events_of(store, "main")) == many
        assert store.runs()[2] == runs


@pytest.mark.parametrize("name", ["GITHUB_RUN_ID", "CI_PIPELINE_ID", "BUILD_TAG"])
def test_the_run_of_the_pipeline_tells_nights_apart(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    nights = Nights(tasks=1)
    monkeypatch.setenv(name, "17")
    first = nights.night(night=None)
    retry = nights.night(night=None)
    monkeypatch.setenv(name, "18")
    second = nights.night(night=None)
    assert [one.nights.retry for one in (first, retry, second) if one.nights] == [False, True, False]
    assert second.nights is not None
    assert (second.nights.night, second.nights.nights) == (f"{name}=18", 2)


def test_elsewhere_the_files_tell_nights_apart() -> None:
    nights = Nights()
    nights.night(night=None)
    same = sy.check_suite("suite.toml", history=URL)
    assert same.nights is not None
    assert same.nights.retry
    os.utime("t0.csv", ns=(1, 1))
    other = sy.check_suite("suite.toml", history=URL)
    assert other.nights is not None
    assert not other.nights.retry


def test_a_pull_request_is_no_night(monkeypatch: pytest.MonkeyPatch) -> None:
    nights = Nights()
    nights.night()
    monkeypatch.setenv("GITHUB_EVENT_NAME", "pull_request")
    found = nights.night()
    assert found.nights is None
    assert any("is not a night" in warning and "pull request" in warning for warning in found.warnings)
    assert nights.night(series="named").nights is not None  # who names it means it
    monkeypatch.delenv("GITHUB_EVENT_NAME")
    assert nights.night(series="none").nights is None
    with open_history(URL) as store:
        assert len(nights_of(store, "main")) == 2  # a reference and a night
        assert store.runs()[2] == 8  # the others are runs as any


def test_a_budget_without_a_series_is_judged_by_itself() -> None:
    nights = Nights(head="budget = {false_alarms_per_year = 1, runs_per_year = 365}")
    found = nights.night()
    assert found.nights is None
    assert any("names no series" in warning for warning in found.warnings)
    named = nights.night(series="weekly")
    assert named.nights is not None
    assert named.nights.series == "weekly"


def test_two_series_in_one_history_do_not_meet() -> None:
    nights = Nights()
    nights.several(3)
    found = nights.night(series="weekly", night="n1")
    assert found.nights is not None
    assert (found.nights.nights, found.nights.baseline, found.nights.retry) == (1, 3, False)
    assert nights.night().nights.nights == 4  # type: ignore[union-attr]


# ---- what is refused ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        ("{series = 'm', false_alarms_per_year = 0}", "above 0"),
        ("{series = 'm', false_alarms_per_year = -1}", "above 0"),
        ("{series = 'm', false_alarms_per_year = nan}", "above 0"),
        ("{series = 'm', false_alarms_per_year = inf}", "above 0"),
        ("{series = 'm', false_alarms_per_year = true}", "above 0"),
        ("{series = 'm', false_alarms_per_year = '1'}", "above 0"),
        ("{series = 'm', runs_per_year = 0}", "above 0"),
        ("{series = 'm', false_alarms_per_year = 400}", "400 false alarms in 365 runs a year, more than one per run"),
        ("{series = 'm', flase_alarms = 1}", "'flase_alarms' in the budget"),
        ("{series = 'm', confirm = 'yes'}", "true or false"),
        ("{series = ''}", "name of a series"),
        ("{series = 3}", "name of a series"),
        ("3", "a table"),
    ],
)
def test_a_budget_that_cannot_be_is_refused_before_anything_is_judged(budget: str, said: str) -> None:
    nights = Nights(tasks=1, head=f"budget = {budget}")
    with pytest.raises((SourceError, UsageError), match=said):
        nights.night()
    assert not Path("runs.db").exists()


@pytest.mark.parametrize("history", [None, "none"])
def test_no_history_is_an_error(history: str | None) -> None:
    with pytest.raises(UsageError, match="needs a history"):
        Nights(tasks=1).night(history=history)


def test_a_series_without_a_budget_is_an_error() -> None:
    with pytest.raises(UsageError, match="has no budget"):
        Nights(tasks=1, head="").night(series="main")


def test_a_run_that_may_stop_early_is_refused_before_anything_is_asked() -> None:
    text = (
        f'[suite]\n{BUDGET}\n[[checks]]\ntask = "t"\nmodel = "m"\nrun = {{task = "t.toml", model = "python:no:one", until = "decided"}}\n'
    )
    Path("suite.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="may stop early"):
        sy.run_suite("suite.toml", history=URL)
    assert not Path("runs.db").exists()


def test_a_run_that_stopped_early_is_refused() -> None:
    import hashlib

    nights = Nights(tasks=1)
    nights.write()
    rows = "".join(json.dumps(row) + "\n" for row in nights.rows(nights.run(0))[:40])
    Path("t0.jsonl").write_text(rows, encoding="utf-8")
    notes = {"schema": 1, "task": "t0", "model": "m", "metric": "accuracy", "protocol": {}, "seed": 0, "order": "hash", "n": 40}
    notes |= {"available": 80, "repeats": 1, "stopping": {"rule": "width"}, "rows": hashlib.sha256(rows.encode()).hexdigest()}
    Path("t0.jsonl.run").write_text(json.dumps(notes), encoding="utf-8")
    Path("suite.toml").write_text(Path("suite.toml").read_text(encoding="utf-8").replace("t0.csv", "t0.jsonl"), encoding="utf-8")
    with pytest.raises(SteelyardError, match="stopped"):
        sy.check_suite("suite.toml", history=URL)


def test_what_has_no_items_is_refused() -> None:
    nights = Nights()
    nights.write()
    text = Path("suite.toml").read_text(encoding="utf-8").replace('result = "t1.csv"', "value = 0.8")
    Path("suite.toml").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="t1 m cannot be part of a night: it has no items"):
        sy.check_suite("suite.toml", history=URL)
    Path("suite.toml").write_text(text.replace("value = 0.8", 'value = 0.8\ntier = "advisory"'), encoding="utf-8")
    assert sy.check_suite("suite.toml", history=URL).nights is not None


def test_a_metric_that_is_no_mean_over_items_is_refused() -> None:
    rows = [{"id": str(i), "truth": "ab"[i % 2], "prediction": "ab"[(i % 3) % 2]} for i in range(60)]
    sy.record(rows, task="t0", model="m", metric="f1", positive="a")
    Path("t0.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    Path("suite.toml").write_text(
        f'[suite]\n{BUDGET}\n[[checks]]\ntask = "t0"\nmodel = "m"\nresult = "t0.jsonl"\nmetric = "f1"\npositive = "a"\n', encoding="utf-8"
    )
    with pytest.raises(DataError, match="f1 is not a mean over items"):
        sy.check_suite("suite.toml", history=URL)


def test_another_spec_or_protocol_is_refused_and_nothing_is_stored() -> None:
    nights = Nights()
    nights.several(2)
    nights.more = {0: 'protocol = {shots = "5"}'}
    nights.write_suite()
    with pytest.raises(DataError, match=r"t0 m has another protocol .* \(shots=5; it was none\)"):
        nights.night()
    sy.record(nights.rows(nights.run(0)), task="t0", model="m", spec={"quant_algo": "FP8"})
    nights.more = {0: 'spec = {quant_algo = "FP8"}'}
    nights.write_suite()
    with pytest.raises(DataError, match="t0 m quant_algo=FP8 has another spec"):
        nights.night()
    nights.more = {}
    nights.write_suite()
    assert nights.night().nights.nights == 3  # type: ignore[union-attr]


def test_a_task_twice_is_refused() -> None:
    nights = Nights(tasks=1)
    nights.write()
    Path("other.csv").write_text(Path("t0.csv").read_text(encoding="utf-8"), encoding="utf-8")
    with Path("suite.toml").open("a", encoding="utf-8") as file:
        file.write('[[checks]]\ntask = "t0"\nmodel = "m"\nresult = "other.csv"\n')
    with pytest.raises(UsageError, match="t0 m is in the suite twice"):
        sy.check_suite("suite.toml", history=URL)


def test_a_score_that_is_no_number_is_refused_and_nothing_is_stored() -> None:
    nights = Nights()
    nights.night()
    nights.write()
    text = Path("t0.csv").read_text(encoding="utf-8")
    Path("t0.csv").write_text(text.replace("q3,1", "q3,nan").replace("q3,0", "q3,nan"), encoding="utf-8")
    with pytest.raises(SteelyardError):
        sy.check_suite("suite.toml", history=URL, night="x")
    with open_history(URL) as store:
        assert len(nights_of(store, "main")) == 2
    nights.more = {0: 'missing = "drop"'}
    nights.write_suite()
    assert sy.check_suite("suite.toml", history=URL, night="x").nights is not None
    nights.more = {0: 'missing = "wrong"'}
    nights.write_suite()
    assert sy.check_suite("suite.toml", history=URL, night="y").nights is not None
    with open_history(URL) as store:
        *_, dropped, wrong = nights_of(store, "main")
    assert dropped.night is not None
    assert wrong.night is not None
    assert "q3" not in dropped.night.tasks["t0 m"].ids
    assert dict(zip(wrong.night.tasks["t0 m"].ids, wrong.night.tasks["t0 m"].values, strict=True))["q3"] == 0  # type: ignore[arg-type]


# ---- what comes and goes -----------------------------------------------------------------------------------------------------


def test_a_task_may_be_missing_join_or_be_waived() -> None:
    nights = Nights(tasks=3)
    nights.several(3)
    nights.write_suite(only=[0, 2])
    found = nights.night()
    assert found.nights is not None
    assert found.nights.counted == ("t0 m", "t2 m")
    nights.more = {1: 'waiver = {reason = "known", until = 2999-01-01}'}
    nights.write_suite()
    assert nights.night().nights.counted == ("t0 m", "t2 m")  # type: ignore[union-attr]
    nights.more = {}
    nights.tasks = 4
    nights.usual.append(nights.usual[0])
    nights.record(3)
    nights.write_suite()
    joined = nights.night()
    assert joined.nights is not None
    assert joined.nights.counted == ("t0 m", "t1 m", "t2 m", "t3 m")  # the new one is held against its runs on record
    assert nights.night().nights.counted == ("t0 m", "t1 m", "t2 m", "t3 m")  # type: ignore[union-attr]
    nights.more = dict.fromkeys(range(4), 'tier = "advisory"')
    nights.write_suite()
    with pytest.raises(UsageError, match="nothing that a budget could watch"):
        nights.night()


def test_a_task_that_was_left_out_since_an_accepted_change_is_held_against_the_nights_it_had() -> None:
    nights = Nights()
    nights.several(5)
    nights.break_items(0, 20)
    nights.more = {1: 'waiver = {reason = "known", until = 2999-01-01}'}
    nights.write_suite()
    nights.until("regression")
    with sqlite3.connect("runs.db") as con:  # as if an older version, which did not write down its rules, had judged so far
        con.execute("UPDATE steelyard_watches SET state = x'00'")
        con.execute("UPDATE steelyard_nights SET facts = json_remove(facts, '$.rules')")
    con.close()
    done = sy.acknowledge(accept=True, reason="intended", history=URL)
    assert done.conclusion.endswith("No night since then; still compared with their earlier nights: t1 m.")
    nights.more = {}
    nights.write_suite()
    nights.break_items(1, 20)
    found = nights.until("regression")  # its first night is not the first of a new baseline
    assert found.nights is not None
    assert found.nights.named == ("t1 m",)
    done = sy.acknowledge(fixed=True, reason="rolled back", history=URL)
    assert "No night since" not in done.conclusion
    with open_history(URL) as store:
        stored = nights_of(store, "main")
    kinds = [one.kind for one in stored]
    assert {one.rules for one in stored[: kinds.index("accept")]} == {1}
    assert {one.rules for one in stored[kinds.index("accept") :]} == {RULES}
    assert [one.verdict for one in replay(stored).decisions] == [one.decision["verdict"] for one in stored if one.decision is not None]


def test_items_may_come_go_and_be_edited() -> None:
    """A new or edited item weighs nothing on its first night; the others go on."""
    rng = np.random.default_rng(3)
    names = [f"q{i}" for i in range(40)]

    def rows(ids: list[str], edited: int = 0) -> list[dict[str, Any]]:
        return [
            {"id": name, "truth": "b" if i < edited else "a", "prediction": "a" if rng.random() < 0.9 else "b"}
            for i, name in enumerate(ids)
        ]

    sy.record(rows(names), rows(names), task="t", model="m")
    Path("suite.toml").write_text(f'[suite]\n{BUDGET}\n[[checks]]\ntask = "t"\nmodel = "m"\nresult = "t.jsonl"\n', encoding="utf-8")

    def night(name: str, made: list[dict[str, Any]]) -> Suite:
        Path("t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in made), encoding="utf-8")
        return sy.check_suite("suite.toml", history=URL, night=name)

    assert night("plain", rows(names)).verdict == "pass"
    found = night("edited", rows(names, edited=4))
    assert any("4 items have another truth or content" in warning for warning in found.verdicts[0].warnings)
    assert found.verdicts[0].n == 36
    assert night("more", rows([*names[5:], "new1", "new2"], edited=0)).verdict == "pass"
    with open_history(URL) as store:
        watch = replay(nights_of(store, "main")).watch
    answers = watch.tasks["t m"]
    place = {name: i for i, name in enumerate(answers.ids)}
    counted, _ = answers.means(answers.baseline)
    assert counted[place["q0"]] == 1  # edited, then gone: only the edited answer is left
    assert counted[place["q20"]] == 5
    assert counted[place["new1"]] == 1


def test_ids_that_are_numbers_and_hashed_ids() -> None:
    rng = np.random.default_rng(4)
    Path("steelyard.toml").write_text('ids = "hashed"\n', encoding="utf-8")

    def rows() -> list[dict[str, Any]]:
        return [{"id": i, "score": float(rng.random() < 0.8)} for i in range(50)]

    sy.record(rows(), rows(), task="t", model="m")
    Path("suite.toml").write_text(f'[suite]\n{BUDGET}\n[[checks]]\ntask = "t"\nmodel = "m"\nresult = "t.jsonl"\n', encoding="utf-8")
    for name in "abc":
        Path("t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows()), encoding="utf-8")
        found = sy.check_suite("suite.toml", history=URL, night=name)
    assert found.nights is not None
    assert found.nights.baseline == 4
    with open_history(URL) as store:
        stored = nights_of(store, "main")
    assert all(len(name) == 16 for name in stored[-1].night.tasks["t m"].ids)  # type: ignore[union-attr]


@pytest.mark.parametrize("older", [False, True], ids=["the reference has hashes", "an older reference has readable ids"])
def test_items_that_fell_have_the_names_of_tonights_run_where_ids_are_hashed_and_the_history_does_not(older: bool) -> None:
    hashed = Path("steelyard.toml")
    if not older:
        hashed.write_text('ids = "hashed"\n', encoding="utf-8")
    nights = Nights()
    hashed.write_text('ids = "hashed"\n', encoding="utf-8")
    nights.several(4)
    nights.break_items(1, 15)
    red = nights.until("regression", 5)
    assert red.nights is not None
    again = sy.check_suite("suite.toml", history=URL, night=red.nights.night)  # the decision of then, as it was stored
    for found in (red, again):
        assert found.nights is not None
        assert found.nights.fell
        assert {one["item"] for one in found.nights.fell} <= {*nights.ids}
        assert f"fell most: {found.nights.fell[0]['item']} of t1 m" in " ".join(str(found).split())
    with open_history(URL) as store:
        stored = [event.night for event in nights_of(store, "main") if event.night is not None]
        kept = [store.items(run.id) for run in store.runs(limit=1000)[0]]
    named = {name for night in stored for task in night.tasks.values() for name in task.ids} | {name for one in kept for name in one or ()}
    assert len(named) == len(nights.ids)
    assert not named & {*nights.ids}
    with sqlite3.connect("runs.db") as database:
        assert re.findall(r"\bq[0-9]+\b", "\n".join(database.iterdump())) == []


def test_lower_is_better_is_turned() -> None:
    rng = np.random.default_rng(5)

    def rows(shift: float) -> list[dict[str, Any]]:
        return [{"id": i, "score": float(level + 0.05 * rng.standard_normal() + shift)} for i, level in enumerate(levels)]

    levels = rng.random(60)
    Path("steelyard.toml").write_text("[tasks.t]\nhigher_is_better = false\nmetric = 'mean'\n", encoding="utf-8")
    sy.record(rows(0), rows(0), rows(0), task="t", model="m")
    Path("suite.toml").write_text(
        f'[suite]\n{BUDGET}\n[[checks]]\ntask = "t"\nmodel = "m"\nresult = "t.jsonl"\nrange = [-1, 2]\n', encoding="utf-8"
    )

    def night(name: str, shift: float) -> Suite:
        Path("t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows(shift)), encoding="utf-8")
        return sy.check_suite("suite.toml", history=URL, night=name)

    assert [night(f"n{i}", 0).verdict for i in range(5)] == ["pass"] * 5
    assert night("better", -0.05).nights.pool_z < -2  # type: ignore[union-attr,operator]
    assert night("worse", 0.05).nights.pool_z > 2  # type: ignore[union-attr,operator]


def test_a_reference_that_is_recorded_again_starts_the_series_anew() -> None:
    nights = Nights()
    nights.several(5)
    nights.break_items(0, 30)
    assert nights.several(3)[-1].verdict == "regression"
    nights.record(0, 2, update=True, reason="intended")
    found = nights.night()
    assert found.verdict == "pass"
    assert found.nights is not None
    assert (found.nights.baseline, found.nights.nights) == (3, 9)  # the three runs of t1; t0 has two
    with open_history(URL) as store:
        events = events_of(store, "main")
    assert [event.kind for event in events].count("reference") == 2
    assert events[-2].facts["why"] == "the reference of t0 m was updated"
    assert nights.night().verdict == "pass"


def test_a_deterministic_model_counts_once_per_commit() -> None:
    nights = Nights(noise=0.0, runs=1)
    for j in range(2):
        sy.record(nights.rows(nights.run(j)), task=f"t{j}", model="m", update=True, reason="x", deterministic=True)
    # without git there is no commit, and every night counts
    assert nights.night().nights.counted == ("t0 m", "t1 m")  # type: ignore[union-attr]
    os.system("git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m a")
    assert nights.night().nights.counted == ("t0 m", "t1 m")  # type: ignore[union-attr]
    assert nights.night().nights.counted == ()  # type: ignore[union-attr]
    os.system("git -c user.name=a -c user.email=a@b commit -q --allow-empty -m b")
    assert nights.night().nights.counted == ("t0 m", "t1 m")  # type: ignore[union-attr]


# ---- confirmed the same night ------------------------------------------------------------------------------------------------

CONFIRM = 'budget = {series = "main", confirm = true}'


class TwoRuns(Nights):
    """A suite whose second runs are written beside the first, if asked for."""

    def __init__(self, **more: Any) -> None:
        super().__init__(head=CONFIRM, **more)
        self.more = {j: f'again = "t{j}.again.csv"' for j in range(self.tasks)}
        self.write_suite(CONFIRM)

    def write_again(self) -> None:
        for j in range(self.tasks):
            lines = [f"{name},{score:g}\n" for name, score in zip(self.ids, self.run(j), strict=True)]
            Path(f"t{j}.again.csv").write_text("id,score\n" + "".join(lines), encoding="utf-8")


def test_a_night_that_looks_worse_waits_for_its_second_run() -> None:
    nights = TwoRuns()
    nights.several(3)
    nights.break_items(1, 20)
    waits = nights.night(night="tonight")
    assert (waits.verdict, waits.exit_code) == ("inconclusive", 2)
    assert waits.nights is not None
    assert "t1 m" in waits.nights.again  # all of them, if the pool is worse
    assert waits.rows[1]["counts_as"] == "unconfirmed"
    assert "again tonight, and check again" in waits.conclusion
    still = sy.check_suite("suite.toml", history=URL, night="tonight")
    assert still.verdict == "inconclusive"
    nights.write_again()
    found = sy.check_suite("suite.toml", history=URL, night="tonight")
    assert found.verdict == "regression"
    assert found.nights is not None
    assert (found.nights.named, found.nights.alarm) == (("t1 m",), True)
    again = sy.check_suite("suite.toml", history=URL, night="tonight")
    assert again.verdict == "regression"
    assert again.nights is not None
    assert again.nights.retry
    Path("t1.again.csv").unlink()
    assert nights.night().nights.unacknowledged  # type: ignore[union-attr]
    sy.acknowledge(accept=True, reason="x", history=URL)
    assert nights.night().verdict == "pass"
    with open_history(URL) as store:
        stored = nights_of(store, "main")
    assert [one.kind for one in stored] == ["reference", *["night"] * 4, "again", "night", "accept", "night"]
    words = [one.verdict for one in replay(stored).decisions]
    assert words == ["pass", "pass", "pass", "regression", "regression", "pass"]


def test_a_second_run_that_is_as_usual_clears_the_night() -> None:
    nights = TwoRuns()
    nights.several(3)
    usual = nights.usual[1]
    nights.break_items(1, 20)
    nights.write()
    nights.usual[1] = usual
    nights.write_again()
    found = sy.check_suite("suite.toml", history=URL, night="tonight")
    assert found.verdict == "pass"
    assert found.nights is not None
    assert not found.nights.again
    assert found.verdicts[1].verdict == "regression"
    for path in Path().glob("*.again.csv"):
        path.unlink()
    assert nights.night().nights.baseline == 7  # type: ignore[union-attr]  # three on record, four nights


def test_a_night_that_never_had_its_second_run_is_taken_for_a_pass() -> None:
    nights = TwoRuns()
    nights.several(3)
    usual = nights.usual[1]
    nights.break_items(1, 20)
    assert nights.night(night="tonight").verdict == "inconclusive"
    nights.usual[1] = usual
    later = nights.night()
    assert later.verdict == "pass"
    assert later.nights is not None
    assert later.nights.baseline == 7
    nights.write_again()
    with pytest.raises(DataError, match="no longer waits for its second run"):
        sy.check_suite("suite.toml", history=URL, night="tonight")
    with open_history(URL) as store:
        assert len(nights_of(store, "main")) == 6


def test_a_deterministic_model_cannot_confirm() -> None:
    nights = TwoRuns(tasks=1)
    sy.record(nights.rows(nights.run(0)), task="t0", model="m", update=True, reason="x", deterministic=True)
    with pytest.raises(UsageError, match="declared deterministic"):
        nights.night()


# ---- what is stored ----------------------------------------------------------------------------------------------------------


def test_replaying_gives_the_same_numbers_whatever_became_of_the_state() -> None:
    nights = Nights()
    made = nights.several(4)
    nights.break_items(1, 15)
    made += nights.several(3)
    sy.acknowledge(fixed=True, reason="x", history=URL)
    with sqlite3.connect("runs.db") as con:
        con.execute("UPDATE steelyard_watches SET state = x'00'")
    con.close()
    made += nights.several(2)
    with open_history(URL) as store:
        stored = nights_of(store, "main")
        assert state_of(store, "main") is not None
    found = replay(stored)
    shown = [one.nights for one in made if one.nights is not None]
    assert [one.verdict for one in found.decisions] == [one.verdict for one in shown]
    assert [one.evidence for one in found.decisions] == pytest.approx([one.evidence for one in shown], rel=1e-9)
    kept = [decision_of(one.decision) for one in stored if one.night is not None and one.decision is not None]
    for one, other in zip(kept, found.decisions, strict=True):
        assert one.task_z == pytest.approx(other.task_z, rel=1e-9)


def test_a_kill_before_the_end_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever ends a night before it is stored whole, the history is as it was, and the same night can be judged."""
    nights = Nights()
    nights.several(2)
    nights.write()
    from steelyard_old.history.store import History

    def killed(self: Any, made: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(History, "_insert", killed)
        with pytest.raises(KeyboardInterrupt):
            sy.check_suite("suite.toml", history=URL, night="tonight")
    with open_history(URL) as store:
        assert len(events_of(store, "main")) == 3
        assert store.runs()[2] == 4
    found = sy.check_suite("suite.toml", history=URL, night="tonight")
    assert found.nights is not None
    assert (found.nights.nights, found.nights.retry) == (3, False)


def test_many_writers_lose_nothing() -> None:
    nights = Nights(tasks=1, items=20)
    nights.night()
    nights.write()
    faults: list[BaseException] = []

    def write(name: str) -> None:
        try:
            sy.check_suite("suite.toml", history=URL, night=name)
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=write, args=(f"x{i % 6}",)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    with open_history(URL) as store:
        stored = nights_of(store, "main")
        assert store.runs()[2] == 7
    assert [one.place for one in stored] == list(range(8))
    assert {one.night.run for one in stored if one.night} == {"n1", *(f"x{i}" for i in range(6))}
    kept = [one.decision["evidence"] for one in stored if one.decision]
    assert [one.evidence for one in replay(stored).decisions] == pytest.approx(kept, rel=1e-9)



def test_a_clock_that_goes_back_changes_no_order() -> None:
    nights = Nights(tasks=1)
    nights.several(2)
    with sqlite3.connect("runs.db") as con:
        con.execute("UPDATE steelyard_nights SET time = '2099-01-01T00:00:00.000000Z' WHERE night = 'n1'")
    con.close()
    nights.several(2)
    with open_history(URL) as store:
        assert [one.night.run for one in nights_of(store, "main") if one.night] == ["n1", "n2", "n3", "n4"]


def test_another_budget_counts_from_then_on() -> None:
    nights = Nights()
    nights.several(2)
    nights.write_suite('budget = {series = "main", false_alarms_per_year = 0.1, runs_per_year = 52}')
    found = nights.night()
    assert found.nights is not None
    assert found.nights.line == pytest.approx(520)
    with open_history(URL) as store:
        lines = [one.line for one in replay(nights_of(store, "main")).decisions]
    assert lines == pytest.approx([365, 365, 520])


# ---- acknowledging -----------------------------------------------------------------------------------------------------------


def test_an_acknowledgement_needs_a_regression_a_word_and_a_reason() -> None:
    nights = Nights()
    nights.several(2)
    with pytest.raises(UsageError, match="No regression stands"):
        sy.acknowledge(accept=True, reason="x", history=URL)
    with pytest.raises(UsageError, match="accepted or fixed"):
        sy.acknowledge(reason="x", history=URL)
    with pytest.raises(UsageError, match="accepted or fixed"):
        sy.acknowledge(accept=True, fixed=True, reason="x", history=URL)
    for reason in (None, "", "  "):
        with pytest.raises(UsageError, match="needs a reason"):
            sy.acknowledge(fixed=True, reason=reason, history=URL)
    with pytest.raises(DataError, match="no nights of the series 'other'"):
        sy.acknowledge("other", fixed=True, reason="x", history=URL)
    nights.break_items(0, 30)
    nights.several(3)
    nights.night(series="weekly", night="w")
    with pytest.raises(DataError, match="has 2 series of nights"):
        sy.acknowledge(fixed=True, reason="x", history=URL)
    sy.acknowledge("main", fixed=True, reason="x", history=URL)
    with pytest.raises(UsageError, match="No regression stands"):
        sy.acknowledge("main", fixed=True, reason="x", history=URL)


# ---- how it is said ----------------------------------------------------------------------------------------------------------


def test_every_page_says_what_is_claimed_and_json_comes_back() -> None:
    nights = Nights()
    nights.several(3)
    passed = nights.night()
    nights.break_items(1, 20)
    red = nights.several(3)[-1]
    claim = "on average at most about 1 false alarm a year over the whole suite, if nothing but chance differs between runs"
    for one in (passed, red):
        assert result_of(json.loads(json.dumps(one.to_dict()))) == one
        for name in ("text", "markdown", "html", "junit"):
            said = " ".join(FORMATS[name].write(one).split())
            assert claim in said, name
            assert "independent from night to night" in said, name
    github = FORMATS["github"].write(red)
    assert "::error title=regression%3A nights of main::" in github
    assert "::error" not in FORMATS["github"].write(passed)
    assert '<failure message="' in FORMATS["junit"].write(red)
    assert 'failures="0"' in FORMATS["junit"].write(passed)
    assert "steelyard history ack --series main" in " ".join(result_text(red).split())
    done = sy.acknowledge(fixed=True, reason="rolled back", history=URL)
    assert result_of(json.loads(json.dumps(done.to_dict()))) == done
    for name in ("text", "markdown", "html"):
        assert "rolled back" in FORMATS[name].write(done)


def test_a_task_that_is_new_to_the_series_starts_with_its_recorded_runs() -> None:
    nights = Nights(tasks=3)
    nights.write_suite(only=[0, 1])
    nights.several(5)
    nights.write_suite()
    found = nights.night().nights
    assert found is not None
    assert "t2 m" in found.counted
    with open_history(URL) as store:
        kinds = [event.kind for event in events_of(store, "main")]
        made = replay(nights_of(store, "main"))
    assert kinds == ["reference", *["night"] * 5, "joined", "night"]
    assert made.decisions[-1].evidence == pytest.approx(found.evidence, rel=1e-9)
    assert len(made.watch.units["t2 m"].z) == 2 + 1
    nights.record(0, 3, update=True)  # the series starts anew, and the new task keeps its runs
    nights.write_suite(only=[0, 1])
    nights.night()
    with open_history(URL) as store:
        last = [event for event in events_of(store, "main") if event.kind == "reference"][-1]
    assert [sorted(run["tasks"]) for run in last.facts["runs"]] == [["t0 m", "t1 m", "t2 m"]] * 3


def test_the_answers_of_a_night_are_kept_once() -> None:
    nights = Nights()

    def written(answer: str) -> None:
        for j in range(2):
            rows = [{"id": name, "score": 1.0, "prompt": f"ask {name}", "answer": answer} for name in nights.ids]
            Path(f"t{j}.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")

    text = Path("suite.toml").read_text(encoding="utf-8").replace(".csv", ".jsonl")
    Path("suite.toml").write_text(text, encoding="utf-8")
    written("first")
    found = sy.check_suite("suite.toml", history=URL, night="n1", keep_answers=True)
    assert not any("answers" in warning for warning in found.warnings)
    written("second")
    assert sy.check_suite("suite.toml", history=URL, night="n1", keep_answers=True).nights.retry  # type: ignore[union-attr]
    with open_history(URL) as store:
        runs = store.runs()[0]
        kept = [store.answers(run.id) for run in runs]
    assert len(runs) == 2
    assert all(one is not None and one["q0"]["answer"] == "first" for one in kept)


def test_the_report_of_a_suite_draws_the_evidence_of_its_nights() -> None:
    nights = Nights()
    first = nights.night()
    assert "alarm line" not in FORMATS["html"].write(first)  # one night is no course
    nights.several(4)
    nights.break_items(1, 15)
    found = nights.several(4)[-1]
    assert found.nights is not None
    course = found.nights.course
    assert [one.night for one in course] == [f"n{i}" for i in range(1, 10)]
    assert sum(one.alarm for one in course) == 1
    assert [one.evidence is None for one in course][-2:] == [True, True]  # red, and nobody has acknowledged it
    page = FORMATS["html"].write(found)
    assert "alarm line: 365" in page
    assert "alarm: regression" in page
    assert result_of(json.loads(json.dumps(found.to_dict()))) == found
    again = nights.night(night="n6")
    assert again.nights is not None
    assert again.nights.course == course[:6]  # of a retry, the course up to that night
