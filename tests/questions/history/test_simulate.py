"""Stored nights, replayed with other budgets: the same alarms as judged, fewer with a smaller budget, and pages that say so."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import steelyard as sy
from answers import Command
from estimate.past.test_nights import night_event, reference_event, run_of
from questions.history.night_samples import dated_nights, day
from steelyard.errors import DataError, UsageError
from steelyard.estimate.past.nights import nights_of, replay
from steelyard.history.nights import ValueParcel, add_events
from steelyard.history.store import open_history
from steelyard.questions.history.simulate import simulate_nights
from steelyard.results.catalogue import result_of


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return dated_nights(f"sqlite:///{tmp_path_factory.mktemp('nights')}/runs.db")


def test_the_first_row_is_as_it_was_judged_and_further_ones_have_their_budget(url: str) -> None:
    found = simulate_nights(url, false_alarms=[0.001, 1, 12])
    assert [one.false_alarms_per_year for one in found.budgets] == [1.0, 0.001, 1.0, 12.0]
    assert [one.line for one in found.budgets] == pytest.approx([365, 365_000, 365, 365 / 12])
    judged, tiny, same, loose = found.budgets
    assert judged.as_judged
    assert not same.as_judged
    assert judged.alarms == same.alarms
    assert judged.evidence == pytest.approx(same.evidence)
    (alarm,) = [one for one in judged.alarms if one.verdict == "regression"]
    assert "2026-03-19" <= (alarm.since_time or "")[:10] <= "2026-03-22" <= alarm.time[:10] <= "2026-03-24"
    assert alarm.named == ("b",)
    assert judged.red_nights == sum(e is None for e in judged.evidence) > 0
    assert tiny.alarms[0].time >= judged.alarms[0].time >= loose.alarms[0].time
    assert len(found.nights) == len(found.times) == 40
    assert [(one.how, one.by, one.reason) for one in found.acknowledgements] == [("fixed", "ada", "reverted")]
    assert "false alarm a year over the whole suite" in found.claim


def test_budgets_that_nobody_asked_for_are_left_out_where_the_suite_runs_less_often(url: str) -> None:
    found = simulate_nights(url, runs_per_year=10, nights=5)
    assert [one.false_alarms_per_year for one in found.budgets] == [1.0, 0.1, 4.0]
    with pytest.raises(UsageError, match=r"not 12\.0 in 10\.0 runs a year"):
        simulate_nights(url, runs_per_year=10, false_alarms=12)


def test_what_is_worked_out_once_for_all_budgets_changes_nothing(url: str) -> None:
    with open_history(url) as store:
        nights = nights_of(store, "main")
    known: dict[object, object] = {}
    for budget in (0.1, 1.0, 50.0):
        once = replay(nights, false_alarms_per_year=budget, known=known)
        alone = replay(nights, false_alarms_per_year=budget)
        assert [one.verdict for one in once.decisions] == [one.verdict for one in alone.decisions]
        assert [one.evidence for one in once.decisions] == pytest.approx([one.evidence for one in alone.decisions], abs=1e-9)


def test_the_newest_nights_have_the_earlier_ones_as_their_baseline(url: str) -> None:
    whole, last = simulate_nights(url, false_alarms=4), simulate_nights(url, false_alarms=4, nights=10)
    assert last.earlier == 30
    assert last.nights == whole.nights[-10:]
    assert last.budgets[0].evidence == whole.budgets[0].evidence[-10:]
    assert all(one.time >= last.times[0] for one in last.budgets[0].alarms)


def test_every_format_says_it_and_json_comes_back(url: str, tmp_path: Path, steelyard: Command) -> None:
    found = simulate_nights(url)
    assert result_of(json.loads(json.dumps(found.to_dict()))) == found
    assert isinstance(found, sy.NightSimulation)
    text = steelyard("history", "simulate", "--history", url, "--false-alarms", "4").out
    assert "alarm line" in text
    assert "91.25" in text
    assert "What is claimed" not in text
    assert "claim:" in text
    page = tmp_path / "nights.html"
    assert steelyard("history", "simulate", "--history", url, "-o", str(page)).code == 0
    said = page.read_text()
    assert "alarm line: 365" in said
    assert "alarm: regression" in said
    assert "acknowledged" in said
    assert "| budget | alarm line |" in steelyard("history", "simulate", "--history", url, "--format", "markdown").out


def test_a_regression_that_stands_is_said_first(tmp_path: Path) -> None:
    rng, usual = np.random.default_rng(2), np.ones(60)
    address = f"sqlite:///{tmp_path}/runs.db"
    with open_history(address) as store:
        parcel = ValueParcel()
        add_events(store, [replace(reference_event("main", 0, [{"a": run_of(rng, usual)}], parcel), time=day(0))], parcel=parcel)
        for i in range(12):
            parcel = ValueParcel()
            tasks = {"a": run_of(rng, usual * (i < 4))}
            add_events(store, [night_event("main", i + 1, f"n{i}", tasks, parcel, time=day(i + 1))], parcel=parcel)
    found = simulate_nights(address)
    assert "Red since 2026-03-06: nobody has acknowledged it." in found.conclusion


def test_what_cannot_be_simulated_is_refused_with_a_sentence(url: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no nights of the series 'other'"):
        simulate_nights(url, series="other")
    with pytest.raises(UsageError, match="budget"):
        simulate_nights(url, false_alarms=400)
    for bad in (0, -1, float("nan")):
        with pytest.raises(UsageError):
            simulate_nights(url, false_alarms=bad)
    open_history(f"sqlite:///{tmp_path}/empty.db").close()
    with pytest.raises(DataError, match="has no nights"):
        simulate_nights(f"sqlite:///{tmp_path}/empty.db")
