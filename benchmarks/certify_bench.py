"""How long the quick certificate takes on the clock. Runs only when asked for by name: minutes, on all cores."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.timing import Row, Unmeasured, Wrong, below, command, scratch, seconds


def rows(*, quick: bool) -> Iterator[Row | Unmeasured]:
    if subprocess.run([*command(), "certify", "--help"], capture_output=True, check=False).returncode:
        yield Unmeasured(("certify.quick",), "this version has no `steelyard certify`")
        return
    with scratch() as folder:
        start = time.perf_counter()
        done = subprocess.run(
            [*command(), "certify", "--quick", "-o", str(Path(folder, "certificate.json"))], capture_output=True, text=True, check=False
        )
        taken = time.perf_counter() - start
    if done.returncode:
        raise Wrong(f"steelyard certify --quick ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}")
    yield below("certify.quick", "steelyard certify --quick, on the clock, all cores", taken, seconds)
