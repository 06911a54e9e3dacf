"""What every result is: a frozen value that says itself in plain values (`to_dict`) and is made from them again (`from_dict`).

Both ways follow the fields of the dataclass, so that `X.from_dict(x.to_dict()) == x` for every kind without a line of its own. A field
says where JSON differs: `said_as("metrics")` gives it another name there, `said_as(None)` leaves it out, `said_apart(...)` says a part
by keys beside one another. A kind that another answer is the core of (`AnswerWithin`) is told around that answer. What an earlier version
wrote otherwise is put into today's keys by `_of_earlier`, before it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, field, fields
from enum import Enum
from functools import cached_property, partial
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, Union, get_args, get_origin, get_type_hints

from steelyard.errors import UsageError, with_article
from steelyard.late_dataclass import dataclass
from steelyard.redaction import shortened
from steelyard.results.display import Displayable

CLASSES: dict[str, type[Plain]] = {}  # every class with JSON both ways, by its name
KINDS: dict[str, type[Result]] = {}  # every kind of result that was loaded, by the name that JSON has for it

T = TypeVar("T", bound="Plain")


class Unsaid(Enum):
    """What was not found, where None would be an answer."""

    UNSAID = "unsaid"

    def __bool__(self) -> bool:
        return False


UNSAID: Any = Unsaid.UNSAID
SCALARS = frozenset((str, int, float, bool, NoneType))  # what JSON has as it is
IF_ANY = {"brief": True}  # metadata of a field that JSON leaves out where it is as by default


def said_as(name: str | None, **more: Any) -> Any:
    """A field that JSON knows by another name; None: not at all, and two results that differ in it alone are equal."""
    return field(metadata={"json": name}, compare=name is not None, **more)


def said_apart(keys: Mapping[str, str], otherwise: Mapping[str, Any], **more: Any) -> Any:
    """A part that JSON has no object for: each key of `keys` has one of its fields. `otherwise`: its other fields, and those not known."""
    return field(metadata={"apart": dict(keys), "otherwise": dict(otherwise)}, **more)


def one_of(known: Iterable[str], **more: Any) -> Any:
    """A text field that is one of a few. What JSON has instead is refused when it is read."""
    return field(metadata={"known": frozenset(known)}, **more)


def answer_within(**more: Any) -> Any:
    """A field of an `AnswerWithin` that may be the answer it is told around."""
    return field(metadata={"json": None, "answer": True}, **more)


class Plain:
    """A frozen dataclass with JSON both ways.

    A field may be put off: it is worked out when it is first read, by whoever reads it (an eye, JSON, ==, a copy), and is a plain
    value from then on. What was asked for and costs little is there at once; what costs draws waits until somebody wants it.
    """

    __slots__ = ("_late",)
    ALSO: ClassVar[tuple[str, ...]] = ()  # properties that JSON has beside the fields
    BRIEF: ClassVar[bool] = False  # whether JSON leaves out what is as by default,
    ALWAYS: ClassVar[tuple[str, ...]] = ()  # but for these fields
    _ORDERS: ClassVar[tuple[tuple[str, ...], ...]] = ()  # of keys, where JSON has just these in another order than that of the fields

    def __init_subclass__(cls) -> None:
        CLASSES[cls.__name__] = cls

    def __post_init__(self) -> None:
        """What no class describes is held in plain values, as JSON gives it back; a mapping given for a part becomes that part."""
        about = _of(type(self))
        for name, several in about.free:
            given = getattr(self, name)
            if given is None or given is UNSAID or (type(given) is tuple and not given):
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
                    self, name, tuple(each if isinstance(each, Plain) else fitting(classes, each).of(each) for each in given)
                )

    if not TYPE_CHECKING:  # or every misspelt field would pass for one that was put off

        def __getattr__(self, name):
            """Called for a field without a value: one that was put off, or none at all."""
            try:
                make = object.__getattribute__(self, "_late")[name]
            except (AttributeError, KeyError):
                return object.__getattribute__(self, name)  # as Python says it
            value = make()
            object.__setattr__(self, name, value)
            object.__getattribute__(self, "_late").pop(name, None)  # and with it the tally that it was made from
            return value

    def to_dict(self) -> dict[str, Any]:
        """The value in what JSON has: objects, lists, texts, numbers, true, false and null."""
        return {key: plain(value) for key, value in self._said()}

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Self:
        """From what was found, by the keys of JSON. A key that is not known is a mistake of ours, and raises."""
        unknown = sorted(found.keys() - _of(cls).keys)
        if unknown:
            raise TypeError(f"{cls.__name__} has no {', '.join(unknown)}")
        return cls.from_dict(found)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The fields that JSON has."""
        return tuple(name for name, _, _ in _of(cls).said)

    def _said(self) -> Iterator[tuple[str, Any]]:
        """What JSON has of it: (key, value) of the fields in order, then of the properties beside them."""
        said = self._in_order()
        if not self._ORDERS:
            return said
        found = dict(said)
        order = next((order for order in self._ORDERS if found.keys() == {*order}), tuple(found))
        return ((key, found[key]) for key in order)

    def _in_order(self) -> Iterator[tuple[str, Any]]:
        about = _of(type(self))
        for name, key, default in about.said:
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


def put_off(value: T, **late: Callable[[], Any]) -> T:
    """The value, with fields that are made when they are first read. Only for a value that nobody has seen yet."""
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
        said = ", ".join(f"{name}={getattr(self, name)!r}" for name, key, _ in _of(type(self)).said if key in self)
        return f"{type(self).__name__}({said})"

    def __getitem__(self, key: str) -> Any:
        for name, said, default in _of(type(self)).said:
            if said == key:
                value = getattr(self, name)
                if default is MISSING or not (value is default or value == default):
                    return value
                break
        if key in self.ALSO:
            return getattr(self, key)
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return (key for key, _ in self._said())

    def __len__(self) -> int:
        return sum(1 for _ in self._said())


class Warnings(dict[str, None]):
    """What is said beside an answer, each sentence once: a question makes one, hands it to what works on it, and puts it on its result.

    >>> warnings = Warnings()
    >>> warnings.add("few items")
    >>> warnings.extend(["no interval", "few items"])
    >>> tuple(warnings)
    ('few items', 'no interval')

    What is said beside a number that was put off is not known before that number is:

    >>> warnings.put_off(lambda: ["undefined in 3 draws", "few items"])
    >>> warnings.add("a small sample")
    >>> warnings.waiting, tuple(warnings)
    (True, ('few items', 'no interval', 'undefined in 3 draws', 'a small sample'))
    """

    __slots__ = ()

    def add(self, sentence: str) -> None:
        self[sentence] = None  # one that is there keeps its place

    def extend(self, sentences: Iterable[str]) -> None:
        self.update(dict.fromkeys(sentences))

    def put_off(self, make: Callable[[], Iterable[str]]) -> None:
        """Sentences that are found out when somebody reads; their place is here."""
        self[make] = None  # type: ignore[index]

    @property
    def waiting(self) -> bool:
        """Whether reading the sentences would take work."""
        return any(callable(each) for each in dict.__iter__(self))

    def __iter__(self) -> Iterator[str]:
        if not self.waiting:
            return dict.__iter__(self)
        return iter(dict.fromkeys(said for each in dict.__iter__(self) for said in (each() if callable(each) else (each,))))

    def kept(self) -> Warnings:
        """As they are now, whatever is added later."""
        kept = Warnings()
        for each in dict.__iter__(self):
            kept[each] = None
        return kept


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
        said = Plain.to_dict(self)
        last: dict[str, Any] = {name: said.pop(name) for name in ("warnings", "hints", "signature") if name in said}
        return {"kind": self.KIND, "schema": self.SCHEMA, **said, **last}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """The answer that `to_dict` wrote, by this version or an earlier one."""
        cls.refuse_other(plain)
        return filled(cls, cls._of_earlier(plain))

    @classmethod
    def _of_earlier(cls, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """What an earlier version wrote, in the keys of this one. Kinds whose JSON has changed say how."""
        return plain

    @classmethod
    def refuse_other(cls, plain: Mapping[str, Any]) -> None:
        """What is of another kind, or of a schema that is not known, is not read."""
        if plain.get("kind") != cls.KIND or plain.get("schema") != cls.SCHEMA:
            raise UsageError(
                "cannot read the result",
                got=f"kind {plain.get('kind')!r}, schema {plain.get('schema')!r}",
                need=f"{with_article(cls.KIND)} of schema {cls.SCHEMA}",
            )


class AnswerWithin(Result):
    """A result around the answer that it came to: who knows how to read that answer reads it here as well.

    JSON has the keys of the answer (without one, kind and schema alone) with the warnings of both, and the rest under its own kind.
    """

    __slots__ = ()

    @property
    def _answer(self) -> Result | None:
        """What it came to."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """The keys of the answer, and under its own kind what goes around it."""
        answer: dict[str, Any] = {"kind": self.KIND, "schema": self.SCHEMA, "warnings": [], "signature": self.signature}
        if self._answer is not None:
            answer |= self._answer.to_dict()
        around = Plain.to_dict(self)
        return {**answer, "warnings": [*answer["warnings"], *around["warnings"]], self.KIND: around}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """What `to_dict` wrote, by this version or an earlier one."""
        plain = cls._of_earlier(plain)
        around, kind, warnings = plain[cls.KIND], plain["kind"], list(plain["warnings"])
        of_answer = warnings[: len(warnings) - len(around["warnings"])]
        made = {name: found.from_dict({**plain, "warnings": of_answer}) for name, found in _of(cls).answers.items() if kind == found.KIND}
        return filled(cls, around, **made)


# ---- how fields are written and read ------------------------------------------------------------------------------------


def filled(cls: type[T], plain: Mapping[str, Any], **made: Any) -> T:
    """A value from what JSON has of its fields; `made` are fields that were made otherwise."""
    about = _of(cls)
    for name, key, needed in about.read:
        if name in about.apart:
            found = {field: value for said, field in about.apart[name].items() if (value := plain.get(said)) is not None}
            made.setdefault(name, about.classes[name](**{**about.otherwise[name], **found}) if found else None)
        elif name not in made and key in plain:
            value, way = plain[key], about.ways[name]
            made[name] = value if value is None or way is None else way(value)
        elif name not in made and needed:
            raise KeyError(key)
    return cls(**made)


def plain(value: Any) -> Any:
    """A value in what JSON has."""
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
    """What is asked of the fields of a class again and again, looked up once."""

    def __init__(self, cls: Any) -> None:
        each = [(one, one.metadata.get("json", one.name)) for one in fields(cls)]
        words = {one.name: str(one.type).removesuffix(" | None") for one, _ in each}
        # Fields that JSON has no object for: key -> field of the part; and what else makes that part.
        self.apart = {one.name: one.metadata["apart"] for one, _ in each if "apart" in one.metadata}
        self.otherwise = {one.name: one.metadata["otherwise"] for one, _ in each if one.name in self.apart}
        self.said = [  # (field, key, what JSON leaves out)
            (one.name, said, _left_out(cls, one)) for one, key in each if key is not None for said in self.apart.get(one.name, (key,))
        ]
        free = [(one.name, str(one.type)) for one, _ in each if "Mapping" in str(one.type) or "Any" in str(one.type)]
        self.free = [(name, words.startswith("tuple")) for name, words in free]  # what no class describes, and whether in a tuple
        self.classes = {name: CLASSES[word] for name, word in words.items() if word in CLASSES}
        self.parts = list(self.classes.items())
        inside = {name: word[len("tuple[") : -len(", ...]")].split(" | ") for name, word in words.items() if word.startswith("tuple[")}
        self.several = [(name, tuple(CLASSES[one] for one in kinds)) for name, kinds in inside.items() if CLASSES.keys() >= {*kinds}]
        self.answers: dict[str, Any] = {one.name: self.classes[one.name] for one, _ in each if one.metadata.get("answer")}
        self.read = [(one.name, key, one.default is one.default_factory is MISSING) for one, key in each if key is not None]
        self.known = {one.name: one.metadata["known"] for one, _ in each if "known" in one.metadata}
        self.needed = {key for _, key, needed in self.read if needed}
        self.keys = {key for _, key, _ in self.said} | {*cls.ALSO}
        self.cls = cls

    @cached_property
    def ways(self) -> dict[str, Callable[[Any], Any] | None]:
        """How a plain value that is not None becomes one of the field's type; None: as it is."""
        ways = {name: _way(kind) for name, kind in get_type_hints(self.cls, localns=CLASSES).items()}
        return ways | {name: partial(_among, name, known) for name, known in self.known.items()}


def _among(name: str, known: frozenset[str], value: str) -> str:
    if value not in known:
        raise ValueError(f"the {name} {value!r}")
    return value


def fitting(classes: tuple[type[Plain], ...], found: Mapping[str, Any]) -> type[Plain]:
    """Which of several classes has all keys of what was found and needs no others; the last one, where a later version added keys."""
    return next((each for each in classes if _of(each).needed <= found.keys() <= _of(each).keys), classes[-1])


_FIELDS: dict[type, _Fields] = {}


def _of(cls: type[Plain]) -> _Fields:
    if cls not in _FIELDS:
        _FIELDS[cls] = _Fields(cls)
    return _FIELDS[cls]


def _left_out(cls: type[Plain], each: Field[Any]) -> Any:
    if not each.metadata.get("brief", cls.BRIEF and each.name not in cls.ALWAYS):
        return MISSING
    return each.default if each.default_factory is MISSING else each.default_factory()


def _way(kind: Any) -> Callable[[Any], Any] | None:
    origin, inside = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        kinds = tuple(each for each in inside if each is not NoneType)
        if len(kinds) > 1 and all(isinstance(each, type) and issubclass(each, Plain) for each in kinds):
            return lambda value: fitting(kinds, value).from_dict(value)
        return _way(kinds[0])
    if origin is not tuple:
        made: Callable[[Any], Any] | None = getattr(kind, "from_dict", None)
        return made
    way = _way(inside[0])

    def listed(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise TypeError(f"{value!r} where a list belongs")
        return tuple(value) if way is None else tuple(each if each is None else way(each) for each in value)

    return listed
