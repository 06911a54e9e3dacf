"""The options of `steelyard check`, declared once: flags of the command, keywords of Python, lines of docstrings."""

from __future__ import annotations

from steelyard.options import HISTORY, LOG_PARTS, RATIO, RUN_COLUMNS, Option

OPTIONS = (
    Option(name="task", metavar="NAME", help="The task: its references are in DIRECTORY/NAME.yaml."),
    Option(name="model", metavar="NAME", help="The model, as it is named there."),
    Option(name="spec", metavar="KEY=VALUE", repeat=True, help="What justifies another accuracy, such as quant_algo=FP8. Repeatable."),
    Option(name="directory", kind="directory", help="Where the references are.  [default: references]"),
    Option(name="value", type=float, help="A bare score instead of a run."),
    Option(name="suite", command=True, kind="file", help="A TOML file of many checks: one verdict, corrected for their number."),
    Option(name="metric", metavar="NAME", help="What is compared.  [default: what the reference says]"),
    Option(name="positive", metavar="LABEL", help="The class that f1, precision, recall are about."),
    Option(name="scale", choices=("percent", "fraction", "raw"), help="Of value, theta, margin and sigma."),
    Option(name="alpha", type=float, help="False alarms: the share of healthy runs called worse.  [default: 0.05]"),
    Option(name="beta", type=float, help="Misses that the minimum detectable effect is reported for.  [default: 0.2]"),
    Option(name="sigma", type=float, help="Standard deviation of one item's score, for a reference that is a single number."),
    Option(name="theta", type=float, help="The drop that matters: a pass must rule it out."),
    Option(name="margin", type=float, help="The drop that is tolerated.  [default: 0]"),
    Option(name="num_samples", type=int, help="Items behind a bare value."),
    Option(
        name="target",
        choices=("items", "runs"),
        default="items",
        help="New items of this kind, or the behaviour on these very items (needs repeats).",
    ),
    Option(
        name="range",
        type=float,
        metavar="LO HI",
        pair=True,
        help="The least and the greatest score of an item: rare large changes are counted in.",
    ),
    Option(name="unmatched", choices=("error", "drop"), default="error", help="Items on one side only."),
    Option(name="missing", choices=("error", "wrong", "drop"), default="error", help="Items without an answer."),
    Option(name="protocol", metavar="KEY=VALUE", repeat=True, help="How the run was made; must be what is on record. Repeatable."),
    Option(
        name="fail_on",
        command=True,
        choices=("inconclusive", "regression"),
        default="inconclusive",
        help="regression: an inconclusive check exits 0.",
    ),
    Option(name="draws", type=int, default=10000, help="Resamples, where a test needs them."),
    Option(name="seed", metavar="INT", default="0", help="Of everything random."),
    Option(name="config", kind="file", help="A steelyard.toml.  [default: the nearest upward]"),
    HISTORY,
    *RUN_COLUMNS,
    RATIO,
    *LOG_PARTS,
)
