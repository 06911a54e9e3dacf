"""JSON Lines through the engine, beside the strict reader: the same table, or no table at all."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.errors import DataError, SourceError, SteelyardError
from steelyard.read.engines.duckdb_table import EngineTable
from steelyard.read.files import jsons as json_lines
from steelyard.read.open_source import Source, open_source

pytestmark = pytest.mark.usefixtures("shared_engine")
ROLES = ("truth", "prediction")


@pytest.fixture(autouse=True)
def every_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "SMALL", 0)


def opened(path: Path, **columns: Any) -> Source:
    return open_source(path, columns=columns)


def strictly(path: Path, monkeypatch: pytest.MonkeyPatch, **columns: Any) -> Source:
    with monkeypatch.context() as patch:
        patch.setattr(json_lines, "engine_table", lambda *args: None)
        return opened(path, **columns)


def written(path: Path, lines: list[str], end: str = "\n") -> Path:
    path.write_bytes((end.join(lines) + end).encode())
    return path


def told(source: Source) -> Any:
    """All that a source says: names, roles, counts, and rows as texts and numbers."""
    items = source.items()
    labels = {
        role: [None if code < 0 else column.names[code] for code in column.codes.tolist()]
        for role in ("id", *ROLES)
        if (column := getattr(items, role)) is not None
    }
    numbers = {
        role: [repr(x) for x in column.tolist()] for role in ("score", "probability") if (column := getattr(items, role)) is not None
    }
    present = [role for role in ROLES if role in source.roles]
    return source.columns, source.roles, source.n, labels, numbers, source.tabulate(present) if present else None


GOOD = {
    "texts": [{"id": f"item-{i}", "truth": "ab"[i % 2], "pred": "ba"[i % 3 // 2], "prompt": "say: {1, 2}, please"} for i in range(9)],
    "numbers": [{"id": i, "truth": i % 3, "pred": i % 2, "score": 0.1 * i, "prob": 1e-7 * i} for i in range(9)],
    "flags": [{"id": f"i{i}", "truth": bool(i % 2), "pred": True, "n": -i} for i in range(9)],
    "nulls": [{"id": f"i{i}", "truth": "a", "pred": None if i == 3 else "a", "error": None} for i in range(9)],
    "escapes": [{"id": f'i"{i}\\', "truth": "caf\u00e9 \t", "pred": 'say "a, b"}', "x\ny": "\U0001f600"} for i in range(9)],
    "unused mixture": [{"id": f"i{i}", "truth": "a", "pred": "b", "note": [1, "x", None, 2.5, True][i % 5]} for i in range(9)],
    "empty texts": [{"id": f"i{i}", "truth": "", "pred": "%_"} for i in range(9)],
    "odd keys": [{"id": f"i{i}", "truth": "a", "pred": "a", "100%_\u00fc ": "'", "a'b": 1} for i in range(9)],
    "large ids": [{"id": 2**53 + i, "truth": "a", "pred": "a"} for i in range(9)],
}


@pytest.mark.parametrize(("ascii_only", "dense", "end"), [(True, True, "\n"), (False, False, "\r\n")])
@pytest.mark.parametrize("name", GOOD)
def test_the_engine_says_what_the_strict_reader_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, ascii_only: bool, dense: bool, end: str
) -> None:
    separators = (",", ":") if dense else (", ", ": ")
    lines = [json.dumps(row, ensure_ascii=ascii_only, separators=separators) for row in GOOD[name]]
    path = written(tmp_path / "a.jsonl", lines, end)
    for held in (json_lines.HELD, 0):  # as a table, and where it lies
        monkeypatch.setattr(json_lines, "HELD", held)
        source = opened(path)
        assert isinstance(source.table, EngineTable)
        assert told(source) == told(strictly(path, monkeypatch))


REST = [f'{{"id": "i{i}", "truth": "a", "pred": "b"}}' for i in range(4)]
DOUBTFUL = {
    "another key": ['{"id": "x", "truth": "a", "pred": "b", "score": 1}'],
    "a key less": ['{"id": "x", "truth": "a"}'],
    "one less here, one more there": ['{"id": "x", "truth": "a"}', '{"id": "y", "truth": "a", "pred": "b", "group": "c"}'],
    "another order": ['{"id": "x", "pred": "a", "truth": "b"}'],
    "another type": ['{"id": "x", "truth": 1, "pred": "b"}'],
    "one text less, one more": ['{"id": "x", "truth": 1, "pred": "b"}', '{"id": "y", "truth": ["a", "b"], "pred": "b"}'],
    "a list": ['{"id": "x", "truth": ["a"], "pred": "b"}'],
    "an object": ['{"id": "x", "truth": {"a": "b"}, "pred": "b"}'],
    "a blank line": ["", '{"id": "x", "truth": "a", "pred": "b"}'],
    "another spacing": ['{ "id":"x", "truth" : "a", "pred": "b" }'],
    "a text that looks like keys": ['{"id": "x", "truth": "a\\", \\"pred\\": \\"b", "pred": "b"}'],
    "half a pair": ['{"id": "x", "truth": "\\ud800", "pred": "b"}'],
    "an escaped NUL": ['{"id": "x\\u0000", "truth": "a", "pred": "b"}'],
    "a null": ['{"id": "x", "truth": "a", "pred": null}'],
}
WRONG = {
    "a key twice": ['{"id": "x", "truth": "a", "pred": "b", "pred": "c"}'],
    "an escaped key twice": ['{"id": "x", "truth": "a", "pred": "b", "\\u0070red": "c"}'],
    "a key twice, and one text less": ['{"id": "x", "truth": "a", "pred": "b", "pred": 1}', '{"id": "y", "truth": 1, "pred": "b"}'],
    "NaN": ['{"id": "x", "truth": "a", "pred": NaN}'],
    "a comma too much": ['{"id": "x", "truth": "a", "pred": "b",}'],
    "a comma too much after a number": ['{"id": "x", "truth": "a", "pred": 1 , }'],
    "two objects": ['{"id": "x", "truth": "a", "pred": "b"} {"id": "y", "truth": "a", "pred": "b"}'],
    "a tab in a text": ['{"id": "x", "truth": "a\tb", "pred": "b"}'],
    "no object": ["[1]"],
    "a lone quote": ['{"id": "x", "truth": "a", "pred": "b""}'],
    "cut off": ['{"id": "x", "truth": "a", "pr'],
    "a bad escape": ['{"id": "x", "truth": "a", "pred": "\\x41"}'],
}


@pytest.mark.parametrize(("name", "place"), [(name, (0, 2, 4)[turn % 3]) for turn, name in enumerate([*DOUBTFUL, *WRONG])])
def test_what_is_not_proven_is_left_to_the_strict_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, place: int) -> None:
    lines = [*REST[:place], *(DOUBTFUL | WRONG)[name], *REST[place:]]
    path = written(tmp_path / "a.jsonl", lines)

    def outcome(open_: Any) -> Any:
        try:
            return told(open_(path))
        except SteelyardError as error:
            return type(error), str(error)

    expected = outcome(lambda path: strictly(path, monkeypatch))
    assert outcome(opened) == expected
    assert (expected[0] is SourceError) == (name in WRONG)


NUMBERS = [
    "NaN",
    "Infinity",
    "-Infinity",
    "1e999",
    "-1e400",
    "nan",
    "1.",
    "01",
    "12345678901234567890",
    "1e5",
    "-0",
    "0.1",
    "true",
    '"1"',
    "null",
]


@pytest.mark.parametrize(("text", "key"), [*((text, "score") for text in NUMBERS), *((text, "unused") for text in NUMBERS[::4])])
def test_numbers_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, key: str) -> None:
    path = written(tmp_path / "a.jsonl", [f'{{"truth": "a", "pred": "a", "{key}": {value}}}' for value in ("1", "0", text, "1")])

    def outcome(open_: Any) -> Any:
        try:
            return told(open_(path))
        except SteelyardError as error:
            return type(error), str(error)

    assert outcome(opened) == outcome(lambda path: strictly(path, monkeypatch))


def test_random_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of plausible pieces, most of them alike: whatever the strict reader says, the engine says too. Some reach the engine."""
    draw = random.Random(6)
    pieces = [
        '"a"',
        '"b"',
        '"a, b"',
        '"\\"q\\""',
        "1",
        "0",
        "2.5",
        "true",
        "null",
        '"x"y"',
        "NaN",
        "[1]",
        '"%"',
        '"a": "b"',
        '1, "z": 2',
        "1,",
    ]
    engine = refused = 0
    for attempt in range(70):
        keys = draw.sample(["truth", "pred", "score", "note"], draw.randint(2, 4))
        usual = {key: draw.sample(pieces[:8], draw.choice([1, 2])) for key in keys}
        lines = []
        for _ in range(draw.randint(1, 6)):
            row = {key: draw.choice(pieces) if draw.random() < 0.03 else draw.choice(usual[key]) for key in keys}
            lines.append("{" + ", ".join(f'"{key}": {value}' for key, value in row.items()) + "}")
        path = written(tmp_path / f"{attempt}.jsonl", lines)
        outcomes = []
        for open_ in (opened, lambda path: strictly(path, monkeypatch)):
            try:
                source = open_(path)
                engine += isinstance(source.table, EngineTable)
                outcomes.append(told(source))
            except SteelyardError as error:
                refused += isinstance(error, SourceError)
                # A column of flags knows both, so that the example of a DataError may be the other one.
                outcomes.append((type(error), str(error) if isinstance(error, SourceError) else str(error).partition(": ")[0]))
        assert outcomes[0] == outcomes[1], lines
    assert engine > 12
    assert refused > 3


def test_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, first in (("a", 0), ("b", 9)):
        written(tmp_path / f"{name}.jsonl", [json.dumps({"id": first + i, "truth": "a", "pred": "ab"[i % 2]}) for i in range(9)])
    source = opened(tmp_path / "*.jsonl")
    assert isinstance(source.table, EngineTable)
    assert told(source) == told(strictly(tmp_path / "*.jsonl", monkeypatch))
    written(tmp_path / "b.jsonl", [json.dumps({"id": 9 + i, "truth": "a", "pred": 1}) for i in range(9)])
    assert not isinstance(opened(tmp_path / "*.jsonl").table, EngineTable)


def test_ids_are_checked(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", REST + REST[:2])
    with pytest.raises(DataError, match=r"Duplicate ids: 2 ids occur in 4 rows, such as 'i0', 'i1'\."):
        opened(path).items()


def test_a_file_that_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "HELD", 0)
    path = written(tmp_path / "a.jsonl", REST)
    source = opened(path)
    written(path, REST[:3])
    with pytest.raises(SourceError, match=r"changed while it was read\."):
        source.tabulate(list(ROLES))


def test_two_large_files_meet_in_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from steelyard.estimate import compare_sources as compare_engine

    draw = random.Random(1)
    rows = [[{"id": f"i{i}", "truth": draw.choice("abc"), "pred": draw.choice("abc")} for i in range(300)] for _ in range(2)]
    for a, b in zip(*rows, strict=True):
        b["truth"] = a["truth"]
    draw.shuffle(rows[1])
    paths = [written(tmp_path / f"{name}.jsonl", [json.dumps(row) for row in side]) for name, side in zip("ab", rows, strict=True)]
    expected = sy.compare(*paths).to_dict()
    monkeypatch.setattr(compare_engine, "LARGE", 10)
    monkeypatch.setattr(json_lines, "HELD", 0)
    monkeypatch.setattr("steelyard.estimate.compare_sources._runs", None)  # items must not be read
    assert sy.compare(*paths).to_dict() == expected
