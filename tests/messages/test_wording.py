"""The exact wording of errors and warnings, so that a change of it is a decision and not an accident.

The texts are in `wording.json` beside this file. After a deliberate change, write it anew and read the difference:

    STEELYARD_WORDING=write python -m pytest tests/messages -q -p no:cacheprovider && git diff tests/messages
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.metrics.catalogue import find

WORDING = Path(__file__).with_name("wording.json")
WRITE = os.environ.get("STEELYARD_WORDING") == "write"
PETS = "id,truth,prediction,subject\n" + "".join(f"{i},{t},{p},x\n" for i, (t, p) in enumerate([("cat", "cat"), ("dog", "cat")] * 12))


def _file(folder: Path, name: str, text: str | bytes) -> str:
    (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return str(folder / name)


def _pets(folder: Path, text: str = PETS) -> str:
    return _file(folder, "pets.csv", text)


ERRORS: dict[str, Callable[[Path], Any]] = {
    "level in percent": lambda f: sy.measure(sy.Counts.of(1, 2), confidence_level=95),
    "unknown side": lambda f: sy.measure(sy.Counts.of(1, 2), side="both"),
    "unknown interval": lambda f: sy.measure(sy.Counts.of(1, 2), interval="wilsn"),
    "interval that a metric does not offer": lambda f: sy.measure(sy.Counts.of(1, 2), interval="t"),
    "interval of groups": lambda f: sy.measure([1, 0] * 9, [1, 1] * 9, group=list(range(6)) * 3, metric="accuracy", interval="jeffreys"),
    "unknown metric": lambda f: sy.measure(sy.Counts.of(1, 2), metric="acuracy"),
    "fbeta without beta": lambda f: sy.measure(sy.Counts.of(1, 2), metric="fbeta"),
    "average of what has no classes": lambda f: sy.measure(sy.Counts.of(1, 2), metric="macro_accuracy"),
    "too few draws": lambda f: sy.measure(sy.Counts.of(4, 9), interval="bca", draws=20),
    "no draws": lambda f: sy.measure(sy.Counts.of(4, 9), draws=0),
    "seed": lambda f: sy.measure(sy.Counts.of(4, 9), seed=-1),
    "prior": lambda f: sy.measure(sy.Counts.of(4, 9), interval="bayes", prior=0),
    "range reversed": lambda f: sy.measure([0.5], range=(1, 0)),
    "score outside the range": lambda f: sy.measure([0.5, 85.0], range=(0, 1)),
    "more right than items": lambda f: sy.Counts.of(5, 4),
    "negative count": lambda f: sy.Counts.of(-1, 4),
    "half a count": lambda f: sy.Counts.binary(tp=1.5, fp=1, fn=1),
    "no items": lambda f: sy.measure(sy.Counts.of(0, 0)),
    "f1 of k of n": lambda f: sy.measure(sy.Counts.of(1, 2), metric="f1"),
    "accuracy without true negatives": lambda f: sy.measure(sy.Counts.binary(tp=1, fp=1, fn=1), metric="accuracy"),
    "which class": lambda f: sy.measure(_pets(f), metric="f1"),
    "no such class": lambda f: sy.measure(_pets(f), metric="f1", positive="Cat"),
    "truth outside the labels": lambda f: sy.measure(_pets(f), labels=["cat", "owl"]),
    "column not found": lambda f: sy.measure(_pets(f), truth="trth"),
    "two candidates": lambda f: sy.measure(_pets(f, "truth,gold,prediction\na,a,a\n")),
    "several models": lambda f: sy.measure(_pets(f, "model,truth,prediction\nA,a,a\nB,a,a\n")),
    "missing prediction": lambda f: sy.measure(_pets(f, "truth,prediction\na,a\na,\n")),
    "missing truth as wrong": lambda f: sy.measure(_pets(f, "truth,prediction\na,a\n,a\n"), missing="wrong"),
    "duplicate ids": lambda f: sy.measure(_pets(f, "id,truth,prediction\n1,a,a\n1,a,a\n")),
    "repeats without ids": lambda f: sy.measure({"run": [0, 1], "score": [1, 0]}),
    "nothing to measure": lambda f: sy.measure(_pets(f, "a,b\n1,2\n")),
    "metric without its column": lambda f: sy.measure(_pets(f), metric="auc"),
    "truths that are numbers": lambda f: sy.measure([1.5, 2.5], [1.5, 2.0]),
    "numbers and labels mixed": lambda f: sy.measure(_pets(f), metric=["accuracy", "mae"]),
    "labels spelled in two ways": lambda f: sy.measure([1, 1], [1.0, 1.0]),
    "percent sign": lambda f: sy.measure(_pets(f, "score\n0.5\n85%\n")),
    "infinite score": lambda f: sy.measure([0.5, math.inf]),
    "probability outside 0 and 1": lambda f: sy.measure([0, 1], probability=[0.5, 1.2], metric="brier"),
    "probability of what": lambda f: sy.measure(["no", "yes"], probability=[0.5, 0.7], metric="auc"),
    "too few tries": lambda f: sy.measure({"id": [1, 1], "run": [0, 1], "score": [0, 1]}, metric="pass@5"),
    "negative weight": lambda f: sy.measure({"score": [1, 0], "w": [1, -1]}, weight="w"),
    "file not found": lambda f: sy.measure(str(Path(_pets(f)).with_name("pet.csv"))),
    "empty file": lambda f: sy.measure(_pets(f, "")),
    "ragged row": lambda f: sy.measure(_pets(f, "truth,prediction\na,a\na,b,c\n")),
    "latin-1": lambda f: sy.measure(_file(f, "pets.csv", b"truth,prediction\n\xe4,a\n")),
    "half a line of JSON": lambda f: sy.measure(_file(f, "a.jsonl", '{"truth": 1, "prediction": 1}\n{"truth": 1,')),
    "a pickle": lambda f: sy.measure(_file(f, "a.pkl", b"\x80\x04N.")),
    "unequal lengths": lambda f: sy.measure([1, 2, 3], [1, 2]),
    "several rows": lambda f: sy.measure(_pets(f)).estimate,
    "no such row": lambda f: sy.measure(_pets(f))["recal"],
    "counts with columns": lambda f: sy.measure(sy.Counts.of(1, 2), by="subject"),
    "measured again without a table": lambda f: sy.measure(sy.measure([0.2, 0.3, 0.9])),
    "posterior of every class": lambda f: sy.posterior(sy.Counts.table([[1, 2], [3, 4]]), "each_f1"),
    "posterior of what has none": lambda f: sy.posterior(sy.Counts.of(1, 2), "auc"),
}

WARNINGS: dict[str, Callable[[Path], sy.Measurement]] = {
    "wald near an end": lambda f: sy.measure(sy.Counts.of(39, 40), interval="wald"),
    "wald at the end": lambda f: sy.measure(sy.Counts.of(40, 40), interval="wald"),
    "the prior speaks": lambda f: sy.measure(sy.Counts.binary(tp=31, fp=5, fn=2), metric="f1", interval="bayes", prior=0.05),
    "perfect table": lambda f: sy.measure(sy.Counts.table([[20, 0], [0, 20]]), metric="mcc"),
    "undefined class": lambda f: sy.measure(_pets(f), metric="each_precision"),
    "undefined average": lambda f: sy.measure(_pets(f), metric="macro_precision"),
    "undefined kappa": lambda f: sy.measure(["a"] * 20, ["a"] * 20, metric="kappa"),
    "stray labels": lambda f: sy.measure(["a", "b"] * 10, ["a", "z"] * 10, labels=["a", "b"], metric="accuracy"),
    "labels only in the predictions": lambda f: sy.measure(["a", "b"] * 10, ["a", "z"] * 10, metric="macro_f1"),
    "declared label without cases": lambda f: sy.measure(["a", "b"] * 10, ["a", "b"] * 10, labels=["a", "b", "c"], metric="accuracy"),
    "near duplicates": lambda f: sy.measure(["Cat", "cat"] * 10, ["cat", "cat"] * 10, metric="accuracy"),
    "small classes": lambda f: sy.measure(["a"] * 20 + ["b"] * 5, ["a"] * 21 + ["b"] * 4, metric="macro_recall", interval="delta"),
    "groups ignored": lambda f: sy.measure({"truth": [1, 0] * 9, "pred": [1, 1] * 9, "group": [1] * 18}, metric="accuracy", group="none"),
    "few groups": lambda f: sy.measure([1, 0] * 9, [1, 1] * 9, group=list(range(6)) * 3, metric="accuracy"),
    "too few groups": lambda f: sy.measure([1, 0] * 9, [1, 1] * 9, group=list(range(3)) * 6, metric="accuracy"),
    "missing counted as wrong": lambda f: sy.measure(_pets(f, "truth,prediction\na,a\na,\n"), missing="wrong", metric="accuracy"),
    "missing left out": lambda f: sy.measure(_pets(f, "truth,prediction\na,a\na,\n"), missing="drop", metric="accuracy"),
    "score against labels": lambda f: sy.measure(_pets(f, "truth,prediction,score\n" + "a,a,0\nb,b,1\n" * 10), metric="accuracy"),
    "equal scores": lambda f: sy.measure([0.5] * 30, interval="t"),
    "equal scores of unknown range": lambda f: sy.measure([7.0] * 30, interval="t"),
    "few off the boundary": lambda f: sy.measure([5.0] * 30 + [1.0, 2.0]),
    "auc of one class": lambda f: sy.measure([1] * 9, probability=[0.5] * 9, metric="auc"),
    "perfect auc": lambda f: sy.measure([0, 1] * 9, probability=[0.2, 0.7] * 9, metric="auc", interval="delong"),
    "one positive": lambda f: sy.measure([0] * 9 + [1], probability=[0.2, 0.7] * 5, metric="auc"),
    "certain and wrong": lambda f: sy.measure([0, 1] * 9, probability=[0.2, 0.0] * 9, metric="log_loss"),
    "mixed line ends": lambda f: sy.measure(_pets(f, "truth,prediction\r\n" + "a,a\nb,b\n" * 9), metric="accuracy"),
}  # fmt: skip


def _texts(name: str, folder: Path) -> list[str]:
    if name in ERRORS:
        with pytest.raises(sy.SteelyardError) as caught:
            ERRORS[name](folder)
        found = [f"{type(caught.value).__name__}: {caught.value}"]
    else:
        found = list(WARNINGS[name](folder).warnings)
    return [text.replace(str(folder), "FOLDER") for text in found]


def _recorded() -> dict[str, list[str]]:
    return json.loads(WORDING.read_text(encoding="utf-8")) if WORDING.exists() else {}


@pytest.mark.parametrize("name", [*ERRORS, *WARNINGS])
def test_wording(name: str, tmp_path: Path) -> None:
    texts = _texts(name, tmp_path)
    if WRITE:
        kept = {key: value for key, value in {**_recorded(), name: texts}.items() if key in ERRORS or key in WARNINGS}
        ordered = {key: kept[key] for key in (*ERRORS, *WARNINGS) if key in kept}
        WORDING.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert texts == _recorded().get(name), "deliberate? then write it anew, as the head of this file says"


def test_nothing_is_recorded_that_nobody_says() -> None:
    assert set(_recorded()) == {*ERRORS, *WARNINGS}


def test_a_message_does_not_depend_on_the_order_of_a_set() -> None:
    """Hash randomisation must not choose which example is shown."""
    code = "import steelyard as sy\ntry: sy.measure(list('12345'), ['1.0', '2.0', '3.0', '4.0', '5.0'])\nexcept sy.DataError as e: print(e)"
    said = set()
    for seed in "0123":
        answer = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed}
        )
        said.add(answer.stdout)
    assert len(said) == 1, said


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_is_advice(name: str, tmp_path: Path) -> None:
    """One sentence with a capital and a full stop, then a hint; in one line of bearable length, in the words of Python."""
    with pytest.raises(sy.SteelyardError) as caught:
        ERRORS[name](tmp_path)
    error = caught.value
    assert error.got or error.need or error.hint
    text, sentence = str(error), error.sentence
    advice = f"D{error.hint[1:]}" if error.hint.startswith("did you mean") else f"Hint: {error.hint}"
    assert text == (f"{sentence} {advice}" if error.hint else sentence)
    first = sentence.split()[0]
    named = first[0] in "'0123456789" or re.match("[a-z_]+=", first) or re.match("[a-z_]+ must be ", sentence) or find(first) is not None
    assert first[0].isupper() or named, "a sentence begins with a capital, a number, or the name of a file, a parameter or a metric"
    assert sentence.endswith((".", "?"))
    assert not error.hint.endswith("."), "a hint may end with what is to be typed"
    assert "  " not in text
    assert not re.search(r"(^| )--[a-z]", text), "Python has parameters; the command says its flags at its edge"
    assert "\n" not in text
    assert len(text.replace(str(tmp_path), "")) < 420
    assert "np." not in text


@pytest.mark.parametrize("name", WARNINGS)
def test_a_warning_is_a_sentence_in_the_answer(name: str, tmp_path: Path) -> None:
    m = WARNINGS[name](tmp_path)
    assert m.warnings
    assert m.to_dict()["warnings"] == list(m.warnings)
    for sentence in m.warnings:
        assert "\n" not in sentence
        assert not sentence.endswith(".")
        assert "(s)" not in sentence
        assert "nan" not in sentence.split()
        words = " ".join(str(m).split())
        assert " ".join(sentence.split()[:4]) in words
