"""The shares of the parts of a split, checked: they add up to 1, and a part's name can be that of a file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from steelyard_old.errors import UsageError
from steelyard_old.options.option import number

NAME = re.compile(r"\w[\w.-]*\Z")
NO_FILES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?\Z", re.IGNORECASE)  # what a system of files may keep for itself
LONGEST = 100  # characters of a name
MOST = 50  # parts
NEAR = Fraction(1, 10**9)  # how far shares such as 1/3 may be from adding up to 1


def checked_shares(given: Mapping[str, Any]) -> dict[str, Fraction]:
    """The share of each part, in order. They add up to 1, and a part's name can be that of a file."""
    shares: dict[str, Fraction] = {}
    for name, share in given.items():
        _refuse_name(name, shares)
        percent = isinstance(share, int | float) and 1 < share < 100
        value = number(f"the share of {name}", share, above=0, hint=f"write {share / 100:g}" if percent else "a share such as .8")
        shares[name] = Fraction(str(value))
    total = sum(shares.values(), Fraction(0))
    if abs(total - 1) > NEAR:
        said = " + ".join(f"{name} {float(share):g}" for name, share in shares.items())
        raise UsageError(
            f"The shares of the parts must add up to 1: {said} is {float(total):g}." if shares else "Say which parts to make.",
            got=f"{float(total):g} in all" if shares else "no shares",
            need="1 in all",
            hint="train=.8, dev=.1, test=.1",
        )
    if len(shares) > MOST:
        raise UsageError(f"At most {MOST} parts can be made, not {len(shares)}.", got=f"{len(shares)}", need=f"at most {MOST}")
    return shares


def _refuse_name(name: object, others: Mapping[str, object]) -> None:
    hint = "letters, digits, '-', '_' and '.', such as calibration"
    if not isinstance(name, str) or not NAME.match(name) or NO_FILES.match(name) or len(name) > LONGEST or name.endswith("."):
        raise UsageError(
            f"The name of a part must be the plain name of a file, not {repr(name)[:80]}.",
            got=repr(name)[:80],
            need="the plain name of a file",
            hint=hint,
        )
    if name.casefold() in {other.casefold() for other in others}:
        raise UsageError(
            f"Each part needs a name of its own: two are named {name!r}.", got=f"two parts named {name!r}", need="each name once"
        )
