"""A past run as the reference: what is proposed is what happens, and what cannot be a reference is refused with its reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from steelyard.errors import DataError, SourceError, UsageError
from steelyard.history.store import History, open_history
from steelyard.questions.guard.check import check
from steelyard.questions.record.from_history import UNKEPT, propose, record_past
from steelyard.questions.record.record import record
from steelyard.questions.references.listing import show_reference

BASE = {f"i{i}": int(i % 5 > 0) for i in range(50)}
WORSE = {name: 0 if i % 7 == 0 else right for i, (name, right) in enumerate(BASE.items())}
ABOUT: dict[str, Any] = {"task": "t", "model": "m"}


def columns(scores: dict[str, int]) -> dict[str, list[Any]]:
    return {"id": list(scores), "score": list(scores.values())}


@pytest.fixture
def place(tmp_path: Path) -> dict[str, Any]:
    record(columns(BASE), **ABOUT, directory=tmp_path / "references", deterministic=True, theta=0.05, reason="first")
    return {"directory": tmp_path / "references"}


@pytest.fixture
def history(tmp_path: Path) -> Any:
    with open_history(f"sqlite:///{tmp_path / 'runs.db'}") as made:
        yield made


def kept(history: History, place: dict[str, Any], **more: Any) -> str:
    verdict = check(columns(WORSE), **ABOUT, **place)
    return history.append(verdict, **{"items": WORSE, **more}).id


def test_what_is_proposed_is_what_happens(history: History, place: dict[str, Any]) -> None:
    id_ = kept(history, place)
    found = propose(history, id_, **place)
    assert found.rows == (("accuracy", "0.8", f"{sum(WORSE.values()) / 50:.6g}"),)
    done = record_past(history, id_, reason="a new prompt", seen=found.seen, **place)
    assert done.before == 0.8
    assert done.value == pytest.approx(sum(WORSE.values()) / 50)
    entry = show_reference(**ABOUT, **place).entry
    assert entry is not None
    assert entry["theta"] == 0.05
    newest = history.runs(limit=1)[0][0]
    assert (newest.command, newest.estimate) == ("record", done.value)
    assert history.items(newest.id) == WORSE


def test_a_first_reference_can_be_made_of_a_past_run(history: History, place: dict[str, Any], tmp_path: Path) -> None:
    id_ = kept(history, place)
    elsewhere = {"directory": tmp_path / "other"}
    found = propose(history, id_, **elsewhere)
    assert not found.there
    assert [row[0] for row in found.rows] == ["accuracy", "num_samples", "runs"]
    assert record_past(history, id_, reason="the first", seen=found.seen, **elsewhere).before is None


def test_what_can_be_no_reference_is_refused(history: History, place: dict[str, Any]) -> None:
    without = kept(history, place, items=None)
    with pytest.raises(DataError, match="stored without its items"):
        propose(history, without, **place)
    verdict = check(columns(WORSE), **ABOUT, **place)
    from dataclasses import replace

    early = history.append(replace(verdict, details={**verdict.details, "stopping": {}}), items=WORSE).id
    with pytest.raises(DataError, match="stopped early on its own results"):
        propose(history, early, **place)
    with pytest.raises(DataError, match="stopped early on its own results"):
        record_past(history, early, reason="x", seen="", **place)


def test_an_unseen_entry_and_a_missing_reason_change_nothing(history: History, place: dict[str, Any]) -> None:
    id_ = kept(history, place)
    before = (place["directory"] / "t.yaml").read_bytes()
    with pytest.raises(UsageError, match="changed meanwhile"):
        record_past(history, id_, reason="x", seen="0" * 32, **place)
    with pytest.raises(UsageError, match=r"A change of a reference needs a reason\."):
        record_past(history, id_, reason=" ", seen=propose(history, id_, **place).seen, **place)
    assert (place["directory"] / "t.yaml").read_bytes() == before


def test_a_history_that_cannot_be_added_to_is_a_warning(history: History, place: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    id_ = kept(history, place)

    def full(self: History, *given: Any, **more: Any) -> Any:
        raise SourceError("Cannot use the history", got="a full disk", need="room")

    monkeypatch.setattr(History, "append", full)
    done = record_past(history, id_, reason="x", seen=propose(history, id_, **place).seen, **place)
    assert any(warning.startswith(UNKEPT) for warning in done.warnings)
