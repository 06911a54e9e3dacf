"""`steelyard compare`: is one better than the other? Three or more: a leaderboard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from steelyard.cli.command import (
    INPUT,
    answer,
    command,
    common,
    flags,
    fraction,
    memory_given,
    refuse_given,
    seed_of,
    source_given,
    split,
    told_while_reading,
)
from steelyard.declared.compare import OPTIONS
from steelyard.errors import UsageError


@command(short_help="is one better than the other? (three or more: a leaderboard)")
@click.argument("sources", type=INPUT, nargs=-1)
@flags(*OPTIONS)
@common
def compare(sources: tuple[str, ...], **options: Any) -> None:
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
    with told_while_reading(options["quiet"]):
        result = _ask(sources, options)
    write_answer(result, options)


def write_answer(result: Any, options: dict[str, Any]) -> None:
    """The answer, and the diagram of a leaderboard if it was asked for."""
    if options["cd_out"]:
        _write_diagram(result, options["cd_out"])
    shown: dict[str, Any] = {"details": True} if options["details"] else {}
    answer(result, format_=options["format_"], output=options["output"], no_color=options["no_color"], quiet=options["quiet"], **shown)


def _ask(sources: tuple[str, ...], options: dict[str, Any]) -> Any:
    given = [
        name
        for name, there in (
            ("sources", bool(sources)),
            ("--flips", options["flips"]),
            ("--counts", options["counts"]),
            ("--wins", options["wins"]),
        )
        if there
    ]
    if len(given) != 1:
        raise UsageError(
            "cannot tell what to compare",
            got=" and ".join(given) if given else "no data",
            need="two or more sources, or --flips, or --counts twice, or --wins",
            hint="steelyard compare --help",
        )
    from steelyard.questions.compare.compare import compare, compare_or_rank, compare_preferences

    if not sources:
        _refuse_forgotten(options)
    if options["wins"]:
        return compare_preferences(*_numbers(options["wins"], 3, "--wins", "W,T,L"), names=_names(options), **how_sure(options))
    of_two = {name: options[name] for name in ("design", "alternative")}
    if options["flips"] or options["counts"]:
        table = {name: options[name] for name in ("metric", "positive", "correction")}
        return compare(*_tallies(options), names=_names(options), **table, **of_two, **how_sure(options))
    return compare_or_rank(sources, many=None, flips_out=options["flips_out"], **of_two, **about_items(options))


def how_sure(options: dict[str, Any]) -> dict[str, Any]:
    """What is asked of any comparison, of bare counts too."""
    names = ("interval", "test", "margin", "confidence_level", "side", "draws", "prior", "prior_scale")
    return {**{name: options[name] for name in names}, "seed": seed_of(options["seed"])}


def about_items(options: dict[str, Any]) -> dict[str, Any]:
    """What is asked of systems whose items are there, two or many."""
    return {
        **{name: options[name] for name in ("metric", "positive", "correction", "unmatched", "missing", "absent")},
        "names": _names(options),
        "labels": split((options["labels"],)) if options["labels"] is not None else None,
        "by": split(options["by"]) or None,
        "range": options["range"] or None,
        "memory": memory_given(options),
        **source_given(options),
        **how_sure(options),
    }


def _names(options: dict[str, Any]) -> list[str] | None:
    return split((options["names"],)) if options["names"] else None


def _refuse_forgotten(options: dict[str, Any]) -> None:
    """Bare counts have no items: an option about them is a mistake, not something to pass over."""
    counted = ("flips", "counts", "wins", "interval", "test", "alternative", "margin", "confidence_level", "side", "draws", "seed")
    believed = ("prior", "prior_scale")
    table = () if options["wins"] else ("metric", "positive", "design")
    refuse_given(
        (*counted, *believed, "names", "output", "details", *table),
        "cannot use these options with bare counts",
        need="sources of items",
        hint="leave them out",
    )


def _tallies(options: dict[str, Any]) -> tuple[Any, ...]:
    from steelyard.tally.counts import Counts
    from steelyard.tally.joint import JointCounts

    if options["flips"]:
        both, lost, gained, neither = _numbers(options["flips"], 4, "--flips", "both,baseline only,candidate only,neither")
        return (JointCounts.flips(both=both, baseline_only=lost, candidate_only=gained, neither=neither),)
    if len(options["counts"]) != 2:
        raise UsageError("cannot compare", got=f"{len(options['counts'])} --counts", need="two: the baseline's and the candidate's")
    return tuple(Counts.of(*fraction(text)) for text in options["counts"])


def _numbers(text: str, many: int, option: str, shape: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != many or not all(part.isdecimal() for part in parts):
        raise UsageError(f"cannot read {option}", got=repr(text), need=f"{many} whole numbers: {shape}")
    return [int(part) for part in parts]


def _write_diagram(result: Any, path: Path) -> None:
    from steelyard.atomic import write_text
    from steelyard.render.pages.leaderboard import critical_difference_svg
    from steelyard.results.comparison import Leaderboard

    svg = critical_difference_svg(result) if isinstance(result, Leaderboard) else ""
    if not svg:
        raise UsageError("cannot draw a critical-difference diagram", got="no ranks", need="three or more systems and --by COLUMN")
    write_text(path, svg)
