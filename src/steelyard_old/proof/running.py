"""Working out a grid: every setting of every claim in some process, each finished one written down, so that work can be resumed.

Settings are worked out in the order of a hash, so that cheap and dear ones are mixed and the time left can be told. A number
depends on the claim, the setting and the seed alone: neither the order nor the number of processes nor a resumption changes it.

Finished settings are kept in a file under a key that says what they rest on: the version, the claim, the setting, the seed, and
the code. The code of a family is the module that declares it and all that this imports, late imports included, within the rooms
that numbers come from; an edit elsewhere costs no rerun.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from steelyard_old.errors import SourceError
from steelyard_old.proof.claims import Claim, Point, Setting, generator, words
from steelyard_old.render.digits import steady
from steelyard_old.results.certificate import UP_IS_BAD, CertifiedSetting
from steelyard_old.version import __version__

TREE = Path(__file__).parents[1]
CODE = ("tally", "metrics", "infer", "estimate", "questions", "proof")  # the rooms whose code the numbers come from
JUDGING = ("judging", "preferences", "reasons", "catalogue", "certify", "accuracy", "many_digits")  # what comes after them
Done = Callable[[int, int, float], None]  # settings done, settings in all, seconds since the start


@dataclass(frozen=True, slots=True)
class GridTask:
    """One setting of one claim, by its place in the grid: what a worker is told."""

    claim: str
    grid: str
    index: int
    seed: int


def summary(claim: Claim, setting: Setting, points: Iterable[Point]) -> CertifiedSetting:
    """The points of a setting as one Tried. Points of one setting rest on equally many runs, so the extreme one is the telling one."""
    seen = list(points)
    if not seen or not all(math.isfinite(p.found) and math.isfinite(p.error) for p in seen):
        raise ValueError("a share is missing or not finite")
    # equal but for their last bits, as p and 1 - p are: the first of them, on every processor
    shown = [steady(p.found) for p in seen]
    least, most = seen[shown.index(min(shown))], seen[shown.index(max(shown))]
    bad = 1 if claim.kind in UP_IS_BAD else -1
    widths = [p.width for p in seen if p.width is not None]
    many = len(seen)
    return CertifiedSetting(
        setting=words(setting),
        points=many,
        least=least.found,
        least_at=least.where,
        least_error=least.error,
        most=most.found,
        most_at=most.where,
        most_error=most.error,
        mean=math.fsum(p.found for p in seen) / many,
        mean_error=math.sqrt(math.fsum(p.error**2 for p in seen)) / many,
        off=math.fsum(max(0.0, bad * (p.found - claim.nominal)) for p in seen) / many,
        width=math.fsum(widths) / many if len(widths) == many else None,
        width_error=math.sqrt(math.fsum(p.width_error**2 for p in seen)) / many,
        runs=seen[0].runs if len({p.runs for p in seen}) == 1 else 0,
    )


def tried(claim: Claim, setting: Setting, seed: int) -> CertifiedSetting:
    """Work out one setting, here and now. A method that raises does not hold what is claimed; that is an answer, not our end."""
    begun = time.process_time()
    try:
        made = summary(claim, setting, claim.work(setting, generator(seed, claim.family, setting)))
    except Exception as fault:
        share = 1.0 if claim.kind in UP_IS_BAD else 0.0
        made = summary(claim, setting, [Point(words(setting), share)])
        made = replace(made, broken=f"{type(fault).__name__}: {fault}")
    return replace(made, seconds=time.process_time() - begun)


def work_out(
    claims: Sequence[Claim], grid: str, *, seed: int = 0, jobs: int = 1, state: Path | None = None, done: Done = lambda *_: None
) -> dict[str, list[CertifiedSetting]]:
    """All settings of the claims, by the name of the claim, in the order of its grid. One job works in this process."""
    tasks = {GridTask(c.name, grid, i, seed): (c, s) for c in claims for i, s in enumerate(c.settings(grid))}
    keys = {task: key_of(claim, setting, seed) for task, (claim, setting) in tasks.items()} if state is not None else {}
    known = read_state(state) if state is not None else {}
    found: dict[GridTask, CertifiedSetting] = {task: known[keys[task]] for task in tasks if task in keys and keys[task] in known}
    open_tasks = sorted((task for task in tasks if task not in found), key=_mixed)
    begun = time.monotonic()
    done(len(found), len(tasks), 0.0)
    for task, made in _in_order(open_tasks, tasks) if jobs <= 1 else _in_processes(open_tasks, jobs):
        found[task] = made
        if state is not None and made.broken is None:
            write_state(state, keys[task], task.claim, made)
        done(len(found), len(tasks), time.monotonic() - begun)
    return {c.name: [found[GridTask(c.name, grid, i, seed)] for i in range(len(c.settings(grid)))] for c in claims}


def _mixed(task: GridTask) -> bytes:
    return hashlib.sha256(f"{task.claim}|{task.index}".encode()).digest()


def _in_order(order: Sequence[GridTask], tasks: dict[GridTask, tuple[Claim, Setting]]) -> Iterator[tuple[GridTask, CertifiedSetting]]:
    for task in order:
        yield task, tried(*tasks[task], task.seed)


def _in_processes(order: Sequence[GridTask], jobs: int) -> Iterator[tuple[GridTask, CertifiedSetting]]:
    """The tasks in worker processes, as they finish. Whatever ends this (Ctrl-C, a fault) ends the workers at once."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor, as_completed

    others = set(multiprocessing.active_children())
    # Spawned, not forked: the same on every system, and no thread of this process is copied in the middle of its work.
    pool = ProcessPoolExecutor(min(jobs, max(1, len(order))), multiprocessing.get_context("spawn"), initializer=_deaf)
    finished = False
    try:
        for future in as_completed([pool.submit(_worked, task) for task in order]):
            yield future.result()
        finished = True
    finally:
        pool.shutdown(wait=finished, cancel_futures=True)
        if not finished:
            for child in set(multiprocessing.active_children()) - others:
                child.terminate()


def _deaf() -> None:
    """A worker leaves Ctrl-C to the process that started it."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


@functools.cache
def _catalogue() -> dict[str, Claim]:
    from steelyard_old.proof.catalogue import every_claim

    return {claim.name: claim for claim in every_claim()}


def _worked(task: GridTask) -> tuple[GridTask, CertifiedSetting]:
    """What a worker does: claims hold functions and are looked up by name, so nothing but names and numbers travels."""
    claim = _catalogue()[task.claim]
    return task, tried(claim, claim.settings(task.grid)[task.index], task.seed)


# ---- what is kept ----------------------------------------------------------------------------------------------------


def key_of(claim: Claim, setting: Setting, seed: int) -> str:
    """What a result is kept under: version, code, claim, setting and seed. What is said and its band are judged afresh, no part of it,
    but for settings that end where runs are enough for the band."""
    code = code_digest(claim.module) + (repr(claim.band) if "least" in setting else "")
    declared = [__version__, code, claim.name, repr(claim.nominal), words(setting), repr(sorted(setting.items())), str(seed)]
    return hashlib.sha256("\n".join(declared).encode()).hexdigest()[:32]


@functools.cache
def code_digest(module: str) -> str:
    """The digest of the code that the numbers of a family come from, by the name of the module that declares it.

    Comments, docstrings, layout, sentences and bands do not count."""
    return hashlib.sha256("".join(f"{name}{_digest_of(_file(name))}" for name in sorted(modules_of(module))).encode()).hexdigest()


def modules_of(module: str) -> frozenset[str]:
    """The module and all that it imports, and what those import, within the rooms that numbers come from.

    >>> "steelyard_old.infer.normal" in modules_of("steelyard_old.proof.coverage.proportions")
    True
    """
    found, open_ = {module}, [module]
    while open_:
        for name in _imports(_file(open_.pop())):
            _, _, inside = name.partition(".")
            room, _, rest = inside.partition(".")
            if room in CODE and rest not in JUDGING and name not in found:
                found.add(name)
                open_.append(name)
    return frozenset(found)


def _file(module: str) -> Path:
    place = TREE.joinpath(*module.split(".")[1:])
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")


@functools.cache
def _imports(path: Path) -> frozenset[str]:
    """The modules of this package that a file imports, at its head or inside functions; what only types need is left out."""
    return frozenset(_imported(ast.parse(path.read_text(encoding="utf-8"))))


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
        return
    if isinstance(node, ast.Import):
        yield from (each.name for each in node.names if each.name.startswith("steelyard."))
    elif isinstance(node, ast.ImportFrom) and node.module is not None and node.module.partition(".")[0] == "steelyard":
        for each in node.names:
            whole = f"{node.module}.{each.name}"  # a module of a package, or a name in a module
            yield whole if _file(whole).exists() else node.module
    for child in ast.iter_child_nodes(node):
        yield from _imported(child)


class _Unsaid(ast.NodeTransformer):
    """Without docstrings, and without pairs of a sentence and its Band."""

    def visit_Tuple(self, node: ast.Tuple) -> ast.AST:
        if len(node.elts) == 2 and isinstance(node.elts[1], ast.Call) and getattr(node.elts[1].func, "id", "") == "Band":
            return ast.Constant("said")
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)


@functools.cache
def _digest_of(path: Path) -> str:
    return hashlib.sha256(ast.dump(_Unsaid().visit(ast.parse(path.read_text(encoding="utf-8")))).encode()).hexdigest()


def read_state(path: Path) -> dict[str, CertifiedSetting]:
    """What was worked out before. A line that is torn or not ours counts as not worked out."""
    found: dict[str, CertifiedSetting] = {}
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
    except OSError as fault:
        raise SourceError(
            f"Cannot read {str(path)!r}: {fault.strerror or fault}.", got=fault.strerror or str(fault), need="a file, or none"
        ) from fault
    for line in lines:
        try:
            plain = json.loads(line)
            found[plain["key"]] = CertifiedSetting(**plain["tried"])
        except (ValueError, TypeError, KeyError):
            continue
    return found


def write_state(path: Path, key: str, claim: str, made: CertifiedSetting) -> None:
    """Append one line, on a line of its own even after a torn one."""
    try:
        with path.open("a+b") as file:
            torn = file.tell() > 0 and _last_byte(file) != b"\n"
            file.write((b"\n" if torn else b"") + json.dumps({"key": key, "claim": claim, "tried": asdict(made)}).encode() + b"\n")
    except OSError as fault:
        hint = "state=FILE names another place"
        raise SourceError(
            f"Cannot write {str(path)!r}: the disk is full or not writable ({fault.strerror or fault}).",
            got=fault.strerror or str(fault),
            need="room and permission",
            hint=hint,
        ) from fault


def _last_byte(file: Any) -> bytes:
    file.seek(-1, 2)
    last: bytes = file.read(1)
    return last
