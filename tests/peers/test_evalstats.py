"""evalstats: its intervals of one share and of paired shares, and McNemar's mid-p. See evalstats.json."""

from __future__ import annotations

import pytest

import steelyard as sy
from cases import every
from peers.make import recorded
from steelyard.infer.unpaired import agresti_caffo

ENTRIES = recorded("evalstats")
FLIPS = [name for name in ENTRIES if name.startswith("flips_")]


@every("name", [name for name in ENTRIES if name.startswith("share_")])
@every("method", ["wilson", "jeffreys", "clopper-pearson"])
def test_one_share(name: str, method: str) -> None:
    ours = sy.measure(sy.Counts.of(*ENTRIES[name]["input"]), interval=method).interval
    assert ours is not None
    assert [ours.low, ours.high] == pytest.approx(ENTRIES[name]["answer"][method], abs=1e-12)


def compared(name: str, **options: str) -> sy.Comparison:
    """evalstats takes first minus second: its first is our candidate."""
    both, first, second, neither = ENTRIES[name]["input"]
    found = sy.compare(sy.JointCounts.flips(both=both, baseline_only=second, candidate_only=first, neither=neither), **options)  # type: ignore[arg-type]
    assert isinstance(found, sy.Comparison)
    return found


@every("name", FLIPS)
@every("method", ["tango", "newcombe", "bonett-price"])
def test_paired_shares(name: str, method: str) -> None:
    """Its Tango solves a quartic, ours brackets the score: the same to the twelfth digit."""
    ours = compared(name, interval=method).difference.interval
    assert ours is not None
    assert [ours.low, ours.high] == pytest.approx(ENTRIES[name]["answer"][method], abs=1e-11)


@every("name", FLIPS)
def test_mid_p(name: str) -> None:
    """5 gained and 5 lost: 1, by both. Fagerland's convention would print .877."""
    assert compared(name, test="mcnemar-midp").p_value == pytest.approx(ENTRIES[name]["answer"]["mid_p"], rel=1e-12)


@every("name", FLIPS)
def test_without_a_continuity_correction(name: str) -> None:
    """By default its Tango adds 1/8 to the difference of the counts, as Chang et al. (2024) propose; ours adds nothing.

    The interval that the literature calls Tango's has none and covers close to its level; the correction only makes it wider.
    """
    ours = compared(name, interval="tango").difference.interval
    low, high = ENTRIES[name]["answer"]["tango_default"]
    assert ours is not None
    assert ours.low is not None
    assert ours.high is not None
    assert low < ours.low < ours.high < high


def test_different_items() -> None:
    assert agresti_caffo(*ENTRIES["agresti_caffo"]["input"]) == pytest.approx(ENTRIES["agresti_caffo"]["answer"], abs=1e-12)
