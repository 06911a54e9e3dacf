"""The options of `steelyard references`, declared once: flags of the command, keywords of Python, lines of docstrings."""

from __future__ import annotations

from steelyard.options.option import Option

DIALECTS = ("trtllm", "vllm")  # of questions/references/importing.py: help must not import it
WHERE = (
    Option(name="directory", kind="directory", help="Directory of the references.  [default: references]"),
    Option(name="config", kind="file", help="Path of steelyard.toml.  [default: the nearest one, going up from here]"),
)
SPEC = Option(
    name="spec", kind="pairs", repeat=True, metavar="KEY=VALUE", help="Configuration of the entry, e.g. quant_algo=FP8. Repeatable."
)
REASON = Option(name="reason", required=True, metavar="TEXT", help="Why you make this change; kept in the history.")

LIST = WHERE
SHOW = (
    SPEC,
    Option(name="explained", flag="--explain", switch=True, help="Show why each entry of the model does or does not match the spec."),
    *WHERE,
)
LINT = (
    Option(name="strict", switch=True, help="Treat warnings as errors."),
    Option(name="every", flag="--all", switch=True, help="List every finding, not only the first of each kind."),
    *WHERE,
)
IMPORT = (
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
    Option(name="spec", kind="pairs", metavar="KEY=VALUE", repeat=True, help="Only this entry of the model. Repeatable.  [default: all]"),
    *WHERE,
)
REMOVE = (
    SPEC,
    Option(name="line", type=int, least=1, help="Line where the entry begins, if several have the same spec."),
    REASON,
    *WHERE,
)
RENAME = (REASON, *WHERE)
APPROVE = (SPEC, REASON, *WHERE)
