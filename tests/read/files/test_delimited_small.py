"""A CSV file read without an engine and the same file read by DuckDB: the same JSON, byte for byte, or the same refusal."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from cases import every
from steelyard.errors import SteelyardError
from steelyard.read.files import delimited

pytestmark = pytest.mark.usefixtures("shared_engine")
HEAD = b"id,truth,prediction\n"
ROWS = b"".join(b"%d,%s,%s\n" % (i, b"abc"[i % 3 : i % 3 + 1], b"abc"[i * 7 % 11 % 3 : i * 7 % 11 % 3 + 1]) for i in range(60))
PLAIN = HEAD + ROWS
OTHER = HEAD + b"".join(reversed(ROWS.splitlines(keepends=True))).replace(b",a,b\n", b",a,a\n")

FILES: dict[str, bytes] = {
    "plain": PLAIN,
    "no end of line at the end": PLAIN.rstrip(b"\n"),
    "CRLF": PLAIN.replace(b"\n", b"\r\n"),
    "byte order mark": b"\xef\xbb\xbf" + PLAIN,
    "tabs": PLAIN.replace(b",", b"\t"),
    "semicolons": PLAIN.replace(b",", b";"),
    "quoted": b"\n".join(b",".join(b'"%s"' % part for part in line.split(b",")) for line in PLAIN.splitlines()),
    "quotes in quotes, commas, line ends": HEAD + b'1,"a ""b"", c","a ""b"", c"\n2,"x\ny","x\ny"\n3,z,"x\ny"\n',
    "quotes inside a field": HEAD + b'1,a"b,a"b\n2,c,c\n',
    "a space before a quote": HEAD + b'1, "a",a\n2,b,b\n',
    "spaces around labels": HEAD + b"1, a,a \n2,b ,b\n3,  ,b\n",
    "tabs and other space in labels": "id,truth,prediction\n1,\ta,a\n2,\u00a0b,b\n3,\u3000c,c\n".encode(),
    "letters of many scripts": "id,truth,prediction\nä,日本,日本\nß,é,e\u0301\n😀,😀,😀\n".encode(),
    "control characters": HEAD + b"1,a\x01,a\x01\n2,\x7f,\x7f\n3,\x0b,\x0c\n4,\x1c,\x1e\n",
    "line ends of Unicode": "id,truth,prediction\n1,a\u2028b,a\u2028b\n2,\x85,c\n".encode(),
    "backslashes": HEAD + b"1,\\a,\\a\n2,\\,\\\n3,\\n,\\\\\n",
    "missing answers": HEAD + b"1,a,\n2,b,b\n3,c,c\n4,c,a\n",
    "quoted empty fields": HEAD + b'1,a,""\n2,b,b\n3,"",c\n',
    "missing truths": HEAD + b"1,,a\n2,b,b\n",
    "missing ids": HEAD + b"1,a,a\n,b,b\n,c,c\n",
    "no truth at all": HEAD + b"1,,a\n2,,b\n",
    "ids twice": HEAD + b"z,a,a\nb,b,b\nz,c,c\nb,a,a\nq,a,b\n10,a,a\n9,a,a\n10,a,a\n9,a,a\nm,a,a\nm,a,a\nn,a,a\nn,a,a\n",
    "ids that are numbers in two spellings": HEAD + b"1,a,a\n1.0,b,b\n01,c,c\n",
    "numbers in two spellings": HEAD + b"1,1,1.0\n2,2,2\n",
    "numbers as labels": HEAD + b"1,1,1\n2,0,1\n3,10,10\n4,9,10\n",
    "words for nothing": HEAD + b"1,NULL,NULL\n2,None,nan\n3,NA,NA\n4,null,NaN\n",
    "true and false": HEAD + b"1,true,True\n2,false,false\n",
    "true and false, one spelling": HEAD + b"1,true,true\n2,false,true\n",
    "scores": b"id,score\n1,0.5\n2,1\n3,.25\n4,1e-3\n5,+1\n6,-0.0\n7,0\n",
    "scores right or wrong": b"id,score\n1,1\n2,0\n3,1\n4,1\n",
    "scores right or wrong in several spellings": b"id,score\n1,1\n2,0.0\n3,1.0\n4,true\n",
    "scores with spaces": b"id,score\n1, 0.5\n2,1 \n3,0\n",
    "scores missing": b"id,score\n1,0.5\n2,\n3,1\n",
    "scores nan and inf": b"id,score\n1,nan\n2,1\n3,inf\n",
    "scores of other notations": b"id,score\n1,0x1p3\n2,1_000\n3,1,5\n",
    "scores with underscores": b"id,score\n1,1_000\n2,2\n",
    "scores in digits of another script": "id,score\n1,١\n2,2\n".encode(),
    "scores too large": b"id,score\n1,1e80\n2,1\n",
    "scores that are words": b"id,score\n1,good\n2,1\n",
    "probabilities": b"id,truth,probability\n" + b"".join(b"%d,%d,0.%02d\n" % (i, i % 2, (i * 37) % 100) for i in range(80)),
    "weights": b"id,truth,prediction,weight\n1,a,a,2\n2,b,a,3\n3,a,a,1\n4,b,b,0\n",
    "weights that are no counts": b"id,truth,prediction,weight\n1,a,a,0.5\n2,b,a,1.5\n3,b,b,1\n",
    "weights below 0": b"id,truth,prediction,weight\n1,a,a,-1\n2,b,a,1\n",
    "groups": b"id,truth,prediction,group\n"
    + b"".join(b"%d,a,%s,g%d\n" % (i, b"ab"[i % 3 % 2 : i % 3 % 2 + 1], i // 4) for i in range(80)),
    "repeats": b"id,truth,prediction,repeat\n" + b"".join(b"%d,a,%s,%d\n" % (i // 3, b"ab"[i % 2 : i % 2 + 1], i % 3) for i in range(60)),
    "repeats twice": b"id,truth,prediction,repeat\n1,a,a,1\n1,a,a,1\n1,a,a,2\n",
    "slices": b"id,truth,prediction,subject\n"
    + b"".join(b"%d,a,%s,%s\n" % (i, b"ab"[i % 2 : i % 2 + 1], (b"x", b"", b"y z")[i % 3]) for i in range(60)),
    "several models": b"model,id,truth,prediction\nm,1,a,a\nn,2,a,b\n",
    "prompts": b'id,prompt,truth,prediction,answer\n1,what?,a,a,it is a\n2,who,b,a,\n3,"long, ' + b"x" * 900 + b'",b,b,so\n',
    "numbers truth and prediction": b"id,truth,prediction\n" + b"".join(b"%d,%d.5,%d.25\n" % (i, i, i * 3 % 7) for i in range(40)),
    "one column": b"score\n1\n0\n1\n",
    "one column with a blank line": b"score\n1\n\n1\n",
    "a column without a name": b",id,truth,prediction\n0,1,a,a\n1,2,b,a\n",
    "the names of columns quoted and odd": b'"id","tru th","pre""diction",truth,prediction\n1,x,y,a,a\n2,x,y,b,b\n',
    "a column twice": b"id,truth,truth\n1,a,a\n",
    "blank lines": HEAD + b"\n1,a,a\n\n2,b,b\n\n",
    "too many fields": HEAD + b"1,a,a\n2,b,b,c\n",
    "too few fields": HEAD + b"1,a,a\n2,b\n",
    "one delimiter too many at the end": HEAD + b"1,a,a,\n2,b,b\n",
    "one delimiter too many in every line": HEAD + b"1,a,a,\n2,b,b,\n",
    "widths that add up": HEAD + b"1,a\n2,b,b,c\n",
    "a quote that is not closed": HEAD + b'1,"a,a\n2,b,b\n',
    "text after a quote": HEAD + b'1,"a"b,a\n2,b,b\n',
    "mixed line ends": HEAD + b"1,a,a\r\n2,b,b\n",
    "line ends of old": PLAIN.replace(b"\n", b"\r"),
    "a line end inside a quoted field": HEAD + b'1,"a\r\nb","a\r\nb"\n2,b,b\n',
    "hash signs": HEAD + b"#1,a,a\n#2,b,b\n",
    "a header and no row": HEAD,
    "nothing": b"",
    "bytes that are no text": HEAD + b"1,\xff,a\n",
    "a NUL": HEAD + b"1,a\x00,a\n",
    "long fields": HEAD + b"1," + b"a" * 5000 + b",b\n2,b,b\n",
    "numbers of many digits": HEAD + b"123456789012345678901234567890,1,1\n12345678901234567890123456789,0,1\n",
    "formulas": HEAD + b"1,=A1,=A1\n2,@x,@x\n",
}
OPTIONS: dict[str, dict[str, Any]] = {
    "slices": {"by": "subject"},
    "numbers truth and prediction": {"metric": "mae"},
    "missing answers": {"missing": "wrong"},
}


def said(call: Callable[[], Any]) -> str:
    try:
        return json.dumps(call().to_dict())
    except SteelyardError as error:
        return f"{type(error).__name__}: {re.sub(', the first in row [0-9]+', '', str(error))}"  # who counts cells knows no rows


def both_ways(monkeypatch: pytest.MonkeyPatch, call: Callable[[], Any]) -> tuple[str, str]:
    found = []
    for small in (1 << 30, -1):
        monkeypatch.setattr(delimited, "SMALL", small)
        found.append(said(call))
    return found[0], found[1]


@every("name", FILES)
def test_a_file_is_measured_the_same(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(FILES[name])
    here, engine = both_ways(monkeypatch, lambda: sy.measure(path, draws=100, **OPTIONS.get(name, {})))
    assert here == engine


@every("name", list(FILES)[::3])
def test_two_files_are_compared_the_same(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file beside itself in another order."""
    lines = FILES[name].split(b"\n")
    mixed = lines[1:]
    random.Random(name).shuffle(mixed)
    (tmp_path / "a.csv").write_bytes(FILES[name])
    (tmp_path / "b.csv").write_bytes(b"\n".join([lines[0], *mixed]))
    options = OPTIONS.get(name, {})
    here, engine = both_ways(monkeypatch, lambda: sy.compare(tmp_path / "a.csv", tmp_path / "b.csv", draws=100, **options))
    assert here == engine


@every("first, second", [(PLAIN, OTHER), (OTHER, PLAIN), (PLAIN, OTHER[:-20]), (PLAIN, OTHER.replace(b"7,b,", b"7,c,"))])
def test_two_runs_are_compared_the_same(first: bytes, second: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = tmp_path / "a.csv", tmp_path / "b.csv"
    files[0].write_bytes(first)
    files[1].write_bytes(second)
    for options in ({}, {"unmatched": "drop"}, {"metric": "macro_f1"}):
        here, engine = both_ways(monkeypatch, lambda options=options: sy.compare(*files, draws=100, **options))
        assert here == engine


def test_a_small_file_loads_no_engine(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(PLAIN)
    script = "import sys, steelyard as sy; sy.measure(sys.argv[1]); assert 'duckdb' not in sys.modules"
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "a.csv")], check=True)


def test_a_hundred_thousand_columns_are_read_without_an_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB takes minutes to begin with so many, though three of them are wanted."""
    monkeypatch.setattr(delimited, "_by_engine", None)
    wide = tmp_path / "wide.csv"
    others = 100_000
    rows = [",".join([str(i), "a", "ab"[i % 2], *["1"] * others]) for i in range(4)]
    wide.write_text("\n".join([",".join(["id", "truth", "prediction", *(f"c{i}" for i in range(others))]), *rows]), encoding="utf-8")
    assert wide.stat().st_size > delimited.SMALL
    assert sy.measure(wide, metric="accuracy").row.estimate == 0.5
