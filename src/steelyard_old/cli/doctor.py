"""`steelyard doctor`: what is installed, and what an extra would add."""

from __future__ import annotations

import platform
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from steelyard_old.cli.command import command, declared_flag
from steelyard_old.options.option import DEBUG, FORMAT
from steelyard_old.version import __version__

if TYPE_CHECKING:
    from steelyard_old.results.installation import Installation, InstalledPackage

# Package and the lowest version that is allowed, as in pyproject.toml; a test compares the two.
CORE = {"click": "8.2.1", "duckdb": "1.5", "filelock": "3.30", "jinja2": "3.1", "numpy": "1.26", "PyYAML": "6", "scipy": "1.13"}
EXTRAS = {
    "arrow": ("Arrow and Feather files, any zstd-compressed text file, faster Inspect logs", {"pyarrow": "16"}),
    "inspect": ("our intervals and checks inside Inspect evaluations", {"inspect-ai": "0.3.285"}),
    "json-schema": ("the json-schema scorer with a schema", {"jsonschema": "4.20"}),
    "learners": ("scikit-learn estimators, fitted on several cores", {"scikit-learn": "1.5"}),
    "mlflow": ("past runs logged to MLflow, tables of MLflow runs as sources", {"mlflow-skinny": "3"}),
    "pandas": ("pandas frames", {"pandas": "2.1.1"}),
    "plots": ("result.plot() as a matplotlib figure; without it, as SVG", {"matplotlib": "3.9"}),
    "polars": ("polars frames", {"polars": "1.3"}),
    "postgres": ("PostgreSQL tables, and a shared history in PostgreSQL", {"psycopg": "3.2.1"}),
    "serve": ("the dashboard (steelyard serve)", {"starlette": "0.40", "uvicorn": "0.30"}),
    "spark": ("Spark frames, and files on a Spark cluster", {"pyspark": "4"}),
}
PROGRAMS = {
    "git": "who changed a reference, and when (steelyard references history)",
    "java": "needed for --engine spark with --master; Spark Connect (--remote) does not need it",
}


@command()
@declared_flag(replace(FORMAT, choices=("text", "json"), default="text", help="Format of the answer."))
@declared_flag(DEBUG)
def doctor(format_: str, debug: bool) -> None:
    """Show what is installed, and what each extra would add.

    Missing extras are listed with the command that installs them. Please paste the output into bug reports: it contains
    only versions and the paths of two programs.

    \b
    Examples:
      steelyard doctor
      steelyard doctor --format json
    """
    from steelyard_old.render.formats import FORMATS

    click.echo(FORMATS[format_].write(examined()).rstrip("\n"))


def examined() -> Installation:
    """What there is: the machine, the core, the extras, the programs."""
    import shutil

    from steelyard_old.results.installation import Installation, InstalledExtra, InstalledProgram

    return Installation(
        steelyard=__version__,
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        core={name: _package(name, lowest) for name, lowest in CORE.items()},
        extras={
            extra: InstalledExtra(
                adds=adds,
                install=f"pip install 'steelyard[{extra}]'",
                packages={name: _package(name, lowest) for name, lowest in packages.items()},
            )
            for extra, (adds, packages) in EXTRAS.items()
        },
        programs={name: InstalledProgram(found=shutil.which(name), serves=serves) for name, serves in PROGRAMS.items()},
    )


def _package(name: str, lowest: str) -> InstalledPackage:
    from steelyard_old.results.installation import InstalledPackage

    version = _version(name)
    return InstalledPackage(version=version, lowest=lowest, ok=version is not None and _numbers(version) >= _numbers(lowest))


def _version(name: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    """The release of a version: 2.0.0rc1 is taken for 2.0.0, which is near enough to ask whether it is too old."""
    start = re.match(r"[\d.]+", version)
    return tuple(int(part) for part in start.group().split(".") if part) if start else ()
