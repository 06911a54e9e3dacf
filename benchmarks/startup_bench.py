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
        table.write_text("id,truth,prediction\n" + "".join(f"{i},{'abc'[i % 3]},{'abc'[i * 7 % 11 % 3]}\n" for i in range(1000)))
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
            "measure thousand.csv (1,000 rows, all default metrics)": ([*ours, "measure", str(table)], "startup.csv"),
            "import steelyard": ([python, "-c", "import steelyard"], None),
            "for comparison: import click": ([python, "-c", "import click"], None),
            "for comparison: import numpy": ([python, "-c", "import numpy"], None),
            "for comparison: import scipy.special": ([python, "-c", "import scipy.special"], None),
            "for comparison: import scipy.stats": ([python, "-c", "import scipy.stats"], None),
            **{f"for comparison: import {peer}": ([python, "-c", f"import {peer}"], None) for peer in PEERS if find_spec(peer)},
        }
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
