"""The page of a pytest session: a row for each check, what was noted, and the page of whatever is not a pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard_old.render.digits import NONE
from steelyard_old.render.page import (
    HTML,
    MARKDOWN,
    NOWHERE,
    TEXT,
    WRITTEN,
    NestedPages,
    Page,
    PageTable,
    Section,
    Sentences,
    capped,
    filled,
    page_of,
)
from steelyard_old.render.pages.verdict import p_beside, score_text, spec_text
from steelyard_old.results.session import CheckedSession, SessionCheck

HEADS = ("task", "model", "n", "reference", "run", "difference [at worst]", "p", "verdict")
NUMBERS = range(2, 7)
WORDS = {
    "error": "NOT CHECKED",
    "regression": "REGRESSION",
    "not verified": "NOT VERIFIED",
    "not recorded": "NOT RECORDED",
    "new": "recorded",
    "update": "replaced",
}
SHOWN_UNUSED = 5  # references that nobody used, by name
TITLE = "Accuracy: "


def session_page(s: CheckedSession, _: object) -> Page:
    """The session as a page."""
    rows = [check_cells(one) for one in s.checks]
    table = PageTable(heads=HEADS, rows=rows, numbers=NUMBERS, ours=NUMBERS, columns="flush", cut=(1, 0), noun="checks", seen=WRITTEN)
    said = [f"{one.test}: {_one_line(one.message)}" for one in s.checks if one.message]
    wrong = [f"{word}: {_one_line(text)}" for word, texts in (("warning", s.warnings), ("error", s.errors)) for text in texts]
    noted = [_one_line(text) for text in (*s.notes, *s.warnings, *s.errors)]
    unused = [_unused(s.unused)] if len(s.unused) > SHOWN_UNUSED else []
    failed = [page_of(one.verdict) for one in s.checks if one.verdict is not None and one.compared and not one.verdict.passed]
    return Page(
        word="accuracy",
        about=s.headline,
        tone="regression" if s.errors or s.counts.get("regression") else "plain",
        lead=s.headline,
        led=NOWHERE,
        title=f"{TITLE}{s.headline}",
        sections=filled(
            Section(
                title="Checks",
                blocks=[
                    table,
                    capped("Checks", HEADS, rows, numbers=NUMBERS, seen=(HTML,)),
                    Sentences(sentences=[s.headline, *s.notes, *wrong], tight=True, seen=(TEXT,)),
                ],
            ),
            Section(title="Notes", blocks=[Sentences(sentences=noted, seen=(MARKDOWN, HTML))] if noted else []),
            Section(title="Not checked", blocks=[Sentences(sentences=said, seen=(MARKDOWN, HTML))] if said else []),
            Section(title="Unused references", blocks=unused),
            Section(title="Not passed", blocks=[NestedPages(parts=failed, seen=(MARKDOWN, HTML))] if failed else []),
        ),
    )


def _unused(names: Sequence[str]) -> PageTable:
    """All references that nobody used, folded, where the note names only some."""
    folded = "References never used in this session"
    return capped(folded, ["reference"], [[each] for each in names], folded=folded, seen=(MARKDOWN, HTML))


def check_cells(one: SessionCheck) -> list[str]:
    """A check as a row of the table."""
    names, v = [one.task, named(one.model, one.spec)], one.verdict
    word = WORDS.get(one.outcome, one.outcome)
    if v is None:
        return [*names, *[NONE] * 5, word]
    shown, size = score_text(v), NONE if v.n is None else f"{v.n:,}"
    if not one.compared:
        return [*names, size, NONE, shown(v.candidate.estimate), NONE, NONE, word]
    d, lower = v.difference.estimate, v.difference.lower
    gap = NONE if d is None else shown(d) if lower is None else f"{shown(d)} [{shown(lower)}]"
    word = f"{word} ({v.verdict})" if one.outcome == "update" else word
    return [*names, size, shown(v.reference.estimate), shown(v.candidate.estimate), gap, p_beside(v.p_value, v.alpha), word]


def named(model: str, spec: Mapping[str, Any]) -> str:
    """A model with its spec in brackets."""
    said = spec_text(spec)
    return f"{model} [{said}]" if said else model


def _one_line(text: str) -> str:
    """A message of several lines as one."""
    return " ".join(line.strip() for line in text.split("\n"))
