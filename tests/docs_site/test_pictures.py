"""The pictures of the README and of the guide to intervals are what their scripts draw now, and show what they say."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

from scripts import script

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"


@pytest.fixture(scope="module")
def why() -> ModuleType:
    return script(PICTURES / "why.py")


def test_the_picture_is_up_to_date(why: ModuleType) -> None:
    drawn = why.picture()
    assert drawn == (PICTURES / "why.svg").read_text(encoding="utf-8"), "python docs/pictures/why.py draws it anew"
    root = ElementTree.fromstring(drawn)
    assert not [node.tag for node in root.iter() if node.tag.rpartition("}")[2] in ("script", "image", "use", "foreignObject")]


def test_the_picture_of_samples_is_up_to_date() -> None:
    samples = script(PICTURES / "samples.py")
    drawn = samples.picture()
    assert drawn == (PICTURES / "samples.svg").read_text(encoding="utf-8"), "python docs/pictures/samples.py draws it anew"
    assert drawn.count('<circle class="missed"') == 3, "docs/intervals.md says three"
    ElementTree.fromstring(drawn)


def test_the_curves_begin_at_the_level_and_rise(why: ModuleType) -> None:
    """Without a loss the paired test alarms at about alpha; a larger loss is noticed more often, by items more often than by averages."""
    curves = [why.noticed(drop) for drop in (0.0, 0.01, 0.02, 0.03)]
    assert 0.04 <= curves[0][0] <= why.ALPHA + 0.005
    assert all(before < after for one in zip(*curves, strict=True) for before, after in pairwise(one))
    assert all(paired > threshold for paired, threshold in curves)


def test_the_figures_agree_with_a_simulation_of_others(why: ModuleType) -> None:
    """20,000 simulated runs of n = 1,319 with 2.8% benign flips, made with another program for the plan of this project (gate_sim.py):
    a threshold with sigma 50 alarmed in .021 and .364 of them at 2 and 3 points, exact McNemar in .955 at 2. Mid-p finds a little more."""
    paired, threshold = why.noticed(0.02)
    assert threshold == pytest.approx(0.021, abs=4 * (0.021 * 0.979 / 20_000) ** 0.5 + 0.001)
    assert why.noticed(0.03)[1] == pytest.approx(0.364, abs=4 * (0.364 * 0.636 / 20_000) ** 0.5 + 0.001)
    assert 0.955 - 0.006 <= paired <= 0.975
