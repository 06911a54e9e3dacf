"""References as text and Markdown: every fact is there, columns fit the width, and no name does harm."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cases import every
from steelyard.render.formats import result_json, result_markdown, result_text
from steelyard.render.listing_cells import figure, spark, story_sum
from steelyard.render.terminal import display_width
from steelyard.results import references as listings
from steelyard.results.base import Result
from steelyard.results.references import (
    Finding,
    Lint,
    Listing,
    ProjectInit,
    ReferenceChange,
    ReferenceDetail,
    ReferenceHistory,
    ReferenceSeries,
)

KINDS = {Listing, ReferenceDetail, Lint, ReferenceHistory, ReferenceChange, ProjectInit}
EVIL = "evil\x1b[31m|<b>@all\n::error::x"


def row(model: str = "llama", **more: Any) -> dict[str, Any]:
    plain = {
        "task": "t",
        "model": model,
        "spec": {"quant_algo": "FP8"},
        "metric": "accuracy",
        "scale": "percent",
        "value": 68.17,
        "n": 4096,
    }
    told = {"runs": 5, "items": True, "design": "paired", "threshold": 66.352676, "mde": 2.747193, "recorded": "2026-10-01T00:00:00Z"}
    return {**plain, **told, "by": "somebody", "approved": None, "file": "references/t.yaml", "line": 3, **more}


def change(**more: Any) -> dict[str, Any]:
    return {
        "time": "2026-10-01T00:00:00Z",
        "action": "update",
        "old": 26.48,
        "new": 26.0,
        "n": 215,
        "by": "somebody",
        "reason": "lower",
        **more,
    }


def samples(name: str = "llama") -> list[Any]:
    series = {
        "model": name,
        "spec": {},
        "changes": [change(reason=name)],
        "values": [26.48, 26.0],
        "first": 26.48,
        "last": 26.0,
        "change": -0.48,
    }
    gate = {"design": "unpaired", "threshold": 66.352676, "mde": 2.747193, "paired_mde": None, "sigma": 50.0, "n": 4096, "note": name}
    held = {
        "line": 3,
        "spec": {},
        "value": 68.17,
        "matches": False,
        "agree": [],
        "differ": {"quant_algo": {"asked": name, "recorded": None}},
    }
    tail: dict[str, Any] = {"conclusion": f"about {name}", "warnings": (f"mind {name}",), "signature": "goal:x|steelyard:0"}
    rule = ({"name": "alpha", "value": 0.05, "source": "default"}, {"name": "sigma", "value": None, "source": "not given"})
    removed = {"task": "t", "model": name, "spec": {}, "value": 68.17, "file": "f", "line": 3, "items": None, "items_removed": False}
    return [
        Listing(
            directory="references",
            rows=(row(name), row("other", value=None, n=None, runs=None, by=None, recorded=None, items=False)),
            **tail,
        ),
        ReferenceDetail(
            task="t",
            model=name,
            file="f",
            line=3,
            entry={"accuracy": 68.17, "protocol": {"a": name}},
            rule=rule,
            gate=gate,
            held=(held,),
            **tail,
        ),
        Lint(
            directory="references",
            findings=(
                Finding(
                    level="warning", code="stale", file="references/t.yaml", line=3, model=name, spec={"a": name}, sentence=f"old {name}"
                ),
                Finding(level="error", code="rule", file="references/u.yaml", sentence="bad"),
            ),
            **tail,
        ),
        ReferenceHistory(task="t", model=name, file="h", series=({**series, "on_file": 26.0, "line": 3},), **tail),
        ReferenceChange(action="remove", directory="references", rows=(removed,), reason=name, **tail),
        ReferenceChange(
            action="import",
            directory="references",
            rows=({"task": name, "file": "f", "added": 3, "replaced": 0, "unchanged": 1, "verbatim": True},),
            **tail,
        ),
        ProjectInit(written=(name,), kept=("b",), next=("steelyard check",), **tail),
    ]


def test_every_kind_of_listing_has_its_looks() -> None:
    kinds = {kind for kind in vars(listings).values() if isinstance(kind, type) and issubclass(kind, Result) and kind is not Result}
    assert kinds == KINDS == {type(sample) for sample in samples()}


@every("sample", samples(), ids=lambda sample: type(sample).__name__)
def test_str_is_the_text_and_json_has_the_stable_keys(sample: Any) -> None:
    assert str(sample) == result_text(sample)
    said = sample.to_dict()
    assert {"kind", "schema", "warnings", "signature"} <= set(said)
    assert result_json(sample)


@every("width", [60, 80, 120])
@every("sample", samples(), ids=lambda sample: type(sample).__name__)
def test_text_has_the_facts_within_the_width(sample: Any, width: int) -> None:
    text = result_text(sample, width=width)
    assert "about llama" in text
    assert "mind llama" in text
    assert text.splitlines()[-1] == "goal:x|steelyard:0"
    if not isinstance(sample, Listing | ProjectInit):  # nine columns of numbers have a least width
        assert max(map(display_width, text.splitlines())) <= width


@every("sample", samples(EVIL), ids=lambda sample: type(sample).__name__)
@every("look", [result_text, result_markdown])
def test_names_do_no_harm(sample: Any, look: Any) -> None:
    shown = look(sample)
    assert "\x1b" not in shown
    assert not [line for line in shown.splitlines() if line.lstrip().startswith("::")]
    if look is result_markdown:
        assert "<b>" not in shown
        assert "@all" not in shown
        tables = [line for line in shown.splitlines() if line.startswith("| ")]
        columns = {line.replace("\\|", "").count("|") for line in tables}
        assert len(columns) <= (2 if isinstance(sample, ReferenceDetail) else 1)


@every("sample", samples("größe 猫"), ids=lambda sample: type(sample).__name__)
def test_a_terminal_of_ascii_gets_ascii(sample: Any) -> None:
    assert result_text(sample, ascii_only=True).isascii()


def test_colour_only_repeats_the_words() -> None:
    import re

    for sample in samples():
        painted = result_text(sample, color=True)
        assert "\x1b[" in painted
        assert re.sub(r"\x1b\[[\d;]*m", "", painted) == result_text(sample)


def test_findings_read_like_those_of_a_compiler() -> None:
    lint = samples()[2]
    first, *_ = str(lint).splitlines()
    assert first.startswith("references/t.yaml:3: warning: llama [a=llama]: old llama")
    assert "references/u.yaml: error: bad (rule)" in str(lint)
    page = result_markdown(lint)
    assert page.index("| error |") < page.index("| warning |")
    assert lint.exit_code == 1
    assert replace(lint, findings=lint.findings[:1]).exit_code == 0
    assert replace(lint, findings=lint.findings[:1], strict=True).exit_code == 1


def test_numbers_stand_under_one_another() -> None:
    rows = (row("a", value=9.5, n=40), row("b", value=68.25, n=4096), row("c", value=None, n=None))
    head, *lines = result_text(Listing(directory="d", rows=rows), width=120).splitlines()[1:]
    assert [line.find(".") for line in lines[:2]] == [lines[0].find(".")] * 2
    ends = [head.find(" n ") + 1, lines[0].find("40"), lines[1].find("4,096"), lines[2].find("-", lines[2].find("-") + 1)]
    assert [ends[0], ends[1] + 1, ends[2] + 4, ends[3]] == [ends[0]] * 4


def test_a_page_has_a_cap() -> None:
    many = Lint(
        directory="d", findings=tuple(Finding(level="note", code="c", file=f"f{i}", sentence="s" * 100) for i in range(500)), every=True
    )
    page = result_markdown(many, cap=10_000)
    assert len(page.encode()) <= 10_000
    assert "findings" in page.splitlines()[-1]


def test_a_story_of_one_value_or_none() -> None:
    empty = ReferenceSeries(model="m", spec={}, on_file=3.5)
    assert story_sum(empty) == "no change on record; the file says 3.5"
    assert story_sum(replace(empty, numbers=(3.5,), first=3.5, last=3.5, change=0.0)) == "3.5, never changed"
    assert story_sum(replace(empty, on_file=None)) == "no value on record"


def test_spark_spans_its_blocks() -> None:
    assert spark([1.0, 2.0, 8.0]) == "▁▂█"
    assert spark([5.0, 5.0]) == "▁▁"
    assert spark([5.0]) == ""
    assert spark([1e308, -1e308]) in ("█▁", "")


def test_empty_results() -> None:
    assert str(Listing(directory="d", conclusion="No references in d.")) == "No references in d."
    assert str(Lint(directory="d", conclusion="nothing")) == "nothing"
    assert figure(None) == "-"
