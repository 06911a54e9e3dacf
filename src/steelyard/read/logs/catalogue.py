"""The tools whose logs are read: how each is recognised at a glance, and which module reads it. Nothing of a reader is loaded here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFormat:
    """The logs of one tool.

    `module` has `looks_like(path, head)`, `read(path, choices)` and, where its logs tell when they were made, `made(path)`. It is
    loaded only for a file that could be its own: a JSON file with one of `words` among its first bytes, a zip archive if
    `archive`, a Parquet file with `parquet` among the names of its columns, any directory. `verified` are choices that the
    reader compares with the log instead of choosing by them. `give` says what to name on the command line.
    """

    tool: str
    give: str
    module: str
    words: tuple[bytes, ...] = ()
    archive: bool = False
    parquet: bytes = b""
    verified: tuple[str, ...] = ()


FORMATS: list[LogFormat] = [
    LogFormat(
        module="steelyard.read.logs.lm_eval",
        tool="lm-evaluation-harness 0.4.3 and later",
        give="a `samples_*.jsonl` of `--log_samples`, its `results_*.json`, a model's directory, the output directory",
        words=(b'"doc_id"', b'"results"'),
    ),
    LogFormat(
        module="steelyard.read.logs.inspect_log",
        tool="Inspect AI",
        give="an `.eval` file (any compression) or a `.json` log, finished or not",
        words=(b'"eval"',),
        archive=True,
        verified=("task", "model"),
    ),
    LogFormat(
        module="steelyard.read.logs.promptfoo",
        tool="promptfoo",
        give="the `.json` or `.jsonl` of `promptfoo eval -o`",
        words=(b'"evalId"', b'"cost"'),
    ),
    LogFormat(
        module="steelyard.read.logs.helm",
        tool="HELM",
        give="`per_instance_stats.json`, the directory of a run, the directory of a suite",
        words=(b'"instance_id"',),
    ),
    LogFormat(
        module="steelyard.read.logs.lighteval",
        tool="lighteval",
        give="a details Parquet file, the directory of a run, the output directory",
        parquet=b"model_response",
    ),
    LogFormat(module="steelyard.read.logs.openai_evals", tool="OpenAI evals", give="the JSON Lines of events", words=(b'"spec"',)),
    LogFormat(
        module="steelyard.read.logs.every_eval_ever",
        tool="Every Eval Ever 0.3",
        give="the instance file, or the aggregate beside it",
        words=(b'"schema_version"', b'"evaluation_id"'),
    ),
    LogFormat(module="steelyard.read.logs.deepeval_run", tool="deepeval", give="a test run JSON", words=(b'"testCases"', b'"test_cases"')),
    LogFormat(
        module="steelyard.read.logs.mlflow_table",
        tool="MLflow",
        give="an evaluation table",
        words=(b'"columns"', b'"trace_id"'),
        parquet=b"trace_id",
    ),
]
