"""Read a verb: its signature, hints and docstring say everything that the command and the documentation need."""

from __future__ import annotations

import inspect
import re
import textwrap
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from steelyard.base.problem import SteelyardError
from steelyard.base.words import did_you_mean
from steelyard.options import GROUPS, Show

WIDTH, HELP = 100, 34
INPUT = ("source", "sources", "baseline", "candidate", "prediction", "score", "task", "filter", "group", "missing", "range")


class Parameter(NamedTuple):
    """One parameter of a verb, and how the command shows it."""

    name: str
    help: str
    kind: type = str
    metavar: str = ""
    choices: tuple[str, ...] = ()
    default: Any = None
    heading: str = "Question"
    common: bool = True
    position: str = ""  # one or many: an argument of the command
    many: bool = False  # may be repeated, or joined by commas
    above: float | None = None
    below: float | None = None
    short: str = ""

    @property
    def flag(self) -> str:
        """Its name on the command line."""
        return "--" + self.name.rstrip("_").replace("_", "-")


class Verb(NamedTuple):
    """What a function declares."""

    function: Callable[..., Any]
    title: str
    text: str
    examples: list[str]
    parameters: list[Parameter]


def sections(doc: str) -> tuple[str, dict[str, str]]:
    """The text before the first heading, and what is under each heading."""
    parts = re.split(r"^(Args|Examples|Returns):\n", inspect.cleandoc(doc) + "\n", flags=re.MULTILINE)
    return parts[0].strip(), {name: inspect.cleandoc(body) for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def sentences(args: str) -> dict[str, str]:
    """Parameter to sentence."""
    found = re.split(r"^(\w+): ", args, flags=re.MULTILINE)
    return {name: " ".join(said.split()) for name, said in zip(found[1::2], found[2::2], strict=True)}


def shape(hint: Any) -> dict[str, Any]:
    """What a hint means on a command line."""
    said: dict[str, Any] = {}
    if get_origin(hint) is Annotated:
        hint, *notes = get_args(hint)
        for note in notes:
            if isinstance(note, Show):
                said = {"metavar": note.metavar, "above": note.above, "below": note.below}
            elif note is Sequence:
                said["many"] = True
    for one in get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,):
        if get_origin(one) is Annotated:
            said |= shape(one)
        elif get_origin(one) is Literal:
            said["choices"] = tuple(map(str, get_args(one)))
        elif get_origin(one) is Sequence:
            said["many"] = True
        elif one in (int, float, bool):
            said["kind"] = one
    return said


def grouped(kind: Any) -> Iterator[tuple[str, str, Any, str]]:
    """Name, heading, hint and sentence of every key of a TypedDict; each group in it is a heading."""
    for group in GROUPS:
        if group.__annotations__.keys() <= kind.__annotations__.keys():
            title, parts = sections(group.__doc__ or "")
            hints, said = get_type_hints(group, include_extras=True), sentences(parts["Args"])
            yield from ((name, title, hints[name], said[name]) for name in hints)


def declared(function: Callable[..., Any]) -> Verb:
    """The declaration of a verb."""
    text, parts = sections(function.__doc__ or "")
    title, _, text = text.partition("\n")
    hints, said = get_type_hints(function, include_extras=True), sentences(parts.get("Args", ""))
    found = []
    for name, p in inspect.signature(function).parameters.items():
        hint = hints[name]
        if p.kind is p.VAR_KEYWORD:
            found += [Parameter(key, one, heading=head, common=False, **shape(h)) for key, head, h, one in grouped(get_args(hint)[0])]
            continue
        form, needed = shape(hint), p.default is p.empty
        if needed or form.get("metavar") == "SOURCE":
            form["position"] = "many" if form.pop("many", False) or p.kind is p.VAR_POSITIONAL else "one"
        heading = "Input" if name in INPUT else "Question"
        found.append(Parameter(name, said[name], default=None if needed else p.default, heading=heading, **form))
    return Verb(function, title, text.strip(), re.findall(r"^\$ (.*)$", parts.get("Examples", ""), re.MULTILINE), found)


def known(kind: Any, rare: Mapping[str, Any], verb: Callable[..., Any]) -> None:
    """Refuse a keyword that the rare parameters of a verb do not have."""
    names = [*kind.__annotations__, "sample_weight"]
    for name in rare:
        if name not in names:
            every = [*inspect.signature(verb).parameters, *names]
            raise SteelyardError(f"{verb.__name__} has no parameter {name!r}.", hint=did_you_mean(name, every))


OUTPUT = (
    Parameter(
        "format",
        "text, json, markdown or html (default text).",
        metavar="FORM",
        choices=("text", "json", "markdown", "html"),
        heading="Output",
    ),
    Parameter(
        "output",
        "Also write a file; its ending says what: .json .md .html .txt the answer, .csv .jsonl .parquet rows.",
        metavar="FILE",
        heading="Output",
        many=True,
        short="-o",
    ),
    Parameter("details", "Everything: method, design, all classes, all changed items.", kind=bool, default=False, heading="Output"),
    Parameter("quiet", "Print only errors to stderr.", kind=bool, default=False, heading="Output", short="-q"),
)


def options(verb: Verb) -> list[Parameter]:
    """What the command takes: the verb's own, and those of every answer."""
    return [*verb.parameters, *OUTPUT]


# ---- help -------------------------------------------------------------------------------------------------------------------------


def left(p: Parameter) -> str:
    """The flag with its placeholder."""
    choices = "|".join(p.choices) if 0 < len("|".join(p.choices)) < 20 else p.metavar
    value = "" if p.kind is bool else " " + (choices or {int: "N", float: "X"}.get(p.kind, "TEXT"))
    return f"{p.short}, {p.flag}{value}" if p.short else p.flag + value


def right(p: Parameter) -> str:
    """Its sentence; what is for Python alone is left out."""
    said = p.help.replace("`", "").partition("; in Python")[0].rstrip(".") + "."
    plain = p.default not in (None, False, True, "", ()) and "default" not in p.help
    return said + (f" [default: {p.default}]" if plain else "")


def row(head: str, said: str) -> str:
    """One line of help, or more."""
    lines = textwrap.wrap(said, WIDTH - HELP) or [""]
    first = f"  {head:<{HELP - 4}}  " if len(head) <= HELP - 4 else f"  {head}\n{'':{HELP}}"
    return first + f"\n{'':{HELP}}".join(lines)


def verb_help(name: str, verb: Verb, everything: bool) -> str:
    """The help of a verb: the common options, or all of them."""
    arguments = [p for p in verb.parameters if p.position]
    flags = [p for p in options(verb) if not p.position]
    names = " ".join(p.name.upper() + (" ..." if p.position == "many" else "") for p in arguments)
    out = [f"Usage: steelyard {name} {names} [OPTIONS]", "", textwrap.fill(verb.title, WIDTH)]
    if verb.text and everything:
        out += ["", *(textwrap.fill(each, WIDTH) for each in verb.text.split("\n\n"))]
    out += ["", *(f"  {each}" for each in verb.examples[: None if everything else 3]), ""]
    out += [row(p.name.upper(), right(p)) for p in arguments]
    shown = [p for p in flags if everything or p.common]
    order = {"Input": 0, "Question": 1, "Output": 9}
    for heading in sorted(dict.fromkeys(p.heading for p in shown), key=lambda h: order.get(h, 5)):
        out += ["", heading, *(row(left(p), right(p)) for p in shown if p.heading == heading)]
    rest = [p for p in flags if not p.common]
    if rest and not everything:
        kinds = ", ".join(dict.fromkeys(p.heading.lower() for p in rest))
        out += ["", f"{len(rest)} more ({kinds}): steelyard {name} --help-all"]
    return "\n".join(out) + "\n"
