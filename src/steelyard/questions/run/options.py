"""What is asked of a run, checked before anything else: when to stop, how sure to be, how much may fail, where the rows go."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.errors import UsageError
from steelyard.estimate.measure_options import one_of
from steelyard.evaluate.asking.summary import Price
from steelyard.infer.sequential.stopping import RULES
from steelyard.options import checked, checked_if_given, number, whole
from steelyard.outputs import refuse_overwriting
from steelyard.reference.run_notes import ENDING, JOURNAL, rows_paths

# The options of a run by what they are about: the command, the plugin and suites pass on what these lists name.

MISSING, UNMATCHED, SCALES = ("error", "wrong", "drop"), ("error", "drop"), ("percent", "fraction", "raw")
STRATA = ("auto", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of a run. One of `decided`, `width` and neither; `n` is the size of a subset."""

    decided: bool
    width: float | None
    n: int | None
    kind: str | None
    looks: int | None
    every: int
    discordance: float | None
    repeats: int
    missing: str
    unmatched: str
    max_error_rate: float
    concurrency: int | None
    price: tuple[Price | None, ...]  # of each model
    rule: Mapping[str, Any]
    prior_scale: float | None = None  # of the comparison of two models
    max_calls: int | None = None
    max_cost: float | None = None
    limited: bool = False  # in calls or cost
    strata: str | None = None  # auto, none, or nobody said


def wish_of(
    *,
    until: str | None,
    stopping: str | None,
    looks: Any,
    every: Any,
    discordance: Any,
    n: Any,
    repeats: Any,
    missing: str,
    unmatched: str,
    max_error_rate: Any,
    concurrency: Any,
    prices: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None,
    rule: Mapping[str, Any],
    models: int = 1,
    prior_scale: float | None = None,
    max_calls: Any = None,
    max_cost: Any = None,
    strata: str | None = None,
) -> RunOptions:
    """All options, or the first that makes no sense."""
    when = _when(until)
    if n is not None and "n" in when:
        raise UsageError("Give n= or until='n=...', not both.", got="n= and until='n=...'", need="one of them")
    if stopping is not None and "decided" not in when:
        raise UsageError(f"stopping={stopping!r} needs until='decided'.", got=f"stopping={stopping!r} alone", need="until='decided'")
    if stopping is not None and stopping not in RULES:
        raise UsageError(f"cannot stop by {stopping!r}", need=f"one of {', '.join(RULES)}")
    if looks is not None and "decided" not in when:
        raise UsageError(
            f"looks={looks!r} needs until='decided' and a rule that plans looks.",
            got=f"looks={looks!r} alone",
            need="until='decided', and a rule that plans looks",
        )
    if strata is not None and "decided" not in when:
        raise UsageError(f"strata={strata!r} needs until='decided'.", got=f"strata={strata!r} alone", need="until='decided'")
    if discordance is not None and stopping != "sprt":
        raise UsageError(
            "discordance= is only used with stopping='sprt'.",
            got="another rule than sprt",
            need="stopping='sprt'",
            hint="the other rules need no guess",
        )
    for name, value, words in (
        ("missing", missing, MISSING),
        ("unmatched", unmatched, UNMATCHED),
        ("scale", rule.get("scale"), SCALES),
        ("strata", strata, STRATA),
    ):
        one_of(name, value, words)
    size = when.get("n", n)
    price = tuple(None if each is None else Price.of(each) for each in spread("prices", prices, models))
    if max_cost is not None and None in price:
        raise UsageError(
            "max_cost= needs prices.",
            got="max_cost= without the price of every model",
            need="the price of a million tokens, for every model",
            hint="prices={'input': 0.15, 'output': 0.6}",
        )
    return RunOptions(
        decided="decided" in when,
        width=when.get("width"),
        n=None if size is None else whole("n", size),
        kind=stopping,
        looks=None if looks is None else whole("looks", looks),
        every=whole("every", every),
        discordance=None if discordance is None else number("the discordance", discordance, above=0, below=1),
        repeats=whole("repeats", repeats),
        missing=missing,
        unmatched=unmatched,
        max_error_rate=_share(max_error_rate),
        concurrency=None if concurrency is None else whole("concurrency", concurrency),
        price=price,
        max_calls=None if max_calls is None else whole("max_calls", max_calls),
        max_cost=None if max_cost is None else number("max_cost", max_cost, above=0),
        limited=max_calls is not None or max_cost is not None,
        prior_scale=None if prior_scale is None else _scale(prior_scale, models, "decided" in when),
        rule=_rule(rule),
        strata=strata,
    )


def _scale(scale: float, models: int, decided: bool) -> float:
    """P(candidate better) is found for two models that are asked all items."""
    if models != 2 or decided:
        got = "until='decided'" if decided else "one model"
        raise UsageError(
            "prior_scale= is only used when two models answer all items.",
            got=got,
            need="two models and all items",
            hint="it belongs to P(candidate better)",
        )
    return checked("prior_scale", scale)


def spread(option: str, given: Any, models: int) -> list[Any]:
    """A value per model: the one there is, or the members of a list of as many."""
    values = list(given) if isinstance(given, list | tuple) else [given]
    if len(values) not in (1, models):  # the values are not shown: a key may be among them
        raise UsageError(
            f"Got {len(values)} values of {option} for {models} model{'s' if models > 1 else ''}.",
            got=f"{len(values)} values of {option} for {models} model{'s' if models > 1 else ''}",
            need="one value for all models" + (f", or {models} in the order of the models" if models > 1 else ""),
            hint="give one value for all models" + (f", or {models} in the order of the models" if models > 1 else ""),
        )
    return values * models if len(values) == 1 else values


def _when(until: str | None) -> dict[str, Any]:
    """decided, width=X or n=N, apart."""
    if until is None:
        return {}
    word, equals, text = until.partition("=")
    try:
        if word == "decided" and not equals:
            return {"decided": True}
        if word == "width":
            return {"width": number("the width", float(text), above=0, hint="width=.02")}
        if word == "n":
            return {"n": whole("n", int(text))}
    except ValueError as fault:
        if isinstance(fault, UsageError):
            raise
    raise UsageError(f"cannot use until={until!r}", need="'decided', 'width=X' or 'n=N'", hint="until='width=.02'")


def _share(rate: Any) -> float:
    share = number("the error rate", rate, least=0, hint="write 0.05 for 5%; it lies between 0 and 1")
    if share > 1:
        raise UsageError("cannot use max_error_rate", got=f"{share:g}", need="a number between 0 and 1", hint="write 0.05 for 5%")
    return share


def _rule(rule: Mapping[str, Any]) -> dict[str, Any]:
    """theta, margin, alpha and beta are looked at even where nothing is on record to judge by."""
    for name in ("theta", "margin", "alpha", "beta"):
        checked_if_given(name, rule.get(name))
    return dict(rule)


# ---- where the rows go -----------------------------------------------------------------------------------------------------


def check_output(output: Path | None, models: int, sources: Sequence[Any], references: str | os.PathLike[str]) -> None:
    """A place that can be written, and that is none of what the run reads. Found out before the first question."""
    if output is None:
        return
    if str(output).endswith((ENDING, JOURNAL)):
        raise UsageError(
            f"The name {output.name!r} is one that the run needs for itself.",
            got=f"the name {output.name!r}, which a run needs for itself",
            need="another name",
            hint="write the rows to another name",
        )
    try:
        mode = os.stat(output).st_mode
        if not stat.S_ISREG(mode):
            kind = "a directory" if stat.S_ISDIR(mode) else "a pipe or a device"
            raise UsageError(f"cannot write the rows to {str(output)!r}", got=kind, need="a regular file")
    except FileNotFoundError:
        pass
    except OSError as fault:
        raise UsageError(f"cannot write the rows to {str(output)!r}", got=fault.strerror or str(fault), need="a file") from fault
    home = output.absolute().parent
    if not home.is_dir():
        raise UsageError(f"No directory {str(home)!r} to write the rows to.", got=f"no directory {str(home)!r}", need="one that exists")
    refuse_overwriting({"the rows": rows_paths(output, models)}, sources, [references])
