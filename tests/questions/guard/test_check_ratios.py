"""Acceptance rate and length of speculative decoding, word errors: ratios of two sums per item, on record and guarded."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import steelyard as sy
from cases import every
from steelyard.errors import DataError, SourceError, UsageError
from steelyard.questions.suite.check_suite import check_suite

Rows = list[dict[str, Any]]
Command = Callable[..., Any]
N = 60


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def drafts(factor: float = 1.0, seed: int = 1, n: int = N) -> Rows:
    """Prompts of very different lengths and acceptance, as a decoder that drafts four tokens a step has them."""
    of_items, of_run = np.random.default_rng(0), np.random.default_rng(seed)
    steps, chance = np.round(of_items.lognormal(4, 0.8, n)) + 1, of_items.beta(6, 4, n)
    accepted = of_run.binomial((4 * steps).astype(int), chance * factor)
    return [
        {"id": f"p{i}", "accepted": int(a), "drafted": int(4 * s), "steps": int(s), "tokens": int(a + s)}
        for i, (a, s) in enumerate(zip(accepted, steps, strict=True))
    ]


def recorded(rows: Rows | None = None, **more: Any) -> sy.Recorded:
    given = {"metric": "acceptance_rate", "ratio": "accepted/drafted", "deterministic": True, **more}
    return sy.record(drafts() if rows is None else rows, task="drafts", model="m", **given)


def checked(rows: Rows, **more: Any) -> sy.Verdict:
    return sy.check(rows, task="drafts", model="m", **more)


def entry() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(Path("references/drafts.yaml").read_text())["m"][0]
    return found


def test_the_value_is_the_ratio_of_the_sums_and_the_entry_says_of_which() -> None:
    rows = drafts()
    value = sum(row["accepted"] for row in rows) / sum(row["drafted"] for row in rows)
    assert recorded(rows).value == pytest.approx(value)
    assert value != pytest.approx(np.mean([row["accepted"] / row["drafted"] for row in rows]), abs=1e-4)
    assert entry()["acceptance_rate"] == pytest.approx(value)
    assert entry()["sums"] == "accepted/drafted"


def test_a_drop_of_the_acceptance_rate_is_found_item_by_item_and_higher_is_better_by_its_name() -> None:
    recorded()
    worse, better, same = (checked(drafts(factor, seed=2)) for factor in (0.95, 1.05, 1.0))
    assert (worse.verdict, worse.design, worse.higher_is_better, worse.metric) == ("regression", "paired", True, "acceptance_rate")
    assert (better.verdict, same.verdict) == ("pass", "pass")
    assert any("significantly better" in said for said in better.warnings)


def test_p_and_bounds_are_those_of_compare() -> None:
    """The guard asks the paired comparison of ratios, one-sided; its bounds are the interval of level 1 - 2 alpha."""
    rows, new = drafts(), drafts(0.99, seed=3)
    recorded(rows)
    verdict = checked(new)
    both = sy.compare(rows, new, ratio="accepted/drafted", confidence_level=0.9, alternative="less")
    assert both.difference is not None
    assert both.difference.interval is not None
    assert verdict.difference.estimate == pytest.approx(both.difference.estimate)
    assert verdict.difference.interval is not None
    ends = both.difference.interval
    assert (verdict.difference.interval.low, verdict.difference.interval.high) == (pytest.approx(ends.low), pytest.approx(ends.high))
    assert verdict.p_value == both.p_value


def test_the_acceptance_length_is_tokens_per_step() -> None:
    rows = drafts()
    found = sy.record(rows, task="drafts", model="m", metric="acceptance_length", ratio="tokens/steps", deterministic=True)
    assert found.value == pytest.approx(1 + 4 * sum(row["accepted"] for row in rows) / sum(row["drafted"] for row in rows))
    assert checked(drafts(0.95, seed=2)).verdict == "regression"


def test_theta_must_be_ruled_out() -> None:
    recorded()
    assert checked(drafts(seed=2), theta=0.1).verdict == "pass"
    assert checked(drafts(seed=2), theta=0.001).verdict == "inconclusive"


def test_an_unnamed_ratio_says_which_way_it_takes_for_better() -> None:
    found = recorded(metric=None)
    assert any("lower is taken for better" in said and "higher_is_better=True" in said for said in found.warnings)
    assert checked(drafts(1.05, seed=2)).verdict == "regression"
    for more in ({"higher_is_better": True}, {"higher_is_better": False}):
        quiet = recorded(metric=None, update=True, reason="direction", **more)
        assert not any("taken for better" in said for said in quiet.warnings)
    assert not any("taken for better" in said for said in recorded(metric=None, update=True, reason="again").warnings)


def test_percent_is_a_hundred_times_the_ratio_though_it_may_exceed_100() -> None:
    rows = [{"id": f"u{i}", "errors": 3 + i % 4, "words": 4 + i % 3} for i in range(40)]
    value = sum(row["errors"] for row in rows) / sum(row["words"] for row in rows)
    found = sy.record(rows, task="speech", model="m", metric="wer", ratio="errors/words", scale="percent", deterministic=True)
    assert found.value == pytest.approx(100 * value)
    verdict = sy.check([{**row, "errors": row["errors"] + 1} for row in rows], task="speech", model="m")
    assert (verdict.verdict, verdict.higher_is_better) == ("regression", False)
    assert verdict.reference.estimate == pytest.approx(100 * value)


def test_a_pass_that_a_few_total_failures_bear_on_is_told() -> None:
    rows = [{"id": f"u{i}", "errors": i % 3, "words": 10 + i % 5} for i in range(400)]
    sy.record(rows, task="speech", model="m", metric="wer", ratio="errors/words", deterministic=True)

    def told(failed: int, *, varied: bool = True) -> list[str]:
        """A run that differs everywhere, as much up as down, and fails altogether on some items."""
        other = [{**row, "errors": (i + varied) % 3} for i, row in enumerate(rows)]
        broken = [{**row, "errors": row["words"]} if i < failed else row for i, row in enumerate(other)]
        found = sy.check(broken, task="speech", model="m", theta=0.05)
        assert found.verdict == "pass"
        return [said for said in found.warnings if "overconfident" in said]

    assert told(0) == []
    assert told(3, varied=False) == []  # of items that are otherwise the same, more are counted in than were seen
    (said,) = told(3)
    assert said.startswith("the pass may be overconfident: 3 of 400 items fail altogether in one of the two runs only")
    assert "1 of 400 items fails altogether" in told(1)[0]
    higher = [{"id": f"p{i}", "accepted": 30 + i % 3, "drafted": 40} for i in range(400)]
    recorded(higher)
    lost = [{**row, "accepted": 0 if i < 2 else 30 + (i + 1) % 3} for i, row in enumerate(higher)]
    assert any("2 of 400 items fail altogether" in said for said in checked(lost, theta=0.05).warnings)


def test_a_number_of_another_suite_is_held_against_the_ratio_and_not_the_mean_of_the_items() -> None:
    Path("references").mkdir()
    Path("references/speech.yaml").write_text("m:\n  - wer: 10\n    sigma: 50\n    num_samples: 32\n    scale: percent\n")
    rows = [{"id": i, "score": e / w, "errors": e, "words": w} for i, (e, w) in enumerate([(1, 2), (0, 30), (2, 28)] * 12)]
    verdict = sy.check(rows, task="speech", model="m", ratio="errors/words")
    assert verdict.candidate.estimate == pytest.approx(5.0)


# ---- which columns -----------------------------------------------------------------------------------------------------------


def test_columns_upside_down_are_refused_and_others_are_told() -> None:
    recorded()
    before = Path("references/drafts.yaml").read_bytes()
    with pytest.raises(UsageError, match=r"The reference is accepted/drafted, and you asked for drafted/accepted\..*leave ratio out"):
        checked(drafts(), ratio="drafted/accepted")
    with pytest.raises(UsageError, match="and you asked for drafted/accepted"):
        recorded(ratio="drafted/accepted", update=True, reason="x")
    assert Path("references/drafts.yaml").read_bytes() == before
    renamed = [{"id": row["id"], "ok": row["accepted"], "of": row["drafted"]} for row in drafts()]
    assert "the ratio on record was made of accepted/drafted, this one of ok/of" in checked(renamed, ratio="ok/of").warnings
    with pytest.raises(sy.SteelyardError, match="accepted"):
        checked(renamed)


def test_columns_with_a_slash_are_named_every_time_and_a_column_over_itself_is_not_upside_down() -> None:
    rows = [{"id": i, "a/b": 1 + i % 2, "d": 3} for i in range(10)]
    recorded(rows, ratio=("a/b", "d"))
    assert "sums" not in entry()
    assert checked(rows, ratio=("a/b", "d")).verdict == "pass"
    sy.record(rows, task="ones", model="m", metric="acceptance_rate", ratio="d/d", deterministic=True)
    assert sy.check(rows, task="ones", model="m", ratio="d/d").candidate.estimate == 1


def test_another_metric_takes_the_place_of_a_ratio() -> None:
    recorded()
    rows = [{"id": f"p{i}", "score": i % 2} for i in range(N)]
    found = recorded(rows, metric="accuracy", ratio=None, update=True, reason="another question")
    assert found.metric == "accuracy"
    assert "sums" not in entry()
    assert checked(rows).verdict == "pass"


def test_a_task_says_its_columns_for_record_check_and_suites(steelyard: Command) -> None:
    Path("steelyard.toml").write_text('[tasks.drafts]\nratio = ["accepted", "drafted"]\nmetric = "acceptance_rate"\n')
    for name, factor in (("a", 1.0), ("b", 0.9)):
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in drafts(factor)))
    ask = ("--task", "drafts", "--model", "m")
    assert steelyard("record", "a.jsonl", *ask, "--deterministic").code == 0
    answer = steelyard("check", "b.jsonl", *ask, "--history", "sqlite:///h.db", "--format", "json")
    assert (answer.code, answer.json["metric"], answer.json["verdict"], answer.err) == (1, "acceptance_rate", "regression", "")
    Path("s.toml").write_text('[[checks]]\ntask = "drafts"\nmodel = "m"\nresult = "b.jsonl"\n')
    assert check_suite("s.toml").verdict == "regression"
    assert [run.metric for run in sy.list_runs("sqlite:///h.db")] == ["acceptance_rate"]


@every("written", ['"accepted"', '"a/b/c"', "3", '["a"]', '["a", 4]', '"/b"', '""'])
def test_columns_that_are_none_are_refused_in_the_configuration(written: str) -> None:
    Path("steelyard.toml").write_text(f"[tasks.drafts]\nratio = {written}\n")
    with pytest.raises(SourceError, match=r"tasks\.drafts\.ratio.*two column names"):
        recorded(ratio=None)


@every("written", ["accepted", "a/b/c", "5", "/"])
def test_columns_that_are_none_are_refused_in_the_entry(written: str) -> None:
    if not Path("references/drafts.yaml").exists():
        recorded()
        Path("kept.yaml").write_text(Path("references/drafts.yaml").read_text())
    Path("references/drafts.yaml").write_text(Path("kept.yaml").read_text().replace("sums: accepted/drafted", f"sums: {written}"))
    with pytest.raises(SourceError, match=r"sums of the reference \(line 2\) must be two column names"):
        checked(drafts())


# ---- what cannot be divided --------------------------------------------------------------------------------------------------


def test_nothing_below_the_line_is_refused_and_nothing_is_written() -> None:
    none = [{**row, "accepted": 0, "drafted": 0} for row in drafts()]
    with pytest.raises(DataError, match=r"The column below the line is 0 in all 60 items, so there is no ratio\."):
        recorded(none)
    with pytest.raises(DataError, match=r"negative in 1 of 60 items, such as -4\."):
        recorded([{**row, "drafted": -4 if row["id"] == "p7" else row["drafted"]} for row in drafts()])
    assert not Path("references/drafts.yaml").exists()
    recorded()
    with pytest.raises(DataError, match="0 in all 60 items"):
        checked(none)


def test_a_prompt_without_drafts_adds_nothing() -> None:
    rows = drafts()
    rows[5] |= {"accepted": 0, "drafted": 0}
    value = recorded(rows).value
    assert value == pytest.approx(sum(row["accepted"] for row in rows) / sum(row["drafted"] for row in rows))
    assert checked(rows).verdict == "pass"


@pytest.mark.long
@every("n", [30, 100])
def test_false_alarms_and_bounds_of_a_ratio(n: int) -> None:
    """Healthy runs of prompts of very different lengths: about 5% alarm, and each one-sided bound misses in about 5%.

    Seen in 2,000 and 2,500 runs: 30 items .046 alarms, misses .064 and .045; 100 items .052, .049 and .050.
    """
    many, alarms, missed = 400, 0, np.zeros(2)
    for seed in range(many):
        rng = np.random.default_rng(seed)
        steps, chance = np.round(rng.lognormal(4, 0.8, n)) + 1, rng.beta(6, 4, n)
        sides = []
        for _ in range(2):
            drafted = (4 * np.maximum(1, np.round(steps * rng.uniform(0.8, 1.25, n)))).astype(int)
            sides.append({"id": list(range(n)), "a": rng.binomial(drafted, chance).tolist(), "d": drafted.tolist()})
        found = sy.compare(*sides, ratio="a/d", alternative="less", confidence_level=0.9, draws=1000)
        assert found.difference is not None
        assert found.difference.interval is not None
        assert found.p_value is not None
        alarms += found.p_value <= 0.05
        missed += [found.difference.interval.low > 0, found.difference.interval.high < 0]
    noise = 4 * (0.05 * 0.95 / many) ** 0.5
    assert alarms / many <= 0.05 + noise
    assert (missed / many <= 0.065 + noise).all()
