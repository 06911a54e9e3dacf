"""Options are declared once: a flag, a keyword, a line of a docstring and a hint follow; the command and Python know the same ones."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any

import click
import pytest
from click.testing import CliRunner

import steelyard as sy
from cases import every
from steelyard.cli.command import Given, in_flags, verb_command
from steelyard.cli.main import steelyard
from steelyard.options.option import (
    CHECKS,
    SOURCE_KEYWORDS,
    Option,
    check_kind,
    complete_docstring,
    declared_of,
    documented,
    refuse_unknown,
)
from steelyard.options.run import OF_MODELS
from steelyard.pytest_session import Accuracy

VERBS = {
    **{name: name for name in ("measure", "compare", "rank", "check", "record", "run", "certify", "report")},
    **{name: name for name in ("plan_detect", "plan_estimate", "plan_designs", "plan_train", "plan_split")},
    "learners": "compare_learners",
}


def test_an_option_that_is_added_is_a_flag_a_keyword_and_a_line_of_the_docstring() -> None:
    added = Option(name="half_life", type=float, metavar="DAYS", help="Days after which a run counts half.  [default: all count alike]")

    @documented([added], "a number")
    def weigh(*, half_life: float | None = None) -> float:
        """How heavy is it?"""
        return half_life or 0.0

    @verb_command((added,), short_help="how heavy is it?")
    def ask(given: Given) -> None:
        click.echo(weigh(**given.keywords()))

    assert CliRunner().invoke(ask, ["--half-life", "3"]).output == "3.0\n"
    assert "Days after which a run counts half." in CliRunner().invoke(ask, ["--help"]).output
    complete_docstring(weigh)
    assert "half_life: Days after which a run counts half. Default: all count alike." in str(weigh.__doc__)
    assert in_flags("give half_life=3", ask) == "give --half-life 3"
    with pytest.raises(sy.UsageError, match="Did you mean half_life"):
        refuse_unknown(["halflife"], [added.name], "weigh")


def in_signature(option: Option) -> bool:
    """Whether it is a keyword of the function of its verb."""
    return not (option.terminal or option.elsewhere)


@every(("declared", "verb"), VERBS.items())
def test_the_command_and_python_know_the_same_options(declared: str, verb: str) -> None:
    options = import_module(f"steelyard.options.{declared}").OPTIONS
    parameters = inspect.signature(getattr(sy, verb)).parameters
    names = {option.parameter for option in options if in_signature(option)}
    through = {*SOURCE_KEYWORDS, *OF_MODELS, "positive"} if any(each.kind is each.VAR_KEYWORD for each in parameters.values()) else set()
    assert sorted(names - {*parameters} - through) == [], "options without a parameter"
    keywords = {name for name, each in parameters.items() if each.kind is each.KEYWORD_ONLY}
    assert sorted(keywords - names) == [], "parameters without an option"


# What a default of Python is where the option has none, each with its reason.
OWN = {
    ("certify", "jobs"): "the command takes one process per core, Python one",
    ("compare_learners", "stratify"): "of the flag, on, off or neither",
    ("learning_curve", "stratify"): "of the flag, on, off or neither",
    ("init", "where"): "the command writes where it is",
    ("posterior", "metric"): "of `measure`, which takes several",
}
FUNCTIONS = {name: one for name in sy.__all__ if isinstance(one := getattr(sy, name), FunctionType)}


@every("verb", list(FUNCTIONS))
def test_a_misspelt_keyword_is_answered_with_the_one_that_was_meant(verb: str) -> None:
    """Whatever else is missing: the slip is told first, and never as Python's bare TypeError."""
    by_name = [
        one for one in inspect.signature(FUNCTIONS[verb]).parameters.values() if one.kind.name in ("KEYWORD_ONLY", "POSITIONAL_OR_KEYWORD")
    ]
    meant = max((one.name for one in by_name), key=len, default="task")
    for slip in (f"{meant}x", f"x{meant}"):
        with pytest.raises(sy.UsageError, match=rf"^Unknown argument '{slip}' of {verb}\. Did you mean {meant}\?$"):
            FUNCTIONS[verb](**{slip: None})
    with pytest.raises(sy.UsageError, match=rf"^Unknown argument 'qqqq' of {verb}\. Hint: {verb} takes "):
        FUNCTIONS[verb](qqqq=None)


@every(
    ("ask", "words"),
    [
        (lambda: sy.run("t.toml", str, dry_run=True), "Unknown argument 'dry_run' of run. Hint: use sy.dry_run(...)"),
        (lambda: sy.run("t.toml", model=str), "Unknown argument 'model' of run. Hint: give it by position, as one of models"),
        (lambda: sy.check(suite="s.toml"), "Unknown argument 'suite' of check. Hint: use sy.check_suite(path=...)"),
        (lambda: sy.measure("a.csv", counts="3/4"), "Unknown argument 'counts' of measure. Hint: use sy.Counts.of(...)"),
        (lambda: sy.measure("a.csv", details=True), "Unknown argument 'details' of measure. Hint: only the command has it"),
        (lambda: sy.certify(quick=True), "Unknown argument 'quick' of certify. Hint: use grid="),  # type: ignore[call-arg]
        (lambda: sy.measure(data="a.csv"), "measure takes data by position. Hint: leave data= out"),  # type: ignore[call-arg]
        (lambda: sy.rank(systems=["a.csv"]), "rank takes systems by position. Hint: leave systems= out"),
    ],
)
def test_an_option_that_python_has_elsewhere_is_told_where(ask: Callable[[], Any], words: str) -> None:
    with pytest.raises(sy.UsageError) as caught:
        ask()
    assert str(caught.value) == words


@every("verb", list(FUNCTIONS))
def test_a_default_of_a_signature_is_that_of_its_option(verb: str) -> None:
    """Signatures are written for readers and type checkers. Help, the command and the classes of settled options go by the declaration."""
    declared = declared_of(FUNCTIONS[verb])
    for name, one in inspect.signature(FUNCTIONS[verb]).parameters.items():
        if name not in declared or one.default is one.empty or (verb, name) in OWN:
            continue
        option = declared[name]
        nothing = (
            (None, ()) if option.default is None and not option.switch else (None, bool(option.turns_off)) if option.default is None else ()
        )
        assert one.default == option.default or one.default in nothing or callable(one.default), (verb, name, one.default, option.default)
        assert option.default is None or type(one.default) is type(option.default), (verb, name)


def test_a_default_has_the_kind_of_its_option() -> None:
    """Python's, not the text that is typed: classes of settled options take it as it stands."""
    for declared in VERBS:
        for option in import_module(f"steelyard.options.{declared}").OPTIONS:
            if option.default is not None:
                check_kind(option, option.name, option.default)


@every(
    ("said", "typed"),
    [
        ("cannot use theta=: got theta=.5", "cannot use --theta: got --theta .5"),
        ("use missing='drop' or missing='wrong'.", "use --missing drop or --missing wrong."),
        ("name='a b', or name=['A', 'B']", "--name 'a b', or --name A --name B"),
        ("range=(0, 1); have=(45, 50)", "--range 0 1; --have 45/50"),
        ("spec={'quant': 'FP8'} and update=True", "--spec quant=FP8 and --update"),
        ("items=False; until='n=5'", "--no-items; until='n=5'"),
        ("the file 'theta=1.csv' and mytheta=2", "the file 'theta=1.csv' and mytheta=2"),
    ],
)
def test_an_error_that_names_parameters_is_told_in_flags(said: str, typed: str) -> None:
    params = [
        click.Option(["--theta"]),
        click.Option(["--missing"]),
        click.Option(["--name"], multiple=True),
        click.Option(["--range"], nargs=2),
        click.Option(["--have"], metavar="K/N"),
        click.Option(["--spec"], multiple=True),
        click.Option(["--update"], is_flag=True),
        click.Option(["--no-items"], is_flag=True),
    ]
    assert in_flags(said, click.Command("ask", params=[*params])) == typed


# ---- numbers: one check for each name ----------------------------------------------------------------------------------

LABELLED = {"truth": ["a", "b"] * 10, "prediction": ["a", "b", "b", "a"] * 5}
# Each verb with all that it needs besides the number under test.
ASKED: dict[str, Callable[..., Any]] = {
    "measure": partial(sy.measure, LABELLED),
    "compare": partial(sy.compare, LABELLED, LABELLED),
    "rank": partial(sy.rank, LABELLED, LABELLED, LABELLED, names=["a", "b", "c"]),
    "check": partial(sy.check, value=0.8, num_samples=100, task="t", model="m"),
    "record": partial(sy.record, [{"id": 1, "score": 1}, {"id": 2, "score": 0}], task="new", model="m"),
    "run": partial(sy.run, {"task": {"name": "t", "data": [{"id": 1, "truth": "a"}], "input": "?", "scorer": "exact"}}, str, repr),
    "plan_detect": partial(sy.plan_detect, sigma=0.5),
    "plan_estimate": partial(sy.plan_estimate, expected=0.9, width=0.1),
    "plan_designs": partial(sy.plan_designs, discordance=0.05),
    "plan_split": partial(sy.plan_split, {"size": [20, 40, 80, 160, 320], "score": [0.5, 0.6, 0.7, 0.75, 0.8]}, total=500),
    "plan_train": partial(sy.plan_train, {"size": [20, 40, 80, 160, 320], "score": [0.5, 0.6, 0.7, 0.75, 0.8]}, target=0.85),
    "compare_learners": partial(sy.compare_learners, None, None, [[0.0]] * 20, ["a", "b"] * 10),
    "drift": partial(sy.drift, "sqlite:///none.db", task="t", model="m"),
    "split": partial(sy.split, [{"id": i} for i in range(20)], train=0.8, test=0.2),
    "certify": partial(sy.certify, only=["no such claim"]),
}
BESIDES = {"plan_detect": {"theta": 0.02}, "plan_designs": {"theta": 0.02}}
TAKEN = [(verb, name) for verb in ASKED for name in CHECKS if name in inspect.signature(getattr(sy, verb)).parameters]
WRONG: dict[str, dict[Any, str]] = {
    "alpha": {0: "above 0", 0.7: "at most 0.5", 5: "write 0.05", 95: "write 0.05", 1e-300: "at least"},
    "beta": {1: "below 1", 0.8: "power 0.8 is beta 0.2", 80: "write 0.2", -0.1: "above 0"},
    "theta": {0: "above 0", -0.02: "above 0", 1e300: "at most"},
    "margin": {-0.01: "at least 0", 1e300: "at most"},
    "confidence_level": {0: "above 0", 1: "below 1", 95: "write 0.95", 99.9: "write 0.999", 1 - 1e-12: "at most"},
    "prior_scale": {0: "above 0", 1e-12: "at least"},
    "k": {0: "above 0"},
    "h": {-1: "above 0"},
}
ANY = (True, "wide", math.nan, math.inf)  # no number that a parameter can be


@pytest.fixture
def guarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A desk with one reference."""
    monkeypatch.chdir(tmp_path)
    Path("references").mkdir()
    Path("references/t.yaml").write_text("m:\n  - accuracy: 0.8\n    num_samples: 100\n    scale: fraction\n", encoding="utf-8")


@pytest.mark.usefixtures("guarded")
@every(("verb", "name"), TAKEN)
def test_a_verb_refuses_what_its_number_cannot_be(verb: str, name: str) -> None:
    """Each door is knocked at once with every wrong value: what is said follows from the name alone."""
    for value, words in {**WRONG[name], **dict.fromkeys(ANY, f"{name} must be")}.items():
        with pytest.raises(sy.UsageError) as caught:
            ASKED[verb](**{**BESIDES.get(verb, {}), name: value})
        assert f"{name} must be" in str(caught.value), (value, str(caught.value))
        assert words in str(caught.value), (value, str(caught.value))


# Shares that a plan is told, given in percent: beside what, and what to write instead.
IN_PERCENT: list[tuple[str, dict[str, Any], str]] = [
    ("plan_detect", {"expected": 95, "theta": 0.01}, "write 0.95"),
    ("plan_detect", {"discordance": 4, "theta": 0.01}, "write 0.04"),
    ("plan_detect", {"sigma": 50, "theta": 3, "power": 80}, "write 0.8"),
    ("plan_designs", {"expected": 95, "theta": 0.02}, "write 0.95"),
    ("plan_designs", {"discordance": 5, "theta": 0.02}, "write 0.05"),
    ("plan_estimate", {"expected": 95, "width": 0.1}, "write 0.95"),
    ("plan_estimate", {"expected": 0.9, "width": 0.1, "assurance": 80}, "write 0.8"),
]


@every(("verb", "asked", "words"), IN_PERCENT)
def test_a_share_in_percent_is_told_what_to_write(verb: str, asked: dict[str, Any], words: str) -> None:
    with pytest.raises(sy.UsageError, match=words):
        getattr(sy, verb)(**asked)


DRAWN = [(verb, name) for verb in ASKED for name in ("seed", "draws") if name in inspect.signature(getattr(sy, verb)).parameters]


@pytest.mark.usefixtures("guarded")
@every(("verb", "name"), DRAWN)
def test_a_seed_or_a_number_of_draws_that_is_none(verb: str, name: str) -> None:
    for value in (-1, 1.5, "many", True):
        with pytest.raises(sy.UsageError, match=rf"^{name} must be "):
            ASKED[verb](**{**BESIDES.get(verb, {}), name: value})


@pytest.mark.usefixtures("guarded")
def test_the_command_and_the_plugin_pass_through_the_same_check(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    def refuse(name: str, value: object) -> float:
        raise sy.UsageError(f"cannot use {name}", got=repr(value), need="a number that is asked for here")

    monkeypatch.setitem(CHECKS, "theta", refuse)  # type: ignore[arg-type]
    typed = CliRunner().invoke(steelyard, ["check", "--value", ".8", "--task", "t", "--model", "m", "--theta", ".02"])
    assert str(typed.exception) == "--theta must be a number that is asked for here, not 0.02."
    accuracy = Accuracy(request.node)
    monkeypatch.setattr(accuracy, "tell", lambda finding: None)  # this test has no finding of its own to report
    with pytest.raises(sy.UsageError, match="that is asked for here"):
        accuracy.judge(task="t", model="m", value=0.8, theta=0.02, directory="references")


def test_a_class_without_labels_is_told_to_have_no_effect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    a, b, c = ([{"id": i, "score": float(i % k != 0)} for i in range(40)] for k in (3, 4, 5))
    labelled = [{"id": i, "truth": "ab"[i % 2], "prediction": "a"} for i in range(40)]
    asked = {
        "measure": lambda **more: sy.measure(a, **more),
        "compare": lambda **more: sy.compare(a, b, **more),
        "rank": lambda **more: sy.rank(a, b, c, **more),
        "record": lambda **more: sy.record(a, task="t", model="m", update=True, reason="again", **more),
        "check": lambda **more: sy.check(b, task="t", model="m", **more),
    }
    for name, ask in asked.items():
        said = [[words for words in ask(**more).warnings if words.startswith("positive was not used")] for more in ({}, {"positive": "x"})]
        assert list(map(len, said)) == [0, 1], name
    assert not any("positive" in words for words in sy.measure(labelled, metric="f1", positive="a").warnings)


def test_a_rule_without_a_reference_is_told_to_have_no_effect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = [{"id": i, "q": str(i), "y": "1"} for i in range(20)]
    task = {"task": {"name": "t", "data": data, "input": "{q}", "truth": "y", "scorer": "exact"}}
    for against in (None, "none"):
        found = sy.run(task, lambda _: "1", name="m", against=against, theta=0.1, margin=0.05, alpha=0.01)
        unheard = [words.split()[0] for words in found.warnings if "not used: there is no reference to judge by" in words]
        assert unheard == ["theta", "margin", "alpha"]
    assert sy.run(task, lambda _: "1", name="m").warnings == ()
    sy.run(task, lambda _: "1", name="m", output="run.jsonl")
    sy.record("run.jsonl", task="t", model="m")
    assert not any("not used" in words for words in sy.run(task, lambda _: "1", name="m", theta=0.1).warnings)
