"""What the end of a pytest session says and does about accuracy: references written once, a table, a report file."""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from steelyard_old.atomic import write_text
from steelyard_old.errors import SteelyardError, UsageError
from steelyard_old.estimate.guard.whole_suite import judge_verdicts, pooled_suite, stopped_early
from steelyard_old.infer.multiplicity import adjust
from steelyard_old.options.option import typed_text
from steelyard_old.questions.record.record import existing_entry, record
from steelyard_old.reference.lookup import load, locate
from steelyard_old.reference.names import canonical_spec
from steelyard_old.render.digits import p_text
from steelyard_old.render.formats import result_json
from steelyard_old.render.markdown import page_markdown
from steelyard_old.render.page import page_of
from steelyard_old.render.pages.session import SHOWN_UNUSED, TITLE, named
from steelyard_old.render.pages.verdict import p_beside
from steelyard_old.render.terminal import harmless
from steelyard_old.render.text import page_text
from steelyard_old.results.session import CheckedSession, SessionCheck, counted
from steelyard_old.results.verdict import PooledSuite, Recorded, Verdict

UNBROKEN = 100_000  # columns: lines are found by their beginnings, and a terminal breaks them itself
UNKNOWN = "run-to-run variation is not estimated; record two or more runs per task, or keep earlier runs with --accuracy-history"


@dataclass(slots=True)
class SessionSummary:
    """All findings of a session, in the order of their tests."""

    found: list[dict[str, Any]]
    recorded: list[Recorded] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    history: list[Mapping[str, str]] = field(default_factory=list)
    keep: Callable[..., Mapping[str, str]] | None = None
    pooled: PooledSuite | None = None
    quiet: bool = False

    def session(self) -> CheckedSession:
        """All of it as a result."""
        return CheckedSession(
            counts=counted([one["outcome"] for one in self.found]),
            checks=tuple(
                SessionCheck(
                    test=str(one["test"]),
                    outcome=one["outcome"],
                    message=one.get("message"),
                    verdict=verdict_of(one),
                    history=one.get("history"),
                    task=str(one["task"]),
                    model=str(one["model"]),
                    spec=one["spec"],
                )
                for one in self.found
            ),
            pooled=self.pooled,
            recorded=tuple(self.recorded),
            unused=tuple(self.unused),
            notes=tuple(self.notes),
            warnings=tuple(self.warnings),
            errors=tuple(self.errors),
        )

    def write(self, out: Any) -> None:
        """One section; a single line, and whatever went wrong, with -q."""
        made = self.session()
        if self.quiet:
            out.write_line(f"accuracy: {made.headline}")
        else:
            out.write_sep("=", "accuracy")
            above = replace(made, warnings=(), errors=())  # those follow, in colours
            for line in page_text(page_of(above), width=UNBROKEN).split("\n"):
                out.write_line(line)
        for warning in self.warnings:
            out.write_line(f"accuracy warning: {harmless(' '.join(warning.split()))}", yellow=True)
        for error in self.errors:
            for place, line in enumerate(error.split("\n")):
                out.write_line(f"{'  ' if place else 'accuracy error: '}{harmless(line)}", red=True)


def conclude(found: list[dict[str, Any]], failed: set[str], config: Any, *, interrupted: bool) -> SessionSummary:
    """Write what was to be recorded, look for references that nobody used, write the report file."""
    summary = SessionSummary(sorted(found, key=lambda one: str(one["test"])), quiet=config.get_verbosity() < 0)
    option = config.option
    session = config.pluginmanager.get_plugin("steelyard-session")
    if session.keeps:
        from steelyard_old.pytest_history import kept

        summary.keep = partial(kept, session, ["record"])
        summary.history += [one["history"] for one in summary.found if one.get("history")]
    earlier = _earlier(summary, session)  # before references are replaced: earlier runs were checked against those that are there now
    waiting = [one for one in summary.found if one.get("waiting")]
    if waiting and interrupted:
        for one in waiting:
            one["outcome"] = "not recorded"
        summary.notes.append("the session was interrupted: nothing was recorded")
    elif waiting:
        _put_on_record(waiting, failed, summary, update=bool(option.accuracy_update), reason=_reason(option))
    summary.notes += holm_note(summary.found)
    _judge_together(summary, earlier)
    _note_history(summary)
    silent = failed - {one["test"] for one in summary.found}  # tests that broke before they asked
    if not interrupted and not silent and not _narrowed(option, config.args):
        _find_unused(summary)
    if option.accuracy_report:
        try:
            _report(Path(config.invocation_params.dir, option.accuracy_report), summary)
        except OSError as fault:
            summary.errors.append(f"cannot write the report: {fault}")
    return summary


def _note_history(summary: SessionSummary) -> None:
    """How many runs each history was given, and what could not be kept, each reason once."""
    for place in dict.fromkeys(one["place"] for one in summary.history):
        stored = len({one["id"] for one in summary.history if one["place"] == place and "id" in one})
        if stored:
            summary.notes.append(f"history: {stored:,} run{'s' if stored > 1 else ''} stored in {harmless(place)}")
    for warning, times in Counter(one["warning"] for one in summary.history if "warning" in one).items():
        summary.warnings.append(f"{times} times: {warning}" if times > 1 else warning)


def _reason(option: Any) -> str | None:
    said = option.accuracy_reason
    return None if said is None else typed_text(said, "--accuracy-reason")


# ---- putting on record -----------------------------------------------------------------------------------------------------------


def _put_on_record(
    waiting: Sequence[dict[str, Any]], failed: set[str], summary: SessionSummary, *, update: bool, reason: str | None
) -> None:
    """Each reference once. Several tests of one reference are several runs of it, pooled."""
    if os.environ.get("CI"):
        summary.notes.append("References were recorded in CI because an option asked for it: commit them, or they are lost")
    runs: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for one in waiting:
        if one["test"] in failed:
            one["outcome"] = "not recorded"
            summary.notes.append(f"not recorded, because its test failed: {harmless(one['test'])}")
            continue
        runs.setdefault((one["directory"], one["task"], one["model"], canonical_spec(one["spec"])), []).append(one)
    for (_, task, model, _), group in runs.items():
        try:
            made = _recorded(group, summary, update=update, reason=reason)
        except (SteelyardError, OSError) as fault:
            for one in group:
                one["outcome"] = "not recorded"
            summary.errors.append(f"{model!r} on {task!r} was not recorded: {fault}")
            continue
        summary.recorded.append(made)
        summary.notes += [harmless(made.conclusion), *(f"  warning: {harmless(_for_pytest(text))}" for text in made.warnings)]


def _recorded(group: Sequence[dict[str, Any]], summary: SessionSummary, *, update: bool, reason: str | None) -> Recorded:
    kept = []
    for one in group:
        try:
            with open(one["waiting"], encoding="utf-8") as file:
                kept.append(json.load(file))
        except ValueError as fault:
            raise UsageError(
                f"The run cannot be read again; give a file, a list of dictionaries or a frame ({fault}).",
                got=str(fault),
                need="a file, a list of dictionaries or a frame",
            ) from fault
    options = kept[0]["options"]
    if any(other["options"] != options for other in kept[1:]):
        tests = ", ".join(str(one["test"]) for one in group)
        raise UsageError(
            f"The tests read the runs with different options, so they cannot be pooled: {tests}.",
            got=f"tests that read them with different options: {tests}",
            need="the same options",
        )
    there = kept[0]["cwd"]  # what a relative name in the test meant; a directory of the test's own may be gone by now
    with contextlib.chdir(there) if os.path.isdir(there) else contextlib.nullcontext():
        sources = [one["source"] for one in kept]
        made = record(*sources, **options, update=update, reason=reason)
        if summary.keep is not None:
            summary.history.append(summary.keep(made, sources, options))
        return made


def _for_pytest(text: str) -> str:
    """A warning of `record` in the words of this plugin, where a reason is an option of pytest."""
    return text.replace("(reason=)", "(--accuracy-reason TEXT)")


# ---- looking over the whole session ----------------------------------------------------------------------------------------------


def verdict_of(one: Mapping[str, Any]) -> Verdict | None:
    """The verdict that a finding carries, as it was given."""
    plain = one.get("verdict")
    if plain is None:
        return None
    return Verdict.from_dict(plain)


def _judged(found: Sequence[Mapping[str, Any]]) -> list[tuple[Mapping[str, Any], Verdict]]:
    """The findings of the session whose verdicts have a p-value to judge by, with these."""
    verdicts = [(one, v) for one in found if one.get("compared") and (v := verdict_of(one)) is not None and v.p_value is not None]
    return [(one, v) for one, v in verdicts if v.details.not_judged is None]


def _pooled(found: Sequence[Mapping[str, Any]]) -> list[tuple[Mapping[str, Any], Verdict]]:
    """Those that may be judged together, as in a suite."""
    return [(one, v) for one, v in _judged(found) if not stopped_early(v)]


def holm_note(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """What would remain of the regressions if all checks of the session were one family."""
    judged = [v for _, v in _judged(found)]
    if len(judged) < 2:
        return []
    adjusted = adjust([v.p_value or 0.0 for v in judged], "holm")
    remain = [
        f"{v.task} {named(v.model, v.spec)} (p {p_beside(p, v.alpha)})" for v, p in zip(judged, adjusted, strict=True) if p <= v.alpha
    ]
    said = f"{len(remain)} regression{'s' if len(remain) > 1 else ''}: {', '.join(remain)}" if remain else "no regression"
    return [harmless(f"single tests are uncorrected; after Holm over {len(judged)} checks: {said}")]


def _earlier(summary: SessionSummary, session: Any) -> list[float]:
    """What earlier sessions in the history say of the noise that all checks of one share; nothing without a history."""
    judged = _pooled(summary.found)
    if not session.keeps or len(judged) < 2:
        return []
    from steelyard_old.pytest_history import earlier_z

    earlier, why = earlier_z(session, judged, min(v.alpha for _, v in judged))
    summary.warnings += [] if why is None else [why]
    return earlier


def _judge_together(summary: SessionSummary, earlier: Sequence[float]) -> None:
    """A little lost in every check fails the session though no test fails; unless noise that runs share could explain it."""
    judged = [v for _, v in _pooled(summary.found)]
    if len(judged) < 2:
        return
    none = [False] * len(judged)
    whole = judge_verdicts(judged, min(v.alpha for v in judged), advisory=none, waived=none, history=earlier)
    summary.pooled = pooled_suite(whole, judged, in_history=len(earlier))
    if whole.verdict == "pass" or whole.named:
        return
    said = f"all {whole.m} checks together are worse (p = {p_text(whole.p_value)})"
    if whole.verdict == "regression":
        summary.errors.append(f"{said}, at least {max(1, whole.at_least)} of them; no single check is significant")
    else:
        summary.warnings.append(f"{said}, not confirmed: {UNKNOWN}")


def _narrowed(option: Any, args: Sequence[str]) -> bool:
    """Whether somebody asked for some tests only: then unused references mean nothing."""
    picked = ("keyword", "lf", "deselect", "stepwise", "collectonly")
    return any("::" in str(arg) for arg in args) or any(getattr(option, name, None) for name in picked)


def _find_unused(summary: SessionSummary) -> None:
    """Entries of the tasks that were checked, which no check has matched."""
    used: dict[tuple[str, str | None, str], set[int]] = {}
    for one in summary.found:
        if one.get("directory") is None:
            continue
        place = locate(one["task"], one["directory"], one["config"])
        with contextlib.suppress(SteelyardError):  # a check that could not be asked has said so already
            entry = existing_entry(place, one["model"], one["spec"])
            lines = used.setdefault((one["directory"], one["config"], one["task"]), set())
            lines.update([entry.line] if entry is not None else [])
    for (directory, config, task), lines in used.items():
        place = locate(task, directory, config)
        with contextlib.suppress(SteelyardError):
            for entry in load(place).entries:
                if entry.line not in lines:
                    summary.unused.append(f"{task}: {named(entry.model, entry.spec)} (line {entry.line})")
    if summary.unused:
        more = f" and {len(summary.unused) - SHOWN_UNUSED:,} more" if len(summary.unused) > SHOWN_UNUSED else ""
        summary.notes.append(f"references never used in this session: {harmless(', '.join(summary.unused[:SHOWN_UNUSED]))}{more}")


# ---- showing ---------------------------------------------------------------------------------------------------------------------


def _report(path: Path, summary: SessionSummary) -> None:
    if holds_something_else(path):
        summary.errors.append(f"cannot write the report: {path} holds something else, and was left as it is")
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    made = summary.session()
    try:
        write_text(path, result_json(made) if path.suffix.lower() == ".json" else page_markdown(page_of(made)))
    except SteelyardError as fault:
        summary.errors.append(str(fault))


def holds_something_else(path: Path) -> bool:
    """Whether a file is there that is no earlier report of ours."""
    try:
        start = path.read_text(encoding="utf-8", errors="replace")[:200] if path.is_file() else ""
    except OSError:
        return False  # writing says why
    return bool(start.strip()) and not start.startswith(f"## {TITLE}") and f'"kind": "{CheckedSession.KIND}"' not in start
