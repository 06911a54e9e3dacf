"""Where the pictures of the outside are kept, and how they are read and written.

A snapshot says what users see of steelyard: names, options, the shape of JSON, pages. More may be added at any time,
and is then kept as well; nothing may vanish or change by accident. After a change that is meant,

    python tests/outside/write.py

writes all of them anew; read `git diff tests/outside` before you commit it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGES = HERE / "pages"
WIDTH = 240
ADDED = "what was added is kept from now on: `python tests/outside/write.py`, and read the difference"
MEANT = "meant? then `python tests/outside/write.py`, and read the difference"


def kept(name: str) -> Any:
    """A snapshot as it was written."""
    return json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))


def keep(name: str, value: Any) -> None:
    (HERE / f"{name}.json").write_text(laid_out(value) + "\n", encoding="utf-8")


def laid_out(value: Any, before: str = "") -> str:
    """JSON with as much on a line as fits, so that a difference is read at a glance."""
    line = json.dumps(value, ensure_ascii=False, sort_keys=True)
    if len(before) + len(line) <= WIDTH or not isinstance(value, dict | list):
        return line
    inner = before + " "
    if isinstance(value, dict):
        parts = [f"{json.dumps(key, ensure_ascii=False)}: {laid_out(value[key], inner)}" for key in sorted(value)]
        return "{\n" + ",\n".join(inner + part for part in parts) + f"\n{before}}}"
    return "[\n" + ",\n".join(inner + laid_out(each, inner) for each in value) + f"\n{before}]"
