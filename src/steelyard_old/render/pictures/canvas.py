"""What every picture here is made of: places as shares of the width, so that letters keep their size on a phone and on paper."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard_old.late_pattern import late_pattern
from steelyard_old.render.terminal import harmless, shorten, wrap

WIDTH = 640  # of a picture that stands alone; on a page it is as wide as the page
# Colours as attributes: a viewer that reads no styles shows the light picture. A page sets its own by the classes.
# A halo of the paper's colour keeps words legible where a line runs behind them.
HALO = 'class="halo" stroke="#ffffff" stroke-width="9" stroke-linejoin="round" paint-order="stroke"'
LINE, BOLD, AROUND = (
    20,
    9.2,
    14,
)  # height of a line of the title, width of a bold letter of it, and the margin of a picture that stands alone
_NO_CHARACTER = late_pattern("[\ufffe\uffff]")  # XML has no way to write these
INK, FAINT, SEEN, GOAL = "#1f2328", "#d0d7de", "#0550ae", "#953800"
STYLE = (
    "@media (prefers-color-scheme: dark) { .sy-pic { color: #e6edf3 } .sy-pic .paper { fill: #0d1117 } .sy-pic .grid { stroke: #30363d }"
    " .sy-pic .line, .sy-pic .whisker { stroke: #79c0ff } .sy-pic .dot, .sy-pic .band { fill: #79c0ff }"
    " .sy-pic .halo { stroke: #0d1117 } .sy-pic .goal { stroke: #f0a35e } .sy-pic .goal-text { fill: #f0a35e } }"
)


def words(said: str) -> str:
    """A user's words inside XML: what a viewer would obey stays visible as an escape.

    >>> words("<b> & \\x00")
    '&lt;b&gt; &amp; \\\\x00'
    """
    from html import escape

    return escape(_NO_CHARACTER.sub(lambda found: f"\\u{ord(found[0]):04x}", harmless(said)))


def share(x: float) -> str:
    """A place across, as SVG writes a share of the width.

    >>> share(0.25)
    '25%'
    """
    return f"{100 * x:.2f}".rstrip("0").rstrip(".") + "%"


def text(x: float, y: float, said: str, anchor: str = "start", more: str = "") -> str:
    """Words at a share of the width."""
    paint = "" if "fill=" in more else ' fill="currentColor"'
    return f'<text x="{share(x)}" y="{y:g}" text-anchor="{anchor}"{paint}{more and " " + more}>{words(said)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, more: str) -> str:
    """A straight line between shares of the width."""
    return f'<line x1="{share(x1)}" y1="{y1:g}" x2="{share(x2)}" y2="{y2:g}" {more}/>'


def dot(x: float, y: float, more: str, radius: float = 4.5) -> str:
    return f'<circle cx="{share(x)}" cy="{y:g}" r="{radius:g}" {more}/>'


def path(places: Sequence[tuple[float, float]]) -> str:
    """Places in units of the picture, as SVG lists them."""
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def polyline(points: str, kind: str, more: str) -> str:
    """Places joined by straight lines, as `path` has them; `kind` is the class that a page gives its colour to."""
    return f'<polyline class="{kind}" points="{points}" fill="none" {more}/>'


def area(points: str, opacity: float = 0.18) -> str:
    """What lies between the two sides of a band."""
    return f'<polygon class="band" points="{points}" fill="{SEEN}" fill-opacity="{opacity:g}"/>'


def moved(x: float, y: float, part: str, scale: float = 1.0) -> str:
    """A part that is drawn around 0, 0, at a place in units of the picture."""
    sized = "" if scale == 1 else f" scale({scale:g})"
    return f'<g transform="translate({x:g} {y:g}){sized}">{part}</g>'


def placed(x: float, y: float, part: str) -> str:
    """A part that is drawn around 0, 0, at a share of the width."""
    return f'<svg x="{share(x)}" y="{y:.1f}" overflow="visible">{part}</svg>'


def linked(address: str, said: str, x: float, y: float, shape: str) -> str:
    """A shape that leads somewhere, with words for whoever points at it, and room for a finger."""
    escaped = words(said)
    reach = f'<title>{escaped}</title><circle r="9" class="reach" fill="transparent"/>{shape}'
    return f'<a href="{words(address)}" class="point" data-told="{escaped}" aria-label="{escaped}">{placed(x, y, reach)}</a>'


def key_stroke(y: float, kind: str, colour: str, dash: str = "") -> str:
    """A piece of a line, for the key."""
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<line x1="0" y1="{y:g}" x2="30" y2="{y:g}" class="{kind}" stroke="{colour}" stroke-width="2.2"{dashed}/>'


def key_band(y: float) -> str:
    """A piece of a band, for the key."""
    return f'<rect x="0" y="{y - 6:g}" width="30" height="12" class="band" fill="{SEEN}" fill-opacity="0.18"/>'


def key_words(y: float, label: str) -> str:
    """What a line of the key says."""
    return moved(40, 0, text(0, y + 4, label, more='font-size="12"'))


def picture(
    title: str,
    description: str,
    height: float,
    parts: Sequence[str],
    *,
    alone: bool = False,
    small: int | None = None,
    linked: bool = False,
) -> str:
    """The parts under a title and a description for screen readers; `alone` shows its title, on its own paper, in light and dark.

    small: so wide, whatever the page, and its parts are in these units. linked: parts of it are links, which an image cannot have.
    """
    wide, viewed = (WIDTH, "") if small is None else (small, f' viewBox="0 0 {small} {height:g}"')
    kind, role = "sy-pic" if small is None else "sy-pic small", "group" if linked else "img"
    if alone:
        fit, bold = int(WIDTH / BOLD), 'fill="currentColor" font-size="14" font-weight="600"'
        lines = [shorten(each, fit) for each in wrap(harmless(title), fit)] if title else []
        shown = [f'<text x="{AROUND}" y="{AROUND + LINE * i + 12}" {bold}>{words(each)}</text>' for i, each in enumerate(lines)]
        top = AROUND + LINE * len(lines)
        inside = f'<svg x="{AROUND}" y="{top}" width="{WIDTH}" height="{height:g}">'
        wide, height = WIDTH + 2 * AROUND, height + top + AROUND
        paper = f'<style>{STYLE}</style><rect class="paper" width="100%" height="100%" fill="#ffffff"/>'
        parts, viewed = [paper, *shown, inside, *parts, "</svg>"], f' viewBox="0 0 {wide} {height:g}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="{kind}" width="{wide}" height="{height:g}"{viewed} role="{role}" '
            f'aria-label="{words(title)}" color="{INK}" font-family="system-ui, sans-serif" font-size="13">',
            f"<title>{words(title)}</title><desc>{words(description)}</desc>",
            *parts,
            "</svg>",
        ]
    )
