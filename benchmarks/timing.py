"""Clocks, child processes, and the rows that come of them.

Time is CPU time of one thread, never the clock on the wall: the machine may be shared. Ours and the peer take turns, round by
round, and a ratio is formed inside each round; the table shows the median with the least and the largest.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.goals import BY_KEY, Goal

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1")
PEERS = (
    "scikit-learn",
    "prob-conf-mat",
    "pandas",
    "evalstats",
    "statgate",
    "errorbars",
    "MLstatkit",
    "statsmodels",
    "sacrebleu",
    "baycomp",
)
PACKAGES = ("steelyard", "numpy", "scipy", "duckdb", "click", *PEERS)

# A child is started by a small process: ru_maxrss would otherwise begin at the memory of this one. One core, if asked.
LAUNCHER = """
import json, os, sys, time
core, argv = sys.argv[1], sys.argv[2:]
if core == "one":
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
read, write = os.pipe()
start = time.perf_counter()
pid = os.fork()
if not pid:
    os.dup2(write, 1)
    os.execv(argv[0], argv)
os.close(write)
said = b""
while part := os.read(read, 65536):
    said += part
_, status, used = os.wait4(pid, 0)
print(json.dumps({"cpu": used.ru_utime + used.ru_stime, "wall": time.perf_counter() - start, "rss": used.ru_maxrss * 1024,
                  "code": os.waitstatus_to_exitcode(status), "out": said.decode()}))
"""


class Wrong(Exception):
    """Ours and the peer disagree by more than rounding or Monte Carlo error: then speed means nothing."""


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """Goals that this run cannot speak of, and why."""

    keys: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a table. times: how many times faster (or larger, for a cost) in each round; value: what the goal judges."""

    what: str
    ours: str
    peer: str = ""
    times: tuple[float, ...] = ()
    key: str | None = None
    value: float | None = None
    note: str = ""

    @property
    def ratio(self) -> str:
        if not self.times:
            return ""
        return f"{short(median(self.times))} [{short(min(self.times))}..{short(max(self.times))}]"

    @property
    def goal(self) -> Goal | None:
        return None if self.key is None else BY_KEY[self.key]

    @property
    def reached(self) -> bool | None:
        return None if self.goal is None or self.value is None else self.goal.met(self.value)


def cpu(call: Callable[[], Any], repeats: int = 1, loops: int = 1) -> float:
    """Median CPU seconds of one call."""
    taken = []
    for _ in range(repeats):
        start = time.process_time()
        for _ in range(loops):
            call()
        taken.append((time.process_time() - start) / loops)
    return median(taken)


@dataclass(frozen=True, slots=True)
class Duel:
    """CPU seconds of ours and of the peer, one pair per round."""

    ours: tuple[float, ...]
    peer: tuple[float, ...]

    @property
    def faster(self) -> tuple[float, ...]:
        return tuple(p / o for o, p in zip(self.ours, self.peer, strict=True))

    @property
    def cost(self) -> tuple[float, ...]:
        return tuple(o / p for o, p in zip(self.ours, self.peer, strict=True))


def duel(
    ours: Callable[[], Any],
    peer: Callable[[], Any],
    rounds: int,
    *,
    repeats: int = 5,
    loops: int = 1,
    peer_repeats: int = 1,
    scale: float = 1.0,
) -> Duel:
    """Turn and turn about, after one warm-up of ours. scale: what the peer's time is multiplied by (fewer resamples)."""
    ours()
    pairs = [(cpu(ours, repeats, loops), scale * cpu(peer, peer_repeats)) for _ in range(rounds)]
    return Duel(tuple(o for o, _ in pairs), tuple(p for _, p in pairs))


def at_least(key: str | None, what: str, fight: Duel, note: str = "") -> Row:
    """A row whose ratio is how many times faster ours is."""
    return _fought(key, what, fight, fight.faster, note)


def at_most(key: str | None, what: str, fight: Duel, note: str = "") -> Row:
    """A row whose ratio is how many times the other's time ours costs."""
    return _fought(key, what, fight, fight.cost, note)


def _fought(key: str | None, what: str, fight: Duel, times: tuple[float, ...], note: str) -> Row:
    ours, peer = seconds(median(fight.ours)), seconds(median(fight.peer))
    return Row(what=what, ours=ours, peer=peer, times=times, key=key, value=median(times), note=note)


def unjudged(row: Row) -> Row:
    """A row on less work than its goal speaks of: shown, not judged."""
    return replace(row, key=None)


def below(key: str | None, what: str, value: float, show: Callable[[float], str], note: str = "") -> Row:
    """A row with a limit of its own, without a peer."""
    return Row(what=what, ours=show(value), key=key, value=value, note=note)


# ---- children ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Child:
    cpu: float
    wall: float
    rss: int
    out: str


def environment(cache: str) -> dict[str, str]:
    """The environment of a child: one thread, and byte code cached in a folder of ours, as it is after an installation."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED")}
    return {**kept, **ONE_THREAD, "PYTHONPYCACHEPREFIX": cache}


def run(argv: Sequence[str], env: dict[str, str], *, one_core: bool = True) -> Child:
    """Run a program to its end: CPU seconds (user and system), seconds, peak resident bytes, and what it printed."""
    pinned = "one" if one_core and hasattr(os, "sched_setaffinity") else "all"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", LAUNCHER, pinned, *argv], env=env, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    if told["code"]:
        raise Wrong(f"{' '.join(argv[1:])} ended with {told['code']}: {done.stderr.strip()[-300:]}")
    return Child(told["cpu"], told["wall"], told["rss"], told["out"])


def command() -> list[str]:
    """The installed command, else the module."""
    script = Path(sys.executable).with_name("steelyard")
    return [str(script)] if script.exists() else [sys.executable, "-m", "steelyard"]


def scratch() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="steelyard-benchmarks-")


# ---- words ---------------------------------------------------------------------------------------------------------


def short(x: float) -> str:
    if x >= 99.5:
        return f"{x:,.0f}"
    return f"{x:.3g}" if x >= 10 else f"{x:.2f}"


def seconds(x: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if x >= size:
            return f"{short(x / size)} {unit}"
    return f"{short(x * 1e6)} us"


def milliseconds(x: float) -> str:
    return f"{x * 1e3:,.0f} ms"


def megabytes(x: float) -> str:
    return f"{x / 1e6:,.0f} MB"


def power(x: float) -> str:
    return f"N^{x:.2f}"


def power_of_labels(x: float) -> str:
    return f"K^{x:.2f}"


def power_of_systems(x: float) -> str:
    return f"S^{x:.2f}"


def machine() -> dict[str, Any]:
    """Facts of the machine and of the packages; no paths, no names."""
    packages = {}
    for name in PACKAGES:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            packages[name] = "absent"
    return {
        "system": platform.system(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": [round(x, 2) for x in os.getloadavg()] if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "packages": packages,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def as_dict(row: Row) -> dict[str, Any]:
    told = {"ratio": row.ratio, "target": row.goal.target if row.goal else None, "reached": row.reached}
    return {**asdict(row), **told}
