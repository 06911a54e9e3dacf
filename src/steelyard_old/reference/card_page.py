"""The page of a model card as people wrote it: its front matter, the part between our marks, and the sections they were asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from steelyard_old.errors import SourceError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.reference.entry_text import Splice

# As the Hub finds front matter: the first line is exactly three dashes, and so is the last.
_FRONT = re.compile(r"\A(\ufeff?\s*---(?:\r\n|\n))(.*?)^---[ \t]*(?:\r\n|\n|\Z)", re.DOTALL | re.MULTILINE)
_MEANT = re.compile(r"\A\ufeff?\s*---[ \t]*(?:\r|\n)")
_HEADING = re.compile(r"[ ]{0,3}(#{1,6})[ \t]+(.*?)[ \t#]*\Z")
_FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})(.*)")
_RULER = re.compile(r"[ ]{0,3}(=+|-+)[ \t]*\Z")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_PLACEHOLDER = re.compile(r"\[?more information needed\]?", re.IGNORECASE)
# Headings under which people write these things, the Hub's own template among them.
_ABOUT = {
    "intended use": re.compile(r"\b(?:intended|direct|downstream) uses?\b|\Auses?\Z", re.IGNORECASE),
    "limits": re.compile(r"\blimit(?:s|ations?)?\b", re.IGNORECASE),
    "harms": re.compile(r"\bharms?\b|\bharmful\b|\brisks?\b|\bethic", re.IGNORECASE),
}


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The front matter: its text without the lines of dashes, and where it stands. All at 0 where there is none."""

    text: str
    start: int
    end: int
    there: bool = True


def front_of(page: str, shown: str) -> FrontMatter:
    """The front matter of a page. One that begins and does not end, or that the Hub would not see, is refused."""
    found = _FRONT.match(page)
    if found:
        return FrontMatter(found[2], found.start(2), found.end(2))
    if _MEANT.match(page):
        need = "a first line of three dashes and nothing else, and another one where it ends"
        raise SourceError(
            f"The front matter of {shown!r} needs a line of three dashes where it begins and another one "
            "where it ends; one of them is missing.",
            got="a line of dashes without its other half",
            need=need,
        )
    start = 1 if page.startswith("\ufeff") else 0
    return FrontMatter("", start, start, there=False)


def newline_of(page: str) -> str:
    """The line end of the page: that of its first line."""
    first = page.find("\n")
    return "\r\n" if first > 0 and page[first - 1] == "\r" else "\n"


def part_between(page: str, begin: str, end: str, lines: Sequence[str], shown: str, above: int = 0) -> Splice:
    """The cut that puts lines in the place of what stands between two marks, marks included; at the end where there are none.

    `above` is the number of lines before this part of the page, for messages.
    """
    new = newline_of(page)
    starts, ends = _marks(page, begin), _marks(page, end)
    if not starts and not ends:
        _refuse_open_block(page, shown, above)
        gap = "" if not page else new if page.endswith("\n") else new * 2
        return Splice(len(page), len(page), gap + "".join(line + new for line in lines))
    free = [[place for place, fenced in found if not fenced] for found in (starts, ends)]
    if [len(each) for each in free] != [1, 1] or free[0][0] > free[1][0]:
        raise SourceError(
            f"Our part of {shown!r} must begin with {begin} and end with {end}, each once and on a line of "
            "its own; there is "
            f"{', '.join(f'{mark} {_where(page, each, above)}' for mark, found in ((begin, starts), (end, ends)) for each in found)}.",
            got=", ".join(f"{mark} {_where(page, each, above)}" for mark, found in ((begin, starts), (end, ends)) for each in found),
            need=f"{begin} once, then {end} once, each on a line of its own",
            hint="repair or remove the marks; nothing was written",
        )
    return Splice(free[0][0], free[1][0] + len(end), new.join(lines))


def _marks(page: str, mark: str) -> list[tuple[int, bool]]:
    """Where a mark stands on a line of its own, and whether that is in a fenced block: somebody's example, and not our part."""
    found, fence, place = [], "", 0
    for line in page.splitlines(keepends=True):
        fence = _fence_after(line, fence)
        if line.startswith(mark) and not line[len(mark) :].strip():
            found.append((place, bool(fence)))
        place += len(line)
    return found


def _refuse_open_block(page: str, shown: str, above: int) -> None:
    """What is added behind a block of code that nobody closed would be code as well."""
    fence, opened = "", 0
    for number, line in enumerate(page.splitlines(), 1 + above):
        before, fence = fence, _fence_after(line, fence)
        opened = number if fence and not before else opened
    if fence:
        need = f"a line of {fence} where it ends"
        raise SourceError(
            f"A block of code in {shown!r} is not closed, from line {opened}.",
            got=f"a block of code that is not closed, from line {opened}",
            need=need,
        )


def _fence_after(line: str, fence: str) -> str:
    """The fence of the block in which the text behind a line stands; empty outside of blocks."""
    found = _FENCE.match(line)
    if found is None:
        return fence
    if fence:
        return "" if found[1].startswith(fence) and not found[2].strip() else fence
    return "" if "`" in found[1] and "`" in found[2] else found[1]  # ```code``` on one line opens nothing


def _where(page: str, found: tuple[int, bool], above: int) -> str:
    place, fenced = found
    line = page.count("\n", 0, place) + 1 + above
    return f"in line {line}" + (", in a block of code" if fenced else "")


def unwritten(body: str) -> list[str]:
    """Which of the sections that only people can write are missing, or hold nothing but questions.

    >>> unwritten("## Intended use\\n\\nSums.\\n\\n## Harms\\n\\n<!-- Whom? -->\\n\\n# Limits of use\\n- numbers\\n")
    ['harms']
    """
    sections = list(_sections(body))
    return [name for name, words in _ABOUT.items() if not any(words.search(title) and text for title, text in sections)]


def says_something(text: str) -> bool:
    """Whether a text is more than the placeholder of the Hub's template. A comment is something: it is shown as it stands.

    >>> says_something("[More Information Needed]"), says_something("Sums.")
    (False, True)
    """
    return bool(_PLACEHOLDER.sub("", text).strip())


def _sections(body: str) -> Iterator[tuple[str, str]]:
    """Every heading with all that stands below it up to the next one of its level, comments and other headings left out."""
    found: list[tuple[int, str, list[str]]] = []
    opened: list[tuple[int, str, list[str]]] = []
    for level, line in _levels(_COMMENT.sub("", body)):
        if level:
            opened = [each for each in opened if each[0] < level] + [(level, line, [])]
            found.append(opened[-1])
        else:
            for _, _, lines in opened:
                lines.append(line)
    return ((title, _PLACEHOLDER.sub("", "\n".join(lines)).strip()) for _, title, lines in found)


def _levels(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a page, headings with their level and without their marks; nothing in a fenced block is a heading."""
    fence, lines = "", text.splitlines()
    for place, line in enumerate(lines):
        fence = _fence_after(line, fence)
        heading = None if fence else _HEADING.match(line)
        below = _RULER.match(lines[place + 1]) if place + 1 < len(lines) and line.strip() and not fence else None
        if heading:
            yield len(heading[1]), heading[2]
        elif below and not _RULER.match(line):
            yield 1 if below[1][0] == "=" else 2, line.strip()
        elif not _RULER.match(line):
            yield 0, line
