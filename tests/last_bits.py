"""A processor that is not there: the last bits of exp, log, power, sums and special functions come out otherwise.

As a plugin of pytest (`-p last_bits`, before anything imports steelyard) it changes steelyard's code on import: every result of
these functions that is not a whole number is moved by one unit in the last place, up or down. The way depends on
LAST_BITS (a seed) and on the number itself, so that a function stays a function. What other kernels of NumPy, BLAS or the C
library do to a result is no more than that; whatever is printed or drawn must be the same.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import math
import os
import sys
from collections.abc import Sequence
from types import CodeType, ModuleType
from typing import Any

import numpy as np

FUNCTIONS = {
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "power", "float_power", "pow", "logaddexp", "cbrt", "hypot"),
    *("sin", "cos", "tan", "tanh", "arcsin", "arccos", "arctan", "asin", "acos", "atan", "gamma", "lgamma", "erf", "erfc"),
    *("sum", "nansum", "mean", "nanmean", "var", "nanvar", "std", "average", "dot", "einsum", "cumsum", "prod", "cumprod", "geomspace"),
    *("logspace", "matmul", "polyfit", "cov", "trapezoid", "interp"),
}
METHODS = {"sum", "mean", "var", "std", "dot", "cumsum", "prod", "cumprod"}
MODULES = {"np", "math", "special"}
SEED = int(os.environ.get("LAST_BITS", "1"))


def moved(value: Any, seed: int = SEED) -> Any:
    """A float, or every float of an array, one unit in the last place away; whole numbers, which are exact, stay."""
    if isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype == np.float64):
        numbers = np.asarray(value, float)
        hashed = (numbers.view(np.uint64) if numbers.ndim else np.array([numbers]).view(np.uint64)[0]) ^ np.uint64(seed * 0x9E3779B9)
        with np.errstate(over="ignore"):
            up = ((hashed * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)) % np.uint64(2) == 1
        inexact = np.isfinite(numbers) & (numbers != np.floor(numbers))
        found = np.where(inexact, np.nextafter(numbers, np.where(up, np.inf, -np.inf)), numbers)
        return found if isinstance(value, np.ndarray) else type(value)(found)
    return value


class Mover:
    """A function whose results are moved; everything else about it is its own."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def __call__(self, *values: Any, **options: Any) -> Any:
        return moved(self._function(*values, **options))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)


def raised(base: Any, power: Any) -> Any:
    """base ** power; squares and whole results are exact everywhere."""
    found = base**power
    return found if isinstance(power, int) and power in (0, 1, 2) else moved(found)


class Rewriter(ast.NodeTransformer):
    """Calls of the functions above, `**` and `@`, each with its result moved."""

    def __init__(self) -> None:
        self.taken: set[str] = set()

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        if node.module in ("math", "numpy", "scipy.special"):
            self.taken |= {alias.asname or alias.name for alias in node.names if node.module == "scipy.special" or alias.name in FUNCTIONS}
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id in MODULES and isinstance(node.ctx, ast.Load):
            ours = node.attr in FUNCTIONS if node.value.id != "special" else not node.attr.startswith("_")
            return _called("_mover", node) if ours else node
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        method = isinstance(node.func, ast.Attribute) and node.func.attr in METHODS
        module = method and isinstance(node.func.value, ast.Name) and node.func.value.id in MODULES  # type: ignore[attr-defined]
        self.generic_visit(node)
        return _called("_moved", node) if method and not module else node

    def visit_Name(self, node: ast.Name) -> Any:
        return _called("_mover", node) if node.id in self.taken and isinstance(node.ctx, ast.Load) else node

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        self.generic_visit(node)
        if isinstance(node.op, ast.Pow):
            return _called("_raised", node.left, node.right)
        return _called("_moved", node) if isinstance(node.op, ast.MatMult) else node

    def visit_arguments(self, node: ast.arguments) -> Any:
        return node  # defaults and annotations stay as they are


def _called(name: str, *values: ast.expr) -> ast.Call:
    made = ast.Call(func=ast.Name(id=name, ctx=ast.Load()), args=list(values), keywords=[])
    return ast.copy_location(made, values[0])


class Loader(importlib.machinery.SourceFileLoader):
    """Compiles a module of steelyard from the rewritten text, never from a cache."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        tree = ast.fix_missing_locations(Rewriter().visit(ast.parse(self.get_data(path), path)))
        return compile(tree, path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__.update(_mover=Mover, _moved=moved, _raised=raised)
        super().exec_module(module)


class Finder(importlib.abc.MetaPathFinder):
    """Finds modules of steelyard before anybody else does."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        if name.partition(".")[0] != "steelyard":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.origin is not None and spec.origin.endswith(".py"):
            loader = Loader(name, spec.origin)
            return importlib.util.spec_from_file_location(
                name, spec.origin, loader=loader, submodule_search_locations=spec.submodule_search_locations
            )
        return spec


if "LAST_BITS" in os.environ:
    assert "steelyard" not in sys.modules, "too late: steelyard is imported already"
    sys.meta_path.insert(0, Finder())
    assert abs(moved(math.pi) - math.pi) == math.ulp(math.pi)
