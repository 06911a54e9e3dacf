"""The command: verbs, flags, help and exit codes from the declarations, on click.

0 answered · 1 found (what was asked to fail on) · 3 error · 70 internal error · 130 interrupted. A verb that has not moved in yet, and
a source that only the house of 0.1 can read (the log of a tool, an address), are answered there, with the words untouched.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

import click

from steelyard.base.files import refuse_over, write_whole
from steelyard.base.problem import SteelyardError
from steelyard.base.words import did_you_mean
from steelyard.declared import Parameter, Verb, declared, options, verb_help
from steelyard.settings import settled
from steelyard.version import __version__

MOVED = {
    "measure": "how good is it, and how sure are we?",
    "compare": "is one better than the other?",
    "rank": "order three systems or more",
}
OLD = {
    "learners": "is one learning algorithm better?",
    "plan": "how much data do we need?",
    "record": "put a run on record",
    "check": "has it become worse than the run on record?",
    "references": "what is on record: list, lint, import",
    "run": "ask a model, and stop when the question is decided",
    "history": "the runs so far, and drift",
    "report": "results as one HTML page",
    "audit": "what can published scores show?",
    "split": "train, dev and test; what parts share",
    "bisect": "which commit made it worse?",
    "init": "a first configuration",
    "demo": "a tour on real data",
    "doctor": "what is installed",
}
FORMS = {".json": "json", ".md": "markdown", ".html": "html", ".txt": "text"}
TABLES = (".csv", ".jsonl", ".parquet")


class Once(click.Option):
    """An option that refuses to be given twice; several values are repeated or joined by commas."""

    def __init__(self, p: Parameter) -> None:
        self.p = p
        names = [p.name, p.flag, *([p.short] if p.short else [])]
        if p.kind is bool:
            super().__init__(names, is_flag=True, flag_value=True, default=None)
        else:
            super().__init__(names, multiple=True)

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """The value as the verb takes it."""
        given = super().process_value(ctx, value)
        p = self.p
        if p.kind is bool or not given:
            return given or None
        if p.many:
            found = [name for each in given for name in ([each] if p.name == "output" else each.split(","))]
            return found if len(found) > 1 or p.name == "output" else found[0]
        if len(given) > 1:
            raise SteelyardError(f"{p.flag} was given {len(given)} times; it takes one value.")
        return converted(p, given[0])


def converted(p: Parameter, given: str) -> Any:
    """A word of the command as the value of a parameter."""
    if p.choices and given not in p.choices:
        raise SteelyardError(
            f"{p.flag} takes {', '.join(p.choices[:-1])} or {p.choices[-1]}, not {given!r}.", hint=did_you_mean(given, p.choices)
        )
    if p.kind not in (int, float):
        return given
    if given == "none" and "none" in p.metavar:
        return None
    try:
        value = p.kind(given)
    except ValueError:
        raise SteelyardError(f"{p.flag} takes a {'whole number' if p.kind is int else 'number'}, not {given!r}.") from None
    if (p.above is not None and not value > p.above) or (p.below is not None and not value < p.below):
        limits = [f"{word} {end:g}" for word, end in (("above", p.above), ("below", p.below)) if end is not None]
        hint = f"write {value / 100:g}" if p.below == 1 and 1 < value <= 100 else ""
        raise SteelyardError(f"{p.flag} must be {' and '.join(limits)}, not {given}.", hint=hint)
    return value


def command_of(name: str, verb: Verb) -> click.Command:
    """A verb as a command of click."""
    every = options(verb)

    def run(**values: Any) -> int:
        return answer(name, verb, {key: value for key, value in values.items() if value is not None})

    params: list[click.Parameter] = [
        click.Argument([p.name], nargs=-1 if p.position == "many" else 1, required=p is every[0]) if p.position else Once(p) for p in every
    ]
    return click.Command(name, callback=run, params=params, add_help_option=False)


def answer(name: str, verb: Verb, values: dict[str, Any]) -> int:
    """Ask, show, write; the exit code."""
    from steelyard import show

    form, outputs = values.pop("format", None) or "text", values.pop("output", [])
    details, quiet = values.pop("details", False), values.pop("quiet", False)
    inputs = [values[p.name] for p in verb.parameters if p.position and p.name in values]
    sources = [
        each if os.path.lexists(each) else each.partition("=")[2] for one in inputs for each in (one if isinstance(one, tuple) else (one,))
    ]
    for output in outputs:
        if os.path.splitext(output)[1] not in (*FORMS, *TABLES):
            raise SteelyardError(f"The ending of {output!r} says nothing.", hint=f"{', '.join((*FORMS, *TABLES))}")
    refuse_over(outputs, sources)
    values = settled(values, name, [p.name for p in verb.parameters if not p.position])
    positions = [values.pop(p.name) for p in verb.parameters if p.position == "one" and p.name in values]
    many = [each for p in verb.parameters if p.position == "many" for each in values.pop(p.name, ())]
    result = verb.function(*positions, *many, **values)
    wide = min(100, max(40, click_width()))
    written = show.write(result, form, details=details, wide=wide, colour=form == "text" and colours())
    for output in outputs:
        ending = os.path.splitext(output)[1]
        write_whole(
            output, rows_file(result.table(), ending) if ending in TABLES else show.write(result, FORMS[ending], details=True).encode()
        )
    try:
        sys.stdout.write(written)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if not quiet and form != "text":
        for warning in result.warnings:
            click.echo(f"warning: {warning}", err=True)
    return int(getattr(result, "exit_code", 0))


def rows_file(rows: list[dict[str, Any]], ending: str) -> bytes:
    """The rows of an answer as CSV, JSON Lines or Parquet."""
    import csv
    import io
    import json
    import tempfile

    from steelyard.read.files import connection

    if ending == ".parquet":
        table = connection().sql(f"SELECT unnest(?, max_depth := 2) LIMIT {len(rows)}", params=[rows or [{"id": ""}]])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rows.parquet")
            table.write_parquet(path)
            with open(path, "rb") as file:
                return file.read()
    if ending == ".jsonl":
        return "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows).encode()
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]) if rows else ["id"], lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: harmless(value) for key, value in row.items()} for row in rows)
    return out.getvalue().encode()


def harmless(value: Any) -> Any:
    """A text that a spreadsheet would take for a formula gets an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def click_width() -> int:
    """The width of the terminal; 100 where there is none."""
    import shutil

    return shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 100


def colours() -> bool:
    """Whether the terminal may have them."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def top_help() -> str:
    """All verbs."""
    rows = [f"  {name:<12}{said}" for name, said in {**MOVED, **OLD}.items()]
    head = ["Usage: steelyard VERB [OPTIONS]", "", "Weighs models: how good is it, is it better, how much data, has it become worse?", ""]
    return "\n".join([*head, *rows, "", "steelyard VERB --help shows the common options of a verb and three examples.", ""])


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit. Never a traceback for a user's mistake."""
    sys.exit(run(list(sys.argv[1:] if argv is None else argv)))


def run(words: list[str]) -> int:
    """Run the command; its exit code."""
    if not words or words[0] in ("--help", "-h"):
        click.echo(top_help(), nl=False)
        return 0 if words else 3
    if words == ["--version"]:
        click.echo(f"steelyard {__version__}")
        return 0
    name = words[0]
    if name not in MOVED or only_the_old_house_reads(words[1:]):
        if name not in (*MOVED, *OLD, "completion", "certify", "comment", "serve"):
            return failed(SteelyardError(f"There is no verb {name!r}.", hint=did_you_mean(name, [*MOVED, *OLD])))
        from steelyard_old.cli.main import main as old

        old(words)
    try:
        verb = declared(getattr(import_module(f"steelyard.verbs.{name}"), name))
        if {"--help", "-h", "--help-all"} & set(words[1:]):
            click.echo(verb_help(name, verb, "--help-all" in words), nl=False)
            return 0
        return int(command_of(name, verb).main(words[1:], f"steelyard {name}", standalone_mode=False) or 0)
    except click.NoSuchOption as error:
        flags = [p.flag for p in options(verb)]
        return failed(
            SteelyardError(
                f"There is no option {error.option_name}.", hint=did_you_mean(error.option_name, flags) if error.option_name else ""
            )
        )
    except click.ClickException as error:
        return failed(
            SteelyardError(error.format_message().replace("Missing argument", "Missing").rstrip(".") + ".", hint=f"steelyard {name} --help")
        )
    except (SteelyardError, OSError) as error:
        return failed(error)
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return 130
    except Exception as fault:
        if os.environ.get("STEELYARD_DEBUG"):
            raise
        click.echo(f"internal error: {type(fault).__name__}: {fault}. This is a bug in steelyard, not in your data.", err=True)
        return 70


def failed(error: Exception) -> int:
    """Say what went wrong: one sentence and a hint."""
    click.echo("error: " + " ".join(str(error).split()), err=True)
    return 3


def only_the_old_house_reads(words: Sequence[str]) -> bool:
    """Whether a source is an address or the log of a tool."""
    from steelyard.read.old import read_by_old

    return any(read_by_old(word) for word in words if not word.startswith("-"))
