"""What published scores can show: the counts behind them, tables in two forms, and bad ones refused."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from cases import every
from steelyard.errors import AmbiguityError, SourceError, SteelyardError, UsageError
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
    assert "out of 198 gives 45.55, rounded or cut off" in found.warnings[0]


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
    assert sy.audit(tmp_path / "t.md").warnings[:3] == (
        "1 empty cell was left out",
        "what stands behind 1 score was left out, as in '86.1 ± 0.9'",
        "AIME: fewer than two scores, so there is nothing to compare",
    )


def test_one_column_of_scores_is_a_table_of_systems(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("model,score,questions\na,0.874,1319\nb,0.861,1319\nc,0.702,1319\n", encoding="utf-8")
    found = sy.audit(str(tmp_path / "t.csv"))
    assert [(p.first, p.second, p.answer) for p in found.pairs] == [("a", "b", "depends"), ("a", "c", "always"), ("b", "c", "always")]
    assert "3 pairs" in found.warnings[-1]


def asked(text: str, place: Path, **options: Any) -> sy.Audit:
    (place / "table.csv").write_text(text, encoding="utf-8")
    return sy.audit(place / "table.csv", **options)


def shares(found: sy.Audit) -> dict[tuple[str, str], float]:
    return {(score.test_set, score.name): score.score for score in found.scores}


def test_a_table_with_a_score_above_1_is_in_percent_everywhere(tmp_path: Path) -> None:
    text = "benchmark,items,ours,theirs\nGSM8K,1319,87.4,86.1\nHLE,2500,0.9,0.7\n"
    found = asked(text, tmp_path)
    assert shares(found)["HLE", "ours"] == pytest.approx(0.009)
    assert "2 scores of at most 1, such as 0.9, were read as percent" in found.warnings[0]
    assert not any("percent" in said for said in asked(text, tmp_path, scale="percent").warnings)
    with pytest.raises(UsageError, match="fraction between 0 and 1"):
        asked(text, tmp_path, scale="fraction")
    small = "benchmark,items,ours,theirs\nHLE,2500,0.9,0.7\n"
    assert shares(asked(small, tmp_path))["HLE", "ours"] == 0.9
    assert shares(asked(small, tmp_path, scale="percent"))["HLE", "ours"] == pytest.approx(0.009)


def test_a_percent_sign_says_nothing_about_another_score() -> None:
    scores = {"a": "87.4%", "b": "0.861"}
    with pytest.raises(AmbiguityError, match=r"87\.4% and 0\.861"):
        sy.audit(scores, n=100_000)
    assert [score.score for score in sy.audit(scores, n=100_000, scale="fraction").scores] == [0.874, 0.861]
    assert [score.score for score in sy.audit(scores, n=100_000, scale="percent").scores] == pytest.approx([0.874, 0.00861])
    assert [score.score for score in sy.audit({"a": "0.9%", "b": "0.7 %"}, n=100_000).scores] == pytest.approx([0.009, 0.007])
    with pytest.raises(UsageError, match="scale must be percent or fraction"):
        sy.audit(scores, n=10, scale="raw")


@every(
    "cell",
    [
        "42.4†",
        "42.4*",
        "42.4^1",
        "42.4^{a}",
        "$42.4^\\dagger$",
        "42.4¹",
        "42.4 (0.3)",
        "42.4 ± 0.3",
        "42.4±.3†",
        "$42.4_{\\pm 0.3}$",
        "42.4<sup>a</sup>",
        "<u>42.4</u>",
        "42.4 [40.1; 44.7]",
        "42.4 (5-shot) [2]",
        "42.4\\%",
        "42.4 +/- 1 %",
    ],
)
def test_remarks_behind_a_score_do_not_remove_a_system(cell: str, tmp_path: Path) -> None:
    found = asked(f"benchmark,items,ours,theirs\nGSM8K,1000,87.4,86.1\nGPQA,1000,45.5,{cell}\n", tmp_path)
    assert shares(found)["GPQA", "theirs"] == pytest.approx(0.424)
    assert [(pair.test_set, pair.first, pair.second) for pair in found.pairs] == [("GSM8K", "ours", "theirs"), ("GPQA", "ours", "theirs")]
    plain = sy.audit({"theirs": cell.replace("<u>", "").replace("</u>", "")}, n=1000).scores[0]
    assert plain.score == pytest.approx(0.424)


@every("cell", ["about 42", "42.4 or 43", "42.4 / 41.9", "42,4", "42.4a", "1.2.3"])
def test_a_cell_that_is_no_score_among_scores_is_named(cell: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"in row 3 of the column 'third'"):
        asked(f'benchmark,items,ours,theirs,third\nGSM8K,1319,87.4,86.1,80.2\nGPQA,198,45.5,44.9,"{cell}"\n', tmp_path)


def test_a_column_whose_cells_all_are_nearly_scores_is_no_column_of_names(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="'87,4' in row 2"):
        asked('benchmark,items,ours,theirs\nGSM8K,1319,86.1,"87,4"\nGPQA,198,44.9,"45,5"\n', tmp_path)


def test_names_may_be_numbers_here_and_there(tmp_path: Path) -> None:
    found = asked("model,maker,n,score\n4,a,100,50\nGPT,b,100,60\n3.5 Sonnet,c,100,70\n", tmp_path)
    assert [score.name for score in found.scores] == ["4 a", "GPT b", "3.5 Sonnet c"]


def test_names_that_occur_twice_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="several rows named 'MMLU'"):
        asked("benchmark,items,ours,theirs\nMMLU,1000,87.4,86.1\nMMLU,1000,70.4,60.7\n", tmp_path)
    with pytest.raises(SourceError, match="several columns named 'ours'"):
        asked("benchmark,items,ours,ours\nMMLU,1000,87.4,86.1\n", tmp_path)


@every(
    "scores",
    [
        [np.float64(87.4), np.float64(86.1)],
        np.array([87.4, 86.1]),
        np.array([87.4, 86.1], dtype=np.float32),
        [Decimal("87.4"), Decimal("86.1")],
    ],
)
def test_numbers_of_numpy_and_decimals_are_scores(scores: Any) -> None:
    assert sy.audit(scores, n=1319).pairs == sy.audit([87.4, 86.1], n=1319).pairs


def test_a_score_that_was_cut_off_instead_of_rounded_is_told() -> None:
    said = sy.audit(["66.6", "33.3"], n=3).warnings
    assert said == ("A: no number of right items out of 3 rounds to 66.6, but 2 of 3 gives it if its further digits were cut off",)


def test_a_p_value_is_never_0() -> None:
    assert "(p is below 1e-300)" in sy.audit(["90", "10"], n=100_000).conclusion
    assert "p is from below 1e-300 to 0." in sy.audit(["50.1", "49.9"], n=1_000_000).conclusion


def test_more_items_than_a_32_bit_number_holds() -> None:
    # A million items apart, so z is 10 even where both disagree on every item that they can.
    found = sy.audit(["87.41", "87.40"], n=10**10).pairs[0]
    assert found.answer == "depends"  # the rounded scores may be equal
    assert found.significant_up_to == found.most_differing


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
        ([True], {"n": 10}),
        ([None], {"n": 10}),
        (["50"], {"n": 10, "scale": "fraction"}),
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
