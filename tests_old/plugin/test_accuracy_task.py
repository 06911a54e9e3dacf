"""The class form, without pytest around it: which items, which settings, when it asserts."""

from __future__ import annotations

import enum
import functools
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

import steelyard_old as sy
from steelyard_old.accuracy_task import AccuracyTask
from steelyard_old.errors import DataError, SourceError, UsageError
from steelyard_old.evaluate.models.engine_spec import spec_of
from steelyard_old.evaluate.task.prompts import sample_of, sample_of_evaluator
from steelyard_old.infer.planning.power import threshold_offset
from steelyard_old.questions.record.record import record
from steelyard_old.reference.lookup import NoReferenceError

N = 300


class Sums(AccuracyTask):
    DATASET = "sums"

    def samples(self) -> Iterator[dict[str, Any]]:
        return ({"id": i, "prompt": f"{i} + 1 =", "reference": str(i + 1)} for i in range(N))

    def score(self, answer: str, reference: str) -> bool:
        return answer.strip() == reference


class Evaluator:
    """As evaluators of inference stacks are: one number for everything."""

    def __init__(self, shift: int = 0) -> None:
        self.shift = shift

    def generate_samples(self) -> Iterator[tuple[Any, ...]]:
        return ((f"{i} + {self.shift} =", {}, str(i + self.shift), "more") for i in range(N))

    def compute_score(self, outputs: list[str], references: list[str], more: list[str], power: float = 1.0) -> float:
        assert set(more) == {"more"}
        return 100 * (sum(o == r for o, r in zip(outputs, references, strict=True)) / len(references)) ** power


class Evaluated(AccuracyTask):
    DATASET = "evaluated"
    SCALE = "percent"
    EVALUATOR_CLS = Evaluator
    EVALUATOR_KWARGS: ClassVar[dict[str, Any]] = {"shift": 1}


class Model:
    """Adds, and errs on every item whose number `wrong` divides. Counts how often it was asked."""

    def __init__(self, wrong: int = 10) -> None:
        self.wrong, self.asked = wrong, 0

    def __call__(self, prompt: str) -> str:
        self.asked += 1
        a, _, b, _ = prompt.split()
        return str(int(a) + int(b)) if int(a) % self.wrong else "?"


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As in a script: no plugin, no switch, no configuration of anybody."""
    monkeypatch.delitem(sys.modules, "steelyard_old.pytest_plugin", raising=False)
    monkeypatch.delenv("INTEGRATION_TEST", raising=False)
    monkeypatch.chdir(tmp_path)


def on_record(task: str, names: list[Any], wrong: int = 10, **options: Any) -> None:
    rows = [{"id": name, "score": int(i % wrong > 0)} for i, name in enumerate(names)]
    record(rows, task=task, model="m", deterministic=True, **options)


def entry(task: str, text: str) -> None:
    Path("references").mkdir(exist_ok=True)
    Path("references", f"{task}.yaml").write_text(f"m:\n  - {text}\n", encoding="utf-8")


# ---- what is evaluated ---------------------------------------------------------------------------------------------------


def test_passes_and_returns_the_score() -> None:
    on_record("sums", list(range(N)))
    assert Sums("m").evaluate(Model()) == pytest.approx(0.9)


def test_the_very_items_on_record_are_asked() -> None:
    on_record("sums", list(range(40, 90)))
    model = Model()
    assert Sums("m").evaluate(model) == pytest.approx(0.9)
    assert model.asked == 50


def test_hashed_ids_are_found_too() -> None:
    on_record("sums", list(range(60)), ids="hashed")
    model = Model()
    Sums("m").evaluate(model)
    assert model.asked == 60


def test_items_that_are_gone_are_an_error_and_the_model_is_not_asked() -> None:
    on_record("sums", [*range(50), "gone"])
    model = Model()
    with pytest.raises(DataError, match=r"1 of 51 recorded items are no longer in the task, such as 'gone'\."):
        Sums("m").evaluate(model)
    assert model.asked == 0


def test_a_subset_in_hash_order_where_the_reference_is_a_number() -> None:
    """The recorded number of samples, by the recorded seed; another seed picks others."""
    scores = set()
    for seed in ("0", "1", "2"):
        entry("sums", f'accuracy: 0.9\n    scale: fraction\n    num_samples: 70\n    protocol: {{subset_seed: "{seed}"}}')
        model = Model(wrong=3)
        with pytest.raises(AssertionError):
            Sums("m").evaluate(model)
        assert model.asked == 70
        scores.add(frozenset(_asked_by(seed)))
    assert len(scores) == 3


def _asked_by(seed: str) -> list[str]:
    prompts: list[str] = []

    def model(prompt: str) -> str:
        prompts.append(prompt)
        return "?"

    with pytest.raises(AssertionError):
        Sums("m").evaluate(model)
    return prompts


# ---- matching ------------------------------------------------------------------------------------------------------------


def test_matching_comes_before_the_model() -> None:
    model = Model()
    with pytest.raises(SourceError, match="No references for task 'sums'"):
        Sums("m").evaluate(model)
    on_record("sums", list(range(N)))
    with pytest.raises(NoReferenceError, match="quant_algo is null, asked FP8"):
        Sums("m").evaluate(model, {"quant_algo": "FP8"})
    with pytest.raises(NoReferenceError, match="extra_acc_spec beam_width=4"):
        Sums("m").evaluate(model, extra_acc_spec="beam_width=4")
    with pytest.raises(UsageError, match="Unknown spec key 'quant'; known are dtype, quant_algo,"):
        Sums("m").evaluate(model, {"quant": "FP8"})
    assert model.asked == 0


def test_the_protocol_must_be_the_recorded_one(monkeypatch: pytest.MonkeyPatch) -> None:
    on_record("sums", list(range(N)), protocol={"max_output_len": "8"})
    monkeypatch.setattr(Sums, "MAX_OUTPUT_LEN", 16)
    with pytest.raises(SourceError, match="max_output_len '8' on record, '16' now"):
        Sums("m").evaluate(Model())
    monkeypatch.setattr(Sums, "MAX_OUTPUT_LEN", 8)
    assert Sums("m").evaluate(Model()) == pytest.approx(0.9)


# ---- judging -------------------------------------------------------------------------------------------------------------


def test_a_regression_is_an_assertion_with_the_report() -> None:
    on_record("sums", list(range(N)))
    with pytest.raises(AssertionError) as caught:
        Sums("m").evaluate(Model(wrong=5))
    said = str(caught.value)
    fields = ("Alpha (Type I", "Beta (Type II", "Sigma (", "#Samples", "Higher is better", "Reference accuracy", "Threshold")
    assert [field for field in (*fields, "Minimum detectable effect", "Evaluated accuracy", "p-value") if field not in said] == []
    assert said.startswith("REGRESSION  sums, m")
    assert "flips: lost 30, gained 0" in said


def test_a_class_gives_what_the_entry_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule of accuracy suites: threshold = reference + z_alpha sqrt(2 sigma^2 / n); equality passes."""
    monkeypatch.setattr(Evaluated, "SIGMA", 50.0)
    monkeypatch.setattr(Evaluated, "ALPHA", 0.01)
    monkeypatch.setattr(Evaluated, "NUM_SAMPLES", N)
    drop = threshold_offset(50 * (2 / N) ** 0.5, 0.01)
    for ref, passes in ((90 - drop - 1e-9, True), (90 - drop + 1e-9, False)):
        entry("evaluated", f"accuracy: {ref!r}")
        if passes:
            assert Evaluated("m").evaluate(Model()) == pytest.approx(90)
        else:
            with pytest.raises(AssertionError):
                Evaluated("m").evaluate(Model())
    entry("evaluated", f"accuracy: {90 - drop + 1e-9!r}\n    alpha: 0.001")
    assert Evaluated("m").evaluate(Model()) == pytest.approx(90), "the entry's alpha comes before the class's"


def test_the_direction_must_not_be_contradicted(monkeypatch: pytest.MonkeyPatch) -> None:
    on_record("sums", list(range(N)))
    monkeypatch.setattr(Sums, "HIGHER_IS_BETTER", False)
    with pytest.raises(UsageError, match="'sums' has HIGHER_IS_BETTER = False, but its metric 'accuracy' is one"):
        Sums("m").evaluate(Model())


def test_inconclusive_warns() -> None:
    on_record("sums", list(range(N)))
    with pytest.warns(UserWarning, match="inconclusive: no difference"):
        assert Sums("m").evaluate(Model(), theta=0.001) == pytest.approx(0.9)


# ---- evaluators and models -----------------------------------------------------------------------------------------------


def test_an_evaluator_whose_score_is_a_mean_is_paired() -> None:
    from steelyard_old.evaluate.task.prompts import sample_of_evaluator

    ids = [sample_of_evaluator(raw).id for raw in Evaluator(1).generate_samples()]
    on_record("evaluated", ids, scale="percent")
    assert Evaluated("m").evaluate(Model()) == pytest.approx(90)
    with pytest.raises(AssertionError, match="flips: lost 30, gained 0"):
        Evaluated("m").evaluate(Model(wrong=5))


def test_an_evaluator_of_a_corpus_metric_gives_its_value_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Evaluated, "EVALUATE_KWARGS", {"power": 2.0})
    entry("evaluated", "accuracy: 81.0\n    scale: percent\n    num_samples: 300\n    sigma: 50")
    assert Evaluated("m").evaluate(Model()) == pytest.approx(81)
    with pytest.raises(AssertionError, match="unpaired"):
        Evaluated("m").evaluate(Model(wrong=3))


def test_an_evaluator_may_do_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Evaluated, "EVALUATOR_CLS", lambda **_: SimpleNamespace(evaluate=lambda model, scores_filter: model("6 + 1 =")))
    monkeypatch.setattr(Evaluated, "EVALUATE_KWARGS", {"scores_filter": "strict"})
    entry("evaluated", "accuracy: 7.5\n    scale: percent\n    num_samples: 300\n    sigma: 50")
    assert Evaluated("m").evaluate(Model()) == 7


class Later:
    def __init__(self, text: str) -> None:
        self.text = text

    def result(self) -> Any:
        return SimpleNamespace(outputs=[SimpleNamespace(text=self.text)])


@pytest.mark.parametrize("kind", ["generate", "batches", "duck"])
def test_models_of_all_kinds(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    on_record("sums", list(range(N)))
    plain, sizes = Model(), []
    if kind == "generate":
        model: Any = SimpleNamespace(generate=lambda prompt, sampling_params: plain(prompt))
    elif kind == "batches":
        monkeypatch.setattr(Sums, "MAX_BATCH_SIZE", 64)

        def generate(prompts: list[str], sampling_params: Any) -> list[str]:
            sizes.append(len(prompts))
            return [plain(prompt) for prompt in prompts]

        model = SimpleNamespace(generate=generate)
    else:
        model = SimpleNamespace(args=None, tokenizer=None, generate_async=lambda prompt, sampling_params: Later(plain(prompt)))
    assert Sums("m").evaluate(model, sampling_params={"temperature": 0}) == pytest.approx(0.9)
    assert plain.asked == N
    assert sizes == ([64, 64, 64, 64, 44] if kind == "batches" else [])


def test_what_is_not_there_is_said() -> None:
    on_record("sums", list(range(N)))
    with pytest.raises(DataError, match=r"There is no answer for item '0'\."):
        Sums("m").evaluate(lambda prompt: None)
    with pytest.raises(UsageError, match="The model must be a callable"):
        Sums("m").evaluate("a name")

    class Empty(AccuracyTask):
        DATASET = "sums"

    with pytest.raises(UsageError, match="no samples and no score"):
        Empty("m").evaluate(Model())
    with pytest.raises(UsageError, match="no DATASET"):
        AccuracyTask("m")


def test_integration_mode_runs_one_item_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """No reference is needed, and none is claimed to have been met."""
    model = Model()
    with pytest.warns(UserWarning, match="sums, m: one item was run as an integration test, NOTHING WAS VERIFIED"):
        Sums("m").evaluate(model, is_integration_test=True)
    assert model.asked == 1
    monkeypatch.setenv("INTEGRATION_TEST", "1")
    with pytest.warns(UserWarning, match="NOTHING WAS VERIFIED"):
        Sums("m").evaluate(model)
    assert model.asked == 2


# ---- the spec of an engine's own arguments -------------------------------------------------------------------------------


class Quant(enum.StrEnum):
    FP8 = "FP8"
    NVFP4 = "NVFP4"


class EagleDecodingConfig:
    pass


def engine(**args: Any) -> Any:
    model = Model()
    return SimpleNamespace(args=SimpleNamespace(**args), generate=model)


NVFP4 = {"dtype": "auto", "quant_config": SimpleNamespace(quant_algo=Quant.NVFP4, kv_cache_quant_algo=None), "speculative_config": None}
SIZE = "\n    num_samples: 300"
TWO = f"accuracy: 0.9{SIZE}\n  - quant_algo: NVFP4\n    accuracy: 0.99{SIZE}"


def test_a_quantised_run_is_judged_by_its_own_entry(caplog: pytest.LogCaptureFixture) -> None:
    """0.9 is as good as the plain entry, and a regression of the quantised one."""
    entry("sums", TWO)
    assert Sums("m").evaluate(Model()) == pytest.approx(0.9)
    with caplog.at_level("INFO", logger="steelyard"), pytest.raises(AssertionError, match=r"spec from the model's args: quant_algo=NVFP4"):
        Sums("m").evaluate(engine(**NVFP4))
    assert "spec from the model's args: quant_algo=NVFP4" in caplog.text


@pytest.mark.parametrize(
    ("args", "spec"),
    [
        ({"dtype": "auto", "quant_config": None, "speculative_config": None}, {}),
        ({"dtype": "bfloat16"}, {"dtype": "bfloat16"}),
        ({"quant_config": {"quant_algo": "FP8", "kv_cache_quant_algo": Quant.FP8}}, {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}),
        ({"speculative_config": SimpleNamespace(decoding_type="MTP")}, {"spec_dec_algo": "MTP"}),
        ({"speculative_config": {"decoding_type": "Eagle3"}}, {"spec_dec_algo": "Eagle3"}),
        ({"speculative_config": SimpleNamespace(decoding_type="AUTO")}, {"spec_dec_algo": "NGram"}),
        ({"speculative_config": EagleDecodingConfig()}, {"spec_dec_algo": "Eagle"}),
        ({"tensor_parallel_size": 4}, {}),
    ],
)
def test_the_spec_is_read_as_the_original_suite_reads_it(args: dict[str, Any], spec: dict[str, str]) -> None:
    assert spec_of(SimpleNamespace(args=SimpleNamespace(**args))) == spec
    assert spec_of({"args": args}) == spec


def test_arguments_of_other_things_are_no_spec() -> None:
    assert spec_of(functools.partial(Model(), "x")) == {}
    assert spec_of(Model()) == {}
    assert spec_of(SimpleNamespace(args=None)) == {}
    with pytest.raises(UsageError, match=r"The model's speculative_config \(dict\) has no decoding_type\."):
        spec_of(SimpleNamespace(args={"speculative_config": {"max_draft_len": 3}}))


def test_a_spec_that_is_said_wins_key_by_key_and_the_conflict_is_told() -> None:
    entry("sums", TWO)
    with pytest.warns(UserWarning, match="quant_algo is None in spec=, which counts, and 'NVFP4' in the model's args"):
        assert Sums("m").evaluate(engine(**NVFP4), spec={"quant_algo": None}) == pytest.approx(0.9)
    with pytest.raises(NoReferenceError, match="kv_cache_quant_algo"):
        Sums("m").evaluate(engine(**NVFP4), spec={"kv_cache_quant_algo": "FP8"})


def test_extra_acc_spec_is_the_second_argument_as_in_the_original() -> None:
    entry("sums", f"accuracy: 0.99{SIZE}\n  - extra_acc_spec: beam_width=4\n    accuracy: 0.9{SIZE}")
    assert Sums("m").evaluate(Model(), "beam_width=4") == pytest.approx(0.9)
    with pytest.raises(UsageError, match=r"The spec was given twice: as second argument and as spec=\."):
        Sums("m").evaluate(Model(), {"quant_algo": "FP8"}, spec={"quant_algo": "FP8"})


@pytest.mark.parametrize("spec", ["quant_algo=FP8", "FP8", ["quant_algo"]])
def test_a_text_where_a_mapping_is_needed_is_refused(spec: Any) -> None:
    entry("sums", TWO)
    model = Model()
    with pytest.raises(UsageError, match=r"The spec must be a mapping.*spec=\{'quant_algo': 'FP8'\}"):
        Sums("m").evaluate(model, spec=spec)
    with pytest.raises(UsageError, match="extra_evaluator_kwargs must be"):
        Sums("m").evaluate(model, None, "text")  # type: ignore[arg-type]
    for ask in (
        lambda: sy.check(value=0.9, task="sums", model="m", spec=spec),
        lambda: record([{"id": 1, "score": 1}], task="sums", model="m", spec=spec),
    ):
        with pytest.raises(UsageError, match="spec must be"):
            ask()
    assert model.asked == 0


def test_an_unknown_option_is_refused_before_the_model_is_asked() -> None:
    entry("sums", "accuracy: 0.9")
    model = Model()
    with pytest.raises(UsageError, match=r"Unknown argument 'tetha' of evaluate.*Did you mean theta"):
        Sums("m").evaluate(model, tetha=0.5)
    assert model.asked == 0


# ---- items whose id is a hash ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hashed", [False, True])
def test_items_of_an_evaluator_are_shown_by_an_excerpt_of_their_prompt(hashed: bool) -> None:
    """The reference was recorded by the ids alone, as before: the ids are the same hashes, and pair."""
    ids = [sample_of_evaluator(raw).id for raw in Evaluator(shift=1).generate_samples()]
    on_record("evaluated", ids, scale="percent", ids="hashed" if hashed else "kept")
    with pytest.raises(AssertionError) as told:
        Evaluated("m").evaluate(Model(wrong=2))
    shown = str(told.value)
    lost = [line for line in shown.splitlines() if line.strip().startswith("lost ")]
    assert lost
    assert all(re.search(r"lost +\d*[2468] \+ 1 = +1 -> 0", line) for line in lost), lost
    assert not re.search(r"\b[0-9a-f]{16}\b", "\n".join(lost))


def test_the_ids_of_samples_are_those_of_before_and_a_long_prompt_is_shown_by_both_ends() -> None:
    assert sample_of(("2 + 2 =", "4")).id == "23fa12c8533a9866"
    assert sample_of({"id": 7, "prompt": "2 + 2 =", "reference": "4"}).excerpt is None
    shots = "Question: 1 + 1 =\nAnswer: 2\n\n" * 30
    shown = [sample_of((f"{shots}Question: {i} + 17 =", "x")).excerpt or "" for i in range(3)]
    assert len(set(shown)) == 3
    assert all(text.startswith("Question: 1 + 1 =") and text.endswith("+ 17 =") and len(text) <= 64 for text in shown)
