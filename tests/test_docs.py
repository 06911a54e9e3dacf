"""Every example in README.md and docs/ is run, and what it prints is compared with what the page shows, letter by letter (numbers of
JSON: digit by digit, but for their last bits).

A shell example is a fenced block with lines `$ steelyard ...` (or `$ head -n N FILE`), each followed by its output as a
terminal 80 columns wide shows it, messages included; `| head -n N` behind a command keeps its first lines. After a
change of the output, paste the new one into all pages with

    python tests/test_docs.py

and read the diff before you commit it.
"""

from __future__ import annotations

import contextlib
import difflib
import doctest
import io
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import click
import pytest

from cases import every
from stand_ins import as_printed
from steelyard.options.option import COLUMNS
from steelyard.render.digits import steadied

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
WIDTH = 80
LONGEST = 120
CODES = {"error:": 3, "REGRESSION": 1, "SHARED ITEMS": 1, "INCONCLUSIVE": 2}


@dataclass(frozen=True)
class Example:
    """A command of a page, with the lines of its output: `lines[first:last]` of the page."""

    page: Path
    command: str
    first: int
    last: int
    shown: str

    def __str__(self) -> str:
        return f"{self.page.name}:{self.first}"


def examples(page: Path) -> list[Example]:
    """The shell examples of a page, in order. The output of a command ends at the next command or at the fence."""
    lines = page.read_text(encoding="utf-8").splitlines()
    found: list[Example] = []
    start: int | None = None
    fenced = False
    for number, line in enumerate(lines):
        fence, command = line.startswith("```"), fenced and line.startswith("$ ")
        if start is not None and (fence or command):
            shown = "\n".join(lines[start + 1 : number]).rstrip("\n")
            found.append(Example(page, lines[start][2:], start + 1, number, shown))
            start = None
        if command:
            start = number
        fenced ^= fence
    return found


@contextlib.contextmanager
def desk(folder: Path) -> Iterator[None]:
    """The folder with the files that the pages use as working directory, and a terminal of a known width."""
    for path in (ROOT / "docs" / "data").glob("*.csv"):
        shutil.copy(path, folder)
    for ending in ("toml", "json"):
        for path in (ROOT / "docs" / "data").glob(f"*.{ending}"):
            shutil.copy(path, folder)
    for name in ("references", "out"):
        shutil.copytree(ROOT / "docs" / "data" / name, folder / name)
    for name in ("digits_logistic.csv", "digits_naive_bayes.csv"):
        (folder / name).write_bytes((files("steelyard") / "data" / name).read_bytes())
    before, there = dict(os.environ), Path.cwd()
    for name in [name for name in os.environ if name.startswith(("GITHUB_", "GITLAB_", "CI_", "GH_"))]:
        del os.environ[name]  # what the pages show does not depend on where the tests run
    os.environ.update({"COLUMNS": str(WIDTH), "NO_COLOR": "1"})
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(there)
        os.environ.clear()
        os.environ.update(before)


class Screen(io.StringIO):
    """Standard output and standard error together, as a terminal shows them, but not a terminal."""

    encoding = "utf-8"  # type: ignore[assignment]


def run(command: str) -> tuple[str, int]:
    """What a command prints, and its exit code."""
    command, _, kept = command.partition(" | head -n ")
    program, *words = shlex.split(command)
    if program == "head":
        flag, many, name = words
        assert flag == "-n"
        return "\n".join(Path(name).read_text(encoding="utf-8").splitlines()[: int(many)]), 0
    assert program == "steelyard", f"the pages show steelyard, not {program}"
    if words[0] == "bisect":
        _beside_a_repository()
    from steelyard.cli.main import main

    screen = Screen()
    with contextlib.redirect_stdout(screen), contextlib.redirect_stderr(screen), pytest.raises(SystemExit) as stop:
        main(words)
    lines = screen.getvalue().rstrip("\n").split("\n")
    return "\n".join(lines[: int(kept)] if kept else lines).rstrip("\n"), int(stop.value.code or 0)


def _beside_a_repository() -> None:
    """The pages about commits work in a repository of 64 of them, with runs of its ends beside it."""
    from questions.bisect.repositories import make

    if not Path("repository").exists():
        make(Path.cwd(), unbuilt=(30, 32, 48))
    os.chdir("repository")
    os.environ.update({"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull})


def steady_json(text: str) -> str:
    """JSON keeps every bit of a number for the programs that read it; the last ones differ between processors. Else the text."""
    return json.dumps(steadied(json.loads(text)), indent=2) if text.startswith("{") else text


SHELL = [example for page in PAGES for example in examples(page)]


@as_printed
@pytest.mark.parametrize("example", SHELL, ids=str)
def test_shell_example(example: Example, tmp_path: Path) -> None:
    with desk(tmp_path):
        printed, code = run(example.command)
    if printed != example.shown and steady_json(printed) != steady_json(example.shown):
        seen = "\n".join(difflib.unified_diff(example.shown.splitlines(), printed.splitlines(), "the page", "printed", lineterm=""))
        pytest.fail(f"{example.command!r} prints something else; `python tests/test_docs.py` pastes it\n{seen}")
    assert code == next((CODES[word] for word in CODES if printed.startswith(word)), 0)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples(page: Path, tmp_path: Path) -> None:
    with desk(tmp_path):
        failed, _ = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert failed == 0


def test_there_are_examples() -> None:
    """A parser that finds nothing would pass everything."""
    by_page = {page.name: len(examples(page)) for page in PAGES}
    assert by_page["README.md"] >= 4
    assert by_page["measure.md"] >= 20
    assert by_page["compare.md"] >= 15
    assert by_page["learners.md"] >= 2
    assert by_page["plan.md"] >= 9
    assert by_page["guard.md"] >= 7
    assert by_page["logs.md"] >= 2
    written = sum(page.read_text(encoding="utf-8").count("\n$ ") for page in PAGES)
    assert len(SHELL) == written, "a line that starts with `$ ` stands outside a fenced block"


def test_readme_has_exactly_two_set_up_commands() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^    (python3 -m venv .*)$", readme, re.M)
    assert len(commands) == readme.count("-m venv") == 2
    assert commands[0].endswith("/steelyard demo")
    assert commands[1].endswith(" -m pytest -n 2")
    assert len(re.findall(r"^    (python3 -m venv .*pytest.*)$", readme, re.M)) == 1, "what .ci/run takes out with sed"


def _anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    heads = re.findall(r"^#+ +(.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@every("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", page.read_text(encoding="utf-8")):
        if target.startswith(("http:", "https:", "mailto:")):
            continue
        there = page if not target else page.parent / target
        assert there.exists(), f"{page.name} links to {target}"
        if anchor:
            assert anchor in _anchors(there), f"{page.name} links to {target}#{anchor}"


@every("page", PAGES, ids=lambda page: page.name)
def test_page_is_fit_to_print(page: Path) -> None:
    """No path of somebody's machine; lines that fit a window, apart from commands, messages and signatures: one line each."""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        assert not re.search(r"(^|[\s'\"=(])/(work|home|root|tmp|Users|usr)/", line), f"{page.name}:{number} has a machine path"
        one_line = line.startswith(("metric:", "goal:", "task:", "error:", "|", "$ ", "  bars start")) or '"signature"' in line
        assert one_line or len(line) <= LONGEST, f"{page.name}:{number} has {len(line)} characters"


def _page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


CATALOGUES = "reference/catalogues.md"
TABLES = {"measure.md": "Metrics", "compare.md": "Tests of a difference", "methods.md": "Intervals", "run.md": "Scorers", "logs.md": "Logs"}


@every("page", TABLES)
def test_a_guide_with_a_table_of_names_leads_to_all_of_them(page: str) -> None:
    """What can be asked for by name is listed by a page that is written from the objects: a guide shows what most people need."""
    assert f"]({CATALOGUES})" in _page(page)


def test_guide_names_every_option() -> None:
    from steelyard.cli.measure import measure

    guide = _page("measure.md")
    assert [name for name in _options(measure) if name not in guide] == []


def test_the_guide_to_columns_is_true() -> None:
    """Every row of its table has the names by which that column is found."""
    from steelyard.read.roles import RECOGNISED

    rows = re.findall(r"^\| ([a-z]+) +\| ([a-z_, ]+?) +\| `--", _page("measure.md"), re.M)
    assert len(rows) >= 8
    assert [role for role, names in rows if tuple(names.split(", ")) != RECOGNISED[role]] == []


def _missing(page: str, names: Iterable[str]) -> list[str]:
    """The names that a page does not have in its code font."""
    return [name for name in names if f"`{name}`" not in page]


def _options(command: click.Command) -> list[str]:
    """The options of a command, without those that name a column: these are listed where the columns are."""
    columns = {column.name for column in COLUMNS}
    typed = [name for option in command.params if option.name not in columns for name in (*option.opts, *option.secondary_opts)]
    return [name for name in typed if name.startswith("--")]


def test_compare_guide_names_every_option_and_correction() -> None:
    from steelyard.cli.compare import compare
    from steelyard.infer.multiplicity import CORRECTIONS

    guide = _page("compare.md")
    assert [name for name in _options(compare) if not re.search(rf"{name}(?![-\w])", guide)] == []
    assert [name for name in CORRECTIONS if f"`{name}`" not in guide and f"--correction {name}`" not in guide] == []


def test_learners_guide_names_every_method_and_option() -> None:
    from steelyard.cli.learners import learners
    from steelyard.questions.learners.design import METHODS

    guide = _page("learners.md")
    assert _missing(guide, METHODS) == []
    assert [name for name in _options(learners) if not re.search(rf"{name}(?![-\w])", guide)] == []


def test_plan_guide_names_every_option() -> None:
    from steelyard.cli.plan_designs import designs
    from steelyard.cli.plan_detect import detect
    from steelyard.cli.plan_estimate import estimate
    from steelyard.cli.plan_split import split
    from steelyard.cli.plan_train import train

    guide, everywhere = _page("plan.md"), {"--no-color", "--quiet", "--debug", "--output", "--seed", "--confidence-level"}
    names = {name for command in (designs, detect, estimate, train, split) for name in _options(command)} - everywhere
    assert sorted(name for name in names if not re.search(rf"{name}(?![-\w])", guide)) == []


def test_guard_guide_names_every_option() -> None:
    from steelyard.cli.check import check
    from steelyard.cli.record import record

    guide, everywhere = _page("guard.md"), {"--no-color", "--quiet", "--debug", "--output", "--format", "--task", "--model"}
    columns = {"--id", "--truth", "--prediction", "--score", "--probability", "--group", "--repeat"}
    names = {name for command in (check, record) for name in _options(command)} - everywhere - columns
    assert sorted(name for name in names if not re.search(rf"{name}(?![-\w])", guide)) == []


def test_split_guide_names_every_option() -> None:
    from steelyard.cli.split import split

    guide = _page("split.md")
    assert [name for name in _options(split) if not re.search(rf"{name}(?![-\w])", guide)] == []


def test_audit_guide_names_every_option() -> None:
    from steelyard.cli.audit import audit

    guide = _page("audit.md")
    assert [name for name in _options(audit) if not re.search(rf"{name}(?![-\w])", guide)] == []


def test_bisect_guide_names_every_option_and_variable() -> None:
    from steelyard.cli.bisection import bisect, step_
    from steelyard.options.option import RUN_COLUMNS
    from steelyard.questions.bisect import asking

    guide, columns = _page("bisect.md"), {f"--{option.name}" for option in RUN_COLUMNS}
    names = {name for command in (bisect, step_) for name in _options(command)} - columns
    assert sorted(name for name in names if not re.search(rf"{name}(?![-\w])", guide)) == []
    assert _missing(guide, [asking.ITEMS, asking.ITEMS_JSON, asking.OUT, asking.COMMIT, asking.REPOSITORY]) == []


def test_run_guide_names_every_option() -> None:
    from steelyard.cli.run import run

    guide = _page("run.md")
    assert [name for name in _options(run) if not re.search(rf"{name}(?![-\w])", guide)] == []


def test_learners_guide_has_the_measured_false_alarms() -> None:
    """The figures of the table are those that the command prints."""
    from steelyard.questions.learners.learners import FALSE_ALARMS

    rows = {m[1]: m[0] for m in re.finditer(r"^\| `([\w-]+)` .*$", _page("learners.md"), re.M)}
    assert {name for name, share in FALSE_ALARMS.items() if name in rows and f"| {share} |" not in rows[name]} == set()
    assert FALSE_ALARMS["repeated naive"] in rows["kfold"]


def paste() -> None:
    """Write into every page what its commands print now."""
    for page in PAGES:
        lines = page.read_text(encoding="utf-8").splitlines()
        for example in reversed(examples(page)):
            with tempfile.TemporaryDirectory() as folder, desk(Path(folder)):
                printed, _ = run(example.command)
            if steady_json(printed) == steady_json(example.shown):
                continue
            more = example.last < len(lines) and lines[example.last].startswith("$ ")
            lines[example.first : example.last] = [*printed.split("\n"), *([""] if more else [])]
        page.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"{page.relative_to(ROOT)}: {len(examples(page))} commands")


if __name__ == "__main__":
    sys.exit(paste())


def test_comment_guide_names_every_option() -> None:
    from steelyard.cli.comment import comment

    guide, everywhere = _page("comment.md"), {"--no-color", "--quiet", "--debug", "--output", "--format"}
    assert [name for name in _options(comment) if name not in everywhere and not re.search(rf"{name}(?![-\w])", guide)] == []
