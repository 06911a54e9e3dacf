"""Real logs of every tool, damaged at random: an answer about every item, or one line of advice that names the file.

`HYPOTHESIS_PROFILE=search python -m pytest tests/read/test_logs_fuzz.py` looks for new damage. What it has found so far is
kept at the end, one test each.
"""

from __future__ import annotations

import functools
import json
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from damage import FILES, KINDS, LOGS, STRANGE, Outcome, asked, beside, command, damaged, measured, nodes, replaced, without
from steelyard.read.logs.inspect_files import Archive

pytestmark = pytest.mark.usefixtures("shared_engine")
quietly = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]
SHORTER = ("cut", "removed")  # may leave a whole log of fewer items, if it is one of lines
JSONS = [file for file in FILES if file.endswith((".json", ".jsonl"))]


@functools.cache
def whole(file: str) -> tuple[bytes, int]:
    """The bytes of a log, and how many items it has."""
    path = LOGS / file
    found = measured(asked(path), *FILES[file])
    assert found.code == 0, found.err
    return path.read_bytes(), found.n


@functools.cache
def parsed(file: str) -> tuple[Any, list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """The value of a JSON file (a list, if it is one of lines), the paths of all its nodes, and of those near the top."""
    text, lines = (LOGS / file).read_text(encoding="utf-8"), file.endswith(".jsonl")
    value = [json.loads(line) for line in text.split("\n") if line.strip()] if lines else json.loads(text)
    paths = [path for path in nodes(value) if not lines or len(path) > 1]
    return value, paths, [path for path in paths if len(path) <= 4]


def spelled(file: str, value: Any) -> bytes:
    return ("".join(json.dumps(row) + "\n" for row in value) if file.endswith(".jsonl") else json.dumps(value)).encode()


def read_again(tmp_path: Path, file: str, bad: bytes) -> Outcome:
    path = tmp_path / file
    if not path.exists():
        assert beside(file, tmp_path) == path
    good = path.read_bytes()
    path.write_bytes(bad)
    try:
        return measured(asked(path), *FILES[file])
    finally:
        path.write_bytes(good)  # for the next one, which may lie beside it


@pytest.mark.parametrize("file", FILES)
@settings(max_examples=4, suppress_health_check=quietly)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 2**32 - 1))
def test_damaged_bytes(tmp_path: Path, file: str, kind: str, seed: int) -> None:
    data, n = whole(file)
    found = read_again(tmp_path, file, damaged(data, kind, random.Random(seed)))
    if found.code == 0 and found.n < n and not found.warnings:
        assert kind in SHORTER
        assert file.endswith((".jsonl", ".json"))


@pytest.mark.parametrize("file", JSONS)
@settings(max_examples=5, suppress_health_check=quietly)
@given(near=st.booleans(), node=st.integers(0, 10**9), new=st.sampled_from(STRANGE))
def test_any_node_of_another_type(tmp_path: Path, file: str, near: bool, node: int, new: Any) -> None:
    value, paths, top = parsed(file)
    place = (top if near else paths)[node % len(top if near else paths)]
    found = read_again(tmp_path, file, spelled(file, replaced(value, place, new)))
    if found.code == 0 and found.n < whole(file)[1]:
        assert found.warnings, place


@pytest.mark.parametrize("file", JSONS)
@settings(max_examples=5, suppress_health_check=quietly)
@given(near=st.booleans(), node=st.integers(0, 10**9))
def test_any_node_gone(tmp_path: Path, file: str, near: bool, node: int) -> None:
    value, paths, top = parsed(file)
    place = (top if near else paths)[node % len(top if near else paths)]
    if place:
        read_again(tmp_path, file, spelled(file, without(value, place)))


@functools.cache
def members(file: str) -> dict[str, bytes]:
    archive = Archive(str(LOGS / file))
    return {name: archive.read(name) for name in archive.names}


@pytest.mark.parametrize("file", ["inspect/arith.eval", "inspect/died.eval"])
@settings(max_examples=25, suppress_health_check=quietly)
@given(member=st.integers(0, 99), near=st.booleans(), node=st.integers(0, 10**9), new=st.sampled_from(STRANGE))
def test_any_node_inside_an_archive(tmp_path: Path, file: str, member: int, near: bool, node: int, new: Any) -> None:
    whole_ones = members(file)
    read_ones = sorted(name for name in whole_ones if not name.startswith(("samples/", "reductions")))
    name = read_ones[member % len(read_ones)]
    value = json.loads(whole_ones[name])
    paths = [path for path in nodes(value) if not near or len(path) <= 4]
    with zipfile.ZipFile(tmp_path / "bad.eval", "w") as archive:
        for each, content in whole_ones.items():
            archive.writestr(each, json.dumps(replaced(value, paths[node % len(paths)], new)) if each == name else content)
    found = measured(tmp_path / "bad.eval", *FILES[file])
    if found.code == 0 and found.n < whole(file)[1]:
        assert found.warnings


@settings(max_examples=25, suppress_health_check=quietly)
@given(first=st.sampled_from(sorted(FILES)), second=st.sampled_from(sorted(FILES)), place=st.floats(0.05, 0.95))
@example(first="promptfoo/one.json", second="inspect/arith.eval", place=0.5)
def test_half_of_one_log_and_half_of_another(tmp_path: Path, first: str, second: str, place: float) -> None:
    """A copy that went wrong: whatever reader takes it up, it is refused, or it is the first log whole."""
    (here, n), (there, _) = whole(first), whole(second)
    found = read_again(tmp_path, first, here[: int(place * len(here))] + there[int(place * len(there)) :])
    if found.code == 0 and not found.warnings and not first.endswith(".jsonl"):
        assert found.n == n


@settings(max_examples=12, suppress_health_check=quietly)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 2**32 - 1))
def test_a_damaged_log_is_never_compared_on_fewer_items(tmp_path: Path, kind: str, seed: int) -> None:
    (file,) = (LOGS / "lm_eval/api/model-b").glob("samples_*")
    path = beside(str(file.relative_to(LOGS)), tmp_path)
    path.write_bytes(damaged(file.read_bytes(), kind, random.Random(seed)))
    found = command("compare", LOGS / "lm_eval/api/model-a", path, "--filter", "strict-match", "--format", "json")
    assert found.code in (0, 3), found.err
    if found.code == 0:
        assert found.n == 40


# ---- what was found ------------------------------------------------------------------------------------------------------

SAMPLES = next(file for file in FILES if "notes_ppl" in file)
RESULTS = next(file for file in FILES if "/results_" in file)


def set_at(file: str, *path: Any, to: Any) -> Callable[[], bytes]:
    return lambda: spelled(file, replaced(parsed(file)[0], path, to))


@pytest.mark.parametrize(
    ("file", "bad", "says"),
    [
        (RESULTS, set_at(RESULTS, "n-samples", "arith_gen", "effective", to=10**400), "its results announce 1000"),
        (RESULTS, set_at(RESULTS, "results", "arith_gen", "exact_match,strict-match", to=10**400), None),
        (SAMPLES, set_at(SAMPLES, 3, "metrics", 1, to=[1, 2]), "the metrics of line 4 are not a list of names"),
        (SAMPLES, set_at(SAMPLES, 3, "metrics", to=[{}]), "the metrics of line 4 are not a list of names"),
        (SAMPLES, set_at(SAMPLES, 0, "word_perplexity", 0, to=10**400), "1 infinite values, such as that of doc_id 0"),
        (SAMPLES, set_at(SAMPLES, 11, "target_hash", to="\ud800"), None),
        ("every_eval_ever/arith.json", set_at("every_eval_ever/arith.json", "evaluation_results", 1, "evaluation_result_id", to=[]), None),
    ],
)
def test_what_was_found(tmp_path: Path, file: str, bad: Callable[[], bytes], says: str | None) -> None:
    found = read_again(tmp_path, file, bad())
    assert found.code == (3 if says else 0), found.err
    assert says is None or says in found.err
