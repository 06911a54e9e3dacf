"""What a newcomer must know, counted: names asked for, classes that share a name, cycles, full folders, silent parameters; and four walks.

python tests/structure.py                         the counts of this tree
python tests/structure.py --walks                 and four commands, traced: files crossed, room changes, bounces
python tests/structure.py --walks --source DIR    of another tree (DIR has steelyard/ in it), by the same rules

The walks of 0.1.0 are those of its tree: git archive 44ff0f1 src | tar -x -C DIR, then --source DIR/src. Its options and results are no
objects, so its counts end at the first that asks for them; the walks are printed before.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import functools
import gc
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

SOURCE = Path(__file__).parents[1] / "src"
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
OTHER_COMMAND = re.compile(r"\b(pytest|lm_eval|command:).*")  # a whole command of another tool is no parameter to pass
ERROR = re.compile(r"(Error|Degenerate)$")

Node = TypeVar("Node", bound=ast.AST)
# Fields of a node in which no other node lies that anybody asks for: texts, numbers, operators, whether a name is read or written.
PLAIN = {"ctx", "id", "attr", "op", "ops", "conversion", "level", "type_comment", "is_async", "simple", "asname", "module"}


@functools.cache
def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    return () if kind is ast.Constant else tuple(name for name in kind._fields if name not in PLAIN)


@contextlib.contextmanager
def _nothing_is_garbage() -> Iterator[None]:
    """Trees are kept as they are made: looking for garbage among them takes as long as making them."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


class Tree:
    """The modules of a package, parsed once."""

    def __init__(self, source: Path) -> None:
        self.root = source / "steelyard"
        self.modules = {self.name(path): path for path in sorted(self.root.rglob("*.py"))}
        self._parsed: dict[str, ast.Module] = {}
        self._nodes: dict[str, dict[type[ast.AST], list[Any]]] = {}

    def name(self, path: Path) -> str:
        parts = path.relative_to(self.root.parent).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def parsed(self, module: str) -> ast.Module:
        if module not in self._parsed:
            with _nothing_is_garbage():
                self._parsed[module] = ast.parse(self.modules[module].read_text(encoding="utf-8"))
        return self._parsed[module]

    def nodes(self, module: str, *kinds: type[Node]) -> list[Node]:
        """Every node of these kinds in a module, which is walked once."""
        if module not in self._nodes:
            with _nothing_is_garbage():
                self._nodes[module] = self._walk(module)
        found = self._nodes[module]
        return [node for kind in kinds for node in found.get(kind, ())]

    def _walk(self, module: str) -> dict[type[ast.AST], list[Any]]:
        found: list[Any] = [self.parsed(module)]
        kinds: dict[type[ast.AST], list[Any]] = {}
        for node in found:  # grows as it is walked
            kinds.setdefault(type(node), []).append(node)
            for field in _fields(type(node)):
                value = getattr(node, field)
                if isinstance(value, list):
                    found += [each for each in value if isinstance(each, ast.AST)]
                elif isinstance(value, ast.AST):
                    found.append(value)
        return kinds

    def room(self, module: str) -> str:
        """The folder below the package, or the module at its root."""
        return [*module.split("."), ""][1]

    def imports(self, module: str) -> set[str]:
        """The modules of the package that one imports, at its head or inside functions; not what only types need."""
        found: set[str] = set()
        for_types = [node for node in self.nodes(module, ast.If) if getattr(node.test, "id", "") == "TYPE_CHECKING"]
        apart = {each for node in for_types for each in ast.walk(node)}
        for node in self.nodes(module, ast.Import):
            found |= {each.name for each in node.names if node not in apart}
        for source in self.nodes(module, ast.ImportFrom):
            if source.module and source not in apart:
                for each in source.names:
                    whole = f"{source.module}.{each.name}"
                    found.add(whole if whole in self.modules else source.module)
        return (found & set(self.modules)) - {module}


# ---- counts ------------------------------------------------------------------------------------------------------------


# Names of the catalogue that are words for other things too: a policy, a column, a reducer. They count where a metric is asked.
WORDS = {"error", "ratio", "mean", "precision", "recall", "kappa"}
LITERALS: tuple[type[ast.expr], ...] = (ast.Tuple, ast.List, ast.Set, ast.Dict)  # what can hold two names or more
RATES = {"precision", "recall", "specificity"}  # also what a plan is told: options of a command and a function
AVERAGES = re.compile(r"(?<![a-z])(macro|micro|weighted|each)_$")  # what the name of an average begins with
CUT = {"startswith", "removeprefix"}
ABOUT_A_METRIC = re.compile(r"(?<![a-z])(metric|metrics|base|quantity)(?![a-z])")


def names_of_metrics(tree: Tree) -> set[str]:
    """Every name of the catalogue, read from the tree itself."""
    code = (
        "import json, steelyard.metrics.catalogue as c\n"
        "print(json.dumps(sorted(getattr(c, 'FACTS', None) or c.CATALOGUE)))"  # FACTS: trees of before
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(tree.root.parent)}
    )
    return set(json.loads(run.stdout))


def asked_by_name(tree: Tree, names: set[str]) -> list[str]:
    """A metric held against a name of the catalogue, one that stands in for a name that nobody gave, collections in which such a name
    is, one parsed from a name in the code, and the name of an average put together or taken apart, outside metrics/: `module:line`.

    A comparison counts if the name means a metric and nothing else, or if the other side is called a metric. What is handed to
    `metric=` asks for metrics by name, as any user does.
    """
    found = []
    for module in tree.modules:
        if tree.room(module) in ("metrics", "proof") or ".read.logs." in module or module.endswith(".read.suite_reports"):
            continue  # claims are about named metrics; logs and reports have the names of other tools
        compared = tree.nodes(module, ast.Compare)
        found += [f"{module}:{node.lineno}" for node in compared if _asks_a_metric(node, names)]
        stand_ins = [node.values[-1] for node in tree.nodes(module, ast.BoolOp) if isinstance(node.op, ast.Or)]
        stand_ins += [each for node in tree.nodes(module, ast.IfExp) for each in (node.body, node.orelse)]
        found += [f"{module}:{node.lineno}" for node in stand_ins if isinstance(node, ast.Constant) and _members(node) & names - WORDS]
        parsed = [node for node in tree.nodes(module, ast.Call) if getattr(node.func, "id", "") in ("parse", "find") and node.args]
        found += [f"{module}:{node.lineno}" for node in parsed if _texts(node.args[0]) & names]
        averages = [node.values for node in tree.nodes(module, ast.JoinedStr)]
        pairs = [(first, then) for values in averages for first, then in itertools.pairwise(values)]
        made = [first for first, then in pairs if isinstance(then, ast.FormattedValue) and _ends_like_an_average(first)]
        cut = [node for node in tree.nodes(module, ast.Call) if _called(node) in CUT and any(map(_ends_like_an_average, node.args))]
        found += [f"{module}:{node.lineno}" for node in (*made, *cut)]
        listing = [node for kind in LITERALS for node in tree.nodes(module, kind) if _lists_metrics(_members(node), names)]
        if listing:  # seldom, so that what they lie in is looked for only then
            handed = [word.value for call in tree.nodes(module, ast.Call) for word in call.keywords if word.arg == "metric"]
            inside = {id(each) for node in (*compared, *handed) for each in ast.walk(node)}
            found += [f"{module}:{node.lineno}" for node in listing if id(node) not in inside]
    return sorted(set(found))


def _lists_metrics(members: set[str], names: set[str]) -> bool:
    """A name that is nothing but a metric's among other texts, which are no words of a command; or two and more words that are most of
    what is listed: keys of a signature have words in common with metrics."""
    listed = members & names
    others = len(members) > 1 and not any(each.startswith("--") for each in members)
    return bool(others and listed - WORDS - RATES) or (len(listed - RATES) >= 2 and 2 * len(listed) > len(members))


def _ends_like_an_average(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(AVERAGES.search(node.value))


def _asks_a_metric(node: ast.Compare, names: set[str]) -> bool:
    sides = [node.left, *node.comparators]
    held = {text for side in sides for text in _members(side)} & names
    if held <= WORDS:
        return any(ABOUT_A_METRIC.search(ast.unparse(side)) for side in sides if held and not _members(side))
    return True


def _members(node: ast.AST) -> set[str]:
    """The texts that a literal is or holds: of a dict, its keys."""
    if isinstance(node, ast.Constant):
        return {node.value} if isinstance(node.value, str) else set()
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return {each.value for each in node.elts if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    if isinstance(node, ast.Dict):
        return {each.value for each in node.keys if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    return set()


def _texts(node: ast.AST) -> set[str]:
    return {each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)}


def base_asked(tree: Tree) -> list[str]:
    """`.base` of a metric inside a comparison, outside metrics/: a metric asked for its name whatever it is held against."""
    return sorted(
        f"{module}:{node.lineno}"
        for module in tree.modules
        if tree.room(module) != "metrics"
        for node in tree.nodes(module, ast.Compare)
        if any(isinstance(each, ast.Attribute) and each.attr == "base" for each in (node.left, *node.comparators))
        and not any(isinstance(each, ast.Constant) and isinstance(each.value, int) for each in node.comparators)  # where codes begin
    )


def texts_compared(tree: Tree) -> list[str]:
    """A fact of a metric that is a text, held against a text outside metrics/: a name in disguise. `module:line attribute`.

    What a metric is called is another count. The facts are read from the tree itself.
    """
    code = """if True:
        import enum, json, steelyard.metrics.catalogue as c
        averaged = [c.parse(f"{how}_{metric.shown}") for metric in c.CATALOGUE.values() if metric.of_class for how in (*c.AVERAGES, "each")]
        forms = [*c.CATALOGUE.values(), *averaged]
        facts = {}
        for name in {*dir(c.Metric)} - {"base", "name"}:
            if not name.startswith("_"):
                facts[name] = sorted({found for metric in forms if isinstance(found := getattr(metric, name), str)})
        print(json.dumps({name: said for name, said in facts.items() if said}))
    """
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(tree.root.parent)}
    )
    facts: dict[str, list[str]] = json.loads(run.stdout)
    return sorted(
        f"{module}:{node.lineno} {side.attr}"
        for module in tree.modules
        if tree.room(module) not in ("metrics", "proof")
        for node in tree.nodes(module, ast.Compare)
        for side in (node.left, *node.comparators)
        if isinstance(side, ast.Attribute) and side.attr in facts
        if any(_members(other) & {*facts[side.attr]} for other in (node.left, *node.comparators))
    )


def methods_asked_by_name(tree: Tree) -> list[str]:
    """An interval, a test of a difference or a stopping rule held against its name, outside proof/: `module:line`.

    What must be known of one is an attribute of its object; what is made in another way there is a table of names and functions. The
    names are read from the tree itself.
    """
    code = """if True:
        import json
        from steelyard.estimate.difference_tests import TESTS
        from steelyard.estimate.named_intervals import INTERVALS, intervals
        from steelyard.infer.sequential.stopping import RULES
        print(json.dumps(sorted({*TESTS, *INTERVALS, *intervals(), *RULES})))
    """
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(tree.root.parent)}
    )
    names = set(json.loads(run.stdout))
    return sorted(
        f"{module}:{node.lineno}"
        for module in tree.modules
        if tree.room(module) != "proof"  # claims are about named methods
        for node in tree.nodes(module, ast.Compare)
        if any(_members(side) & names for side in (node.left, *node.comparators))
    )


def facts_of_one_metric(tree: Tree) -> dict[str, str]:
    """Attributes of metrics that are set for one metric only, or are flags that only one lacks: of the whole catalogue, or, if they are
    given and do not follow from others, of each family that has them; and which those are.

    A metric of a class counts with its averages, one with a number by its example. The catalogue is read from the tree itself.
    """
    code = """if True:
        import dataclasses, json, steelyard.metrics.catalogue as c
        forms, have, given = {}, {}, set()
        for metric in getattr(c, "CATALOGUE", {}).values():
            of_class = [f"macro_{metric.shown}", f"each_{metric.shown}"] if metric.of_class else []
            forms[metric.base] = [metric, *(c.parse(name) for name in (metric.shown, *of_class))]
            given |= {each.name for each in dataclasses.fields(metric) if each.init}
        for base, metrics in forms.items():
            for metric in metrics:
                for name in dir(metric):
                    value = None if name.startswith("_") else getattr(metric, name)
                    if not callable(value):
                        fact = (name, value not in (None, False, "", ()), isinstance(value, bool))
                        have.setdefault(fact, {}).setdefault(metric.family, set()).add(base)
        single = {}
        for (name, is_set, flag), families in have.items():
            bases = set().union(*families.values())
            of_each = name in given and all(len(one) == 1 for one in families.values())
            if (len(bases) == 1 or of_each) and (is_set or flag):
                single[name] = " and ".join(sorted(bases))
        print(json.dumps(single))
    """
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(tree.root.parent)}
    )
    found: dict[str, str] = json.loads(run.stdout)
    return found


def flags_of_one_metric(tree: Tree) -> list[str]:
    """Where such an attribute is read outside metrics/: a name in disguise. `attribute of metrics: module:line`."""
    single = facts_of_one_metric(tree)
    return sorted(
        f"{node.attr} of {single[node.attr]}: {module}:{node.lineno}"
        for module in tree.modules
        if tree.room(module) != "metrics"
        for node in tree.nodes(module, ast.Attribute)
        if node.attr in single
    )


def shared_class_names(tree: Tree) -> dict[str, int]:
    """Names that more than one class of the tree has; a leading underscore does not tell two apart."""
    counted = Counter(node.name.lstrip("_") for module in tree.modules for node in tree.nodes(module, ast.ClassDef))
    return {name: times for name, times in sorted(counted.items()) if times > 1}


def cycles(tree: Tree) -> list[list[str]]:
    """Groups of modules that import one another, late imports included, the largest first."""
    arrows = {module: sorted(tree.imports(module)) for module in tree.modules}
    order: list[str] = []
    seen: set[str] = set()
    for start in arrows:
        stack = [(start, iter(arrows[start]))] if start not in seen else []
        seen.add(start)
        while stack:
            here, ways = stack[-1]
            there = next((way for way in ways if way not in seen), None)
            if there is None:
                order.append(here)
                stack.pop()
            else:
                seen.add(there)
                stack.append((there, iter(arrows[there])))
    back: dict[str, list[str]] = {module: [] for module in arrows}
    for here, ways in arrows.items():
        for there in ways:
            back[there].append(here)
    found, placed = [], set[str]()
    for start in reversed(order):
        group, open_ = [], [start]
        while open_:
            here = open_.pop()
            if here not in placed:
                placed.add(here)
                group.append(here)
                open_ += back[here]
        if len(group) > 1:
            found.append(sorted(group))
    return sorted(found, key=len, reverse=True)


def folders(tree: Tree) -> dict[str, int]:
    """How many modules lie in each folder itself."""
    return dict(Counter(str(path.parent.relative_to(tree.root.parent)) for path in tree.modules.values()))


def flags_told_to_python(tree: Tree) -> list[str]:
    """Words of errors outside cli/ that name a `--flag` or a command of ours (calls are translated there): `module:line`."""
    verbs = "|".join(path.stem for path in sorted((tree.root / "options").glob("[a-z]*.py")))
    own = re.compile(rf"\bsteelyard ({verbs}|bisect|history|plan)\b")
    return sorted(
        f"{module}:{node.lineno}"
        for module in tree.modules
        if not tree.room(module).startswith(("cli", "pytest"))
        for node in tree.nodes(module, ast.Call)
        if ERROR.search(_called(node)) or any(word.arg in ("hint", "need") for word in node.keywords)
        if any(FLAG.search(OTHER_COMMAND.sub("", text)) or own.search(text) for text in _texts(node))
    )


def _called(node: ast.Call) -> str:
    return getattr(node.func, "id", getattr(node.func, "attr", ""))


def errors_in_slots(tree: Tree) -> list[str]:
    """Errors written as a fragment beside `got` and `need`, and printed as "Cannot X: expected Y, got Z": `module:line`. What is printed
    as "theta must be a number above 0, not -1" does not count, nor does a whole sentence."""
    return sorted(
        f"{module}:{node.lineno}"
        for module in tree.modules
        for node in tree.nodes(module, ast.Call)
        if ERROR.search(_called(node)) and node.args and _is_slot(node.args[0], {each.arg for each in node.keywords})
    )


def _is_slot(what: ast.expr, given: set[str | None]) -> bool:
    if not given & {"got", "need"} or not isinstance(what, ast.JoinedStr | ast.Constant):
        return False
    texts = [
        part.value if isinstance(part, ast.Constant) else "{}" for part in (what.values if isinstance(what, ast.JoinedStr) else [what])
    ]
    words = "".join(map(str, texts))
    if given >= {"got", "need"} and re.fullmatch(r"cannot use ([a-z][a-z_.]*=?|\{\})", words):
        return False  # of a value that decides the name, errors.py sees whether it is a parameter's
    return not re.search(r"[.?] ?(\{\})*$", words)  # a value behind a full stop is a sentence of its own


def silent_parameters(tree: Tree) -> tuple[list[str], int]:
    """(public parameters without a line of their own, `name: ...`, under `Parameters:`, or whose line does not say what the default
    means, or says another one; public parameters in all)."""
    code = (
        "import inspect, json, re, steelyard as sy\n"
        "found, many = [], 0\n"
        "for name in sy.__all__:\n"
        "    what = getattr(sy, name)\n"
        "    if not inspect.isfunction(what): continue\n"
        "    told = (inspect.getdoc(what) or '').partition('\\nParameters:\\n')[2].partition('\\n\\n')[0]\n"
        "    lines = dict(re.findall(r'^    (\\w+): (.*(?:\\n        .*)*)', told, re.M))\n"
        "    for each in inspect.signature(what).parameters.values():\n"
        "        many += 1\n"
        "        if each.name not in lines: found.append(f'{name}({each.name})')\n"
        "        if each.name not in lines or each.default is each.empty: continue\n"
        "        said = ' '.join(lines[each.name].partition('Default:')[2].split())\n"
        "        shown = '' if each.default in (None, ()) or callable(each.default) else str(each.default)\n"
        "        if not said or shown not in said or ' at 0x' in said: found.append(f'{name}({each.name}): its default')\n"
        "print(json.dumps([found, many]))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(tree.root.parent)}
    )
    found, many = json.loads(run.stdout)
    return found, many


def defaults_written_again(tree: Tree) -> list[str]:
    """Defaults of options that stand beside their declaration: in classes of settled options (`...Options`), in functions that settle,
    and in functions of options/ and questions/ that are not offered to users: `module:line name`.

    Signatures of the package are for readers: a test holds each default of theirs against its option. Formulas (infer/) know no options.
    """
    code = (
        "import json, pkgutil, importlib, steelyard as sy, steelyard.options as home\n"
        "from steelyard.options.option import Option\n"
        "modules = [importlib.import_module(f'steelyard.options.{each.name}') for each in pkgutil.iter_modules(home.__path__)]\n"
        "held = [value for module in modules for value in vars(module).values()]\n"
        "held += [one for value in held if isinstance(value, tuple) for one in value]\n"
        "names = {one.name for one in held if isinstance(one, Option) and one.default is not None}\n"
        "print(json.dumps([sorted(names), sorted(sy.__all__)]))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(tree.root.parent)}
    )
    names, public = (set(each) for each in json.loads(run.stdout))
    found = []
    for module in tree.modules:
        for kind in tree.nodes(module, ast.ClassDef):
            fields = [each for each in kind.body if isinstance(each, ast.AnnAssign)] if kind.name.endswith("Options") else []
            found += [(module, each.lineno, ast.unparse(each.target)) for each in fields if _is_written(each.value)]
        for function in tree.nodes(module, ast.FunctionDef):
            settles = tree.room(module) in ("options", "questions") or (tree.room(module) != "infer" and function.name.startswith("settle"))
            if function.name in public or not settles:
                continue
            given = function.args
            last = [*given.posonlyargs, *given.args][len(given.posonlyargs) + len(given.args) - len(given.defaults) :]
            pairs = [*zip(last, given.defaults, strict=True), *zip(given.kwonlyargs, given.kw_defaults, strict=True)]
            found += [(module, one.lineno, one.arg) for one, default in pairs if _is_written(default)]
    return sorted(f"{module}:{line} {name}" for module, line, name in found if name in names)


def _is_written(default: ast.expr | None) -> bool:
    """Whether it is a value that stands there: a number, a text, True. None and False leave something out."""
    return isinstance(default, ast.UnaryOp) or (
        isinstance(default, ast.Constant) and not (default.value is None or default.value is False or default.value == "")
    )


def helped_again(tree: Tree) -> list[str]:
    """Options declared with a help sentence that another declaration has too: `module:line`, without the first. One object serves both."""
    said: dict[str, list[str]] = {}
    for module in tree.modules:
        for node in tree.nodes(module, ast.Call) if tree.room(module) in ("options", "cli") else ():
            for word in node.keywords if _called(node) in ("Option", "replace", "option") else ():
                if word.arg == "help" and isinstance(word.value, ast.Constant):
                    said.setdefault(word.value.value, []).append(f"{module}:{node.lineno}")
    return sorted(place for places in said.values() for place in places[1:])


def handlers_of_degenerate(tree: Tree) -> list[str]:
    """Where an interval that cannot be given is caught: `module:line`."""
    return sorted(
        f"{module}:{node.lineno}"
        for module in tree.modules
        for node in tree.nodes(module, ast.ExceptHandler)
        if node.type is not None and "Degenerate" in ast.dump(node.type)
    )


# What certainty is made of: a question that needs one of these asks infer/.
OF_FORMULAS = {"sqrt", "var", "std", "cov", "median", "quantile", "percentile", "ppf", "cdf", "pdf", "sf", "isf", "erf", "betainc"}
OF_FORMULAS |= {"log2", "mean", "average", "cumsum", "lexsort"}  # searches, means and orders: of infer/ and tally/


def formulas_in_questions(tree: Tree) -> list[str]:
    """Roots, squares, variances, medians, laws, means, running totals and orders in questions/: `module:line`.

    And arithmetic that looks like one: a number times itself or times what it lacks to 1, or a product over one of its numbers, as in
    2 p r / (p + r).
    """
    found = []
    for module in tree.modules:
        if tree.room(module) == "questions":
            calls = [node for node in tree.nodes(module, ast.Call) if _called(node).rpartition(".")[2] in OF_FORMULAS]
            sums = [node for node in tree.nodes(module, ast.BinOp) if _is_a_formula(node)]
            found += [f"{module}:{node.lineno}" for node in (*calls, *sums)]
    return sorted(found)


def _is_a_formula(node: ast.BinOp) -> bool:
    if isinstance(node.op, ast.Pow):
        return not _plain_number(node.left)
    if isinstance(node.op, ast.Div):
        product = len([each for each in _factors(node.left) if not isinstance(each, ast.Constant)]) > 1
        return product and bool(_numbers(node.left) & _numbers(node.right))
    if not isinstance(node.op, ast.Mult):
        return False
    factors = [*_factors(node)]
    apart = [each for each in factors if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Sub)]
    lacking = [ast.unparse(each.right) for each in apart if isinstance(each.left, ast.Constant) and each.left.value == 1]
    written = [ast.unparse(each) for each in factors if not isinstance(each, ast.Constant)]
    return len(set(written)) < len(written) or bool(set(lacking) & set(written))


def _factors(node: ast.expr) -> Iterator[ast.expr]:
    """What is multiplied: a, b and c of `a * b * c`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        yield from _factors(node.left)
        yield from _factors(node.right)
    else:
        yield node


def _numbers(node: ast.AST) -> set[str]:
    """The names that a piece of arithmetic is made of, each with its attributes; what a function is asked for counts by its arguments."""
    if isinstance(node, ast.Name | ast.Attribute):
        return {ast.unparse(node)}
    if isinstance(node, ast.Call):
        return set().union(*map(_numbers, node.args))
    return set().union(*map(_numbers, ast.iter_child_nodes(node)))


def _plain_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Call) and bool(node.args) and isinstance(node.args[0], ast.Constant))


CALLERS = ("benchmarks", "examples")  # folders beside the package whose code may call it
LOADED_LATE = re.compile(r"[\w.]+[.:](\w+)")  # a text that names a module and what is asked of it: "plan.plan_page", "module:function"


def uncalled(tree: Tree) -> list[str]:
    """Public functions, classes, methods and constants that only tests use: `module:line name`.

    Used is what code of the package, of a benchmark or an example reads, calls or imports, what a text of the package names behind
    its module, what the docs call, and what the package offers to users, methods included. The rest is handed to a host that calls
    it by itself: by a decorator from another package or from the command line, by a base class of another package, whose methods
    these are, or as a whole module, by an entry point.
    """
    root = tree.root.parents[1]
    used = set().union(*(_named(tree.nodes(module, *NAMING)) for module in tree.modules))
    for path in (path for folder in CALLERS for path in (root / folder).rglob("*.py")):
        used |= _named(list(ast.walk(ast.parse(path.read_text(encoding="utf-8")))))
    for path in (*(root / "docs").rglob("*.md"), *root.glob("*.md")):
        used |= set(re.findall(r"(\w+)\(", path.read_text(encoding="utf-8")))
    offered = set(re.findall(r'^    "(\w+)": "', (tree.root / "__init__.py").read_text(encoding="utf-8"), re.M))
    project = root / "pyproject.toml"
    entries = set(re.findall(r'= "(steelyard[\w.]*)"', project.read_text(encoding="utf-8"))) if project.exists() else set()
    parents = {node.name: {_root(base) for base in node.bases} for module in tree.modules for node in tree.nodes(module, ast.ClassDef)}
    for node in (
        node for module in tree.modules for node in tree.nodes(module, ast.Call) if _called(node) == "type" and len(node.args) == 3
    ):
        mixed = {_root(base) for base in getattr(node.args[1], "elts", ())}  # a class made by `type`: each base has the others beside it
        for base in mixed & set(parents):
            parents[base] |= mixed - {base}
    return sorted(
        f"{module}:{line} {name}"
        for module in tree.modules
        if module not in entries
        for line, name in _public(tree.parsed(module).body, offered, _foreign(tree, module), parents)
        if name not in used
    )


NAMING = (ast.Name, ast.Attribute, ast.alias, ast.Constant)


def _named(nodes: Sequence[ast.AST]) -> set[str]:
    """What nodes name: to read, to call, to import, or as the text of a place that is loaded late."""
    found = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    found |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    found |= {node.name.rpartition(".")[2] for node in nodes if isinstance(node, ast.alias)}
    texts = (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return found | {late.group(1) for text in texts if (late := LOADED_LATE.fullmatch(text))}


KEPT_AS_THEY_ARE = {
    "abc",
    "collections",
    "contextlib",
    "dataclasses",
    "enum",
    "functools",
    "typing",
}  # their decorators and bases call nothing


def _foreign(tree: Tree, module: str) -> set[str]:
    """Names that a module has from other packages, or from the command line: hosts, which call what they are handed."""
    found = {(each.asname or each.name).partition(".")[0] for node in tree.nodes(module, ast.Import) for each in node.names}
    for node in tree.nodes(module, ast.ImportFrom):
        source = (node.module or "").split(".")
        if source[0] != "steelyard" or source[1:2] == ["cli"]:
            found |= {each.asname or each.name for each in node.names if source[0] not in KEPT_AS_THEY_ARE}
    return found - KEPT_AS_THEY_ARE


def _public(body: Sequence[ast.stmt], offered: set[str], foreign: set[str], parents: dict[str, set[str]]) -> Iterator[tuple[int, str]]:
    """(line, name) of what a body defines for others, does not offer to users and hands to no host."""
    for node in body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {each.id for each in targets if isinstance(each, ast.Name) and not each.id.startswith("_")}
            yield from ((node.lineno, name) for name in names - offered)
        if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef) or node.name in offered:
            continue
        if {_root(each) for each in node.decorator_list} & foreign:
            continue
        if not node.name.startswith("_"):
            yield node.lineno, node.name
        if isinstance(node, ast.ClassDef) and not _ancestors(node.name, parents) & foreign:
            methods = [each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
            yield from _public(methods, set(), foreign, parents)


def _ancestors(name: str, parents: dict[str, set[str]]) -> set[str]:
    """What a class is made of, by name."""
    found, open_ = set[str](), [name]
    while open_:
        more = parents.get(open_.pop(), set()) - found
        found |= more
        open_ += more
    return found


def _root(node: ast.expr) -> str:
    """The first name of `a`, `a.b`, `a(...)` or `a[...]`."""
    while not isinstance(node, ast.Name):
        inner = getattr(node, "func", getattr(node, "value", None))
        if not isinstance(inner, ast.expr):
            return ""
        node = inner
    return node.id


def untyped_fields(tree: Tree) -> list[tuple[str, str]]:
    """Fields of results whose keys or values no class describes (`Mapping[str, Any]`, `Any`): (`module.Class.field`, the line)."""
    found = []
    for module in tree.modules:
        if tree.room(module) != "results" or module.endswith(".base"):
            continue
        lines = tree.modules[module].read_text(encoding="utf-8").splitlines()
        for made in tree.nodes(module, ast.ClassDef):
            for each in made.body:
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                    said = ast.unparse(each.annotation)
                    if "Any" in said and "ClassVar" not in said:
                        found.append((f"{module}.{made.name}.{each.target.id}", lines[each.lineno - 1]))
    return found


def parts_read_by_key(tree: Tree) -> list[str]:
    """Fields of a part of a result, read by their key in JSON where the part has them as typed attributes: `module:line`.

    So `v.details["draws"]`, `v.reference.get("value")`, `"log" in c.details`. Parts are told by the attribute they lie in; one that a class
    outside results/ has for a plain mapping does not count, but `details` always does.
    """
    inside = [module for module in tree.modules if tree.room(module) == "results"]
    below: dict[str, set[str]] = {}
    for module in inside:
        for made in tree.nodes(module, ast.ClassDef):
            below[made.name] = {base.id for base in made.bases if isinstance(base, ast.Name)}
    parts = {"ResultPart"}
    while more := {name for name, bases in below.items() if bases & parts} - parts:
        parts |= more
    held, plain = set[str](), set[str]()
    for module in tree.modules:
        for each in tree.nodes(module, ast.AnnAssign):
            kinds = ast.unparse(each.annotation).split(" | ")
            if isinstance(each.target, ast.Name):
                held |= {each.target.id} if module in inside and parts & {*kinds} else set()
                plain |= {each.target.id} if module not in inside and kinds[0].startswith(("Mapping", "dict")) else set()
    counted = held - plain | {"details"}
    return sorted(
        f"{module}:{node.lineno}"
        for module in tree.modules
        for node in tree.nodes(module, ast.Subscript, ast.Call, ast.Compare)
        for of, key in _reads_of_keys(node)
        if isinstance(of, ast.Attribute) and of.attr in counted and isinstance(key, ast.Constant) and isinstance(key.value, str)
    )


def _reads_of_keys(node: ast.Subscript | ast.Call | ast.Compare) -> list[tuple[ast.expr, ast.expr]]:
    """What is read, and its key: `of[key]`, `of.get(key)`, `key in of`."""
    if isinstance(node, ast.Subscript):
        return [(node.value, node.slice)]
    if isinstance(node, ast.Call):
        return [(node.func.value, node.args[0])] if isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args else []
    return [(node.comparators[0], node.left)] if isinstance(node.ops[0], ast.In | ast.NotIn) else []


def own_json(tree: Tree) -> list[str]:
    """Results and parts of results that write or read JSON by a method of their own, and not by their fields."""
    return sorted(
        f"{module}.{made.name}.{each.name}"
        for module in tree.modules
        if tree.room(module) == "results" and not module.endswith(".base")
        for made in tree.nodes(module, ast.ClassDef)
        for each in made.body
        if isinstance(each, ast.FunctionDef) and each.name in ("to_dict", "from_dict", "_said")
    )


GUARDS = ("steelyard.estimate.guard.", "steelyard.questions.guard.")
ALIKE = 5  # fields in common that make a class another shape of the same answer


def other_verdicts(tree: Tree) -> list[str]:
    """Classes of the guards that hold a verdict over again: `module.Class`. What the rule of a guard says beforehand is no part of it."""
    declared = {
        (module, node.name): {each.target.id for each in node.body if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)}
        for module in tree.modules
        for node in tree.nodes(module, ast.ClassDef)
    }

    def fields_of(name: str) -> set[str]:
        return set().union(*(fields for (_, each), fields in declared.items() if each == name))

    said = fields_of("Verdict") - fields_of("GuardRule")
    return sorted(
        f"{module}.{name}" for (module, name), fields in declared.items() if module.startswith(GUARDS) and len(fields & said) >= ALIKE
    )


def counts(tree: Tree) -> dict[str, int]:
    """The counts that may not grow, by what they count."""
    around = cycles(tree)
    return {
        "metrics asked for by name outside metrics/": len(asked_by_name(tree, names_of_metrics(tree))),
        "comparisons of .base outside metrics/": len(base_asked(tree)),
        "texts that a metric says of itself, compared outside metrics/": len(texts_compared(tree)),
        "flags of a metric that are true for one metric only, read outside metrics/": len(flags_of_one_metric(tree)),
        "intervals, tests and stopping rules asked for by name": len(methods_asked_by_name(tree)),
        "handlers of an interval that cannot be given": len(handlers_of_degenerate(tree)),
        "class names used twice": len(shared_class_names(tree)),
        "import cycles": len(around),
        "modules in import cycles": sum(map(len, around)),
        "modules in the fullest folder": max(folders(tree).values()),
        "public parameters not in their docstring": len(silent_parameters(tree)[0]),
        "errors that tell Python callers to pass flags": len(flags_told_to_python(tree)),
        "errors printed as slots, not as a sentence": len(errors_in_slots(tree)),
        "formulas in questions/": len(formulas_in_questions(tree)),
        "defaults of options written outside their declaration": len(defaults_written_again(tree)),
        "options declared again with the same help sentence": len(helped_again(tree)),
        "functions, classes and constants that only tests use": len(uncalled(tree)),
        "result fields without a type of their own (Mapping[str, Any])": len(untyped_fields(tree)),
        "fields of results read by their key": len(parts_read_by_key(tree)),
        "results that write their own JSON": len(own_json(tree)),
        "shapes of one paired comparison in check besides Evidence and Verdict": len(other_verdicts(tree)),
        "test files named after no module of the folder they mirror": len(tests_of_no_module(tree)),
    }


# What each count may be. Lines and modules are only printed.
GOALS = {
    "metrics asked for by name outside metrics/": 0,
    "comparisons of .base outside metrics/": 0,
    "texts that a metric says of itself, compared outside metrics/": 0,
    "flags of a metric that are true for one metric only, read outside metrics/": 0,
    "intervals, tests and stopping rules asked for by name": 33,  # each in the formulas that are named after it, or in words about it
    "handlers of an interval that cannot be given": 1,
    "class names used twice": 0,
    "import cycles": 0,
    "modules in the fullest folder": 31,
    "public parameters not in their docstring": 0,
    "errors that tell Python callers to pass flags": 0,
    "errors printed as slots, not as a sentence": 0,
    "formulas in questions/": 0,
    "defaults of options written outside their declaration": 0,
    "options declared again with the same help sentence": 0,
    "functions, classes and constants that only tests use": 0,
    "result fields without a type of their own (Mapping[str, Any])": 34,  # whose keys are open: each says so in its comment
    "fields of results read by their key": 0,
    "results that write their own JSON": 0,
    "shapes of one paired comparison in check besides Evidence and Verdict": 0,
    "test files named after no module of the folder they mirror": 0,
}


def private_between_verbs(tree: Tree) -> list[str]:
    """What one folder of questions/ imports from another and the package does not offer to users."""
    public = set(re.findall(r'^    "(\w+)": "', (tree.root / "__init__.py").read_text(encoding="utf-8"), re.M))
    found = []
    for module in tree.modules:
        verb = module.split(".")[2:3] if module.startswith("steelyard.questions.") else []
        for node in tree.nodes(module, ast.ImportFrom) if verb else ():
            if node.module and node.module.startswith("steelyard.questions."):
                names = {each.name for each in node.names} - public
                found += [f"{module}: {name} of {node.module}" for name in names if node.module.split(".")[2:3] != verb]
    return sorted(found)


def with_a_test_of_its_name(tree: Tree) -> list[str]:
    """Modules whose tests lie where theirs do: `infer/paired/delong.py` in `tests/infer/paired/test_delong.py`."""
    tests = tree.root.parents[1] / "tests"
    places = {module: path.relative_to(tree.root) for module, path in tree.modules.items()}
    return [module for module, path in places.items() if (tests / path.with_name(f"test_{path.name}")).exists()]


def tests_of_no_module(tree: Tree) -> list[str]:
    """Test files in a folder that mirrors one of the package, named after nothing in it.

    `tests/read/test_source.py` and `test_source_merged_items.py` test `read/source.py`; `tests/read/test_logs_fuzz.py` tests `read/logs/`.
    """
    tests, found = tree.root.parents[1] / "tests", []
    for path in sorted(tests.rglob("test_*.py")):
        folder = tree.root / path.parent.relative_to(tests)
        if folder != tree.root and folder.is_dir():
            names = {each.name.removesuffix(".py") for each in folder.iterdir()}
            words = path.stem.removeprefix("test_").split("_")
            if not any("_".join(words[:many]) in names for many in range(1, len(words) + 1)):
                found.append(str(path.relative_to(tests)))
    return found


def size(tree: Tree) -> dict[str, int]:
    """Printed only: a description, not a gate."""
    return {
        "modules": len(tree.modules),
        "modules with a test file of their name": len(with_a_test_of_its_name(tree)),
        "lines": sum(path.read_text(encoding="utf-8").count("\n") for path in tree.modules.values()),
    }


# ---- walks -------------------------------------------------------------------------------------------------------------

TRACER = """
import json, os, sys, threading
import duckdb, numpy, scipy.special  # what commands load of others, loaded once: each command is a fork of this process
root = os.environ["WALK_ROOT"]
ours = {root + "late_dataclass.py", root + "late_pattern.py"}  # for dataclasses and re of Python, whose calls are not counted either
order, seen = [], set()
def profile(frame, event, arg):
    if event == "call":
        code = frame.f_code
        if code.co_filename.startswith(root) and not code.co_name.startswith("<") and code not in seen and code.co_filename not in ours:
            if not (code.co_flags & 0x2 == 0):  # a class body has no fast locals: it is loaded, it does not work
                seen.add(code); order.append(code.co_filename[len(root):])
def command(name, words):
    from steelyard.cli.main import main
    if name:
        threading.setprofile(profile); sys.setprofile(profile)
    try:
        main(words)
        code = 0
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.setprofile(None); threading.setprofile(None)
    if name:
        with open(name + ".walk", "w") as file:
            json.dump(order, file)
    return code if not name else 0
for name, words in json.loads(sys.argv[1]):
    child = os.fork()
    if not child:
        code = 99
        try:
            code = command(name, words)
        finally:
            sys.stdout.flush(); sys.stderr.flush()
            os._exit(code)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        sys.exit(f"failed: {words}")
"""


TASK = '[task]\nname = "t"\ndata = "cases.jsonl"\ninput = "{question}"\ntruth = "answer"\nscorer = "exact"\n'


def walked(files: list[str]) -> dict[str, int]:
    """One command, traced: files that work, room changes and A-B-A bounces, in the order in which functions are first called.

    Comprehensions and lambdas do not count: they are read where they stand, and later versions of Python do not call them.
    """
    rooms = [Path(file).parts[0].removesuffix(".py") for file in files]
    passed = [room for i, room in enumerate(rooms) if i == 0 or room != rooms[i - 1]]
    visits = [file for i, file in enumerate(files) if i == 0 or file != files[i - 1]]
    return {
        "files": len(set(files)),
        "functions": len(files),
        "room changes": len(passed) - 1,
        "bounces": sum(a == c for a, c in zip(visits, visits[2:], strict=False)),
    }


def walks(tree: Tree) -> dict[str, dict[str, int]]:
    """measure, compare, check, and run until decided, on small files made here."""
    with tempfile.TemporaryDirectory() as name:
        here = Path(name)
        rows = [(i, i % 3, (i % 3 if i % 7 else (i + 1) % 3), (i % 3 if i % 5 else (i + 1) % 3)) for i in range(120)]
        for file, column in (("a.csv", 2), ("b.csv", 3)):
            lines = ["id,truth,prediction", *(f"{row[0]},{row[1]},{row[column]}" for row in rows)]
            (here / file).write_text("\n".join(lines) + "\n", encoding="utf-8")
        scores = "".join(json.dumps({"id": r[0], "score": int(r[1] == r[2])}) + "\n" for r in rows)
        (here / "run.jsonl").write_text(scores, encoding="utf-8")
        cases = "".join(json.dumps({"id": r[0], "question": str(r[1]), "answer": str(r[1])}) + "\n" for r in rows)
        (here / "cases.jsonl").write_text(cases, encoding="utf-8")
        (here / "model.py").write_text("def answer(prompt):\n    return prompt\n", encoding="utf-8")
        (here / "task.toml").write_text(TASK, encoding="utf-8")
        run = ["run", "task.toml", "--model", "python:model:answer", "--name", "echo"]
        commands = [
            ("", ["record", "run.jsonl", "--task", "t", "--model", "m"]),
            ("", [*run, "--against", "none", "-o", "echo.jsonl"]),
            ("", ["record", "echo.jsonl", "--task", "t", "--model", "echo"]),
            ("measure", ["measure", "a.csv", "--metric", "accuracy,macro_f1"]),
            ("compare", ["compare", "a.csv", "b.csv"]),
            ("check", ["check", "run.jsonl", "--task", "t", "--model", "m"]),
            ("run", [*run, "--until", "decided", "--theta", "0.1"]),
        ]
        env = {**os.environ, "PYTHONPATH": str(tree.root.parent), "WALK_ROOT": f"{tree.root}{os.sep}"}
        argv = [sys.executable, "-c", TRACER, json.dumps(commands)]
        subprocess.run(argv, cwd=here, env=env, check=True, capture_output=True, stdin=subprocess.DEVNULL)
        return {name: walked(json.loads((here / f"{name}.walk").read_text(encoding="utf-8"))) for name, _ in commands if name}


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    asked.add_argument("--source", type=Path, default=SOURCE)
    asked.add_argument("--walks", action="store_true")
    asked.add_argument("--places", action="store_true", help="where the counted things are")
    given = asked.parse_args()
    tree = Tree(given.source.resolve())
    if given.walks:
        for name, found in walks(tree).items():
            print(f"{name:8}", ", ".join(f"{many} {what}" for what, many in found.items()), flush=True)
    try:
        counted = counts(tree)
    except subprocess.CalledProcessError as fault:
        sys.exit(f"This tree cannot be counted: {fault.stderr.strip().splitlines()[-1]}")
    for what, many in {**counted, **size(tree)}.items():
        print(f"{many:8,}  {what}")
    if given.places:
        print(*flags_of_one_metric(tree), sep="\n")
        for place in (
            *asked_by_name(tree, names_of_metrics(tree)),
            *base_asked(tree),
            *texts_compared(tree),
            *methods_asked_by_name(tree),
            *handlers_of_degenerate(tree),
        ):
            print(place)
        for place in (
            *flags_told_to_python(tree),
            *errors_in_slots(tree),
            *map(str, cycles(tree)),
            *formulas_in_questions(tree),
            *defaults_written_again(tree),
        ):
            print(place)
        for place in (
            *helped_again(tree),
            *uncalled(tree),
            *parts_read_by_key(tree),
            *own_json(tree),
            *other_verdicts(tree),
            *tests_of_no_module(tree),
            *(name for name, _ in untyped_fields(tree)),
        ):
            print(place)


if __name__ == "__main__":
    main()
