"""`steelyard demo`: every question on real data that ships with the package, offline."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

import click

from steelyard_old.cli.command import OUTPUT, command, declared_flag
from steelyard_old.errors import UsageError
from steelyard_old.options.option import DEBUG, NO_COLOR

DATA = ("digits_logistic.csv", "digits_naive_bayes.csv")
STEPS = [
    ("12 right out of 40 is 30%, give or take how much?", ["measure", "--counts", "12/40"]),
    ("The same, by the textbook method (Wald, whose intervals are too narrow):", ["measure", "--counts", "12/40", "--interval", "wald"]),
    ("38 of 40 right: what accuracy can we claim at least, with 95% confidence?", ["measure", "--counts", "38/40", "--side", "lower"]),
    (
        "31 hits, 5 false alarms, 2 misses: F1 with a Bayesian interval, and the chance that it is 0.9 or more:",
        ["measure", "--tp", "31", "--fp", "5", "--fn", "2", "--at-least", ".9"],
    ),
    (
        "A table says 87.4% and 86.1% on 1,319 items, and no more. Is that a difference?",
        ["audit", "--n", "1319", "87.4", "86.1"],
    ),
    (
        "Split data by a hash of the ids, so that no item changes sides when data are added:",
        ["split", "digits_logistic.csv", "--train", ".8", "--test", ".2", "--dry-run"],
    ),
    (
        "A real classifier on 899 handwritten digits it has not seen:",
        ["measure", "digits_logistic.csv", "--metric", "accuracy,macro_f1,mcc"],
    ),
    ("One class (the digit 8) of another classifier:", ["measure", "digits_naive_bayes.csv", "--metric", "f1", "--positive", "8"]),
    (
        "Is the first classifier better than the second? Both were tested on the same digits:",
        ["compare", "digits_naive_bayes.csv", "digits_logistic.csv"],
    ),
    (
        "The same for macro F1, with a one-sided paired bootstrap test:",
        ["compare", *reversed(DATA), "--metric", "macro_f1", "--test", "bootstrap", "--alternative", "greater"],
    ),
    (
        "How many items does it take to detect a drop of 1 point, if 4% of the answers differ from run to run?",
        ["plan", "detect", "--discordance", ".04", "--theta", ".01"],
    ),
    (
        "How many labels does it take to show that an accuracy of 95% is above 90%?",
        ["plan", "estimate", "--metric", "accuracy", "--expected", ".95", "--threshold", ".9"],
    ),
    (
        "Record the better classifier as the reference ...",
        ["record", "digits_logistic.csv", "--task", "digits", "--model", "classifier", "--deterministic"],
    ),
    (
        "... and check the other one against it, as CI would (exit code 1):",
        ["check", "digits_naive_bayes.csv", "--task", "digits", "--model", "classifier"],
    ),
    (
        "The same check, item by item in random order, stopping as soon as a drop of 5 points is found or ruled out:",
        ["run", "digits.toml", "--model", "file:digits_naive_bayes.csv", "--against", "classifier", "--until", "decided", "--theta", ".05"],
    ),
]
TASK = '[task]\nname = "digits"\ndata = "digits_logistic.csv"\ntruth = "truth"\nscorer = "exact"\n'
NEXT = """
Try next, on your own predictions (CSV files with the columns id, truth and prediction):

  steelyard measure preds.csv
  steelyard measure preds.csv --metric f1 --positive LABEL --interval bayes
  steelyard measure preds.csv --by COLUMN --format markdown
  steelyard compare old.csv new.csv
  steelyard compare old.csv new.csv --metric macro_f1 --margin 0.01
  steelyard split --check train.csv test.csv
  steelyard plan detect --pilot old.csv --theta 0.02
  steelyard record old.csv --task mine --model m
  steelyard check new.csv --task mine --model m
  steelyard run task.toml --model openai:NAME --base-url http://127.0.0.1:8000/v1
  steelyard check new.csv --task mine --model m --format html -o report.html
  steelyard measure --help
"""


@command()
@click.option("--html", is_flag=True, help="Write the answers to one HTML page instead of the terminal.")
@click.option("-o", "--output", type=OUTPUT, help="With --html: where to write the page.  [default: demo.html]")
@click.option("--open", "open_", is_flag=True, help="With --html: open the page in a browser.")
@declared_flag(DEBUG)
@declared_flag(NO_COLOR)
def demo(html: bool, output: Path | None, open_: bool, debug: bool, no_color: bool) -> None:
    """A tour of steelyard on real data that ships with it. Needs no network and leaves no files behind.

    \b
    Examples:
      steelyard demo
      steelyard demo --html -o demo.html
    """
    if not html:
        if output is not None or open_:
            raise UsageError("-o and --open need --html: the tour itself is in the terminal.", got="a tour in the terminal", need="--html")
        _walk(no_color)
        return
    from steelyard_old.cli.report import write_page

    write_page(output or Path("demo.html"), _page(), quiet=False, open_=open_)


def _walk(no_color: bool) -> None:
    """Every step as a command, with its answer below it."""
    from steelyard_old.cli.main import steelyard

    with _demo_directory():
        for number, (sentence, words) in enumerate(STEPS, 1):
            click.echo(f"\n{number}. {sentence}")
            click.echo(click.style(f"$ steelyard {' '.join(words)}\n", bold=True), color=None if not no_color else False)
            steelyard.main(args=[*words, *(["--no-color"] if no_color else [])], standalone_mode=False)
    click.echo(NEXT, nl=False)


@contextmanager
def _demo_directory() -> Iterator[None]:
    """A place with the data in it, that goes away again."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="steelyard-demo-") as folder:
        for name in DATA:
            with (files("steelyard_old") / "data" / name).open("rb") as packed, (Path(folder) / name).open("wb") as plain:
                shutil.copyfileobj(packed, plain)
        (Path(folder) / "digits.toml").write_text(TASK, encoding="utf-8")
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(here)


def _page() -> str:
    """The answers that make a page: the verdict first, then what led to it."""
    from steelyard_old.questions.compare.compare import compare
    from steelyard_old.questions.guard.check import check
    from steelyard_old.questions.measure.measure import measure
    from steelyard_old.questions.plan.detect import plan_detect
    from steelyard_old.questions.record.record import record
    from steelyard_old.questions.report.report import report
    from steelyard_old.questions.run.run import run

    better, other = DATA
    with _demo_directory():
        record(better, task="digits", model="classifier", deterministic=True)
        return report(
            check(other, task="digits", model="classifier"),
            compare(other, better, margin=0.02),
            measure(better, metric=["accuracy", "macro_f1", "mcc", "each_recall"]),
            measure(other, metric="accuracy", interval="bayes"),
            plan_detect(discordance=0.04, theta=0.01),
            run("digits.toml", f"file:{other}", against="classifier", until="decided", theta=0.05),
            title="steelyard on 899 handwritten digits",
        )
