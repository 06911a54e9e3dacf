"""The guard against a single number: bit for bit the rule of TensorRT-LLM's accuracy suite, on its real reference files.

Expected numbers: tables (b) of a survey of that suite at commit 181c827eb598, computed with SciPy by its own formulas
theta = -(ppf(alpha) + ppf(beta)) (2 sigma^2 / n)^(1/2), threshold = reference +- ppf(alpha) (2 sigma^2 / n)^(1/2). The
formulas are repeated here with scipy.stats as the oracle for every row. Two thresholds were published by the suite's users:
56.734 (GPQA 65, PR 15567) and 35.123 (MMMU 39, PR 18642).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import norm

import steelyard as sy
from steelyard.errors import DataError, SteelyardError, UsageError
from steelyard.estimate.guard.number import CandidateScore, guard_floor, guard_number
from steelyard.estimate.guard.rule import settle_rule
from steelyard.estimate.guard.verdict import Guarded, concluded
from steelyard.infer.planning import power
from steelyard.reference.entry import Entry, TaskDefaults
from steelyard.reference.lookup import duplicates
from steelyard.reference.task_file import load_task_file
from steelyard.results.base import Warnings

REAL = Path(__file__).parents[2] / "reference" / "trtllm"


class Task(NamedTuple):
    alpha: float
    sigma: float
    n: int
    metric: str = "accuracy"
    higher: bool = True
    beta: float = 0.2


# The classes of the original: ALPHA, SIGMA, NUM_SAMPLES, METRIC_NAME, HIGHER_IS_BETTER
TASKS = {
    "mmlu": Task(0.05, 50, 4096),
    "gsm8k": Task(0.05, 50, 1319),
    "gpqa_diamond": Task(0.05, 50, 198),
    "json_mode_eval": Task(0.05, 50, 100),
    "mmmu": Task(0.05, 50, 900),
    "longbench_v1": Task(0.05, 50, 4750),
    "longbench_v2": Task(0.05, 50, 215),
    "videomme": Task(0.05, 50, 300),
    "voxpopuli": Task(0.05, 50, 32, "wer", False),
    "cnn_dailymail": Task(0.002, 11.06, 512, "rouge1"),
    "humaneval": Task(0.002, 15.08, 164, "rouge1"),
    "zero_scrolls": Task(0.002, 6.97, 80, "rouge1"),
    "SlimPajama-6B": Task(0.01, 4.48, 86, "perplexity", False),
    "passkey_retrieval_64k": Task(0.5, 0, 20),
    "passkey_retrieval_128k": Task(0.5, 0, 20),
}
FP8 = {"quant_algo": "FP8"}
FP8_KV = {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}
L31 = "meta-llama/Llama-3.1-8B-Instruct"
OMNI = "nvidia/NVIDIA-Nemotron-3-Nano-Omni-30B-A3B-Reasoning-FP8"
# task, model, spec, reference, theta, threshold: the second table of the survey
GOLDEN: list[tuple[str, str, dict[str, Any], float, float, float]] = [
    ("mmlu", L31, {}, 68.17, 2.747, 66.353),
    ("mmlu", L31, FP8, 67.93, 2.747, 66.113),
    ("mmlu", L31, FP8_KV, 67.87, 2.747, 66.053),
    ("mmlu", "meta-llama/Llama-3.2-1B", {"quant_algo": "W4A16_AWQ"}, 30.56, 2.747, 28.743),
    ("mmlu", "deepseek-ai/DeepSeek-R1", {"quant_algo": "NVFP4"}, 87.33, 2.747, 85.513),
    ("gsm8k", L31, {}, 74.20, 4.841, 70.997),
    ("gsm8k", L31, FP8_KV, 72.85, 4.841, 69.647),
    ("gsm8k", "deepseek-ai/DeepSeek-R1", {"quant_algo": "NVFP4"}, 95.42, 4.841, 92.217),
    ("gsm8k", "deepseek-ai/DeepSeek-V4-Flash-Base", {"quant_algo": "FP8_BLOCK_SCALES"}, 90.90, 4.841, 87.697),
    ("gsm8k", "nvidia/Llama-3.1-Nemotron-Nano-8B-v1", FP8_KV, 28.39, 4.841, 25.187),
    ("gsm8k", "google/gemma-3-1b-it", {}, 25.52, 4.841, 22.317),
    ("gpqa_diamond", "GPT-OSS/120B-MXFP4", {}, 65.0, 12.495, 56.734),
    ("gpqa_diamond", "nvidia/Llama-3_3-Nemotron-Super-49B-v1", FP8_KV, 42.42, 12.495, 34.154),
    ("gpqa_diamond", "deepseek-ai/DeepSeek-R1", {"quant_algo": "NVFP4"}, 70.45, 12.495, 62.184),
    ("gpqa_diamond", "nvidia/Llama-3.1-Nemotron-Nano-8B-v1", FP8_KV, 39.39, 12.495, 31.124),
    ("json_mode_eval", L31, {}, 74.00, 17.582, 62.369),
    ("json_mode_eval", "google/gemma-3-1b-it", FP8_KV, 61.00, 17.582, 49.369),
    ("mmmu", "LGAI-EXAONE/EXAONE-4.5-33B", {}, 46.5, 5.861, 42.623),
    ("longbench_v1", "Qwen3/Qwen3-30B-A3B-Instruct-2507", {"extra_acc_spec": "target_sparsity=0.9"}, 38.524, 2.551, 36.836),
    ("longbench_v2", L31, {}, 25.80, 11.991, 17.868),
    ("videomme", "Qwen/Qwen3-VL-2B-Instruct", {}, 54.5, 10.151, 47.785),
    ("cnn_dailymail", L31, {}, 33.640, 2.571, 31.650),
    ("cnn_dailymail", "gpt2", {}, 18.408, 2.571, 16.418),
    ("cnn_dailymail", "gpt2", {"extra_acc_spec": "beam_width=256"}, 29.422, 10.285, 21.464),
    ("cnn_dailymail", "Qwen/Qwen1.5-MoE-A2.7B-Chat", {"quant_algo": "W8A16"}, 0, 2.571, -1.990),
    ("humaneval", "bigcode/santacoder", {}, 31.688, 6.195, 26.895),
    ("zero_scrolls", "Yukang/LongAlpaca-7B", {}, 30.883, 4.099, 27.711),
    ("SlimPajama-6B", "gradientai/Llama-3-8B-Instruct-Gradient-1048k", {}, 7.663, 2.164, 9.252),
    ("passkey_retrieval_64k", "meta-llama/Llama-3.1-8B", {}, 99, 0, 99.000),
]
# alpha, beta, sigma, n, higher is better, sqrt(2 sigma^2/n), theta, threshold - reference: the first table
OFFSETS = [
    ("MMLU", 0.05, 0.2, 50, 4096, True, 1.1049, 2.747, -1.817),
    ("GSM8K", 0.05, 0.2, 50, 1319, True, 1.9470, 4.841, -3.203),
    ("GPQA-Diamond", 0.05, 0.2, 50, 198, True, 5.0252, 12.495, -8.266),
    ("JSON-mode-eval", 0.05, 0.2, 50, 100, True, 7.0711, 17.582, -11.631),
    ("MMMU", 0.05, 0.2, 50, 900, True, 2.3570, 5.861, -3.877),
    ("LongBench-v1", 0.05, 0.2, 50, 4750, True, 1.0260, 2.551, -1.688),
    ("LongBench-v2", 0.05, 0.2, 50, 215, True, 4.8224, 11.991, -7.932),
    ("Video-MME", 0.05, 0.2, 50, 300, True, 4.0825, 10.151, -6.715),
    ("VoxPopuli, class", 0.05, 0.2, 50, 32, False, 12.5, 31.081, 20.561),
    ("VoxPopuli, registered", 0.05, 0.2, 50, 1842, False, 1.6476, 4.097, 2.710),
    ("CNN/DailyMail", 0.002, 0.2, 11.06, 512, True, 0.6913, 2.571, -1.990),
    ("CNN/DM gpt2 beam 256", 0.002, 0.2, 11.06, 32, True, 2.7650, 10.285, -7.958),
    ("HumanEval", 0.002, 0.2, 15.08, 164, True, 1.6653, 6.195, -4.793),
    ("ZeroSCROLLS", 0.002, 0.2, 6.97, 80, True, 1.1021, 4.099, -3.172),
    ("SlimPajama-6B", 0.01, 0.2, 4.48, 86, False, 0.6832, 2.164, 1.589),
    ("Passkey", 0.5, 0.2, 0, 20, True, 0, 0, 0),
    ("INTEGRATION_TEST", 0.05, 0.2, 50, 1, True, 70.711, 175.8, -116.3),
]


def original(reference: float, task: Task, n: int) -> tuple[float, float]:
    """theta and threshold as the original computes them."""
    scale = (2 * task.sigma**2 / n) ** 0.5
    theta = -(norm.ppf(task.alpha) + norm.ppf(task.beta)) * scale
    return theta, reference + norm.ppf(task.alpha) * scale if task.higher else reference - norm.ppf(task.alpha) * scale


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real files in a directory, with a steelyard.toml that says what the original's classes say."""
    where = tmp_path_factory.mktemp("guard")
    (where / "references").mkdir()
    lines = []
    for name, task in TASKS.items():
        (where / "references" / f"{name}.yaml").write_bytes((REAL / f"{name}.yaml").read_bytes())
        lines += [f'[tasks."{name}"]', f'metric = "{task.metric}"', f"alpha = {task.alpha}", f"beta = {task.beta}", f"sigma = {task.sigma}"]
        lines += [f"num_samples = {task.n}", f"higher_is_better = {str(task.higher).lower()}", 'scale = "percent"', ""]
    (where / "steelyard.toml").write_text("\n".join(lines), encoding="utf-8")
    return where


@pytest.fixture(autouse=True)
def _here(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)


def checked(task: str, model: str, value: float, spec: dict[str, Any] | None = None, **options: Any) -> sy.Verdict:
    return sy.check(value=value, task=task, model=model, spec=spec or {}, **options)


def worse(value: float, higher: bool) -> float:
    """The next number on the bad side."""
    return math.nextafter(value, -math.inf if higher else math.inf)


# The tables


@pytest.mark.parametrize(("task", "model", "spec", "reference", "theta", "threshold"), GOLDEN, ids=lambda x: str(x)[:40])
def test_published_thresholds(task: str, model: str, spec: dict[str, Any], reference: float, theta: float, threshold: float) -> None:
    verdict = checked(task, model, reference, spec)
    assert verdict.reference["value"] == reference
    assert verdict.threshold == pytest.approx(threshold, abs=5.1e-4)
    assert verdict.mde == pytest.approx(theta, abs=5.1e-4)
    assert verdict.verdict == ("pass" if threshold > 0 else "inconclusive")  # nothing can fall below a reference of 0
    assert verdict.design == "unpaired"


@pytest.mark.parametrize(("alpha", "beta", "sigma", "n", "higher", "error", "theta", "offset"), [row[1:] for row in OFFSETS])
def test_published_offsets(
    alpha: float, beta: float, sigma: float, n: int, higher: bool, error: float, theta: float, offset: float
) -> None:
    key = "accuracy" if higher else "wer"
    entry = Entry(model="m", value=50.0, value_key=key)
    rule = settle_rule({}, entry, TaskDefaults(alpha=alpha, beta=beta, sigma=sigma, num_samples=n, scale="percent"), Warnings())
    found = guard_number(CandidateScore(value=50.0), Guarded(entry=entry), rule, Warnings())
    assert found.details["standard_error"] == pytest.approx(error, abs=6e-4)
    assert found.mde == pytest.approx(theta, abs=0.06 if n == 1 else 5.1e-4)
    assert found.threshold == pytest.approx(50 + offset, abs=0.06 if n == 1 else 5.1e-4)


@pytest.mark.parametrize(("n", "theta", "offset"), [(4096, 2.747193, -1.817324), (14042, 1.483729, -0.981517)])
def test_the_table_of_the_readme(n: int, theta: float, offset: float) -> None:
    """Published with six digits: sigma 50, alpha .05, beta .2."""
    entry = Entry(model="m", value=0.0, num_samples=n, sigma=50.0)
    rule = settle_rule({"scale": "percent"}, entry, TaskDefaults(), Warnings())
    found = guard_number(CandidateScore(value=0.0, n=n), Guarded(entry=entry), rule, Warnings())
    assert found.mde == pytest.approx(theta, abs=5e-7)
    assert found.threshold == pytest.approx(offset, abs=5e-7)


def test_word_error_rates_as_registered() -> None:
    """VoxPopuli 6.2, lower is better, 1842 samples in the entry itself: 8.910."""
    rows = yaml.safe_load((REAL / "voxpopuli.yaml").read_text(encoding="utf-8"))
    model, listed = next((model, listed) for model, listed in rows.items() if any(row.get("wer") == 6.2 for row in listed))
    row = next(row for row in listed if row.get("wer") == 6.2)
    spec = {key: row[key] for key in FP8_KV if key in row}
    verdict = checked("voxpopuli", model, 6.2, spec)
    assert verdict.threshold == pytest.approx(8.910, abs=5e-4)
    assert verdict.n == 1842
    assert not verdict.higher_is_better
    assert "A rise below" in verdict.conclusion
    assert checked("voxpopuli", model, 8.92, spec).verdict == "regression"
    assert checked("voxpopuli", model, 1.2, spec).verdict == "pass"
    with pytest.raises(DataError, match="scale"):  # 0.1 may be 10 percent, which is worse
        checked("voxpopuli", model, 0.1, spec)


def test_mmmu_39_of_the_pull_request() -> None:
    rows = yaml.safe_load((REAL / "mmmu.yaml").read_text(encoding="utf-8"))
    found = [(model, row) for model, listed in rows.items() for row in listed if row["accuracy"] == 39.0]
    assert found
    for model, row in found:
        spec = {key: value for key, value in row.items() if key != "accuracy"}
        assert checked("mmmu", model, 39.0, spec).threshold == pytest.approx(35.123, abs=5e-4)


# All rows, to the last bit


def rows() -> Iterator[tuple[str, Entry]]:
    for name in TASKS:
        for entry in load_task_file(REAL / f"{name}.yaml", metric=TASKS[name].metric).entries:
            yield name, entry


def asked(name: str, entry: Entry, value: float) -> sy.Verdict:
    task = TASKS[name]
    defaults = TaskDefaults(
        metric=task.metric, alpha=task.alpha, beta=task.beta, sigma=task.sigma, num_samples=task.n, higher_is_better=task.higher
    )
    rule = settle_rule({"scale": "percent"}, entry, defaults, Warnings())
    return guard_number(CandidateScore(value=value, n=rule.num_samples), Guarded(entry=entry), rule, Warnings())


def test_on_all_589_rows_equality_passes_and_the_next_number_does_not() -> None:
    """And p says the same each time; theta and threshold are the original's to 14 digits."""
    seen = 0
    for name, entry in rows():
        task = TASKS[name]
        assert entry.value is not None
        theta, expected = original(entry.value, task, entry.num_samples or task.n)
        found = asked(name, entry, entry.value)
        assert found.threshold == pytest.approx(expected, rel=1e-14)
        assert found.mde == pytest.approx(theta, rel=1e-14, abs=0)
        assert found.threshold is not None
        if task.higher and found.threshold <= 0:  # a reference of 0: no score could fail
            assert (entry.value, found.verdict) == (0, "inconclusive"), (name, entry.line)
            seen += 1
            continue
        least = found.threshold
        for value, verdict in ((entry.value, "pass"), (least, "pass"), (worse(least, task.higher), "regression")):
            found = found if value == entry.value else asked(name, entry, value)
            assert found.verdict == verdict, (name, entry.line, value)
            assert found.p_value is not None
            assert (found.p_value <= task.alpha) == (verdict == "regression"), (name, entry.line)
        seen += 1
    assert seen == 589


def test_thresholds_of_all_rows_are_the_original_s_to_the_last_bit() -> None:
    """scipy.stats.norm.ppf(.05) is -1.6448536269514729; a quantile that ends in ...726 moves thresholds by their last bit."""
    found = [(name, entry, asked(name, entry, 50.0).threshold) for name, entry in rows()]
    other = [
        (name, entry.line, threshold)
        for name, entry, threshold in found
        if entry.value is not None and threshold != original(entry.value, TASKS[name], entry.num_samples or TASKS[name].n)[1]
    ]
    assert not other, f"{len(other)} of {len(found)} thresholds differ, such as {other[0]}"


def test_every_row_can_be_asked_by_its_model_and_spec() -> None:
    """All but the twins that differ: those are an error that names both lines, where the original takes the first."""
    for name in TASKS:
        entries = load_task_file(REAL / f"{name}.yaml", metric=TASKS[name].metric).entries
        clash = {entry.line for twins in duplicates(entries) for entry in twins if len({each.value for each in twins}) > 1}
        for entry in entries:
            if entry.line in clash:
                with pytest.raises(SteelyardError, match=f"line {entry.line}"):
                    checked(name, entry.model, 50.0, dict(entry.spec))
            elif entry.line % 11 == 0:  # some of them, from the door to the verdict
                assert entry.value is not None
                verdict = checked(name, entry.model, entry.value, dict(entry.spec))
                expected = original(entry.value, TASKS[name], entry.num_samples or TASKS[name].n)[1]
                assert verdict.threshold == pytest.approx(expected, rel=1e-14)
                assert verdict.verdict == "pass"


def test_the_issue_s_own_example_at_the_edge() -> None:
    edge = checked("mmlu", L31, 68.0).threshold
    assert edge is not None
    assert edge == pytest.approx(66.352676, abs=1e-6)
    assert checked("mmlu", L31, 66.353).verdict == "pass"
    assert checked("mmlu", L31, edge).verdict == "pass"
    assert checked("mmlu", L31, worse(edge, True)).verdict == "regression"
    assert checked("mmlu", L31, 66.3526).verdict == "regression"
    assert checked("mmlu", L31, 68.0, FP8_KV).threshold == pytest.approx(66.0527, abs=5e-5)


def test_a_spec_that_is_not_there_names_the_nearest() -> None:
    with pytest.raises(SteelyardError, match=r"nearest are line .*FP8"):
        checked("mmlu", L31, 68.0, {"quant_algo": "FP9"})


# Rows that decide nothing, and rows without noise


def test_sigma_zero_and_alpha_one_half() -> None:
    """Passkey retrieval: the threshold is the reference itself, equality passes, and nothing is NaN."""
    for value, expected in ((99.0, "pass"), (math.nextafter(99.0, 0), "regression"), (100.0, "pass"), (0.0, "regression")):
        verdict = checked("passkey_retrieval_64k", "meta-llama/Llama-3.1-8B", value)
        assert verdict.verdict == expected
        assert verdict.threshold == 99.0
        assert verdict.mde == 0
        assert verdict.p_value is not None
        assert math.isfinite(verdict.p_value)
        assert (verdict.p_value <= verdict.alpha) == (expected == "regression")
    assert any("alpha is 0.5" in warning for warning in verdict.warnings)


def test_a_vacuous_row_has_the_threshold_of_the_original_but_is_no_silent_pass() -> None:
    """rouge 0, threshold -1.990: no score could give p <= alpha, which is not a pass, or at least is said."""
    verdict = checked("cnn_dailymail", "Qwen/Qwen1.5-MoE-A2.7B-Chat", 0.0, {"quant_algo": "W8A16"})
    assert verdict.threshold == pytest.approx(-1.990, abs=5e-4)
    assert verdict.verdict != "regression"
    said = [warning for warning in verdict.warnings if "num_samples" not in warning]
    assert verdict.verdict == "inconclusive" or said, verdict.warnings


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_no_number_never_passes(value: float) -> None:
    with pytest.raises(UsageError, match="value"):
        checked("mmlu", L31, value)


def test_no_reference_is_never_a_pass() -> None:
    """The original's switch TRTLLM_ACCURACY_NO_REFERENCE makes it one."""
    with pytest.raises(SteelyardError, match=r"sy\.record\(run, task='mmlu', model='nobody'\)"):
        checked("mmlu", "nobody", 99.0)
    with pytest.raises(SteelyardError, match=r"sy\.record"):
        checked("no_such_task", L31, 99.0)


# Overrides: option, entry, task, default


def entry_file(home: Path, text: str, name: str = "own") -> None:
    (home / "references" / f"{name}.yaml").write_text(text, encoding="utf-8")


def test_every_override_of_an_entry(home: Path) -> None:
    entry_file(home, "m:\n  - accuracy: 50.0\n    alpha: 0.01\n    beta: 0.1\n    sigma: 25.8\n    num_samples: 215\n    scale: percent\n")
    verdict = checked("own", "m", 50.0)
    task = Task(0.01, 25.8, 215, beta=0.1)
    theta, threshold = original(50.0, task, 215)
    assert (verdict.alpha, verdict.beta, verdict.sigma, verdict.n) == (0.01, 0.1, 25.8, 215)
    assert verdict.threshold == pytest.approx(threshold, rel=1e-14)
    assert verdict.mde == pytest.approx(theta, rel=1e-14)
    assert checked("own", "m", 50.0, alpha=0.05).threshold == pytest.approx(original(50.0, Task(0.05, 25.8, 215), 215)[1], rel=1e-14)
    assert checked("own", "m", 50.0, sigma=50).threshold == pytest.approx(original(50.0, Task(0.01, 50, 215), 215)[1], rel=1e-14)


def test_higher_is_better_in_the_entry_turns_everything(home: Path) -> None:
    entry_file(home, "m:\n  - accuracy: 50.0\n    higher_is_better: false\n    sigma: 50\n    num_samples: 400\n    scale: percent\n")
    _, expected = original(50.0, Task(0.05, 50, 400, higher=False), 400)
    threshold = checked("own", "m", 50.0).threshold
    assert threshold == pytest.approx(expected, rel=1e-14)
    assert threshold is not None
    verdict = checked("own", "m", threshold)
    assert verdict.verdict == "pass"
    assert verdict.difference["estimate"] == 50.0 - threshold  # turned: up is good
    assert checked("own", "m", worse(threshold, False)).verdict == "regression"


@pytest.mark.parametrize("higher", [True, False])
def test_an_explicit_threshold_is_a_floor_and_claims_no_statistics(home: Path, higher: bool) -> None:
    """The newer files of the original: 94.0 replaces the computed threshold and nothing else is reported."""
    entry_file(home, f"m:\n  - accuracy: 97.19\n    threshold: 94.0\n    higher_is_better: {str(higher).lower()}\n    scale: percent\n")
    verdict = checked("own", "m", 94.0)
    assert verdict.verdict == "pass"
    assert verdict.threshold == 94.0
    assert verdict.design == "threshold"
    assert verdict.p_value is None
    assert verdict.mde is None
    assert verdict.test is None
    assert checked("own", "m", worse(94.0, higher)).verdict == "regression"


def test_a_threshold_alone_needs_no_value(home: Path) -> None:
    entry_file(home, "m:\n  - threshold: 4.0\n")
    assert checked("own", "m", 4.0).verdict == "pass"
    assert checked("own", "m", 3.99).verdict == "regression"


def test_a_different_n_uses_the_variance_of_each(home: Path) -> None:
    entry_file(home, "m:\n  - accuracy: 70.0\n    num_samples: 1000\n    sigma: 50\n    scale: percent\n")
    entry, warnings = Entry(model="m", value=70.0, num_samples=1000), Warnings()
    rule = settle_rule({"sigma": 50, "scale": "percent"}, entry, TaskDefaults(), warnings)
    found = guard_number(CandidateScore(value=70.0, n=250), Guarded(entry=entry), rule, warnings)
    assert found.threshold == pytest.approx(70 + norm.ppf(0.05) * math.sqrt(2500 / 250 + 2500 / 1000), rel=1e-14)
    assert any("250" in warning and "1,000" in warning for warning in warnings)


def test_an_unknown_n_of_the_reference_is_the_task_s_and_said() -> None:
    assert any("no num_samples; using the task's 4,096" in warning for warning in checked("mmlu", L31, 68.0).warnings)


def test_no_n_at_all_is_refused(home: Path) -> None:
    entry_file(home, "m:\n  - accuracy: 70.0\n    sigma: 50\n    scale: percent\n")
    with pytest.raises(UsageError, match="num_samples"):
        checked("own", "m", 70.0)


def test_no_sigma_at_all_is_refused_or_estimated(home: Path) -> None:
    entry_file(home, "m:\n  - rouge1: 30.0\n    num_samples: 512\n")
    with pytest.raises(UsageError, match="sigma"):
        checked("own", "m", 30.0)
    entry_file(home, "m:\n  - accuracy: 80.0\n    num_samples: 400\n    scale: percent\n")
    verdict = checked("own", "m", 70.0)
    assert verdict.sigma == pytest.approx(100 * math.sqrt(0.75 * 0.25))  # pooled p (1 - p)
    assert verdict.verdict == "regression"


def test_a_wrong_scale_is_refused_not_guessed(home: Path) -> None:
    entry_file(home, "m:\n  - accuracy: 80.0\n    num_samples: 400\n    sigma: 50\n")
    with pytest.raises(SteelyardError, match="scale"):
        checked("own", "m", 0.8)


def test_an_impossible_score_is_no_silent_pass(home: Path) -> None:
    """66 where the scale is fraction: somebody passed percent. 166 percent does not exist either."""
    for text, value in (
        ("accuracy: 0.7\n    sigma: 0.5\n    scale: fraction", 66.0),
        ("accuracy: 70\n    sigma: 50\n    scale: percent", 166.0),
    ):
        entry_file(home, f"m:\n  - {text}\n    num_samples: 400\n")
        try:
            verdict = checked("own", "m", value)
        except SteelyardError:
            continue
        assert verdict.warnings, (text, value)


def test_a_suspicious_improvement_warns() -> None:
    """Beyond the same bound on the other side: 68.17 + 1.817."""
    assert any("better" in warning for warning in checked("mmlu", L31, 70.5).warnings), "no warning at 70.5"
    assert not any("better" in warning for warning in checked("mmlu", L31, 69.5).warnings)


# Invariants


@given(
    reference=st.floats(0, 100),
    value=st.floats(0, 100),
    sigma=st.one_of(st.just(0.0), st.floats(0.6, 60)),
    n=st.integers(1, 20_000),
    alpha=st.sampled_from([0.0001, 0.002, 0.01, 0.05, 0.1, 0.3, 0.5]),
    margin=st.sampled_from([0.0, 0.5, 3.0]),
    higher=st.booleans(),
    theta=st.sampled_from([None, 3.0, 10.0]),
)
@example(reference=1e-278, value=0.0, sigma=1.0, n=1, alpha=0.0001, margin=0.0, higher=True, theta=None)
def test_verdict_p_threshold_and_bounds_never_disagree(
    reference: float, value: float, sigma: float, n: int, alpha: float, margin: float, higher: bool, theta: float | None
) -> None:
    entry = Entry(model="m", value=reference, higher_is_better=higher, num_samples=n, sigma=sigma, margin=margin, theta=theta, alpha=alpha)
    rule = settle_rule({"scale": "percent"}, entry, TaskDefaults(), Warnings())
    guarded = Guarded(entry=entry, task="t", model="m", scale="percent")
    found = guard_number(CandidateScore(value=value, n=n), guarded, rule, Warnings())
    assert found.p_value is not None
    assert found.threshold is not None
    lower, upper = found.difference.lower, found.difference.upper
    assert lower is not None
    assert upper is not None
    red = found.verdict == "regression"
    assert red == (found.p_value <= alpha)
    assert red == (value < found.threshold if higher else value > found.threshold)
    assert lower <= upper
    assert (upper <= -margin) if red else (upper >= -margin)
    if theta is not None and found.verdict == "pass":
        assert lower > -theta
    verdict = concluded(found, rule, Warnings())
    assert "nan" not in str(verdict).lower().replace("finance", "")
    assert all(number is None or math.isfinite(number) for number in (verdict.p_value, verdict.threshold, verdict.mde))


def test_the_floor_does_not_look_at_theta_but_says_so(home: Path) -> None:
    entry = Entry(model="m", value=97.0, threshold=94.0, theta=1.0)
    warnings = Warnings()
    rule = settle_rule({}, entry, TaskDefaults(), warnings)
    assert guard_floor(CandidateScore(value=95.0), Guarded(entry=entry), rule, warnings).verdict == "pass"
    assert any("theta" in warning for warning in warnings)


def test_theta_with_a_single_number_asks_for_items() -> None:
    """A fall of .67 with 1.82 of noise does not rule 2 out on 4096 items; the answer says how many would."""
    verdict = checked("mmlu", L31, 67.5, theta=2.0)
    assert verdict.verdict == "inconclusive"
    assert verdict.needed is not None
    assert verdict.exit_code == 2
    each = verdict.needed.get("items") or verdict.needed.get("items_each")
    assert each is not None
    assert each > 0


def test_needed_items_would_have_decided() -> None:
    """As many items as were asked for rule theta out in 1 - beta of the healthy runs: the bound at no difference clears it."""
    verdict = checked("mmlu", L31, 68.17, theta=2.0, beta=0.5)
    assert verdict.verdict == "pass"  # 1.817 < 2
    verdict = checked("mmlu", L31, 68.17, theta=1.5)
    assert verdict.needed is not None
    if verdict.needed.get("items") is not None:
        n = verdict.needed["items"]
        error = math.sqrt(2500 / n + 2500 / 4096)
        assert power.minimum_detectable(error, 0.05, 0.2) <= 1.5
        fewer = math.sqrt(2500 / (n - 1) + 2500 / 4096)
        assert power.minimum_detectable(fewer, 0.05, 0.2) > 1.5


def test_the_report_says_what_a_paired_reference_would_have_bought() -> None:
    verdict = checked("gsm8k", L31, 74.0)
    assert verdict.details["paired_would_find"] < verdict.mde


def test_a_page_does_not_ask_to_record_the_items_that_are_on_record(tmp_path: Path) -> None:
    items = [{"id": i, "score": float(i % 10 > 0)} for i in range(400)]
    place = {"task": "t", "model": "m", "directory": tmp_path}
    sy.record(items, **place)
    verdict = sy.check(value=0.77, **place)
    assert verdict.details["items_on_record"] is True
    page = " ".join(str(verdict).split())
    assert "if you check the run itself" in page
    assert "if the reference kept item outcomes" not in page


def test_only_a_run_that_is_not_better_could_have_missed_a_drop(tmp_path: Path) -> None:
    place = {"task": "t", "model": "m", "directory": tmp_path}
    sy.record([{"id": i, "score": float(i % 10 > 0)} for i in range(400)], **place)
    better, equal = (sy.check(value=value, **place) for value in (0.99, 0.9))
    assert better.verdict == equal.verdict == "pass"
    assert "could have been missed" not in str(better)
    assert "could have been missed" in str(equal)
