"""The guards of a page as GitHub workflow commands: an annotation per guard that failed, a warning per doubt, one notice for the rest.

A runner shows about ten annotations of a kind per step, so the tenth tells of all that are left. An annotation does not
fail a job: the exit code does.
"""

from __future__ import annotations

from collections.abc import Sequence

from steelyard_old.render.page import Page, PageCase
from steelyard_old.render.terminal import harmless, short

MOST = 10  # annotations of a kind
TITLE, MESSAGE, LINE = 200, 8000, 2000  # characters; GitHub takes 255 of a title and 64 kB of a message
_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = {**_DATA, ":": "%3A", ",": "%2C"}
Note = tuple[str, Sequence[str]]  # a title, and lines


def page_github(page: Page) -> str:
    """Lines for the standard output of a workflow step: errors, then warnings, then a notice of what passed."""
    red = [_note(case) for case in page.cases if case.outcome == "failure"]
    doubtful = [_note(case) for case in page.cases if case.outcome != "failure" and not case.clean]
    about = "steelyard" if page.suite is not None else f"steelyard: {page.about}"
    said = [(about, [warning]) for warning in (*page.warnings, *page.written_warnings)]
    return "\n".join([*_lines("error", red), *_lines("warning", [*doubtful, *said]), *_lines("notice", _passed(page))])


def _note(case: PageCase) -> Note:
    return case.title, case.lines


def _passed(page: Page) -> list[Note]:
    """One notice: the verdict that passed, or how the whole suite went."""
    if page.suite is None:
        return [_note(case) for case in page.cases if case.clean]
    named = f"suite {page.suite}" if page.suite else "suite"
    counted = page.about.removeprefix(f"{named}, ")
    return [(f"{page.word}: {named}", [line for line in (counted, page.lead) if line])]


def _lines(kind: str, notes: Sequence[Note]) -> list[str]:
    """At most ten commands; the last of more than ten tells of the rest by title."""
    if len(notes) > MOST:
        rest = notes[MOST - 1 :]
        notes = [*notes[: MOST - 1], (f"{len(rest)} more", [_with_first_line(title, lines) for title, lines in rest])]
    return [f"::{kind} title={_escaped(_shown(title, TITLE), _PROPERTY)}::{_escaped(_message(lines), _DATA)}" for title, lines in notes]


def _with_first_line(title: str, lines: Sequence[str]) -> str:
    return f"{title}: {lines[0]}" if lines else title


def _message(lines: Sequence[str]) -> str:
    return short("\n".join(_shown(line, LINE) for line in lines), MESSAGE)


def _shown(text: str, most: int) -> str:
    """A user's words without anything that a log obeys, and not without end."""
    return short(harmless(short(text, most)), most)


def _escaped(text: str, table: dict[str, str]) -> str:
    return "".join(table.get(character, character) for character in text)
