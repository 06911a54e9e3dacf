"""A suite that is run: every check that names a model is evaluated now, the others are read, and one verdict is made of all."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from steelyard_old.evaluate.asking.asking import Watcher
from steelyard_old.options.check import SUITE
from steelyard_old.options.option import documented
from steelyard_old.options.run import IN_SUITE
from steelyard_old.questions.run.decided_suite import OF_RULE, AskedCheck, as_one, refuse_other_task
from steelyard_old.questions.run.run import run
from steelyard_old.questions.suite.check_suite import check_suite
from steelyard_old.reference.lookup import load, locate, matched
from steelyard_old.results.evaluation import Evaluation
from steelyard_old.results.verdict import Suite, Verdict


@documented(
    (*SUITE, *IN_SUITE),
    "a Suite",
    seed="Random seed of whatever is drawn. Default: 0; None draws one and says which.",
    until="'decided' runs all tasks together and stops as soon as the suite is decided. Default: every check by itself.",
    max_calls="With until='decided': most calls of all tasks together; undecided there is inconclusive. Default: no limit.",
    max_cost="With until='decided': most money of all tasks together, by their prices. Default: no limit.",
    series="The series of nights this run belongs to; 'none': do not count this run as a night. Default: budget.series of the file.",
    night="Id of this night; the same id again is a retry. Default: the CI run, else the files judged.",
)
def run_suite(
    path: str | os.PathLike[str],
    *,
    directory: str | os.PathLike[str] | None = None,
    config: str | os.PathLike[str] | None = None,
    seed: int | None = 0,
    until: str | None = None,
    stop: str = "first",
    max_calls: int | None = None,
    max_cost: float | None = None,
    progress: Watcher | None = None,
    history: str | None = None,
    series: str | None = None,
    night: str | None = None,
    keep_answers: bool = False,
) -> Suite:
    """Run and check all of a suite file. A check with a table `run` is evaluated: `run = {task = "gsm8k.toml", model = "openai:m"}`.

    With until="decided" the tasks are asked step by step, the most suspicious first, and the suite ends as soon as it is
    decided: half of alpha is for the tasks, each by its own rule at alpha / 2m, half for all of them together.
    """
    asked: dict[str, Any] = {"directory": directory, "config": config, "history": history, "series": series, "night": night}
    asked |= {"keep_answers": keep_answers}
    if until is not None or stop != "first" or max_calls is not None or max_cost is not None:
        together = as_one(until, stop=stop, max_calls=max_calls, max_cost=max_cost, progress=progress)
        return check_suite(path, **asked, together=together)
    return check_suite(path, **asked, seed=seed, **evaluating(progress))


def evaluating(progress: Watcher | None) -> dict[str, Any]:
    """How the checks of a suite that run a model are looked at beforehand, and evaluated: what `check_suite` takes."""

    def beforehand(guard: AskedCheck, **where: Any) -> None:
        _settled(guard, where)

    def evaluate(guard: AskedCheck, **where: Any) -> Verdict:
        own = dict(guard.run or {})
        task, model = own.pop("task"), own.pop("model")
        said = {name: guard.options[name] for name in OF_RULE if name in guard.options}
        found: Evaluation = run(task, model, against=guard.options["model"], progress=progress, verdict=True, **own, **said, **where)
        assert found.verdict is not None  # asked for
        return found.verdict

    return {"evaluate": evaluate, "beforehand": beforehand}


def _settled(guard: AskedCheck, where: Mapping[str, Any]) -> None:
    """What can be known to fail is told before the first model is asked: names that part, a reference that is not there."""
    place = locate(guard.options["task"], where["directory"], where["config"])
    matched(place, guard.options["model"], guard.options.get("spec"), load(place, guard.options["model"]))
    if guard.run is not None:
        refuse_other_task(guard)
