"""A suite for people: every guard once, the worst first, what it counted as, and nothing hidden by a waiver."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from cases import every
from render.verdict_samples import (
    BARE,
    FLOOR,
    HOSTILE,
    LEGACY,
    LOWER_IS_BETTER,
    NIGHTLY,
    PAIRED,
    UNSURE,
    harmless_page,
    hostile_suite,
    obeyed,
)
from steelyard.render.formats import result_markdown, result_text
from steelyard.render.pages.suite import guards, tally
from steelyard.render.terminal import display_width
from steelyard.results.verdict import Suite, Verdict

SHORT = replace(
    NIGHTLY,
    verdicts=tuple(replace(v, model=f"m{i}", spec={}) for i, v in enumerate(NIGHTLY.verdicts)),
    rows=tuple({**row, "model": f"m{i}"} for i, row in enumerate(NIGHTLY.rows)),
)


def many(how_many: int, verdict: str = "pass", **changed: Any) -> Suite:
    verdicts = tuple(replace(PAIRED, verdict=verdict, task=f"task-{i}", **changed) for i in range(how_many))
    rows = tuple({"task": v.task, "model": v.model, "p_adjusted": 0.5, "counts_as": verdict} for v in verdicts)
    return replace(NIGHTLY, verdict=verdict, verdicts=verdicts, rows=rows)


def test_the_first_line_counts_everything() -> None:
    first = result_text(NIGHTLY, width=200).splitlines()[0]
    said = "7 guards: 1 regression, 1 inconclusive, 1 unconfirmed, 1 waived, 1 advisory, 2 pass"
    assert first == f"REGRESSION  suite nightly, {said}"
    assert result_markdown(NIGHTLY).startswith(f"## {first.replace('  ', ': ', 1)}\n")
    assert tally(guards(many(1))) == "1 guard: 1 pass"


def test_the_worst_come_first_and_equals_keep_their_order() -> None:
    found = guards(NIGHTLY)
    assert [g.counts_as for g in found] == ["regression", "inconclusive", "unconfirmed", "waived", "advisory", "pass", "pass"]
    assert [g.verdict.task for g in found[-2:]] == ["mmlu", "triage-large"]


def test_a_line_per_guard_where_the_names_fit() -> None:
    lines = result_text(SHORT, width=140).splitlines()
    row = next(line for line in lines if line.startswith("REGRESSION") and "gsm8k" in line)
    expected = "REGRESSION gsm8k m2 critical 1,319 0.7657 0.7437 -0.0220 [-0.0310] 3.2e-05 0.0002"
    assert row.split() == expected.split()
    head = next(line for line in lines if line.startswith("verdict"))
    assert " ".join(head.split()) == "verdict task model tier on its own n reference run difference p adjusted p"
    assert lines.index(row) == lines.index(head) + 1
    assert row.index("1,319") + 5 == head.index(" n ") + 2


@pytest.mark.parametrize("width", [60, 80, 120])
def test_names_are_whole_and_lines_fit(width: int) -> None:
    text = result_text(NIGHTLY, width=width)
    for line in text.splitlines():
        assert display_width(line) <= width or " " not in line.strip() or line.lstrip().startswith("--"), line
    table = text[text.index("verdict") : text.index("difference: positive is better")]
    for v in NIGHTLY.verdicts:
        assert v.model.split()[0] in table
    for number in ("68.170", "66.200", "-1.970 [-3.787]", "0.0373", "0.149", "4,096"):
        assert number in " ".join(table.split())


def test_a_guard_that_counts_as_something_else_says_both() -> None:
    table = " ".join(result_text(NIGHTLY, width=80).split("difference: positive is better")[0].split())
    assert "waived voxpopuli, whisper-large-v3, supporting, regression on its own" in table
    assert "unconfirmed mmlu, meta-llama/Llama-3.1-8B-Instruct, critical, regression on its own" in table
    row = next(line for line in result_markdown(NIGHTLY).splitlines() if "| voxpopuli |" in line)
    assert row.startswith("| waived | voxpopuli |")
    assert "| regression |" in row


def test_waivers_are_shown_and_counted_and_expired_ones_said() -> None:
    for text in (result_text(NIGHTLY, width=120), result_markdown(NIGHTLY)):
        assert re.search(r"waivers: 1\b", text, re.I)
        assert "until 2026-12-01 by bo: new tokenizer, retrained decoder on its way" in text
    expired = {"reason": "old", "until": "2026-01-01", "in_force": False}
    idle = {"reason": "old", "until": "2027-01-01"}
    s = replace(
        NIGHTLY,
        verdicts=(PAIRED, LEGACY, BARE),
        rows=(
            {"counts_as": "regression", "waiver": expired},
            {"counts_as": "regression", "waiver": idle},
            {"counts_as": "pass", "waiver": idle},
        ),
    )
    text = result_text(s, width=120)
    assert "waivers: 3" in text
    assert "expired 2026-01-01: old (not in force)\n" in text
    assert f"{LEGACY.model}: until 2027-01-01: old (not in force)" in text
    assert "t, m: until 2027-01-01: old (not needed: it passed)" in text


def test_what_is_behind_the_red_ones_and_only_behind_them() -> None:
    text = result_text(NIGHTLY, width=120)
    behind = text[text.index("waivers:") :]
    for v in (PAIRED, UNSURE, LEGACY, LOWER_IS_BETTER, FLOOR):
        assert v.conclusion in " ".join(behind.split())
    assert "is ruled out." not in behind
    assert behind.count("steelyard record") == 1  # for the regression that counts, not for the waived or unconfirmed
    assert "13,403 more" in behind
    assert "gsm8k-test-0017" in behind


def test_a_warning_that_many_guards_share_is_said_once() -> None:
    s = many(8, warnings=("num_samples of the task was taken",))
    text = " ".join(result_text(s, width=120).split())
    assert text.count("num_samples of the task was taken") == 1
    assert "and 3 more: num_samples" in text


def test_an_advisory_guard_that_passes_needs_no_words() -> None:
    s = replace(
        NIGHTLY, verdict="pass", verdicts=(BARE,), rows=({"counts_as": "advisory", "tier": "advisory"},), warnings=(), conclusion=""
    )
    assert "advisory  t, m, advisory, pass on its own" in result_text(s)
    assert "ADVISORY" not in result_text(s)
    assert "###" not in result_markdown(s)


def test_a_pass_that_the_suite_counts_as_a_regression_says_what_to_do() -> None:
    strict = replace(PAIRED, verdict="pass", alpha=0.00001)  # its own alpha is below that of the suite
    s = replace(NIGHTLY, verdicts=(strict,), rows=({"counts_as": "regression", "p_adjusted": 0.00003},))
    for text in (result_text(s, width=120), result_markdown(s)):
        assert "pass on its own" in text
        assert text.count("steelyard record RUN --task gsm8k") == 1


def test_rows_may_be_missing_or_poor() -> None:
    for rows in (
        (),
        ({},),
        ({"task": "gsm8k", "model": PAIRED.model},),
        ({"task": "other"},),
        ({"counts_as": None, "waiver": {"reason": "a word"}},),
    ):
        s = Suite(verdict="regression", correction="holm", alpha=0.05, verdicts=(PAIRED, BARE), rows=rows)
        assert "\nREGRESSION  gsm8k, llama-3.1-8b, quant_algo=FP8\n" in result_text(s)
        assert "| **REGRESSION** | gsm8k |" in result_markdown(s)
    empty = Suite(verdict="pass", correction="holm", alpha=0.05, verdicts=())
    assert result_text(empty) == "PASS  suite, 0 guards"
    assert result_markdown(empty) == "## PASS: suite, 0 guards\n"


def test_rows_in_another_order_are_found_by_name() -> None:
    rows = ({"task": "t", "model": "m", "p_adjusted": 0.25}, {"task": "gsm8k", "model": PAIRED.model, "p_adjusted": 0.125})
    s = Suite(verdict="regression", correction="holm", alpha=0.05, verdicts=(PAIRED, BARE), rows=rows)
    assert [g.row["p_adjusted"] for g in guards(s)] == [0.125, 0.25]


def test_the_adjusted_p_is_on_the_side_that_decided() -> None:
    s = replace(NIGHTLY, verdicts=(LEGACY,), rows=({"counts_as": "unconfirmed", "p_adjusted": 0.05 + 1e-9},))
    assert "> 0.05" in result_text(s)
    assert "| &gt; 0.05 |" in result_markdown(s)


def test_colour_only_repeats_the_words() -> None:
    for s in (NIGHTLY, SHORT):
        assert re.sub(r"\x1b\[[0-9;]*m", "", result_text(s, color=True)) == result_text(s)


def test_ascii_only() -> None:
    assert result_text(many(3, model="模型", verdict="regression"), ascii_only=True).isascii()


@every("word", HOSTILE)
def test_hostile_words(word: str) -> None:
    s = hostile_suite(word)
    harmless_page(result_markdown(s))
    for width in (60, 400):
        text = result_text(s, width=width)
        assert not obeyed(text)
        assert not any(line.lstrip().startswith("::") for line in text.splitlines())
        assert "##[" not in text


def test_the_page_stays_under_the_cap_flipped_items_and_passing_rows_go_first() -> None:
    s = many(100, verdict="regression", changed_items=PAIRED.changed_items * 10)
    page = result_markdown(s, cap=225_000)
    assert len(page.encode()) <= 225_000
    assert page.count("| **REGRESSION** |") == 100
    assert page.count("### REGRESSION") == 100
    assert re.search(r"Left out to keep the page under 225 kB: [\d,]+ flipped items\. `--format json` has them all\.", page)
    page = result_markdown(s, cap=25_000)
    assert len(page.encode()) <= 25_000
    assert page.count("| **REGRESSION** |") == 100
    assert 0 < page.count("### REGRESSION") < 100
    assert "4,000 flipped items" in page
    both = replace(s, verdicts=(*s.verdicts[:5], *many(1_200).verdicts), rows=(*s.rows[:5], *many(1_200).rows))
    page = result_markdown(both, cap=25_000)
    assert len(page.encode()) <= 25_000
    assert page.count("| **REGRESSION** |") == 5
    assert 0 < page.count("| pass |") < 1_200
    assert f"{1_200 - page.count('| pass |'):,} guards" in page


def test_str_is_the_text() -> None:
    assert str(NIGHTLY) == result_text(NIGHTLY)


def test_every_verdict_is_in_every_format() -> None:
    def names(v: Verdict) -> str:
        return v.task.replace("_", "\\_")

    text, page = result_text(NIGHTLY), result_markdown(NIGHTLY)
    for v in NIGHTLY.verdicts:
        assert v.task in text
        assert f"| {names(v)} |" in page
