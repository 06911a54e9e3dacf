"""The pages about references: their list, one in full, what is wrong with them, their history, what was changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard_old.render.listing_cells import (
    LIST_HEADS,
    LIST_NUMBERS,
    RULE_HEADS,
    STORY_HEADS,
    STORY_NUMBERS,
    about,
    by_task,
    changed_cells,
    compared_lines,
    figure,
    gate_facts,
    list_cells,
    spark,
    story_cells,
    story_sum,
)
from steelyard_old.render.page import (
    DETAIL,
    HTML,
    MARKDOWN,
    TEXT,
    WRITTEN,
    CodeLines,
    Findings,
    Heading,
    LeadSentence,
    Notes,
    Page,
    PageBlock,
    PageTable,
    Section,
    Sentences,
    capped,
    filled,
    put,
)
from steelyard_old.render.pages.verdict import spec_text
from steelyard_old.results.references import Finding, Lint, Listing, ProjectInit, ReferenceChange, ReferenceDetail, ReferenceHistory

FILES = 4  # in which there are more findings of a kind
LEVELS = ("error", "warning", "note")
LAST = Section(title="", blocks=[LeadSentence()])  # a list is read from its end


def listing_page(r: Listing, _: object) -> Page:
    """The references, a table for each task."""
    found = []
    for task, rows in by_task(r).items():
        file, cells = rows[0].file, [list_cells(row) for row in rows]
        table = capped(f"References of {task}, {file}", LIST_HEADS, cells, numbers=LIST_NUMBERS, tight=True, noun="references")
        found.append(Section(title=task, blocks=[Heading(name=task, beside=file), table]))
    title = f"References in {r.directory}"
    return _page(r, word="references", about=r.directory, title=title, sections=[*found, LAST])


def _page(r: Any, **more: Any) -> Page:
    return Page(lead=r.conclusion, warnings=r.warnings, signature=r.signature, **more)


def detail_page(r: ReferenceDetail, _: object) -> Page:
    """One reference: its entry, its rule, what it finds, and why it is this one."""
    entry = [[key, spec_text(value) if isinstance(value, Mapping) else figure(value)] for key, value in (r.entry or {}).items()]
    rule = [[number.name, figure(number.value), number.source] for number in r.rule]
    where = f"{r.file}, line {r.line}"
    sections = filled(
        Section(
            title="The entry",
            blocks=[Heading(name="", beside=where, seen=(TEXT,)), capped(where, ["key", "value"], entry, tight=True, noun="keys")],
        )
        if entry
        else None,
        Section(
            title="The rule",
            blocks=[capped("The rule and where it comes from", RULE_HEADS, rule, numbers=(1,), noun="numbers")] if rule else [],
        ),
        Section(title="What it finds", blocks=[Notes(pairs=gate_facts(r), seen=_seen(r.gate is not None))]) if entry else None,
        Section(title="Why this one", blocks=[Notes(pairs=compared_lines(r), worth=DETAIL, noun="entries")]) if r.held else None,
    )
    named = f"{r.task}, {about(r.model, r.spec)}"
    return _page(r, word="reference", about=named, title=named, sections=sections)


def _seen(there: bool) -> Sequence[str]:
    return (*WRITTEN, HTML) if there else WRITTEN


def lint_page(r: Lint, _: object) -> Page:
    """What is wrong with the references. In text a line for each finding, then how many more of each kind; the count last."""
    shown, hidden = r.folded()
    lines = [(_place(each, ":"), each.level, _finding_text(each), each.code) for each in shown]
    cells = [
        [each.level, _place(each, ", line "), _finding_text(each), each.code]
        for each in sorted(shown, key=lambda each: LEVELS.index(each.level))  # a page is read from the top
    ]
    every = [
        [each.level, _place(each, ":"), "" if each.model is None else about(each.model, each.spec), each.sentence] for each in r.findings
    ]
    more = [f"{some[0].level}: {_more(some)}" for some in hidden]
    listed = put("every=True lists all findings.")
    blocks: list[PageBlock] = [
        Findings(entries=lines),
        PageTable(heads=("level", "where", "what", "code"), rows=cells, noun="findings", seen=(MARKDOWN,)),
        *([Sentences(sentences=more, seen=WRITTEN), Sentences(sentences=[listed], tight=True, seen=(TEXT,))] if more else []),
        capped("Findings", ["level", "where", "model", "what"], every, seen=(HTML,)),
    ]
    return _page(
        r,
        word="lint",
        about=r.directory,
        tone="pass" if r.exit_code == 0 else "regression",
        title=f"Lint of {r.directory}",
        sections=[*([Section(title="Findings", blocks=blocks)] if every else []), LAST],
    )


def _place(finding: Finding, before: str) -> str:
    return finding.file + ("" if finding.line is None else f"{before}{finding.line}")


def _finding_text(finding: Finding) -> str:
    return f"{about(finding.model, finding.spec)}: {finding.sentence}" if finding.model is not None else finding.sentence


def _more(some: Sequence[Finding]) -> str:
    """How many findings of a kind are not shown, and where they are."""
    files = Counter(finding.file for finding in some)
    where = [f"{file} ({n:,})" for file, n in files.most_common(FILES)]
    rest = f" and {len(files) - FILES:,} more files" if len(files) > FILES else ""
    return f"{len(some):,} more like these ({some[0].code}), in {', '.join(where)}{rest}"


def history_page(r: ReferenceHistory, _: object) -> Page:
    """How references came about: the changes of each, first to last."""
    sections = []
    for series in r.series:
        name, in_all = about(series.model, series.spec), story_sum(series)
        rows = [story_cells(change) for change in series.changes]
        blocks: list[PageBlock] = [
            Heading(name=name),
            Sentences(sentences=[in_all], listed=False, seen=(MARKDOWN,)),
            *([capped(f"Changes of {name}", STORY_HEADS, rows, numbers=STORY_NUMBERS, noun="changes", tight=True)] if rows else []),
            Heading(name="", beside=in_all, signs=spark(series.numbers), tight=True, seen=(TEXT,)),
            Notes(pairs=[("in all", in_all)], seen=(HTML,)),
        ]
        sections.append(Section(title=name, blocks=blocks))
    last = Section(title="", blocks=[LeadSentence(beside=r.file)])
    return _page(r, word="history", about=r.task, title=f"History of {r.task}", sections=[*sections, last], methods=[("file", r.file)])


def change_page(r: ReferenceChange, _: object) -> Page:
    """What was done to references, where, and why."""
    heads, rows = changed_cells(r)
    table = capped("What was changed", heads, rows, numbers=(2, 3, 4) if r.action == "import" else (2,), noun="rows")
    reason = [("reason", r.reason)] if r.reason else []
    blocks: list[PageBlock] = [*([table] if rows else []), *([Notes(pairs=reason, seen=WRITTEN)] if reason else [])]
    sections = filled(Section(title="What was changed", blocks=blocks))
    return _page(r, word=r.action, about=r.directory, title=r.action.capitalize(), sections=sections, methods=reason)


def init_page(r: ProjectInit, _: object) -> Page:
    """What `init` wrote, and what to do next."""
    files = [*(("written", path) for path in r.written), *(("left as it is", path) for path in r.kept)]
    blocks: list[PageBlock] = [
        Notes(pairs=files, seen=WRITTEN),
        CodeLines(lines=r.next, label="next:"),
        *([PageTable(caption="Files", heads=["file", "what"], rows=[[path, what] for what, path in files], seen=(HTML,))] if files else []),
    ]
    command = [line.split(" ") for line in r.next]
    return _page(r, word="started", about="references", command=command, sections=[Section(title="Files", blocks=blocks)])
