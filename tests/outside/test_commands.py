"""The commands, their options and arguments, and the options of the pytest plugin, from what click and pytest were told.

Commands, options and choices may be added; no flag vanishes or changes its type, its default or how often it may be given, and
nothing that is added must be given. They are in `commands.json`; `python tests/outside/write.py` writes it anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import click

from cases import every
from outside.snapshot import ADDED, MEANT, kept
from steelyard.cli.main import steelyard

Plain = dict[str, Any]
FACTS = ("type", "range", "default", "multiple", "nargs", "required", "switch")
PYTEST = "pytest"


def now() -> dict[str, Plain]:
    """Every command by its words, as `steelyard plan detect`."""
    found = {
        words: {
            "options": [option(each) for each in command.params if isinstance(each, click.Option)],
            "arguments": [argument(each) for each in command.params if isinstance(each, click.Argument)],
        }
        for words, command in commands(steelyard, "steelyard")
    }
    return {**found, PYTEST: {"options": pytest_options(), "arguments": []}}


def commands(command: click.Command, words: str) -> Iterator[tuple[str, click.Command]]:
    yield words, command
    if isinstance(command, click.Group):
        here = click.Context(command, info_name=words)
        for name in command.list_commands(here):
            below = command.get_command(here, name)
            assert below is not None, f"{words} lists {name} and does not have it"
            yield from commands(below, f"{words} {name}")


def option(each: click.Option) -> Plain:
    return {"flags": [*each.opts, *(f"off: {off}" for off in each.secondary_opts)], "switch": each.is_flag, **_facts(each)}


def argument(each: click.Argument) -> Plain:
    return {"switch": False, **_facts(each)}


def _facts(each: click.Parameter) -> Plain:
    kind = each.type
    return {
        "type": kind.name,
        "choices": [str(word) for word in kind.choices] if isinstance(kind, click.Choice) else None,
        "range": [kind.min, kind.max] if isinstance(kind, click.IntRange | click.FloatRange) else None,
        "default": _default(each),
        "multiple": each.multiple,
        "nargs": each.nargs,
        "required": each.required,
    }


def _default(each: click.Parameter) -> Any:
    """None where there is none, however this click says so."""
    value = None if type(each.default).__name__ == "Sentinel" else each.default
    if isinstance(each, click.Option) and each.is_flag and not each.secondary_opts:
        return bool(value)
    return None if value is None or value == () else str(value)


def pytest_options() -> list[Plain]:
    from steelyard.pytest_plugin import pytest_addoption

    found: list[Plain] = []

    class Group:
        def addoption(self, *flags: str, **facts: Any) -> None:
            switch = facts.get("action") == "store_true"
            default = facts.get("default", False if switch else None)
            choices = None if "choices" not in facts else list(facts["choices"])
            plain = {"type": "text", "range": None, "multiple": False, "nargs": 1, "required": False}
            found.append({"flags": list(flags), "switch": switch, "choices": choices, "default": default, **plain})

    class Parser:
        def getgroup(self, *words: str) -> Group:
            return Group()

    pytest_addoption(Parser())  # type: ignore[arg-type]
    return found


# ---- the rule ----------------------------------------------------------------------------------------------------------


def broken(old: dict[str, Plain], new: dict[str, Plain]) -> list[str]:
    """What a script of then would miss now."""
    found = [f"{words} is gone" for words in old if words not in new]
    for words in [words for words in old if words in new]:
        known, there = old[words], new[words]
        for each in known["options"]:
            found += _broken_option(words, each, there["options"])
        before = {flag for each in known["options"] for flag in each["flags"]}
        found += [
            f"{words} {each['flags'][0]} is new and must be given"
            for each in there["options"]
            if each["required"] and not before & {*each["flags"]}
        ]
        for i, each in enumerate(known["arguments"]):
            what = f"{words}, argument {i + 1}"
            found += _other(what, each, there["arguments"][i]) if i < len(there["arguments"]) else [f"{what} is gone"]
        added = there["arguments"][len(known["arguments"]) :]
        found += [f"{words}: an argument is new and must be given" for each in added if each["required"]]
    return found


def _broken_option(words: str, old: Plain, there: list[Plain]) -> list[str]:
    holders = [each for each in there if {*each["flags"]} & {*old["flags"]}]
    if not holders:
        return [f"{words} {old['flags'][0]} is gone"]
    lost = [flag for flag in old["flags"] if flag not in holders[0]["flags"]]
    return [f"{words} {flag} is gone, or another option" for flag in lost] + _other(f"{words} {old['flags'][0]}", old, holders[0])


def _other(what: str, old: Plain, new: Plain) -> list[str]:
    found = [f"{what}: {fact} was {old[fact]}, is {new[fact]}" for fact in FACTS if old[fact] != new[fact]]
    return found + [f"{what}: the choice {word} is gone" for word in old["choices"] or () if word not in (new["choices"] or ())]


def test_no_command_or_option_is_gone_or_other() -> None:
    assert broken(kept("commands"), now()) == [], MEANT


def test_what_was_added_is_kept_as_well() -> None:
    assert broken(now(), kept("commands")) == [], ADDED


def test_every_command_is_kept() -> None:
    """A snapshot that lost its lines would hold nothing."""
    old = kept("commands")
    assert len(old) >= 30
    assert sum(len(each["options"]) for each in old.values()) > 400


def _format(new: Plain) -> Plain:
    (found,) = [each for each in new["steelyard check"]["options"] if "--format" in each["flags"]]
    assert isinstance(found, dict)
    return found


def _new(required: bool) -> Plain:
    return {**_format(kept("commands")), "flags": ["--new"], "required": required}


@every(
    ("change", "told"),
    [
        (lambda new: new.pop("steelyard plan detect"), "steelyard plan detect is gone"),
        (lambda new: new["steelyard check"]["options"].remove(_format(new)), "steelyard check --format is gone"),
        (lambda new: _format(new)["choices"].remove("junit"), "steelyard check --format: the choice junit is gone"),
        (lambda new: _format(new).update(default="json"), "steelyard check --format: default was None, is json"),
        (lambda new: _format(new).update(type="text"), "steelyard check --format: type was choice, is text"),
        (lambda new: new["steelyard check"]["options"].append(_new(True)), "steelyard check --new is new and must be given"),
        (lambda new: new["steelyard measure"]["arguments"].clear(), "steelyard measure, argument 1 is gone"),
    ],
)
def test_a_change_would_be_noticed(change: Callable[[Plain], None], told: str) -> None:
    new = kept("commands")
    change(new)
    (found,) = broken(kept("commands"), new)
    assert found.startswith(told)


def test_more_may_be_added() -> None:
    new = kept("commands")
    new["steelyard weigh"] = {"options": [], "arguments": []}
    new["steelyard check"]["options"].append(_new(False))
    _format(new)["choices"].append("yaml")
    assert broken(kept("commands"), new) == []
