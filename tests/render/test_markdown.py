"""Markdown: tables that stay tables whatever the labels are."""

from __future__ import annotations

import re

from steelyard.render.formats import result_markdown
from steelyard.results.measurement import Interval, MeasuredSlice, Measurement, Row

HOSTILE = ["<img src=x onerror=x>", "\x1b[31mred", "a\u202egnp.exe", "a|b|c", "`tick`", "two\nlines", "", "@all", "[x](http://e.vil)"]


def row(metric: str, label: str | None = None) -> Row:
    interval = Interval(low=0.832, high=0.871, confidence_level=0.95, side="two", method="wilson")
    return Row(metric=metric, label=label, estimate=0.853, n=1319, support=None if label is None else 7, interval=interval)


def test_golden() -> None:
    part = MeasuredSlice(by="subject", value="algebra", measurement=Measurement(n=1319, rows=(row("accuracy"),)))
    m = Measurement(
        n=1319,
        rows=(row("accuracy"), Row(metric="mcc", estimate=None, n=1319, interval=None)),
        slices=(part,),
        roles={"truth": "gold"},
        warnings=("mcc is undefined",),
        signature="metric:accuracy|n:1319",
    )
    assert result_markdown(m) == (
        """\
1,319 items; columns: truth = gold

| metric | estimate | 95% interval | n |
| --- | ---: | --- | ---: |
| accuracy | 0.853 | [0.832, 0.871] | 1,319 |
| mcc | undefined | - | 1,319 |

| subject | n | accuracy |
| --- | ---: | --- |
| algebra | 1,319 | 0.853 [0.832, 0.871] |

95% interval: wilson

- **warning:** mcc is undefined

`metric:accuracy|n:1319`
"""
    )


def test_hostile_names_cannot_leave_their_cell() -> None:
    m = Measurement(n=9, rows=tuple(row(metric, label) for metric in ("recall", "f1") for label in HOSTILE), warnings=tuple(HOSTILE))
    shown = result_markdown(m)
    lines = [line for line in shown.splitlines() if line.startswith("|")]
    assert len(lines) == len(HOSTILE) + 2
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {5}
    assert "<img" not in shown
    assert "@all" not in shown
    assert "://" not in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert shown.count("- **warning:**") == len(HOSTILE)
