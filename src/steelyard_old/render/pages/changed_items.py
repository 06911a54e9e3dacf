"""Items that changed between two systems, as pages of comparisons and verdicts show them: rows, both answers with what differs
marked, and right and wrong crossed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard_old.late_pattern import late_pattern
from steelyard_old.render.digits import EMPTY
from steelyard_old.render.page import CAP, HTML, SHOWN_CHANGES, Cell, MarkedText, PageBlock, PageTable, capped
from steelyard_old.results.comparison import ChangedItem
from steelyard_old.results.verdict import Verdict

_WORD = late_pattern(r"\s*\S+\s*?(?=\s|\Z)|\s+\Z")
COMPARED = 400  # words of each answer, between what both have at their beginning and end
AROUND = 12  # equal words that are kept on either side of a difference
GAP = " … "
OPEN = 20  # changed items that are shown without a click
CHANGED, CHANGED_FIRST = "Items that changed", "items that changed, largest changes first"


def item_tables(items: Sequence[ChangedItem], names: tuple[str, str], note: str = "") -> list[PageBlock]:
    """Flipped items: the first twenty, and the others behind a line to click on. Many can be searched."""
    heads, rows = item_rows(items, names)
    made = capped(CHANGED_FIRST.capitalize(), heads, rows)
    first, rest = made.rows[:OPEN], made.rows[OPEN:CAP]
    blocks: list[PageBlock] = [PageTable(caption=made.caption, heads=heads, rows=first, note=note, search=len(first) > 5, seen=(HTML,))]
    if rest:
        folded = f"{len(rest):,} more items that changed"
        more = PageTable(caption="More items that changed", heads=heads, rows=rest, note=made.note, folded=folded, more=True, seen=(HTML,))
        blocks.append(more)
    return blocks if rows else []


def flip_table(flips: Mapping[str, int], first: str, second: str) -> PageTable:
    """Right and wrong of two systems, crossed."""
    shown = {key: f"{flips.get(key, 0):,}" for key in ("both", "baseline_only", "candidate_only", "neither")}
    return PageTable(
        caption=f"Items by whether {first} and {second} have them right",
        heads=["", f"{second}: right", f"{second}: wrong"],
        rows=[
            [f"{first}: right", shown["both"], f"{shown['baseline_only']} lost"],
            [f"{first}: wrong", f"{shown['candidate_only']} gained", shown["neither"]],
        ],
        numbers=(1, 2),
        seen=(HTML,),
    )


def item_rows(items: Sequence[ChangedItem], names: tuple[str, str]) -> tuple[list[str], list[list[Cell]]]:
    """Heads and rows of changed items. A column that no item has is left out. names: of the two who answered."""
    prompts = any(item.prompt for item in items)
    truths = any(_truth(item) is not None for item in items)
    slices = any(item.slice for item in items)
    heads = ["change", "item", *(["slice"] if slices else []), *(["prompt"] if prompts else []), *(["truth"] if truths else []), *names]
    rows: list[list[Cell]] = []
    for item in items:
        row: list[Cell] = [item.change, _name(item)]
        row += [item.slice or ""] if slices else []
        row += [item.prompt or ""] if prompts else []
        row += [cell_text(_truth(item))] if truths else []
        rows.append([*row, *_answered(item)])
    return heads, rows


def _truth(item: ChangedItem) -> str | None:
    return item.target if item.truth is None else item.truth


def _answered(item: ChangedItem) -> tuple[Cell, Cell]:
    """Both answers; where an item is told by its scores, each with its score in front."""
    before, now = item.baseline_answer or "", item.candidate_answer or ""
    if not before and not now:
        return answers(item.baseline, item.candidate)
    old, new = ([("", cell_text(value) + (": " if text else ""))] for value, text in ((item.baseline, before), (item.candidate, now)))
    texts = [MarkedText(pieces=[("", text)]) for text in (before, now)]
    if before and now and before != now:
        texts = list(marked(before, now))
    return MarkedText(pieces=[*old, *texts[0].pieces]), MarkedText(pieces=[*new, *texts[1].pieces])


def _name(item: ChangedItem) -> str:
    """The id; the excerpt of the prompt in its place, where the prompt itself is not shown."""
    return item.id if item.prompt else item.excerpt or item.id


def cell_text(value: Any) -> str:
    """A value as a cell shows it; the empty text is one too."""
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value) or EMPTY


def answers(baseline: Any, candidate: Any) -> tuple[Cell, Cell]:
    """Both answers as cells. Of two texts, the words that only one of them has are marked; numbers stay as they are."""
    if not (isinstance(baseline, str) and isinstance(candidate, str) and baseline and candidate and baseline != candidate):
        return cell_text(baseline), cell_text(candidate)
    return marked(baseline, candidate)


def marked(old: str, new: str) -> tuple[MarkedText, MarkedText]:
    """Two texts in pieces, word by word: what is only in the first is deleted, what is only in the second is inserted.

    Both are cut to what can be read and compared in no time: long equal stretches, and whatever is beyond COMPARED words.

    >>> for side in marked("The answer is 42, I think.", "The answer is 24, I think."): print(side.pieces)
    (('', 'The answer is'), ('del', ' 42,'), ('', ' I think.'))
    (('', 'The answer is'), ('ins', ' 24,'), ('', ' I think.'))
    """
    from difflib import SequenceMatcher

    a, b = _WORD.findall(old), _WORD.findall(new)
    head = _common_prefix(a, b)
    tail = _common_prefix(a[head:][::-1], b[head:][::-1])
    cut = [_bounded(words[head : len(words) - tail]) for words in (a, b)]
    start, end = "".join(_near(a[:head], before=False)), "".join(_near(a[len(a) - tail :], after=False))
    left: list[tuple[str, str]] = [("", start)]
    right: list[tuple[str, str]] = [("", start)]
    for what, i, j, k, m in SequenceMatcher(None, cut[0], cut[1], autojunk=False).get_opcodes():
        if what == "equal":
            both = "".join(_near(cut[0][i:j]))
            left.append(("", both))
            right.append(("", both))
        else:
            left.append(("del", "".join(cut[0][i:j])))
            right.append(("ins", "".join(cut[1][k:m])))
    return MarkedText(pieces=_joined([*left, ("", end)])), MarkedText(pieces=_joined([*right, ("", end)]))


def _common_prefix(a: Sequence[str], b: Sequence[str]) -> int:
    """How many words are the same at the beginning of both."""
    return next((i for i, (one, other) in enumerate(zip(a, b, strict=False)) if one != other), min(len(a), len(b)))


def _bounded(words: Sequence[str]) -> list[str]:
    half = COMPARED // 2
    return list(words) if len(words) <= COMPARED else [*words[:half], GAP, *words[-half:]]


def _near(words: Sequence[str], *, before: bool = True, after: bool = True) -> list[str]:
    """Equal words near a difference; the others are left out. before, after: whether a difference is on that side."""
    first, last = AROUND if before else 0, AROUND if after else 0
    if len(words) <= first + last + 1:
        return list(words)
    return [*words[:first], GAP, *(words[len(words) - last :])]


def _joined(pieces: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple(piece for piece in pieces if piece[1])


# ---- of a verdict, in brief ----------------------------------------------------------------------------------------------


def changed_cells(v: Verdict, most: int | None = SHOWN_CHANGES) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of the items that changed, the most telling of them; after a regression the lost ones first."""
    told = list(v.changed_items[:most])
    items = sorted(told, key=lambda item: item.change == "gained") if v.verdict == "regression" else told
    truths = any(item.truth is not None for item in items)
    slices = any(item.slice for item in items)
    heads = ["", "item", *(["slice"] if slices else []), *(["truth"] if truths else []), "reference -> run"]
    return heads, [_item_cells(item, truths, slices) for item in items]


def _item_cells(item: ChangedItem, truths: bool, slices: bool) -> list[str]:
    change = f"{cell_text(item.baseline)} -> {cell_text(item.candidate)}"
    about = [*([item.slice or ""] if slices else []), *([cell_text(item.truth)] if truths else [])]
    return [item.change, item_name(item), *about, change]


def item_name(item: ChangedItem) -> str:
    """What people see of an item: the excerpt of its prompt, where its id is a hash."""
    return item.excerpt or item.id
