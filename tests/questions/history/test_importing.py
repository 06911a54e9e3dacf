"""Scores of another accuracy suite in the history: pytest logs and JUnit files, each report once, nothing guessed."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from statistics import NormalDist
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import pytest
from click.testing import CliRunner

import steelyard as sy
from cases import every
from steelyard.cli.main import steelyard
from steelyard.errors import DataError, SourceError, UsageError
from steelyard.history.store import open_history
from steelyard.read.suite_reports import LARGEST_XML, read_suite_log

URL = "sqlite:///runs.db"
NIGHTLY = Path(__file__).parents[3] / "docs" / "data" / "out" / "suite" / "nightly.log"


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def report(
    value: float | str | None,
    reference: float = 74.2,
    n: int = 1319,
    *,
    metric: str = "accuracy",
    threshold: float | None = None,
    **rule: Any,
) -> str:
    """As the suite prints it; without a value it ends before its last line."""
    alpha, beta, sigma, up = (rule.get(name, usual) for name, usual in (("alpha", 0.05), ("beta", 0.2), ("sigma", 50.0), ("up", True)))
    step = NormalDist().inv_cdf(alpha) * math.sqrt(2 * sigma**2 / n)
    floor = reference + (step if up else -step) if threshold is None else threshold
    bar = "=" * 59
    lines = [
        *(bar, f"= {metric.upper()} HYPOTHESIS TESTING", bar),
        f"Alpha (Type I:  False Positive): {alpha:.3f}",
        f"Beta  (Type II: False Negative): {beta:.3f}",
        f"Sigma (Standard deviation): {sigma:.3f}",
        f"#Samples: {n}",
        f"Higher is better: {up}",
        "Theta (Minimum detectable effect): 4.841",
        f"Reference {metric}: {reference:.3f}",
        *(f"Threshold: {floor:.3f}", bar),
        *([] if value is None else [f"Evaluated {metric}: {value if isinstance(value, str) else f'{value:.3f}'}", bar]),
    ]
    return "\n".join(lines) + "\n"


def log(*parts: str, name: str = "night.log") -> str:
    Path(name).write_text("".join(parts), encoding="utf-8")
    return name


TEST = "accuracy/test_api.py::TestM::test_fp8[tp=2] [11/16/2026-02:11:07] [I] loading\n"
GSM8K = "[11/16/2026-02:31:40] [I] lm-eval gsm8k average accuracy: 74.38\n"


def junit(text: str = "", *, properties: dict[str, object] | None = None, message: str = "", stamp: str = "2026-11-16T02:00:00") -> str:
    inside = "".join(f"<property name={quoteattr(k)} value={quoteattr(str(v))}/>" for k, v in (properties or {}).items())
    failure = f"<failure message={quoteattr(message)}>{escape(message)}</failure>" if message else ""
    case = f'<testcase classname="accuracy.test_api.TestM" name="test_fp8[tp=2]" time="3">{failure}'
    case += f"<properties>{inside}</properties><system-out>{escape(text)}</system-out></testcase>"
    Path("junit.xml").write_text(
        f'<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="pytest" timestamp="{stamp}">{case}</testsuite></testsuites>',
        encoding="utf-8",
    )
    return "junit.xml"


# ---- logs ------------------------------------------------------------------------------------------------------------------


def test_a_night_is_imported_once_with_its_verdicts() -> None:
    found = sy.import_runs(NIGHTLY, history=URL)
    assert found.asked == {"added": 3, "already_there": 0, "unread": 1}
    told = {(run.task, run.model, run.verdict, run.time[:16]) for run in found}
    assert told == {
        ("mmlu", "TestSmall8B::test_bfloat16[attn=TRTLLM]", "pass", "2026-11-16T02:31"),
        ("gsm8k", "TestSmall8B::test_bfloat16[attn=TRTLLM]", "pass", "2026-11-16T02:38"),
        ("gsm8k", "TestSmall8B::test_fp8", "regression", "2026-11-16T02:55"),
    }
    assert "line 57: a report without its evaluated score" in found.warnings[0]
    shutil.copy(NIGHTLY, "renamed.txt")
    for path in (NIGHTLY, "renamed.txt"):
        again = sy.import_runs(path, history=URL)
        assert again.asked == {"added": 0, "already_there": 3, "unread": 1}
    assert sy.list_runs(URL).total == 3


def test_a_report_is_judged_as_its_suite_judges_it() -> None:
    """The threshold of 74.20 on 1,319 items is 70.997 (golden number of the suite)."""
    (run,) = sy.import_runs(log(TEST, GSM8K, report(70.5)), history=URL)
    assert (run.task, run.metric, run.scale, run.n, run.verdict) == ("gsm8k", "accuracy", "percent", 1319, "regression")
    assert run.threshold == pytest.approx(70.997, abs=5e-4)
    assert run.difference == pytest.approx(-3.7)
    with open_history(URL) as history:
        assert history.run(run.id).result["kind"] == "verdict"  # type: ignore[index]


def test_lower_is_better_where_the_report_says_so() -> None:
    worse = report(9.5, 6.2, 1842, metric="wer", up=False)
    (run,) = sy.import_runs(log(TEST, worse), history=URL, task="voxpopuli")
    assert (run.metric, run.higher_is_better, run.verdict) == ("wer", False, "regression")
    assert run.threshold == pytest.approx(8.910, abs=5e-4)


def test_the_task_follows_from_the_numbers_only_where_one_fits() -> None:
    found = sy.import_runs(log(TEST, report(31.0, 33.64, 512, metric="rouge1", sigma=11.06, alpha=0.002)), history=URL)
    assert [run.task for run in found] == ["cnn_dailymail"]
    assert any("the task is taken from its numbers" in each for each in found.warnings)
    with pytest.raises(DataError, match=r"line 3.*fit 2 tasks: gsm8k, gsm8k_inferencemax.*task=NAME"):
        sy.import_runs(log(TEST, report(74.0), name="unnamed.log"), history=URL)


def test_the_same_numbers_of_two_nights_are_two_runs() -> None:
    first = sy.import_runs(log(TEST, GSM8K, report(74.0)), history=URL)
    second = sy.import_runs(log(TEST, GSM8K.replace("11/16", "11/17"), report(74.0), name="next.log"), history=URL)
    assert len(first) == len(second) == 1


def test_two_nights_with_the_same_score_in_one_log_are_two_runs() -> None:
    night = TEST + GSM8K + report(74.0) + "PASSED\n"
    both = night + night.replace("11/16", "11/17")
    found = sy.import_runs(log(both), history=URL)
    assert [run.time[:10] for run in found] == ["2026-11-17", "2026-11-16"]
    assert len(sy.import_runs(log(both, both, name="twice.log"), history=URL)) == 0  # a log put behind itself says nothing new
    plain = "a/test_x.py::TestM::test_y\n" + report(74.0)
    assert len(sy.import_runs(log(plain, plain, name="plain.log"), history=URL, task="gsm8k")) == 2


def test_what_pytest_shows_again_of_a_failed_test_is_no_second_run() -> None:
    failed = TEST + GSM8K + report(60.0) + "FAILED\n"
    again = f"=== FAILURES ===\n____ TestM.test_fp8[tp=2] ____\n--- Captured stdout call ---\n{report(60.0)}"
    later = (failed + again).replace("11/16", "11/17")
    assert len(sy.import_runs(log(failed, again, "--- Captured stderr call ---\n", report(60.0)), history=URL)) == 1
    assert len(sy.import_runs(log(failed, again, later, name="two.log"), history=URL)) == 1  # the first is there already
    captured = "[11/18/2026-02:31:40] [I] gsm8k average accuracy: 60.0\n" + again.replace("stdout call ---\n", "stdout call ---\n" + GSM8K)
    assert len(sy.import_runs(log(captured, captured.replace("11/16", "11/19"), name="captured.log"), history=URL)) == 1


def test_a_log_without_times_is_told_apart_by_its_content() -> None:
    plain = "a/test_x.py::TestM::test_y PASSED\n"
    one = log(plain, report(74.0))
    assert len(sy.import_runs(one, history=URL, task="gsm8k")) == 1
    assert len(sy.import_runs(one, history=URL, task="gsm8k")) == 0
    other = sy.import_runs(log(plain, "another night\n", report(74.0), name="other.log"), history=URL, task="gsm8k")
    assert len(other) == 1
    assert any("does not say when its tests ran" in each for each in other.warnings)


def test_colors_and_carriage_returns_are_no_part_of_a_line() -> None:
    text = "".join(f"\x1b[32m{line}\x1b[0m\r\n" for line in (TEST + GSM8K + report(74.0)).splitlines())
    assert [run.estimate for run in sy.import_runs(log(text), history=URL)] == [74.0]


def floor_report(value: float, floor: float | str = 95.0, *more: str, metric: str = "accuracy") -> str:
    """As the suite prints it for an entry with a threshold of its own: no statistics."""
    bar = "=" * 59
    shown = floor if isinstance(floor, str) else f"{floor:.3f}"
    lines = [
        bar,
        f"= {metric.upper()} CHECK",
        bar,
        *more,
        f"Threshold (explicit floor): {shown}",
        bar,
        f"Evaluated {metric}: {value:.3f}",
        bar,
    ]
    return "\n".join(lines) + "\n"


def test_an_explicit_floor_is_judged_by_itself_and_without_a_p_value() -> None:
    below, on_it = floor_report(94.31, 95, "Reference accuracy: 96.475"), floor_report(95.0)
    found = sy.import_runs(log(TEST, GSM8K, below, GSM8K, on_it, below), history=URL)
    told = {(run.estimate, run.verdict, run.threshold, run.p_value, run.n) for run in found}
    assert told == {(94.31, "regression", 95.0, None, None), (95.0, "pass", 95.0, None, None)}
    assert {run.estimate: run.difference for run in found} == {94.31: pytest.approx(-2.165), 95.0: None}
    assert len(sy.import_runs("night.log", history=URL)) == 0
    with open_history(URL) as history:
        result = history.run(next(run.id for run in found if run.verdict == "pass")).result
    assert result is not None
    assert (result["design"], result["test"], result["p_value"]) == ("threshold", None, None)


def test_a_floor_of_an_error_rate_is_a_ceiling() -> None:
    said = sy.import_runs(log(TEST, floor_report(9.5, 8.0, "Higher is better: False", metric="wer")), history=URL, task="speech")
    known = sy.import_runs(log(TEST, floor_report(9.6, 8.0, metric="wer"), name="b.log"), history=URL, task="voxpopuli")
    assert [(run.higher_is_better, run.verdict) for run in (*said, *known)] == [(False, "regression")] * 2


def test_another_floor_is_another_run() -> None:
    assert len(sy.import_runs(log(TEST, GSM8K, floor_report(94.31)), history=URL)) == 1
    assert len(sy.import_runs(log(TEST, GSM8K, floor_report(94.31, 94.0), name="b.log"), history=URL)) == 1


def test_junit_may_name_a_floor() -> None:
    (run,) = sy.import_runs(junit(properties={"evaluated_accuracy": 70.2, "explicit_floor": 71, "task": "gsm8k"}), history=URL)
    assert (run.verdict, run.threshold, run.n) == ("regression", 71.0, None)


BAD: list[tuple[str, str]] = [
    (TEST + GSM8K + floor_report(94.0, "none"), "a report without its alpha"),
    (TEST + GSM8K + floor_report(94.0, "nan"), "not finite"),
    (TEST + floor_report(94.0), "Its task is not named"),
    (TEST + GSM8K + floor_report(194.0), "194"),
    (TEST + GSM8K + report(None), "a report without its evaluated score"),
    (TEST + GSM8K + report("nan"), "not finite"),
    (TEST + GSM8K + report(74.0, threshold=60.0), "does not follow from its other numbers"),
    (TEST + GSM8K + report(174.0), "174"),
    (GSM8K + report(74.0), "No test is named"),
    (TEST + GSM8K + report(74.0).replace("Sigma", "Sigmo"), "a report without its sigma"),
    (TEST + "x average accuracy: 3\n".replace("x", "..") + report(74.0), "fit 2 tasks"),
    ("nothing of the kind\n", "No scores in"),
]


@every(("text", "said"), BAD)
def test_what_cannot_be_read_is_named_and_nothing_is_written(text: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        sy.import_runs(log(text), history="sqlite:///bad.db")
    assert not Path("bad.db").exists()


def test_a_log_of_bytes_and_very_long_lines_is_read_all_the_same() -> None:
    Path("odd.log").write_bytes(b"\xff\xfe\x00" + b"=" * 1_000_000 + b"\n" + (TEST + GSM8K + report(74.0)).encode())
    assert len(sy.import_runs("odd.log", history=URL)) == 1


# ---- JUnit -----------------------------------------------------------------------------------------------------------------


def test_junit_by_what_tests_printed() -> None:
    text = GSM8K.replace("[11/16/2026-02:31:40] ", "") + report(70.5)
    (run,) = sy.import_runs(junit(text, message=f"Reference accuracy is 74.200. Please see:\n{report(70.5)}"), history=URL)
    assert (run.model, run.task, run.verdict, run.time[:19]) == ("TestM::test_fp8[tp=2]", "gsm8k", "regression", "2026-11-16T02:00:00")
    assert len(sy.import_runs("junit.xml", history=URL)) == 0


def test_junit_by_its_properties() -> None:
    said = {"task": "mmlu", "model": "m", "evaluated_accuracy": 68.0, "reference_accuracy": 68.17, "num_samples": 4096}
    (run,) = sy.import_runs(junit(properties={**said, "alpha": 0.05, "beta": 0.2, "sigma": 50}), history=URL)
    assert (run.task, run.model, run.estimate, run.verdict) == ("mmlu", "m", 68.0, "pass")
    with pytest.raises(DataError, match=r"test TestM::test_fp8\[tp=2\]: a report without its alpha"):
        sy.import_runs(junit(properties=said), history=URL)


BOMB = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><testsuite><testcase name="&b;"/></testsuite>'


@pytest.mark.parametrize(
    ("stamp", "time"),
    [
        ("2026-11-16T02:30:00.123456+09:00", "2026-11-15T17:30:00Z"),
        ("2026-11-16T02:30:00-0130", "2026-11-16T04:00:00Z"),
        ("2026-11-16T02:30:00", "2026-11-16T02:30:00Z"),
        ("2026-11-16T02:30:00Z", "2026-11-16T02:30:00Z"),
    ],
)
def test_the_time_of_a_junit_file_is_read_with_its_offset(stamp: str, time: str) -> None:
    path = junit("gsm8k average accuracy: 74.38\n" + report(74.0), stamp=stamp)
    assert [each.time for each in read_suite_log(path).reports] == [time]


@pytest.mark.parametrize("no", ["0", "no", "False ", "false"])
def test_a_property_that_says_lower_is_better_is_believed(no: str) -> None:
    told = {"task": "gsm8k", "value": 90, "reference": 74.2, "n": 1319, "alpha": 0.05, "beta": 0.2, "sigma": 50}
    (run,) = sy.import_runs(junit(properties={**told, "higher_is_better": no}), history=URL)
    assert (run.higher_is_better, run.verdict) == (False, "regression")
    (up,) = sy.import_runs(junit(properties={**told, "value": 91, "higher_is_better": "1"}), history=URL)
    assert (up.higher_is_better, up.verdict) == (True, "pass")
    with pytest.raises(DataError, match="higher_is_better is 'maybe', which is neither true nor false"):
        sy.import_runs(junit(properties={**told, "higher_is_better": "maybe"}), history=URL)


def test_hostile_xml_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for text, said in ((BOMB, "a document type or entities"), ("<testsuite><testcase></testsuite>", "not a JUnit file in UTF-8")):
        with pytest.raises(SourceError, match=said):
            sy.import_runs(log(text, name="bad.xml"), history=URL)
    Path("utf16.xml").write_bytes('<?xml version="1.0" encoding="utf-16"?><testsuite/>'.encode("utf-16"))
    assert read_suite_log("utf16.xml").reports == []
    monkeypatch.setattr("steelyard.read.suite_reports.LARGEST_XML", 10)
    with pytest.raises(SourceError, match="more than 64 MB"):
        sy.import_runs(junit(report(74.0)), history=URL)
    assert LARGEST_XML == 64 * 2**20
    assert not Path("runs.db").exists()


# ---- the command -----------------------------------------------------------------------------------------------------------


def ask(*words: str) -> Any:
    return CliRunner().invoke(steelyard, list(words))


def test_the_command_adds_once_and_the_bare_command_stays_what_it_is() -> None:
    first, second = (ask("history", "import", str(NIGHTLY), "--history", URL) for _ in range(2))
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert "3 runs added to sqlite:///runs.db, 0 already there, 1 not read." in first.stdout
    assert "0 runs added to sqlite:///runs.db, 3 already there, 1 not read." in second.stdout
    listed = ask("history", "--history", URL, "--verdict", "regression")
    assert listed.exit_code == 0
    assert "68.31" in listed.stdout
    assert isinstance(ask("history", "--history", URL, "import", str(NIGHTLY)).exception, UsageError)
    assert isinstance(ask("history", "import", log("nothing\n"), "--history", URL).exception, DataError)
    assert isinstance(ask("history", "import", str(NIGHTLY)).exception, UsageError), "no history configured"


def test_two_writers_add_each_run_once() -> None:
    from concurrent.futures import ThreadPoolExecutor

    open_history(URL).close()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: sy.import_runs(NIGHTLY, history=URL).asked["added"], range(4)))
    assert sum(found) == 3
    assert sy.list_runs(URL).total == 3
