"""300 fixed questions to both houses: equal, the same law where draws differ, or a difference that a line of `explained` decided."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from both import Case, explained, same
from drawn import cases

WORLDS = ((1, 0), (4, 1), (6, 2))  # seed, and which of every three questions
FIXED = [case for seed, turn in WORLDS for case in islice(cases(seed), turn, None, 2)][:300]


@pytest.mark.parametrize("case", FIXED, ids=[f"{case.name}{' ranged' if 'range' in case.said else ''}" for case in FIXED])
def test_both_houses_say_the_same(case: Case) -> None:
    word, ours, theirs = same(case)
    assert word in ("exact", "same law", "none") or explained(case, ours, theirs), f"{word}\n{ours}\n{theirs}"
