"""The answers of one task, run by run: which items were asked, how often each was right, and what each run scored on it."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError, UsageError
from steelyard_old.infer.nights.bag import BagEvidence, bag_of_outcomes, bag_of_scores

FloatArray = npt.NDArray[np.float64]
ABSENT = -1  # of right or wrong; NaN of scores


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRun:
    """One run of one task: a number per item, up is good. `contents` are hashes of what the items say, by which an edit is seen."""

    ids: Sequence[str]
    values: npt.ArrayLike
    contents: Sequence[str] | None = None


def check_run(run: TaskRun, name: str) -> None:
    """Refuse a run whose ids and values do not fit, or that has no number for an item."""
    values = np.asarray(run.values, float).ravel()
    if len(values) != len(run.ids) or (run.contents is not None and len(run.contents) != len(run.ids)):
        got = f"{len(run.ids)} ids, {len(values)} values" + ("" if run.contents is None else f", {len(run.contents)} contents")
        raise UsageError(f"The run of {name!r} does not have a value for each id.", got=got, need="as many of each")
    if len(set(run.ids)) != len(run.ids):
        raise DataError(f"The run of {name!r} has an item twice.", got="an id twice", need="each id once")
    if not np.isfinite(values).all():
        raise DataError(f"The run of {name!r} has a value that is no number.", got="NaN or infinity", need="a finite number for every item")


class TaskAnswers:
    """The runs of a task, each a column over its items. A new item has no earlier runs; an edited one has none any more.

    baseline: the runs that a night is compared with. first: those that the test on new items is made against. before: the baseline that was
    left at a *changed* which is still asked about; it is gone back to if that becomes a regression.
    """

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.contents: list[str | None] = []
        self.columns: dict[int, npt.NDArray[Any]] = {}
        self.scored = False  # numbers other than 0 and 1 have been seen
        self.baseline: list[int] = []
        self.first: list[int] = []
        self.before: list[int] = []
        self._place: dict[str, int] = {}
        self._asked: tuple[Sequence[str], Sequence[str] | None, npt.NDArray[np.int64]] | None = None
        self._counts: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None = None

    def column(self, run: TaskRun) -> npt.NDArray[Any]:
        """Tonight's values over all items known so far, those of tonight included."""
        values = np.asarray(run.values, float).ravel()
        rows = self._rows(run)
        if not self.scored and not np.isin(values, (0.0, 1.0)).all():
            self.scored = True
            self.columns = {k: np.where(c == ABSENT, np.nan, c.astype(float)) for k, c in self.columns.items()}
        out: npt.NDArray[Any] = np.full(len(self.ids), np.nan) if self.scored else np.full(len(self.ids), ABSENT, np.int8)
        out[rows] = values
        return out

    def _rows(self, run: TaskRun) -> npt.NDArray[np.int64]:
        """The place of each of tonight's items; new ones are added, and an edited one loses its earlier answers."""
        if self._asked is not None and _same(self._asked[0], run.ids) and _same(self._asked[1], run.contents):
            return self._asked[2]
        rows = np.empty(len(run.ids), np.int64)
        for i, one in enumerate(run.ids):
            content = None if run.contents is None else run.contents[i]
            at = self._place.get(one)
            if at is None:
                at = self._place[one] = len(self.ids)
                self.ids.append(one)
                self.contents.append(content)
            elif content is not None and self.contents[at] not in (None, content):
                for column in self.columns.values():
                    column[at : at + 1] = np.nan if self.scored else ABSENT
                self._counts = None
            self.contents[at] = self.contents[at] if content is None else content
            rows[i] = at
        self._asked = (run.ids, run.contents, rows)
        return rows

    def same_as(self, run: int, column: npt.NDArray[Any]) -> bool:
        """Whether an earlier run has the same answers on the same items."""
        return run in self.columns and bool(np.array_equal(self._padded(self.columns[run]), column, equal_nan=self.scored))

    def against_baseline(self, column: npt.NDArray[Any], seed: list[int]) -> BagEvidence | None:
        """Tonight against the bag of the baseline's runs; None if none of tonight's items has an earlier run."""
        asked = self._there(column)
        counted, right = self._baseline_counts()
        asked &= counted > 0
        if not asked.any():
            return None
        if not self.scored:
            return bag_of_outcomes(right[asked], counted[asked], column[asked])
        return bag_of_scores(self._table(self.baseline)[asked], column[asked], seed=seed)

    def add(self, run: int, column: npt.NDArray[Any]) -> None:
        """Keep a run, outside the baseline."""
        self.columns[run] = column

    def extend_baseline(self, run: int) -> None:
        counted, right = self._baseline_counts()
        column = self._padded(self.columns[run])
        there = self._there(column)
        self.baseline.append(run)
        self._counts = (counted + there, right if self.scored else right + np.where(there, column, 0))

    def among(self, runs: Iterable[int]) -> list[int]:
        """Those of the runs in which the task was run."""
        return [run for run in runs if run in self.columns]

    def start_baseline(self, runs: Iterable[int]) -> None:
        self.baseline = self.among(runs)
        self._counts = None

    def forget_all_but(self, runs: Iterable[int]) -> None:
        """Keep the columns of these runs, and those that a baseline needs."""
        kept = {*runs, *self.baseline, *self.first, *self.before}
        self.columns = {run: column for run, column in self.columns.items() if run in kept}

    def means(self, runs: Sequence[int]) -> tuple[npt.NDArray[np.int64], FloatArray]:
        """(runs, mean) of every item over these runs; NaN where it has none."""
        table = self._table(self.among(runs))
        known = ~np.isnan(table)
        count = known.sum(1)
        total = np.where(known, table, 0.0).sum(1)
        return count, np.divide(total, count, out=np.full(len(self.ids), np.nan), where=count > 0)

    def reach(self) -> float:
        """The width of the range of the values seen."""
        if not self.scored:
            return 1.0
        table = self._table(list(self.columns))
        return float(np.nanmax(table) - np.nanmin(table)) if np.isfinite(table).any() else 0.0

    def _there(self, column: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        return np.asarray(~np.isnan(column) if self.scored else column != ABSENT)

    def _padded(self, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A column over the items known now: those that came later were absent."""
        missing = len(self.ids) - len(column)
        return column if not missing else np.concatenate([column, np.full(missing, np.nan if self.scored else ABSENT, column.dtype)])

    def _table(self, runs: Sequence[int]) -> FloatArray:
        table = np.full((len(self.ids), len(runs)), np.nan)
        for place, run in enumerate(runs):
            column = self.columns[run]
            table[: len(column), place] = column if self.scored else np.where(column == ABSENT, np.nan, column)
        return table

    def _baseline_counts(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """How often each item was asked in the baseline, and how often it was right (of scores: nothing is counted)."""
        if self._counts is None:
            counted, right = np.zeros(len(self.ids), np.int64), np.zeros(len(self.ids), np.int64)
            for run in self.baseline:
                column = self._padded(self.columns[run])
                there = self._there(column)
                counted += there
                if not self.scored:
                    right += np.where(there, column, 0)
            self._counts = (counted, right)
        elif len(self._counts[0]) < len(self.ids):
            more = np.zeros(len(self.ids) - len(self._counts[0]), np.int64)
            self._counts = (np.concatenate([self._counts[0], more]), np.concatenate([self._counts[1], more]))
        return self._counts

    def to_dict(self) -> dict[str, Any]:
        """As JSON: the columns packed, since most of them are alike."""
        runs = list(self.columns)
        kind = np.dtype("<f8") if self.scored else np.dtype("i1")
        packed = b"".join(self._padded(self.columns[run]).astype(kind).tobytes() for run in runs)
        return {
            "ids": list(self.ids),
            "contents": None if all(one is None for one in self.contents) else list(self.contents),
            "scored": self.scored,
            "baseline": list(self.baseline),
            "first": list(self.first),
            "before": list(self.before),
            "runs": runs,
            "values": base64.b64encode(zlib.compress(packed)).decode("ascii"),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], first: Iterable[int] = ()) -> TaskAnswers:
        """first: the first baseline of all tasks, for a state from before each task had its own."""
        out = cls()
        out.ids = [str(one) for one in plain["ids"]]
        out.contents = list(plain["contents"] or [None] * len(out.ids))
        out.scored = bool(plain["scored"])
        out._place = {one: i for i, one in enumerate(out.ids)}
        kind = np.dtype("<f8") if out.scored else np.dtype("i1")
        flat = np.frombuffer(zlib.decompress(base64.b64decode(plain["values"])), kind).astype(float if out.scored else np.int8)
        table = flat.reshape(len(plain["runs"]), len(out.ids))
        out.columns = {int(run): table[i].copy() for i, run in enumerate(plain["runs"])}
        out.baseline = [int(run) for run in plain["baseline"]]
        out.first = [int(run) for run in plain["first"]] if "first" in plain else out.among(first)
        out.before = [int(run) for run in plain.get("before", ())]
        return out


def _same(one: Sequence[str] | None, other: Sequence[str] | None) -> bool:
    """The very same, or equal. Two lists are compared by their own code, without a loop here."""
    return one is other or (one is not None and other is not None and len(one) == len(other) and list(one) == list(other))
