"""Several nights in one place: refused with the hint --latest, which reads the newest by the time in the log, never by that of the file."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard.errors import AmbiguityError, DataError, SteelyardError
from steelyard.questions.compare.compare import compare
from steelyard.questions.guard.check import check
from steelyard.questions.measure.measure import measure
from steelyard.questions.record.record import record

HERE = Path(__file__).parent
NIGHTS = ("2026-11-02", "2026-11-04", "2026-11-03")  # in the order in which they are written


def of_lm_eval(place: Path, night: str) -> None:
    place.mkdir(exist_ok=True)
    for path in (HERE / "lm_eval" / "api" / "model-a").iterdir():
        shutil.copy(path, place / path.name.replace("2026-11-16", night))


def of_lighteval(place: Path, night: str) -> None:
    shutil.copytree(
        HERE / "lighteval/details/steel/model-a/2026-11-16T00-00-00.000000", place / f"details/steel/model-a/{night}T00-00-00.000000"
    )


def of_inspect(place: Path, night: str) -> None:
    place.mkdir(exist_ok=True)
    whole = json.loads((HERE / "inspect" / "troubled.json").read_text(encoding="utf-8"))
    whole["eval"]["created"] = f"{night}T02:37:45+00:00"
    write(place / f"{len(list(place.iterdir()))}.json", whole)


def of_promptfoo(place: Path, night: str) -> None:
    place.mkdir(exist_ok=True)
    whole = json.loads((HERE / "promptfoo" / "one.json").read_text(encoding="utf-8"))
    whole["results"]["timestamp"] = f"{night}T02:27:41.859Z"
    write(place / f"{len(list(place.iterdir()))}.json", whole)


def of_openai_evals(place: Path, night: str) -> None:
    place.mkdir(exist_ok=True)
    text = (HERE / "openai_evals" / "match_a.jsonl").read_text(encoding="utf-8")
    (place / f"{len(list(place.iterdir()))}.jsonl").write_text(
        text.replace('"created_at": "2026-11-16', f'"created_at": "{night}'), encoding="utf-8"
    )


def of_deepeval(place: Path, night: str) -> None:
    place.mkdir(exist_ok=True)
    shutil.copy(HERE / "deepeval_run" / "two_metrics.json", place / f"test_run_{night.replace('-', '')}_024500.json")


def write(path: Path, whole: Any) -> None:
    path.write_text(json.dumps(whole), encoding="utf-8")


TOOLS: list[tuple[Callable[[Path, str], None], dict[str, str]]] = [
    (of_lm_eval, {"filter": "strict-match"}),
    (of_lighteval, {"score": "em"}),
    (of_inspect, {"scorer": "verdict", "missing": "drop"}),
    (of_promptfoo, {}),
    (of_openai_evals, {}),
    (of_deepeval, {"score": "closeness"}),
]


@pytest.mark.parametrize(("made", "choice"), TOOLS)
def test_the_newest_of_several_nights_is_read_and_named(made: Any, choice: dict[str, str], tmp_path: Path) -> None:
    place = tmp_path / "nights"
    for night in NIGHTS:
        made(place, night)
    for place_, (folder, _, names) in enumerate(os.walk(place)):  # the times of the files tell another order
        for name in names:
            os.utime(Path(folder, name), (place_, 1e9 - place_))
    with pytest.raises(AmbiguityError, match=r"latest=True reads the newest"):
        measure(str(place), **choice)
    found = measure(str(place), **choice, latest=True)
    assert any(
        said.startswith("read the newest of 3 runs") and "2026-11-04" in said.replace("20261104", "2026-11-04") for said in found.warnings
    )
    alone = tmp_path / "alone"
    made(alone, NIGHTS[1])
    assert found.rows == measure(str(alone), **choice).rows


def test_record_check_and_compare_take_the_newest_too(tmp_path: Path) -> None:
    for night in NIGHTS:
        of_lm_eval(tmp_path / "nights", night)
    choice: dict[str, Any] = {"filter": "strict-match", "latest": True}
    about: dict[str, Any] = {"task": "t", "model": "m", "directory": tmp_path / "references"}
    record(str(tmp_path / "nights"), **about, **choice)
    assert check(str(tmp_path / "nights"), **about, **choice).verdict == "pass"
    assert compare(str(tmp_path / "nights"), str(tmp_path / "nights"), **choice).n == 40


def test_nights_of_several_tasks_and_models_are_chosen_first(tmp_path: Path) -> None:
    for name in ("arith.eval", "arith_b.eval", "troubled.eval"):
        shutil.copy(HERE / "inspect" / name, tmp_path)
    with pytest.raises(AmbiguityError, match=r"has 2 tasks: arith, troubled\..*log_task='arith'"):
        measure(str(tmp_path), latest=True)
    with pytest.raises(AmbiguityError, match=r"has 2 models: mockllm/model-a, mockllm/model-b\..*log_model='mockllm/model-a'"):
        measure(str(tmp_path), latest=True, log_task="arith")
    found = measure(str(tmp_path), log_task="arith", log_model="model-b", scorer="match")
    assert found.rows[0].estimate == pytest.approx(0.7583333333333333)


def test_two_logs_of_one_time_or_of_none_are_not_told_apart(tmp_path: Path) -> None:
    for name in ("a", "b"):
        shutil.copy(HERE / "inspect" / "arith.eval", tmp_path / f"{name}.eval")
    with pytest.raises(
        AmbiguityError,
        match=r"Cannot tell which run of 'arith' in .* is the newest: a\.eval \(2026-11-16T02:37:45\+00:00\),.*Hint: give its path",
    ) as told:
        measure(str(tmp_path), latest=True, scorer="match")
    assert "latest=True" not in str(told.value)
    with pytest.raises(AmbiguityError, match=r"Hint: give its path"):
        measure(str(tmp_path), scorer="match")


def test_latest_of_a_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,score\n1,0\n2,1\n", encoding="utf-8")
    with pytest.raises(SteelyardError, match=r"latest= chooses inside the log of an evaluation tool; this is .*, a table\."):
        measure(str(tmp_path), latest=True)
    assert measure(str(tmp_path), latest=False).n == 2


@pytest.mark.parametrize("verb", ["measure", "compare", "record", "check"])
def test_a_run_that_ended_with_an_error_is_refused_with_status_exception_and_sample(verb: str, tmp_path: Path) -> None:
    path = str(HERE / "inspect" / "failed.eval")
    about: dict[str, Any] = {"task": "t", "model": "m", "directory": tmp_path}
    asked: dict[str, Callable[[], Any]] = {
        "measure": lambda: measure(path),
        "compare": lambda: compare(path, path),
        "record": lambda: record(path, **about),
        "check": lambda: check(path, **about),
    }
    if verb == "check":
        record(path, **about, missing="wrong")
    said = r"status 'error', RuntimeError\('the endpoint did not answer'\) in sample '2', epoch 1; 5 of 6 samples without a score"
    with pytest.raises(DataError, match=said):
        asked[verb]()
    assert measure(path, missing="wrong").n == 6
