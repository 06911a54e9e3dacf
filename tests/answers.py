"""The command, called in process: what it answered, and with which code."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from steelyard.cli.main import main


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out, parse_constant=lambda text: pytest.fail(f"{text} in the JSON"))
        return found


Command = Callable[..., Answer]


def command(capsys: pytest.CaptureFixture[str], *first: str) -> Command:
    """`steelyard FIRST WORDS...`; what was printed before is forgotten."""

    def run(*words: object) -> Answer:
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main([*first, *(str(word) for word in words)])
        out, err = capsys.readouterr()
        return Answer(int(stop.value.code or 0), out, err)

    return run
