"""`steelyard doctor`: what is installed, and what an extra would add."""

from __future__ import annotations

import platform

import click

from steelyard.version import __version__

CORE = ("click", "duckdb", "jinja2", "numpy", "PyYAML", "scipy")
EXTRAS = {
    "arrow": ("pyarrow",),
    "learners": ("scikit-learn",),
    "pandas": ("pandas",),
    "plots": ("matplotlib",),
    "polars": ("polars",),
    "postgres": ("psycopg",),
    "serve": ("starlette", "uvicorn"),
    "spark": ("pyspark",),
}
SERVES = {
    "arrow": "Arrow and Feather files, and quicker Inspect logs",
    "learners": "scikit-learn's estimators",
    "pandas": "pandas frames",
    "plots": "result.plot() as a matplotlib figure; without it, as SVG",
    "polars": "polars frames",
    "postgres": "tables of PostgreSQL",
    "serve": "the dashboard, steelyard serve",
    "spark": "frames of Spark, and files on a cluster",
}


@click.command(short_help="what is installed, and what an extra would add")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def doctor(debug: bool) -> None:
    """What is installed, and what an extra would add.

    \b
    Example:
      steelyard doctor
    """
    click.echo(f"steelyard {__version__}, Python {platform.python_version()} on {platform.system()} {platform.machine()}")
    for name in CORE:
        click.echo(f"  {name:<12} {_version(name) or 'MISSING: pip install steelyard'}")
    for extra, packages in EXTRAS.items():
        for name in packages:
            found = _version(name)
            click.echo(
                f"  {name:<12} {found or 'not installed'}" + ("" if found else f"; pip install 'steelyard[{extra}]' adds {SERVES[extra]}")
            )


def _version(name: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return None
