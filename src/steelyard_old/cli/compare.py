"""`steelyard compare`: is one better than the other? Three or more: a leaderboard."""

from __future__ import annotations

from typing import Any

import click

from steelyard_old.cli.command import INPUT, LOGS, Given, fraction, reading_progress, refuse_given, verb_command
from steelyard_old.errors import UsageError
from steelyard_old.options.compare import BARE, OF_TABLES, OPTIONS


@verb_command(OPTIONS, catalogues=(LOGS,))
@click.argument("sources", type=INPUT, nargs=-1)
def compare(sources: tuple[str, ...], given: Given) -> None:
    """Is the candidate better than the baseline? The difference is always candidate minus baseline.

    SOURCES are two or more runs on the same items (or one long source with a model column), as for measure. Items are
    paired by id.

    \b
    Examples:
      steelyard compare old.jsonl new.jsonl
      steelyard compare a.csv b.csv --metric macro_f1 --test bootstrap --alternative greater
      steelyard compare a.csv b.csv c.csv --by task
      steelyard compare out/model-a out/model-b --filter strict-match
      steelyard compare --engine spark --remote sc://host 's3a://bucket/a/*.parquet' 's3a://bucket/b/*.parquet'
      steelyard compare --flips 790,58,76,76
      steelyard compare --counts 56/70 --counts 48/80
      steelyard compare --wins 40,12,28
      steelyard compare a.csv b.csv --margin .01
    """
    write_answer(_ask(sources, given), given)


def write_answer(result: Any, given: Given) -> None:
    """The answer, with standard errors if they were asked for."""
    given.answer(result, **({"details": True} if given["details"] else {}))


def _ask(sources: tuple[str, ...], given: Given) -> Any:
    bare = [f"--{name}" for name in ("flips", "counts", "wins") if given[name]]
    named = [*(["sources"] if sources else []), *bare]
    if len(named) != 1:
        raise UsageError(
            "Nothing to compare: give two or more sources, or --flips, or --counts twice, or --wins."
            if not named
            else f"Give one kind of data to compare, not {' and '.join(named)}.",
            got=" and ".join(named) if named else "no data",
            need="two or more sources, or --flips, or --counts twice, or --wins",
            hint="steelyard compare --help",
        )
    from steelyard_old.questions.compare.compare import compare, compare_or_rank, compare_preferences, write_critical_differences

    if sources:
        with reading_progress(given["quiet"]):
            found = compare_or_rank(*sources, **given.keywords())
        if given["cd_out"]:
            write_critical_differences(found, given["cd_out"])
        return found
    allowed = (*BARE, *(() if given["wins"] else OF_TABLES))
    refuse_given(allowed, "bare counts")
    if given["wins"]:
        return compare_preferences(*_numbers(given["wins"], 3, "--wins", "W,T,L"), **given.keywords())
    return compare(*_tallies(given), **given.keywords())


def _tallies(given: Given) -> tuple[Any, ...]:
    from steelyard_old.tally.counts import Counts
    from steelyard_old.tally.joint import JointCounts

    if given["flips"]:
        both, lost, gained, neither = _numbers(given["flips"], 4, "--flips", "both,baseline only,candidate only,neither")
        return (JointCounts.flips(both=both, baseline_only=lost, candidate_only=gained, neither=neither),)
    if len(given["counts"]) != 2:
        raise UsageError(
            f"--counts must be given twice, for the baseline and the candidate; got {len(given['counts'])}.",
            got=f"{len(given['counts'])} --counts",
            need="two: the baseline's and the candidate's",
        )
    return tuple(Counts.of(*fraction(text)) for text in given["counts"])


def _numbers(text: str, many: int, option: str, shape: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != many or not all(part.isdecimal() for part in parts):
        raise UsageError(
            f"{option} must be {many} whole numbers ({shape}), not {text!r}.", got=repr(text), need=f"{many} whole numbers: {shape}"
        )
    return [int(part) for part in parts]
