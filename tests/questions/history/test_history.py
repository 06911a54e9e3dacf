"""Lists, exports, comparisons and drift of past runs: what may stand in one series, what is left out and told, what is found."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import steelyard as sy
from steelyard.cli.main import steelyard
from steelyard.errors import DataError, SourceError, UsageError
from steelyard.history.store import History, open_history
from steelyard.infer.series.flaky import flaky_items
from steelyard.questions.history import export
from steelyard.questions.history.export import COLUMNS, export_runs
from steelyard.questions.history.keep import keep_run
from steelyard.render.formats import FORMATS
from steelyard.results.verdict import Recorded, Verdict

REFERENCE = {"value": 0.8, "n": 200, "runs": 5, "sigma_run": 0.01}


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'runs.db'}"


def night(value: float, **more: Any) -> Verdict:
    facts: dict[str, Any] = {
        "verdict": "pass",
        "task": "gsm8k",
        "model": "llama",
        "n": 200,
        "p_value": 0.4,
        "candidate": {"value": value, "n": 200},
        "reference": REFERENCE,
        "difference": {"estimate": value - 0.8, "lower": None, "upper": None},
    }
    return Verdict.from_dict({"kind": "verdict", "schema": 1, **facts, **more})


def fill(url: str, values: Any, **more: Any) -> None:
    with open_history(url) as history:
        for i, value in enumerate(values):
            history.append(night(float(value), **more), time=f"2026-{1 + i // 28:02d}-{1 + i % 28:02d}")


# ---- lists -------------------------------------------------------------------------------------------------------------------


def test_a_page_says_what_it_is(url: str) -> None:
    fill(url, [0.8, 0.79, 0.81])
    page = sy.list_runs(url, limit=2)
    assert (len(page), page.total, page.next) == (2, 3, page.runs[-1].id)
    assert [run.estimate for run in page] == [0.81, 0.79]
    assert page.conclusion.startswith("2 of 3 runs in sqlite:///")
    plain = page.to_dict()
    assert (plain["kind"], plain["schema"], plain["total"]) == ("history", 1, 3)
    assert plain["next"] == page.next
    assert "result" not in plain["runs"][0]
    assert sy.list_runs(url, limit=2, after=page.next).next is None
    assert sy.list_runs(url, task="other").conclusion.startswith("no run like that")
    for text in ("text", "markdown", "json"):
        assert "0.81" in FORMATS[text].write(page)


def test_an_open_history_stays_open(url: str) -> None:
    fill(url, [0.8])
    with open_history(url) as history:
        assert sy.list_runs(history).total == 1
        assert sy.list_runs(history).total == 1


def test_what_cannot_be_listed(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="No history configured"):
        sy.list_runs()
    with pytest.raises(UsageError, match="No history"):
        sy.list_runs("none")
    with pytest.raises(SourceError, match="No history at"):
        sy.list_runs(url)
    fill(url, [0.8])
    with pytest.raises(UsageError, match="verdict must be pass, regression or inconclusive, not 'good'"):
        sy.list_runs(url, verdict="good")
    with pytest.raises(UsageError, match="since= must be a date"):
        sy.list_runs(url, since="last week")


def test_the_configuration_names_the_history_relative_to_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "steelyard.toml").write_text('history = "sqlite:///runs.db"\n')
    below = tmp_path / "deep" / "er"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    keep_run(night(0.8))
    assert (tmp_path / "runs.db").exists()
    assert sy.list_runs().total == 1
    assert keep_run(night(0.8), history="none") == ([], [])
    assert sy.list_runs().total == 1


@pytest.mark.parametrize("value", ['"runs.db"', "3", '"mysql://ada:secret@db/x"', '["postgresql://ada:secret@db/x"]'])
def test_a_wrong_address_in_the_configuration_is_not_shown(tmp_path: Path, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "steelyard.toml").write_text(f"history = {value}\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SourceError, match=r"history in .* must be a URL") as told:
        sy.list_runs()
    assert "secret" not in str(told.value)


# ---- keeping items -----------------------------------------------------------------------------------------------------------


def write(path: Path, scores: dict[str, float]) -> str:
    path.write_text("id,score\n" + "".join(f"{id_},{score:g}\n" for id_, score in scores.items()))
    return str(path)


def test_a_check_keeps_its_items_and_two_runs_can_be_compared(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    old = {f"q{i}": float(i % 4 != 0) for i in range(200)}
    new = {**old, "q1": 0.0, "q2": 0.0, "q4": 1.0}
    for name, scores in (("a.csv", old), ("b.csv", new)):
        keep_run(night(np.mean(list(scores.values()))), history=url, sources=[write(tmp_path / name, scores)])
    runs = sy.list_runs(url).runs
    assert all(run.outcomes for run in runs)
    found = sy.compare_runs(runs[1].id, runs[0].id[:6], history=url)
    assert found.flips is not None
    assert (found.flips["baseline_only"], found.flips["candidate_only"]) == (2, 1)
    assert {item["id"] for item in found.changed_items} == {"q1", "q2", "q4"}


def test_tables_in_memory_keep_their_items_too_and_what_is_read_once_does_not(url: str) -> None:
    import pandas as pd

    rows = [{"id": f"q{i}", "score": float(i % 4 != 0)} for i in range(20)]
    expected = {row["id"]: row["score"] for row in rows}
    tables: list[Any] = [rows, tuple(rows), pd.DataFrame(rows), {"id": list(expected), "score": list(expected.values())}]
    for each in tables:
        (run,), warnings = keep_run(night(0.75), history=url, sources=[each])
        assert warnings == []
        with open_history(url) as history:
            assert history.items(run.id) == expected
    for each in (iter(rows), "no such file.csv", None):
        (run,), warnings = keep_run(night(0.75), history=url, sources=[each])
        assert (run.outcomes, warnings) == (None, [])


def test_ids_are_hashed_where_the_configuration_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "steelyard.toml").write_text('ids = "hashed"\nhistory = "sqlite:///runs.db"\n')
    keep_run(night(0.5), sources=[write(tmp_path / "a.csv", {"secret-1": 1.0, "secret-2": 0.0})])
    with open_history("sqlite:///runs.db") as history:
        items = history.items(history.runs()[0][0].id)
    assert items is not None
    assert sorted(items.values()) == [0.0, 1.0]
    assert not [id_ for id_ in items if "secret" in id_]
    assert b"secret-1" not in (tmp_path / "runs.db").read_bytes()


def test_items_that_cannot_be_had_again_are_left_out(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bare.csv").write_text("score\n1\n0\n")
    (tmp_path / "broken.csv").write_text('id,score\n"a,1\n')
    for sources, said in (
        ([], []),
        (["bare.csv"], []),
        (["gone.csv"], []),
        (["postgresql://h/d?table=t"], []),
        (["broken.csv"], ["without its items"]),
    ):
        (run,), warnings = keep_run(night(0.5), history=url, sources=sources)
        assert run.outcomes is None
        assert [part for part in said if part in " ".join(warnings)] == said
    with pytest.raises(DataError, match="stored without its items"):
        sy.compare_runs(run.id, run.id, history=url)


def test_runs_of_two_quantities_are_not_compared(url: str) -> None:
    with open_history(url) as history:
        a = history.append(night(0.8), items={"x": 1.0})
        b = history.append(night(0.8, metric="f1"), items={"x": 1.0})
        with pytest.raises(DataError, match="Cannot compare accuracy on gsm8k with f1 on gsm8k: two runs must have"):
            sy.compare_runs(a.id, b.id, history=history)


# ---- export ------------------------------------------------------------------------------------------------------------------


def test_export_is_safe_and_whole(url: str, tmp_path: Path) -> None:
    fill(url, [0.8, -0.5], model='=HYPERLINK("http://x")')
    fill(url, [0.7], model="@SUM(1)", task="-2+3")
    assert export_runs(tmp_path / "runs.csv", url) == 3
    with (tmp_path / "runs.csv").open(newline="") as file:
        head, *rows = list(csv.reader(file))
    assert tuple(head) == COLUMNS
    models = [row[head.index("model")] for row in rows]
    assert sorted(set(models)) == ['\'=HYPERLINK("http://x")', "'@SUM(1)"]
    assert "'-2+3" in [row[head.index("task")] for row in rows]
    assert "-0.5" in [row[head.index("estimate")] for row in rows]  # a number stays one
    assert export_runs(tmp_path / "runs.jsonl", url, model="@SUM(1)") == 1
    assert json.loads((tmp_path / "runs.jsonl").read_text())["model"] == "@SUM(1)"
    for wrong in ("runs.xlsx", "runs"):
        with pytest.raises(UsageError, match=r"the ending must be \.csv or \.jsonl"):
            export_runs(tmp_path / wrong, url)


def test_export_goes_over_many_pages(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.history.store.ROWS_AT_ONCE", 4)
    fill(url, np.linspace(0.5, 0.9, 11))
    assert export_runs(tmp_path / "runs.jsonl", url) == 11
    values = [json.loads(line)["estimate"] for line in (tmp_path / "runs.jsonl").read_text().splitlines()]
    assert values == sorted(values, reverse=True)


# ---- drift -------------------------------------------------------------------------------------------------------------------


def series(shift: float, nights: int = 60, since: int = 30, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = rng.normal(0.8, 0.01, size=nights)
    values[since:] += shift
    return values


def test_a_fall_is_found_dated_and_sized(url: str) -> None:
    fill(url, series(-0.02))
    found = sy.drift(url, task="gsm8k", model="llama")
    assert found.drifting is True
    assert found.change_point is not None
    assert found.chart is not None
    assert found.evidence is not None
    assert abs(found.change_point["place"] - 31) <= 3
    assert found.change_point["shift"] == pytest.approx(-0.02, abs=0.006)
    assert found.change_point["p_value"] == pytest.approx(1 / 10_000)
    assert found.chart["alarm"]["place"] > 28
    assert found.chart["law"] == "binomial"
    assert 700 < found.chart["average_run_length"] < 931  # 931 is for normal runs; shares near 1 alarm more often
    assert found.evidence["pooled"]["crossed"]["place"] > 30
    assert found.evidence["both"]["largest"] >= 20
    assert "worse, below" in found.conclusion
    plain = json.loads(FORMATS["json"].write(found))
    assert (plain["kind"], plain["schema"], len(plain["runs"])) == ("drift", 1, 60)
    assert plain["runs"][0]["cusum"] == 0
    assert "DRIFT" in str(found)
    assert "CUSUM" in FORMATS["markdown"].write(found)


def test_healthy_nights_are_healthy_and_their_alarms_expected(url: str) -> None:
    fill(url, series(0.0))
    found = sy.drift(url, task="gsm8k", model="llama")
    assert found.drifting is False
    assert found.alarms == {"checks": 60, "regressions": 0, "inconclusive": 0, "expected": pytest.approx(3.0)}
    assert found.deviation is not None
    assert found.deviation["low"] < 0.01 < found.deviation["high"]
    assert "expected by chance: at most 3" in " ".join(str(found).split())


def test_an_improvement_is_no_drift_but_a_change(url: str) -> None:
    fill(url, series(0.02))
    found = sy.drift(url, task="gsm8k", model="llama")
    assert found.drifting is False
    assert found.change_point is not None
    assert found.change_point["shift"] > 0.01


def test_where_lower_is_better_a_rise_is_the_drift(url: str) -> None:
    fill(url, series(0.02), metric="error", higher_is_better=False)
    found = sy.drift(url, task="gsm8k", model="llama")
    assert found.drifting is True
    assert found.change_point is not None
    assert found.change_point["shift"] > 0.01
    assert "worse, above" in found.conclusion


def test_a_slow_slide_that_no_night_sees_is_found(url: str) -> None:
    """Each night .0007 below the night before: no check against the night before could see it."""
    rng = np.random.default_rng(3)
    fill(url, 0.8 - 0.0007 * np.arange(80) + rng.normal(0, 0.01, size=80))
    found = sy.drift(url, task="gsm8k", model="llama")
    assert found.drifting is True
    assert found.deviation is not None
    assert found.deviation["between_neighbours"] < found.deviation["estimate"]


def test_the_first_reference_is_that_of_the_record(url: str) -> None:
    facts: dict[str, Any] = {"metric": "accuracy", "scale": "fraction", "value": 0.83, "n": 200, "runs": 4, "sigma_run": 0.01}
    with open_history(url) as history:
        history.append(Recorded(task="gsm8k", model="llama", spec={}, **facts), time="2025-12-01")
    fill(url, series(0.0))
    found = sy.drift(url, task="gsm8k", model="llama")
    assert found.reference == {"value": 0.83, "n": 200, "runs": 4, "sigma_run": 0.01}
    assert found.evidence is not None
    assert found.evidence["first"]["largest"] > 20  # .03 below it, three deviations
    assert len(found.runs) == 60


def test_without_a_reference_runs_are_held_against_one_another(url: str) -> None:
    with open_history(url) as history:
        for i, value in enumerate(series(-0.03)):
            history.append(
                sy.measure(sy.Counts.of(round(200 * value), 200)),
                task="gsm8k",
                model="llama",
                time=f"2026-01-01T{i // 60:02d}:{i % 60:02d}",
            )
    found = sy.drift(url, task="gsm8k", model="llama")
    assert found.evidence is not None
    assert found.evidence["first"] is None
    assert found.drifting is True
    assert [w for w in found.warnings if "no known reference" in w]


def test_the_same_outcomes_twice_are_one_run(url: str) -> None:
    with open_history(url) as history:
        for i, value in enumerate((0.5, 0.5, 0.75, 0.5)):
            history.append(night(value), items={"a": value, "b": 1.0}, time=f"2026-01-0{i + 1}")
        zero = {"both": 1, "baseline_only": 0, "candidate_only": 0, "neither": 1}
        history.append(night(0.8, flips=zero), items={"a": 0.1, "b": 0.2}, time="2026-01-09")
        found = sy.drift(history, task="gsm8k", model="llama")
    assert [row["estimate"] for row in found.runs] == [0.5, 0.75]
    assert [w for w in found.warnings if w.startswith("3 runs left out: the same outcomes") and "only fresh runs" in w]


def test_runs_that_stopped_early_or_differ_in_protocol_are_left_out(url: str) -> None:
    with open_history(url) as history:
        history.append(night(0.8, details={"stopping": {"n_used": 3}}), time="2026-01-01")
        history.append(night(0.5), protocol={"prompt": "v2"}, time="2026-01-02")
        for i in range(5):
            history.append(night(0.79 + i / 100), time=f"2026-01-1{i}")
        found = sy.drift(history, task="gsm8k", model="llama")
    assert len(found.runs) == 5
    said = " ".join(found.warnings)
    assert "1 run left out: another protocol" in said
    assert "1 run left out: runs that stop early" in said


def test_mixtures_are_refused(url: str) -> None:
    fill(url, [0.8, 0.8])
    fill(url, [0.8], spec={"quant_algo": "FP8"})
    with pytest.raises(DataError, match=r"The runs have several specs \((none, quant_algo=FP8|quant_algo=FP8, none)\); drift is tested"):
        sy.drift(url, task="gsm8k", model="llama")
    assert len(sy.drift(url, task="gsm8k", model="llama", spec={}).runs) == 2
    fill(url, [0.8], metric="f1")
    with pytest.raises(DataError, match="several metrics"):
        sy.drift(url, task="gsm8k", model="llama", spec={})
    for wrong in ({"h": 1e9}, {"draws": 0}):
        with pytest.raises(UsageError):
            sy.drift(
                url, task="gsm8k", model="llama", spec={}, metric="accuracy", **{"k": 0.5, **wrong}
            ) if "draws" not in wrong else _of_five(url, wrong)
    with pytest.raises(DataError, match="no run of 'gpt' on 'gsm8k'"):
        sy.drift(url, task="gsm8k", model="gpt")


def _of_five(url: str, wrong: dict[str, Any]) -> Any:
    fill(url, [0.1, 0.2, 0.3, 0.4, 0.5], task="t")
    return sy.drift(url, task="t", model="llama", **wrong)


def test_runs_that_do_not_vary_cannot_tell(url: str) -> None:
    fill(url, [0.8] * 6, reference={"value": 0.8, "runs": 1})
    found = sy.drift(url, task="gsm8k", model="llama")
    assert found.drifting is None
    assert found.chart is None
    assert found.change_point is None
    assert found.deviation is not None
    assert found.deviation["estimate"] == 0
    assert found.deviation["low"] is None  # never an interval of no width
    assert "CANNOT TELL" in str(found)


def test_few_runs_say_what_they_cannot(url: str) -> None:
    fill(url, [0.8], reference={})
    found = sy.drift(url, task="gsm8k", model="llama")
    assert found.deviation is None
    assert found.drifting is None
    with open_history(url.replace("runs.db", "other.db")) as history:
        facts: dict[str, Any] = {"metric": "accuracy", "scale": "fraction", "value": 0.8, "n": 2, "runs": 1}
        history.append(Recorded(task="gsm8k", model="llama", spec={}, **facts))
        with pytest.raises(DataError, match="The history has only references and no checked runs, so drift cannot be"):
            sy.drift(history, task="gsm8k", model="llama")


@pytest.mark.long  # the run lengths of the chart are in infer/series/test_drift.py
def test_size_of_the_answer(tmp_path: Path) -> None:
    """40 healthy histories of 12 nights with references of 3 runs: at alpha .3 at most 30% (and 4 errors) are called a drift."""
    rng = np.random.default_rng(12)
    many, alpha, found = 40, 0.3, 0
    with open_history(f"sqlite:///{tmp_path / 'many.db'}") as history:
        for model in range(many):
            reference = rng.normal(0.8, 0.01, size=3)
            facts = {"value": float(reference.mean()), "runs": 3, "sigma_run": float(reference.std(ddof=1))}
            _nights(history, f"m{model}", rng.normal(0.8, 0.01, size=12), facts)
            found += bool(sy.drift(history, task="gsm8k", model=f"m{model}", alpha=alpha, draws=9).drifting)
    assert found / many <= alpha + 4 * math.sqrt(alpha * (1 - alpha) / many)


def _nights(history: History, model: str, values: np.ndarray, reference: dict[str, float]) -> None:
    for i, value in enumerate(values):
        history.append(night(float(value), model=model, reference=reference), time=f"2026-01-{i + 1:02d}")


# ---- flaky items -------------------------------------------------------------------------------------------------------------


def test_flaky_and_changed_items_are_told_apart() -> None:
    runs = [
        {"steady": 1.0, "flaky": 1.0, "broken": 1.0, "new": 0.0},
        {"steady": 1.0, "flaky": 0.0, "broken": 1.0},
        {"steady": 1.0, "flaky": 1.0, "broken": 0.0},
        {"steady": 1.0, "flaky": 0.0, "broken": 0.0},
        {"steady": 1.0, "flaky": 1.0, "broken": 0.0},
    ]
    found = flaky_items(runs)
    assert (found["runs"], found["items"], found["flaky"], found["changed"]) == (5, 4, 1, 1)
    flaky, broken = found["listed"]
    assert (flaky["id"], flaky["kind"], flaky["flips"], flaky["runs"], flaky["switches"], flaky["usual"]) == (
        "flaky",
        "flaky",
        2,
        5,
        4,
        1.0,
    )
    assert (broken["id"], broken["kind"], broken["flips"], broken["switches"], broken["last"]) == ("broken", "changed", 2, 1, 0.0)
    assert flaky["low"] == pytest.approx(0.1176, abs=1e-4)  # Wilson, 2 of 5
    assert flaky["high"] == pytest.approx(0.7693, abs=1e-4)
    assert found["share"] == pytest.approx((2 / 5 + 2 / 5) / 4)


def test_flaky_items_against_a_plain_count(url: str) -> None:
    rng = np.random.default_rng(4)
    table = (rng.random((8, 40)) < rng.random(40)).astype(float)
    with open_history(url) as history:
        for i, row in enumerate(table):
            history.append(night(float(row.mean())), items={f"q{j:02d}": float(x) for j, x in enumerate(row)}, time=f"2026-01-0{i + 1}")
        found = sy.drift(history, task="gsm8k", model="llama", draws=99).flaky
    assert found is not None
    rights = table.sum(axis=0)
    switches = np.abs(np.diff(table, axis=0)).sum(axis=0)
    assert found["flaky"] == int((switches > 1).sum())
    assert found["changed"] == int((switches == 1).sum())
    plain = {f"q{j:02d}": int(min(rights[j], 8 - rights[j])) for j in range(40)}
    assert {row["id"]: row["flips"] for row in found["listed"]} == {id_: many for id_, many in plain.items() if many}


# ---- runs of steelyard's own ---------------------------------------------------------------------------------------------------


def test_a_run_is_kept_with_the_rows_it_wrote_and_the_protocol_it_noted(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sums.csv").write_text("id,a,b,answer\n" + "".join(f"s{i},{i},{i + 1},{2 * i + 1}\n" for i in range(20)))
    (tmp_path / "sum.toml").write_text('[task]\nname = "sum"\ndata = "sums.csv"\ninput = "{a} {b}"\ntruth = "answer"\nscorer = "exact"\n')

    def model(text: str) -> str:
        a, b = map(int, text.split())
        return str(a + b if a % 5 else 0)

    done = sy.run("sum.toml", model, name="adder", output=tmp_path / "out.jsonl")
    (run,), warnings = keep_run(done, history=url, spec={"quant_algo": "FP8"})
    assert warnings == []
    assert (run.command, run.task, run.model, run.estimate) == ("run", "sum", "adder", 0.8)
    assert run.spec == {"quant_algo": "FP8"}
    assert run.protocol  # what the run has noted about how it was made
    with open_history(url) as history:
        items = history.items(run.id)
    assert items is not None
    assert sorted(items) == sorted(f"s{i}" for i in range(20))
    assert sum(items.values()) == 16


@pytest.mark.parametrize(
    "column", [["a,b", 'say "x"', "two\nlines", "", None], [1, 1.5, None, True], ["x", 2, 0.1, "-5"], [0.1, 1e-300, 3]]
)
def test_fields_are_written_as_the_standard_library_writes_them(column: list[object]) -> None:
    held = io.StringIO(newline="")
    csv.writer(held, lineterminator="\n").writerows([f"'{each}" if each == "-5" else each, ""] for each in column)
    assert "".join(f"{cell},\n" for cell in export._cells(column)) == held.getvalue()


def test_python_writes_the_table_that_the_command_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    url = "sqlite:///runs.db"
    for task in ("t", "u"):
        sy.record([{"id": str(i), "score": i % 2} for i in range(20)], task=task, model="m", history=url)
    assert sy.export_runs("python.csv", url, task="t") == 1
    assert sy.export_runs("python.jsonl", url) == 2
    assert CliRunner().invoke(steelyard, ["history", "--history", url, "--task", "t", "--export", "command.csv"]).exit_code == 0
    assert Path("python.csv").read_bytes() == Path("command.csv").read_bytes()
    with pytest.raises(sy.UsageError, match="the ending must be"):
        sy.export_runs("runs.txt", url)
