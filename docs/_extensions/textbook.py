"""The docstrings as a textbook: public names, estimators with formula, assumptions and sources, and the bibliography.

Our docstrings are plain text, so that `help()` reads well. Here they become reStructuredText: what RST would take for markup
is escaped, words in backticks become code, and `Formula:`, `Assumes:`, `Undefined:`, `Reference:` become a definition list.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import steelyard

BIBLIOGRAPHY = Path(__file__).parents[2] / "references.bib"
PARTS = "Formula|Assumes and Undefined|Assumes|Undefined|Claims|Model|Method|Reference"
PART = re.compile(rf"(?:^|(?<=[.;)] ))({PARTS}|undefined): ")
KEY = re.compile(r"\b(?:[A-Z][A-Za-z]+|van[A-Z][a-z]+)(?:19|20)\d\d[a-z]?\b")
# The modules of infer/ by what they are for; one that is not listed stands at the end.
ROOMS = {
    "One system": "intervals resampling",
    "Two systems on the same items": "paired",
    "Belief": "posterior",
    "How much data": "planning",
    "Stopping early": "sequential",
    "A series of runs": "series",
    "Learning algorithms": "learning",
}
HOMES = {f"steelyard.{home}.{name}": name for name, home in steelyard._HOME.items()}


def escaped(text: str) -> str:
    """Plain text as RST: `code` in code font, keys of the bibliography as links, everything else as it stands."""
    pieces = re.split(r"(`+[^`]+`+)", text)
    return "".join(f"``{piece.strip('`')}``" if piece.startswith("`") else _linked(piece) for piece in pieces)


def _linked(text: str) -> str:
    known, done, at = bibliography(), "", 0
    for found in KEY.finditer(text):
        if found[0] in known:
            done += _quiet(text[at : found.start()]) + rf"\ :ref:`{found[0]} <{label(found[0])}>`\ "
            at = found.end()
    return done + _quiet(text[at:])


def _quiet(text: str) -> str:
    return re.sub(r"([\\*|_`<>\[\]])", r"\\\1", text)


def textbook(docstring: str) -> list[str]:
    """A docstring, paragraph by paragraph, as lines of RST."""
    lines: list[str] = []
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(docstring)):
        if paragraph.startswith(">>>"):
            lines += [*paragraph.splitlines(), ""]
        elif re.match(r"\s", paragraph) or re.search(r"^ ", paragraph, re.M):  # columns, drawings, lists: as they stand
            lines += ["::", "", *(f"    {line}" for line in paragraph.splitlines()), ""]
        else:
            lines += _parts(" ".join(paragraph.split()))
    return lines


def _parts(paragraph: str) -> list[str]:
    start, *rest = PART.split(paragraph)
    lines = [escaped(start.strip()), ""] if start.strip() else []
    for name, text in zip(rest[::2], rest[1::2], strict=True):
        body = [f"    {escaped(text.strip())}"]
        if name in ("Formula", "Model"):  # as the docstring writes it, in a style of its own
            body = ["    .. container:: formula", "", f"    {body[0]}"]
        lines += [name.capitalize(), *body, ""]
    return lines


def bibliography(kept: dict[str, dict[str, str]] = {}) -> dict[str, dict[str, str]]:  # noqa: B006  read once
    """The entries of references.bib, by key, as they are ordered there."""
    if not kept:
        for key, body in re.findall(r"^@\w+\{([^,]+),\n(.*?)^\}", BIBLIOGRAPHY.read_text(encoding="utf-8"), re.M | re.S):
            fields = re.findall(r"^\s*(\w+)\s*=\s*\{(.*?)\},?$", body, re.M)
            kept[key] = {name: _without_tex(value) for name, value in fields}
    return kept


def _without_tex(value: str) -> str:
    for tex, plain in (("--", "\N{EN DASH}"), ("~", " "), (r"\&", "&"), ("{", ""), ("}", "")):
        value = value.replace(tex, plain)
    return value


def label(key: str) -> str:
    return f"source-{key.lower()}"


def described(entry: dict[str, str]) -> str:
    """Author (year). Title. Where it appeared, and its address if it has one."""
    where = entry.get("journal") or entry.get("booktitle") or entry.get("publisher") or entry.get("howpublished") or ""
    for name, before in (("volume", " "), ("number", ", no. "), ("pages", ", ")):
        where += before + entry[name] if name in entry else ""
    address = entry.get("url") or (f"https://doi.org/{entry['doi']}" if "doi" in entry else "")
    told = [f"{entry['author']} ({entry['year']})", entry["title"], where, entry.get("note", "")]
    return " ".join(escaped(part).strip().rstrip(".") + "." for part in told if part) + (f" {address}" if address else "")


class Written(SphinxDirective):
    """A directive that writes RST and has it read."""

    def run(self) -> list[nodes.Node]:
        return self.parse_text_to_nodes("\n".join(self.lines()), allow_section_headings=True)

    def lines(self) -> list[str]:
        raise NotImplementedError


def heading(text: str, under: str) -> list[str]:
    return [text, under * len(text), ""]


class PublicNames(Written):
    """Every name of `steelyard.__all__`: the questions, what they answer with, the errors."""

    def lines(self) -> list[str]:
        rooms: dict[str, list[str]] = {"Questions": [], "Values": [], "Errors": []}
        for name in steelyard.__all__:
            thing = getattr(steelyard, name)
            if inspect.isfunction(thing):
                rooms["Questions"] += [f".. autofunction:: steelyard.{name}", ""]
            elif inspect.isclass(thing) and issubclass(thing, Exception):
                rooms["Errors"] += [f".. autoexception:: steelyard.{name}", "    :show-inheritance:", ""]
            elif inspect.isclass(thing):
                rooms["Values"] += [f".. autoclass:: steelyard.{name}", "    :members:", ""]
        return [line for title, found in rooms.items() for line in (*heading(title, "-"), *found)]


class Estimators(Written):
    """Every public function and class of `infer/` that names its source, module by module."""

    def lines(self) -> list[str]:
        import steelyard.infer

        there = [info.name for info in pkgutil.walk_packages(steelyard.infer.__path__, "steelyard.infer.") if not info.ispkg]
        folder = {name: name.split(".")[2] for name in there}
        rooms = {title: [name for name in there if folder[name] in names.split()] for title, names in ROOMS.items()}
        rooms["Other"] = sorted(set(there).difference(*rooms.values()))
        lines: list[str] = []
        for title, names in rooms.items():
            found = [line for name in names for line in _estimators(name)]
            lines += [*heading(title, "-"), *found] if found else []
        return lines


def _estimators(name: str) -> list[str]:
    module = importlib.import_module(name)
    public = [each for each, thing in vars(module).items() if _cites(thing, module.__name__) and not each.startswith("_")]
    lines = [*heading(name.rpartition(".")[2].replace("_", " "), "~"), *textbook(module.__doc__ or "")] if public else []
    for each in public:
        kind = "class" if inspect.isclass(getattr(module, each)) else "function"
        lines += [f".. auto{kind}:: {module.__name__}.{each}", *(["    :members:"] if kind == "class" else []), ""]
    return lines


def _cites(thing: Any, home: str) -> bool:
    if not (inspect.isfunction(thing) or inspect.isclass(thing)) or thing.__module__ != home:
        return False
    return not bibliography().keys().isdisjoint(KEY.findall(thing.__doc__ or ""))


class Catalogues(Written):
    """What can be asked for by name, from the objects themselves: metrics, methods, columns, formats, scorers, logs, keys."""

    def lines(self) -> list[str]:
        lines: list[str] = []
        for title, found in catalogues().items():
            lines += heading(title, "-")
            for name, says in found.items():
                lines += [f"``{name}``", f"    {escaped(says)}", ""]
        return lines


def catalogues() -> dict[str, dict[str, str]]:
    """Name and sentence of every object of every catalogue."""
    from steelyard.estimate.difference_tests import TESTS
    from steelyard.estimate.named_intervals import INTERVALS, intervals, intervals_of_differences
    from steelyard.evaluate.scorers.catalogue import SCORERS
    from steelyard.infer.intervals.proportion import METHODS
    from steelyard.infer.sequential.stopping import RULES
    from steelyard.items import ROLES
    from steelyard.metrics.catalogue import CATALOGUE
    from steelyard.read.logs.found import FORMATS
    from steelyard.reference import entry
    from steelyard.reference.config import TIERS
    from steelyard.render.formats import FORMATS as WRITTEN

    shares = {name: (inspect.getdoc(method) or "").split("\n\n")[0] for name, method in METHODS.items()}
    differences = intervals_of_differences()
    return {
        "Metrics": {metric.shown: f"{metric.says}." for metric in CATALOGUE.values()},
        "Intervals of one system": {name: shares[name] if name in shares else f"{INTERVALS[name].says}." for name in intervals()},
        "Intervals of a difference": {name: f"{INTERVALS[name].says}." for names in differences.values() for name in names},
        "Tests of a difference": {name: f"{test.says}." for name, test in TESTS.items()},
        "Columns": {name: _role(role) for name, role in ROLES.items()},
        "Formats": {name: (inspect.getdoc(form.write) or "").split("\n\n")[0] for name, form in WRITTEN.items()},
        "Stopping rules": {name: f"{rule.says}." for name, rule in RULES.items()},
        "Scorers": {name: (inspect.getdoc(scorer) or "").split("\n\n")[0] for name, scorer in SCORERS.items()},
        "Tiers of a suite": {name: f"{tier.says}." for name, tier in TIERS.items()},
        "Keys of a reference": {each.name: each.metadata["says"] for each in fields(entry.Entry) if "says" in each.metadata},
        "Logs": {form.tool: f"{form.give}." for form in FORMATS},
    }


def _role(role: Any) -> str:
    """What a column is, and by which names it is found."""
    found = f"Found by the names {', '.join(f'`{name}`' for name in role.known)}." if role.known else "Never found by its name."
    return f"{role.says} {found}"


class Bibliography(Written):
    """references.bib, each entry under the key by which docstrings cite it."""

    def lines(self) -> list[str]:
        lines: list[str] = []
        for key, entry in bibliography().items():
            lines += [f".. _{label(key)}:", "", key, f"    {described(entry)}", ""]
        return lines


def read_as_textbook(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    lines[:] = textbook("\n".join(lines))


def public_name(app: Sphinx, env: Any, node: Any, shown: nodes.Node) -> nodes.Node | None:
    """A type in a signature leads to its public name. One of another project, or of ours but not public, is no link."""
    if node.get("refdomain") != "py":
        return None
    found = HOMES.get(node["reftarget"]) or (node["reftarget"] if node["reftarget"] in steelyard.__all__ else None)
    if found is None:
        return shown
    python = env.get_domain("py")
    return python.resolve_xref(env, node["refdoc"], app.builder, "obj", f"steelyard.{found}", node, shown)


def setup(app: Sphinx) -> dict[str, Any]:
    app.setup_extension("sphinx.ext.autodoc")
    app.add_directive("public-names", PublicNames)
    app.add_directive("estimators", Estimators)
    app.add_directive("bibliography", Bibliography)
    app.add_directive("catalogues", Catalogues)
    app.connect("autodoc-process-docstring", read_as_textbook)
    app.connect("missing-reference", public_name)
    return {"parallel_read_safe": True, "version": "1"}
