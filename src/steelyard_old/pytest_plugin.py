"""The pytest plugin: options, a marker, the fixture `accuracy`. Loads nothing of steelyard until a test asks a question.

    def test_gsm8k(accuracy):
        accuracy.check("logs/gsm8k.jsonl", task="gsm8k", model="llama-3.1-8b")

What a test found travels as JSON in the properties of its report, so that it reaches the controller of pytest-xdist and
the JUnit file alike. The controller alone writes references, once, when the session ends.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import uuid
from collections.abc import Generator, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from steelyard_old.pytest_session import Accuracy

REPORTS = (".json", ".md")
MARKER = "accuracy(task=..., model=..., theta=..., margin=..., ...): what accuracy.check takes, for every check of the test"


class AccuracyWarning(pytest.PytestWarning):
    """A check that neither passed nor failed: inconclusive, or nothing was verified."""


class AsInstalled:
    """Finds our modules before pytest does, which rewrites the assertions of every package that brings a plugin.

    Ours are nobody's tests. Each module would be compiled once more, and in every session where nothing may be written beside the package.
    """

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        return PathFinder.find_spec(name, path) if name.startswith(("steelyard.", "steelyard_old.")) else None


def pytest_addoption(parser: pytest.Parser) -> None:
    if AsInstalled not in sys.meta_path:  # here, since it is the first that pytest calls: before it loads any conftest.py
        sys.meta_path.insert(0, AsInstalled)
    group = parser.getgroup("accuracy", "accuracy against recorded references (steelyard)")
    group.addoption("--accuracy-update", action="store_true", help="Put every checked run on record, replacing what is there.")
    group.addoption("--accuracy-update-new", action="store_true", help="Put checked runs on record where there is no reference yet.")
    group.addoption("--accuracy-reason", metavar="TEXT", help="Why the new values are right; kept in the history.")
    group.addoption("--accuracy-dir", metavar="DIR", help="Where the references are.  [default: what steelyard.toml says]")
    group.addoption("--accuracy-report", metavar="PATH", help="Write all verdicts to a file, .json or .md.")
    group.addoption(
        "--accuracy-inconclusive",
        choices=("pass", "warn", "fail"),
        default="warn",
        help="What an inconclusive check does to its test.  [default: warn]",
    )
    group.addoption(
        "--accuracy-history",
        metavar="URL",
        nargs="?",
        const="",
        help="Keep every check in this history, sqlite:///runs.db or postgresql://host/db; without a URL, in that of steelyard.toml.",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    option = config.option
    updates = option.accuracy_update or option.accuracy_update_new
    if option.accuracy_reason and not updates:
        raise pytest.UsageError("--accuracy-reason says why a reference is recorded: it needs --accuracy-update or --accuracy-update-new")
    if option.accuracy_report and not option.accuracy_report.lower().endswith(REPORTS):
        raise pytest.UsageError(f"--accuracy-report {option.accuracy_report}: the ending says the format, {' or '.join(REPORTS)}")
    if _keeps(option) and option.accuracy_history:
        _check_address(option.accuracy_history)
    config.pluginmanager.register(AccuracySession(config), "steelyard-session")


def _keeps(option: Any) -> bool:
    """Whether checks go into the history: only where the option says so, and 'none' says the opposite, as for the commands."""
    return option.accuracy_history is not None and option.accuracy_history.strip().lower() != "none"


def _check_address(url: str) -> None:
    """Refuse an address that is none before the first test: a file or directory of tests behind the option would be taken for it."""
    from steelyard_old.errors import SteelyardError
    from steelyard_old.history.address import parse_address

    try:
        parse_address(url)
    except SteelyardError as fault:
        shown = f" {url}" if os.path.exists(url.partition("::")[0]) else ""  # a URL may hold a password
        hint = (
            "\nTo take the history that steelyard.toml names, put the option behind the tests, or write --accuracy-history="
            if shown
            else ""
        )
        raise pytest.UsageError(f"--accuracy-history{shown}: {fault}{hint}") from None


@pytest.fixture
def accuracy(request: pytest.FixtureRequest) -> Accuracy:
    """Checks a run against its recorded reference: `accuracy.check(source, task=..., model=..., spec=...)`."""
    from steelyard_old.pytest_session import Accuracy

    return Accuracy(request.node)


def running() -> Accuracy | None:
    """The guard of the test that runs now, for task classes that no fixture was given to. None outside a test."""
    item = AccuracySession.item
    if item is None:
        return None
    from steelyard_old.pytest_session import Accuracy

    return Accuracy(item)


class AccuracySession:
    """What happens between the tests: on a worker nothing, on the controller the reports are gathered and told."""

    PROPERTY = "accuracy"
    WARNING = AccuracyWarning
    item: pytest.Item | None = None  # of the class: a task class asks for it without a session at hand

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.worker = hasattr(config, "workerinput")
        self.found: list[dict[str, Any]] = []
        self.failed: set[str] = set()
        self.told: Any = None
        given = getattr(config, "workerinput", {})
        self.stash: str | None = given.get("steelyard_stash")
        self.id: str = given.get("steelyard_session") or uuid.uuid4().hex  # the same for all workers
        self.keeps = _keeps(config.option)
        self.kept = 0  # checks of the running test that the history was given

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        before, AccuracySession.item = AccuracySession.item, item
        try:
            return (yield)
        finally:
            AccuracySession.item = before

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        self.kept = 0  # a test that is run again counts anew

    def stash_directory(self) -> str:
        """Where runs wait until they are put on record: made by the controller, known to all workers."""
        if self.stash is None:
            self.stash = tempfile.mkdtemp(prefix="steelyard-")
        return self.stash

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """A hook of pytest-xdist, called on the controller for each worker."""
        node.workerinput["steelyard_session"] = self.id
        if self.config.option.accuracy_update or self.config.option.accuracy_update_new:
            node.workerinput["steelyard_stash"] = self.stash_directory()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self.worker:
            return
        if report.failed:
            self.failed.add(report.nodeid)
        if report.when == "teardown":  # the last report of a test has the properties of all its phases
            self.found += [json.loads(str(value)) for name, value in report.user_properties if name == self.PROPERTY]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self.worker or not self.found:
            return
        from steelyard_old.pytest_summary import conclude

        self.told = conclude(self.found, self.failed, self.config, interrupted=int(exitstatus) in (2, 3))
        if self.told.errors and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.told is not None:
            self.told.write(terminalreporter)

    def pytest_unconfigure(self) -> None:
        if self.stash is not None and not self.worker:
            shutil.rmtree(self.stash, ignore_errors=True)

    def pytest_report_header(self) -> str | None:
        if self.config.option.accuracy_update and os.environ.get("CI"):
            return "accuracy: --accuracy-update in CI: REFERENCES WILL BE REPLACED by this run"
        return None
