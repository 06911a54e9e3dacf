"""The options of `steelyard record`, declared once: flags of the command, keywords of Python, lines of docstrings."""

from __future__ import annotations

from steelyard.options import HISTORY, LOG_PARTS, RATIO, RUN_COLUMNS, Option

OPTIONS = (
    Option(name="task", metavar="NAME", required=True, help="The task: references go to DIRECTORY/NAME.yaml."),
    Option(name="model", metavar="NAME", required=True, help="The model's name there."),
    Option(name="spec", metavar="KEY=VALUE", repeat=True, help="What justifies another accuracy, such as quant_algo=FP8. Repeatable."),
    Option(name="directory", kind="directory", help="Where the references are.  [default: references]"),
    Option(name="update", switch=True, help="Replace an entry that is there; the history keeps a line."),
    Option(name="reason", metavar="TEXT", help="Why this value is right; kept with the entry and in the history."),
    Option(name="protocol", metavar="KEY=VALUE", repeat=True, help="How the run was made: prompt, decoding, scorer. Repeatable."),
    Option(name="metric", metavar="NAME", help="What is recorded.  [default: accuracy for right or wrong, mean for scores]"),
    Option(name="positive", metavar="LABEL", help="The class that f1, precision, recall are about."),
    Option(name="scale", choices=("percent", "fraction", "raw"), help="Of the value.  [default: fraction for scores in 0..1]"),
    Option(name="theta", type=float, help="The drop that matters, written into the entry."),
    Option(name="margin", type=float, help="The drop that is tolerated, written into the entry."),
    Option(name="alpha", type=float, help="False alarms, written into the entry."),
    Option(name="beta", type=float, help="Misses, written into the entry."),
    Option(name="sigma", type=float, help="Standard deviation of one item's score, written into the entry."),
    Option(name="deterministic", switch=True, help="The model answers the same every time: one run is enough."),
    Option(name="ids", choices=("kept", "hashed"), help="Store ids as they are, or only their hashes.  [default: kept]"),
    Option(name="no_items", turns_off="items", switch=True, help="Store the value alone: the next check is then the weaker, unpaired one."),
    Option(name="missing", choices=("error", "wrong", "drop"), default="error", help="Items without an answer."),
    Option(name="config", kind="file", help="A steelyard.toml.  [default: the nearest upward]"),
    HISTORY,
    *RUN_COLUMNS,
    RATIO,
    *LOG_PARTS,
)
