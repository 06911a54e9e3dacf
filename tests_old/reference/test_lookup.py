"""Matching: the entry with exactly this spec, or an error that says what is nearest and where."""

from __future__ import annotations

import itertools
import random
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

from cases import every
from steelyard_old.errors import AmbiguityError, UsageError
from steelyard_old.reference.entry import SPEC_DEFAULTS, Entry
from steelyard_old.reference.lookup import NoReferenceError, duplicates, explain, find_entry, same_value
from steelyard_old.reference.task_file import load_task_file

REAL = Path(__file__).parent / "trtllm"
LLAMA = "meta-llama/Llama-3.1-8B-Instruct"


def entry(line: int, value: float | None = 1.0, model: str = "m", **spec: Any) -> Entry:
    return Entry(model=model, value=value, spec=spec, line=line)


def test_the_real_files_have_these_references() -> None:
    """Golden: the values of the files, as a reader of them finds them."""
    mmlu = load_task_file(REAL / "mmlu.yaml").entries
    assert find_entry(mmlu, LLAMA, {}).entry.value == 68.17
    assert find_entry(mmlu, LLAMA, {"dtype": "auto", "quant_algo": None}).entry.value == 68.17
    assert find_entry(mmlu, LLAMA, {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}).entry.value == 67.87


def test_a_key_that_nobody_asked_for_is_a_difference() -> None:
    """The original ignores it and takes the first entry."""
    rows = [entry(2, 10.0, quant_algo="FP8", spec_dec_algo="MTP"), entry(3, 20.0, quant_algo="FP8")]
    assert find_entry(rows, "m", {"quant_algo": "FP8"}).entry.line == 3
    with pytest.raises(NoReferenceError, match=r"line 3: quant_algo is FP8, asked null \| line 2: "):
        find_entry(rows, "m", {})


class Algorithm(StrEnum):
    FP8 = "FP8"


@every(
    ("recorded", "asked", "equal"),
    [
        ("FP8", "FP8", True),
        ("FP8", Algorithm.FP8, True),
        ("FP8", "fp8", False),
        (4, "4", True),
        ("4", 4, True),
        (4, 4.0, True),
        (4, "4.0", True),
        ("4", "4.0", False),
        (0.1, "0.10", True),
        (True, "true", True),
        (True, "True", True),
        (True, 1, False),
        (True, "1", False),
        ("true", True, True),
        (False, None, False),
        (4, "+4", False),
        (10, "012", False),
    ],
)
def test_values_compare_as_people_write_them(recorded: object, asked: object, equal: bool) -> None:
    assert same_value(recorded, asked) is equal
    assert same_value(asked, recorded) is equal
    rows = [entry(2, max_draft_len=recorded)]
    assert explain(rows, "m", {"max_draft_len": asked})[0].matches is equal


@pytest.mark.parametrize("absent", [{}, {"dtype": "auto"}, {"dtype": None}, {"dtype": "null"}, {"quant_algo": "null"}])
def test_null_and_defaults_are_absent(absent: dict[str, Any]) -> None:
    assert find_entry([entry(2)], "m", absent).entry.line == 2


def test_unknown_spec_keys_are_errors() -> None:
    with pytest.raises(UsageError, match="Did you mean quant_algo"):
        find_entry([entry(2)], "m", {"quant_alg": "FP8"})
    with pytest.raises(UsageError, match="spec_keys in steelyard"):
        find_entry([entry(2)], "m", {"hardware": "h20"})
    with pytest.raises(UsageError, match="a list"):
        find_entry([entry(2)], "m", {"dtype": ["a"]})
    rows = [entry(2), entry(3, hardware="h20")]
    assert find_entry(rows, "m", {"hardware": "h20"}, spec_keys=("hardware",)).entry.line == 3
    assert find_entry(rows, "m", {}, spec_keys=("hardware",)).entry.line == 2


def test_no_model_names_the_nearest() -> None:
    mmlu = load_task_file(REAL / "mmlu.yaml").entries
    with pytest.raises(NoReferenceError) as caught:
        find_entry(mmlu, "meta-llama/llama-3.1-8b-instruct", {}, file="references/mmlu.yaml")
    assert repr(LLAMA) in caught.value.need
    assert caught.value.hint.startswith(f"did you mean {LLAMA!r}")  # a name that was mistyped is not to be recorded
    with pytest.raises(NoReferenceError, match="no models recorded"):
        find_entry([], "m", {})


def test_no_match_names_the_nearest_entries_and_their_lines() -> None:
    mmlu = load_task_file(REAL / "mmlu.yaml").entries
    with pytest.raises(NoReferenceError) as caught:
        find_entry(mmlu, LLAMA, {"quant_algo": "FP8", "kv_cache_quant_algo": "INT8"}, file="mmlu.yaml")
    line = find_entry(mmlu, LLAMA, {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}).entry.line
    assert f"line {line}: kv_cache_quant_algo is FP8, asked INT8" in caught.value.need
    assert caught.value.hint.endswith("spec={'quant_algo': 'FP8', 'kv_cache_quant_algo': 'INT8'})")


def test_twins_of_one_value_warn_and_of_two_values_are_refused() -> None:
    found = find_entry([entry(2), entry(5), entry(7, dtype="x")], "m", {}, file="t.yaml")
    assert found.entry.line == 2
    assert found.warnings == ("'m' has the same entry 2 times in 't.yaml', in lines 2, 5; the first is used",)
    assert found.explanation == "line 2 in 't.yaml' with the default spec; 1 other entry of the model differs"
    with pytest.raises(AmbiguityError, match=r"line 2 \(accuracy 1.0\), line 5 \(accuracy 2.0\)"):
        find_entry([entry(2), entry(5, 2.0)], "m", {})
    other = Entry(model="m", value=1.0, num_samples=300, line=5)
    with pytest.raises(AmbiguityError, match="line 5"):  # the same value, another threshold
        find_entry([entry(2), other], "m", {})


def test_the_real_files_have_one_pair_of_twins() -> None:
    """The survey of these files: GPQA has Llama-3.3-70B in FP8 with an FP8 cache twice."""
    found = {path.stem: duplicates(load_task_file(path).entries) for path in REAL.glob("*.yaml") if path.stem != "acceptance_length"}
    twins = {task: groups for task, groups in found.items() if groups}
    assert list(twins) == ["gpqa_diamond"]
    assert [[(e.model, e.line, e.value) for e in group] for group in twins["gpqa_diamond"]] == [
        [("meta-llama/Llama-3.3-70B-Instruct", 6, 48.03), ("meta-llama/Llama-3.3-70B-Instruct", 11, 48.03)]
    ]


def test_explain_tells_every_key() -> None:
    (first, second) = explain([entry(2), entry(3, quant_algo="FP8"), entry(4, model="other")], "m", {"quant_algo": "FP8"})
    assert (first.matches, second.matches) == (False, True)
    assert first.differ == {"quant_algo": ("FP8", None)}
    assert set(first.agree) | set(first.differ) == set(SPEC_DEFAULTS)
    assert str(first) == "line 2: quant_algo is null, asked FP8"
    assert str(second) == "line 3: matches"


def oracle(rows: list[Entry], asked: dict[str, Any]) -> list[Entry]:
    """By brute force: spell every default out, then compare whole dictionaries of texts."""

    def whole(spec: Any) -> dict[str, str]:
        return {key: str(spec.get(key) if spec.get(key) is not None else default) for key, default in SPEC_DEFAULTS.items()}

    return [row for row in rows if whole(row.spec) == whole(asked)]


def test_agrees_with_brute_force() -> None:
    rng = random.Random(5)
    keys = ["dtype", "quant_algo", "max_draft_len"]
    values = [[None, "auto", "bf16"], [None, "FP8"], [None, 4, "4"]]
    specs = [{k: v for k, v in zip(keys, chosen, strict=True) if v is not None} for chosen in itertools.product(*values)]
    outcomes = set()
    for _ in range(300):
        rows = [entry(i + 2, float(rng.randrange(2)), **rng.choice(specs)) for i in range(rng.randrange(1, 5))]
        asked = rng.choice(specs)
        expected = oracle(rows, asked)
        kinds = {row.value for row in expected}
        if not expected:
            with pytest.raises(NoReferenceError):
                find_entry(rows, "m", asked)
        elif len(kinds) > 1:
            with pytest.raises(AmbiguityError):
                find_entry(rows, "m", asked)
        else:
            found = find_entry(rows, "m", asked)
            assert found.entry is expected[0]
            assert bool(found.warnings) == (len(expected) > 1)
        outcomes.add((bool(expected), len(kinds) > 1, len(expected) > 1))
        grouped = {id(row): tuple(oracle(rows, dict(row.spec))) for row in rows}
        assert {tuple(map(id, group)) for group in duplicates(rows)} == {tuple(map(id, g)) for g in grouped.values() if len(g) > 1}
    assert len(outcomes) == 4  # nothing, one, twins, two values
