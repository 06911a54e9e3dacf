"""A verdict for people: the word first, every field of the report, no digit that contradicts the decision, no word obeyed."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import every
from render.verdict_samples import (
    BARE,
    FLOOR,
    HOSTILE,
    LEGACY,
    LEGACY_PASS,
    LOWER_IS_BETTER,
    PAIRED,
    RECORDED,
    RULED_OUT,
    UNSURE,
    gap,
    harmless_page,
    hostile,
    obeyed,
)
from steelyard.render.formats import result_markdown, result_text
from steelyard.render.markdown import Piece, fitted
from steelyard.render.pages.verdict import accept_command, facts, needed_text, next_step, p_beside, score_text
from steelyard.render.terminal import display_width
from steelyard.render.text import folded
from steelyard.results.verdict import Verdict

ALL = [LEGACY, LEGACY_PASS, FLOOR, PAIRED, UNSURE, LOWER_IS_BETTER, RULED_OUT, BARE]
NAMED = pytest.mark.parametrize("v", ALL, ids=[f"{v.task}-{v.verdict}" for v in ALL])


def fact(v: Verdict, name: str) -> tuple[str, str]:
    return next((value, meaning) for group in facts(v) for n, value, meaning in group if n.strip() == name)


# ---- what is said ----------------------------------------------------------------------------------------------------


@NAMED
def test_the_first_line_is_the_verdict_and_on_what(v: Verdict) -> None:
    first = result_text(v, width=200).splitlines()[0]
    assert first.startswith(f"{v.verdict.upper()}  {v.task}, {v.model}")
    assert all(f"{key}={value}" in first for key, value in v.spec.items())
    assert result_markdown(v).startswith(f"## {v.verdict.upper()}: ")


@NAMED
def test_colour_only_repeats_the_words(v: Verdict) -> None:
    painted = result_text(v, color=True)
    assert "\x1b[1;3" in painted.splitlines()[0]
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == result_text(v)


def test_the_legacy_report_has_every_field_of_the_original() -> None:
    # accuracy-suite of TensorRT-LLM: theta 2.747, threshold 66.353 for MMLU at sigma 50 and 4,096 samples
    text = result_text(LEGACY, width=120)
    for name, value in [
        ("Alpha (Type I: false positive)", "0.05"),
        ("Beta (Type II: false negative)", "0.2"),
        ("Sigma (standard deviation)", "50"),
        ("#Samples", "4,096"),
        ("Higher is better", "yes"),
        ("Minimum detectable effect", "2.747"),
        ("Reference accuracy", "68.170"),
        ("Threshold", "66.353"),
        ("Evaluated accuracy", "66.200"),
    ]:
        assert re.search(rf"^{re.escape(name)} +{re.escape(value)}\b", text, re.M), name
        assert fact(LEGACY, name)[0] == value
    assert "smallest drop detectable with 80% power" in text
    assert "-1.970" in text
    assert "-3.787" in text
    assert "Detectable if paired" in text
    assert "0.869" in text
    assert LEGACY.claim in text


def test_an_explicit_floor_claims_no_error_rates() -> None:
    text = result_text(replace(FLOOR, claim=""))
    assert FLOOR.claim in " ".join(result_text(FLOOR).split())
    assert fact(FLOOR, "Threshold (explicit floor)")[0] == "2.6695"
    for word in ("Alpha", "Beta", "Sigma", "detectable", "p-value", "bound"):
        assert word not in text
    assert "line 17" in next_step(FLOOR)[0]


def test_theta_and_margin_are_shown_as_they_were_given() -> None:
    assert fact(UNSURE, "Theta") == ("0.005", "drop that matters")
    assert fact(LOWER_IS_BETTER, "Margin")[0] == "0.25"
    tiny = replace(UNSURE, theta=0.000025)
    assert float(fact(tiny, "Theta")[0]) == 0.000025
    assert all(name != "Theta" for group in facts(LEGACY) for name, _, _ in group)


def test_lower_is_better_says_which_way_is_up() -> None:
    assert fact(LOWER_IS_BETTER, "Threshold")[1] == "a score above it is a regression"
    assert fact(LOWER_IS_BETTER, "Difference") == ("-1.700", "reference minus run, so positive is better")
    assert fact(LOWER_IS_BETTER, "Higher is better")[0] == "no"
    assert fact(LOWER_IS_BETTER, "Theta") == ("1", "rise that matters")
    assert fact(LOWER_IS_BETTER, "Margin") == ("0.25", "rise that is tolerated")
    assert fact(LOWER_IS_BETTER, "Minimum detectable effect")[1] == "smallest rise detectable with 80% power"
    assert "drop" not in result_text(LOWER_IS_BETTER)


def test_flips_waiver_tier_and_provenance() -> None:
    text = result_text(PAIRED, width=200)
    assert "flips: lost 40, gained 11, both right 970, both wrong 298" in text
    for part in ("1,319 items", "5 runs (run-to-run deviation 0.00412)", "recorded 2026-10-30T09:12:00Z by ann at 1f2e3d4", "line 2"):
        assert part in text
    text = result_text(LOWER_IS_BETTER, width=120)
    assert "waiver: until 2026-12-01 by bo: new tokenizer, retrained decoder on its way" in text
    assert "tier: supporting" in text
    expired = replace(LOWER_IS_BETTER, waiver={"reason": "r", "until": "2026-01-01", "in_force": False})
    assert "waiver: expired 2026-01-01: r (not in force)" in result_text(expired)


def test_after_a_regression_the_lost_items_come_first_and_the_command_that_accepts_it() -> None:
    text = result_text(PAIRED)
    order = [text.index(word) for word in ("REGRESSION", "worse.", "steelyard record", "Reference accuracy", "0017", "1100", "0093")]
    assert order == sorted(order)
    assert "1200 -> I cannot answer that question, sorry." in text
    assert "3 -> (empty)" in text
    assert "--update" in text
    assert '--reason "..."' in text


def test_an_inconclusive_verdict_says_how_many_items() -> None:
    assert "Needed: 13,603 items, 13,403 more: to rule out 0.005" in " ".join(result_text(UNSURE).split())
    each = replace(UNSURE, needed={"items": None, "items_each": 900, "why": "the reference leaves more doubt than theta allows"})
    assert needed_text(each) == "Needed: 900 items in the run and in the reference: the reference leaves more doubt than theta allows."
    enough = replace(UNSURE, needed={"items": 150, "more": 0})
    assert needed_text(enough) == "150 items are usually enough and this run has them, but its result is borderline."
    assert needed_text(replace(UNSURE, needed={"repeats": 8})) == "Needed: 8 repeats of each item."
    assert needed_text(replace(UNSURE, needed=None)) == "The number of items needed is not known."


def test_a_pass_says_what_could_have_been_missed_once() -> None:
    assert result_text(LEGACY_PASS).count("missed") == 1
    silent = replace(LEGACY_PASS, conclusion="fine.")
    assert next_step(silent)[0] == "A drop below 2.747 could have been missed."
    assert next_step(RULED_OUT)[0] == "It may still be worse by up to 0.0341 (one-sided, 95%)."
    assert next_step(BARE) == ("", [])


def test_what_is_not_known_is_a_dash_and_never_a_number() -> None:
    text = result_text(BARE)
    for name in ("Reference accuracy", "Threshold", "Evaluated accuracy", "p-value", "Sigma", "#Samples", "Minimum detectable effect"):
        assert re.search(rf"^{re.escape(name)}[^\d]* -( |$)", text, re.M), name
    assert "None" not in text
    assert "nan" not in text


@NAMED
def test_markdown_and_text_have_the_same_numbers(v: Verdict) -> None:
    page, text = result_markdown(v), result_text(v, width=200)
    for group in facts(v):
        for _, value, _ in group:
            assert f"| {value} |" in page
            assert value in text
    assert page.count("<details>") == page.count("</details>") == (1 if v.changed_items else 0)


# ---- digits that agree with the decision -----------------------------------------------------------------------------


@given(st.floats(1e-12, 1), st.sampled_from([0.01, 0.05, 0.1, 0.5]))
def test_the_printed_p_is_on_the_side_of_alpha_that_decided(p: float, alpha: float) -> None:
    text = p_beside(p, alpha)
    if text.startswith("> "):
        assert p > alpha == float(text[2:])
    else:
        assert (float(text) <= alpha) == (p <= alpha)


def test_p_next_to_alpha() -> None:
    assert p_beside(0.05, 0.05) == "0.0500"
    assert p_beside(0.050004, 0.05) == "0.050004"
    assert p_beside(0.05 + 1e-12, 0.05) == "> 0.05"


@pytest.mark.parametrize("value", [66.3526, 66.35267, 66.3526761])
def test_a_score_just_below_the_threshold_does_not_print_as_the_threshold(value: float) -> None:
    shown = score_text(replace(LEGACY, candidate={"value": value}))
    assert float(shown(value)) < float(shown(LEGACY.threshold))


def test_scores_at_the_threshold_keep_the_decimals_of_the_original() -> None:
    shown = score_text(replace(LEGACY, candidate={"value": LEGACY.threshold}, difference={}))
    assert shown(LEGACY.threshold) == "66.353"


def test_a_small_difference_is_not_printed_as_none_at_all() -> None:
    v = replace(PAIRED, candidate={"value": 0.76569}, difference=gap(-0.00001, -0.00002, 0.0))
    assert fact(v, "Difference")[0] == "-0.00001"


def test_tiny_and_huge_raw_scores_keep_their_digits() -> None:
    tiny = replace(FLOOR, reference={"value": 0.000123456}, candidate={"value": 0.000123}, threshold=0.0001, difference={})
    assert score_text(tiny)(0.000123) == "0.0001230"
    huge = replace(FLOOR, reference={"value": 123456789.0}, candidate={"value": 123456788.0}, threshold=1e8, difference={})
    assert score_text(huge)(123456788.0) == "123456788"


# ---- where it is shown -----------------------------------------------------------------------------------------------


@NAMED
@pytest.mark.parametrize("width", [60, 80, 120])
def test_lines_fit_unless_a_word_does_not(v: Verdict, width: int) -> None:
    for line in result_text(v, width=width).splitlines():
        whole = " " not in line.strip() or line.lstrip().startswith("--")
        assert display_width(line) <= width or whole, line


@NAMED
def test_ascii_only(v: Verdict) -> None:
    assert result_text(replace(v, model="模型…"), ascii_only=True, width=60).isascii()


def test_long_items_are_cut_in_the_width() -> None:
    item = {"id": "x" * 10_000, "change": "lost", "truth": "y" * 10_000, "baseline": "z" * 10_000, "candidate": "w"}
    lines = result_text(replace(PAIRED, changed_items=(item,), signature="")).splitlines()
    assert max(map(display_width, lines)) <= 80


@every("width", [40, 80, 200])
@every("name", ["plain", "two words", "it's", "x; rm -rf ~ $(id)", '"quoted"', "a\\b", "*"])
def test_the_folded_command_is_read_by_a_shell_as_it_was_meant(name: str, width: int) -> None:
    v = replace(PAIRED, task=name, model=name, spec={"quant_algo": name})
    command = "\n".join(folded(accept_command(v), width))
    said = subprocess.run(["sh", "-c", f"printf '%s\\n' {command}"], check=True, capture_output=True, text=True).stdout
    named = ["--task", name, "--model", name, "--spec", f"quant_algo={name}"]
    assert said.splitlines() == ["steelyard", "record", "RUN", *named, "--update", "--reason", "..."]


def test_no_numpy() -> None:
    code = (
        "import sys, steelyard.render.pages.verdict, steelyard.render.pages.suite, steelyard.render.junit, steelyard.render.github;"
        "assert not {'numpy', 'scipy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- nothing is obeyed -----------------------------------------------------------------------------------------------


@every("word", HOSTILE)
def test_hostile_words_in_text(word: str) -> None:
    for v in (hostile(word), replace(hostile(word), verdict="inconclusive", needed={"why": word})):
        text = result_text(v)
        assert not obeyed(text)
        assert not any(line.lstrip().startswith("::") for line in text.splitlines())
        assert "##[" not in text


@every("word", HOSTILE)
def test_hostile_words_in_markdown(word: str) -> None:
    harmless_page(result_markdown(hostile(word)))
    harmless_page(
        result_markdown(replace(RECORDED, task=word, model=word, reason=word, file=word, items=word, conclusion=word, metric=word))
    )


def test_the_page_stays_under_the_cap_and_says_what_was_left_out() -> None:
    item = {"id": "猫" * 300, "change": "lost", "truth": "|" * 300, "baseline": "b", "candidate": "c"}
    v = replace(PAIRED, changed_items=(item,) * 2000, warnings=tuple(f"{i} " + "w" * 500 for i in range(100)))
    page = result_markdown(v)
    size = len(page.encode())
    assert 850_000 < size <= 900_000
    kept = page.count("| lost |")
    assert 0 < kept < 2000
    assert f"{2000 - kept:,} flipped items" in page.splitlines()[-1]
    assert page.count("**warning:**") == 100
    small = result_markdown(v, cap=20_000)
    assert len(small.encode()) <= 20_000
    assert "2,000 flipped items" in small
    assert "<details>" not in small
    assert "is 0.02199 below the reference 0.765732" in small


def test_endless_words_do_not_break_the_cap() -> None:
    for word in ("x" * 1_000_000, "\u0301" * 1_000_000, "\x00" * 500_000):
        assert len(result_markdown(hostile(word)).encode()) <= 900_000


def test_rows_of_less_worth_go_first() -> None:
    pieces = [Piece(rows=["stay " * 20], worth=3, noun="a"), Piece(rows=["go " * 20, "go " * 20], worth=0, noun="b")]
    assert fitted(pieces, 10_000) == "\n\n".join([pieces[0].rows[0], "\n".join(pieces[1].rows)]) + "\n"
    page = fitted(pieces, 600)
    assert page.count("stay") == 20
    assert page.count("go ") == 20
    assert page.endswith("Left out to keep the page under 0 kB: 1 b. `--format json` has them all.\n")


# ---- what was put on record ------------------------------------------------------------------------------------------


def test_recorded_says_what_it_replaced() -> None:
    text = result_text(RECORDED)
    assert text.startswith("REPLACED  gsm8k, llama-3.1-8b [quant_algo=FP8]")
    for part in (
        "0.765732",
        "0.767",
        "1,319",
        "0.00412",
        "references/gsm8k.yaml",
        "gsm8k/llama-3.1-8b.items",
        "new tokenizer",
        "warning: ",
    ):
        assert part in text
        assert part.replace("warning: ", "warning:") in result_markdown(RECORDED).replace("\\", "")
    first = result_text(replace(RECORDED, before=None, runs=1, sigma_run=None, reason=None, items=None))
    assert first.startswith("RECORDED  ")
    assert "Before" not in first
    assert "not known from one run" in first
    assert "reason" not in first


@every("word", HOSTILE)
def test_hostile_words_on_record(word: str) -> None:
    text = result_text(
        replace(RECORDED, task=word, model=word, spec={word: word}, reason=word, file=word, conclusion=word, warnings=(word,))
    )
    assert not obeyed(text)
    assert not any(line.lstrip().startswith("::") for line in text.splitlines())


def test_str_is_the_text() -> None:
    assert str(PAIRED) == result_text(PAIRED)
    assert str(RECORDED) == result_text(RECORDED)
