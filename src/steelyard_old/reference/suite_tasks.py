"""What the task classes of TensorRT-LLM know and its reference files do not say: metric, direction, sigma, alpha, number of items.

From `accuracy_core.py` of NVIDIA/TensorRT-LLM, main at 181c827eb598 of 2026-08-22. The name of a task is that of its file.
"""

from __future__ import annotations

from typing import Any

Facts = dict[str, Any]
SHARE: Facts = {"metric": "accuracy", "scale": "percent", "higher_is_better": True, "alpha": 0.05, "beta": 0.2, "sigma": 50}
ROUGE: Facts = {"metric": "rouge1", "scale": "percent", "higher_is_better": True, "alpha": 0.002, "beta": 0.2}
PASSKEY: Facts = {**SHARE, "alpha": 0.5, "sigma": 0, "num_samples": 20}  # the threshold is the reference itself

TRTLLM: dict[str, Facts] = {
    "mmlu": {**SHARE, "num_samples": 4096},
    "gsm8k": {**SHARE, "num_samples": 1319},
    "gsm8k_inferencemax": {**SHARE, "num_samples": 1319},
    "gpqa_diamond": {**SHARE, "num_samples": 198},
    "json_mode_eval": {**SHARE, "num_samples": 100},
    "mmmu": {**SHARE, "num_samples": 900},
    "longbench_v1": {**SHARE, "num_samples": 4750},
    "longbench_v2": {**SHARE, "num_samples": 215},
    "videomme": {**SHARE, "num_samples": 300},
    "voxpopuli": {**SHARE, "metric": "wer", "higher_is_better": False, "num_samples": 32},
    "cnn_dailymail": {**ROUGE, "sigma": 11.06, "num_samples": 512},
    "humaneval": {**ROUGE, "sigma": 15.08, "num_samples": 164},
    "zero_scrolls": {**ROUGE, "sigma": 6.97, "num_samples": 80},
    "SlimPajama-6B": {
        "metric": "perplexity",
        "scale": "raw",
        "higher_is_better": False,
        "alpha": 0.01,
        "beta": 0.2,
        "sigma": 4.48,
        "num_samples": 86,
    },
    "passkey_retrieval_64k": PASSKEY,
    "passkey_retrieval_128k": PASSKEY,
}
