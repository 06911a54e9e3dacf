"""What a terminal can carry, and the few marks of emphasis; colour only repeats what the words already say."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.render import safe
from steelyard.render.layout import display_width, shorten, wrap

BOLD, DIM, YELLOW, RED = "1", "2", "33", "1;31"
VERDICTS = {"pass": "1;32", "regression": RED, "inconclusive": "1;33"}
GUARDS = {**VERDICTS, "unconfirmed": YELLOW, "waived": YELLOW, "advisory": YELLOW}


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """What the terminal can carry. Colour only repeats what the words already say."""

    width: int
    color: bool
    ascii_only: bool

    def name(self, text: str) -> str:
        """A user's word, harmless here."""
        shown = safe.label(text)
        return safe.ascii_text(shown) if self.ascii_only else shown

    def cut(self, text: str, width: int) -> str:
        return shorten(text, width, "..." if self.ascii_only else "…")

    def paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.color and text.strip() else text


def warning_lines(text: str, look: Terminal) -> list[str]:
    first, *rest = wrap(f"warning: {look.name(text)}", look.width, " " * display_width("warning: "))
    return [look.paint("warning:", YELLOW) + first.removeprefix("warning:"), *rest]
