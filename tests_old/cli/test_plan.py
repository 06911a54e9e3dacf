"""`steelyard plan` at the command line: the promised keys, every format, narrow and plain terminals, what is refused, what is loaded."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

import steelyard_old as sy
from cases import seldom
from steelyard_old.cli.main import main
from steelyard_old.results import signature

KEYS = {"goal", "n", "n_first", "n_stable", "labels", "theta", "threshold_offset", "assurance", "expected_n"}
KEYS |= {"kind", "schema", "warnings", "signature"}
QUESTIONS = ("detect", "estimate", "train", "designs")
ASKED: dict[str, str] = {
    "detect": "detect --sigma 50 --theta 3",
    "detect, n given": "detect --n 4096 --sigma 50",
    "detect, power": "detect --n 1000 --sigma 50 --theta 3",
    "detect, paired": "detect --discordance .04 --theta .01",
    "detect, rule-out": "detect --discordance .1 --theta .04 --goal rule-out",
    "detect, scores": "detect --sd .3333 --theta .03 --alternative two-sided",
    "detect, out of reach": "detect --sigma 50 --theta 3 --available 1319",
    "detect, a coin": "detect --sigma 50 --theta 3 --alpha .5 --beta .5",
    "estimate, threshold": "estimate --metric accuracy --expected .95 --threshold .9",
    "estimate, width": "estimate --metric accuracy --expected .9 --width .1 --assurance .95",
    "estimate, f1": "estimate --metric f1 --precision .8 --recall .8 --threshold .75 --prevalence .2",
    "estimate, worst": "estimate --width .1",
    "estimate, have": "estimate --have 45/50 --width .1",
    "train": "train curve.csv --target .9 --draws 50",
    "designs": "designs --theta .02 --expected .8 --discordance .05 --price .002 --repeats 4 --within .15",
    "designs, unpaired": "designs --theta 2 --sigma 50",
    "designs, short": "designs --theta .01 --discordance .04 --available 1319",
}
DRAWN = [name for name in ASKED if not name.startswith("designs")]


class Desk:
    """A folder with a curve and pilots, and the command over them."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys = folder, capsys

    def run(self, words: str | list[str]) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            main(["plan", *(words.split() if isinstance(words, str) else words)])
        out, err = self.capsys.readouterr()
        return int(stop.value.code or 0), out, err

    def answers(self, words: str) -> dict[str, Any]:
        code, out, err = self.run(f"{words} --format json")
        assert code == 0, err
        assert err == ""

        def no_constant(name: str) -> float:
            raise AssertionError(f"{name} in JSON")

        found: dict[str, Any] = json.loads(out, parse_constant=no_constant)
        return found

    def refuses(self, words: str | list[str], *says: str) -> str:
        code, out, err = self.run(words)
        assert code == 3, (code, out[:200], err)
        assert out == ""
        assert err.startswith("error: ")
        assert err.count("\n") == 1
        assert "Traceback" not in err
        for part in says:
            assert part in err, err
        return err


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.chdir(tmp_path)
    sizes = (50, 100, 200, 400, 800, 1600)
    rows = [f"{n},{seed},{0.95 - 1.2 * n**-0.5 + 0.004 * math.sin(7 * seed + n):.6f}" for seed in range(5) for n in sizes]
    (tmp_path / "curve.csv").write_text("size,seed,accuracy\n" + "\n".join(rows) + "\n")
    score = [int(i % 10 < 8) for i in range(400)]
    other = [1 - s if i % 40 in (0, 8) else s for i, s in enumerate(score)]
    for name, run in (("a", score), ("b", other), ("ones", [1] * 40), ("bad", [s * (i % 3 > 0) for i, s in enumerate(score)])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps({"id": i, "score": s}) + "\n" for i, s in enumerate(run)))
    (tmp_path / "others.jsonl").write_text("".join(json.dumps({"id": i + 900, "score": s}) + "\n" for i, s in enumerate(score)))
    (tmp_path / "empty.jsonl").write_text("")
    return Desk(tmp_path, capsys)


# ---- the promised keys ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ASKED)
def test_json_has_the_keys_of_the_contract(desk: Desk, name: str) -> None:
    found = desk.answers(ASKED[name])
    assert found.keys() >= KEYS
    assert (found["kind"], found["schema"]) == ("plan", 1)
    assert isinstance(found["warnings"], list)
    assert found["conclusion"]
    assert found["assumed"]
    assert signature.parse(found["signature"])["steelyard"] == [sy.__version__]
    assert found["n"] is None or isinstance(found["n"], int)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("detect --sigma 50 --theta 3", {"n": 3435}),
        ("detect --n 4096 --sigma 50", {"theta": 2.747193, "threshold_offset": -1.817324}),
        ("detect --discordance .04 --theta .01", {"n": 2459}),
        ("detect --sd .33333333333 --theta .03 --alternative two-sided", {"n": 969}),
        ("estimate --metric accuracy --expected .95 --threshold .9", {"n_first": 160, "n_stable": 185}),
        ("estimate --metric f1 --precision .8 --recall .8 --threshold .75 --prevalence .2", {"labels": 1387}),
        ("estimate --metric f1 --precision .8 --recall .8 --threshold .75 --prevalence .2 --prior 1", {"labels": 1440}),
        ("estimate --metric accuracy --expected .9 --width .1 --assurance .8", {"n": 161}),
        ("estimate --width .05", {"n": 1535}),
    ],
)
def test_shown_by(desk: Desk, words: str, wanted: dict[str, float]) -> None:
    found = desk.answers(words)
    assert {name: found[name] for name in wanted} == pytest.approx(wanted, abs=5e-7)


def test_one_item_is_no_items(desk: Desk) -> None:
    assert "1 items" not in desk.answers("detect --sigma 50 --n 1")["conclusion"]


def test_two_pilots(desk: Desk) -> None:
    found = desk.answers("detect --pilot a.jsonl --pilot b.jsonl --theta .03")
    assert (found["design"], found["details"]["pilot_flips"]) == ("paired", 20)
    assert found["n"] == sy.plan_detect(discordance=0.08, theta=0.03).n


def test_one_pilot_in_percent(desk: Desk) -> None:
    found = desk.answers("detect --pilot a.jsonl --theta 3")
    assert found["n"] == sy.plan_detect(sigma=40, theta=3).n


def test_expected_accuracy_is_in_the_answer(desk: Desk) -> None:
    """JSON has every number: the accuracy that was given too, not only the sigma made of it."""
    found = desk.answers("detect --expected .8 --theta .02")
    assert 0.8 in (found["details"].get("expected"), found["details"].get("pilot_estimate"))


@pytest.mark.parametrize("name", [name for name in ASKED if name.startswith(("estimate", "designs"))])
def test_signatures_of_the_other_plans_replay(desk: Desk, name: str) -> None:
    found = desk.answers(ASKED[name])
    facts = signature.parse(found["signature"])
    words = [ASKED[name].split()[0]]
    options = {"answers": "repeats", "level": "confidence-level", "have": "have" if name.startswith("estimate") else "available"}
    for key, values in facts.items():
        if key not in ("goal", "alternative", "steelyard", "seed"):
            words += [f"--{options.get(key, key)}", "/".join(values)]
    again = desk.answers(" ".join(words))
    assert {key: again[key] for key in KEYS} == {key: found[key] for key in KEYS}
    assert [row["items"] for row in again["rows"]] == [row["items"] for row in found["rows"]]


def test_a_design_prior_is_in_the_signature(desk: Desk) -> None:
    """Beta(45, 5) and Beta(30, 20) are different plans; their signatures must differ."""
    first, second = (desk.answers(f"estimate --design-prior {pair} --width .1") for pair in ("45,5", "30,20"))
    assert first["n"] != second["n"]
    assert first["signature"] != second["signature"]


# ---- formats -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ASKED)
def test_text_is_the_default_and_begins_with_the_answer(desk: Desk, name: str) -> None:
    told = desk.answers(ASKED[name])
    code, out, err = desk.run(ASKED[name])
    assert (code, err) == (0, "")
    assert " ".join(out.split()).startswith(" ".join(told["conclusion"].split()))
    for warning in told["warnings"]:
        assert " ".join(warning.split()) in " ".join(out.split())
    assert "nan" not in out.lower().split()
    assert "None" not in out
    assert "assumed: Assumed" not in out


@pytest.mark.parametrize("name", list(ASKED)[::3])
def test_markdown(desk: Desk, name: str) -> None:
    code, out, err = desk.run(f"{ASKED[name]} --format markdown")
    assert (code, err) == (0, "")
    assert "|" in out


@pytest.mark.parametrize("name", DRAWN)
def test_svg_by_the_ending(desk: Desk, name: str) -> None:
    """`plan detect` with a power below one half, and `--have` that is enough, may have no curve; then it is an error in words."""
    code, out, err = desk.run(f"{ASKED[name]} -o plan.svg")
    if name == "detect, power":
        assert code in (0, 3)
        return
    assert code == 0, err
    assert out == ""
    picture = ET.fromstring((desk.folder / "plan.svg").read_text(encoding="utf-8"))
    assert picture.tag.endswith("svg")


@pytest.mark.parametrize("question", ["detect", "estimate, worst", "train"])
def test_svg_by_the_option(desk: Desk, question: str) -> None:
    """What `-o plan.svg` can write, `--format svg` can."""
    code, out, err = desk.run(f"{ASKED[question]} --format svg")
    assert code == 0, err
    assert ET.fromstring(out).tag.endswith("svg")


def test_designs_have_no_picture_and_say_so(desk: Desk) -> None:
    desk.refuses(f"{ASKED['designs, unpaired']} -o plan.svg", "asks for svg, in which this answer cannot be written")
    assert not (desk.folder / "plan.svg").exists()


@pytest.mark.parametrize("ending", ["json", "md", "txt"])
def test_a_file_holds_what_would_be_printed(desk: Desk, ending: str) -> None:
    formats = {"json": "json", "md": "markdown", "txt": "text"}
    _, printed, _ = desk.run(f"{ASKED['detect']} --format {formats[ending]}")
    code, out, err = desk.run(f"{ASKED['detect']} -o plan.{ending}")
    assert (code, out, err) == (0, "", f"written to plan.{ending}\n")
    written = (desk.folder / f"plan.{ending}").read_text(encoding="utf-8")
    if ending != "txt":
        assert written == printed
    code, out, err = desk.run(f"{ASKED['detect']} -o plan.{ending} --quiet")
    assert (code, out, err) == (0, "", "")


def test_a_folder_that_is_not_there(desk: Desk) -> None:
    desk.refuses(f"{ASKED['detect']} -o nowhere/plan.json", "nowhere/plan.json")


@pytest.mark.parametrize("name", ASKED)
def test_lines_fit_a_narrow_terminal(desk: Desk, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    _, out, _ = desk.run(ASKED[name])
    *lines, last = out.rstrip("\n").split("\n")
    assert last.startswith("goal:")  # the signature is one line whatever the width: it is for copying
    assert [line for line in lines if len(line) > 60] == []


@pytest.mark.parametrize("encoding", ["ascii", *seldom("cp1252", "utf-16")])
def test_unusual_encodings(desk: Desk, encoding: str) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "COLUMNS": "80"}
    run = subprocess.run(
        [sys.executable, "-m", "steelyard_old", "plan", *ASKED["detect, paired"].split()], capture_output=True, env=environment, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr == b""
    text = run.stdout.decode(encoding)
    assert "2,459 items" in text
    if encoding != "utf-16":
        assert "?" not in text


# ---- help --------------------------------------------------------------------------------------------------------------------


def test_without_a_question(desk: Desk) -> None:
    code, out, err = desk.run("")
    assert code == 3
    assert out == ""
    for question in QUESTIONS:
        assert question in err


@pytest.mark.parametrize("words", ["--help", "-h", *(f"{question} --help" for question in QUESTIONS)])
def test_help(desk: Desk, words: str) -> None:
    code, out, err = desk.run(words)
    assert (code, err) == (0, "")
    assert "Examples:" in out
    if words not in ("--help", "-h"):
        for option in ("--format", "--quiet", "--no-color", "--debug", "-o"):
            assert option in out


def test_every_example_of_the_help_runs(desk: Desk) -> None:
    """Files of the examples that are not here, and learners to be fitted, are left out."""
    here = {path.name for path in desk.folder.iterdir()}
    for question in QUESTIONS:
        _, page, _ = desk.run(f"{question} --help")
        examples = [line.strip().removeprefix("steelyard plan ") for line in page.split("\n") if line.strip().startswith("steelyard plan")]
        assert examples
        for words in examples:
            files = [word for word in words.split() if word.endswith((".csv", ".jsonl"))]
            if set(files) <= here and "--learner" not in words:
                code, _, err = desk.run(words)
                assert code == 0, (words, err)


def test_a_question_that_is_none(desk: Desk) -> None:
    desk.refuses("power --sigma 50", "'power'")


# ---- what is refused ---------------------------------------------------------------------------------------------------------

REFUSED: list[tuple[str, tuple[str, ...]]] = [
    ("detect", ("A plan needs --n or --theta.", "--theta 3")),
    ("detect --theta 3", ("--sigma", "--discordance", "--pilot")),
    ("detect --sigma wide --theta 3", ("--sigma", "wide")),
    ("detect --sigma 50 --n 3.5", ("--n",)),
    ("detect --sigma 50 --theta 3 --goal win", ("--goal", "rule-out")),
    ("detect --pilot none.jsonl --theta .01", ("none.jsonl",)),
    ("detect --pilot empty.jsonl --theta .01", ("empty.jsonl",)),
    ("detect --pilot ones.jsonl --theta .01", ("--expected",)),
    ("detect --pilot a.jsonl --pilot b.jsonl --pilot a.jsonl --theta .01", ("A pilot is one run, or two runs on the same items; got 3.",)),
    ("detect --pilot a.jsonl --pilot others.jsonl --theta .01", ("id",)),
    ("detect --pilot a.jsonl --pilot bad.jsonl --theta .01", ("healthy",)),
    ("detect --pilot a.jsonl --pilot b.jsonl --theta 3", ("0.03",)),
    ("designs", ("--theta",)),
    ("designs --theta .02 --discordance .05 --price nan", ("price",)),
    ("estimate", ("width", "threshold")),
    ("estimate --width nan", ("width",)),
    ("estimate --pilot none.csv --width .1", ("none.csv",)),
    ("estimate --threshold .9", ("--expected",)),
    ("train", ("--target",)),
    ("train --target .9", ("curve",)),
    ("train none.csv --target .9", ("none.csv",)),
    ("train empty.jsonl --target .9", ("empty.jsonl",)),
    ("train curve.csv --target .9 --size nosuch", ("nosuch",)),
]


@pytest.mark.parametrize(("words", "says"), REFUSED, ids=[words for words, _ in REFUSED])
def test_refused(desk: Desk, words: str, says: tuple[str, ...]) -> None:
    desk.refuses(words, *says)


def test_a_width_beyond_the_range_is_not_told_to_be_percent(desk: Desk) -> None:
    """1.1 is wider than the range, not 1.1 percent."""
    assert "0.011" not in desk.refuses("estimate --width 1.1", "width")


@pytest.mark.parametrize(
    "words",
    [
        "detect --sigma 50 --n 4096 --available 1000",
        "detect --sd 50 --theta 50 --n 100",
        "detect --sigma 50 --theta 30 --n 100000",
        "detect --sigma 50 --theta 30 --n 1000000 --beta .2",
        "detect --sigma 1e200 --n 5",
        "detect --sigma 1e-200 --theta 1e-201",
        "detect --sigma 50 --theta 1e-300",
        f"detect --sigma 50 --n 1{'0' * 400}",
        "detect --discordance .5 --n 1 --alpha .49 --beta .49",
        "detect --discordance .04 --theta 1e-9",
        "detect --discordance 1e-12 --theta 1e-12 --n 100",
        "designs --theta .02 --discordance .05 --alpha .5 --beta .5",
        "designs --theta .5 --discordance .5",
        "designs --theta 1e-9",
        "designs --theta .02 --discordance 0",
        "designs --theta .02 --discordance .05 --available 1",
        "designs --theta 2 --sigma 1e200",
        "estimate --width 1e-9",
        "estimate --width .999999",
        "estimate --expected .5 --threshold .4999999",
        "estimate --have 0/0 --width .1",
        "estimate --have 0/1 --width .9",
        "train curve.csv --target 1e-9",
        "train curve.csv --target .999999999",
    ],
    ids=lambda words: words[:60],
)
def test_extremes_never_break(desk: Desk, words: str) -> None:
    code, out, err = desk.run(f"{words} --format json")
    assert code in (0, 3), err
    assert "internal error" not in err
    assert "NaN" not in out
    assert "Infinity" not in out


# ---- light -------------------------------------------------------------------------------------------------------------------

RUN = """
from click.testing import CliRunner
from steelyard_old.cli.main import steelyard as s
for words in {}:
    assert CliRunner().invoke(s, ["plan", *words.split()]).exit_code == 0, words
"""
LIGHT = {
    "detect": RUN.format(
        [
            "detect --sigma 50 --theta 3",
            "detect --sigma 50 --n 4096 --format json",
            "detect --sd .3 --theta .03 --alternative two-sided --format markdown",
            "detect --expected .8 --theta .03 --format svg",
            "detect --sigma 50 --theta 3 --available 1319",
            "detect --discordance .05 --theta .02 --design-effect 1.5",
        ]
    ),
    "designs without pairs": RUN.format(["designs --theta .02", "designs --theta 2 --sigma 50 --price .01 --format json"]),
    "help": RUN.format(["--help", *(f"{question} --help" for question in QUESTIONS)]),
    "python": "import steelyard_old as sy; print(sy.plan_detect(sigma=50, theta=3)); sy.plan_detect(sigma=50, n=4096).to_dict()",
}


@pytest.mark.parametrize("name", LIGHT)
def test_normal_formulas_load_no_numpy(name: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", f"{LIGHT[name]}\nimport sys; print(' '.join(sys.modules))"], capture_output=True, text=True, check=True
    )
    assert not {"numpy", "scipy", "duckdb", "pandas"} & set(run.stdout.splitlines()[-1].split())
