"""Asks the peers for their numbers: `python tests/peers/make.py [PEER ...]` writes PEER.json beside this file, where the peer is installed.

The examples are the peer's own, from its documentation or its tests, and each says which. What a peer draws at random it
draws with a fixed seed, so that asking again gives the same number. `test_make.py` asks again wherever a peer is installed.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
Entry = tuple[str, str, Any, Any]  # name, source and call, what went in, what came out

# The 100 items of mlxtend's user guide on Cochran's Q, the F test and the difference of proportions: 1 is a wrong answer.
THREE_MODELS = ["1" * 16 + "0" * 84, "1" * 6 + "0" * 14 + "11" + "0" * 78, "111000" + "1" + "0" * 13 + "11" + "0" * 76 + "11"]
# README of sacrebleu, section "Using SacreBLEU from Python": three sentences, two references.
DOG = ["The dog bit the man.", "It wasn't surprising.", "The man had just bitten him."]
DOG_REFERENCES = [
    ["The dog bit the man.", "It was not unexpected.", "The man bit him first."],
    ["The dog had bit the man.", "No one was surprised.", "The man had bitten the dog."],
]
# Twelve sentences of our own: long enough for four-grams, short enough that all 4,096 swaps can be counted.
REFERENCE = [
    "the cat sat on the mat near the door",
    "he reads the morning paper with his tea",
    "we walked along the river until it was dark",
    "the train to the north leaves at nine",
    "she keeps her old letters in a wooden box",
    "nobody knew the answer to the last question",
    "the children played in the garden all day",
    "it rained for three days without a break",
    "the shop on the corner sells fresh bread",
    "they found the key under the stone",
    "a small boat crossed the lake at dawn",
    "the old bridge was closed for the winter",
]
BASELINE = [
    "the cat sat on a mat near the door",
    "he reads morning paper with the tea",
    "we went along the river until it was dark",
    "the train for the north leaves at nine",
    "she keeps old letters in a box of wood",
    "nobody knew the answer to the last question",
    "children were playing in the garden all the day",
    "it rained for three days without a break",
    "the shop in the corner sells fresh bread",
    "they have found the key under a stone",
    "a small boat crossed a lake at dawn",
    "the old bridge was closed in winter",
]
CANDIDATE = [
    "the cat sat on the mat near the door",
    "he reads the morning paper with tea",
    "we walked along the river until it was dark",
    "the train to the north goes at nine",
    "she keeps her old letters in a wooden box",
    "no one knew the answer to the last question",
    "the children played in the garden all day",
    "it was raining for three days without a break",
    "the shop on the corner sells fresh bread",
    "they found a key under the stone",
    "a small boat crossed the lake at dawn",
    "the old bridge was closed for winter",
]
# Fisher (1935), Darwin's maize, eighths of an inch.
DARWIN = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
# Tables of flips (both, first only, second only, neither): cavo 2012 and bentur 2009 of Fagerland, Lydersen and Laake, and extremes.
TABLES = [(59, 6, 16, 80), (1, 1, 7, 12), (36, 12, 2, 0), (20, 5, 5, 10), (30, 0, 0, 10), (15, 9, 0, 6)]
SHARES = [(0, 20), (1, 29), (13, 16), (81, 263), (20, 20)]


def sacrebleu() -> Iterator[Entry]:
    from sacrebleu.metrics import BLEU, TER
    from sacrebleu.significance import PairedTest

    os.environ["SACREBLEU_SEED"] = "12345"  # its default, whatever the environment says
    bleu = BLEU()
    score = bleu.corpus_score(DOG, DOG_REFERENCES)
    rows = bleu._extract_corpus_statistics(DOG, DOG_REFERENCES)
    yield "readme_bleu", "README: BLEU().corpus_score(sys, refs)", {"rows": rows}, [score.score, score.bp, *score.precisions]
    whole = {"BLEU": BLEU(), "TER": TER()}
    rows_of = {
        name: [metric._extract_corpus_statistics(system, [REFERENCE]) for system in (BASELINE, CANDIDATE)] for name, metric in whole.items()
    }
    yield "rows", "the sufficient statistics of the 12 sentences, baseline and candidate", rows_of, None
    systems = [("baseline", BASELINE), ("candidate", CANDIDATE)]
    for kind in ("ar", "bs"):
        found = PairedTest(systems, whole, [REFERENCE], test_type=kind, n_samples=10_000)()[1]
        for name in whole:
            first, second = found[name]
            values = {"scores": [first.score, second.score], "p": second.p_value, "mean": second.mean, "ci": second.ci}
            yield f"{kind}_{name}", f"PairedTest(systems, metrics, refs, test_type={kind!r}, n_samples=10_000)", None, values
        same = PairedTest([systems[0], ("again", BASELINE)], {"BLEU": BLEU()}, [REFERENCE], test_type=kind, n_samples=1000)()[1]["BLEU"][1]
        yield f"{kind}_same", f"PairedTest of a system with itself, {kind!r}, 1,000 samples", None, same.p_value


def mlxtend() -> Iterator[Entry]:
    from mlxtend import evaluate

    for name, table in {"A": [[9959, 11], [1, 29]], "B": [[9945, 25], [15, 15]], "tests": [[101, 121], [59, 33]]}.items():
        given = np.array(table)
        out = {
            "corrected": evaluate.mcnemar(given),
            "plain": evaluate.mcnemar(given, corrected=False),
            "exact": evaluate.mcnemar(given, exact=True)[1],
        }
        yield f"mcnemar_{name}", "user guide (scenarios A and B), test_mcnemar_test.py", table, out
    none = np.array([[80, 0], [0, 20]])
    even = np.array([[80, 5], [5, 10]])
    with np.errstate(divide="ignore"):
        chi2, p = evaluate.mcnemar(none)
    yield "mcnemar_none", "mcnemar where nothing disagrees", none.tolist(), [str(chi2), p]
    yield "mcnemar_even", "mcnemar where 5 were gained and 5 lost", even.tolist(), evaluate.mcnemar(even)
    wrong = [np.array(list(map(int, text))) for text in THREE_MODELS]
    truth = np.zeros(100, int)
    yield "cochrans_q", "user guide: cochrans_q(y_true, y_model_1, y_model_2, y_model_3)", THREE_MODELS, evaluate.cochrans_q(truth, *wrong)
    yield "ftest", "user guide: ftest(y_true, y_model_1, y_model_2, y_model_3)", THREE_MODELS, evaluate.ftest(truth, *wrong)
    yield "proportions", "user guide: proportion_difference(0.84, 0.92, n_1=100)", None, evaluate.proportion_difference(0.84, 0.92, n_1=100)
    yield "swapped", "the same two proportions in the other order", None, evaluate.proportion_difference(0.92, 0.84, n_1=100)
    a, b = [3.67, 1.72, 3.46, 2.60, 2.03, 2.10, 3.01], [2.11, 1.79, 2.71, 1.89, 1.69, 1.71, 2.01]
    yield "permutation", "test_permutation.py: permutation_test(a, b, paired=True)", [a, b], evaluate.permutation_test(a, b, paired=True)
    yield from _mlxtend_learners(evaluate)


def _mlxtend_learners(evaluate: Any) -> Iterator[Entry]:
    """The user guide's two learners on iris, and the differences that mlxtend keeps to itself, by a scorer that listens."""
    from mlxtend.data import iris_data
    from sklearn.linear_model import LogisticRegression
    from sklearn.tree import DecisionTreeClassifier

    x, y = iris_data()
    tests: dict[str, Callable[..., Any]] = {
        "5x2cv_t": evaluate.paired_ttest_5x2cv,
        "5x2cv_f": evaluate.combined_ftest_5x2cv,
        "kfold": evaluate.paired_ttest_kfold_cv,
        "resampled": evaluate.paired_ttest_resampled,
    }
    for depth in (None, 1):
        for name, test in tests.items():
            heard: list[float] = []

            def listen(model: Any, given: Any, answers: Any, heard: list[float] = heard) -> float:
                heard.append(float(model.score(given, answers)))
                return heard[-1]

            seed = {} if name == "kfold" else {"random_seed": 1}
            learners = LogisticRegression(random_state=1, max_iter=1000), DecisionTreeClassifier(random_state=1, max_depth=depth)
            found = test(estimator1=learners[0], estimator2=learners[1], X=x, y=y, scoring=listen, **seed)
            delta = (np.array(heard[0::2]) - heard[1::2]).tolist()
            yield f"{name}_{depth or 'deep'}", f"user guide, iris: {test.__name__}(logistic, tree, max_depth={depth})", delta, found


def evalstats() -> Iterator[Entry]:
    from evalstats.core import resampling
    from evalstats.core.paired import _mcnemar_midp_p
    from evalstats.core.unpaired import _agresti_caffo_ci

    one = {"wilson": resampling.wilson_ci, "jeffreys": resampling.jeffreys_ci, "clopper-pearson": resampling.clopper_pearson_ci}
    for k, n in SHARES:
        yield (
            f"share_{k}_{n}",
            "wilson_ci, jeffreys_ci, clopper_pearson_ci (successes, n, 0.05)",
            [k, n],
            {m: f(k, n, 0.05) for m, f in one.items()},
        )
    for table in TABLES:
        a, b = _pairs(table)
        out = {
            "bonett-price": resampling.bonett_price_paired_ci(a, b, 0.05),
            "newcombe": resampling.newcombe_mover_paired_ci(a, b, 0.05),
            "tango": resampling.tango_scc_paired_ci(a, b, 0.05, c=0.0),
            "tango_default": resampling.tango_scc_paired_ci(a, b, 0.05),
            "mid_p": _mcnemar_midp_p(a, b),
        }
        yield f"flips_{'_'.join(map(str, table))}", "paired intervals and McNemar mid-p, first minus second", list(table), out
    a, b = np.repeat([1.0, 0.0], [56, 14]), np.repeat([1.0, 0.0], [48, 32])
    yield "agresti_caffo", "unpaired: _agresti_caffo_ci, 56/70 and 48/80", [56, 70, 48, 80], _agresti_caffo_ci(a, b, 0.05)


def _pairs(table: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    return np.repeat([1.0, 1.0, 0.0, 0.0], table), np.repeat([1.0, 0.0, 1.0, 0.0], table)


def statgate() -> Iterator[Entry]:
    from statgate.core import bootstrap, intervals, permutation, power

    for k, n in SHARES:
        found = intervals.wilson_interval(k, n)
        yield f"share_{k}_{n}", "wilson_interval(successes, total)", [k, n], [found.low, found.high]
    p = permutation.sign_flip_pvalue(DARWIN, permutations=100_000, seed=42)
    yield "sign_flip", "sign_flip_pvalue(diffs, permutations=100_000, seed=42)", DARWIN, p
    same = permutation.sign_flip_pvalue([0.0] * 20, seed=42)
    yield "sign_flip_same", "sign_flip_pvalue of 20 items that do not differ", [0.0] * 20, same
    bca = bootstrap.bca_mean_interval(DARWIN, resamples=100_000, seed=42)
    yield "bca", "bca_mean_interval(diffs, resamples=100_000, seed=42)", DARWIN, [bca.low, bca.high]
    flat = bootstrap.bca_mean_interval([0.0] * 20, seed=42)
    yield "bca_same", "bca_mean_interval of 20 items that do not differ", [0.0] * 20, [flat.low, flat.high]
    for sd, effect in ((0.3, 0.02), (0.5, 0.05), (1 / 3, 0.03)):
        yield f"needed_{effect}", "required_sample_size(sd, effect)", [sd, effect], power.required_sample_size(sd, effect)
    yield "mde", "minimum_detectable_effect(0.3, 400)", [0.3, 400], power.minimum_detectable_effect(0.3, 400)


def errorbars() -> Iterator[Entry]:
    from errorbars import compare, stats
    from errorbars import power as plans

    for name, table in {"copa": (10, 2, 6, 2), "walkthrough": (92, 46, 32, 30)}.items():
        found = compare.paired_compare(*_pairs(table)).as_dict()
        yield f"compare_{name}", "README (COPA) and examples/README.md (tuned-70b against baseline-70b)", list(table), found
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(12), [3, 5, 2, 4, 6, 3, 5, 4, 2, 3, 4, 7])
    scores = np.round(rng.normal(0.6, 0.1, 12)[groups] + rng.normal(0, 0.2, len(groups)), 3)
    error = stats.cluster_robust_se(scores, groups)
    yield "clustered", "cluster_robust_se(values, clusters)", {"scores": scores.tolist(), "groups": groups.tolist()}, error
    designs: dict[str, dict[str, float]] = {
        "readme": {"delta": 0.03, "baseline_accuracy": 0.5},
        "readme_design": {"delta": 0.05, "baseline_accuracy": 0.65, "rho": 0.14, "cluster_design_effect": 1.28},
        "walkthrough_7": {"delta": 0.07, "baseline_accuracy": 0.655, "rho": 0.1434, "cluster_design_effect": 1.284},
        "walkthrough_5": {"delta": 0.05, "baseline_accuracy": 0.655, "rho": 0.1434, "cluster_design_effect": 1.284},
    }
    for name, design in designs.items():
        yield f"needed_{name}", "README and examples/README.md: errorbars power", design, plans.questions_needed(**design).n_questions
    yield "mde", "README: errorbars power --n 500 --baseline 0.5", None, plans.minimum_detectable_effect(500, baseline_accuracy=0.5)


def MLstatkit() -> Iterator[Entry]:
    from MLstatkit import Delong_test, Permutation_test

    example = [0, 1, 0, 1], [0.10, 0.40, 0.35, 0.80], [0.20, 0.30, 0.40, 0.70]
    z, p, ci_a, ci_b, auc_a, auc_b, _ = Delong_test(*map(np.array, example), return_ci=True, return_auc=True)
    out = {"z": z, "p": p, "auc": [auc_a, auc_b], "ci": [ci_a, ci_b]}
    yield "delong_readme", "README: Delong_test(true, prob_A, prob_B)", example, out
    rng = np.random.default_rng(1)
    truth = np.repeat([0, 1], [25, 15])
    first, second = (np.round(truth * lift + rng.normal(size=40), 1) for lift in (0.8, 1.5))
    z, p, ci_a, ci_b, auc_a, auc_b, _ = Delong_test(truth, first, second, return_ci=True, return_auc=True)
    given = [truth.tolist(), first.tolist(), second.tolist()]
    yield "delong_ties", "40 seeded items with ties", given, {"z": z, "p": p, "auc": [auc_a, auc_b], "ci": [ci_a, ci_b]}
    z, p, *_ = Delong_test(truth, first, first, return_ci=True, return_auc=True, random_state=0)
    yield "delong_same", "the same scores twice", given, {"z": z, "p": p}
    sure = np.where(truth == 1, 0.9, 0.1)
    worse = np.where(np.arange(40) % 4 == 0, 1 - sure, sure)
    found = Permutation_test(truth, sure, worse, "accuracy", n_bootstraps=1000, random_state=0)
    yield (
        "permutation",
        "Permutation_test(y, a, b, 'accuracy', n_bootstraps=1000)",
        [truth.tolist(), sure.tolist(), worse.tolist()],
        list(found),
    )


def confidenceinterval() -> Iterator[Entry]:
    import confidenceinterval as peer

    table = [[50, 5, 5], [8, 30, 2], [3, 7, 40]]
    truth, said = np.repeat(np.arange(9) // 3, np.ravel(table)), np.repeat(np.arange(9) % 3, np.ravel(table))
    for name in ("accuracy_score", "ppv_score", "npv_score", "tpr_score", "tnr_score"):
        one = getattr(peer, name)((truth == 0).astype(int), (said == 0).astype(int))
        yield name, f"{name}(y_true, y_pred), the first class of a 3 x 3 table", table, one
    for average in ("macro", "micro"):
        for score in (peer.f1_score, peer.precision_score, peer.recall_score):
            yield (
                f"{average}_{score.__name__}",
                f"{score.__name__}(y_true, y_pred, average={average!r})",
                table,
                score(truth, said, average=average),
            )
    yield (
        "binary_f1_score",
        "f1_score(average='binary')",
        table,
        peer.f1_score((truth == 0).astype(int), (said == 0).astype(int), average="binary"),
    )
    names = np.array([1, 2, 5])
    yield "renamed", "macro F1 with the classes called 1, 2 and 5", table, peer.f1_score(names[truth], names[said], average="macro")


def baycomp() -> Iterator[Entry]:
    from baycomp import two_on_single

    rng = np.random.default_rng(2)
    folds = rng.normal(0.80, 0.03, 100).round(3), rng.normal(0.805, 0.03, 100).round(3)
    for name, (x, y), runs in (
        ("one_run", ([4, 2, 6], [5, 7, 3]), 1),
        ("two_runs", ([4, 2, 6, 4], [5, 7, 3, 5]), 2),
        ("ten_by_ten", folds, 10),
        ("same", ([1.0] * 10, [1.0] * 10), 1),
    ):
        found = two_on_single(np.array(x, float), np.array(y, float), runs=runs)
        given = {"baseline": np.asarray(x).tolist(), "candidate": np.asarray(y).tolist(), "runs": runs}
        yield name, "two_on_single(x, y, runs=runs); the first two and the last are of tests/test_single.py", given, found


PEERS: dict[str, Callable[[], Iterator[Entry]]] = {
    peer.__name__: peer for peer in (MLstatkit, baycomp, confidenceinterval, errorbars, evalstats, mlxtend, sacrebleu, statgate)
}


def installed(peer: str) -> bool:
    return importlib.util.find_spec(peer) is not None


def ask(peer: str) -> dict[str, Any]:
    """What the peer answers now: its version, and for each example where it is from, what went in and what came out."""
    logging.getLogger("sacrebleu").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        entries = {name: {"call": call, "input": given, "answer": answer} for name, call, given, answer in PEERS[peer]()}
    found = {"peer": peer, "version": importlib.metadata.version(peer), "entries": entries}
    plain: dict[str, Any] = json.loads(json.dumps(found, default=_plain))
    return plain


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else vars(value)


def recorded(peer: str) -> dict[str, Any]:
    """The entries of PEER.json: `tests/peers/make.py` wrote them."""
    text = (HERE / f"{peer}.json").read_text(encoding="utf-8")
    entries: dict[str, Any] = json.loads(text)["entries"]
    return entries


def main(names: list[str]) -> None:
    for peer in names or sorted(PEERS):
        if not installed(peer):
            print(f"{peer} is not installed")
            continue
        found = ask(peer)
        lines = [f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in found["entries"].items()]
        head = f'"peer": {json.dumps(peer)}, "version": {json.dumps(found["version"])}, "made_by": "tests/peers/make.py"'
        text = f'{{{head},\n "entries": {{\n' + ",\n".join(lines) + "\n }}\n"
        (HERE / f"{peer}.json").write_text(text, encoding="utf-8")
        print(f"{peer}.json")


if __name__ == "__main__":
    main(sys.argv[1:])
