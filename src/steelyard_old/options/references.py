"""The options of `steelyard references`, declared once: flags of the command, keywords of Python, lines of docstrings."""

from __future__ import annotations

from dataclasses import replace

from steelyard_old.options.option import ARGUMENT, CONFIG, DIRECTORY, MODEL_ON_RECORD, Option

DIALECTS = ("trtllm", "vllm")  # of questions/references/importing.py: help must not import it
WHERE = (
    DIRECTORY,
    CONFIG,
)
TASK = Option(name="task", required=True, python_alone=ARGUMENT, help="The task.")
ONE_TASK = Option(name="task", python_alone=ARGUMENT, help="Only this task.  [default: all]")
MODEL = replace(MODEL_ON_RECORD, metavar=None, required=True, python_alone=ARGUMENT)
TODAY = Option(
    name="today",
    takes="date",
    python_alone="for tests and reports of another day",
    help="The date by which entries are stale.  [default: today]",
)
SPEC = Option(
    name="spec", kind="pairs", repeat=True, metavar="KEY=VALUE", help="Configuration of the entry, e.g. quant_algo=FP8. Repeatable."
)
REASON = Option(name="reason", required=True, metavar="TEXT", help="Why you make this change; kept in the history.")

LIST = (ONE_TASK, *WHERE)
SHOW = (
    TASK,
    MODEL,
    SPEC,
    Option(name="explained", flag="--explain", switch=True, help="Show why each entry of the model does or does not match the spec."),
    *WHERE,
)
LINT = (
    ONE_TASK,
    TODAY,
    Option(name="strict", switch=True, help="Treat warnings as errors."),
    Option(name="every", flag="--all", switch=True, help="List every finding, not only the first of each kind."),
    *WHERE,
)
IMPORT = (
    Option(name="path", takes="path", required=True, python_alone=ARGUMENT, help="One file, or a directory of YAML files."),
    Option(
        name="dialect",
        choices=DIALECTS,
        required=True,
        help="Format of the files: TensorRT-LLM references, or vLLM's lm-eval configurations.",
    ),
    Option(name="update", switch=True, help="Replace existing entries that have other numbers."),
    Option(name="reason", metavar="TEXT", help="Why you import them; kept in the history.  [default: where they came from]"),
    *WHERE,
)
HISTORY = (
    TASK,
    Option(name="model", python_alone=ARGUMENT, help="Only this model.  [default: all]"),
    Option(name="spec", kind="pairs", metavar="KEY=VALUE", repeat=True, help="Only this entry of the model. Repeatable.  [default: all]"),
    *WHERE,
)
REMOVE = (
    TASK,
    MODEL,
    SPEC,
    Option(name="line", type=int, least=1, help="Line where the entry begins, if several have the same spec."),
    REASON,
    *WHERE,
)
RENAME = (
    TASK,
    Option(name="old", required=True, python_alone=ARGUMENT, help="Its current name."),
    Option(name="new", required=True, python_alone=ARGUMENT, help="Its new name."),
    REASON,
    *WHERE,
)
APPROVE = (TASK, MODEL, SPEC, REASON, *WHERE)
