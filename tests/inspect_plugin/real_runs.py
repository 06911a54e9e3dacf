"""Runs of the real Inspect with its mock model and our metrics, as JSON: run by test_real_inspect.py in a process of its own."""

from __future__ import annotations

import json
import sys
from typing import Any

from inspect_ai import Epochs, Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, accuracy, scorer, stderr

import steelyard as sy
from steelyard import inspect_plugin as ours

SAMPLES, EPOCHS = 18, 3
METRICS = [accuracy(), stderr(), ours.accuracy(), ours.mean(confidence_level=0.9), ours.grouped(ours.accuracy(), "topic", all_label="both")]


@scorer(metrics=METRICS)
def right() -> Any:
    async def score(state: Any, target: Any) -> Score:
        return Score(value="C" if state.output.completion == target.text else "I")

    return score


@scorer(metrics={"length": [ours.mean()], "right": [ours.accuracy(cluster="topic")]})
def several() -> Any:
    async def score(state: Any, target: Any) -> Score:
        return Score(value={"length": len(target.text), "right": state.output.completion == target.text})

    return score


@scorer(metrics=[ours.accuracy()])
def never() -> Any:
    async def score(state: Any, target: Any) -> Score:
        return Score.unscored(reason="scoring_failed")

    return score


def run(logs: str, *, wrong_every: int = 3, scorer: Any = None, epochs: Any = 1, limit: int | None = None) -> Any:
    """A task of sums in two topics; every so many answers are wrong, in later epochs of a sample others than in the first.

    Nobody looks on, so nothing is stored or drawn for those who do.
    """
    asked: dict[str, int] = {}

    def answer(messages: list[Any], *_: Any) -> ModelOutput:
        question = messages[-1].text
        turn = asked[question] = asked.get(question, -1) + 1
        wrong = (int(question) + turn * (int(question) % 2)) % wrong_every == 0
        output = ModelOutput.from_content("mockllm/model", "?" if wrong else question)
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # else it is counted by what must be downloaded
        return output

    rows = [Sample(id=i, input=str(i), target=str(i), metadata={"topic": f"t{i % 6}"}) for i in range(1, SAMPLES + 1)]
    model = get_model("mockllm/model", custom_outputs=answer, memoize=False)
    task = Task(dataset=MemoryDataset(rows, name="sums"), scorer=scorer or right(), name="sums")
    alone: dict[str, Any] = {"display": "none", "log_realtime": False, "score_display": False}
    (log,) = evaluate(task, model=model, log_dir=logs, epochs=epochs, limit=limit, **alone)
    assert log.status == "success", log.error
    return log


def told(log: Any) -> list[dict[str, Any]]:
    return [
        {"name": score.name, "reducer": score.reducer, "metrics": {key: metric.value for key, metric in score.metrics.items()}}
        for score in log.results.scores
    ]


def main(place: str) -> None:
    logs = f"{place}/logs"
    plain = run(logs)
    found: dict[str, Any] = {"plain": told(plain), "location": plain.location}
    reduced = run(logs, epochs=EPOCHS)
    found |= {"reduced": told(reduced), "reduced location": reduced.location}
    found["unreduced"] = told(run(logs, epochs=Epochs(EPOCHS, [])))
    found["several"] = told(run(logs, scorer=several()))
    found["unscored"] = told(run(logs, scorer=never(), limit=4))
    sy.record(plain.location, task="sums", model="mockllm/model", directory=f"{place}/references")
    checks = ours.check_runs("fail", directory=f"{place}/references")
    run(logs)
    worse = run(logs, wrong_every=1)
    found["verdicts"] = [verdict.verdict for verdict in checks.verdicts]
    found["still answered"] = worse.status
    sys.stdout.write("\n" + json.dumps(found) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
