"""Names of tasks and outcomes: what is allowed, and that nothing leads out of the directory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard_old.errors import UsageError
from steelyard_old.reference.names import LONGEST, canonical_spec, history_path, inside, items_directory, outcomes_name, task_path

GOOD = ["gsm8k", "mmlu-pro_v1.1", "cnn_dailymail", "_x", "ä", "naïve", "任务", "हिन्दी", "a" * LONGEST, "console", "x.items"]
BAD = [
    "",
    ".",
    "..",
    ".hidden",
    "-x",
    "a/b",
    "a\\b",
    "/etc/passwd",
    "../x",
    "a..b",
    "a.",
    "a b",
    "a\n",
    "a\0b",
    "a\x1b[31m",
    "C:x",
    "a:b",
    "con",
    "NUL",
    "com1",
    "Lpt9.v2",
    "a" * (LONGEST + 1),
    "ä" * (LONGEST // 2 + 1),
    "a\u0308",  # decomposed
    "\u0308a",
    "a\u202eb",  # turns the direction of writing
    "a\ud800",
    "*",
    "a?",
]


@pytest.mark.parametrize("task", GOOD)
def test_a_task_is_a_file_of_the_directory(tmp_path: Path, task: str) -> None:
    assert task_path(tmp_path, task) == tmp_path / f"{task}.yaml"
    assert items_directory(tmp_path, task) == tmp_path / f"{task}.items"
    assert history_path(tmp_path, task) == tmp_path / f"{task}.history.jsonl"
    task_path(tmp_path, task).write_bytes(b"")


@pytest.mark.parametrize("task", BAD)
def test_a_name_that_is_no_file_everywhere_is_refused(tmp_path: Path, task: str) -> None:
    with pytest.raises(UsageError, match="The name of the task must be"):
        task_path(tmp_path, task)


@given(st.text(max_size=20))
def test_any_text_is_refused_or_stays_inside(task: str) -> None:
    home = Path("references")
    try:
        path = task_path(home, task)
    except UsageError:
        return
    assert path.parent == home
    assert os.path.dirname(os.path.realpath(path)) == os.path.realpath(home)


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/etc/passwd", "a//b", "./a", "a/", "", "a\\..\\b", "C:x", "a\0", "a\nb"])
def test_relative_names_cannot_climb(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="relative path inside"):
        inside(tmp_path, name)


def test_links_that_leave_the_directory_are_refused(tmp_path: Path) -> None:
    home, outside = tmp_path / "references", tmp_path / "outside"
    home.mkdir()
    outside.mkdir()
    (outside / "secret.yaml").write_text("x")
    (home / "t.yaml").symlink_to(outside / "secret.yaml")
    (home / "new.yaml").symlink_to(outside / "not there yet")
    (home / "d.items").symlink_to(outside)
    (home / "loop.yaml").symlink_to(home / "loop.yaml")
    for task in ("t", "new"):
        with pytest.raises(UsageError, match=r"is a link out of the directory .*, to .*\."):
            task_path(home, task)
    with pytest.raises(UsageError, match=r"is a link out of the directory .*, to .*\."):
        items_directory(home, "d")
    with pytest.raises(UsageError, match=r"is a link out of the directory .*, to .*\."):
        inside(home, "d.items/x.outcomes")
    with pytest.raises(UsageError, match="Cannot open"):
        task_path(home, "loop")


def test_links_inside_and_a_directory_that_is_a_link_are_welcome(tmp_path: Path) -> None:
    home = tmp_path / "references"
    home.mkdir()
    (home / "a.yaml").write_text("x")
    (home / "b.yaml").symlink_to("a.yaml")
    assert task_path(home, "b").read_text() == "x"
    (tmp_path / "link").symlink_to(home)
    assert task_path(tmp_path / "link", "a").read_text() == "x"


def test_a_neighbour_whose_name_begins_alike_is_outside(tmp_path: Path) -> None:
    (tmp_path / "references").mkdir()
    (tmp_path / "references-old").mkdir()
    (tmp_path / "references" / "t.yaml").symlink_to(tmp_path / "references-old" / "t.yaml")
    with pytest.raises(UsageError, match=r"is a link out of the directory .*, to .*\."):
        task_path(tmp_path / "references", "t")


def test_names_of_outcomes_are_stable() -> None:
    # Written into repositories, so these never change. The digits: printf %s '["m", "{}"]' | sha256sum
    assert outcomes_name("meta-llama/Llama-3.1-8B", {"quant_algo": "FP8"}) == "meta-llama-llama-3-1-8b-fp8-942c0ff2fb"
    assert outcomes_name("m", {}) == outcomes_name("m", {"dtype": "auto", "quant_algo": None}) == "m-2a00a3afb2"


def test_each_model_and_spec_has_its_own_name() -> None:
    cases = [
        ("a/b", {}),
        ("a-b", {}),
        ("A/b", {}),
        ("a/b", {"dtype": "fp8"}),
        ("a/b", {"quant_algo": "fp8"}),
        ("a/b", {"mtp_enabled": True}),
        ("a/b", {"mtp_enabled": "True"}),
        ("a/b", {"max_draft_len": 1}),
        ("任务", {}),
        ("模型", {}),
        ("x" * 300, {}),
        ("x" * 301, {}),
    ]
    names = [outcomes_name(model, spec) for model, spec in cases]
    assert len(set(names)) == len(names)
    assert all(len(name) <= 80 and name.isascii() and name[0].isalnum() for name in names)
    assert outcomes_name("a", {"x": 1, "b": 2}) == outcomes_name("a", {"b": 2, "x": 1})


def test_what_cannot_be_a_spec_is_refused() -> None:
    with pytest.raises(UsageError, match="The spec must hold"):
        canonical_spec({"x": {1, 2}})
    with pytest.raises(UsageError, match="The spec must hold"):
        canonical_spec({"x": float("nan")})
    with pytest.raises(UsageError, match="model="):
        outcomes_name("", {})
