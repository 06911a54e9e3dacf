"""The files of the parts: all written beside their places first, then each put there by one step, never over another file."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Sequence
from pathlib import Path

from steelyard_old.atomic import beside, put_in_place, sweep, sync_directory
from steelyard_old.errors import UsageError
from steelyard_old.locking import Lock
from steelyard_old.outputs import READABLE
from steelyard_old.read.files.copying import Parts, copy_rows
from steelyard_old.read.files.paths import Opened

ENDINGS = {"csv": ".csv", "tsv": ".tsv", "jsonl": ".jsonl", "json": ".json", "parquet": ".parquet"}
USUAL = ("train", "dev", "test", "val", "valid", "validation", "calibration")  # what parts are called


def places_of(names: Sequence[str], file: Opened, directory: str | os.PathLike[str] | None, *, update: bool) -> list[Path]:
    """The file of each part. What is there already is not written over, unless that was asked for; DATA itself never is."""
    if directory is None and file.held is not None and file.shown == "standard input":
        raise UsageError(
            "Say where to write the parts: the data came from standard input.",
            got="standard input",
            need="a directory",
            hint="output='parts'",
        )
    home = Path(os.path.dirname(file.shown) if directory is None else directory)
    if "\0" in str(home) or (directory is not None and not home.is_dir() and os.path.lexists(home)):
        raise UsageError(
            f"The parts go to a directory, but {str(home)!r} is not a directory.", got="something that is no directory", need="a directory"
        )
    if directory is not None and home.suffix.lower() in (*ENDINGS.values(), *READABLE) and not home.is_dir():
        hint = "make it first if it is meant"
        raise UsageError(
            f"The parts go to a directory, and {str(home)!r} looks like the name of a file.",
            got="the name of a file",
            need="the name of a directory",
            hint=hint,
        )
    places = [home / f"{name}{ENDINGS[file.format]}" for name in names]
    there = [place for place in places if os.path.lexists(place)]
    if own := [place for place in there if os.path.exists(file.shown) and place.exists() and os.path.samefile(place, file.shown)]:
        raise UsageError(
            f"A part would be written over the file that is split, {str(own[0])!r}; choose another directory or name.",
            got="the file that is split",
            need="another directory or name",
        )
    if odd := [place for place in there if place.is_symlink() or not place.is_file()]:
        raise UsageError(
            f"Cannot write {str(odd[0])!r}: something is there that is not a plain file.",
            got="something there that is not a plain file",
            need="a file, or nothing",
        )
    if there and not update:
        listed = ", ".join(repr(str(place)) for place in there[:3])
        hint = "update=True replaces them, output= writes elsewhere"
        raise UsageError(f"The parts exist already: {listed}.", got=listed, need="no such files", hint=hint)
    return places


def left_over(places: Sequence[Path], file: Opened) -> list[Path]:
    """Files beside the parts that are called as a part is, and are none of these: of an earlier split, perhaps."""
    own = {place.stem for place in places}
    others = [places[0].with_stem(name) for name in USUAL if name not in own]
    return [other for other in others if other.is_file() and not (os.path.exists(file.shown) and os.path.samefile(other, file.shown))]


def write_parts(file: Opened, parts: Parts, places: Sequence[Path], *, update: bool) -> None:
    """Every row into the file of its part. After a failure nothing is there that was not there before, unless parts are replaced:
    then those that have their place already keep it, and the error names them. One process at a time gives files their names, so
    that the parts are those of one split."""
    home = places[0].parent
    made = _make(home)
    temporary = [beside(place) for place in places]
    put: list[Path] = []
    try:
        copy_rows(file, parts, [str(path) for path in temporary])
        with Lock(home / ".split") as lock:
            lock.insist()
            for path, place in zip(temporary, places, strict=True):
                try:
                    put_in_place(path, place, replace=update)
                except FileExistsError:
                    raise _made_meanwhile(place) from None
                put.append(place)
    except BaseException as fault:
        for path in [*temporary, *([] if update else put)]:
            with contextlib.suppress(OSError):
                path.unlink()
        if made:
            with contextlib.suppress(OSError):
                home.rmdir()
        if not isinstance(fault, OSError):
            raise
        raise _not_written(home, fault, put if update else ()) from fault
    sync_directory(home)
    for place in places:
        sweep(place)


def _make(home: Path) -> bool:
    """Make the directory of the parts, if it is not there; whether that was so."""
    if home.is_dir():
        return False
    try:
        home.mkdir()
    except FileExistsError:
        return False
    except OSError as fault:
        raise _not_written(home, fault) from fault
    return True


def _made_meanwhile(place: Path) -> UsageError:
    return UsageError(
        f"{str(place)!r} was created by another process meanwhile.",
        got=f"{str(place)!r}, made meanwhile",
        need="no such file",
        hint="is another process splitting?",
    )


def _not_written(home: Path, fault: OSError, replaced: Sequence[Path] = ()) -> UsageError:
    full = fault.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    need = "room on the disk" if full else "a directory that can be written to"
    listed = " and ".join(repr(path.name) for path in replaced)
    hint = (
        f"{listed} {'is' if len(replaced) == 1 else 'are'} new already, the others old: run it again" if replaced else "nothing was written"
    )
    return UsageError(
        f"Cannot write the parts to {str(home)!r}: {fault.strerror or fault}.", got=fault.strerror or str(fault), need=need, hint=hint
    )
