"""`steelyard history`, and `--history` of check and record: what is kept, and that a verdict never depends on it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import steelyard_old as sy
from steelyard_old.cli.main import main, steelyard
from steelyard_old.errors import SourceError, UsageError
from steelyard_old.history.store import History, open_history
from steelyard_old.version import __version__

DATA = Path(__file__).parents[2] / "docs" / "data"
CHECK = ["check", "digits_logistic.csv", "--task", "digits", "--model", "classifier"]
WORSE = ["check", "digits_naive_bayes.csv", "--task", "digits", "--model", "classifier"]
URL = "sqlite:///runs.db"


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(DATA / "references", tmp_path / "references")
    for name in ("digits_logistic.csv", "digits_naive_bayes.csv"):
        (tmp_path / name).write_bytes((files("steelyard_old") / "data" / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def ask(words: Sequence[str]) -> Result:
    return CliRunner().invoke(steelyard, list(words))


def code(words: Sequence[str]) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(words))
    return int(stop.value.code or 0)


def test_checks_and_records_are_kept_with_their_items() -> None:
    assert code([*CHECK, "--history", URL]) == 0
    assert code([*WORSE, "--history", URL]) == 1
    record = ["record", "digits_logistic.csv", "--task", "new", "--model", "m", "--deterministic", "--protocol", "prompt=v3"]
    assert ask([*record, "--history", URL]).exit_code == 0
    found = json.loads(ask(["history", "--history", URL, "--format", "json"]).stdout)
    assert (found["kind"], found["total"], found["next"]) == ("history", 3, None)
    recorded, worse, same = found["runs"]
    assert [run["command"] for run in found["runs"]] == ["record", "check", "check"]
    assert (same["verdict"], worse["verdict"], recorded["verdict"]) == ("pass", "regression", None)
    assert worse["difference"] == pytest.approx(-0.1346, abs=1e-4)
    assert recorded["protocol"] == {"prompt": "v3"}
    assert recorded["tool"] == f"steelyard {__version__}"
    assert recorded["outcomes"] == same["outcomes"] != worse["outcomes"]
    with open_history(URL) as history:
        items = history.items(worse["id"])
        whole = history.run(worse["id"]).result
    assert items is not None
    assert len(items) == 899
    assert whole is not None
    assert whole["kind"] == "verdict"
    text = ask(["history", "--history", URL, "--compare", same["id"], worse["id"]]).stdout
    assert "only with the baseline: 133" in text


def test_the_list_for_people() -> None:
    for words in (CHECK, WORSE):
        ask([*words, "--history", URL])
    text = ask(["history", "--history", URL]).stdout
    assert "task: digits" in text  # said once
    assert "regression" in text.splitlines()[4] + text.splitlines()[5]
    assert "2 runs in sqlite:///runs.db." in text
    page = ask(["history", "--history", URL, "--limit", "1"]).stdout
    assert "--after" in page
    assert ask(["history", "--history", URL, "--format", "markdown"]).stdout.startswith("## History of runs")
    assert "1 run like that" in ask(["history", "--history", URL, "--verdict", "pass"]).stdout
    assert "no run like that" in ask(["history", "--history", URL, "--spec", "quant_algo=FP8"]).stdout
    assert "2 runs like that" in ask(["history", "--history", URL, "--spec", "none"]).stdout


def test_the_configuration_keeps_every_check_and_none_does_not(desk: Path) -> None:
    (desk / "steelyard.toml").write_text('directory = "references"\nhistory = "sqlite:///kept.db"\n')
    assert ask(CHECK).exit_code == 0
    assert ask([*CHECK, "--history", "none"]).exit_code == 0
    assert "1 run in" in ask(["history"]).stdout


# ---- suites -------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def suite(desk: Path) -> str:
    """Two checks of files, below a directory of their own, and one of a bare number."""
    (desk / "nightly").mkdir()
    for name in ("digits_logistic.csv", "digits_naive_bayes.csv"):
        shutil.move(desk / name, desk / "nightly" / name)
    (desk / "references" / "bare.yaml").write_text("m:\n  - accuracy: 0.9\n    num_samples: 500\n    scale: fraction\n")
    (desk / "nightly" / "suite.toml").write_text(
        '[[checks]]\ntask = "digits"\nmodel = "classifier"\nresult = "digits_logistic.csv"\nprotocol = {prompt = "v3"}\n\n'
        '[[checks]]\ntask = "digits"\nmodel = "classifier"\nresult = "*_naive_bayes.csv"\n\n'
        '[[checks]]\ntask = "bare"\nmodel = "m"\nvalue = 0.91\n'
    )
    return "nightly/suite.toml"


def test_a_suite_is_its_verdicts_each_with_its_own_items(suite: str) -> None:
    assert code(["check", "--suite", suite, "--history", URL]) == 1
    bare, worse, same = sy.list_runs(URL)
    assert [run.verdict for run in (bare, worse, same)] == ["pass", "regression", "pass"]
    assert (bare.outcomes, same.protocol, worse.protocol) == (None, {"prompt": "v3"}, {})
    for run, name in ((same, "digits_logistic.csv"), (worse, "digits_naive_bayes.csv")):
        assert ask(["check", f"nightly/{name}", "--task", "digits", "--model", "classifier", "--history", "sqlite:///one.db"]).stdout
        alone = next(iter(sy.list_runs("sqlite:///one.db", limit=1)))
        assert run.outcomes == alone.outcomes is not None, "as a check of its own keeps them"
    text = ask(["history", "--history", URL, "--compare", same.id, worse.id]).stdout
    assert "only with the baseline: 133" in text


def test_python_keeps_a_suite_with_its_items_too(suite: str) -> None:
    found = sy.check_suite(suite, directory="references", history=URL)
    assert [run.outcomes is not None for run in sy.list_runs(URL)] == [False, True, True]
    assert found == sy.check_suite(suite, directory="references"), "and without history= nothing is kept"
    assert sy.list_runs(URL).total == 3
    told = sy.check_suite(suite, directory="references", history="sqlite:////no/such/place/runs.db")
    assert told.verdict == found.verdict
    assert told.warnings[-1].startswith("the runs were not stored in the history: ")


def test_the_columns_of_a_check_are_read_as_it_says(desk: Path) -> None:
    rows = "".join(f"q{i},{int(i % 4 > 0)},{int(i % 5 > 0)}\n" for i in range(100))
    (desk / "run.csv").write_text(f"key,first,second\n{rows}")
    sy.record("run.csv", task="t", model="m", id="key", score="second", deterministic=True)
    check = '[[checks]]\ntask = "t"\nmodel = "m"\nresult = "run.csv"\ncolumns = {id = "key"}\nscore = "second"\n'
    (desk / "suite.toml").write_text(check)
    assert code(["check", "--suite", "suite.toml", "--history", URL]) == 0
    with open_history(URL) as history:
        items = history.items(sy.list_runs(URL).runs[0].id)
    assert items == {f"q{i}": float(i % 5 > 0) for i in range(100)}


def test_ids_are_hashed_where_the_suites_own_configuration_says_so(suite: str, desk: Path) -> None:
    """As in the references: what must not be read there must not be read here."""
    (desk / "nightly" / "private.toml").write_text('directory = "../references"\nids = "hashed"\nhistory = "sqlite:///own.db"\n')
    text = (desk / suite).read_text()
    (desk / suite).write_text(f'[suite]\nconfig = "private.toml"\n\n{text}')
    assert code(["check", "--suite", suite]) == 1
    own = "sqlite:///nightly/own.db"
    with open_history(own) as history:
        worse = sy.list_runs(own).runs[1]
        items = history.items(worse.id)
    assert items is not None
    assert all(re.fullmatch("[0-9a-f]{16,}", id_) for id_ in items)


def test_a_history_that_fails_on_the_way_says_how_many_runs_it_has(
    suite: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    whole, calls = History.append, []

    def falls(self: History, *words: object, **facts: object) -> object:
        calls.append(words)
        if len(calls) > 1:
            raise SourceError("The disk is full.")
        return whole(self, *words, **facts)  # type: ignore[arg-type]

    monkeypatch.setattr(History, "append", falls)
    assert code(["check", "--suite", suite, "--history", URL]) == 1
    out, err = capfd.readouterr()
    assert out.startswith("REGRESSION")
    assert "warning: only 1 of 3 runs were stored in the history: The disk is full." in err


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("sqlite:////no/such/place/runs.db", "its directory does not exist"),
        ("sqlite:///digits_logistic.csv", "it is not a SQLite database"),
        ("sqlite:///references", "a directory or a device"),
        ("postgresql://ada:hunter2@127.0.0.1:1/team", "refused"),
    ],
)
def test_a_history_that_fails_costs_no_verdict(url: str, said: str, capfd: pytest.CaptureFixture[str]) -> None:
    for words, expected in ((CHECK, 0), (WORSE, 1)):
        assert code([*words, "--history", url]) == expected
        out, err = capfd.readouterr()
        assert out.startswith(("PASS", "REGRESSION"))
        assert err.startswith("warning: the run was not stored in the history: ")
        assert said in err
        assert "hunter2" not in err + out


@pytest.mark.parametrize("url", ["mysql://ada:hunter2@db/x", "zz", "sqlite:///a.db?cache=shared"])
def test_what_is_no_address_is_refused_before_the_work(url: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert code([*WORSE, "--history", url]) == 3
    out, err = capfd.readouterr()
    assert out == ""
    assert "history" in err
    assert "hunter2" not in err
    with pytest.raises(UsageError, match="history"):
        sy.check("nothing.csv", task="t", model="m", history=url)


def test_what_is_no_result_is_not_kept() -> None:
    with pytest.raises(UsageError, match="Only results can be kept, not an int"):
        sy.keep_run(3)


def test_even_an_unforeseen_fault_costs_no_verdict(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def falls(*_: object, **__: object) -> None:
        raise RuntimeError("never thought of")

    monkeypatch.setattr("steelyard_old.estimate.past.keeping.add_runs", falls)
    assert code([*WORSE, "--history", URL]) == 1
    out, err = capfd.readouterr()
    assert out.startswith("REGRESSION")
    assert "RuntimeError: never thought of" in err


def test_json_of_a_check_is_json_whatever_the_history_says(capfd: pytest.CaptureFixture[str]) -> None:
    assert code([*CHECK, "--format", "json", "--history", "sqlite:////no/where.db"]) == 0
    assert json.loads(capfd.readouterr().out)["kind"] == "verdict"


def test_export_by_option_and_by_ending(desk: Path) -> None:
    ask([*CHECK, "--history", URL])
    assert "1 run written to runs.csv" in ask(["history", "--history", URL, "--export", "runs.csv"]).stderr
    assert ask(["history", "--history", URL, "-o", "again.csv"]).exit_code == 0
    assert (desk / "again.csv").read_text() == (desk / "runs.csv").read_text()
    assert ask(["history", "--history", URL, "-o", "page.json"]).exit_code == 0
    assert json.loads((desk / "page.json").read_text())["kind"] == "history"


def test_drift_of_a_series(desk: Path) -> None:
    with open_history(URL) as history:
        for i, k in enumerate((162, 160, 161, 159, 160, 161, 150, 148, 149, 150, 147, 149)):
            history.append(sy.measure(sy.Counts.of(k, 200)), task="t", model="m", time=f"2026-11-{i + 1:02d}")
    words = ["history", "--history", URL, "--task", "t", "--model", "m", "--drift"]
    found = json.loads(ask([*words, "--format", "json"]).stdout)
    assert found["kind"] == "drift"
    assert found["change_point"]["place"] == 7
    assert found["drifting"] is True
    text = ask(words).stdout
    assert text.startswith("DRIFT  t, m, accuracy")
    assert 600 <= healthy_runs(text) <= 930, "931 if runs were normal; shares of 200 right items are skewed"
    assert "valid if you look only once" in text
    narrow = ask([*words, "--h", "4", "--k", "0.5", "--alpha", ".001"]).stdout
    assert 230 <= healthy_runs(narrow) <= 335


def healthy_runs(text: str) -> int:
    """How many healthy runs lie between two false alarms of the chart, as it is printed."""
    found = re.search(r"one false alarm per about ([\d,]+) healthy runs", " ".join(text.split()))
    assert found is not None
    return int(found[1].replace(",", ""))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["history"], "No history configured"),
        (["history", "--history", URL], "No history at sqlite:///runs.db"),
        (["history", "--history", URL, "--drift"], "--drift needs --task and --model."),
        (["history", "--history", URL, "--drift", "--export", "a.csv"], "--drift and --export"),
        (["history", "--history", "postgresql://a:hunter2@127.0.0.1:1/b"], "Cannot use the history postgresql://127.0.0.1:1/b"),
        (["history", "--history", URL, "--limit", "none"], "--limit"),
    ],
)
def test_mistakes_are_told(words: list[str], said: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert code(words) == 3
    out, err = capfd.readouterr()
    assert out == ""
    assert said in err
    assert "hunter2" not in err


def test_a_hostile_name_does_nothing_to_a_terminal() -> None:
    with open_history(URL) as history:
        history.append(sy.measure(sy.Counts.of(1, 2)), task="\x1b[31mt", model="m\u202e")
        history.append(sy.measure(sy.Counts.of(1, 2)), task="<img src=x onerror=alert(1)>", model="|m|")
    text, page = ask(["history", "--history", URL]).stdout, ask(["history", "--history", URL, "--format", "markdown"]).stdout
    assert "\x1b" not in text + page
    assert "\u202e" not in text + page
    assert "<img" not in page
