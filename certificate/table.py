"""The claims: every figure and weakness that the pages on methods name, and what the new house decided anew."""

from __future__ import annotations

from certificate.claim import Claim
from certificate.of_areas import AREAS
from certificate.of_groups import GROUPS
from certificate.of_labels import LABELS
from certificate.of_means import MEANS
from certificate.of_shares import SHARES

CLAIMS: tuple[Claim, ...] = (*SHARES, *LABELS, *MEANS, *GROUPS, *AREAS)
