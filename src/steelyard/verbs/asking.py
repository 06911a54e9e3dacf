"""What every question about sources does first: read them, settle what is missing, and say how it was asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.base.problem import SteelyardError
from steelyard.base.words import did_you_mean
from steelyard.data.items import settle
from steelyard.engines.certainty import NoAnswer
from steelyard.engines.one import Answer, How
from steelyard.metrics.catalogue import ratio_columns
from steelyard.read.open import Opened, of_arrays, open_source
from steelyard.results import Interval
from steelyard.version import __version__

COLUMNS = ("id", "truth", "prediction", "score", "probability", "group", "repeat", "weight")
SHOWN = {
    "macro_f1": "macro F1",
    "micro_f1": "micro F1",
    "weighted_f1": "weighted F1",
    "f1": "F1",
    "auc": "AUC",
    "mcc": "MCC",
    "r2": "R2",
    "rmse": "RMSE",
    "mae": "MAE",
}


def names_of(said: Any) -> list[Any]:
    """One name, several joined by commas, a function, or a list of them."""
    if said is None:
        return []
    if isinstance(said, str):
        return [name.strip() for name in said.split(",") if name.strip()]
    return [said] if callable(said) else list(said)


def numbers_of(said: Any) -> tuple[float, float] | None:
    """A range: two numbers, or LOW,HIGH."""
    if said is None:
        return None
    parts = said.split(",") if isinstance(said, str) else list(said)
    try:
        low, high = (float(part) for part in parts)
    except (TypeError, ValueError):
        raise SteelyardError(f"A range is two numbers, LOW,HIGH, not {said!r}.", hint="range=0,5") from None
    if not low < high:
        raise SteelyardError(f"The range must rise, not from {low:g} to {high:g}.")
    return low, high


def is_column(value: Any) -> bool:
    """Whether a value names a column of one, and is not the numbers themselves."""
    return value is None or isinstance(value, str)


def opened(
    source: Any, prediction: Any, said: Mapping[str, Any], rare: Mapping[str, Any], metrics: Sequence[Any], wanted: Sequence[str] = ()
) -> Opened:
    """A source as items, with what is missing settled."""
    given = {role: rare.get(role, said.get(role)) for role in COLUMNS}
    weight = given["weight"] if rare.get("sample_weight") is None else rare["sample_weight"]
    arrays = {
        role: value for role, value in {**given, "weight": weight}.items() if not is_column(value) and role not in ("truth", "prediction")
    }
    if not is_column(prediction):
        found = of_arrays(source, prediction, **arrays)
    else:
        named = {role: value for role, value in given.items() if role not in arrays}
        named["prediction"], named["model"] = prediction, rare.get("model_column")
        if is_column(weight):
            named["weight"] = weight
        for metric in metrics:
            if isinstance(metric, str) and (columns := ratio_columns(metric)):
                named["above"], named["below"] = columns
        found = open_source(source, named, wanted=wanted)
        if arrays:
            found = replace(found, items=found.items.with_columns(**arrays))
    if "above" in found.items:
        named_ratio = next(ratio_columns(m) for m in metrics if isinstance(m, str) and ratio_columns(m))
        assert named_ratio is not None
        found = replace(
            found,
            items=found.items.with_columns(**{named_ratio[0]: found.items.numbers("above"), named_ratio[1]: found.items.numbers("below")}),
        )
    refuse_ids_twice(found, metrics)
    roles = [role for role in ("truth", "prediction", "score", "probability", "group") if role in found.items]
    items, notes = settle(found.items, roles, said.get("missing", "error"), worst_of(found, said.get("range")))
    return replace(found, items=items, notes=(*found.notes, *notes))


def refuse_ids_twice(found: Opened, metrics: Sequence[Any]) -> None:
    """The same id twice is a second run, or a second model, that nobody named."""
    items = found.items
    tries = any(isinstance(metric, str) and metric.startswith("pass") for metric in metrics)
    if "id" not in items or "repeat" in items or "model" in found.columns or items.count is not None or tries:
        return
    often = np.bincount(items.labels("id").codes[items.labels("id").codes >= 0])
    if len(often) and often.max() > 1:
        first = items.labels("id").names[int(np.argmax(often > 1))]
        where = f" in the {found.files} files" if found.files > 1 else ""
        hint = "two runs: name the column of runs with repeat=, of models with model_column=, or give each file by itself"
        raise SteelyardError(f"The id {first!r} occurs more than once{where}.", hint=hint)


def worst_of(found: Opened, range_: Any) -> float | None:
    """The score of an item that failed: the low end of the range, or 0 where all lie within 0 and 1."""
    if range_ is not None:
        ends = numbers_of(range_)
        return None if ends is None else ends[0]
    if "score" not in found.items:
        return None
    score = found.items.numbers("score")
    known = score[~np.isnan(score)]
    return 0.0 if not len(known) or (known.min() >= 0 and known.max() <= 1) else None


def how_of(said: Mapping[str, Any], rare: Mapping[str, Any]) -> How:
    """How it was asked, for the engines."""
    seed = said.get("seed", 0)
    if seed is None or seed == "none":
        seed = int(np.random.SeedSequence().entropy % 2**31)  # type: ignore[operator]
    labels = rare.get("labels")
    draws = rare.get("draws") or 10_000
    if not 40 <= int(draws) <= 10_000_000:
        raise SteelyardError(f"draws must lie between 40 and 10,000,000, not {draws:,}.")
    prior = rare.get("prior", 0.5)
    return How(
        interval=rare.get("interval") or "",
        test=rare.get("test") or "",
        range=numbers_of(said.get("range")),
        labels=names_of(labels) if labels is not None else None,
        positive=None if said.get("positive") is None else str(said["positive"]),
        absent=rare.get("absent"),
        draws=int(draws),
        seed=int(seed),
        prior=float(prior),
        claim=said.get("claim") or "",
    )


def check_level(level: float) -> float:
    """A confidence level between 0 and 1."""
    if not 0 < level < 1:
        raise SteelyardError(
            f"confidence_level must lie between 0 and 1, not {level:g}.", hint=f"write {level / 100:g}" if 1 < level < 100 else ""
        )
    return level


def interval_of(answer: Answer, level: float, side: str = "two") -> Interval | None:
    """The ends of an answer as a result."""
    if answer.certainty is None:
        return None
    try:
        low, high = answer.certainty.ends(level, side)
    except NoAnswer:
        return None
    ends = [None if abs(end) == np.inf else float(end) for end in (low, high)]
    return Interval(low=ends[0], high=ends[1], confidence_level=level, side=side, method=answer.certainty.named(side))


def shown(name: str) -> str:
    """A metric's name as people read it."""
    return SHOWN.get(name, name)


def signature(**facts: Any) -> str:
    """What was used, so that somebody else with the same data gets the same number."""
    parts = [f"{name.replace('_', '-')}:{value}" for name, value in facts.items() if value not in (None, "", [])]
    return "|".join([*parts, f"steelyard:{__version__}"])


def choice(said: Any, choices: Sequence[str], name: str) -> str:
    """One of some words."""
    if said not in choices:
        raise SteelyardError(f"{name} takes {', '.join(choices)}, not {said!r}.", hint=did_you_mean(str(said), choices))
    return str(said)
