"""A night that only changed and is shown to be worse for new items on a later one: one alarm, which was a regression."""

from __future__ import annotations

from pathlib import Path

import pytest

import steelyard as sy

URL = "sqlite:///runs.db"
SUITE = """
[suite]
budget = {series = "main", false_alarms_per_year = 36, runs_per_year = 365}
[[checks]]
task = "t"
model = "m"
result = "run.csv"
"""


def rows(lost: int) -> list[dict[str, object]]:
    return [{"id": f"q{i}", "score": float(i % 5 > 0 and i >= lost)} for i in range(60)]


@pytest.fixture
def verdicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    sy.record(rows(0), rows(0), task="t", model="m", deterministic=True)
    Path("suite.toml").write_text(SUITE, encoding="utf-8")
    seen = []
    for night in range(6):
        lines = [f"{row['id']},{row['score']}\n" for row in rows(5 if night > 2 else 0)]
        Path("run.csv").write_text("".join(["id,score\n", *lines]), encoding="utf-8")
        nights = sy.check_suite("suite.toml", history=URL, night=f"N{night}").nights
        assert nights is not None
        seen.append(nights.verdict)
    return seen


def test_what_was_confirmed_later_counts_as_the_regression_that_it_is(verdicts: list[str]) -> None:
    assert verdicts == ["pass", "pass", "pass", "changed", "regression", "regression"]
    found = sy.simulate_nights(URL)
    judged = found.budgets[0]
    (alarm,) = judged.alarms
    assert (alarm.night, alarm.verdict, alarm.confirmed, alarm.named) == ("N3", "regression", "N4", ("t m",))
    assert (judged.regressions, judged.changes, judged.red_nights) == (1, 0, 1)
    assert "1 alarm (1 regression, 0 changed)" in found.conclusion
    assert "changed, then regression" in " ".join(str(found).split())
    assert sy.NightSimulation.from_dict(found.to_dict()) == found
