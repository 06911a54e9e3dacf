"""What earlier versions wrote is read by this one, answered as it was then, and not changed by reading (tests/samples/README.md)."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.cli.main import main
from steelyard.results.reading import read_result

ROOT = Path(__file__).parent / "samples"
VERSIONS = sorted(path.name for path in ROOT.iterdir() if (path / "asked.json").is_file())
ASKED = {version: json.loads((ROOT / version / "asked.json").read_text(encoding="utf-8")) for version in VERSIONS}
CHECKS = [(version, name) for version in VERSIONS for name in ASKED[version] if name.startswith(("verdict_", "suite"))]
ANSWERS = [(path.parts[-3], path.stem) for version in VERSIONS for path in sorted((ROOT / version / "answers").glob("*.json"))]
SESSION = "session"  # the report of the pytest plugin: for other programs, no command of ours reads it
KINDS = {
    *("measurement", "comparison", "leaderboard", "plan", "verdict", "suite", "recorded", "references", "reference", "lint"),
    *("reference_history", "reference_change", "init", "history", "drift", "certificate", "accuracy-session"),
}
# Tasks whose numbers have a known range, one number per item: items at the ends of the range are counted in since, so p and bounds moved.
# Two AUCs of which one is perfect have bounds from the ends of each since.
JUDGED_ANEW = ("brier", "repeats", "probabilities")
# Tasks without a known range, or with groups, of which few items changed: unseen changes are counted into the bounds since.
BOUNDED_ANEW = ("groups", "speech")
SAID = (
    *("verdict", "task", "model", "spec", "metric", "higher_is_better", "scale", "design", "n"),
    *("alpha", "beta", "margin", "theta", "flips"),
)
Words = list[str]


def digests(folder: Path) -> dict[str, str]:
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in touched(folder)}


def touched(folder: Path) -> dict[str, tuple[int, int]]:
    """The size of every file, and when it was written last."""
    found = {}
    for place, _, names in os.walk(folder):
        if not place.endswith("__pycache__"):
            for name in names:
                status = os.stat(os.path.join(place, name))
                found[os.path.relpath(os.path.join(place, name), folder)] = (status.st_size, status.st_mtime_ns)
    return found


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """The samples where they may be harmed: tests show that reading does not."""
    there = tmp_path_factory.mktemp("samples")
    made = {version: Path(shutil.copytree(ROOT / version, there / version)) for version in VERSIONS}
    yield made
    for version, folder in made.items():
        assert digests(folder) == digests(ROOT / version), "reading has changed a file"


@contextlib.contextmanager
def standing_in(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@pytest.fixture
def reading(copies: dict[str, Path], request: pytest.FixtureRequest) -> Iterator[Path]:
    """The samples of a version as working directory; whatever the test reads, not one byte has changed at its end."""
    folder = copies[request.param]
    before = touched(folder)
    with standing_in(folder):
        yield folder
    assert touched(folder) == before, "reading has changed a file"


@pytest.fixture
def writing(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A copy of the samples of a version, for one test alone."""
    folder = tmp_path / "samples"
    shutil.copytree(ROOT / request.param, folder)
    with standing_in(folder):
        yield folder


every_version = pytest.mark.parametrize("reading", VERSIONS, indirect=True)
every_version_written = pytest.mark.parametrize("writing", VERSIONS, indirect=True)


def command(*words: str) -> tuple[str, int]:
    """What a command answers, and its exit code."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()) as said, pytest.raises(SystemExit) as stop:
        main(list(words))
    code = int(stop.value.code or 0)
    assert code not in (3, 70), f"{' '.join(words)}: {said.getvalue()}"
    return out.getvalue(), code


def answered(*words: str) -> tuple[dict[str, Any], int]:
    out, code = command(*words, "--format", "json", "--quiet")
    return json.loads(out), code


def sample(folder: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "answers" / f"{name}.json").read_text(encoding="utf-8"))
    return found


def without_history(words: Words) -> Words:
    """The same question, kept nowhere."""
    at = words.index("--history") if "--history" in words else len(words)
    return [*words[:at], *words[at + 2 :]]


def differences(old: Any, new: Any, path: str = "") -> list[str]:
    """Where what is read now is not what was written then: keys may be added, numbers agree to the digits of a calculation."""
    if isinstance(old, Mapping):
        if not isinstance(new, Mapping):
            return [f"{path}: {new!r} is no mapping"]
        lost = [f"{path}.{key} is gone" for key in old if key not in new]
        return lost + [each for key in old if key in new for each in differences(old[key], new[key], f"{path}.{key}")]
    if isinstance(old, list):
        if not isinstance(new, list | tuple) or len(old) != len(new):
            return [f"{path}: {len(old)} values are {new!r:.80}"]
        return [each for i, (a, b) in enumerate(zip(old, new, strict=True)) for each in differences(a, b, f"{path}[{i}]")]
    if isinstance(old, float) and isinstance(new, float):
        return [] if math.isclose(old, new, rel_tol=1e-6, abs_tol=1e-9) else [f"{path}: {old} is {new}"]
    same = type(old) is type(new) and old == new
    return [] if same or (isinstance(old, int | float) and old == new) else [f"{path}: {old!r:.80} is {new!r:.80}"]


def test_every_kind_of_answer_has_a_sample() -> None:
    found = {sample(ROOT / version, name)["kind"] for version, name in ANSWERS if version == "0.1.0"}
    assert found == KINDS
    assert {sample(ROOT / version, name).get("verdict") for version, name in ANSWERS} >= {"pass", "regression", "inconclusive"}
    goals = {sample(ROOT / version, name)["goal"] for version, name in ANSWERS if name.startswith("plan_")}
    assert goals == {"detect", "rule-out", "width", "threshold", "train", "designs"}


def test_samples_name_no_place_of_a_machine() -> None:
    for path in ROOT.rglob("*"):
        if path.is_file() and path.suffix != ".py" and "__pycache__" not in path.parts:
            assert not re.search(rb"(?<![\w.])/(work|root|home|tmp|Users|usr)/", path.read_bytes()), path


# ---- references ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("reading", "name"), CHECKS, indirect=["reading"])
def test_a_check_gives_the_verdict_of_then(reading: Path, name: str) -> None:
    """References of every kind of outcome; runs that stopped early are replayed by their notes."""
    asked, old = json.loads(Path("asked.json").read_text(encoding="utf-8"))[name], sample(reading, name)
    new, code = answered(*without_history(asked["words"]))
    assert code == asked["code"]
    pairs = [(old, new)] if old["kind"] == "verdict" else list(zip(old["verdicts"], new["verdicts"], strict=True))
    assert old["verdict"] == new["verdict"]
    for before, now in pairs:
        assert differences({key: before[key] for key in SAID}, now) == []
        for side in ("reference", "candidate"):
            assert differences({key: before[side].get(key) for key in ("value", "n") if key in before[side]}, now[side]) == []
        if before["task"] in JUDGED_ANEW and now["test"] != before["test"]:
            assert (now["p_value"] <= now["alpha"]) == (before["p_value"] <= before["alpha"])
            assert differences({"estimate": before["difference"]["estimate"]}, now["difference"]) == []
            continue
        kept = ("estimate",) if before["task"] in BOUNDED_ANEW else tuple(before["difference"])
        assert differences({key: before["difference"][key] for key in kept}, now["difference"]) == []
        assert differences({"p_value": before["p_value"]}, now) == []


@every_version
def test_references_are_listed_shown_and_told_of(reading: Path) -> None:
    old, (new, code) = sample(reading, "references"), answered("references", "list")
    assert code == 0
    pinned = ("task", "model", "spec", "metric", "value", "n", "runs", "recorded", "by")
    assert differences([{key: row[key] for key in pinned if key in row} for row in old["rows"]], new["rows"]) == []
    for row in old["rows"]:
        spec = [word for key, value in (row["spec"] or {}).items() for word in ("--spec", f"{key}={value}")]
        shown, code = answered("references", "show", row["task"], row["model"], *spec)
        assert code == 0
        assert shown["task"] == row["task"]
        told, code = answered("references", "history", row["task"])
        assert code == 0
        assert told["kind"] == "reference_history"
    told, _ = answered("references", "history", "changed")
    assert differences(sample(reading, "reference_history")["series"], told["series"]) == []


@every_version
def test_lint_finds_no_error(reading: Path) -> None:
    told, code = answered("references", "lint")
    assert code == 0, told["findings"]


@every_version_written
def test_a_reference_can_be_changed(writing: Path) -> None:
    """Old files are written to as well: replaced, renamed, approved, removed, each with its line of history."""
    before = len(Path("references/bits.history.jsonl").read_text(encoding="utf-8").splitlines())
    assert command("record", "data/bits_worse.csv", "--task", "bits", "--model", "m", "--update", "--reason", "meant")[1] == 0
    assert command("references", "rename", "bits", "m", "other", "--reason", "its name on the hub")[1] == 0
    assert command("references", "approve", "bits", "other", "--reason", "looked at")[1] == 0
    assert answered("check", "data/bits_worse.csv", "--task", "bits", "--model", "other")[0]["verdict"] == "pass"
    assert command("references", "remove", "bits", "other", "--reason", "no longer served")[1] == 0
    assert len(Path("references/bits.history.jsonl").read_text(encoding="utf-8").splitlines()) == before + 4
    assert command("references", "lint")[1] == 0


# ---- runs ------------------------------------------------------------------------------------------------------------


@every_version
def test_rows_of_runs_are_measured_and_compared(reading: Path) -> None:
    for path in sorted(reading.glob("runs/*.jsonl")):
        found, code = answered("measure", str(path.relative_to(reading)), "--metric", "mean")
        assert code == 0
        assert found["kind"] == "measurement"
    found, _ = answered("compare", "runs/complete.jsonl", "runs/few_wrong.jsonl", "--metric", "accuracy")
    assert found["flips"] == {"both": 198, "baseline_only": 2, "candidate_only": 0, "neither": 0}


@every_version_written
def test_a_complete_run_can_be_recorded(writing: Path) -> None:
    old = sample(writing, "recorded_run")
    new, code = answered("record", "runs/complete.jsonl", "--task", "again", "--model", "m")
    assert code == 0
    assert differences({key: old[key] for key in ("metric", "scale", "value", "n", "runs")}, new) == []


@every_version_written
def test_a_killed_run_goes_on_and_asks_nothing_twice(writing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = json.loads(Path("asked.json").read_text(encoding="utf-8"))["killed"]["words"]
    lines = [json.loads(line) for line in Path("runs/killed.jsonl.journal").read_text(encoding="utf-8").splitlines()]
    known = {line["id"] for line in lines if "key" in line}
    assert 60 <= len(known) < 200
    with monkeypatch.context() as patch:
        patch.setattr(sys, "path", list(sys.path))
        patch.delitem(sys.modules, "models", raising=False)
        assert command(*words)[1] == 0
        sys.modules.pop("models", None)
    rows = [json.loads(line) for line in Path("runs/killed.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) == len({row["id"] for row in rows}) == 200
    asked = [int(text.split()[0]) for text in Path("asked.txt").read_text(encoding="utf-8").splitlines()]
    assert sorted([f"s{number:03}" for number in asked] + list(known)) == sorted(row["id"] for row in rows)
    assert not Path("runs/killed.jsonl.journal").exists()


# ---- the history -----------------------------------------------------------------------------------------------------


@every_version
def test_the_history_is_listed_compared_and_searched_for_drift(reading: Path) -> None:
    place = ("history", "--history", "sqlite:///history/runs.db")
    old, (new, _) = sample(reading, "history"), answered(*place, "--limit", "8")
    assert differences(old["runs"], new["runs"]) == []
    for verdict in ("pass", "regression", "inconclusive"):
        assert answered(*place, "--verdict", verdict)[0]["runs"]
    commands = {run["command"] for run in answered(*place, "--limit", "1000")[0]["runs"]}
    assert commands == {"record", "check", "run"}
    old, (new, code) = sample(reading, "drift"), answered(*place, "--task", "nights", "--model", "m", "--drift")
    assert code == json.loads(Path("asked.json").read_text(encoding="utf-8"))["drift"]["code"]
    for answer in (old, new):  # 0.1.0 gave those of normal runs; these are shares of 80 items, which alarm more often
        lengths = [answer["chart"].pop(name) for name in ("average_run_length", "average_run_length_after")]
        assert 5 < lengths[1] < lengths[0] < 1000
        assert any("left out" in said for said in answer.pop("warnings"))  # in other words than before
        assert "drift shown over" in answer.pop("conclusion")
    assert differences({key: value for key, value in old.items() if key != "signature"}, new) == []
    ids = [run["id"] for run in answered(*place, "--task", "nights")[0]["runs"]]
    compared, _ = answered(*place, "--compare", ids[-2], ids[0])
    assert compared["kind"] == "comparison"
    assert compared["n"] == 80


@every_version_written
def test_the_history_is_added_to(writing: Path) -> None:
    place = ("--history", "sqlite:///history/runs.db")
    before = answered("history", *place, "--limit", "1000")[0]["runs"]
    assert command("check", "data/night8.csv", "--task", "nights", "--model", "m", *place)[1] == 1
    after = answered("history", *place, "--limit", "1000")[0]["runs"]
    assert after[1:] == before


# ---- answers and cards -----------------------------------------------------------------------------------------------


@every_version
def test_answers_are_read_again(reading: Path, tmp_path: Path) -> None:
    """Every value of them is there again, and `report` makes a page of one of each kind; of all of them together below."""
    reported = set()
    for name in (name for version, name in ANSWERS if version == reading.name and name != SESSION):
        old = sample(reading, name)
        assert differences(_unversioned(old), _unversioned(read_result(f"answers/{name}.json").to_dict())) == [], name
        if old["kind"] not in reported:
            reported.add(old["kind"])
            assert command("report", f"answers/{name}.json", "-o", str(tmp_path / "page.html"))[1] == 0
            assert "</html>" in (tmp_path / "page.html").read_text(encoding="utf-8")


def _unversioned(plain: Any) -> Any:
    """An answer without the version in its signatures: that of the reader may be another."""
    text = re.sub(r"\|steelyard:[^|\"]+", "", json.dumps(plain))
    return json.loads(text)


@every_version
def test_one_page_of_all(reading: Path, tmp_path: Path) -> None:
    names = [f"answers/{path.name}" for path in sorted(reading.glob("answers/*.json")) if path.stem != SESSION]
    assert command("report", *names, "-o", str(tmp_path / "all.html"))[1] == 0
    words = ("report", "answers/comparison_bits.json", "--flips", "answers/flips.csv", "-o", str(tmp_path / "flips.html"))
    assert command(*words)[1] == 0
    assert "q0" in (tmp_path / "flips.html").read_text(encoding="utf-8")


@every_version
def test_a_measurement_goes_on_without_its_data(reading: Path) -> None:
    """What was counted is in the answer: a result that was read is asked again."""
    found = sy.Measurement.from_dict(sample(reading, "measurement_labels"))
    assert found["macro_f1"].estimate == pytest.approx(sy.measure("data/labels.csv", metric="macro_f1").estimate)


@every_version_written
def test_cards_are_updated(writing: Path) -> None:
    card = Path("cards/README.md")
    card.write_text(card.read_text(encoding="utf-8") + "\nWritten by a person.\n", encoding="utf-8")
    words = ("report", "lab/bits=answers/measurement_counts.json", "--model", "lab/m")
    about = ("--about", "organization=lab", "--about", "retrieved=1700000000")
    assert command(*words, "--card", str(card), "--google-card", "cards/google.json", "--every-eval-ever", "cards", *about)[1] == 0
    assert command(*words, "--eval-results", "cards/.eval_results/bits.yaml", "--metric", "accuracy")[1] == 0
    page = card.read_text(encoding="utf-8")
    assert "Written by a person." in page
    assert "0.85" in page


@every_version
def test_records_of_every_eval_ever_are_sources(reading: Path) -> None:
    found, _ = answered("measure", "cards/every-eval-ever.json")
    assert differences(sample(reading, "measurement_bits")["metrics"][0]["estimate"], found["metrics"][0]["estimate"]) == []
