"""What every command refuses by the same code: an option given twice, an unknown keyword, an output that is an input."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

import steelyard as sy
from cases import every
from steelyard.cli.command import Command, OutputFile
from steelyard.cli.main import main
from steelyard.cli.main import steelyard as top
from steelyard.errors import UsageError
from steelyard.options.option import LOG_CHOICES, SOURCE_KEYWORDS

ROWS = "id,truth,prediction\n" + "".join(f"{i},{'ab'[i % 2]},{'ab'[i % 3 % 2]}\n" for i in range(40))
Asked = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(ROWS)

    def run(*words: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            main([str(word) for word in words])
        out, err = capsys.readouterr()
        return int(stop.value.code or 0), out, err

    return run


def commands(group: click.Group = top, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        if isinstance(found, click.Group):
            yield from commands(found, (*path, name))
        else:
            yield (*path, name), found


ALL = dict(commands())
SINGLE = [
    (path, param)
    for path, one in ALL.items()
    for param in one.params
    if isinstance(param, click.Option) and not param.multiple and not param.is_flag and not param.count
]


# ---- given twice -----------------------------------------------------------------------------------------------------------


def test_every_command_is_of_the_class_that_refuses() -> None:
    assert [" ".join(path) for path, one in ALL.items() if not isinstance(one, Command)] == []


@every(("path", "param"), SINGLE, ids=[" ".join((*path, param.opts[0])) for path, param in SINGLE])
def test_an_option_of_one_value_given_twice_is_refused(ask: Asked, path: tuple[str, ...], param: click.Option) -> None:
    value = ["1"] * param.nargs if param.nargs > 1 else ["1"]
    code, out, err = ask(*path, param.opts[0], *value, param.opts[0], *value)
    assert (code, out) == (129 if path == ("bisect", "step") else 3, "")  # git takes anything else below 128 for a bad commit
    assert f"{param.opts[0]} was given 2 times" in err


def test_options_that_may_repeat_do(ask: Asked) -> None:
    assert ask("measure", "a.csv", "--metric", "accuracy", "--metric", "mcc", "--quiet", "--quiet")[0] == 0
    assert ask("compare", "--counts", "5/10", "--counts", "6/10")[0] == 0


def test_the_second_of_two_values_is_never_taken(ask: Asked) -> None:
    code, _, err = ask("compare", "--wins", "40,12,28", "--wins", "1,2,3")
    assert code == 3
    assert "--wins" in err


def test_a_flag_and_its_other_spelling_are_one_option(ask: Asked) -> None:
    code, _, err = ask("measure", "a.csv", "--task", "x", "--log-task", "y")
    assert code == 3
    assert "--log-task was given 2 times; it takes one value." in err


@pytest.mark.parametrize(("word", "meant"), [("mesure", "measure"), ("chekc", "check"), ("referneces", "references")])
def test_a_misspelled_command_gets_the_nearest(ask: Asked, word: str, meant: str) -> None:
    assert f"Did you mean {meant}?" in ask(word, "a.csv")[2]


def test_a_misspelled_command_of_a_group_too(ask: Asked) -> None:
    assert "Did you mean detect?" in ask("plan", "detct")[2]
    assert "Did you mean lint?" in ask("references", "lnt")[2]


# ---- keywords of Python ------------------------------------------------------------------------------------------------------


VERBS: dict[Any, tuple[Any, ...]] = {
    sy.measure: (["a", "b"], ["a", "b"]),
    sy.compare: ([1, 0], [0, 1]),
    sy.check: (),
    sy.record: ("a.csv",),
    sy.run: ("t.toml", len),
    sy.plan_detect: (),
    sy.plan_estimate: (),
}


@every("verb", VERBS, ids=lambda verb: verb.__name__)
def test_an_unknown_keyword_is_refused_with_the_nearest(verb: Any) -> None:
    for name, one in inspect.signature(verb).parameters.items():
        if one.kind is not inspect.Parameter.KEYWORD_ONLY or len(name) < 4:
            continue
        wrong = name[:2] + name[3] + name[2] + name[4:] if name[2] != name[3] else name + "x"
        if wrong in inspect.signature(verb).parameters or wrong in SOURCE_KEYWORDS:
            continue
        needed = {"task": "t", "model": "m"} if verb in (sy.check, sy.record) else {}
        with pytest.raises(UsageError, match=rf"Unknown argument '{wrong}' of {verb.__name__}.*Did you mean {name}\?"):
            verb(*VERBS[verb], **needed, **{wrong: 1})


def test_a_bare_value_with_a_misspelled_theta_is_no_pass() -> None:
    with pytest.raises(UsageError, match=r"Did you mean theta\?"):
        sy.check(value=0.79, task="t", model="m", tetha=0.01)


def test_a_bare_value_has_no_columns(ask: Asked) -> None:
    ask("record", "a.csv", "--task", "t", "--model", "m")
    code, _, err = ask("check", "--value", ".5", "--task", "t", "--model", "m", "--id", "id")
    assert code == 3
    assert "bare value" in err


# ---- outputs that are inputs ---------------------------------------------------------------------------------------------------


def untouched(ask: Asked, *words: object, file: str = "a.csv") -> None:
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    code, out, err = ask(*words)
    assert (code, out) == (3, ""), err
    assert "would overwrite" in err, err
    assert Path(file).name in err, err
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    "words",
    [
        "measure a.csv -o a.csv",
        "measure run=a.csv -o a.csv",
        "measure a.csv -o ./x/../a.csv",
        "measure a.csv -o m.json -o a.csv",
        "measure [ab].csv -o a.csv",
        "compare b.csv a.csv -o a.csv",
        "compare a.csv b.csv --flips-out a.csv",
        "compare a.csv b.csv --cd-out a.csv",
        "record a.csv --task t --model m -o a.csv",
        "check a.csv --task t --model m -o a.csv",
        "plan detect --pilot a.csv --theta .1 -o a.csv",
        "plan estimate --pilot a.csv --metric accuracy --width .1 -o a.csv",
        "plan train a.csv --target .9 -o a.csv",
        "learners m:f m:g --data a.csv --target truth -o a.csv",
        "run t.toml --model file:a.csv --answer a.csv",
        "run t.toml --model file:b.csv -o a.csv",
        "run t.toml --model file:b.csv --answer a.csv",
        "report a.csv -o a.csv",
        "report x=a.csv --google-card a.csv",
        "report b.csv --flips a.csv -o a.csv",
        "references import a.csv --dialect trtllm -o a.csv",
    ],
)
def test_no_command_writes_over_what_it_reads(ask: Asked, words: str) -> None:
    Path("x").mkdir()
    Path("t.toml").write_text('[task]\nname = "t"\ndata = "a.csv"\ntruth = "truth"\nscorer = "exact"\ninput = "{truth}"\n')
    untouched(ask, *words.split())


def test_links_and_other_names_are_the_same_file(ask: Asked) -> None:
    os.symlink("a.csv", "soft.json")
    os.link("a.csv", "hard.json")
    untouched(ask, "measure", "a.csv", "-o", "soft.json", file="soft.json")
    untouched(ask, "measure", "a.csv", "-o", "hard.json", file="hard.json")
    untouched(ask, "measure", "soft.json", "-o", "a.csv")


def test_a_result_is_not_replaced_by_its_own_report(ask: Asked) -> None:
    assert ask("measure", "a.csv", "-o", "m.json")[0] == 0
    untouched(ask, "report", "m.json", "-o", "m.json", file="m.json")


def test_references_history_and_configuration_are_read_too(ask: Asked) -> None:
    Path("steelyard.toml").write_text('history = "sqlite:///h.db"\n')
    assert ask("record", "a.csv", "--task", "t", "--model", "m")[0] == 0
    assert ask("check", "a.csv", "--task", "t", "--model", "m")[0] == 0
    items = next(path for path in Path("references").rglob("*") if path.is_file() and path.suffix != ".yaml")
    check = ("check", "a.csv", "--task", "t", "--model", "m", "-o")
    for file in ("references/t.yaml", str(items), "steelyard.toml", "h.db"):
        untouched(ask, *check, file, file=file)
    untouched(ask, "history", "--history", "sqlite:///h.db", "-o", "h.db", file="h.db")
    untouched(ask, "history", "--export", "h.db", file="h.db")


def test_files_that_a_suite_names_are_read(ask: Asked) -> None:
    assert ask("record", "a.csv", "--task", "t", "--model", "m")[0] == 0
    Path("s.toml").write_text('[[checks]]\ntask = "t"\nmodel = "m"\nresult = "a.csv"\n')
    untouched(ask, "check", "--suite", "s.toml", "-o", "a.csv")
    untouched(ask, "check", "--suite", "s.toml", "-o", "s.toml", file="s.toml")


def test_a_directory_that_is_read_loses_no_data_but_takes_the_next_answer(ask: Asked, tmp_path: Path) -> None:
    Path("runs").mkdir()
    Path("runs/a.csv").write_text(ROWS)
    untouched(ask, "measure", "runs", "-o", "runs/a.csv", file="runs/a.csv")
    for _ in range(2):
        assert ask("measure", "runs/a.csv", "-o", "runs/answer.json")[0] == 0


def test_a_name_is_not_a_file(ask: Asked) -> None:
    """An answer may be called as its task is; only what names a source is read."""
    assert ask("record", "a.csv", "--task", "t", "--model", "m")[0] == 0
    for _ in range(2):
        assert ask("check", "a.csv", "--task", "t", "--model", "m", "-o", "t")[0] == 0
        assert ask("references", "show", "t", "m", "-o", "m")[0] == 0


def test_two_outputs_are_two_files(ask: Asked) -> None:
    code, _, err = ask("measure", "a.csv", "-o", "m.json", "-o", "./m.json")
    assert code == 3
    assert "-o and -o would both write 'm.json'." in err
    assert not Path("m.json").exists()


def test_the_record_of_items_is_not_written_over_the_source(ask: Asked) -> None:
    os.rename("a.csv", "run_samples.jsonl")
    Path("run_samples.jsonl").write_text('{"id": 1, "truth": "a", "prediction": "a"}\n')
    words = ("--format", "every-eval-ever", "--about", "model=x/y", "--about", "evaluation=z", "--about", "organization=o")
    untouched(ask, "measure", "run_samples.jsonl", "-o", "run.json", *words, file="run_samples.jsonl")


def test_python_writes_over_nothing_either(tmp_path: Path) -> None:
    file, other = tmp_path / "a.csv", tmp_path / "b.csv"
    file.write_text(ROWS)
    other.write_text(ROWS)
    with pytest.raises(UsageError, match="flips_out"):
        sy.compare(file, other, flips_out=file)
    assert file.read_text() == ROWS


def test_every_file_option_is_declared_as_read_or_written() -> None:
    written = {(*path, param.opts[-1]) for path, one in ALL.items() for param in one.params if isinstance(param.type, OutputFile)}
    files = {
        (*path, param.opts[-1])
        for path, one in ALL.items()
        for param in one.params
        if isinstance(param, click.Option) and isinstance(param.type, click.Path) and not param.type.dir_okay
    }
    assert {option[-1] for option in files - written} == {"--card-answers", "--config", "--suite", "--state", "--flips"}


# ---- several outputs ----------------------------------------------------------------------------------------------------------


def test_one_answer_in_several_formats(ask: Asked) -> None:
    assert ask("record", "a.csv", "--task", "t", "--model", "m")[0] == 0
    code, out, _ = ask(
        "check", "a.csv", "--task", "t", "--model", "m", *["-o", "r.json", "-o", "r.md", "-o", "junit.xml", "-o", "r.html", "-o", "r.txt"]
    )
    assert (code, out) == (0, "")
    assert json.loads(Path("r.json").read_text())["verdict"] == "pass"
    assert Path("junit.xml").read_text().startswith("<?xml")
    assert "<html" in Path("r.html").read_text()
    assert "|" in Path("r.md").read_text()
    assert "{" not in Path("r.txt").read_text()


def test_several_outputs_have_no_one_format(ask: Asked) -> None:
    code, _, err = ask("measure", "a.csv", "--format", "json", "-o", "r.json", "-o", "r.md")
    assert code == 3
    assert "--format json" in err
    assert not Path("r.json").exists()


# ---- the part of a log --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [("measure",), ("compare",), ("record",), ("check",)])
def test_every_command_that_reads_a_log_chooses_in_it_by_the_same_flags(path: tuple[str, ...]) -> None:
    known = {flag for param in ALL[path].params for flag in param.opts}
    assert {f"--{option.name.replace('_', '-')}" for option in LOG_CHOICES} <= known
    assert "--score" in known


def test_former_keywords_of_a_log_are_the_same_options(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text(ROWS)
    for keyword in ("task", "log_task", "model_name", "log_model"):
        with pytest.raises(UsageError, match="log of an evaluation tool"):
            sy.measure(file, **{keyword: "x"})
    with pytest.raises(UsageError, match="former name"):
        sy.measure(file, task="x", log_task="y")
