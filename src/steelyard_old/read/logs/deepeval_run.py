"""deepeval: a `test_run_*.json`, one metric over the test cases; equal cases are repeats of an item.

A case that was given no name is called test_case_0, test_case_1, ... by deepeval, after its place in the list; a place does
not say what was asked, so such an item is known by its content.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard_old.errors import AmbiguityError
from steelyard_old.read.logs.documents import digest, document, listed_in, malformed, occurrences, scalars, side_by_side, text_or_none
from steelyard_old.read.logs.log import Choices, Log, pick

_START = re.compile(
    rb'\s*\{\s*(?:"testRunData"\s*:\s*\{\s*)?(?:"testFile"\s*:\s*(?:"(?:[^"\\]|\\.)*"|null)\s*,\s*)?"testCases"\s*:\s*\[\s*'
    rb'(?:\]\s*,\s*"conversationalTestCases"\s*:\s*\[\s*)?\{'
)
_PLACE = re.compile(r"(conversational_)?test_case_\d+\Z")
_KINDS = ("testCases", "conversationalTestCases")
_ASKED = ("input", "expectedOutput", "context", "scenario", "expectedOutcome", "userDescription")
_PASSED = "success"
_COUNTED = ("testPassed", "testFailed")
_WRAPPED = "testRunData"  # the key of a run that is kept in deepeval's hidden directory


def looks_like(path: str, head: bytes) -> bool:
    """An object that begins with the list of test cases, which have names."""
    found = _START.match(head.removeprefix(b"\xef\xbb\xbf"))
    return found is not None and b'"name"' in head[found.end() :]


def read(path: str, choices: Choices) -> Log:
    """One row per test case with the score of one metric. `--score success` is the verdict of the whole case."""
    whole = document(path)
    if isinstance(whole, dict) and _WRAPPED in whole:
        whole = whole[_WRAPPED]
    cases = _cases(path, whole)
    metrics = [_metrics(path, case) for case in cases]
    found = list(dict.fromkeys(name for each in metrics for name in each))
    if choices.score == _PASSED and _PASSED not in found:
        score = _PASSED
        values = [_number(case.get("success")) for case in cases]
    else:
        score = pick("metric", choices.score, found, path, option="score")
        values = [each.get(score) for each in metrics]
    ids = _ids(path, cases)
    made = [
        {"id": item, "score": value, **scalars("metadata", case.get("metadata"))}
        for item, value, case in zip(ids, values, cases, strict=True)
    ]
    columns = side_by_side(made)
    repeats = occurrences(ids)
    if repeats is not None:
        columns["repeat"] = repeats
    missing = values.count(None)
    warnings = [f"{missing} of {len(cases)} test cases have no score of {score!r}: the metric errored or was not asked"] if missing else []
    warnings += _uncounted(whole, len(cases))
    return Log(tool="deepeval", columns=columns, name=_model(whole), chosen={"score": score}, warnings=tuple(warnings))


def made(path: str) -> str | None:
    """When the run was made, by the name that deepeval gives its file."""
    dated = re.search(r"\d{8}_\d{6}", os.path.basename(path))
    return dated[0] if dated else None


def _uncounted(whole: Mapping[str, Any], cases: int) -> list[str]:
    """Said where the run counts more cases that passed or failed than there are in the file."""
    counts = [whole.get(name) for name in _COUNTED]
    counted = sum(count for count in counts if type(count) is int)
    if any(type(count) is not int for count in counts) or counted <= cases:
        return []
    return [f"{counted - cases} of the {counted} test cases that the run counts are not in the file: they are left out"]


def _cases(path: str, whole: Any) -> list[dict[str, Any]]:
    given = {kind: whole.get(kind) for kind in _KINDS} if isinstance(whole, dict) else {}
    wrong = next((kind for kind, cases in given.items() if cases is not None and not isinstance(cases, list)), None)
    if wrong is not None:
        raise malformed(path, f"{wrong!r} is not a list", "a whole log of deepeval")
    filled = [kind for kind, cases in given.items() if cases]
    if len(filled) > 1:
        counts = ", ".join(f"{len(whole[kind])} {kind}" for kind in filled)
        raise AmbiguityError(
            f"{path!r} has test cases of two kinds ({counts}), which cannot be measured together.",
            got=counts,
            need="one kind",
            hint="write them in two test runs",
        )
    return listed_in(path, whole, filled[0] if filled else _KINDS[0], "deepeval")


def _metrics(path: str, case: Mapping[str, Any]) -> dict[str, Any]:
    """The scores of a case by metric; None where the metric errored."""
    given = case.get("metricsData") or []
    scores: dict[str, Any] = {}
    for each in given if isinstance(given, list) else [given]:
        metric: Mapping[str, Any] = each if isinstance(each, dict) else {}
        name = metric.get("name")
        if not isinstance(name, str):
            raise malformed(path, f"a metric of {case.get('name')!r} has no name", "metricsData as deepeval writes them")
        if name in scores:
            raise malformed(path, f"{case.get('name')!r} has the metric {name!r} twice", "one name per metric", "name the metrics apart")
        scores[name] = None if metric.get("error") is not None else _number(metric.get("score"))
    return scores


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value


def _ids(path: str, cases: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names, if each case has one of its own; else a digest of what was asked."""
    names = [text_or_none(case.get("name")) for case in cases]
    given = [name for name in names if name is not None and not _PLACE.match(name)]
    if len(set(given)) == len(cases):
        return given
    return [digest(path, _asked(case)) for case in cases]


def _asked(case: Mapping[str, Any]) -> Any:
    """What a case asks, without what was answered; a conversation without a scenario is its user's turns."""
    asked = {key: case[key] for key in _ASKED if case.get(key) is not None}
    turns = case.get("turns")
    if not asked and isinstance(turns, list):
        return [turn.get("content") for turn in turns if isinstance(turn, dict) and turn.get("role") == "user"]
    return asked


def _model(whole: Mapping[str, Any]) -> str | None:
    given = whole.get("hyperparameters")
    return text_or_none(given.get("model")) if isinstance(given, dict) else None
