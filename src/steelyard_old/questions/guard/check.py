"""Has it become worse than the reference? The entry, the rule, the strongest design the reference allows, the verdict."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from steelyard_old.errors import DataError, UsageError
from steelyard_old.estimate.guard.number import CandidateScore, guard_floor, guard_number, warn_of_drift
from steelyard_old.estimate.guard.rule import (
    GuardRule,
    check_protocol,
    refuse_fraction,
    refuse_relative,
    settle_rule,
    warn_of_theta,
)
from steelyard_old.estimate.guard.slice_request import refuse_slices, settle_slices
from steelyard_old.estimate.guard.verdict import Guarded, concluded
from steelyard_old.options.check import IN_PYTHON
from steelyard_old.options.option import documented, number, seed_of, whole
from steelyard_old.reference.lookup import load, locate, matched
from steelyard_old.reference.run_notes import RunNotes, notes_of
from steelyard_old.results.base import Warnings
from steelyard_old.results.verdict import Verdict


@documented(
    IN_PYTHON,
    "a Verdict",
    source="The run, as in `measure`. Default: none, a bare `value` is checked.",
    history="Database to keep the run in: sqlite:///runs.db or postgresql://host/db; a regression then shows what the reference "
    "answered, if that was kept. Default: none, nothing is kept.",
)
def check(
    source: Any = None,
    *,
    task: str,
    model: str,
    spec: Mapping[str, Any] | None = None,
    directory: str | os.PathLike[str] | None = None,
    value: float | None = None,
    metric: str | None = None,
    positive: object = None,
    scale: str | None = None,
    higher_is_better: bool | None = None,
    alpha: float | None = None,
    beta: float | None = None,
    sigma: float | None = None,
    theta: float | str | None = None,
    margin: float | str | None = None,
    recovery: float | None = None,
    num_samples: int | None = None,
    target: str = "items",
    range: Sequence[float] | None = None,  # noqa: A002  the word that users know
    unmatched: str = "error",
    missing: str = "error",
    protocol: Mapping[str, str] | None = None,
    by: str | Sequence[str] | None = None,
    critical_slices: str | Sequence[str] | None = None,
    config: str | os.PathLike[str] | None = None,
    otherwise: Mapping[str, Any] | None = None,
    draws: int = 10_000,
    seed: int | None = 0,
    history: str | None = None,
    keep_answers: bool = False,
    **columns: Any,
) -> Verdict:
    """Has the run become worse than the reference on record? pass, regression or inconclusive.

    The design is the strongest that the reference allows: the same items one by one where it holds outcomes, the
    two-sample threshold where it is a single number. p tests H0: d >= -margin; regression if p <= alpha; with theta,
    pass only if a drop of theta is ruled out. "5%" as margin or theta is a share of the reference, and recovery=0.95 stands for
    both. range: the least and the greatest score of an item, which makes p and bounds hold for rare large changes too. by: each
    value of this column is judged beside the whole, so that a loss in one of them is a regression even where gains elsewhere
    hide it. otherwise: settings that count where neither the reference nor steelyard.toml says. Needs a recorded reference: `record`.

    >>> import tempfile
    >>> from steelyard_old.questions.record.record import record
    >>> before = [{"id": i, "score": int(i % 10 > 0)} for i in range(200)]
    >>> now = [{**row, "score": 0} if row["id"] < 20 else row for row in before]
    >>> with tempfile.TemporaryDirectory() as there:
    ...     done = record(before, task="gsm8k", model="m", directory=there)
    ...     found = check(now, task="gsm8k", model="m", directory=there)
    >>> found.verdict, found.difference.estimate, found.flips["baseline_only"]
    ('regression', -0.09, 18)
    """
    if history is not None or keep_answers:
        from steelyard_old.estimate.past_runs import refuse_history

        refuse_history(history, keep_answers=keep_answers)
    asked = {"metric": metric, "scale": scale, "alpha": alpha, "beta": beta, "sigma": sigma, "theta": theta, "margin": margin}
    asked["recovery"] = recovery
    options = {**asked, "num_samples": num_samples, "target": target, "positive": positive, "higher_is_better": higher_is_better}
    options["range"] = range
    if (source is None) == (value is None):
        got = "neither" if value is None else "both a source and a value"
        raise UsageError(
            "Nothing to check: give a run or a value." if value is None else "Give a run or a value, not both.",
            got=got,
            need="one of them",
            hint="the run as a file or a frame, or value=66.2",
        )
    if value is not None:
        chosen = {
            "missing": missing != "error",
            "unmatched": unmatched != "error",
            "target": target != "items",
            "range": range is not None,
            "by": by is not None,
            "critical_slices": critical_slices is not None,
        }
        if said := [name for name, what in {**columns, **chosen}.items() if what is not None and what is not False]:
            raise UsageError(
                f"{said[0]}= is about items, and a bare value has none.", got="no items", need="a run to read", hint="leave it out"
            )
        whole("draws", draws)  # nothing is drawn, but what is no number of draws and no seed is refused all the same
        seed_of(0 if seed is None else seed)
    place = locate(task, directory, config)
    match = matched(place, model, spec, load(place, model))
    entry = match.entry
    notes = notes_of(source)
    said_of_run = _said(notes, protocol, unmatched)
    warnings = Warnings()
    rule = settle_rule(options, entry, place.defaults, warnings, otherwise if otherwise is not None or notes is None else notes.rule)
    warnings.extend(match.warnings)
    if notes is not None and notes.ratio is not None:
        columns = {"ratio": tuple(notes.ratio), **columns}
    if notes is not None and notes.range is not None and rule.range is None:
        rule = replace(rule, range=(float(notes.range[0]), float(notes.range[1])))
    check_protocol(entry, place, said_of_run, warnings)
    if said_of_run and "scorer" in said_of_run:
        from steelyard_old.evaluate.scorers.catalogue import refuse_other_score  # only what a run of ours needs

        refuse_other_score(said_of_run, rule.metric)
    slices = settle_slices(by, critical_slices, place.defaults)
    guarded = Guarded(entry=entry, task=task, model=model, spec=dict(entry.spec))
    if value is not None:
        refuse_slices(slices, warnings, "a bare value has no items", "give the run itself")
        verdict = _of_value(value, replace(guarded, scale=rule.scale or "raw"), rule, warnings)
    elif notes is not None and notes.stopping is not None and ("plan" in notes.stopping or notes.stopped_early):
        from steelyard_old.questions.guard.stopped import guard_stopped

        refuse_slices(slices, warnings, "a run that stopped early was planned for all its items together", "use a complete run")
        refuse_relative(rule, "A run that stopped early")
        verdict = guard_stopped(source, place, guarded, rule, warnings, notes, columns, asked=asked, missing=missing)
    else:
        from steelyard_old.estimate.guard.source import guard_source

        verdict = guard_source(
            source,
            place,
            guarded,
            rule,
            warnings,
            columns,
            unmatched=unmatched,
            missing=missing,
            draws=draws,
            seed=0 if seed is None else seed,
            named=metric is not None,
            directed=higher_is_better is not None,
            slices=slices,
        )
    if verdict.design != "unpaired":
        unheard = [name for name, given in (("sigma", sigma), ("num_samples", num_samples)) if given is not None]
        warnings.extend(f"{name} was not used: the recorded items themselves show the spread" for name in unheard)
    warn_of_drift(verdict, entry, warnings)
    warn_of_theta(verdict, rule, warnings)
    verdict = concluded(verdict, rule, warnings)
    if verdict.changed_items:
        from steelyard_old.estimate.changed_items import with_excerpts  # NumPy: only where there are items
        from steelyard_old.reference.outcomes import hash_id

        verdict = replace(verdict, changed_items=with_excerpts(verdict.changed_items, source, lambda id_: (id_, hash_id(id_))))
    if notes is not None:
        from steelyard_old.estimate.guard.rates import watch_rates

        verdict = watch_rates(verdict, entry, notes.counts)
    if history is None:
        return verdict
    from steelyard_old.estimate.past.keeping import with_kept
    from steelyard_old.questions.history.answers import with_reference_answers

    return with_kept(
        with_reference_answers(verdict, history=history, config=config),
        history=history,
        config=config,
        directory=directory,
        sources=[] if source is None else [source],
        columns=columns,
        protocol=protocol,
        keep_answers=keep_answers,
        missing=missing,
        range=range,
    )


def _said(notes: RunNotes | None, protocol: Mapping[str, str] | None, unmatched: str) -> Mapping[str, str] | None:
    """What a run says of its protocol: in its notes, and by option. The hash of all items means nothing where some are left out."""
    if notes is None:
        return protocol
    looked = notes.stopping is not None and "plan" in notes.stopping  # checked against this very reference before the first question
    kept = {key: value for key, value in notes.protocol.items() if key != "items" or not (looked or unmatched == "drop")}
    return {**kept, **(protocol or {})}


def _of_value(value: float, guarded: Guarded, rule: GuardRule, warnings: Warnings) -> Verdict:
    """A bare score against the number on record, or against its explicit floor."""
    entry = guarded.entry
    score = number("value", value)
    if entry.value is not None and rule.scale is None and abs(entry.value) > 1 >= abs(score):
        raise DataError(
            f"The value {score:g} and the reference {entry.value:g} seem to be in different scales.",
            got=f"a value of {score:g} and a reference of {entry.value:g}",
            need="both in one scale",
            hint=f'scale = "percent" in [tasks.NAME] and a value of {100 * score:g}, if that is what you mean',
        )
    refuse_fraction(score, rule, entry.value if entry.value is not None else rule.threshold)
    new = CandidateScore(value=score, n=rule.num_samples)
    if rule.threshold is not None:
        return guard_floor(new, guarded, rule, warnings)
    if entry.items is not None:
        warnings.add("the reference holds item outcomes, which a bare value cannot be paired with: give the run itself")
    return guard_number(new, guarded, rule, warnings)
