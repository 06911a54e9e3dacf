"""For all tests: hypothesis draws the same examples every time, so that a red run is about the change and not about luck.

`HYPOTHESIS_PROFILE=search python -m pytest` looks for new ones, ten times as many. A test that says how many has slow ones.

The core dependencies, pytest and hypothesis are enough to run the tests: those that need a package of an extra are skipped with
its name where it is missing (`stand_ins.py`). With STEELYARD_REQUIRE_ALL=1 they fail.
"""

from __future__ import annotations

import gc
import os
import re
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from stand_ins import mark, skip_for_want_of, standing_in

# Hundreds of short programs are started: each would compile the package again, and every worker all files of the tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Small matrices, and every core has a worker: threads of OpenBLAS would only wait for one another, at full speed.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# A shell lets what it starts in the background ignore Ctrl-C, and so would every program that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _in_memory(handle: Any) -> None:
    os.fstat(handle)


# What was flushed survives a power cut, which no test makes: waiting for the disk proves nothing. Tests that look whether it is asked for
# put in a function of their own.
os.fsync = _in_memory

settings.register_profile("steady", derandomize=True, deadline=None, max_examples=30)
settings.register_profile("search", deadline=None, max_examples=300)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

# Under pytest-xdist the tests of a file stay in one process, and so do those of these files: what they share takes long to make.
TOGETHER = {
    "spark": re.compile(r"read/engines/test_spark\.py|\[spark"),
    "mlflow": re.compile(r"read/test_mlflow_artifact\.py|questions/history/test_export_mlflow\.py"),
    "outside": re.compile(r"outside/test_(json_shapes|pages_text)\.py|results/test_base_round_trip\.py"),
}
# They are begun first, then the files that take long for their number of tests, then the largest: small ones fill the gaps at the end.
LONG = re.compile(
    r"/test_(\w+_)?(browser|never_returns|crash_points|examples_run|architecture|last_bits|example|xdist|hostile|memory"
    r"|real_inspect|another_name)\.py"
)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Half a million objects that live as long as the session: looking for garbage among them finds none, now or later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure() -> None:
    gc.unfreeze()  # else packages written in C++ report at the end of the process that their objects leak


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        mark(item)
    if hasattr(config, "workerinput"):
        many = Counter(unit(item.nodeid) for item in items)
        items.sort(key=lambda item: _turn(unit(item.nodeid), many))


def unit(nodeid: str) -> str:
    """The tests that stay together with this one: a name of `TOGETHER`, or its file."""
    return next((name for name, tests in TOGETHER.items() if tests.search(nodeid)), nodeid.partition("::")[0])


def _turn(name: str, many: Mapping[str, int]) -> tuple[bool, bool, int, str]:
    return name not in TOGETHER, not LONG.search(name), -many[name], name


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Said here, because `--dist` is an error without pytest-xdist; another `--dist` than that of `-n` alone is left as it is.

    Not by the marker `xdist_group`: pytest 9.2 takes no notice of the name that pytest-xdist 3.8 gives the tests of a group.
    """
    if config.getoption("dist") != "load":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return unit(nodeid)

    config.option.loadscopereorder = False  # the workers have them in order
    return Together(config, log)


class PatientModule(pytest.Module):
    """A test file that may name packages that are not there; the tests that use one are skipped with the reason."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        with standing_in():
            return super().collect()


def pytest_pycollect_makemodule(module_path: Path, parent: Any) -> pytest.Module:
    module: pytest.Module = PatientModule.from_parent(parent, path=module_path)
    return module


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, Any, Any]:
    try:
        return (yield)
    except ModuleNotFoundError as fault:
        skip_for_want_of(fault)
        raise


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, Any, Any]:
    try:
        return (yield)
    except ModuleNotFoundError as fault:
        skip_for_want_of(fault)
        raise


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, Any, Any]:
    """The keys of one file are none of the next: each would be looked for in everything that is written until the end."""
    try:
        return (yield)
    finally:
        redaction = sys.modules.get("steelyard_old.redaction")
        if redaction is not None and (nextitem is None or nextitem.path != item.path):
            redaction._known.clear()
            redaction._forms = ()


@pytest.fixture
def steelyard(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """The command, called in process."""
    from answers import command

    return command(capsys)


@pytest.fixture(scope="session")
def asked_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("outside")


@pytest.fixture(scope="session")
def answered(asked_in: Path, request: pytest.FixtureRequest) -> dict[str, Any]:
    """The questions of `outside/asked.py`, asked once: the tests that look at the answers are `TOGETHER`."""
    from outside.asked import answers

    if hasattr(request.config, "workerinput"):  # the directory above is that of all workers: a second process finds the file
        (asked_in.parents[1] / "asked in one process").touch(exist_ok=False)
    return answers(asked_in)


@pytest.fixture(scope="module")  # not longer: its event loop runs as long as it does, and other tests have loops of their own
def browser() -> Iterator[Any]:
    """Chromium, for the pages of a file."""
    chromium = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
    reason = "" if chromium else "no Chromium on this machine: apt-get install chromium"
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        reason = "playwright is not installed: pip install 'steelyard[test]'"
    if reason:
        if os.environ.get("STEELYARD_REQUIRE_ALL") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as p:
        made = p.chromium.launch(executable_path=chromium)
        yield made
        made.close()


@pytest.fixture(scope="module")
def window(browser: Any) -> Callable[..., Any]:
    """An empty page with these options and no cookies: one for all who want the same, since each is a process of the browser."""
    pages: dict[str, Any] = {}

    def opened(**options: Any) -> Any:
        if repr(options) not in pages:
            pages[repr(options)] = browser.new_context(**options).new_page()
        page = pages[repr(options)]
        page.unroute_all()
        page.goto("about:blank")
        page.context.clear_cookies()
        return page

    return opened
