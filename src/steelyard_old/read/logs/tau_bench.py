"""tau-bench: the list of trajectories of a run, one row per task and trial; the reward is the score.

A trial that raised has reward 0 there and the exception in its `info`. That is no answer of the agent, so it is missing here,
and `--missing wrong` counts it as tau-bench does. The file names neither the model nor the domain.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard_old.errors import DataError
from steelyard_old.read.logs.documents import document, listed_in, malformed, side_by_side
from steelyard_old.read.logs.log import Choices, Log, pick

TOOL = "tau-bench"
SUCCESS = 1e-6  # both benches take a reward this near to 1 for a success
_START = re.compile(
    rb'\s*\[\s*\{\s*"task_id"\s*:\s*(?:\d+|"(?:[^"\\]|\\.)*")\s*,'
    rb'\s*"reward"\s*:\s*(?:[-+.0-9eE]+|null)\s*,\s*"info"\s*:\s*\{'
)
_MOST = 10_000_000  # tasks times trials
_SHOWN = 3
_COSTS = ("cost", "agent_cost", "user_cost", "duration")

Trial = dict[str, Any]


def looks_like(path: str, head: bytes) -> bool:
    """A list whose first object begins with a task, its reward and what is known of it."""
    return _START.match(head.removeprefix(b"\xef\xbb\xbf")) is not None


def read(path: str, choices: Choices) -> Log:
    """One row per task and trial, errored and absent ones without a score."""
    rows = listed_in(path, document(path), "", TOOL)
    trials = [_trial(path, row) for row in rows]
    return made_log(TOOL, path, trials, choices, "tau-bench itself counts them as failed, as missing='wrong' does")


def _trial(path: str, row: Mapping[str, Any]) -> Trial:
    info = row.get("info")
    facts: Mapping[str, Any] = info if isinstance(info, Mapping) else {}
    error = facts.get("error")
    return {
        "id": task_of(path, row),
        "trial": row.get("trial"),
        "reward": reward_of(path, row.get("reward"), row),
        "error": None if error is None else " ".join(str(error).split())[:80] or "an error without a message",
        "user_cost": amount(facts.get("user_cost")),
    }


# ---- what both benches share -----------------------------------------------------------------------------------------------


def task_of(path: str, row: Mapping[str, Any]) -> str:
    """The task of a trial, by its number or its name."""
    found = row.get("task_id")
    if type(found) not in (int, str) or found == "":
        raise malformed(path, "a trial has no task_id", "trials as the tool writes them")
    return str(found)


def reward_of(path: str, value: Any, row: Mapping[str, Any]) -> float | None:
    """The reward; what is a success or a failure but for rounding is 1 or 0."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise malformed(
            path, f"the reward of task {str(row.get('task_id'))[:80]!r} is {repr(value)[:80]}, not a finite number", "a finite number"
        )
    return next((float(whole) for whole in (0, 1) if abs(value - whole) <= SUCCESS), float(value))


def amount(value: Any) -> float | None:
    """A cost or a duration; None where the tool could not tell."""
    told = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if told and math.isfinite(value) else None


def made_log(
    tool: str,
    path: str,
    trials: Sequence[Trial],
    choices: Choices,
    counted: str,
    *,
    promised: Sequence[str] = (),
    tries: int = 0,
    name: str | None = None,
    checks: Mapping[str, str] | None = None,
) -> Log:
    """The log of trials: id, reward, error, costs. promised: all tasks of the run; tries: how many trials each was to have."""
    rows = _numbered(path, trials)
    rows += _absent(path, rows, promised, tries)
    kinds = ["reward", "success", *(kind for kind in _COSTS if any(row.get(kind) is not None for row in rows))]
    score = "reward" if choices.score is None else pick("metric", choices.score, kinds, path, option="score")
    table = [{**row, "score": _score(row, score)} for row in rows]
    columns = side_by_side([{key: value for key, value in row.items() if key not in ("reward", "error")} for row in table])
    columns = {key: column for key, column in columns.items() if key == "score" or any(value is not None for value in column)}
    if len(set(columns["repeat"])) == 1:
        del columns["repeat"]
    said = _errors(rows, counted) + _holes(trials, rows, table, score)
    facts = {"score": score} if choices.score is not None else {}
    return Log(
        tool=tool,
        columns=columns,
        name=name,
        chosen=facts,
        checks=checks or {},
        warnings=tuple(said),
        higher_is_better=False if score in _COSTS else None,
    )


def _score(row: Trial, score: str) -> float | None:
    if score in _COSTS:
        found: float | None = row.get(score)
        return found
    if row["error"] is not None or row["reward"] is None:
        return None
    return float(row["reward"]) if score == "reward" else float(row["reward"] == 1)


def _numbered(path: str, trials: Sequence[Trial]) -> list[Trial]:
    """The trials with their number as `repeat`; one that has no number is the next of its task. No trial comes twice."""
    seen: dict[str, set[int]] = {}
    rows = []
    for trial in trials:
        there = seen.setdefault(trial["id"], set())
        number = trial["trial"] if type(trial["trial"]) is int else next(n for n in range(len(there) + 1) if n not in there)
        if number in there:
            raise DataError(
                f"{path!r} has trial {number} of task {trial['id'][:80]!r} twice.",
                got=f"trial {number} of task {trial['id'][:80]!r} twice",
                need="each trial of a task once",
            )
        there.add(number)
        rows.append({key: value for key, value in trial.items() if key != "trial"} | {"repeat": number})
    return rows


def _absent(path: str, rows: Sequence[Trial], promised: Sequence[str], tries: int) -> list[Trial]:
    """Rows without a reward for the trials that a whole run would have: every task as often as any."""
    tasks = list(dict.fromkeys([*promised, *(row["id"] for row in rows)]))
    numbers = sorted({row["repeat"] for row in rows})
    numbers += [n for n in range(tries) if n not in numbers][: max(0, tries - len(numbers))]
    if len(tasks) * len(numbers) > _MOST:
        raise malformed(
            path, f"{len(tasks):,} tasks in {len(numbers):,} trials are more than {_MOST:,} in all", f"at most {_MOST:,} in all"
        )
    there = {(row["id"], row["repeat"]) for row in rows}
    wanted = ((task, number) for number in numbers for task in tasks)
    return [{"id": task, "repeat": number, "reward": None, "error": None} for task, number in wanted if (task, number) not in there]


def _errors(rows: Sequence[Trial], counted: str) -> list[str]:
    errors = Counter(row["error"] for row in rows if row["error"] is not None)
    if not errors:
        return []
    listed = ", ".join(f"{text} ({many})" if many > 1 else text for text, many in errors.most_common(_SHOWN))
    more = f" and {len(errors) - _SHOWN} other messages" if len(errors) > _SHOWN else ""
    return [f"{errors.total()} of {len(rows)} trials ended with an error and have no answer: {listed}{more}; {counted}"]


def _holes(trials: Sequence[Trial], rows: Sequence[Trial], table: Sequence[Trial], score: str) -> list[str]:
    said = []
    if len(rows) > len(trials):
        said.append(f"{len(rows) - len(trials)} of the {len(rows)} trials of a whole run are not in the file: they have no answer")
    holes = sum(row["score"] is None and row["error"] is None for row in table[: len(trials)])
    if holes:
        said.append(f"{holes} of {len(rows)} trials have no {score}")
    return said
