"""Writes the snapshots of the outside anew: `python tests/outside/write.py`. Read `git diff tests/outside` before you commit it."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from outside import test_commands, test_json_shapes, test_pages_text, test_public_signatures
from outside.asked import answers, files
from outside.snapshot import PAGES, keep


def main() -> None:
    keep("signatures", test_public_signatures.now())
    keep("commands", test_commands.now())
    with tempfile.TemporaryDirectory() as folder:
        answered = answers(Path(folder))
        written = files(Path(folder))
    keep("shapes", test_json_shapes.now(answered))
    pages = test_pages_text.now(answered, written)
    PAGES.mkdir(exist_ok=True)
    for path in PAGES.iterdir():
        if path.name not in pages:
            path.unlink()
    for file, page in pages.items():
        (PAGES / file).write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
