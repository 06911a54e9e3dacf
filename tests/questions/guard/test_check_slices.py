"""Slices beside the whole: what is found, what is only shown, what is refused, and where the slices come from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from cases import every
from steelyard.errors import SteelyardError
from steelyard.infer.paired.mcnemar import mcnemar_midp
from steelyard.infer.slices import adjust_slices
from steelyard.reference import outcomes
from steelyard.results.verdict import Verdict

Rows = list[dict[str, Any]]
LANGUAGES = ("de", "en", "fr")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def rows(flips: dict[str, tuple[int, int]], n: int = 100, **more: Any) -> tuple[Rows, Rows]:
    """A reference of four right answers in five, and a run with so many lost and gained in each language."""
    reference, run = [], []
    for language, (lost, gained) in flips.items():
        for i in range(n):
            right = i < n * 4 // 5
            now = i >= lost if right else i >= n - gained
            about = {"id": f"{language}{i}", "language": language, **{name: make(language, i) for name, make in more.items()}}
            reference.append({**about, "score": float(right)})
            run.append({**about, "score": float(now)})
    return reference, run


def recorded(*runs: Rows, **options: Any) -> sy.Recorded:
    return sy.record(*runs, task="t", model="m", **options)


def checked(run: Any, **options: Any) -> Verdict:
    return sy.check(run, task="t", model="m", **options)


def test_a_loss_in_one_slice_is_a_regression_though_gains_elsewhere_hide_it() -> None:
    reference, run = rows({"de": (12, 0), "en": (0, 6), "fr": (0, 6)})
    recorded(reference)
    assert checked(run).verdict == "pass"
    verdict = checked(run, by="language")
    assert verdict.verdict == "regression"
    assert verdict.p_value == pytest.approx(0.5)
    assert [(one.value, one.worse) for one in verdict.slices] == [("de", True), ("en", False), ("fr", False)]
    assert "not shown to be worse. Worse for language = de" in verdict.conclusion
    assert verdict.changed_items[0]["slice"] == "de"


def test_the_p_values_are_those_of_the_graph_and_the_smallest_is_what_a_suite_takes() -> None:
    flips = {"de": (9, 1), "en": (4, 5), "fr": (3, 2)}
    reference, run = rows(flips)
    recorded(reference)
    verdict = checked(run, by="language")
    whole, parts = adjust_slices(mcnemar_midp(8, 16, "less"), [mcnemar_midp(g, b, "less") for b, g in flips.values()])
    assert [one.p_value for one in verdict.slices] == [mcnemar_midp(g, b, "less") for b, g in flips.values()]
    assert [one.p_adjusted for one in verdict.slices] == parts == pytest.approx([0.0673450902104377, 0.6875, 0.6875], abs=1e-10)
    assert verdict.slicing is not None
    assert (verdict.slicing.tested, verdict.slicing.share, verdict.slicing.losses_needed) == (3, 0.8, 8)
    assert verdict.slicing.p_overall == whole == pytest.approx(0.0673450902104377, abs=1e-10)
    assert verdict.p_decisive == min(whole, *parts)
    assert verdict.p_value == checked(run).p_value


def test_each_slice_is_what_a_check_of_its_items_alone_would_say() -> None:
    reference, run = rows({"de": (12, 2), "en": (3, 6), "fr": (1, 1)})
    recorded(reference)
    slices = checked(run, by="language").slices
    for one in slices:
        alone = [row for row in run if row["language"] == one.value]
        sy.record([row for row in reference if row["language"] == one.value], task=f"t-{one.value}", model="m")
        verdict = sy.check(alone, task=f"t-{one.value}", model="m")
        assert (one.n, one.reference, one.candidate) == (verdict.n, verdict.reference.estimate, verdict.candidate.estimate)
        assert one.difference.estimate == verdict.difference.estimate
        assert (one.difference.lower, one.difference.upper) == (verdict.difference.lower, verdict.difference.upper)
        assert one.p_value == verdict.p_value
        assert one.flips == verdict.flips


def test_the_whole_keeps_its_share_and_a_result_between_the_two_levels_is_said() -> None:
    reference, run = rows({"de": (4, 1), "en": (4, 1), "fr": (4, 1)}, n=100)
    recorded(reference)
    alpha = checked(run).p_value
    alone, verdict = checked(run, alpha=alpha), checked(run, by="language", alpha=alpha)
    assert (alone.verdict, verdict.verdict) == ("regression", "pass")
    assert any("not after correction for the slices" in said for said in verdict.warnings)
    assert (verdict.threshold or 0) < (alone.threshold or 0)
    assert (verdict.mde or 0) > (alone.mde or 0)


def test_only_critical_slices_count_where_some_are_named() -> None:
    reference, run = rows({"de": (12, 0), "en": (0, 6), "fr": (0, 6)})
    recorded(reference)
    verdict = checked(run, by="language", critical_slices=["en"])
    assert verdict.verdict == "pass"
    assert [(one.value, one.critical, one.p_adjusted is None) for one in verdict.slices] == [
        ("de", False, True),
        ("en", True, False),
        ("fr", False, True),
    ]
    assert verdict.slices[0].note == "advisory"
    assert checked(run, by="language", critical_slices="language=de").verdict == "regression"


def test_a_pass_rules_theta_out_in_every_critical_slice() -> None:
    reference, run = rows({"de": (2, 0), "en": (0, 2), "fr": (0, 0)})
    recorded(reference)
    assert checked(run, by="language", theta=0.04).verdict == "pass"
    verdict = checked(run, by="language", theta=0.04, critical_slices=["de"])
    assert verdict.verdict == "inconclusive"
    assert verdict.conclusion.endswith("is ruled out overall, but not for language = de.")
    assert "language = de" in (verdict.needed or {})["why"]
    assert checked(run, by="language", theta=0.1, critical_slices=["de"]).verdict == "pass"


def test_small_slices_are_shown_and_not_tested_and_size_alone_decides() -> None:
    reference, run = rows({"de": (12, 0), "en": (0, 6)})
    small, small_run = rows({"rare": (9, 0)}, n=19)
    recorded([*reference, *small])
    verdict = checked([*run, *small_run], by="language")
    assert verdict.slicing is not None
    assert verdict.slicing.tested == 2
    rare = verdict.slices[-1]
    assert (rare.value, rare.n, rare.p_adjusted, rare.note) == ("rare", 19, None, "fewer than 20 items")
    assert rare.p_value is not None


@pytest.mark.parametrize("critical", [["fr"], ["de", "fr"]])
def test_a_critical_slice_that_is_too_small_to_be_tested_is_named(critical: list[str]) -> None:
    large, small = rows({"de": (0, 9), "en": (0, 0)}), rows({"fr": (9, 0)}, 12)
    recorded(large[0] + small[0])
    verdict = checked(large[1] + small[1], by="language", critical_slices=critical)
    told = [said for said in verdict.warnings if "tested" in said]
    assert told == [
        "the critical slice language = fr is not tested (12 items are too few): a loss there can only show in all items together"
    ]


def test_items_without_a_value_are_a_slice_of_their_own() -> None:
    reference, run = rows({"de": (0, 0), "en": (12, 0)})
    recorded(reference)
    for row in run:
        row["language"] = None if row["language"] == "en" else row["language"]
    assert [(one.value, one.worse) for one in checked(run, by="language").slices] == [("de", False), ("(none)", True)]


def test_several_columns_are_one_family() -> None:
    reference, run = rows({"de": (12, 0), "en": (0, 6)}, kind=lambda _, i: "odd" if i % 2 else "even")
    recorded(reference)
    verdict = checked(run, by=["language", "kind"])
    assert verdict.slicing is not None
    assert verdict.slicing.tested == 4
    assert [(one.by, one.value) for one in verdict.slices] == [("language", "de"), ("language", "en"), ("kind", "even"), ("kind", "odd")]


def test_slices_on_record_count_whatever_the_run_says() -> None:
    reference, run = rows({"de": (12, 0), "en": (0, 6), "fr": (0, 6)})
    found = recorded(reference, by="language")
    for row in run:
        del row["language"]
    assert [one.value for one in checked(run, by="language").slices] == list(LANGUAGES)
    kept = outcomes.load(Path("references"), "t", str(found.items))
    assert kept.slices["language"].names == LANGUAGES
    # shuffled rows give the same bytes
    assert recorded(reference[::-1], by="language", update=True, reason="again").items == found.items
    # an update keeps the column, which the new run has to have
    assert recorded(reference, update=True, reason="again").items == found.items
    with pytest.raises(SteelyardError, match="language"):
        recorded(run, by="language", update=True)


def test_a_run_that_puts_items_into_other_slices_than_the_record_is_told_so() -> None:
    reference, run = rows({"de": (2, 0), "fr": (0, 0)})
    recorded(reference, by="language")
    moved = [{**row, "language": "it"} if i < 7 else row for i, row in enumerate(run)]
    for there, count in ((run, 0), (moved, 1), ([{key: row[key] for key in ("id", "score")} for row in run], 0)):
        verdict = checked(there, by="language")
        told = [said for said in verdict.warnings if "is not what was recorded" in said]
        assert len(told) == count
        assert [one.value for one in verdict.slices] == ["de", "fr"]
    told = [said for said in checked(moved, by="language").warnings if "language of 7 items" in said]
    assert "such as 'de0' (de on record, it in the run)" in told[0]


def test_slices_go_with_repeats_and_with_lower_is_better() -> None:
    reference, run = rows({"de": (12, 0), "en": (0, 6), "fr": (0, 6)})
    recorded(reference, reference, by="language")
    assert checked(run, by="language").verdict == "regression"
    for row in (*reference, *run):
        row["loss"] = 1.5 - row.pop("score")
    sy.record(reference, task="loss", model="m", score="loss", metric="mean", higher_is_better=False)
    verdict = sy.check(run, task="loss", model="m", score="loss", by="language")
    assert [one.worse for one in verdict.slices] == [True, False, False]
    assert verdict.verdict == "regression"


def test_groups_that_are_too_few_in_a_slice_are_only_shown() -> None:
    reference, run = rows({"de": (12, 0), "en": (0, 6)}, group=lambda language, i: f"{language}{i % (3 if language == 'de' else 20)}")
    recorded(reference)
    verdict = checked(run, by="language")
    assert verdict.slices[0].p_adjusted is None
    assert "groups" in verdict.slices[0].note
    assert verdict.slices[1].p_adjusted is not None


def test_json_both_ways_and_every_format_has_the_table() -> None:
    from steelyard.render.formats import FORMATS

    reference, run = rows({"de": (12, 0), "<b>|x": (0, 6), "fr": (0, 6)})
    recorded(reference)
    verdict = checked(run, by="language")
    assert Verdict.from_dict(json.loads(json.dumps(verdict.to_dict()))) == verdict
    for name in ("text", "markdown", "html", "junit", "github"):
        told = FORMATS[name].write(verdict)
        assert "de" in told, name
        assert name == "text" or "<b>|x" not in told.replace("&lt;b&gt;|x", ""), name
    text = FORMATS["text"].write(verdict)
    assert "WORSE" in text
    assert "  lost  de0   de     1 -> 0" in text  # an item that changed, with its slice


def test_a_suite_takes_the_smallest_adjusted_p_and_its_file_names_the_column() -> None:
    reference, run = rows({"de": (12, 0), "en": (0, 6), "fr": (0, 6)})
    recorded(reference)
    Path("run.jsonl").write_text("".join(json.dumps(row) + "\n" for row in run))
    Path("suite.toml").write_text('[[checks]]\ntask = "t"\nmodel = "m"\nresult = "run.jsonl"\nby = "language"\ncritical_slices = ["de"]\n')
    suite = sy.check_suite("suite.toml")
    assert suite.verdict == "regression"
    assert suite.rows[0]["p_adjusted"] == suite.verdicts[0].p_decisive
    Path("suite.toml").write_text('[[checks]]\ntask = "t"\nmodel = "m"\nresult = "run.jsonl"\nby = "language"\ncritical_slices = ["en"]\n')
    assert sy.check_suite("suite.toml").verdict == "pass"


def test_the_configuration_names_column_and_critical_slices_and_a_bare_value_is_told_of_it() -> None:
    reference, run = rows({"de": (12, 0), "en": (0, 6), "fr": (0, 6)})
    Path("steelyard.toml").write_text('[tasks.t]\nby = "language"\ncritical_slices = ["en", "fr"]\nsigma = 0.4\n')
    recorded(reference)
    verdict = checked(run)
    assert verdict.verdict == "pass"
    assert [one.critical for one in verdict.slices] == [False, True, True]
    assert checked(run, by="language", critical_slices=["de"]).verdict == "regression"
    told = checked(None, value=0.8)
    assert any("not judged by language" in said for said in told.warnings)
    without = [{key: value for key, value in row.items() if key != "language"} for row in run]
    assert checked(without).slices != ()  # the reference has kept them
    Path("steelyard.toml").write_text("[tasks.t]\ncritical_slices = []\n")
    with pytest.raises(SteelyardError, match="critical_slices"):
        checked(run)


@every(
    "options, said",
    [
        ({"by": "nothing"}, "nothing"),
        ({"by": "id"}, "too many to judge"),
        ({"by": "score"}, "known before the answers"),
        ({"by": "language", "critical_slices": ["xx"]}, "'de', 'en', 'fr'"),
        ({"critical_slices": ["de"]}, "name the column with by="),
        ({"by": {"language": [1]}}, "by="),
        ({"by": 3}, "by must be column names"),
        ({"by": "language", "critical_slices": [3]}, "critical_slices"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_advice(options: dict[str, Any], said: str) -> None:
    reference, run = rows({"de": (12, 0), "en": (0, 6), "fr": (0, 6)})
    recorded(reference, update=True)
    with pytest.raises(SteelyardError, match=said.replace("(", r"\(")):
        checked(run, **options)


def test_slices_need_items_on_both_sides() -> None:
    reference, run = rows({"de": (12, 0), "en": (0, 6), "fr": (0, 6)})
    recorded(reference, items=False)
    with pytest.raises(SteelyardError, match="single number without items"):
        checked(run, by="language")
    with pytest.raises(SteelyardError, match="a bare value has none"):
        checked(None, value=0.7, by="language")
    with pytest.raises(SteelyardError, match="items=False"):
        recorded(reference, items=False, by="language", update=True)


def test_thousands_of_slices_are_refused_unless_those_that_count_are_named() -> None:
    reference, run = rows({"de": (12, 0), "en": (0, 6)}, n=1000)
    for i, (a, b) in enumerate(zip(reference, run, strict=True)):
        a["user"] = b["user"] = "big" if i < 40 else f"u{i}"
    recorded(reference)
    with pytest.raises(SteelyardError, match="1,961 slices by user are too many"):
        checked(run, by="user")
    verdict = checked(run, by="user", critical_slices=["big"])
    assert [one.value for one in verdict.slices] == ["big"]
    assert verdict.verdict == "regression"


def test_an_item_in_two_slices_of_one_column_is_refused() -> None:
    reference, run = rows({"de": (1, 0), "en": (0, 1)})
    recorded(reference)
    twice = [{**row, "repeat": repeat, "language": row["language"] if repeat else "xx"} for row in run for repeat in (0, 1)]
    with pytest.raises(SteelyardError, match="several values of 'language'"):
        checked(twice, by="language", repeat="repeat")


def test_a_share_of_the_reference_is_judged_in_every_slice_by_its_own_reference() -> None:
    reference, run = rows({"de": (25, 0), "en": (0, 12), "fr": (1, 12)}, n=200)
    recorded(reference)
    assert checked(run, margin="2%").verdict == "pass"
    verdict = checked(run, margin="2%", by="language")
    assert verdict.verdict == "regression"
    assert [(one.value, one.worse) for one in verdict.slices] == [("de", True), ("en", False), ("fr", False)]
    for one in verdict.slices:  # each by itself is what a check of its items alone says
        mine = [[row for row in side if row["language"] == one.value] for side in (reference, run)]
        sy.record(mine[0], task=one.value, model="m")
        alone = sy.check(mine[1], task=one.value, model="m", margin="2%")
        assert one.p_value == pytest.approx(alone.p_value, rel=1e-9)
        assert one.ratio is not None
        assert alone.ratio is not None
        assert one.ratio.estimate == pytest.approx(alone.ratio.estimate)
        assert one.ratio.interval is not None
        assert alone.ratio.interval is not None
        assert one.ratio.interval.low == pytest.approx(alone.ratio.interval.low)
        assert one.ratio.interval.high == pytest.approx(alone.ratio.interval.high)
    assert verdict.slicing is not None
    whole, adjusted = adjust_slices(verdict.p_value or 1.0, [one.p_value or 1.0 for one in verdict.slices])
    assert [one.p_adjusted for one in verdict.slices] == pytest.approx(adjusted)
    assert verdict.slicing.p_overall == pytest.approx(whole)


def test_a_critical_slice_has_to_rule_out_its_own_share() -> None:
    reference, run = rows({"de": (9, 5), "en": (0, 0), "fr": (0, 0)}, n=200)
    recorded(reference)
    assert checked(run, theta="6%", by="language").verdict == "pass"
    verdict = checked(run, theta="6%", by="language", critical_slices=["de"])
    assert verdict.verdict == "inconclusive"
    assert checked(run, theta="12%", by="language", critical_slices=["de"]).verdict == "pass"


def test_a_slice_whose_reference_is_nothing_has_no_shares() -> None:
    reference, run = rows({"de": (0, 0), "en": (0, 0)}, n=100)
    reference = [{**row, "score": 0.0} if row["language"] == "en" else row for row in reference]
    recorded(reference)
    notes = {one.value: one.note for one in checked(run, margin="2%", by="language").slices}
    assert notes == {"de": "", "en": "the reference is 0, which has no shares"}
