"""Settings: what the call says, else the nearest steelyard.toml or [tool.steelyard] upward, else the default of the signature."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from steelyard.base.problem import SteelyardError


def nearest(start: Path | None = None) -> tuple[dict[str, Any], str]:
    """The settings of the project, and the file that they are from."""
    import tomllib

    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        for name in ("steelyard.toml", "pyproject.toml"):
            path = folder / name
            if not path.is_file():
                continue
            try:
                table = tomllib.loads(path.read_text("utf-8"))
            except (tomllib.TOMLDecodeError, UnicodeDecodeError) as fault:
                raise SteelyardError(f"Cannot read {path.name}: {fault}.") from None
            found = table if name == "steelyard.toml" else table.get("tool", {}).get("steelyard")
            if isinstance(found, dict):
                return found, path.name
    return {}, ""


def settled(given: dict[str, Any], verb: str, names: list[str]) -> dict[str, Any]:
    """What was given, and what the settings say of the rest: the table of the verb, then the top one."""
    found, _ = nearest()
    own = found.get(verb, {})
    said = {**found, **(own if isinstance(own, dict) else {})}
    return {**{name: said[name] for name in names if name in said and not isinstance(said[name], dict)}, **given}
