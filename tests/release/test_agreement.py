"""What is written down about a release in several places is the same in all of them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

from steelyard.version import __version__

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_citation_is_about_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == __version__
    assert citation["license"] == PROJECT["license"]
    assert citation["keywords"] == PROJECT["keywords"]
    assert [author["name"] for author in citation["authors"]] == [author["name"] for author in PROJECT["authors"]]
    assert {"message", "title", "type"} <= citation.keys()  # what the schema requires, and what kind of work it is


def pinned(name: str) -> dict[str, tuple[int, ...]]:
    """Package -> release, of a file of constraints."""
    found = re.findall(r"^([\w-]+)==(\d+(?:\.\d+)*)", (ROOT / name).read_text(), re.MULTILINE)
    return {package.lower().replace("_", "-"): tuple(int(part) for part in version.split(".")) for package, version in found}


def bounds() -> dict[str, tuple[int, ...]]:
    """Package -> the lowest release that is allowed, of the core, the extras and the tests; not of tools around them."""
    extras = [lines for name, lines in PROJECT["optional-dependencies"].items() if name not in ("dev", "docs", "bench")]
    lines = PROJECT["dependencies"] + [line for extra in extras for line in extra]
    found = [re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", line) for line in lines]
    return {match[1].lower().replace("_", "-"): tuple(int(part) for part in match[2].split(".")) for match in found if match}


def same(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    longer = max(len(one), len(other))
    return one + (0,) * (longer - len(one)) == other + (0,) * (longer - len(other))


def test_the_lowest_versions_are_those_that_were_tried() -> None:
    lowest, allowed = pinned("constraints-lowest.txt"), bounds()
    tried = {name for name in allowed if name in lowest}
    assert {name: lowest[name] for name in tried if not same(lowest[name], allowed[name])} == {}
    core_and_extras = {re.match(r"[\w-]+", line)[0].lower() for line in PROJECT["dependencies"]}  # type: ignore[index]
    assert core_and_extras <= tried


def test_what_was_tested_is_allowed() -> None:
    tested, allowed = pinned("constraints.txt"), bounds()
    assert {name for name, least in allowed.items() if name in tested and tested[name] < least} == set()
    for line in PROJECT["dependencies"]:
        assert re.match(r"[\w-]+", line)[0].lower() in tested  # type: ignore[index]


def test_the_page_on_installing_names_every_extra_with_its_packages() -> None:
    page = (ROOT / "docs" / "installing.md").read_text()
    table = re.findall(r"^\| `([\w-]+)` \| (.+) \| ([\w, -]+) \|$", page, re.MULTILINE)
    for_users = {name: lines for name, lines in PROJECT["optional-dependencies"].items() if name not in ("test", "dev", "docs", "bench")}
    wanted = {name: {re.match(r"[\w-]+", line)[0] for line in lines} for name, lines in for_users.items()}  # type: ignore[index]
    assert {name: set(packages.split(", ")) for name, _, packages in table} == wanted
    assert {name for name in ("test", "dev", "docs", "bench") if f"`{name}`" not in page} == set()
