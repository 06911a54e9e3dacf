"""An import of TensorRT-LLM's files brings along what the classes there know of their tasks, or says what it could not know."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.errors import SourceError
from steelyard.questions.references.detectable import gate_of
from steelyard.questions.references.importing import import_references
from steelyard.questions.references.lint import lint_references
from steelyard.reference.config_text import with_tables
from steelyard.reference.lookup import load, locate
from steelyard.reference.suite_tasks import TRTLLM
from steelyard.results.base import Warnings

REAL = Path(__file__).parents[2] / "reference" / "trtllm"
GRADIENT = "gradientai/Llama-3-8B-Instruct-Gradient-1048k"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tables() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(Path("steelyard.toml").read_text("utf-8"))["tasks"]
    return found


def test_a_rise_of_perplexity_is_a_regression_after_an_import() -> None:
    done = import_references(REAL / "SlimPajama-6B.yaml", dialect="trtllm")
    assert "steelyard.toml (new)" in done.conclusion
    verdict = sy.check(value=9.9, task="SlimPajama-6B", model=GRADIENT)
    assert verdict.verdict == "regression"
    assert verdict.threshold == pytest.approx(9.252, abs=5e-4)  # by the original's own formula
    assert sy.check(value=7.7, task="SlimPajama-6B", model=GRADIENT).verdict != "regression"
    assert tables() == {"SlimPajama-6B": TRTLLM["SlimPajama-6B"]}


@pytest.mark.parametrize(
    ("task", "model", "spec", "threshold", "mde"),
    [
        ("mmlu", "meta-llama/Llama-3.1-8B-Instruct", {}, 66.353, 2.747),
        ("gsm8k", "deepseek-ai/DeepSeek-R1", {"quant_algo": "NVFP4"}, 92.217, 4.841),
        ("gpqa_diamond", "deepseek-ai/DeepSeek-R1", {"quant_algo": "NVFP4"}, 62.184, 12.495),
        ("json_mode_eval", "meta-llama/Llama-3.1-8B-Instruct", {}, 62.369, 17.582),
        ("mmmu", "LGAI-EXAONE/EXAONE-4.5-33B", {}, 42.623, 5.861),
        ("longbench_v1", "Qwen3/Qwen3-30B-A3B-Instruct-2507", {"extra_acc_spec": "target_sparsity=0.9"}, 36.836, 2.551),
        ("longbench_v2", "meta-llama/Llama-3.1-8B-Instruct", {}, 17.868, 11.991),
        ("videomme", "Qwen/Qwen3-VL-2B-Instruct", {}, 47.785, 10.151),
        (
            "voxpopuli",
            "nvidia/Nemotron-3-Nano-Omni-30B-A3B-Reasoning-FP8",
            {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"},
            8.910,
            4.097,
        ),
        ("cnn_dailymail", "meta-llama/Llama-3.1-8B-Instruct", {}, 31.650, 2.571),
        ("humaneval", "bigcode/santacoder", {}, 26.895, 6.195),
        ("zero_scrolls", "Yukang/LongAlpaca-7B", {}, 27.711, 4.099),
        ("SlimPajama-6B", GRADIENT, {}, 9.252, 2.164),
        ("passkey_retrieval_64k", "meta-llama/Llama-3.1-8B", {}, 99.0, 0.0),
    ],
)
def test_the_imported_thresholds_are_those_of_the_original(
    task: str, model: str, spec: dict[str, Any], threshold: float, mde: float
) -> None:
    import_references(REAL / f"{task}.yaml", dialect="trtllm")
    place = locate(task)
    entry = next(one for one in load(place).entries if one.model == model and dict(one.spec) == spec)
    _, gate = gate_of(entry, place.defaults, Warnings())
    assert gate.threshold == pytest.approx(threshold, abs=6e-4)
    assert gate.mde == pytest.approx(mde, abs=6e-4)


def test_all_real_files_are_imported_and_no_value_of_rouge_or_perplexity_is_held_to_k_of_n() -> None:
    shutil.copytree(REAL, "suite")
    done = import_references("suite", dialect="trtllm")
    assert set(tables()) == {path.stem for path in REAL.glob("*.yaml")} - {"acceptance_length"}
    assert not [warning for warning in done.warnings if "does not know" in warning]
    lint = lint_references()
    counted = {finding.file for finding in lint.findings if finding.code == "not-k-of-n"}
    assert not counted & {f"references/{task}.yaml" for task, facts in TRTLLM.items() if facts["metric"] != "accuracy"}
    assert not [finding for finding in lint.findings if finding.code in ("rule", "unreadable", "unknown-task")]
    again = import_references("suite", dialect="trtllm")
    assert again.config is not None
    assert again.config["added"] == {}
    assert again.config["kept"] == ()


def test_values_of_rouge_are_not_held_to_k_of_n_without_a_configuration_either() -> None:
    Path("references").mkdir()
    Path("references/cnn_dailymail.yaml").write_text("m:\n  - accuracy: 29.422\n    num_samples: 32\n", encoding="utf-8")
    Path("references/other.yaml").write_text("m:\n  - accuracy: 29.422\n    num_samples: 32\n", encoding="utf-8")
    assert [each.file for each in lint_references().findings if each.code == "not-k-of-n"] == ["references/other.yaml"]


def test_what_the_configuration_says_already_is_kept_and_told() -> None:
    before = '# ours\ndirectory = "references"\n\n[tasks.cnn_dailymail] # by hand\nalpha = 0.05  # stricter\n\n[policy]\nstale_days = 3\n'
    Path("steelyard.toml").write_text(before, encoding="utf-8")
    done = import_references(REAL / "cnn_dailymail.yaml", dialect="trtllm")
    text = Path("steelyard.toml").read_text("utf-8")
    assert all(line in text.splitlines() for line in before.splitlines())
    assert tables()["cnn_dailymail"] == {**TRTLLM["cnn_dailymail"], "alpha": 0.05}
    assert "steelyard.toml already has a table [tasks.cnn_dailymail], which takes precedence: alpha = 0.05, not 0.002" in done.warnings
    assert done.config is not None
    assert done.config["kept"] == ({"task": "cnn_dailymail", "key": "alpha", "there": 0.05, "import": 0.002},)


def test_the_tables_go_into_pyproject_where_that_is_the_configuration() -> None:
    Path("pyproject.toml").write_text('[project]\nname = "x"\n\n[tool.steelyard]\nids = "hashed"\n', encoding="utf-8")
    import_references(REAL / "SlimPajama-6B.yaml", dialect="trtllm")
    assert not Path("steelyard.toml").exists()
    found = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))
    assert found["tool"]["steelyard"] == {"ids": "hashed", "tasks": {"SlimPajama-6B": TRTLLM["SlimPajama-6B"]}}
    assert sy.check(value=9.9, task="SlimPajama-6B", model=GRADIENT).verdict == "regression"


def test_an_unknown_task_is_told_with_all_that_is_not_known() -> None:
    Path("mine.yaml").write_text("m:\n  - accuracy: 74.2\n", encoding="utf-8")
    (warning,) = import_references("mine.yaml", dialect="trtllm").warnings
    assert warning == (
        "mine: the import does not know direction (higher is taken as better), sigma, num_samples, alpha (0.05 is taken); "
        "say so in [tasks.mine] of steelyard.toml"
    )
    assert not Path("steelyard.toml").exists()


def test_an_unknown_task_that_says_all_itself_is_not_told() -> None:
    Path("mine.yaml").write_text(
        "m:\n  - accuracy: 74.2\n    num_samples: 500\n    sigma: 50\n    alpha: 0.05\n    higher_is_better: true\n", encoding="utf-8"
    )
    assert import_references("mine.yaml", dialect="trtllm").warnings == ()


@pytest.mark.parametrize(
    "text", ["tasks = {mmlu = {alpha = 0.1}}\n", "[tasks]\nmmlu = {alpha = 0.1}\n", "tasks.mmlu.alpha = 0.1\n", "tasks = 3\n"]
)
def test_tables_in_another_style_are_refused_and_nothing_is_written(text: str) -> None:
    with pytest.raises(SourceError, match=r"must be written as \[tasks\.NAME\]"):
        with_tables(text, {"mmlu": TRTLLM["mmlu"]}, "steelyard.toml")


def test_line_ends_and_a_missing_last_one_are_kept() -> None:
    made = with_tables('ids = "kept"\r\n[tasks."a.b"]\r\nalpha = 0.1', {"a.b": {"beta": 0.2}, "c": {"sigma": 1}}, "steelyard.toml")
    assert made.text == 'ids = "kept"\r\n[tasks."a.b"]\r\nbeta = 0.2\r\nalpha = 0.1\r\n\r\n[tasks.c]\r\nsigma = 1\r\n'


def test_lint_names_a_task_of_the_suite_that_is_taken_for_accuracy() -> None:
    """Files that were copied without an import."""
    shutil.copytree(REAL, "references")
    named = {finding.file for finding in lint_references().findings if finding.code == "suite"}
    assert named == {f"references/{task}.yaml" for task in ("SlimPajama-6B", "cnn_dailymail", "humaneval", "zero_scrolls")}
    Path("steelyard.toml").write_text('[tasks.cnn_dailymail]\nmetric = "rouge1"\n[tasks.SlimPajama-6B]\nhigher_is_better = false\n')
    assert {f.file for f in lint_references().findings if f.code == "suite"} == {
        "references/humaneval.yaml",
        "references/zero_scrolls.yaml",
    }
