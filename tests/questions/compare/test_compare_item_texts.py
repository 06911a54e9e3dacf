"""Items that changed carry the prompt, the target and the answers that their sources have."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from cases import every
from steelyard.estimate.changed_items import EXPLAINED
from steelyard.read.open_source import open_source
from steelyard.read.source import END, START, context_of, excerpt

SHOTS = "One and one is two. " * 400


def rows(wrong: int, prompt: str = "prompt", n: int = 40) -> list[dict[str, Any]]:
    asked = [f"{SHOTS}What is {i} plus {i}?" for i in range(n)]
    return [{"id": f"q{i}", prompt: asked[i], "truth": str(2 * i), "prediction": "none" if i < wrong else str(2 * i)} for i in range(n)]


def scored(wrong: int, said: str) -> list[dict[str, Any]]:
    made = rows(wrong, "question")
    return [
        {
            "id": r["id"],
            "question": r["question"],
            "expected": r["truth"],
            "answer": f"{said} {r['prediction']}",
            "score": float(i >= wrong),
        }
        for i, r in enumerate(made)
    ]


def written(folder: Path, kind: str, name: str, table: list[dict[str, Any]]) -> str:
    target = folder / f"{name}.{kind}"
    if kind == "csv":
        with target.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(table[0]))
            writer.writeheader()
            writer.writerows(table)
    elif kind == "jsonl":
        target.write_text("".join(json.dumps(row) + "\n" for row in table), encoding="utf-8")
    else:
        target.write_text(json.dumps(table), encoding="utf-8")
    return str(target)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "json", "rows"])
@pytest.mark.parametrize("column", ["prompt", "Input", "question"])
def test_an_item_has_an_excerpt_of_its_prompt(tmp_path: Path, kind: str, column: str) -> None:
    tables = [rows(0, column), rows(3, column)]
    given = tables if kind == "rows" else [written(tmp_path, kind, name, table) for name, table in zip("ab", tables, strict=True)]
    told = sy.compare(*given).to_dict()["telling_items"]
    assert [item["id"] for item in told] == ["q0", "q1", "q2"]
    for i, item in enumerate(told):
        assert (item["truth"], item["baseline"], item["candidate"]) == (str(2 * i), str(2 * i), "none")
        assert item["prompt"].startswith("One and one")
        assert item["prompt"].endswith(f"What is {i} plus {i}?")
        assert len(item["prompt"]) < 400


def test_large_files_are_looked_up_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.estimate.compare_sources.LARGE", 10)
    given = [written(tmp_path, "csv", name, rows(wrong)) for name, wrong in (("a", 0), ("b", 3))]
    assert all(item["prompt"].endswith("?") for item in sy.compare(*given).changed_items)


def test_scores_come_with_target_and_answers() -> None:
    told = sy.compare(scored(0, "It is"), scored(2, "I say")).changed_items
    assert told[1]["baseline"] == 1.0
    assert told[1]["candidate"] == 0.0
    assert told[1]["target"] == "2"
    assert (told[1]["baseline_answer"], told[1]["candidate_answer"]) == ("It is 2", "I say none")
    page = sy.report(sy.compare(scored(0, "It is"), scored(2, "I say")))
    assert "<td>1: <del>It is 2</del></td>" in page
    assert "<td>0: <ins>I say none</ins></td>" in page


def test_a_source_without_prompts_has_none() -> None:
    plain = [[{key: value for key, value in row.items() if key != "prompt"} for row in rows(wrong)] for wrong in (0, 3)]
    assert [set(item) for item in sy.compare(*plain).changed_items] == [{"id", "change", "truth", "baseline", "candidate"}] * 3


@every("strange", [None, float("nan"), ["a", {"role": "user"}], 7, "", "\x00\ud800"])
def test_whatever_is_in_the_column_is_no_error(strange: Any) -> None:
    odd = [[{**row, "prompt": strange} for row in rows(wrong)] for wrong in (0, 3)]
    c = sy.compare(*odd)
    assert c.flips == {"both": 37, "baseline_only": 3, "candidate_only": 0, "neither": 0}
    assert sy.report(c)


def test_one_table_of_two_models_has_prompts_and_no_mixed_answers() -> None:
    long = [{**row, "model": name} for name, wrong in (("old", 0), ("new", 3)) for row in scored(wrong, name)]
    told = sy.compare(long, names=["old", "new"]).changed_items
    assert told[0]["prompt"].endswith("What is 0 plus 0?")
    assert "candidate_answer" not in told[0]


def test_a_check_shows_what_the_run_was_asked_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sy.record(written(tmp_path, "csv", "a", rows(0)), task="t", model="m", reason="first")
    verdict = sy.check(written(tmp_path, "csv", "b", rows(9)), task="t", model="m")
    assert verdict.verdict == "regression"
    item = next(item for item in verdict.changed_items if item["id"] == "q4")
    assert item["prompt"].endswith("What is 4 plus 4?")
    assert (item["target"], item["candidate_answer"]) == ("8", "none")
    page = sy.report(verdict)
    assert "<td>8</td>" in page
    assert "<td>0: none</td>" in page


def test_texts_of_a_verdict_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    n = EXPLAINED + 50
    sy.record(rows(0, n=n), task="t", model="m", reason="first")
    told = sy.check(rows(n, n=n), task="t", model="m").changed_items
    assert len(told) == n
    assert sum("prompt" in item for item in told) == EXPLAINED


def test_an_excerpt_has_the_beginning_and_the_end() -> None:
    assert excerpt("short\n text") == "short text"
    assert excerpt("a" * 1000 + "b" * 1000) == "a" * START + " ... " + "b" * END
    assert len(excerpt("a" * 10_000, whole=True)) < 1100


LOGS = Path(__file__).parents[2] / "read" / "logs"


def told_by(path: Path, **columns: str) -> dict[str, dict[str, str]]:
    source = open_source(str(path), columns=columns)
    names = source.items().id
    assert names is not None
    found = context_of(source, set(names.names))
    assert found.keys() == set(names.names)
    assert context_of(source, set(names.names[:1])).keys() == {names.names[0]}
    return found


def test_an_inspect_log_tells_what_was_asked_and_answered() -> None:
    told = told_by(LOGS / "inspect" / "arith.eval", scorer="match")
    assert all(texts["prompt"].startswith("What is") and texts["target"] for texts in told.values())
    assert any(texts.get("answer") for texts in told.values())


def test_a_promptfoo_log_tells_what_was_asked_and_answered(tmp_path: Path) -> None:
    log = json.loads((LOGS / "promptfoo" / "one.json").read_text(encoding="utf-8"))
    for row in log["results"]["results"]:
        country = row["vars"]["country"]
        row |= {"prompt": {"raw": f"Capital of {country}?", "label": "question"}, "response": {"output": f"It is in {country}."}}
    target = tmp_path / "log.json"
    target.write_text(json.dumps(log), encoding="utf-8")
    told = told_by(target)
    assert {"prompt": "Capital of France?", "answer": "It is in France."} in told.values()
    assert told_by(LOGS / "promptfoo" / "one.json")  # a log without texts tells none, and is no error
