"""Small questions of every kind, asked of the command in one process: what it answered in each format, what it said, its exit code.

The inputs are those of the samples (tests/samples): made by checksums, the same everywhere. Everything is asked in one folder,
in this order: what is recorded early is checked, listed and changed later.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from questions.bisect.repositories import make
from questions.history.night_samples import dated_nights
from steelyard.cli.main import main
from steelyard.render.formats import FORMATS as FORMATS_OF_RESULTS
from steelyard.results.base import Result

SAMPLES = Path(__file__).parents[1] / "samples" / "0.1.0"
INPUTS = ("data", "trtllm", "models.py", "nightly.py", "steelyard.toml", "suite.toml", "sums.toml", "speech.toml")
HISTORY = ("--history", "sqlite:///runs.db")
ENDINGS = {"json": "json", "text": "txt", "markdown": "md", "html": "html", "junit": "xml", "svg": "svg"}
FORMATS = ("json", "text", "markdown", "html")
NARROW, WIDE = "60", "120"
# Files that are written for others to read: what is on record, what a run answered, cards. By the name that they are kept under.
FILES = {
    "reference.yaml": "desk/references/bits.yaml",
    "reference_percent.yaml": "desk/references/percent.yaml",
    "reference_imported.yaml": "desk/references/mmlu.yaml",
    "reference_history.jsonl": "desk/references/changed.history.jsonl",
    "run.jsonl": "desk/complete.jsonl",
    "runs.csv": "desk/runs.csv",
    "flips.csv": "desk/flips.csv",
    "card_readme.md": "desk/cards/README.md",
    "card_results.yaml": "desk/cards/bits.yaml",
    "started.toml": "empty/steelyard.toml",
}
KEPT = ("PATH", "LANG", "LD_LIBRARY_PATH", "PYTHONPATH", "TMPDIR", "SYSTEMROOT")
GIT = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "Ada", "GIT_CONFIG_NOSYSTEM": "1"}
GIVEN = {**GIT, "USER": "Ada", "LOGNAME": "Ada", "NO_COLOR": "1", "COLUMNS": "100"}


@dataclass(frozen=True)
class Asked:
    """A question: the words of the command, in which formats its answer is written, by which option, in which folder it is asked.

    program: steelyard, or pytest. screen: what the terminal is like, for an answer on standard output. after: words behind those.
    """

    words: tuple[str, ...]
    formats: tuple[str, ...] = FORMATS
    to: str = "-o"
    where: str = "desk"
    program: str = "steelyard"
    screen: str = "plain"
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answered:
    """What came back: the exit code, the answer by its format, what was said on standard output and standard error.

    results: the very objects that were written as JSON.
    """

    code: int
    said: str
    pages: dict[str, str] = field(default_factory=dict)
    results: tuple[Result, ...] = ()


def _asked() -> Iterator[tuple[str, Asked]]:
    yield from _measured()
    yield from _compared()
    yield from _planned()
    yield from _guarded()
    yield from _run()
    yield from _listed()
    yield from _passed_on()
    yield from _shown()
    yield from _refused()


def ask(*words: str, formats: tuple[str, ...] = FORMATS, to: str = "-o", **more: Any) -> Asked:
    return Asked(words, formats, to, **more)


def _measured() -> Iterator[tuple[str, Asked]]:
    yield "measurement_bits", ask("measure", "data/bits.csv", "--details")
    yield "measurement_floats", ask("measure", "data/floats.csv")
    yield "measurement_labels", ask("measure", "data/labels.csv", "--by", "subject", "--draws", "500")
    yield "measurement_probabilities", ask("measure", "data/probabilities.csv", "--positive", "yes")
    yield "measurement_repeats", ask("measure", "data/repeats.csv", "--metric", "pass@2,pass^2,accuracy")
    yield "measurement_groups", ask("measure", "data/groups.csv")
    yield "measurement_ratio", ask("measure", "data/ratio.csv", "--ratio", "errors/words")
    yield "measurement_side", ask("measure", "--counts", "85/100", "--side", "lower")
    yield "measurement_bayes", ask("measure", "--tp", "31", "--fp", "5", "--fn", "2", "--metric", "f1,precision", "--interval", "bayes")
    yield "measurement_warned", ask("measure", "--counts", "40/40", "--interval", "wald")


def _compared() -> Iterator[tuple[str, Asked]]:
    yield "comparison_bits", ask("compare", "data/bits.csv", "data/bits_worse.csv", "--details")
    changed = ("data/labels.csv", "data/labels_worse.csv", "--metric", "accuracy")
    yield "comparison_flips_out", ask("compare", *changed, "--flips-out", "flips.csv")
    yield "comparison_margin", ask("compare", "data/floats.csv", "data/floats_same.csv", "--margin", "0.05", "--draws", "500")
    by = ("--metric", "macro_f1", "--by", "subject", "--draws", "200")
    yield "comparison_labels", ask("compare", "data/labels.csv", "data/labels_worse.csv", *by)
    yield "comparison_probabilities", ask("compare", "data/probabilities.csv", "data/probabilities_worse.csv", "--positive", "yes")
    yield "comparison_repeats", ask("compare", "data/repeats.csv", "data/repeats_worse.csv", "--draws", "500")
    yield "comparison_groups", ask("compare", "data/groups.csv", "data/groups_worse.csv", "--draws", "500")
    yield "comparison_ratio", ask("compare", "data/ratio.csv", "data/ratio_worse.csv", "--ratio", "errors/words", "--draws", "500")
    yield "comparison_flips", ask("compare", "--flips", "790,58,76,76", "--interval", "bayes")
    yield "comparison_counts", ask("compare", "--counts", "56/70", "--counts", "48/80")
    yield "preferences", ask("compare", "--wins", "40,12,28")
    yield "leaderboard", ask("compare", "data/bits.csv", "data/bits_same.csv", "data/bits_worse.csv")
    yield "audit", ask("audit", "--n", "198", "new=87.4", "old=86.1", "odd=45.55")
    split = ("split", "data/labels.csv", "--train", ".7", "--test", ".3", "--dry-run")
    yield "split", ask(*split, "--group", "none", to="--answer")
    yield "split_stratified", ask(*split, "--stratify", "subject", to="--answer")
    yield "split_check", ask("split", "--check", "data/labels.csv", "data/labels_worse.csv", "--text", "subject,truth", to="--answer")
    yield "leaderboard_by", ask("compare", "data/bench.csv", "--by", "task")
    learners = ("models:Most", "models:Nearest", "--data", "data/points.csv", "--target", "kind", "--folds", "5", "--repeats", "2")
    yield "learners", ask("learners", *learners)


def _planned() -> Iterator[tuple[str, Asked]]:
    drawn = (*FORMATS, "svg")
    yield "plan_detect", ask("plan", "detect", "--sigma", "50", "--theta", "3", "--available", "1319", formats=drawn)
    yield "plan_detect_n", ask("plan", "detect", "--n", "4096", "--sigma", "50")
    yield "plan_detect_power", ask("plan", "detect", "--n", "900", "--sigma", "50", "--theta", "3")
    yield "plan_detect_discordance", ask("plan", "detect", "--discordance", ".04", "--theta", ".03")
    yield "plan_detect_pilot", ask("plan", "detect", "--pilot", "data/bits.csv", "--pilot", "data/bits_same.csv", "--theta", ".05")
    yield "plan_rule_out", ask("plan", "detect", "--discordance", ".04", "--theta", ".03", "--goal", "rule-out")
    yield "plan_width", ask("plan", "estimate", "--metric", "accuracy", "--expected", ".9", "--width", ".1", "--assurance", ".95")
    yield "plan_threshold", ask("plan", "estimate", "--metric", "accuracy", "--expected", ".95", "--threshold", ".9")
    f1 = ("--precision", ".8", "--recall", ".8", "--threshold", ".7", "--prevalence", ".2")
    yield "plan_f1", ask("plan", "estimate", "--metric", "f1", *f1)
    yield "plan_have", ask("plan", "estimate", "--have", "45/50", "--width", ".1")
    yield "plan_split", ask("plan", "split", "data/curve.csv", "--total", "2000", "--draws", "200", formats=drawn)
    yield "plan_train", ask("plan", "train", "data/curve.csv", "--target", ".92", "--draws", "200", formats=drawn)
    learner = ("--learner", "models:Nearest", "--data", "data/points.csv", "--truth", "kind", "--sizes", "5,10,15,25,40", "--repeats", "2")
    yield "learning_curve", ask("plan", "train", *learner, "--workers", "1", "--target", ".8", "--draws", "100")
    yield "plan_designs", ask("plan", "designs", "--theta", ".05", "--expected", ".8", "--discordance", ".05", "--price", ".002")


def _guarded() -> Iterator[tuple[str, Asked]]:
    judged = (*FORMATS, "junit")
    mine = ("--task", "bits", "--model", "m", *HISTORY)
    yield "recorded", ask("record", "data/bits.csv", *mine)
    yield "verdict_pass", ask("check", "data/bits_same.csv", *mine, formats=judged)
    yield "verdict_regression", ask("check", "data/bits_worse.csv", *mine, formats=judged)
    yield "verdict_inconclusive", ask("check", "data/bits_same.csv", *mine, "--theta", "0.001", formats=judged)
    for kind, more in {
        "floats": (),
        "labels": ("--metric", "macro_f1"),
        "probabilities": ("--metric", "auc", "--positive", "yes"),
        "repeats": (),
        "groups": (),
    }.items():
        first = f"data/{kind}_same.csv" if kind == "repeats" else f"data/{kind}.csv"  # whose runs differ by more than rounding
        yield f"recorded_{kind}", ask("record", first, "--task", kind, "--model", "m", *more)
        yield f"verdict_{kind}", ask("check", f"data/{kind}_worse.csv", "--task", kind, "--model", "m")
    percent = ("--scale", "percent", "--theta", "2", "--margin", "1", "--alpha", "0.01", "--beta", "0.1")
    yield "recorded_percent", ask("record", "data/bits.csv", "--task", "percent", "--model", "m", *percent, "--no-items", "--sigma", "40")
    yield "verdict_percent", ask("check", "data/bits_same.csv", "--task", "percent", "--model", "m")
    nights = [f"data/night{night}.csv" for night in range(1, 9)]
    many = ("--task", "nights", "--model", "m", *HISTORY)
    yield "recorded_pooled", ask("record", "data/bits.csv", *nights[:4], *many)
    for i, night in enumerate(nights):
        yield f"verdict_night{i + 1}", ask("check", night, *many, formats=("json",))
    yield "imported", ask("references", "import", "--dialect", "trtllm", "trtllm")
    llama = ("--task", "mmlu", "--model", "meta-llama/Llama-3.1-8B-Instruct")
    yield "verdict_value", ask("check", "--value", "66.05", *llama, "--spec", "quant_algo=FP8", formats=judged)
    yield "suite", ask("check", "--suite", "suite.toml", formats=judged)
    yield "suite_github", ask("check", "--suite", "suite.toml", "--format", "github", formats=())
    kept = ("--history", "sqlite:///suite_nights.db")
    yield "night", ask("check", "--suite", "nights.toml", "--night", "one", *kept, formats=judged)
    yield "night_red", ask("check", "--suite", "nights_red.toml", "--night", "two", *kept, formats=judged)
    yield "night_github", ask("check", "--suite", "nights_red.toml", "--night", "three", *kept, "--format", "github", formats=())
    yield "acknowledged", ask("history", "ack", "--fixed", "--reason", "rolled back", *kept)
    yield "recorded_old", ask("record", "data/bits.csv", "--task", "changed", "--model", "old", "--reason", "the first one")
    updated = ("--task", "changed", "--model", "old", "--update", "--reason", "another tokenizer")
    yield "recorded_anew", ask("record", "data/bits_same.csv", *updated)
    yield "renamed", ask("references", "rename", "changed", "old", "new", "--reason", "its name on the hub")
    yield "approved", ask("references", "approve", "changed", "new", "--reason", "looked at")


def _run() -> Iterator[tuple[str, Asked]]:
    def run(task: str, *words: str, formats: tuple[str, ...] = FORMATS) -> Asked:
        return ask("run", task, *words, "--concurrency", "1", formats=formats, to="--answer")  # else it is luck how many are asked in vain

    def model(name: str) -> tuple[str, str]:
        return ("--model", f"python:models:{name}")

    yield "dry_run", run("sums.toml", *model("right"), "--dry-run", formats=("json", "text", "markdown"))
    yield "evaluation", run("sums.toml", *model("right"), "--name", "m", "-o", "complete.jsonl", *HISTORY)
    yield "recorded_run", ask("record", "complete.jsonl", "--task", "sums", "--model", "m")
    decided = ("--until", "decided", "--theta", "0.1")
    judged = (*FORMATS, "junit")
    yield "evaluation_pass", run("sums.toml", *model("right"), "--name", "m", *decided, "-o", "right.jsonl", formats=judged)
    yield "evaluation_regression", run("sums.toml", *model("many_wrong"), "--name", "m", *decided)
    yield "verdict_stopped", ask("check", "right.jsonl", "--task", "sums", "--model", "m")
    two = (*model("right"), *model("many_wrong"), "--name", "old", "--name", "new")
    yield "evaluation_two", run("sums.toml", *two)
    yield "evaluation_two_decided", run("sums.toml", *two, *decided, "--stopping", "lan-demets")
    several = (*two, *model("some_wrong"), "--name", "newer")
    yield "evaluation_candidates", run("sums.toml", *several, *decided, formats=judged)
    yield "evaluation_width", run("sums.toml", *model("some_wrong"), "--name", "x", "--until", "width=0.2")
    yield "evaluation_repeats", run("sums.toml", *model("some_wrong"), "--name", "x", "--n", "20", "--repeats", "2")
    yield "evaluation_ratio", run("speech.toml", *model("speech"), "--name", "m")


def _listed() -> Iterator[tuple[str, Asked]]:
    yield "references", ask("references", "list")
    yield "reference", ask("references", "show", "bits", "m", "--explain")
    yield "lint", ask("references", "lint")
    yield "reference_history", ask("references", "history", "changed")
    yield "removed", ask("references", "remove", "changed", "new", "--reason", "no longer served")
    yield "history", ask("history", *HISTORY, "--limit", "8")
    yield "drift", ask("history", *HISTORY, "--task", "nights", "--model", "m", "--drift", "--draws", "500")
    yield "nights", ask("history", "simulate", "--history", "sqlite:///nights.db", "--false-alarms", "0.1", "--false-alarms", "12")
    ends = ("v1.2..main", "--good-run", "../good.jsonl", "--bad-run", "../bad.jsonl", "--quiet")
    yield "bisect", ask("bisect", *ends, to="-o", where="repository", after=("--", "python3", "evaluate.py"))
    yield "certificate", ask("certify", "--only", "a proportion: coverage*", "--jobs", "1")
    yield "started", ask("init", where="empty")
    yield "doctor", ask("doctor", "--format", "json", formats=())


def _passed_on() -> Iterator[tuple[str, Asked]]:
    """Pages of several answers, cards, tables, the session of pytest: what leaves for other programs."""
    answers_ = [f"../answers/{name}.json" for name in ("measurement_bits", "verdict_regression", "plan_detect")]
    yield "report", ask("report", *answers_, "--title", "All of it", formats=("html",))
    words = ("comment", "../answers/measurement_bits.json", "../answers/comparison_counts.json", "--key", "nightly", "--dry-run")
    yield "comment", ask(*words, "--platform", "github")
    yield "report_flips", ask("report", "../answers/comparison_flips_out.json", "--flips", "flips.csv", formats=("html",))
    about = ("--about", "organization=lab", "--about", "retrieved=1700000000")
    record = ("--format", "every-eval-ever", "--about", "model=lab/m", "--about", "evaluation=bits", *about)
    yield "every_eval_ever", ask("measure", "data/bits.csv", *record, formats=("json",))
    card = ("report", "lab/bits=../answers/measurement_bits.json", "--model", "lab/m")
    yield "card", ask(*card, "--card", "cards/README.md", formats=("json",), to="--google-card")
    yield "card_results", ask(*card, "--eval-results", "cards/bits.yaml", formats=())
    yield "exported", ask("history", *HISTORY, "--task", "bits", "--export", "runs.csv", formats=())
    words = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "nightly.py")
    yield "session", ask(*words, formats=("json",), to="--accuracy-report", program="pytest")


def _shown() -> Iterator[tuple[str, Asked]]:
    """The answer on standard output: in colour on a narrow terminal, and on one that knows no more than ASCII."""
    for name, words in {
        "measurement": ("measure", "data/labels.csv", "--metric", "accuracy,each_recall"),
        "comparison": ("compare", "--flips", "790,58,76,76"),
        "leaderboard": ("compare", "data/bits.csv", "data/bits_same.csv", "data/bits_worse.csv"),
        "plan": ("plan", "detect", "--sigma", "50", "--theta", "3"),
        "verdict": ("check", "data/bits_worse.csv", "--task", "bits", "--model", "m"),
        "verdict_value": ("check", "--value", "66.05", "--task", "mmlu", "--model", "meta-llama/Llama-3.1-8B-Instruct"),
        "references": ("references", "list"),
        "drift": ("history", *HISTORY, "--task", "nights", "--model", "m", "--drift", "--draws", "500"),
    }.items():
        for screen in ("colour", "ascii"):
            yield f"{screen}_{name}", ask(*words, formats=(), screen=screen)


def _refused() -> Iterator[tuple[str, Asked]]:
    yield "refused_source", ask("measure", "nothing.csv", formats=())
    yield "refused_counts", ask("measure", "--counts", "9/4", formats=())
    yield "refused_option", ask("compare", "--no-such-option", formats=())
    yield "refused_reference", ask("check", "data/bits.csv", "--task", "nothing", "--model", "m", formats=())
    yield "refused_spec", ask("check", "data/bits.csv", "--task", "bits", "--model", "m", "--spec", "quant_algo=FP8", formats=())
    yield "refused_update", ask("record", "data/bits_same.csv", "--task", "bits", "--model", "m", formats=())


ASKED = dict(_asked())


def answers(folder: Path) -> dict[str, Answered]:
    """Every question, asked in a folder that is empty yet; the files that were written for others stay there (FILES)."""
    with _standing_in(folder):
        return {name: _answer(name, asked) for name, asked in ASKED.items()}


def files(folder: Path) -> dict[str, str]:
    """What was written for others to read, after the questions were asked."""
    return {name: (folder / place).read_text(encoding="utf-8") for name, place in FILES.items()}


def _answer(name: str, asked: Asked) -> Answered:
    places = {format_: Path("..") / "answers" / f"{name}.{ENDINGS[format_]}" for format_ in asked.formats}
    words = [*asked.words, *(word for place in places.values() for word in (asked.to, place.as_posix())), *asked.after]
    with contextlib.chdir(f"../{asked.where}"), _kept_results() as results:
        code, said = _pytest(words) if asked.program == "pytest" else _command(words, SCREENS[asked.screen]())
    written = {format_: place.read_text(encoding="utf-8") for format_, place in places.items() if place.exists()}
    return Answered(code, said, written, tuple(results))


@contextlib.contextmanager
def _kept_results() -> Iterator[list[Result]]:
    """What is written as JSON meanwhile."""
    kept: list[Result] = []
    plain = FORMATS_OF_RESULTS["json"]

    def keep(result: Result) -> str:
        kept.append(result)
        return plain.write(result)

    FORMATS_OF_RESULTS["json"] = replace(plain, write=keep)
    try:
        yield kept
    finally:
        FORMATS_OF_RESULTS["json"] = plain


def _command(words: list[str], screen: Screen) -> tuple[int, str]:
    before = dict(os.environ)
    os.environ.update({"COLUMNS": screen.columns})
    if screen.isatty():
        del os.environ["NO_COLOR"]
    try:
        with contextlib.redirect_stdout(screen), contextlib.redirect_stderr(screen):
            main(words)
    except SystemExit as stop:
        return int(stop.code or 0), screen.getvalue()
    finally:
        os.environ.clear()
        os.environ.update(before)


def _pytest(words: list[str]) -> tuple[int, str]:
    """A session in a process of its own."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-m", "pytest", *words], env=env, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


class Screen(io.StringIO):
    """Standard output and standard error together, as a terminal shows them, but not a terminal."""

    encoding = "utf-8"
    columns = "100"


class Colour(Screen):
    """A narrow terminal with colours."""

    columns = NARROW

    def isatty(self) -> bool:
        return True


class Ascii(Screen):
    """A wide one that draws nothing."""

    encoding = "ascii"
    columns = WIDE


SCREENS = {"plain": Screen, "colour": Colour, "ascii": Ascii}


@contextlib.contextmanager
def _standing_in(folder: Path) -> Iterator[None]:
    """The inputs in a folder that is the working directory, an environment that says nothing, and nothing left of either."""
    for name in ("desk", "empty", "answers", "desk/cards"):
        (folder / name).mkdir()
    for beside in Path(__file__).parent.glob("nights*.toml"):
        shutil.copy(beside, folder / "desk" / beside.name)
    for name in INPUTS:
        place, there = SAMPLES / name, folder / "desk" / name
        shutil.copytree(place, there) if place.is_dir() else shutil.copy(place, there)
    make(folder, commits=16, first_bad=9, flaky=0.0, unbuilt=(8,))
    dated_nights(f"sqlite:///{folder / 'desk' / 'nights.db'}")
    before, path, loaded = dict(os.environ), list(sys.path), set(sys.modules)
    kept = {name: value for name, value in before.items() if name in KEPT}
    os.environ.clear()
    os.environ.update({**kept, **GIVEN, "HOME": str(folder)})
    try:
        with contextlib.chdir(folder / "desk"):
            yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        sys.path[:] = path
        if "models" not in loaded:
            sys.modules.pop("models", None)
