"""The text: aligned, complete, harmless, signature last."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

from cases import every
from steelyard.render.formats import FORMATS, result_text
from steelyard.render.page import RowBlock
from steelyard.render.pages import measurement as blocks
from steelyard.render.terminal import Terminal, display_width, grid_lines, table_lines
from steelyard.results.measurement import Interval, MeasuredSlice, Measurement, Row

SIGNATURE = "metric:accuracy|n:1319|interval:wilson|level:0.95|steelyard:0.1.0"
HOSTILE = ["<img src=x onerror=x>", "\x1b[31mred", "a\u202egnp.exe", "a|b|c", "`tick`", "two\nlines", "", "世界史", "@all", "\ud800"]
PLAIN = Terminal(width=80, color=False, ascii_only=False)


def row(metric: str, estimate: float | None, low: float | None, high: float | None, n: int = 1319, **other: Any) -> Row:
    side, method = other.pop("side", "two"), other.pop("method", "wilson")
    interval = Interval(low=low, high=high, confidence_level=other.pop("level", 0.95), side=side, method=method)
    return Row(metric=metric, estimate=estimate, n=n, interval=interval, **other)


def per_class(labels: list[str], metrics: tuple[str, ...] = ("precision", "recall", "f1")) -> tuple[Row, ...]:
    values = [(m, label, 0.6 + 0.01 * (i % 10) + 0.01 * j) for j, m in enumerate(metrics) for i, label in enumerate(labels)]
    return tuple(row(m, x, x - 0.12, min(x + 0.1, 1), 90, label=label, support=90) for m, label, x in values)


def sliced(values: list[str], by: str = "subject") -> tuple[MeasuredSlice, ...]:
    return tuple(MeasuredSlice(by=by, value=v, measurement=Measurement(n=50, rows=(row("accuracy", 0.7, 0.56, 0.81, 50),))) for v in values)


SMALL = Measurement(
    n=1319,
    rows=(
        row("accuracy", 0.8532, 0.8331, 0.8713),
        row("macro_f1", 0.8188, 0.7971, 0.8387, average="macro", method="percentile"),
        row("f1", 0.7554, 0.6779, 0.8192, 139, label="cat", method="percentile"),
        row("f1", 0.85, 0.7093, 0.9294, 40, label="dog", method="percentile"),
        Row(metric="f1", estimate=None, n=0, label="emu", interval=None),
    ),
    roles={"id": "id", "truth": "gold", "prediction": "pred"},
    slices=sliced(["algebra", "virology"]),
    warnings=("f1 of 'emu' is undefined: no item has this truth and no item was predicted as it, so there is nothing to divide",),
    signature=SIGNATURE,
)

GOLDEN = """\
1,319 items; columns: id, truth = gold, prediction = pred

metric    estimate  95% interval        n  0.79                0.88
accuracy     0.853  [0.833, 0.871]  1,319             ├────●────┤
macro_f1     0.819  [0.797, 0.839]  1,319    ├────●────┤

by class
f1      estimate  95% interval      n  0.65                0.95
  cat      0.755  [0.678, 0.819]  139    ├─────●────┤
  dog      0.85   [0.71, 0.93]     40       ├─────────●─────┤
  emu  undefined  -                 0

by subject
accuracy    estimate  95% interval   n  0.55                0.85
  algebra       0.70  [0.56, 0.81]  50   ├──────────●───────┤
  virology      0.70  [0.56, 0.81]  50   ├──────────●───────┤

95% interval: wilson for accuracy; percentile for macro_f1, f1

warning: f1 of 'emu' is undefined: no item has this truth and no item was
         predicted as it, so there is nothing to divide

metric:accuracy|n:1319|interval:wilson|level:0.95|steelyard:0.1.0"""


def test_golden() -> None:
    assert result_text(SMALL) == GOLDEN


def test_str_is_the_text() -> None:
    assert str(SMALL) == GOLDEN


def tables(m: Measurement, look: Terminal) -> list[list[str]]:
    rows = blocks.headline(m)
    found = [table_lines([RowBlock(head="metric", names=[look.name(r.name) for r in rows], rows=rows, scale=rows)], look)]
    for block in [b for b in (blocks.class_block(m), *blocks.slice_blocks(m)) if b]:
        found.append(grid_lines(block, look))
        for metric in block.metrics:
            named = block.of(metric)
            names = [look.name(name) for name, _ in named]
            found.append(table_lines([RowBlock(head=metric, names=names, rows=[r for _, r in named], scale=block.rows)], look))
    return found


@every("width", [20, 40, 60, 80, 100, 140])
@every("ascii_only", [False, True])
def test_every_table_line_is_equally_wide(width: int, ascii_only: bool) -> None:
    m = Measurement(n=9, rows=(*SMALL.rows[:2], *per_class(HOSTILE)), slices=sliced(HOSTILE), signature=SIGNATURE)
    look = Terminal(width=width, color=False, ascii_only=ascii_only)
    for lines in tables(m, look):
        assert len({display_width(line) for line in lines}) <= 1
        assert width < 60 or all(display_width(line) <= width for line in lines)


def test_ten_classes_by_three_metrics_each_with_a_drawing() -> None:
    m = Measurement(n=900, rows=(SMALL.rows[0], *per_class([f"class{i}" for i in range(10)])), signature=SIGNATURE)
    text = result_text(m)
    assert text.count("●") == 31
    assert all(len(line) <= 80 for line in text.splitlines())
    assert text.count("estimate") == 2
    starts = {line.index("[") for line in text.splitlines() if line.startswith("  class")}
    assert len(starts) == 1


def test_many_classes_stand_on_one_line_each() -> None:
    m = Measurement(n=900, rows=per_class([f"c{i:02}" for i in range(20)]), signature=SIGNATURE)
    lines = [line for line in result_text(m).splitlines() if line.startswith("  c")]
    assert len(lines) == 20
    assert lines[0].split() == ["c00", "90", "0.60", "[0.48,", "0.70]", "0.61", "[0.49,", "0.71]", "0.62", "[0.50,", "0.72]"]


def test_too_many_classes_say_so() -> None:
    text = result_text(Measurement(n=900, rows=per_class([f"c{i:03}" for i in range(130)], ("f1",))))
    assert "30 more; the JSON has them all" in text
    assert "c099" in text
    assert "c100" not in text


def test_a_metric_of_one_class_is_headline() -> None:
    assert "f1[cat]" in result_text(Measurement(n=9, rows=(row("f1", 0.5, 0.3, 0.7, label="cat"),)))


def test_hostile_names_are_shown_and_not_obeyed() -> None:
    m = Measurement(
        n=9,
        rows=(*per_class(HOSTILE, ("f1",)), row("accuracy", 0.5, 0.4, 0.6)),
        slices=sliced(HOSTILE, "by\x1b[2J"),
        roles={"truth": "col\x07\n"},
        warnings=tuple(HOSTILE),
        signature="metric:\x1b]0;x\x07",
    )
    text = result_text(m)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", text)
    assert "\\x1b[31mred" in text
    assert "two\\nlines" in text
    assert "(empty)" in text
    assert "truth = col\\x07\\n" in text
    text.encode()
    assert result_text(m, ascii_only=True).isascii()


def test_long_labels_lose_their_middle() -> None:
    long = "college mathematics and other subjects of the first year"
    text = result_text(Measurement(n=9, rows=SMALL.rows[:1], slices=sliced([long, "b"])))
    assert "…" in text
    assert "first year" in text or " year" in text
    assert all(display_width(line) <= 80 for line in text.splitlines())


def test_one_sided() -> None:
    rows = (row("accuracy", 0.85, 0.78, 1.0, side="lower"), row("macro_f1", 0.84, 0.76, 1.0, side="lower"))
    text = result_text(Measurement(n=100, rows=rows))
    assert "95% lower bound" in text
    assert text.count("→") == 2
    assert "┤" not in text
    unbounded = result_text(Measurement(n=100, rows=(row("mean", 3.1, None, 4.2, side="upper"),)))
    assert "at most 4.2" in unbounded
    assert "←" in unbounded


def test_each_kind_of_metric_has_its_axis_and_direction() -> None:
    rows = (row("auc", 0.875, 0.85, 0.896), row("brier", 0.113, 0.092, 0.136, higher_is_better=False), row("accuracy", 0.87, 0.85, 0.896))
    lines = result_text(Measurement(n=9, rows=rows)).splitlines()
    assert [line.split()[0] for line in lines[2:8] if line] == ["metric", "auc", "accuracy", "0.09", "brier"]
    assert "lower is better: brier" in lines


def test_levels_that_differ_are_told_apart() -> None:
    rows = (row("f1", 0.8, 0.7, 0.9, label="a"), row("f1", 0.8, 0.7, 0.9, label="b", level=0.9, method="bca"))
    text = result_text(Measurement(n=9, rows=rows))
    assert "interval: 95% interval by wilson for f1[a]; 90% interval by bca for f1[b]" in text


def test_groups_and_repeats() -> None:
    details = {"groups": 570, "repeats": 3, "design_effect": 1.84, "n_effective": 716.9, "answers": 1319}
    text = result_text(Measurement(n=1319, rows=(row("accuracy", 0.8, 0.7, 0.9, details=details),)))
    assert text.startswith("1,319 items in 570 groups, 3 repeats")
    assert "design effect of accuracy 1.84: 1,319 answers are worth 717 independent ones" in text


def test_warnings_of_slices_are_not_lost() -> None:
    part = MeasuredSlice(by="s", value="v", measurement=Measurement(n=1, rows=(), warnings=("few items", "shared")))
    text = result_text(Measurement(n=1, rows=(), slices=(part,), warnings=("shared",)))
    assert "warning: s = v: few items" in text
    assert text.count("shared") == 1


def test_colour_only_adds() -> None:
    colored = result_text(SMALL, color=True)
    assert "\x1b[33mwarning:\x1b[0m" in colored
    plain = re.sub(r"\x1b\[\d+m", "", colored)
    assert [line.rstrip() for line in plain.splitlines()] == GOLDEN.splitlines()


def test_ascii_only() -> None:
    text = result_text(SMALL, ascii_only=True)
    assert text.isascii()
    assert "|----o----|" in text


def test_nothing_to_show_is_no_error() -> None:
    assert result_text(Measurement(n=0, rows=())) == "0 items"
    assert result_text(Measurement(n=1, rows=())) == "1 item"


def test_formats() -> None:
    assert list(FORMATS) == ["text", "json", "markdown", "html", "svg", "junit", "github"]
    assert all(SIGNATURE in FORMATS[name].write(SMALL) for name in ("text", "markdown", "json"))


def test_import_is_light() -> None:
    code = "import sys, steelyard.render.formats; sys.exit('numpy' in sys.modules or 'scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
