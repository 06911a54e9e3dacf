"""Where the runs so far are: the history that was asked for, or that the configuration names."""

from __future__ import annotations

import os
from pathlib import Path

from steelyard_old.errors import UsageError
from steelyard_old.history.address import OFF, parse_address
from steelyard_old.history.store import History, open_history
from steelyard_old.options.option import refuse_nowhere_to_keep
from steelyard_old.reference.config import Config, find_config

HINT = "name one with history='sqlite:///runs.db', or write history = \"sqlite:///runs.db\" into steelyard.toml"


def history_place(history: str | None, config: Config) -> tuple[str, Path | None] | None:
    """The URL and what a path in it is relative to: as asked, from here; else as the configuration says, from there. None is off."""
    if history is not None:
        return None if history.strip().lower() == OFF else (history, None)
    if config.history is None or config.history.lower() == OFF:
        return None
    return config.history, (config.path or Path.cwd()).absolute().parent


def refuse_history(history: str | None, *, keep_answers: bool = False) -> None:
    """What is no address of a history is refused before the work, and so are answers to be kept where nothing is kept."""
    if keep_answers:
        refuse_nowhere_to_keep(history)
    if history is not None and history.strip().lower() != OFF:
        parse_address(history)


def history_is_new(place: tuple[str, Path | None]) -> bool:
    """Whether the file of a history is yet to be made."""
    address = parse_address(*place)
    return address.path is not None and not os.path.exists(address.path)


def opened(history: str | History | None, config: str | os.PathLike[str] | None = None) -> History:
    """The history that was asked for, open for reading; one that is open already stays so."""
    if isinstance(history, History):
        return history
    place = history_place(history, find_config(Path.cwd(), None if config is None else Path(config)))
    if place is None:
        raise UsageError("No history configured.", need="the address of a history database", hint=HINT)
    return open_history(place[0], base=place[1], create=False)
