"""Scores that accuracy suites print: the hypothesis-testing reports of TensorRT-LLM's suite, in pytest logs and in JUnit files.

    = ACCURACY HYPOTHESIS TESTING
    Alpha (Type I:  False Positive): 0.050
    ...
    Reference accuracy: 74.200
    Threshold: 70.997
    Evaluated accuracy: 74.375

An entry with a threshold of its own is held to that alone, and its report begins with `= ACCURACY CHECK` and has a line
`Threshold (explicit floor): 70.000` instead of the statistics.

A report says neither its task nor its model: the test that runs is named before it, and the dataset in the line of its
evaluator ("gsm8k average accuracy: 74.38"). What is no whole report is kept apart with its place, and never guessed.
"""

from __future__ import annotations

import hashlib
import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from datetime import UTC, datetime
from pathlib import Path

from steelyard_old.errors import SourceError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.metrics.catalogue import usual
from steelyard_old.read.files.paths import cannot_open, regular

LARGEST_XML = 1 << 26  # bytes: the tree of a larger file would need gigabytes
LONGEST_LINE = 20_000
LONGEST_REPORT = 40  # lines from its banner to its last number

_NUMBER = r"([-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|nan|-?inf)\s*\Z"
_COLOR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_TIMES = (
    re.compile(r"\[(?P<month>\d\d)/(?P<day>\d\d)/(?P<year>\d{4})-(?P<clock>\d\d:\d\d:\d\d)\](?P<offset>)"),
    re.compile(
        r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)[T ](?P<clock>\d\d:\d\d:\d\d)(?:[.,]\d+)?(?P<offset>Z|[+-]\d\d:?\d\d(?!\d))?"
    ),
)
_TEST = re.compile(r"(?:\[[^\]]{0,60}\]\s*){0,4}[\w./\\-]+\.py::([\w:.-]+(?:\[[^\]]{0,300}\])?)")
_FAILED = re.compile(r"_{3,} ([\w.]+(?:\[[^\]]{0,300}\])?) _{3,}\s*\Z")
_DATASET = re.compile(r"(?:\A|[\s\]])([A-Za-z][\w-]{0,60}) (?:weighted )?average accuracy: [0-9]")
_BANNER = re.compile(r"=\s+([A-Z][A-Z0-9_]{0,30}) (?:HYPOTHESIS TESTING|CHECK)\s*\Z")
_FIELDS = {
    "alpha": re.compile(r"Alpha \(.{0,60}\):\s*" + _NUMBER),
    "beta": re.compile(r"Beta\s+\(.{0,60}\):\s*" + _NUMBER),
    "sigma": re.compile(r"Sigma \(.{0,60}\):\s*" + _NUMBER),
    "n": re.compile(r"#Samples:\s*([0-9]{1,12})\s*\Z"),
    "higher_is_better": re.compile(r"Higher is better:\s*(True|False)\s*\Z"),
    "reference": re.compile(r"Reference [\w -]{1,40}:\s*" + _NUMBER),
    "threshold": re.compile(r"Threshold:\s*" + _NUMBER),
    "floor": re.compile(r"Threshold \(explicit floor\):\s*" + _NUMBER),
    "value": re.compile(r"Evaluated [\w -]{1,40}:\s*" + _NUMBER),
}
_NEEDED = ("alpha", "beta", "sigma", "n", "reference", "value")
_OF_A_FLOOR = ("floor", "value")  # beside which the rest may be missing
_NUMBERS = ("value", "reference", "alpha", "beta", "sigma", "threshold", "floor")
_DIRECTIONS = {"": None, **dict.fromkeys(("true", "yes", "1", "1.0"), True), **dict.fromkeys(("false", "no", "0", "0.0"), False)}
_PROPERTIES = {  # names under which suites keep these in JUnit files
    "value": ("evaluated_accuracy", "evaluated", "value", "accuracy", "score"),
    "reference": ("reference_accuracy", "ref_accuracy", "reference"),
    "threshold": ("threshold",),
    "floor": ("explicit_floor", "floor"),
    "n": ("num_samples", "samples", "n"),
    "alpha": ("alpha",),
    "beta": ("beta",),
    "sigma": ("sigma",),
    "higher_is_better": ("higher_is_better",),
    "task": ("task", "dataset"),
    "model": ("model", "model_name"),
    "metric": ("metric", "metric_name"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteReport:
    """One evaluated score and the rule it was held to. test, dataset and time are None where the file does not say them.

    A report of an explicit floor has that and no statistics; reference and n are there if it says them.
    """

    place: str
    metric: str
    value: float
    reference: float | None = None
    n: int | None = None
    alpha: float | None = None
    beta: float | None = None
    sigma: float | None = None
    threshold: float | None = None
    floor: float | None = None
    higher_is_better: bool | None = None  # a report of an explicit floor need not say
    test: str | None = None
    dataset: str | None = None
    model: str | None = None
    time: str | None = None


@dataclass(frozen=True, slots=True)
class Unread:
    """A report that is none, where it stands and why."""

    place: str
    why: str


@dataclass(slots=True)
class Printed:
    """In which section of the log a report was printed: what one test wrote, or what was shown of it again at the end."""

    section: int
    again: bool  # behind a line of underscores that names the test: pytest shows there what failed tests wrote
    shown_again_in: int | None = None


@dataclass(slots=True)
class SuiteLog:
    """What a file holds; `digest` is that of its bytes. `printed` has the section of each report."""

    path: str
    digest: str
    reports: list[SuiteReport] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    printed: list[Printed] = field(default_factory=list)
    sections: int = 0


def read_suite_log(path: str) -> SuiteLog:
    """The reports in a pytest log or a JUnit file, told apart by how it begins."""
    regular(path)
    try:
        with open(path, "rb") as stream:
            log = SuiteLog(path, hashlib.file_digest(stream, "sha256").hexdigest())
            stream.seek(0)
            head = stream.read(256).removeprefix(b"\xef\xbb\xbf").lstrip()
        if head.startswith((b"<?xml", b"<testsuite", b"<!")):
            _read_junit(path, log)
        else:
            with open(path, encoding="utf-8-sig", errors="replace") as text:
                numbered = ((f"line {number:,}", line) for number, line in enumerate(text, 1))
                _Reader(log).read(numbered)
    except OSError as error:
        raise cannot_open(path, error) from None
    return log


class _Reader:
    """Reads lines and remembers what a report does not say itself: the test that runs, the dataset, the time."""

    def __init__(self, log: SuiteLog, test: str | None = None, time: str | None = None) -> None:
        self.log, self.test, self.time = log, test, time
        self.again = False
        log.sections += 1
        self.dataset: str | None = None
        self.metric: str | None = None  # of the report that is being read
        self.begun = ""
        self.lines = 0
        self.found: dict[str, str] = {}

    def read(self, lines: Iterable[tuple[str, str]]) -> None:
        for place, line in lines:
            self._line(place, _COLOR.sub("", line[:LONGEST_LINE]).rstrip())
        self._end()

    def _line(self, place: str, line: str) -> None:
        self._around(line)
        if banner := _BANNER.search(line):
            self._end()
            self.metric, self.begun, self.lines, self.found = banner[1].lower(), place, 0, {}
            return
        if self.metric is None:
            return
        self.lines += 1
        for name, pattern in _FIELDS.items():
            if said := pattern.search(line):
                self.found[name] = said[1]
                break
        if "value" in self.found or self.lines > LONGEST_REPORT:
            self._end()

    def _around(self, line: str) -> None:
        if named := _TEST.match(line) or _FAILED.match(line):
            self._end()
            self.log.sections += 1
            self.again = _TEST.match(line) is None
            words = named[1] if "::" in line else named[1].replace(".", "::", 1)
            if words != self.test:
                self.test, self.dataset = words, None
        if dataset := _DATASET.search(line):
            self.dataset = dataset[1].lower()
        self.time = next(filter(None, (_moment(pattern.search(line)) for pattern in _TIMES)), self.time)

    def _end(self) -> None:
        if self.metric is None:
            return
        metric, self.metric = self.metric, None
        self.add(self.begun, {**self.found, "metric": metric, "task": self.dataset or ""})

    def add(self, place: str, found: Mapping[str, str]) -> None:
        lacking = [name for name in (_OF_A_FLOOR if "floor" in found else _NEEDED) if name not in found]
        if lacking:
            words = {"value": "evaluated score", "n": "number of samples"}
            self.log.unread.append(Unread(f"{self.log.path}, {place}", f"a report without its {words.get(lacking[0], lacking[0])}"))
            return
        try:
            numbers = {name: float(found[name]) for name in _NUMBERS if name in found}
            if not all(map(math.isfinite, numbers.values())):
                raise ValueError("a number that is not finite")
            report = SuiteReport(
                place=f"{self.log.path}, {place}",
                metric=(found.get("metric") or usual({"score"}, right_or_wrong=True)[0].name).lower(),
                n=int(found["n"]) if "n" in found else None,
                higher_is_better=_direction(found.get("higher_is_better")),
                test=self.test,
                dataset=found.get("task") or None,
                model=found.get("model") or None,
                time=self.time,
                **numbers,
            )
        except ValueError as fault:
            self.log.unread.append(Unread(f"{self.log.path}, {place}", str(fault)))
            return
        if not any(self._is(report, *other) for other in zip(self.log.reports, self.log.printed, strict=True)):
            self.log.reports.append(report)
            self.log.printed.append(Printed(self.log.sections, self.again))

    def _is(self, report: SuiteReport, other: SuiteReport, printed: Printed) -> bool:
        """Whether a report is one that was read before. Equal numbers alone do not make it that: two nights may have one score.

        It is the same in the same section, at the same time, or where pytest shows again what the test wrote: each once.
        """
        if not _same_numbers(report, other):
            return False
        if self.log.sections in (printed.section, printed.shown_again_in) or report.time == other.time is not None:
            return True
        if not self.again or printed.again or printed.shown_again_in is not None:
            return False
        printed.shown_again_in = self.log.sections
        return True


def _direction(text: str | None) -> bool | None:
    """What a report or a property says of higher_is_better; an error if that is neither yes nor no."""
    word = (text or "").strip().lower()
    if word not in _DIRECTIONS:
        raise ValueError(f"higher_is_better is {text!r}, which is neither true nor false")
    return _DIRECTIONS[word]


def _same_numbers(one: SuiteReport, other: SuiteReport) -> bool:
    facts = ("test", "metric", "value", "reference", "n", "sigma", "alpha", "floor")
    tasks = {one.dataset, other.dataset} - {None}
    return len(tasks) < 2 and all(getattr(one, name) == getattr(other, name) for name in facts)


def _moment(found: re.Match[str] | None) -> str | None:
    """A time in UTC, where an offset is said; otherwise as it is written. None if it is no time."""
    if found is None:
        return None
    try:
        time = datetime.fromisoformat("{year}-{month}-{day}T{clock}".format(**found.groupdict()) + (found["offset"] or "Z"))
        return f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%S}Z"
    except (ValueError, OverflowError):
        return None


# ---- JUnit -----------------------------------------------------------------------------------------------------------------


def _read_junit(path: str, log: SuiteLog) -> None:
    for suite, case in _cases(_tree(path)):
        name = case.get("name") or "?"
        home = (case.get("classname") or "").rpartition(".")[2]
        test = f"{home}::{name}" if home else name
        reader = _Reader(log, test, _moment(_TIMES[1].match(suite.get("timestamp") or "")))
        told = {each.get("name") or "": each.get("value") or (each.text or "") for each in case.iter("property")}
        facts = {key: told[word] for key, words in _PROPERTIES.items() for word in words[::-1] if word in told}
        before = len(log.reports)
        reader.read((f"test {test}", line) for text in _texts(case) for line in text.splitlines())
        if "value" in facts and len(log.reports) == before:
            reader.add(f"test {test}", facts)


def _cases(root: ET.Element) -> Iterator[tuple[ET.Element, ET.Element]]:
    for suite in [root, *root.iter("testsuite")] if root.tag != "testsuite" else root.iter("testsuite"):
        for case in suite.findall("testcase"):
            yield suite, case


def _texts(case: ET.Element) -> Iterator[str]:
    for tag in ("system-out", "system-err", "failure", "error"):
        for each in case.findall(tag):
            yield each.text or ""
            yield each.get("message") or ""


def _tree(path: str) -> ET.Element:
    data = Path(path).read_bytes() if Path(path).stat().st_size <= LARGEST_XML else None
    if data is None:
        raise SourceError(
            f"{path!r} is an XML file of more than 64 MB, too large to read.",
            got="an XML file of more than 64 MB",
            need="a smaller one",
            hint="import the log instead",
        )
    try:
        text = data.decode("utf-8-sig")
        if re.search(r"<!\s*(DOCTYPE|ENTITY)", text, re.IGNORECASE):  # JUnit needs neither, and entities can fill the memory
            raise SourceError(
                f"{path!r} is XML with a document type or entities, not a plain JUnit file.",
                got="XML with a document type or entities",
                need="a plain JUnit file",
            )
        return ET.fromstring(text)  # noqa: S314  no entities are left to expand
    except (ET.ParseError, UnicodeDecodeError, ValueError, RecursionError) as fault:
        if isinstance(fault, SourceError):
            raise
        raise SourceError(
            f"{path!r} is not a JUnit file in UTF-8 ({fault}).", got=f"no XML: {fault}", need="a JUnit file in UTF-8"
        ) from None
