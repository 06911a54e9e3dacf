"""The command. A verb that has not moved in yet is answered by the house of 0.1, with its words untouched."""

from __future__ import annotations

import sys
from typing import NoReturn

from steelyard.version import __version__


def main(argv: list[str] | None = None) -> NoReturn:
    """Run the command and exit."""
    words = sys.argv[1:] if argv is None else argv
    if words == ["--version"]:
        sys.stdout.write(f"steelyard {__version__}\n")
        sys.exit(0)
    from steelyard_old.cli.main import main as old

    old(words)
    raise AssertionError("the old command exits")
