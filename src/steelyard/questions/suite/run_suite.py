"""A suite that is run: every check that names a model is evaluated now, the others are read, and one verdict is made of all."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from steelyard.errors import UsageError
from steelyard.evaluate.asking.asking import Watcher
from steelyard.options import documented
from steelyard.questions.run.run import run
from steelyard.questions.run.task import read_task
from steelyard.questions.suite.check_suite import SuiteCheck, check_suite
from steelyard.reference.lookup import load, locate, matched
from steelyard.results.evaluation import Evaluation
from steelyard.results.verdict import Suite, Verdict

OF_RULE = ("spec", "theta", "margin", "alpha", "beta", "scale", "missing", "unmatched")


@documented(
    (),
    "a Suite",
    path="The suite file, TOML.",
    directory="Where the references are. Default: what steelyard.toml says, else references.",
    config="A steelyard.toml. Default: the nearest upward.",
    seed="Random seed of whatever is drawn. Default: 0; None draws one and says which.",
    progress="Called as the work goes on. Default: silence.",
    history="Database to keep the runs in, each with its items: sqlite:///runs.db or postgresql://host/db. Default: none.",
    series="Of a suite with a budget: the series whose night this is; 'none': it is no night. Default: budget.series of the file.",
    night="What tells this night from others; the same again is a retry. Default: the run of the pipeline, else the files judged.",
    keep_answers="With a history, also keep excerpts of each item's prompt and answer. Default: False.",
)
def run_suite(
    path: str | os.PathLike[str],
    *,
    directory: str | os.PathLike[str] | None = None,
    config: str | os.PathLike[str] | None = None,
    seed: int | None = 0,
    progress: Watcher | None = None,
    history: str | None = None,
    series: str | None = None,
    night: str | None = None,
    keep_answers: bool = False,
) -> Suite:
    """Run and check all of a suite file. A check with a table `run` is evaluated: `run = {task = "gsm8k.toml", model = "openai:m"}`."""
    asked: dict[str, Any] = {"directory": directory, "config": config, "seed": seed, "history": history, "series": series, "night": night}
    asked |= {"keep_answers": keep_answers}
    return check_suite(path, **asked, **evaluating(progress))


def evaluating(progress: Watcher | None) -> dict[str, Any]:
    """How the checks of a suite that run a model are looked at beforehand, and evaluated: what `check_suite` takes."""

    def beforehand(guard: SuiteCheck, **where: Any) -> None:
        _settled(guard, where)

    def evaluate(guard: SuiteCheck, **where: Any) -> Verdict:
        own = dict(guard.run or {})
        task, model = own.pop("task"), own.pop("model")
        said = {name: guard.options[name] for name in OF_RULE if name in guard.options}
        found: Evaluation = run(task, model, against=guard.options["model"], progress=progress, verdict=True, **own, **said, **where)
        assert found.verdict is not None  # asked for
        return found.verdict

    return {"evaluate": evaluate, "beforehand": beforehand}


def _settled(guard: SuiteCheck, where: Mapping[str, Any]) -> None:
    """What can be known to fail is told before the first model is asked: names that part, a reference that is not there."""
    task = guard.options["task"]
    place = locate(task, where["directory"], where["config"])
    matched(place, guard.options["model"], guard.options.get("spec"), load(place, guard.options["model"]))
    if guard.run is None:
        return
    unknown = [name for name in guard.options if name not in (*OF_RULE, "task", "model")]
    if unknown:
        raise UsageError(f"cannot run the check of {task!r}", got=f"{unknown[0]} beside run", need="what the task file says instead")
    named = read_task(guard.run["task"], guard.run.get("data")).name
    if named != task:
        raise UsageError(
            f"The task file is of {named!r}, but the suite says {task!r}.",
            got=f"the task {named!r}, where the suite says {task!r}",
            need="one name",
        )
