"""One column in memory, whatever it came as: list, NumPy array, Series. Encoded without a Python loop over its rows."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import field
from functools import reduce
from itertools import islice
from operator import iadd, lt
from typing import TYPE_CHECKING, Any

from steelyard_old.errors import DataError, UsageError, with_article
from steelyard_old.items import Labels
from steelyard_old.late_dataclass import dataclass
from steelyard_old.read.encode import Distinct, NotANumber, not_a_number, number_of, plain, text_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# A column of integer labels is kept as it came if its range is at most this; beyond it, the texts would be the larger part.
_DENSE = 65536
_FEW, _LONG = 4096, 64  # fewer texts, or longer ones, are as fast one by one
_PIECE = 1 << 13  # rows worked on at a time, so that they stay in the cache
_ODD = 0x9E3779B97F4A7C15
_SIMPLE = frozenset({"bool", "float32", "float64", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))})


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """values: a NumPy array of numbers (i, u, b, f) or of texts (U, none missing), or a list of Python scalars. mask: True if missing."""

    role: str
    values: Any
    mask: npt.NDArray[np.bool_] | None = None
    _encoded: list[tuple[Labels, Distinct]] = field(default_factory=list, init=False, repr=False)  # once: systems may share their truths

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_numeric(self) -> bool:
        """Whether the values are numbers or booleans (texts that could be read as numbers do not count)."""
        if not isinstance(self.values, list):
            return bool(self.values.dtype.kind != "U")
        return all(isinstance(plain(value), (int, float, type(None))) for value in self.values)

    # ---- labels ----------------------------------------------------------------------------------------------------

    def encode(self) -> tuple[Labels, Distinct]:
        """The column as Labels, with the distinct values behind the names; made once."""
        if not self._encoded:
            self._encoded.append(self._labels())
        return self._encoded[0]

    def _labels(self) -> tuple[Labels, Distinct]:
        if isinstance(self.values, list):
            return _encode_list(self.role, self.values)
        if self.values.dtype.kind == "U":
            return _encode_texts(self.values) or _encode_list(self.role, self.values.tolist())
        return _encode_array(self.values, self.mask, named=self.role == "id")

    # ---- numbers ---------------------------------------------------------------------------------------------------

    def numbers(self) -> npt.NDArray[np.float64]:
        """float64, NaN for missing; a value that is no finite number is an error with its row."""
        import numpy as np

        if isinstance(self.values, list):
            return self._parsed()
        if self.values.dtype.kind == "U":
            return Column(self.role, self.values.tolist())._parsed()
        numbers: npt.NDArray[np.float64] = self.values.astype(np.float64, copy=False)
        if self.mask is not None and self.mask.any():
            numbers = np.where(self.mask, np.nan, numbers)
        if np.isinf(numbers).any():
            row = int(np.argmax(np.isinf(numbers)))
            raise not_a_number(self.role, row + 1, float(numbers[row]))
        return numbers

    def _parsed(self) -> npt.NDArray[np.float64]:
        """Numbers out of a list: each distinct text is read once, and the first bad one is shown with its row."""
        import numpy as np

        if set(map(type, self.values)) <= {int, float, bool, type(None)}:
            with contextlib.suppress(OverflowError):  # an integer beyond the floats: shown with its row below
                numbers = np.array(self.values, np.float64)
                if not np.isinf(numbers).any():
                    return numbers
        direct = _plain_floats(self.values)
        if direct is not None:
            return direct
        index = _index(self.role, self.values)
        code = dict(zip(index, range(len(index)), strict=True))
        codes = np.fromiter(map(code.__getitem__, self.values), np.int64, len(self.values))
        table = _plain_floats(list(code))
        if table is None:
            table = np.empty(len(code))
            for value, position in code.items():
                try:
                    table[position] = number_of(value)
                except NotANumber:
                    raise not_a_number(self.role, int(np.argmax(codes == position)) + 1, value) from None
        return table[codes] if len(code) else np.empty(0)


def _plain_floats(texts: list[Any]) -> npt.NDArray[np.float64] | None:
    """All texts at once if they hold nothing but digits, points, signs and exponents; None sends them one by one."""
    import numpy as np

    if set(map(type, texts)) != {str} or "".join(texts).encode(errors="replace").translate(None, b"0123456789.eE+-"):
        return None
    try:
        numbers = np.fromiter(map(float, texts), np.float64, len(texts))
    except ValueError:
        return None
    return None if np.isinf(numbers).any() else numbers


def _index(role: str, values: list[Any]) -> dict[Any, None]:
    try:
        return dict.fromkeys(values)
    except TypeError:
        row = next(i for i, value in enumerate(values) if not _hashable(value))
        raise _not_a_scalar(role, row, values[row]) from None


def _hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _not_a_scalar(role: str, row: int, value: object) -> DataError:
    return DataError(
        f"A {role} must be a text, a number or true/false, not {with_article(type(value).__name__)}: {value!r:.60} in row {row + 1}.",
        got=f"{value!r:.60} in row {row + 1}",
        need="a text, a number or true/false",
    )


def _encode_list(role: str, values: list[Any]) -> tuple[Labels, Distinct]:
    """Dictionary encoding at the speed of dict: Python code runs over the distinct values only."""
    import numpy as np

    types = set(map(type, values)) - {type(None)}
    keys: list[Any] = values
    if types <= {str} or types <= {int} or types <= {bool}:
        if all_different(values):
            distinct = Distinct.of(values)
            return Labels(np.arange(len(values), dtype=np.int32), distinct.names, complete=True), distinct
        found = [key for key in _index(role, values) if key is not None]
        index: dict[Any, int] = dict(zip(found, range(len(found)), strict=True))
        index[None] = -1
    else:
        # 1, 1.0 and True are one key to Python, and must not become one label here: the type joins the key.
        keys = list(zip(map(type, values), values, strict=True)) if len(types) > 1 else values
        found, index = _numbered(role, values, keys, typed=len(types) > 1)
    codes = np.fromiter(map(index.__getitem__, keys), np.int32, len(values))
    distinct = Distinct.of(found)
    return Labels(codes, distinct.names), distinct


def all_different(values: list[Any]) -> bool:
    """Whether no value occurs twice and none is missing. Ids mostly come in order, which proves it without a table of them."""
    if len(values) < 2:
        return None not in values
    with contextlib.suppress(TypeError):  # None has no order
        if all(map(lt, values, islice(values, 1, None))):
            return True
    some = values[:_FEW]
    return len(set(some)) == len(some) and len(different := set(values)) == len(values) and None not in different


def _numbered(role: str, values: list[Any], keys: list[Any], *, typed: bool) -> tuple[list[Any], dict[Any, int]]:
    """The distinct values that are not missing, and the code of each key (-1 for every form of missing)."""
    found: list[Any] = []
    index: dict[Any, int] = {}
    for key in _typed_index(role, values, keys):
        raw = key[1] if typed else key
        try:
            text = text_of(raw)
        except TypeError:
            raise _not_a_scalar(role, next(i for i, value in enumerate(values) if value is raw), raw) from None
        index[key] = -1 if text is None else len(found)
        if text is not None:
            found.append(plain(raw))
    return found, index


def _typed_index(role: str, values: list[Any], keys: list[Any]) -> dict[Any, None]:
    try:
        return dict.fromkeys(keys)
    except TypeError:
        return _index(role, values)  # raises, with the row


def _encode_texts(texts: Any) -> tuple[Labels, Distinct] | None:
    """Few different texts among many, without making each a text of Python; None where that would not be faster.

    A hash of every text chooses a slot, and the first text of a slot stands for all of its slot, if all are equal to it, which is looked
    at. If not, a larger table is tried. Words of a text that are the same in all rows are compared, but not hashed.
    """
    import numpy as np

    letters = texts.dtype.itemsize // 4
    if len(texts) < _FEW or not 0 < letters <= _LONG:
        return None
    texts = np.ascontiguousarray(texts)
    words = texts.view(np.uint64 if letters % 2 == 0 else np.uint32).reshape(len(texts), -1)
    some = words[:: max(1, len(words) // _FEW)]
    varies = (some != some[0]).any(axis=0)
    varies[0] |= not varies.any()
    for hashed, bits in ((varies, 16), (np.ones_like(varies), 16), (np.ones_like(varies), 22)):
        found = _slotted(words, hashed, bits)
        if found is not None:
            codes, first = found
            distinct = Distinct.of(texts[first].tolist())
            return Labels(codes, distinct.names, complete=True), distinct
    return None


def _slotted(words: Any, hashed: npt.NDArray[np.bool_], bits: int) -> tuple[npt.NDArray[np.int32], list[int]] | None:
    """The code of each row, in order of first use, and the row of each first use; None if two texts share a slot, or there are too many.

    words: the letters of each row, as whole numbers; hashed: which of these are hashed. The others must be those of the first row.
    """
    import numpy as np

    factors = {place: np.uint64(pow(_ODD, place + 1, 1 << 64)) for place in np.flatnonzero(hashed).tolist()}
    code_of = np.full(1 << bits, -1, np.int32)
    codes, first = np.empty(len(words), np.int32), list[int]()
    block = np.tile(words[0], (_PIECE, 1))  # what the rows of a piece must be equal to
    standing: dict[int, Any] = {}  # a word of each text that stands for a slot, by its code
    for start in range(0, len(words), _PIECE):
        piece = words[start : start + _PIECE]
        hashes = reduce(iadd, (np.multiply(piece[:, place], factor, dtype=np.uint64) for place, factor in factors.items()))
        slot = (hashes >> np.uint64(64 - bits)).view(np.int64)
        code = codes[start : start + _PIECE]
        np.take(code_of, slot, out=code, mode="clip")
        if code.min() < 0:
            new = np.flatnonzero(code < 0)
            new = new[np.sort(np.unique(slot[new], return_index=True)[1])]
            code_of[slot[new]] = np.arange(len(first), len(first) + len(new), dtype=np.int32)
            first += (start + new).tolist()
            if len(first) > len(words) >> 3:
                return None
            standing = {place: words[first, place] for place in factors}
            np.take(code_of, slot, out=code, mode="clip")
        expected = block[: len(piece)]
        for place, word in standing.items():
            expected[:, place] = word[code]
        if not (piece == expected).all():
            return None
    return codes, first


def _encode_array(values: Any, mask: Any, *, named: bool) -> tuple[Labels, Distinct]:
    """named: ids, of which whole numbers stay numbers."""
    import numpy as np

    if values.dtype.kind == "f":
        gone = np.isnan(values) if mask is None else np.isnan(values) | mask
        mask = gone if gone.any() else None
    elif mask is not None and not mask.any():
        mask = None
    known = values if mask is None else values[~mask]
    if values.dtype.kind == "b" and mask is None:
        return Labels(values.view(np.uint8), ("False", "True"), complete=True), Distinct.of([False, True])
    if values.dtype.kind in "iu" and known.size:
        low, high = _range(known)
        if high - low < _DENSE:
            return _dense(values, mask, low, high)
    distinct, inverse = np.unique(known, return_inverse=True)
    codes = inverse.astype(np.int32, copy=False)
    if mask is not None:
        codes = np.full(len(values), -1, np.int32)
        codes[~mask] = inverse
    found = Distinct.whole(distinct) if named and values.dtype.kind in "iu" else None
    found = found or Distinct.of(distinct.tolist())
    return Labels(codes, found.names, complete=mask is None), found


def _range(values: Any) -> tuple[int, int]:
    """The least and the largest value, block by block: the second look at a block finds it in the cache."""
    blocks = [values[start : start + 65_536] for start in range(0, len(values), 65_536)]
    ends = [(int(block.min()), int(block.max())) for block in blocks]
    return min(low for low, _ in ends), max(high for _, high in ends)


def _dense(values: Any, mask: Any, low: int, high: int) -> tuple[Labels, Distinct]:
    """Integer labels kept as they came. `codes` subtracts the base in the type of the array, so it must fit there."""
    import numpy as np

    raw = values
    if mask is not None:
        raw = np.where(mask, np.int64(low - 1), values.astype(np.int64))
    elif high - low > np.iinfo(values.dtype).max:
        raw = values.astype(np.int64)
    names = tuple(map(str, range(low, high + 1)))
    return Labels(raw, names, low, complete=mask is None), Distinct(range(low, high + 1), names, frozenset({"int"}))


# ---- rows that several columns make together ---------------------------------------------------------------------------


def merged(columns: Sequence[Any], count: Any) -> tuple[list[Any], npt.NDArray[np.int64]]:
    """The distinct rows of columns (Labels, or numbers with NaN for missing), sorted, and their counts added up.

    A row whose weights add up to 0 is left out, as an item of weight 0 is.

    >>> import numpy as np
    >>> (truth, score), count = merged([Labels(np.array([1, 0, 1]), ("b", "a")), np.array([0.5, np.nan, 0.5])], [3, 1, 4])
    >>> [truth.names[code] for code in truth.codes], score.tolist(), count.tolist()
    (['a', 'b'], [0.5, nan], [7, 1])
    """
    import numpy as np

    texts = [sorted(set(column.names)) if isinstance(column, Labels) else None for column in columns]
    keys = [_sortable(column, names) for column, names in zip(columns, texts, strict=True)]
    order = np.lexsort(keys[::-1])
    keys = [key[order] for key in keys]
    starts = np.ones(len(order), bool)
    starts[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
    first = np.flatnonzero(starts)
    total = np.add.reduceat(np.asarray(count, np.int64)[order], first)
    first, total = first[total > 0], total[total > 0]
    return [_column_of(key[first], names) for key, names in zip(keys, texts, strict=True)], total


def _sortable(column: Any, texts: Sequence[str] | None) -> Any:
    """A number for each row, in the order of what it holds; what is missing comes first."""
    import numpy as np

    if texts is None:
        return np.where(np.isnan(column), -np.inf, column)
    place = dict(zip(texts, range(len(texts)), strict=True))
    return np.array([*map(place.__getitem__, column.names), -1], np.int64)[column.codes]  # -1 for missing is the last


def _column_of(key: Any, texts: Sequence[str] | None) -> Any:
    """What `_sortable` made the numbers of; names in the order of their first use."""
    import numpy as np

    if texts is None:
        return np.where(np.isinf(key), np.nan, key)
    used = [code for code in dict.fromkeys(key.tolist()) if code >= 0]
    codes = np.full(len(texts) + 1, -1, np.int64)
    codes[used] = np.arange(len(used))
    return Labels(codes[key], tuple(texts[code] for code in used), complete=bool(key.min() >= 0))


# ---- what the values can come as -----------------------------------------------------------------------------------


def as_column(role: str, given: Any) -> Column:
    """A list, tuple, NumPy array or Series as a Column; two dimensions, texts and sets are refused."""
    import numpy as np

    if isinstance(given, Column):
        return given if given.role == role else Column(role, given.values, given.mask)
    if isinstance(given, (str, bytes, Mapping, set, frozenset)):
        raise UsageError(
            f"{role} must be a list, an array or a Series, not {with_article(type(given).__name__)}: {given!r:.60}.",
            got=f"{given!r:.60}",
            need="a list, an array or a Series",
        )
    package = type(given).__module__.partition(".")[0]
    if package == "pandas":
        return _from_pandas(role, given)
    if package == "polars":
        given = given.to_list() if given.null_count() or not given.dtype.is_numeric() else given.to_numpy()
    elif package == "pyarrow":
        given = given.to_pylist()
    if isinstance(given, np.ndarray):
        return _from_numpy(role, given)
    if isinstance(given, (list, tuple)):
        return Column(role, _checked_list(role, list(given)))
    if hasattr(given, "__array__"):
        return _from_numpy(role, np.asarray(given))
    if isinstance(given, Iterable) and isinstance(given, Sized):
        return Column(role, _checked_list(role, list(given)))
    raise UsageError(
        f"{role} must be a list, an array or a Series, not {with_article(type(given).__name__)}.", need="a list, an array or a Series"
    )


def _checked_list(role: str, values: list[Any]) -> list[Any]:
    if values and (isinstance(values[0], (list, tuple)) or (hasattr(values[0], "shape") and values[0].shape)):
        raise _not_a_scalar(role, 0, values[0])
    return values


def _from_numpy(role: str, given: Any) -> Column:
    import numpy as np

    if given.ndim != 1:
        raise DataError(
            f"The {role} array has {given.ndim} dimensions (shape {given.shape}); it must have one value per item.",
            got=f"shape {given.shape}",
            need="one dimension: one value per item",
        )
    mask = None
    masked = sys.modules.get("numpy.ma")  # where nobody has loaded it, nothing is masked
    if masked is not None and isinstance(given, masked.MaskedArray):
        mask, given = masked.getmaskarray(given), given.data
    kind = given.dtype.kind
    if kind in "iubf":
        return Column(role, given, mask)
    if kind in "Mm":
        given = np.where(np.isnat(given), None, given.astype(str).astype(object))
    elif kind not in "UOT":
        need = "text, numbers or booleans"
        raise DataError(
            f"{role} must be {need}, not an array of type {given.dtype}.",
            need=need,
            hint="decode bytes with .astype(str)" if kind == "S" else "",
        )
    if kind == "U" and (mask is None or not mask.any()):
        return Column(role, given)
    values = given.tolist()
    if mask is not None and mask.any():
        values = [None if gone else value for value, gone in zip(values, mask.tolist(), strict=True)]
    return Column(role, values)


def _from_pandas(role: str, given: Any) -> Column:
    """A Series or Index. Extension types go through objects, with their own idea of missing turned into None."""
    import numpy as np

    if getattr(given, "ndim", 1) != 1:
        raise DataError(
            f"The {role} array has {given.ndim} dimensions (shape {given.shape}); it must have one value per item.",
            got=f"shape {given.shape}",
            need="one dimension: one value per item",
        )
    if isinstance(given.dtype, np.dtype):
        return _from_numpy(role, given.to_numpy())
    mask = np.asarray(given.isna(), bool)
    simple = given.dtype.name.lower().removesuffix("[pyarrow]").replace("boolean", "bool")
    if simple in _SIMPLE:
        filled = given.to_numpy(dtype=np.dtype(simple), na_value=0) if mask.any() else given.to_numpy(dtype=np.dtype(simple))
        return Column(role, filled, mask)
    values = given.astype(object).to_numpy().tolist()
    if mask.any():
        values = [None if gone else value for value, gone in zip(values, mask.tolist(), strict=True)]
    return Column(role, values)
