"""`steelyard report`: results as one HTML page, to look at and to pass on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from steelyard.atomic import write_text
from steelyard.cli.card_options import cards_asked, files_of, write_cards
from steelyard.cli.command import command
from steelyard.cli.options import flags
from steelyard.declared.report import OPTIONS


@command(short_help="results as one HTML page, to look at and to pass on")
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@flags(*OPTIONS)
def report(results: tuple[Path, ...], **options: Any) -> None:
    """Results as one HTML page: the verdict first, then pictures, items, methods.

    RESULTS are files that any command wrote with --format json. The page is one file, needs no network, and can be
    printed. `--format html` of any command makes the same page at once.

    \b
    Examples:
      steelyard check new.jsonl --task gsm8k --model m --format json -o verdict.json
      steelyard report verdict.json -o report.html
      steelyard compare a.csv b.csv --flips-out flips.csv --format json -o c.json
      steelyard report c.json --flips flips.csv --title "Release 2" -o report.html
      steelyard report digits=measured.json --card README.md --model lab/digits
    """
    if cards_asked(options):
        write_cards(results, options)
        if options["output"] is None and not options["open_"]:
            return  # a card was asked for, and no page
    from steelyard.questions.report.report import report as page

    target = options["output"] or Path("report.html")
    made = page(*files_of(results), title=options["title"], flips=options["flips"])
    write_page(target, made, quiet=options["quiet"], open_=options["open_"])


def write_page(target: Path, page: str, *, quiet: bool, open_: bool) -> None:
    """The page in its file, and in a browser if that was asked for."""
    write_text(target, page)
    if not quiet:
        click.echo(f"written to {target}", err=True)
    if open_:
        import webbrowser

        webbrowser.open(target.resolve().as_uri())
