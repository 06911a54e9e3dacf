"""The sections of a card that only people can write, filled from a file: never replaced, never obeyed, never silently empty."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from cases import every
from steelyard.errors import SourceError, SteelyardError, UsageError
from steelyard.questions.report.card import Written

FOUND = sy.measure(sy.Counts.of(85, 100))
ANSWERS = {"intended_use": "Sums, in schools.", "limits": "Never tried on fractions.", "harms": "Wrong sums.\n\nAnd worse ones."}


def card(path: Path, answers: Any = None) -> Written:
    return sy.model_card(path, {"sums": FOUND}, model="lab/small", answers=answers)


def silent(found: Written) -> list[str]:
    return [warning.partition(":")[0].rpartition("about ")[2] for warning in found.warnings]


def test_a_new_card_with_all_answers_asks_nothing(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    found = card(path, ANSWERS)
    page = path.read_text(encoding="utf-8")
    assert (found.done, found.warnings) == ("created", ())
    assert "## Harms\n\nWrong sums.\n\nAnd worse ones.\n" in page
    assert "Left empty" not in page
    assert page.index("Wrong sums.") < page.index("<!-- steelyard:begin -->")
    assert card(path, ANSWERS).done == "unchanged"
    assert card(path).done == "unchanged"  # what was answered once is the card's


def test_what_is_left_empty_is_listed_in_the_card_and_in_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    found = card(path, {"limits": "Small.", "harms": "  \n", "intended_use": "[More information needed]"})
    assert silent(found) == ["intended use", "harms"]
    assert "- Left empty by the authors of this card: intended use, harms.\n" in path.read_text(encoding="utf-8")
    assert card(path).done == "unchanged"
    filled = card(path, ANSWERS)
    page = path.read_text(encoding="utf-8")
    assert filled.warnings == ("README.md has a section about limits that says something else: the answer was not used",)
    assert page.count("Small.") == 1
    assert "Never tried on fractions." not in page
    assert "Left empty" not in page


@every("new", ["\n", "\r\n"])
def test_the_words_of_people_stay_and_an_open_section_is_added_before_our_part(tmp_path: Path, new: str) -> None:
    path = tmp_path / "README.md"
    before = new.join(["# Small", "", "## Intended use", "", "Mine.", ""])
    path.write_bytes(before.encode())
    card(path)
    card(path, {"harms": "Some.", "intended_use": "Theirs."})
    page = path.read_bytes().decode()
    assert "Theirs." not in page
    assert f"## Harms{new}{new}Some.{new}{new}<!-- steelyard:begin -->{new}" in page
    assert before in page
    assert page.count("<!-- steelyard:begin -->") == page.count("<!-- steelyard:end -->") == 1
    assert card(path, {"harms": "Some."}).done == "unchanged"


def test_a_text_is_shown_and_never_obeyed(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    hostile = "<script>x</script> <!-- steelyard:end -->\n\n# Heading\n---\n\n[a](http://b.c) \x1b[2J"
    card(path, {**ANSWERS, "harms": hostile})
    page = path.read_text(encoding="utf-8")
    assert "<script>" not in page
    assert "\x1b" not in page
    assert "\n# Heading" not in page
    assert page.count("<!-- steelyard:end -->") == 1
    assert card(path, {**ANSWERS, "harms": hostile}).done == "unchanged"


def test_an_answer_that_is_a_comment_of_html_is_shown_and_not_left_out(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    assert card(path, {**ANSWERS, "limits": "<!-- not for dates -->"}).warnings == ()
    assert "&lt;!-- not for dates --&gt;" in path.read_text(encoding="utf-8")


def test_answers_come_from_a_file(tmp_path: Path) -> None:
    answers = tmp_path / "card.toml"
    answers.write_text(
        'intended_use = "Sums."\r\nlimits = "Small."\r\nharms = """\r\nOne.\r\n\r\nTwo."""\r\n', encoding="utf-8", newline=""
    )
    assert card(tmp_path / "README.md", answers).warnings == ()
    assert "\n\nOne.\n\nTwo.\n" in (tmp_path / "README.md").read_text(encoding="utf-8")


@every(
    "text, match",
    [
        ('harm = "x"', "Unknown key.*harms"),
        ("harms = 3", "must be a text, not an int"),
        ("harms = ", "not valid TOML"),
        ("[harms]\nx = 1", "must be a text"),
        (None, "No file"),
    ],
)
def test_what_cannot_be_used_is_an_error_and_nothing_is_written(tmp_path: Path, text: str | None, match: str) -> None:
    answers, path = tmp_path / "card.toml", tmp_path / "README.md"
    answers.unlink(missing_ok=True)
    if text is not None:
        answers.write_text(text, encoding="utf-8")
    with pytest.raises(SteelyardError, match=match) as caught:
        card(path, answers)
    assert isinstance(caught.value, SourceError | UsageError)
    assert not path.exists()


def test_the_command_takes_the_file_and_refuses_it_without_a_card(tmp_path: Path, steelyard: Any) -> None:
    result, answers, path = (tmp_path / name for name in ("m.json", "card.toml", "README.md"))
    result.write_text(json.dumps(FOUND.to_dict()), encoding="utf-8")
    answers.write_text('harms = "Some."', encoding="utf-8")
    done = steelyard("report", f"sums={result}", "--card", str(path), "--model", "m", "--card-answers", str(answers))
    assert done.code == 0
    assert "says nothing about harms" not in done.err
    assert "says nothing about limits" in done.err
    refused = steelyard("report", str(result), "--google-card", str(tmp_path / "g.json"), "--model", "m", "--card-answers", str(answers))
    assert refused.code == 3
    assert "--card README.md" in refused.err
    assert not (tmp_path / "g.json").exists()
