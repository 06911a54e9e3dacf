"""`steelyard split`: which rows are for training and which for testing, and do finished parts share any?"""

from __future__ import annotations

import click

from steelyard.cli.command import INPUT, Given, refuse_given, told_while_reading, verb_command
from steelyard.declared.split import CHECK_OPTIONS, COMMON_OPTIONS, OPTIONS, SPLIT_OPTIONS
from steelyard.errors import UsageError
from steelyard.outputs import refuse_overwriting


@verb_command(OPTIONS, short_help="split data into train, dev and test; check that they share nothing", output=False)
@click.argument("data", nargs=-1, required=True, type=INPUT)
def split(data: tuple[str, ...], given: Given) -> None:
    """Split data into train, dev and test, or check that finished parts share no items.

    The part of a row follows from the hash of its id and the seed alone, so it never changes when rows are added; the shares
    are reached roughly. The rows are copied as they are written, to train.csv, dev.csv and test.csv beside DATA or in -o DIR.

    With --check, DATA are two parts or more. Exit code 0: they share nothing, 1: they share ids, groups, or equal or similar
    texts, 2: nothing was found, but there were too many similar texts to compare them all, 3: error.

    \b
    Examples:
      steelyard split data.csv --train .8 --dev .1 --test .1
      steelyard split data.jsonl --train .9 --test .1 --group author -o parts
      steelyard split data.parquet --train .8 --test .2 --stratify label
      steelyard split data.csv --train .8 --test .2 --by-time date --dry-run
      steelyard split --check train.csv test.csv
      steelyard split --check train.csv test.csv --text question --threshold .7
    """
    refuse_overwriting({"--answer": given["answer_"]}, data)
    common = [option.name for option in COMMON_OPTIONS]
    if given["check"]:
        allowed = ("data", "check", "answer_", *common, *(option.name for option in CHECK_OPTIONS))
        refuse_given(allowed, "--check")
        from steelyard.questions.split.check_split import check_split

        with told_while_reading(given["quiet"]):
            found = check_split(*data, **given.keywords())
        given.answer(found, output=given["answer_"])
        given.leave(found)
    allowed = ("data", "answer_", *common, *(option.name for option in SPLIT_OPTIONS))
    refuse_given(allowed, "a new split", hint="add --check, or leave them out")
    if len(data) != 1:
        hint = "steelyard split --check checks finished parts"
        raise UsageError("cannot split several files", got=f"{len(data)}", need="one file", hint=hint)
    from steelyard.questions.split.split import split as ask

    keywords = given.keywords()
    if "parts" in keywords:
        keywords["parts"] = {name: _share(name, share) for name, share in keywords["parts"].items()}
    with told_while_reading(given["quiet"]):
        made = ask(data[0], **keywords)
    given.answer(made, output=given["answer_"])


def _share(name: str, share: str) -> float | str:
    """A number if it is one; whatever else it is, the question refuses."""
    try:
        return float(share)
    except ValueError:
        return share
