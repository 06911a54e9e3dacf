"""What all scorers are: options checked when the task is read, truths checked before any model is asked, then answers to scores."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from steelyard_old.errors import DataError, UsageError
from steelyard_old.evaluate.asking.asks import Answer, Case, Scored
from steelyard_old.evaluate.task.cases import canonical, check_keys, is_missing, plain, value_text


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """A scorer. Its fields are the options of the table [scorer], with their defaults; all of them are in its protocol.

    `compare` sees an answer that is not empty. `labels` says whether prediction and truth are the same text exactly where the
    answer is right, so that metrics of labels can be made of them. `sums` names the two columns of a ratio over all items,
    where the score is one, and `metric_of_sums` the metric they make; `span` are the least and the greatest score, None where
    there is no bound. `of_input` scorers look at the log-probabilities of what was asked, not at an answer.
    """

    name: ClassVar[str] = ""
    sums: ClassVar[tuple[str, str] | None] = None
    metric_of_sums: ClassVar[str] = "ratio"
    of_input: ClassVar[bool] = False
    known_as: ClassVar[tuple[str, ...]] = ()  # what the references of other suites call the mean of these scores

    @property
    def right_or_wrong(self) -> bool:
        """Whether scores are 0 or 1."""
        return True

    @property
    def labels(self) -> bool:
        return False

    @property
    def needs_truth(self) -> bool:
        return True

    @property
    def span(self) -> tuple[float, float] | None:
        return (0.0, 1.0)

    @property
    def version(self) -> int:
        """Goes up when the same options begin to give another score to the same answer; in the protocol from 2 on."""
        return 1

    @property
    def protocol(self) -> Mapping[str, str]:
        """What was done, as texts that do not depend on the order of tables or the version of Python."""
        own = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        if self.version > 1:
            own["version"] = self.version
        return {key: canonical(value) for key, value in own.items() if value is not None}

    @classmethod
    def names_elsewhere(cls, protocol: Mapping[str, str]) -> tuple[str, ...]:
        """What other suites call the mean of these scores, made as this protocol says."""
        return cls.known_as

    def score_answer(self, answer: Answer, case: Case) -> Scored:
        """The score of all that came back; most scorers look only at what was said."""
        return self.score(answer.said, case, answer.judgement)

    def score(self, said: Any, case: Case, judgement: str | None = None) -> Scored:
        """The score of an answer; nothing said is no answer: 0, and not extracted."""
        if nothing(said):
            return Scored(score=0.0, truth=self.truth(case), extracted=False)
        return self.compare(said, case)

    def compare(self, said: Any, case: Case) -> Scored:
        raise NotImplementedError

    def truth(self, case: Case) -> Any:
        """The truth as it is compared; of several that are accepted, the first."""
        return None if is_missing(case.truth) else value_text(case.truth, "truth")

    def check(self, case: Case) -> None:
        """Raise a DataError if a case cannot be scored."""
        if self.needs_truth and is_missing(plain(case.truth)):
            raise DataError(
                f"Item {case.id!r} has no truth to score against.", got=f"no truth for item {case.id!r}", need="a truth for every item"
            )
        self.truth(case)


Kind = TypeVar("Kind", bound=Scoring)


def nothing(said: Any) -> bool:
    """Whether an answer is none: null, a number that is not finite, or no more than white space."""
    said = plain(said)
    return is_missing(said) or (isinstance(said, float) and not math.isfinite(said)) or (isinstance(said, str) and not said.strip())


def made(kind: type[Kind], options: Mapping[str, Any]) -> Kind:
    """A scorer of a kind with the options of a task; unknown ones are an error that names the nearest."""
    known = [field.name for field in dataclasses.fields(kind)]
    check_keys(options, known, f"the options of the scorer {kind.name}")
    lacking = [f.name for f in dataclasses.fields(kind) if f.default is f.default_factory is dataclasses.MISSING and f.name not in options]
    if lacking:
        raise UsageError(
            f"The scorer {kind.name} needs {lacking[0]} = ... in the table [scorer].",
            got=f"no {lacking[0]}",
            need=f"{lacking[0]} = ... in the table [scorer]",
        )
    return kind(**options)


# ---- one option --------------------------------------------------------------------------------------------------------


def check_flags(scorer: Scoring, *names: str) -> None:
    for name in names:
        if not isinstance(getattr(scorer, name), bool):
            raise wrong(scorer, name, "true or false")


def check_choice(scorer: Scoring, name: str, known: Sequence[str]) -> None:
    if getattr(scorer, name) not in known:
        raise wrong(scorer, name, f"one of {', '.join(known)}")


def is_number(value: object) -> bool:
    """A finite number, and not true or false."""
    try:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # a whole number that no float can hold
        return False


def wrong(scorer: Scoring, name: str, need: str, hint: str = "") -> UsageError:
    return UsageError(
        f"{name} of the scorer {scorer.name} must be {need}, not {getattr(scorer, name)!r}.",
        got=f"{name} = {getattr(scorer, name)!r}",
        need=need,
        hint=hint,
    )


def several(value: Any) -> list[Any]:
    """The truths that are accepted: the members of a list, or the one there is."""
    value = plain(value)
    return list(value) if isinstance(value, (list, tuple)) else [value]


def bad_truth(scorer: Scoring, case: Case, need: str, hint: str = "") -> DataError:
    return DataError(
        f"The truth of item {case.id!r} must be {need}, not {repr(case.truth)[:120]}.", got=repr(case.truth)[:120], need=need, hint=hint
    )
