"""Fresh answers of a model that is at hand: samples with ids, a subset in hash order, a callable or `generate` asked for each."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from steelyard_old.errors import DataError, UsageError, with_article
from steelyard_old.evaluate.task.cases import hash_order
from steelyard_old.late_dataclass import dataclass

SHOWN, HEAD = 64, 24  # characters of an excerpt, and of the beginning in it


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSample:
    """A prompt with its gold answer (`reference`, as evaluators of language models call it), and what else a scorer wants.

    `excerpt` is what people see of a sample whose id is a hash of its prompt, which says nothing to them.
    """

    id: str
    prompt: Any
    reference: Any
    group: str | None = None
    sampling: Mapping[str, Any] = field(default_factory=dict)
    more: tuple[Any, ...] = ()
    excerpt: str | None = None


def sample_of(raw: Any) -> PromptSample:
    """A sample from what people write: a mapping with prompt and reference, or a pair of them. Without an id, the prompt's hash.

    >>> sample_of(("2 + 2 =", "4")).reference, sample_of({"id": 7, "prompt": "2 + 2 =", "reference": "4"}).id
    ('4', '7')
    """
    if isinstance(raw, PromptSample):
        return raw
    if isinstance(raw, Mapping):
        lacking = [name for name in ("prompt", "reference") if name not in raw]
        if lacking:
            raise DataError(
                f"A sample has no {' and no '.join(lacking)}; its keys are {', '.join(map(str, raw))}.",
                got=f"keys {', '.join(map(str, raw))}",
                need=f"{' and '.join(lacking)} too",
            )
        group = raw.get("group")
        named = None if group is None else str(group)
        shown = excerpt(raw["prompt"]) if raw.get("id") is None else None
        id_ = _id(raw.get("id"), raw["prompt"])
        return PromptSample(id=id_, prompt=raw["prompt"], reference=raw["reference"], group=named, excerpt=shown)
    if isinstance(raw, tuple | list) and len(raw) == 2:
        return PromptSample(id=_id(None, raw[0]), prompt=raw[0], reference=raw[1], excerpt=excerpt(raw[0]))
    raise DataError(
        f"A sample must be a mapping with prompt and reference, or a pair of them, not {with_article(type(raw).__name__)}.",
        got=with_article(type(raw).__name__),
        need="a mapping with prompt and reference, or a pair of them",
    )


def sample_of_evaluator(raw: Any) -> PromptSample:
    """A sample of an evaluator's `generate_samples`: (prompt, sampling arguments, reference, ...)."""
    if not isinstance(raw, tuple | list) or len(raw) < 3:
        raise DataError(
            f"A sample of generate_samples must be (prompt, sampling arguments, reference, ...), not {repr(raw)[:80]}.",
            got=repr(raw)[:80],
            need="(prompt, sampling arguments, reference, ...)",
        )
    prompt, sampling, reference, *more = raw
    arguments = dict(sampling or {})
    return PromptSample(
        id=_id(None, prompt), prompt=prompt, reference=reference, sampling=arguments, more=tuple(more), excerpt=excerpt(prompt)
    )


def _id(given: Any, prompt: Any) -> str:
    return hashlib.sha256(repr(prompt).encode()).hexdigest()[:16] if given is None else str(given)


def excerpt(prompt: Any) -> str:
    """A prompt on one line, short: its beginning, and its end, where the question stands behind examples that all prompts share.

    >>> excerpt("Add the numbers.\\n\\n" + "1 + 1 = 2\\n" * 20 + "What is 17 + 25?")
    'Add the numbers. 1 + 1 = ... 1 = 2 1 + 1 = 2 What is 17 + 25?'
    """
    text = " ".join((prompt if isinstance(prompt, str) else repr(prompt)).split())
    return text if len(text) <= SHOWN else f"{text[:HEAD].rstrip()} ... {text[len(text) - (SHOWN - HEAD - 5) :].lstrip()}"


def named_once(samples: Iterable[PromptSample]) -> list[PromptSample]:
    """All samples, if no two have the same id."""
    out = list(samples)
    seen: set[str] = set()
    for sample in out:
        if sample.id in seen:
            raise DataError(
                f"Two samples have the id {sample.id!r}.", got=f"the id {sample.id!r} twice", need="an id of its own for each sample"
            )
        seen.add(sample.id)
    if not out:
        raise DataError("There are no samples.", got="no samples", need="at least one")
    return out


def hash_ordered(samples: Sequence[PromptSample], seed: str) -> list[PromptSample]:
    """The samples by the hash of seed and id: the first n are a random subset, the same whatever order they came in.

    Subsets are nested: the first 200 are among the first 500. Samples added to the data set displace few of them.
    """
    return [samples[place] for place in hash_order([sample.id for sample in samples], seed)]


def picked(samples: Sequence[PromptSample], ids: Collection[str], key: Any = str) -> list[PromptSample]:
    """The samples with these ids, all of them; `key` turns an id into what was recorded (its hash, perhaps)."""
    by_key = {key(sample.id): sample for sample in samples}
    lost = [each for each in ids if each not in by_key]
    if lost:
        raise DataError(
            f"{len(lost)} of {len(ids)} recorded items are no longer in the task, such as {lost[0]!r}.",
            got=f"{len(lost)} of {len(ids)} that the task does not have any more, such as {lost[0]!r}",
            need="the same items",
            hint="if the data set has changed, record a new reference, with a reason",
        )
    return [by_key[each] for each in ids]


def answers(model: Any, samples: Sequence[PromptSample], *, batch: int | None = None, **keywords: Any) -> list[Any]:
    """What the model says to each prompt. A callable, `generate(prompt)`, `generate(prompts)` with a batch size, or `generate_async`."""
    generate, later = getattr(model, "generate", None), getattr(model, "generate_async", None)
    if callable(generate) and batch is not None:
        return _in_batches(generate, samples, batch, keywords)
    if callable(generate):
        return [_single(generate(sample.prompt, **keywords, **sample.sampling), sample) for sample in samples]
    if callable(later):
        promised = [later(sample.prompt, **keywords, **sample.sampling) for sample in samples]
        return [_single(each.result(), sample) for each, sample in zip(promised, samples, strict=True)]
    if callable(model):
        return [_single(model(sample.prompt, **keywords, **sample.sampling), sample) for sample in samples]
    raise UsageError(
        f"The model must be a callable or an object with generate(prompt), not {with_article(type(model).__name__)}.",
        got=with_article(type(model).__name__),
        need="a callable, or an object with generate(prompt)",
    )


def _in_batches(generate: Any, samples: Sequence[PromptSample], batch: int, keywords: Mapping[str, Any]) -> list[Any]:
    out: list[Any] = []
    for start in range(0, len(samples), batch):
        part = samples[start : start + batch]
        said = generate([sample.prompt for sample in part], **keywords)
        if isinstance(said, str | bytes) or len(said) != len(part):
            got = "one text" if isinstance(said, str | bytes) else f"{len(said)} answers"
            raise DataError(
                f"The model must return a list with one answer per prompt; it gave {got} to {len(part)} prompts.",
                got=f"{got} to {len(part)} prompts",
                need="a list with one answer per prompt",
            )
        out += [_single(answer, sample) for answer, sample in zip(said, part, strict=True)]
    return out


def _single(answer: Any, sample: PromptSample) -> Any:
    if isinstance(answer, list) and len(answer) == 1:
        answer = answer[0]
    if answer is None:
        raise DataError(
            f"There is no answer for item {sample.id!r}.", got=f"nothing for item {sample.id!r}", need="an answer to every prompt"
        )
    return answer


def text_of(answer: Any) -> Any:
    """The text of an answer that comes wrapped as inference engines do (`.outputs[0].text`); any other as it is."""
    outputs = getattr(answer, "outputs", None)
    return getattr(outputs[0], "text", answer) if isinstance(outputs, list | tuple) and outputs else answer


def score_of(given: Any, sample: PromptSample) -> float:
    """A score as a finite number; right and wrong are 1 and 0."""
    try:
        score = float(given)
    except (TypeError, ValueError) as fault:
        raise DataError(
            f"The score of item {sample.id!r} must be a number, or True or False, not {given!r}.",
            got=f"{given!r} for item {sample.id!r}",
            need="a number, or True and False",
        ) from fault
    if not math.isfinite(score):
        raise DataError(
            f"The score of item {sample.id!r} must be a finite number, not {score}.",
            got=f"{score} for item {sample.id!r}",
            need="a finite number",
        )
    return score
