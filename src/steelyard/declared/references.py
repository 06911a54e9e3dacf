"""The options of `steelyard references`, declared once: flags of the command, keywords of Python, lines of docstrings."""

from __future__ import annotations

from steelyard.options import Option

DIALECTS = ("trtllm", "vllm")  # of questions/references/importing.py: help must not import it
WHERE = (
    Option(name="directory", kind="directory", help="Where the references are.  [default: references]"),
    Option(name="config", kind="file", help="A steelyard.toml.  [default: the nearest upward]"),
)
SPEC = Option(name="spec", repeat=True, metavar="KEY=VALUE", help="Which entry of the model: quant_algo=FP8. Repeatable.")
REASON = Option(name="reason", required=True, metavar="TEXT", help="Why; kept in the history.")

LIST = WHERE
SHOW = (
    SPEC,
    Option(name="explained", flag="--explain", switch=True, help="Hold every entry of the model against the spec, key by key."),
    *WHERE,
)
LINT = (
    Option(name="strict", switch=True, help="Warnings count as errors do."),
    Option(name="every", flag="--all", switch=True, help="List every finding, not only the first of each kind."),
    *WHERE,
)
IMPORT = (
    Option(name="dialect", choices=DIALECTS, required=True, help="TensorRT-LLM's files, or lm-eval configurations of vLLM."),
    Option(name="update", switch=True, help="Replace entries that are there with other numbers."),
    Option(name="reason", metavar="TEXT", help="Kept in the history.  [default: where it was imported from]"),
    *WHERE,
)
HISTORY = (Option(name="spec", metavar="KEY=VALUE", repeat=True, help="Only this entry of the model. Repeatable.  [default: all]"), *WHERE)
REMOVE = (
    SPEC,
    Option(name="line", type=int, least=1, help="Which one, where several have the same spec: the line in which it begins."),
    REASON,
    *WHERE,
)
RENAME = (REASON, *WHERE)
APPROVE = (SPEC, REASON, *WHERE)
