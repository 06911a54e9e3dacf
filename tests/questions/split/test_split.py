"""Splitting: every row once, the same part for ever, groups whole, strata exact, times in order; nothing overwritten."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from cases import every
from steelyard.errors import SteelyardError, UsageError

SHARES: dict[str, Any] = {"train": 0.8, "dev": 0.1, "test": 0.1}
IDS = st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8), min_size=1, max_size=40)


def parts_of(ids: list[Any], **how: Any) -> dict[Any, str]:
    return dict(zip(ids, sy.split({"id": ids}, **{**SHARES, **how}).assigned.tolist(), strict=True))


@given(IDS, IDS, st.integers(0, 5))
def test_an_item_keeps_its_part_when_data_grow(old: list[str], more: list[str], seed: int) -> None:
    before, after = parts_of(old, seed=seed), parts_of([*more, *old], seed=seed)
    assert {id_: after[id_] for id_ in old} == before


@given(st.lists(st.sampled_from(["a", "b", "c d", "é", "漢"]), min_size=1, max_size=60), st.integers(0, 50))
def test_no_group_is_split(groups: list[str], seed: int) -> None:
    found = sy.split({"doc": groups, "id": list(range(len(groups)))}, **SHARES, group="doc", seed=seed)
    assert all(len({part for g, part in zip(groups, found.assigned, strict=True) if g == each}) == 1 for each in groups)
    assert sum(part.n for part in found.parts) == len(groups)


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=80), st.integers(0, 50))
def test_strata_have_their_shares_up_to_one_row(labels: list[str], seed: int) -> None:
    found = sy.split({"id": list(range(len(labels))), "label": labels}, train=0.7, test=0.3, stratify="label", seed=seed)
    assert sum(each.n for each in found.strata) == len(labels)
    for each in found.strata:
        assert abs(each.rows[0] - 0.7 * each.n) < 1
        if 0.7 * each.n % 1 == 0:
            assert each.rows[0] == 0.7 * each.n


@given(st.lists(st.integers(0, 20), min_size=1, max_size=80))
def test_earlier_rows_come_before_later_ones_and_equal_times_stay_together(times: list[int]) -> None:
    found = sy.split({"t": times}, **SHARES, by_time="t").assigned
    order = {"train": 0, "dev": 1, "test": 2}
    for a, part in zip(times, found, strict=True):
        assert all(order[part] <= order[other] for b, other in zip(times, found, strict=True) if a <= b)


def test_another_program_can_work_out_the_part() -> None:
    from hashlib import sha256

    def part(text: str) -> str:
        place = int(sha256(f"3:{text}".encode()).hexdigest()[:13], 16) / 16**13
        return "train" if place < 0.8 else "dev" if place < 0.9 else "test"

    ids = [f"é-{n}" for n in range(300)]
    assert parts_of(ids, seed=3) == {id_: part(id_) for id_ in ids}
    assert parts_of([1, 2, 3, 4.5]) == {
        1: parts_of(["1"])["1"],
        2: parts_of(["2"])["2"],
        3: parts_of(["3"])["3"],
        4.5: parts_of(["4.5"])["4.5"],
    }


def test_shares_are_reached_roughly_and_seeds_differ() -> None:
    ids = list(range(20_000))
    found = sy.split({"id": ids}, **SHARES)
    assert all(abs(part.reached - part.share) < 0.01 for part in found.parts)
    assert Counter(found.assigned.tolist()) == {part.name: part.n for part in found.parts}
    other = sy.split({"id": ids}, **SHARES, seed=1)
    same = float(np.mean(found.assigned == other.assigned))
    assert 0.6 < same < 0.72  # .66 if the two are independent
    drawn = sy.split({"id": ids[:10]}, **SHARES, seed=None)
    assert drawn.seed is not None
    assert f"seed:{drawn.seed}" in drawn.signature


def test_wider_shares_move_items_only_at_the_borders() -> None:
    ids = list(range(2000))
    before, after = parts_of(ids), parts_of(ids, train=0.7, dev=0.2)
    assert {(before[i], after[i]) for i in ids} == {("train", "train"), ("train", "dev"), ("dev", "dev"), ("test", "test")}


# ---- files -------------------------------------------------------------------------------------------------------------

ROWS = [
    {"id": "a", "text": 'He said "no", twice', "n": "1"},
    {"id": "b", "text": "two\nlines", "n": ""},
    {"id": "ç", "text": "  spaced  ", "n": "007"},
    *({"id": f"i{n}", "text": f"text {n}", "n": str(n)} for n in range(60)),
]


def csv_text(rows: list[dict[str, str]], end: str = "\n", **how: Any) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, ["id", "text", "n"], lineterminator=end, **how)
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def together(found: sy.DataSplit) -> bytes:
    return b"".join(Path(part.file or "").read_bytes() for part in found.parts)


@every(
    ("end", "how", "cut"),
    [
        ("\n", {}, False),
        ("\r\n", {}, False),
        ("\n", {}, True),
        ("\n", {"quoting": csv.QUOTE_ALL}, False),
        ("\r\n", {"delimiter": ";"}, True),
    ],
)
def test_csv_rows_are_copied_byte_by_byte(end: str, how: dict[str, Any], cut: bool, tmp_path: Path) -> None:
    text = csv_text(ROWS, end, **how)
    file = tmp_path / "data.csv"
    file.write_bytes((text.removesuffix(end) if cut else text).encode())
    found = sy.split(file, **SHARES, output=tmp_path / "parts", update=True)
    header = csv_text([], end, **how)
    kept = []
    for part in found.parts:
        written = Path(part.file or "").read_bytes().decode()
        assert written.startswith(header)
        delimiter = how.get("delimiter", ",")
        rows = list(csv.DictReader(io.StringIO(written, newline=""), delimiter=delimiter))
        assert written == csv_text(rows, end, **how)
        assert len(rows) == part.n
        kept += [(row["id"], part.name) for row in rows]
    assert dict(kept) == parts_of([row["id"] for row in ROWS])
    assert len(kept) == len(ROWS)


def test_irregular_csv_loses_nothing(tmp_path: Path) -> None:
    """A quote in the middle of a field, blank lines, mixed line ends, a byte order mark."""
    lines = ["id,text\r\n", '1,5" pipe\n', "\n", '2,"a\n\nb"\r\n', "3,x\n", '4,6" pipe']
    file = tmp_path / "data.csv"
    file.write_bytes(b"\xef\xbb\xbf" + "".join(lines).encode())
    found = sy.split(file, train=0.5, test=0.5, output=tmp_path / "parts")
    assert found.n == 4
    read = [row for part in found.parts for row in csv.DictReader(io.StringIO(Path(part.file or "").read_text("utf-8-sig"), newline=""))]
    assert sorted((row["id"], row["text"].replace("\r\n", "\n")) for row in read) == [
        ("1", '5" pipe'),
        ("2", "a\n\nb"),
        ("3", "x"),
        ("4", '6" pipe'),
    ]


def test_json_lines_are_copied_as_they_are(tmp_path: Path) -> None:
    lines = [f'{{"id": {n}, "x" : [1.50, "\\u00e9", {{}}]}}' for n in range(50)]
    file = tmp_path / "data.jsonl"
    file.write_text("\n\n".join(lines), encoding="utf-8")
    found = sy.split(file, **SHARES)
    assert sorted(together(found).decode().split("\n"))[-50:] == sorted(lines)
    assert together(found).count(b"\n") == 50
    assert [part.file for part in found.parts] == [str(tmp_path / f"{name}.jsonl") for name in SHARES]


def test_json_arrays_keep_their_elements_as_written(tmp_path: Path) -> None:
    elements = [f'{{"id":{n},  "v": 1e3}}' for n in range(20)]
    file = tmp_path / "data.json"
    file.write_text("[" + " ,\n".join(elements) + "\n]")
    found = sy.split(file, train=0.5, test=0.5)
    read = [row for part in found.parts for row in json.loads(Path(part.file or "").read_text())]
    assert sorted(row["id"] for row in read) == list(range(20))
    assert all(element in together(found).decode() for element in elements)
    (tmp_path / "columns.json").write_text('{"id": [1, 2], "v": [3, 4]}')
    with pytest.raises(SteelyardError, match="object of columns"):
        sy.split(tmp_path / "columns.json", train=0.5, test=0.5, output=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_parquet_keeps_rows_and_types(tmp_path: Path) -> None:
    file = tmp_path / "data.parquet"
    kinds = "range AS id, range / 3 AS x, range::VARCHAR AS t, [range] AS l, DATE '2026-01-01' AS d, {'a': range} AS s"
    duckdb.execute(f"COPY (SELECT {kinds} FROM range(5000)) TO '{file}' (FORMAT parquet)")
    found = sy.split(file, **SHARES)
    paths = [part.file for part in found.parts]
    assert duckdb.execute(f"SELECT * FROM read_parquet({paths}) ORDER BY id").fetchall() == duckdb.execute(f"FROM '{file}'").fetchall()
    assert duckdb.execute(f"DESCRIBE FROM read_parquet({paths})").fetchall() == duckdb.execute(f"DESCRIBE FROM '{file}'").fetchall()
    assert [duckdb.execute(f"SELECT COUNT(*) FROM '{part.file}'").fetchall()[0][0] for part in found.parts] == [p.n for p in found.parts]
    assert dict(zip(range(5000), found.assigned.tolist(), strict=True)) == parts_of(list(range(5000)))


def test_every_format_gives_an_id_the_same_part(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(csv_text(ROWS))
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (tmp_path / "a.json").write_text(json.dumps(ROWS))
    duckdb.execute(f"COPY (FROM read_csv('{tmp_path}/a.csv', all_varchar = true)) TO '{tmp_path}/a.parquet' (FORMAT parquet)")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress((tmp_path / "a.csv").read_bytes()))
    found = [
        sy.split(tmp_path / name, **SHARES, dry_run=True).assigned.tolist()
        for name in ("a.csv", "a.jsonl", "a.json", "a.parquet", "a.csv.gz")
    ]
    assert all(each == found[0] for each in found)
    by_content = [sy.split(tmp_path / name, **SHARES, id="none", dry_run=True) for name in ("a.csv", "a.parquet", "a.csv.gz")]
    assert all(each.assigned.tolist() == by_content[0].assigned.tolist() for each in by_content)
    packed = sy.split(tmp_path / "a.csv.gz", **SHARES, output=tmp_path / "b")
    assert any("packed" in said for said in packed.warnings)


def test_rows_without_ids_go_by_their_content_whoever_reads_them(tmp_path: Path) -> None:
    """A file beyond the size that Python reads goes to DuckDB: no row may move because others were added."""
    rows = [{"q": f"question {n}", "k": n, "ok": n % 2 == 0, "none": None} for n in range(300)]
    (tmp_path / "small.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    more = [{"q": "x" * 2000, "k": n, "ok": True, "none": None} for n in range(2000)]
    (tmp_path / "large.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*rows, *more]))
    small = sy.split(tmp_path / "small.jsonl", **SHARES, dry_run=True)
    large = sy.split(tmp_path / "large.jsonl", **SHARES, dry_run=True)
    assert small.assigned.tolist() == large.assigned[:300].tolist() == sy.split(rows, **SHARES).assigned.tolist()
    wider = [{**row, "new": None, "q": row["q"]} for row in rows]
    assert sy.split(wider, **SHARES).assigned.tolist() == small.assigned.tolist()
    assert any("content" in said for said in small.warnings)


def test_equal_rows_and_repeated_ids_go_together() -> None:
    found = sy.split({"q": ["same"] * 30 + ["other"]}, **SHARES)
    assert len(set(found.assigned[:30].tolist())) == 1
    assert any("29 rows repeat an earlier row" in said for said in found.warnings)
    found = sy.split({"id": ["a", "a", "b"], "label": ["x", "x", "x"]}, train=0.5, test=0.5, stratify="label")
    assert found.assigned[0] == found.assigned[1]
    assert any("1 row repeats the id" in said for said in found.warnings)


def test_one_row_and_empty_parts(tmp_path: Path) -> None:
    file = tmp_path / "one.csv"
    file.write_text("id,x\na,1\n")
    found = sy.split(file, **SHARES)
    assert sorted(part.n for part in found.parts) == [0, 0, 1]
    assert all(Path(part.file or "").read_text().startswith("id,x\n") for part in found.parts)
    assert sum("has no rows" in said for said in found.warnings) == 2


# ---- what is refused ---------------------------------------------------------------------------------------------------

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "which parts to make"),
    ({"train": 0.8}, "add up to 1: train 0.8 is 0.8"),
    ({"train": 0.8, "test": 0.3}, r"add up to 1: train 0.8 \+ test 0.3 is 1.1"),
    ({"train": 80, "test": 20}, "add up|write 0.8"),
    ({"train": -0.5, "test": 1.5}, "above 0"),
    ({"train": float("nan"), "test": 1}, "above 0"),
    ({"train": 0.5, "parts": {"TRAIN": 0.5}}, "two are named"),
    ({"train": 0.5, "parts": {"train": 0.5}}, "has two shares"),
    *(
        ({"train": 0.5, "parts": {name: 0.5}}, "name of a part")
        for name in ("../x", "a/b", "", ".x", "a\\b", "a\0b", "con", "NUL.x", "a\nb", "x" * 200, "a.", "-o")
    ),
    ({**SHARES, "group": "g", "stratify": "s"}, "at most one of these"),
    ({**SHARES, "group": "g", "by_time": "s"}, "at most one of these"),
    ({**SHARES, "stratify": "g", "by_time": "s"}, "at most one of these"),
    ({**SHARES, "id": "nope"}, "nope"),
    ({**SHARES, "stratify": "nope"}, "nope"),
    ({**SHARES, "by_time": "s"}, "all numbers or all dates"),
    ({**SHARES, "by_time": "zone"}, "time zone"),
    ({**SHARES, "group": "gap"}, "1 of 4 rows"),
    ({**SHARES, "id": "gap"}, "1 of 4 rows"),
    ({**SHARES, "seed": True}, "seed"),
]


@every(("options", "says"), REFUSED)
def test_bad_options_are_refused_and_nothing_is_written(options: dict[str, Any], says: str, tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_text("id,g,s,gap,zone\n1,a,x,1,2026-01-01\n2,a,y,,2026-01-01T00:00+01:00\n3,b,x,2,2026-01-02\n4,b,y,3,2026-01-03\n")
    with pytest.raises(SteelyardError, match=says):
        sy.split(file, **options)
    assert os.listdir(tmp_path) == ["data.csv"]


@every("content", ["", "id,x\n", "id,x\n1,2,3\n", "\0"])
def test_files_without_rows_or_with_broken_ones_are_refused(content: str, tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_text(content)
    with pytest.raises(SteelyardError):
        sy.split(file, **SHARES)
    assert os.listdir(tmp_path) == ["data.csv"]


def test_a_group_found_by_name_is_kept_together_or_must_be_ignored() -> None:
    data = {"id": list(range(40)), "group": [n // 10 for n in range(40)], "y": ["a", "b"] * 20}
    assert sy.split(data, **SHARES).method == "groups"
    with pytest.raises(UsageError, match="group='none'"):
        sy.split(data, **SHARES, stratify="y")
    assert sy.split(data, **SHARES, stratify="y", group="none").method == "stratified"


def test_nothing_is_written_over(tmp_path: Path) -> None:
    file = tmp_path / "train.csv"
    file.write_text("id\n" + "".join(f"{n}\n" for n in range(30)))
    before = file.read_bytes()
    with pytest.raises(UsageError, match="the file that is split"):
        sy.split(file, **SHARES, update=True)
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "dev.csv").write_text("mine")
    with pytest.raises(UsageError, match="exist already"):
        sy.split(file, **SHARES, output=parts)
    assert os.listdir(parts) == ["dev.csv"]
    assert (parts / "dev.csv").read_text() == "mine"
    found = sy.split(file, **SHARES, output=parts, update=True)
    assert sorted(os.listdir(parts)) == ["dev.csv", "test.csv", "train.csv"]
    assert sum(part.n for part in found.parts) == 30
    assert file.read_bytes() == before
    (parts / "dev.csv").unlink()
    (parts / "dev.csv").symlink_to(file)
    with pytest.raises(UsageError, match="the file that is split"):
        sy.split(file, **SHARES, output=parts, update=True)
    assert file.read_bytes() == before


def test_a_failure_while_writing_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from steelyard.questions.split import writing

    file = tmp_path / "data.csv"
    file.write_text("id\n1\n2\n3\n")
    put = writing.put_in_place

    def second_fails(path: Path, place: Path, *, replace: bool) -> None:
        if place.name == "test.csv":
            raise OSError(28, "No space left on device")
        put(path, place, replace=replace)

    monkeypatch.setattr(writing, "put_in_place", second_fails)
    with pytest.raises(UsageError, match="No space left"):
        sy.split(file, train=0.5, test=0.5, output=tmp_path / "parts")
    assert os.listdir(tmp_path) == ["data.csv"]
    (tmp_path / "parts").mkdir()
    for name in ("train", "test"):
        (tmp_path / "parts" / f"{name}.csv").write_text("old")
    with pytest.raises(UsageError, match=r"'train.csv' is new already, the others old"):
        sy.split(file, train=0.5, test=0.5, output=tmp_path / "parts", update=True)
    assert sorted(os.listdir(tmp_path / "parts")) == ["test.csv", "train.csv"]
    assert (tmp_path / "parts" / "test.csv").read_text() == "old"


def test_another_writer_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from steelyard.questions.split import writing

    file = tmp_path / "data.csv"
    file.write_text("id\n1\n2\n3\n")
    copy = writing.copy_rows

    def slowly(*words: Any) -> None:
        copy(*words)
        (tmp_path / "test.csv").write_text("of another process")

    monkeypatch.setattr(writing, "copy_rows", slowly)
    with pytest.raises(UsageError, match="by another process meanwhile"):
        sy.split(file, train=0.5, test=0.5)
    assert (tmp_path / "test.csv").read_text() == "of another process"
    assert sorted(os.listdir(tmp_path)) == ["data.csv", "test.csv"]


def test_a_directory_and_memory_cannot_be_written(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("id\n1\n")
    with pytest.raises(SteelyardError, match="one file"):
        sy.split(tmp_path, **SHARES)
    with pytest.raises(UsageError, match="in memory"):
        sy.split({"id": [1]}, **SHARES, output=tmp_path)
    with pytest.raises(UsageError, match="is not a directory"):
        sy.split(tmp_path / "a.csv", **SHARES, output=tmp_path / "b.csv")


def test_frames_of_pandas_with_missing_values_and_json_both_ways() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": pd.array([1, None, 3], dtype="Int64"), "y": ["a", None, "c"]})
    found = sy.split(frame, **SHARES)
    assert found.n == 3
    assert len(frame[found.assigned == "train"]) == found.parts[0].n
    assert sy.DataSplit.from_dict(json.loads(json.dumps(found.to_dict()))) == found


def rows_in(path: Path) -> set[str]:
    return set(path.read_text().splitlines()[1:])


def many_rows(place: Path) -> Path:
    path = place / "data.csv"
    path.write_text("id,text\n" + "".join(f"q{i},text {i}\n" for i in range(300)))
    return path


def test_two_updates_at_once_leave_the_parts_of_one_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process that replaces the parts while ours get their names waits until all of them have theirs."""
    from steelyard.questions.split import writing

    source = many_rows(tmp_path)
    sy.split(source, train=0.5, test=0.5)
    put, others = writing.put_in_place, []

    def between(path: Path, place: Path, *, replace: bool) -> None:
        put(path, place, replace=replace)
        if not others:
            others.append(threading.Thread(target=lambda: sy.split(source, train=0.5, test=0.5, seed=2, update=True)))
            others[0].start()
            others[0].join(0.5)

    monkeypatch.setattr(writing, "put_in_place", between)
    sy.split(source, train=0.5, test=0.5, seed=1, update=True)
    others[0].join()
    train, test = rows_in(tmp_path / "train.csv"), rows_in(tmp_path / "test.csv")
    assert not train & test
    assert train | test == rows_in(source)
    assert sorted(os.listdir(tmp_path)) == ["data.csv", "test.csv", "train.csv"]


def test_who_waits_too_long_for_another_split_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from steelyard import locking

    source = many_rows(tmp_path)
    monkeypatch.setitem(locking.Lock.__init__.__kwdefaults__, "timeout", 0.1)
    (tmp_path / "parts").mkdir()
    with locking.Lock(tmp_path / "parts" / ".split"), pytest.raises(UsageError, match="is locked by process"):
        sy.split(source, train=0.5, test=0.5, output=tmp_path / "parts")
    assert os.listdir(tmp_path / "parts") == []


def test_an_update_to_fewer_parts_says_that_an_old_one_is_still_there(tmp_path: Path) -> None:
    source = many_rows(tmp_path)
    sy.split(source, train=0.8, dev=0.1, test=0.1)
    found = sy.split(source, train=0.8, test=0.2, update=True)
    assert any(said.startswith("dev.csv was there before") for said in found.warnings)
    assert rows_in(tmp_path / "dev.csv") & (rows_in(tmp_path / "train.csv") | rows_in(tmp_path / "test.csv"))
    assert not any("dev" in said for said in sy.split(source, **SHARES, update=True).warnings)
    assert not any("was there" in said for said in sy.split(tmp_path / "dev.csv", train=0.8, test=0.2, update=True).warnings)


def test_a_directory_that_is_called_as_a_file_is_not_made(tmp_path: Path) -> None:
    source = many_rows(tmp_path)
    for name in ("answer.json", "train.csv", "page.HTML"):
        with pytest.raises(UsageError, match="looks like the name of a file"):
            sy.split(source, train=0.5, test=0.5, output=tmp_path / name)
    (tmp_path / "old.csv").mkdir()
    assert sy.split(source, train=0.5, test=0.5, output=tmp_path / "old.csv").written
    assert sy.split(source, train=0.5, test=0.5, output=tmp_path / "v1.2").written
