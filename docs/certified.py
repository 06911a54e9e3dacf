"""The figures of the guides, written from the full certificate and from the benchmarks: nobody types them.

    python docs/certified.py          says what is out of step
    python docs/certified.py --write  puts it right

Tables stand between marks in a page; figures inside a sentence are found by the words around them. Both are made anew from
certificate/full.csv (`steelyard certify --full -o docs/certificate/full.md --csv docs/certificate/full.csv`) and from the
tables of benchmarks/README.md. A test keeps the pages in step.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from statistics import NormalDist

DOCS = Path(__file__).parent
CERTIFICATE = DOCS / "certificate/full.csv"
BENCHMARKS = DOCS.parent / "benchmarks" / "README.md"
RUNS = re.compile(r" ?\b(?:runs|courses)=\d+")  # how well a figure is known, not what it is
END = "<!-- end of certified -->"
Rows = list[list[str]]


# ---- where figures come from -------------------------------------------------------------------------------------------


@cache
def certificate() -> dict[str, dict[str, dict[str, str]]]:
    """claim -> setting -> columns."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    with CERTIFICATE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            claim = f"{row['family']}: {row['kind']} of {row['method']}"
            found.setdefault(claim, {})[RUNS.sub("", row["setting"]).strip()] = row
    return found


def figure(claim: str, setting: str, what: str = "") -> float:
    """What a setting of a claim showed: least, most, mean or width; without a word the worst there is for its kind."""
    what = what or ("most" if ": size of " in claim else "least")
    return float(certificate()[claim][setting][what])


def every(claim: str, what: str = "", only: str = "") -> list[float]:
    """The figures of all settings of a claim that have these words."""
    return [figure(claim, setting, what) for setting in certificate()[claim] if only in setting]


def seconds(row: str) -> tuple[str, str]:
    """(ours, the peer's) of a row of the benchmarks."""
    line = next(line for line in BENCHMARKS.read_text(encoding="utf-8").splitlines() if line.startswith(f"| {row} "))
    ours, peer = (cell.strip() for cell in line.split("|")[2:4])
    return ours, peer


def calls(row: str) -> tuple[list[float], str]:
    """(numbers of calls, the note) of a row of the benchmark of stopping early: ours, then the peer's."""
    note = next(line for line in BENCHMARKS.read_text(encoding="utf-8").splitlines() if line.startswith(f"- {row}: "))
    return [float(number.replace(",", "")) for cell in seconds(row) for number in re.findall(r"[\d,]+", cell)], note


def two(value: float) -> str:
    return f"{value:.2f}"


def three(value: float) -> str:
    return f"{value:.3f}"


def percent(value: float) -> str:
    return f"{100 * value:.0f}%"


def span(values: Sequence[float]) -> list[str]:
    """The least and the most, as shares of three digits."""
    return [three(min(values)), three(max(values))]


# ---- tables ------------------------------------------------------------------------------------------------------------


def tests_of_right_or_wrong() -> Iterator[list[str]]:
    sizes = (20, 50, 100, 500, 1000)
    yield ["test", "20 items", "50", "100", "500", "1,000"]
    same, one = "right or wrong on the same items: size of ", "right or wrong on the same items, one side: size of "
    elsewhere = "not offered: tests of right or wrong on the same items: size of "
    for name, claim in (
        ("McNemar mid-p", f"{same}mcnemar-midp"),
        ("McNemar exact; randomization, ties counted (`>=`)", f"{same}mcnemar-exact"),
        ("McNemar asymptotic", f"{same}mcnemar"),
        ("randomization, ties lost (`>`), not offered", f"{elsewhere}randomization, ties lost"),
        ("paired bootstrap, one-sided, side named beforehand", f"{one}bootstrap"),
        ("the same, side of the winner, not offered", f"{elsewhere}bootstrap, side of the winner"),
        ("z of different items on the same items", f"{elsewhere}z of different items"),
    ):
        yield [name, *(three(figure(claim, f"n={n}")) for n in sizes)]


def exact_test_that_stops() -> Iterator[list[str]]:
    yield [
        "two healthy runs differ on",
        "calls if nothing changed",
        "fewer",
        "calls if it dropped",
        "fewer",
        "of which pairing",
        "false alarms",
        "power",
    ]
    claim = "the exact sequential McNemar test, theta of 2 points: {} of profile-mcnemar"
    for share in (0.02, 0.05, 0.1, 0.2):
        row = f"theta 2 points, discordance {percent(share)}, "
        (calm, bare), note = calls(f"{row}nothing changed")
        (dropped, _), _ = calls(f"{row}dropped by theta")
        (pairing,) = re.findall(r"pairing ([\d.]+)x", note)
        alarms = figure(claim.format("size"), f"discordance={share:g} drop=0")
        power = figure(claim.format("power"), f"discordance={share:g} drop=0.02")
        yield [
            percent(share),
            f"{calm:,.0f}",
            f"{bare / calm:.1f} times",
            f"{dropped:,.0f}",
            f"{bare / dropped:.1f} times",
            f"{pairing} times",
            three(alarms),
            two(power),
        ]


def sharper_differences() -> Iterator[list[str]]:
    """Calls with several answers on record, in strata, as the benchmark of stopping early found them."""
    yield ["answers on record, discordance", "calls if nothing changed", "if it dropped", "false alarms", "power", "information bound"]
    for answers in (4, 16):
        for share in (5, 10, 20):
            row = f"{answers} answers on record, discordance {share}%, {{}}"
            (same, _), calm = calls(row.format("nothing changed"))
            (dropped, _), note = calls(row.format("dropped by theta"))
            bounds = [re.findall(r"information bound ([\d,]+)", one)[0] for one in (calm, note)]
            ((alarms, power),) = re.findall(r"alarms ([\d.]+), power ([\d.]+)", note)
            yield [f"{answers}, {share}%", f"{same:,.0f}", f"{dropped:,.0f}", three(float(alarms)), two(float(power)), " / ".join(bounds)]


def f1_bare() -> Iterator[list[str]]:
    yield ["items", "Wilson through Jaccard", "BCa bootstrap", "percentile bootstrap", "delta"]
    claim = "not offered: F1 of one class without fall-backs: coverage of "
    for n in (20, 100, 500, 4096):
        yield [f"{n:,}", *(three(figure(claim + method, f"n={n}", "mean")) for method in ("wilson", "bca", "percentile", "delta"))]


def groups() -> Iterator[list[str]]:
    yield ["groups", "likeness within (ICC)", "Wilson, groups ignored", "sandwich with t", "Wilson with effective n and t"]
    for many, likeness in ((5, 0.3), (10, 0.3), (20, 0.1), (50, 0.3), (200, 0.6)):
        cells = []
        for method in ("wilson, groups ignored", "delta", "wilson"):
            both = [
                figure(f"a proportion of groups: coverage of {method}", f"groups={many} likeness={likeness:g} p={p:g}") for p in (0.5, 0.9)
            ]
            cells.append(three(sum(both) / 2))
        yield [str(many), f"{likeness:g}", *cells]


LEARNERS = {
    "corrected-repeated-kfold": (
        "10 times 10 folds, t with the corrected variance",
        "the default. Depends least on how the items happened to be split",
    ),
    "corrected-resampled": (
        "30 random splits, a tenth to test on, the same correction",
        "when folds are too dear, or the share to test on should be another",
    ),
    "5x2cv-t": (
        "five times two folds, t of the first difference",
        "to compare with the literature. One of ten differences decides: weak. No interval",
    ),
    "5x2cv-f": ("the same splits, all ten differences", "instead of the former. No direction and no interval"),
    "kfold": ("the textbook's paired t over k folds", "only to reproduce a number. With `--repeats` it gets far worse: {}"),
    "disjoint-sets": (
        "both fitted once on half of the items, paired t over 10 parts of the other half",
        "about these two *models*; here for the textbook's sake",
    ),
}


def told_apart(claim: str) -> str:
    """`4 to 12%`: the least and the most of the settings."""
    found = every(claim)
    return f"{100 * min(found):.0f} to {100 * max(found):.0f}%"


NAIVE = "equal learners, folds repeated as if they were new data: size of kfold"


def learners() -> Iterator[list[str]]:
    yield ["method", "what it does", "false alarms", "found", "when to use it"]
    for method, (does, use) in LEARNERS.items():
        claim = "two learners, split by split: {} of " + method
        yield [f"`{method}`", does, told_apart(claim.format("size")), told_apart(claim.format("power")), use.format(told_apart(NAIVE))]


ENGINES = {"DuckDB 2.0": "duckdb", "PostgreSQL 15": "postgresql", "Spark 4.3, a master and two workers": "spark"}


def engines() -> Iterator[list[str]]:
    yield ["engine", "steelyard", "the same SQL by hand", "bare join"]
    for name, engine in ENGINES.items():
        ours, by_hand = seconds(f"{engine}, 10,000,000 rows: beside the same SQL by hand")
        yield [name, ours, by_hand, seconds(f"{engine}, 10,000,000 rows: beside bare join + GROUP BY")[1]]


def profile_after_batches() -> Iterator[list[str]]:
    """How often a drop of theta passes, and a healthy run alarms, by the certificate: theta of 2 points."""
    yield ["two healthy runs differ on", "false alarms at most", "misses after batches of 1", "7", "32", "64"]
    claim = "stopping early, looked at after every so many items: {} of profile-mcnemar"
    for churn in ("0.02", "0.05", "0.1", "0.2"):
        setting = f"theta=0.02 discordance={churn} drop={{}} batch={{}}"
        alarms = max(figure(claim.format("size"), setting.format("0", batch), "most") for batch in (1, 7, 32, 64))
        misses = [1 - figure(claim.format("power"), setting.format("0.02", batch)) for batch in (1, 7, 32, 64)]
        yield [percent(float(churn)), three(alarms), *map(three, misses)]


TABLES = {
    "engines.md": {"engines": engines},
    "methods.md": {
        "tests of right or wrong": tests_of_right_or_wrong,
        "the profile likelihood after batches": profile_after_batches,
        "the exact test that stops early": exact_test_that_stops,
        "sharper differences": sharper_differences,
        "F1": f1_bare,
        "groups": groups,
    },
    "learners.md": {"learners": learners},
}


def table(rows: Iterable[list[str]]) -> str:
    """Markdown; columns of numbers to the right."""
    head, *body = rows
    right = [all(re.match(r"[\d.,]+", row[i]) for row in body) and i > 0 for i in range(len(head))]
    lines = [head, ["---:" if one else "---" for one in right], *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# ---- sentences -----------------------------------------------------------------------------------------------------------


def sentences() -> Iterator[tuple[str, str, list[str]]]:
    """(page, words with {} for each figure, the figures)."""
    yield from in_methods()
    yield from in_groups()
    yield from at_other_levels()
    yield from with_several_answers()
    yield from in_compare()
    width = "a proportion, stopped at a width: coverage of {}"
    yield "plan.md", "the credible interval covers {} instead of 0.95", [three(figure(width.format("bayes"), "p=0.95 width=0.06 batch=10"))]
    yield "plan.md", "`--interval wilson` covers {} or", [three(min(every(width.format("wilson"))))]
    naive = [f"{100 * value:.0f}" for value in (min(every(NAIVE)), max(every(NAIVE)))]
    yield "learners.md", "learners are told apart in {} to {}% of cases", naive
    forests = certificate()["two forests of random trees that differ in their seed alone: size of corrected-repeated-kfold"]
    most = max(float(row["most"]) + 2 * float(row["most_error"]) for row in forests.values())
    yield "learners.md", "apart in fewer than {}% of cases", [f"{100 * most:.1f}"]
    (spark, by_hand), (duckdb, _) = (
        [float(x.split()[0]) for x in seconds(f"{e}, 10,000,000 rows: beside the same SQL by hand")] for e in ("spark", "duckdb")
    )
    yield "engines.md", "opening the files, {} s here", [f"{spark - by_hand:.1f}"]
    yield "engines.md", "Spark is {} times slower than DuckDB", [f"{spark / duckdb:.0f}"]
    normal, alpha, power = NormalDist(), 0.05, 0.8  # the test sees so much in four of five nights; a third of that
    seen = (normal.inv_cdf(1 - alpha) + normal.inv_cdf(power)) / 3
    yield (
        "history.md",
        "a third of what one night can see is seen in {} of the nights",
        [percent(normal.cdf(seen - normal.inv_cdf(1 - alpha)))],
    )
    looked = "not offered: an ordinary test, looked at again and again: size of 16 looks"
    yield "run.md", "alarms falsely in {} of healthy runs", [percent(every(looked)[0])]
    claim = "a proportion of groups: coverage of wilson, groups ignored"
    ignored = [value for likeness in ("0.3", "0.6") for value in every(claim, only=f"likeness={likeness}")]
    yield "limits.md", "intervals that ignore it cover {} to {} of the time", [percent(min(ignored)), percent(max(ignored))]


def in_groups() -> Iterator[tuple[str, str, list[str]]]:
    """What is said of groups: skewed differences, ratios, positives in some of them, two AUCs."""
    page, skewed = "methods.md", "a paired difference of skewed scores in groups: coverage of t"
    together = every(skewed, only="together=0.3")
    yield page, "10 to 50 equal groups covers {} to {}. A warning", [two(min(together)), two(max(together))]
    yield "limits.md", "such groups covers {}, and less", [two(figure(skewed, "groups=20 items=20 together=0.3"))]
    ratio, laws = "a ratio of sums in groups: coverage of {}", ("groups=20 likeness=0.1", "groups=10 likeness=0.3")
    yield page, "a ratio covers {} with 20 groups that are a little alike", [two(figure(ratio.format("delta"), laws[0]))]
    shares = [
        two(figure(ratio.format(method), law)) for method, law in (("delta", laws[1]), ("percentile", laws[0]), ("percentile", laws[1]))
    ]
    yield page, "and {} with ten that are much alike, where the percentile bootstrap covers {} and {}.", shares
    yield page, "`studentized` covers {} or more, and with ten", [two(min(every(ratio.format("studentized"))))]
    some = [two(min(every(f"{name} with positives in some of the groups: coverage of {method}"))) for name, method in SOME]
    yield page, "recall covers {} or more, AUC {} or more", some
    bound = "{} bound of a difference of label metrics in few groups: coverage of delta"
    lower, upper = (every(bound.format(side)) for side in ("a lower", "an upper"))
    yield page, "groups, lower bounds of a difference cover {} or more where they are given", [two(min(lower))]
    yield page, "Upper bounds cover {} or more, and {} where many false", [two(sorted(upper)[1]), two(min(upper))]
    areas = "a paired difference of AUCs in groups, few positives: coverage of {}"
    drop = [two(figure(areas.format(method), "positives=15 baseline=0.97 candidate=0.9")) for method in ("delong", "delong-wilson")]
    yield page, "from 0.97 to 0.9 in {} of cases, `delong-wilson` in {}", drop


SOME = (("recall", "wilson"), ("AUC", "delong-wilson"))


def at_other_levels() -> Iterator[tuple[str, str, list[str]]]:
    """Stopping early at other levels than 0.05 and 0.2, and with a margin."""
    page, levels = "methods.md", ((0.01, 0.1), (0.1, 0.1), (0.2, 0.4))
    scores = "stopping early at alpha {:g} and beta {:g}, scores with rare falls or gains: size of empirical-likelihood"
    times = max(max(every(scores.format(*level))) / level[0] for level in levels)
    yield page, "its false alarms are at most {} times alpha in the runs that were tried", [f"{times:.1f}"]
    margin = "stopping early, not inferior by a margin, scores: {} of empirical-likelihood"
    yield page, "a loss of exactly the margin is called a regression in {} of the runs at most", [three(max(every(margin.format("size"))))]
    yield page, "and a loss of theta is found in {} or more", [two(min(every(margin.format("power"))))]


def with_several_answers() -> Iterator[tuple[str, str, list[str]]]:
    """Several answers on record, pools that end, and suites that stop early."""
    page, several = "methods.md", "stopping early, several answers on record: {} of in strata"
    yield page, "called a regression in {} of the runs at most, and a drop is found", [three(max(every(several.format("size"))))]
    yield page, "and a drop is found in {} or more, wherever it sits", [two(min(every(several.format("power"))))]
    pools = "stopping early in pools of 1,300 and 2,000 items"
    passes = every(f"{pools}, drops that pass: size of as run asks", only="pool=1300")
    yield page, "items a drop of 2 points passes in {} of the runs at most", [two(max(passes))]
    yield page, "and is found in {} or more, since items run out", [two(min(every(f"{pools}: power of as run asks", only="pool=1300")))]
    suite = "a suite of ten tasks that stops early: {} of suspicious first, half pooled"
    yield page, "alarms in {} of healthy nights at most", [three(max(every(suite.format("size"))))]
    yield page, "a drop of theta in one task in {} of them or more", [two(min(every(suite.format("power"), only="broken=1 drop=1")))]


def in_methods() -> Iterator[tuple[str, str, list[str]]]:
    page = "methods.md"
    wilson = [two(figure("a proportion: coverage of wilson", "n=20", what)) for what in ("mean", "least")]
    yield page, "covers {} on average, but as little as {} at an unlucky true value with 20 items", wilson
    ece = [two(figure(f"calibration error: coverage of {method}", "n=100 off=0.03")) for method in ("studentized", "delta")]
    yield page, "even the default covers {}, `delta` {}, the others next to nothing", ece
    midp = "right or wrong on the same items: size of mcnemar-midp"
    yield page, "Where half of the items or more disagree, mid-p reaches {}", [three(max(every(midp, only="half")))]
    looked = "not offered: an ordinary test, looked at again and again: size of {}"
    twice = [percent(every(looked.format(how))[0]) for how in ("16 looks", "after every item")]
    yield page, "16 times on the way alarms in {} of healthy runs, after every item in {} of them", twice
    early = "stopping early, right or wrong: size of {}"
    scores = "stopping early, scores: size of {}"
    yield page, "asymptotic: {} to {} found", span(every(early.format("lan-demets")) + every(scores.format("lan-demets")))
    eprocess = span(every(early.format("e-process")) + every(scores.format("e-process")))
    yield page, "scores with a known range; no plan of looks | the range | at most alpha at any moment; {} to {} found", eprocess
    yield page, "nothing | at most alpha at any moment; {} to {} found", span(every(early.format("e-mcnemar")))
    yield page, "theta and the discordance | {} to {} found", span(every(early.format("sprt")))
    misled = every("stopping early by a discordance assumed at half its value: power of sprt")[0]
    right = figure("stopping early, right or wrong: power of sprt", "items=1500 discordance=0.1 drop=0.05")
    yield page, "assumed at half its value finds {} of drops instead of {}", [percent(misled), percent(right)]
    ends = "each end of the interval after stopping early, right or wrong: coverage of {}"
    missed = [f"{100 * (1 - min(every(ends.format(rule)))):.1f}" for rule in ("profile-mcnemar", "lan-demets")]
    yield page, "missed the truth in at most {}% of the runs of a setting at nominal 5%, that of the normal law in at most {}%", missed
    means = [three(figure(f"a proportion: coverage of {method}", "n=100", "mean")) for method in ("wilson", "wald")]
    yield page, "averaged over all true values, is {}; Wald's is {}", means
    upper = [two(figure(f"an upper bound of a proportion: coverage of {method}", "n=100")) for method in ("wilson", "jeffreys")]
    yield page, "covers as little as {} at some true values, and that of Jeffreys {}", upper
    macro = "macro F1: coverage of {}"
    few = [two(figure(macro.format(method), "table=ten classes n=50")) for method in ("bca", "delta", "percentile")]
    yield page, "`bca` covers {}, `delta` {} and `percentile` {}", few
    more = [two(figure(macro.format("bca"), f"table=ten classes n={n}")) for n in (100, 500)]
    yield page, "At 100 items `bca` covers {}, at 500 items {}", more
    of_t = "a mean of bounded scores: coverage of t"
    off = [two(figure(of_t, setting)) for setting in ("scores=90% zeros n=100", "scores=95% ones n=500", "scores=90% zeros n=500")]
    yield page, "with about 10 of them `t` covers {}, with 25 about {}, with 50 about {}", off
    wide = [figure(f"a mean of bounded scores: coverage of {method}", "scores=95% ones n=100", "width") for method in ("wilson-mean", "t")]
    yield page, "95% of them perfect, {} times the width of `t`", [f"{wide[0] / wide[1]:.1f}"]
    around = "a mean of bounded scores, around 25 items"
    few = two(figure(f"{around}: coverage of t", "scores=around 0.9, 5% zeros n=40"))
    yield page, "items around 0.9 of which 5% are zeros, `t` covers {}", [few]
    bounds = [f"{around}{side}: coverage of bounded-mean" for side in ("", ", the lower bound", ", the upper bound")]
    least = [min(every(claim)) for claim in bounds]
    yield page, "it covers {} or more, one-sided {} or more", [three(least[0]), three(min(least[1:]))]
    yield page, "a lower bound covers {} where 10% of 100 items", [three(figure(bounds[1], "scores=90% at 0.5, 10% zeros n=100"))]
    ratios = [
        figure(bounds[0], setting, "width") / figure(f"{around}: coverage of t", setting, "width")
        for setting in ("scores=Beta(12,15) n=100", "scores=Beta(12,15) n=400")
    ]
    yield page, "around 0.45 it is {} times as wide as `t`, with 400 it is {} times", [f"{ratio:.1f}" for ratio in ratios]
    ten = figure("a proportion of groups: coverage of wilson", "groups=10 likeness=0.3 p=0.9")
    yield page, "at 0.9 with 10 groups the default covers {}", [two(ten)]
    prior = "not offered: F1 of one class without fall-backs: coverage of posterior, one pseudo-count a cell"
    yield page, "over the twelve settings above is {} at 100 items", [two(figure(prior, "n=100", "mean"))]


def in_compare() -> Iterator[tuple[str, str, list[str]]]:
    page = "compare.md"
    small = "answers with P(candidate better) or P(worse) of 0.9 or more, small differences: coverage of the default prior"
    yield page, "only {} of the answers with a probability of 0.9", [two(figure(small, "sure=0.9 sd=0.005 n=200"))]
    same = "right or wrong on the same items: size of {}"
    apart = "not offered: tests of right or wrong on the same items: size of {}"
    sizes = ("n=20", "n=50", "n=100", "n=200", "n=500", "n=1000")

    def over(test: str) -> list[str]:
        return span([figure(same.format(test), n) for n in sizes])

    most = 100 * max(every(apart.format("z of different items")))
    yield page, "it tells equal systems apart in {}% of cases at most", [f"{most:.1f}"]
    half = three(max(every(same.format("mcnemar-midp"), only="half")))
    yield page, "the default. False alarms {} to {}; up to {} where half of the items or more disagree", [*over("mcnemar-midp"), half]
    exact = [three(figure(same.format("mcnemar-exact"), n)) for n in ("n=20", "n=1000")]
    yield page, "False alarms {} with 20 items, {} with 1,000: it finds less", exact
    yield page, "to reproduce a published number. False alarms {} to {} |", over("mcnemar")
    macro = [figure("macro F1 on the same items: size of randomization", f"n={n}") for n in (50, 100, 500)]
    yield page, "False alarms {} to {} for macro F1 with 50 items or more", span(macro)
    skewed = [percent(figure("skewed differences of scores on the same items: size of wilcoxon", f"n={n}")) for n in (10, 20)]
    yield page, "it rejects {} of the time with 10 items, and {} with 20", skewed
    winner = [three(figure(apart.format("bootstrap, side of the winner"), n)) for n in ("n=20", "n=1000")]
    yield page, "doubles the false alarms: {} with 20 items, {} with 1,000", winner
    yield (
        page,
        "randomization calls {} of equal systems different with 20 items",
        [percent(figure(apart.format("randomization, ties lost"), "n=20"))],
    )
    paired = "a paired difference: coverage of {}"
    for method, words in (
        ("tango", "the default. 20 items: {} on average; {} at worst with up to 50 items"),
        ("newcombe", "20 items: {} on average; {} at worst. The default for different items"),
        ("bonett-price", "a closed form to check by hand. 20 items: {} on average; {} at worst"),
    ):
        yield page, words, [three(figure(paired.format(method), "n=20", "mean")), three(min(every(paired.format(method))))]
    bare = "not offered: a paired difference without fall-backs: coverage of {}"
    for method, words in (
        (
            "wald",
            "The bare formula covers {} with 20 items, worst {}; as given here, where no spread is announced and replaced, {} at worst",
        ),
        ("percentile", "bare, for right or wrong with 20 items, it covers {}, worst {}; as given here {} at worst"),
    ):
        alone = [two(figure(bare.format(method), "n=20", what)) for what in ("mean", "least")]
        yield page, words, [*alone, two(min(every(paired.format(method))))]
    of_macro = "a paired difference of macro F1: coverage of {}"
    yield page, "with 50 items and macro F1 it covers {}", [two(figure(of_macro.format("bca"), "table=three classes n=50"))]
    yield page, "Macro F1 with 50 items: {}", [three(figure(of_macro.format("delta"), "table=three classes n=50"))]
    unpaired = "an unpaired difference: coverage of {}"

    def mean(method: str) -> str:
        return three(sum(every(unpaired.format(method), "mean")) / len(every(unpaired.format(method))))

    def worst(method: str) -> str:
        return three(min(every(unpaired.format(method))))

    yield (
        page,
        "10 to 50 items: {} on average, {} at worst, where `newcombe` has {} with shares near opposite ends",
        [mean("miettinen-nurminen"), worst("miettinen-nurminen"), worst("newcombe")],
    )
    yield (
        page,
        "one line of arithmetic: {} on average, {} at worst; `wald` {} at worst",
        [mean("agresti-caffo"), worst("agresti-caffo"), worst("wald")],
    )
    gains = figure(
        "a guard of scores without a range, a loss of the margin with rare gains: size of paired guard", "law=one in ten gains n=20"
    )
    yield "guard.md", "but for one in ten that gained a lot, {} are called worse", [percent(gains)]
    any_false = figure("a suite of guards, any false call: size of none", "guards=20 broken=0 shared=0")
    yield page, "at least one false claim comes in {} of cases", [percent(any_false)]


def pattern(words: str) -> re.Pattern[str]:
    """The words with any figure in the places of figures, wherever the lines break."""
    parts = [r"\s+".join(map(re.escape, part.split(" "))) for part in words.split("{}")]
    return re.compile(r"(\d[\d,]*(?:\.\d+)?%?)".join(parts))


# ---- pages ---------------------------------------------------------------------------------------------------------------


def written(page: str, text: str) -> str:
    """The page with the figures that it should have. Words or marks that are not there, or twice, are a fault of ours."""
    for name, rows in TABLES.get(page, {}).items():
        mark = f"<!-- certified: {name} -->"
        before, found, rest = text.partition(mark)
        if not found or END not in rest or mark in rest:
            raise LookupError(f"{page}: no table, or two, between {mark!r} and {END!r}")
        text = f"{before}{mark}\n\n{table(rows())}\n\n{END}{rest.partition(END)[2]}"
    for where, words, figures in sentences():
        if where == page:
            found_at = list(pattern(words).finditer(text))
            if len(found_at) != 1:
                raise LookupError(f"{page}: found {len(found_at)} times: {words}")
            text = _put(text, found_at[0], figures)
    return text


def _put(text: str, at: re.Match[str], figures: Sequence[str]) -> str:
    for i in reversed(range(len(figures))):
        text = text[: at.start(i + 1)] + figures[i] + text[at.end(i + 1) :]
    return text


def pages() -> list[str]:
    return sorted({*TABLES, *(page for page, _, _ in sentences())})


def main() -> int:
    """0 if every page has its figures, or has them now."""
    late = []
    for page in pages():
        text = (DOCS / page).read_text(encoding="utf-8")
        if written(page, text) != text:
            late.append(page)
            if "--write" in sys.argv[1:]:
                (DOCS / page).write_text(written(page, text), encoding="utf-8")
    print("\n".join(late) or "in step")
    return int(bool(late) and "--write" not in sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
