"""What published scores can show: the counts behind them, tables in two forms, and bad ones refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import steelyard as sy
from cases import every
from steelyard.errors import SourceError, SteelyardError, UsageError
from steelyard.infer.paired.mcnemar import mcnemar_midp
from steelyard.results.catalogue import result_of

TABLE = "| benchmark | items | ours | theirs |\n|---|---|---|---|\n| GSM8K | 1,319 | **87.4** | 86.1 ± 0.9 |\n| AIME | 30 | 53.3 | - |\n"


def test_the_counts_behind_a_rounded_score() -> None:
    found = sy.audit({"new": 87.4, "old": 86.1}, n=1319)
    assert [(s.fewest_right, s.most_right) for s in found.scores] == [(1153, 1153), (1135, 1136)]
    for score in found.scores:
        for right in (score.fewest_right, score.most_right):
            assert round(100 * right / 1319, 1) == pytest.approx(float(score.published))
        one = sy.measure(sy.Counts.of(score.fewest_right, 1319)).interval
        assert score.interval is not None
        assert score.interval.low == one.low


def test_one_pair_lies_between_the_two_pairings_at_the_ends() -> None:
    pair = sy.audit([87.4, 86.1], n=1319).pairs[0]
    assert (pair.first, pair.second, pair.answer, pair.fewest_differing) == ("A", "B", "depends", 17)
    assert pair.p_smallest == mcnemar_midp(18, 0)
    assert pair.p_largest == mcnemar_midp(1319 - 1136, 1319 - 1153)
    lost = (pair.significant_up_to - 18) // 2
    assert mcnemar_midp(lost + 18, lost) <= 0.05 < mcnemar_midp(lost + 19, lost + 1)


@every(
    ("scores", "n", "answer"),
    [((50.0, 90.0), 30, "always"), ((0.5, 0.9), 30, "always"), ((53.3, 50.0), 30, "never"), ((87.4, 86.1), 1319, "depends")],
)
def test_the_three_answers(scores: tuple[float, ...], n: int, answer: str) -> None:
    found = sy.audit(list(scores), n=n)
    assert found.pairs[0].answer == answer
    assert {"always": "whichever items", "never": "no outcome", "depends": "only if they disagree"}[answer] in found.conclusion


def test_a_score_that_no_number_of_right_items_gives() -> None:
    found = sy.audit({"a": 45.55, "b": 44.9}, n=198)
    assert found.scores[0].interval is None
    assert found.pairs == ()
    assert "45.55 is not a multiple of 1/198" in found.warnings[0]


def test_a_text_keeps_the_digits_that_a_number_loses() -> None:
    wide, narrow = (sy.audit([score], n=100_000).scores[0] for score in (87.4, "87.40"))
    assert wide.most_right - wide.fewest_right == 100
    assert narrow.most_right - narrow.fewest_right == 10


def test_a_table_of_test_sets_in_markdown_and_in_csv(tmp_path: Path) -> None:
    (tmp_path / "t.md").write_text(f"Results\n\n{TABLE}\nand so on", encoding="utf-8")
    (tmp_path / "t.csv").write_text('benchmark,items,ours,theirs\nGSM8K,"1,319",87.4,86.1\nAIME,30,53.3,\n', encoding="utf-8")
    (tmp_path / "t.tsv").write_text("benchmark\titems\tours\ttheirs\nGSM8K\t1319\t87.4%\t86.1%\nAIME\t30\t53.3\tn/a\n", encoding="utf-8")
    pairs = [sy.audit(tmp_path / name).pairs for name in ("t.md", "t.csv", "t.tsv")]
    assert pairs[0] == pairs[1] == pairs[2]
    assert [(p.test_set, p.first, p.second, p.n) for p in pairs[0]] == [("GSM8K", "ours", "theirs", 1319)]
    assert sy.audit(tmp_path / "t.md").warnings[:2] == (
        "1 empty cell was left out",
        "AIME: fewer than two scores, so there is nothing to compare",
    )


def test_one_column_of_scores_is_a_table_of_systems(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("model,score,questions\na,0.874,1319\nb,0.861,1319\nc,0.702,1319\n", encoding="utf-8")
    found = sy.audit(str(tmp_path / "t.csv"))
    assert [(p.first, p.second, p.answer) for p in found.pairs] == [("a", "b", "depends"), ("a", "c", "always"), ("b", "c", "always")]
    assert "3 pairs" in found.warnings[-1]


@every(
    "text",
    [
        "",
        "model,score\na,1\nb,2\n",
        "model,n,size,score\na,5,5,.2\n",
        "model,n,score\na,many,50\nb,10,40\n",
        "model,n,score\na,10,good\nb,10,bad\n",
        "model,n,score\na,10,50\nb,20,40\n",
        "model,n,score\n",
        "model,n,score\na,10\n",
        "model,n,a,b\nx,10,500,40\n",
    ],
)
def test_tables_that_cannot_be_read(text: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    with pytest.raises(SteelyardError):
        sy.audit(tmp_path / "t.csv")


def test_files_that_are_no_table(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "t.csv", tmp_path, tmp_path / "missing.md"):
        with pytest.raises(SourceError):
            sy.audit(path)


def test_questions_that_cannot_be_asked(tmp_path: Path) -> None:
    for scores, options in (
        ([50.0], {}),
        ([50.0], {"n": 0}),
        ([50.0], {"n": 2.5}),
        ([101.0], {"n": 10}),
        ([-1.0], {"n": 10}),
        (["x"], {"n": 10}),
        ([float("nan")], {"n": 10}),
        ([], {"n": 10}),
        ([50.0], {"n": 10, "size": "n"}),
        ([50.0], {"n": 10, "confidence_level": 95}),
        (str(tmp_path / "t.md"), {"n": 10}),
    ):
        with pytest.raises(UsageError):
            sy.audit(scores, **options)


def test_the_result_goes_through_json() -> None:
    found = sy.audit({"a": 45.5, "b": "44.9"}, n=198)
    assert result_of(json.loads(json.dumps(found.to_dict()))) == found
