"""Draws samples.svg, the picture of docs/intervals.md: fifty samples of one and the same model, each with its interval.

    python docs/pictures/samples.py

The model is right on 70% of all questions there could be. Fifty people draw 40 questions each and measure it. The seed is fixed
and the draws are whole numbers, so that every processor draws the same picture.
"""

from __future__ import annotations

import random
from pathlib import Path

import steelyard_old as sy

HERE = Path(__file__).with_suffix(".svg")
TRUTH, ITEMS, PEOPLE, SEED = 0.7, 40, 50, 11
WIDE, HIGH, LEFT, TOP = 760, 470, 60, 70

STYLE = """
  svg { font: 15px system-ui, 'DejaVu Sans', sans-serif }
  .page { fill: #fff; stroke: #d0d7de } text { fill: #1f2328 } .soft { fill: #59636e; font-size: 13px } .head { font-weight: 600 }
  .axis { stroke: #8c959f } .truth { stroke: #1f2328; stroke-dasharray: 6 4 } .held { stroke: #0a5db8; stroke-width: 3 }
  .missed { stroke: #b4500f; stroke-width: 3 } circle.held { fill: #0a5db8 } circle.missed { fill: #b4500f }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; stroke: #3d444d } text { fill: #f0f6fc } .soft { fill: #9198a1 } .truth { stroke: #f0f6fc }
    .held { stroke: #6cb6ff } .missed { stroke: #f0883e } circle.held { fill: #6cb6ff } circle.missed { fill: #f0883e }
  }"""


def rights() -> list[int]:
    """How many of their 40 questions each of the fifty finds right."""
    draw = random.Random(SEED)  # noqa: S311  a picture, not a secret
    return [sum(draw.randrange(10) < 10 * TRUTH for _ in range(ITEMS)) for _ in range(PEOPLE)]


def intervals() -> list[tuple[float, float, float]]:
    """Estimate and ends of Wilson's interval, of each sample."""
    found = [sy.measure(sy.Counts.of(k, ITEMS)).rows[0] for k in rights()]
    return [(row.estimate, row.interval.low, row.interval.high) for row in found if row.interval is not None]


def held(low: float, high: float) -> bool:
    return low <= TRUTH <= high


def picture() -> str:
    def y(share: float) -> float:
        return TOP + (0.95 - share) / 0.6 * (HIGH - TOP - 50)

    every = intervals()
    missed = sum(not held(low, high) for _, low, high in every)
    step = (WIDE - LEFT - 40) / PEOPLE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {HIGH}" role="img" aria-labelledby="t">',
        f'<title id="t">{PEOPLE} samples of {ITEMS} questions, each with its 95% interval; {missed} miss the true {TRUTH}</title>',
        f"<style>{STYLE}</style>",
        f'<rect class="page" x="0.5" y="0.5" width="{WIDE - 1}" height="{HIGH - 1}" rx="6"/>',
        f'<text class="head" x="24" y="32">{PEOPLE} people measure one model on {ITEMS} questions each</text>',
        f'<text class="soft" x="24" y="52">the model is right on 70% of all questions; {missed} of the {PEOPLE} intervals miss that</text>',
    ]
    parts += [
        f'<text class="soft" x="{LEFT - 14}" y="{y(share) + 4:.1f}" text-anchor="end">{share:.1f}</text>'
        for share in (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    ]
    parts.append(f'<path class="truth" d="M{LEFT - 4} {y(TRUTH):.1f}H{WIDE - 30}"/>')
    for i, (estimate, low, high) in enumerate(every):
        x, kind = LEFT + step * (i + 0.5), "held" if held(low, high) else "missed"
        parts.append(f'<path class="{kind}" d="M{x:.1f} {y(low):.1f}V{y(high):.1f}"/>')
        parts.append(f'<circle class="{kind}" cx="{x:.1f}" cy="{y(estimate):.1f}" r="4"/>')
    parts.append(
        f'<text class="soft" x="{LEFT}" y="{HIGH - 18}">each line is one sample: the dot its accuracy, the line its 95% interval</text>'
    )
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    HERE.write_text(picture(), encoding="utf-8")
