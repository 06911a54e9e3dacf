"""The benchmarks' one list of goals: every goal has a row that names it, no row names another, causes and tables belong to something."""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cases import every

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # `benchmarks` is a package of the repository, not of the installation

from benchmarks.causes import CAUSES  # noqa: E402
from benchmarks.timing import Row, Unmeasured, Wrong  # noqa: E402

sys.path.remove(str(ROOT))

import benchmarks.__main__ as command  # noqa: E402

from benchmarks import goals, page  # noqa: E402

README = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")


def test_list_names_every_goal_and_finds_no_fault() -> None:
    done = subprocess.run([sys.executable, "-m", "benchmarks", "--list"], cwd=ROOT, capture_output=True, text=True, check=True)
    for goal in goals.GOALS:
        assert re.search(rf"^  {re.escape(goal.key)} +{re.escape(goal.target)} +{re.escape(goal.name)}$", done.stdout, re.MULTILINE), (
            goal.key
        )
    assert "NO ROW" not in done.stdout
    assert "NO SUCH GOAL" not in done.stdout


def test_list_shows_a_goal_without_a_row_and_a_row_without_a_goal(monkeypatch: pytest.MonkeyPatch) -> None:
    lonely = goals.Goal("plan.never-measured", "a promise", ">=", 3, "times")
    monkeypatch.setattr(goals, "GOALS", (*(goal for goal in goals.GOALS if goal.key != "plan.start"), lonely))
    monkeypatch.setattr(goals, "BY_KEY", {goal.key: goal for goal in goals.GOALS})
    told = "\n".join(goals.listed())
    assert re.search(r"plan\.never-measured .*NO ROW NAMES IT", told)
    assert "NO SUCH GOAL: plan.start, named by a row of the part plan" in told


def test_goals_are_told_apart() -> None:
    assert len(goals.BY_KEY) == len(goals.GOALS)
    assert {goal.part for goal in goals.GOALS} == {*goals.PARTS, *goals.APART}
    assert all(goals.KEY.fullmatch(goal.key) for goal in goals.GOALS)


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks").glob("*.py")), ids=lambda path: path.stem)
def test_what_a_part_takes_from_the_package_is_there(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "steelyard":
            module = importlib.import_module(str(node.module))
            assert all(hasattr(module, name.name) or importlib.import_module(f"{node.module}.{name.name}") for name in node.names)


def test_causes_belong_to_goals() -> None:
    assert set(CAUSES) <= set(goals.BY_KEY)


@every("part", [*goals.PARTS, *goals.APART])
def test_every_table_stands_between_the_marks_of_its_command(part: str) -> None:
    begin, end = page.marks(part)
    assert f"python -m benchmarks {part} --write" in begin
    assert 0 < README.index(begin) < README.index(end)
    changed = page.written(README, part, "NEW")
    assert f"{begin}\n\nNEW\n\n{end}" in changed
    others = [page.marks(other) for other in (*goals.PARTS, *goals.APART) if other != part]
    for one, two in others:  # every other table keeps its text and its date
        assert changed[changed.index(one) : changed.index(two)] == README[README.index(one) : README.index(two)]


def test_no_table_stands_outside_the_marks() -> None:
    by_hand = re.sub(r"<!-- (\w+): written by .*?<!-- end of \1 -->", "", README, flags=re.DOTALL)
    assert "\n|" not in by_hand
    assert max(map(len, by_hand.splitlines())) <= 118


def test_a_goal_is_judged_by_its_worst_row_and_a_miss_is_explained() -> None:
    rows = [Row(what=what, ours="", key="measure.bca", value=value) for what, value in (("well", 2000.0), ("ill", 900.0))]
    told = page.Told("measure", [*rows, Row(what="fast", ours="", key="measure.macro-growth", value=1.2)])
    told.unmeasured.append(Unmeasured(("measure.posterior-peer",), "the peer is absent"))
    found = {each.goal.key: each for each in page.outcomes([told])}
    assert (found["measure.bca"].met, found["measure.bca"].row, found["measure.bca"].why) == (False, "ill", CAUSES["measure.bca"])
    assert (found["measure.macro-growth"].met, found["measure.macro-growth"].why) == (True, "")
    assert (found["measure.posterior-peer"].met, found["measure.posterior-peer"].why) == (None, "the peer is absent")
    assert found["measure.counting-sums"].why.startswith("NO ROW")
    assert found["engines.spark"].why == "the part engines was not run"
    text = page.goals_of([told])
    assert CAUSES["measure.bca"] in text
    assert text.endswith(f"1 goals met, 1 missed, {len(goals.GOALS) - 2} not measured in this run")


@pytest.mark.parametrize(("fault", "code"), [(None, 0), (Wrong("another table"), 1), (ZeroDivisionError("a peer broke"), 1)])
def test_exit_code_is_1_only_when_an_answer_was_wrong(
    fault: Exception | None, code: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Part:
        @staticmethod
        def rows(*, quick: bool) -> Iterator[Row]:
            yield Row(what="slow", ours="3 s", key="plan.start", value=3.0)  # far from its goal: that is no error
            if fault is not None:
                raise fault

    place = tmp_path / "README.md"
    place.write_text(README, encoding="utf-8")
    monkeypatch.setattr(command, "README", place)
    monkeypatch.setattr(command, "ONE_THREAD", {})
    monkeypatch.setattr(command, "import_module", lambda name: Part)
    monkeypatch.setattr(sys, "argv", ["benchmarks", "plan", "--write", "-o", str(tmp_path / "rows.json")])
    assert command.main() == code
    assert ("| slow" in place.read_text(encoding="utf-8")) is (fault is None)  # a wrong part is not written
    assert json.loads((tmp_path / "rows.json").read_text())["wrong"].keys() == ({"plan"} if fault else set())
    assert re.search(r"MISSED +plan\.start +<= 150 ms +3 s", capsys.readouterr().out)
