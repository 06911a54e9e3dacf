"""What is left of a float after a subtraction is not news."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import steelyard as sy


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows(wrong: set[int], n: int = 60) -> list[dict[str, object]]:
    return [{"id": f"q{i}", "score": float(i not in wrong)} for i in range(n)]


@pytest.mark.parametrize("n", [60, 61, 100, 200])
def test_runs_that_vary_as_their_items_do_are_not_said_to_vary_more(n: int) -> None:
    sy.record(rows({0}, n), rows({1, 2}, n), rows(set(), n), task="t", model="m")
    found = sy.check(rows({5}, n), task="t", model="m")
    assert not any("runs differ by more" in line for line in found.warnings)


def test_equal_means_differ_by_nothing() -> None:
    sy.record(rows({0}), rows({1}), rows({2}), task="t", model="m")
    assert sy.check(rows({5}), task="t", model="m").difference.estimate == 0


def test_a_critical_slice_that_is_too_small_is_named_in_a_warning() -> None:
    def made(lost: bool) -> list[dict[str, object]]:
        return [{"id": f"q{i}", "lang": "fr" if i < 12 else "de", "score": float(not (lost and i < 12))} for i in range(120)]

    sy.record(made(False), task="t", model="m", by="lang")
    found = sy.check(made(True)[:], task="t", model="m", by="lang", critical_slices=["de", "fr"], alpha=1e-9)
    assert any("fr" in line for line in found.warnings)


def test_another_slice_than_on_record_is_told() -> None:
    def made(lang: str) -> list[dict[str, object]]:
        return [{"id": f"q{i}", "lang": lang if lang else ("de" if i % 2 else "fr"), "score": float(i % 7 != 0)} for i in range(120)]

    sy.record(made(""), task="t", model="m", by="lang")
    found = sy.check(made("it"), task="t", model="m", by="lang")
    assert any("lang" in line for line in found.warnings)


def test_a_mean_of_milliseconds_and_rewards_is_not_told() -> None:
    text = ""
    for task, size, higher in (("latency", 100.0, False), ("reward", 3.0, True)):
        before = [{"id": f"q{i}", "score": size + (i * 7 % 11) / 10} for i in range(60)]
        sy.record(before, task=task, model="m", metric="mean", scale="raw", higher_is_better=higher)
        lines = [f"q{i},{size + (i * 5 % 13) / 10}" for i in range(60)]
        Path(f"{task}.csv").write_text("\n".join(["id,score", *lines]) + "\n")
        text += f'[[checks]]\ntask = "{task}"\nmodel = "m"\nresult = "{task}.csv"\n'
    Path("suite.toml").write_text(text)
    found = sy.check_suite("suite.toml")
    assert found.pooled is not None
    assert found.pooled.mean_change is None


def test_a_share_that_is_worse_is_below_the_reference_by_its_bound() -> None:
    before = [{"id": i, "score": 0.3 + 0.4 * ((i * 37) % 101) / 101} for i in range(100)]
    sy.record(before, task="t", model="m", scale="raw", metric="mean")
    worse = [{**row, "score": float(row["score"]) - 0.1 * (row["id"] < 5)} for row in before]
    found = sy.check(worse, task="t", model="m", theta="5%")
    assert found.verdict == "regression"
    most = re.search(r"at most ([0-9.]+)% by its bound", found.conclusion)
    assert most is not None
    assert float(most.group(1)) <= 100
