"""The options of `steelyard split`, declared once: flags of the command, keywords of Python, lines of docstrings."""

from __future__ import annotations

from steelyard_old.options.option import SEED, Option

THRESHOLD, WORDS = 0.8, 2  # of the check: how alike two texts are that are called nearly equal, in runs of so many words

SPLIT_OPTIONS = (
    Option(name="train", unset="no such part", type=float, metavar="SHARE", help="Share of the rows for train, such as .8."),
    Option(name="dev", unset="no such part", type=float, metavar="SHARE", help="Share of the rows for dev."),
    Option(name="test", unset="no such part", type=float, metavar="SHARE", help="Share of the rows for test."),
    Option(
        name="parts",
        unset="no such part",
        flag="--part",
        kind="shares",
        repeat=True,
        metavar="NAME=SHARE",
        help="Another part with its share, such as calibration=.1. Repeatable.",
        python="Other parts with their shares, such as {'calibration': 0.1}.",
    ),
    Option(
        name="stratify",
        metavar="COLUMN",
        help="Keep the shares exact within each value of this column; items may change parts as data grow.",
    ),
    Option(
        name="by_time",
        metavar="COLUMN",
        help="Put earlier rows into the first part and later rows into the last, by the dates or numbers in this column.",
    ),
    SEED,
    Option(
        name="output",
        short="-o",
        kind="output_directory",
        metavar="DIR",
        help="Directory to write the parts to; --answer writes the answer to a file.  [default: that of DATA]",
        python="Directory to write the parts to.  [default: that of the data]",
    ),
    Option(name="update", switch=True, help="Replace parts that exist."),
    Option(name="dry_run", switch=True, help="Show how many rows each part would have; write nothing."),
)
CHECK_OPTIONS = (
    Option(
        name="text",
        kind="list",
        repeat=True,
        metavar="COLUMN",
        help="Columns to compare, joined; repeat or join by commas.  [default: all text columns except id and group]",
    ),
    Option(
        name="threshold",
        type=float,
        default=THRESHOLD,
        help="Texts are nearly equal if their Jaccard similarity is at least this.",
    ),
    Option(name="words", type=int, least=1, default=WORDS, help="Words per shingle, the unit that similarity counts."),
)
COMMON_OPTIONS = (
    Option(
        name="id",
        metavar="COLUMN",
        help="Column that names the item; 'none' identifies rows by their content.  [default: found by its name, such as id]",
    ),
    Option(
        name="group",
        unset="one that is found by its name",
        metavar="COLUMN",
        help="Column that groups items that belong together; a group is never split. 'none' ignores one found by name.",
    ),
)
OPTIONS = (
    Option(name="check", elsewhere="check_split", switch=True, help="Check two or more finished parts for items they share."),
    *SPLIT_OPTIONS[:4],
    *COMMON_OPTIONS,
    *SPLIT_OPTIONS[4:],
    *CHECK_OPTIONS,
    Option(
        name="answer_",
        flag="--answer",
        kind="output",
        repeat=True,
        terminal="output",
        metavar="FILE",
        help="Also write the answer to this file; its extension sets the format. Repeatable.",
    ),
)
