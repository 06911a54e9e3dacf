"""Hive partitions: in `year=2024/part-0.parquet` the year is a column, as long as it is below what the user named."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote

from steelyard.errors import SourceError

if TYPE_CHECKING:
    from steelyard.read.files.opened import Opened

_PART = re.compile(r"([^=]+)=(.*)\Z", re.DOTALL)
_MISSING = "__HIVE_DEFAULT_PARTITION__"  # how Hive and Spark write a partition whose key is null


def is_partition(name: str) -> bool:
    """Whether the name of a directory is `key=value`."""
    return _PART.match(name) is not None


def partition_of(named: str, path: str) -> dict[str, str | None]:
    """The keys in the directories between what the user named (a directory or a pattern) and a file in it.

    >>> partition_of("runs/*/*/*.parquet", "runs/year=2024/lang=en/part-0.parquet")
    {'year': '2024', 'lang': 'en'}
    >>> partition_of("runs/year=2024/*.csv", "runs/year=2024/a.csv")
    {}
    """
    if os.path.isdir(named):
        between = os.path.relpath(path, named).split(os.sep)[:-1]
    elif named != path and glob.has_magic(named):
        parts = named.split(os.sep)
        fixed = next(place for place, part in enumerate(parts) if glob.has_magic(part))
        between = path.split(os.sep)[fixed:-1]
    else:
        return {}
    found: dict[str, str | None] = {}
    for part in between:
        if (match := _PART.match(part)) is None:
            continue
        key, value = unquote(match[1]), unquote(match[2])
        if key.lower() in map(str.lower, found):
            raise SourceError(f"cannot read {path!r}", got=f"the partition key {key!r} twice in its path", need="each key once")
        found[key] = None if value == _MISSING else value
    return found


def partition_keys(files: Sequence[Opened], headers: Sequence[Sequence[str]]) -> list[str]:
    """The keys that all files have; other keys in one of them, or a key that is also a column of a file, are errors."""
    keys = list(files[0].partition)
    for file, header in zip(files, headers, strict=True):
        if set(file.partition) != set(keys):
            raise SourceError(
                "cannot read files as one source: they lie in different partitions",
                got=f"{_shown(files[0].partition)} for {files[0].shown!r}, {_shown(file.partition)} for {file.shown!r}",
                need="the same keys for every file",
                hint="name a directory or a pattern below which all files lie alike",
            )
        columns = {name.lower(): name for name in header}
        twice = next((key for key in keys if key.lower() in columns), None)
        if twice is not None:
            raise SourceError(
                f"cannot read {file.shown!r}",
                got=f"{twice!r} as a partition key of its path and as the column {columns[twice.lower()]!r} inside",
                need="one of them",
                hint="name the file itself to leave its path alone",
            )
    return keys


def _shown(partition: Mapping[str, str | None]) -> str:
    return "keys " + ", ".join(map(repr, partition)) if partition else "no keys"
