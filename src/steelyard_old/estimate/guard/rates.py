"""Answers that are none: truncated, empty, refused, without anything to extract. Each is a rate with a guard of its own.

A model that stops in the middle of its answers may score as before on what is easy. The rates are tested against those on
record, one-sided, and corrected together (Holm): a further alpha beside that of the metric.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from steelyard_old.infer.multiplicity import adjust
from steelyard_old.infer.unpaired import exact_midp
from steelyard_old.reference.entry import Entry
from steelyard_old.reference.run_notes import RunNotes
from steelyard_old.results.details import AnswerRate
from steelyard_old.results.verdict import Verdict

RATES = ("truncated", "empty", "refused", "unextracted")


def rates_of(counts: Mapping[str, int]) -> dict[str, float]:
    """The share of the answers of each kind."""
    answers = max(1, answers_in(counts))
    return {name: counts[name] / answers for name in RATES}


def answers_in(counts: Mapping[str, int]) -> int:
    """How many asks were answered at all."""
    return counts["n"] - counts["errors"]


def pooled_rates(notes: Sequence[RunNotes]) -> dict[str, float]:
    """The rates of several runs together; none where a run did not count them."""
    if not notes:
        return {}
    total = {name: sum(each.counts.get(name, 0) for each in notes) for name in ("n", "errors", *RATES)}
    return rates_of(total)


def watch_rates(verdict: Verdict, entry: Entry, counts: Mapping[str, int]) -> Verdict:
    """The verdict, red too if one of the rates has risen beyond chance since the reference was recorded."""
    known = [name for name in RATES if name in entry.rates]
    past = (entry.num_samples or 0) * (entry.runs or 1)
    answers = answers_in(counts) if counts else 0
    if not known or not past or not answers:
        return verdict
    p_values = [exact_midp(counts[name], answers, round(entry.rates[name] * past), past) for name in known]
    adjusted = adjust(p_values, "holm")
    now = rates_of(counts)
    rows = [
        AnswerRate(rate=name, reference=entry.rates[name], candidate=now[name], p_value=p, risen=bool(p <= verdict.alpha))
        for name, p in zip(known, map(float, adjusted), strict=True)
    ]
    details = replace(verdict.details, rates=tuple(rows))
    risen = [row for row in rows if row.risen]
    if not risen:
        return replace(verdict, details=details)
    said = "; ".join(f"{row.rate} answers rose from {row.reference:.2%} to {row.candidate:.2%} (p = {row.p_value:.2g})" for row in risen)
    if verdict.verdict == "regression":
        return replace(verdict, details=details, warnings=(*verdict.warnings, said))
    was = f"{verdict.metric} alone: {verdict.verdict}. "
    return replace(verdict, verdict="regression", details=details, conclusion=f"{said}. {was}{verdict.conclusion}")
