"""Nights of a budget that went wrong in the hands of an adversary."""

from __future__ import annotations

from pathlib import Path

import pytest

import steelyard as sy
from steelyard.errors import SteelyardError

URL = "sqlite:///runs.db"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in (
        "GITHUB_RUN_ID",
        "CI_PIPELINE_ID",
        "BUILDKITE_BUILD_ID",
        "CIRCLE_WORKFLOW_ID",
        "BUILD_BUILDID",
        "BUILD_TAG",
        "GITHUB_EVENT_NAME",
    ):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def rows(wrong: set[int], n: int = 60) -> list[dict[str, object]]:
    return [{"id": f"q{i}", "score": float(i < 50 and i not in wrong)} for i in range(n)]


def write(task: str, wrong: set[int], name: str | None = None) -> None:
    lines = [f"{row['id']},{row['score']:g}" for row in rows(wrong)]
    Path(name or f"{task}.csv").write_text("\n".join(["id,score", *lines]) + "\n")


def suite(tasks: str, file: str = "suite.toml", budget: str = 'series = "main"', again: str = "") -> str:
    checks = [
        f'[[checks]]\ntask = "{t}"\nmodel = "m"\nresult = "{t}.csv"\n' + (f'again = "{t}.again.csv"\n' if t in again else "") for t in tasks
    ]
    Path(file).write_text(f"[suite]\nbudget = {{{budget}}}\n" + "".join(checks))
    return file


def record(tasks: str) -> None:
    for place, task in enumerate(tasks):
        sy.record(*[rows({(7 * place + 3 * k) % 50, (11 * place + 5 * k + 1) % 50}) for k in range(3)], task=task, model="m")


def night(name: str, tasks: str, wrong: dict[str, set[int]] | None = None, **more: str) -> sy.Suite:
    for place, task in enumerate(tasks):
        write(task, (wrong or {}).get(task, {(13 * place + sum(name.encode())) % 50}))
    return sy.check_suite(suite(tasks, **more), history=URL, night=name)


def test_another_suite_in_the_same_night_is_no_retry() -> None:
    record("abcd")
    night("77", "ab")
    with pytest.raises(SteelyardError):
        night("77", "cd", wrong={"c": set(range(50)), "d": set(range(50))})


@pytest.mark.parametrize("name", ["reference 1", "reference 3"])
def test_a_night_may_have_the_name_of_a_recorded_run(name: str) -> None:
    record("a")
    assert night(name, "a").verdict == "pass"


def test_a_night_called_again_does_not_stand_in_the_way_of_a_second_run() -> None:
    record("a")
    confirm = 'series = "main", confirm = true'
    for name in ("h0", "h1", "h2", "Monday again"):
        night(name, "a", budget=confirm)
    assert night("Monday", "a", wrong={"a": set(range(15))}, budget=confirm).verdict == "inconclusive"
    write("a", {3}, "a.again.csv")
    assert sy.check_suite(suite("a", budget=confirm, again="a"), history=URL, night="Monday").verdict == "pass"


def test_what_was_run_again_is_not_said_not_to_have_been() -> None:
    record("a")
    confirm = 'series = "main", confirm = true'
    for name in ("h0", "h1", "h2"):
        night(name, "a", budget=confirm)
    night("Monday", "a", wrong={"a": set(range(15))}, budget=confirm)
    write("a", {3}, "a.again.csv")
    found = sy.check_suite(suite("a", budget=confirm, again="a"), history=URL, night="Monday")
    assert "No task had to be run again" not in found.conclusion


def test_a_retry_after_an_acknowledgement_does_not_ask_for_one() -> None:
    record("a")
    for name in ("h0", "h1", "h2"):
        night(name, "a")
    for name in ("x0", "x1", "x2", "x3"):
        last = night(name, "a", wrong={"a": set(range(20))})
    assert last.nights is not None
    assert last.nights.unacknowledged
    sy.acknowledge("main", fixed=True, reason="rolled back", history=URL)
    again = night("x3", "a", wrong={"a": set(range(20))})
    assert "not acknowledged" not in again.conclusion


def test_a_series_that_starts_anew_says_so() -> None:
    record("ab")
    night("h0", "ab")
    sy.record(rows({1}), rows({2}), task="a", model="m", update=True, reason="new weights")
    found = night("h1", "ab")
    assert any("anew" in line for line in (*found.warnings, found.conclusion))


def test_tasks_that_left_for_good_do_not_switch_the_pool_off_in_silence() -> None:
    record("abcd")
    night("h0", "abcd")
    found = night("h1", "a")
    assert found.nights is not None
    assert found.nights.pool_z is not None or any("pool" in line for line in found.warnings)


def test_one_lost_group_is_changed() -> None:
    """Six passages of twenty questions; one passage breaks. That says little about new passages, and `check` says so (p = .5)."""

    def made(salt: int, lost: int = 0) -> list[dict[str, object]]:
        odd = {(37 * salt + 11) % 120, (53 * salt + 29) % 120}
        return [{"id": f"q{i}", "group": f"g{i // 20}", "score": float(i >= lost and i not in odd)} for i in range(120)]

    sy.record(made(1), made(2), made(3), task="a", model="m")
    for salt in range(4, 7):
        assert grouped(f"h{salt}", made(salt)).verdict == "pass"
    for salt in range(7, 12):
        found = grouped(f"x{salt}", made(salt, lost=20))
        assert found.verdict == "pass", found.conclusion  # changed, at most


def grouped(name: str, answers: list[dict[str, object]]) -> sy.Suite:
    lines = [f"{row['id']},{row['group']},{row['score']:g}" for row in answers]
    Path("a.csv").write_text("\n".join(["id,group,score", *lines]) + "\n")
    return sy.check_suite(suite("a"), history=URL, night=name)


def test_a_directory_with_new_answers_is_another_night() -> None:
    record("a")
    Path("runs").mkdir()
    file = suite("a")
    Path(file).write_text(Path(file).read_text().replace('"a.csv"', '"runs"'))
    write("a", {3}, "runs/a.csv")
    sy.check_suite(file, history=URL)
    write("a", {5}, "runs/a.csv")
    found = sy.check_suite(file, history=URL)
    assert found.nights is not None
    assert not found.nights.retry


def test_a_named_source_is_a_night() -> None:
    record("a")
    write("a", {3})
    file = suite("a")
    Path(file).write_text(Path(file).read_text().replace('"a.csv"', '"new=a.csv"'))
    assert sy.check_suite(file, history=URL).verdict == "pass"


def test_simulate_of_a_series_that_confirms() -> None:
    """With a larger budget other tasks would have been run again, of which there is no second run."""
    record("abcdef")
    confirm = 'series = "main", confirm = true'
    for name in ("h0", "h1", "h2", "h3"):
        night(name, "abcdef", budget=confirm)
    assert night("x", "abcdef", wrong={"a": set(range(9))}, budget=confirm).nights.again == ("a m",)
    write("a", {3}, "a.again.csv")
    sy.check_suite(suite("abcdef", budget=confirm, again="a"), history=URL, night="x")
    assert sy.simulate_nights(URL, false_alarms=[1, 200]).budgets


def test_a_command_to_acknowledge_is_quoted() -> None:
    record("a")
    for name in ("h0", "h1", "h2"):
        night(name, "a", budget='series = "team nightly"')
    for name in ("x0", "x1", "x2"):
        found = night(name, "a", wrong={"a": set(range(20))}, budget='series = "team nightly"')
    assert "'team nightly'" in found.conclusion or '"team nightly"' in found.conclusion


def test_a_night_without_a_budget_is_refused_as_a_series_is() -> None:
    record("a")
    write("a", {3})
    Path("suite.toml").write_text('[[checks]]\ntask = "a"\nmodel = "m"\nresult = "a.csv"\n')
    with pytest.raises(SteelyardError):
        sy.check_suite("suite.toml", night="x")


def test_edited_items_are_counted_once() -> None:
    before = [{"id": f"q{i}", "truth": "a", "prediction": "a"} for i in range(60)]
    sy.record(before, task="t", model="m")
    edited = [{**row, "truth": "b" if i < 5 else "a"} for i, row in enumerate(before)]
    found = sy.check(edited, task="t", model="m", unmatched="drop")
    assert found.n == 55
    assert [said for said in found.warnings if "left out" in said] == [
        "5 items have another truth or content than was recorded, such as 'q0': left out (unmatched='drop')"
    ]
    with pytest.raises(SteelyardError, match="Every one of the 60 items has another truth"):
        sy.check([{**row, "truth": "b"} for row in before], task="t", model="m", unmatched="drop")
