"""Bad input: one sentence, a hint, exit 3, and nothing written. One row for each class of mistakes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import steelyard as sy
from steelyard.command import run

FILES = {
    "ok.csv": "id,truth,prediction\n" + "".join(f"{i},{'ab'[i % 2]},{'aab'[i % 3]}\n" for i in range(30)),
    "empty.csv": "",
    "header.csv": "id,truth,prediction\n",
    "twice.csv": "id,truth,prediction\n1,a,a\n1,b,b\n",
    "gold.csv": "id,truth,prediction\n" + "".join(f"{i},b,b\n" for i in range(30)),
    "fewer.csv": "id,truth,prediction\n" + "".join(f"{i},{'ab'[i % 2]},a\n" for i in range(29)),
    "gap.csv": "id,truth,prediction\n1,a,\n2,b,b\n",
    "nan.csv": "id,score\n1,nan\n2,0.5\n3,x\n",
    "percent.csv": "id,score\n1,85%\n2,90%\n",
    "both.csv": "id,truth,label,prediction\n1,a,a,a\n2,b,b,b\n",
    "odd.csv": "a,b\n1,2\n",
    "probabilities.csv": "id,truth,y_pred\n" + "".join(f"{i},{i % 2},0.{i % 9 + 1}\n" for i in range(30)),
    "ragged.csv": "id,truth,prediction\n1,a,a\n2,b\n3,a,a,a\n",
    "cut.jsonl": '{"id": 1, "truth": "a", "prediction": "a"}\n{"id": 2, "truth": "b", "pred',
    "mixed.jsonl": '{"id": 1, "truth": 1, "prediction": 1.0}\n{"id": 2, "truth": "1", "prediction": 1}\n',
    "whole.csv": "id,truth,prediction\n" + "".join(f"{i},{i * 7},{i * 7 + 1000}\n" for i in range(40)),
}
REFUSED = [
    ("measure nofile.csv", "No such file"),
    ("measure empty.csv", "empty"),
    ("measure header.csv", "no items"),
    ("measure gap.csv", "without a prediction"),
    ("measure nan.csv", "must be a number"),
    ("measure percent.csv", "0.85"),
    ("measure both.csv", "could be the truth"),
    ("measure odd.csv", "known name"),
    ("measure probabilities.csv", "probability=y_pred"),
    ("measure ragged.csv", "Cannot read"),
    ("measure cut.jsonl", "Cannot read"),
    ("measure mixed.jsonl", "two ways"),
    ("measure whole.csv", "metric=accuracy or metric=rmse"),
    ("measure latin.csv", "UTF-8"),
    ("measure loop.csv", "regular file"),
    ("measure twice.csv", "more than once"),
    ("measure two", "2 files"),
    ("measure 9/4", "9 right of 4"),
    ("measure 3/9 --confidence-level 95", "0.95"),
    ("measure ok.csv --metric acuracy", "accuracy?"),
    ("measure ok.csv --metrc accuracy", "--metric?"),
    ("measure ok.csv --metric f1", "Which class"),
    ("measure ok.csv --metric f1 --positive z", "no class 'z'"),
    ("measure ok.csv --prediction predition", "prediction?"),
    ("measure ok.csv --interval wislon", "wilson"),
    ("measure ok.csv --metric macro_f1 --draws 1000000000", "draws"),
    ("measure ok.csv --range 1,0 --metric accuracy", "rise"),
    ("measure ok.csv --missing wrng", "wrong"),
    ("measure ok.csv --seed 1 --seed 2", "2 times"),
    ("measure ok.csv -o ok.csv", "is read"),
    ("measure ok.csv -o answer.doc", "ending"),
    ("measure ok.csv -o nowhere/answer.json", "no directory"),
    ("measure 790,58,76,76", "compare 790"),
    ("measure", "SOURCE"),
    ("compare ok.csv", "two sources"),
    ("compare ok.csv gold.csv", "other truths"),
    ("compare ok.csv fewer.csv", "same items"),
    ("compare ok.csv twice.csv", "more than once"),
    ("compare twice.csv twice.csv", "more than once"),
    ("compare ok.csv ok.csv --margin -1", "above 0"),
    ("compare ok.csv ok.csv --test t-test", "mcnemar-midp"),
    ("rank ok.csv", "several sources"),
    ("rank ok.csv gold.csv --correction holms", "holm"),
    ("mesure ok.csv", "measure?"),
]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "latin.csv").write_bytes("id,truth,prediction\n1,caf\xe9,caf\xe9\n".encode("latin-1") + b"2,a,a\n" * 9)
    (tmp_path / "two").mkdir()
    for name in ("one.csv", "two.csv"):  # two runs in one directory
        (tmp_path / "two" / name).write_text(FILES["ok.csv"])
    os.symlink(tmp_path / "loop.csv", tmp_path / "loop.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("words", "word"), REFUSED, ids=[words for words, _ in REFUSED])
def test_refused(words: str, word: str, desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path.name: path.read_bytes() for path in desk.iterdir() if path.is_file()}
    assert run(words.split()) == 3
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("error: ")
    assert word in said.err
    assert said.err.count("\n") == 1
    assert "Traceback" not in said.err
    assert {path.name: path.read_bytes() for path in desk.iterdir() if path.is_file()} == before


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: sy.measure(["a", "b"], ["a"]), "as many"),
        (lambda: sy.measure([1, 1.0], [1, 1]), "two ways"),
        (lambda: sy.measure({"truth": ["a"], "prediction": ["a"]}, grup="g"), "group"),
        (lambda: sy.measure({"score": [0.1, float("inf")]}), "infinite"),
        (lambda: sy.measure({"score": [1, 0], "w": [1.5, -1]}, weight="w"), "Weights"),
        (lambda: sy.measure(object()), "cannot be read"),
        (lambda: sy.measure([], []), "no items"),
        (lambda: sy.Counts.of(-1, 3), "whole number"),
        (lambda: sy.compare([1, 0], [1, 0, 1]), "without ids"),
        (lambda: sy.measure(["a", "b"] * 5, ["a", "b"] * 5, metric=lambda t, p: "x"), "one number"),
    ],
)
def test_refused_in_python(call: object, word: str) -> None:
    with pytest.raises(sy.SteelyardError, match=word):
        call()  # type: ignore[operator]
