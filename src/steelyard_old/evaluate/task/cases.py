"""Rows to cases: prompts rendered with examples before them, features in order, ids and truths found; all or an error."""

from __future__ import annotations

import datetime
import fnmatch
import json
import math
import re
import uuid
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from steelyard_old.did_you_mean import did_you_mean, listed, unknown_key
from steelyard_old.errors import AmbiguityError, DataError, UsageError, with_article
from steelyard_old.evaluate.asking.asks import Case
from steelyard_old.items import ROLES
from steelyard_old.late_dataclass import dataclass
from steelyard_old.late_pattern import late_pattern

_PIECE = late_pattern(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_NOT_IN_NAMES = late_pattern(r"[!:\[\]]")
_PLAIN_INTEGERS = 1e15  # whole floats below it are written without the point, as people write them


@dataclass(frozen=True, slots=True)
class Template:
    """A text with columns in braces. `columns` are those it names, each once; `parts` are texts and (column,) in turn."""

    text: str
    parts: tuple[str | tuple[str], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(part[0] for part in self.parts if isinstance(part, tuple)))

    def fill(self, values: Mapping[str, str]) -> str:
        """The text with a value for each column, put in once: braces in a value are text."""
        return "".join(part if isinstance(part, str) else values[part[0]] for part in self.parts)

    def render(self, row: Mapping[str, Any]) -> str:
        """The text for a row.

        >>> template_of("{a} + {b} = {{?}}", "input").render({"a": 2, "b": 2.0})
        '2 + 2 = {?}'
        """
        return "".join(part if isinstance(part, str) else value_text(row[part[0]], part[0]) for part in self.parts)


def template_of(text: object, key: str) -> Template:
    """Read a template; `key` is where it stands, for messages."""
    if not isinstance(text, str) or not text.strip():
        raise UsageError(f"cannot use {key}", got=repr(text), need="a text with columns in braces", hint=f'{key} = "Q: {{question}}\\nA:"')
    parts: list[str | tuple[str]] = []
    end = 0
    for found in _PIECE.finditer(text):
        if found.start() > end:
            parts.append(text[end : found.start()])
        end = found.end()
        if found[0] in ("{{", "}}"):
            parts.append(found[0][0])
        elif found[1] is None:
            raise _lone_brace(text, found.start(), key)
        else:
            parts.append((_column(found[1], found[0], key),))
    if end < len(text):
        parts.append(text[end:])
    return Template(text, tuple(parts))


def _column(name: str, written: str, key: str) -> str:
    if not name.strip():
        raise UsageError(
            f"{key} has {written!r}, which names no column.",
            got=f"{written!r} without a column",
            need="{column}, or {{ and }} for braces themselves",
        )
    if name != name.strip() or _NOT_IN_NAMES.search(name):
        raise UsageError(
            f"{key} has {written!r}; braces hold the name of a column alone.",
            got=repr(written),
            need="the name of a column alone in braces",
            hint="nothing is evaluated: prepare such a column in the data; for braces themselves write {{ and }}",
        )
    return name


def _lone_brace(text: str, place: int, key: str) -> UsageError:
    near = text[max(0, place - 15) : place + 15]
    return UsageError(
        f"{key} has {with_article(repr(text[place]))} without its partner at character {place + 1}, in {near!r}.",
        got=f"a {text[place]!r} without its partner at character {place + 1}, in {near!r}",
        need="{column}",
        hint=f"for the brace itself write it twice: {text[place] * 2}",
    )


def check_columns(wanted: Sequence[str], columns: Sequence[str], key: str) -> None:
    """Refuse names that are no columns at all, with the nearest that is."""
    for name in wanted:
        if name in columns:
            continue
        path = "a column is meant, not a way into one" if "." in name else ""
        raise UsageError(
            f"No column {name!r} for {key}; the columns are {listed(columns)}.",
            got=f"columns {listed(columns)}",
            need="one of them",
            hint=did_you_mean(name, columns) or path,
        )


# ---- values ------------------------------------------------------------------------------------------------------------


_OWN = frozenset({str, int, float, bool, type(None), list, dict})  # of Python itself: asked for every value of every row


def is_missing(value: object) -> bool:
    """None, and the NaN that tables have in its place."""
    if type(value) is str:
        return False
    return value is None or (isinstance(value, float) and math.isnan(value)) or type(value).__name__ in ("NAType", "NaTType")


def plain(value: Any) -> Any:
    """A value of NumPy as Python has it; any other as it is."""
    if type(value) in _OWN:
        return value
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return value.tolist()
    return value


def value_text(value: Any, name: str) -> str:
    """A value as it stands in a prompt: texts as they are, 3.0 as 3, true and false, lists and tables as JSON.

    >>> [value_text(value, "x") for value in ("a", 0.5, 3.0, True, [1, "é"])]
    ['a', '0.5', '3', 'true', '[1, "é"]']
    """
    value = plain(value)
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise DataError(
                f"{name!r} cannot be written into a text: {value} is not a finite number.", got=str(value), need="a finite number"
            )
        return str(int(value)) if value.is_integer() and abs(value) < _PLAIN_INTEGERS else float.__repr__(value)
    if isinstance(value, Decimal) and value.is_finite():
        return format(value, "f")
    if isinstance(value, (datetime.date, datetime.time)):  # a datetime is a date
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, (list, tuple, dict)):
        try:
            return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_inside)
        except (TypeError, ValueError) as fault:
            raise DataError(
                f"{name!r} cannot be written into a text: {with_article(type(value).__name__)} with values that are not plain ({fault}).",
                got=f"{with_article(type(value).__name__)}: {fault}",
                need="plain values",
            ) from fault
    raise DataError(
        f"{name!r} cannot be written into a text: it is {with_article(type(value).__name__)}, not a text, "
        "a number, true or false, or a list.",
        got=with_article(type(value).__name__),
        need="a text, a number, true or false, or a list",
    )


def _inside(value: Any) -> Any:
    """What JSON does not know inside a list."""
    found = plain(value)
    if found is not value:
        return found
    if isinstance(value, (Decimal, datetime.date, datetime.time, uuid.UUID)):
        return value_text(value, "a value")
    raise TypeError(f"with {with_article(type(value).__name__)}")


DIGITS = 13  # of a hash that make a number: as many as a float holds exactly


def hash_order(ids: Sequence[str], seed: int | str) -> list[int]:
    """Where the ids stand, in the order of SHA-256 of seed and id.

    >>> hash_order(["a", "b", "c", "d"], seed=0)
    [3, 2, 0, 1]
    """
    return sorted(range(len(ids)), key=lambda place: _hash(seed, ids[place]))


def hash_fractions(ids: Sequence[str], seed: int | str) -> list[float]:
    """The hash of seed and id as a number in (0, 1), uniform over ids: what `hash_order` sorts by, to thirteen digits of sixteen.

    >>> [round(fraction, 3) for fraction in hash_fractions(["a", "b", "c", "d"], seed=0)]
    [0.372, 0.659, 0.316, 0.293]
    """
    return [(int(_hash(seed, each)[:DIGITS], 16) + 0.5) / 16**DIGITS for each in ids]


def subset(cases: Sequence[Case], n: int | None, seed: int, strata: str | None = None, whole_groups: bool = False) -> list[Case]:
    """The first n cases (None: all) in hash order, over strata in their shares, or group by group until there are n.

    strata is a column of the rows. The i-th of m cases of a stratum, in hash order, stands at (i - 1 + u) / m of the way, u
    drawn by hash for each stratum: at any moment every stratum has its share of what was asked, to within one, and every
    case has the same chance to be among the first n. (Largest remainders would not be nested: one item more can cost a
    stratum a place.) Data that grow keep the order inside each stratum.
    Whole groups come in the order of their names' hashes; the group that reaches n is the last, and is asked in full.
    """
    if n is not None and n < 1:
        raise UsageError(f"n must be a whole number of at least 1, not {n}.", got=f"n = {n}", need="a whole number of at least 1")
    if strata is not None and whole_groups:
        raise UsageError("Give strata or whole groups, not both.", got="strata and whole groups", need="one of them")
    ordered = [cases[place] for place in hash_order([case.id for case in cases], seed)]
    if whole_groups:
        return _group_by_group(ordered, n, seed)
    if strata is not None:
        ordered = _interleaved(ordered, seed, strata)
    return ordered[:n]


def _hash(seed: int | str, text: str) -> str:
    import hashlib

    return hashlib.sha256(f"{seed}\0{text}".encode(errors="surrogatepass")).hexdigest()  # JSON may hold half a character


def _interleaved(ordered: Sequence[Case], seed: int, strata: str) -> list[Case]:
    """Systematic sampling of all strata at once, each from a random start."""
    names = [_stratum(case, strata) for case in ordered]
    many: dict[str, int] = {}
    nth = []
    for name in names:
        nth.append(many.get(name, 0))
        many[name] = nth[-1] + 1
    start = {name: int(_hash(seed, f"stratum\0{name}")[:DIGITS], 16) / 16**DIGITS for name in many}
    way = [((i + start[name]) / many[name], place) for place, (i, name) in enumerate(zip(nth, names, strict=True))]
    return [ordered[place] for _, place in sorted(way)]


def _stratum(case: Case, strata: str) -> str:
    value = case.row.get(strata)
    if value is None:
        raise DataError(
            f"Item {case.id!r} has no {strata!r} to stratify by.", got=f"no value for item {case.id!r}", need="a value for every item"
        )
    return str(value)


def _group_by_group(ordered: Sequence[Case], n: int | None, seed: int) -> list[Case]:
    groups: dict[str, list[Case]] = {}
    for case in ordered:
        if case.group is None:
            raise DataError(
                f"Item {case.id!r} has no group.",
                got=f"item {case.id!r} without a group",
                need="a group for every item",
                hint='group = "column"',
            )
        groups.setdefault(case.group, []).append(case)
    names = list(groups)
    out: list[Case] = []
    for place in hash_order(names, f"{seed}\0group"):
        if n is not None and len(out) >= n:
            break
        out += groups[names[place]]
    return out


ANSWER = "answer"  # the key of an example that is written into the task

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shots:
    """Examples before the question: rows written into the task, or `n` of the rows of `data`, in hash order of `seed`."""

    rows: tuple[Row, ...] = ()
    data: Any = None
    n: int = 0
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompting:
    """How a row becomes a case. Without a template and without features the input is the row itself, without id and truth."""

    id: str | None = None
    input: Template | None = None
    features: tuple[str, ...] = ()
    truth: Template | str | None = None
    system: Template | None = None
    shots: Shots | None = None
    group: str | None = None

    def digest(self) -> str:
        """16 hexadecimal digits of everything that makes the prompt: equal for equal prompts, whatever the order of tables."""
        import hashlib

        shots = None
        if self.shots is not None:
            shots = [self.shots.rows, str(self.shots.data) if self.shots.data is not None else None, self.shots.n, self.shots.seed]
        truth = self.truth.text if isinstance(self.truth, Template) else self.truth
        parts = [
            self.input.text if self.input else None,
            self.features,
            self.system.text if self.system else None,
            shots,
            truth if self.shots else None,
        ]
        return hashlib.sha256(canonical(parts).encode(errors="surrogatepass")).hexdigest()[:16]


def shots_of(given: Any, data: Any) -> Shots | None:
    """The examples of a task: a list of rows, or a table with data, n and seed."""
    if given is None or given == []:
        return None
    if isinstance(given, (list, tuple)) and all(isinstance(row, Mapping) for row in given):
        return Shots(rows=tuple(given), n=len(given))
    if not isinstance(given, Mapping):
        need = 'rows, or a table as in shots = {data = "train.jsonl", n = 5}'
        raise UsageError("cannot use shots", got=repr(given)[:80], need=need)
    check_keys(given, ("data", "n", "seed"), "shots")
    n, seed = given.get("n", 0), given.get("seed", 0)
    for key, value, least in (("n", n, 1), ("seed", seed, None)):
        if isinstance(value, bool) or not isinstance(value, int) or (least is not None and value < least):
            raise UsageError(f"cannot use shots.{key}", got=repr(value), need="a whole number" + (" of at least 1" if least else ""))
    source = given.get("data")
    if source is None:
        raise UsageError(
            "shots names no data to take examples from.",
            got="no data",
            need="a source of examples",
            hint='shots = {data = "train.jsonl", n = 5}',
        )
    if isinstance(source, str) and source == data:
        raise UsageError(
            f"shots must not take examples from {source!r}, the data of the task: an item would be its own example.",
            got=f"examples from {source!r}, the data of the task",
            need="other data",
        )
    return Shots(data=source, n=n, seed=seed)


def features_of(names: Sequence[Any]) -> tuple[str, ...]:
    if not names or not all(isinstance(name, str) and name.strip() for name in names):
        raise UsageError("cannot use input", got=repr(names)[:80], need='names of columns, as in input = ["pixel_*"]')
    return tuple(names)


# ---- all rows ------------------------------------------------------------------------------------------------------------


def cases_of(
    rows: Sequence[Row],
    prompting: Prompting,
    *,
    shot_rows: Sequence[Row] | None = None,
    needs_truth: bool = True,
    named: Mapping[str, Sequence[str]] | None = None,
) -> list[Case]:
    """The cases of all rows. `named` are columns that something else needs, by what needs them."""
    if not rows:
        raise DataError("The data has no rows.", got="no rows", need="at least one")
    columns = list(dict.fromkeys(str(key) for row in rows for key in row))
    key = _key(columns, prompting.id, ROLES["id"].known, "id", 'id = "column"')
    if key is None:
        raise UsageError(
            f"No column of ids; the columns are {listed(columns)}.",
            got=f"columns {listed(columns)}",
            need="a column of ids",
            hint='id = "column" in [task]',
        )
    ids = _ids(rows, key)
    truth = _truth(columns, prompting, needs_truth)
    wanted: dict[str, Sequence[str]] = {"input": prompting.input.columns if prompting.input else ()}
    wanted["system"] = prompting.system.columns if prompting.system else ()
    wanted["truth"] = truth.columns if isinstance(truth, Template) else () if truth is None or not needs_truth else (truth,)
    wanted["group"] = () if prompting.group is None else (prompting.group,)
    for name, needed in {**wanted, **(named or {})}.items():
        check_columns(needed, columns, name)
        _refuse_missing(rows, ids, needed, name)
    hidden = {key, *(truth.columns if isinstance(truth, Template) else [] if truth is None else [truth])}
    features = _features(columns, prompting.features, hidden)
    examples = _examples(prompting, truth, shot_rows)
    out = []
    for row, name in zip(rows, ids, strict=True):
        asked, messages = _asked(row, name, prompting, features, hidden, examples)
        group = None if prompting.group is None else value_text(row[prompting.group], prompting.group)
        out.append(Case(id=name, input=asked, truth=_true(row, truth), row=row, messages=messages, group=group))
    return out


def _key(columns: Sequence[str], given: str | None, known: Sequence[str], role: str, hint: str) -> str | None:
    """The column of a role: the given one, or the only one with a name that is recognised."""
    if given is not None:
        check_columns([given], columns, role)
        return given
    found = [name for name in columns if name.lower() in known]
    if len(found) > 1:
        raise AmbiguityError(
            f"{len(found)} columns could be the {role}: {listed(found)}.",
            got=f"{len(found)} candidates: {listed(found)}",
            need="one",
            hint=hint,
        )
    return found[0] if found else None


def _ids(rows: Sequence[Row], key: str) -> list[str]:
    lost = [place for place, row in enumerate(rows, 1) if is_missing(plain(row.get(key)))]
    if lost:
        raise DataError(
            f"{len(lost)} of {len(rows)} rows have no {key!r}, such as row {lost[0]}.",
            got=f"{len(lost)} of {len(rows)} rows without {key!r}, such as row {lost[0]}",
            need="an id each",
        )
    ids = [value_text(row[key], key) for row in rows]
    if len(set(ids)) < len(ids):
        seen: set[str] = set()
        twice = [name for name in ids if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
        raise DataError(
            f"Duplicate ids: {len(twice)} of {len(ids)} rows repeat an earlier {key!r}, such as {twice[0]!r}.",
            got=f"{len(twice)} of {len(ids)} rows whose {key!r} was there before, such as {twice[0]!r}",
            need="an id of its own for each item",
            hint="repeats of an item are asked for by repeats=, not written into the data",
        )
    return ids


def _truth(columns: Sequence[str], prompting: Prompting, needs_truth: bool) -> Template | str | None:
    if isinstance(prompting.truth, Template):
        return prompting.truth
    whole_row = prompting.input is None and not prompting.features
    given = prompting.truth
    if given is None and not needs_truth and not whole_row:
        return None
    found = _key(columns, given, ROLES["truth"].known, "truth", 'truth = "column"')  # a whole row must not give its truth away
    if found is None and needs_truth:
        raise UsageError(
            f"No column of truths to score against; the columns are {listed(columns)}.",
            got=f"columns {listed(columns)}",
            need="a truth",
            hint='truth = "column" in [task]',
        )
    return found


def _refuse_missing(rows: Sequence[Row], ids: Sequence[str], columns: Sequence[str], key: str) -> None:
    for column in columns:
        lost = [name for row, name in zip(rows, ids, strict=True) if is_missing(plain(row.get(column)))]
        if lost:
            raise DataError(
                f"{len(lost)} of {len(rows)} rows have no {column!r}, the {key}, such as item {lost[0]!r}.",
                got=f"{len(lost)} of {len(rows)} rows without a value, such as item {lost[0]!r}",
                need="a value in every row",
            )


def _features(columns: Sequence[str], wanted: Sequence[str], hidden: set[str]) -> list[str]:
    """The columns of features, patterns opened in natural order: pixel_2 before pixel_10. A pattern never takes id or truth."""
    out: list[str] = []
    for name in wanted:
        if name in columns or not set(name) & set("*?"):
            check_columns([name], columns, "input")
            if name in hidden:
                raise UsageError(
                    f"{name!r} is the id or the truth, so it cannot be a feature of input.",
                    got=f"{name!r} among the features",
                    need="columns other than id and truth",
                )
            found = [name]
        else:
            found = sorted((c for c in columns if fnmatch.fnmatchcase(c, name) and c not in hidden), key=_natural)
        if not found:
            raise UsageError(
                f"No column matches the feature {name!r}; the columns are {listed(columns)}.",
                got=f"no column like {name!r} among {listed(columns)}",
                need="at least one",
            )
        out += [each for each in found if each not in out]
    return out


def _natural(name: str) -> list[tuple[int, int | str]]:
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in re.split(r"([0-9]+)", name) if part]


# ---- one row -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Example:
    question: str
    answer: str


def _asked(
    row: Row, name: str, prompting: Prompting, features: Sequence[str], hidden: set[str], examples: Sequence[_Example]
) -> tuple[Any, tuple[Mapping[str, str], ...] | None]:
    if features:
        return [_feature(row, column, name) for column in features], None
    if prompting.input is None:
        return {column: value for column, value in row.items() if column not in hidden}, None
    question = prompting.input.render(row)
    if examples and " ".join(question.split()) in {" ".join(example.question.split()) for example in examples}:
        raise DataError(
            f"Item {name!r} is also one of the examples, so the prompt would show its answer.",
            got=f"item {name!r} as an example of itself",
            need="examples that are not among the items",
            hint="take examples that are not among the items",
        )
    messages = [{"role": "user", "content": question}]
    for example in reversed(examples):
        messages[:0] = [{"role": "user", "content": example.question}, {"role": "assistant", "content": example.answer}]
    system = None if prompting.system is None else prompting.system.render(row)
    parts = [] if system is None else [system]
    parts += [f"{each.question}{'' if each.question[-1:].isspace() else ' '}{each.answer}" for each in examples]
    if system is not None:
        messages.insert(0, {"role": "system", "content": system})
    return "\n\n".join([*parts, question]), tuple(messages)


def _feature(row: Row, column: str, name: str) -> float:
    value = plain(row.get(column))  # a text in CSV, where every field is one
    try:
        number = float(value)
    except (TypeError, ValueError) as fault:
        raise DataError(
            f"The feature {column!r} of item {name!r} is not a number: {value!r}.",
            got=f"{value!r} in {column!r} of item {name!r}",
            need="a number",
        ) from fault
    if not math.isfinite(number):
        raise DataError(
            f"The feature {column!r} of item {name!r} is not finite: {number}.",
            got=f"{number} in {column!r} of item {name!r}",
            need="a finite number",
        )
    return number


def _true(row: Row, truth: Template | str | None) -> Any:
    if truth is None:
        return None
    return truth.render(row) if isinstance(truth, Template) else plain(row.get(truth))


def _examples(prompting: Prompting, truth: Template | str | None, shot_rows: Sequence[Row] | None) -> list[_Example]:
    shots = prompting.shots
    if shots is None or prompting.input is None:
        return []
    rows: Sequence[Row] = shots.rows
    if shots.data is not None:
        if not shot_rows or len(shot_rows) < shots.n:
            raise DataError(
                f"shots needs at least {shots.n} examples; there are {len(shot_rows or ())}.",
                got=f"{len(shot_rows or ())} rows of examples",
                need=f"at least {shots.n}",
            )
        # By content, not by id: training data seldom have one.
        contents = [
            canonical({str(key): value_text(v, str(key)) for key, v in row.items() if not is_missing(plain(v))}) for row in shot_rows
        ]
        rows = [shot_rows[place] for place in hash_order(contents, shots.seed)[: shots.n]]
    return [_example(row, place, prompting.input, truth) for place, row in enumerate(rows, 1)]


def _example(row: Row, place: int, template: Template, truth: Template | str | None) -> _Example:
    wanted = list(template.columns)
    answer: Any = row.get(ANSWER)
    if isinstance(truth, Template) and all(not is_missing(row.get(name)) for name in truth.columns):
        answer = truth.render(row)
    elif isinstance(truth, str) and not is_missing(plain(row.get(truth))):
        answer = row[truth]
    lost = [name for name in wanted if is_missing(plain(row.get(name)))]
    if lost or is_missing(plain(answer)):
        lacking = lost[0] if lost else truth if isinstance(truth, str) else ANSWER
        raise DataError(
            f"Example {place} has no {lacking!r}.",
            got=f"example {place} without {lacking!r}",
            need="the columns of the input, and the truth",
        )
    return _Example(template.render(row), value_text(answer, "the answer of an example"))


# ---- tables of a task file ----------------------------------------------------------------------------------------------


def check_keys(table: Mapping[str, Any], known: Sequence[str], what: str) -> None:
    for key in table:
        if key not in known:
            unknown, hint = unknown_key(key, known, what)
            raise UsageError(unknown, got=f"the key {key!r}", need=f"one of {', '.join(known)}" if known else "none", hint=hint)


def canonical(value: Any) -> str:
    """A value as one text: texts as they are, tables with their keys in order.

    >>> canonical({"b": 1, "a": [0.5, True]})
    '{"a":[0.5,true],"b":1}'
    """
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
