"""Benchmarks in the files in which they are published, as rows of a task: MMLU, GSM8K, GPQA, CNN/DailyMail, JSON mode, plain texts.

Each layout says which columns a row has, gives every item an id that follows from its content (so that the same item has the
same id in any order and any file), and refuses what is not of its kind with the file and the line.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from steelyard_old.errors import DataError, SourceError, UsageError, with_article
from steelyard_old.late_dataclass import dataclass
from steelyard_old.options.option import unknown_word
from steelyard_old.read.files.formats import format_of_name
from steelyard_old.read.files.paths import Opened, cannot_open, open_file, resolve
from steelyard_old.read.rows import rows_of

LETTERS = "ABCD"
EXAMPLES = 5  # of a subject of MMLU, before each question
OWN_EXAMPLE = "own example"  # marks a row while rows are made
_WITHOUT_EXAMPLES = "take {examples} out of the input, in a task file of your own: sy.init(preset='mmlu')"
_FORMATS = ("csv", "tsv", "jsonl", "json", "parquet")
_TEXT = (".txt", ".text")
_LONGEST_FIELD = 1 << 24  # characters of one field of a CSV file; Python's own limit is 131,072
_ANSWER = re.compile(r"####[^0-9\n]*[0-9]")
_SPLIT = re.compile(r"_(?:test|val|dev)\Z")

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row stands, for messages: its file, and its line or row."""

    file: str
    at: str

    def refuse(self, got: str, need: str, hint: str = "") -> DataError:
        return DataError(f"{self.file!r}, {self.at}, has {got}; it must have {need}.", got=got, need=need, hint=hint)


def benchmark_rows(data: Any, layout: str, wanted: Collection[str]) -> tuple[list[Row], list[str]]:
    """The rows of a benchmark, and what is to be said of them. wanted: the columns that the prompt names; MMLU's examples are read only
    for them.
    """
    if layout not in LAYOUTS:
        raise unknown_word("layout", layout, tuple(LAYOUTS))
    if not isinstance(data, str | os.PathLike):
        raise UsageError(
            f"Data in the layout {layout} must be the path of its files, not {with_article(type(data).__name__)}.",
            got=with_article(type(data).__name__),
            need="the path of its files",
            hint="a task without a layout takes rows and frames",
        )
    rows = LAYOUTS[layout](os.fspath(data), wanted)
    if not rows:
        raise DataError(f"cannot use {os.fspath(data)!r}", got="no items", need="at least one")
    return rows, _said_of_examples(rows)


# ---- each layout -----------------------------------------------------------------------------------------------------------


def _mmlu(path: str, wanted: Collection[str]) -> list[Row]:
    out: list[Row] = []
    for file in _mmlu_files(path):
        opened = _opened(file, *_FORMATS)
        if opened.format != "csv":
            out += _mmlu_of_hub(opened, file, wanted)
            continue
        subject = _subject(file)
        topic = subject.replace("_", " ")
        dev = _mmlu_examples(file, subject) if "examples" in wanted else None
        found = [{"subject": subject, "topic": topic, **_before(row, dev), **row} for row in _mmlu_rows(file)]
        out += _identified(found, ("question", *LETTERS), f"{subject}/")
    return out


def _mmlu_files(path: str) -> list[str]:
    if not os.path.isdir(path):
        return resolve(path)
    for folder in (path, os.path.join(path, "test"), os.path.join(path, "all")):
        if found := _named(folder, "", ".csv") or _named(folder, "test-", ".parquet"):
            return found
    raise SourceError(
        f"No MMLU in the folder {path!r}: no CSV files there or in its folder test (one per subject, such "
        "as anatomy_test.csv), and no test-*.parquet there or in its folder all.",
        got="no CSV files there or in its folder test, and no test-*.parquet there or in its folder all",
        need="one file for each subject, such as anatomy_test.csv, or test-00000-of-00001.parquet",
    )


def _named(folder: str, begin: str, end: str) -> list[str]:
    """The files of a folder whose names begin and end so, in order; none if there is no such folder."""
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    fitting = [name for name in names if name.startswith(begin) and name.lower().endswith(end) and not name.startswith(".")]
    return [os.path.join(folder, name) for name in fitting]


def _mmlu_of_hub(opened: Opened, file: str, wanted: Collection[str]) -> list[Row]:
    """The form of the hub: question, subject, a list of four choices and the place of the right one, or its letter."""
    by_subject: dict[str, list[Row]] = {}
    for subject, row in _hub_rows(opened):
        by_subject.setdefault(subject, []).append(row)
    dev = _hub_examples(file) if "examples" in wanted else {}
    out: list[Row] = []
    for subject, rows in by_subject.items():
        shown = _enough(dev.get(subject, []), subject, f"dev-*.parquet beside {file!r}") if "examples" in wanted else None
        found = [{"subject": subject, "topic": subject.replace("_", " "), **_before(row, shown), **row} for row in rows]
        out += _identified(found, ("question", *LETTERS), f"{subject}/")
    return out


def _hub_rows(opened: Opened) -> Iterator[tuple[str, Row]]:
    for place, row in _table(opened, ("question", "subject", "choices", "answer")):
        choices, answer = row["choices"], row["answer"]
        if not isinstance(choices, list) or len(choices) != len(LETTERS) or not all(isinstance(each, str) for each in choices):
            raise place.refuse(f"the choices {str(choices)[:60]!r}", "a list of four texts")
        if isinstance(answer, int) and not isinstance(answer, bool) and 0 <= answer < len(LETTERS):
            letter = LETTERS[answer]
        elif isinstance(answer, str) and answer.strip().upper() in tuple(LETTERS):
            letter = answer.strip().upper()
        else:
            raise place.refuse(f"the answer {answer!r}", "a whole number from 0 to 3, or one of A, B, C, D")
        question = _text(place, row, "question")
        yield _text(place, row, "subject"), {"question": question, **dict(zip(LETTERS, choices, strict=True)), "answer": letter}


def _hub_examples(file: str) -> dict[str, list[Row]]:
    """The questions of every subject in the files dev-* beside this one."""
    out: dict[str, list[Row]] = {}
    for dev in _named(os.path.dirname(os.path.abspath(file)), "dev", ".parquet"):
        for subject, row in _hub_rows(_opened(dev, "parquet")):
            out.setdefault(subject, []).append(row)
    return out


def _subject(file: str) -> str:
    return _SPLIT.sub("", os.path.basename(file).split(".")[0])


def _mmlu_rows(file: str) -> Iterator[Row]:
    for place, fields in _delimited(_opened(file, "csv")):
        if len(fields) != len(LETTERS) + 2:
            raise place.refuse(f"{len(fields)} fields", "6: question, A, B, C, D and the letter of the answer, without a header")
        letter = fields[-1].strip().upper()
        if letter not in tuple(LETTERS):
            hint = "these files have no header" if letter == "ANSWER" else ""
            raise place.refuse(f"the answer {fields[-1]!r}", "one of A, B, C, D", hint)
        row = dict(zip(("question", *LETTERS), fields, strict=False))
        _text(place, row, "question")
        yield {**row, "answer": letter}


def _mmlu_examples(file: str, subject: str) -> Sequence[Row]:
    """The examples of a subject, from the folder `dev` beside that of the file."""
    dev = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(file))), "dev", f"{subject}_dev.csv")
    if not os.path.isfile(dev):
        raise SourceError(
            f"No examples of {subject!r}: there is no file {dev!r} in a folder dev beside test.",
            got=f"no file {dev!r}",
            need="the folder dev beside test",
            hint=_WITHOUT_EXAMPLES,
        )
    return _enough(list(_mmlu_rows(dev)), subject, repr(dev))


def _enough(rows: Sequence[Row], subject: str, where: str) -> Sequence[Row]:
    if len(rows) < EXAMPLES:
        raise SourceError(
            f"The examples of {subject!r} in {where} must be at least {EXAMPLES}; there are {len(rows)}.",
            got=f"{len(rows)} rows",
            need=f"at least {EXAMPLES}",
            hint=_WITHOUT_EXAMPLES,
        )
    return rows


def _before(row: Row, examples: Sequence[Row] | None) -> Row:
    """The first examples with their answers, as they stand before a question. The question itself is none of them: it has its answer."""
    if examples is None:
        return {}
    own = _content(row)
    shown = [each for each in examples if _content(each) != own][:EXAMPLES]
    repeated = any(_content(each) == own for each in examples[:EXAMPLES])
    lines = [
        [each["question"], *(f"{letter}. {each[letter]}" for letter in LETTERS), f"Answer: {each['answer']}", "", ""] for each in shown
    ]
    return {"examples": "".join("\n".join(each) for each in lines), **({OWN_EXAMPLE: True} if repeated else {})}


def _content(row: Row) -> tuple[str, ...]:
    """A question and its choices, whatever their order and their blanks."""
    question, *choices = (" ".join(row[name].split()) for name in ("question", *LETTERS))
    return question, *sorted(choices)


def _said_of_examples(rows: Sequence[Row]) -> list[str]:
    """That questions stand among the examples of their subject. Takes the mark off the rows."""
    many = sum(row.pop(OWN_EXAMPLE, False) for row in rows)
    if not many:
        return []
    are = "is" if many == 1 else "are"
    return [
        f"{many:,} of {len(rows):,} questions {are} among the examples, too: that example, which has the answer, was left out of the prompt"
    ]


def _gsm8k(path: str, wanted: Collection[str]) -> list[Row]:
    out = []
    for place, row in _tables(path, ("question", "answer")):
        found = {name: _text(place, row, name) for name in ("question", "answer")}
        if not _ANSWER.search(found["answer"]):
            raise place.refuse(f"the answer {found['answer'][-60:]!r}", "a solution that ends with #### and the number")
        out.append(found)
    return _identified(out, ("question",))


def _gpqa(path: str, wanted: Collection[str]) -> list[Row]:
    columns = ("Question", "Correct Answer", *(f"Incorrect Answer {i}" for i in (1, 2, 3)))
    out = []
    for place, row in _tables(path, columns):
        question, *choices = (_text(place, row, name).strip() for name in columns)
        # By hash of question and choice: the right one has any letter, and the same one in every run and every order of the columns.
        order = sorted(range(len(choices)), key=lambda i: (_hash(question, choices[i]), i))
        letters = {letter: choices[i] for letter, i in zip(LETTERS, order, strict=True)}
        out.append({"question": question, **letters, "answer": LETTERS[order.index(0)]})
    return _identified(out, ("question", *LETTERS))


def _cnn_dailymail(path: str, wanted: Collection[str]) -> list[Row]:
    names = ("article", "highlights", "id")
    return [{name: _text(place, row, name) for name in names} for place, row in _tables(path, names)]


def _json_mode_eval(path: str, wanted: Collection[str]) -> list[Row]:
    out = []
    for file in resolve(path):
        opened = _opened(file, *_FORMATS)
        for place, row in _table(opened, ("prompt", "completion", "schema")):
            asked = row["prompt"]
            said = [each for each in asked if isinstance(each, Mapping) and each.get("role") == "user"] if isinstance(asked, list) else []
            if not said:
                raise place.refuse(f"the prompt {str(asked)[:60]!r}", "a list of messages, one of them of the role user")
            texts = {name: _json_text(place, row, name, columns=opened.format == "parquet") for name in ("completion", "schema")}
            out.append({"question": _text(place, said[-1], "content"), **texts})
    return _identified(out, ("question", "schema"))


def _json_text(place: Place, row: Mapping[str, Any], name: str, *, columns: bool) -> str:
    """A field as JSON. columns: objects were kept as columns, where every one has the keys of all, and null for those it lacks."""
    value = row[name]
    if columns and not isinstance(value, str) and _has_null(value):
        hint = "Parquet gives every object the keys of all others; write them as texts of JSON, as they are published"
        raise place.refuse(f"a {name} with null in it, which may be a key of another row", "a text of JSON", hint)
    text = value if isinstance(value, str) else json.dumps(value)
    try:
        json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise place.refuse(f"a {name} that is no JSON: {fault}", "JSON") from None
    return text


def _has_null(value: Any) -> bool:
    inside = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return value is None or any(map(_has_null, inside))


def _documents(path: str, wanted: Collection[str]) -> list[Row]:
    """Texts: one per line of a text file, or the column `text` of a table. Empty lines of a text file are no documents."""
    out = []
    for file in resolve(path):
        opened = open_file(file)
        if file.lower().removesuffix(".gz").removesuffix(".zst").endswith(_TEXT) or (
            format_of_name(file)[0] is None and opened.format == "csv"
        ):
            out += [{"text": text} for _, text in _lines(opened) if text.strip()]
        else:
            out += [{"text": _text(place, row, "text")} for place, row in _table(_opened(file, *_FORMATS), ("text",))]
    return _identified(out, ("text",))


LAYOUTS: dict[str, Callable[[str, Collection[str]], list[Row]]] = {
    "mmlu": _mmlu,
    "gsm8k": _gsm8k,
    "gpqa": _gpqa,
    "cnn_dailymail": _cnn_dailymail,
    "json_mode_eval": _json_mode_eval,
    "text": _documents,
}


# ---- rows and fields -------------------------------------------------------------------------------------------------------


def _tables(path: str, columns: Sequence[str]) -> Iterator[tuple[Place, Row]]:
    """The rows of the files behind a path, each with these columns."""
    for file in resolve(path):
        yield from _table(_opened(file, *_FORMATS), columns)


def _table(opened: Opened, columns: Sequence[str]) -> Iterator[tuple[Place, Row]]:
    for place, row in _READERS[opened.format](opened):
        lacking = [name for name in columns if name not in row]
        if lacking:
            there = ", ".join(map(repr, list(row)[:12]))
            if _READERS[opened.format] is _with_header:
                place = Place(opened.shown, "line 1")  # the header is what is wrong
            raise place.refuse(f"no column {lacking[0]!r} among {there}", f"the columns {', '.join(columns)}")
        yield place, row


def _opened(file: str, *formats: str) -> Opened:
    opened = open_file(file)
    if opened.format not in formats:
        raise SourceError(
            f"{file!r} must be {' or '.join(formats)}, and it is {opened.format}.",
            got=f"a file of the format {opened.format}",
            need=" or ".join(formats),
        )
    return opened


def _with_header(opened: Opened) -> Iterator[tuple[Place, Row]]:
    rows = _delimited(opened)
    place, header = next(rows, (Place(opened.shown, "line 1"), []))
    if len(set(header)) < len(header) or not header:
        raise place.refuse("a header with a name twice" if header else "nothing", "a header of column names")
    for place, fields in rows:
        if len(fields) != len(header):
            raise place.refuse(f"{len(fields)} fields", f"{len(header)}, as in the header")
        yield place, dict(zip(header, fields, strict=True))


def _delimited(opened: Opened) -> Iterator[tuple[Place, list[str]]]:
    """The rows of a CSV file as lists of texts, each with the line on which it begins; empty lines are left out."""
    before = csv.field_size_limit(_LONGEST_FIELD)
    line = 1
    try:
        with open(opened.plain, encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, strict=True, delimiter="\t" if opened.format == "tsv" else ",")
            for fields in reader:
                if fields:
                    yield Place(opened.shown, f"line {line:,}"), fields
                line = reader.line_num + 1
    except (csv.Error, UnicodeDecodeError) as fault:
        raise Place(opened.shown, f"line {line:,}").refuse(_said(fault), "CSV in UTF-8") from None
    except OSError as error:
        raise cannot_open(opened.shown, error) from None
    finally:
        csv.field_size_limit(before)
    opened.check_unchanged()


def _json_lines(opened: Opened) -> Iterator[tuple[Place, Row]]:
    for place, text in _lines(opened):
        if text.strip():
            yield _object(place, text)


def _lines(opened: Opened) -> Iterator[tuple[Place, str]]:
    """The lines of a text file, without their ends."""
    line = 0
    try:
        with open(opened.plain, encoding="utf-8-sig") as stream:
            for line, text in enumerate(stream, 1):
                yield Place(opened.shown, f"line {line:,}"), text.removesuffix("\n")
    except UnicodeDecodeError as fault:
        raise Place(opened.shown, f"line {line + 1:,}").refuse(_said(fault), "text in UTF-8") from None
    except OSError as error:
        raise cannot_open(opened.shown, error) from None
    opened.check_unchanged()


def _object(place: Place, text: str) -> tuple[Place, Row]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise place.refuse(f"no JSON: {fault}", "one JSON object a line") from None
    if not isinstance(found, dict):
        raise place.refuse(with_article(type(found).__name__), "one JSON object a line")
    return place, found


def _whole_rows(opened: Opened) -> Iterator[tuple[Place, Row]]:
    """Parquet, and JSON that is one list."""
    for number, row in enumerate(rows_of(opened.shown)[0], 1):
        yield Place(opened.shown, f"row {number:,}"), row


_READERS: dict[str, Callable[[Opened], Iterator[tuple[Place, Row]]]] = {
    "csv": _with_header,
    "tsv": _with_header,
    "jsonl": _json_lines,
    "json": _whole_rows,
    "parquet": _whole_rows,
}


def _said(fault: Exception) -> str:
    return f"bytes that are not UTF-8 ({fault.reason})" if isinstance(fault, UnicodeDecodeError) else str(fault)


def _text(place: Place, row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value.strip():
        raise place.refuse(f"no text in {name!r}" if value is None or isinstance(value, str) else f"{value!r} in {name!r}"[:80], "a text")
    return value


def _hash(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _identified(rows: Sequence[Row], content: Sequence[str], before: str = "") -> list[Row]:
    """Rows with ids from their content; an item that is there twice has -2, -3 behind its id."""
    seen: dict[str, int] = {}
    out = []
    for row in rows:
        name = before + _hash(*(row[column] for column in content))[:12]
        seen[name] = seen.get(name, 0) + 1
        out.append({"id": name if seen[name] == 1 else f"{name}-{seen[name]}", **row})
    return out
