"""A series of past runs as it is drawn: each value with what is known about its uncertainty, its threshold, and what changed before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steelyard_old.late_dataclass import dataclass
from steelyard_old.metrics.catalogue import find
from steelyard_old.results.history import PastRun
from steelyard_old.results.signature import values_of

OWN, CHANGE = "own", "change"  # an interval of the value itself; bounds of the change, laid on the reference
LEVEL = 0.95
ONE_BY_ONE = (None, "items", "paired", "unpaired", "threshold")  # designs in which each item is one draw
UNITS = {"fraction": 1.0, "percent": 100.0}
_NEAR = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartPoint:
    """One run in a chart. `band` says what `low` and `high` are: OWN, CHANGE, or nothing is known. The first run has no `changed`."""

    run: PastRun
    low: float | None = None
    high: float | None = None
    band: str | None = None
    changed: Sequence[str] | None = None


def chart_points(runs: Sequence[PastRun], first: PastRun | None = None) -> list[ChartPoint]:
    """The runs of one series, oldest first, as points; `first` is the run before them, if there is one."""
    out = []
    last = first
    for run in runs:
        low, high, band = uncertainty(run)
        out.append(ChartPoint(run=run, low=low, high=high, band=band, changed=None if last is None else what_changed(last, run)))
        last = run
    return out


def uncertainty(run: PastRun) -> tuple[float | None, float | None, str | None]:
    """Where the value may lie. A share of items has Wilson's interval; other runs have the bounds of their change, if they were judged.

    >>> low, high, band = uncertainty(PastRun(id="a", time="", command="check", task="t", model="m", n=40, estimate=0.3))
    >>> round(low, 4), round(high, 4), band
    (0.1807, 0.4543, 'own')
    """
    unit = UNITS.get(run.scale)
    if (
        (metric := find(run.metric)) is not None
        and metric.right_or_wrong
        and unit is not None
        and run.estimate is not None
        and run.n
        and _independent(run)
    ):
        hits = run.estimate / unit * run.n
        if abs(hits - round(hits)) < max(_NEAR, _NEAR * run.n):  # a mean over repeats is no count of items
            from steelyard_old.infer.normal import wilson

            low, high = wilson(round(hits), run.n, LEVEL)
            return low * unit, high * unit, OWN
    value = None if run.reference is None else run.reference.value
    if isinstance(value, int | float) and run.lower is not None and run.upper is not None:
        sign = 1.0 if run.higher_is_better else -1.0  # the change of a verdict is turned so that up is good
        ends = sorted((value + sign * run.lower, value + sign * run.upper))
        return ends[0], ends[1], CHANGE
    return None, None, None


def _independent(run: PastRun) -> bool:
    """Whether the items of a run count one by one: no groups, no repeats, and not stopped by their own answers."""
    told = next(iter(values_of(run.signature, "design")), None)
    return run.design in ONE_BY_ONE and told in ONE_BY_ONE and not (run.tally or {}).get("stopped")


def what_changed(a: PastRun, b: PastRun) -> list[str]:
    """What differs between two runs, besides their numbers, in words.

    >>> runs = [PastRun(id=i, time="", command="check", task="t", model="m", commit=c, protocol=p)
    ...         for i, c, p in (("a", "1f3a", {"prompt": "v3"}), ("b", "9c2e", {"prompt": "v4"}))]
    >>> what_changed(*runs)
    ['commit 1f3a → 9c2e', 'protocol prompt: v3 → v4']
    """
    out = []
    plain = (("task", a.task, b.task), ("model", a.model, b.model), ("metric", a.metric, b.metric), ("commit", a.commit, b.commit))
    for what, one, other in (*plain, ("items", _many(a.n), _many(b.n)), ("tool", a.tool, b.tool)):
        if one != other:
            out.append(f"{what} {_cut(what, one)} → {_cut(what, other)}")
    out += _keys("spec", a.spec, b.spec) + _keys("protocol", a.protocol, b.protocol)
    mine, yours = (None if run.reference is None else run.reference.value for run in (a, b))
    numbers: tuple[tuple[str, float | None, float | None], ...] = (
        ("reference", mine, yours),
        *((name, getattr(a, name), getattr(b, name)) for name in ("theta", "margin", "alpha")),
    )
    for what, old, new in numbers:
        if old != new and old is not None and new is not None:  # a record has none of them, which is no change
            out.append(f"{what} {old:.6g} → {new:.6g}")
    return out


def _many(n: int | None) -> str | None:
    return None if n is None else f"{n:,}"


def _cut(what: str, value: str | None) -> str:
    return "none" if value is None else value[:10] if what == "commit" else value


def _keys(what: str, a: Mapping[str, str], b: Mapping[str, str]) -> list[str]:
    return [f"{what} {key}: {a.get(key, 'none')} → {b.get(key, 'none')}" for key in sorted({*a, *b}) if a.get(key) != b.get(key)]


def changed_items(a: Mapping[str, float], b: Mapping[str, float]) -> list[tuple[str, float, float]]:
    """The items whose score differs between two runs: id, score then, score now. Losses first, the largest of them first.

    >>> changed_items({"x": 1.0, "y": 0.0, "z": 1.0}, {"x": 0.0, "y": 1.0, "z": 1.0})
    [('x', 1.0, 0.0), ('y', 0.0, 1.0)]
    """
    found = [(id_, a[id_], b[id_]) for id_ in a.keys() & b.keys() if a[id_] != b[id_]]
    return sorted(found, key=lambda each: (each[2] - each[1], each[0]))
