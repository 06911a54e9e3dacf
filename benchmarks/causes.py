"""Why a goal is missed, where we know: one sentence a goal, printed only when a run misses it. Figures are of the machine in README.md."""

from __future__ import annotations

CAUSES = {
    "stopping.look": "140 us in quiet moments; work of others on the same cores takes half as much again",
    "stopping.suite-same": "each of ten tasks has a twentieth of alpha for itself, so that its pass needs ln(0.9975 / beta) nats, not "
    "ln(0.95 / beta): 3% more calls; with fewer a drop would pass in 0.203 of the runs instead of 0.2",
    "measure.macro-numpy-1e4": "four fifths of the time is NumPy's Generator.multinomial, 70 ns per cell and draw; another bit generator "
    "does not change it, only compiled code would",
    "measure.macro-numpy-1e6": "the gather by hand takes 8 s here and took 18 s on the machine where the goal was set; ours costs the same",
    "measure.bca": "SciPy's jackknife fills an array of N x N: 3 to 7 s in the first call of a process, 1.2 to 2.3 s later, 11 s on the "
    "machine where the goal was set",
    "measure.counting-sklearn": "int8 labels lie at the goal itself and fall to either side from run to run",
    "measure.posterior-time": "two quantiles, each checked by a round trip, take 6 us, their posterior another 7; the rest finds the "
    "metric, the class and the counts of the public call",
    "split.time": "giving each of 25 million words its number, one by one, is about two fifths of a profile; "
    "the machine was busy with other work",
    "guard.record": "a SHA-256 for every id, which names the items whatever their file, and packing ids and answers: half of the time, "
    "and nothing that compare has to do",
    "guard.check": "texts as ids become texts of Python, twice: those of the run and those on record; compare joins them inside DuckDB",
    "guard.suite-time": "a check of so few items reads three files (reference, outcomes, run), pairs, and writes down some 160 changed "
    "items, in a flat profile; no DuckDB is loaded",
    "guard.suite-values-time": "NumPy and SciPy, loaded for the p-value of the whole suite, are about a quarter of a profile",
    "files.group-by": "ids must be unique: reading them takes DuckDB two to three times as long as the whole GROUP BY, which does not read "
    "them, and comparing each with the one before it a third more; without an id column the ratio is 1",
    "startup.value": "click is a third of it, Python's own modules a sixth, our declarations of options, entries and pages the rest, in a "
    "flat profile; neither NumPy nor PyYAML is loaded",
    "startup.measure": "NumPy is a third of it; the rest is a flat profile of our modules, byte code read and classes made",
    "startup.compare": "as startup.measure; neither SciPy nor DuckDB is loaded",
    "startup.check": "as startup.measure, and the reference",
    "files.shuffled": "ids in no order are read, hashed, handed out and sorted, the first of which alone takes longer than the "
    "GROUP BY; a bit for each number of a dense range instead of a hash costs as much",
    "files.growing": "as files.group-by; our start-up, with NumPy and 10,000 draws, takes about as long as the ids",
    "files.csv": "one parse, as in the GROUP BY, which also compares the ids, after a look at the bytes that proves the shape of the file",
    "files.jsonl": "one parse, as in the GROUP BY, and a look at the bytes that proves every line to be what the strict reader would take; "
    "our start-up is about half of it",
    "labels.few-rows": "macro-F1 of 500 labels: bootstraps for the own intervals of both systems, 10,000 draws each over some 900 cells, "
    "and a posterior that also fills the empty cells, about half each; of 2,000 labels it is known beforehand that there is no interval",
    "compare.groups": "the call numbers the groups of both sides, agrees on them, and sums for each system's own interval too: passes "
    "over a million rows that cost ten times the bootstrap of a thousand sums; the functions inside are the row after it",
    "compare.call-core": "reading, pairing, the own values, the interval of the difference and the items to be told cost some 3 ms, about "
    "as much as the test of 1,000 draws; nothing else is drawn before it is read",
    "compare.redraw-sklearn-1e6": "multinomial draws over some 370 joint cells are most of the time; the goal came from compiled code",
    "compare.sign-flip-time": "the test takes 0.1 s; the rest are sorts of three columns of real numbers (both systems and their "
    "difference) for intervals that do not depend on the order of the rows",
    "compare.sign-flip-growth": "sorting",
    "compare.texts": "texts of four bytes a letter are three to eight times as many bytes as the numbers beside them; each is hashed, "
    "looked up, and compared with the text that its hash stands for",
    "compare.redraw-sklearn-1e4": "multinomial draws over some 270 joint cells are 90% of the time; the goal came from compiled code",
    "compare.redraw-sklearn-1e5": "the same: the loop takes 31 s on a quiet machine and 44 s on a busy one, ours 40 ms on both",
    "compare.sign-flip": "nothing is drawn any more: the transform of the sum is inverted and the inversion proven sound, at a cost "
    "that hardly depends on N, so that a thousand draws of few items are hardly slower",
    "compare.exact-scipy": "SciPy's time doubles or halves with the state of the memory allocator; ours is a whole `sy.compare` of some ms",
    "compare.board-statsmodels": "ours also matches, corrects, and writes down an interval, tiers and a sentence for every pair",
    "plan.search": "the exact size of Tango's interval is enumerated near 100,000 items; searches by McNemar's test stay below the goal",
    "huge.join-csv-memory": "DuckDB's join fills the memory it may use: with --memory 800MB, the default, the goal is met on a "
    "quiet machine",
    "huge.join-jsonl-cpu": "lines of other values than texts are parsed twice: to prove that the strict reader would agree, and to join",
    "endpoint.throughput": "on the clock: on a busy machine the client and the server wait for a core",
    "endpoint.throughput-512": "on the clock: on two cores the client and the server have one each, and other work takes from both",
    "serve.first-paint": "server time on the clock: the overview groups over the whole table, and a busy machine doubles it",
    "peers.errorbars": "`sy.compare` matches ids, checks, warns and computes what the report needs; errorbars takes two arrays as they "
    "come; the functions inside `sy.compare` are faster than errorbars' (the row without a target)",
    "peers.scipy-bootstrap": "real scores have as many cells as items, so counting first buys nothing: both pick units by index",
    "peers.statgate": "for a few hundred real scores both pick units by index, and ours also matches ids and checks",
    "peers.importance": "ours solves for both ends to 1e-12; the sampler's draws are worth a thousand, an error in the second digit",
    "measure.accuracy-scipy": "ours is a whole `sy.measure` (roles, checks, warnings, signature) of 0.3 to 0.7 ms with a flat profile; "
    "SciPy's time jumps between 80 and 200 ms with the state of the memory allocator",
    "compare.board-time": "two thirds of the time writes down 19,900 comparisons, each with its interval, test, table and sentence, some "
    "70 us a pair; matching, counting, Tango's intervals and the tests of all pairs together take half a second",
    "labels.stand-in-time": "the prior of the empty cells is broken into 13 sticks for each label and draw, nearly nine tenths of the "
    "posterior's time; fewer draws than 1,000 would leave the ends of the interval too uncertain",
    "labels.time": "macro-F1 of 10,000 labels in 10,000 items: the test by random exchanges, 10,000 draws over thousands of kinds of "
    "items; no interval is drawn that could not be given",
    "labels.rows": "the calls of functions grow 11 to 14 times for 10 times the items, because 100,000 different integers are sorted "
    "and encoded where 10,000 are taken as they are; the garbage collector adds to it: without it, N^1.14 in measure and N^1.25 in compare",
}
