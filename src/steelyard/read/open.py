"""Whatever was given becomes items: a path, a frame, arrays, counts. Which column is what is said or found by name, never guessed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from steelyard.base.problem import SteelyardError
from steelyard.base.words import did_you_mean, several
from steelyard.data.counts import Counts, JointCounts
from steelyard.data.items import Items
from steelyard.data.labels import NUMBER, Labels
from steelyard.read.files import FILE, fetched, read_files, read_frame, resolve

NAMES = {
    "id": ("id", "item", "item_id", "case_id", "question_id", "doc_id", "sample_id", "example_id"),
    "truth": ("truth", "label", "target", "gold", "y_true", "expected", "expected_answer"),
    "prediction": ("prediction", "pred", "predicted", "y_pred", "predicted_answer"),
    "score": ("score", "correct", "passed", "acc", "value", "symbolic_correct"),
    "probability": ("probability", "prob", "proba", "y_prob", "y_score"),
    "group": ("group", "group_id", "cluster", "cluster_id", "passage"),
    "repeat": ("repeat", "run", "run_index", "epoch", "sample", "trial"),
    "weight": (),
    "model": ("model", "model_name", "system"),
}
NUMBERS = ("score", "probability", "weight", "above", "below")
FREE_TEXT = 20  # truths from which they may be texts of their own, and no classes
EQUAL = 0.05  # of free texts: from so many equal to their truth on they are answers
WORDS = {"true": "1", "false": "0", "True": "1", "False": "0", "nan": "", "NaN": ""}


@dataclass(frozen=True, eq=False)
class Opened:
    """A source that was read. by: further columns, as labels. columns: the roles that were found, with their names."""

    name: str
    items: Items
    columns: Mapping[str, str] = field(default_factory=dict)
    by: Mapping[str, Labels] = field(default_factory=dict)
    files: int = 1
    negatives: bool = True
    notes: tuple[str, ...] = ()

    def parts(self, column: str) -> list[tuple[str, Opened]]:
        """The source for each value of a column."""
        labels = self.by[column]
        every = ((name, labels.codes == code) for code, name in enumerate(labels.names))
        return [
            (name, replace(self, items=self.items.take(rows), by={k: v.take(rows) for k, v in self.by.items()}))
            for name, rows in every
            if rows.any()
        ]


def counts_of(text: str) -> Counts | JointCounts | None:
    """Counts typed as a source: 85/100, tp=31,fp=5,fn=2, 790,58,76,76 (both, baseline, candidate, neither), 40-12-28.

    >>> counts_of("85/100").items.total, counts_of("preds.csv")
    (100, None)
    """
    if os.path.lexists(text):
        return None
    if found := re.fullmatch(r"(\d+)/(\d+)", text):
        return Counts.of(int(found[1]), int(found[2]))
    if re.fullmatch(r"[a-z]{2}=\d+(,[a-z]{2}=\d+)*", text):
        given = dict(each.split("=") for each in text.split(","))
        if set(given) - {"tp", "fp", "fn", "tn"} or not {"tp", "fp", "fn"} <= set(given):
            raise SteelyardError(f"Counts of one class are tp=,fp=,fn= and, if known, tn=, not {text!r}.")
        return Counts.binary(**{name: int(value) for name, value in given.items()})
    if found := re.fullmatch(r"(\d+),(\d+),(\d+),(\d+)", text):
        return JointCounts.flips(both=int(found[1]), baseline_only=int(found[2]), candidate_only=int(found[3]), neither=int(found[4]))
    if found := re.fullmatch(r"(\d+)-(\d+)-(\d+)", text):
        return JointCounts.wins(int(found[1]), int(found[2]), int(found[3]))
    return None


def open_source(source: Any, given: Mapping[str, Any], *, wanted: Sequence[str] = ()) -> Opened:
    """A source as items. given: role to the name of its column; `none` ignores one. wanted: further columns, as labels."""
    if isinstance(source, Opened):
        return source
    if isinstance(source, Items):
        return Opened("data", source)
    if isinstance(source, Counts):
        return Opened("", source.items, negatives=source.negatives)
    if isinstance(source, str | os.PathLike):
        return _file(os.fspath(source), given, wanted)
    if isinstance(source, Mapping):
        return _columns({str(name): values for name, values in source.items()}, given, wanted)
    if isinstance(source, list) and source and all(isinstance(row, Mapping) for row in source):
        names = dict.fromkeys(str(name) for row in source for name in row)
        return _columns({name: [row.get(name) for row in source] for name in names}, given, wanted)
    if hasattr(source, "__arrow_c_stream__") or hasattr(source, "iloc") or type(source).__module__.startswith("duckdb"):
        if hasattr(source, "to_frame") and not hasattr(source, "columns"):
            return Opened("data", Items.of(score=np.asarray(source, float)))
        return _relation(read_frame(source), "data", given, wanted, "the frame")
    if isinstance(source, np.ndarray | list | tuple) or hasattr(source, "__array__"):
        return Opened("data", Items.of(score=_numbers(list(source) if isinstance(source, tuple) else source, "score")))
    raise SteelyardError(f"A {type(source).__name__} cannot be read as items.", hint="a path, a frame, columns by name, or scores")


def _file(text: str, given: Mapping[str, Any], wanted: Sequence[str]) -> Opened:
    name, equals, path = text.partition("=")
    counted = counts_of(text)
    if not equals or counted is not None or os.path.lexists(text) or "/" in name:
        name, path = "", text
    counted = counted or counts_of(path)
    if isinstance(counted, Counts):
        return Opened(name, counted.items, negatives=counted.negatives)
    if counted is not None:
        raise SteelyardError(f"{path!r} counts two systems.", hint=f"steelyard compare {path}")
    if path == "-":
        import atexit
        import sys
        import tempfile

        with tempfile.NamedTemporaryFile(delete=False) as spool:
            spool.write(sys.stdin.buffer.read())
        atexit.register(os.unlink, spool.name)
        paths, path = [spool.name], "standard input"
    else:
        paths = resolve(path)
    stem = re.sub(r"(\.[a-z]{1,7}){1,2}$", "", os.path.basename(path.rstrip("/"))) or path
    found = _relation(read_files(paths, path), name or stem, given, wanted, path)
    return replace(found, files=len(paths))


def assign(names: Sequence[str], given: Mapping[str, Any], what: str) -> dict[str, str]:
    """The column of every role: the one that was named, or the only one of a known name.

    >>> assign(["id", "Gold", "pred"], {}, "x.csv")
    {'id': 'id', 'truth': 'Gold', 'prediction': 'pred'}
    """
    roles: dict[str, str] = {}
    for role, asked in given.items():
        if asked is None or asked == "none":
            continue
        near = [name for name in names if name == asked] or [name for name in names if name.lower() == str(asked).lower()]
        if len(near) != 1:
            raise SteelyardError(f"There is no column {asked!r} in {what}.", hint=did_you_mean(str(asked), list(names)))
        roles[role] = near[0]
    taken = set(roles.values())
    for role, known in NAMES.items():
        if role in roles or given.get(role) == "none":
            continue
        found = [name for name in names if name.lower() in known and name not in taken]
        if len(found) > 1:
            raise SteelyardError(f"Two columns of {what} could be the {role}: {several(found)}.", hint=f"name one with {role}=")
        if found:
            roles[role] = found[0]
    return roles


def _relation(relation: Any, name: str, given: Mapping[str, Any], wanted: Sequence[str], what: str) -> Opened:
    names = [column for column in relation.columns if column != FILE]
    types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    flat, paths = dict(given), {}
    for asked in given.values():  # scores.Factuality: a path into a nested column
        if isinstance(asked, str) and asked not in names and "." in asked and asked.split(".")[0] in names:
            paths[asked] = asked.split(".")
    roles = assign([*names, *paths], flat, what)
    refuse_no_role(roles, names, what)
    needed = list(dict.fromkeys([*roles.values(), *assign(names, {column: column for column in wanted}, what).values()]))
    plain = [column for column in needed if column not in paths]
    raw = fetched(relation, list(dict.fromkeys([*plain, *(parts[0] for parts in paths.values())])), what)
    columns: dict[str, Any] = {}
    for column in needed:
        source = paths[column][0] if column in paths else column
        values = raw[source]
        listed = values
        if isinstance(values, np.ma.MaskedArray):
            listed = np.ma.getdata(values).astype(object)
            listed[np.ma.getmaskarray(values)] = None
        if types[source] == "JSON":
            book = {text: None if text is None else json.loads(text) for text in dict.fromkeys(listed.tolist())}
            listed = np.array([book[text] for text in listed.tolist()] + [None], object)[:-1]
        if column in paths:
            listed = np.array([_inside(value, paths[column][1:]) for value in listed.tolist()] + [None], object)[:-1]
        columns[column] = listed
    return _items(columns, roles, name, wanted, what)


def refuse_no_role(roles: Mapping[str, Any], names: Sequence[str], what: str) -> None:
    """Refuse a table of which no column is known."""
    if not roles:
        raise SteelyardError(
            f"No column of {what} has a known name: {several(names, 12)}.", hint="name them: truth=, prediction= or score="
        )


def _inside(value: Any, path: Sequence[str]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _columns(columns: Mapping[str, Any], given: Mapping[str, Any], wanted: Sequence[str]) -> Opened:
    roles = assign(list(columns), given, "the data")
    return _items(columns, roles, "data", wanted, "the data")


def _items(columns: Mapping[str, Any], roles: Mapping[str, str], name: str, wanted: Sequence[str], what: str) -> Opened:
    made: dict[str, Any] = {}
    for role, column in roles.items():
        if role == "model":
            continue
        values = columns[column]
        made[role] = _numbers(values, column) if role in NUMBERS else values
        if role in ("id", "group", "repeat"):
            made[role] = Labels.of(values, f"column {column!r}")
    refuse_no_role(made, list(columns), what)
    if "repeat" in made and "id" in made and len(made["id"].names) == len(made["id"].codes):
        made.pop("repeat")  # a column that happens to be called so: by name only where ids do repeat
        roles = {role: column for role, column in roles.items() if role != "repeat"}
    by = {
        column: Labels.of(columns[column], f"column {column!r}")
        for column in dict.fromkeys([*wanted, *([roles["model"]] if "model" in roles else [])])
    }
    return Opened(name, Items.of(**made), roles, by)


def _numbers(values: Any, what: str) -> Any:
    """Numbers as they are, or as text: true and false are 1 and 0, an empty field is missing."""
    array = np.asarray(values)
    if array.dtype.kind in "iufb":
        return array.astype(float)
    labels = Labels.of(values, f"column {what!r}")
    numbers = []
    for text in labels.names:
        plain = WORDS.get(text.strip(), text.strip())
        if plain and not NUMBER.match(plain):
            row = int(np.argmax(labels.codes == labels.names.index(text))) + 1
            hint = "write 0.85 or 85 instead of '85%'" if text.endswith("%") else "a number, true or false, or an empty field"
            raise SteelyardError(f"The {what} in row {row} must be a number, not {text!r}.", hint=hint)
        numbers.append(float(plain) if plain else np.nan)
    return np.array([*numbers, np.nan])[labels.codes]


def of_arrays(truth: Any, prediction: Any, **more: Any) -> Opened:
    """Arrays in scikit-learn's order: truths, then answers or probabilities."""
    one, two = np.asarray(truth), np.asarray(prediction)
    columns: dict[str, Any] = {"truth": truth}
    if two.ndim == 2 and two.shape[1] == 2:  # predict_proba: the second of the sorted labels
        columns["probability"] = two[:, 1].astype(float)
        return Opened(
            "data", Items.of(**columns, **more), notes=(f"the second column is the probability of {sorted(set(one.tolist()))[-1]!r}",)
        )
    if two.ndim != 1 or len(one) != len(two):
        raise SteelyardError(f"Truths and answers must be as many: {one.shape} and {two.shape}.")
    if two.dtype.kind == "f" and one.dtype.kind in "iub" and ((two >= 0) & (two <= 1)).all() and not np.isin(two, (0, 1)).all():
        columns["probability"] = two
    else:
        columns["prediction"] = prediction
    return Opened("data", Items.of(**columns, **more))


def usual(opened: Opened) -> list[str]:
    """What is measured where nobody names a metric: by the columns there are, and by what is in them."""
    items = opened.items
    if "score" in items:
        score = items.numbers("score")
        return ["accuracy" if np.isin(score[~np.isnan(score)], (0, 1)).all() else "mean"]
    names: list[str] = []
    if "truth" in items and "prediction" in items:
        names = _of_labels(items, opened.negatives)
    if "truth" in items and "probability" in items:
        names += ["auc", "brier"]
    if not names:
        lacking = "prediction" if "truth" in items else "truth"
        raise SteelyardError(f"There is no {lacking} and no score to measure.", hint=f"name the column with {lacking}= or score=")
    return names


def _of_labels(items: Items, negatives: bool) -> list[str]:
    if not negatives:
        return ["precision", "recall", "f1"]
    truth, said = items.columns["truth"], items.columns["prediction"]
    numbers = all(not isinstance(column, Labels) and np.asarray(column).dtype.kind == "f" for column in (truth, said))
    labels = [Labels.of(column) if not isinstance(column, Labels) else column for column in (truth, said)]
    often = np.bincount(labels[0].codes[labels[0].codes >= 0], minlength=len(labels[0].names))
    if len(often) < FREE_TEXT or 2 * int((often == 1).sum()) <= len(often):
        return ["accuracy", "macro_f1", "each_f1"]
    equal = float((labels[1].among(labels[0].names, -2) == labels[0].codes).mean())
    every = [name for column in labels for name in column.names]
    if equal >= EQUAL:
        return ["accuracy"]
    if not numbers and all(re.fullmatch(r"[+-]?\d+", name) for name in every):
        raise SteelyardError(
            "Truths and predictions are whole numbers: are they classes or quantities?", hint="metric=accuracy or metric=rmse,mae,r2"
        )
    return ["rmse", "mae", "r2"] if numbers or all(NUMBER.match(name) for name in every) else ["accuracy"]
