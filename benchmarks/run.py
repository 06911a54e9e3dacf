"""Speed and size against peers, side by side in one run.

    python benchmarks/run.py [measure|compare|plan|startup|files|logs|endpoint|stopping|serve|all] [--quick] [-o FILE.json] [--write-readme]

Needs the extra `bench` (scikit-learn, prob-conf-mat). Exit code 0: measured, whatever was reached; 1: an answer was wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

from timing import ONE_THREAD, Row, Wrong, as_dict, machine, table

PARTS = ("measure", "compare", "plan", "startup", "files", "logs", "endpoint", "stopping", "serve")
README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- results: written by run.py --write-readme -->", "<!-- end of results -->"


def main() -> int:
    parser = argparse.ArgumentParser(description="Speed and size of steelyard against peers, in one run.")
    parser.add_argument("part", nargs="?", choices=(*PARTS, "all"), default="all")
    parser.add_argument("--quick", action="store_true", help="fewer rounds and smaller peers: noisier, a minute or two")
    parser.add_argument("-o", "--output", type=Path, help="write the rows and the facts of the machine as JSON")
    parser.add_argument("--write-readme", action="store_true", help="put the table into benchmarks/README.md")
    asked = parser.parse_args()
    os.environ.update(ONE_THREAD)  # before NumPy is imported, below
    facts = {"date": time.strftime("%Y-%m-%d"), "quick": asked.quick, **machine()}
    rows: list[Row] = []
    try:
        for part in PARTS if asked.part == "all" else (asked.part,):
            rows += told(import_module(f"{part}_bench").rows(quick=asked.quick))
    except Wrong as fault:
        print(f"wrong: {fault}", file=sys.stderr)
        return 1
    text = table(rows)
    notes = notes_of(rows)
    print(f"\n{text}\n\n{notes}\n\n{told_machine(facts)}")
    missed = [row.what for row in rows if row.reached is False]
    print(f"\n{sum(row.reached is True for row in rows)} goals reached, {len(missed)} missed" + "".join(f"\n  {what}" for what in missed))
    if asked.output:
        asked.output.write_text(json.dumps({"machine": facts, "rows": [as_dict(row) for row in rows]}, indent=1) + "\n")
    if asked.write_readme:
        write_readme(f"{text}\n\n{notes}\n\n{told_machine(facts)}")
    return 0


def told(rows: Iterable[Row]) -> Iterator[Row]:
    """Each row as soon as it is known, on stderr: some take a minute."""
    for row in rows:
        print(f"  {row.what}: {row.ours} {row.ratio} {row.goal} {'' if row.reached is None else row.reached}", file=sys.stderr, flush=True)
        yield row


def notes_of(rows: Iterable[Row]) -> str:
    return "\n".join(dict.fromkeys(f"- {row.what}: {row.note}." for row in rows if row.note))


def told_machine(facts: dict) -> str:
    packages = ", ".join(f"{name} {number}" for name, number in facts["packages"].items())
    load = "unknown" if facts["load"] is None else " ".join(map(str, facts["load"]))
    return (
        f"{facts['date']}{', --quick' if facts['quick'] else ''}. {facts['processor']}, {facts['cores']} cores, load before {load}. "
        f"Python {facts['python']}; {packages}."
    )


def write_readme(text: str) -> None:
    before, begin, rest = README.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"no place for the results in {README.name}: {BEGIN} and {END} are missing")
    README.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")


if __name__ == "__main__":
    sys.exit(main())
