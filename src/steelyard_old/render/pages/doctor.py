"""The page of what is installed: each package with its version, or with the command that mends it."""

from __future__ import annotations

from steelyard_old.render.page import Heading, Page, PageTable, Section
from steelyard_old.results.installation import Installation, InstalledPackage


def doctor_page(found: Installation, _: object) -> Page:
    """What is installed, as a page."""
    core = [[name, _status(each, "MISSING: pip install steelyard", "pip install --upgrade steelyard")] for name, each in found.core.items()]
    extras = []
    for name, extra in found.extras.items():
        there = ", ".join(f"{package} {_status(each, 'not installed', extra.install)}" for package, each in extra.packages.items())
        extras.append([name, there, extra.adds])
        extras += [] if all(each.version for each in extra.packages.values()) else [["", extra.install, ""]]
    programs = [[name, program.found or "not found", program.serves] for name, program in found.programs.items()]
    return Page(
        word="doctor",
        about=found.headline,
        lead=found.headline,
        title="What is installed",
        sections=[
            _section("core", ["package", "version"], core),
            _section("extras, and what each adds", ["extra", "packages", "adds"], extras),
            _section("optional programs", ["program", "found", "used for"], programs),
        ],
    )


def _section(title: str, heads: list[str], rows: list[list[str]]) -> Section:
    return Section(
        title=title.capitalize(),
        blocks=[Heading(name=title), PageTable(heads=heads, rows=rows, columns="given", tight=True, noun="rows")],
    )


def _status(package: InstalledPackage, missing: str, remedy: str) -> str:
    if package.version is None:
        return missing
    return package.version if package.ok else f"{package.version} is older than {package.lowest}: {remedy}"
