"""The page of a search for the first bad commit: the commits with what was asked at each, and the items that prove it."""

from __future__ import annotations

from steelyard_old.render.page import HTML, MARKDOWN, TEXT, Page, PageTable, Section, Sentences, capped, filled
from steelyard_old.results.bisection import Bisect, BisectedCommit

HEADS = ["commit", "probability", "right", "subject"]
ITEMS = ["item", "right before", "right after"]
LISTED = 10  # items that a terminal shows


def bisect_page(found: Bisect, _: object) -> Page:
    """The search as a page."""
    word = "FOUND" if found.named else "NOT FOUND"
    by_items = found.method == "telling items"  # what answers and signatures have always called it
    return Page(
        word=word,
        about=f"{found.n_commits:,} commits",
        lead=found.conclusion,
        sections=filled(_commits(found), _skipped(found), _items(found), _cost(found)),
        warnings=found.warnings,
        methods=[
            ("asked", "items that changed" if by_items else found.method),
            ("posterior", f"one change between two unknown {'rates' if by_items else 'means'}"),
            ("named", f"at {1 - found.delta:g} or more"),
        ],
        signature=found.signature,
    )


def _cost(found: Bisect) -> Section:
    kept = f", and {found.reused:,} answers of earlier searches" if found.reused else ""
    said = f"{found.calls:,} calls{kept}; git bisect on all {found.n_items:,} items would ask {found.whole_calls:,}"
    return Section(title="Calls", blocks=[Sentences(sentences=[said], listed=False)])


def _skipped(found: Bisect) -> Section | None:
    said = [f"skipped {each.commit[:12]}: {each.skipped}" for each in found.commits if each.skipped is not None]
    return Section(title="Skipped", blocks=[Sentences(sentences=said, noun="commits")]) if said else None


def _commits(found: Bisect) -> Section:
    rows = [_commit(each, found) for each in found.commits]
    return Section(
        title="Commits",
        blocks=[
            PageTable(
                heads=HEADS,
                rows=rows,
                label="commits that were asked or may be the first bad one",
                columns="left",
                ours=(0, 1, 2),
                narrow=40,
                noun="commits",
                seen=(TEXT,),
            ),
            PageTable(heads=HEADS, rows=rows, ours=(0, 1, 2), noun="commits", seen=(MARKDOWN,)),
            capped("Commits that were asked or may be the first bad one", HEADS, rows, numbers=(1,), seen=(HTML,)),
        ],
    )


def _commit(each: BisectedCommit, found: Bisect) -> list[str]:
    mark = "good" if each.place == 0 else "bad" if each.commit == found.bad else ""
    if each.skipped is not None:
        said = "skipped"
    elif each.runs:
        said = f"mean {each.mean:.4f} of {each.runs}"
    else:
        said = f"{each.right} of {each.asked}" if each.asked else ""
    return [
        f"{each.commit[:12]}{f' ({mark})' if mark else ''}",
        "" if each.probability is None else _probability(each.probability),
        said,
        each.subject,
    ]


def _probability(p: float) -> str:
    return "< 0.0001" if p < 0.0001 else "> 0.9999" if p > 0.9999 else f"{p:.4f}"


def _items(found: Bisect) -> Section | None:
    if not found.changed_items:
        return None
    rows = [
        [each.id, f"{each.right_before} of {each.asked_before}", f"{each.right_after} of {each.asked_after}"]
        for each in found.changed_items
    ]
    of = f"{len(rows)} changed items" if len(rows) <= LISTED else f"the first {LISTED} of {len(rows)} changed items"
    return Section(
        title="Items that prove it",
        blocks=[
            PageTable(
                heads=ITEMS,
                rows=rows[:LISTED],
                label=f"items that prove it: {of}, before the named commit and from it on",
                columns="left",
                ours=(1, 2),
                narrow=40,
                noun="items",
                seen=(TEXT,),
            ),
            PageTable(heads=ITEMS, rows=rows, ours=(1, 2), noun="items", seen=(MARKDOWN,)),
            capped("Items that prove it, before the named commit and from it on", ITEMS, rows, numbers=(), seen=(HTML,)),
        ],
    )
