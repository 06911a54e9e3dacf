"""`steelyard report`: render results as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from steelyard_old.atomic import write_text
from steelyard_old.cli.command import Given, pairs_given, verb_command
from steelyard_old.errors import UsageError
from steelyard_old.options.report import OPTIONS
from steelyard_old.render.terminal import harmless

TARGETS = ("card", "eval_results", "google_card", "every_eval_ever")


def cards_asked(given: Given) -> bool:
    """Whether any card is to be written; an option of cards alone would be a wish that nobody heard."""
    asked = any(given[name] is not None for name in TARGETS)
    alone = [name for name in ("model", "metric", "source_url", "about", "card_answers") if given[name]]
    if alone and not asked:
        raise UsageError(
            f"--{alone[0].replace('_', '-')} has no effect without a card.",
            got="no card to write",
            need="one of " + ", ".join(f"--{name.replace('_', '-')}" for name in TARGETS),
            hint="add one of " + ", ".join(f"--{name.replace('_', '-')}" for name in TARGETS),
        )
    if given["card_answers"] and given["card"] is None:
        raise UsageError("--card-answers is for the card of --card.", got="no --card", need="--card README.md", hint="add --card README.md")
    return asked


def files_of(words: Sequence[Path]) -> list[Path]:
    """The files of results, without the names that their data were given: NAME=FILE."""
    return [_split(word)[1] for word in words]


def _split(word: Path) -> tuple[str | None, Path]:
    """A file that is there is meant as it is written, whatever signs its name has; so is an address, though it cannot be read."""
    name, equals, path = str(word).partition("=")
    named = equals and name and path and ":/" not in name and not word.exists()
    return (name, Path(path)) if named else (None, word)


def write_cards(words: Sequence[Path], given: Given) -> None:
    """Write every card that was asked for out of files of results, FILE or NAME=FILE; then say what is left to people."""
    from steelyard_old.questions.report import card
    from steelyard_old.results.reading import read_result

    results = [(name or card.data_of(result, path), result) for name, path in map(_split, words) for result in [read_result(path)]]
    told = card.card_details(results, model=given["model"], task=given["task_type"], source=given["source_url"])
    written = []
    if given["card"] is not None:
        written.append(card.update_card(given["card"], told, card.card_answers(given["card_answers"])))
    if given["eval_results"] is not None:
        written.append(card.write_eval_results(given["eval_results"], told, metric=given["metric"], task_id=given["task_id"]))
    if given["google_card"] is not None:
        written.append(card.write_google_card(given["google_card"], told))
    if given["every_eval_ever"] is not None:
        written += card.write_every_eval_ever(given["every_eval_ever"], told, _about(given))
    for each in written:
        if not given["quiet"]:
            click.echo(harmless(f"{each.done} {each.path}"), err=True)
            for warning in each.warnings:
                click.echo(harmless(f"warning: {warning}"), err=True)


def _about(given: Given) -> dict[str, str]:
    """What the record is about."""
    about = pairs_given(given["about"], "--about")
    if "model" in about and given["model"] is not None:
        raise UsageError(
            "The model was given twice: --model and --about model=NAME.", got="model twice", need="--model or --about model=NAME, not both"
        )
    return about


@verb_command(OPTIONS, answers=None)
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
def report(results: tuple[Path, ...], given: Given) -> None:
    """Render results as one HTML page: the verdict first, then pictures, items, methods.

    RESULTS are files that any command wrote with --format json. The page is one file, needs no network, and can be
    printed. `--format html` of any command writes the same page directly.

    \b
    Examples:
      steelyard check new.jsonl --task gsm8k --model m --format json -o verdict.json
      steelyard report verdict.json -o report.html
      steelyard compare a.csv b.csv --flips-out flips.csv --format json -o c.json
      steelyard report c.json --flips flips.csv --title "Release 2" -o report.html
      steelyard report digits=measured.json --card README.md --model lab/digits
    """
    if cards_asked(given):
        write_cards(results, given)
        if given["output"] is None and not given["open_"]:
            return  # a card was asked for, and no page
    from steelyard_old.questions.report.report import report as page

    made = page(*files_of(results), **given.keywords())
    write_page(given["output"] or Path("report.html"), made, quiet=given["quiet"], open_=given["open_"])


def write_page(target: Path, page: str, *, quiet: bool, open_: bool) -> None:
    """The page in its file, and in a browser if that was asked for."""
    write_text(target, page)
    if not quiet:
        click.echo(f"written to {target}", err=True)
    if open_:
        import webbrowser

        webbrowser.open(target.resolve().as_uri())
