"""Whatever can be asked for by name is one object: added here, it is found by the command, by Python and by the docs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest
from click.testing import CliRunner

import steelyard as sy
from stand_ins import needs_sphinx
from steelyard.cli.main import steelyard
from steelyard.estimate.difference_tests import TESTS, NamedTest
from steelyard.estimate.named_intervals import INTERVALS, NamedInterval
from steelyard.evaluate.asking.asks import Case, Scored
from steelyard.evaluate.scorers.base import Scoring
from steelyard.evaluate.scorers.catalogue import SCORERS
from steelyard.infer.intervals.proportion import METHODS
from steelyard.infer.sequential.after_stopping import StoppedEstimate
from steelyard.infer.sequential.stopping import RULES, RuleKind, RuleQuestion, StoppingRule, rule_for
from steelyard.read.logs.found import FORMATS, LogFormat
from steelyard.read.logs.log import Choices, Log
from steelyard.reference.config import TIERS, Tier
from steelyard.render.formats import FORMATS as WRITTEN
from steelyard.render.formats import OutputFormat
from steelyard.render.page import page_of
from steelyard.results.comparison import Test

ROOT = Path(__file__).parents[1]


def helped(*words: str) -> str:
    """What `--help` says, on one line."""
    return " ".join(CliRunner().invoke(steelyard, [*words, "--help"], catch_exceptions=False).stdout.split())


@pytest.fixture
def documented(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The function from which the page of catalogues is written."""
    needs_sphinx()
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_extensions"))
    import textbook

    return textbook.catalogues


# ---- scorers -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Shouted(Scoring):
    """The answer is the truth in capitals."""

    name: ClassVar[str] = "shouted"

    def compare(self, said: Any, case: Case) -> Scored:
        return Scored(score=float(said == str(case.truth).upper()), prediction=said, truth=str(case.truth))


def test_a_scorer_is_one_object(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(SCORERS, "shouted", Shouted)
    rows = [{"id": f"q{i}", "word": word, "truth": word} for i, word in enumerate(("ja", "nein", "doch", "und"))]
    task = {"name": "loud", "data": rows, "input": "{word}", "scorer": "shouted"}
    found = sy.run({"task": task}, lambda prompt: prompt.upper() if prompt != "und" else prompt, against="none")
    assert found.models[0].measurement is not None
    assert found.models[0].measurement.rows[0].estimate == 0.75
    with pytest.raises(sy.UsageError, match="'shouted'"):
        sy.run({"task": {**task, "scorer": "shoutet"}}, str.upper, against="none")
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "loud.toml").write_text(
        '[task]\nname = "loud"\ndata = "data.jsonl"\ninput = "{word}"\nscorer = "shouted"\n', encoding="utf-8"
    )
    (tmp_path / "preds.csv").write_text("id,prediction\nq0,JA\nq1,NEIN\nq2,DOCH\nq3,und\n", encoding="utf-8")
    words = ["run", str(tmp_path / "loud.toml"), "--model", f"file:{tmp_path / 'preds.csv'}", "--against", "none", "--format", "json"]
    answer = CliRunner().invoke(steelyard, words, catch_exceptions=False)
    assert answer.exit_code == 0
    assert '"estimate": 0.75' in answer.stdout
    assert re.search(r"Scorers that a task can name: exact, .*\bshouted\.", helped("run"))


def test_a_scorer_is_on_the_page(monkeypatch: pytest.MonkeyPatch, documented: Any) -> None:
    monkeypatch.setitem(SCORERS, "shouted", Shouted)
    assert documented()["Scorers"]["shouted"] == "The answer is the truth in capitals."


# ---- logs --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def diary(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A tool that writes {"diary": [[id, score], ...]}."""
    module: Any = ModuleType("diary_log")

    def looks_like(path: str, head: bytes) -> bool:
        return b'"diary"' in head

    def read(path: str, choices: Choices) -> Log:
        ids, scores = zip(*json.loads(Path(path).read_text(encoding="utf-8"))["diary"], strict=True)
        return Log(tool="diary", columns={"id": list(ids), "score": list(scores)}, chosen={})

    module.looks_like, module.read = looks_like, read
    monkeypatch.setitem(sys.modules, "diary_log", module)
    form = LogFormat(tool="diary", give="a `.json` diary", module="diary_log", words=(b'"diary"',))
    FORMATS.append(form)
    yield
    FORMATS.remove(form)


@pytest.mark.usefixtures("diary")
def test_a_log_format_is_one_object(tmp_path: Path, documented: Any) -> None:
    path = tmp_path / "night.json"
    path.write_text(json.dumps({"diary": [["a", 1], ["b", 0], ["c", 1], ["d", 1]]}), encoding="utf-8")
    assert sy.measure(str(path)).row.estimate == 0.75
    answer = CliRunner().invoke(steelyard, ["measure", str(path), "--format", "json"], catch_exceptions=False)
    assert json.loads(answer.stdout)["metrics"][0]["estimate"] == 0.75
    for command in ("measure", "compare", "rank", "record", "check"):
        assert re.search(r"Logs it reads: .*\bdiary\.", helped(command)), command
    assert documented()["Logs"]["diary"] == "a `.json` diary."


# ---- formats of answers ------------------------------------------------------------------------------------------------


def shouted(result: Any) -> str:
    """What the answer says, aloud."""
    return page_of(result).lead.upper()


def test_an_output_format_is_one_object(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, documented: Any) -> None:
    words = ["plan", "detect", "--sigma", "50", "--theta", "3"]
    assert CliRunner().invoke(steelyard, [*words, "--format", "shout"]).exit_code != 0
    monkeypatch.setitem(WRITTEN, "shout", OutputFormat(write=shouted, endings=(".loud",)))
    printed = CliRunner().invoke(steelyard, [*words, "--format", "shout"], catch_exceptions=False)
    assert printed.stdout == sy.plan_detect(sigma=50, theta=3).conclusion.upper() + "\n"
    CliRunner().invoke(steelyard, [*words, "-o", str(tmp_path / "plan.loud")], catch_exceptions=False)
    assert (tmp_path / "plan.loud").read_text(encoding="utf-8") == printed.stdout
    for command in (["measure"], ["check"], ["plan", "detect"], ["references", "list"]):
        assert "|shout" in "".join(CliRunner().invoke(steelyard, [*command, "--help"]).stdout.split()), command
    assert documented()["Formats"]["shout"] == "What the answer says, aloud."


def test_a_format_of_guards_is_offered_for_guards_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WRITTEN, "shout", OutputFormat(write=shouted, answers="guards"))
    told = {
        name: "|shout" in "".join(CliRunner().invoke(steelyard, [name, "--help"]).stdout.split()) for name in ("check", "run", "compare")
    }
    assert told == {"check": True, "run": True, "compare": False}


# ---- intervals ---------------------------------------------------------------------------------------------------------


def whole(k: float, n: float, confidence_level: float = 0.95, side: str = "two") -> tuple[float, float]:
    """Everything that a proportion can be."""
    return 0.0, 1.0


def test_an_interval_is_one_object(monkeypatch: pytest.MonkeyPatch, documented: Any) -> None:
    monkeypatch.setitem(METHODS, "whole", whole)
    found = sy.measure(sy.Counts.of(12, 40), interval="whole").row.interval
    assert found is not None
    assert (found.low, found.high, found.method) == (0.0, 1.0, "whole")
    words = ["measure", "--counts", "12/40", "--interval", "whole", "--format", "json"]
    answer = json.loads(CliRunner().invoke(steelyard, words, catch_exceptions=False).stdout)
    assert answer["metrics"][0]["interval"]["method"] == "whole"
    assert " whole," in " ".join(CliRunner().invoke(steelyard, ["measure", "--help"]).stdout.split())
    with pytest.raises(sy.UsageError, match="whole"):
        sy.measure(sy.Counts.of(12, 40), interval="hole")
    assert documented()["Intervals of one system"]["whole"] == "Everything that a proportion can be."


def certain(*given: Any) -> tuple[float, float]:
    """Everything that a difference can be."""
    return -1.0, 1.0


def test_an_interval_of_a_difference_is_one_object(monkeypatch: pytest.MonkeyPatch, documented: Any) -> None:
    flips = sy.JointCounts.flips(both=3, baseline_only=2, candidate_only=9, neither=6)
    with pytest.raises(sy.UsageError, match="'certain'"):
        sy.compare(flips, interval="certain")
    monkeypatch.setitem(INTERVALS, "certain", NamedInterval(says="all that there can be", flips=certain, proportions=certain))
    for found in (sy.compare(flips, interval="certain"), sy.compare(sy.Counts.of(5, 20), sy.Counts.of(12, 20), interval="certain")):
        ends = found.difference.interval
        assert (ends.low, ends.high, ends.method) == (-1.0, 1.0, "certain")
        assert "|interval:certain|" in found.signature
    words = ["compare", "--flips", "3,2,9,6", "--interval", "certain", "--format", "json"]
    answer = json.loads(CliRunner().invoke(steelyard, words, catch_exceptions=False).stdout)
    assert answer["difference"]["interval"]["method"] == "certain"
    assert " certain" in helped("compare")
    with pytest.raises(sy.UsageError, match="bounded-t"):  # it says what it applies to
        sy.compare([0.1, 0.5, 0.9], [0.2, 0.4, 0.7], range=(0, 1), interval="certain")
    assert documented()["Intervals of a difference"]["certain"] == "all that there can be."


def test_an_interval_of_a_mean_is_one_object(monkeypatch: pytest.MonkeyPatch, documented: Any) -> None:
    """It works on the sums that every metric of sums has, in groups too, and says whether it takes 0 and 1 for numbers."""

    def of_ends(sums: Any, statistic: Any, settings: Any) -> tuple[float, float, int]:
        values = sums.dense[:, 1] / sums.dense[:, 0]
        return float(values.min()), float(values.max()), 0

    monkeypatch.setitem(INTERVALS, "min-max", NamedInterval(says="from the least unit to the greatest", sums=of_ends, of_numbers=True))
    for data in ([0.1, 0.5, 0.9], {"score": [0.1, 0.1, 0.9, 0.9] * 3, "group": list("aabbccddeeff")}):
        found = sy.measure(data, metric="mean", interval="min-max").row.interval
        assert found is not None
        assert (found.low, found.high, found.method) == (0.1, 0.9, "min-max")
    assert " min-max" in helped("measure")
    assert documented()["Intervals of one system"]["min-max"] == "from the least unit to the greatest."


# ---- tests of a difference ---------------------------------------------------------------------------------------------


def strict(gained: int, lost: int, n: int, asked: Any) -> Test:
    """Nothing less than a difference on every item."""
    return Test(name="strict", alternative=asked.alternative, statistic=float(gained), p_value=0.0 if gained == n else 1.0)


def firm(k1: int, n1: int, k2: int, n2: int, asked: Any) -> Test:
    """The same of different items."""
    return Test(name="strict", alternative=asked.alternative, statistic=None, p_value=0.0 if (k1, k2) == (n1, 0) else 1.0)


def test_a_test_of_a_difference_is_one_object(monkeypatch: pytest.MonkeyPatch, documented: Any) -> None:
    added = NamedTest(says="all items or none", flips=strict, proportions=firm)
    with pytest.raises(sy.UsageError, match="'strict'"):
        sy.compare(sy.JointCounts.flips(both=0, baseline_only=0, candidate_only=9, neither=0), test="strict")
    monkeypatch.setitem(TESTS, "strict", added)
    paired = sy.compare(sy.JointCounts.flips(both=0, baseline_only=0, candidate_only=9, neither=0), test="strict")
    apart = sy.compare(sy.Counts.of(0, 9), sy.Counts.of(8, 9), test="strict")
    assert (paired.test.name, paired.p_value, apart.p_value) == ("strict", 0.0, 1.0)
    words = ["compare", "--flips", "0,0,9,0", "--test", "strict", "--format", "json"]
    answer = json.loads(CliRunner().invoke(steelyard, words, catch_exceptions=False).stdout)
    assert (answer["test"]["name"], answer["test"]["p_value"]) == ("strict", 0.0)
    assert " strict." in " ".join(CliRunner().invoke(steelyard, ["compare", "--help"]).stdout.split())
    with pytest.raises(sy.UsageError, match="paired-t"):  # it says what it applies to
        sy.compare([0.1, 0.5, 0.9], [0.2, 0.4, 0.7], test="strict")
    assert documented()["Tests of a difference"]["strict"] == "all items or none."


# ---- roles of columns --------------------------------------------------------------------------------------------------

ADDED = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from steelyard.items import ROLES, ColumnRole
ROLES["confidence"] = ColumnRole(says="Column that says how sure the model was.", known=("confidence", "sure"), number=True, answer=True)
if sys.argv[1] == "docs":
    import textbook
    print(textbook.catalogues()["Columns"]["confidence"])
else:
    from steelyard.cli.main import main
    from steelyard.metrics.catalogue import CATALOGUE
    from steelyard.metrics.sums import QUOTIENT, SumsMetric, one_number
    CATALOGUE["overconfidence"] = SumsMetric(
        base="overconfidence", says="how much surer than right", needs=("score", "confidence"), low=-1, higher_is_better=False,
        adds=lambda score, sure: one_number(sure - score), statistic=QUOTIENT, mean_of_items=True, interval="t", in_groups="t",
    )
    main(sys.argv[1:])
"""


def test_a_role_of_a_column_is_one_object(tmp_path: Path) -> None:
    """A metric needs it. Options are made from the roles when the package is loaded, so it is added before."""
    needs_sphinx()
    sure = [0.9, 0.8, 0.6, 0.9, 0.7, 0.5, 0.9, 0.8]
    for name, more in (("a", 0.0), ("b", 0.05)):
        rows = [f"{i},{int(i % 4 > 0)},{p + more},{i / 10}" for i, p in enumerate(sure)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,score,SURE,other", *rows]) + "\n", encoding="utf-8")

    def asked(*words: str) -> str:
        argv = [sys.executable, "-c", ADDED, str(ROOT / "docs" / "_extensions"), *words]
        return subprocess.run(argv, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    words = ("--metric", "overconfidence", "--format", "json")
    found = json.loads(asked("measure", "a.csv", *words))
    assert found["roles"]["confidence"] == "SURE"
    assert found["metrics"][0]["estimate"] == pytest.approx(sum(sure) / 8 - 0.75)
    named = json.loads(asked("measure", "a.csv", "--confidence", "other", *words))
    assert (named["roles"]["confidence"], named["metrics"][0]["estimate"]) == ("other", pytest.approx(0.35 - 0.75))
    compared = json.loads(asked("compare", "a.csv", "b.csv", *words))
    assert compared["difference"]["estimate"] == pytest.approx(0.05)
    assert json.loads(asked("measure", "a.csv", "--format", "json"))["metrics"][0]["metric"] == "accuracy"  # it changes nothing else
    assert "--confidence COLUMN Column that says how sure the model was." in " ".join(asked("measure", "--help").split())
    assert "--confidence COLUMN" in " ".join(asked("check", "--help").split())
    assert asked("docs").startswith("Column that says how sure the model was. Found by the names `confidence`")


# ---- stopping rules ----------------------------------------------------------------------------------------------------


class FirstLoss:
    """A regression as soon as anything is lost."""

    name, alpha_spent, pass_level = "first loss", 0.0, None

    def __init__(self, question: RuleQuestion) -> None:
        self.question, self.decision, self.looks = question, "continue", ()

    def look(self, differences: Any, last: bool = False) -> str:
        self.decision = "regression" if np.min(differences) < 0 else "exhausted" if last else "continue"
        self.looks = (*self.looks, {"n": len(differences), "decision": self.decision})
        self.estimated = float(np.mean(differences))
        return self.decision

    def estimate(self) -> StoppedEstimate:
        p = 0.0 if self.decision == "regression" else 1.0
        return StoppedEstimate(estimate=self.estimated, low=-1.0, high=1.0, confidence_level=0.9, p_value=p, method="first loss")

    def plan(self) -> dict[str, Any]:
        return {"rule": "first-loss"}


def test_a_stopping_rule_is_one_object(monkeypatch: pytest.MonkeyPatch) -> None:
    make: Any = FirstLoss
    monkeypatch.setitem(RULES, "first-loss", RuleKind(says="stops at the first loss", make=make, needs_theta=True))
    rule: StoppingRule = rule_for("first-loss", right_or_wrong=True, theta=0.02)
    assert [rule.look([0, 1]), rule.look([0, 1, -1])] == ["continue", "regression"]
    with pytest.raises(sy.UsageError, match="without theta"):
        rule_for("first-loss", right_or_wrong=True)
    with pytest.raises(sy.UsageError, match="first-loss"):
        rule_for("last-loss", right_or_wrong=True)
    assert "first-loss" in "".join(CliRunner().invoke(steelyard, ["run", "--help"]).stdout.split())


def test_the_command_stops_by_a_new_rule(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing else is told of it: the run asks until the first loss, and the check of its rows replays the same looks."""
    make: Any = FirstLoss
    monkeypatch.setitem(RULES, "first-loss", RuleKind(says="stops at the first loss", make=make, needs_theta=True))
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"q{i}", "word": "a", "truth": "a"} for i in range(200)]
    Path("data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    Path("t.toml").write_text('[task]\nname = "t"\ndata = "data.jsonl"\ninput = "{word}"\nscorer = "exact"\n', encoding="utf-8")
    sy.record([{"id": row["id"], "score": 1} for row in rows], task="t", model="m")
    said = [{"id": row["id"], "prediction": "a" if i % 50 else "b"} for i, row in enumerate(rows)]
    Path("said.jsonl").write_text("".join(json.dumps(row) + "\n" for row in said), encoding="utf-8")
    words = [
        "run",
        "t.toml",
        "--model",
        "file:said.jsonl",
        "--name",
        "m",
        "--until",
        "decided",
        "--theta",
        ".1",
        "--stopping",
        "first-loss",
    ]
    answer = CliRunner().invoke(steelyard, [*words, "-o", "rows.jsonl", "--format", "json"], catch_exceptions=False)
    found = json.loads(answer.stdout)
    assert (answer.exit_code, found["verdict"], found["details"]["stopping"]["design"]) == (1, "regression", "first loss")
    assert found["run"]["n"] < 200
    assert sy.check("rows.jsonl", task="t", model="m").verdict == "regression"


def test_a_stopping_rule_is_on_the_page(monkeypatch: pytest.MonkeyPatch, documented: Any) -> None:
    make: Any = FirstLoss
    monkeypatch.setitem(RULES, "first-loss", RuleKind(says="stops at the first loss", make=make))
    assert documented()["Stopping rules"]["first-loss"] == "stops at the first loss."


# ---- tiers of a suite --------------------------------------------------------------------------------------------------


def test_a_tier_is_one_object(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, documented: Any) -> None:
    (tmp_path / "references").mkdir()
    (tmp_path / "references" / "t.yaml").write_text("m:\n  - accuracy: 90\n    num_samples: 1000\n", encoding="utf-8")
    suite = '[suite]\n[[checks]]\ntask = "t"\nmodel = "m"\nvalue = 60\nscale = "percent"\ntier = "watched"\n'
    (tmp_path / "suite.toml").write_text(suite, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    words = ["check", "--suite", "suite.toml", "--format", "json"]
    with pytest.raises(sy.SourceError, match=r"critical, supporting.* or advisory, not 'watched'"):
        sy.check_suite("suite.toml")
    monkeypatch.setitem(TIERS, "watched", Tier(says="looked at, never red", fails=False, holds=False))
    answer = CliRunner().invoke(steelyard, words, catch_exceptions=False)
    assert answer.exit_code == 0
    found = json.loads(answer.stdout)
    assert (found["verdict"], found["verdicts"][0]["verdict"], found["verdicts"][0]["tier"]) == ("pass", "regression", "watched")
    for command in ("check", "run"):
        assert "Tiers of the checks in a suite: critical, supporting, advisory, watched." in helped(command), command
    assert documented()["Tiers of a suite"]["watched"] == "looked at, never red."


# ---- keys of a reference -----------------------------------------------------------------------------------------------

WITH_KEY = """
import sys
sys.path[:0] = sys.argv.pop(1), sys.argv.pop(1)
if sys.argv[1] == "docs":
    import textbook
    print(textbook.catalogues()["Keys of a reference"]["owner"])
else:
    from steelyard.cli.main import main
    main(sys.argv[1:])
"""


def with_one_line_more(file: str, before: str, line: str, folder: Path) -> Path:
    """The package with one line more in one of its files: all others are links to its own."""
    package = Path(sy.__file__).parent
    there = folder / package.name
    for path in package.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            link = there / path.relative_to(package)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path)
    text = (package / file).read_text(encoding="utf-8")
    assert text.count(before) == 1
    (there / file).unlink()
    (there / file).write_text(text.replace(before, f"{line}\n{before}"), encoding="utf-8")
    return folder


def test_a_key_of_a_reference_is_one_object(tmp_path: Path) -> None:
    """A field of the class, which is a line of its file."""
    needs_sphinx()
    added = '    owner: str | None = provenance("Team that looks after it.")'
    package = with_one_line_more("reference/entry.py", "    approved: str | None = provenance(", added, tmp_path / "package")
    (tmp_path / "references").mkdir()
    file = tmp_path / "references" / "t.yaml"
    file.write_text("m:\n  - accuracy: 90\n    num_samples: 1000\n    owner: speech\n", encoding="utf-8")

    def asked(*words: str) -> str:
        argv = [sys.executable, "-c", WITH_KEY, str(package), str(ROOT / "docs" / "_extensions"), *words]
        return subprocess.run(argv, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    assert json.loads(asked("references", "show", "t", "m", "--format", "json"))["entry"]["owner"] == "speech"
    asked("references", "approve", "t", "m", "--reason", "looked at")
    assert "    owner: speech\n" in file.read_text(encoding="utf-8")
    assert "owner" not in asked("references", "lint")
    assert re.search(r"Keys of a reference: num_samples, .*\bowner,", " ".join(asked("references", "lint", "--help").split()))
    assert asked("docs") == "Team that looks after it.\n"
    with pytest.raises(sy.SourceError, match="unknown key 'owner'"):
        sy.show_reference("t", "m", directory=tmp_path / "references")
