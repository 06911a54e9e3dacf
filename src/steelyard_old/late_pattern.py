"""A regular expression that is compiled when it is first used: a command loads a hundred of them and uses ten.

Compiling one takes as long as loading a small module. Type checkers see `re.compile`, and what it gives is used like one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    late_pattern = re.compile
else:

    class late_pattern:
        """late_pattern(r"\\d+").search(text): the methods of the compiled pattern, kept once they were asked for."""

        def __init__(self, pattern: str, flags: int = 0) -> None:
            self._given = pattern, flags

        def __reduce__(self) -> Any:
            return re.compile, self._given

        def __getattr__(self, name: str) -> Any:
            found = getattr(re.compile(*self._given), name)
            setattr(self, name, found)
            return found
