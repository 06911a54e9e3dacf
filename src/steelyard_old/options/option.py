"""Options, declared once: from here follow the command's flags, the keywords of Python, and what is said of an unknown one."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, wraps
from types import CodeType
from typing import Any, TypeVar

from steelyard_old.did_you_mean import FEW, NEAR, did_you_mean, either, refused_choice
from steelyard_old.error_rates import ALPHA, BETA, POWER
from steelyard_old.errors import UsageError, in_short, with_article
from steelyard_old.items import ROLES
from steelyard_old.late_dataclass import dataclass
from steelyard_old.late_pattern import late_pattern

REQUIRED = object()  # of a parameter without a default
_FLAG = late_pattern(r"(?<![\w-])--([a-z][a-z-]*)")
_REPEATABLE_SENTENCE = late_pattern(r"\s*\b(Repeatable|Repeat or join by commas|Repeat)\.")


def _shown(default: Any) -> str:
    return "none" if default is None else default if isinstance(default, str) and default else repr(default)


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option: its keyword in Python, its flags on the command line, and one sentence.

    repeat: it may be given several times; any other option given twice is refused. also: flags of the same option where
    they are free (`--task` of a log, where no reference has a task). kind: input, output, output_directory, file, path or
    directory, for what names one of those; list, pairs, pairs_or_none, shares, seed, fraction, drop, numbers or prices, for a text that
    is taken apart. least, most: the smallest and largest whole number. variable: the one of the environment that is read where nothing
    is typed. turns_off: the parameter of Python that this switch makes False. noun: what its names are names of. registry:
    "module:NAME" of the catalogue whose names may be given; it is read when somebody asks which they are, so that what is added
    there is in the help, and nothing is loaded for it. python: its sentence in Python,
    where that is another. unset: what it means there to leave it out, where help has no word of the default. flag: how it is typed,
    where that is not its name with dashes. terminal: why Python has no such parameter: output, printing, exit code, browser or
    server. elsewhere: where Python has it, if not as a keyword of the verb: a function of the package with its parameter
    (check_suite.series), or what makes the data (Counts.of). afterwards: Python does it before it returns, the command when its answer
    is printed. python_alone: why only Python has it. takes: the kind of value that Python takes, a name of `TAKEN`, where it does not
    follow from the rest: an array beside the name of a column, an open history beside the address of one.
    """

    name: str
    help: str
    metavar: str | None = None
    type: type[int] | type[float] | None = None
    choices: tuple[str, ...] = ()
    noun: str = ""
    registry: str = ""
    default: Any = None
    pair: bool = False
    switch: bool = False
    turns_off: str = ""
    repeat: bool = False
    required: bool = False
    terminal: str = ""
    elsewhere: str = ""
    afterwards: bool = False
    python_alone: str = ""
    kind: str = ""
    least: int | None = None
    most: int | None = None
    variable: str = ""
    short: str = ""
    python: str = ""
    unset: str = ""
    flag: str = ""
    also: tuple[str, ...] = ()
    takes: str = ""

    @property
    def parameter(self) -> str:
        """The keyword of Python that it sets."""
        return self.turns_off or self.name

    @property
    def names(self) -> tuple[str, ...]:
        """What may be given, where that is a choice."""
        return names_in(self.registry) if self.registry else self.choices

    def _catalogue(self) -> Mapping[str, Iterable[str]]:
        """What may be given, by what it is for; most have one list for everything."""
        return _read(self.registry) if self.registry else {"": self.choices}

    def _catalogue_sentence(self) -> str:
        lists = {use: ", ".join(names) for use, names in self._catalogue().items()}
        told = f"one of {lists['']}." if "" in lists else f"{'; '.join(f'{use}: {names}' for use, names in lists.items())}."
        return f"{told[:1].upper()}{told[1:]}"

    @property
    def taken(self) -> str:
        """The kind of value that Python takes, a name of `TAKEN`."""
        if self.takes:
            return self.takes
        if self.switch:
            return "switch"
        if self.choices or self.registry:
            return "choice"
        return "pair" if self.pair else "number" if self.type is not None else OF_KIND.get(self.kind, "text")

    def help_with_names(self) -> str:
        """Its help, with the names of its catalogue before what is said of the default."""
        said, mark, default = self.help.partition("  [default: ")
        return f"{said} {self._catalogue_sentence()}{mark}{default}" if self.registry else self.help

    def sentence(self, default: Any) -> str:
        """What a docstring says of it: its help in the words of Python, what may be given, and what its default means.

        >>> Option(name="unmatched", choices=("error", "drop"), help="What to do with ids that only one run has.").sentence("error")
        'What to do with ids that only one run has. One of error, drop. Default: error.'
        """
        said, _, words = (self.python or self.help).partition("  [default: ")
        said = _REPEATABLE_SENTENCE.sub("", _FLAG.sub(lambda found: found[1].replace("-", "_"), said))
        return " ".join(
            [
                f"False: {said[0].lower()}{said[1:]}" if self.turns_off else said,
                *([self._catalogue_sentence()] if self.choices or self.registry else []),
                *([] if default is REQUIRED else [f"Default: {words.removesuffix(']') or self.unset or _shown(default)}."]),
            ]
        )


def _read(registry: str) -> Mapping[str, Iterable[str]]:
    """The names of a catalogue, "module:NAME", by what they are for."""
    from importlib import import_module

    module, _, name = registry.partition(":")
    found = getattr(import_module(module), name)
    listed = found() if callable(found) else found
    return listed if callable(found) and isinstance(listed, Mapping) else {"": listed}


def names_in(registry: str) -> tuple[str, ...]:
    """The names of a catalogue, each once."""
    return tuple(dict.fromkeys(name for names in _read(registry).values() for name in names))


OF_ONE = "steelyard_old.estimate.named_intervals:intervals"
OF_DIFFERENCES = "steelyard_old.estimate.named_intervals:intervals_of_differences"
TESTS = "steelyard_old.estimate.difference_tests:TESTS"
# What a name of each catalogue is, which verb takes it and as what: for one who gives it to another.
BELONGS = {
    OF_DIFFERENCES: ("an interval for differences", "compare", "interval"),
    OF_ONE: ("an interval for one system", "measure", "interval"),
    TESTS: ("a test of a difference", "compare", "test"),
}

# Which column plays which part.
COLUMNS = tuple(Option(name=name, help=role.says, metavar="COLUMN", flag=role.flag, takes="column") for name, role in ROLES.items())
RUN_COLUMNS = tuple(column for column in COLUMNS if ROLES[column.name].of_run)
RATIO = Option(
    name="ratio",
    metavar="ABOVE/BELOW",
    takes="ratio",
    help="Measure sum(ABOVE)/sum(BELOW) of two columns, e.g. errors/words.",
)

# Which part of an evaluation tool's log is meant, where it holds several.
LOG_CHOICES = (
    Option(name="log_task", metavar="NAME", help="Task to read, if the log has several.", also=("--task",)),
    Option(name="filter", metavar="NAME", help="Filter to read, if the log has several, such as strict-match."),
    Option(name="scorer", metavar="NAME", help="Scorer to read, if the log has several."),
    Option(name="prompt", metavar="NAME", help="Prompt to read, if the log has several."),
    Option(name="log_model", metavar="NAME", help="Model to read, if the log has several.", also=("--model",)),
    Option(name="latest", switch=True, help="Read the newest run, if the directory holds several."),
)
COMPARED_CHOICES = tuple(replace(each, repeat=each.name in ("log_model", "prompt")) for each in LOG_CHOICES)
LOG_PARTS = tuple(replace(each, also=()) for each in LOG_CHOICES)  # where --task and --model name a reference
FORMER = {"task": "log_task", "model_name": "log_model"}  # keywords of `measure` and `compare` before a reference had a task, too

ENGINE = (
    Option(
        name="engine",
        choices=("auto", "duckdb", "spark"),
        help="Engine that reads and counts the files: DuckDB on this machine, or a Spark cluster that can reach them."
        "  [default: auto, where the data is]",
    ),
    Option(name="master", metavar="URL", help="With --engine spark: a classic master, e.g. spark://host:7077."),
    Option(name="remote", metavar="URL", help="With --engine spark: a Spark Connect server, e.g. sc://host."),
)
MEMORY = Option(
    name="memory",
    metavar="SIZE",
    takes="size",
    help="Memory limit for reading and joining large files, e.g. 2GB; beyond it, data spills to disk (in TMPDIR)."
    "  [default: 800MB, or half of a smaller machine]",
)

# How sure, and what to do about what is missing.
SEED = Option(
    name="seed",
    kind="seed",
    default=0,
    metavar="INT",
    help="Random seed; 'none' picks one and prints it.",
    python="Random seed; None picks one and says which.",
)
DRAWS = Option(name="draws", type=int, default=10_000, help="Number of bootstrap resamples.")
NIGHT = (
    Option(
        name="series",
        elsewhere="check_suite.series",
        metavar="NAME",
        help="With --suite: the series of nights this run belongs to; 'none': do not count this run as a night."
        "  [default: budget.series in the suite]",
    ),
    Option(
        name="night",
        elsewhere="check_suite.night",
        metavar="ID",
        help="With --suite: id of this night; the same id again is a retry.  [default: the CI run, else the files]",
    ),
)
DIRECTION = Option(
    name="higher_is_better",
    flag="--higher-is-better/--lower-is-better",
    switch=True,
    help="Direction of the scores: lower is better for errors and costs.  [default: the log's or the metric's]",
)
MISSING = Option(name="missing", choices=("error", "wrong", "drop"), default="error", help="What to do with items without an answer.")
CONFIDENCE_LEVEL = Option(name="confidence_level", type=float, default=0.95, help="Confidence level of the interval.")
SIDE = Option(name="side", choices=("two", "lower", "upper"), default="two", help="Two-sided interval, or only a lower or upper bound.")
PRIOR = Option(
    name="prior", type=float, default=0.5, help="Pseudo-counts of the prior of a Bayesian interval: 0.5 is Jeffreys, 1 is uniform."
)
ABSENT = Option(
    name="absent",
    choices=("skip", "zero"),
    help="Class without cases in a macro average: skip it, or count it as 0.  [default: the average is undefined]",
)
POSITIVE = Option(name="positive", metavar="LABEL", takes="anything", help="Positive class of f1, precision, recall and auc.")
POSITIVE_OF_LABELS = Option(name="positive", metavar="LABEL", takes="anything", help="Positive class of f1, precision and recall.")
LABELS = Option(
    name="labels",
    unset="those that occur",
    kind="list",
    takes="list",
    metavar="A,B,C",
    help="The classes, in order; any other prediction counts as wrong.",
)
INTERVALS = (
    Option(
        name="range",
        pair=True,
        type=float,
        metavar="LO HI",
        help="Smallest and largest possible score.  [default: 0 1 if all scores lie there]",
    ),
    DIRECTION,
    CONFIDENCE_LEVEL,
    SIDE,
    DRAWS,
    SEED,
    PRIOR,
    ABSENT,
    MISSING,
)
UNMATCHED = Option(name="unmatched", choices=("error", "drop"), default="error", help="What to do with ids that only one run has.")
ALTERNATIVE = Option(
    name="alternative",
    choices=("two-sided", "less", "greater"),
    default="two-sided",
    help="Alternative hypothesis: the candidate's value differs from, is below or is above the baseline's.",
)

# Where references and settings are.
TASK_ON_RECORD = Option(name="task", metavar="NAME", help="Task; its references are in DIRECTORY/NAME.yaml.")
MODEL_ON_RECORD = Option(name="model", metavar="NAME", help="Name of the model in the references.")
SPEC = Option(
    name="spec",
    kind="pairs",
    metavar="KEY=VALUE",
    repeat=True,
    help="Configuration this reference is for, e.g. quant_algo=FP8. Repeatable.",
)
DIRECTORY = Option(name="directory", kind="directory", help="Directory of the references.  [default: references]")
CONFIG = Option(name="config", kind="file", help="Path of steelyard.toml.  [default: the nearest one, going up from here]")

FALSE_ALARM_RATE = "False-alarm rate: share of healthy runs called worse."
FALSE_ALARMS = Option(name="alpha", type=float, help=f"{FALSE_ALARM_RATE}  [default: the reference's, or {ALPHA:g}]")
MISS_RATE = "Miss rate: share of real drops of theta that pass."

# How an answer is shown.
DETAILS = Option(name="details", terminal="printing", switch=True, help="Also print standard errors.")
OPEN = Option(name="open_", terminal="browser", flag="--open", switch=True, help="Open the page in a browser.")
DEBUG = Option(name="debug", terminal="printing", switch=True, help="Show the traceback of an error.")
OUTPUTS = Option(
    name="output",
    short="-o",
    terminal="output",
    kind="output",
    repeat=True,
    help="Write the answer to this file instead of stdout; its extension sets the format. Repeat for several formats.",
)
QUIET = Option(name="quiet", terminal="printing", switch=True, help="Print only errors to stderr.")
NO_COLOR = Option(name="no_color", terminal="printing", switch=True, help="No colour (same as setting NO_COLOR).")
FORMAT = Option(
    name="format_", flag="--format", terminal="printing", help="Format of the answer.  [default: text, or from the extension of -o]"
)

# What is believed of a difference.
PRIOR_SCALE = Option(
    name="prior_scale",
    type=float,
    metavar="SD",
    help="Prior for P(candidate better): standard deviation of the true differences you expect, in units of the metric."
    "  [default: none, a wide prior]",
)

# Where the answer of a check, a record or a run is kept.
HISTORY = Option(
    name="history",
    kind="input",
    metavar="URL",
    takes="text",
    afterwards=True,
    help="Database to keep the run in: sqlite:///runs.db or postgresql://host/db; 'none' keeps nothing.  [default: from steelyard_old.toml]",
    python="Database to keep the run in: sqlite:///runs.db or postgresql://host/db; what could not be kept is a warning of the answer."
    "  [default: none, nothing is kept]",
)

KEEP_ANSWERS = Option(
    name="keep_answers",
    switch=True,
    afterwards=True,
    help="With a history, also keep excerpts of each item's prompt and answer; steelyard history --drop-answers removes them.",
    python="With a history, also keep excerpts of each item's prompt and answer; `drop_answers` removes them.",
)

ARGUMENT = "an argument of the command"
HISTORY_OPTIONS = (HISTORY, KEEP_ANSWERS)

SOURCE_OPTIONS = (*COLUMNS, RATIO, *LOG_CHOICES, *ENGINE)
SOURCE_DECLARED = {option.name: option for option in SOURCE_OPTIONS}
SOURCE_KEYWORDS = tuple(SOURCE_DECLARED)
RUN_KEYWORDS = tuple(option.name for option in (*RUN_COLUMNS, RATIO, *LOG_CHOICES))  # of a run that is recorded or checked


def typed_text(word: str, name: str) -> str:
    """A word of the command line as text. In a locale without UTF-8 (LC_ALL=C) Python hands out its bytes in disguise.

    >>> typed_text("gr\\udcc3\\udcb6\\udcc3\\udc9fer", "--reason")
    'größer'
    """
    if word.isascii() or not any("\udc80" <= char <= "\udcff" for char in word):
        return word
    try:
        return word.encode("utf-8", "surrogateescape").decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(
            f"{name} is not UTF-8 text.",
            got="bytes that are no text in UTF-8",
            need="UTF-8",
            hint="set LC_ALL=C.UTF-8, or write it in ASCII",
        ) from None


# ---- one mechanism for what nobody declared ----------------------------------------------------------------------------


def refuse_unknown(given: Collection[str], known: Iterable[str], call: str) -> None:
    """Every keyword must be one that the call knows: an option that is passed over is a wrong answer.

    >>> refuse_unknown({"tetha": 0.01}, ["alpha", "theta"], "check")
    Traceback (most recent call last):
    steelyard_old.errors.UsageError: Unknown argument 'tetha' of check. Did you mean theta?
    """
    known = list(known)
    for word in given:
        if word not in known:
            hint = did_you_mean(word, known, NEAR, str) or f"{call} takes {', '.join(sorted(known))}"
            raise UsageError(f"unknown argument {word!r} of {call}", hint=hint)


@dataclass(frozen=True, slots=True)
class _Keywords:
    """What a function may be given by name, what it takes by position only, and the options of its question that are not its keywords."""

    known: frozenset[str]
    by_position: tuple[str, ...]
    others: Mapping[str, Option]

    def refuse_others(self, given: Collection[str], call: str) -> None:
        """Whatever is not known is refused. Where it is known what was meant, that is said."""
        for word in given:
            if word in self.known:
                continue
            if word in self.by_position:
                raise UsageError(f"{call} takes {word} by position.", got=f"{word}=", need="no name", hint=f"leave {word}= out")
            if word in self.others and (hint := _where_else(self.others[word], call, self.by_position)):
                raise UsageError(f"unknown argument {word!r} of {call}", hint=hint)
            refuse_unknown([word], self.known, call)


def _where_else(option: Option, call: str, by_position: Collection[str]) -> str:
    """Where Python has what only the command has as an option of this question."""
    if option.terminal:
        return "only the command has it"
    name, _, part = option.elsewhere.partition(".")
    if not name:
        return ""
    if name == call:
        return f"give it by position, as one of {part}" if part in by_position else f"use {part}=" if part else ""
    return f"use sy.{name}.{part}(...)" if name[:1].isupper() else f"use sy.{name}({f'{part}=' if part else ''}...)"


def declared_of(verb: Callable[..., Any]) -> Mapping[str, Option]:
    """What a function of the package declares of its parameters."""
    return _declared[verb]


@cache
def keywords_of(verb: Callable[..., Any]) -> tuple[str, ...]:
    """The keywords that a function declares; looked up once, because every call asks."""
    import inspect

    return tuple(name for name, one in inspect.signature(verb).parameters.items() if one.kind is inspect.Parameter.KEYWORD_ONLY)


def keyword_defaults(verb: Callable[..., Any]) -> dict[str, Any]:
    """What each keyword of a function is where it is not given."""
    return {name: default for name, default in _defaults(verb) if name in keywords_of(verb)}


Verb = TypeVar("Verb", bound=Callable[..., Any])
_RAISES = "Raises: a SteelyardError (UsageError, SourceError, DataError or AmbiguityError) that says what is wrong and how to fix it."


_declared: dict[Any, Mapping[str, Option]] = {}  # of every function, by parameter
_keywords: dict[Any, _Keywords] = {}
_undocumented: dict[Any, tuple[Mapping[str, Option], str, dict[str, str]]] = {}  # functions whose docstring is still to be completed


def documented(options: Iterable[Option], returns: str, hands_on: Iterable[Option] = (), /, **others: str) -> Callable[[Verb], Verb]:
    """A function of the package: each value it is given is of the kind that its option declares, a keyword that it does not know is
    refused, and its docstring has every parameter. hands_on: options of another function, which it takes as `**options` for that one.

    Declared parameters are told by their sentence, others as they are given here, before the example. The docstring is written
    when the package first hands the function out (`complete_docstring`): a command needs none. Names are read from the function when
    it is first called.

    >>> @documented([Option(name="theta", type=float, help="The drop that matters.")], "a Verdict", source="The run.")
    ... def check(source, *, theta=None):
    ...     '''Has it become worse?'''
    >>> complete_docstring(check)
    >>> print(check.__doc__.partition("Returns")[0].strip())
    Has it become worse?
    <BLANKLINE>
    Parameters:
        source: The run.
        theta: The drop that matters. Default: none.
    >>> check("run.jsonl", theta=[0.01])
    Traceback (most recent call last):
    steelyard_old.errors.UsageError: theta must be a number above 0, not [0.01]. Hint: the drop that matters, such as 0.02
    >>> check("run.jsonl", tetha=0.01)
    Traceback (most recent call last):
    steelyard_old.errors.UsageError: Unknown argument 'tetha' of check. Did you mean theta?
    """

    def later(verb: Verb) -> Verb:
        declared = {each.parameter: each for each in options if not (each.terminal or each.elsewhere)}
        code = verb.__code__
        names = code.co_varnames[: code.co_argcount]
        reads = bool(code.co_flags & 8) and "columns" in code.co_varnames  # 8: it takes any keyword, and says how a source is read by them

        @wraps(verb)
        def called(*given: Any, **named: Any) -> Any:
            if not named.keys() <= _keywords[called].known:
                _keywords[called].refuse_others(named, verb.__name__)
            if reads:
                by_name = {name: named.pop(name) for name in names[code.co_posonlyargcount :] if name in named}
                named = by_name | source_keywords(called, named)
            check_kinds(called, named)
            check_kinds(called, dict(zip(names, given, strict=False)))
            return verb(*given, **plain_switches(_declared[called], named))

        _declared[called] = {**SOURCE_DECLARED, **declared} if reads else declared
        _keywords[called] = _keywords_of(code, declared, options, hands_on, reads=reads)
        _undocumented[called] = declared, returns, others
        return called  # type: ignore[return-value]

    return later


def _keywords_of(
    code: CodeType, declared: Mapping[str, Option], options: Iterable[Option], hands_on: Iterable[Option], *, reads: bool
) -> _Keywords:
    """What a function takes, by its code: `inspect` would cost every command its time."""
    by_name = code.co_varnames[code.co_posonlyargcount : code.co_argcount + code.co_kwonlyargcount]
    handed = {one.parameter for one in hands_on if not (one.terminal or one.elsewhere)}
    more = {*(handed or declared), *(SOURCE_DECLARED if reads else ())} if code.co_flags & 8 else set()
    more |= {name for name, now in FORMER.items() if now in more}
    many = code.co_argcount + code.co_kwonlyargcount
    by_position = (*code.co_varnames[: code.co_posonlyargcount], *(code.co_varnames[many : many + 1] if code.co_flags & 4 else ()))
    known = frozenset({*by_name, *more})
    return _Keywords(known, by_position, {one.name: one for one in options if one.name not in known})


def complete_docstring(verb: Callable[..., Any]) -> None:
    """Write what `documented` says of a function into its docstring, once."""
    import inspect
    import textwrap

    if verb not in _undocumented:
        return
    declared, returns, others = _undocumented.pop(verb)
    if "columns" not in declared:
        others.setdefault(
            "columns", f"How a source is read: {', '.join(SOURCE_KEYWORDS)}; columns by name for tables, as arrays for arrays."
        )
    told = {
        name: others[name] if name in others else declared[name].sentence(default)
        for name, default in _defaults(verb)
        if name in {*others, *declared}
    }
    lines = [textwrap.fill(f"{name}: {said}", 120, initial_indent=" " * 4, subsequent_indent=" " * 8) for name, said in told.items()]
    head, example, shown = inspect.cleandoc(verb.__doc__ or "").partition("\n\n>>> ")
    parameters = "\n".join(lines)
    verb.__doc__ = f"{head}\n\nParameters:\n{parameters}\n\nReturns: {returns}.\n\n{_RAISES}{example}{shown}\n"


def _defaults(verb: Callable[..., Any]) -> Iterable[tuple[str, Any]]:
    """The parameters of a function, each with its default or REQUIRED."""
    import inspect

    for name, one in inspect.signature(verb).parameters.items():
        yield name, REQUIRED if one.default is inspect.Parameter.empty else one.default


def source_keywords(verb: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of a call, those that say how a source is read under the names they have today; any that nobody knows is refused."""
    own = keywords_of(verb)
    former = {name: now for name, now in FORMER.items() if name not in own}
    _keywords[verb].refuse_others(given, verb.__name__)
    found: dict[str, Any] = {}
    for name, value in given.items():
        now = former.get(name, name)
        if found.get(now) is not None and value is not None:
            raise UsageError(f"{name} is the former name of {now}; give one of them.", need="one of them")
        if value is not None or now not in found:
            found[now] = value
    return found


@dataclass(frozen=True, slots=True)
class Limit:
    """From low to high; what is 0, negative or no number at all is refused where it is read, in words of its own."""

    low: float
    high: float
    hint: str = ""


LIMITS: dict[str, Limit] = {
    "draws": Limit(1, 10_000_000, "10000 is the default; more than a million change no digit that is shown"),
    "prior": Limit(1e-6, 1e6, "0.5 is Jeffreys, 1 is uniform"),
    "prior_scale": Limit(1e-9, 1e9, "the standard deviation of true differences, such as 0.005"),
    "alpha": Limit(1e-9, 1, f"{ALPHA:g} is usual"),
    "beta": Limit(1e-9, 1, f"{BETA:g} is usual, which is a power of {POWER:g}"),
    "power": Limit(1e-9, 1 - 1e-9, f"{POWER:g} is usual"),
    "confidence_level": Limit(1e-9, 1 - 1e-9, "0.95 is usual"),
    "theta": Limit(1e-9, 1e12, "the drop that matters, such as 0.02"),
    "margin": Limit(1e-12, 1e12, "the difference that is tolerated, such as 0.01"),
    "recovery": Limit(1e-3, 1 - 1e-9, "recovery=0.99 asks for 99% of the reference"),
    "repeats": Limit(1, 100_000),
    "workers": Limit(1, 1024, "-1 is all cores"),
    "concurrency": Limit(1, 10_000),
    "k": Limit(1e-6, 10, "0.5 is usual"),
    "h": Limit(1e-6, 10_000, "5 is usual"),
}


def within(name: str, value: object, shown_as: str = "") -> None:
    """Refuse a number beyond the ends of its kind.

    >>> within("draws", 10_000)
    """
    limit = LIMITS.get(name)
    if limit is None or isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        return  # also NaN
    if value >= 1 >= limit.high:
        return  # no probability: what is said there knows that 95 was meant as 0.95
    if value < limit.low or value > limit.high:
        shown = f"{value:g}" if isinstance(value, float) or value < 10**15 else f"a number of {int(math.log10(value)) + 1} digits"
        ends = f"at least {_plain(limit.low)}" if value < limit.low else f"at most {_plain(limit.high)}"
        raise UsageError(f"cannot use {shown_as or name}", got=shown, need=ends, hint=limit.hint)


def _plain(end: float) -> str:
    return f"{int(end):,}" if float(end).is_integer() and end >= 1 else f"{end:.12g}"


MOST = 1e18  # items; more than there will ever be

USUAL = {name: f"{name} {LIMITS[name].hint}" for name in ("alpha", "beta")}


def is_truth_value(value: Any) -> bool:
    """True and False, NumPy's too: no numbers, though Python counts with them."""
    return isinstance(value, bool) or type(value).__name__ in ("bool", "bool_") or getattr(getattr(value, "dtype", None), "kind", "") == "b"


def number(name: str, value: Any, *, above: float = -math.inf, least: float = -math.inf, below: float = math.inf, hint: str = "") -> float:
    """A finite number above one end (or at least that), below another."""
    try:
        x = math.nan if is_truth_value(value) else float(value)
    except (TypeError, ValueError, OverflowError):
        x = math.nan
    if not (math.isfinite(x) and above < x < below and x >= least):
        ends = [f"above {above:g}"] * (above > -math.inf) + [f"of at least {least:g}"] * (least > -math.inf)
        ends += [f"below {below:g}"] * (below < math.inf)
        raise UsageError(f"cannot use {name}", got=in_short(value), need=f"a number {' and '.join(ends)}".rstrip(), hint=hint)
    within(name, x)
    return x


def probability(name: str, value: Any) -> float:
    """A probability strictly between 0 and 1; 95 is told to be .95."""
    try:
        percent = 2 <= float(value) < 100
    except (TypeError, ValueError, OverflowError):
        percent = False
    usual = LIMITS[name].hint if name in LIMITS else ""
    return number(name, value, above=0, below=1, hint=f"write {float(value) / 100:g}" if percent else usual)


def checked(name: str, value: Any) -> float:
    """The number that a parameter of this name is given, or an error that says what it may be. Every verb asks here.

    >>> checked("theta", "0.02"), checked("alpha", 0.05), checked("margin", 0)
    (0.02, 0.05, 0.0)
    """
    return CHECKS[name](name, value)


def share_of_reference(name: str, value: Any) -> float | None:
    """The share that a drop is given as, 0.05 for "5%" of the reference; None for a number, which is a drop in the scale of the scores.

    >>> share_of_reference("margin", "5%"), share_of_reference("margin", 0.02)
    (0.05, None)
    """
    if not (isinstance(value, str) and value.rstrip().endswith("%")):
        return None
    return number(name, value.rstrip()[:-1], least=0, below=100, hint=f"{name}='5%' is 5% of the reference") / 100


def is_share_of_reference(value: str) -> bool:
    """Whether a text says a share of the reference, such as 5%."""
    try:
        return share_of_reference("the share", value) is not None
    except UsageError:
        return False


def checked_if_given(name: str, value: Any) -> float | None:
    """The same of a parameter that may be left out."""
    return None if value is None else checked(name, value)


def _positive(name: str, value: Any) -> float:
    return number(name, value, above=0, hint=LIMITS[name].hint)


def _not_negative(name: str, value: Any) -> float:
    return number(name, value, least=0, hint=LIMITS[name].hint)


def _error_rate(name: str, value: Any) -> float:
    """A probability of at most one half."""
    rate = number(name, value, above=0, below=1, hint=_rate_hint(name, value))
    if rate > 0.5:
        raise UsageError(f"cannot use {name}", got=f"{rate:g}", need="at most 0.5", hint=_too_high(name, rate))
    return rate


# What is done with the number of each name, whichever verb it is given to.
CHECKS: Mapping[str, Callable[[str, Any], float]] = {
    "alpha": _error_rate,
    "beta": _error_rate,
    "theta": _positive,
    "margin": _not_negative,
    "confidence_level": probability,
    "prior_scale": _positive,
    "k": _positive,
    "h": _positive,
}


def coin_flips(**rates: float) -> list[str]:
    """What is to be said of error rates of one half exactly: the test is a coin."""
    what = {"alpha": "healthy runs are called worse", "beta": "real drops are missed"}
    return [f"{name} is 0.5: half of all {what[name]}" for name, rate in rates.items() if rate == 0.5]


def _rate_hint(name: str, value: Any) -> str:
    """95 given as alpha is a level, 80 given as beta a power: what was meant is the rest to 1."""
    try:
        percent = float(value)
    except (TypeError, ValueError, OverflowError):
        return ""
    if not 1 < percent < 100:
        return USUAL[name]
    share = percent / 100 if percent <= 50 else 1 - percent / 100
    return f"{name} is the share of {'false alarms' if name == 'alpha' else 'misses'}: write {share:g}"


def _too_high(name: str, rate: float) -> str:
    return USUAL[name] if name == "alpha" else f"power {rate:g} is beta {1 - rate:g}; {USUAL[name]}"


def whole(name: str, value: Any, least: int = 1) -> int:
    """A whole number of at least `least`."""
    x = number(name, value, least=least, below=MOST)
    if x != int(x):
        raise UsageError(f"cannot use {name}", got=in_short(value), need="a whole number")
    return value if type(value) is int else int(x)


def seed_of(seed: Any) -> int:
    """The seed as given; None draws one, which the signature then prints."""
    if seed is None:
        import secrets

        return secrets.randbelow(2**32)
    if isinstance(seed, bool) or not is_whole(seed) or seed.__index__() < 0:
        raise UsageError("cannot use seed", got=in_short(seed), need="a whole number of 0 or more, or None to draw one")
    return int(seed.__index__())


FAR = 1e75  # between the ends of a range: the powers of what is farther apart, or nearer than its inverse, are no float64


def ends_of_range(ends: Sequence[float] | None) -> tuple[float, float] | None:
    """The smallest and the largest possible score, as a range is given."""
    if ends is None:
        return None
    try:
        low, high = (float(end) for end in ends)
    except (TypeError, ValueError, OverflowError):
        low = high = math.nan
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise UsageError("cannot use range", got=in_short(ends), need="two finite numbers, the lower first", hint="range=(0, 1)")
    if not 1 / FAR <= high - low <= FAR:
        raise UsageError("cannot use range", got=in_short(ends), need=f"ends between {1 / FAR:g} and {FAR:g} apart", hint="range=(0, 1)")
    return low, high


def slice_names(by: Any) -> tuple[str, ...] | Mapping[str, Any]:
    """The columns to slice by: names, or for arrays a mapping of names to arrays."""
    if by is None or isinstance(by, str):
        return () if by is None else (by,)
    if isinstance(by, Mapping) or (isinstance(by, (list, tuple)) and all(isinstance(name, str) for name in by)):
        return by if isinstance(by, Mapping) else tuple(by)
    raise UsageError("cannot use by=", got=type(by).__name__, need="column names, or by={name: array} for arrays")


def ratio_columns(ratio: Any) -> tuple[str, str]:
    """The two columns of a ratio, above and below the line: a text with a slash, or a pair.

    >>> ratio_columns("errors/words"), ratio_columns(["accepted", "drafted"])
    (('errors', 'words'), ('accepted', 'drafted'))
    """
    parts = ratio.split("/") if isinstance(ratio, str) else list(ratio) if isinstance(ratio, list | tuple) else []
    if len(parts) != 2 or not all(isinstance(part, str) and part.strip() for part in parts):
        raise UsageError(
            f"The ratio must name two columns, above and below the line, not {ratio!r}.",
            got=repr(ratio),
            need="two column names, above and below the line",
            hint="ratio='errors/words'",
        )
    return parts[0].strip(), parts[1].strip()


def unknown_word(name: str, value: Any, words: Sequence[str], noun: str = "") -> UsageError:
    """What is said of a value that is none of the words to choose from. noun: what those are names of.

    >>> print(unknown_word("scale", "percents", ("percent", "fraction", "raw")))
    scale must be percent, fraction or raw, not 'percents'.
    """
    if isinstance(value, str):
        what, hint = refused_choice(name, value, words, noun)
    else:
        allowed = either(words) if len(words) <= FEW else f"the name of {with_article(noun or name)}"
        what, hint = f"{name} must be {allowed}, not {in_short(value)}.", ""
    return UsageError(what, got=in_short(value), need=f"one of {', '.join(words)}", hint=hint)


def not_offered(kind: str, asked: str, subject: str, offered: Sequence[str], hint: str = "") -> UsageError:
    """What is said of a method that there is, but not for what is asked about.

    >>> print(not_offered("interval", "t", "auc", ["delong", "bca"]))
    The interval 't' does not work for auc; use delong or bca.
    """
    what = f"The {kind} {asked!r} does not work for {subject}; use {either(offered)}."
    return UsageError(what, got=repr(asked), need=f"one of {', '.join(offered)}", hint=hint)


def refuse_choice(option: Option, value: Any, name: str = "") -> None:
    """A word must be one of those that an option declares. What another catalogue knows is told to belong there.

    name: how it is typed, where that is not the keyword of Python.
    """
    words = option.names
    if isinstance(value, str) and value in words:
        return
    if isinstance(value, str) and option.registry:
        for registry, (what, verb, parameter) in BELONGS.items():
            if value in names_in(registry):
                used = f"use it with {verb}" if parameter == option.name else f"{verb} takes it as its {parameter}"
                raise UsageError(f"{value} is {what}; {used}.", got=repr(value), need=f"one of {', '.join(words)}")
    raise unknown_word(name or option.name, value, words, option.noun or option.name.replace("_", " "))


def check_choices(options: Iterable[Option], **given: Any) -> None:
    """Values that must be among the declared ones of their option; what is left out is looked up nowhere.

    >>> check_choices([Option(name="side", choices=("two", "lower", "upper"), default="two", help="")], side="both")
    Traceback (most recent call last):
    steelyard_old.errors.UsageError: side must be two, lower or upper, not 'both'.
    """
    for option in options:
        if option.name in given and (given[option.name] is not None or option.default is not None):
            refuse_choice(option, given[option.name])


def exactly_one(given: dict[str, Any], what: str, hint: str = "") -> str:
    """The one name that was given, or an error that lists what there is."""
    there = [name for name, value in given.items() if value is not None]
    if len(there) != 1:
        got = " and ".join(f"{name}=" for name in there) or "none of them"
        need = f"exactly one of {', '.join(f'{name}=' for name in given)}"
        raise UsageError(f"Say {what} with {need}; got {got}.", got=got, need=need, hint=hint)
    return there[0]


# ---- one check for every kind of value ---------------------------------------------------------------------------------


def plain_switches(declared: Mapping[str, Option], named: dict[str, Any]) -> dict[str, Any]:
    """The same keywords with True or False of Python for every switch: NumPy's cannot be written as JSON."""
    return {
        name: bool(value) if value is not None and name in declared and declared[name].taken == "switch" else value
        for name, value in named.items()
    }


def check_kinds(verb: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Each value that a function is given is of the kind that its option declares."""
    declared = declared_of(verb)
    for name, value in given.items():
        if name in declared:
            check_kind(declared[name], name, value)


def refuse_nowhere_to_keep(history: str | None) -> None:
    """Answers are kept in a history; without one there is nowhere to keep them.

    >>> refuse_nowhere_to_keep("sqlite:///runs.db")
    """
    if (history or "none").strip().lower() == "none":
        raise UsageError(
            "keep_answers=True needs a history to keep them in.", got="no history", need="a history", hint="history='sqlite:///runs.db'"
        )


UNWRITTEN = 10**1000  # Python writes no number of thousands of digits, neither into an error nor into a signature


def check_kind(option: Option, name: str, value: Any) -> None:
    """Refuse a value that is not of the kind its option declares, before anything is read. What number it may be is asked where it is used.

    >>> check_kind(Option(name="update", switch=True, help=""), "update", "false")
    Traceback (most recent call last):
    steelyard_old.errors.UsageError: update must be True or False, not 'false'.
    >>> check_kind(Option(name="labels", kind="list", takes="list", help=""), "labels", "spam,ham")
    Traceback (most recent call last):
    steelyard_old.errors.UsageError: labels must be a list, not 'spam,ham'. Hint: labels=['spam', 'ham']
    """
    kind = option.taken
    if value is None and not option.required and not (option.default is not None and kind in ("path", "text")):
        return
    if option.repeat and kind in ONE_OR_MORE and is_list(value):
        for one in () if iter(value) is value else value:  # what can be gone through only once is looked at where it is used
            check_kind(replace(option, repeat=False), name, one)
    elif isinstance(value, int) and abs(value) >= UNWRITTEN:
        raise UsageError(f"cannot use {name}", got=in_short(value), need="a value of fewer digits")
    elif kind == "choice":
        refuse_choice(option, value, name)
    elif not TAKEN[kind][0](value):
        if kind == "number" and name in CHECKS:
            checked(name, value)  # which knows its range
        raise UsageError(
            f"cannot use {name}",
            got=with_article(type(value).__name__) if kind == "secret" else in_short(value),
            need=f"{TAKEN[kind][1]}, or a list of them" if option.repeat and kind in ONE_OR_MORE else TAKEN[kind][1],
            hint=_hint(kind, name, value),
        )


def _is_switch(value: Any) -> bool:
    """True and False, NumPy's, and 0 and 1; "false" out of a file or a variable of the environment would count as True."""
    return (is_truth_value(value) and getattr(value, "ndim", 0) == 0) or (isinstance(value, int) and value in (0, 1))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_path(value: Any) -> bool:
    return isinstance(value, str | os.PathLike)


def _is_number(value: Any) -> bool:
    """Whatever Python makes a float of: "0.05" as well, and NumPy's scalars."""
    try:
        return isinstance(value, int | float) or float(value) is not None
    except (TypeError, ValueError, OverflowError, RuntimeError):  # a tensor of several numbers is a RuntimeError
        return False


def is_whole(value: Any) -> bool:
    """Whole numbers, NumPy's too; its arrays have an __index__ that fails."""
    try:
        return value.__index__() is not None
    except (TypeError, AttributeError):
        return False


def is_list(value: Any) -> bool:
    """Anything that can be gone through; a text would be taken apart letter by letter, a mapping lose its values."""
    many = hasattr(value, "__iter__") or hasattr(value, "__array__") or hasattr(value, "__len__")
    return many and not isinstance(value, str | bytes | Mapping | type) and getattr(value, "ndim", 1) != 0


def _are_mappings(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(one is None or isinstance(one, Mapping) for one in value)


# The kinds of values that Python takes: how each is told, and what it is called.
TAKEN: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "switch": (_is_switch, "True or False"),
    "text": (_is_text, "a text"),
    "metric": (_is_text, "the name of one metric"),
    "path": (_is_path, "a path"),
    "number": (_is_number, "a number"),
    "bare number": (lambda value: not _is_text(value) and _is_number(value), "a number"),
    "secret": (_is_text, "a text"),  # never shown
    "auto": (lambda value: _is_switch(value) or (_is_text(value) and value == "auto"), "auto, True or False"),
    "whole number": (is_whole, "a whole number"),
    "seed": (is_whole, "a whole number of 0 or more, or None to draw one"),
    "drop": (lambda value: _is_text(value) or _is_number(value), "a number, or a share such as '5%'"),
    "pair": (is_list, "two numbers"),
    "fraction": (is_list, "(k, n), k of n relevant items, 0 <= k <= n"),
    "list": (is_list, "a list"),
    "names of systems": (lambda value: isinstance(value, Sequence) and not isinstance(value, str | bytes), "a list"),
    "ratio": (lambda value: isinstance(value, str | list | tuple), "two column names, above and below the line"),
    "scores": (
        lambda value: isinstance(value, Mapping) or _is_path(value) or is_list(value),
        "a list, scores by name, or the path of a table",
    ),
    "names": (lambda value: _is_text(value) or is_list(value), "a name or a list of names"),
    "slices": (lambda value: isinstance(value, str | Mapping) or is_list(value), "column names, or {name: array} for arrays"),
    "column": (lambda value: _is_text(value) or is_list(value), "the name of a column, or an array"),
    "mapping": (lambda value: isinstance(value, Mapping), "a mapping of keys to values"),
    "mapping or path": (lambda value: isinstance(value, Mapping) or _is_path(value), "a mapping of keys to values, or the path of a file"),
    "mappings": (lambda value: isinstance(value, Mapping) or _are_mappings(value), "a mapping of keys to values, or a list of those"),
    "list of mappings": (lambda value: _are_mappings(value), "a list of mappings"),
    "column or number": (lambda value: _is_text(value) or _is_number(value), "the name of a column, or one number for all"),
    "size": (lambda value: _is_text(value) or _is_number(value), "a size such as 2GB"),
    "date": (lambda value: hasattr(value, "isoformat"), "a date"),
    "time": (lambda value: _is_text(value) or hasattr(value, "timestamp"), "a date or a time"),
    "history": (lambda value: _is_text(value) or hasattr(value, "runs"), "the address of a database, or what `open_history` gave"),
    "function": (callable, "a function"),
    "anything": (lambda _: True, ""),  # a source, a label: who reads it says what it cannot be
}
ONE_OR_MORE = ("text", "number", "bare number", "choice", "switch", "secret")  # kinds of which an option that may be repeated takes several
OF_KIND: Mapping[str, str] = {
    **dict.fromkeys(("file", "path", "directory", "output", "output_directory"), "path"),
    **dict.fromkeys(("pairs", "pairs_or_none", "shares"), "mapping"),
    **{kind: kind for kind in ("fraction", "seed", "drop")},
    "input": "anything",
    "list": "names",
    "numbers": "pair",
    "prices": "mappings",
}


EXAMPLES: Mapping[str, Any] = {
    "range": (0, 1),
    "have": (45, 50),
    "design_prior": (45, 5),
    "spec": {"quant_algo": "FP8"},
    "protocol": {"num_fewshot": "5"},
    "parts": {"calibration": 0.1},
    "otherwise": {"alpha": ALPHA},
    "about": {"model": "lab/small"},
}


def _hint(kind: str, name: str, value: Any) -> str:
    """What to write instead, where that is plain to see."""
    if kind == "names of systems" and not isinstance(value, str):
        return f"{name}=['a', 'b']"
    if isinstance(value, str) and kind in ("list", "names of systems"):
        return f"{name}={[part.strip() for part in value.split(',')]!r}"
    if kind == "ratio":
        return f"{name}='errors/words'"
    if kind in ("mapping", "pair", "fraction"):
        return f"{name}={EXAMPLES[name]!r}" if name in EXAMPLES else ""
    if kind == "text" and isinstance(value, list | tuple) and len(value) == 1 and isinstance(value[0], str):
        return f"{name}={value[0]!r}"
    return f"{name}={str(value)!r}" if kind == "text" and type(value) is int else ""
