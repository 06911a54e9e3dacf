"""What stands in for a package that is not installed: a test file can name it, and whoever uses it is skipped with the reason.

So the core dependencies, pytest and hypothesis are enough for the tests that need no more, even in a file where others do.
The stand-ins are there only while a test file is imported: steelyard itself never meets them.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import pytest

# The packages of extras that tests import, and what installs them. A package that is not here is a mistake when it is missing.
EXTRA_OF = {
    "axe_playwright_python": "test",
    "huggingface_hub": "test",
    "inspect_ai": "inspect",
    "jsonschema": "test",
    "matplotlib": "plots",
    "mpmath": "test",
    "pandas": "pandas",
    "playwright": "test",
    "polars": "polars",
    "psycopg": "postgres",
    "pyarrow": "arrow",
    "pyspark": "spark",
    "sklearn": "learners",
    "starlette": "serve",
    "statsmodels": "test",
    "uvicorn": "serve",
    "xdist": "test",
}
# Tests that meet the package through steelyard, so that no import of theirs says so.
THROUGH_STEELYARD = {
    "inspect_ai": re.compile(r"inspect_plugin/test_real_inspect\.py::"),
    "jsonschema": re.compile(r"questions/report/test_card\.py::test_the_schema_would_notice"),
    "matplotlib": re.compile(
        r"render/pictures/test_forest\.py::test_(svg_and_matplotlib_agree|words_are_harmless)|render/test_notebook\.py::test_plot_is_a_figure"
    ),
    "mpmath": re.compile(r"test_docs\.py::test_shell_example\[certificate"),
    "pandas": re.compile(
        r"questions/measure/test_measure\.py::test_missing_labels_are_refused_or_counted|plugin/test_update_new\.py::test_frames_and_numbers"
    ),
    "psycopg": re.compile(r"cli/test_history\.py::.*(postgresql|words4)"),
    "sklearn": re.compile(
        r"cli/test_learners\.py::|evaluate/learners/test_folds\.py::test_(parallel|backends|what_cannot)|test_docs\.py::.*\[learners"
        r"|test_examples_run\.py::test_digits"
    ),
    "starlette": re.compile(r"cli/test_serve\.py::"),
    "xdist": re.compile(r"plugin/test_xdist\.py::"),
}
HERE = Path(__file__).parent
ALL_MUST_RUN = os.environ.get("STEELYARD_REQUIRE_ALL") == "1"
MISSING = frozenset(package for package in EXTRA_OF if not ALL_MUST_RUN and importlib.util.find_spec(package) is None)


# What is compared letter by letter was printed with the versions of constraints.txt; with those of constraints-lowest.txt a last
# digit differs here and there.
as_printed = pytest.mark.skipif(
    tuple(int(part) for part in importlib.metadata.version("scipy").split(".")[:2]) < (1, 16), reason="needs SciPy 1.16, for the last digit"
)


def lack(name: str) -> NoReturn:
    """Skip the test that needs this package, or the file if it needs it at once."""
    pytest.skip(reason(name.partition(".")[0]), allow_module_level=True)


def needs_sphinx() -> None:
    """Skip a test of the site's own code where the extra docs is missing; where everything is required, it fails."""
    if not ALL_MUST_RUN:
        pytest.importorskip("sphinx", reason="needs sphinx: pip install 'steelyard[docs]'")


def reason(package: str) -> str:
    return f"needs {package}: pip install 'steelyard[{EXTRA_OF[package]}]'"


def mark(item: pytest.Item) -> None:
    """Mark a test that meets a missing package through steelyard as one to skip."""
    for package, tests in THROUGH_STEELYARD.items():
        if package in MISSING and tests.search(item.nodeid):
            item.add_marker(pytest.mark.skip(reason=reason(package)))


class StandIn(ModuleType):
    """A missing package, a module of it, or a name in it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # pytest and Python look for these everywhere
            raise AttributeError(name)
        return StandIn(f"{self.__name__}.{name}")

    def __call__(self, *values: Any, **options: Any) -> NoReturn:
        lack(self.__name__)

    def __getitem__(self, key: Any) -> NoReturn:
        lack(self.__name__)

    def __mro_entries__(self, bases: Any) -> NoReturn:
        lack(self.__name__)

    def __instancecheck__(self, value: Any) -> NoReturn:
        lack(self.__name__)


class Finder:
    """Finds a stand-in for every module of a missing package."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name.partition(".")[0] not in MISSING or not self._asked_by_a_test():
            return None
        return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    @staticmethod
    def _asked_by_a_test() -> bool:
        """A package that is there and looks for another (pandas for pyarrow) must find that it is missing."""
        frame = sys._getframe(2)
        while frame.f_back is not None and "importlib" in frame.f_code.co_filename:
            frame = frame.f_back
        return Path(frame.f_code.co_filename).is_relative_to(HERE)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing in it."""


@contextmanager
def standing_in() -> Iterator[None]:
    """While a test file is imported."""
    finder = Finder()
    if MISSING:
        sys.meta_path.append(finder)
    try:
        yield
    finally:
        if MISSING:
            sys.meta_path.remove(finder)
            for name in [name for name, module in sys.modules.items() if isinstance(module, StandIn)]:
                del sys.modules[name]


def skip_for_want_of(fault: ModuleNotFoundError) -> None:
    """Skip if it was a file of the tests that asked for a missing package; what steelyard itself asks for in vain is a fault."""
    files = [frame.filename for frame in traceback.extract_tb(fault.__traceback__) if not frame.filename.startswith("<frozen")]
    if (fault.name or "").partition(".")[0] in MISSING and files and Path(files[-1]).is_relative_to(HERE):
        lack(str(fault.name))
