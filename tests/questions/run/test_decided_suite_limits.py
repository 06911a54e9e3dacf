"""A suite that is run until it is decided, ended by limits and by scores outside their range."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import steelyard as sy

N = 400


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("adversary", None)
    return tmp_path


def make(tasks: str, before: str, after: str, task: str = 'scorer = "exact"') -> str:
    """Two functions of a task's letter and number: before (on record) and after."""
    Path("adversary.py").write_text(
        f"def score(answer, row): return float(answer)\n"
        f"def before(q):\n    t, i = q.split(); i = int(i)\n    return {before}\n"
        f"def after(q):\n    t, i = q.split(); i = int(i)\n    return {after}\n"
    )
    text = ""
    for name in tasks:
        Path(f"{name}.jsonl").write_text("".join(json.dumps({"id": f"{name}{i}", "q": f"{name} {i}", "y": "yes"}) + "\n" for i in range(N)))
        Path(f"{name}.toml").write_text(f'[task]\nname = "{name}"\ndata = "{name}.jsonl"\ninput = "{{q}}"\ntruth = "y"\n{task}\n')
        sy.run(f"{name}.toml", "python:adversary:before", name="m", output=f"ref-{name}.jsonl", against="none")
        sy.record(f"ref-{name}.jsonl", task=name, model="m")
        text += f'[[checks]]\ntask = "{name}"\nmodel = "m"\ntheta = 0.05\n'
        text += f'run = {{task = "{name}.toml", model = "python:adversary:after", name = "m"}}\n'
    Path("suite.toml").write_text(text)
    return "suite.toml"


def test_a_limit_does_not_undo_a_regression() -> None:
    suite = make("abc", '"no" if i % 10 == 0 else "yes"', '"no" if i % 10 == 0 or (t == "b" and i % 2) else "yes"')
    found = sy.run_suite(suite, until="decided", stop="all", max_calls=96)
    assert found.stopping is not None
    assert found.stopping["limit"] is not None
    assert found.stopping["named"] == ("b m",)
    assert found.verdict == found.stopping["decision"] == "regression"
    assert found.exit_code == 1
    assert found.conclusion.startswith("Worse: b m. Ended after 96 of 1,200 calls")
    assert "the limit of 96 calls" in found.conclusion
    assert "Left open: 1 of 3 tasks." in found.conclusion
    assert "c m: not asked (400 items)" in str(found)


def test_all_together_is_no_question_any_more_once_a_task_is_named() -> None:
    suite = make("abc", '"no" if i % 10 == 0 else "yes"', '"no" if i % 10 == 0 or i % 4 == (t == "b") else "yes"')
    found = sy.run_suite(suite, until="decided", stop="all")
    assert found.stopping is not None
    asked = [look for look in found.stopping["looks"] if look["pooled"] is not None]
    assert len(asked) < len(found.stopping["looks"])
    for look in asked[:-1]:
        assert look["pooled"] > look["pooled_needed"]
    last = found.stopping["pooled"]
    assert last["worse"] == (last["lambda"] <= last["needed"])


def test_a_score_outside_its_range_is_not_called_out_of_items() -> None:
    suite = make("ab", '"0.5"', '"5" if t == "a" and i % 10 == 7 else "0.5"', 'scorer = "adversary:score"\nmetric = "mean"\nrange = [0, 1]')
    found = sy.run_suite(suite, until="decided")
    assert found.verdict == "inconclusive"
    assert "ran out of items" not in found.conclusion
    assert "in a m item 'a" in found.conclusion
    assert "scored 5, outside 0 to 1" in found.conclusion
    assert "a m: ended by a score outside its range after" in str(found)
