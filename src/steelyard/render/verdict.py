"""A verdict for people: the word, the reason and what to do in the first lines, then the report; as text and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.render import safe
from steelyard.render.digits import NONE, count_text
from steelyard.render.layout import GAP, display_width, left, right, widest, wrap
from steelyard.render.markdown import markdown_table
from steelyard.render.terminal import BOLD, DIM, Terminal, warning_lines
from steelyard.render.verdict_bar import difference_bar
from steelyard.render.verdict_facts import (
    SAMPLES,
    Fact,
    facts,
    next_step,
    notes,
    spec_text,
    telling_cells,
    who,
)
from steelyard.results.verdict import Recorded, Verdict

COLORS = {"pass": "1;32", "regression": "1;31", "inconclusive": "1;33"}
BESIDE = 26  # columns that a meaning needs to stand beside its number
FEWEST = 12  # columns of a cell that is cut
CAP = 900_000  # bytes; GitHub refuses a step summary of more than 1,024 kB
LONGEST, LONG = 400, 2000  # characters of a name and of a sentence on a page, which must not grow without end
FLIPPED = 0  # worth: what is left out first
DETAIL, ROW, WARNING, ALWAYS = 1, 2, 3, 9


# ---- text ------------------------------------------------------------------------------------------------------------


def verdict_text(v: Verdict, *, width: int = 80, color: bool = False, ascii_only: bool = False) -> str:
    """The verdict as lines of at most `width` columns where words allow."""
    look = Terminal(width=width, color=color, ascii_only=ascii_only)
    parts = [
        *opening(v, look),
        *fact_lines(facts(v), look),
        [line for label, said in notes(v) for line in labelled(label, said, look)],
        telling_lines(v, look),
        [line for warning in v.warnings for line in warning_lines(warning, look)],
        [look.paint(look.name(v.signature), DIM)] if v.signature else [],
    ]
    return joined(parts)


def opening(v: Verdict, look: Terminal, counted: str | None = None) -> list[list[str]]:
    """What a tired person reads: what happened, how bad it is, what to do next."""
    sentence, command = next_step(v, counted)
    step = [*(wrap(look.name(sentence), look.width) if sentence else []), *folded([look.name(part) for part in command], look.width)]
    return [
        headline(counted or v.verdict, who(v) + by_itself(v, counted), look),
        wrap(look.name(v.conclusion), look.width) if v.conclusion else [],
        step,
    ]


def by_itself(v: Verdict, counted: str | None) -> str:
    """Its own verdict, where a suite took it for something else."""
    return f", {v.verdict} by itself" if counted is not None and counted != v.verdict else ""


def headline(word: str, about: str, look: Terminal) -> list[str]:
    """The verdict in capitals, and on what. Colour only repeats the word."""
    shown = word.upper()
    first, *rest = wrap(f"{shown}{GAP}{look.name(about)}", look.width, GAP * 2)
    return [look.paint(shown, COLORS.get(word, BOLD)) + first.removeprefix(shown), *rest]


def folded(parts: Sequence[str], width: int) -> list[str]:
    """A command in lines that a shell reads as one; no part is broken."""
    lines: list[str] = []
    for part in parts:
        longer = f"{lines[-1]} {part}" if lines else GAP + part
        if lines and display_width(longer) > width - 2:
            lines[-1] += " \\"
            lines.append(GAP * 2 + part)
        else:
            lines[-1:] = [longer]
    return lines


def fact_lines(groups: Sequence[Sequence[Fact]], look: Terminal) -> list[list[str]]:
    """Names, then numbers on their decimal points, then meanings: beside them, or below where the width is short."""
    every = [fact for group in groups for fact in group]
    heads = [value.partition(".")[0] for _, value, _ in every]
    before = widest(heads)
    placed = [right(head, before) + value[len(head) :] for head, (_, value, _) in zip(heads, every, strict=True)]
    names, values = widest([look.name(name) for name, _, _ in every]), widest(placed)
    start = names + values + 2 * len(GAP)
    beside = look.width - start >= BESIDE
    out, texts = [], iter(placed)
    for group in groups:
        lines: list[str] = []
        for name, _, meaning in group:
            value = next(texts)
            line = left(look.name(name), names) + GAP + look.paint(value, BOLD) + " " * (values - display_width(value))
            said = wrap(look.name(meaning), look.width - (start if beside else 2 * len(GAP))) if meaning else []
            lines.append(GAP.join([line, said.pop(0)]) if beside and said else line)
            lines += [" " * start + more if beside else look.paint(GAP * 2 + more, DIM) for more in said]
        out.append(lines)
    return out


def labelled(label: str, said: str, look: Terminal) -> list[str]:
    """A label, and its sentence hanging beside it."""
    return wrap(f"{label}: {look.name(said)}", look.width, " " * (len(label) + 2))


def telling_lines(v: Verdict, look: Terminal) -> list[str]:
    """The items that changed in columns, long texts cut in the middle: the JSON has them whole."""
    heads, rows = telling_cells(v)
    if not rows:
        return []
    cells = [[look.name(cell) if cell else "" for cell in row] for row in rows]
    columns = [min(widest(column), look.width) for column in zip(heads, *cells, strict=True)]
    while sum(columns) + len(GAP) * len(columns) > look.width and max(columns) > FEWEST:
        columns[columns.index(max(columns))] -= 1
    placed = [[left(look.cut(cell, width), width) for cell, width in zip(row, columns, strict=True)] for row in (heads, *cells)]
    head, *lines = [GAP + GAP.join(row).rstrip() for row in placed]
    return ["items that changed, the most telling first", look.paint(head, DIM), *lines]


def joined(parts: Sequence[Sequence[str]]) -> str:
    return "\n\n".join("\n".join(defused(line.rstrip()) for line in lines) for lines in parts if lines)


def defused(line: str) -> str:
    r"""A line that GitHub's runner does not obey: it reads commands at the start of any line of a log, and `##[` anywhere.

    >>> print(defused("  ::error::x"), defused("a::b"), defused("##[add-mask]x"))
      \::error::x a::b #\#[add-mask]x
    """
    bare = line.lstrip()
    line = line.replace("##[", "#\\#[")
    return line[: len(line) - len(line.lstrip())] + "\\" + line.lstrip() if bare.startswith("::") else line


# ---- Markdown --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictPart:
    """A part of a page: rows between a head and a foot. Those of the least worth are left out first, from the end."""

    head: str = ""
    rows: Sequence[str] = ()
    foot: str = ""
    worth: int = ALWAYS
    noun: str = ""

    def text(self, kept: int) -> str:
        return "\n".join(part for part in (self.head, *self.rows[:kept], self.foot) if part)


def verdict_markdown(v: Verdict, *, cap: int = CAP) -> str:
    """GitHub-flavoured Markdown of at most `cap` bytes; what does not fit is counted in its last line."""
    return fitted([*verdict_pieces(v, "##"), *closing(v.warnings, v.signature)], cap)


def verdict_pieces(v: Verdict, level: str, counted: str | None = None) -> list[VerdictPart]:
    """The verdict without its warnings: heading, sentence, picture, what to do, numbers, notes, and the flipped items folded away."""
    sentence, command = next_step(v, counted)
    brief = sum(map(len, command)) <= LONG  # a command cannot be cut and stay a command
    body = [
        f"{level} {word((counted or v.verdict).upper())}: {word(who(v))}{by_itself(v, counted)}",
        f"**{word(v.conclusion, LONG)}**" if v.conclusion else "",
        f"`{bar[0]}`  \n{bar[1]}" if (bar := difference_bar(v))[0] else "",
        word(sentence, LONG) if sentence else "",
        fenced([line.removeprefix(GAP) for line in folded([safe.terminal(part) for part in command], 100)]) if brief else "",
        markdown_table([("", "---"), ("", "---:"), ("", "---")], [_cells(fact) for group in facts(v) for fact in group]),
        "\n".join(f"- {label}: {word(said, LONG)}" for label, said in notes(v)),
    ]
    return [
        VerdictPart(rows=["\n\n".join(part for part in body if part)], worth=DETAIL if level != "##" else ALWAYS, noun="reports"),
        *_flipped(v),
    ]


def _cells(fact: Fact) -> list[str]:
    name, value, meaning = fact
    return [name if name == SAMPLES else word(name.strip()), value.replace(">", "&gt;"), word(meaning) if meaning else ""]


def _flipped(v: Verdict) -> list[VerdictPart]:
    heads, rows = telling_cells(v, most=None)
    if not rows:
        return []
    lines = markdown_table(
        [(head.replace(">", "&gt;"), "---") for head in heads], [[word(cell) if cell else "" for cell in r] for r in rows]
    )
    head, rule, *cells = lines.splitlines()
    top = f"<details><summary>Items that changed, the most telling first: {len(rows)}</summary>\n\n{head}\n{rule}"
    return [VerdictPart(head=top, rows=cells, foot="\n</details>", worth=FLIPPED, noun="flipped items")]


def closing(warnings: Sequence[str], signature: str) -> list[VerdictPart]:
    """Warnings, then the signature."""
    lines = [f"- **warning:** {word(warning, LONG)}" for warning in warnings]
    return [
        VerdictPart(rows=lines, worth=WARNING, noun="warnings"),
        VerdictPart(head=safe.code_span(short(signature, LONG)) if signature else ""),
    ]


def short(text: str, most: int) -> str:
    """The text in at most `most` characters, its middle left out."""
    return text if len(text) <= most else f"{text[: most - most // 4]}…{text[-(most // 4) :]}"


def word(text: str, most: int = LONGEST) -> str:
    """A user's word on a page: harmless, and not without end."""
    return safe.markdown(short(safe.terminal(short(text, most)), most))


def fenced(lines: Sequence[str]) -> str:
    """A command as code. Every line of it begins with a word of ours, so none can close the fence."""
    return "\n".join(["```sh", *lines, "```"]) if lines else ""


def fitted(pieces: Sequence[VerdictPart], cap: int) -> str:
    """The pieces as one page within `cap` bytes: the least important rows go first, and the last line says how many."""
    kept = [len(piece.rows) for piece in pieces]
    over = sum(_size(piece.text(n)) + 2 for piece, n in zip(pieces, kept, strict=True)) + LONGEST - cap
    for i in sorted(range(len(pieces)), key=lambda i: (pieces[i].worth, -i)):
        while over > 0 and kept[i] and pieces[i].worth < ALWAYS:
            kept[i] -= 1
            over -= _size(pieces[i].rows[kept[i]]) + 1
            over -= 0 if kept[i] else _size(pieces[i].head + pieces[i].foot) + 2
    lost: dict[str, int] = {}
    for piece, n in zip(pieces, kept, strict=True):
        if n < len(piece.rows):
            lost[piece.noun] = lost.get(piece.noun, 0) + len(piece.rows) - n
    texts = [piece.text(n) for piece, n in zip(pieces, kept, strict=True) if n or not piece.rows]
    if lost:
        left_out = ", ".join(f"{count_text(n)} {noun}" for noun, n in lost.items())
        texts.append(f"Left out to keep the page under {count_text(cap // 1000)} kB: {left_out}. `--format json` has them all.")
    return "\n\n".join(text for text in texts if text) + "\n"


def _size(text: str) -> int:
    return len(text.encode("utf-8"))


# ---- what was put on record ------------------------------------------------------------------------------------------


def recorded_text(r: Recorded, *, width: int = 80, color: bool = False, ascii_only: bool = False) -> str:
    """What is now on record, where, and what it replaced."""
    look = Terminal(width=width, color=color, ascii_only=ascii_only)
    parts = [
        headline(_recorded_word(r), _recorded_about(r), look),
        wrap(look.name(r.conclusion), width) if r.conclusion else [],
        *fact_lines([_recorded_facts(r)], look),
        [line for label, said in _recorded_notes(r) for line in labelled(label, said, look)],
        [line for warning in r.warnings for line in warning_lines(warning, look)],
        [look.paint(look.name(r.signature), DIM)] if r.signature else [],
    ]
    return joined(parts)


def recorded_markdown(r: Recorded, *, cap: int = CAP) -> str:
    """The same on a page."""
    body = [
        f"## {_recorded_word(r).upper()}: {word(_recorded_about(r))}",
        f"**{word(r.conclusion, LONG)}**" if r.conclusion else "",
        markdown_table([("", "---"), ("", "---:"), ("", "---")], [_cells(fact) for fact in _recorded_facts(r)]),
        "\n".join(f"- {label}: {word(said, LONG)}" for label, said in _recorded_notes(r)),
    ]
    return fitted([VerdictPart(head="\n\n".join(part for part in body if part)), *closing(r.warnings, r.signature)], cap)


def _recorded_word(r: Recorded) -> str:
    return "recorded" if r.before is None else "replaced"


def _recorded_about(r: Recorded) -> str:
    spec = spec_text(r.spec)
    return f"{r.task}, {r.model}" + (f" [{spec}]" if spec else "")


def _recorded_facts(r: Recorded) -> list[Fact]:
    out: list[Fact] = [(f"Reference {r.metric}", f"{r.value:.6g}", f"scale {r.scale}")]
    if r.before is not None:
        out.append(("Before", f"{r.before:.6g}", "the value it replaces; the history keeps it"))
    out += [(SAMPLES, count_text(r.n), ""), ("Runs", count_text(r.runs), "")]
    spread = NONE if r.sigma_run is None else f"{r.sigma_run:.4g}"
    out.append(("Run-to-run deviation", spread, "not known from one run" if r.sigma_run is None and r.runs == 1 else ""))
    return out


def _recorded_notes(r: Recorded) -> list[tuple[str, str]]:
    named: list[tuple[str, Any]] = [("file", r.file), ("item outcomes", r.items), ("reason", r.reason)]
    return [(label, str(said)) for label, said in named if said]
