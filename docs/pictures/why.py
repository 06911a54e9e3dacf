"""Draws why.svg, the picture of the README: what one number hides, and what a threshold does not see. Every figure is computed here.

    python docs/pictures/why.py

Left: 95.0% from ever more answers, with Wilson's interval. Right: 1,319 questions are asked again after a change, as in GSM8K; 2.8%
of the answers flip whatever happens, and a real loss comes on top. How often is it noticed, by a threshold on the average (alpha
0.05, sigma 50 points, as TensorRT-LLM's suite has it) and by the paired test on the items on record (McNemar mid-p, alpha 0.05)?
"""

from __future__ import annotations

import math
from pathlib import Path

import steelyard_old as sy
from steelyard_old.infer.normal import z_value
from steelyard_old.infer.paired.mcnemar import mcnemar_midp

HERE = Path(__file__).with_suffix(".svg")
ASKED = ((38, 40), (380, 400), (3800, 4000))
ITEMS, FLIPS, ALPHA, SIGMA = 1319, 0.028, 0.05, 0.5
DROPS = [step / 400 for step in range(17)]  # 0 to 4 points

STYLE = """
  svg { font: 15px system-ui, 'DejaVu Sans', sans-serif }
  .page { fill: #fff; stroke: #d0d7de } text { fill: #1f2328 } .soft { fill: #59636e; font-size: 13px } .head { font-weight: 600 }
  .axis { stroke: #8c959f; stroke-width: 1 } .grid { stroke: #d8dee4; stroke-width: 1 }
  .paired { stroke: #0a5db8; fill: none; stroke-width: 3 } text.ink, .ink { fill: #0a5db8 }
  .bare { stroke: #b4500f; fill: none; stroke-width: 3; stroke-dasharray: 7 5 } text.rust, .rust { fill: #b4500f }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; stroke: #3d444d } text { fill: #f0f6fc } .soft { fill: #9198a1 } .axis { stroke: #9198a1 }
    .grid { stroke: #2d343d } .paired { stroke: #6cb6ff }
    text.ink, .ink { fill: #6cb6ff } .bare { stroke: #f0883e } text.rust, .rust { fill: #f0883e }
  }"""


def noticed(drop: float) -> tuple[float, float]:
    """How often a real loss is noticed, by the paired test and by the threshold: a sum over all numbers of gains and losses."""
    gain, loss = FLIPS / 2, FLIPS / 2 + drop
    reach = z_value(1 - ALPHA, "lower") * math.sqrt(2 * SIGMA**2 / ITEMS)
    paired = threshold = 0.0
    for gained in range(round(ITEMS * gain * 3)):
        for lost in range(round(ITEMS * loss * 3)):
            same = ITEMS - gained - lost
            ways = math.lgamma(ITEMS + 1) - math.lgamma(gained + 1) - math.lgamma(lost + 1) - math.lgamma(same + 1)
            chance = math.exp(ways + gained * math.log(gain) + lost * math.log(loss) + same * math.log(1 - gain - loss))
            if chance > 1e-12:
                paired += chance * (lost > gained and mcnemar_midp(gained, lost, "less") <= ALPHA)
                threshold += chance * ((lost - gained) / ITEMS > reach)
    return paired, threshold


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" class="{kind}" text-anchor="{anchor}">{words}</text>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" class="{kind}"/>'


def one_number() -> list[str]:
    def at(share: float) -> float:
        return 130 + (share - 0.80) / 0.20 * 270

    drawn = [text(24, 36, "The same 95.0%, and what the data leave open", "head")]
    for share in (0.80, 0.85, 0.90, 0.95, 1.0):
        drawn += [line(at(share), 60, at(share), 250, "grid"), text(at(share), 270, f"{share:.0%}", "soft", "middle")]
    for row, (right, asked) in enumerate(ASKED):
        found, y = sy.measure(sy.Counts.of(right, asked)).interval, 95 + 60 * row
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        drawn += [text(24, y, f"{right:,} of", ""), text(24, y + 18, f"{asked:,} right", "")]
        drawn += [line(at(found.low), y + 4, at(found.high), y + 4, "paired")]
        drawn += [line(at(end), y - 4, at(end), y + 12, "paired") for end in (found.low, found.high)]
        drawn += [f'<circle cx="{at(right / asked):.1f}" cy="{y + 4}" r="6" class="ink"/>']
        drawn += [text(at(0.80) + 4, y + 28, f"{found.low:.1%} to {found.high:.1%}", "soft")]
    return [*drawn, text(24, 300, "dot: what was seen; line: 95% interval", "soft")]


def two_checks() -> list[str]:
    def at(drop: float, share: float) -> tuple[float, float]:
        return 500 + drop / 0.04 * 330, 250 - share * 180

    drawn = [text(456, 36, "A real loss: how often is it noticed?", "head")]
    for share in (0, 0.5, 1):
        drawn += [line(*at(0, share), *at(0.04, share), "grid"), text(492, at(0, share)[1] + 5, f"{share:.0%}", "soft", "end")]
    for drop in (0, 0.01, 0.02, 0.03, 0.04):
        drawn += [text(at(drop, 0)[0], 270, f"{100 * drop:.0f}", "soft", "middle")]
    curves = [noticed(drop) for drop in DROPS]
    for number, kind in enumerate(("paired", "bare")):
        points = [at(drop, both[number]) for drop, both in zip(DROPS, curves, strict=True)]
        drawn += [f'<path d="M{"L".join(f"{x:.1f} {y:.1f}" for x, y in points)}" class="{kind}"/>']
    for share, kind, words, below in zip(noticed(0.02), ("ink", "rust"), ("item by item", "average"), (26, -12), strict=True):
        x, y = at(0.02, share)
        drawn += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" class="{kind}"/>']
        drawn += [text(x + (12 if kind == "ink" else -12), y + below, f"{words}: {share:.0%}", kind, "start" if kind == "ink" else "end")]
    return [*drawn, line(500, 250, 830, 250, "axis"), text(456, 300, f"points lost, of {ITEMS:,} questions asked before and after", "soft")]


def picture() -> str:
    said = "Left: 95.0% from 40, 400 and 4,000 answers with its intervals. Right: a paired check notices a loss that a threshold misses."
    parts = ['<rect x="0.5" y="0.5" width="859" height="319" rx="8" class="page"/>', *one_number(), *two_checks()]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 320" role="img" aria-label="{said}">'
    return "\n".join([head, f"<style>{STYLE}\n</style>", *parts, "</svg>", ""])


if __name__ == "__main__":
    HERE.write_text(picture(), encoding="utf-8")
