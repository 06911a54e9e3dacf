"""Every goal of speed, size and cost, once: what it promises, its target, and the part that measures it.

A key is the part and what it measures there. A row says which goal it is held against by this key, written out in the part's source,
so that `--list` can tell without measuring which goals have no row and which rows name no goal.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PARTS = (
    "measure",
    "compare",
    "labels",
    "peers",
    "plan",
    "startup",
    "files",
    "guard",
    "split",
    "logs",
    "endpoint",
    "stopping",
    "serve",
    "report",
)
APART = ("huge", "engines", "certify")  # only when asked for by name: a quarter of an hour each, or a cluster
KEY = re.compile(rf"(?:{'|'.join((*PARTS, *APART))})\.[a-z0-9-]+")


@dataclass(frozen=True, slots=True)
class Goal:
    """One promise. sense: `>=` for how many times better, `<=` for a cost; unit: what the limit counts."""

    key: str
    name: str
    sense: str
    limit: float
    unit: str

    @property
    def part(self) -> str:
        return self.key.partition(".")[0]

    @property
    def target(self) -> str:
        return f"{self.sense} {SHOWN[self.unit](self.limit)}"

    def met(self, value: float) -> bool:
        return value >= self.limit if self.sense == ">=" else value <= self.limit

    def shown(self, value: float) -> str:
        return SHOWN[self.unit](value)


def _times(x: float) -> str:
    return f"{x:,.0f}x" if x >= 99.5 else f"{x:.3g}x"


def _seconds(x: float) -> str:
    if x >= 1:
        return f"{x:.3g} s"
    return f"{x * 1e3:.3g} ms" if x >= 1e-3 else f"{x * 1e6:.3g} us"


SHOWN = {
    "times": _times,
    "seconds": _seconds,
    "extra seconds": lambda x: f"{x:+.3g} s",
    "bytes": lambda x: f"{x / 1e6:,.0f} MB",
    "power of N": lambda x: f"N^{x:.2f}",
    "power of K": lambda x: f"K^{x:.2f}",
    "power of S": lambda x: f"S^{x:.2f}",
    "calls": lambda x: f"{x:,.0f} calls",
    "share": lambda x: f"{x:.0%}",
}


GOALS = tuple(
    Goal(*row)  # type: ignore[arg-type]
    for row in (
        ("measure.macro-sklearn-1e4", "macro-F1 interval beside a scikit-learn loop, N = 1e4", ">=", 400, "times"),
        ("measure.macro-sklearn-1e5", "macro-F1 interval beside a scikit-learn loop, N = 1e5", ">=", 1000, "times"),
        ("measure.macro-sklearn-1e6", "macro-F1 interval beside a scikit-learn loop, N = 1e6", ">=", 8000, "times"),
        ("measure.macro-numpy-1e4", "macro-F1 interval beside NumPy by hand, N = 1e4", ">=", 8, "times"),
        ("measure.macro-numpy-1e5", "macro-F1 interval beside NumPy by hand, N = 1e5", ">=", 40, "times"),
        ("measure.macro-numpy-1e6", "macro-F1 interval beside NumPy by hand, N = 1e6", ">=", 1000, "times"),
        ("measure.macro-growth", "N = 1e6 costs at most so many times N = 1e5", "<=", 1.5, "times"),
        ("measure.extra-memory", "extra memory for any N and B", "<=", 64e6, "bytes"),
        ("measure.bca", "BCa at N = 1e4 beside scipy.stats.bootstrap", ">=", 1000, "times"),
        ("measure.counting-sums", "counting labels, in times of summing them", "<=", 4, "times"),
        ("measure.counting-sklearn", "counting labels beside sklearn's confusion_matrix", ">=", 20, "times"),
        ("measure.posterior-time", "posterior interval of F1, per call", "<=", 20e-6, "seconds"),
        ("measure.posterior-peer", "posterior interval of F1 beside prob-conf-mat", ">=", 100, "times"),
        ("measure.macro-k100-sklearn", "macro-F1, 100 classes, N = 1e6, beside a scikit-learn loop", ">=", 250, "times"),
        ("measure.macro-k100-numpy", "macro-F1, 100 classes, N = 1e6, beside NumPy by hand", ">=", 15, "times"),
        ("measure.exponent", "growth of resampling with N", "<=", 0.2, "power of N"),
        ("measure.counting-int64", "counting int64 labels, in times of summing them", "<=", 4, "times"),
        ("measure.accuracy-scipy", "accuracy, closed form, beside scipy.stats.bootstrap", ">=", 500, "times"),
        ("compare.call-core", "sy.compare of macro-F1, N = 1e4, beside the functions inside it that draw", "<=", 2, "times"),
        ("compare.swap-sklearn-1e4", "randomization of macro-F1 beside a scikit-learn loop, N = 1e4", ">=", 1000, "times"),
        ("compare.swap-sklearn-1e5", "randomization of macro-F1 beside a scikit-learn loop, N = 1e5", ">=", 1250, "times"),
        ("compare.swap-sklearn-1e6", "randomization of macro-F1 beside a scikit-learn loop, N = 1e6", ">=", 5000, "times"),
        ("compare.swap-numpy-1e4", "randomization of macro-F1 beside NumPy by hand, N = 1e4", ">=", 40, "times"),
        ("compare.swap-numpy-1e5", "randomization of macro-F1 beside NumPy by hand, N = 1e5", ">=", 150, "times"),
        ("compare.swap-numpy-1e6", "randomization of macro-F1 beside NumPy by hand, N = 1e6", ">=", 700, "times"),
        ("compare.redraw-sklearn-1e4", "paired bootstrap of macro-F1 beside a scikit-learn loop, N = 1e4", ">=", 600, "times"),
        ("compare.redraw-sklearn-1e5", "paired bootstrap of macro-F1 beside a scikit-learn loop, N = 1e5", ">=", 1000, "times"),
        ("compare.redraw-sklearn-1e6", "paired bootstrap of macro-F1 beside a scikit-learn loop, N = 1e6", ">=", 5000, "times"),
        ("compare.exact-scipy", "accuracy, exact test beside scipy.stats.permutation_test", ">=", 5000, "times"),
        ("compare.sign-flip", "sign flip of real scores beside naive NumPy", ">=", 50, "times"),
        ("compare.groups", "group bootstrap beside concatenating items", ">=", 100, "times"),
        ("compare.sign-flip-time", "sy.compare of a million real scores by sign flips", "<=", 0.2, "seconds"),
        ("compare.sign-flip-growth", "growth of the same with N", "<=", 1, "power of N"),
        ("compare.codes", "sy.compare of whole numbers, in counting passes", "<=", 4, "times"),
        ("compare.texts", "sy.compare of texts, in counting passes over whole numbers", "<=", 10, "times"),
        ("compare.join-shuffled", "two Parquet files of 1e7 rows, beside DuckDB's bare join", "<=", 2.5, "times"),
        ("compare.join-same", "the same, ids in the same order", "<=", 1.5, "times"),
        ("compare.join-memory", "the same: memory", "<=", 2e9, "bytes"),
        ("compare.board-time", "a board of 200 systems, right or wrong on 1,000 items", "<=", 1.0, "seconds"),
        ("compare.board-growth", "growth with the systems of a board: that of their pairs", "<=", 2.2, "power of S"),
        ("compare.board-statsmodels", "a board of 50 systems beside statsmodels' mcnemar, pair by pair", ">=", 1, "times"),
        ("labels.time", "up to 100,000 labels in as many items, each call", "<=", 10, "seconds"),
        ("labels.growth", "growth with the labels at 20,000 items: linear, not the square", "<=", 1.25, "power of K"),
        ("labels.rows", "growth with N where every item has its own label", "<=", 1.25, "power of N"),
        ("labels.sklearn", "not slower than scikit-learn in a loop", ">=", 1, "times"),
        ("labels.stand-in-time", "MCC of 500 labels without a mistake in 2,000 items", "<=", 1.0, "seconds"),
        ("labels.few-rows", "2,000 items of 500 and of 2,000 labels, each call", "<=", 1.0, "seconds"),
        ("labels.stand-in-growth", "the same: growth with the labels", "<=", 1.25, "power of K"),
        ("peers.evalstats", "not slower than evalstats", ">=", 1, "times"),
        ("peers.statgate", "not slower than statgate", ">=", 1, "times"),
        ("peers.errorbars", "not slower than errorbars", ">=", 1, "times"),
        ("peers.mlstatkit", "not slower than MLstatkit", ">=", 1, "times"),
        ("peers.scipy-bootstrap", "not slower than scipy.stats.bootstrap", ">=", 1, "times"),
        ("peers.statsmodels", "not slower than statsmodels", ">=", 1, "times"),
        ("peers.sacrebleu", "not slower than sacrebleu", ">=", 1, "times"),
        ("peers.baycomp", "not slower than baycomp", ">=", 1, "times"),
        ("peers.importance", "not slower than importance sampling from the prior", ">=", 1, "times"),
        ("plan.search", "every exact search up to 100,000 items, once loaded", "<=", 0.200, "seconds"),
        ("plan.start", "start-up of a plan by the normal law, over bare Python", "<=", 0.150, "seconds"),
        ("plan.scan", "planning beside scanning every n", ">=", 10, "times"),
        ("startup.light", "start-up of --help and of Wilson counts, over bare Python", "<=", 0.150, "seconds"),
        ("startup.special", "start-up of what needs scipy.special, over bare Python", "<=", 0.700, "seconds"),
        ("startup.value", "check of a bare number, over bare Python", "<=", 0.090, "seconds"),
        ("startup.measure", "measure of a CSV file of 1,000 rows, over bare Python", "<=", 0.220, "seconds"),
        ("startup.compare", "compare of two such files, over bare Python", "<=", 0.260, "seconds"),
        ("startup.check", "check of such a file against its reference, over bare Python", "<=", 0.280, "seconds"),
        ("files.group-by", "10,000,000 rows of Parquet beside GROUP BY plus start-up", "<=", 1.5, "times"),
        ("files.growing", "the same with ids that grow, beside a process that only groups", "<=", 2, "times"),
        ("files.shuffled", "the same with ids in any order, beside a process that only groups", "<=", 3, "times"),
        ("files.ids-growth", "growth with N of a file whose ids come in any order", "<=", 1.1, "power of N"),
        ("files.csv", "10,000,000 rows of CSV with ids, beside DuckDB's GROUP BY of the file", "<=", 2, "times"),
        ("files.jsonl", "1,000,000 lines of JSON with ids, beside DuckDB's GROUP BY of the file", "<=", 2, "times"),
        ("files.memory", "10,000,000 rows of Parquet: memory", "<=", 1e9, "bytes"),
        ("guard.record", "record of 1,000,000 items beside compare of the same files", "<=", 2, "times"),
        ("guard.check", "check of 1,000,000 items beside compare of the same files", "<=", 2, "times"),
        ("guard.size", "a reference of 1,000,000 right-or-wrong items: size on disk", "<=", 4e6, "bytes"),
        ("guard.suite-time", "a suite of 500 checks of 500 items each: CPU time", "<=", 8, "seconds"),
        ("guard.suite-values-time", "a suite of 500 checks of bare numbers: CPU time", "<=", 1, "seconds"),
        ("guard.suite-growth", "growth with the checks of a suite", "<=", 1.1, "power of N"),
        ("split.time", "split --check of 1,000,000 rows: CPU time of all threads", "<=", 20, "seconds"),
        ("split.memory", "split --check of 1,000,000 rows: memory", "<=", 1e9, "bytes"),
        ("logs.inspect", "an Inspect log of 1,000 samples beside read_eval_log", ">=", 10, "times"),
        ("endpoint.throughput", "2,000 requests of 200 ms, 64 at once: share of what this allows", ">=", 0.90, "share"),
        ("endpoint.throughput-512", "10,240 requests of 200 ms, 512 at once: share of what this allows", ">=", 0.60, "share"),
        ("endpoint.overhead", "CPU of the runner per request, 64 at once", "<=", 300e-6, "seconds"),
        ("endpoint.overhead-512", "CPU of the runner per request, 512 at once", "<=", 300e-6, "seconds"),
        ("endpoint.aiohttp", "CPU per request beside aiohttp, 64 at once", ">=", 1, "times"),
        ("endpoint.aiohttp-512", "CPU per request beside aiohttp, 512 at once", ">=", 1, "times"),
        ("stopping.calls-same-2", "times fewer calls if nothing changed, discordance 2%", ">=", 28, "times"),
        ("stopping.calls-same-5", "times fewer calls if nothing changed, discordance 5%", ">=", 20, "times"),
        ("stopping.calls-same-10", "times fewer calls if nothing changed, discordance 10%", ">=", 8, "times"),
        ("stopping.calls-same-20", "times fewer calls if nothing changed, discordance 20%", ">=", 4, "times"),
        ("stopping.calls-drop-2", "times fewer calls if the drop is real, discordance 2%", ">=", 15, "times"),
        ("stopping.calls-drop-5", "times fewer calls if the drop is real, discordance 5%", ">=", 10.5, "times"),
        ("stopping.calls-drop-10", "times fewer calls if the drop is real, discordance 10%", ">=", 5, "times"),
        ("stopping.calls-drop-20", "times fewer calls if the drop is real, discordance 20%", ">=", 3, "times"),
        ("stopping.four-same-5", "the same with 4 answers on record, if nothing changed, discordance 5%", ">=", 30, "times"),
        ("stopping.four-drop-5", "the same with 4 answers on record, if the drop is real, discordance 5%", ">=", 16, "times"),
        ("stopping.sixteen-same-5", "the same with 16 answers on record, if nothing changed, discordance 5%", ">=", 36, "times"),
        ("stopping.sixteen-drop-5", "the same with 16 answers on record, if the drop is real, discordance 5%", ">=", 18, "times"),
        ("stopping.suite-same", "a suite of ten tasks if nothing changed, discordance 5%", "<=", 4300, "calls"),
        ("stopping.suite-drop", "the same if all dropped by theta", "<=", 1400, "calls"),
        ("stopping.look", "one look of a rule that stops early", "<=", 0.2e-3, "seconds"),
        ("serve.first-paint", "a page of the dashboard over 10,000 runs, server time", "<=", 0.5, "seconds"),
        ("serve.many-runs", "a page of the overview over 100,000 runs, server time", "<=", 0.1, "seconds"),
        ("serve.many-first", "the first page of the overview over 100,000 runs, server time", "<=", 0.1, "seconds"),
        ("serve.export", "100,000 runs as CSV", "<=", 3.0, "seconds"),
        ("report.time", "an HTML report of 1,000,000 items: time", "<=", 10.0, "seconds"),
        ("report.size", "an HTML report of 1,000,000 items: size", "<=", 5e6, "bytes"),
        ("huge.join-csv-cpu", "1e7 rows joined by id, CSV: less CPU than pandas", ">=", 2, "times"),
        ("huge.join-csv-memory", "1e7 rows joined by id, CSV: less memory than pandas", ">=", 3.5, "times"),
        ("huge.join-parquet-cpu", "1e7 rows joined by id, Parquet: less CPU than pandas", ">=", 2, "times"),
        ("huge.join-parquet-memory", "1e7 rows joined by id, Parquet: less memory than pandas", ">=", 3.5, "times"),
        ("huge.join-jsonl-cpu", "1e7 rows joined by id, JSON Lines: less CPU than pandas", ">=", 7, "times"),
        ("huge.join-jsonl-memory", "1e7 rows joined by id, JSON Lines: less memory than pandas", ">=", 8, "times"),
        ("huge.join-order-cpu", "1e7 rows, ids in the same order: less CPU than pandas", ">=", 14, "times"),
        ("huge.join-order-memory", "1e7 rows, ids in the same order: less memory than pandas", ">=", 20, "times"),
        ("huge.count-cpu", "1e8 rows of Parquet counted: less CPU than pandas", ">=", 8, "times"),
        ("huge.count-memory", "1e8 rows of Parquet counted: less memory than pandas", ">=", 40, "times"),
        ("huge.count-group-by", "1e8 rows of Parquet beside DuckDB's bare aggregation", "<=", 1.5, "times"),
        ("huge.count-resident", "1e8 rows of Parquet counted: memory", "<=", 2e9, "bytes"),
        ("huge.order-resident", "1e8 rows compared with ids in order: memory", "<=", 2e9, "bytes"),
        ("huge.fifty-resident", "5e7 rows joined by id: memory", "<=", 2e9, "bytes"),
        ("huge.fifty-join", "5e7 rows joined by id beside DuckDB's bare join", "<=", 2.5, "times"),
        ("engines.spark", "Spark, over the engine's own time for the same SQL", "<=", 2.0, "extra seconds"),
        ("certify.quick", "steelyard certify --quick, on the clock", "<=", 120.0, "seconds"),
    )
)
BY_KEY = {goal.key: goal for goal in GOALS}


@cache
def named_in(part: str) -> frozenset[str]:
    """The keys that the source of a part writes out."""
    tree = ast.parse(Path(__file__).with_name(f"{part}_bench.py").read_text(encoding="utf-8"))
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return frozenset(text for text in texts if KEY.fullmatch(text))


def listed() -> Iterator[str]:
    """The list of goals by part, with what does not fit together."""
    for part in (*PARTS, *APART):
        yield part
        for goal in (g for g in GOALS if g.part == part):
            lonely = "" if goal.key in named_in(part) else "   NO ROW NAMES IT"
            yield f"  {goal.key:<28} {goal.target:<12} {goal.name}{lonely}"
    for part, key in strays():
        yield f"NO SUCH GOAL: {key}, named by a row of the part {part}"


def strays() -> Iterator[tuple[str, str]]:
    """Keys that a part writes out and that are no goal of this part."""
    for part in (*PARTS, *APART):
        for key in sorted(named_in(part)):
            if key not in BY_KEY or BY_KEY[key].part != part:
                yield part, key
