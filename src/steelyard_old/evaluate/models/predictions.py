"""A model that has answered already: predictions in the rows of a file, found by id and repeat."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from steelyard_old.errors import AmbiguityError, DataError, UsageError
from steelyard_old.evaluate.asking.asks import Answer, Ask
from steelyard_old.evaluate.asking.plain import answer_of, first_line, plain
from steelyard_old.items import ROLES

SAID = "said"  # what a run writes: the answer before anything was extracted from it


class Predictions:
    """A `Model` (evaluate/asking/asks.py) over rows with an id and a prediction, and a repeat if there are several of an item.

    Columns are found by their names, whatever their case, or given. `said`, which a run writes, is taken before `prediction`: it
    is what the model said before anything was extracted from it. A row with an `error` is an error again. Without a column
    of repeats there is one answer per item, and a second repeat of it has none. An id that is missing is an error of that item.
    """

    batch = 1
    concurrency = 1

    def __init__(
        self,
        rows: Iterable[Mapping[str, Any]],
        *,
        name: str,
        id: str | None = None,  # noqa: A002  the word that users know
        prediction: str | None = None,
        repeat: str | None = None,
    ) -> None:
        kept = [dict(row) for row in rows]
        if not kept:
            raise DataError(f"{name} has no rows.", got="no rows", need="one row per item")
        columns = list(dict.fromkeys(key for row in kept for key in row))
        ids, predictions = ROLES["id"].known, ROLES["prediction"].known
        self._id = _column(columns, id, ids, "id", name) or _lacking(columns, "id", ids, name)
        told = _column(columns, prediction, (SAID,), "prediction", name) or _column(columns, None, predictions, "prediction", name)
        self._said = told or _lacking(columns, "prediction", (SAID, *predictions), name)
        self._repeat = _column(columns, repeat, ROLES["repeat"].known, "repeat", name)
        self._answers = self._by_id(kept, name)
        content = json.dumps(plain(kept, "a row", coded=True), sort_keys=True, separators=(",", ":"))
        self.name = name
        self.identity: Mapping[str, Any] = {"kind": "file", "name": name, "content": hashlib.sha256(content.encode()).hexdigest()[:16]}

    def ask(self, asks: Sequence[Ask]) -> list[Answer]:
        """One answer per ask, in their order."""
        return [self._answer(ask) for ask in asks]

    def close(self) -> None:
        """Nothing to let go of."""

    def _answer(self, ask: Ask) -> Answer:
        found = self._answers.get((ask.case.id, ask.repeat))
        if found is not None:
            return found
        which = f" and repeat {ask.repeat}" if self._repeat is not None or ask.repeat > 1 else ""
        return Answer(error=f"no prediction: no row with id {ask.case.id!r}{which}")

    def _by_id(self, rows: list[dict[str, Any]], name: str) -> dict[tuple[str, int], Answer]:
        first = 0 if self._repeat is not None and any(self._number(row, name) == 0 for row in rows) else 1
        out: dict[tuple[str, int], Answer] = {}
        twice: list[str] = []
        for row in rows:
            if row.get(self._id) is None:
                raise DataError(f"A row of {name} has no {self._id}.", got=f"a row without {self._id}", need="an id in every row")
            key = str(plain(row[self._id], "an id")), 1 if self._repeat is None else self._number(row, name) - first + 1
            if key in out:
                twice.append(key[0])
            out[key] = _told(row, self._said)
        if twice:
            raise DataError(
                f"{name} has {len(twice)} rows too many, such as a second one for id {twice[0]!r}.",
                got=f"{len(twice)} rows more than there are items, such as a second one for id {twice[0]!r}",
                need="one prediction per item" + ("" if self._repeat is None else " and repeat"),
                hint="a column `repeat` tells several runs of an item apart" if self._repeat is None else "",
            )
        return out

    def _number(self, row: Mapping[str, Any], name: str) -> int:
        """Repeats are counted 1, 2, ..., or 0, 1, ... as some tools do."""
        given = row.get(self._repeat or "")
        try:
            if isinstance(given, bool) or int(given) != float(given) or int(given) < 0:  # type: ignore[arg-type]
                raise ValueError
            return int(given)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise DataError(
                f"The repeats in the predictions of {name} must be whole numbers (1, 2, ... or 0, 1, ...), not {self._repeat} = {given!r}.",
                got=f"{self._repeat} = {given!r}",
                need="whole numbers: 1, 2, ... or 0, 1, ...",
            ) from None


def _told(row: Mapping[str, Any], column: str) -> Answer:
    if row.get("error") is not None:
        return Answer(error=first_line(str(row["error"])) or "error")
    said = row.get(column)
    if isinstance(said, Mapping):
        return Answer(error="unusable answer: a mapping, not a text, a label or a number")
    told = {key: row[key] for key in ("finish", "refusal", "tokens_in", "tokens_out", "seconds", "judgement") if row.get(key) is not None}
    return answer_of({"said": said, **told} if said is not None else said)


def _column(columns: Sequence[str], given: str | None, names: Sequence[str], role: str, name: str) -> str | None:
    if given is not None:
        if given not in columns:
            raise UsageError(
                f"No column {given!r} for the {role} of {name}; the columns are {', '.join(columns[:12])}.",
                got=f"no column {given!r}",
                need=f"one of {', '.join(columns[:12])}",
            )
        return given
    found = [column for column in columns if column.lower() in names]
    if len(found) > 1:
        raise AmbiguityError(
            f"Several columns of {name} could be the {role}: {', '.join(found)}.", got=f"columns {', '.join(found)}", need="one of them"
        )
    return found[0] if found else None


def _lacking(columns: Sequence[str], role: str, names: Sequence[str], name: str) -> str:
    raise DataError(
        f"{name} has no column for the {role} ({', '.join(names)}); the columns are {', '.join(columns[:12])}.",
        got=f"columns {', '.join(columns[:12])}",
        need=f"a column of {role}: {', '.join(names)}",
    )
