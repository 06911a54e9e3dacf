"""The model-index changed as text, against PyYAML: what others wrote is there to the byte, and the values are those of a plain merge."""

from __future__ import annotations

import random
from typing import Any

import pytest
import yaml

from cases import every
from steelyard.errors import SourceError
from steelyard.reference.front_matter import Results, names, with_results


def ours(*values: float, name: str = "m") -> Results:
    """Results of ours, one metric each."""
    items = [
        ["- task:", "    type: x", "  metrics:", "  - type: acc", f"    value: {value}", "    args:", "      source: steelyard"]
        for value in values
    ]
    return Results(name=name, name_line=f"- name: {name}", items=items, source="steelyard")


def plain(value: float) -> dict[str, Any]:
    return {"task": {"type": "x"}, "metrics": [{"type": "acc", "value": value, "args": {"source": "steelyard"}}]}


def changed(front: str, new: Results, newline: str = "\n") -> str:
    """The changed front matter, which a second time does not change."""
    once = with_results(front, new, newline, "README.md")
    assert with_results(once, new, newline, "README.md") == once
    return once


HAND = """\
# the licence is provisional
license: mit   # ask legal
tags: [a,  b]
model-index:   # by hand
  - name: m
    # two results of the paper
    results:
      - task: {type: qa}
        dataset: &d {type: squad, name: "SQuAD: v1"}
        metrics:
          - type: f1
            value: 88.10
      # between
      - task:
          type: qa
        metrics:
          - {type: em, value: 0.5, args: {source: the paper}}
widget:
- text: |
    model-index:
      - name: not one
"""


def test_added_behind_what_is_there() -> None:
    after = changed(HAND, ours(0.5, 0.25))
    assert len(after.splitlines()) == len(HAND.splitlines()) + 14
    assert after.startswith(HAND[: HAND.index("widget:")]), "everything above our results, and"
    assert after.endswith(HAND[HAND.index("widget:") :]), "everything below"
    before, now = yaml.safe_load(HAND), yaml.safe_load(after)
    before["model-index"][0]["results"] += [plain(0.5), plain(0.25)]
    assert now == before


def test_replaced_in_its_place_with_a_neighbour_behind() -> None:
    first = changed(HAND, ours(0.5))
    foreign = "      - task:\n          type: last\n        metrics:\n          - type: x\n            value: 1\n"
    between = first.replace("widget:", foreign + "widget:")
    after = changed(between, ours(0.75, 0.875))
    values = [metric["value"] for result in yaml.safe_load(after)["model-index"][0]["results"] for metric in result["metrics"]]
    assert values == [88.1, 0.5, 0.75, 0.875, 1]
    assert after.replace("".join(_own_lines(after)), "") == between.replace("".join(_own_lines(between)), "")


def _own_lines(text: str) -> list[str]:
    """The lines of our results: they stand together here, from a line of the task x to its source."""
    lines = text.splitlines(keepends=True)
    places = [i for i, line in enumerate(lines) if line.strip() == "type: x"]
    return [line for i in places for line in lines[i - 1 : i + 6]]


@every("index", ["", "model-index:\n", "model-index: ~\n", "model-index: null # to do\n", "model-index: []\n", "model-index: # soon\n"])
@every("below", ["", "license: mit\n", "# a last word\n"])
def test_an_index_that_is_not_there_yet(index: str, below: str) -> None:
    front = "language: no\n" + index + below
    after = changed(front, ours(0.5))
    assert yaml.safe_load(after) == {**yaml.safe_load(front), "model-index": [{"name": "m", "results": [plain(0.5)]}]}
    comments = [line.partition("#")[2] for line in front.splitlines() if "#" in line]
    assert all(f"#{comment}" in after for comment in comments)


@pytest.mark.parametrize("results", ["", "  results:\n", "  results: []\n", "  results: ~  # none yet\n"])
def test_a_model_without_results(results: str) -> None:
    front = f"model-index:\n- name: m\n{results}- name: other\n  results: []\n"
    after = changed(front, ours(0.5))
    assert yaml.safe_load(after)["model-index"] == [{"name": "m", "results": [plain(0.5)]}, {"name": "other", "results": []}]


def test_another_model_is_added_and_the_first_one_keeps_ours() -> None:
    first = changed("", ours(0.5))
    both = changed(first, ours(0.25, name="other"))
    assert both.startswith(first)
    assert names(both, "README.md") == ["m", "other"]
    assert changed(both, ours(0.5)) == both, "the other model's results are not touched by the first one's"


def test_a_metric_of_ours_that_a_tool_put_among_others() -> None:
    """huggingface_hub groups metrics by task and dataset when it saves a card."""
    front = (
        "model-index:\n- name: m\n  results:\n  - task: {type: x}\n    metrics:\n    - type: paper\n      value: 3\n"
        "    - type: acc\n      value: 0.5\n      args:\n        source: steelyard\n    - type: last\n      value: 4\n"
    )
    results = yaml.safe_load(changed(front, ours(0.25)))["model-index"][0]["results"]
    assert [metric["value"] for metric in results[0]["metrics"]] == [3, 4]
    assert results[1] == plain(0.25)


@every(
    ("front", "got"),
    [
        ("license: [mit\n", "line 3"),
        ("a: b: c\n", "line 2"),
        ("- a\n- b\n", "not a mapping"),
        ("{license: mit}\n", "not a mapping"),
        ("model-index: {a: 1}\n", "not a list in block style"),
        ("model-index: [{name: m, results: []}]\n", "not a list in block style"),
        ("model-index:\n- {name: m, results: []}\n", "written in braces"),
        ("model-index:\n- name: m\n  results: [{task: {type: x}}]\n", "not a list in block style"),
        ("model-index: []\nmodel-index: []\n", "is there twice"),
        ("model-index:\n- name: m\n- name: m\n", "is there twice"),
        ("a: 1\n--- \nb: 1\n", "expected"),
        ("a: \x07\n", "special characters"),
        ("a: " + "[" * 1200 + "\n", "levels"),
    ],
)
def test_malformed_is_refused(front: str, got: str) -> None:
    with pytest.raises(SourceError, match="nothing was written") as error:
        with_results(front, ours(0.5), "\n", "README.md")
    assert got in str(error.value)
    assert "README.md" in str(error.value)


def test_an_anchor_that_somebody_else_uses_is_not_torn_out() -> None:
    """Our result was given an anchor by hand, and is used elsewhere: it cannot go without breaking the other."""
    front = changed("", ours(0.5)).replace("- task:", "- &ours\n    task:") + "copy: *ours\n"
    assert yaml.safe_load(front)["copy"]["task"] == {"type": "x"}
    with pytest.raises(SourceError, match="undefined alias"):
        with_results(front, ours(0.25), "\n", "README.md")


def test_a_text_of_aliases_does_not_explode() -> None:
    bomb = "a: &a [1, 1]\n" + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join([f'*{chr(97 + i)}'] * 9)}]\n" for i in range(20))
    assert changed(bomb, ours(0.5)).startswith(bomb)


def _front(draw: random.Random) -> tuple[str, list[str]]:
    """A front matter as tools and people leave it, with results of ours among others; and the lines that are not ours."""
    own, others, lines = ours(0.125).items[0], [], []
    margin, deep = " " * draw.choice([0, 2]), " " * draw.choice([0, 2])
    lines += draw.sample(["license: mit", "tags:", "# a comment", "language: [en, no]"], draw.randint(0, 4))
    lines = [line + ("\n  - a\n  - b # c" if line == "tags:" else "") for line in lines]
    lines += [f"model-index:{draw.choice(['', '  # index'])}", f"{margin}- name: m", f"{margin}  results:"]
    foreign = [
        ["- task:", "    type: y", "  # theirs", "  metrics:", "  - type: a", "    value: 1e-3"],
        ["- task: {type: z}", "", "  metrics: []"],
    ]
    for _ in range(draw.randint(1, 4)):
        mine = draw.random() < 0.5
        lines += [f"{margin}  {deep}{line}" + ("\x00" if mine else "") for line in (own if mine else draw.choice(foreign))]
        lines += [f"{margin}  {deep}# between"] * draw.randint(0, 1)
    lines += draw.sample(["# after", "datasets:\n- squad", "text: |\n  - x\n\n  # no comment"], draw.randint(0, 3))
    others = [line for line in lines if "\x00" not in line]
    return "\n".join(lines).replace("\x00", "") + "\n", "\n".join(others).splitlines()


@every("seed", range(20))
def test_against_a_plain_merge(seed: int) -> None:
    """An oracle that loads, filters and appends; and every line of others in its order, in both kinds of line ends."""
    draw = random.Random(seed)
    front, others = _front(draw)
    new = ours(*[draw.random() for _ in range(draw.randint(1, 3))])
    newline = draw.choice(["\n", "\r\n"])
    after = changed(front.replace("\n", newline), new, newline)
    assert "\r" not in after.replace("\r\n", "")
    assert (newline == "\n") == ("\r" not in after)
    found, before = yaml.safe_load(after), yaml.safe_load(front)
    results, old = found["model-index"][0]["results"], before["model-index"][0]["results"]

    def is_ours(result: dict[str, Any]) -> bool:
        return any("args" in metric for metric in result["metrics"])

    assert [each for each in results if not is_ours(each)] == [each for each in old if not is_ours(each)]
    assert [each for each in results if is_ours(each)] == yaml.safe_load("\n".join(line for item in new.items for line in item))
    del found["model-index"], before["model-index"]
    assert found == before
    rest = iter(after.splitlines())
    assert all(line in rest for line in others), "a line of others is lost or moved"
    assert len(after.splitlines()) == len(others) + sum(map(len, new.items))
