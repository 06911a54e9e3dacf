"""GitHub workflow commands, read back the way the runner reads them."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from cases import every
from render.verdict_samples import (
    FLOOR,
    HOSTILE,
    LEGACY,
    LEGACY_PASS,
    LOWER_IS_BETTER,
    NIGHTLY,
    PAIRED,
    UNSURE,
    hostile,
    hostile_suite,
    obeyed,
)
from steelyard.render.github import page_github
from steelyard.render.page import page_of
from steelyard.results.verdict import Suite, Verdict

COMMAND = re.compile(r"::(error|warning|notice) title=([^:,\r\n]*)::([^\r\n]*)")


def commands(result: Verdict | Suite) -> list[tuple[str, str, str]]:
    """Kind, title, message of every line; a line that is no command is an error."""
    out = []
    for line in page_github(page_of(result)).split("\n"):
        found = COMMAND.fullmatch(line)
        assert found, line
        out.append((found[1], unescaped(found[2]), unescaped(found[3])))
    return out


def unescaped(text: str) -> str:
    """As the runner does: %25 last, so that an escaped percent sign does not make an escape."""
    assert not re.search(r"%(?!25|0D|0A|3A|2C)", text)
    for code, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, character)
    return text


def test_a_regression_is_an_error_that_says_what_to_do() -> None:
    (kind, title, message), warning = commands(PAIRED)
    assert (kind, title) == ("error", "regression: gsm8k, llama-3.1-8b [quant_algo=FP8]")
    lines = message.split("\n")
    assert lines[0] == PAIRED.conclusion
    assert "flips: lost 40, gained 11, both right 970, both wrong 298" in lines
    assert "lost: gsm8k-test-0017, gsm8k-test-0210, gsm8k-test-1100" in lines
    assert lines[-1] == 'steelyard record RUN --task gsm8k --model llama-3.1-8b --spec quant_algo=FP8 --update --reason "..."'
    assert warning == ("warning", "steelyard: gsm8k, llama-3.1-8b [quant_algo=FP8]", PAIRED.warnings[0])


def test_inconclusive_is_a_warning_and_pass_a_notice() -> None:
    ((kind, title, message),) = commands(UNSURE)
    assert (kind, title) == ("warning", "inconclusive: triage, support-bot v7")
    assert "13,603 items" in message
    ((kind, title, message),) = commands(LEGACY_PASS)
    assert kind == "notice"
    assert "could have been missed" in message
    assert "[quant_algo=FP8, kv_cache_quant_algo=FP8]" in title


def test_a_suite_has_one_error_per_regression_that_counts() -> None:
    found = commands(NIGHTLY)
    assert [title for kind, title, _ in found if kind == "error"] == ["regression: gsm8k, llama-3.1-8b [quant_algo=FP8]"]
    warned = [title for kind, title, _ in found if kind == "warning"]
    assert warned[:4] == [
        "inconclusive: triage, support-bot v7",
        f"unconfirmed: mmlu, {LEGACY.model}, regression on its own",
        "waived: voxpopuli, whisper-large-v3, regression on its own",
        f"advisory: acceptance_length, {FLOOR.model}, regression on its own",
    ]
    waived = next(message for _, title, message in found if title.startswith("waived"))
    assert "waiver until 2026-12-01 by bo" in waived
    assert "steelyard record" not in waived
    ((_, title, message),) = [command for command in found if command[0] == "notice"]
    assert title == "regression: suite nightly"
    assert message.startswith("7 guards: 1 regression,")
    assert LOWER_IS_BETTER.conclusion in waived


@pytest.mark.parametrize(("how_many", "shown"), [(9, 9), (10, 10), (11, 10), (250, 10)])
def test_at_most_ten_of_a_kind_and_the_rest_in_one(how_many: int, shown: int) -> None:
    verdicts = tuple(replace(PAIRED, task=f"task-{i:03}", warnings=(f"own warning {i}",)) for i in range(how_many))
    s = replace(NIGHTLY, verdicts=verdicts, rows=(), warnings=())
    found = commands(s)
    for kind in ("error", "warning"):
        of_kind = [(title, message) for k, title, message in found if k == kind]
        assert len(of_kind) == shown
        title, message = of_kind[-1]
        if how_many > 10:
            assert title == f"{how_many - 9} more"
            assert "task-009" in message
            assert "task-008" not in message
    assert len(max((line for line in page_github(page_of(s)).split("\n")), key=len)) < 20_000


@every("word", HOSTILE)
def test_hostile_words_stay_inside_their_command(word: str) -> None:
    assert [kind for kind, _, _ in commands(hostile(word))] == ["error", "warning"]
    assert not obeyed(page_github(page_of(hostile(word))))
    assert {kind for kind, _, _ in commands(hostile_suite(word))} == {"error", "warning", "notice"}


def test_a_percent_sign_comes_back_as_itself() -> None:
    for word in ("100%0A::error::x", "%25", "50%", "%3A%2C"):
        (_, title, message), *_ = commands(replace(PAIRED, task=word, conclusion=word))
        assert title.startswith(f"regression: {word}, ")
        assert message.split("\n")[0] == word


def test_endless_words_are_cut() -> None:
    text = page_github(page_of(hostile("x" * 1_000_000)))
    assert max(map(len, text.split("\n"))) < 20_000
