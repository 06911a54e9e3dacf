"""A task as a class: what it measures and how sure it must be are attributes, `evaluate(model)` runs, reports and asserts.

    class Sums(AccuracyTask):
        DATASET = "sums"

        def samples(self):
            return [{"id": i, "prompt": f"{i} + 1 =", "reference": str(i + 1)} for i in range(500)]

        def score(self, answer, reference):
            return answer.strip() == reference

    def test_sums():
        Sums("my-model").evaluate(model)      # a callable, or an object with generate(prompt) and, of an engine, args

Its reference is `references/sums.yaml`, as for any other task. What the reference says of itself comes before the class,
the class before steelyard.toml.
"""

from __future__ import annotations

import logging
import math
import os
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from steelyard_old.errors import SteelyardError, UsageError, with_article
from steelyard_old.estimate.guard.rule import is_better_higher
from steelyard_old.evaluate.models.engine_spec import spec_of
from steelyard_old.evaluate.task import prompts
from steelyard_old.evaluate.task.prompts import PromptSample
from steelyard_old.late_dataclass import dataclass
from steelyard_old.options.option import SOURCE_KEYWORDS, keywords_of, refuse_unknown
from steelyard_old.questions.guard.check import check
from steelyard_old.questions.record.record import existing_entry
from steelyard_old.reference import outcomes
from steelyard_old.reference.entry import Entry
from steelyard_old.reference.lookup import ReferenceLocation, load, locate, matched
from steelyard_old.reference.names import check_spec
from steelyard_old.results.verdict import Verdict

log = logging.getLogger("steelyard")
NUMBERS = ("alpha", "beta", "sigma", "num_samples")
FROM_ARGS = ("dtype", "quant_algo", "kv_cache_quant_algo", "spec_dec_algo")
SUBSET_SEED = "subset_seed"  # in the protocol of a reference


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What an evaluation found: the value, and a score for each item where the value is their mean."""

    value: float
    n: int | None
    rows: list[dict[str, Any]] | None


class AccuracyTask:
    """Subclass it, set DATASET, and say how to evaluate: `samples` and `score`, or EVALUATOR_CLS.

    An evaluator has `generate_samples()`, which gives (prompt, sampling arguments, reference, ...), and
    `compute_score(outputs, references, ...)`; or only `evaluate(model, ...)`, which gives a number.
    """

    DATASET: ClassVar[str] = ""
    DATASET_DIR: ClassVar[str | None] = None  # for samples() and evaluators that read files
    HIGHER_IS_BETTER: ClassVar[bool | None] = None  # None: what the metric's name says
    METRIC_NAME: ClassVar[str] = "accuracy"
    SCALE: ClassVar[str | None] = None  # percent, fraction or raw, if the reference does not say
    ALPHA: ClassVar[float | None] = None
    BETA: ClassVar[float | None] = None
    SIGMA: ClassVar[float | None] = None
    NUM_SAMPLES: ClassVar[int | None] = None  # None: all
    SEED: ClassVar[int] = 0  # of the subset
    MAX_INPUT_LEN: ClassVar[int | None] = None  # recorded with the reference: another length is another protocol
    MAX_OUTPUT_LEN: ClassVar[int | None] = None
    MAX_BATCH_SIZE: ClassVar[int | None] = None  # generate() is given lists of so many prompts; None: one prompt
    EVALUATOR_CLS: ClassVar[Any] = None
    EVALUATOR_KWARGS: ClassVar[Mapping[str, Any]] = {}
    EVALUATE_KWARGS: ClassVar[Mapping[str, Any]] = {}

    def __init__(
        self, model_name: str, *, directory: str | os.PathLike[str] | None = None, config: str | os.PathLike[str] | None = None
    ) -> None:
        if not self.DATASET:
            raise UsageError(
                f"The task {type(self).__name__} has no DATASET, the name of its references.",
                got="no DATASET",
                need="the name of its references",
            )
        self.model_name = model_name
        self.where = {name: value for name, value in (("directory", directory), ("config", config)) if value is not None}

    def samples(self) -> Iterable[Any]:
        """The items: mappings with id, prompt and reference, or pairs of prompt and reference."""
        raise NotImplementedError

    def score(self, answer: Any, reference: Any) -> float:
        """How good one answer is: True or False, or a number."""
        raise NotImplementedError

    def evaluate(
        self,
        model: Any,
        extra_acc_spec: str | Mapping[str, Any] | None = None,
        extra_evaluator_kwargs: Mapping[str, Any] | None = None,
        sampling_params: Any = None,
        streaming: bool = False,
        is_integration_test: bool = False,
        *,
        spec: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> float:
        """Run the task, report, and raise AssertionError if the model has become worse. The score is returned.

        The reference is found before the model is asked anything: by `spec`, by `extra_acc_spec` (a mapping in its place is
        a spec), and by `model.args` of an inference engine, whose dtype, quant_algo, kv_cache_quant_algo and spec_dec_algo
        count where `spec` does not say them. `options` are those of `sy.check`, such as theta. With INTEGRATION_TEST=1 or
        is_integration_test one item is run and nothing is verified, and that is said.
        """
        __tracebackhide__ = True
        guard = _running()
        try:
            if not isinstance(extra_evaluator_kwargs, Mapping | None):
                got = with_article(type(extra_evaluator_kwargs).__name__)
                raise UsageError("cannot use extra_evaluator_kwargs", got=got, need="a mapping of keywords to values")
            _refuse_options(options)
            spec, note = self._spec(model, extra_acc_spec, spec)
            calling = {} if sampling_params is None else {"sampling_params": sampling_params}
            calling |= {"streaming": True} if streaming else {}
            evaluation = _EvaluatorCalls(self, extra_evaluator_kwargs or {}, calling)
            if is_integration_test or os.environ.get("INTEGRATION_TEST") == "1":
                return self._try_out(evaluation, model, spec)
            return self._guarded(guard, evaluation, model, spec, options, note)
        except SteelyardError as error:
            if guard is None:
                raise
            raise error.with_traceback(None) from None  # in a test, advice and not the way to it

    def _spec(self, model: Any, extra: str | Mapping[str, Any] | None, spec: Mapping[str, Any] | None) -> tuple[dict[str, Any], str]:
        """What was said, over what the model's own arguments say, with a note of the latter; where the two differ, that is told."""
        if isinstance(extra, Mapping):
            if spec is not None:
                raise UsageError(
                    "The spec was given twice: as second argument and as spec=.",
                    got="a mapping as second argument and spec=",
                    need="one of them",
                )
            extra, spec = None, extra
        if extra is not None and not isinstance(extra, str):
            raise UsageError("cannot use extra_acc_spec", got=with_article(type(extra).__name__), need='a text, such as "beam_width=4"')
        said = {**check_spec(spec or {}), **({} if extra is None else {"extra_acc_spec": extra})}
        derived = {} if set(FROM_ARGS) <= said.keys() else spec_of(model)
        taken = {key: value for key, value in derived.items() if key not in said}
        note = f"spec from the model's args: {_pairs(taken)}" if taken else ""
        if note:
            log.info("%s, %s: %s", self.DATASET, self.model_name, note)
        for key, value in derived.items():
            if key in said and str(said[key]) != value:
                told = (
                    f"{self.DATASET}, {self.model_name}: {key} is {said[key]!r} in spec=, which counts, and {value!r} in the model's args"
                )
                log.warning("%s", told)
                warnings.warn(told, UserWarning, stacklevel=3)
        return {**taken, **said}, note

    # ---- judging -----------------------------------------------------------------------------------------------------------

    def _place(self, guard: Any) -> ReferenceLocation:
        if guard is not None:
            return guard.place(task=self.DATASET, model=self.model_name, **self.where)  # type: ignore[no-any-return]
        return locate(self.DATASET, self.where.get("directory"), self.where.get("config"))

    def _guarded(
        self, guard: Any, evaluation: _EvaluatorCalls, model: Any, spec: Mapping[str, Any], options: Mapping[str, Any], note: str
    ) -> float:
        __tracebackhide__ = True
        place = self._place(guard)
        entry = existing_entry(place, self.model_name, spec)
        recording = guard is not None and (guard.updates or (guard.updates_new and entry is None))
        names = {"task": self.DATASET, "model": self.model_name, "spec": spec, **self.where}
        if entry is None and not recording:  # both raise, with the nearest entries and the command that records one
            matched(place, self.model_name, spec, load(place)) if guard is None else guard.judge(None, **names)
        settings = self._settings(entry, place) | {"protocol": self._protocol(entry, recording)}
        found = evaluation.run(model, None if recording else entry, place)  # a new reference has the class's own subset
        if found.rows is None:
            settings |= {"value": found.value} | ({} if found.n is None else {"num_samples": found.n})
        verdict, fails = _asked(guard, found.rows, {**settings, **options, **names})
        log.info("%s", verdict)
        if fails:
            also = "" if guard is None else '\n\nWith pytest, record an intended change with --accuracy-update --accuracy-reason "..."'
            raise AssertionError("\n\n".join(part for part in (str(verdict), note) if part) + also)
        assert verdict.candidate.estimate is not None  # a run was evaluated
        return float(verdict.candidate.estimate)

    def _settings(self, entry: Entry | None, place: ReferenceLocation) -> dict[str, Any]:
        """The class's own numbers, where the reference does not say them."""
        said = {name: getattr(self, name.upper()) for name in (*NUMBERS, "scale")}
        out = {name: value for name, value in said.items() if value is not None and getattr(entry, name, None) is None}
        metric = self.METRIC_NAME.lower() if entry is None else entry.metric or entry.value_key
        better = next((b for b in (getattr(entry, "higher_is_better", None), place.defaults.higher_is_better) if b is not None), None)
        better = is_better_higher(metric) if better is None else better
        if self.HIGHER_IS_BETTER is not None and better != self.HIGHER_IS_BETTER:
            word = "more" if better else "less"
            raise UsageError(
                f"{self.DATASET!r} has HIGHER_IS_BETTER = {self.HIGHER_IS_BETTER}, but its metric {metric!r} is one where {word} "
                "is better.",
                got=f"HIGHER_IS_BETTER = {self.HIGHER_IS_BETTER}, and {metric!r} as a metric where {word} is better",
                need="both the same",
                hint=f"higher_is_better = {str(self.HIGHER_IS_BETTER).lower()} in [tasks.{self.DATASET}] of steelyard.toml",
            )
        return out | ({"metric": metric} if entry is None else {})

    def _protocol(self, entry: Entry | None, recording: bool) -> dict[str, str] | None:
        """How the run is made: for a new reference all that the class knows, against an old one what that has pinned."""
        told = {"max_input_len": self.MAX_INPUT_LEN, "max_output_len": self.MAX_OUTPUT_LEN}
        told |= {} if self.NUM_SAMPLES is None else {SUBSET_SEED: self.SEED}
        known = {name: str(value) for name, value in told.items() if value is not None}
        pinned = {} if entry is None else dict(entry.protocol)
        if recording:
            return {**pinned, **known} or None
        known |= {name: value for name, value in pinned.items() if name == SUBSET_SEED}  # the recorded one is what was used
        return {name: value for name, value in known.items() if name in pinned} or None

    def _try_out(self, evaluation: _EvaluatorCalls, model: Any, spec: Mapping[str, Any]) -> float:
        """One item, to see that everything runs."""
        value = evaluation.run_one(model).value
        said = f"{self.DATASET}, {self.model_name}: one item was run as an integration test, NOTHING WAS VERIFIED"
        log.warning("%s", said)
        guard = _running()
        if guard is None:
            warnings.warn(said, UserWarning, stacklevel=3)
        else:
            guard.not_verified(said, task=self.DATASET, model=self.model_name, spec=dict(spec))
        return value


class _EvaluatorCalls:
    """How a task is evaluated: by its own methods, by an evaluator's two, or by an evaluator that does it all."""

    def __init__(self, task: AccuracyTask, more: Mapping[str, Any], calling: Mapping[str, Any]) -> None:
        self.task, self.calling = task, calling
        cls = type(task).EVALUATOR_CLS  # of the class: a function there must not become a method
        self.evaluator = None if cls is None else cls(**{**task.EVALUATOR_KWARGS, **more})
        own = [name for name in ("samples", "score") if getattr(type(task), name) is getattr(AccuracyTask, name)]
        if self.evaluator is None and own:
            raise UsageError(
                f"{type(task).__name__} has no {' and no '.join(own)}.",
                got=f"no {' and no '.join(own)}",
                need="both, or EVALUATOR_CLS",
                hint="define both, or EVALUATOR_CLS",
            )

    def run(self, model: Any, entry: Entry | None, place: ReferenceLocation) -> Score:
        if self.evaluator is not None and not hasattr(self.evaluator, "generate_samples"):
            n = (entry and entry.num_samples) or self.task.NUM_SAMPLES
            value = self.evaluator.evaluate(model, **self.calling, **self.task.EVALUATE_KWARGS)
            return Score(value=_finite(value), n=n, rows=None)
        scale = (entry and entry.scale) or self.task.SCALE or place.defaults.scale
        return self._scored(model, self._subset(entry, place), scale)

    def run_one(self, model: Any) -> Score:
        if self.evaluator is not None and not hasattr(self.evaluator, "generate_samples"):
            raise UsageError(
                "The evaluator has no generate_samples, so a single item cannot be run.",
                got="an evaluator without generate_samples",
                need="its samples",
            )
        return self._scored(model, prompts.hash_ordered(self._samples(), str(self.task.SEED))[:1], None)

    def _samples(self) -> list[PromptSample]:
        if self.evaluator is None:
            return prompts.named_once(prompts.sample_of(raw) for raw in self.task.samples())
        return prompts.named_once(prompts.sample_of_evaluator(raw) for raw in self.evaluator.generate_samples())

    def _subset(self, entry: Entry | None, place: ReferenceLocation) -> list[PromptSample]:
        """The very items on record; else the first NUM_SAMPLES in hash order, by the recorded seed."""
        samples = self._samples()
        if entry is not None and entry.items is not None:
            recorded = outcomes.load(place.directory, place.task, entry.items)
            return prompts.picked(samples, recorded.keys, outcomes.hash_id if recorded.hashed else str)
        seed = str(self.task.SEED) if entry is None else entry.protocol.get(SUBSET_SEED, str(self.task.SEED))
        n = (entry and entry.num_samples) or self.task.NUM_SAMPLES
        return prompts.hash_ordered(samples, seed)[:n]

    def _scored(self, model: Any, samples: Sequence[PromptSample], scale: str | None) -> Score:
        said = prompts.answers(model, samples, batch=self.task.MAX_BATCH_SIZE, **self.calling)
        if self.evaluator is None:
            scores = [self.task.score(prompts.text_of(answer), sample.reference) for answer, sample in zip(said, samples, strict=True)]
            numbers = [prompts.score_of(score, sample) for score, sample in zip(scores, samples, strict=True)]
            return Score(value=math.fsum(numbers) / len(numbers), n=len(numbers), rows=_rows(samples, numbers))
        value = self._computed(said, samples)
        numbers = [self._computed([answer], [sample]) for answer, sample in zip(said, samples, strict=True)]
        mean = math.fsum(numbers) / len(numbers)
        if not math.isclose(mean, value, rel_tol=1e-9, abs_tol=1e-9):
            log.info(
                "compute_score of %s is not the mean of its items: the value alone is checked, unpaired", type(self.evaluator).__name__
            )
            return Score(value=value, n=len(numbers), rows=None)
        if scale == "percent" and set(numbers) <= {0.0, 100.0}:
            numbers = [number / 100 for number in numbers]  # right or wrong, said in percent
        return Score(value=value, n=len(numbers), rows=_rows(samples, numbers))

    def _computed(self, said: Sequence[Any], samples: Sequence[PromptSample]) -> float:
        more = [list(column) for column in zip(*(sample.more for sample in samples), strict=True)]
        references = [sample.reference for sample in samples]
        assert self.evaluator is not None
        return _finite(self.evaluator.compute_score(list(said), references, *more, **self.task.EVALUATE_KWARGS))


def _refuse_options(options: Mapping[str, Any]) -> None:
    """Before the model is asked anything: an option that nobody knows would be told after hours."""
    known = [*keywords_of(check), *keywords_of(AccuracyTask.evaluate), *SOURCE_KEYWORDS]
    refuse_unknown(options, [name for name in known if name not in ("task", "model", "directory", "config")], "evaluate")


def _pairs(spec: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in spec.items())


def _rows(samples: Sequence[PromptSample], scores: Sequence[float]) -> list[dict[str, Any]]:
    groups = any(sample.group is not None for sample in samples)
    return [
        {"id": sample.id, "score": score}
        | ({"group": sample.group} if groups else {})
        | ({"excerpt": sample.excerpt} if sample.excerpt else {})
        for sample, score in zip(samples, scores, strict=True)
    ]


def _finite(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise UsageError(f"The evaluator's score must be a finite number, not {number}.", got=str(number), need="a finite number")
    return number


def _running() -> Any:
    """The guard of the pytest test that runs now, if there is one: asked for without loading pytest."""
    plugin = sys.modules.get("steelyard_old.pytest_plugin")
    return None if plugin is None else plugin.running()


def _asked(guard: Any, source: Any, options: Mapping[str, Any]) -> tuple[Verdict, bool]:
    """The verdict, and whether it fails."""
    if guard is not None:
        judged = guard.judge(source, **options)
        return judged.verdict, judged.failure is not None
    verdict = check(source, **options)
    if verdict.verdict == "inconclusive":
        warnings.warn(f"inconclusive: {verdict.conclusion}", UserWarning, stacklevel=4)
    return verdict, verdict.verdict == "regression"
