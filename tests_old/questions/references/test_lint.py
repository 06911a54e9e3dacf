"""What lint finds: on the real files of TensorRT-LLM, on files with one fault each, and nothing where nothing is wrong."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from datetime import date
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard_old as sy
from steelyard_old.errors import SourceError, UsageError
from steelyard_old.questions.references.lint import lint_references, one_way
from steelyard_old.reference.changes import Change
from steelyard_old.reference.task_file import load_task_file
from steelyard_old.results.references import Finding, Lint

REAL = Path(__file__).parents[2] / "reference" / "trtllm"
TODAY = date(2026, 11, 1)
# An entry in which nothing is wrong.
GOOD = """m:
  - accuracy: 0.75
    num_samples: 1000
    sigma: 0.5
    scale: fraction
    runs: 5
    recorded: "2026-10-01T00:00:00Z"
    by: someone
    commit: abc
    reason: first
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "references").mkdir()
    return tmp_path


def put(here: Path, text: str, task: str = "t") -> Path:
    path = here / "references" / f"{task}.yaml"
    path.write_text(text)
    return path


def configured(here: Path, text: str) -> None:
    (here / "steelyard.toml").write_text(text)


def found(lint: Lint, code: str) -> list[Finding]:
    return [finding for finding in lint.findings if finding.code == code]


def codes(lint: Lint) -> set[str]:
    return {finding.code for finding in lint.findings}


def run(here: Path, name: str, right: int, n: int = 40) -> str:
    path = here / f"{name}.jsonl"
    path.write_text("".join(json.dumps({"id": f"q{i:03}", "score": int(i < right)}) + "\n" for i in range(n)))
    return str(path)


# ---- the real files ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def real(here: Path) -> Path:
    shutil.copytree(REAL, here / "references", dirs_exist_ok=True)
    (here / "references" / "PROVENANCE.txt").unlink()
    configured(
        here,
        """
        [tasks.gpqa_diamond]
        num_samples = 198
        sigma = 50
        scale = "percent"
        [tasks.longbench_v2]
        num_samples = 215
        sigma = 50
        scale = "percent"
        chance = 25
        [tasks.cnn_dailymail]
        metric = "rouge1"
        scale = "raw"
        """,
    )
    return here


def test_the_known_faults_of_the_real_files_are_found(real: Path) -> None:
    lint = lint_references(today=TODAY)
    assert (lint.files, lint.entries) == (16, 589)
    assert [(f.file, f.line, f.level) for f in found(lint, "duplicate")] == [("references/gpqa_diamond.yaml", 11, "warning")]
    assert {(f.file, f.line, f.model) for f in found(lint, "shadowed")} == {
        ("references/gsm8k.yaml", 445, "nvidia/Nemotron-Super-V3"),
        ("references/mmlu.yaml", 375, "nvidia/Nemotron-Super-V3"),
    }
    zero = [f for f in found(lint, "placeholder") if f.level == "error"]
    assert [(f.file, f.line) for f in zero] == [("references/cnn_dailymail.yaml", 152), ("references/cnn_dailymail.yaml", 263)]
    assert len(found(lint_references("gpqa_diamond"), "not-k-of-n")) == 23  # of 30
    assert [(f.line, f.level) for f in found(lint, "chance")] == [(11, "error")]  # 25.8 on 215 items: threshold 17.9
    assert [f.file for f in found(lint, "unreadable")] == ["references/acceptance_length.yaml"]
    assert lint.exit_code == 1


def test_rouge_is_no_share_of_right_answers(real: Path) -> None:
    assert not found(lint_references("cnn_dailymail"), "not-k-of-n")  # two rows say num_samples: 32


def test_imported_real_files_are_no_worse_than_they_were(real: Path) -> None:
    from steelyard_old.questions.references.importing import import_references

    for name in ("gpqa_diamond", "acceptance_length"):
        import_references(REAL / f"{name}.yaml", dialect="trtllm", directory=real / "mine")
    lint = lint_references(directory=real / "mine", today=TODAY)
    assert lint.entries == 41
    assert not {"edited", "ratchet", "history", "unreadable"} & codes(lint)


# ---- one fault each -----------------------------------------------------------------------------------------------------------


def test_nothing_is_found_where_nothing_is_wrong(here: Path) -> None:
    put(here, GOOD)
    configured(here, "[policy]\nmax_theta = 0.1\nrequire_provenance = true\nstale_days = 60\n[tasks.t]\nchance = 0.25\n")
    lint = lint_references(today=TODAY)
    assert lint.findings == ()
    assert lint.exit_code == 0
    assert "nothing found" in lint.conclusion


POLICY = "[policy]\n{}\n"
FAULTS = {
    "ambiguous": (GOOD + "  - accuracy: 0.5\n", "", "ambiguous", "error"),
    "duplicate": (GOOD + "  - accuracy: 0.75\n", "", "duplicate", "warning"),
    "no k of n": (GOOD.replace("0.75", "0.7505"), "", "not-k-of-n", "warning"),
    "zero": (GOOD.replace("0.75", "0.0"), "", "placeholder", "error"),
    "zero of a loss": (GOOD.replace("accuracy: 0.75", "wer: 0"), "", "placeholder", "warning"),
    "a promise": (GOOD.replace("0.75", "0.75 # update after first run"), "", "placeholder", "warning"),
    "outside": (GOOD.replace("0.75", "75.0"), "", "range", "error"),
    "negative": (GOOD.replace("0.75", "-0.1"), "", "range", "error"),
    "no rule": (GOOD + "    alpha: 0.7\n", "", "rule", "error"),
    "a coin": (GOOD + "    alpha: 0.5\n", "", "alpha", "warning"),
    "sigma": (GOOD.replace("sigma: 0.5", "sigma: 0"), "", "sigma", "warning"),
    "chance": (GOOD.replace("0.75", "0.26"), "[tasks.t]\nchance = 0.25\n", "chance", "error"),
    "chance of an error": (
        GOOD.replace("accuracy: 0.75", "error: 0.74"),
        "[tasks.t]\nchance = 0.75\n",
        "chance",
        "error",
    ),
    "unfailing": (GOOD.replace("0.75", "0.01").replace("1000", "100"), "", "threshold-range", "error"),
    "floor out of range": (GOOD + "    threshold: 1.5\n", "", "threshold-range", "error"),
    "theta": (GOOD, POLICY.format("max_theta = 0.01"), "theta", "error"),
    "declared theta": (GOOD + "    theta: 0.2\n", POLICY.format("max_theta = 0.1"), "theta", "error"),
    "provenance": (GOOD.replace("    by: someone\n", ""), POLICY.format("require_provenance = true"), "provenance", "error"),
    "provenance unasked": (GOOD.replace("    by: someone\n", ""), "", "provenance", "note"),
    "stale": (GOOD.replace("2026-10", "2025-10"), POLICY.format("stale_days = 180"), "stale", "warning"),
    "no date": (GOOD.replace("2026-10-01T00:00:00Z", "last week"), "", "recorded", "warning"),
    "a date to come": (GOOD.replace("2026-10", "2027-10"), "", "recorded", "warning"),
    "few runs": (GOOD.replace("runs: 5", "runs: 2"), "", "few-runs", "warning"),
    "spelling of the spec": (
        GOOD + "  - quant_algo: FP8\n    accuracy: 0.5\n  - quant_algo: fp8\n    accuracy: 0.5\n",
        "",
        "spelling",
        "warning",
    ),
    "spelling of the model": (GOOD + GOOD.replace("m:", "M:", 1), "", "spelling", "warning"),
    "hash of no items": (GOOD + "    items_hash: abc\n", "", "items", "error"),
    "items that are gone": (GOOD + "    items: t.items/gone.outcomes\n", "", "items", "error"),
    "items that lie elsewhere": (GOOD + "    items: ../../etc/passwd\n", "", "items", "error"),
    "unknown task": (GOOD, "[tasks.tt]\nalpha = 0.05\n", "unknown-task", "warning"),
    "no scale": (GOOD.replace("    scale: fraction\n", ""), "", "scale", "note"),
    "no threshold": (GOOD.replace("    num_samples: 1000\n", ""), "", "no-threshold", "note"),
    "not YAML": (GOOD + "  oops\n", "", "unreadable", "error"),
    "unknown key": (GOOD + "    sigmaa: 1\n", "", "unreadable", "error"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_with_its_level_and_line(here: Path, name: str) -> None:
    text, config, code, level = FAULTS[name]
    put(here, text)
    configured(here, config)
    lint = lint_references(today=TODAY)
    (finding, *_) = found(lint, code)
    assert finding.level == level
    assert finding.sentence
    whole_file = code in ("unknown-task", "scale", "no-threshold") or name == "provenance unasked"
    assert (finding.line is None) == whole_file
    assert lint.exit_code == int(level == "error" or any(f.level == "error" for f in lint.findings))


@pytest.mark.parametrize(("floor", "at_chance"), [(0.24, True), (0.25, True), (0.2501, False)])
def test_chance_itself_is_too_low_and_just_above_is_not(here: Path, floor: float, at_chance: bool) -> None:
    put(here, GOOD + f"    threshold: {floor}\n")
    configured(here, "[tasks.t]\nchance = 0.25\n")
    assert bool(found(lint_references(today=TODAY), "chance")) == at_chance


def test_strict_lets_warnings_count_and_notes_never(here: Path) -> None:
    put(here, GOOD.replace("runs: 5", "runs: 2"))
    assert (lint_references(today=TODAY).exit_code, lint_references(strict=True, today=TODAY).exit_code) == (0, 1)
    put(here, GOOD.replace("    scale: fraction\n", ""))
    assert codes(lint_references(today=TODAY)) == {"scale"}
    assert lint_references(strict=True, today=TODAY).exit_code == 0


def test_one_bad_file_does_not_hide_another(here: Path) -> None:
    put(here, "a: [", "broken")
    put(here, GOOD.replace("0.75", "0.0"))
    assert {"unreadable", "placeholder"} <= codes(lint_references(today=TODAY))


def test_files_that_are_never_read(here: Path) -> None:
    put(here, GOOD)
    (here / "references" / "u.yml").write_text(GOOD)
    (here / "references" / "a b.yaml").write_text(GOOD)
    (here / "references" / "gone.items").mkdir()
    (here / "references" / "gone.history.jsonl").write_text("")
    lint = lint_references(today=TODAY)
    assert (lint.files, lint.entries) == (1, 1)
    assert sorted(f.file for f in found(lint, "name")) == ["references/a b.yaml", "references/u.yml"]
    assert {(f.file, f.level) for f in found(lint, "orphan")} == {
        ("references/gone.items", "warning"),
        ("references/gone.history.jsonl", "note"),
    }


def test_a_task_or_directory_that_is_not_there(here: Path) -> None:
    with pytest.raises(SourceError, match="no file"):
        lint_references("nope")
    with pytest.raises(UsageError, match="name of the task"):
        lint_references("../x")
    with pytest.raises(SourceError, match=r"sy\.init"):
        lint_references(directory=here / "nowhere")


# ---- k of n ---------------------------------------------------------------------------------------------------------------------


@given(n=st.integers(1, 60), k=st.integers(0, 60), digits=st.integers(1, 9), percent=st.booleans())
def test_no_rounded_share_is_ever_called_impossible(
    tmp_path_factory: pytest.TempPathFactory, n: int, k: int, digits: int, percent: bool
) -> None:
    k = 1 + k % n
    unit = 100 if percent else 1
    _check_share(tmp_path_factory.mktemp("share"), f"{k / n * unit:.{digits}f}", n, "percent" if percent else "fraction", possible=True)


def test_what_no_share_rounds_to_is_called_impossible(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Every k is tried: the slow way to know whether a printed value is one of them."""
    draw = random.Random(5)
    seen = set()
    for _ in range(60):
        n, digits = draw.randint(2, 200), draw.randint(1, 4)
        text = f"{draw.uniform(0.1, 99.9):.{digits}f}"
        half = 0.5 * 10.0**-digits
        possible = any(abs(k / n * 100 - float(text)) <= half + 1e-9 for k in range(n + 1))
        seen.add(possible)
        _check_share(tmp_path_factory.mktemp("share"), text, n, "percent", possible=possible)
    assert seen == {True, False}


def _check_share(where: Path, text: str, n: int, scale: str, *, possible: bool) -> None:
    if float(text) == 0:
        return
    (where / "t.yaml").write_text(f"m:\n  - accuracy: {text}\n    num_samples: {n}\n    scale: {scale}\n")
    impossible = [f for f in lint_references(directory=where, today=TODAY).findings if f.code == "not-k-of-n"]
    assert bool(impossible) != possible, (text, n)


def test_pooled_runs_have_more_shares(here: Path) -> None:
    put(here, GOOD.replace("0.75", "0.7502").replace("runs: 5", "runs: 5"))
    assert not found(lint_references(today=TODAY), "not-k-of-n")  # 3751 of 5000
    put(here, GOOD.replace("0.75", "0.7502").replace("runs: 5", "runs: 1"))
    (finding,) = found(lint_references(today=TODAY), "not-k-of-n")
    assert "750/1,000 = 0.75 and 751/1,000 = 0.751" in finding.sentence


# ---- items ----------------------------------------------------------------------------------------------------------------------


def recorded(here: Path, *right: int) -> Path:
    sy.record(*(run(here, f"r{i}", k) for i, k in enumerate(right)), task="t", model="m", reason="first", scale="percent")
    return here / "references" / "t.yaml"


def test_a_fresh_record_fits_its_items(here: Path) -> None:
    recorded(here, 30, 32, 28, 30, 31)
    assert codes(lint_references()) <= {"provenance"}  # no commit here: a note


@pytest.mark.parametrize(("chance", "at_chance"), [(70, False), (75, True)])
def test_a_paired_reference_is_held_against_chance_by_its_value(here: Path, chance: int, at_chance: bool) -> None:
    recorded(here, 30)  # 75 percent of 40: a bare score of 60 would pass, a paired run would not
    configured(here, f"[tasks.t]\nchance = {chance}\n")
    assert bool(found(lint_references(), "chance")) == at_chance


def test_a_value_that_its_items_do_not_give(here: Path) -> None:
    path = recorded(here, 30)
    path.write_text(path.read_text().replace("accuracy: 75.0", "accuracy: 70.0"))
    lint = lint_references()
    assert [f.level for f in found(lint, "value")] == ["error"]
    assert "75" in found(lint, "value")[0].sentence
    assert found(lint, "edited")  # the history knows better, too


def test_the_best_of_the_runs_is_no_reference(here: Path) -> None:
    path = recorded(here, 30, 32, 28, 30, 30)
    path.write_text(path.read_text().replace("accuracy: 75.0", "accuracy: 80.0"))
    (finding,) = found(lint_references(), "one-of-runs")
    assert "the highest of 5 runs" in finding.sentence
    path.write_text(path.read_text().replace("accuracy: 80.0", "accuracy: 70.0"))
    (finding,) = found(lint_references(), "one-of-runs")
    assert "the lowest of 5 runs" in finding.sentence


@pytest.mark.parametrize(
    ("old", "new"),
    [("num_samples: 40", "num_samples: 41"), ("runs: 1", "runs: 2"), ("items_hash: ", "items_hash: 0")],
)
def test_an_entry_that_its_items_contradict(here: Path, old: str, new: str) -> None:
    path = recorded(here, 30)
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    assert [f.level for f in found(lint_references(), "items")] == ["error"]


@pytest.mark.parametrize("suffix", [".outcomes", ".items"])
@pytest.mark.parametrize("damage", ["gone", "cut", "flipped"])
def test_damaged_items_are_found(here: Path, suffix: str, damage: str) -> None:
    recorded(here, 30)
    (file,) = (here / "references" / "t.items").glob(f"*{suffix}")
    data = file.read_bytes()
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(data[:-5] if damage == "cut" else data[:-3] + bytes([data[-3] ^ 1]) + data[-2:])
    assert [f.level for f in found(lint_references(), "items")] == ["error"]


def test_outcomes_of_nobody(here: Path) -> None:
    path = recorded(here, 30)
    path.write_text("")
    orphans = found(lint_references(), "orphan")
    assert [Path(f.file).suffix for f in orphans] == [".outcomes"]
    next((here / "references" / "t.items").glob("*.outcomes")).unlink()
    assert [Path(f.file).suffix for f in found(lint_references(), "orphan")] == [".items"]


# ---- history --------------------------------------------------------------------------------------------------------------------


def told(here: Path, *values: float, model: str = "m") -> Lint:
    """Lint of an entry whose history says these values, the last of which is on file."""
    put(here, GOOD.replace("0.75", repr(values[-1])))
    steps = pairwise(values)
    lines = [Change(action="update", model=model, old=old, new=new).line() for old, new in steps]
    (here / "references" / "t.history.jsonl").write_bytes(b"".join(lines))
    return lint_references(today=TODAY)


@pytest.mark.parametrize(
    ("values", "level", "words"),
    [
        ((0.75, 0.745, 0.74), "note", "down 2 times in a row, 0.75 to 0.74, together -0.01"),
        ((0.75, 0.745, 0.74, 0.735), "warning", "down 3 times"),
        ((0.75, 0.70, 0.65), "warning", "more than the"),
        ((0.70, 0.705, 0.71, 0.715), "warning", "lucky"),
        ((0.70, 0.80, 0.79, 0.78), "note", "0.8 to 0.78"),
    ],
)
def test_a_ratchet_is_told_with_its_sum(here: Path, values: tuple[float, ...], level: str, words: str) -> None:
    (finding,) = found(told(here, *values), "ratchet")
    assert finding.level == level
    assert words in finding.sentence


@pytest.mark.parametrize("values", [(0.75, 0.74), (0.75, 0.74, 0.75), (0.74, 0.75, 0.75, 0.74)])
def test_back_and_forth_is_no_ratchet(here: Path, values: tuple[float, ...]) -> None:
    assert not found(told(here, *values), "ratchet")


def test_down_is_good_for_a_loss(here: Path) -> None:
    put(here, GOOD.replace("accuracy: 0.75", "error: 0.25"))
    lines = [Change(action="update", model="m", old=old, new=new).line() for old, new in ((0.28, 0.27), (0.27, 0.26), (0.26, 0.25))]
    (here / "references" / "t.history.jsonl").write_bytes(b"".join(lines))
    (finding,) = found(lint_references(today=TODAY), "ratchet")
    assert "down 3 times" in finding.sentence
    assert "lucky" in finding.sentence


def test_a_history_that_cannot_be_read_is_an_error_and_a_torn_line_a_warning(here: Path) -> None:
    put(here, GOOD)
    path = here / "references" / "t.history.jsonl"
    path.write_bytes(b"<<<<<<< HEAD\n")
    assert [f.level for f in found(lint_references(today=TODAY), "history")] == ["error"]
    path.write_bytes(Change(action="record", model="m", new=0.75).line() + b'{"action": "upd')
    assert [f.level for f in found(lint_references(today=TODAY), "history")] == ["warning"]


@given(st.lists(st.integers(0, 3), max_size=12))
def test_one_way_is_the_longest_tail_that_a_loop_finds(values: list[int]) -> None:
    distinct = [value for i, value in enumerate(values) if i == 0 or value != values[i - 1]]
    tails = [distinct[i:] for i in range(len(distinct))]
    longest = max((len(t) - 1 for t in tails if t == sorted(t) or t == sorted(t, reverse=True)), default=0)
    assert one_way([float(value) for value in values]) == longest


# ---- weight ---------------------------------------------------------------------------------------------------------------------


def test_lint_of_bare_values_loads_no_numpy() -> None:
    ask = "from steelyard_old.questions.references.lint import lint_references as lint; lint(directory='.')"
    said = subprocess.run(
        [sys.executable, "-c", f"import sys; {ask}; print('numpy' in sys.modules)"], capture_output=True, text=True, check=True, cwd=REAL
    )
    assert said.stdout.strip() == "False"


def test_every_real_value_is_read_as_it_is_written() -> None:
    from steelyard_old.questions.references.lint_values import raw_values

    for path in REAL.glob("*.yaml"):
        if path.stem != "acceptance_length":
            file = load_task_file(path)
            assert [float(raw) for raw in raw_values(file)] == [entry.value for entry in file.entries]


def test_texts_that_other_readers_take_for_something_else_are_told_once(here: Path) -> None:
    """As 0.1.0 wrote them: without quotes."""
    put(here, GOOD.replace("m:", "no:", 1) + "  - dtype: on\n    accuracy: 0.5\n    reason: 12:30:45\n" + "'yes':\n  - accuracy: 0.5\n")
    (warning,) = found(lint_references("t", today=TODAY), "yaml")
    assert warning.level == "warning"
    assert warning.sentence == (
        "3 texts are something else for other YAML readers (line 1: no is true or false; line 11: on is true or false; "
        'line 13: 12:30:45 is a number): write "no" in quotes'
    )


def test_dates_that_0_1_0_wrote_are_a_note(here: Path) -> None:
    put(here, GOOD.replace('"', ""))
    (note,) = found(lint_references("t", today=TODAY), "yaml")
    assert note.level == "note"
    assert "2026-10-01T00:00:00Z is a date" in note.sentence


def test_what_is_recorded_now_is_read_alike_by_all(here: Path) -> None:
    sy.record(run(here, "a", 30), task="t", model="no", spec={"dtype": "on"}, reason="2026-01-31", protocol={"shots": "1e3"})
    assert not found(lint_references("t"), "yaml")


def test_many_findings_of_a_kind_are_counted_after_the_first_three(here: Path) -> None:
    put(here, "".join(f"m{i}:\n  - accuracy: 0.123\n    num_samples: 10\n    runs: 1\n" for i in range(200)) + "z:\n  - accuracy: 0\n")
    lint = lint_references("t", today=TODAY)
    text = str(lint)
    assert len(text.splitlines()) < 40
    assert text.count("(not-k-of-n)") == 4
    assert "warning: 197 more like these (not-k-of-n), in references/t.yaml (197)" in text
    assert "every=True lists all findings." in text
    assert "no run can score lower" in " ".join(text.split())  # an error is always shown
    assert len(lint.to_dict()["findings"]) > 400
    every = str(lint_references("t", today=TODAY, every=True))
    assert every.count("(not-k-of-n)") == 200
    assert "--all" not in every


def test_four_findings_of_a_kind_are_all_shown(here: Path) -> None:
    put(here, "".join(f"m{i}:\n  - accuracy: 0.123\n    num_samples: 10\n" for i in range(4)))
    assert str(lint_references("t", today=TODAY)).count("(not-k-of-n)") == 4
