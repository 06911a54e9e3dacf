"""Our `dataclass` against the standard library's: the same class under both decorators, asked the same things."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, get_type_hints

import pytest

import steelyard as sy
from cases import every
from steelyard import late_dataclass
from steelyard.late_pattern import late_pattern

WAYS = {
    "frozen, slots": {"frozen": True, "slots": True},
    "frozen, slots, keywords": {"frozen": True, "slots": True, "kw_only": True},
    "frozen": {"frozen": True},
    "frozen, compared by identity": {"frozen": True, "slots": True, "eq": False},
    "frozen, shown by itself": {"frozen": True, "slots": True, "repr": False},
    "may change": {"slots": True},
    "referred to weakly": {"frozen": True, "slots": True, "weakref_slot": True},
    "plain": {},
}


def made(decorator: Any, **way: bool) -> Any:
    @decorator(**way)
    class Thing:
        """A thing."""

        count: ClassVar[int] = 7
        name: str
        size: float = dataclasses.field(default=1.5, compare=False)
        parts: list[int] = dataclasses.field(default_factory=list, repr=False)
        doubled: float = dataclasses.field(init=False, default=0.0)
        last: tuple[int, ...] = dataclasses.field(default=(), kw_only=True)

        def __post_init__(self) -> None:
            object.__setattr__(self, "doubled", 2 * self.size)

    return Thing


def outcome(call: Any) -> Any:
    try:
        return call()
    except Exception as error:
        return type(error), str(error).replace("__init__()", "")


def asked(cls: Any) -> dict[str, Any]:
    """What can be asked of a class and of its objects, as far as it can be compared between two classes of one name."""
    one, same, other = cls(name="a", last=(1,)), cls(name="a", size=9.0, last=(1,)), cls(name="b")
    return {
        "signature": str(inspect.signature(cls)),
        "fields": [(f.name, f.type, f.init, f.repr, f.compare, f.kw_only) for f in dataclasses.fields(cls)],
        "match": getattr(cls, "__match_args__", None),
        "slots": getattr(cls, "__slots__", None),
        "frozen": cls.__dataclass_params__.frozen,
        "values": dataclasses.asdict(one),
        "fresh parts": one.parts is not other.parts,
        "shown": repr(one).split(" at ")[0].split(".<locals>.")[-1],
        "equal": (one == same, one == other, one != other, one == 3, one == cls(name="a", parts=[1], last=(1,))),
        "hash": outcome(lambda: hash(one) == hash(same)),
        "assigned": outcome(lambda: setattr(one, "name", "c")),
        "assigned anew": outcome(lambda: setattr(one, "unknown", "c")) is None,  # with slots, Python's own message is about super()
        "deleted": outcome(lambda: delattr(same, "name")),
        "replaced": dataclasses.asdict(dataclasses.replace(other, name="c", last=(2,))),
        "copied": [dataclasses.asdict(each(other)) for each in (copy.copy, copy.deepcopy)],
        "too few": outcome(cls),
        "unknown": outcome(lambda: cls(name="a", colour=1)),
        "too many": type(outcome(lambda: cls("a", 1, [], (2,), 5, 6))),
    }


@every("way", WAYS)
def test_it_answers_as_the_standard_library_does(way: str) -> None:
    theirs, ours = made(dataclasses.dataclass, **WAYS[way]), made(late_dataclass.dataclass, **WAYS[way])
    assert asked(ours) == asked(theirs)


def test_each_kind_may_inherit_from_the_other() -> None:
    for below, above in ((late_dataclass.dataclass, dataclasses.dataclass), (dataclasses.dataclass, late_dataclass.dataclass)):

        @above(frozen=True, slots=True, kw_only=True)
        class Base:
            """A base."""

            a: int

        @below(frozen=True, slots=True, kw_only=True)
        class Child(Base):
            """A child."""

            b: int = 2

        child = Child(a=1)
        assert (child.a, child.b) == (1, 2)
        assert child == Child(a=1, b=2) != Child(a=2)
        assert [each.__dataclass_params__.frozen for each in (Base, Child)] == [True, True]
        with pytest.raises(dataclasses.FrozenInstanceError):
            child.a = 3


def test_a_method_that_the_class_wrote_itself_stays() -> None:
    @late_dataclass.dataclass(frozen=True, slots=True)
    class Own:
        """With words of its own."""

        a: int

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 3

    assert (repr(Own(1)), Own(1) == Own(2), hash(Own(5))) == ("own", True, 3)


def test_objects_with_slots_are_pickled() -> None:
    from steelyard.results.measurement import Interval

    interval = Interval(low=0.25, high=0.75, confidence_level=0.95, method="wilson", side="two-sided")
    assert pickle.loads(pickle.dumps(interval)) == interval


def test_nothing_is_compiled_before_many_objects_are_made() -> None:
    script = (
        "import builtins, dataclasses\n"
        "seen, plain = [], exec\n"
        "builtins.exec = lambda text, *rest: (seen.append(text), plain(text, *rest))[1]\n"
        "from steelyard.late_dataclass import dataclass\n"
        "seen.clear()\n"
        "@dataclass(frozen=True, slots=True)\n"
        "class A:\n"
        "    'A class.'\n"
        "    a: int\n"
        "assert not seen, seen\n"
        "assert [A(i).a for i in range(16)] == list(range(16))\n"
        "assert not seen, seen\n"
        "A(1); A(2)\n"
        "assert len(seen) == 1, seen\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("few", [True, False])
def test_the_first_objects_are_as_all_others(few: bool) -> None:
    """Filled field by field or by the compiled function: the same values, the same refusals in the same words."""
    made: list[int] = []

    @late_dataclass.dataclass(frozen=True, slots=True)
    class Both:
        """Every kind of field."""

        a: int
        b: list[int] = dataclasses.field(default_factory=list)
        c: int = 3
        d: int = dataclasses.field(default=4, init=False)
        e: int = dataclasses.field(default=5, kw_only=True)

        def __post_init__(self) -> None:
            made.append(self.a)

    if not few:
        assert Both.__init__.__code__.co_varnames[:2] == ("self", "a")
    both = Both(1, c=7)
    assert dataclasses.astuple(both) == (1, [], 7, 4, 5)
    assert Both(a=1).b is not Both(a=1).b
    assert dataclasses.astuple(Both(1, [2], 3, e=6)) == (1, [2], 3, 4, 6)
    assert made == [1] * 4
    for wrong, words in (
        (lambda: Both(), "missing 1 required positional argument: 'a'"),  # type: ignore[call-arg]
        (lambda: Both(1, a=2), "got multiple values for argument 'a'"),  # type: ignore[misc]
        (lambda: Both(1, d=2), "got an unexpected keyword argument 'd'"),  # type: ignore[call-arg]
        (lambda: Both(1, [], 3, 4), "takes from 2 to 4 positional arguments but 5 were given"),  # type: ignore[misc]
    ):
        with pytest.raises(TypeError, match=words):
            wrong()
    assert made == [1] * 4


@pytest.fixture
def quick_switches() -> Iterator[None]:
    """Threads take turns after a millionth of a second."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_threads_may_make_the_first_objects_at_once(quick_switches: None) -> None:
    with ThreadPoolExecutor(8) as pool:
        for _ in range(100):

            @late_dataclass.dataclass(frozen=True, slots=True)
            class First:
                x: int
                y: int = 3

            gate = threading.Barrier(8)

            def make(cls: type = First, gate: threading.Barrier = gate) -> None:
                gate.wait()
                for i in range(6):
                    cls(i)

            for each in [pool.submit(make) for _ in range(8)]:
                each.result()


def test_a_late_pattern_is_copied_as_the_pattern_it_is() -> None:
    pattern = late_pattern("a+", re.IGNORECASE)
    assert copy.deepcopy(pattern) == pickle.loads(pickle.dumps(pattern)) == re.compile("a+", re.IGNORECASE)


def test_threads_may_make_classes_of_one_base_at_once(quick_switches: None) -> None:
    """The base looks as if it were not frozen while one of them is made, which no other thread may see."""

    @late_dataclass.dataclass(frozen=True)
    class Base:
        name: str = ""

    def make() -> int:
        for _ in range(100):

            @late_dataclass.dataclass(frozen=True)
            class Below(Base):
                more: int = 0

        return Below(more=1).more

    with ThreadPoolExecutor(8) as pool:
        assert [each.result() for each in [pool.submit(make) for _ in range(8)]] == [1] * 8


def test_annotations_of_a_compiled_constructor_can_be_read() -> None:
    assert get_type_hints(sy.Case.__init__)["id"] is str
