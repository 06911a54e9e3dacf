"""promptfoo: what `promptfoo eval -o` writes as .json or .jsonl, one provider, one prompt, one score; equal tests are repeats.

`--repeat` gives every repeat a test number of its own and keeps no repeat number, so numbers of tests cannot pair two runs
and would count repeats as items. Here an item is what was asked and checked (vars, description, assertions), and a repeat
is how often it came before. Two tests that are equal in all three are therefore one item, asked twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from steelyard_old.errors import SourceError, UsageError
from steelyard_old.read.files.paths import open_file
from steelyard_old.read.logs.documents import (
    digest,
    document,
    listed_in,
    malformed,
    objects,
    occurrences,
    scalars,
    side_by_side,
    text_or_none,
)
from steelyard_old.read.logs.log import Choices, Log, SeveralError, choice_of, pick
from steelyard_old.redaction import shortened

_ERROR = 2  # failureReason: 0 none, 1 an assertion, 2 an error before anything was checked
_OWN = ("score", "success")
_START = re.compile(rb'\s*\{\s*"evalId"\s*:\s*("(?:[^"\\]|\\.)*"|null)\s*,\s*"results"\s*:\s*\{\s*"version"\s*:\s*\d+')
_ROW = (b'"testIdx"', b'"promptIdx"', b'"testCase"', b'"provider"', b'"success"', b'"namedScores"')
_LINE = 1 << 24  # the first line holds an answer and its grading, not a book
_COUNTED = ("successes", "failures", "errors")
_SHOWN = 60


def looks_like(path: str, head: bytes) -> bool:
    """An object that begins with an eval id and versioned results, or lines of results."""
    head = head.removeprefix(b"\xef\xbb\xbf")
    if _START.match(head):
        return True
    if not head.lstrip().startswith(b"{") or b'"cost"' not in head:
        return False
    with open(path, "rb") as stream:
        line = stream.readline(_LINE)
    return all(key in line for key in _ROW)


def read(path: str, choices: Choices) -> Log:
    """One row per test and repeat of one provider and one prompt. Tests that errored have no score."""
    rows, labels, said, derived = _found(path)
    model = pick("model", choices.model, list(dict.fromkeys(_provider(path, row) for row in rows)), path)
    rows = [row for row in rows if _provider(path, row) == model]
    prompt, label = _prompt(path, rows, labels, choices.prompt)
    rows = [row for row in rows if _prompt_of(row) == prompt]
    score, values = _scores(path, rows, choices.score, derived)
    ids = [_item(path, row) for row in rows]
    made = [
        {"id": item, "score": value, **scalars("vars", _test(row).get("vars", row.get("vars"))), **scalars("metadata", _metadata(row))}
        for item, value, row in zip(ids, values, rows, strict=True)
    ]
    columns = side_by_side(made)
    repeats = occurrences(ids)
    if repeats is not None:
        columns["repeat"] = repeats
    warnings = (*said, *_unequal(ids), *_missing(rows, values, score))
    chosen = {"model": model, "prompt": label, "score": score}
    return Log(tool="promptfoo", columns=columns, name=model, chosen=chosen, warnings=warnings, texts=lambda: _texts(path, model, prompt))


def _texts(path: str, model: str, prompt: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What each test of one provider and one prompt was asked and answered."""
    for row in _found(path)[0]:
        if _provider(path, row) == model and _prompt_of(row) == prompt:
            asked, said = row.get("prompt"), row.get("response")
            yield (
                _item(path, row),
                {
                    "prompt": asked.get("raw") if isinstance(asked, dict) else asked,
                    "answer": said.get("output") if isinstance(said, dict) else said,
                },
            )


# ---- the file ----------------------------------------------------------------------------------------------------------


def _found(path: str) -> tuple[list[dict[str, Any]], dict[str, str], list[str], list[str]]:
    """The rows, the labels of the prompts, what is to be said, and the derived metrics: from a document, or from lines of rows."""
    if path.lower().removesuffix(".gz").removesuffix(".zst").endswith(".jsonl") or _is_lines(path):
        rows = [row for _, row in objects(path)]
        if not rows:
            raise SourceError(f"No items in {path!r}.", got="no items", need="at least one row")
        given = [(row.get("promptId"), row.get("prompt")) for row in rows]
        return (
            rows,
            {str(key): str(prompt["label"]) for key, prompt in given if key and isinstance(prompt, dict) and prompt.get("label")},
            [],
            [],
        )
    whole = document(path)
    results = whole.get("results") if isinstance(whole, dict) else None
    rows = listed_in(path, results, "results", "promptfoo")
    return rows, _labels(results), _uncounted(results, len(rows)), _derived(whole)


def _derived(whole: Any) -> list[str]:
    """Metrics that promptfoo computes from the scores of the whole run (`derivedMetrics`): no row has them."""
    config = whole.get("config") if isinstance(whole, dict) else None
    listed = config.get("derivedMetrics") if isinstance(config, dict) else None
    return [str(each["name"]) for each in listed if isinstance(each, dict) and "name" in each] if isinstance(listed, list) else []


def _is_lines(path: str) -> bool:
    """Lines of rows under another name: the first of them is a whole object."""
    file = open_file(path)  # held until it is read: an unpacked copy goes with it
    with open(file.plain, "rb") as stream:
        line = stream.readline(_LINE)
    return all(key in line for key in _ROW) and not _START.match(line.removeprefix(b"\xef\xbb\xbf"))


def _uncounted(results: Any, rows: int) -> list[str]:
    """Said where the statistics of the run count more tests than there are rows."""
    stats = results.get("stats")
    counts = [stats.get(name) for name in _COUNTED] if isinstance(stats, dict) else []
    whole = [count for count in counts if type(count) is int]
    if len(whole) < len(_COUNTED) or sum(whole) <= rows:
        return []
    return [f"{sum(whole) - rows} of the {sum(whole)} tests that the run counts are not in the file: they are left out"]


def made(path: str) -> str | None:
    """When the run was made: as the results say, else as its id does."""
    if _is_lines(path):
        return None
    whole = document(path)
    results = whole.get("results") if isinstance(whole, dict) else None
    told = results.get("timestamp") if isinstance(results, dict) else None
    dated = re.search(r"\d{4}-\d\d-\d\dT[\d:.]+", str(told or (whole.get("evalId") if isinstance(whole, dict) else "")))
    return dated[0] if dated else None


# ---- which rows ------------------------------------------------------------------------------------------------------


def _provider(path: str, row: Mapping[str, Any]) -> str:
    given = row.get("provider")
    found = given if isinstance(given, str) else given.get("label") or given.get("id") if isinstance(given, dict) else None
    if not isinstance(found, str):
        raise malformed(path, "a row has no provider", "rows as promptfoo writes them")
    return found


def _prompt_of(row: Mapping[str, Any]) -> str:
    """What tells prompts apart: the id, a hash of the prompt; before there were ids, the text or the column."""
    prompt = row.get("prompt")
    given = prompt if isinstance(prompt, dict) else {}
    found = row.get("promptId") or given.get("raw") or given.get("label") or row.get("promptIdx", "")
    return str(found)


def _labels(results: Any) -> dict[str, str]:
    """Prompt -> the label its author gave it; without one, promptfoo takes the text."""
    prompts = results.get("prompts")
    listed = [prompt for prompt in prompts if isinstance(prompt, dict)] if isinstance(prompts, list) else []
    return {
        str(key): str(prompt.get("label") or prompt.get("raw") or key)
        for prompt in listed
        for key in (prompt.get("id"), prompt.get("raw"))
        if key
    }


def _prompt(path: str, rows: Sequence[Mapping[str, Any]], labels: Mapping[str, str], asked: str | None) -> tuple[str, str]:
    """The prompt that was meant, and its label: its id, its label, or a part that only its label has."""
    found = {key: labels.get(key, key) for key in dict.fromkeys(map(_prompt_of, rows))}
    shown = [_short(label) for label in found.values()]
    if asked is None:
        matching = list(found)
        if len(set(shown)) == len(shown):
            pick("prompt", None, shown, path)  # several labels that differ
    else:
        exact = [key for key, label in found.items() if asked in (key, label, _short(label))]
        matching = exact or [key for key, label in found.items() if asked in label or (len(asked) > 5 and key.startswith(asked))]
        if not matching:
            got = ", ".join(shown[:20])
            hint = f"{choice_of('prompt', shown[0])}; an id or a part of one label will do"
            raise UsageError(f"No prompt {asked!r} in {path!r}; it has {got}.", got=got, need="one of these", hint=hint)
    if len(matching) > 1:
        got = ", ".join(_short(found[key]) + f" ({key[:8]})" for key in matching[:20])
        keys = [key[:8] if len({each[:8] for each in matching}) == len(matching) else key for key in matching]
        raise SeveralError(
            f"{path!r} has {len(matching)} prompts: {got}.", "prompt", keys, got=got, need="one of them", hint=choice_of("prompt", keys[0])
        )
    return matching[0], _short(found[matching[0]])


def _short(label: str) -> str:
    words = " ".join(label.split())
    return shortened(words, _SHOWN)


# ---- which score -----------------------------------------------------------------------------------------------------


def _scores(path: str, rows: Sequence[Mapping[str, Any]], asked: str | None, derived: Sequence[str]) -> tuple[str, list[Any]]:
    """The chosen score of each row. Unasked, it is `score` if pass, score and every named score agree on all rows."""
    named = dict.fromkeys(name for row in rows for name in _named(row))
    found = {name: [None if _errored(row) else row.get(name) for row in rows] for name in _OWN}
    found["success"] = [int(value) if isinstance(value, bool) else value for value in found["success"]]
    for name in named:
        spelled = f"namedScores.{name}" if name in _OWN else name
        found[spelled] = [None if _errored(row) else _named(row).get(name) for row in rows]
    if asked is None and all(values == found["score"] for values in found.values()):
        return "score", found["score"]
    if asked in derived and asked not in found:
        raise UsageError(
            f"{asked!r} of {path!r} is a derived metric: promptfoo computes it from the whole run, so no test has a value of it.",
            got="a derived metric: promptfoo computes it from the whole run, and no test has a value of it",
            need=f"a score of the tests: {', '.join(found)}",
            hint=f"measure a score of the tests: {', '.join(found)}",
        )
    chosen = pick("score", asked, list(found), path)
    return chosen, found[chosen]


def _named(row: Mapping[str, Any]) -> Mapping[str, Any]:
    given = row.get("namedScores")
    return given if isinstance(given, dict) else {}


def _errored(row: Mapping[str, Any]) -> bool:
    return row.get("failureReason") == _ERROR


# ---- which item ------------------------------------------------------------------------------------------------------


def _test(row: Mapping[str, Any]) -> Mapping[str, Any]:
    given = row.get("testCase")
    return given if isinstance(given, dict) else {}


def _item(path: str, row: Mapping[str, Any]) -> str:
    """The name of the item: a digest of the vars of the test (those of the row may have grown while it ran), its description and
    its assertions; the description stands before it, for those who read lists of items."""
    test = _test(row)
    given, described = test.get("vars", row.get("vars")), text_or_none(test.get("description"))
    name = digest(path, [given or {}, described, test.get("assert") or []])
    return name if described is None else f"{_short(described)} {name}"


def _metadata(row: Mapping[str, Any]) -> Any:
    return _test(row).get("metadata", row.get("metadata"))


def _unequal(ids: Sequence[str]) -> list[str]:
    counts = dict.fromkeys(ids, 0)
    for each in ids:
        counts[each] += 1
    fewest, most = min(counts.values()), max(counts.values())
    if fewest == most:
        return []
    return [f"items came {fewest} to {most} times: tests with equal vars, description and assertions are taken as repeats of one item"]


def _missing(rows: Sequence[Mapping[str, Any]], values: Sequence[Any], score: str) -> list[str]:
    errored = [row for row in rows if _errored(row)]
    absent = sum(value is None for value in values) - len(errored)
    said = []
    if errored:
        first = text_or_none(errored[0].get("error")) or "no message"
        said.append(f"{len(errored)} of {len(rows)} tests errored, such as: {_short(first.partition(chr(10))[0])}")
    if absent:
        said.append(f"{absent} of {len(rows)} tests have no {score!r}")
    return said
