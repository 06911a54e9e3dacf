"""What was measured, put where others look for it: a model card, `.eval_results`, Google's model card, Every Eval Ever."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from steelyard_old.atomic import read_if_there, write_atomic
from steelyard_old.did_you_mean import unknown_key
from steelyard_old.errors import DataError, SourceError, UsageError, with_article
from steelyard_old.estimate.row import with_standard_errors
from steelyard_old.late_dataclass import dataclass
from steelyard_old.options.option import documented
from steelyard_old.options.report import CARD, EVAL_RESULTS, GOOGLE_CARD, RECORD_FILES, TASK, TASK_ID
from steelyard_old.reference import card_page, front_matter
from steelyard_old.reference.entry_text import Splice
from steelyard_old.reference.strict_yaml import decode
from steelyard_old.render.cards.about import CardDetails, Evaluated
from steelyard_old.render.cards.eval_results import HEAD, eval_results_yaml
from steelyard_old.render.cards.google import google_card as google_card_text
from steelyard_old.render.cards.model_index import SOURCE, model_index_items, name_line
from steelyard_old.render.cards.page import ASKED, BEGIN, END, card_part, new_page
from steelyard_old.render.markdown import markdown
from steelyard_old.render.terminal import harmless
from steelyard_old.results.comparison import Comparison
from steelyard_old.results.evaluation import Evaluation
from steelyard_old.results.measurement import Measurement, Row

MOST = 8 * 2**20  # bytes of a card; what people write is a thousand times smaller


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What became of a file, and what is still to be done about it by people."""

    path: Path
    done: str  # created, updated, unchanged
    warnings: tuple[str, ...] = ()


# ---- what a card is about --------------------------------------------------------------------------------------------


def card_details(
    results: Sequence[tuple[str, Any]], *, model: str | None = None, task: str = TASK.default, source: str | None = None
) -> CardDetails:
    """What a card tells, out of results with the names of their data. A comparison and a run speak for their candidate."""
    evaluated = tuple(Evaluated(data=data, measurement=with_standard_errors(_measured(result, data))) for data, result in results)
    if not evaluated or not any(each.scores for each in evaluated):
        got = "no result" if not evaluated else "no metric with a value"
        raise DataError(
            f"A model card needs at least one score; there is {got}.",
            got=got,
            need="at least one score",
            hint="sy.measure(data)",
        )
    twice = sorted({each.data for each in evaluated if sum(other.data == each.data for other in evaluated) > 1})
    if twice:
        hint = "name them: first=a.json second=b.json"
        raise UsageError(
            f"Two results have the same data name, {twice[0]!r}.",
            got=f"the data {twice[0]!r} more than once",
            need="a name for each",
            hint=hint,
        )
    if source is not None and not source.lower().startswith(("https://", "http://")):
        raise UsageError(
            f"The address of the source must be https://... or http://..., not {source!r}.",
            got=repr(source),
            need="https://... or http://...",
        )
    named = {name for _, result in results if (name := _model_of(result))}
    found = model if model is not None else next(iter(named)) if len(named) == 1 else ""
    # The name is written without anything that a reader obeys, and must be found again as it is written.
    return CardDetails(model=harmless(found.strip()), evaluated=evaluated, task=task, source=source)


def data_of(result: Any, path: Path) -> str:
    """What the data is called where nobody said it: the task of a run, the source of a measurement, or the file of the result."""
    if isinstance(result, Evaluation):
        return result.task
    return (result.name if isinstance(result, Measurement) else None) or path.stem


def _measured(result: Any, data: str) -> Measurement:
    """The measurement in a result."""
    if isinstance(result, Measurement):
        return result
    if isinstance(result, Evaluation) and result.candidates is not None:
        raise UsageError(
            f"A model card is of one model; {data!r} is a run of several candidates.",
            got=f"{data!r}, a run of {len(result.models) - 1} candidates",
            need="a run of one model, or of two",
            hint="sy.measure(rows) measures the rows of one of them",
        )
    if isinstance(result, Evaluation) and result.measurement is not None:
        return result.measurement
    if isinstance(result, Comparison):
        side = result.candidate
        row = Row(
            metric=result.metric,
            estimate=side.estimate,
            n=result.n,
            interval=side.interval,
            standard_error=side.standard_error,
            higher_is_better=result.higher_is_better,
        )
        return Measurement(n=result.n, rows=(row,), name=side.name, warnings=result.warnings, signature=result.signature)
    raise UsageError(
        f"A model card is made of measurements, comparisons and runs; {data!r} is {with_article(type(result).__name__.lower())}.",
        got=f"{data!r}, which is {with_article(type(result).__name__.lower())}",
        need="a measurement, a comparison or a run",
        hint="sy.measure(run) measures what was checked",
    )


def _model_of(result: Any) -> str | None:
    """The model that a run names. The names in other results are those of files, which are no model's."""
    return result.models[-1].name if isinstance(result, Evaluation) else None


# ---- the card of the Hub ---------------------------------------------------------------------------------------------


@documented(
    CARD,
    "what was Written",
)
def model_card(
    path: str | Path,
    results: Mapping[str, Any],
    *,
    model: str | None = None,
    task: str = "other",
    source: str | None = None,
    answers: Mapping[str, Any] | str | os.PathLike[str] | None = None,
) -> Written:
    """Write a model card of the Hugging Face Hub, or update the one at a path: our results in it, and nothing else.

    results: the name of the data -> a measurement, a comparison or a run (which speak for their candidate). model: the
    name in the index (default: the one that is there). task: as the Hub sorts tasks. source: where the evaluation can be seen.
    answers: texts for the sections that only people can write, each put where the card says nothing yet; what somebody wrote
    is never replaced.

    >>> import tempfile
    >>> from steelyard_old.questions.measure.measure import measure
    >>> from steelyard_old.tally.counts import Counts
    >>> with tempfile.TemporaryDirectory() as there:
    ...     found = model_card(Path(there) / "README.md", {"gsm8k": measure(Counts.of(85, 100))}, model="lab/small")
    >>> found.done, len(found.warnings)
    ('created', 3)
    """
    return update_card(Path(path), card_details(list(results.items()), model=model, task=task, source=source), card_answers(answers))


def update_card(path: Path, told: CardDetails, answers: Mapping[str, str] | None = None) -> Written:
    """Write the card at a path, or update it: our own results, what stands between our marks, answers to open questions, no more.

    Twice gives the same bytes.
    """
    data = read_if_there(path, most=MOST)
    new = data is None or not data.strip()
    before = _new_card(_with_model(told, [], path)) if data is None or new else decode(data, str(path))
    page, warnings = _updated(before, told, path, answers or {})
    done = _put(path, page.encode("utf-8"), data)
    return Written(path=path, done=done, warnings=tuple(warnings))


def _new_card(told: CardDetails) -> str:
    front = front_matter.with_results("", _results(told), "\n", "a new card")
    return f"---\n{front}---\n" + "\n".join(new_page(told)) + "\n"


def _updated(before: str, told: CardDetails, path: Path, answers: Mapping[str, str]) -> tuple[str, list[str]]:
    """The page with our parts renewed, and what there is to say about it: sections that people have not written yet."""
    shown = str(path)
    front, new = card_page.front_of(before, shown), card_page.newline_of(before)
    above = before.count("\n", 0, front.start)
    known = front_matter.names(front.text, shown, above)
    told = _with_model(told, known, path)
    changed = front_matter.with_results(front.text, _results(told), new, shown, above)
    dashes = f"---{new}"
    cut = Splice(front.start, front.end, changed if front.there else f"{dashes}{changed}{dashes}")
    body, higher = before[front.end :], before.count("\n", 0, front.end)
    ours = card_page.part_between(body, BEGIN, END, card_part(told), shown, higher)
    body, unused = _answered(body, ours, answers, new)
    ours = card_page.part_between(body, BEGIN, END, card_part(told), shown, higher)
    missing = card_page.unwritten(body[: ours.start] + body[ours.end :])
    asked = [name for name in missing if not _is_asked(body, name)]
    part = card_page.part_between(body, BEGIN, END, card_part(told, asked, missing), shown, higher)
    others = [name for name in known if name != told.model]
    warnings = [f"the index of {path.name} has another model as well, {others[0]!r}: the Hub takes all scores for one's"] if others else []
    warnings += [f"{path.name} has a section about {name} that says something else: the answer was not used" for name in unused]
    return cut.applied(before[: front.end]) + part.applied(body), [*warnings, *(_ask(path, name) for name in missing)]


def _answered(body: str, ours: Splice, answers: Mapping[str, str], new: str) -> tuple[str, list[str]]:
    """The page with answers where it says nothing yet, and the names of those that somebody answered otherwise.

    An answer takes the place of its question, or is a section of its own before our part. From then on it is people's text.
    """
    unused, sections = [], []
    outside = body[: ours.start] + body[ours.end :]
    unwritten = card_page.unwritten(outside)
    start, end = ours.start, ours.end
    for name, answer in answers.items():
        text = answer.replace("\n", new)
        if name not in unwritten:
            unused += [] if text in outside else [name]
            continue
        question = f"<!-- {ASKED[name][1]} -->"
        place = body.find(question)
        if place < 0 or start <= place < end:
            sections.append(f"## {ASKED[name][0]}{new}{new}{text}{new}{new}")
            continue
        body = body[:place] + text + body[place + len(question) :]
        grown = len(text) - len(question) if place < start else 0
        start, end = start + grown, end + grown
    if sections:
        gap = "" if not start or body[:start].endswith(new * 2) else new if body[:start].endswith("\n") else new * 2
        body = body[:start] + gap + "".join(sections) + body[start:]
    return body, unused


def card_answers(given: Mapping[str, Any] | str | os.PathLike[str] | None) -> dict[str, str]:
    """Texts for the sections that only people can write, ready for the page; those left empty are left out, so that they are asked for."""
    if given is None:
        return {}
    shown = "answers" if isinstance(given, Mapping) else repr(os.fspath(given))
    found = given if isinstance(given, Mapping) else _toml(Path(given))
    keys = {name.replace(" ", "_"): name for name in ASKED}
    answers = {}
    for key, text in found.items():
        if key not in keys:
            unknown, hint = unknown_key(key, keys, shown)
            raise UsageError(unknown, got="an unknown key", need=f"one of {', '.join(keys)}", hint=hint)
        if not isinstance(text, str):
            raise UsageError(
                f"{key!r} in {shown} must be a text, not {with_article(type(text).__name__)}.",
                got=with_article(type(text).__name__),
                need="a text",
            )
        name = keys[key]
        written = "\n\n".join(markdown(" ".join(part.split())) for part in re.split(r"\n\s*\n", text.replace("\r\n", "\n")) if part.strip())
        if card_page.says_something(text) and name not in card_page.unwritten(f"## {ASKED[name][0]}\n\n{written}\n"):
            answers[name] = written
    return answers


def _toml(path: Path) -> Mapping[str, Any]:
    import tomllib

    data = read_if_there(path, most=MOST)
    if data is None:
        raise SourceError(
            f"No file {str(path)!r} with answers for the card.", got="no such file", need="answers as TOML", hint='harms = "..."'
        )
    try:
        return tomllib.loads(decode(data, str(path)).removeprefix("\ufeff").replace("\r\n", "\n"))
    except (tomllib.TOMLDecodeError, RecursionError) as fault:
        raise _invalid(str(path), "TOML", fault, 'harms = "..."') from None


def _invalid(shown: str, language: str, fault: Exception, hint: str) -> SourceError:
    got = str(fault) or "too many levels"  # a RecursionError need not say anything
    return SourceError(f"{shown!r} is not valid {language} ({got}).", got=got, need=language, hint=hint)


def _is_asked(body: str, name: str) -> bool:
    """Whether the page has the question of a section already, as every card that began here does."""
    return f"<!-- {ASKED[name][1]} -->" in body


def _results(told: CardDetails) -> front_matter.Results:
    return front_matter.Results(name=told.model, name_line=name_line(told.model), items=model_index_items(told), source=SOURCE)


def _with_model(told: CardDetails, known: Sequence[str], path: Path) -> CardDetails:
    if told.model:
        return told
    if len(known) == 1:
        return CardDetails(model=known[0], evaluated=told.evaluated, task=told.task, source=told.source)
    got = f"{len(known)} models in {str(path)!r}: {', '.join(map(repr, known))}" if known else "no name of a model"
    raise UsageError(f"Say which model the card is about: there is {got}.", got=got, need="one", hint="model=NAME")


def _ask(path: Path, name: str) -> str:
    title, question = ASKED[name]
    return f"{path.name} says nothing about {name}: please write a section {title!r}. {question}"


def _put(path: Path, new: bytes, old: bytes | None) -> str:
    """Write what changed, whole or not at all."""
    if new == old:
        return "unchanged"
    if read_if_there(path, most=MOST) != old:
        hint = "repeat the command"
        raise UsageError(
            f"{str(path)!r} was changed meanwhile by somebody else.",
            got="a file that somebody changed meanwhile",
            need="it as it was read",
            hint=hint,
        )
    write_atomic(path, new)
    return "created" if old is None else "updated"


# ---- the other forms -------------------------------------------------------------------------------------------------


@documented(EVAL_RESULTS, "what was Written")
def eval_results(
    path: str | os.PathLike[str],
    results: Mapping[str, Any],
    *,
    metric: str | None = None,
    task_id: str = "default",
    source: str | None = None,
) -> Written:
    """Write a file of `.eval_results` for the Hugging Face Hub: what `report --eval-results` does.

    Data has to be named owner/name, as on the Hub. A file that steelyard did not write is not replaced.

    >>> import tempfile
    >>> from steelyard_old.questions.measure.measure import measure
    >>> from steelyard_old.tally.counts import Counts
    >>> with tempfile.TemporaryDirectory() as there:
    ...     found = eval_results(Path(there) / "gsm8k.yaml", {"openai/gsm8k": measure(Counts.of(85, 100))}, metric="accuracy")
    >>> found.done
    'created'
    """
    return write_eval_results(Path(path), card_details(list(results.items()), source=source), metric=metric, task_id=task_id)


@documented(GOOGLE_CARD, "what was Written")
def google_card(path: str | os.PathLike[str], results: Mapping[str, Any], *, model: str | None = None) -> Written:
    """Write a model card in Google's JSON format, or update the one at a path: what `report --google-card` does.

    Everything that it says beside our numbers is kept.

    >>> import tempfile
    >>> from steelyard_old.questions.measure.measure import measure
    >>> from steelyard_old.tally.counts import Counts
    >>> with tempfile.TemporaryDirectory() as there:
    ...     found = google_card(Path(there) / "card.json", {"gsm8k": measure(Counts.of(85, 100))}, model="lab/small")
    >>> found.done
    'created'
    """
    return write_google_card(Path(path), card_details(list(results.items()), model=model))


@documented(RECORD_FILES, "what was Written, a file each")
def every_eval_ever_records(
    directory: str | os.PathLike[str], results: Mapping[str, Any], *, model: str | None = None, about: Mapping[str, str] | None = None
) -> list[Written]:
    """Write the record of each result into a datastore of Every Eval Ever: what `report --every-eval-ever` does.

    `every_eval_ever` gives the same as texts, from the data themselves and with their items.

    >>> import tempfile
    >>> from steelyard_old.questions.measure.measure import measure
    >>> from steelyard_old.tally.counts import Counts
    >>> with tempfile.TemporaryDirectory() as there:
    ...     (found,) = every_eval_ever_records(
    ...         there, {"gsm8k": measure(Counts.of(85, 100))}, model="lab/small", about={"organization": "lab"}
    ...     )
    >>> found.done, found.path.suffix
    ('created', '.json')
    """
    return write_every_eval_ever(Path(directory), card_details(list(results.items()), model=model), about or {})


def write_eval_results(path: Path, told: CardDetails, *, metric: str | None = None, task_id: str = TASK_ID.default) -> Written:
    """A file of `.eval_results`. One that we did not write is not ours to replace."""
    if path.suffix not in (".yaml", ".yml"):
        raise UsageError(
            f"The results for the Hub go to .eval_results/NAME.yaml, not to {str(path)!r}.",
            got=repr(str(path)),
            need="a file .eval_results/NAME.yaml",
        )
    old = read_if_there(path, most=MOST)
    text = eval_results_yaml(told, metric=metric, task_id=task_id)
    if old is not None and not old.startswith(HEAD.encode()):
        hint = "choose another file: the Hub reads all of them"
        raise UsageError(
            f"{str(path)!r} was not written by steelyard, so it is not replaced.",
            got="a file that somebody else wrote",
            need="one of ours, or none",
            hint=hint,
        )
    _folder(path)
    return Written(path=path, done=_put(path, text.encode("utf-8"), old))


def _folder(path: Path) -> None:
    """The directory itself, `.eval_results` that is, but not a whole path: that would be a typing mistake come true."""
    try:
        path.parent.mkdir(exist_ok=True)
    except OSError as fault:
        raise UsageError(
            f"Cannot write {str(path)!r}: {fault.strerror or fault}.", got=fault.strerror or str(fault), need="a directory that exists"
        ) from fault


def write_google_card(path: Path, told: CardDetails) -> Written:
    """Google's model card as JSON: written, or updated with everything that it said beside our numbers kept."""
    told = _with_model(told, [], path)
    old = read_if_there(path, most=MOST)
    before = None if old is None else _json_object(decode(old, str(path)), str(path))
    return Written(path=path, done=_put(path, google_card_text(told, before).encode("utf-8"), old))


def _json_object(text: str, shown: str) -> Mapping[str, Any]:
    from steelyard_old.read.files.jsons import strict_decoder

    try:
        found = strict_decoder().decode(text)
    except (ValueError, RecursionError) as fault:
        raise _invalid(shown, "JSON", fault, "nothing was written") from fault
    if not isinstance(found, dict):
        raise SourceError(
            f"{shown!r} is not a model card in JSON: it holds no object.",
            got="no object",
            need="a model card as JSON",
            hint="nothing was written",
        )
    return found


def write_every_eval_ever(directory: Path, told: CardDetails, given: Mapping[str, str]) -> list[Written]:
    """The record of every measurement, in the directories of that datastore below `directory`."""
    from steelyard_old.questions.report.every_eval_ever import every_eval_ever

    files: dict[str, str] = {}
    now = str(int(time.time()))  # the moment of writing is the moment it was made, unless it is told
    for each in told.evaluated:
        said = {"model": told.model, "evaluation": each.data, "retrieved": now} | dict(given)
        files |= every_eval_ever(each.measurement, about=said)
    if not directory.is_dir():
        raise UsageError(
            f"No directory {str(directory)!r} for the records of Every Eval Ever.", got=f"no directory {str(directory)!r}", need="one"
        )
    out = []
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        out.append(Written(path=path, done=_put(path, text.encode("utf-8"), read_if_there(path))))
    return out
