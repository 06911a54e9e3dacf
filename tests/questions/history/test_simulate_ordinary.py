"""Ordinary runs of a suite taken for nights: what a budget would have given before there was one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import steelyard as sy
from answers import Command
from questions.suite.test_budget import Nights
from steelyard.errors import DataError, SteelyardError, UsageError
from steelyard.estimate.past.nights import nights_of, replay
from steelyard.history.store import open_history
from steelyard.results.catalogue import result_of

URL = "sqlite:///runs.db"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite without a budget, ten runs of it in a history, then four that lost items for good."""
    folder = tmp_path_factory.mktemp("ordinary")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        nights = Nights(tasks=3, runs=2, head='name = "plain"')
        for count in range(14):
            if count == 10:
                nights.break_items(1, 15)
            nights.write()
            sy.check_suite("suite.toml", history=URL)
    return folder


def test_a_budget_is_tried_before_it_is_adopted(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(stored)
    found = sy.simulate_nights(URL, suite="suite.toml", false_alarms=[0.1, 1, 12])
    assert (found.series, found.ordinary, len(found.nights), found.acknowledgements) == ("plain", True, 14, ())
    assert [one.false_alarms_per_year for one in found.budgets] == [1.0, 0.1, 12.0]
    assert not any(one.as_judged for one in found.budgets)
    for one in found.budgets:
        assert [alarm.verdict for alarm in one.alarms] == ["regression"]  # accepted at once, so it alarms once
        assert one.alarms[0].named == ("t1 m",)
        assert one.alarms[0].night in found.nights[10:13]
        assert one.red_nights == 0
    assert result_of(json.loads(json.dumps(found.to_dict()))) == found
    assert "No budget has judged these runs" in " ".join(str(found).split())


def test_it_gives_what_nights_of_a_budget_would_have_given() -> None:
    """The same answers as nights of a series and as ordinary runs: the same evidence until the first alarm."""
    nights = Nights(tasks=3, runs=2)
    for count in range(8):
        nights.write()
        if count == 6:
            nights.break_items(1, 15)
        sy.check_suite("suite.toml", history="sqlite:///nights.db", night=f"n{count}")
        sy.check_suite("suite.toml", history="sqlite:///plain.db", series="none")
    found = sy.simulate_nights("sqlite:///plain.db", suite="suite.toml")
    with open_history("sqlite:///nights.db") as store:
        judged = replay(nights_of(store, "main"))
    first = next((i for i, one in enumerate(judged.decisions) if one.alarm), len(judged.decisions)) + 1
    assert found.budgets[0].evidence[:first] == pytest.approx([one.evidence for one in judged.decisions][:first], rel=1e-9)


def test_by_task_and_model_and_the_first_run_where_nothing_is_on_record(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(stored)
    one = sy.simulate_nights(URL, suite="suite.toml", task="t1")
    assert one.budgets[0].alarms[0].named == ("t1 m",)
    assert sy.simulate_nights(URL, model="m").nights == sy.simulate_nights(URL, suite="suite.toml").nights
    alone = sy.simulate_nights(URL, task="t1", model="m", directory="elsewhere")
    assert len(alone.nights) == 13  # the first run is what the nights start from
    assert any("the first run is used instead" in warning for warning in alone.warnings)
    assert alone.budgets[0].alarms


def test_the_newest_nights_and_one_night(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(stored)
    found = sy.simulate_nights(URL, suite="suite.toml", nights=1)
    assert (len(found.nights), found.earlier) == (1, 13)


def test_a_budget_of_the_file_comes_first(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(stored)
    text = (
        Path("suite.toml")
        .read_text(encoding="utf-8")
        .replace("[suite]", "[suite]\nbudget = {false_alarms_per_year = 2, runs_per_year = 50}")
    )
    Path("budget.toml").write_text(text, encoding="utf-8")
    found = sy.simulate_nights(URL, suite="budget.toml")
    assert found.runs_per_year == 50
    assert found.budgets[0].false_alarms_per_year == 2
    assert found.budgets[0].line == 25


def test_the_command_says_the_same(stored: Path, monkeypatch: pytest.MonkeyPatch, steelyard: Command) -> None:
    monkeypatch.chdir(stored)
    said = steelyard("history", "simulate", "--suite", "suite.toml", "--history", URL, "--false-alarms", "1", "--format", "json")
    assert said.code == 0
    assert result_of(json.loads(said.out)) == sy.simulate_nights(URL, suite="suite.toml", false_alarms=1)


def test_runs_of_another_reference_are_left_out_and_counted_and_a_renamed_task_is_another() -> None:
    nights = Nights(tasks=2, head="")

    def several(many: int) -> None:
        for _ in range(many):
            nights.write()
            sy.check_suite("suite.toml", history=URL)

    several(3)
    nights.record(0, 2, update=True)
    several(2)
    found = sy.simulate_nights(URL, suite="suite.toml")
    assert "t0 m: 3 earlier runs with another reference or protocol are no part of the nights" in found.warnings
    assert len(found.nights) == 5  # the other task was there all the time
    text = Path("suite.toml").read_text(encoding="utf-8").replace('task = "t1"', 'task = "other"')
    Path("renamed.toml").write_text(text, encoding="utf-8")
    renamed = sy.simulate_nights(URL, suite="renamed.toml")
    assert len(renamed.nights) == 2
    assert "other m has no stored runs with items, and is no part of the nights" in renamed.warnings
    nights.record(0, 1, update=True)  # after the last run: what is on record is not what they were held against
    late = sy.simulate_nights(URL, suite="suite.toml", task="t0")
    assert len(late.nights) == 1
    assert any("the first run is used instead" in said for said in late.warnings)


def test_what_cannot_be_simulated_is_told(stored: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.chdir(stored)
    refused: list[tuple[type[SteelyardError], str, dict[str, object]]] = [
        (UsageError, "A series has its own nights", {"suite": "suite.toml", "series": "main"}),
        (UsageError, "directory is about references", {"directory": "references"}),
        (DataError, "has no runs of 'nobody'", {"task": "nobody"}),
        (DataError, "has no nights", {}),
        (UsageError, "A budget is more than 0 false alarms", {"suite": "suite.toml", "false_alarms": 1e9}),
        (UsageError, "false_alarms", {"suite": "suite.toml", "false_alarms": 0}),
    ]
    for kind, words, asked in refused:
        with pytest.raises(kind, match=words):
            sy.simulate_nights(URL, **asked)  # type: ignore[arg-type]
    with pytest.raises(SteelyardError, match="not"):
        sy.simulate_nights(f"sqlite:///{home}/nothing.db", suite="suite.toml")
