"""Verdicts as GitHub workflow commands: an annotation per guard that failed, a warning per doubt, one notice for the rest.

A runner shows about ten annotations of a kind per step, so the tenth tells of all that are left. An annotation does not
fail a job: the exit code does.
"""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.render.pages.suite import GuardLine, grouped_warnings, guards, tally
from steelyard.render.pages.verdict import by_itself, flips_text, lost_ids, next_step, waiver_text, who
from steelyard.render.terminal import harmless, short
from steelyard.results.verdict import Suite, Verdict

MOST = 10  # annotations of a kind
LOST = 5  # items named in an annotation
TITLE, MESSAGE, LINE = 200, 8000, 2000  # characters; GitHub takes 255 of a title and 64 kB of a message
_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = {**_DATA, ":": "%3A", ",": "%2C"}
Note = tuple[str, Sequence[str]]  # a title, and lines


def verdict_github(result: Verdict | Suite) -> str:
    """Lines for the standard output of a workflow step: errors, then warnings, then a notice of what passed."""
    whole = isinstance(result, Suite)
    found = guards(result) if isinstance(result, Suite) else [GuardLine(verdict=result, row={})]
    red = [g for g in found if g.counts_as == "regression"]
    doubtful = [g for g in found if g.counts_as != "regression" and not g.clean]
    said = [*result.warnings, *(grouped_warnings(found) if whole else ())]
    about = "steelyard" if whole else f"steelyard: {who(found[0].verdict)}"
    lines = [
        *_lines("error", [_note(g) for g in red]),
        *_lines("warning", [*(_note(g) for g in doubtful), *((about, [warning]) for warning in said)]),
        *_lines("notice", _passed(result, found)),
    ]
    return "\n".join(lines)


def _note(g: GuardLine) -> Note:
    """One guard: what happened, which items, what to do."""
    v = g.verdict
    sentence, command = next_step(v, g.counts_as)
    lost = lost_ids(v, LOST)
    lines = [
        v.conclusion,
        f"waiver {waiver_text(g.waiver)}" if g.waiver else "",
        "" if v.flips is None else f"flips: {flips_text(v.flips)}",
        f"lost: {', '.join(short(name, TITLE) for name in lost)}" if lost else "",
        sentence.replace(" below.", " in the report."),
        " ".join(command),
    ]
    return f"{g.counts_as}: {who(v)}{by_itself(v, g.counts_as)}", [line for line in lines if line]


def _passed(result: Verdict | Suite, found: Sequence[GuardLine]) -> list[Note]:
    """One notice: the verdict that passed, or how the whole suite went."""
    if isinstance(result, Suite):
        return [
            (
                f"{result.verdict}: suite{f' {result.name}' if result.name else ''}",
                [tally(found), *([result.conclusion] if result.conclusion else [])],
            )
        ]
    return [_note(g) for g in found if g.clean]


def _lines(kind: str, notes: Sequence[Note]) -> list[str]:
    """At most ten commands; the last of more than ten tells of the rest by title."""
    if len(notes) > MOST:
        rest = notes[MOST - 1 :]
        notes = [*notes[: MOST - 1], (f"{len(rest)} more", [_told(title, lines) for title, lines in rest])]
    return [f"::{kind} title={_escaped(_shown(title, TITLE), _PROPERTY)}::{_escaped(_message(lines), _DATA)}" for title, lines in notes]


def _told(title: str, lines: Sequence[str]) -> str:
    return f"{title}: {lines[0]}" if lines else title


def _message(lines: Sequence[str]) -> str:
    return short("\n".join(_shown(line, LINE) for line in lines), MESSAGE)


def _shown(text: str, most: int) -> str:
    """A user's words without anything that a log obeys, and not without end."""
    return short(harmless(short(text, most)), most)


def _escaped(text: str, table: dict[str, str]) -> str:
    return "".join(table.get(character, character) for character in text)
