"""The options of `steelyard history`, declared once: flags of the command, keywords of Python, lines of docstrings."""

from __future__ import annotations

from steelyard.options import Option

OPTIONS = (
    Option(
        name="history", kind="input", metavar="URL", help="sqlite:///runs.db or postgresql://host/db.  [default: what steelyard.toml says]"
    ),
    Option(name="task", metavar="NAME", help="Only runs of this task."),
    Option(name="model", metavar="NAME", help="Only runs of this model."),
    Option(name="spec", metavar="KEY=VALUE", repeat=True, help="Only runs of exactly this spec; none: without one. Repeatable."),
    Option(name="metric", metavar="NAME", help="Only runs of this metric."),
    Option(name="verdict", choices=("pass", "regression", "inconclusive"), help="Only runs that were judged so."),
    Option(name="since", metavar="TIME", help="Not before: a date or a time, UTC."),
    Option(name="until", metavar="TIME", help="Before: a date or a time, UTC."),
    Option(name="limit", type=int, help="Runs on a page.  [default: 50]"),
    Option(name="after", metavar="ID", help="The page that follows the run of this id."),
    Option(name="export", command=True, kind="output", help="Write all of them to a file: .csv or .jsonl."),
    Option(name="compare", command=True, metavar="ID ID", pair=True, help="Two runs, item by item; the beginning of an id is enough."),
    Option(name="drift", command=True, switch=True, help="Have the runs of --task and --model drifted?"),
    Option(name="alpha", type=float, default=0.05, help="Of --drift: false alarms over all looks together."),
    Option(name="k", type=float, default=0.5, help="Of --drift: what the CUSUM allows each run, in deviations."),
    Option(name="h", type=float, default=5.0, help="Of --drift: where the CUSUM gives an alarm."),
    Option(name="draws", type=int, default=9999, help="Of --drift: permutations for the change point."),
    Option(name="seed", type=int, default=0, help="Of --drift: of these permutations."),
    Option(name="config", kind="file", help="A steelyard.toml.  [default: the nearest upward]"),
)
