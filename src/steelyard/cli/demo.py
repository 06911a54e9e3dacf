"""`steelyard demo`: every question on real data that ships with the package, offline."""

from __future__ import annotations

import os
import shutil
import tempfile
from importlib.resources import files
from pathlib import Path

import click

DATA = ("digits_logistic.csv", "digits_naive_bayes.csv")
STEPS = [
    ("12 right answers of 40 are 30%, give or take how much?", ["measure", "--counts", "12/40"]),
    ("The same, as the textbooks do it (Wald, which promises too much):", ["measure", "--counts", "12/40", "--interval", "wald"]),
    ("38 of 40 right: what can we claim at least, with 95% confidence?", ["measure", "--counts", "38/40", "--side", "lower"]),
    (
        "31 hits, 5 false alarms, 2 misses: F1, and what we believe about it:",
        ["measure", "--tp", "31", "--fp", "5", "--fn", "2", "--interval", "bayes"],
    ),
    (
        "A real classifier on 899 handwritten digits it has not seen:",
        ["measure", "digits_logistic.csv", "--metric", "accuracy,macro_f1,mcc"],
    ),
    ("One class of another classifier, the digit 8:", ["measure", "digits_naive_bayes.csv", "--metric", "f1", "--positive", "8"]),
    (
        "Is the first of them better than the second? Both saw the same digits:",
        ["compare", "digits_naive_bayes.csv", "digits_logistic.csv"],
    ),
    (
        "And in macro F1, by the paired bootstrap, with the side named beforehand:",
        ["compare", *reversed(DATA), "--metric", "macro_f1", "--test", "bootstrap", "--alternative", "greater"],
    ),
    (
        "How many items find a drop of 1 point, if 4% of the answers differ from run to run?",
        ["plan", "detect", "--discordance", ".04", "--theta", ".01"],
    ),
    (
        "How many labels show that an accuracy of 95% is above 90%?",
        ["plan", "estimate", "--metric", "accuracy", "--expected", ".95", "--threshold", ".9"],
    ),
    (
        "Put the better classifier on record as the reference ...",
        ["record", "digits_logistic.csv", "--task", "digits", "--model", "classifier", "--deterministic"],
    ),
    (
        "... and check the other one against it, as a build would (exit code 1):",
        ["check", "digits_naive_bayes.csv", "--task", "digits", "--model", "classifier"],
    ),
    (
        "The same question, asked item by item in random order, stopped as soon as a drop of 5 points is found or ruled out:",
        ["run", "digits.toml", "--model", "file:digits_naive_bayes.csv", "--against", "classifier", "--until", "decided", "--theta", ".05"],
    ),
]
TASK = '[task]\nname = "digits"\ndata = "digits_logistic.csv"\ntruth = "truth"\nscorer = "exact"\n'
NEXT = """
What to try next, on your own predictions (CSV files with the columns id, truth and prediction):

  steelyard measure preds.csv
  steelyard measure preds.csv --metric f1 --positive LABEL --interval bayes
  steelyard measure preds.csv --by COLUMN --format markdown
  steelyard compare old.csv new.csv
  steelyard compare old.csv new.csv --metric macro_f1 --margin 0.01
  steelyard plan detect --pilot old.csv --theta 0.02
  steelyard record old.csv --task mine --model m
  steelyard check new.csv --task mine --model m
  steelyard run task.toml --model openai:NAME --base-url http://127.0.0.1:8000/v1
  steelyard measure --help
"""


@click.command(short_help="a walk through it on real data, offline")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.option("--no-color", is_flag=True, help="No colour, as with NO_COLOR set.")
def demo(debug: bool, no_color: bool) -> None:
    """A walk through steelyard on real data that ships with it. Needs no network, writes nothing that stays.

    \b
    Example:
      steelyard demo
    """
    from steelyard.cli.main import steelyard

    here = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="steelyard-demo-") as folder:
        for name in DATA:
            with (files("steelyard") / "data" / name).open("rb") as packed, (Path(folder) / name).open("wb") as plain:
                shutil.copyfileobj(packed, plain)
        (Path(folder) / "digits.toml").write_text(TASK, encoding="utf-8")
        os.chdir(folder)
        try:
            for number, (sentence, words) in enumerate(STEPS, 1):
                click.echo(f"\n{number}. {sentence}")
                click.echo(click.style(f"$ steelyard {' '.join(words)}\n", bold=True), color=None if not no_color else False)
                steelyard.main(args=[*words, *(["--no-color"] if no_color else [])], standalone_mode=False)
        finally:
            os.chdir(here)
    click.echo(NEXT, nl=False)
