"""Benchmarks in the files in which they are published: what a row becomes, and what is refused with its file and line."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
import pyarrow.parquet
import pytest

from cases import every
from steelyard.errors import DataError, SourceError, UsageError
from steelyard.read import benchmark_files
from steelyard.read.benchmark_files import LAYOUTS

GPQA = ["Record ID", "Question", "Correct Answer", "Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3"]


def benchmark_rows(data: Any, layout: str, wanted: list[str]) -> list[dict[str, Any]]:
    """The rows of a benchmark of which nothing is to be said."""
    rows, said = benchmark_files.benchmark_rows(data, layout, wanted)
    assert not said
    return rows


def lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def table(path: Path, *rows: list[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows(rows)
    return path


def mmlu(home: Path) -> Path:
    """Two subjects, with their examples."""
    table(home / "test" / "anatomy_test.csv", ["Which, of these?", "a", "b", "c", "d", "B"], ["And\nthis?", "1", "2", "3", "4", "d"])
    table(home / "test" / "high_school_physics_test.csv", ["Which, of these?", "a", "b", "c", "d", "C"])
    for subject in ("anatomy", "high_school_physics"):
        table(home / "dev" / f"{subject}_dev.csv", *([f"{subject} {i}?", "w", "x", "y", "z", "A"] for i in range(6)))
    return home


# ---- MMLU ------------------------------------------------------------------------------------------------------------------


def test_mmlu_is_a_folder_of_subjects(tmp_path: Path) -> None:
    rows = benchmark_rows(mmlu(tmp_path), "mmlu", ["question"])
    assert [(row["subject"], row["topic"], row["answer"]) for row in rows] == [
        ("anatomy", "anatomy", "B"),
        ("anatomy", "anatomy", "D"),
        ("high_school_physics", "high school physics", "C"),
    ]
    assert rows[1]["question"] == "And\nthis?"
    assert "examples" not in rows[0]
    assert len({row["id"] for row in rows}) == 3
    assert rows == benchmark_rows(tmp_path / "test", "mmlu", ["question"])
    assert rows[:2] == benchmark_rows(tmp_path / "test" / "anatomy_test.csv", "mmlu", [])


def test_a_question_is_not_shown_among_its_own_examples(tmp_path: Path) -> None:
    rows, said = benchmark_files.benchmark_rows(mmlu(tmp_path) / "dev", "mmlu", ["examples", "question"])
    assert len(rows) == 12
    assert not [row for row in rows if row["question"] in row["examples"]]
    assert {row["examples"].count("Answer:") for row in rows} == {5}, "the sixth takes its place"
    assert said == ["10 of 12 questions are among the examples, too: that example, which has the answer, was left out of the prompt"]
    assert set(rows[0]) == {"id", "subject", "topic", "examples", "question", "A", "B", "C", "D", "answer"}
    table(tmp_path / "dev" / "anatomy_dev.csv", *([f"{i}?", "w", "x", "y", "z", "A"] for i in range(5)))
    table(tmp_path / "test" / "anatomy_test.csv", ["3? ", "z", "x", "y", "w", "D"], ["5?", "w", "x", "y", "z", "A"])
    again, said = benchmark_files.benchmark_rows(tmp_path / "test" / "anatomy_test.csv", "mmlu", ["examples"])
    assert [row["examples"].count("Answer:") for row in again] == [4, 5], "whatever the order of its choices"
    assert said[0].startswith("1 of 2 questions is")


def test_the_examples_of_mmlu_are_the_first_five_of_the_subject(tmp_path: Path) -> None:
    rows = benchmark_rows(mmlu(tmp_path), "mmlu", ["examples"])
    assert rows[0]["examples"].startswith("anatomy 0?\nA. w\nB. x\nC. y\nD. z\nAnswer: A\n\nanatomy 1?")
    assert rows[2]["examples"].endswith("high_school_physics 4?\nA. w\nB. x\nC. y\nD. z\nAnswer: A\n\n")
    (tmp_path / "dev" / "anatomy_dev.csv").unlink()
    with pytest.raises(SourceError, match=r"examples of 'anatomy'.*anatomy_dev\.csv.*init\(preset='mmlu'"):
        benchmark_rows(tmp_path, "mmlu", ["examples"])


def hub(path: Path, *rows: tuple[str, str, Any, Any]) -> Path:
    """A Parquet file as the hub has it: question, subject, choices, answer."""
    path.parent.mkdir(parents=True, exist_ok=True)
    names = ("question", "subject", "choices", "answer")
    pyarrow.parquet.write_table(pyarrow.table({name: [row[i] for row in rows] for i, name in enumerate(names)}), path)
    return path


def hub_mmlu(home: Path) -> Path:
    """The questions of `mmlu` above."""
    hub(
        home / "test-00000-of-00001.parquet",
        ("Which, of these?", "anatomy", ["a", "b", "c", "d"], 1),
        ("And\nthis?", "anatomy", ["1", "2", "3", "4"], 3),
        ("Which, of these?", "high_school_physics", ["a", "b", "c", "d"], 2),
    )
    subjects = ("high_school_physics", "anatomy")
    rows = [(f"{subject} {i}?", subject, ["w", "x", "y", "z"], 0) for i in range(6) for subject in subjects]
    hub(home / "dev-00000-of-00001.parquet", *rows)
    return home


def test_mmlu_of_the_hub_is_the_same_mmlu(tmp_path: Path) -> None:
    rows = benchmark_rows(mmlu(tmp_path / "csv"), "mmlu", ["examples"])
    place = hub_mmlu(tmp_path / "hub" / "all")
    hub(place / "validation-00000-of-00001.parquet", ("Another?", "anatomy", ["a", "b", "c", "d"], 1))
    for given in (place, place.parent, place / "test-00000-of-00001.parquet", place / "test-*.parquet"):
        assert benchmark_rows(given, "mmlu", ["examples"]) == rows
    letters = lines(tmp_path / "test.jsonl", {"question": "Q?", "subject": "anatomy", "choices": ["a", "b", "c", "d"], "answer": "c"})
    assert benchmark_rows(letters, "mmlu", [])[0]["answer"] == "C"


def test_mmlu_of_the_hub_without_its_examples_is_refused(tmp_path: Path) -> None:
    place = hub_mmlu(tmp_path)
    (place / "dev-00000-of-00001.parquet").unlink()
    with pytest.raises(SourceError, match=r"examples of 'anatomy' in dev-\*\.parquet beside .*there are 0.*init\(preset='mmlu'"):
        benchmark_rows(place, "mmlu", ["examples"])
    assert len(benchmark_rows(place, "mmlu", [])) == 3


BAD_HUB: list[tuple[tuple[str, str, Any, Any], str]] = [
    (("Q?", "anatomy", ["a", "b", "c"], 1), "has the choices .*; it must have a list of four texts"),
    (("Q?", "anatomy", ["a", "b", "c", "d"], 4), "has the answer 4; it must have a whole number from 0 to 3, or one of A, B, C, D"),
    (("Q?", "anatomy", ["a", "b", "c", "d"], None), "has the answer None"),
    (("", "anatomy", ["a", "b", "c", "d"], 1), "no text in 'question'"),
    (("Q?", "", ["a", "b", "c", "d"], 1), "no text in 'subject'"),
]


@every(("row", "said"), BAD_HUB)
def test_a_row_of_the_hub_that_is_none_of_mmlu_is_named(
    tmp_path_factory: pytest.TempPathFactory, row: tuple[str, str, Any, Any], said: str
) -> None:
    file = hub(tmp_path_factory.mktemp("hub") / "test-0.parquet", row)
    with pytest.raises(DataError, match=rf"test-0\.parquet', row 1.*({said})"):
        benchmark_rows(file, "mmlu", [])


BAD_MMLU = [
    (["question", "A", "B", "C", "D", "answer"], r"line 1, has the answer 'answer'; it must have one of A, B, C, D.*no header"),
    (["q", "1", "2", "3", "A"], "line 1, has 5 fields; it must have 6: "),
    (["q", "1", "2", "3", "4", "E"], "has the answer 'E'"),
    ([" ", "1", "2", "3", "4", "A"], "no text in 'question'"),
]


@every(("row", "said"), BAD_MMLU)
def test_a_row_that_is_none_of_mmlu_is_named(tmp_path_factory: pytest.TempPathFactory, row: list[str], said: str) -> None:
    file = table(tmp_path_factory.mktemp("mmlu") / "test" / "anatomy_test.csv", row)
    with pytest.raises(DataError, match=f"(?s)anatomy_test.csv', {said}" if said.startswith("line") else f"(?s)anatomy_test.csv'.*{said}"):
        benchmark_rows(file.parent, "mmlu", [])


def test_the_line_of_a_bad_row_is_the_one_on_which_it_begins(tmp_path: Path) -> None:
    good, bad = ["two\nlines", "1", "2", "3", "4", "A"], ["q", "1", "2", "3", "4", "5"]
    with pytest.raises(DataError, match=r"x_test\.csv', line 5"):
        benchmark_rows(table(tmp_path / "x_test.csv", good, good, bad), "mmlu", [])


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no data")
    with pytest.raises(SourceError, match="no CSV files there or in its folder test"):
        benchmark_rows(tmp_path, "mmlu", [])


# ---- GSM8K -----------------------------------------------------------------------------------------------------------------

SUM = {"question": "What is 2 + 2?", "answer": "It is <<2+2=4>>4.\n#### 4"}
PRODUCT = {"question": "What is 30 x 40?", "answer": "#### 1,200"}


def test_gsm8k_by_its_lines_packed_or_in_parquet(tmp_path: Path) -> None:
    plain = lines(tmp_path / "test.jsonl", SUM, PRODUCT)
    rows = benchmark_rows(plain, "gsm8k", [])
    assert [(row["question"], row["answer"]) for row in rows] == [(row["question"], row["answer"]) for row in (SUM, PRODUCT)]
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert benchmark_rows(packed, "gsm8k", []) == rows
    columns = tmp_path / "test.parquet"
    duckdb.sql(f"COPY (SELECT * FROM read_json('{plain}')) TO '{columns}' (FORMAT parquet)")
    assert benchmark_rows(columns, "gsm8k", []) == rows
    turned = benchmark_rows(lines(tmp_path / "turned.jsonl", PRODUCT, SUM), "gsm8k", [])
    assert turned == rows[::-1], "an id follows from the content, not from the line"


def test_an_item_that_is_there_twice_has_two_ids(tmp_path: Path) -> None:
    one, other = benchmark_rows(lines(tmp_path / "t.jsonl", SUM, SUM), "gsm8k", [])
    assert other["id"] == f"{one['id']}-2"


BAD_GSM8K: list[tuple[str, str]] = [
    ('{"question": "q", "answer": "4"}', "line 3, has .*; it must have a solution that ends with ####"),
    ('{"question": "q", "answer": "#### none"}', "line 3, has .*; it must have a solution that ends with ####"),
    ('{"question": "q"}', "line 3, has no column 'answer' among 'question'; it must have the columns question, answer"),
    ('{"question": "q", "answer": null}', "line 3.*no text in 'answer'"),
    ('{"question": 5, "answer": "#### 4"}', "line 3.*5 in 'question'"),
    ('["q"]', "line 3, has a list; it must have one JSON object a line"),
    ('{"question": "q', "line 3, has no JSON.*; it must have one JSON object a line"),
    ("[" * 100_000, "line 3, has .*; it must have one JSON object a line"),
]


@every(("bad", "said"), BAD_GSM8K)
def test_a_line_that_is_none_of_gsm8k_is_named(tmp_path_factory: pytest.TempPathFactory, bad: str, said: str) -> None:
    file = lines(tmp_path_factory.mktemp("gsm8k") / "test.jsonl", SUM)
    file.write_text(file.read_text() + "\n" + bad + "\n")
    with pytest.raises(DataError, match=rf"test\.jsonl', {said}"):
        benchmark_rows(file, "gsm8k", [])


def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    file = lines(tmp_path / "test.jsonl", SUM)
    file.write_bytes(file.read_bytes() + b'{"question": "caf\xe9", "answer": "#### 1"}\n')
    with pytest.raises(DataError, match=r"test\.jsonl', line \d.*not UTF-8"):
        benchmark_rows(file, "gsm8k", [])


# ---- GPQA ------------------------------------------------------------------------------------------------------------------


def gpqa(path: Path, many: int = 60) -> Path:
    return table(path, GPQA, *([f"rec{i}", f"Why {i}?", f"right {i} ", f"wrong {i}a", f"wrong {i}b", f"wrong {i}c"] for i in range(many)))


def test_the_choices_of_gpqa_are_shuffled_the_same_way_each_time_and_the_letter_follows(tmp_path: Path) -> None:
    rows = benchmark_rows(gpqa(tmp_path / "gpqa.csv"), "gpqa", [])
    assert all(row[row["answer"]] == f"right {i}" for i, row in enumerate(rows))
    assert {row["answer"] for row in rows} == set("ABCD"), "any letter can be right"
    assert rows == benchmark_rows(gpqa(tmp_path / "again.csv"), "gpqa", [])
    moved = table(tmp_path / "moved.csv", [*GPQA[1:4], GPQA[5], GPQA[4]], ["Why 0?", "right 0", "wrong 0a", "wrong 0c", "wrong 0b"])
    assert benchmark_rows(moved, "gpqa", []) == rows[:1], "whatever the order of the wrong ones"


def test_gpqa_with_other_columns_is_refused(tmp_path: Path) -> None:
    file = table(tmp_path / "gpqa.csv", ["Question", "Answer"], ["q", "a"])
    with pytest.raises(DataError, match=r"gpqa\.csv', line 1.*no column 'Correct Answer' among 'Question', 'Answer'"):
        benchmark_rows(file, "gpqa", [])
    short = table(tmp_path / "short.csv", GPQA, ["r", "q", "a", "b", "c"])
    with pytest.raises(DataError, match=r"short\.csv', line 2, has 5 fields; it must have 6, as in the header"):
        benchmark_rows(short, "gpqa", [])
    with pytest.raises(DataError, match="no items"):
        benchmark_rows(table(tmp_path / "none.csv", GPQA), "gpqa", [])
    twice = table(tmp_path / "twice.csv", [*GPQA, "Question"], ["r", "q", "a", "b", "c", "d", "e"])
    with pytest.raises(DataError, match="a name twice"):
        benchmark_rows(twice, "gpqa", [])


def test_a_long_field_is_read_and_the_limit_of_others_stays(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    file = table(tmp_path / "gpqa.csv", GPQA, ["r", "q" * 200_000, "a", "b", "c", "d"])
    assert len(benchmark_rows(file, "gpqa", [])[0]["question"]) == 200_000
    assert csv.field_size_limit() == before


# ---- CNN/DailyMail, JSON mode -----------------------------------------------------------------------------------------------


def test_cnn_dailymail_keeps_its_ids(tmp_path: Path) -> None:
    row = {"id": "0a1b", "article": "A long story.", "highlights": "Short.\nStory."}
    assert benchmark_rows(lines(tmp_path / "test.jsonl", row), "cnn_dailymail", []) == [row]
    assert benchmark_rows(table(tmp_path / "test.csv", list(row), list(row.values())), "cnn_dailymail", []) == [row]
    with pytest.raises(DataError, match=r"line 1.*no column 'highlights'"):
        benchmark_rows(lines(tmp_path / "bad.jsonl", {"id": "1", "article": "a", "summary": "b"}), "cnn_dailymail", [])


JSON_MODE: dict[str, Any] = {
    "prompt": [{"role": "system", "content": "A schema."}, {"role": "user", "content": "Ada is 36."}],
    "completion": '{"name": "Ada", "age": 36}',
    "schema": '{"type": "object"}',
}


def test_objects_of_parquet_with_the_keys_of_other_rows_are_refused(tmp_path: Path) -> None:
    whole = [{**JSON_MODE, "completion": {"name": "Ada", "age": each}, "schema": {"type": "object"}} for each in (36, 37)]
    for rows, file in ((whole, "same.parquet"), ([whole[0], {**whole[1], "completion": {"city": "Ur"}}], "other.parquet")):
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / file)
    assert [row["completion"] for row in benchmark_rows(tmp_path / "same.parquet", "json_mode_eval", [])] == [
        '{"name": "Ada", "age": 36}',
        '{"name": "Ada", "age": 37}',
    ]
    with pytest.raises(DataError, match=r"row 1.*a completion with null in it.*the keys of all others"):
        benchmark_rows(tmp_path / "other.parquet", "json_mode_eval", [])
    nulls = lines(tmp_path / "null.jsonl", {**JSON_MODE, "completion": {"name": None}})  # here nobody else has put it in
    assert benchmark_rows(nulls, "json_mode_eval", [])[0]["completion"] == '{"name": null}'


def test_json_mode_takes_the_words_of_the_user(tmp_path: Path) -> None:
    plain = lines(tmp_path / "eval.jsonl", JSON_MODE)
    (row,) = benchmark_rows(plain, "json_mode_eval", [])
    assert (row["question"], row["completion"]) == ("Ada is 36.", JSON_MODE["completion"])
    columns = tmp_path / "eval.parquet"
    duckdb.sql(f"COPY (SELECT * FROM read_json('{plain}')) TO '{columns}' (FORMAT parquet)")
    assert benchmark_rows(columns, "json_mode_eval", [])[0]["id"] == row["id"]
    for change, said in (
        ({"prompt": "Ada is 36."}, "a list of messages"),
        ({"prompt": [{"role": "system", "content": "x"}]}, "of the role user"),
        ({"completion": "{name: Ada}"}, "a completion that is no JSON"),
    ):
        with pytest.raises(DataError, match=f"line 1.*{said}"):
            benchmark_rows(lines(tmp_path / "bad.jsonl", {**JSON_MODE, **change}), "json_mode_eval", [])


# ---- all -------------------------------------------------------------------------------------------------------------------


def test_what_is_no_file_and_no_layout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"layout must be mmlu, gsm8k, .* or text, not 'gsm8'"):
        benchmark_rows(tmp_path, "gsm8", [])
    for layout in LAYOUTS:
        with pytest.raises(UsageError, match="the path of its files"):
            benchmark_rows([SUM], layout, [])
        with pytest.raises(SourceError, match=r"no such file|no directory"):
            benchmark_rows(tmp_path / "absent" / "x.csv", layout, [])
        empty = tmp_path / "empty.csv"
        empty.write_text("")
        with pytest.raises(SourceError, match="empty"):
            benchmark_rows(empty, layout, [])
