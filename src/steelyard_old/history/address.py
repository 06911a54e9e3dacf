"""The address of a history: sqlite:///runs.db or postgresql://host/db. It may hold a password, so it is never shown as it is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from steelyard_old.databases import server_settings
from steelyard_old.errors import UsageError

HINT = "sqlite:///runs.db (one more slash for an absolute path), or postgresql://host:5432/db"
OFF = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a history is: `path` of a file, or `settings` of a server; `shown` is what may be printed of it."""

    shown: str
    path: Path | None = None
    read_only: bool = False
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)


def parse_address(url: str, base: str | os.PathLike[str] | None = None) -> Address:
    """What a URL means; a relative path of SQLite is relative to `base`. Nothing is opened.

    >>> parse_address("sqlite:///runs.db").path, parse_address("postgresql://ada:secret@db.example:5433/team").shown
    (PosixPath('runs.db'), 'postgresql://db.example:5433/team')
    """
    try:
        parts = urlsplit(url.strip())
        port = parts.port
        asked = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
    except ValueError:
        raise UsageError("The address of the history is not a valid URL.", got="a malformed URL", need="a URL", hint=HINT) from None
    if parts.scheme == "sqlite":
        return _file(parts.netloc, unquote(parts.path), asked, base)
    if parts.scheme not in ("postgresql", "postgres"):
        shown = "This" if "@" in url or "=" in url else repr(url)  # what may hold a password is not repeated
        raise UsageError(
            f"{shown} is not a history address; use sqlite:///FILE or postgresql://HOST/DATABASE.",
            got=f"the kind {parts.scheme!r}" if "://" in url and parts.scheme else "no URL",
            need="sqlite:///FILE or postgresql://HOST/DATABASE",
        )
    settings = server_settings(parts)
    place = f"{parts.hostname or asked.get('host', '')}{f':{port}' if port else ''}"
    return Address(shown=f"postgresql://{place}/{settings.get('dbname', '')}", settings={**settings, **asked})


def _file(netloc: str, path: str, asked: dict[str, str], base: str | os.PathLike[str] | None) -> Address:
    mode = asked.pop("mode", None)
    if netloc or asked or path in ("", "/") or mode not in (None, "ro") or "\0" in path:
        got = f"the option {min(asked)!r}" if asked else f"mode={mode}" if mode else "no path after three slashes"
        raise UsageError(
            f"The address of a history in SQLite is a path, perhaps with ?mode=ro after it; this has {got}.",
            got=got,
            need="a path, and nothing or ?mode=ro after it",
            hint=HINT,
        )
    found = Path(path[1:])
    found = found if base is None or found.is_absolute() else Path(base) / found
    return Address(shown=f"sqlite:///{_near(found)}", path=found, read_only=mode == "ro")


def _near(path: Path) -> Path:
    """The path as a person would write it: relative to where they stand, if it lies there."""
    return path.relative_to(Path.cwd()) if path.is_absolute() and path.is_relative_to(Path.cwd()) else path
