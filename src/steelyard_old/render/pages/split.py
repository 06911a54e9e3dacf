"""The pages of a split and of its check: the parts with the shares they reached; what two parts share, with the worst pairs."""

from __future__ import annotations

from steelyard_old.render.page import HTML, MARKDOWN, TEXT, Page, PageTable, Section, capped, filled
from steelyard_old.results.split import DataSplit, SharedPair, SplitCheck

KINDS = {"id": "same id", "text": "same text", "near": "similar", "group": "same group"}
WORST = 10  # pairs that a page of text has room for


def split_page(found: DataSplit, _: object) -> Page:
    """The parts of a split."""
    about = f"{found.data}, {found.n:,} {'row' if found.n == 1 else 'rows'}"
    methods = [("split by", found.method), *([("seed", str(found.seed))] if found.seed is not None else [])]
    return Page(
        word="split",
        about=about,
        lead=found.conclusion,
        sections=filled(_parts(found), _strata(found)),
        warnings=found.warnings,
        methods=methods,
        signature=found.signature,
    )


def _parts(found: DataSplit) -> Section:
    groups, times = any(each.groups is not None for each in found.parts), any(each.first is not None for each in found.parts)
    heads = ["part", "share", "rows", "reached", *(["groups"] * groups), *(["from", "to"] * times), *(["file"] * found.written)]
    rows = [
        [
            each.name,
            f"{each.share:.4g}",
            f"{each.n:,}",
            f"{each.reached:.4f}",
            *([f"{each.groups or 0:,}"] * groups),
            *([each.first or "", each.last or ""] * times),
            *([each.file or ""] * found.written),
        ]
        for each in found.parts
    ]
    return Section(
        title="Parts",
        blocks=[
            PageTable(heads=heads, rows=rows, numbers=(1, 2, 3), columns="left", noun="parts", seen=(TEXT, MARKDOWN)),
            capped("Parts", heads, rows, numbers=(1, 2, 3), seen=(HTML,)),
        ],
    )


def _strata(found: DataSplit) -> Section | None:
    if not found.strata:
        return None
    heads = [str(found.column), "rows", *(part.name for part in found.parts)]
    rows = [[each.value, f"{each.n:,}", *(f"{n:,}" for n in each.rows)] for each in found.strata]
    numbers = tuple(range(1, len(heads)))
    return Section(
        title="Strata",
        blocks=[
            PageTable(heads=heads, rows=rows, numbers=numbers, columns="left", narrow=30, noun="values", seen=(TEXT, MARKDOWN)),
            capped(f"Rows of each value of {found.column}", heads, rows, numbers=numbers, seen=(HTML,)),
        ],
    )


def split_check_page(found: SplitCheck, _: object) -> Page:
    """What parts share."""
    columns = ", ".join(found.parts[0].text)
    return Page(
        word="split check",
        about=", ".join(f"{part.name} ({part.n:,})" for part in found.parts),
        tone="regression" if found.shared else "inconclusive" if found.unsure else "pass",
        lead=found.conclusion,
        sections=filled(_overlaps(found), _pairs(found)),
        warnings=found.warnings,
        methods=[("texts", f"columns {columns}"), ("similar", f"Jaccard of shingles of {found.words} words, {found.threshold:g} or more")],
        signature=found.signature,
    )


def _overlaps(found: SplitCheck) -> Section:
    heads = ["parts", "ids", "texts", "similar", "groups"]
    rows = [
        [
            f"{each.first}, {each.second}",
            "" if each.ids is None else f"{each.ids:,}",
            f"{each.texts:,}",
            f"{each.near:,}",
            "" if each.groups is None else f"{each.groups:,}",
        ]
        for each in found.overlaps
    ]
    label = f"shared: ids, rows of the second part with an equal or similar text ({', '.join(found.parts[0].text)}), groups"
    return Section(
        title="Shared",
        blocks=[
            PageTable(heads=heads, rows=rows, numbers=(1, 2, 3, 4), columns="left", label=label, noun="pairs", seen=(TEXT, MARKDOWN)),
            capped("What each two parts share", heads, rows, numbers=(1, 2, 3, 4), seen=(HTML,)),
        ],
    )


def _pairs(found: SplitCheck) -> Section | None:
    if not found.pairs:
        return None
    heads = ["what", "first", "second", "text of the first", "text of the second"]
    rows = [
        [_what(each), _where(each.first_id, each.first_row), _where(each.second_id, each.second_row), each.first_text, each.second_text]
        for each in found.pairs
    ]
    over = len(rows) - WORST
    rest = f"and {over:,} more pairs in the JSON" if over > 0 else ""
    return Section(
        title="Pairs",
        blocks=[
            PageTable(heads=heads, rows=rows[:WORST], columns="cut", narrow=30, cut=(3, 4), rest=rest, noun="pairs", seen=(TEXT, MARKDOWN)),
            capped("Pairs of rows", heads, rows, seen=(HTML,)),
        ],
    )


def _what(each: SharedPair) -> str:
    return f"{KINDS[each.kind]} {each.similarity:.2f}" if each.kind == "near" and each.similarity is not None else KINDS[each.kind]


def _where(id_: str | None, row: int) -> str:
    return f"row {row}" if id_ is None else f"{id_} (row {row})"
