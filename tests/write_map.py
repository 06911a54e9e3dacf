"""Writes MAP.md: one line per file, from the first sentence of its docstring.

Run from the root of the repository after adding or renaming a file:  python tests/write_map.py
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "steelyard"
START, END = "<!-- map -->", "<!-- end of map -->"


def line(path: Path) -> str:
    doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    first = doc.split("\n\n")[0].replace("\n", " ")
    sentence = re.split(r"(?<=[.?!])\s", first)[0]
    name = str(path.relative_to(SRC))
    return f"    {name:<32} {sentence}"


def the_map() -> str:
    paths = sorted(SRC.rglob("*.py"), key=lambda p: (len(p.relative_to(SRC).parts), p.relative_to(SRC).parts))
    return "\n".join(line(path) for path in paths)


def main() -> None:
    page = ROOT / "MAP.md"
    before, rest = page.read_text(encoding="utf-8").split(START)
    page.write_text(f"{before}{START}\n\n{the_map()}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
