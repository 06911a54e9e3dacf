"""`steelyard certify`: does everything we claim about coverage, error rates and precision still hold?"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard_old.atomic import write_text
from steelyard_old.cli.command import Given, ProgressLine, verb_command
from steelyard_old.options.certify import OPTIONS

if TYPE_CHECKING:
    from steelyard_old.results.certificate import Certificate

QUICK = "quick grid; --full tries many more settings (about half an hour on two cores) and can be interrupted and resumed"


@verb_command(OPTIONS)
def certify(given: Given) -> None:
    """Check that everything we claim about coverage, error rates and precision still holds.

    Recomputes the coverage of every interval, the size and power of every test, guard and stopping rule, and the
    accuracy of closed forms, on declared grids; compares each with its documented band, and each default with its
    alternatives. Exit code 0: every claim holds; 1: some claim does not, and the output names the setting.

    \b
    Examples:
      steelyard certify
      steelyard certify --only wilson
      steelyard certify --nightly --quiet -o certificate.txt
      steelyard certify --only 'a proportion: *' --format json
      steelyard certify --full -o certificate.md --csv certificate.csv
    """
    from steelyard_old.proof.certify import STATE
    from steelyard_old.proof.certify import certify as ask

    quick, quiet, state = given["quick"], given["quiet"], given["state"]
    state = Path(STATE) if state is None and not quick else state
    if quick and not quiet and not given["only"]:
        click.echo(QUICK, err=True)
    told = _SettingsDone(quiet)
    try:
        asked = {"jobs": os.cpu_count() or 1, **given.keywords(), "state": state}
        result = ask("quick" if quick else "full", progress=told, **asked)
    except KeyboardInterrupt:
        told.clear()
        if state is not None and not quiet:
            click.echo(f"finished settings are kept in {state}; run the same command again to continue", err=True)
        raise
    finally:
        told.clear()
    _write(result, given)
    given.leave(result)


def _write(result: Certificate, given: Given) -> None:
    """The answer, its figures beside it where it is a page of Markdown, and the times."""
    from steelyard_old.render.formats import format_of_ending

    format_, quiet = given["format_"], given["quiet"]
    if given["times"]:
        for claim in sorted(result.claims, key=lambda each: -each.seconds):
            click.echo(f"{claim.seconds:8.2f} s  {claim.name}", err=True)
    pages = [place for place in given["output"] if (format_ or format_of_ending(place.suffix)) == "markdown"]
    others = tuple(place for place in given["output"] if place not in pages)
    if others or not pages:
        given.answer(result, output=others)
    for place in pages:
        _write_page(result, place, quiet)


def _write_page(result: Certificate, output: Path, quiet: bool) -> None:
    """`page.md` and `page-FAMILY.svg`: many viewers of Markdown refuse pictures inside the text. The page comes last."""
    from steelyard_old.render.markdown import page_markdown
    from steelyard_old.render.pages.certificate import certificate_page, figure_names, figures

    drawn, names = figures(result), figure_names(result, output.stem)
    for family, svg in drawn.items():
        write_text(output.with_name(names[family]), svg + "\n")
    write_text(output, page_markdown(certificate_page(result, None, names)))
    if not quiet:
        click.echo(f"written to {output} and {len(drawn)} figure{'' if len(drawn) == 1 else 's'} beside it", err=True)


class _SettingsDone(ProgressLine):
    """How many settings are done, and how long the others will take."""

    def __call__(self, done: int, total: int, seconds: float) -> None:
        if not self.shows:
            return
        self.first = getattr(self, "first", done)  # what an earlier run had done says nothing about this one's speed
        here = done - self.first
        left = f", {_clock(seconds / here * (total - done))} left" if here else ""
        self.show(f"{done}/{total} settings{left}")


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d}"
