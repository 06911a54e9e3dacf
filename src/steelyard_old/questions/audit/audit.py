"""What can two published scores show? Only their numbers of items are known, not which items each system got right."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from itertools import combinations
from pathlib import Path

from steelyard_old.errors import AmbiguityError, UsageError
from steelyard_old.infer.normal import wilson
from steelyard_old.infer.paired.any_pairing import any_pairing
from steelyard_old.infer.unpaired import two_proportion_z
from steelyard_old.options.audit import OPTIONS
from steelyard_old.options.option import checked, documented, unknown_word, whole
from steelyard_old.read.published import PublishedSet, read_published, score_text
from steelyard_old.render.digits import p_text
from steelyard_old.results import signature
from steelyard_old.results.audit import Audit, AuditedPair, AuditedScore
from steelyard_old.results.measurement import Interval
from steelyard_old.tally.rounding import count_cut_off, counts_between

Score = float | str | Decimal
Scores = Mapping[str, Score] | Sequence[Score] | str | os.PathLike[str]
SCALES = ("percent", "fraction")
NEED = "a share of right items, such as 87.4 or 0.874"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@documented(
    OPTIONS,
    "an Audit",
)
def audit(
    scores: Scores, *, n: int | None = None, size: str | None = None, scale: str | None = None, confidence_level: float = 0.95
) -> Audit:
    """What can published scores show, when nobody says which items each system got right?

    A rounded score and the number of items give the number of right items, or show that there is none. Two scores on the same
    items give a range of p-values: from the pairing in which the worse system's right items are all right for the better one,
    too, to the one in which they overlap as little as they can.

    >>> import steelyard_old as sy
    >>> found = sy.audit({"new": 87.4, "old": 86.1}, n=1319)
    >>> found.pairs[0].answer, found.pairs[0].fewest_differing, found.pairs[0].significant_up_to
    ('depends', 17, 82)
    """
    level = checked("confidence_level", confidence_level)
    sets, warnings = _given(scores, n, size)
    percent, said = _in_percent(sets, scale)
    rows = [[_score(each, name, text, level, percent=percent) for name, text in each.scores] for each in sets]
    warnings += said + [_impossible(row, percent=percent) for each in rows for row in each if row.fewest_right is None]
    pairs = [
        _pair(first, second, 1 - level)
        for each in rows
        for first, second in combinations(each, 2)
        if first.fewest_right is not None and second.fewest_right is not None
    ]
    if len(pairs) > 1:
        chance = round(1 / (1 - level))
        warnings.append(f"{len(pairs)} pairs, each judged by itself: one of {chance} equal pairs looks different by chance")
    many = {each.n for each in sets}
    return Audit(
        confidence_level=level,
        scores=tuple(row for each in rows for row in each),
        pairs=tuple(pairs),
        conclusion=_conclusion(pairs, 1 - level),
        warnings=tuple(warnings),
        signature=signature.write(
            {"goal": "audit", "n": many.pop() if len(many) == 1 else None, "interval": "wilson", "test": "mcnemar-midp", "level": level}
        ),
    )


def _given(scores: Scores, n: int | None, size: str | None) -> tuple[tuple[PublishedSet, ...], list[str]]:
    """The test sets, from a table or from scores and n, and what is to be said of them."""
    if isinstance(scores, (str, os.PathLike)):
        if n is not None:
            hint = "a table has the number of items in a column"
            raise UsageError("n= is only used with scores, not with a table.", got=f"n={n!r}", need="scores with n=, or a table", hint=hint)
        sets, said = read_published(Path(scores), size)
        few = [each.name for each in sets if len(each.scores) < 2]
        return sets, [*said, *(f"{name}: fewer than two scores, so there is nothing to compare" for name in few)]
    if size is not None:
        raise UsageError("size= is only used with a table.", got=f"size={size!r}", need="a table with such a column")
    if n is None:
        raise UsageError("Say how many items the scores were measured on.", got="no n", need="the number of items", hint="n=1319")
    listed = [] if isinstance(scores, Mapping) else list(scores)
    named = list(scores.items()) if isinstance(scores, Mapping) else list(zip(_letters(len(listed)), listed, strict=True))
    if not named:
        raise UsageError("No scores to audit.", got="none", need="at least one score")
    texts = tuple((str(name), _text(str(name), score)) for name, score in named)
    return (PublishedSet(name="", n=whole("n", n), scores=texts),), []


def _letters(many: int) -> Iterator[str]:
    return (LETTERS[i] if i < len(LETTERS) else f"system {i + 1}" for i in range(many))


def _text(name: str, score: Score) -> str:
    """A score as its digits, with a percent sign if it has one. The text of a number keeps those of its own precision: float32's, too."""
    read = score_text(score) if isinstance(score, str) else (str(score), False)
    if read is None or not _number(read[0]).is_finite():
        raise UsageError(f"The score of {name!r} must be {NEED}, not {score!r}.", got=repr(score), need=NEED)
    return read[0]


def _number(text: str) -> Decimal:
    try:
        return Decimal(text.removesuffix("%"))
    except InvalidOperation:
        return Decimal("nan")


def _in_percent(sets: Sequence[PublishedSet], scale: str | None) -> tuple[bool, list[str]]:
    """Whether scores without a percent sign are percents: said once for all, since 0.9 may be either; and what is to be said of it."""
    if scale is not None:
        if scale not in SCALES:
            raise unknown_word("scale", scale, SCALES)
        return scale == "percent", []
    texts = [text for each in sets for _, text in each.scores]
    bare = [text for text in texts if not text.endswith("%")]
    small = [text for text in bare if 0 < _number(text) <= 1]
    if any(_number(text) > 1 for text in bare):
        if not small:
            return True, []
        of = f"{small[0]} was" if len(small) == 1 else f"{len(small)} scores of at most 1, such as {small[0]}, were"
        return True, [f"{of} read as percent, because there are scores above 1; if that is wrong, write every score in percent"]
    if bare and len(bare) < len(texts):
        raise AmbiguityError(
            f"Put a % sign on every score or on none: these have {next(text for text in texts if text.endswith('%'))} and {bare[0]}.",
            got=f"{next(text for text in texts if text.endswith('%'))} and {bare[0]}",
            need="a % sign on every score, or on none",
            hint=f'add scale="fraction" if {bare[0]} is a share, or scale="percent" if it is a percentage',
        )
    return False, []


def _score(given: PublishedSet, name: str, text: str, level: float, *, percent: bool) -> AuditedScore:
    """The numbers of right items that round to a score, with the interval from the fewest to the most of them."""
    value, last = _read(name, text, percent=percent)
    fewest, most = counts_between(given.n, value - last / 2, value + last / 2)
    there = fewest <= most
    low, high = (wilson(fewest, given.n, level)[0], wilson(most, given.n, level)[1]) if there else (None, None)
    return AuditedScore(
        test_set=given.name,
        name=name,
        published=text,
        score=float(value),
        n=given.n,
        fewest_right=fewest if there else None,
        most_right=most if there else None,
        interval=Interval(low=low, high=high, confidence_level=level, side="two", method="wilson") if there else None,
    )


def _read(name: str, text: str, *, percent: bool) -> tuple[Fraction, Fraction]:
    """A score as a share, and one unit of its last digit."""
    value = _number(text)
    scale = 100 if percent or text.endswith("%") else 1
    if not 0 <= value <= scale:
        need = NEED if scale == 100 else "a fraction between 0 and 1"
        raise UsageError(f"The score of {name!r} must be {need}, not {text!r}.", got=repr(text), need=need)
    exponent = value.as_tuple().exponent
    last = Fraction(10) ** min(0, exponent if isinstance(exponent, int) else 0)
    return Fraction(value) / scale, last / scale


def _impossible(row: AuditedScore, *, percent: bool) -> str:
    """That no number of right items rounds to a score, and which one gives it if its further digits were cut off."""
    where = f" ({row.test_set})" if row.test_set else ""
    value, last = _read(row.name, row.published, percent=percent)
    cut = count_cut_off(row.n, value, last)
    if cut is not None:
        rounded = f"no number of right items out of {row.n:,} rounds to {row.published}"
        return f"{row.name}{where}: {rounded}, but {cut:,} of {row.n:,} gives it if its further digits were cut off"
    return (
        f"{row.name}{where}: no number of right items out of {row.n:,} gives {row.published}, rounded or cut off; check the number of items"
    )


def _pair(first: AuditedScore, second: AuditedScore, alpha: float) -> AuditedPair:
    counts = [(row.fewest_right or 0, row.most_right or 0) for row in (first, second)]
    found = any_pairing(counts[0], counts[1], first.n, alpha)
    answer = "never" if found.limit is None else "always" if found.p_largest <= alpha else "depends"
    a, b = (round((low + high) / 2) for low, high in counts)
    n = first.n
    return AuditedPair(
        test_set=first.test_set,
        first=first.name,
        second=second.name,
        n=n,
        difference=first.score - second.score,
        answer=answer,
        p_smallest=found.p_smallest,
        p_largest=found.p_largest,
        fewest_differing=found.fewest,
        most_differing=found.most,
        significant_up_to=found.limit,
        p_different_items=two_proportion_z(a, n, b, n)[1],
    )


def _conclusion(pairs: Sequence[AuditedPair], alpha: float) -> str:
    """One sentence for one pair, a count for several."""
    if not pairs:
        return "Fewer than two valid scores: nothing to compare."
    if len(pairs) > 1:
        counted = {answer: sum(pair.answer == answer for pair in pairs) for answer in ("always", "depends", "never")}
        return (
            f"Of {len(pairs)} pairs, {counted['always']} differ significantly at {alpha:g} whichever items each got right, "
            f"{counted['never']} cannot, and for {counted['depends']} it depends on the items."
        )
    one = pairs[0]
    where = f"{one.first} and {one.second}, {one.n:,} items"
    if one.answer == "never":
        return f"{where}: no outcome on these items could be significant at {alpha:g} (p is at least {_p(one.p_smallest)})."
    if one.answer == "always":
        most = f"at most {_p(one.p_largest)}" if one.p_largest else _p(one.p_largest)
        return f"{where}: significant at {alpha:g} whichever items each got right (p is {most})."
    share = (one.significant_up_to or 0) / one.n
    return (
        f"{where}: significant at {alpha:g} only if they disagree on {one.significant_up_to:,} items or fewer ({share:.1%}); "
        f"p is from {_p(one.p_smallest)} to {_p(one.p_largest)}, depending on the items."
    )


def _p(p: float) -> str:
    """A p-value for a sentence: never 0, however far below the smallest number it lies."""
    return p_text(p).replace("< ", "below ")
