"""Every page as it was, byte by byte, but for its numbers: text, markdown, HTML, JUnit, SVG, what is said beside them, and the files
that are written for others (references, rows of a run, cards).

The pages of the questions in `asked.py` are under `pages/`, a file for each question and format. Numbers are masked, so that
another processor prints the same (`-p last_bits` is one); so are times, ids of runs, and the version. The style sheet and the
script that HTML pages share are kept once.
After a change that is meant,

    python tests/outside/write.py

writes all of them anew; read `git diff tests/outside/pages` before you commit it.
"""

from __future__ import annotations

import difflib
import re

import pytest

from cases import every
from outside.asked import ASKED, ENDINGS, FILES, Answered
from outside.snapshot import MEANT, PAGES
from steelyard.version import __version__

SAID = "said"
OF_THIS_MACHINE = ("doctor", "session")  # what is installed, and what pytest says around it: only their JSON is kept
WRITTEN = "file_"
SHARED = re.compile(r"<(style|script)>(.*?)</\1>", re.DOTALL)
TIME = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?:[T ]\d\d\\?:\d\d(?:\\?:\d\d(?:\.\d+)?)?)?(?:Z|[+-]\d\d\\?:\d\d)?")
LATENCY = re.compile(r"median [\d.e-]+ \w+, p90 [\d.e-]+ \w+, p99 [\d.e-]+ \w+")
WASTED = re.compile(r"^.*\bWasted\b.*answered after the run was decided.*\n", re.MULTILINE)  # luck: what was under way when it was decided
ID = re.compile(r"(?<![\w.#])(?:[0-9a-f]{32}|[0-9a-f]{8})(?!\w)")
DRAWN = re.compile(r' (?:d|points|transform|viewBox)="[^"]*"')
BEFORE = r"(?<![\w@^#])(?<![A-Za-z]-)(?<!\x1b\[)(?<!\d[.,])"  # not the digits of a name, a colour, an entity
NUMBER = re.compile(BEFORE + r"\d++(?:[.,]\d++)*+(?:e[+-]?\d++)?+(?!\w)")
CELL = re.compile(r"(?<![\w@^#.])(?<![A-Za-z]-)\d++(?:\.\d++)?+(?:e[+-]?\d++)?+(?!\w)")  # a comma parts two of them
ANY_NUMBER = re.compile(r"-?\d*\.?\d+(?:e[+-]?\d+)?")


def now(answered: dict[str, Answered], written: dict[str, str]) -> dict[str, str]:
    """The masked pages by the names of their files, what they share, and the files that were written besides."""
    found = {file: page for name, answer in answered.items() for file, page in pages(name, answer).items()}
    return {**found, **shared(answered), **other_files(written)}


def pages(name: str, answer: Answered) -> dict[str, str]:
    if name in OF_THIS_MACHINE:
        return {}
    found = {f"{name}.{ENDINGS[format_]}": masked(page, format_) for format_, page in answer.pages.items() if format_ != "json"}
    said = "".join(line for line in answer.said.splitlines(keepends=True) if not line.startswith("written to "))
    return {**found, f"{name}.{SAID}": masked(said, "text")} if said else found


def other_files(written: dict[str, str]) -> dict[str, str]:
    """What is on record, what a run answered, cards: for people and other programs."""
    return {f"{WRITTEN}{name}": text if name.endswith(".toml") else masked(text, "file") for name, text in written.items()}


def shared(answered: dict[str, Answered]) -> dict[str, str]:
    """The style sheet and the script of HTML pages: one for all, letter by letter."""
    found = {part for answer in answered.values() for part in SHARED.findall(answer.pages.get("html", ""))}
    return {f"shared{i}.{'css' if kind == 'style' else 'js'}": text for i, (kind, text) in enumerate(sorted(found))}


def masked(page: str, format_: str) -> str:
    """A page without what another processor, day or version prints: the same width in text, where columns stand below each other."""
    page = WASTED.sub("", page.replace(__version__, "VERSION"))
    page = LATENCY.sub("LATENCY", TIME.sub("TIME", page))
    page = ID.sub(lambda found: "x" * len(found[0]), page)
    if format_ == "file":
        return CELL.sub("#", page)
    if format_ in ("text", "markdown"):
        return NUMBER.sub(lambda found: re.sub(r"\d", "#", found[0]), page)
    page = re.sub(r"sha256-[\w+/=]+", "sha256-HASH", SHARED.sub(r"<\1>SHARED</\1>", page))
    page = DRAWN.sub(lambda found: ANY_NUMBER.sub("#", found[0]), page)
    return NUMBER.sub("#", page)


@every("name", [name for name in ASKED if name not in OF_THIS_MACHINE])
def test_a_page_is_as_it_was(name: str, answered: dict[str, Answered]) -> None:
    found = pages(name, answered[name])
    assert {*found} == {path.name for path in PAGES.glob(f"{name}.*")}, MEANT
    for file, page in found.items():
        _as_it_was(file, page)


def _as_it_was(file: str, page: str) -> None:
    old = (PAGES / file).read_text(encoding="utf-8")
    if page != old:
        seen = "\n".join(difflib.unified_diff(old.splitlines(), page.splitlines(), f"pages/{file}", "now", lineterm=""))
        pytest.fail(f"{file} is another page; {MEANT}\n{seen}")


@every("name", FILES)
def test_a_file_is_as_it_was(name: str, written: dict[str, str]) -> None:
    ((file, page),) = other_files({name: written[name]}).items()
    _as_it_was(file, page)


def test_style_and_script_are_as_they_were(answered: dict[str, Answered]) -> None:
    assert shared(answered) == {path.name: path.read_text(encoding="utf-8") for path in PAGES.glob("shared*")}, MEANT


def test_there_is_no_page_that_nobody_makes(answered: dict[str, Answered], written: dict[str, str]) -> None:
    assert {path.name for path in PAGES.iterdir()} == {*now(answered, written)}


def test_every_format_is_kept() -> None:
    found = {path.suffix.removeprefix(".") for path in PAGES.iterdir() if not path.name.startswith(WRITTEN)}
    assert found == {*ENDINGS.values(), SAID, "css", "js"} - {"json"}


def test_no_page_names_a_place_a_day_or_a_machine() -> None:
    for path in PAGES.iterdir():
        assert not re.search(r"(?<![\w.])/(work|root|home|tmp|Users|usr|private)/|\b20[2-9]\d-", path.read_text(encoding="utf-8")), path


@every(
    ("page", "format_", "left"),
    [
        ("accuracy 0.838 [0.742, 0.903], 95%", "text", "accuracy #.### [#.###, #.###], ##%"),
        ("p 3.0e-08; 1,319 items", "text", "p #.#e-##; #,### items"),
        ("macro_f1, pass@2, q012, Llama-3.1-8B", "text", "macro_f1, pass@2, q012, Llama-3.1-8B"),
        ("recorded 2026-11-17T06:53:25Z by Ada", "text", "recorded TIME by Ada"),
        ("approved 2026-11-17T06\\:53:30Z", "markdown", "approved TIME"),
        ("2026-11-17 06:53  7d6db5f6  run", "text", "TIME  xxxxxxxx  run"),
        ("median 0.004 ms, p90 0.01 ms, p99 1.2 s", "text", "LATENCY"),
        ('<path d="M12.5,30L.5-4e-05Z"/>', "html", '<path d="M#,#L##Z"/>'),
        ("<style>a { top: 3px }</style>12.50", "html", "<style>SHARED</style>#"),
        ('<a fill="#0550ae" x1="2%">&#39;</a>', "html", '<a fill="#0550ae" x1="#%">&#39;</a>'),
        ("Items asked  32\nWasted  1  answered after the run was decided, and not used\n", "text", "Items asked  ##\n"),
        ("True,80,0.5,,1e-05,q01", "file", "True,#,#,,#,q01"),
        ("\x1b[1;31mWORSE\x1b[0m 0.5", "text", "\x1b[1;31mWORSE\x1b[0m #.#"),
        (f"|n:80|alpha:0.05|steelyard:{__version__}", "text", "|n:##|alpha:#.##|steelyard:VERSION"),
    ],
)
def test_masks(page: str, format_: str, left: str) -> None:
    assert masked(page, format_) == left
