"""`steelyard record` and `steelyard check` as their users meet them: exit codes, formats, keys, refusals, hostile names."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from answers import Answer, Command

FORMATS = ("text", "json", "markdown", "junit", "github")
HOSTILE = "a|b<script>alert(1)</script>`x`]]>&\"'%0A::error::x"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return tmp_path


def write(name: str, scores: list[int], prefix: str = "q") -> str:
    Path(name).write_text("".join(json.dumps({"id": f"{prefix}{i}", "score": s}) + "\n" for i, s in enumerate(scores)), encoding="utf-8")
    return name


REFERENCE = [1] * 150 + [0] * 50
ASK = ("--task", "t", "--model", "m")


@pytest.fixture
def files(steelyard: Command) -> None:
    """base.jsonl on record; worse.jsonl loses 8 of 200 items, other.jsonl has other ids."""
    write("base.jsonl", REFERENCE)
    write("worse.jsonl", [0] * 8 + REFERENCE[8:])
    write("other.jsonl", REFERENCE, "x")
    assert steelyard("record", "base.jsonl", *ASK, "--reason", "first").code == 0


def refused(answer: Answer, *parts: str) -> None:
    assert answer.code == 3, answer
    assert answer.out == ""
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1
    for part in parts:
        assert part in answer.err, answer.err


# Exit codes


@pytest.mark.usefixtures("files")
def test_the_four_exit_codes(steelyard: Command) -> None:
    """The same answers, worse ones, a drop too small to rule out, and other items."""
    same = steelyard("check", "base.jsonl", *ASK)
    assert same.code == 0
    assert "zero flips" in same.out + same.err
    worse = steelyard("check", "worse.jsonl", *ASK)
    assert worse.code == 1
    assert all(f"q{i}" in worse.out for i in range(8))
    doubt = steelyard("check", "base.jsonl", *ASK, "--theta", ".005")
    assert doubt.code == 2
    assert "Needed" in doubt.out
    refused(steelyard("check", "other.jsonl", *ASK))


@pytest.mark.usefixtures("files")
def test_fail_on_regression_lets_doubt_pass_and_nothing_else(steelyard: Command) -> None:
    assert steelyard("check", "base.jsonl", *ASK, "--theta", ".005", "--fail-on", "regression").code == 0
    assert steelyard("check", "worse.jsonl", *ASK, "--fail-on", "regression").code == 1
    assert steelyard("check", "base.jsonl", *ASK, "--theta", ".005", "--fail-on", "inconclusive").code == 2
    refused(steelyard("check", "other.jsonl", *ASK, "--fail-on", "regression"))


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    "words",
    [
        ("check",),
        ("check", "base.jsonl"),
        ("check", "base.jsonl", "--task", "t"),
        ("check", "base.jsonl", *ASK, "--no-such-option"),
        ("check", "base.jsonl", *ASK, "--alpha", "five"),
        ("check", "base.jsonl", *ASK, "--theta", ".01", "--margin", ".02"),
        ("check", "base.jsonl", *ASK, "--value", "0.7"),
        ("check", *ASK),
        ("check", *ASK, "--value", "nan"),
        ("check", *ASK, "--value", "inf"),
        ("check", "base.jsonl", *ASK, "--target", "people"),
        ("check", "base.jsonl", *ASK, "--target", "runs"),
        ("check", "base.jsonl", *ASK, "--format", "html5"),
        ("check", "base.jsonl", *ASK, "--seed", "x"),
        ("check", "base.jsonl", *ASK, "--draws", "0"),
        ("check", "base.jsonl", *ASK, "--spec", "FP8"),
        ("check", "base.jsonl", *ASK, "--spec", "quant_algo=FP8", "--spec", "quant_algo=FP4"),
        ("check", "base.jsonl", *ASK, "--spec", "quant_alog=FP8"),
        ("check", "base.jsonl", *ASK, "--spec", "quant_algo=FP8"),
        ("check", "base.jsonl", *ASK, "--protocol", "greedy"),
        ("check", "base.jsonl", *ASK, "--config", "nothing.toml"),
        ("check", "base.jsonl", *ASK, "--directory", "nowhere"),
        ("check", "base.jsonl", *ASK, "--metric", "no_such_metric"),
        ("check", "base.jsonl", "--task", "../t", "--model", "m"),
        ("check", "base.jsonl", "--task", "nothing", "--model", "m"),
        ("check", "base.jsonl", "--task", "t", "--model", "nobody"),
        ("check", "base.jsonl", "--task", "t", "--model", ""),
        ("check", "nothing.jsonl", *ASK),
        ("check", "base.jsonl", "worse.jsonl", *ASK),
        ("check", "--suite", "nothing.toml"),
        ("check", "--suite", "nothing.toml", "--theta", "1"),
        ("check", "base.jsonl", "--suite", "nothing.toml"),
        ("check", "base.jsonl", *ASK, "-o", "no/such/directory/x.json"),
        ("record",),
        ("record", "base.jsonl"),
        ("record", "base.jsonl", *ASK),
        ("record", "nothing.jsonl", "--task", "t", "--model", "new"),
        ("record", "base.jsonl", "--task", "a/b", "--model", "m"),
        ("record", "base.jsonl", "--task", "t", "--model", "new", "--ids", "secret"),
        ("record", "base.jsonl", "--task", "t", "--model", "new", "--spec", "x=1"),
    ],
    ids=" ".join,
)
def test_mistakes_exit_3_with_one_line_and_never_look_like_a_verdict(words: tuple[str, ...], steelyard: Command) -> None:
    refused(steelyard(*words))


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    "words", [("base.jsonl",), ("--alpha", ".01"), ("--spec", "quant_algo=FP8"), ("--scale", "percent"), ("--sigma", "1")]
)
def test_options_of_one_check_are_not_ignored_by_a_suite(words: tuple[str, ...], steelyard: Command) -> None:
    """An option that would do nothing is a mistake, not a silence."""
    Path("suite.toml").write_text('[[checks]]\ntask = "t"\nmodel = "m"\nresult = "base.jsonl"\n', encoding="utf-8")
    assert steelyard("check", "--suite", "suite.toml").code == 0
    refused(steelyard("check", "--suite", "suite.toml", *words))


def test_no_reference_names_the_command_that_records_one(steelyard: Command) -> None:
    write("base.jsonl", REFERENCE)
    refused(steelyard("check", "base.jsonl", *ASK), "steelyard record", "--task t")


@pytest.mark.usefixtures("files")
def test_pairs_on_the_intersection_only_when_asked(steelyard: Command) -> None:
    write("fewer.jsonl", REFERENCE[:190])
    refused(steelyard("check", "fewer.jsonl", *ASK), "--unmatched drop")
    answer = steelyard("check", "fewer.jsonl", *ASK, "--unmatched", "drop", "--format", "json")
    assert answer.code == 0
    assert answer.json["n"] == 190


@pytest.mark.usefixtures("files")
def test_record_never_overwrites_unasked(steelyard: Command) -> None:
    before = Path("references/t.yaml").read_bytes()
    refused(steelyard("record", "worse.jsonl", *ASK), "--update")
    assert Path("references/t.yaml").read_bytes() == before
    assert steelyard("record", "worse.jsonl", *ASK, "--update", "--reason", "meant").code == 0
    assert steelyard("check", "worse.jsonl", *ASK).code == 0


def test_record_without_items_gives_an_unpaired_check(steelyard: Command) -> None:
    write("base.jsonl", REFERENCE)
    assert steelyard("record", "base.jsonl", *ASK, "--no-items").code == 0
    answer = steelyard("check", "base.jsonl", *ASK, "--format", "json")
    assert answer.code == 0
    assert answer.json["design"] == "unpaired"


def test_five_runs_by_name(steelyard: Command) -> None:
    runs = [write(f"run{k}.jsonl", [0] * k + REFERENCE[k:]) for k in range(5)]
    answer = steelyard("record", *runs, *ASK, "--format", "json")
    assert answer.code == 0
    assert answer.json["runs"] == 5
    assert steelyard("check", "run2.jsonl", *ASK).code == 0


# Formats


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("run", ["base.jsonl", "worse.jsonl"])
def test_every_format_of_one_check(format_: str, run: str, steelyard: Command) -> None:
    answer = steelyard("check", run, *ASK, "--format", format_)
    assert answer.code == (0 if run == "base.jsonl" else 1)
    assert answer.out.strip()
    assert "nan" not in answer.out.lower()
    if format_ == "junit":
        root = ElementTree.fromstring(answer.out)
        assert len(list(root.iter("failure"))) == (run == "worse.jsonl")
        assert len(list(root.iter("testcase"))) == 1
    if format_ == "github":
        assert ("::error" in answer.out) == (run == "worse.jsonl")


@pytest.mark.usefixtures("files")
def test_a_doubt_in_junit_and_github_is_neither_an_error_nor_silent(steelyard: Command) -> None:
    junit = steelyard("check", "base.jsonl", *ASK, "--theta", ".005", "--format", "junit")
    assert junit.code == 2
    root = ElementTree.fromstring(junit.out)
    assert list(root.iter("failure")) or list(root.iter("skipped")) or list(root.iter("error"))
    github = steelyard("check", "base.jsonl", *ASK, "--theta", ".005", "--format", "github")
    assert "::warning" in github.out


@pytest.mark.usefixtures("files")
def test_json_has_every_key_of_the_contract(steelyard: Command) -> None:
    found = steelyard("check", "worse.jsonl", *ASK, "--format", "json").json
    keys = "verdict task model spec metric higher_is_better scale design target n alpha beta sigma margin theta mde reference candidate"
    keys += " threshold difference test p_value flips needed tier waiver kind schema warnings signature"
    assert set(keys.split()) <= set(found)
    assert found["kind"] == "verdict"
    assert found["schema"] == 1
    assert found["reference"]["value"] == 0.75
    assert found["candidate"]["value"] == 0.71


@pytest.mark.usefixtures("files")
def test_the_report_has_every_field_of_the_original(steelyard: Command) -> None:
    out = steelyard("check", "worse.jsonl", *ASK).out
    for field in (
        "Alpha",
        "Beta",
        "Sigma",
        "#Samples",
        "Higher is better",
        "Minimum detectable effect",
        "Reference",
        "Threshold",
        "Evaluated",
    ):
        assert field in out, field
    for field in ("REGRESSION", "p-value", "lower bound", "upper bound", "flips", "lost"):
        assert field in out, field


@pytest.mark.usefixtures("files")
def test_the_answer_goes_to_a_file_whole(steelyard: Command) -> None:
    answer = steelyard("check", "worse.jsonl", *ASK, "-o", "out.json")
    assert answer.code == 1
    assert answer.out == ""
    assert json.loads(Path("out.json").read_text(encoding="utf-8"))["verdict"] == "regression"
    assert steelyard("check", "worse.jsonl", *ASK, "-o", "out.xml").code == 1
    assert ElementTree.parse("out.xml").getroot() is not None


@pytest.mark.usefixtures("files")
def test_the_step_summary_is_added_to(steelyard: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("summary.md").write_text("# before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(Path("summary.md").resolve()))
    steelyard("check", "worse.jsonl", *ASK, "--format", "github")
    text = Path("summary.md").read_text(encoding="utf-8")
    assert text.startswith("# before\n")
    assert "regression" in text.lower()


@pytest.mark.usefixtures("files")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_not_a_verdict() -> None:
    """Standard output on a full device: exit 3, not 0."""
    with open("/dev/full", "w", encoding="utf-8") as full:
        words = [sys.executable, "-m", "steelyard_old", "check", "base.jsonl", *ASK]
        run = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, check=False)
    assert run.returncode == 3
    assert run.stderr.startswith(b"error: ")


# Names that would like to be code


@pytest.mark.parametrize("format_", FORMATS)
def test_hostile_names_inject_nothing(format_: str, steelyard: Command) -> None:
    hostile = HOSTILE + "\x1b[31m" if format_ == "text" else HOSTILE
    rows = [{"id": f"{HOSTILE}{i}", "score": s} for i, s in enumerate(REFERENCE)]
    Path("base.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    Path("worse.jsonl").write_text("".join(json.dumps({**row, "score": 0}) + "\n" for row in rows), encoding="utf-8")
    Path("steelyard.toml").write_text('spec_keys = ["hardware"]\n', encoding="utf-8")
    model = hostile.replace("\x1b[31m", "")
    ask = ("--task", "t", "--model", model, "--spec", f"hardware={HOSTILE}")
    assert steelyard("record", "base.jsonl", *ask, "--reason", HOSTILE).code == 0
    answer = steelyard("check", "worse.jsonl", *ask, "--format", format_)
    assert answer.code == 1
    assert "\x1b" not in answer.out
    if format_ == "json":
        assert answer.json["model"] == model
    elif format_ == "markdown":
        prose = re.sub(r"(`+)[^`].*?(?<!`)\1(?!`)", "", re.sub(r"(?ms)^```.*?^```$", "", answer.out))
        assert "<script>" not in prose
    elif format_ == "junit":
        assert ElementTree.fromstring(answer.out) is not None
    elif format_ == "github":
        commands = [line for line in answer.out.splitlines() if line.startswith("::")]
        assert commands
        assert not any(line.startswith("::error::x") for line in answer.out.splitlines())
        assert all("\r" not in line for line in commands)


@pytest.mark.parametrize("format_", FORMATS)
def test_line_breaks_and_escapes_in_ids_stay_in_their_cell(format_: str, steelyard: Command) -> None:
    rows = [{"id": f"x{i}\n::error::owned\r\x1b]0;title\x07|", "score": s} for i, s in enumerate(REFERENCE)]
    Path("base.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    Path("worse.jsonl").write_text("".join(json.dumps({**row, "score": 0}) + "\n" for row in rows), encoding="utf-8")
    assert steelyard("record", "base.jsonl", *ASK).code == 0
    answer = steelyard("check", "worse.jsonl", *ASK, "--format", format_)
    assert answer.code == 1
    assert "\x1b" not in answer.out
    assert "\x07" not in answer.out
    assert not any(line.startswith("::error::owned") for line in answer.out.splitlines())
    if format_ == "junit":
        assert ElementTree.fromstring(answer.out) is not None


def test_a_model_name_cannot_end_the_code_block_of_the_markdown(steelyard: Command) -> None:
    """A fence ends at a line that begins with backticks: a name that is wrapped there would be out of it."""
    model = "x " * 30 + "``` <img src=x onerror=alert(1)> " + "y " * 30
    write("base.jsonl", REFERENCE)
    write("worse.jsonl", [0] * 8 + REFERENCE[8:])
    assert steelyard("record", "base.jsonl", "--task", "t", "--model", model).code == 0
    answer = steelyard("check", "worse.jsonl", "--task", "t", "--model", model, "--format", "markdown")
    inside = False
    for line in answer.out.splitlines():
        if re.fullmatch(r" {0,3}`{3,}[^`]*", line):  # a fence of CommonMark; with more backticks it is a span
            assert len(line.strip()) < 12, line
            inside = not inside
        elif not inside:
            assert "<img" not in re.sub(r"(`+)[^`].*?(?<!`)\1(?!`)", "", line), line
    assert not inside


# Suites


def test_a_suite_of_files(steelyard: Command) -> None:
    for k in range(3):
        write(f"run_{k}.jsonl", REFERENCE)
        assert steelyard("record", f"run_{k}.jsonl", "--task", f"t{k}", "--model", "m").code == 0
    checks = "".join(f'[[checks]]\ntask = "t{k}"\nmodel = "m"\nresult = "run_{k}*.jsonl"\n' for k in range(3))
    Path("suite.toml").write_text("[suite]\nname = 'nightly'\n" + checks, encoding="utf-8")
    for format_ in FORMATS:
        answer = steelyard("check", "--suite", "suite.toml", "--format", format_)
        assert answer.code == 0, format_
        assert "nan" not in answer.out.lower()
    found = steelyard("check", "--suite", "suite.toml", "--format", "json").json
    assert {"kind", "schema", "verdict", "correction", "verdicts", "warnings", "signature"} <= set(found)
    assert found["kind"] == "suite"
    assert [one["kind"] for one in found["verdicts"]] == ["verdict"] * 3
    write("run_1.jsonl", [0] * 12 + REFERENCE[12:])
    assert steelyard("check", "--suite", "suite.toml").code == 1
    root = ElementTree.fromstring(steelyard("check", "--suite", "suite.toml", "--format", "junit").out)
    assert len(list(root.iter("testcase"))) == 3
    assert len(list(root.iter("failure"))) == 1
    write("run_1b.jsonl", REFERENCE)
    refused(steelyard("check", "--suite", "suite.toml"), "2 files")
    Path("run_1.jsonl").unlink()
    Path("run_1b.jsonl").unlink()
    refused(steelyard("check", "--suite", "suite.toml"), "No file matches 'run_1*.jsonl', the result of check 2 in 'suite.toml'.")


@pytest.mark.parametrize(
    "text", ["checks = 3", "[[checks]]\ntask='t'\nmodel='m'\nvalue=1\nspec='FP8'", "[[checks]]\ntask='t'\nmodel='m'\nresult='b'\ncolumns=3"]
)
def test_a_mistake_in_a_suite_is_no_internal_error(text: str, steelyard: Command) -> None:
    Path("suite.toml").write_text(text, encoding="utf-8")
    refused(steelyard("check", "--suite", "suite.toml"))


# The bare value of the original


LLAMA = "meta-llama/Llama-3.1-8B-Instruct"


@pytest.fixture
def mmlu(home: Path) -> None:
    source = Path(__file__).parents[1] / "reference" / "trtllm" / "mmlu.yaml"
    (home / "references").mkdir()
    (home / "references" / "mmlu.yaml").write_bytes(source.read_bytes())
    settings = "[tasks.mmlu]\nalpha = 0.05\nbeta = 0.2\nsigma = 50\nnum_samples = 4096\nscale = 'percent'\n"
    (home / "steelyard.toml").write_text(settings, encoding="utf-8")


@pytest.mark.usefixtures("mmlu")
def test_the_issue_s_example_of_the_real_file(steelyard: Command) -> None:
    ask = ("check", "--task", "mmlu", "--model", LLAMA)
    assert steelyard(*ask, "--value", "66.353").code == 0
    assert steelyard(*ask, "--value", "66.3526").code == 1
    fp8 = ("--spec", "quant_algo=FP8", "--spec", "kv_cache_quant_algo=FP8")
    found = steelyard(*ask, "--value", "66.1", *fp8, "--format", "json")
    assert found.code == 0
    assert found.json["threshold"] == pytest.approx(66.0527, abs=5e-5)
    assert steelyard(*ask, "--value", "66.05", *fp8).code == 1
    refused(steelyard(*ask, "--value", "66.1", "--spec", "quant_algo=FP7"), "nearest", "line")


def loaded_by(*words: str) -> set[str]:
    """The modules that a command loads, in a fresh interpreter."""
    code = (
        "import sys, json\nfrom steelyard_old.cli.main import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit as stop:\n    assert stop.code == 0, stop.code\n"
        "print('\\n' + json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    )
    run = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True, env={**os.environ})
    return set(json.loads(run.stdout.splitlines()[-1]))


@pytest.mark.usefixtures("mmlu")
@pytest.mark.parametrize("format_", ["text", "json"])
def test_a_bare_value_loads_no_numpy(format_: str) -> None:
    loaded = loaded_by("check", "--task", "mmlu", "--model", LLAMA, "--value", "68", "--format", format_)
    assert not loaded & {"numpy", "scipy", "duckdb", "pandas"}
