"""Bad inputs that two runs meet, through the command; and where every other entry is tested.

Ids and pairing, by entry: 30 to 37, 20 (large ids), 45 (very many labels), 101 (identical runs). Each refusal is one line with
what was found, what is needed and a hint, exit code 3, and leaves the output file as it was.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cases import every
from damage import Outcome, command

pytestmark = pytest.mark.usefixtures("shared_engine")
TESTS = Path(__file__).parent.parent
FILES = "read/test_open_source_bad_files.py"
# Number of a bad input -> the tests about it. YAML (21 to 24) and the store of references (75 to 85) are met by `check`.
COVERED: dict[str, Sequence[str]] = {
    "1-20, 25-29": [f"cli/test_main_bad_inputs.py::bad_{i:02d}_" for i in (*range(1, 21), *range(25, 30))],
    "1, 2": [f"{FILES}::test_empty", f"{FILES}::test_header_only"],
    "5, 13": [f"{FILES}::test_utf16", f"{FILES}::test_latin1_names_the_byte", f"{FILES}::test_nul_byte"],
    "6, 15": [f"{FILES}::test_line_ends", f"{FILES}::test_rows_of_another_width"],
    "7, 8, 9": [
        f"{FILES}::test_a_truncated_last_line",
        f"{FILES}::test_truncated_gzip",
        f"{FILES}::test_truncated_zstd",
        "read/test_files_fuzz.py::test_a_file_cut_at_any_place_has_no_half_answer",
    ],
    "10, 11": ["read/files/test_formats.py::test_the_bytes_win_over_a_wrong_extension", f"{FILES}::test_bombs"],
    "16, 17, 18, 19": [f"{FILES}::test_bad_lines", "read/logs/test_documents.py::test_duplicate_keys_and_nan_are_refused_as_in_tables"],
    "21-24": ["reference/test_strict_yaml.py::"],
    "25": [f"{FILES}::test_formats_that_are_refused"],
    "26": [f"{FILES}::test_column_types_that_are_no_labels", f"{FILES}::test_broken_parquet_and_arrow"],
    "28, 29": [f"{FILES}::test_pipes_devices_and_loops", f"{FILES}::test_a_file_that_changes"],
    "30, 34, 36, 37": [f"cli/test_main_bad_inputs.py::bad_{i}_" for i in (30, 34, 36, 37)],
    "30-37 of two runs": [f"read/test_open_source_bad_pairs.py::test_{i}_" for i in (20, *range(30, 38), 45, 101)],
    "38-54": [f"cli/test_main_bad_inputs.py::bad_{i}_" for i in (*range(38, 48), 49, 50, 51, 53, 54)],
    "52": ["infer/paired/test_mcnemar.py::"],
    "55-59": [f"cli/test_main_bad_inputs.py::bad_{i}_" for i in (56, 59)],
    "60": ["test_options.py::test_a_verb_refuses_what_its_number_cannot_be"],
    "63-68": [f"cli/test_main_bad_inputs.py::bad_{i}_" for i in (63, 64, 65, 67, 68)],
    "92": ["read/test_open_source.py::test_awkward_columns_and_labels_that_look_like_sql"],
}


@every("entries", COVERED)
def test_every_entry_has_the_tests_that_are_named_here(entries: str) -> None:
    for named in COVERED[entries]:
        file, _, test = named.partition("::")
        assert re.search(rf"^def {test}", (TESTS / file).read_text(encoding="utf-8"), re.MULTILINE), named


# ---- two runs ------------------------------------------------------------------------------------------------------------


class Bench:
    """Two files, and `steelyard compare` over them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def runs(self, one: list[dict[str, Any]], two: list[dict[str, Any]], kind: str = "jsonl") -> tuple[Path, Path]:
        paths = self.folder / f"one.{kind}", self.folder / f"two.{kind}"
        for path, rows in zip(paths, (one, two), strict=True):
            if kind == "parquet":
                pq.write_table(pa.Table.from_pylist(rows), path)
            elif kind == "csv":
                lines = [",".join(map(str, rows[0])), *(",".join(map(str, row.values())) for row in rows)]
                path.write_text("\n".join(lines) + "\n", encoding="utf-8")
            else:
                path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return paths

    def compare(self, paths: tuple[Path, Path], *words: object) -> Outcome:
        return command("compare", *paths, "--format", "json", *words)

    def refuses(self, paths: tuple[Path, Path], *words: object, says: tuple[str, ...]) -> None:
        out = self.folder / "out.json"
        out.write_text("before")
        found = self.compare(paths, *words, "-o", out)
        assert found.code == 3, (found.out, found.err)
        assert found.err.startswith("error: ")
        assert found.err.count("\n") == 1
        assert re.fullmatch(r"error: [^a-z].*[.?]( Hint: .+)?\n", found.err), found.err
        for part in says:
            assert part in found.err, found.err
        assert out.read_text() == "before"

    def answers(self, paths: tuple[Path, Path], *words: object) -> dict[str, Any]:
        found = self.compare(paths, *words)
        assert found.code == 0, found.err
        return found.answer


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def run(n: int, wrong: int = 3, start: int = 0, **more: Any) -> list[dict[str, Any]]:
    rows = [{"id": f"q{i}", "truth": "ab"[i % 2], "prediction": "ab"[(i % 2) ^ (i % wrong == 0)]} for i in range(start, start + n)]
    return [row | more for row in rows]


KINDS = ("jsonl", "csv", "parquet")


@pytest.mark.parametrize("kind", KINDS)
def test_20_ids_beyond_2_to_the_53_are_not_mixed_up(bench: Bench, kind: str) -> None:
    one, two = ([row | {"id": 2**53 + i} for i, row in enumerate(run(30, wrong))] for wrong in (3, 4))
    straight = bench.answers(bench.runs(one, two, kind))
    turned = bench.answers(bench.runs(one, two[::-1], kind))
    assert straight["n"] == 30
    assert straight["difference"] == turned["difference"]
    if kind == "parquet":  # as floats, two neighbours are one: they are refused, not paired
        floats = [[row | {"id": float(row["id"])} for row in rows] for rows in (one, two)]
        bench.refuses(bench.runs(floats[0], floats[1], kind), says=("Duplicate ids",))


@pytest.mark.parametrize("kind", KINDS)
def test_30_duplicate_ids_in_one_run(bench: Bench, kind: str) -> None:
    bench.refuses(bench.runs(run(20), [*run(20, 4), *run(2, 4)], kind), says=("Duplicate ids", "2 ids occur in 4 rows", "'q0'", "--repeat"))


@pytest.mark.parametrize("kind", KINDS)
def test_31_ids_that_do_not_match(bench: Bench, kind: str) -> None:
    paths = bench.runs(run(40), run(40, 4, start=1), kind)
    bench.refuses(paths, says=("39 ids in both", "1 only in the baseline, such as 'q0'", "'q40'", "--unmatched drop"))
    found = bench.answers(paths, "--unmatched", "drop")
    assert found["n"] == 39
    assert any("1 only in the baseline" in said and "1 only in the candidate" in said for said in found["warnings"]), found["warnings"]
    half = bench.compare(bench.runs(run(40), run(40, 4, start=20), kind), "--unmatched", "drop")
    assert half.code == 0
    assert any("20" in said for said in half.warnings)
    bench.refuses(bench.runs(run(5), run(5, 4, start=5), kind), says=("no id in common", "--id"))


@pytest.mark.parametrize("kind", KINDS)
def test_32_the_same_ids_with_other_truths(bench: Bench, kind: str) -> None:
    other = run(20, 4)
    other[7]["truth"] = "c"
    bench.refuses(bench.runs(run(20), other, kind), says=("1 id has different truths", "'q7'", "different data"))


@pytest.mark.parametrize("kind", KINDS)
def test_33_rows_without_ids_pair_by_place_only_if_all_truths_agree(bench: Bench, kind: str) -> None:
    bare = [[{key: row[key] for key in ("truth", "prediction")} for row in run(20, wrong)] for wrong in (3, 4)]
    found = bench.answers(bench.runs(bare[0], bare[1], kind))
    assert found["n"] == 20
    assert any("position" in said for said in found["warnings"]), found["warnings"]
    bench.refuses(bench.runs(bare[0], bare[1][:-1], kind), says=("20 with 19 rows without ids", "--id"))
    bench.refuses(bench.runs(bare[0], bare[1][1:] + bare[1][:1], kind), says=("different truths", "different data"))
    bench.refuses(bench.runs(run(20), bare[1], kind), says=("Only one of the runs has ids.", "--id"))


@pytest.mark.parametrize(
    ("ours", "theirs", "hint"),
    [
        ("7", "7 ", "differ only by spaces around them"),
        ("é7", unicodedata.normalize("NFD", "é7"), "differ only in how their accents are written"),
        ("7", "7.0", "differ only by a decimal point"),
        ("Q7", "q7", "differ only by upper and lower case"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_34_ids_that_are_spelled_otherwise_are_not_matched_and_told(bench: Bench, kind: str, ours: str, theirs: str, hint: str) -> None:
    one, two = ([{"id": spelling, "truth": "a", "prediction": "a"}] for spelling in (ours, theirs))
    bench.refuses(bench.runs(one, two, kind), says=("no id in common", hint))


def test_34_ids_as_1_and_as_text(bench: Bench) -> None:
    """Between two files 1 and "1" are one id, for CSV has no other way; in one file they are refused."""
    one, two = ([row | {"id": kind(i)} for i, row in enumerate(run(20, 4))] for kind in (int, str))
    assert bench.answers(bench.runs(one, two))["n"] == 20
    bench.refuses(bench.runs(one, [*one, {"id": "1", "truth": "b", "prediction": "b"}]), says=("1 and '1'", "one type"))


def test_35_logs_of_other_documents_or_another_task(bench: Bench, tmp_path: Path) -> None:
    (source,) = (TESTS / "read/logs/lm_eval/api/model-b").glob("samples_*")
    rows = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        row["doc_hash"] = row["doc_hash"][::-1]
    other = tmp_path / source.name
    other.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    paths = (TESTS / "read/logs/lm_eval/api/model-a", other)
    bench.refuses(paths, "--filter", "strict-match", says=("different documents", "'0'", "different versions of the task"))


@pytest.mark.parametrize("kind", KINDS)
def test_36_the_order_of_items_changes_nothing(bench: Bench, kind: str) -> None:
    one, two = run(40), run(40, 4)
    plain = bench.answers(bench.runs(one, two, kind))
    for shuffled in (two[::-1], two[1::2] + two[::2]):
        assert bench.answers(bench.runs(one, shuffled, kind)) == plain


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_37_groups_missing_or_different(bench: Bench, kind: str) -> None:
    one, two = ([row | {"group": f"g{i % 8}"} for i, row in enumerate(run(40, wrong))] for wrong in (3, 4))
    assert bench.answers(bench.runs(one, two, kind))["design"] == "clustered"
    holed = [row | ({"group": None} if i == 5 else {}) for i, row in enumerate(two)]
    found = bench.compare(bench.runs(one, holed, kind))
    assert found.code == 3
    assert "group" in found.err
    moved = [row | ({"group": "g0"} if i == 5 else {}) for i, row in enumerate(two)]
    bench.refuses(bench.runs(one, moved, kind), says=("group", "'q5'"))


@pytest.mark.long
@pytest.mark.parametrize("labels", [50_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_45_very_many_labels(tmp_path: Path, labels: int) -> None:
    """Cells are sparse: nothing of labels times labels is made, in one run or in two."""
    said = {name: [i if i % shift else i + 1 for i in range(labels)] for name, shift in (("one", 4), ("two", 5))}
    for name, column in said.items():
        pq.write_table(pa.table({"id": range(labels), "truth": range(labels), "prediction": column}), tmp_path / f"{name}.parquet")
    paths = [tmp_path / f"{name}.parquet" for name in said]
    found = command("measure", paths[0], "--metric", "accuracy", "--format", "json", seconds=600)
    assert found.code == 0, found.err
    assert found.answer["metrics"][0]["estimate"] == 0.75
    found = command("compare", *paths, "--metric", "accuracy", "--format", "json", seconds=600)
    assert found.code == 0, found.err
    assert found.answer["difference"]["estimate"] == pytest.approx(0.05)


def test_101_identical_runs_are_told(bench: Bench) -> None:
    found = bench.answers(bench.runs(run(20), run(20)))
    assert found["difference"]["estimate"] == 0
    assert found["test"]["p_value"] == 1
    assert found["difference"]["interval"]["low"] < 0 < found["difference"]["interval"]["high"]
    assert any("identical" in said or "same" in said for said in found["warnings"]), found["warnings"]
