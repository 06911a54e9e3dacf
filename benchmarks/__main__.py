"""Every goal of speed and size with its target, met or not, and why not; beside peers, in one run.

    python -m benchmarks [PART ...] [--quick] [--list] [-o FILE.json] [--write]

Needs the extra `bench`; a peer that is not installed is said to be absent. Exit code 0: measured, whatever was reached; 1: an answer
was wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.goals import APART, PARTS, listed
from benchmarks.page import README, Told, goals_of, outcomes, told_part, written
from benchmarks.timing import ONE_THREAD, Row, Wrong, as_dict, machine


def main() -> int:
    asked = arguments()
    if asked.list:
        print("\n".join(listed()))
        return 0
    os.environ.update(ONE_THREAD)  # before NumPy is imported by a part
    facts = {"date": time.strftime("%Y-%m-%d"), "quick": asked.quick, **machine()}
    told = []
    for part in asked.part or PARTS:
        told.append(measured(part, quick=asked.quick))
        if asked.write and not told[-1].wrong:  # after each part: an interrupted run keeps what it has
            README.write_text(written(README.read_text(encoding="utf-8"), part, told_part(told[-1], facts)), encoding="utf-8")
        print(f"\n{part}\n\n{told_part(told[-1], facts)}", flush=True)
    print(f"\n{goals_of(told)}")
    if asked.output:
        asked.output.write_text(json.dumps(as_json(told, facts), indent=1) + "\n", encoding="utf-8")
    wrong = [part for part in told if part.wrong]
    for part in wrong:
        print(f"wrong, {part.part}: {part.wrong}", file=sys.stderr)
    return 1 if wrong else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Speed and size of steelyard beside peers, in one run.")
    parser.add_argument(
        "part", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}: all of these if none is named; only by name: {', '.join(APART)}"
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds and smaller work: noisier, a few minutes for all")
    parser.add_argument("--list", action="store_true", help="the goals, and what does not fit together; nothing is measured")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.json", help="write rows, goals and the facts of the machine")
    parser.add_argument("--write", action="store_true", help="put the tables of these parts into benchmarks/README.md")
    asked = parser.parse_args()
    if unknown := [part for part in asked.part if part not in (*PARTS, *APART)]:
        parser.error(f"no such part: {', '.join(unknown)} (there are {', '.join((*PARTS, *APART))})")
    return asked


def measured(part: str, *, quick: bool) -> Told:
    """The rows of a part, each told on stderr as soon as it is known: some take a minute."""
    told, start = Told(part), time.perf_counter()
    try:
        for row in import_module(f"benchmarks.{part}_bench").rows(quick=quick):
            if isinstance(row, Row):
                told.rows.append(row)
                target = "" if row.goal is None else f"{row.goal.target}, {'met' if row.reached else 'missed'}"
                print(f"  {row.what}: {row.ours} {row.ratio} {target}", file=sys.stderr, flush=True)
            else:
                told.unmeasured.append(row)
                print(f"  not measured, {', '.join(row.keys)}: {row.why}", file=sys.stderr, flush=True)
    except Wrong as fault:
        told.wrong = str(fault)
    except Exception as fault:  # a peer that broke: the other parts are still worth having
        traceback.print_exc()
        told.wrong = f"{type(fault).__name__}: {fault}"
    told.seconds = time.perf_counter() - start
    return told


def as_json(told: list[Told], facts: dict[str, Any]) -> dict[str, Any]:
    return {
        "machine": facts,
        "rows": [{"part": part.part, **as_dict(row)} for part in told for row in part.rows],
        "goals": [
            {
                "key": o.goal.key,
                "part": o.goal.part,
                "name": o.goal.name,
                "target": o.goal.target,
                "met": o.met,
                "value": o.value,
                "why": o.why,
            }
            for o in outcomes(told)
        ],
        "wrong": {part.part: part.wrong for part in told if part.wrong},
        "seconds": {part.part: round(part.seconds, 1) for part in told},
    }


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:  # `--list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
