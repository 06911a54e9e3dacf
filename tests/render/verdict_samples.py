"""Verdicts as `check` writes them, one of each sort, hostile ones, and what a harmless page is: for the tests of their looks."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace

from steelyard.results.comparison import Difference, Test
from steelyard.results.verdict import WORSE, Recorded, Suite, Verdict, one_sided_bounds

TAGS = re.compile(r"</?details>|</?summary>|<!-- -->")
HOSTILE = [
    "<script>alert(1)</script>",
    "a|b|c",
    "`tick` ``` ````",
    "two\nlines\r\nand\ttabs",
    "\x1b[31mred\x1b[0m \x9b2J",
    "a\u202egnp.exe \u2066x",
    "[click](javascript:alert(1))",
    "::error::pwned",
    "##[add-mask]pwned",
    "=cmd()",
    "100%0A::error title=x::y",
    "a:b,c",
    "]]> <!-- -->",
    "&amp; \"quoted\" 'single'",
    "\x00\x0b\ufffe\uffff\ud800",
    "</details></table>",
    "@all #12 https://x.test www.x.test",
    "x; rm -rf ~ $(id)",
    "",
]


def gap(estimate: float | None, lower: float | None = None, upper: float | None = None) -> Difference:
    """A difference with its bounds, as a guard has it."""
    return Difference(estimate=estimate, interval=one_sided_bounds(lower, upper, 0.05, "z"))


def tested(name: str, p_value: float | None) -> Test:
    return Test(name=name, alternative=WORSE, statistic=None, p_value=p_value)


# sigma 50, n 4,096, alpha .05: theta 2.747 and threshold 66.353 are the published ones of TensorRT-LLM's MMLU row.
LEGACY = Verdict(
    verdict="regression",
    task="mmlu",
    model="meta-llama/Llama-3.1-8B-Instruct",
    scale="percent",
    n=4096,
    sigma=50.0,
    mde=2.7471928,
    reference={"value": 68.17, "n": 4096, "line": 3},
    candidate={"value": 66.2, "n": 4096},
    threshold=66.3526762,
    difference=gap(-1.97, -3.7873238, -0.1526762),
    test=tested("z", 0.03729),
    conclusion="66.2 is 1.97 below the reference 68.17 (p = 0.0373): worse.",
    claim="p and bounds are for new items of this kind; run and reference are treated as independent samples",
    details={"n_reference": 4096, "standard_error": 1.1048543, "paired_would_find": 0.868738},
    warnings=("reference has no num_samples; using the task's 4,096",),
    signature="task:mmlu|model:meta-llama/Llama-3.1-8B-Instruct|metric:accuracy|n:4096|design:unpaired|test:z|alternative:less|alpha:0.05|steelyard:0.1.0",
)
LEGACY_PASS = replace(
    LEGACY,
    verdict="pass",
    spec={"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"},
    reference={"value": 67.87, "n": 4096, "line": 5},
    candidate={"value": 67.5, "n": 4096},
    threshold=66.0526762,
    difference=gap(-0.37, -2.1873238, 1.4473238),
    test=tested("z", 0.36887),
    conclusion="67.5 is 0.37 below the reference 67.87 (p = 0.369): not shown to be worse. A drop below 2.747 could have been missed.",
    warnings=(),
)
FLOOR = Verdict(
    verdict="regression",
    task="acceptance_length",
    model="TestDeepSeekR1::test_nvfp4_multi_gpus[latency]",
    metric="acceptance_length",
    scale="raw",
    design="threshold",
    reference={"value": 2.81, "n": None, "line": 17},
    candidate={"value": 2.664, "n": None},
    threshold=2.6695,
    difference=gap(-0.146, None, None),
    conclusion="2.664 is below the explicit threshold 2.6695.",
    claim="an explicit threshold, set by hand: no p-value, no bound on what could have been missed",
    signature="task:acceptance_length|design:threshold|steelyard:0.1.0",
)
PAIRED = Verdict(
    verdict="regression",
    task="gsm8k",
    model="llama-3.1-8b",
    spec={"quant_algo": "FP8"},
    design="paired",
    n=1319,
    sigma=0.1986,
    mde=0.0136,
    reference={
        "value": 0.7657,
        "n": 1319,
        "line": 2,
        "recorded": "2026-10-30T09:12:00Z",
        "runs": 5,
        "sigma_run": 0.00412,
        "by": "ann",
        "commit": "1f2e3d4",
    },
    candidate={"value": 0.743745, "n": 1319},
    threshold=0.7566,
    difference=gap(-0.0219864, -0.03104, -0.01301),
    test=tested("mcnemar-midp", 3.21e-05),
    flips={"both": 970, "baseline_only": 40, "candidate_only": 11, "neither": 298},
    conclusion="0.743745 is 0.02199 below the reference 0.765732 (p < 0.0001): worse.",
    claim="p and bounds are for new items of this kind",
    changed_items=(
        {"id": "gsm8k-test-0017", "change": "lost", "truth": "42", "baseline": "42", "candidate": "24"},
        {"id": "gsm8k-test-0093", "change": "gained", "truth": "7", "baseline": "8", "candidate": "7"},
        {
            "id": "gsm8k-test-0210",
            "change": "lost",
            "truth": "1200",
            "baseline": "1200",
            "candidate": "I cannot answer that question, sorry.",
        },
        {"id": "gsm8k-test-1100", "change": "lost", "truth": "3", "baseline": "3", "candidate": ""},
    ),
    warnings=("slow drift: 0.02412 below the value first on record (0.767), though not below the present reference",),
    signature="task:gsm8k|model:llama-3.1-8b|spec:quant_algo=FP8|metric:accuracy|n:1319|design:paired|test:mcnemar-midp|alpha:0.05|steelyard:0.1.0",
)
UNSURE = Verdict(
    verdict="inconclusive",
    task="triage",
    model="support-bot v7",
    design="paired",
    n=200,
    sigma=0.2345,
    theta=0.005,
    mde=0.0412,
    reference={"value": 0.885, "n": 200, "line": 1},
    candidate={"value": 0.88, "n": 200},
    threshold=0.865,
    difference=gap(-0.005, -0.0341, 0.0238),
    test=tested("mcnemar-midp", 0.38672),
    flips={"both": 171, "baseline_only": 6, "candidate_only": 5, "neither": 18},
    needed={"items": 13603, "more": 13403, "why": "to rule out 0.005 with power 0.8 if 0.055 of the items differ between healthy runs"},
    conclusion="0.88 is 0.005 below the reference 0.885 (p = 0.387): not shown to be worse, but a drop of 0.005 is not ruled out "
    "(up to 0.0341 is possible).",
    claim="p and bounds are for new items of this kind",
    changed_items=({"id": "row 3", "change": "lost", "truth": None, "baseline": 1.0, "candidate": 0.0},),
)
LOWER_IS_BETTER = Verdict(
    verdict="regression",
    task="voxpopuli",
    model="whisper-large-v3",
    metric="wer",
    higher_is_better=False,
    scale="percent",
    n=1842,
    sigma=12.0,
    theta=1.0,
    margin=0.25,
    mde=1.2331,
    reference={"value": 6.2, "n": 1842, "line": 4},
    candidate={"value": 7.9, "n": 1842},
    threshold=7.10046,
    difference=gap(-1.7, -2.35046, -1.04954),
    test=tested("z", 0.000123),
    conclusion="7.9 is 1.7 above the reference 6.2 (p = 0.000123): worse.",
    waiver={"reason": "new tokenizer, retrained decoder on its way", "until": "2026-12-01", "by": "bo"},
    tier="supporting",
    details={"paired_would_find": None},
)
RULED_OUT = replace(
    UNSURE,
    verdict="pass",
    task="triage-large",
    theta=0.05,
    needed=None,
    changed_items=(),
    conclusion="0.88 is 0.005 below the reference 0.885 (p = 0.387): a drop of 0.05 is ruled out.",
)
BARE = Verdict(verdict="pass", task="t", model="m")
NIGHTLY = Suite(
    verdict="regression",
    correction="holm",
    alpha=0.05,
    name="nightly",
    verdicts=(LEGACY_PASS, LEGACY, PAIRED, UNSURE, LOWER_IS_BETTER, FLOOR, RULED_OUT),
    rows=(
        {"task": "mmlu", "model": LEGACY.model, "p_adjusted": 0.73774, "confirmed": False, "counts_as": "pass", "tier": "critical"},
        {"task": "mmlu", "model": LEGACY.model, "p_adjusted": 0.14916, "confirmed": False, "counts_as": "unconfirmed", "tier": "critical"},
        {"task": "gsm8k", "model": PAIRED.model, "p_adjusted": 0.00016, "confirmed": True, "counts_as": "regression", "tier": "critical"},
        {"task": "triage", "model": UNSURE.model, "p_adjusted": 0.73774, "confirmed": False, "counts_as": "inconclusive"},
        {
            "task": "voxpopuli",
            "model": "whisper-large-v3",
            "p_adjusted": 0.0005,
            "confirmed": True,
            "counts_as": "waived",
            "tier": "supporting",
        },
        {"task": "acceptance_length", "model": FLOOR.model, "p_adjusted": None, "counts_as": "advisory", "tier": "advisory"},
        {"task": "triage-large", "model": UNSURE.model, "p_adjusted": 0.73774, "counts_as": "pass"},
    ),
    conclusion="1 of 6 guards has regressed after Holm's correction: gsm8k.",
    warnings=("one of the guards has an explicit threshold, which no correction covers",),
    signature="suite:nightly|correction:holm|alpha:0.05|steelyard:0.1.0",
)
RECORDED = Recorded(
    task="gsm8k",
    model="llama-3.1-8b",
    spec={"quant_algo": "FP8"},
    metric="accuracy",
    scale="fraction",
    value=0.765732,
    n=1319,
    runs=5,
    sigma_run=0.00412,
    before=0.767,
    file="references/gsm8k.yaml",
    items="gsm8k/llama-3.1-8b.items",
    reason="new tokenizer",
    conclusion="0.765732 over 5 runs is on record, in place of 0.767.",
    warnings=("the value is lower than the one it replaces",),
    signature="task:gsm8k|model:llama-3.1-8b|n:1319|steelyard:0.1.0",
)


def hostile(text: str) -> Verdict:
    """A verdict whose every word from a user is the given one."""
    item = {"id": text, "change": "lost", "truth": text, "baseline": text, "candidate": text}
    return replace(
        PAIRED,
        task=text,
        model=text,
        spec={text: text},
        metric=text,
        reference={**PAIRED.reference, "by": text, "commit": text, "recorded": text},
        changed_items=(item, item),
        conclusion=text,
        claim=text,
        tier=text,
        waiver={"reason": text, "until": text, "by": text},
        warnings=(text,),
        signature=text,
    )


def hostile_suite(text: str) -> Suite:
    """A suite of such verdicts."""
    guard = hostile(text)
    row = {
        "task": text,
        "model": text,
        "tier": text,
        "p_adjusted": 0.01,
        "counts_as": "regression",
        "waiver": {"reason": text, "until": text},
    }
    return replace(
        NIGHTLY,
        name=text,
        verdicts=(guard, replace(guard, verdict="pass")),
        rows=(row, row),
        conclusion=text,
        warnings=(text,),
        signature=text,
    )


def obeyed(text: str) -> set[str]:
    """Characters that a terminal or a log acts on, other than our line ends."""
    return {c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")}


def harmless_page(page: str) -> None:
    """No tag but ours, no link, no broken table, no open code, nothing that a terminal obeys."""
    assert not obeyed(page)
    prose = re.sub(r"^(`{3,})sh\n.*?\n\1$", "", page, flags=re.M | re.S)
    prose = re.sub(r"(?<![\\`])(`+)(?!`)(.+?)(?<!`)\1(?!`)", "", prose)
    assert "<" not in TAGS.sub("", prose)
    assert not re.search(r"(?<!\\)`", prose)
    assert "](" not in prose.replace("\\]", "")
    assert not re.search(r"@(?!<!-- -->)", prose)
    widths: list[int] = []
    for line in prose.splitlines():
        cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        if cells and widths and widths[-1]:
            assert cells == widths[-1], line
        widths.append(cells)
