"""Bad inputs through the command, numbered: one test each, named by its number.

Files 1-20 and 25-29 (21-24 are YAML, which `measure` does not read), ids 30-37, labels and scores 38-54, parameters
55-59 and sizes 63-68 as far as `measure` can meet them. How each format is read has its own tests in tests/read.
"""

from __future__ import annotations

import decimal
import gzip
import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from steelyard_old.cli.main import main

HEAD = "truth,prediction\n"
ROWS = "a,a\nb,b\na,b\n" * 10


class Bench:
    """Files, and the command over them."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys = folder, capsys

    def file(self, name: str, content: str | bytes) -> Path:
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def lines(self, name: str, *rows: dict[str, Any]) -> Path:
        return self.file(name, "".join(json.dumps(row) + "\n" for row in rows))

    def run(self, *words: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            main([*map(str, words)])
        out, err = self.capsys.readouterr()
        return int(stop.value.code or 0), out, err

    def refuses(self, *words: object, says: tuple[str, ...]) -> None:
        code, out, err = self.run("measure", *words)
        assert code == 3, (code, out, err)
        assert out == ""
        assert err.startswith("error: ")
        assert err.count("\n") == 1
        for part in says:
            assert part in err, err

    def answers(self, *words: object) -> dict[str, Any]:
        code, out, err = self.run("measure", *words, "--format", "json")
        assert code == 0, err
        assert err == ""
        return json.loads(out, parse_constant=lambda text: pytest.fail(f"{text} in the JSON"))

    def numbers(self, *words: object) -> tuple[Any, ...]:
        """What must not depend on how a file is written: all but the name of the run."""
        found = self.answers(*words)
        return tuple(found[key] for key in ("n", "metrics", "table", "slices", "roles", "warnings", "signature"))

    def row(self, *words: object) -> dict[str, Any]:
        (row,) = self.answers(*words)["metrics"]
        return row


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Bench:
    return Bench(tmp_path, capsys)


def bad_01_empty_file(b: Bench) -> None:
    for name in ("a.csv", "a.jsonl", "a.json", "a.parquet"):
        b.refuses(b.file(name, ""), says=("is empty", name))


def bad_02_header_only(b: Bench) -> None:
    b.refuses(b.file("a.csv", HEAD), says=("no rows", "has a header"))
    b.refuses(b.file("a.json", "[]"), says=("No items",))
    pq.write_table(pa.table({"truth": pa.array([], pa.string()), "prediction": pa.array([], pa.string())}), b.folder / "a.parquet")
    b.refuses(b.folder / "a.parquet", says=("No items",))


def bad_03_one_item(b: Bench) -> None:
    row = b.row(b.file("a.csv", HEAD + "a,a\n"), "--metric", "accuracy")
    assert row["estimate"] == 1
    assert 0 < row["interval"]["low"] < 1
    found = b.answers(b.file("s.csv", "score\n7\n"))
    assert found["metrics"][0]["estimate"] == 7
    assert found["metrics"][0]["interval"] is None
    assert any("no interval" in sentence for sentence in found["warnings"])
    for method in ("t", "percentile", "bca", "studentized"):
        assert b.row(b.folder / "s.csv", "--interval", method)["interval"] is None


def bad_04_byte_order_mark(b: Bench) -> None:
    plain = b.numbers(b.file("a.csv", HEAD + ROWS))
    assert b.numbers(b.file("a.csv", b"\xef\xbb\xbf" + (HEAD + ROWS).encode())) == plain


def bad_05_other_encodings(b: Bench) -> None:
    b.refuses(b.file("a.csv", (HEAD + ROWS).encode("utf-16")), says=("UTF-16", "offset 0", "UTF-8"))
    b.refuses(b.file("b.csv", (HEAD + "ä,ä\n").encode("latin-1")), says=("0xe4", "offset 17", "UTF-8"))


def bad_06_line_ends(b: Bench) -> None:
    plain = b.numbers(b.file("a.csv", HEAD + ROWS))
    for end in ("\r\n", "\r"):
        assert b.numbers(b.file("a.csv", (HEAD + ROWS).replace("\n", end))) == plain
    mixed = b.answers(b.file("a.csv", HEAD.replace("\n", "\r\n") + ROWS))
    assert mixed["metrics"] == plain[1]
    assert any("line ends" in sentence for sentence in mixed["warnings"])


def bad_07_last_line_cut_off(b: Bench) -> None:
    whole = '{"truth": 1, "prediction": 1}\n'
    b.refuses(b.file("a.jsonl", whole * 3 + whole[:15]), says=("line 4", "cut off", "did the run end early?"))


def bad_08_damaged_gzip(b: Bench) -> None:
    packed = gzip.compress((HEAD + ROWS).encode(), mtime=0)
    b.refuses(b.file("a.csv.gz", packed[:-12]), says=("ends too early",))
    b.refuses(b.file("b.csv.gz", packed[:-8] + b"\0\0\0\0" + packed[-4:]), says=("is damaged", "CRC"))


def bad_09_zstd_frames(b: Bench) -> None:
    codec = pa.Codec("zstd")
    plain = b.numbers(b.file("a.csv", HEAD + ROWS))
    frames = codec.compress(HEAD.encode(), asbytes=True) + codec.compress(ROWS.encode(), asbytes=True)
    assert b.numbers(b.file("a.csv.zst", frames)) == plain
    b.refuses(b.file("b.csv.zst", frames[:-5]), says=("ends too early",))


def bad_10_wrong_extension(b: Bench) -> None:
    lines = b.lines("a.jsonl", *[{"truth": "a", "prediction": "a"}, {"truth": "b", "prediction": "a"}] * 5)
    plain = b.numbers(lines, "--metric", "accuracy")
    assert b.numbers(b.file("b.jsonl", gzip.compress(lines.read_bytes())), "--metric", "accuracy") == plain
    pq.write_table(pa.table({"truth": ["a", "b"] * 5, "prediction": ["a", "a"] * 5}), b.folder / "c.csv")
    assert b.numbers(b.folder / "c.csv", "--metric", "accuracy") == plain
    b.refuses(b.file("d.csv.gz", HEAD + ROWS), says=("gzip", "rename it"))


def bad_11_bomb(b: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard_old.read.files.paths.LIMIT", 1 << 20)
    b.refuses(b.file("a.csv.gz", gzip.compress(HEAD.encode() + b"a,a\n" * 400_000)), says=("at most", "bytes"))


def bad_12_line_separator_in_a_text(b: Bench) -> None:
    path = b.file("a.jsonl", '{"truth": "a\u2028b", "prediction": "a\u2028b"}\n' * 3)
    assert b.answers(path, "--metric", "accuracy")["n"] == 3


def bad_13_nul_bytes(b: Bench) -> None:
    b.refuses(b.file("a.csv", HEAD + "a,a\nb\0,b\n"), says=("NUL", "offset 22"))


def bad_14_long_lines(b: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    text = HEAD.replace("\n", ",note\n") + f'a,a,"{"x" * 200_000}"\n' * 2
    assert b.answers(b.file("a.csv", text), "--metric", "accuracy")["n"] == 2
    monkeypatch.setattr("steelyard_old.read.files.delimited.MAX_FIELD", 1000)
    b.refuses(b.file("b.csv", text + "a,a\n"), says=("field", "line 2"))


def bad_15_ragged_rows(b: Bench) -> None:
    b.refuses(b.file("a.csv", HEAD + ROWS + "a,b,c\n"), says=("Line 32", "the header has 2"))
    b.refuses(b.file("b.csv", HEAD + "a\n" + ROWS), says=("Line 2", "the header has 2"))


def bad_16_duplicate_keys(b: Bench) -> None:
    b.refuses(b.file("a.jsonl", '{"truth": 1, "truth": 0, "prediction": 1}\n'), says=("'truth' twice", "line 1"))


def bad_17_numbers_that_are_not_json(b: Bench) -> None:
    for text in ("NaN", "Infinity", "-Infinity", "1e999"):
        b.refuses(b.file("a.jsonl", f'{{"score": {text}}}\n'), says=(text, "line 1"))


def bad_18_lone_surrogate(b: Bench) -> None:
    b.refuses(b.file("a.jsonl", '{"truth": "\\ud800", "prediction": "a"}\n'), says=("surrogate", "Unicode"))


def bad_19_depth_bomb(b: Bench) -> None:
    b.refuses(b.file("a.jsonl", '{"truth": ' + "[" * 100_000 + "]" * 100_000 + "}\n"), says=("nested too deeply",))


def bad_20_large_integers_as_ids(b: Bench) -> None:
    rows = [{"id": 2**53 + i, "truth": 1, "prediction": 1} for i in range(2)]
    assert b.answers(b.lines("a.jsonl", *rows), "--metric", "accuracy")["n"] == 2
    pq.write_table(pa.Table.from_pylist(rows), b.folder / "a.parquet")
    assert b.answers(b.folder / "a.parquet", "--metric", "accuracy")["n"] == 2


def bad_25_pickles(b: Bench) -> None:
    b.refuses(b.file("a.pkl", b"\x80\x04N."), says=("pickle", "can run code"))
    b.refuses(b.file("a.csv", b"\x80\x05N."), says=("pickle",))
    b.refuses(b.file("a.npy", b"\x93NUMPY\x01\0"), says=("NumPy", "CSV or Parquet"))


def bad_26_parquet_schema(b: Bench) -> None:
    labels = pa.array(["a", None, "b"]).dictionary_encode()
    pq.write_table(pa.table({"truth": labels, "prediction": ["a", "a", "b"]}), b.folder / "a.parquet")
    b.refuses(b.folder / "a.parquet", says=("1 of 3 items have no truth",))
    exact = pa.array([decimal.Decimal("0.5"), decimal.Decimal("0.25")], pa.decimal128(5, 3))
    pq.write_table(pa.table({"score": exact}), b.folder / "b.parquet")
    assert b.row(b.folder / "b.parquet")["estimate"] == 0.375
    pq.write_table(pa.table({"truth": [["a"], ["b"]], "prediction": ["a", "b"]}), b.folder / "c.parquet")
    b.refuses(b.folder / "c.parquet", says=("truth",))
    b.refuses(b.file("d.parquet", "PAR1 this is no Parquet file PAR1"), says=("not a whole Parquet file", "d.parquet"))


def bad_27_two_files_of_one_model(b: Bench) -> None:
    for name in ("run1.csv", "run2.csv"):
        b.file(name, "id,truth,prediction\n1,a,a\n2,b,b\n")
    b.refuses(b.folder / "run*.csv", says=("Duplicate ids", "4 rows"))


def bad_28_what_is_no_file(b: Bench) -> None:
    os.mkfifo(b.folder / "pipe.csv")
    b.refuses(b.folder / "pipe.csv", says=("a named pipe", "a regular file"))
    b.refuses("/dev/null", says=("a device", "a regular file"))
    (b.folder / "loop.csv").symlink_to(b.folder / "loop.csv")
    b.refuses(b.folder / "loop.csv", says=("loop.csv",))


def bad_29_file_that_changes(b: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    states = iter(range(1000))
    monkeypatch.setattr("steelyard_old.read.files.paths._state", lambda path: (next(states), 0, 0))
    b.refuses(b.file("a.csv", HEAD + ROWS), says=("changed while it was read", "try again"))
    b.refuses(b.lines("a.jsonl", {"truth": 1, "prediction": 1}), says=("changed while it was read",))


def bad_30_duplicate_ids(b: Bench) -> None:
    text = "id,truth,prediction\n" + "".join(f"{i // 2},a,a\n" for i in range(20))
    b.refuses(b.file("a.csv", text), says=("Duplicate ids", "10 ids occur in 20 rows", "'0', '1', '2', '3', '4'", "--repeat"))


def bad_34_ids_of_two_types(b: Bench) -> None:
    rows = [{"id": 1, "truth": 1, "prediction": 1}, {"id": "1", "truth": 1, "prediction": 1}]
    b.refuses(b.lines("a.jsonl", *rows), says=("id", "1 and '1'"))


def bad_36_order_of_items(b: Bench) -> None:
    rows = [f"{i},{'abc'[i % 3]},{'abc'[i * i % 7 % 3]},{i % 7 / 7}\n" for i in range(90)]
    head = "id,truth,prediction,weight\n"
    for words in ([], ["--metric", "mcc,kappa,macro_f1", "--interval", "percentile"], ["--weight", "weight", "--metric", "accuracy"]):
        one = b.answers(b.file("a.csv", head + "".join(rows)), *words)
        two = b.answers(b.file("a.csv", head + "".join(rows[::-1])), *words)
        three = b.answers(b.file("a.csv", head + "".join(rows[1::2] + rows[::2])), *words)
        if "--weight" in words:  # sums of floats in another order: the last bits may differ
            for other in (two, three):
                assert other["metrics"][0]["interval"]["low"] == pytest.approx(one["metrics"][0]["interval"]["low"], rel=1e-12)
        else:
            assert one == two == three
    scores = [f"{i % 11 / 10}\n" for i in range(66)]
    for method in ("t", "bounded-mean", "percentile", "bca", "studentized", "wilson-mean", "betting"):
        one = b.row(b.file("s.csv", "score\n" + "".join(scores)), "--interval", method)
        two = b.row(b.file("s.csv", "score\n" + "".join(scores[::-1])), "--interval", method)
        assert one == two, method


def bad_37_groups(b: Bench) -> None:
    rows = "".join(f"1,{i % 3 > 0:d},{i // 5}\n" for i in range(30))
    b.refuses(b.file("a.csv", "truth,prediction,group\n" + rows + "1,1,\n"), says=("1 of 31 items have no group", "row 31"))
    found = b.answers(b.file("b.csv", "truth,prediction,group\n" + "1,1,x\n1,0,x\n" * 5), "--metric", "accuracy")
    assert found["metrics"][0]["estimate"] == 0.5
    assert found["metrics"][0]["interval"] is None
    assert any("only 1 group" in sentence for sentence in found["warnings"])


def bad_38_scores_that_are_no_numbers(b: Bench) -> None:
    b.refuses(b.file("a.csv", "score\n1\n0.5\ninf\n"), says=("Infinite score", "row 3"))
    b.refuses(b.file("b.csv", "score,x\n1,x\n0.5,x\nnan,x\n"), says=("1 of 3 items have no score", "--missing"))
    wrong = b.answers(b.folder / "b.csv", "--missing", "wrong")
    assert wrong["metrics"][0]["estimate"] == 0.5
    assert wrong["metrics"][0]["n"] == 3
    assert any("1 of 3 items without a score count as wrong" in sentence for sentence in wrong["warnings"])
    drop = b.answers(b.folder / "b.csv", "--missing", "drop")
    assert (drop["metrics"][0]["estimate"], drop["n"]) == (0.75, 2)
    assert any("1 of 3 items without a score were left out" in sentence for sentence in drop["warnings"])


def bad_39_empty_prediction(b: Bench) -> None:
    b.refuses(b.file("a.csv", HEAD + ROWS + "a,\n"), says=("1 of 31 items have no prediction", "--missing wrong"))
    found = b.answers(b.folder / "a.csv", "--missing", "wrong")
    assert found["n"] == 31
    assert found["metrics"][0]["estimate"] == 20 / 31
    assert {row["label"] for row in found["metrics"] if row["label"]} == {"a", "b"}  # (missing) is no class
    assert any("count as wrong" in sentence for sentence in found["warnings"])


def bad_40_label_only_in_predictions(b: Bench) -> None:
    path = b.file("a.csv", HEAD + "a,a\n" * 11 + "b,b\n" * 11 + "a,A\n")
    found = b.answers(path)
    assert any("only in the predictions" in sentence and "--labels" in sentence for sentence in found["warnings"])
    declared = b.answers(path, "--labels", "a,b", "--metric", "macro_f1")
    assert declared["metrics"][0]["estimate"] == pytest.approx((22 / 23 + 1) / 2)
    assert any("outside the declared labels" in s and "wrong: 'A' (1)" in s for s in declared["warnings"])


def bad_41_declared_label_without_support(b: Bench) -> None:
    path = b.file("a.csv", HEAD + ROWS)
    found = b.answers(path, "--labels", "a,b,c", "--metric", "each_f1,macro_f1")
    assert [row["estimate"] is None for row in found["metrics"]] == [False, False, True, True]
    assert any("--absent skip or --absent zero" in sentence for sentence in found["warnings"])
    assert any("'c'" in sentence for sentence in found["warnings"])
    assert b.row(path, "--labels", "a,b,c", "--metric", "macro_f1", "--absent", "skip")["estimate"] is not None


def bad_42_one_class(b: Bench) -> None:
    path = b.file("a.csv", "truth,prediction,probability\n" + "1,1,0.7\n1,1,0.9\n" * 10)
    found = b.answers(path, "--metric", "auc,kappa,mcc,brier,f1", "--positive", "1")
    assert [row["estimate"] for row in found["metrics"][:3]] == [None, None, None]
    assert [row["interval"] for row in found["metrics"][:3]] == [None, None, None]
    assert sum("undefined" in sentence for sentence in found["warnings"]) == 3
    assert found["metrics"][3]["estimate"] == pytest.approx(0.05)
    assert found["metrics"][4]["estimate"] == 1


def bad_43_mixed_label_types(b: Bench) -> None:
    for one, other in ((1, "1"), (1, 1.0), (True, 1)):
        rows = [{"truth": one, "prediction": one}, {"truth": other, "prediction": one}]
        b.refuses(b.lines("a.jsonl", *rows), says=("spelled in several ways", "spelled in several ways"))
    b.refuses(b.file("a.csv", HEAD + "1,1\n1.0,1\n"), says=("spelled in several ways", "'1' and '1.0'"))


def bad_44_near_duplicates(b: Bench) -> None:
    found = b.answers(b.file("a.csv", HEAD + "Cat,cat\ncat,cat\ndog,dog \n" * 10))
    assert any("'Cat' and 'cat'" in s and "'dog' and 'dog '" in s and "case or spaces" in s for s in found["warnings"])


def bad_45_very_many_labels(b: Bench) -> None:
    """No table of labels times labels, and no pass over all cells for each label: 25,000 labels would take minutes."""
    text = HEAD + "".join(f"q{i},q{i if i % 4 else i + 1}\n" for i in range(25_000))
    row = b.row(b.file("a.csv", text), "--metric", "accuracy")
    assert (row["estimate"], row["n"]) == (0.75, 25_000)


def bad_46_percent_signs(b: Bench) -> None:
    b.refuses(b.file("a.csv", "score\n0.5\n85%\n"), says=("The score in row 2 must be a number", "write 0.85 (or 85)"))


def bad_47_percent_and_fraction(b: Bench) -> None:
    b.refuses(b.file("a.csv", "score\n0.5\n85\n"), "--range", 0, 1, says=("A score of 85", "percent mixed with fractions"))


def bad_49_outside_the_range(b: Bench) -> None:
    b.refuses(b.file("a.csv", "score\n1\n-0.1\n3\n"), "--range", 0, 5, says=("A score of -0.1", "0 to 5"))
    b.refuses(b.file("b.csv", "score\n0\n1\n1\n"), "--range", 0, 0.5, says=("A score of 1", "0 to 0.5"))
    rows = "truth,probability\n1,0.5\n0,1.2\n"
    b.refuses(b.file("c.csv", rows), "--metric", "brier", says=("outside 0 and 1", "1.2"))


def bad_50_ties(b: Bench) -> None:
    rows = "truth,probability\n" + "1,0.5\n0,0.5\n" * 10
    assert b.row(b.file("a.csv", rows), "--metric", "auc")["estimate"] == 0.5
    rows = "truth,probability\n" + "1,0.5\n0,0.5\n1,0.7\n0,0.1\n" * 5
    assert b.row(b.file("b.csv", rows), "--metric", "auc")["estimate"] == 0.875


def bad_51_constant_scores(b: Bench) -> None:
    for value, words in ((0.5, []), (1, []), (7, ["--range", 0, 10]), (7, []), (0.5, ["--interval", "t"]), (0.5, ["--interval", "bca"])):
        found = b.answers(b.file("a.csv", "score\n" + f"{value}\n" * 30), *words)
        (row,) = found["metrics"]
        assert row["estimate"] == value
        if row["interval"] is None:
            assert found["warnings"]
        else:
            assert row["interval"]["low"] < row["interval"]["high"]


def bad_53_weights(b: Bench) -> None:
    def weighted(*weights: object) -> Path:
        return b.file("a.csv", "truth,prediction,w\n" + "".join(f"{'ab'[i % 2]},a,{w}\n" for i, w in enumerate(weights)))

    b.refuses(weighted(1, -2, 3), "--weight", "w", says=("-2.0 in row 2", "0 or more"))
    b.refuses(weighted(1, "", 3), "--weight", "w", says=("a missing weight in row 2",))
    b.refuses(weighted(0, 0, 0), "--weight", "w", says=("weights are zero",))
    b.refuses(weighted(1, "inf"), "--weight", "w", says=("Infinite weight",))
    found = b.answers(weighted(*[0.5, 1.5] * 10), "--weight", "w", "--metric", "accuracy")
    assert found["metrics"][0]["estimate"] == 0.25
    assert "design:weights" in found["signature"]


def bad_54_impossible_counts(b: Bench) -> None:
    b.refuses("--counts", "5/4", says=("5 right of 4", "Did you mean 4/5?"))
    b.refuses("--counts", "-1/4", says=("K/N",))
    b.refuses("--tp", "-1", "--fp", 1, "--fn", 1, says=("--tp", "-1"))


def bad_56_no_items(b: Bench) -> None:
    b.refuses("--counts", "0/0", says=("No items", "1 or more"))


def bad_59_too_few_draws(b: Bench) -> None:
    b.refuses("--counts", "5/9", "--interval", "bca", "--draws", 38, says=("at least 39",))
    assert b.row("--counts", "5/9", "--interval", "bca", "--draws", 39)["interval"]["method"] == "bca"
    b.refuses("--counts", "5/9", "--interval", "bca", "--confidence-level", 0.999, "--draws", 1998, says=("at least 1999",))


def bad_63_past_2_to_the_31(b: Bench) -> None:
    row = b.row("--counts", f"{2**31 + 5}/{2**33}")
    assert row["estimate"] == (2**31 + 5) / 2**33
    path = b.file("a.csv", f"truth,prediction,w\na,a,{2**40}\nb,a,{2**40}\n")
    found = b.answers(path, "--weight", "w", "--metric", "accuracy,macro_f1,mcc,kappa", "--absent", "zero")
    assert found["n"] == 2**41
    assert found["metrics"][0]["estimate"] == 0.5


def bad_64_products_of_large_counts(b: Bench) -> None:
    cells = ["--tp", 3 * 10**12, "--fp", 10**12, "--fn", 2 * 10**12, "--tn", 4 * 10**12]
    found = b.answers(*cells, "--metric", "mcc,kappa,balanced_accuracy", "--interval", "delta")
    small = b.answers(*[word if isinstance(word, str) else word // 10**12 for word in cells], "--metric", "mcc,kappa,balanced_accuracy")
    for big, little in zip(found["metrics"], small["metrics"], strict=True):
        assert big["estimate"] == pytest.approx(little["estimate"], rel=1e-12)
        assert 0 < big["interval"]["high"] - big["interval"]["low"] < 1e-5


def bad_65_a_billion_items(b: Bench) -> None:
    for method in ("wilson", "clopper-pearson", "jeffreys", "mid-p", "agresti-coull", "bayes", "percentile"):
        row = b.row("--counts", "999999999/1000000000", "--interval", method)
        assert row["estimate"] == 0.999999999
        assert 0.99999999 < row["interval"]["low"] < row["interval"]["high"] <= 1


def bad_67_cancellation(b: Bench) -> None:
    near = b.row(b.file("a.csv", "score\n" + "0\n1\n2\n" * 20), "--interval", "t")
    far = b.row(b.file("b.csv", "score\n" + "1000000000\n1000000001\n1000000002\n" * 20), "--interval", "t")
    for end in ("low", "high"):
        assert far["interval"][end] - 1e9 == pytest.approx(near["interval"][end], abs=1e-6)


def bad_68_memory_of_a_bootstrap(b: Bench) -> None:
    path = b.file("a.csv", "errors,words\n" + "".join(f"{i % 7},{10 + i % 13}\n" for i in range(20_000)))
    tracemalloc.start()
    try:
        row = b.row(path, "--ratio", "errors/words", "--draws", 1000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert row["interval"]["method"] == "percentile"
    assert peak < 64 << 20  # items x draws would be 160 MB


CASES: dict[str, Callable[..., None]] = {name: case for name, case in list(globals().items()) if name.startswith("bad_")}


@pytest.mark.parametrize("case", [pytest.param(case, id=name.split("_", 1)[1]) for name, case in CASES.items()])
def test_bad_input(bench: Bench, case: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    if "monkeypatch" in case.__code__.co_varnames[: case.__code__.co_argcount]:
        case(bench, monkeypatch)
    else:
        case(bench)
