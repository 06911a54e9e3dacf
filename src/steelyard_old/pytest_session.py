"""What the fixture `accuracy` does inside a test: ask the guard, fail or warn, and hand the finding to the report."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from steelyard_old.errors import SteelyardError, UsageError, with_article
from steelyard_old.items import Labels
from steelyard_old.options.option import COLUMNS, LOG_CHOICES, RUN_COLUMNS, SOURCE_KEYWORDS, keywords_of, ratio_columns, refuse_unknown
from steelyard_old.questions.guard.check import check as ask
from steelyard_old.questions.record.record import existing_entry, record
from steelyard_old.read.frames import is_frame
from steelyard_old.read.open_source import open_source
from steelyard_old.reference.config import find_config
from steelyard_old.reference.entry import Entry
from steelyard_old.reference.lookup import ReferenceLocation, load, locate, matched
from steelyard_old.render.digits import NONE
from steelyard_old.render.pages.changed_items import changed_cells
from steelyard_old.render.pages.verdict import accept_command, drop_text, flips_text, guard_name, needed_text, p_beside, score_text
from steelyard_old.render.terminal import harmless
from steelyard_old.results.session import ITSELF
from steelyard_old.results.verdict import WORSENING, Verdict

if TYPE_CHECKING:
    from steelyard_old.results.evaluation import Evaluation

SHOWN_CHANGES = 5
KNOWN = tuple(dict.fromkeys((*keywords_of(ask), *keywords_of(record), *SOURCE_KEYWORDS)))
ONLY_RECORDED = ("deterministic", "ids")  # what a check has no use for
OF_NUMBERS = ("alpha", "beta", "sigma", "theta", "margin", "recovery", "num_samples")
ONLY_CHECKED = (*OF_NUMBERS, "target", "range", "unmatched", "draws", "seed", "value", "critical_slices")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedTest:
    """A verdict, and the text with which the test fails because of it, if it does."""

    verdict: Verdict
    failure: str | None = None


def _plain(value: Any) -> Any:
    """Paths as text, arrays and their numbers as Python's own."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{with_article(type(value).__name__)} in it")


def _columns_of(frame: Any, options: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The columns of a frame that a record reads, under their own names."""
    given = {role: options[role] for role in (column.name for column in RUN_COLUMNS) if options.get(role) is not None}
    if options.get("ratio") is not None:
        given["ratio"] = ratio_columns(options["ratio"])
    if options.get("by") is not None:
        given["by"] = options["by"]
    source = open_source(frame, columns=given)
    items = source.items()
    columns = {name: getattr(items, role) for role, name in source.roles.items() if getattr(items, role, None) is not None}
    if items.ratio is not None:
        columns |= dict(zip(given["ratio"], items.ratio, strict=True))
    columns |= {name: items.slices[name] for name in source.by}
    return {name: _texts(column) if isinstance(column, Labels) else column.tolist() for name, column in columns.items()}


def _texts(labels: Labels) -> list[str | None]:
    return [labels.names[code] if code >= 0 else None for code in labels.codes.tolist()]


class Accuracy:
    """The guard of one test."""

    def __init__(self, item: pytest.Item) -> None:
        self.item = item
        self.config = item.config
        self.session: Any = item.config.pluginmanager.get_plugin("steelyard-session")
        self.updates = bool(self.config.option.accuracy_update)
        self.updates_new = self.updates or bool(self.config.option.accuracy_update_new)

    def check(
        self,
        source: Any = None,
        *,
        task: str | None = None,
        model: str | None = None,
        spec: Mapping[str, Any] | None = None,
        value: float | None = None,
        **options: Any,
    ) -> Verdict:
        """Has the run become worse than its reference? A regression, a missing reference and a question that cannot be asked
        fail the test; an inconclusive answer does what --accuracy-inconclusive says. Options are those of `sy.check`."""
        __tracebackhide__ = True
        judged, failure = None, None
        try:
            judged = self.judge(source, task=task, model=model, spec=spec, value=value, **options)
            failure = judged.failure
        except SteelyardError as error:
            failure = _harmless(f"accuracy: {error}".split("\n"))
        if judged is None or failure is not None:  # outside of the except, so that nothing is chained to it
            pytest.fail(failure or "", pytrace=False)
        return judged.verdict

    def run(self, task: Any, model: Any, *, name: str | None = None, spec: Mapping[str, Any] | None = None, **options: Any) -> Evaluation:
        """Evaluate a model on a task now, and fail the test if it has become worse than its reference. Options are those of `sy.run`."""
        __tracebackhide__ = True
        from steelyard_old.pytest_run import evaluated

        found, failure = None, None
        try:
            found, judged = evaluated(self, task, model, name=name, spec=spec, options=options)
            failure = judged.failure
        except SteelyardError as error:
            failure = _harmless(f"accuracy: {error}".split("\n"))
        if found is None or failure is not None:  # outside of the except, so that nothing is chained to it
            pytest.fail(failure or "", pytrace=False)
        return found

    def judged(self, verdict: Verdict, source: Any, options: Mapping[str, Any], *, run: Evaluation | None = None) -> JudgedTest:
        """A verdict that was made elsewhere, told and judged as any other; `run` is what it was made of, for the history."""
        settled = self._settled(options)
        place = locate(settled["task"], settled["directory"], settled["config"])
        self._report_verdict(verdict, verdict.verdict, settled, place, history=self._remembered(run or verdict, source, settled))
        return JudgedTest(verdict=verdict, failure=self._failure(verdict, source, settled))

    def where(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The directory and the configuration, as this test sees them."""
        settled = self._settled(options)
        return {name: settled[name] for name in ("directory", "config")}

    def judge(self, source: Any = None, **options: Any) -> JudgedTest:
        """The verdict, before anybody fails because of it. Every outcome is handed to the report, errors too."""
        try:
            options = self._settled(options)
            return self._judged(source, options)
        except SteelyardError as error:
            self.tell({"outcome": "error", "message": str(error), **_names(options)})
            raise

    def place(self, **options: Any) -> ReferenceLocation:
        """Where the references of a task are, as this test sees them."""
        settled = self._settled(options)
        return locate(settled["task"], settled["directory"], settled["config"])

    def not_verified(self, said: str, **names: Any) -> None:
        """Something was run and nothing was checked: a line of its own in the summary, never a pass."""
        self.tell({"outcome": "not verified", "message": said, "properties": {"outcome": "not verified"}, **names})
        warnings.warn(self.session.WARNING(harmless(said)), stacklevel=4)

    def tell(self, finding: Mapping[str, Any]) -> None:
        """Hand a finding to the report of the test: readable properties for JUnit, and the whole as JSON."""
        for name, value in finding.get("properties", {}).items():
            self.item.user_properties.append((f"{self.session.PROPERTY}.{name}", "" if value is None else value))
        whole = {"test": self.item.nodeid, **{name: value for name, value in finding.items() if name != "properties"}}
        self.item.user_properties.append((self.session.PROPERTY, json.dumps(whole, default=str)))

    # ---- settings ----------------------------------------------------------------------------------------------------------

    def marked(self) -> dict[str, Any]:
        """What the markers say, the nearest last."""
        options: dict[str, Any] = {}
        for mark in reversed(list(self.item.iter_markers("accuracy"))):
            if mark.args:
                raise UsageError(
                    f"The marker accuracy takes names only, got {mark.args[0]!r} without one.",
                    got=f"{mark.args[0]!r} without a name",
                    need="task=..., model=..., ...",
                    hint="@pytest.mark.accuracy(task=..., model=...)",
                )
            options.update(mark.kwargs)
        return options

    def _settled(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The call, then the markers from the nearest outward, then the command line, then steelyard.toml beside the tests."""
        options = self.marked()
        options.update({name: value for name, value in given.items() if value is not None})
        refuse_unknown(options, KNOWN, "accuracy.check")
        lacking = [name for name in ("task", "model") if not isinstance(options.get(name), str)]
        if lacking:
            raise UsageError(
                f"A check needs {' and '.join(lacking)}.",
                got=f"no {' and no '.join(lacking)}",
                need="a task and a model",
                hint='accuracy.check(run, task="...", model="..."), or the marker @pytest.mark.accuracy(task="...")',
            )
        wished = self.config.option.accuracy_dir
        if options.get("directory") is None and wished is not None:
            options["directory"] = Path(self.config.invocation_params.dir, wished)
        options |= self._where(options)
        self._refuse_without_history(options)
        return options

    def _refuse_without_history(self, options: Mapping[str, Any]) -> None:
        """A history that was asked for and is named nowhere, before anything is judged or a model is asked."""
        if self.session.keeps:
            from steelyard_old.pytest_history import place_of

            place_of(self.config.option.accuracy_history, options["config"], Path(self.config.invocation_params.dir))

    def _remembered(self, result: Any, source: Any, options: Mapping[str, Any]) -> dict[str, str] | None:
        """Keep what was judged in the history, now: the session may be killed. None if nobody asked for one."""
        if not self.session.keeps:
            return None
        from steelyard_old.pytest_history import kept

        self.session.kept += 1
        return kept(self.session, [self.item.nodeid, self.session.kept], result, [] if source is None else [source], options)

    def _where(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The nearest steelyard.toml above the test's own file, wherever pytest was started."""
        directory, config = options.get("directory"), options.get("config")
        if config is None:
            config = find_config(self.item.path.parent).path
        if directory is None and config is None:
            directory = self.config.rootpath / "references"
        return {name: None if path is None else Path(path).absolute() for name, path in (("directory", directory), ("config", config))}

    # ---- judging -----------------------------------------------------------------------------------------------------------

    def _judged(self, source: Any, options: dict[str, Any]) -> JudgedTest:
        to_check = {name: value for name, value in options.items() if name not in ONLY_RECORDED}
        place = locate(options["task"], options["directory"], options["config"])
        entry = existing_entry(place, options["model"], options.get("spec"))
        if source is not None and (self.updates or (self.updates_new and entry is None)):
            return self._kept(source, to_check, {**_settings_of(entry), **options}, place, missing=entry is None)
        if entry is None:
            self._refuse_without_reference(source, place, options)
        verdict = ask(source, **to_check)
        self._report_verdict(verdict, verdict.verdict, options, place, history=self._remembered(verdict, source, options))
        return JudgedTest(verdict=verdict, failure=self._failure(verdict, source, options))

    def _kept(
        self, source: Any, to_check: dict[str, Any], options: dict[str, Any], place: ReferenceLocation, *, missing: bool
    ) -> JudgedTest:
        """A run that is to be the reference: rehearsed in a spare directory, so that what cannot be recorded fails its test."""
        waiting = self._waiting(source, options)
        with tempfile.TemporaryDirectory(prefix="steelyard-") as scratch:
            record(source, **{**_to_record(options), "directory": scratch})
            verdict = None
            if not missing:
                with contextlib.suppress(SteelyardError):  # it may be of other items than what it replaces
                    verdict = ask(source, **to_check)
            compared = verdict is not None
            if verdict is None:
                itself = ask(source, **{**to_check, "directory": scratch})
                verdict = replace(itself, warnings=(*itself.warnings, ITSELF))
        history = self._remembered(verdict, source, options) if compared else None  # the record itself comes when it is written
        self._report_verdict(verdict, "new" if missing else "update", options, place, waiting=waiting, compared=compared, history=history)
        return JudgedTest(verdict=verdict)

    def _failure(self, verdict: Verdict, source: Any, options: Mapping[str, Any]) -> str | None:
        """The text that fails the test; an inconclusive verdict may only warn."""
        if verdict.passed:
            return None
        policy = self.config.option.accuracy_inconclusive
        if verdict.verdict == "inconclusive" and policy != "fail":
            if policy == "warn":
                # as a warning of the test's own line: judge, _judged and check lie between
                warnings.warn(self.session.WARNING(harmless(f"inconclusive: {guard_name(verdict)}: {verdict.conclusion}")), stacklevel=5)
            return None
        return short_text(verdict, source, [*_log_words(options), *_where_words(options)])

    def _refuse_without_reference(self, source: Any, place: ReferenceLocation, options: Mapping[str, Any]) -> NoReturn:
        words = _record_words(source, options)
        said = f"No entry of {options['model']!r}."
        try:
            matched(place, options["model"], options.get("spec"), load(place))
        except SteelyardError as error:
            said = error.sentence
        raise UsageError(
            f"{said} Nothing was checked.",
            hint=f"record the run: {' '.join(words)}\nor with pytest: pytest {shlex.quote(self.item.nodeid)} --accuracy-update-new",
        )

    # ---- what the controller puts on record --------------------------------------------------------------------------------

    def _waiting(self, source: Any, options: Mapping[str, Any]) -> str:
        """A copy of the run as it is now, for the end of the session: files are overwritten, frames are changed."""
        folder = tempfile.mkdtemp(dir=self.session.stash_directory())
        if isinstance(source, str | os.PathLike) and os.path.isfile(source):
            notes = f"{os.fspath(source)}.run"  # what a run of ours says of itself goes with it
            source = shutil.copy2(source, folder)
            if os.path.isfile(notes):
                shutil.copy2(notes, folder)
        file = os.path.join(folder, "run.json")
        try:
            kept = {"source": _columns_of(source, options) if is_frame(source) else source, "options": _to_record(options)}
            with open(file, "w", encoding="utf-8") as out:
                json.dump({**kept, "cwd": os.getcwd()}, out, default=_plain)
        except (TypeError, ValueError) as fault:
            raise UsageError(
                "The run cannot be kept until the session ends: give a file, a list of dictionaries or a frame, "
                f"not {with_article(type(source).__name__)} ({fault}).",
                got=f"{with_article(type(source).__name__)} ({fault})",
                need="a file, a list of dictionaries or a frame",
            ) from fault
        return file

    def _report_verdict(
        self,
        verdict: Verdict,
        outcome: str,
        options: Mapping[str, Any],
        place: ReferenceLocation,
        *,
        waiting: str | None = None,
        compared: bool = True,
        history: Mapping[str, str] | None = None,
    ) -> None:
        properties = {"task": verdict.task, "model": verdict.model, "outcome": outcome, "candidate": verdict.candidate.estimate}
        if compared:
            d = verdict.difference
            properties |= {"verdict": verdict.verdict, "p_value": verdict.p_value, "reference": verdict.reference.estimate}
            properties |= {"difference": d.estimate, "lower": d.lower, "mde": verdict.mde}
        if history is not None:
            properties["history"] = history.get("id")
        self.tell(
            {
                "outcome": outcome,
                "properties": {**properties, "n": verdict.n, "signature": verdict.signature},
                "verdict": verdict.to_dict(),
                "compared": compared,
                "waiting": waiting,
                "directory": str(place.directory.absolute()),
                "config": None if options["config"] is None else str(options["config"]),
                **({} if history is None else {"history": dict(history)}),
                **_names(options),
            }
        )


def short_text(v: Verdict, source: Any = None, where: Sequence[str] = ()) -> str:
    """The verdict as a failing test shows it: what happened, on which numbers, which items, and how to accept it."""
    shown = score_text(v)
    lines = [f"{v.verdict.upper()}: {guard_name(v)}", v.conclusion, ""]
    lines.append(f"reference {shown(v.reference.estimate)}, run {shown(v.candidate.estimate)}, threshold {shown(v.threshold)}")
    if v.difference.estimate is not None:
        lower = v.difference.lower
        bound = "" if lower is None else f", at worst {shown(lower)} (one-sided, {100 * (1 - v.alpha):g}%)"
        lines.append(f"difference {shown(v.difference.estimate)}{bound}, p {p_beside(v.p_value, v.alpha)}; {v.design}, n {v.n}")
    if v.mde is not None:
        lines.append(f"smallest detectable {WORSENING[v.higher_is_better]}: {drop_text(v, v.mde)} (alpha {v.alpha:g}, beta {v.beta:g})")
    if v.flips is not None:
        lines.append(f"flips: {flips_text(v.flips)}")
    _, rows = changed_cells(v)
    lines += [f"  {'  '.join(cell for cell in row if cell)}" for row in rows[:SHOWN_CHANGES]]
    if v.needed:
        lines.append(needed_text(v))
    lines += [f"warning: {text}" for text in v.warnings]
    if v.verdict == "regression" and v.design != "threshold":
        run = shlex.quote(os.fspath(source)) if isinstance(source, str | os.PathLike) else "RUN"
        command = " ".join([*accept_command(v), *where]).replace(" RUN ", f" {run} ", 1)
        lines += ["", f"If this change is intended: {command}", 'or with pytest: --accuracy-update --accuracy-reason "..."']
    return _harmless(lines)


def _harmless(lines: Sequence[str]) -> str:
    return "\n".join(map(harmless, lines))


def _names(options: Mapping[str, Any]) -> dict[str, Any]:
    spec = options.get("spec")
    return {
        "task": options.get("task") or NONE,
        "model": options.get("model") or NONE,
        "spec": dict(spec) if isinstance(spec, Mapping) else {},
    }


def _settings_of(entry: Entry | None) -> dict[str, Any]:
    """What an entry says of itself holds for the one that replaces it."""
    if entry is None:
        return {}
    said = {"metric": entry.metric or entry.value_key, "scale": entry.scale, "deterministic": entry.deterministic}
    return {name: value for name, value in said.items() if value is not None}


def _to_record(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in ONLY_CHECKED}


def _record_words(source: Any, options: Mapping[str, Any]) -> list[str]:
    run = os.fspath(source) if isinstance(source, str | os.PathLike) else "RUN"
    words = ["steelyard", "record", run, "--task", options["task"], "--model", options["model"]]
    for key, value in (options.get("spec") or {}).items():
        words += ["--spec", f"{key}={value}"]
    return [shlex.quote(word) for word in words] + _log_words(options) + _where_words(options)


def _log_words(options: Mapping[str, Any]) -> list[str]:
    """What was chosen inside a log, as the command takes it."""
    words: list[str] = []
    for one in (*LOG_CHOICES, *(column for column in COLUMNS if column.name == "score")):
        value, flag = options.get(one.name), f"--{one.name.replace('_', '-')}"
        if isinstance(value, str):
            words += [flag, shlex.quote(value)]
        elif value is True:
            words.append(flag)
    return words


def _where_words(options: Mapping[str, Any]) -> list[str]:
    """What a command must be told so that it finds the references from where the user stands."""
    if options["directory"] is not None:
        return ["--directory", shlex.quote(_from_here(options["directory"]))]
    if options["config"] is not None and find_config().path != options["config"]:
        return ["--config", shlex.quote(_from_here(options["config"]))]
    return []


def _from_here(path: str | os.PathLike[str]) -> str:
    here = os.path.relpath(path)
    return os.path.abspath(path) if here.startswith("..") else here
