"""The packages that can unpack zstd: which are installed here, and a world with one of them alone."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import pytest

KNOWN = ("compression", "zstandard", "pyarrow")  # the first is Python's own, from 3.14 on
UNPACKERS = [package for package in KNOWN if find_spec(package) is not None]


def only_unpacker(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No package for zstd but this one can be imported; of `duckdb`, none."""
    for other in KNOWN:
        if other != package:
            monkeypatch.setitem(sys.modules, other, None)
