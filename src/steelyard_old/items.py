"""Items: the only row shape. One row per item and repeat, columns side by side.

Labels are dictionary-encoded: a column of small integers and the names they stand for. A column of integer labels is
kept as it came, with a base to subtract, so that counting ten million of them copies nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, overload

from steelyard_old.late_dataclass import dataclass

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    IntArray = npt.NDArray[np.integer[Any]]
    FloatArray = npt.NDArray[np.float64]


DIGITS = 18  # a number of so many digits, filled up with zeros to so many, is still a 64-bit integer


class WholeNumbers(Sequence[str]):
    """The texts of whole numbers, each made when somebody looks at it: a million ids need no million texts.

    >>> import numpy as np
    >>> names = WholeNumbers(np.array([7, 12]))
    >>> names[1], list(names), names == ("7", "12")
    ('12', ['7', '12'], True)
    """

    __slots__ = ("numbers",)

    def __init__(self, numbers: npt.NDArray[np.int64]) -> None:
        self.numbers = numbers

    @classmethod
    def of(cls, numbers: IntArray) -> WholeNumbers | None:
        """None where a number has more than DIGITS digits."""
        if len(numbers) and not -(10**DIGITS) < int(numbers.min()) <= int(numbers.max()) < 10**DIGITS:
            return None
        return cls(numbers.astype("int64"))

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> WholeNumbers: ...

    def __getitem__(self, place: int | slice) -> str | WholeNumbers:
        return WholeNumbers(self.numbers[place]) if isinstance(place, slice) else str(int(self.numbers[place]))

    def __iter__(self) -> Iterator[str]:
        return map(str, self.numbers.tolist())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, WholeNumbers):
            return len(self) == len(other) and bool((self.numbers == other.numbers).all())
        return len(self) == len(other) and tuple(self) == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """A column of labels: row i carries the label names[raw[i] - base].

    names are canonical texts in order of first use or of value; of ids that are whole numbers, `WholeNumbers`.
    A missing label has raw[i] - base == -1.
    """

    raw: IntArray
    names: Sequence[str]
    base: int = 0
    complete: bool = False  # the reader knows that no label is missing, so nobody need look; False says nothing

    @property
    def codes(self) -> IntArray:
        """The codes 0..len(names)-1, -1 where the label is missing."""
        return self.raw if self.base == 0 else self.raw - self.base

    def __len__(self) -> int:
        return len(self.raw)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnRole:
    """The part that a column of a source plays.

    says: one sentence, which is the help of its option. known: names by which a column is found without being named, whatever
    their case; without them it is only ever named. number: its values are numbers. answer: it is read for the metrics that need
    it; any other is about the design, and is always said. of_run: a run that is recorded or checked has it, too. flag: how it is
    typed, where that is not its name with dashes.
    """

    says: str
    known: tuple[str, ...] = ()
    number: bool = False
    answer: bool = False
    of_run: bool = True
    flag: str = ""


ROLES: dict[str, ColumnRole] = {
    "id": ColumnRole(
        says="Column that names the item.",
        known=("id", "item", "item_id", "case_id", "question_id", "doc_id", "sample_id", "example_id"),
    ),
    "truth": ColumnRole(
        says="Column with the right answer.", known=("truth", "label", "target", "gold", "y_true", "expected"), answer=True
    ),
    "prediction": ColumnRole(says="Column with the model's answer.", known=("prediction", "pred", "predicted", "y_pred"), answer=True),
    "score": ColumnRole(
        says="Column with a number per item (0 = wrong, 1 = right); in a log, the metric to read.",
        known=("score", "correct", "passed", "acc", "value"),
        number=True,
        answer=True,
    ),
    "probability": ColumnRole(
        says="Column with the probability of the positive class.",
        known=("probability", "prob", "proba", "y_prob", "y_score"),
        number=True,
        answer=True,
    ),
    "group": ColumnRole(
        says="Column that groups items that belong together; 'none' ignores one found by name.",
        known=("group", "group_id", "cluster", "cluster_id", "passage"),
    ),
    "repeat": ColumnRole(
        says="Column that numbers the runs of the same item.", known=("repeat", "run", "run_index", "epoch", "sample", "trial")
    ),
    "weight": ColumnRole(says="Column of item weights.", number=True),
    "model": ColumnRole(says="Column that names the model.", known=("model", "model_name", "system"), of_run=False, flag="--model-column"),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Items:
    """What a source holds after reading and before counting. A column that is absent is None.

    truth, prediction, group, slices are Labels; id too (codes of distinct ids). score, probability, weight and the
    numeric truth and prediction of a regression are float64 with NaN for missing. `ratio` holds the two columns of
    sums of a ratio metric. `count` says how many items a row stands for (None: one), where equal rows were merged or
    whole-number weights were given. `stratum` names the part of the data that an item was drawn from (a task of a group of
    tasks); with `alike` every stratum counts alike, whatever its size. `more` holds the numbers of roles that have no field of their own.
    """

    n: int
    id: Labels | None = None
    truth: Labels | None = None
    prediction: Labels | None = None
    score: FloatArray | None = None
    probability: FloatArray | None = None
    group: Labels | None = None
    repeat: Labels | None = None
    weight: FloatArray | None = None
    count: npt.NDArray[np.int64] | None = None
    truth_value: FloatArray | None = None
    prediction_value: FloatArray | None = None
    ratio: tuple[FloatArray, FloatArray] | None = None
    slices: Mapping[str, Labels] = field(default_factory=dict)
    stratum: Labels | None = None
    alike: bool = False
    more: Mapping[str, FloatArray] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """How many items the rows stand for."""
        return self.n if self.count is None else int(self.count.sum())
