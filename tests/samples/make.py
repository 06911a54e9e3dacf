"""Makes samples of all that a version of steelyard writes: references, runs, a journal, a history, JSON answers, cards.

    python tests/samples/make.py .venv/bin/steelyard tests/samples/0.1.0

The inputs are the same every time; times, ids of runs and process numbers are not. Samples of a version are made once, with
its own command, and never again: `tests/test_samples.py` shows that every later version reads them as they are.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

HISTORY = "sqlite:///history/runs.db"
EDITIONS = ("", "_same", "_worse")  # the reference, a run as good, a run that is worse
ITEMS = 80
MODELS = '''"""Models and learners of the samples. A run pins this file by its content: leave it as it is."""

import os
import signal
from pathlib import Path


def right(text):
    a, b = text.removesuffix(" =").split(" + ")
    return str(int(a) + int(b))


def some_wrong(text):
    return "0" if int(text.split()[0]) % 9 == 4 else right(text)


def few_wrong(text):
    return "0" if int(text.split()[0]) in (17, 105) else right(text)


def many_wrong(text):
    return "0" if int(text.split()[0]) % 3 == 1 else right(text)


def killed(text):
    """Notes what it was asked; with STOP_AFTER its process is killed, as by kill -9, when it has been asked that often."""
    with Path("asked.txt").open("a") as file:
        file.write(text + "\\n")
    if len(Path("asked.txt").read_text().splitlines()) > int(os.environ.get("STOP_AFTER", "1000000")):
        os.kill(os.getpid(), signal.SIGKILL)
    return some_wrong(text)


def speech(text):
    words = text.split()
    return " ".join(words[:-1] if len(words) % 3 == 0 else words)


class Nearest:
    """The label of the nearest training item."""

    def fit(self, X, y):
        self.X, self.y = list(X), list(y)
        return self

    def predict(self, X):
        return [min(zip(self.X, self.y), key=lambda known: sum((a - b) ** 2 for a, b in zip(row, known[0])))[1] for row in X]


class Most:
    """The most frequent label."""

    def fit(self, X, y):
        self.y = max(sorted(set(y)), key=list(y).count)
        return self

    def predict(self, X):
        return [self.y for row in X]
'''
PYTEST = """def test_pass(accuracy):
    accuracy.check("data/bits_same.csv", task="bits", model="m")


def test_regression(accuracy):
    accuracy.check("data/bits_worse.csv", task="bits", model="m")


def test_new(accuracy):
    accuracy.check("data/bits_same.csv", task="bits", model="new")
"""
TRTLLM = """meta-llama/Llama-3.1-8B-Instruct:
  - accuracy: 68.17
  - quant_algo: FP8
    accuracy: 67.93
  - quant_algo: FP8
    kv_cache_quant_algo: FP8
    accuracy: 67.87
"""
SUITE = """[suite]
name = "nightly"

[[checks]]
task = "bits"
model = "m"
result = "data/bits_worse.csv"
waiver = {reason = "the extractor is being mended", until = 2099-12-31}

[[checks]]
task = "floats"
model = "m"
result = "data/floats_same.csv"

[[checks]]
task = "mmlu"
model = "meta-llama/Llama-3.1-8B-Instruct"
spec = {quant_algo = "FP8"}
value = 66.05
"""
CONFIG = """[tasks.mmlu]
scale = "percent"
sigma = 50
num_samples = 4096
"""
SUMS = """[task]
name = "sums"
data = "data/sums.csv"
input = "{a} + {b} ="
truth = "answer"
scorer = "number"

[protocol]
decoding = "greedy"
"""
SPEECH = """[task]
name = "speech"
data = "data/speech.csv"
input = "{said}"
truth = "said"
scorer = "wer"
"""


def share(*words: object) -> float:
    """A number between 0 and 1 by a checksum: the same on every machine."""
    return zlib.crc32(" ".join(map(str, words)).encode()) / 2**32


def write_table(path: Path, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in [heads, *rows]), encoding="utf-8")


def right(i: int, edition: str, kind: str, repeat: int = 0) -> int:
    """Whether item i is right: 80%, a few others in a run as good, and 20 points fewer in one that is worse."""
    base = share(kind, i) < 0.8
    changed = share(kind, edition, i, repeat) < (0.02 if edition != "_worse" else 0.25)
    return int(base != (changed and (edition != "_worse" or base))) if edition or repeat else int(base)


def write_inputs(here: Path) -> None:
    data = here / "data"
    data.mkdir()
    labels = ("cat", "dog", "eel")
    for edition in EDITIONS:
        ids = range(ITEMS)
        write_table(data / f"bits{edition}.csv", ("id", "score"), [(f"q{i:03}", right(i, edition, "bits")) for i in ids])
        write_table(
            data / f"floats{edition}.csv",
            ("id", "score"),
            [(f"q{i:03}", round(0.8 * share("f", i) + 0.2 * share("extra", i, edition) * (edition != "_worse"), 4)) for i in ids],
        )
        rows = []
        for i in ids:
            truth = labels[int(3 * share("truth", i))]
            wrong = labels[(labels.index(truth) + 1 + int(2 * share("wrong", i))) % 3]
            rows.append((f"q{i:03}", truth, truth if right(i, edition, "labels") else wrong, "even" if i % 2 == 0 else "odd"))
        write_table(data / f"labels{edition}.csv", ("id", "truth", "prediction", "subject"), rows)
        rows = []
        for i in ids:
            yes = share("yes", i) < 0.4
            noise = share("p", i) if edition != "_worse" else share("p", i, edition)
            told = 0.6 * yes + 0.4 * noise if edition != "_worse" else 0.1 * yes + 0.9 * noise
            rows.append((f"q{i:03}", "yes" if yes else "no", round(told, 4)))
        write_table(data / f"probabilities{edition}.csv", ("id", "truth", "probability"), rows)
        rows = [(f"q{i:03}", r, right(i, edition, "repeats", r)) for i in ids for r in range(3)]
        write_table(data / f"repeats{edition}.csv", ("id", "repeat", "score"), rows)
        rows = [(f"q{i:03}", f"g{i // 4:02}", right(i // 2, edition, "groups")) for i in ids]
        write_table(data / f"groups{edition}.csv", ("id", "group", "score"), rows)
        rows = [
            (f"q{i:03}", int(6 * share("e", i, edition)) + (3 if edition == "_worse" else 0), 20 + int(10 * share("w", i))) for i in ids
        ]
        write_table(data / f"ratio{edition}.csv", ("id", "errors", "words"), rows)
    for night in range(1, 9):
        drop = 0.05 * max(0, night - 4)
        rows = [(f"q{i:03}", int(right(i, "", "bits") and share("night", night, i) > 0.02 + drop)) for i in range(ITEMS)]
        write_table(data / f"night{night}.csv", ("id", "score"), rows)
    write_table(data / "sums.csv", ("id", "a", "b", "answer"), [(f"s{i:03}", i, 7 * i % 50, i + 7 * i % 50) for i in range(200)])
    words = ["the", "scale", "weighs", "a", "load", "against", "a", "known", "weight", "and", "says", "how", "sure", "it", "is"]
    said = [" ".join(words[int(len(words) * share("w", i, k))] for k in range(4 + i % 5)) for i in range(40)]
    write_table(data / "speech.csv", ("id", "said"), [(f"s{i:03}", text) for i, text in enumerate(said)])
    rows = [
        (n, seed, round(0.95 - 1.2 * n**-0.6 + 0.01 * share("curve", n, seed), 4)) for n in (50, 100, 200, 400, 800) for seed in range(5)
    ]
    write_table(data / "curve.csv", ("size", "seed", "accuracy"), rows)
    rows = [(round(share("x", i) + 0.5 * (i % 2), 4), round(share("y", i), 4), "ab"[i % 2]) for i in range(60)]
    write_table(data / "points.csv", ("x", "y", "kind"), rows)
    rows = [
        (f"t{t}", f"q{i}", m, right(i, e, f"bench{t}")) for t in range(4) for i in range(40) for m, e in zip("abc", EDITIONS, strict=True)
    ]
    write_table(data / "bench.csv", ("task", "id", "model", "score"), [(t, f"{t}{i}", m, s) for t, i, m, s in rows])
    (here / "models.py").write_text(MODELS, encoding="utf-8")
    (here / "steelyard.toml").write_text(CONFIG, encoding="utf-8")
    (here / "suite.toml").write_text(SUITE, encoding="utf-8")
    (here / "sums.toml").write_text(SUMS, encoding="utf-8")
    (here / "speech.toml").write_text(SPEECH, encoding="utf-8")
    (here / "nightly.py").write_text(PYTEST, encoding="utf-8")
    for name in ("trtllm", "runs", "answers", "cards", "history"):
        (here / name).mkdir()
    (here / "trtllm" / "mmlu.yaml").write_text(TRTLLM, encoding="utf-8")


class Maker:
    """Runs commands in the directory of the samples, and keeps what was asked and how it ended, answer by answer."""

    def __init__(self, command: Path, here: Path) -> None:
        self.command, self.here = command, here
        self.asked: dict[str, dict[str, object]] = {}
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "LD_LIBRARY_PATH", "PYTHONPATH")}
        git = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "Ada", "GIT_CONFIG_NOSYSTEM": "1"}
        self.env = {
            **kept,
            **git,
            "HOME": str(here.parent),
            "USER": "ada",
            "PYTHONDONTWRITEBYTECODE": "1",
            "NO_COLOR": "1",
            "COLUMNS": "100",
        }

    def do(self, *words: str, codes: Iterable[int] = (0,), cwd: str = ".", **more: str) -> int:
        env = {**self.env, **more}
        done = subprocess.run(
            [str(self.command), *words], cwd=self.here / cwd, env=env, capture_output=True, text=True, timeout=600, check=False
        )
        if done.returncode not in codes:
            raise SystemExit(f"{' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.returncode

    def answer(self, name: str, *words: str, codes: Iterable[int] = (0, 1, 2), to: str = "-o") -> None:
        """An answer in JSON, under answers/."""
        code = self.do(*words, "--format", "json", to, f"answers/{name}.json", codes=codes)
        self.asked[name] = {"words": list(words), "code": code}


def references(m: Maker) -> None:
    """References of every kind of outcome, and checks of each with every verdict."""
    kinds: list[tuple[str, str, list[str]]] = [
        ("bits", "bits", []),
        ("floats", "floats", ["--deterministic"]),
        ("labels", "labels", ["--metric", "macro_f1"]),
        ("probabilities", "probabilities", ["--metric", "auc", "--positive", "yes"]),
        ("brier", "probabilities", ["--metric", "brier", "--positive", "yes"]),
        ("repeats", "repeats", []),
        ("groups", "groups", []),
        ("hashed", "bits", ["--ids", "hashed"]),
        ("no_items", "bits", ["--no-items", "--sigma", "0.4"]),
        ("percent", "bits", ["--scale", "percent", "--theta", "2", "--margin", "1", "--alpha", "0.01", "--beta", "0.1"]),
        ("scores_raw", "floats", ["--scale", "raw", "--reason", "first one", "--protocol", "prompt=plain", "--spec", "quant_algo=FP8"]),
    ]
    for task, data, more in kinds:
        kept = ["--history", HISTORY] if task in ("bits", "hashed") else []
        m.answer(f"recorded_{task}", "record", f"data/{data}.csv", "--task", task, "--model", "m", *more, *kept)
        own = [word for word in more if word in ("--spec", "quant_algo=FP8")]
        own += ["--protocol", "prompt=plain"] if "--protocol" in more else []
        for edition in EDITIONS[1:]:
            words = ["check", f"data/{data}{edition}.csv", "--task", task, "--model", "m", *own, *kept]
            m.answer(f"verdict_{task}{edition}", *words)
        words = ["check", f"data/{data}_same.csv", "--task", task, "--model", "m", *own, *kept]
        m.answer(f"verdict_{task}_theta", *words, "--theta", "1.1" if task == "percent" else "0.001")
    nights = [f"data/night{night}.csv" for night in range(1, 5)]
    m.answer("recorded_pooled", "record", "data/bits.csv", *nights, "--task", "nights", "--model", "m", "--history", HISTORY)
    for night in range(1, 9):
        m.do("check", f"data/night{night}.csv", "--task", "nights", "--model", "m", "--history", HISTORY, codes=(0, 1, 2))
    m.answer("import", "references", "import", "--dialect", "trtllm", "trtllm")
    llama = ["--task", "mmlu", "--model", "meta-llama/Llama-3.1-8B-Instruct"]
    m.answer("verdict_value", "check", "--value", "66.05", *llama)
    m.answer("verdict_value_fp8", "check", "--value", "60.1", *llama, "--spec", "quant_algo=FP8")
    m.answer("suite", "check", "--suite", "suite.toml")
    m.do("record", "data/bits.csv", "--task", "changed", "--model", "old", "--reason", "the first one")
    m.answer("updated", "record", "data/bits_same.csv", "--task", "changed", "--model", "old", "--update", "--reason", "another tokenizer")
    m.do("record", "data/bits.csv", "--task", "changed", "--model", "gone")
    m.answer("rename", "references", "rename", "changed", "old", "new", "--reason", "its name on the hub")
    m.answer("approve", "references", "approve", "changed", "new", "--reason", "looked at")
    m.answer("remove", "references", "remove", "changed", "gone", "--reason", "no longer served")


def runs(m: Maker) -> None:
    """Complete runs with notes, recorded ones, one that stopped early for each verdict, and one that was killed."""
    asked = ("run", "sums.toml", "--model")
    m.answer(
        "run_measurement", *asked, "python:models:right", "--name", "m", "-o", "runs/complete.jsonl", "--history", HISTORY, to="--answer"
    )
    m.answer("recorded_run", "record", "runs/complete.jsonl", "--task", "sums", "--model", "m", "--history", HISTORY)
    stop = ("--until", "decided", "--history", HISTORY, "--theta")
    for name, theta in (("right", "0.1"), ("few_wrong", "0.01"), ("many_wrong", "0.1")):
        m.answer(f"run_{name}", *asked, f"python:models:{name}", "--name", "m", *stop, theta, "-o", f"runs/{name}.jsonl", to="--answer")
        m.answer(f"verdict_run_{name}", "check", f"runs/{name}.jsonl", "--task", "sums", "--model", "m")
    both = ("--model", "python:models:many_wrong", "--name", "old", "--name", "new")
    m.answer("run_two", *asked, "python:models:right", *both, *stop, "0.1", "--stopping", "lan-demets", to="--answer")
    m.answer("run_compared", *asked, "python:models:right", *both, "--history", HISTORY, to="--answer")
    m.answer(
        "run_width", *asked, "python:models:some_wrong", "--name", "x", "--until", "width=0.2", "-o", "runs/width.jsonl", to="--answer"
    )
    m.answer("run_n", *asked, "python:models:some_wrong", "--name", "x", "--n", "50", "--repeats", "2", to="--answer")
    m.answer("run_ratio", "run", "speech.toml", "--model", "python:models:speech", "--name", "m", "-o", "runs/speech.jsonl", to="--answer")
    m.answer("recorded_speech", "record", "runs/speech.jsonl", "--task", "speech", "--model", "m")
    m.answer("verdict_speech", "check", "runs/speech.jsonl", "--task", "speech", "--model", "m")
    words = (*asked, "python:models:killed", "--name", "k", "-o", "runs/killed.jsonl")
    code = m.do(*words, codes=(-signal.SIGKILL,), STOP_AFTER="70")
    (m.here / "asked.txt").unlink()
    m.asked["killed"] = {"words": list(words), "code": code}


def answers(m: Maker) -> None:
    """Answers of every other kind."""
    for name, words in {
        "bits": ["data/bits.csv"],
        "floats": ["data/floats.csv"],
        "labels": ["data/labels.csv", "--by", "subject"],
        "probabilities": ["data/probabilities.csv", "--positive", "yes"],
        "repeats": ["data/repeats.csv", "--metric", "pass@2,pass^2,accuracy"],
        "groups": ["data/groups.csv"],
        "ratio": ["data/ratio.csv", "--ratio", "errors/words"],
        "counts": ["--counts", "85/100", "--side", "lower"],
        "bayes": ["--tp", "31", "--fp", "5", "--fn", "2", "--metric", "f1,precision", "--interval", "bayes"],
    }.items():
        m.answer(f"measurement_{name}", "measure", *words)
    for name, words in {
        "bits": ["data/bits.csv", "data/bits_worse.csv", "--flips-out", "answers/flips.csv"],
        "floats": ["data/floats.csv", "data/floats_same.csv", "--margin", "0.05"],
        "labels": ["data/labels.csv", "data/labels_worse.csv", "--metric", "macro_f1", "--by", "subject"],
        "probabilities": ["data/probabilities.csv", "data/probabilities_worse.csv", "--positive", "yes"],
        "repeats": ["data/repeats.csv", "data/repeats_worse.csv"],
        "groups": ["data/groups.csv", "data/groups_worse.csv"],
        "ratio": ["data/ratio.csv", "data/ratio_worse.csv", "--ratio", "errors/words"],
        "flips": ["--flips", "790,58,76,76", "--interval", "bayes"],
        "counts": ["--counts", "56/70", "--counts", "48/80"],
        "wins": ["--wins", "40,12,28"],
    }.items():
        m.answer(f"comparison_{name}", "compare", *words)
    m.answer("leaderboard", "compare", *(f"data/bits{edition}.csv" for edition in EDITIONS))
    m.answer("leaderboard_by", "compare", "data/bench.csv", "--by", "task", "--cd-out", "answers/cd.svg")
    m.answer("learners", "learners", "models:Most", "models:Nearest", "--data", "data/points.csv", "--target", "kind", "--repeats", "2")
    plan: dict[str, list[str]] = {
        "detect": ["detect", "--sigma", "50", "--theta", "3", "--available", "1319"],
        "detect_n": ["detect", "--n", "4096", "--sigma", "50"],
        "detect_power": ["detect", "--n", "1000", "--sigma", "50", "--theta", "3"],
        "detect_discordance": ["detect", "--discordance", ".04", "--theta", ".01"],
        "detect_pilot": ["detect", "--pilot", "data/bits.csv", "--pilot", "data/bits_same.csv", "--theta", ".03"],
        "rule_out": ["detect", "--discordance", ".04", "--theta", ".01", "--goal", "rule-out"],
        "estimate_width": ["estimate", "--metric", "accuracy", "--expected", ".9", "--width", ".1", "--assurance", ".95"],
        "estimate_threshold": ["estimate", "--metric", "accuracy", "--expected", ".95", "--threshold", ".9"],
        "estimate_f1": ["estimate", "--metric", "f1", "--precision", ".8", "--recall", ".8", "--threshold", ".75", "--prevalence", ".2"],
        "estimate_have": ["estimate", "--have", "45/50", "--width", ".1"],
        "train": ["train", "data/curve.csv", "--target", ".92"],
        "designs": ["designs", "--theta", ".02", "--expected", ".8", "--discordance", ".05", "--price", ".002"],
    }
    for name, words in plan.items():
        m.answer(f"plan_{name}", "plan", *words)
    m.answer("references", "references", "list")
    m.answer("reference", "references", "show", "bits", "m", "--explain")
    m.answer("lint", "references", "lint")
    m.answer("reference_history", "references", "history", "changed")
    m.answer("history", "history", "--history", HISTORY, "--limit", "8")
    m.answer("drift", "history", "--history", HISTORY, "--task", "nights", "--model", "m", "--drift")
    for ending in ("csv", "jsonl"):
        m.do("history", "--history", HISTORY, "--task", "bits", "--export", f"history/bits.{ending}")
    m.answer(
        "certificate", "certify", "--only", "wilson-mean", "--jobs", "1", "--state", "history/certify.state", "--csv", "history/certify.csv"
    )
    (m.here / "first").mkdir()
    m.do("init", "--format", "json", "-o", "../answers/init.json", cwd="first")
    told = m.here / "answers" / "init.json"  # names whole paths: those of this machine are taken out
    told.write_text(told.read_text(encoding="utf-8").replace(str(m.here), "/project"), encoding="utf-8")


def cards(m: Maker) -> None:
    words = ("report", "lab/bits=answers/measurement_bits.json", "lab/labels=answers/measurement_labels.json", "--model", "lab/m")
    about = ("--about", "organization=lab", "--about", "retrieved=1700000000")
    m.do(*words, "--card", "cards/README.md", "--google-card", "cards/google.json")
    m.do(*words[:2], *words[3:], "--eval-results", "cards/.eval_results/bits.yaml", "--every-eval-ever", "cards", *about)
    m.do(
        "measure",
        "data/bits.csv",
        "--format",
        "every-eval-ever",
        "-o",
        "cards/every-eval-ever.json",
        "--about",
        "model=lab/m",
        "--about",
        "evaluation=bits",
        *about,
    )


def session(m: Maker) -> None:
    """What the pytest plugin writes: its report as JSON."""
    python = m.command.parent / "python"
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "nightly.py", "--accuracy-report", "answers/session.json")
    subprocess.run([str(python), *words], cwd=m.here, env=m.env, capture_output=True, timeout=600, check=False)
    if not (m.here / "answers" / "session.json").exists():
        raise SystemExit("no report of the pytest session")


STEPS: tuple[Callable[[Maker], None], ...] = (references, runs, answers, cards, session)


def strangers(here: Path, path: str) -> list[Path]:
    """Files that name a path of this machine."""
    pattern = re.compile(rf"(?<![\w.])/(work|root|home/\w+|tmp|Users|usr)/|{re.escape(path)}".encode())
    return [file for file in here.rglob("*") if file.is_file() and pattern.search(file.read_bytes())]


def main(command: str, target: str) -> None:
    there = Path(target)
    if there.exists():
        raise SystemExit(f"{target} is there already: samples of a version are made once")
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder).resolve() / "samples"
        here.mkdir()
        write_inputs(here)
        maker = Maker(Path(os.path.abspath(command)), here)
        for step in STEPS:
            step(maker)
        (here / "asked.json").write_text(json.dumps(maker.asked, indent=1) + "\n", encoding="utf-8")
        found = strangers(here, folder)
        if found:
            raise SystemExit(f"paths of this machine in {', '.join(map(str, found))}")
        shutil.copytree(here, there, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    size = sum(file.stat().st_size for file in there.rglob("*") if file.is_file())
    print(f"{len(maker.asked)} answers, {sum(1 for _ in there.rglob('*'))} files, {size / 1000:.0f} kB")


if __name__ == "__main__":
    main(*sys.argv[1:])
