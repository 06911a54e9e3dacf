"""What a command costs before it says anything: CPU time over that of a bare Python, the least of several runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from benchmarks.timing import Row, below, command, environment, milliseconds, run, scratch

PEERS = ("statsmodels.api", "errorbars", "statgate.verdict", "evalstats", "sacrebleu", "sklearn.metrics")


def rows(*, quick: bool) -> Iterator[Row]:
    repeats = 3 if quick else 9
    with scratch() as folder:
        env = environment(str(Path(folder, "bytecode")))
        table = Path(folder, "thousand.csv")
        other = Path(folder, "other.csv")
        for place, turn in ((table, 11), (other, 13)):
            lines = "".join(f"{i},{'abc'[i % 3]},{'abc'[i * 7 % turn % 3]}\n" for i in range(1000))
            place.write_text(f"id,truth,prediction\n{lines}")
        known = ["--fail-on", "regression", "--task", "t", "--model", "m", "--directory", str(Path(folder, "references"))]
        ours, python = command(), sys.executable
        counts = ["measure", "--counts", "85/100"]
        commands = {
            "--help": ([*ours, "--help"], "startup.light"),
            "measure --help": ([*ours, "measure", "--help"], "startup.light"),
            "measure --counts 85/100 (Wilson)": ([*ours, *counts], "startup.light"),
            "measure --counts 85/100 --interval clopper-pearson": ([*ours, *counts, "--interval", "clopper-pearson"], "startup.special"),
            "measure --tp 31 --fp 5 --fn 2 --interval bayes": (
                [*ours, "measure", "--tp", "31", "--fp", "5", "--fn", "2", "--metric", "f1", "--interval", "bayes"],
                "startup.special",
            ),
            "check --value 0.5 against a reference": ([*ours, "check", "--value", "0.5", *known], "startup.value"),
            "measure thousand.csv (1,000 rows, all default metrics)": ([*ours, "measure", str(table)], "startup.measure"),
            "compare thousand.csv other.csv (1,000 rows each)": ([*ours, "compare", str(table), str(other)], "startup.compare"),
            "check other.csv against a reference (1,000 rows)": (
                [*ours, "check", str(other), *known],
                "startup.check",
            ),
            "import steelyard": ([python, "-c", "import steelyard"], None),
            "for comparison: import click": ([python, "-c", "import click"], None),
            "for comparison: import numpy": ([python, "-c", "import numpy"], None),
            "for comparison: import scipy.special": ([python, "-c", "import scipy.special"], None),
            "for comparison: import scipy.stats": ([python, "-c", "import scipy.stats"], None),
            **{
                f"for comparison: import {peer}": ([python, "-c", f"import {peer}"], None)
                for peer in PEERS
                if find_spec(peer.partition(".")[0])
            },
        }
        run([*ours, "record", str(table), *known[2:]], env)
        bare = [python, "-c", "pass"]
        taken: dict[str, list[float]] = {name: [] for name in commands}
        floor: list[float] = []
        for turn in range(repeats + 1):  # the first turn writes the byte code and is not counted
            first = run(bare, env).cpu
            floor += [first] if turn else []
            for name, (argv, _) in commands.items():
                cost = run(argv, env).cpu
                taken[name] += [cost] if turn else []
        yield below(None, "bare Python", min(floor), milliseconds)
        for name, (_, key) in commands.items():
            yield below(key, name, min(taken[name]) - min(floor), milliseconds)
