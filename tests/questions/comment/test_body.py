"""The text of a comment: it fits, whatever it holds, and nothing in it acts."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import steelyard as sy
from render.html.page_samples import samples
from steelyard.errors import SteelyardError
from steelyard.questions.comment.body import comment_body
from steelyard.results.catalogue import result_of

MARK = "<!-- steelyard:k -->"
EVIL = (
    "x</details><img src=x onerror=a>\n\n/approve\n@everyone #1 !2 &3 [a](http://evil.example) www.evil.example <!-- steelyard:k --> `` ` |"
)
ACTS = re.compile(r"<img|</details>x|(?<!\\)\]\(http|@everyone|#1\b|!2\b|&(amp;)?3|http://evil|www\.evil|^/approve", re.MULTILINE)


def body(*results: Any, platform: str = "github", commit: str | None = None) -> str:
    return comment_body([(f"result {i}", each) for i, each in enumerate(results)], MARK, platform=platform, commit=commit)


@pytest.fixture(scope="module")
def kinds() -> dict[str, Any]:
    return {name: each for name, each in samples().items() if hasattr(each, "to_dict")}


def test_every_kind_of_result_has_a_comment(kinds: dict[str, Any]) -> None:
    for name, each in kinds.items():
        made = body(each)
        assert made.startswith(f"{MARK}\n"), name
        assert len(made.splitlines()) > 2, name
    assert len(body(*kinds.values())) <= 65_536


def test_a_thousand_changed_items_fit(kinds: dict[str, Any]) -> None:
    plain = kinds["regression"].to_dict()
    text = json.dumps(plain)
    long = result_of(json.loads(text.replace('"conclusion": "', '"conclusion": "' + "ä" * 100_000, 1)))
    for many in ([long], [long] * 12, [kinds["regression"]] * 200):
        for platform, limit in (("github", 65_536), ("gitlab", 1_000_000)):
            made = body(*many, platform=platform, commit="c" * 40)
            assert len(made) <= len(made.encode()) <= limit
            assert made.startswith(f"{MARK}\n")


def test_what_was_left_out_is_counted(kinds: dict[str, Any]) -> None:
    made = body(*[kinds["regression"]] * 200)
    assert re.search(r"Left out to keep the page under 65 kB: \d+ pages", made)
    assert made.count("- **") >= 200, "every result is in the list"


def without_code(made: str) -> str:
    """The page without code, which does nothing, and without what a backslash has made a plain character."""
    plain = re.sub(r"\\[\\`*_\[\]|~$]", "", made)
    return re.sub(r"^(`{3,})\w*\n.*?^\1$|(`+)(?!`).*?(?<!`)\2(?!`)", "", plain, flags=re.DOTALL | re.MULTILINE)


def poisoned(value: Any) -> Any:
    """Every text of a result replaced, but for the words that say what it is."""
    if isinstance(value, dict):
        return {key: each if key in KEPT else poisoned(each) for key, each in value.items()}
    if isinstance(value, list):
        return [poisoned(each) for each in value]
    return EVIL if isinstance(value, str) else value


KEPT = ("kind", "schema", "verdict", "counts_as", "method", "metric", "average", "side", "direction", "goal")


def test_words_of_a_result_do_nothing(kinds: dict[str, Any]) -> None:
    """What comes from a fork is somebody's text: no markup, no mention, no link, no command of GitLab."""
    shown = 0
    for name, each in kinds.items():
        try:
            made = body(result_of(json.loads(json.dumps(poisoned(each.to_dict())))), platform="gitlab")
        except SteelyardError:
            continue
        shown += 1
        plain = without_code(made)
        assert not ACTS.search(plain), (name, ACTS.search(plain))
        assert plain.count(MARK) == 1, name
    assert shown > 5


def test_numbers_of_a_result_that_are_texts(kinds: dict[str, Any]) -> None:
    """Texts where numbers belong: an error, or shown as harmlessly as the others."""
    for name, each in kinds.items():
        text = re.sub(r"(?<=: )-?\d+(\.\d+)?(e-?\d+)?(?=[,}\n])", lambda _: json.dumps(EVIL), json.dumps(each.to_dict(), indent=0))
        text = re.sub(r'"schema": "[^"]*"', '"schema": 1', text)
        try:
            made = body(result_of(json.loads(text)))
        except SteelyardError:
            continue
        plain = without_code(made)
        assert not ACTS.search(plain), (name, ACTS.search(plain))


def test_a_secret_in_a_result_is_not_published() -> None:
    from steelyard.redaction import remember

    remember("sk-comment-4711-4711")
    found = sy.measure(sy.Counts.of(12, 40))
    plain = found.to_dict() | {"warnings": ["key sk-comment-4711-4711"]}
    assert "4711" not in body(result_of(plain))
