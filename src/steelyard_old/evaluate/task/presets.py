"""Ready-made tasks: task files that come with the package, run as `preset:NAME` with the user's own data, or written out to be changed."""

from __future__ import annotations

from pathlib import Path

from steelyard_old.did_you_mean import did_you_mean
from steelyard_old.errors import UsageError

PRESET = "preset:"
_FOLDER = Path(__file__).parents[2] / "data" / "presets"


def preset_names() -> list[str]:
    """The names there are, in order."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def preset_text(name: str) -> str:
    """The task file of a preset, as text.

    >>> preset_text("gsm8k").splitlines()[3:5]
    ['[task]', 'name = "gsm8k"']
    """
    known = preset_names()
    if name not in known:
        hint = did_you_mean(name.lower().replace("-", "_"), known)
        there = "" if hint else f" There are {', '.join(known)}."
        raise UsageError(f"No preset {name!r}.{there}", got=repr(name), need=f"one of {', '.join(known)}", hint=hint)
    return (_FOLDER / f"{name}.toml").read_text(encoding="utf-8")
