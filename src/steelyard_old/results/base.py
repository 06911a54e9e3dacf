"""The base of every result: a frozen dataclass that converts itself to plain values (`to_dict`) and back (`from_dict`).

Both directions follow the fields of the dataclass, so that `X.from_dict(x.to_dict()) == x` for every kind without a line of its own.
A field declares where JSON differs: `json_name("metrics")` gives it another key, `json_name(None)` leaves it out, `json_keys(...)` spreads
the fields of a part over keys of the result. A `ResultWithAnswer` adds its own keys to those of the answer it contains. What an earlier
version wrote is converted to the current keys by `_from_earlier_version`, before it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, field, fields
from enum import Enum
from functools import cached_property, partial
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, Union, get_args, get_origin, get_type_hints

from steelyard_old.errors import UsageError, with_article
from steelyard_old.late_dataclass import dataclass
from steelyard_old.redaction import shortened
from steelyard_old.results.display import Displayable

CLASSES: dict[str, type[Plain]] = {}  # every class with `to_dict` and `from_dict`, by its name
KINDS: dict[str, type[Result]] = {}  # every kind of result that was loaded, by the name that JSON has for it

T = TypeVar("T", bound="Plain")


class NotSet(Enum):
    """A value that was not found, where None would be an answer."""

    NOT_SET = "not set"

    def __bool__(self) -> bool:
        return False


NOT_SET: Any = NotSet.NOT_SET
SCALARS = frozenset((str, int, float, bool, NoneType))  # values that JSON has a type for
OMIT_DEFAULT = {"brief": True}  # metadata of a field that JSON leaves out where it has its default


def json_name(name: str | None, **more: Any) -> Any:
    """A field with another name in JSON; None: JSON has no such key, and results that differ only in this field are equal."""
    return field(metadata={"json": name}, compare=name is not None, **more)


def json_keys(keys: Mapping[str, str], defaults: Mapping[str, Any], **more: Any) -> Any:
    """A part whose fields are keys of the result itself: `keys` maps each key to a field; `defaults` has the other fields."""
    return field(metadata={"apart": dict(keys), "defaults": dict(defaults)}, **more)


def one_of(known: Iterable[str], **more: Any) -> Any:
    """A text field with a few allowed values. Another value is refused when JSON is read."""
    return field(metadata={"known": frozenset(known)}, **more)


def answer_field(**more: Any) -> Any:
    """A field of a `ResultWithAnswer` that may hold its answer."""
    return field(metadata={"json": None, "answer": True}, **more)


class Plain:
    """A frozen dataclass with `to_dict` and `from_dict`.

    A field may be deferred: it is computed when it is first read (printed, written as JSON, compared, copied), and is an ordinary
    value from then on. Cheap values are computed at once; those that take random draws wait until they are needed.
    """

    __slots__ = ("_late",)
    ALSO: ClassVar[tuple[str, ...]] = ()  # properties that JSON has beside the fields
    BRIEF: ClassVar[bool] = False  # whether JSON leaves out what is as by default,
    ALWAYS: ClassVar[tuple[str, ...]] = ()  # but for these fields
    _ORDERS: ClassVar[tuple[tuple[str, ...], ...]] = ()  # of keys, where JSON has just these in another order than that of the fields

    def __init_subclass__(cls) -> None:
        CLASSES[cls.__name__] = cls

    def __post_init__(self) -> None:
        """Values that no class describes become plain, as JSON would give them back; a mapping given for a part becomes that part."""
        about = _fields_of(type(self))
        for name, several in about.free:
            given = getattr(self, name)
            if given is None or given is NOT_SET or (type(given) is tuple and not given):
                continue  # a board has ten thousands of these, most of whose fields are as by default
            given = plain(given)
            object.__setattr__(self, name, tuple(given) if several else given)
        for name, cls in about.parts:
            given = getattr(self, name)
            if given is not None and not isinstance(given, Plain) and isinstance(given, Mapping):
                object.__setattr__(self, name, cls.of(given))
        for name, classes in about.several:
            given = getattr(self, name)
            if given and not (type(given) is tuple and all(isinstance(each, Plain) for each in given)):
                object.__setattr__(
                    self, name, tuple(each if isinstance(each, Plain) else class_for(classes, each).of(each) for each in given)
                )
        for name, cls in about.named:
            given = getattr(self, name)
            object.__setattr__(self, name, {key: each if isinstance(each, Plain) else cls.of(each) for key, each in given.items()})

    if not TYPE_CHECKING:  # or mypy would take every misspelt field for a deferred one

        def __getattr__(self, name):
            """Called for a field without a value: a deferred one, or an attribute that does not exist."""
            try:
                make = object.__getattribute__(self, "_late")[name]
            except (AttributeError, KeyError):
                return object.__getattribute__(self, name)  # raises the usual AttributeError
            value = make()
            object.__setattr__(self, name, value)
            object.__getattribute__(self, "_late").pop(name, None)  # and with it the tally that it was made from
            return value

    def to_dict(self) -> dict[str, Any]:
        """The value in what JSON has: objects, lists, texts, numbers, true, false and null."""
        return {key: plain(value) for key, value in self._json_items()}

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Self:
        """From a mapping with the keys of JSON. An unknown key is a bug in the caller, and raises."""
        unknown = sorted(found.keys() - _fields_of(cls).keys)
        if unknown:
            raise TypeError(f"{cls.__name__} has no {', '.join(unknown)}")
        return cls.from_dict(found)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The fields that JSON has."""
        return tuple(name for name, _, _ in _fields_of(cls).written)

    def _json_items(self) -> Iterator[tuple[str, Any]]:
        """The pairs (key, value) that JSON has: the fields in order, then the properties in `ALSO`."""
        pairs = self._in_order()
        if not self._ORDERS:
            return pairs
        found = dict(pairs)
        order = next((order for order in self._ORDERS if found.keys() == {*order}), tuple(found))
        return ((key, found[key]) for key in order)

    def _in_order(self) -> Iterator[tuple[str, Any]]:
        about = _fields_of(type(self))
        for name, key, default in about.written:
            value = getattr(self, name)
            if name in about.apart:
                value = getattr(value, about.apart[name][key], None)
                yield key, None if value == "" else value
            elif default is MISSING or not (value is default or value == default):
                yield key, value
        for name in self.ALSO:
            yield name, getattr(self, name)

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """The value that `to_dict` wrote. Keys that are not known are passed over: a later version may have added them."""
        return filled(cls, plain)


def defer(value: T, **late: Callable[[], Any]) -> T:
    """The value, with fields that are computed when they are first read. Only for a value that no one else holds yet."""
    for name in late:
        object.__delattr__(value, name)
    object.__setattr__(value, "_late", late)
    return value


class ResultPart(Plain, Mapping[str, Any]):
    """A piece of a result. It can also be read by the keys of its JSON, as the mappings it stands for were: `difference["lower"]`."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        CLASSES[cls.__name__] = cls
        cls.__eq__, cls.__repr__ = cls.__eq__, cls.__repr__  # type: ignore[method-assign]  # so that `dataclass` leaves them as they are

    def __eq__(self, other: object) -> bool:
        """Equal where JSON is: also to the mapping it stands for."""
        return dict(self) == dict(other) if isinstance(other, Mapping) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name, key, _ in _fields_of(type(self)).written if key in self)
        return shortened(f"{type(self).__name__}({shown})", 120, "…")

    def __getitem__(self, key: str) -> Any:
        for name, written, default in _fields_of(type(self)).written:
            if written == key:
                value = getattr(self, name)
                if default is MISSING or not (value is default or value == default):
                    return value
                break
        if key in self.ALSO:
            return getattr(self, key)
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return (key for key, _ in self._json_items())

    def __len__(self) -> int:
        return sum(1 for _ in self._json_items())


class Warnings(dict[str, None]):
    """The warnings of a result, each sentence once. A question creates it, passes it to the code it calls, and puts it on its result.

    >>> warnings = Warnings()
    >>> warnings.add("few items")
    >>> warnings.extend(["no interval", "few items"])
    >>> tuple(warnings)
    ('few items', 'no interval')

    The warnings about a deferred number are not known before that number is:

    >>> warnings.defer(lambda: ["undefined in 3 draws", "few items"])
    >>> warnings.add("a small sample")
    >>> warnings.waiting, tuple(warnings)
    (True, ('few items', 'no interval', 'undefined in 3 draws', 'a small sample'))
    """

    __slots__ = ()

    def add(self, sentence: str) -> None:
        self[sentence] = None  # one that is there keeps its place

    def extend(self, sentences: Iterable[str]) -> None:
        self.update(dict.fromkeys(sentences))

    def defer(self, make: Callable[[], Iterable[str]]) -> None:
        """Warnings that are computed when they are first read; they keep this place in the order."""
        self[make] = None  # type: ignore[index]

    @property
    def waiting(self) -> bool:
        """Whether some warnings are still to be computed."""
        return any(callable(each) for each in dict.__iter__(self))

    def __iter__(self) -> Iterator[str]:
        if not self.waiting:
            return dict.__iter__(self)
        return iter(dict.fromkeys(sentence for each in dict.__iter__(self) for sentence in (each() if callable(each) else (each,))))

    def snapshot(self) -> Warnings:
        """A copy, unaffected by what is added later."""
        copy = Warnings()
        for each in dict.__iter__(self):
            copy[each] = None
        return copy


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Result(Plain, Displayable):
    """An answer to a question. JSON has its kind and schema first, what goes with every answer last."""

    KIND: ClassVar[str] = ""
    SCHEMA: ClassVar[int] = 1

    warnings: tuple[str, ...] = ()
    signature: str = ""

    def __init_subclass__(cls) -> None:
        CLASSES[cls.__name__] = cls
        if "KIND" in cls.__dict__:
            KINDS[cls.KIND] = cls

    @property
    def headline(self) -> str:
        """What it says in a few words."""
        return str(getattr(self, "conclusion", "")) or self.signature

    def __repr__(self) -> str:
        line = " ".join(self.headline.split())
        return f"<{type(self).__name__}: {shortened(line, 120, '…')}>"

    def to_dict(self) -> dict[str, Any]:
        """The answer in what JSON has, as `--format json` writes it."""
        found = Plain.to_dict(self)
        last: dict[str, Any] = {name: found.pop(name) for name in ("warnings", "hints", "signature") if name in found}
        return {"kind": self.KIND, "schema": self.SCHEMA, **found, **last}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """The answer that `to_dict` wrote, by this version or an earlier one. `Result` itself reads any kind."""
        if cls is Result and _OF_ANY_KIND:
            return _OF_ANY_KIND[0](plain)  # type: ignore[return-value]
        cls.refuse_other(plain)
        return filled(cls, cls._from_earlier_version(plain))

    @classmethod
    def _from_earlier_version(cls, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """What an earlier version wrote, converted to the keys of this one. Kinds whose JSON has changed override it."""
        return plain

    @classmethod
    def refuse_other(cls, plain: Mapping[str, Any]) -> None:
        """What is of another kind, or of a schema that is not known, is not read."""
        if plain.get("kind") != cls.KIND or plain.get("schema") != cls.SCHEMA:
            raise UsageError(
                f"This is not {with_article(cls.KIND)} of schema {cls.SCHEMA}: kind {plain.get('kind')!r}, schema {plain.get('schema')!r}.",
                got=f"kind {plain.get('kind')!r}, schema {plain.get('schema')!r}",
                need=f"{with_article(cls.KIND)} of schema {cls.SCHEMA}",
            )


_OF_ANY_KIND: list[Callable[[Any], Result]] = []


def reads_any_kind(reader: Callable[[Any], Result]) -> Callable[[Any], Result]:
    """The function by which `Result.from_dict` reads an answer of any kind: the kinds lie above, and know this module."""
    _OF_ANY_KIND[:] = [reader]
    return reader


class ResultWithAnswer(Result):
    """A result that contains its answer (a run and its verdict): whatever reads the JSON of that answer can read this one as well.

    JSON has the keys of the answer (without one, kind and schema alone) with the warnings of both, and the rest under its own kind.
    """

    __slots__ = ()

    @property
    def _answer(self) -> Result | None:
        """The answer inside."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """The keys of the answer, and the rest under its own kind."""
        answer: dict[str, Any] = {"kind": self.KIND, "schema": self.SCHEMA, "warnings": [], "signature": self.signature}
        if self._answer is not None:
            answer |= self._answer.to_dict()
        around = Plain.to_dict(self)
        return {**answer, "warnings": [*answer["warnings"], *around["warnings"]], self.KIND: around}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """What `to_dict` wrote, by this version or an earlier one."""
        plain = cls._from_earlier_version(plain)
        around, kind, warnings = plain[cls.KIND], plain["kind"], list(plain["warnings"])
        of_answer = warnings[: len(warnings) - len(around["warnings"])]
        made = {
            name: found.from_dict({**plain, "warnings": of_answer}) for name, found in _fields_of(cls).answers.items() if kind == found.KIND
        }
        return filled(cls, around, **made)


# ---- how fields are written and read ------------------------------------------------------------------------------------


def filled(cls: type[T], plain: Mapping[str, Any], **made: Any) -> T:
    """A value from the JSON of its fields; `made` are fields that the caller has already."""
    about = _fields_of(cls)
    for name, key, needed in about.read:
        if name in about.apart:
            found = {field: value for part, field in about.apart[name].items() if (value := plain.get(part)) is not None}
            made.setdefault(name, about.classes[name](**{**about.defaults[name], **found}) if found else None)
        elif name not in made and key in plain:
            value, convert = plain[key], about.converters[name]
            made[name] = value if convert is None or (value is None and name not in about.never_none) else convert(value)
        elif name not in made and needed:
            raise KeyError(key)
    return cls(**made)


def plain(value: Any) -> Any:
    """A value in the types of JSON."""
    kind = type(value)
    if kind in SCALARS:
        return value
    if kind is dict:
        if SCALARS.issuperset(map(type, value.values())):
            return value.copy()
        return {key: each if type(each) in SCALARS else plain(each) for key, each in value.items()}
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, tuple | list) else value


class _Fields:
    """The fields of a class as `to_dict` and `from_dict` need them, looked up once."""

    def __init__(self, cls: Any) -> None:
        each = [(one, one.metadata.get("json", one.name)) for one in fields(cls)]
        words = {one.name: str(one.type).removesuffix(" | None").removesuffix(" | str") for one, _ in each}
        # Fields that JSON has no object for: key -> field of the part; and what else makes that part.
        self.apart = {one.name: one.metadata["apart"] for one, _ in each if "apart" in one.metadata}
        self.defaults = {one.name: one.metadata["defaults"] for one, _ in each if one.name in self.apart}
        self.written = [  # (field, key, what JSON leaves out)
            (one.name, said, _left_out(cls, one)) for one, key in each if key is not None for said in self.apart.get(one.name, (key,))
        ]
        self.named = [(name, CLASSES[inside]) for name, word in words.items() if (inside := _named_part(word)) in CLASSES]
        parts = {name for name, _ in self.named}
        free = [(one.name, str(one.type)) for one, _ in each if "Mapping" in str(one.type) or "Any" in str(one.type)]
        free = [(name, word) for name, word in free if name not in parts]
        self.free = [(name, words.startswith("tuple")) for name, words in free]  # what no class describes, and whether in a tuple
        self.classes = {name: CLASSES[word] for name, word in words.items() if word in CLASSES}
        self.parts = list(self.classes.items())
        held = {name: word[len("tuple[") : -len(", ...]")].split(" | ") for name, word in words.items() if word.startswith("tuple[")}
        self.several = [(name, tuple(CLASSES[one] for one in kinds)) for name, kinds in held.items() if CLASSES.keys() >= {*kinds}]
        self.answers: dict[str, Any] = {one.name: self.classes[one.name] for one, _ in each if one.metadata.get("answer")}
        self.read = [(one.name, key, one.default is one.default_factory is MISSING) for one, key in each if key is not None]
        self.known = {one.name: one.metadata["known"] for one, _ in each if "known" in one.metadata}
        self.needed = {key for _, key, needed in self.read if needed}
        self.keys = {key for _, key, _ in self.written} | {*cls.ALSO}
        self.cls = cls

    @cached_property
    def never_none(self) -> set[str]:
        """Texts, numbers and switches that are always there."""
        return {name for name, kind in get_type_hints(self.cls, localns=CLASSES).items() if kind in _SIMPLE}

    @cached_property
    def converters(self) -> dict[str, Callable[[Any], Any] | None]:
        """How a plain value that is not None becomes one of the field's type; None: as it is."""
        converters = {name: _converter(kind) for name, kind in get_type_hints(self.cls, localns=CLASSES).items()}
        return converters | {name: partial(_checked_word, name, known) for name, known in self.known.items()}


def _named_part(word: str) -> str:
    """The class of the parts that a field has by name: of Mapping[str, X] X."""
    return word.removeprefix("Mapping[str, ").removesuffix("]") if word.startswith("Mapping[str, ") else ""


def _checked_word(name: str, known: frozenset[str], value: str) -> str:
    if value not in known:
        raise ValueError(f"the {name} {value!r}")
    return value


def class_for(classes: tuple[type[Plain], ...], found: Mapping[str, Any]) -> type[Plain]:
    """Which of several classes has all keys of what was found and needs no others; the last one, where a later version added keys."""
    return next((each for each in classes if _fields_of(each).needed <= found.keys() <= _fields_of(each).keys), classes[-1])


_FIELDS: dict[type, _Fields] = {}


def _fields_of(cls: type[Plain]) -> _Fields:
    if cls not in _FIELDS:
        _FIELDS[cls] = _Fields(cls)
    return _FIELDS[cls]


def _left_out(cls: type[Plain], each: Field[Any]) -> Any:
    if not each.metadata.get("brief", cls.BRIEF and each.name not in cls.ALWAYS):
        return MISSING
    return each.default if each.default_factory is MISSING else each.default_factory()


_SIMPLE: dict[Any, str] = {str: "a text", int: "a number", float: "a number", bool: "true or false"}


def _simple(kind: type, value: Any) -> Any:
    """A text, a number or a switch as it is. What JSON has of another kind there was written by hand, and would fail where it is shown."""
    if (kind is str) != isinstance(value, str) or isinstance(value, list | tuple | Mapping | None):
        raise TypeError(f"{shortened(repr(value), 80)} where {_SIMPLE[kind]} belongs")
    return value


def _converter(kind: Any) -> Callable[[Any], Any] | None:
    origin, inside = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        kinds = tuple(each for each in inside if each is not NoneType)
        if len(kinds) > 1 and all(isinstance(each, type) and issubclass(each, Plain) for each in kinds):
            return lambda value: class_for(kinds, value).from_dict(value)
        if len(kinds) > 1 and kinds[0] in _SIMPLE:
            return None
        part = _converter(kinds[0])
        if part is None or str not in kinds:
            return part
        made_of = part
        return lambda value: value if isinstance(value, str) else made_of(value)  # a part, or the text that stands for it
    if kind in _SIMPLE:
        return partial(_simple, kind)
    if origin is Mapping and isinstance(inside[1], type) and issubclass(inside[1], Plain):
        named: Callable[[Any], Any] = inside[1].from_dict
        return lambda value: {key: named(each) for key, each in value.items()}
    if origin is not tuple:
        made: Callable[[Any], Any] | None = getattr(kind, "from_dict", None)
        return made
    convert = _converter(inside[0])

    def listed(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise TypeError(f"{value!r} where a list belongs")
        return tuple(value) if convert is None else tuple(each if each is None else convert(each) for each in value)

    return listed
