"""`steelyard split`: which rows are for training and which for testing, and do finished parts share any?"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path

import click

from steelyard_old.cli.command import INPUT, Given, reading_progress, refuse_given, verb_command
from steelyard_old.errors import UsageError
from steelyard_old.options.split import CHECK_OPTIONS, COMMON_OPTIONS, OPTIONS, SPLIT_OPTIONS
from steelyard_old.outputs import refuse_overwriting


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
        from steelyard_old.questions.split.check_split import check_split

        with reading_progress(given["quiet"]):
            found = check_split(*data, **given.keywords())
        given.answer(found, output=given["answer_"])
        given.leave(found)
    allowed = ("data", "answer_", *common, *(option.name for option in SPLIT_OPTIONS))
    refuse_given(allowed, "a new split", hint="add --check, or leave them out")
    if len(data) != 1:
        hint = "steelyard split --check checks finished parts"
        raise UsageError(f"Only one file can be split at a time, not {len(data)}.", got=f"{len(data)}", need="one file", hint=hint)
    from steelyard_old.questions.split.split import split as ask

    keywords = given.keywords()
    if not given["dry_run"]:
        names = [*(name for name in ("train", "dev", "test") if name in keywords), *keywords.get("parts", ())]
        _refuse_answer_over_part(data[0], names, given["output"], given["answer_"])
    with reading_progress(given["quiet"]):
        made = ask(data[0], **keywords)
    given.answer(made, output=given["answer_"])


def _refuse_answer_over_part(data: str, names: Collection[str], output: str | None, answers: Sequence[Path]) -> None:
    """The answer comes after the parts, so it must not have the name of one."""
    from steelyard_old.questions.split.writing import ENDINGS, places_of
    from steelyard_old.read.files.paths import open_file, split_name

    path = split_name(data)[1]
    if not any(answer.stem in names for answer in answers):
        return
    if path == "-":  # of a format that is not known before it is read
        places = [Path(output or "") / f"{name}{ending}" for name in names for ending in ENDINGS.values()]
    elif os.path.isfile(path) and (file := open_file(path)).format in ENDINGS:
        places = places_of(list(names), file, output, update=True)
    else:
        return  # the question refuses it
    refuse_overwriting({"a part": places, "--answer": answers}, ())
