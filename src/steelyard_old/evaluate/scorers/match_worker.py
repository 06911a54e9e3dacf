"""What runs in the process that matches patterns: one request a line, one reply a line. Loaded as text: it imports nothing of ours."""

from __future__ import annotations

import json
import re
import signal
import sys


def picked(pattern: str, flags: int, text: str, group: int | str, pick: str) -> tuple[bool, str | None]:
    """Whether the pattern is found, and the group of one match: the `first` or `last` that has it, or that of the `final` match."""
    found, value = False, None
    for match in re.compile(pattern, flags).finditer(text):
        found = True
        here = match[group]
        if pick == "final" or here is not None:
            value = here
            if pick == "first":
                break
    return found, value


def work() -> None:
    """Answer until the input ends. A match that takes too long ends the process, even if nobody is there any more to end it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one that asks
    for line in sys.stdin:
        asked = json.loads(line)
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, asked.pop("seconds"))
        else:
            asked.pop("seconds")
        reply = picked(**asked)
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    work()
