"""Imports: every row of the other suites arrives, and what does not is told."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from steelyard_old.errors import SourceError
from steelyard_old.reference.importing import import_trtllm, import_vllm
from steelyard_old.reference.lookup import duplicates
from steelyard_old.reference.task_file import load_task_file, task_file_of, with_entry

REAL = Path(__file__).parent / "trtllm"

# The schema of vLLM's .buildkite/lm-eval-harness/configs/*.yaml, with names and numbers of our own.
VLLM = """\
# how it was measured
model_name: "some-org/Some-8B-Instruct-FP8"
tasks:
- name: "gsm8k"
  metrics:
  - name: "exact_match,strict-match"
    value: 0.755
  - name: "exact_match,flexible-extract"
    value: 0.760
limit: 1000
num_fewshot: 5
rtol: 0.05
max_model_len: 4096
"""
SINGLE = """\
model_name: "some-org/Vision-7B"
tasks:
- name: "chartqa"
  metrics:
  - name: "relaxed_accuracy,none"
    value: 0.8
- name: "wikitext"
  metrics:
  - name: word_perplexity,none
    value: 8.5
limit: 0.5
apply_chat_template: true
"""


def test_a_directory_of_trtllm() -> None:
    found = import_trtllm(REAL)
    assert len(found.tasks) == 16
    assert sum(map(len, found.tasks.values())) == 589 + 11
    assert found.tasks["mmlu"] == list(load_task_file(REAL / "mmlu.yaml").entries)
    assert found.verbatim["mmlu"].encode() == (REAL / "mmlu.yaml").read_bytes()
    assert set(found.tasks) - set(found.verbatim) == {"acceptance_length"}
    assert found.warnings == []


def test_acceptance_lengths_become_thresholds() -> None:
    """Golden: PyYAML's reading of the file."""
    rows = yaml.safe_load((REAL / "acceptance_length.yaml").read_text())
    entries = import_trtllm(REAL / "acceptance_length.yaml").tasks["acceptance_length"]
    assert {e.model: {"ref_al": e.value, "min_al": e.threshold} for e in entries} == rows
    assert {(e.value_key, e.scale, e.higher_is_better) for e in entries} == {("acceptance_length", "raw", True)}
    text = ""
    for entry in entries:
        text = with_entry(task_file_of(text.encode(), "t"), entry)
    assert [e.to_plain() for e in task_file_of(text.encode(), "t").entries] == [e.to_plain() for e in entries]


def test_a_floor_alone_is_an_entry(tmp_path: Path) -> None:
    (tmp_path / "acceptance_length.yaml").write_text("T::a:\n  ref_al: null\n  min_al: 1.5 # set by hand\n")
    found = import_trtllm(tmp_path)
    (entry,) = found.tasks["acceptance_length"]
    assert (entry.value, entry.threshold) == (None, 1.5)
    assert found.warnings == [f"{tmp_path / 'acceptance_length.yaml'}: 1 comment is not imported"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: {ref_al: 1, min_al: x}", "line 1: expected a number, not 'x'"),
        ("a: {ref_al: 1, minimum: 1}", "unknown key 'minimum'"),
        ("a: {ref_al: 1}\nb: 3", "line 2.*ref_al and min_al"),
        ("a: {ref_al: null, min_al: ~}", "neither ref_al nor min_al"),
        ("a: {score: 1}", "a list of entries"),
    ],
)
def test_other_shapes_are_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "acceptance_length.yaml").write_text(text)
    with pytest.raises(SourceError, match=words):
        import_trtllm(tmp_path)


def test_nothing_to_import(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"The directory .* has no YAML files\."):
        import_trtllm(tmp_path)
    with pytest.raises(SourceError, match=r"No such file: .*\."):
        import_vllm(tmp_path / "absent.yaml")
    (tmp_path / "a.yaml").write_text("{}")
    (tmp_path / "a.yml").write_text("{}")
    with pytest.raises(SourceError, match="a second file for the task 'a'"):
        import_trtllm(tmp_path)


def test_a_configuration_of_vllm(tmp_path: Path) -> None:
    path = tmp_path / "Some-8B.yaml"
    path.write_text(VLLM)
    found = import_vllm(path)
    strict, flexible = found.tasks["gsm8k"]
    assert (strict.model, strict.value, strict.value_key) == ("some-org/Some-8B-Instruct-FP8", 0.755, "accuracy")
    assert (strict.scale, strict.num_samples, strict.line) == ("fraction", 1000, 6)
    assert strict.protocol == {"num_fewshot": "5", "metric": "exact_match", "filter": "strict-match"}
    assert strict.reference_note == "imported from Some-8B.yaml; there the gate was rtol 0.05"
    assert flexible.spec == {"extra_acc_spec": "exact_match,flexible-extract"}
    assert not duplicates(found.tasks["gsm8k"])
    assert found.warnings == [
        f"{path}: rtol 0.05 is kept as a note; the check uses a statistical test instead",
        f"{path}, line 13: max_model_len cannot be imported",
        f"{path}: 1 comment is not imported",
    ]


def test_a_directory_of_vllm(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(VLLM)
    (tmp_path / "b.yaml").write_text(SINGLE)
    found = import_vllm(tmp_path)
    assert {task: len(entries) for task, entries in found.tasks.items()} == {"gsm8k": 2, "chartqa": 1, "wikitext": 1}
    (chart,), (wiki,) = found.tasks["chartqa"], found.tasks["wikitext"]
    assert (chart.spec, chart.num_samples) == ({}, None)
    assert chart.protocol == {"apply_chat_template": "true", "metric": "relaxed_accuracy", "filter": "none"}
    assert (wiki.value_key, wiki.metric, wiki.scale) == ("word_perplexity", "word_perplexity", "raw")
    assert any("limit 0.5 is not a number of items" in sentence for sentence in found.warnings)


def test_what_was_imported_can_be_written_and_read(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(VLLM)
    (tmp_path / "b.yaml").write_text(SINGLE)
    for entries in import_vllm(tmp_path).tasks.values():
        text = ""
        for entry in entries:
            text = with_entry(task_file_of(text.encode(), "t"), entry)
        read = task_file_of(text.encode(), "t").entries
        assert [(e.model, e.to_plain()) for e in read] == [(e.model, e.to_plain()) for e in entries]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- 1", "model_name and tasks"),
        ("tasks: []", "model_name"),
        ("model_name: m", "tasks is missing, empty or not a list"),
        ("model_name: m\ntasks: [a]", "line 2.*tasks must each have keys"),
        ("model_name: m\ntasks:\n- metrics: []", "line 3.*name"),
        ("model_name: m\ntasks:\n- name: t\n  metrics:\n  - name: acc", "line 5.*'acc' has no value"),
        ("model_name: m\ntasks:\n- name: t\n  metrics:\n  - {name: acc, value: 75}", "line 5.*a fraction"),
        ("model_name: m\ntasks:\n- name: t\n  metrics:\n  - {name: acc, value: high}", "line 5.*'high'"),
    ],
)
def test_configurations_of_another_shape(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(SourceError, match=words):
        import_vllm(tmp_path)
