"""References listed, shown, imported, removed, renamed, approved, and their history: numbers by hand and by the original's tables."""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from histories import changes_in
from steelyard.errors import AmbiguityError, DataError, SourceError, SteelyardError, UsageError
from steelyard.questions.references.changes import approve_reference, remove_reference, rename_reference
from steelyard.questions.references.detectable import gate_of
from steelyard.questions.references.history import chronicles, reference_history
from steelyard.questions.references.importing import import_references
from steelyard.questions.references.listing import list_references, show_reference
from steelyard.reference.changes import Change, followed
from steelyard.reference.entry import Entry, TaskDefaults
from steelyard.reference.task_file import load_task_file
from steelyard.results.base import Warnings

REAL = Path(__file__).parents[2] / "reference" / "trtllm"
LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
CONFIG = """
[tasks.mmlu]
alpha = 0.05
beta = 0.2
sigma = 50
num_samples = 4096
scale = "percent"
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "references").mkdir()
    return tmp_path


def put(here: Path, task: str, text: str) -> Path:
    path = here / "references" / f"{task}.yaml"
    path.write_text(text)
    return path


def lines(here: Path, task: str) -> tuple[Change, ...]:
    return changes_in(here / "references" / f"{task}.history.jsonl")


def run(here: Path, name: str, right: int, n: int = 40) -> str:
    path = here / f"{name}.jsonl"
    path.write_text("".join(json.dumps({"id": f"q{i:03}", "score": int(i < right)}) + "\n" for i in range(n)))
    return str(path)


# ---- the gate: what the original computes -----------------------------------------------------------------------------


# From the accuracy suite's own tables (alpha .05, beta .2): reference, sigma, n, threshold, theta.
ORIGINAL = [
    (68.17, 50.0, 4096, 66.352676, 2.747193),
    (74.20, 50.0, 1319, 70.997492, 4.841124),
]


@pytest.mark.parametrize(("value", "sigma", "n", "threshold", "theta"), ORIGINAL)
def test_gate_has_the_threshold_and_theta_of_the_original(value: float, sigma: float, n: int, threshold: float, theta: float) -> None:
    entry = Entry(model="m", value=value, num_samples=n, sigma=sigma, alpha=0.05, beta=0.2)
    _, gate = gate_of(entry, TaskDefaults(), Warnings())
    assert (gate.threshold, gate.mde) == (pytest.approx(threshold, abs=5e-4), pytest.approx(theta, abs=5e-4))


@pytest.mark.parametrize("value", [10.0, 50.0, 68.17, 95.0])
@pytest.mark.parametrize("higher", [True, False])
def test_the_listed_threshold_is_where_check_turns(here: Path, value: float, higher: bool) -> None:
    rule = f"num_samples: 500\n    sigma: 40\n    scale: percent\n    higher_is_better: {str(higher).lower()}"
    put(here, "t", f"m:\n  - accuracy: {value}\n    {rule}\n")
    (row,) = list_references().rows
    beyond = row["threshold"] - 1e-9 if higher else row["threshold"] + 1e-9
    assert sy.check(value=row["threshold"], task="t", model="m").verdict == "pass"
    assert sy.check(value=beyond, task="t", model="m").verdict == "regression"
    assert sy.check(value=value, task="t", model="m").mde == row["mde"]


def test_a_floor_is_its_own_threshold_and_finds_nothing_in_particular() -> None:
    _, gate = gate_of(Entry(model="m", value=2.5, threshold=2.4, value_key="acceptance_length"), TaskDefaults(), Warnings())
    assert (gate.design, gate.threshold, gate.mde) == ("threshold", 2.4, None)


def test_a_gate_that_cannot_be_computed_says_why() -> None:
    _, gate = gate_of(Entry(model="m", value=50.0), TaskDefaults(), Warnings())
    assert gate.threshold is None
    assert "The number of samples is not known, so there is no threshold." in gate.note
    rule, gate = gate_of(Entry(model="m", value=50.0, alpha=0.9), TaskDefaults(), Warnings())
    assert rule is None
    assert "alpha" in gate.note


# ---- list and show ------------------------------------------------------------------------------------------------------


def test_list_has_every_real_row(here: Path) -> None:
    shutil.copytree(REAL, here / "real")
    found = list_references(directory=here / "real")
    files = [path for path in REAL.glob("*.yaml") if path.stem != "acceptance_length"]
    assert len(found.rows) == sum(len(load_task_file(path).entries) for path in files) == 589
    assert [warning for warning in found.warnings if "acceptance_length" in warning]
    assert len(list_references("mmlu", directory=here / "real").rows) == 158


def test_list_says_what_a_recorded_row_holds(here: Path) -> None:
    sy.record(run(here, "a", 30), task="t", model="m", reason="first", deterministic=True)
    (row,) = list_references("t").rows
    assert row["value"] == 0.75
    assert (row["n"], row["runs"], row["items"], row["design"]) == (40, 1, True, "paired")
    assert row["bare_score_threshold"] < row["value"]
    assert row["recorded"]
    assert list_references().to_dict()["kind"] == "references"


def test_threshold_names_one_number_what_a_bare_score_is_held_to_has_another_name(here: Path) -> None:
    """A paired run may be a regression above what a bare score would be held to: the list does not call that the threshold."""
    sy.record(run(here, "a", 155, n=200), task="t", model="m", deterministic=True)
    verdict = sy.check(run(here, "b", 150, n=200), task="t", model="m")
    (row,) = list_references("t").rows
    assert verdict.verdict == "regression"
    assert verdict.candidate["value"] > row["bare_score_threshold"]
    assert verdict.threshold is not None
    assert verdict.candidate["value"] < verdict.threshold
    assert row["threshold"] is None
    shown = show_reference("t", "m")
    assert shown.gate is not None
    assert (shown.gate["threshold"], shown.gate["bare_score_threshold"]) == (None, row["bare_score_threshold"])
    for text in (str(list_references("t")), str(shown)):
        assert text.count("bare-score threshold") >= 1
    assert sy.check(value=verdict.candidate["value"], task="t", model="m").threshold == pytest.approx(row["bare_score_threshold"], abs=2e-3)


def test_the_threshold_of_a_number_alone_is_that_of_a_bare_score(here: Path) -> None:
    sy.record(run(here, "a", 30), task="t", model="m", items=False)
    (row,) = list_references("t").rows
    assert row["threshold"] == row["bare_score_threshold"] == sy.check(value=0.75, task="t", model="m").threshold


def test_an_empty_directory_is_an_empty_list_and_a_missing_task_is_an_error(here: Path) -> None:
    assert list_references().rows == ()
    with pytest.raises(SourceError, match=r"sy\.record"):
        list_references("nope")
    with pytest.raises(UsageError, match="name of the task"):
        list_references("../etc/passwd")


def test_show_names_the_source_of_each_number(here: Path) -> None:
    (here / "steelyard.toml").write_text(CONFIG + "theta = 3.0\n")
    put(here, "mmlu", "m:\n  - accuracy: 68.17\n    alpha: 0.01\n")
    shown = show_reference("mmlu", "m")
    assert {number["name"]: (number["value"], number["source"]) for number in shown.rule} == {
        "metric": ("accuracy", "entry"),
        "higher_is_better": (True, "metric"),
        "scale": ("percent", "task"),
        "alpha": (0.01, "entry"),
        "beta": (0.2, "task"),
        "sigma": (50.0, "task"),
        "theta": (3.0, "task"),
        "margin": (0.0, "default"),
        "num_samples": (4096, "task"),
        "threshold": (None, "not given"),
    }
    verdict = sy.check(value=68.17, task="mmlu", model="m")
    assert shown.gate is not None
    assert (shown.gate["threshold"], shown.gate["mde"]) == (verdict.threshold, verdict.mde)


def test_show_explains_key_by_key(here: Path) -> None:
    put(here, "t", "m:\n  - accuracy: 0.5\n  - quant_algo: FP8\n    accuracy: 0.4\n")
    shown = show_reference("t", "m", {"quant_algo": "FP8"}, explained=True)
    assert shown.held is not None
    assert [(each["line"], each["matches"]) for each in shown.held] == [(2, False), (3, True)]
    assert shown.held[0]["differ"] == {"quant_algo": {"asked": "FP8", "recorded": None}}
    none = show_reference("t", "m", {"quant_algo": "FP4"}, explained=True)
    assert none.entry is None
    assert none.to_dict()["explain"]
    with pytest.raises(DataError, match="nearest"):
        show_reference("t", "m", {"quant_algo": "FP4"})
    with pytest.raises(DataError, match="'m'"):
        show_reference("t", "mm", explained=True)


# ---- remove, rename, approve ----------------------------------------------------------------------------------------------


def test_remove_takes_the_entry_and_its_outcomes(here: Path) -> None:
    sy.record(run(here, "a", 30), task="t", model="m", reason="first")
    sy.record(run(here, "b", 20), task="t", model="other", reason="first")
    folder = here / "references" / "t.items"
    before = {path.name for path in folder.iterdir()}
    changed = remove_reference("t", "m", reason="retired")
    assert changed.rows[0]["items_removed"] is True
    gone = before - {path.name for path in folder.iterdir()}
    assert [Path(name).suffix for name in gone] == [".outcomes"]  # the items are the other model's too
    assert [entry.model for entry in load_task_file(here / "references" / "t.yaml").entries] == ["other"]
    last = lines(here, "t")[-1]
    assert (last.action, last.model, last.old, last.reason) == ("remove", "m", 0.75, "retired")
    assert sy.check(run(here, "b", 20), task="t", model="other").verdict == "pass"


def test_outcomes_that_another_entry_needs_stay(here: Path) -> None:
    sy.record(run(here, "a", 30), task="t", model="m", reason="first")
    path = here / "references" / "t.yaml"
    (entry,) = load_task_file(path).entries
    path.write_text(path.read_text() + f"twin:\n  - accuracy: 0.75\n    items: {entry.items}\n")
    changed = remove_reference("t", "m", reason="retired")
    assert changed.rows[0]["items_removed"] is False
    assert "uses them too" in changed.warnings[0]
    assert (here / "references" / str(entry.items)).exists()


def test_remove_keeps_comments_and_everybody_else(here: Path) -> None:
    path = put(
        here, "t", "# head\na:\n  - accuracy: 1.5 # mine\n# between\nb:\n  - accuracy: 2.5\n  - quant_algo: FP8\n    accuracy: 2.25\n"
    )
    remove_reference("t", "b", {"quant_algo": "FP8"}, reason="r")
    assert path.read_text() == "# head\na:\n  - accuracy: 1.5 # mine\n# between\nb:\n  - accuracy: 2.5\n"


def test_entries_that_no_spec_tells_apart_are_removed_by_line(here: Path) -> None:
    path = put(here, "t", "m:\n  - accuracy: 1.5\n  - accuracy: 2.5\n")
    with pytest.raises(AmbiguityError):
        remove_reference("t", "m", reason="r")
    with pytest.raises(DataError, match="lines 2, 3"):
        remove_reference("t", "m", line=9, reason="r")
    remove_reference("t", "m", line=3, reason="r")
    assert path.read_text() == "m:\n  - accuracy: 1.5\n"
    assert lines(here, "t")[-1].old == 2.5


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: remove_reference("t", "lama", reason="r"), "Did you mean 'llama'?"),
        (
            lambda: remove_reference("t", "llama", {"quant_algo": "FP8"}, reason="r"),
            "the nearest are line 2: quant_algo is null, asked FP8.",
        ),
        (lambda: approve_reference("t", "lama", reason="r"), "Did you mean 'llama'?"),
        (lambda: rename_reference("t", "lama", "x", reason="r"), "No model 'lama' in 'references/t.yaml'."),
    ],
)
def test_what_is_not_there_is_an_error_with_the_nearest(here: Path, ask: Any, said: str) -> None:
    path = put(here, "t", "llama:\n  - accuracy: 1.5\n")
    with pytest.raises(SteelyardError, match=re.escape(said if "Did you" in said else f"{said} Hint: sy.list_references('t')")):
        ask()
    assert path.read_text() == "llama:\n  - accuracy: 1.5\n"
    assert not lines(here, "t")


@pytest.mark.parametrize("reason", ["", "  "])
def test_a_change_needs_a_reason(here: Path, reason: str) -> None:
    put(here, "t", "m:\n  - accuracy: 1.5\n")
    with pytest.raises(UsageError, match="reason"):
        remove_reference("t", "m", reason=reason)


def test_rename_moves_every_entry_and_its_history(here: Path) -> None:
    sy.record(run(here, "a", 30), task="t", model="old", reason="first")
    sy.record(run(here, "b", 20), task="t", model="old", update=True, reason="tokenizer")
    rename_reference("t", "old", "new/name", reason="the hub")
    assert [entry.model for entry in load_task_file(here / "references" / "t.yaml").entries] == ["new/name"]
    (series,) = reference_history("t", "new/name").series
    assert series["values"] == (0.75, 0.5)
    assert [change["action"] for change in series["changes"]] == ["record", "update", "rename"]
    assert sy.check(run(here, "b", 20), task="t", model="new/name").design == "paired"
    with pytest.raises(DataError):
        reference_history("t", "old")


@pytest.mark.parametrize(
    ("new", "said"),
    [
        ("", "The new name must not be empty or have spaces around it: ''."),
        (" x", "The new name must not be empty or have spaces around it: ' x'."),
        ("a\x1bb", "has a control character, U+001B."),
        ("there", "The name 'there' is taken already, in line 3."),
    ],
)
def test_rename_refuses_names_that_cannot_be(here: Path, new: str, said: str) -> None:
    path = put(here, "t", "m:\n  - accuracy: 1.5\nthere:\n  - accuracy: 2.5\n")
    before = path.read_text()
    with pytest.raises(SteelyardError, match=re.escape(said)):
        rename_reference("t", "m", new, reason="r")
    assert path.read_text() == before


def test_approve_stamps_the_entry_and_an_update_takes_it_back(here: Path) -> None:
    sy.record(run(here, "a", 30), task="t", model="m", reason="first")
    approve_reference("t", "m", reason="looked at it")
    (entry,) = load_task_file(here / "references" / "t.yaml").entries
    assert entry.approved is not None
    assert " by " in entry.approved
    assert lines(here, "t")[-1].action == "approve"
    sy.record(run(here, "b", 20), task="t", model="m", update=True, reason="new")
    (entry,) = load_task_file(here / "references" / "t.yaml").entries
    assert entry.approved is None


def test_many_approvals_at_once_lose_none(here: Path) -> None:
    put(here, "t", "".join(f"m{i}:\n  - accuracy: 1.5\n" for i in range(8)))
    threads = [threading.Thread(target=approve_reference, args=("t", f"m{i}"), kwargs={"reason": "r"}) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(entry.approved for entry in load_task_file(here / "references" / "t.yaml").entries)
    assert {change.model for change in lines(here, "t")} == {f"m{i}" for i in range(8)}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_cannot_be_written_changes_nothing(here: Path) -> None:
    path = put(here, "t", "m:\n  - accuracy: 1.5\n")
    (here / "references").chmod(0o500)
    try:
        with pytest.raises(UsageError):
            remove_reference("t", "m", reason="r")
        assert path.read_text() == "m:\n  - accuracy: 1.5\n"
    finally:
        (here / "references").chmod(0o700)


# ---- import ---------------------------------------------------------------------------------------------------------------


def test_the_real_files_import_whole_and_twice_is_once(here: Path) -> None:
    source = here / "source"
    source.mkdir()
    for name in ("gpqa_diamond", "longbench_v2", "acceptance_length"):
        shutil.copy(REAL / f"{name}.yaml", source)
    first = import_references(source, dialect="trtllm")
    assert sum(row["added"] for row in first.rows) == 44  # 30 and 3 rows, 11 acceptance lengths
    copied = here / "references" / "gpqa_diamond.yaml"
    assert copied.read_bytes() == (REAL / "gpqa_diamond.yaml").read_bytes()  # with its comments
    assert any("6, 11" in warning for warning in first.warnings)
    assert len(lines(here, "gpqa_diamond")) == 30
    floors = load_task_file(here / "references" / "acceptance_length.yaml").entries
    assert all(entry.threshold is not None for entry in floors)
    before = {path.name: path.read_bytes() for path in (here / "references").iterdir()}
    again = import_references(source, dialect="trtllm")
    assert (sum(row["added"] for row in again.rows), sum(row["unchanged"] for row in again.rows)) == (0, 44)
    assert {path.name: path.read_bytes() for path in (here / "references").iterdir()} == before


def test_import_never_overwrites_unasked_and_writes_no_file_then(here: Path) -> None:
    there = put(here, "b", "m:\n  - accuracy: 1.5\n    alpha: 0.01\n")
    source = here / "source"
    source.mkdir()
    (source / "a.yaml").write_text("m:\n  - accuracy: 9.5\n")
    (source / "b.yaml").write_text("m:\n  - accuracy: 2.5\n  - quant_algo: FP8\n    accuracy: 3.5\n")
    with pytest.raises(UsageError, match=r"1 entry of 'references/b\.yaml' would get other numbers: m in line 2 has.*update=True"):
        import_references(source, dialect="trtllm")
    assert there.read_text() == "m:\n  - accuracy: 1.5\n    alpha: 0.01\n"
    assert not (here / "references" / "a.yaml").exists()
    done = import_references(source, dialect="trtllm", update=True, reason="newer")
    assert [(row["task"], row["added"], row["replaced"]) for row in done.rows] == [("a", 1, 0), ("b", 1, 1)]
    values = {tuple(entry.spec.values()): entry for entry in load_task_file(there).entries}
    assert values[()].value == 2.5
    assert values[()].first_value == 1.5
    assert values[("FP8",)].value == 3.5
    assert [(change.old, change.new, change.reason) for change in lines(here, "b")] == [(None, 3.5, "newer"), (1.5, 2.5, "newer")]


VLLM = """
model_name: "org/Model-8B"
tasks:
- name: "gsm8k"
  metrics:
  - name: "exact_match,strict-match"
    value: {value}
limit: 1000
num_fewshot: 5
rtol: 0.05
"""


def test_vllm_configurations_import_and_tell_what_has_no_place(here: Path) -> None:
    (here / "c.yaml").write_text(VLLM.format(value=0.754))
    done = import_references(here / "c.yaml", dialect="vllm")
    assert any("rtol" in warning for warning in done.warnings)
    (entry,) = load_task_file(here / "references" / "gsm8k.yaml").entries
    assert (entry.model, entry.value, entry.num_samples) == ("org/Model-8B", 0.754, 1000)


def test_an_import_that_contradicts_itself_is_refused(here: Path) -> None:
    source = here / "source"
    source.mkdir()
    (source / "a.yaml").write_text(VLLM.format(value=0.7))
    (source / "b.yaml").write_text(VLLM.format(value=0.8))
    with pytest.raises(DataError, match=r"Two different entries of 'org/Model-8B' with one spec would go into.* 0\.7 and 0\.8"):
        import_references(source, dialect="vllm", update=True)
    assert not list((here / "references").iterdir())


def test_names_of_imported_tasks_cannot_leave_the_directory(here: Path) -> None:
    (here / "c.yaml").write_text(VLLM.format(value=0.7).replace('"gsm8k"', '"../../gsm8k"'))
    with pytest.raises(UsageError, match="name of the task"):
        import_references(here / "c.yaml", dialect="vllm")
    assert not list((here / "references").iterdir())


def test_unknown_dialect_and_missing_path(here: Path) -> None:
    with pytest.raises(UsageError, match="trtllm or vllm"):
        import_references(here, dialect="helm")
    with pytest.raises(SourceError):
        import_references(here / "nope.yaml", dialect="trtllm")


# ---- history ----------------------------------------------------------------------------------------------------------------


# LongBench-v2 of Llama-3.1-8B-Instruct in TensorRT-LLM: commits 2f526583fb and 457ffac722, both of which lower it.
LOWERED = [(26.48, 26.0, "Move the rocketkv e2e test to post-merge"), (26.0, 25.8, "Adjust RocketKV test threshold")]


def test_history_adds_up(here: Path) -> None:
    put(here, "longbench_v2", f"{LLAMA}:\n  - accuracy: 25.8\n")
    path = here / "references" / "longbench_v2.history.jsonl"
    path.write_bytes(b"".join(Change(action="update", model=LLAMA, old=old, new=new, reason=why).line() for old, new, why in LOWERED))
    (series,) = reference_history("longbench_v2", LLAMA).series
    assert series["values"] == (26.48, 26.0, 25.8)
    assert series["change"] == pytest.approx(-0.68)
    assert (series["first"], series["last"], series["on_file"]) == (26.48, 25.8, 25.8)
    assert reference_history("longbench_v2").to_dict()["kind"] == "reference_history"


def test_history_tells_a_value_that_was_changed_by_hand(here: Path) -> None:
    sy.record(run(here, "a", 30), task="t", model="m", reason="first")
    path = here / "references" / "t.yaml"
    path.write_text(path.read_text().replace("accuracy: 0.75", "accuracy: 0.7"))
    assert any("by hand" in warning and "0.7" in warning for warning in reference_history("t").warnings)


def test_a_removal_ends_a_life() -> None:
    changes = [
        Change(action="record", model="m", new=1.0),
        Change(action="remove", model="m", old=1.0),
        Change(action="record", model="m", new=5.0),
        Change(action="update", model="m", old=5.0, new=6.0),
    ]
    (series,) = chronicles(changes, [])
    assert series["values"] == (5.0, 6.0)
    assert len(series["changes"]) == 4


def test_renames_are_followed_through_several_names_and_back() -> None:
    told = followed(
        [
            Change(action="record", model="a", new=1.0),
            Change(action="rename", model="b", old="a", new="b"),
            Change(action="record", model="a", new=9.0),  # another model that took the free name
            Change(action="rename", model="c", old="b", new="c"),
        ]
    )
    assert [change.model for change in told] == ["c", "c", "a", "c"]


def test_history_of_nobody_names_the_nearest(here: Path) -> None:
    sy.record(run(here, "a", 30), task="t", model="llama", reason="first")
    with pytest.raises(DataError, match="Did you mean 'llama'"):
        reference_history("t", "lama")
    with pytest.raises(SourceError, match="no file"):
        reference_history("nope")
