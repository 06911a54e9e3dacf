"""The rules of the house, executable: arrows, light imports, citations, names, the map."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import structure

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "steelyard"
MODULES = sorted(path for path in SRC.rglob("*.py"))

# A lower number knows nothing of a higher one; rooms of one level do not know one another.
LEVEL = {
    "late_dataclass": -1,
    "late_pattern": -1,
    "redaction": -1,
    "version": 0,
    "items": 0,
    "errors": 0,
    "did_you_mean": 0,
    "options": 2,
    "error_rates": 1,
    "outputs": 1,
    "atomic": 1,
    "databases": 1,
    "mlflow_store": 1,
    "locking": 2,
    "tally": 1,
    "yaml_text": 1,
    "metrics": 2,
    "results": 2,
    "read": 3,
    "evaluate": 3,
    "infer": 3,
    "reference": 3,
    "history": 3,
    "render": 3,
    "estimate": 4,
    "integrations": 4,
    "questions": 5,
    "web": 6,
    "proof": 6,
    "pytest_plugin": 6,
    "inspect_plugin": 6,
    "accuracy_task": 6,
    "cli": 7,
    "__main__": 8,
    "__init__": 7,
}


def room(path: Path) -> str:
    return room_of(path.relative_to(SRC).parts[0].removesuffix(".py"))


def room_of(name: str) -> str:
    """A plugin is a room of a few files that must lie at the root, where its host and its users name them."""
    return next((f"{host}_plugin" for host in ("pytest", "inspect") if name.startswith(f"{host}_")), name)


@cache
def tree() -> structure.Tree:
    return structure.Tree(ROOT / "src")


@pytest.fixture(scope="module", autouse=True)
def the_tree_is_let_go() -> Iterator[None]:
    """A million objects, which every collection of garbage after these tests would look at."""
    yield
    tree.cache_clear()
    imports.cache_clear()


@cache
def imports(path: Path) -> list[tuple[str, int]]:
    """Every module imported anywhere in a file, lazily or not, with its line."""
    module = tree().name(path)
    whole = [(alias.name, node.lineno) for node in tree().nodes(module, ast.Import) for alias in node.names]
    sources = [node for node in tree().nodes(module, ast.ImportFrom) if node.module]
    return whole + [(f"{node.module}.{alias.name}", node.lineno) for node in sources for alias in node.names]


def arrows(path: Path) -> Iterator[tuple[str, str, int]]:
    """(room, room it imports, line) of a file, without the package itself."""
    here = room(path)
    for name, line in imports(path):
        parts = name.split(".")
        if parts[0] != "steelyard" or len(parts) < 2:
            continue
        there = room_of(parts[1]) if room_of(parts[1]) in LEVEL else "__init__"
        if not (there in ("__init__", here) or here == "__init__"):
            yield here, there, line


def test_arrows_point_down() -> None:
    wrong = [
        f"{path.name}:{line}: {here} (level {LEVEL[here]}) may not import {there} (level {LEVEL[there]})"
        for path in MODULES
        for here, there, line in arrows(path)
        if LEVEL[there] >= LEVEL[here]
    ]
    assert not wrong


def test_every_room_has_a_level() -> None:
    assert {room(path) for path in MODULES} <= set(LEVEL)


def test_no_scipy_stats() -> None:
    assert not [(path.name, line) for path in MODULES for name, line in imports(path) if name.startswith("scipy.stats")]


def loaded_by(code: str) -> set[str]:
    run = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(' '.join(sys.modules))"], capture_output=True, text=True, check=True
    )
    return set(run.stdout.splitlines()[-1].split())


RUN = "from click.testing import CliRunner; from steelyard.cli.main import steelyard as s; assert CliRunner().invoke(s, {}).exit_code == 0"
LIGHT = {
    "import": "import steelyard",
    "wilson of counts": "import steelyard as sy; sy.measure(sy.Counts.of(12, 40))",
    "wald of counts": "import steelyard as sy; sy.measure(sy.Counts.of(12, 40), interval='wald')",
    "f1 of counts": "import steelyard as sy; print(sy.measure(sy.Counts.binary(tp=31, fp=5, fn=2)))",
    "help": RUN.format(["--help"]),
    "help of measure": RUN.format(["measure", "--help"]),
    "counts on the command line": RUN.format(["measure", "--counts", "12/40", "--format", "json"]),
    "readers": "import steelyard.read.open_source",
    "plan by the normal formula": "import steelyard as sy; print(sy.plan_detect(sigma=50, theta=3))",
    "plan on the command line": RUN.format(["plan", "detect", "--n", "4096", "--sigma", "50", "--format", "svg"]),
    "help of plan": RUN.format(["plan", "detect", "--help"]),
}


def test_loads_no_numpy() -> None:
    """One after the other in one process: what any of them loads is still there at the end, and the first that does is named."""
    heavy = {"numpy", "scipy", "duckdb", "pandas"}
    steps = [f"{code}\nassert not {heavy} & set(sys.modules), {name!r}" for name, code in LIGHT.items()]
    run = subprocess.run([sys.executable, "-c", "\n".join(["import sys", *steps])], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


HEAVY = {
    "yaml",
    "statistics",
    "fractions",
    "decimal",
    "random",
    "secrets",
    "difflib",
    "textwrap",
    "shutil",
    "bz2",
    "html",
    "numpy",
    "asyncio",
}


def test_a_check_of_a_number_loads_no_more_than_it_must(tmp_path: Path) -> None:
    """A reference of plain lines needs no parser of YAML, a verdict in text no pictures; and nothing is compiled that is made once."""
    (tmp_path / "t.yaml").write_text("m:\n  - accuracy: 80\n    num_samples: 1000\n    sigma: 50\n", encoding="utf-8")
    asked = ["check", "--value", "81", "--task", "t", "--model", "m", "--directory", str(tmp_path)]
    count = "import builtins\nseen, plain = [], exec\nbuiltins.exec = lambda text, *rest: (seen.append(text), plain(text, *rest))[1]\n"
    script = f"{count}from steelyard.cli.main import steelyard\nsteelyard({asked!r}, standalone_mode=False)"
    loaded = loaded_by(
        f"{script}\nassert len([text for text in seen if type(text) is str]) <= 1, seen  # the options, of which there are many"
    )
    assert not loaded & HEAVY
    assert not {name for name in loaded if name.startswith(("steelyard.render.pictures.plane", "steelyard.render.curve_text"))}
    assert len([name for name in loaded if name.startswith("steelyard.")]) < 90


def test_a_measured_file_loads_no_more_than_it_must(tmp_path: Path) -> None:
    """A small table of labels: no masked arrays of NumPy, no pictures, no temporary files; the same of two of them compared."""
    table = tmp_path / "t.csv"
    table.write_text(
        "id,truth,prediction\n" + "".join(f"{i},{'abc'[i % 3]},{'abc'[i * 7 % 11 % 3]}\n" for i in range(99)), encoding="utf-8"
    )
    for asked in (["measure", str(table)], ["compare", str(table), str(table)]):
        loaded = loaded_by(f"from steelyard.cli.main import steelyard\nsteelyard({asked!r}, standalone_mode=False)")
        assert "numpy" in loaded
        assert not loaded & {"numpy.ma", "tempfile", "shutil", "html", "yaml", "scipy", "duckdb", "steelyard.render.pictures.plane"}, asked


ROWS = "rows = [[{'id': i, 'truth': 'ab'[i % 2], 'prediction': 'ab'[i % 2 if i % k else i % 3 % 2]} for i in range(300)] for k in (5, 7)]"
NO_SCIPY = {
    "a measurement": "sy.measure(rows[0])",
    "a comparison of right or wrong": "sy.compare(*rows)",
    "a check item by item": "sy.record(rows[0], task='t', model='m'); sy.check(rows[1], task='t', model='m')",
}


def test_what_people_ask_most_loads_no_scipy(tmp_path: Path) -> None:
    """SciPy costs as much as all the rest of a command; closed forms do without it."""
    steps = [f"{code}\nassert 'scipy' not in sys.modules, {name!r}" for name, code in NO_SCIPY.items()]
    code = "\n".join(["import sys", "import steelyard as sy", ROWS, *steps])
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert run.returncode == 0, run.stderr


def test_import_loads_no_click() -> None:
    assert "click" not in loaded_by("import steelyard")


def test_no_verb_is_shadowed_by_a_module() -> None:
    import steelyard

    children = {path.stem for path in SRC.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert not children & (set(steelyard.__all__) - {"__version__"})


def test_no_module_named_like_the_standard_library() -> None:
    for path in MODULES:
        if path.stem not in ("__init__", "__main__"):
            assert path.stem not in sys.stdlib_module_names, path


def test_no_utils() -> None:
    for path in MODULES:
        assert not re.fullmatch(r"_?(utils?|helpers?|misc|common)", path.stem), path


def test_package_inits_import_nothing() -> None:
    assert not [path for path in MODULES if path.name == "__init__.py" and path.parent != SRC and imports(path)]


def public_estimators() -> list[tuple[str, str]]:
    """Functions of infer and metrics that questions and estimates call: those whose docstring must cite its source.

    What answers with a metric, a name, yes or no, a range of places or the same tally in another shape computes nothing that a paper
    defines.
    """
    shape = re.compile(r"(list\[|tuple\[)*(None|bool|str|range|Metric|Sums|Statistic)\b.*")
    callers = [path for path in MODULES if room(path) in ("questions", "estimate")]
    asked = {word for path in callers for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))}
    return [
        (f"{path.stem}.{node.name}", ast.get_docstring(node) or "")
        for path in MODULES
        if room(path) in ("infer", "metrics")
        for node in tree().parsed(tree().name(path)).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and node.name in asked
        if node.returns is None or not shape.fullmatch(ast.unparse(node.returns))
    ]


def keys() -> set[str]:
    return set(re.findall(r"^@\w+\{([^,]+),", (ROOT / "references.bib").read_text(encoding="utf-8"), re.M))


def test_estimators_cite_a_reference() -> None:
    """A function that rests on no paper says so, and why: `No reference: a convention.`"""
    known = keys()
    for where, doc in public_estimators():
        if re.search(r"\bNo reference: \w", doc):
            continue
        cited = re.findall(r"\b[A-Z][A-Za-z]+(?:19|20)\d\d[a-z]?\b", doc) + re.findall(r"\bvan[A-Z][a-z]+\d{4}\b", doc)
        assert cited, f"{where} cites no key of references.bib"
        assert not set(cited) - known, f"{where} cites {set(cited) - known}, which references.bib does not have"


def test_every_reference_is_cited_once_in_the_bibliography() -> None:
    text = (ROOT / "references.bib").read_text(encoding="utf-8")
    entries = re.findall(r"^@\w+\{([^,]+),", text, re.M)
    assert len(entries) == len(set(entries))
    cited = set(
        re.findall(r"\b(?:[A-Z][A-Za-z]+|van[A-Z][a-z]+)(?:19|20)\d\d[a-z]?\b", "\n".join(p.read_text(encoding="utf-8") for p in MODULES))
    )
    assert not cited - set(entries), f"cited but not in references.bib: {sorted(cited - set(entries))}"
    assert not set(entries) - cited, f"in references.bib but never cited: {sorted(set(entries) - cited)}"


def test_the_map_has_one_line_per_file() -> None:
    text = (ROOT / "MAP.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\s*`?([\w/]+\.py)`?\s", text, re.M)
    for path in MODULES:
        name = str(path.relative_to(SRC)).replace("\\", "/")
        assert lines.count(name) == 1, f"MAP.md needs exactly one line for {name}: python tests/write_map.py"
    for name in lines:
        assert (SRC / name).exists(), f"MAP.md names {name}, which does not exist"


def test_no_path_of_a_machine() -> None:
    for path in [*MODULES, *(ROOT / "tests").rglob("*.py"), *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        if path != Path(__file__):
            assert not re.search(r"(?<![\w.])/(work|root|home/\w+)/", path.read_text(encoding="utf-8")), path


# ---- what a newcomer must know, counted ----------------------------------------------------------------------------------


def test_the_counts_of_the_house() -> None:
    found = structure.counts(tree())
    too_many = {count: found[count] for count, goal in structure.GOALS.items() if found[count] > goal}
    assert not too_many, "python tests/structure.py says where"


def test_one_place_catches_an_interval_that_cannot_be_given() -> None:
    places = structure.handlers_of_degenerate(tree())
    assert [place.partition(":")[0] for place in places] == ["steelyard.estimate.fallback"]


def test_a_verb_imports_only_public_functions_of_another() -> None:
    assert structure.private_between_verbs(tree()) == []


# ---- the roads of four commands ------------------------------------------------------------------------------------------

# Files crossed and A-B-A bounces of version 0.1.0, by `python tests/structure.py --walks --source` on its tree.
ROADS_OF_0_1_0 = {"measure": (51, 20), "compare": (55, 26), "check": (71, 39), "run": (104, 52)}


def test_the_main_roads_are_shorter_than_those_of_0_1_0() -> None:
    walks = structure.walks(tree())
    assert {*walks} == {*ROADS_OF_0_1_0}
    for verb, (files, bounces) in ROADS_OF_0_1_0.items():
        assert walks[verb]["files"] < files, f"{verb} crosses {walks[verb]['files']} files; python tests/structure.py --walks"
        assert walks[verb]["bounces"] < bounces, f"{verb} bounces {walks[verb]['bounces']} times; python tests/structure.py --walks"


def test_options_and_rules_hold_no_warnings() -> None:
    """What is said beside an answer is collected beside the options and travels with the result; options are frozen and say nothing."""
    for module in tree().modules:
        for node in tree().nodes(module, ast.ClassDef):
            if re.search(r"(Options|Rule)$", node.name):
                fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
                held = [ast.unparse(each) for each in fields if re.search(r"\b(list|dict|set|Warnings)\b", ast.unparse(each.annotation))]
                assert not held, f"{module}.{node.name} holds {held}"
                made = [ast.unparse(each) for each in node.decorator_list if "dataclass" in ast.unparse(each)]
                assert all("frozen=True" in each for each in made), f"{module}.{node.name} is not frozen"


def test_pictures_are_drawn_in_one_place() -> None:
    """What SVG is written with is in render/pictures alone: everybody else draws with its canvas."""
    drawn = re.compile(r"(?<!\?P)<(svg|path|line|polyline|polygon|circle|rect|text|g)[ >]")
    places = [
        f"{module}:{node.lineno}"
        for module in tree().modules
        if not module.startswith("steelyard.render.pictures.")
        for node in tree().nodes(module, ast.Constant)
        if isinstance(node.value, str) and drawn.search(node.value)
    ]
    assert places == []


def test_a_field_of_a_result_without_a_type_says_why() -> None:
    assert [name for name, line in structure.untyped_fields(tree()) if "  # " not in line] == []


def test_files_get_their_names_in_one_place() -> None:
    """A file that is written whole takes its place in atomic.py: nobody else renames or links files, or connects to a database."""
    own = {"steelyard.atomic": {"replace", "rename", "link"}, "steelyard.databases": {"connect"}}
    found = []
    for module in tree().modules:
        for node in tree().nodes(module, ast.Call):
            called = node.func
            if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
                name = called.attr if called.value.id in ("os", "sqlite3", "psycopg", "duckdb") else ""
                if name in {"replace", "rename", "link", "connect"} - own.get(module, set()):
                    found.append(f"{module}:{node.lineno}")
    assert found == []
