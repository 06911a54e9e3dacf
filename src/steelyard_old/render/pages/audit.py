"""The page of an audit: published scores with their intervals, and what each pair could have shown."""

from __future__ import annotations

from steelyard_old.render.digits import p_text, row_texts
from steelyard_old.render.page import DRAWN, HTML, MARKDOWN, TEXT, Estimates, Page, PageTable, Picture, RowBlock, Section, capped, filled
from steelyard_old.render.pictures.forest import Forest, bar
from steelyard_old.results.audit import Audit, AuditedPair, AuditedScore
from steelyard_old.results.measurement import Row

ANSWERS = {"never": "cannot be", "depends": "depends", "always": "always"}
HEADS = ["score", "published", "n", "right", "interval"]
PAIRS = ["pair", "difference", "significant?", "smallest p", "largest p", "must differ", "significant up to", "p if other items"]


def audit_page(found: Audit, _: object) -> Page:
    """The audit as a page."""
    return Page(
        word="audit",
        about=f"{len(found.scores):,} published scores",
        lead=found.conclusion,
        sections=filled(_scores(found), _pairs(found)),
        warnings=found.warnings,
        methods=[("intervals", "Wilson"), ("test", "McNemar's test with mid-p, over every way to pair the items")],
        signature=found.signature,
    )


def _scores(found: Audit) -> Section:
    rows = [Row(metric="accuracy", estimate=each.score, n=each.n, interval=each.interval) for each in found.scores]
    names = [_named(each.test_set, each.name) for each in found.scores]
    cells = [
        [name, each.published, f"{each.n:,}", _right(each), row_texts(row)[1]]
        for name, each, row in zip(names, found.scores, rows, strict=True)
    ]
    drawing = Forest(
        title="Published scores", bars=[bar(name, row) for name, row in list(zip(names, rows, strict=True))[:DRAWN]], axis="share right"
    )
    return Section(
        title="Scores",
        blocks=[
            Estimates(sections=[RowBlock(head="score", names=names, rows=rows, scale=rows)]),
            PageTable(heads=HEADS, rows=cells, numbers=(1, 2), ours=(2, 3, 4), noun="scores", seen=(MARKDOWN,)),
            *([Picture(drawing=drawing)] if drawing.scale is not None else []),
            capped("Published scores", HEADS, cells, numbers=(1, 2), seen=(HTML,)),
        ],
    )


def _pairs(found: Audit) -> Section | None:
    if not found.pairs:
        return None
    rows = [_pair(each) for each in found.pairs]
    short = [0, 1, 2, 3, 4, 6]  # what a line of a terminal has room for
    written = PageTable(
        heads=[*(PAIRS[i] for i in short[:-1]), "up to"],
        rows=[[row[i] for i in short] for row in rows],
        label="each pair, over every way to pair their items (up to: disagreements with which it is significant)",
        columns="left",
        ours=range(1, 6),
        narrow=30,
        noun="pairs",
        seen=(TEXT,),
    )
    return Section(
        title="Pairs",
        blocks=[
            written,
            PageTable(heads=PAIRS, rows=rows, ours=range(1, 8), noun="pairs", seen=(MARKDOWN,)),
            capped("Each pair, over every way to pair their items", PAIRS, rows, numbers=(1, 3, 4, 7), seen=(HTML,)),
        ],
    )


def _pair(each: AuditedPair) -> list[str]:
    up_to = "" if each.significant_up_to is None else f"{each.significant_up_to:,}"
    return [
        _named(each.test_set, f"{each.first}, {each.second}"),
        f"{each.difference:+.4g}",
        ANSWERS[each.answer],
        p_text(each.p_smallest),
        p_text(each.p_largest),
        f"{each.fewest_differing:,} of {each.n:,}",
        up_to,
        p_text(each.p_different_items),
    ]


def _named(test_set: str, name: str) -> str:
    return f"{test_set}: {name}" if test_set else name


def _right(each: AuditedScore) -> str:
    if each.fewest_right is None or each.most_right is None:
        return "none"
    return f"{each.fewest_right:,}" + ("" if each.fewest_right == each.most_right else f" to {each.most_right:,}")
