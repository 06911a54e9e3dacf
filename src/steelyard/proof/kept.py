"""Finished settings, kept in a file under a key that says what they rest on, so that work can be resumed and is not done twice.

A setting is worked out again when something that it rests on has changed: the version, the claim, the setting, the seed, or the
code. The code of a family is the module that declares it and all that this imports, late imports included, within the rooms
that numbers come from; an edit elsewhere costs no rerun.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from steelyard.errors import SourceError
from steelyard.proof.claims import Claim, Setting, words
from steelyard.results.certificate import Tried
from steelyard.version import __version__

TREE = Path(__file__).parents[1]
CODE = ("tally", "metrics", "infer", "estimate", "questions", "proof")  # the rooms whose code the numbers come from
JUDGING = ("judging", "preferences", "reasons", "catalogue", "certify", "accuracy", "many_digits")  # what comes after them


def key_of(claim: Claim, setting: Setting, seed: int) -> str:
    """What a result is kept under: version, code, claim, setting and seed. What is said and its band are judged afresh, no part of it."""
    code = code_digest(claim.module)
    declared = [__version__, code, claim.name, repr(claim.nominal), words(setting), repr(sorted(setting.items())), str(seed)]
    return hashlib.sha256("\n".join(declared).encode()).hexdigest()[:32]


@functools.cache
def code_digest(module: str) -> str:
    """The digest of the code that the numbers of a family come from, by the name of the module that declares it.

    Comments, docstrings, layout, sentences and bands do not count."""
    return hashlib.sha256("".join(f"{name}{_digest_of(_file(name))}" for name in sorted(modules_of(module))).encode()).hexdigest()


def modules_of(module: str) -> frozenset[str]:
    """The module and all that it imports, and what those import, within the rooms that numbers come from.

    >>> "steelyard.infer.normal" in modules_of("steelyard.proof.coverage.proportions")
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


def read_state(path: Path) -> dict[str, Tried]:
    """What was worked out before. A line that is torn or not ours counts as not worked out."""
    found: dict[str, Tried] = {}
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
    except OSError as fault:
        raise SourceError(f"cannot read the state {str(path)!r}", got=fault.strerror or str(fault), need="a file, or none") from fault
    for line in lines:
        try:
            plain = json.loads(line)
            found[plain["key"]] = Tried(**plain["tried"])
        except (ValueError, TypeError, KeyError):
            continue
    return found


def write_state(path: Path, key: str, claim: str, made: Tried) -> None:
    """Append one line, on a line of its own even after a torn one."""
    try:
        with path.open("a+b") as file:
            torn = file.tell() > 0 and _last_byte(file) != b"\n"
            file.write((b"\n" if torn else b"") + json.dumps({"key": key, "claim": claim, "tried": asdict(made)}).encode() + b"\n")
    except OSError as fault:
        hint = "state=FILE names another place"
        raise SourceError(
            f"cannot write the state {str(path)!r}", got=fault.strerror or str(fault), need="room and permission", hint=hint
        ) from fault


def _last_byte(file: Any) -> bytes:
    file.seek(-1, 2)
    last: bytes = file.read(1)
    return last
