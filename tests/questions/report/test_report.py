"""`report`: results, plain values and files make the same page; files that are none are refused by name; densities are laws."""

from __future__ import annotations

import contextlib
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import trapezoid

import steelyard as sy
from cases import every
from render.html.page_samples import long_table, samples
from steelyard.errors import DataError, SourceError, SteelyardError, UsageError
from steelyard.questions.report.report import densities, read_flips, report
from steelyard.render.formats import result_json
from steelyard.render.page import CAP


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "result.json"
    path.write_text(result_json(samples()["regression"]), encoding="utf-8")
    return path


def test_three_doors_one_page(written: Path) -> None:
    result = samples()["regression"]
    assert report(written) == report(str(written)) == report(result.to_dict()) == report(result)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not a JSON file of a result"),
        ('{"kind": "verdict", "sch', "was the file cut off"),
        ("[1, 2]", "a JSON list"),
        ('{"kind": "verdict", "schema": 99}', "newer steelyard"),
        ('{"kind": "measurement", "schema": 1, "n": NaN}', "NaN is no number of JSON"),
        ("[" * 100_000, "not a JSON file of a result"),
        ('{"name": "package", "version": 1}', "without a kind"),
    ],
)
def test_a_file_that_is_no_result(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises((SourceError, DataError), match=said) as raised:
        report(path)
    assert "bad.json" in str(raised.value)


def test_no_file_and_no_result(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"^No such file: '.*nothing.json'\.$"):
        report(tmp_path / "nothing.json")
    with pytest.raises(SourceError, match="Cannot open"):
        report(tmp_path)
    with pytest.raises(UsageError, match=r"No results to report\."):
        report()


def test_a_word_where_a_number_should_be_names_the_file(tmp_path: Path, written: Path) -> None:
    plain = samples()["legacy"].to_dict()
    plain["difference"]["estimate"] = "much"
    bad = tmp_path / "odd.json"
    bad.write_text(json.dumps(plain), encoding="utf-8")
    with pytest.raises(DataError, match=r"Cannot read '.*odd\.json'.*'much' where a number belongs"):
        report(written, bad)


def leaves(of: Any) -> list[tuple[Any, Any]]:
    inside = list(of.items()) if isinstance(of, dict) else list(enumerate(of)) if isinstance(of, list) else []
    return [found for key, value in inside for found in ((of, key), *leaves(value))]


JUNK = [None, "x", -1, 1e308, [], {}, True, [1, 2], {"a": 1}, 5e-324, 10**30]


@every("name", sorted(samples()))
def test_any_damage_is_a_page_or_an_error_of_ours(name: str) -> None:
    stream = random.Random(name)
    text = result_json(samples()[name])
    for _ in range(8):
        plain = json.loads(text)
        holder, key = stream.choice(leaves(plain))
        if isinstance(holder, dict) and stream.random() < 0.3:
            del holder[key]
        else:
            holder[key] = stream.choice(JUNK)
        with contextlib.suppress(SteelyardError):
            assert report(plain).startswith("<!DOCTYPE html>")


# ---- flipped items ---------------------------------------------------------------------------------------------------


def test_flips_from_a_file(tmp_path: Path) -> None:
    table = long_table()
    flips = tmp_path / "flips.csv"
    other = {**table, "prediction": ["dog"] * 60}
    c = sy.compare(table, other, flips_out=str(flips))
    rows, note = read_flips(flips)
    assert ("lost", "cat", "dog") in {(row.change, row.truth, row.candidate) for row in rows}
    assert len(rows) == c.flips["baseline_only"] + c.flips["candidate_only"] > 10
    assert note == f"All {len(rows)} items."
    page = report(c, flips=flips)
    assert page.count('<th scope="row">lost</th>') == c.flips["baseline_only"]
    assert report(c).count('<th scope="row">lost</th>') < c.flips["baseline_only"]


def test_flips_are_capped(tmp_path: Path) -> None:
    flips = tmp_path / "flips.csv"
    lines = [f"i{i},lost,a,a,b" for i in range(CAP + 7)]
    flips.write_text("\n".join(["id,change,truth,baseline,candidate", *lines]), encoding="utf-8")
    page = report(samples()["comparison"], flips=flips)
    assert page.count('<th scope="row">lost</th>') == CAP
    assert f"The first {CAP:,} of {CAP + 7:,} items" in page


def test_flips_that_cannot_be_placed(tmp_path: Path) -> None:
    flips = tmp_path / "flips.csv"
    flips.write_text("id,change,truth,baseline,candidate\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"Flipped items belong to exactly one comparison, verdict or run; got 0\."):
        report(samples()["plan"], flips=flips)
    with pytest.raises(UsageError, match=r"Flipped items belong to exactly one comparison, verdict or run; got 2\."):
        report(samples()["comparison"], samples()["regression"], flips=flips)
    flips.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(DataError, match="is not a file of flipped items: its columns are a, b, not change, id,"):
        report(samples()["comparison"], flips=flips)
    flips.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SourceError, match="not a CSV file of compare"):
        report(samples()["comparison"], flips=flips)
    with pytest.raises(SourceError, match="Cannot open"):
        report(samples()["comparison"], flips=tmp_path / "none.csv")


# ---- what is believed ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "rows"), [("beliefs", 3), ("beliefs of two", 1), ("measurement", 0), ("comparison", 0)])
def test_densities_where_there_is_a_belief(name: str, rows: int) -> None:
    found = densities(samples()[name])
    assert len(found) == rows
    for curve in found.values():
        x, y, shaded = np.array(curve.x), np.array(curve.y), np.array(curve.high)
        assert trapezoid(y, x) == pytest.approx(1, abs=2e-3)
        assert trapezoid(shaded, x) == pytest.approx(0.95, abs=0.03)  # the 95% interval, to the width of a step


def test_a_density_is_the_law_of_the_interval() -> None:
    m = sy.measure(sy.Counts.of(12, 40), interval="bayes")
    curve = densities(m)["accuracy"]
    from scipy.stats import beta  # an independent program

    assert curve.y == pytest.approx(beta.pdf(curve.x, 12.5, 28.5), rel=1e-9)


def test_the_density_of_an_error_is_that_of_the_accuracy_the_other_way_round() -> None:
    flips = sy.JointCounts.flips(both=50, baseline_only=7, candidate_only=12, neither=9)
    right, wrong = (densities(sy.compare(flips, metric=name, interval="bayes"))["difference"] for name in ("accuracy", "error"))
    assert wrong.x == pytest.approx([-x for x in right.x[::-1]], abs=1e-12)
    assert wrong.y == pytest.approx(right.y[::-1], rel=1e-9)


def test_another_prior_is_read_from_the_signature() -> None:
    m = sy.measure(sy.Counts.of(12, 40), interval="bayes", prior=3)
    from scipy.stats import beta

    assert densities(m)["accuracy"].y == pytest.approx(beta.pdf(densities(m)["accuracy"].x, 15, 31), rel=1e-9)


# ---- a million items -------------------------------------------------------------------------------------------------


def test_the_page_does_not_grow_with_the_items() -> None:
    sizes = []
    for n in (1_000, 1_000_000):
        joint = sy.JointCounts.flips(both=n * 79 // 100, baseline_only=n * 6 // 100, candidate_only=n * 8 // 100, neither=n * 7 // 100)
        sizes.append(len(report(sy.compare(joint))))
    assert sizes[1] < 1.1 * sizes[0]
    assert sizes[1] < 5_000_000
