"""The certificate's table is well formed, and a tiny claim works out. The claims themselves: python -m certificate."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from certificate.claim import LARGE_IS_WORSE, Band, judge
from certificate.table import CLAIMS


def test_every_claim_has_a_name_of_its_own_a_grid_and_a_band() -> None:
    assert len({(claim.name, claim.kind) for claim in CLAIMS}) == len(CLAIMS)
    assert all(claim.grid and claim.band != Band() and len(claim.runs) == 2 for claim in CLAIMS)
    assert {claim.kind for claim in CLAIMS} <= {*LARGE_IS_WORSE, "coverage", "power"}


def test_a_claim_holds() -> None:
    assert not judge(next(claim for claim in CLAIMS if claim.name == "k of n, clopper-pearson")).outside
