"""tau2-bench: the results of a run (one file, or a directory with an index), one row per task and trial; the reward is the score.

A simulation that ended with an error (of the infrastructure, the agent, the simulated user) did not finish the conversation that
the reward is about, so it is missing here. A run that hit its limit of steps or of tool errors is the agent's own, and its
reward counts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from steelyard_old.read.logs.documents import document, listed_in, malformed, text_or_none
from steelyard_old.read.logs.log import Choices, Log
from steelyard_old.read.logs.tau_bench import Trial, amount, made_log, reward_of, task_of

TOOL = "tau2-bench"
_START = re.compile(
    rb'\s*\{\s*(?:"format_version"\s*:\s*[^,{}]*,\s*)?(?:"timestamp"\s*:\s*(?:"(?:[^"\\]|\\.)*"|null)\s*,\s*)?"info"\s*:\s*\{[^{}]*"num_trials"\s*:'
)
_RESULTS, _HEAD = "results.json", 1 << 16
_ERRORS = ("infrastructure_error", "context_window_exceeded", "agent_error", "user_error", "unexpected_error")


def looks_like(path: str, head: bytes) -> bool:
    """An object that begins with when and how the run was made; or a directory that has such a file as its index."""
    if os.path.isdir(path):
        try:
            with open(os.path.join(path, _RESULTS), "rb") as stream:
                head = stream.read(_HEAD)
        except OSError:
            return False
    return _START.match(head.removeprefix(b"\xef\xbb\xbf")) is not None


def read(path: str, choices: Choices) -> Log:
    """One row per task and trial; those that the run promised and the file lacks have no score."""
    file = os.path.join(path, _RESULTS) if os.path.isdir(path) else path
    whole = document(file)
    if not isinstance(whole, dict):
        raise malformed(file, "it is not a JSON object", f"a whole log of {TOOL}")
    info = _object(whole.get("info"))
    domain = text_or_none(_object(info.get("environment_info")).get("domain_name"))
    kept = "simulations" if whole.get("simulations") or not whole.get("simulation_index") else "simulation_index"
    trials = [{**_trial(file, row), "domain": domain} for row in listed_in(file, whole, kept, TOOL)]
    agent, user = _object(info.get("agent_info")), _object(info.get("user_info"))
    facts = {"domain": domain, "user model": text_or_none(user.get("llm"))}
    tries = info.get("num_trials")
    return made_log(
        TOOL,
        file,
        trials,
        choices,
        "tau2-bench leaves out those of the infrastructure and counts the others as failed",
        promised=_tasks(whole),
        tries=tries if type(tries) is int and 0 < tries < 1_000_000 else 0,
        name=text_or_none(agent.get("llm")) or text_or_none(agent.get("implementation")),
        checks={key: value for key, value in facts.items() if value is not None},
    )


def made(path: str) -> str | None:
    """When the run was made, as it says itself."""
    whole = document(os.path.join(path, _RESULTS) if os.path.isdir(path) else path)
    return text_or_none(whole.get("timestamp")) if isinstance(whole, dict) else None


def _trial(path: str, row: Mapping[str, Any]) -> Trial:
    """A simulation, or its line in the index of a directory, which has the reward beside the rest."""
    ended = text_or_none(row.get("termination_reason"))
    given = _object(row.get("reward_info")).get("reward") if "reward_info" in row else row.get("reward")
    agent, user = amount(row.get("agent_cost")), amount(row.get("user_cost"))
    return {
        "id": task_of(path, row),
        "trial": row.get("trial"),
        "reward": reward_of(path, given, row),
        "error": ended if ended in _ERRORS else None,
        "cost": agent + user if agent is not None and user is not None else None,
        "agent_cost": agent,
        "user_cost": user,
        "duration": amount(row.get("duration")),
        "termination_reason": ended,
    }


def _tasks(whole: Mapping[str, Any]) -> list[str]:
    listed = whole.get("tasks")
    ids = [_object(task).get("id") for task in listed] if isinstance(listed, list) else []
    return [str(each) for each in ids if type(each) in (int, str)]


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
