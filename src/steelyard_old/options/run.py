"""The options of `steelyard run`, declared once and checked before anything else: when to stop, how sure to be, how much may fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from steelyard_old.error_rates import BETA
from steelyard_old.errors import UsageError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.options import option
from steelyard_old.options.option import (
    CONFIG,
    DIRECTORY,
    FALSE_ALARMS,
    HISTORY,
    KEEP_ANSWERS,
    NIGHT,
    OUTPUTS,
    PRIOR_SCALE,
    SPEC,
    Option,
    check_choices,
    checked,
    checked_if_given,
    is_list,
    number,
    whole,
)

EVERY = Option(name="every", type=int, default=32, help="Items between two looks.")  # performance falls above a tenth of the fixed design
MAX_ERROR_RATE = Option(name="max_error_rate", type=float, default=0.02, help="Share of items that may fail before the run is aborted.")
REPEATS = Option(name="repeats", type=int, default=1, help="How many times to ask each item.")
MISSING = replace(option.MISSING, help="What to do with items that still fail after retries.")
UNMATCHED = replace(option.UNMATCHED, help="What to do with items that only the run or only the reference has.")
STOP = Option(
    name="stop",
    elsewhere="run_suite.stop",
    choices=("first", "all"),
    default="first",
    help="With --suite and --until decided: end at the first regression, or decide every task.",
)

OPTIONS = (
    Option(
        name="model",
        elsewhere="run.models",
        kind="input",
        metavar="MODEL",
        repeat=True,
        help="openai:NAME, python:pkg.mod:function, command:PROGRAM or file:PREDICTIONS. Several: the first is the baseline.",
    ),
    Option(
        name="data",
        kind="input",
        metavar="PATH",
        help="Data to use instead of the task's own; for a preset, its files.  [default: what the task says]",
    ),
    Option(
        name="base_url",
        metavar="URL",
        repeat=True,
        help="Address of an endpoint with OpenAI's API, e.g. http://127.0.0.1:8000/v1; once for all models, or once per model, in order.",
    ),
    Option(
        name="api",
        choices=("chat", "completions"),
        repeat=True,
        help="API call to use; once, or once per model.  [default: chat]",
    ),
    Option(
        name="key_env",
        metavar="NAME",
        repeat=True,
        help="Name of the environment variable that holds the key; once, or once per model.  [default: OPENAI_API_KEY]",
    ),
    Option(
        name="name", metavar="NAME", repeat=True, help="Name of the model in the references.  [default: the text after the first colon]"
    ),
    Option(
        name="against", metavar="NAME", help="Reference to compare with; 'none' only measures.  [default: the model's own, if there is one]"
    ),
    SPEC,
    DIRECTORY,
    Option(name="until", metavar="WHEN", help="When to stop: decided, width=X or n=N.  [default: after all items]"),
    Option(name="theta", type=float, help="Smallest drop that matters; --until decided stops once it is found or ruled out."),
    Option(name="margin", type=float, help="Drop to tolerate.  [default: the reference's, or 0]"),
    FALSE_ALARMS,
    Option(
        name="beta",
        type=float,
        help=f"Miss rate for a drop of theta; a pass rules it out at level 1 - beta.  [default: the reference's, or {BETA:g}]",
    ),
    Option(name="scale", choices=("percent", "fraction", "raw"), help="Scale of theta and margin."),
    Option(
        name="stopping",
        noun="stopping rule",
        registry="steelyard_old.infer.sequential.stopping:RULES",
        help="Stopping rule of --until decided.  [default: profile-mcnemar for right or wrong, empirical-likelihood for scores, "
        "lan-demets for groups]",
    ),
    Option(name="discordance", type=float, help="For --stopping sprt: share of items on which two healthy runs differ."),
    Option(name="looks", type=int, help="Number of planned looks, for mcnemar and lan-demets; the other rules plan none.  [default: 20]"),
    Option(
        name="strata",
        choices=("auto", "none"),
        help="auto asks items with unstable answers more often and weights them back; none asks all items equally often.  [default: auto "
        "where 4 or more answers per item are on record]",
    ),
    EVERY,
    Option(name="n", type=int, help="Number of items to ask, a subset in hash order.  [default: the task's, else all]"),
    Option(name="seed", type=int, help="Random seed for the order of the items.  [default: the task's, else 0]"),
    REPEATS,
    Option(name="concurrency", type=int, help="Maximum concurrent requests.  [default: depends on the model]"),
    Option(
        name="batch",
        type=int,
        takes="bare number",
        repeat=True,
        help="Items per call of a Python function or command; once, or once per model.",
    ),
    Option(
        name="timeout",
        type=float,
        takes="bare number",
        repeat=True,
        help="Total seconds allowed per answer (per attempt of an endpoint, per batch of a function); once, or once per model.",
    ),
    Option(
        name="max_calls", unset="no limit", type=int, help="Most calls to make; a run that reaches it ends undecided and can be continued."
    ),
    Option(
        name="max_cost",
        unset="no limit",
        type=float,
        help="Most money to spend at --price; requests under way are finished. A run that reaches it ends undecided and can be continued.",
        python="Most money to spend, by `prices`; requests under way are finished. A run that reaches it ends undecided, can be continued.",
    ),
    MAX_ERROR_RATE,
    MISSING,
    UNMATCHED,
    PRIOR_SCALE,
    Option(
        name="prices",
        kind="prices",
        flag="--price",
        metavar="input=X,output=Y",
        repeat=True,
        help="Price per million tokens, to compute the cost; once, or once per model.",
    ),
    Option(
        name="dry_run",
        elsewhere="dry_run",
        switch=True,
        help="Show the first prompt, the number of calls, tokens and cost; send nothing, write nothing.",
    ),
    Option(name="suite", elsewhere="run_suite.path", kind="file", help="Suite file: run and check everything in it; gives one verdict."),
    *NIGHT,
    STOP,
    Option(
        name="output",
        unset="they are written nowhere",
        short="-o",
        kind="output",
        help="Where to write the rows, one JSON object per line.",
    ),
    replace(OUTPUTS, name="answer_", flag="--answer", short=""),
    Option(
        name="fail_on",
        terminal="exit code",
        choices=("inconclusive", "regression"),
        default="inconclusive",
        help="With 'regression', an inconclusive verdict exits 0.",
    ),
    CONFIG,
    HISTORY,
    KEEP_ANSWERS,
    Option(
        name="key",
        takes="secret",
        repeat=True,
        python_alone="a command line is seen by others",
        help="The key itself; once, or once per model.",
    ),
    Option(name="seeds", switch=True, repeat=True, python_alone="a task says it", help="False sends no seed; once, or once per model."),
    Option(name="progress", takes="function", python_alone="the command prints it", help="Called as the work goes on.  [default: silence]"),
    Option(
        name="verdict", switch=True, python_alone="the command knows which formats need one", help="Refuse a run that would not be judged."
    ),
)


DRY_RUN = Option(
    name="task",
    takes="anything",
    required=True,
    python_alone="an argument of the command",
    help="A TOML or YAML file, preset:NAME, python:pkg.mod:Class, or a task in Python.",
)
# Of a suite that is run, in Python.
IN_SUITE = tuple(
    replace(option, elsewhere="") for option in OPTIONS if option.name in ("until", "stop", "max_calls", "max_cost", "progress")
)


HOW = (
    "until",
    "stopping",
    "looks",
    "every",
    "strata",
    "discordance",
    "n",
    "seed",
    "repeats",
    "missing",
    "unmatched",
    "max_error_rate",
    "max_calls",
    "max_cost",
    "concurrency",
)


RULE = ("theta", "margin", "alpha", "beta", "scale")


OF_MODELS = ("base_url", "api", "key", "key_env", "batch", "timeout", "seeds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What tokens cost, per million, in whatever money."""

    input: float
    output: float

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Price:
        """A price from a table {input = 0.15, output = 0.6}."""
        if set(table) != {"input", "output"} or not all(
            isinstance(each, int | float) and not isinstance(each, bool) and 0 <= each < 1e300 for each in table.values()
        ):
            need = "input and output, numbers of 0 or more, per million tokens"
            raise UsageError(
                f"A price must be {need}, not {repr(dict(table))[:120]}.",
                got=repr(dict(table))[:120],
                need=need,
                hint="{input = 0.15, output = 0.6}",
            )
        return cls(input=float(table["input"]), output=float(table["output"]))


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


def settle_run(
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
    if every != EVERY.default and not {"decided", "width"} & set(when):
        raise UsageError(
            f"every={every!r} needs until='decided' or until='width=...': a run that asks all items looks once.",
            got=f"every={every!r} alone",
            need="until='decided' or until='width=...'",
        )
    if "width" in when and (judging := [name for name, value in rule.items() if value is not None]):
        raise UsageError(
            f"{judging[0]}={rule[judging[0]]!r} is about a verdict, and a run until a width only measures.",
            got=f"{judging[0]}= and until='width=...'",
            need="one of them",
            hint=f"leave {judging[0]}= out, or use until='decided'",
        )
    priced = spread("prices", prices, models)
    check_choices(OPTIONS, stopping=stopping, missing=missing, unmatched=unmatched, scale=rule.get("scale"), strata=strata)
    size = when.get("n", n)
    price = tuple(None if each is None else Price.of(each) for each in priced)
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
        discordance=None if discordance is None else number("discordance", discordance, above=0, below=1),
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


def refuse_answers_without_rows(output: object) -> None:
    """The history takes answers from the rows of a run, which are written to a file."""
    if output is None:
        raise UsageError(
            "keep_answers=True needs output=: the history takes the answers from the rows of the run.",
            got="no output=",
            need="a file for the rows",
            hint="output='out.jsonl'",
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
    values = list(given) if is_list(given) else [given]
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
    raise UsageError(
        f"until= must be 'decided', 'width=X' or 'n=N', not {until!r}.", need="'decided', 'width=X' or 'n=N'", hint="until='width=.02'"
    )


def _share(rate: Any) -> float:
    share = number("max_error_rate", rate, least=0, hint="write 0.05 for 5%; it lies between 0 and 1")
    if share > 1:
        raise UsageError("cannot use max_error_rate", got=f"{share:g}", need="a number between 0 and 1", hint="write 0.05 for 5%")
    return share


def _rule(rule: Mapping[str, Any]) -> dict[str, Any]:
    """theta, margin, alpha and beta are looked at even where nothing is on record to judge by."""
    for name in ("theta", "margin", "alpha", "beta"):
        checked_if_given(name, rule.get(name))
    return dict(rule)
