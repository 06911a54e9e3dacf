"""An Inspect log of 1,000 samples, to columns with scores, beside inspect_ai.log.read_eval_log of the same file.

The log is written by inspect_ai itself, with short conversations and no events: real transcripts are longer, and the peer reads them.
Without inspect_ai (`pip install inspect-ai`, best in an environment of its own) there is nothing to compare with, and no row.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from benchmarks.timing import Row, Unmeasured, Wrong, at_least, duel, scratch

SAMPLES = 1000


def rows(*, quick: bool) -> Iterator[Row | Unmeasured]:
    if find_spec("inspect_ai") is None:
        yield Unmeasured(("logs.inspect",), "inspect-ai is not installed")
        return
    from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries

    from steelyard.read.logs.inspect_log import read
    from steelyard.read.logs.log import Choices

    rounds = 2 if quick else 5
    with scratch() as folder:
        path = str(Path(folder, "run.eval"))
        _write(path)

        def ours() -> list[float]:
            return list(read(path, Choices(scorer="match")).columns["score"])

        def whole() -> list[float]:
            return [float(sample.scores["match"].value == "C") for sample in read_eval_log(path).samples]

        def summaries() -> list[float]:
            read_eval_log(path, header_only=True)
            return [float(sample.scores["match"].value == "C") for sample in read_eval_log_sample_summaries(path)]

        if not sorted(ours()) == sorted(whole()) == sorted(summaries()) or len(ours()) != SAMPLES:
            raise Wrong("the scores of the log differ from inspect_ai's")
        title = f"Inspect .eval of {SAMPLES:,} samples to scores: beside"
        yield at_least("logs.inspect", f"{title} read_eval_log", duel(ours, whole, rounds))
        yield at_least(None, f"{title} its header and sample summaries", duel(ours, summaries, rounds))


def _write(path: str) -> None:
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSample, EvalSpec, write_eval_log
    from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ModelOutput
    from inspect_ai.scorer import Score

    samples = []
    for i in range(SAMPLES):
        question, answer = f"What is {i} + {6 * i}? " + "Think step by step. " * 10, f"It is {7 * i}, since " + "one adds the digits. " * 20
        samples.append(
            EvalSample(
                id=f"item-{i}",
                epoch=1,
                input=question,
                target=str(7 * i),
                messages=[ChatMessageUser(content=question), ChatMessageAssistant(content=answer)],
                output=ModelOutput.from_content("mockllm/model", answer),
                scores={"match": Score(value="C" if i % 3 else "I", answer=str(7 * i))},
                metadata={"passage": f"p{i % 50}"},
            )
        )
    spec = EvalSpec(
        created="2026-11-16T00:00:00+00:00",
        task="sums",
        dataset=EvalDataset(name="sums", samples=SAMPLES, sample_ids=[sample.id for sample in samples]),
        model="mockllm/model",
        config=EvalConfig(epochs=1),
    )
    write_eval_log(EvalLog(status="success", eval=spec, samples=samples), path)
