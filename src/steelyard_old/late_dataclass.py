"""`dataclass` as in the standard library, but nothing is compiled before it is used: a command imports a hundred classes and makes ten.

Python's own decorator compiles five or six functions for every class, which was a third of the time in which a short command
answers. Here the first objects of a class are filled field by field, and `__init__` is compiled when there are more of them, from then on
as fast as Python's own; comparing and hashing go through one getter of all fields, and what is frozen says so from a function of ours.
Type checkers see Python's decorator.

Classes that outsiders inherit from with a decorator of their own (scorers) keep the standard one.
"""

from __future__ import annotations

import dataclasses
import sys
from _thread import RLock
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(*, init=True, repr=True, eq=True, frozen=False, kw_only=False, slots=False, weakref_slot=False):  # noqa: A002 - the names of dataclasses
        """The decorator; parameters mean what they mean in `dataclasses.dataclass`."""
        stored = {"kw_only": kw_only, "slots": slots, "weakref_slot": weakref_slot}
        return lambda cls: _made(cls, init=init, repr=repr, eq=eq, frozen=frozen, stored=stored)


_ONE_AT_A_TIME = RLock()  # threads may load modules at once whose classes have a base in common


def _made(cls: type, *, init: bool, repr: bool, eq: bool, frozen: bool, stored: dict[str, bool]) -> type:  # noqa: A002
    """The class with its fields, as the standard library collects them, and with methods of ours."""
    written = vars(cls).get("__annotations__", {})
    cls.__annotations__ = {name: kind if _may_be_special(kind) else _Kind for name, kind in written.items()}
    with _ONE_AT_A_TIME:
        bases = [vars(base).get("__dataclass_params__") for base in cls.__mro__[1:]]
        above = [params for params in bases if params is not None and params.frozen]
        for (
            params
        ) in above:  # only what is frozen may inherit from what is frozen, and freezing compiles: so nothing looks frozen meanwhile
            params.frozen = False
        try:
            made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, **stored)(cls)
        finally:
            for params in above:
                params.frozen = True
    made.__annotations__ = written
    made.__dataclass_params__.frozen = frozen
    fields = dataclasses.fields(made)
    for field in fields:
        if field.type is _Kind:
            field.type = written[field.name]
    names = [field.name for field in fields]
    own = set(vars(made))
    methods: dict[str, Any] = {}
    if init:
        methods["__init__"] = _LateInit(made, frozen)
    if repr:
        methods["__repr__"] = _repr(made)
    if eq:
        values = _values([field.name for field in fields if field.compare])
        methods["__eq__"] = _eq(values)
        methods["__hash__"] = _hash(values) if frozen else None
    if frozen:
        methods |= _frozen(made, frozenset(names))
    if frozen and stored["slots"]:
        methods |= _state(names)
    for name, method in methods.items():
        # Python sets `__hash__` to None where a class only says how to compare; that is not the class's own word.
        if name not in own or (name == "__hash__" and vars(made)[name] is None):
            setattr(made, name, method)
    return made  # type: ignore[no-any-return]


FEW = 16  # objects of a class that are filled field by field: compiling a function takes as long as some fifty of them


class _Kind:
    """Stands for an annotation that is text while the fields are collected: text is searched for ClassVar by three patterns each time."""


def _may_be_special(kind: Any) -> bool:
    """Whether an annotation may say that something is no field, or another sort of one."""
    return not isinstance(kind, str) or "Var" in kind or "KW_ONLY" in kind


class _LateInit:
    """Stands for `__init__` until somebody looks at it or there are more than a few objects, then puts the function in its place."""

    def __init__(self, cls: type, frozen: bool) -> None:
        self._cls, self._frozen, self._left = cls, frozen, FEW
        self._known: _Parameters | None = None

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None or self._left <= 0:
            return self._compiled().__get__(instance, owner)
        self._left -= 1
        return partial(self._fill, instance)

    def _compiled(self) -> Any:
        init = _compiled_init(self._cls, self._frozen)
        self._cls.__init__ = init  # type: ignore[misc]
        return init

    def _fill(self, instance: Any, /, *placed: Any, **given: Any) -> None:
        """What the function would do. A call that it would refuse is left to it."""
        known = self._known = self._known or _Parameters.of(self._cls)  # whole before others see it: they may be other threads
        named = dict(zip(known.places, placed, strict=False))
        if len(placed) > len(known.places) or named.keys() & given.keys():
            self._compiled()(instance, *placed, **given)
            return
        named |= given
        if not known.needed <= named.keys() <= known.all:
            self._compiled()(instance, *placed, **given)
            return
        put = object.__setattr__ if self._frozen else setattr
        for name, init, default, factory in known.fields:
            if init and name in named:
                put(instance, name, named[name])
            elif factory is not dataclasses.MISSING:
                put(instance, name, factory())
            elif default is not dataclasses.MISSING:
                put(instance, name, default)
        if known.more:
            instance.__post_init__()


class _Parameters(NamedTuple):
    """What `_fill` must know of a class. fields: name, whether it is a parameter, its default, its factory."""

    fields: list[tuple[str, bool, Any, Any]]
    places: list[str]
    all: set[str]
    needed: set[str]
    more: bool

    @classmethod
    def of(cls, made: Any) -> _Parameters:
        each, missing = dataclasses.fields(made), dataclasses.MISSING
        return cls(
            fields=[(one.name, one.init, one.default, one.default_factory) for one in each],
            places=[one.name for one in each if one.init and not one.kw_only],
            all={one.name for one in each if one.init},
            needed={one.name for one in each if one.init and one.default is missing and one.default_factory is missing},
            more=hasattr(made, "__post_init__"),
        )


class _Factory:
    """The default of a parameter whose value a factory makes."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


def _compiled_init(cls: Any, frozen: bool) -> Any:
    """`__init__` with a parameter for every field, as somebody would have written it by hand."""
    # with the names of its module, by which its annotations can be read
    known: dict[str, Any] = {**vars(sys.modules[cls.__module__]), "_set": object.__setattr__, "_factory": _FACTORY}
    placed: list[str] = []
    named: list[str] = []
    lines: list[str] = []
    for field in dataclasses.fields(cls):
        name, value = field.name, field.name
        if field.default_factory is not dataclasses.MISSING:
            known[f"_make_{name}"] = field.default_factory
            value = f"_make_{name}() if {name} is _factory else {name}" if field.init else f"_make_{name}()"
            default = "=_factory"
        elif field.default is not dataclasses.MISSING:
            known[f"_default_{name}"] = field.default
            default = f"=_default_{name}"
            value = name if field.init else f"_default_{name}"
        elif field.init:
            default = ""
        else:
            continue
        if field.init:
            (named if field.kw_only else placed).append(name + default)
        lines.append(f" _set(self, {name!r}, {value})" if frozen else f" self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    parameters = ", ".join(["self", *placed, *(["*", *named] if named else [])])
    exec(f"def __init__({parameters}):\n" + ("\n".join(lines) or " pass"), known)  # noqa: S102 - names of fields, no text of anybody's
    init = known["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = {field.name: field.type for field in dataclasses.fields(cls) if field.init} | {"return": None}
    return init


def _values(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """A function that gives the values of these fields as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda each: tuple(getattr(each, name) for name in names)


def _repr(cls: Any) -> Any:
    names = [field.name for field in dataclasses.fields(cls) if field.repr]

    @recursive_repr()
    def __repr__(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return __repr__


def _eq(values: Callable[[Any], tuple[Any, ...]]) -> Any:
    def __eq__(self: Any, other: Any) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hash(values: Callable[[Any], tuple[Any, ...]]) -> Any:
    def __hash__(self: Any) -> int:
        return hash(values(self))

    return __hash__


def _frozen(cls: Any, names: frozenset[str]) -> dict[str, Any]:
    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}


def _state(names: list[str]) -> dict[str, Any]:
    """How objects are copied and pickled that have slots and may not be assigned to."""

    def __getstate__(self: Any) -> list[Any]:
        return [getattr(self, name) for name in names]

    def __setstate__(self: Any, state: list[Any]) -> None:
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    return {"__getstate__": __getstate__, "__setstate__": __setstate__}
