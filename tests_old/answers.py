"""The command, called in process: what it answered, and with which code."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from steelyard_old.cli.main import main


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out, parse_constant=lambda text: pytest.fail(f"{text} in the JSON"))
        return found

    @property
    def row(self) -> dict[str, Any]:
        """The only metric of a measurement."""
        (row,) = self.json["metrics"]
        assert isinstance(row, dict)
        return row

    @property
    def ends(self) -> tuple[float, float]:
        return self.row["interval"]["low"], self.row["interval"]["high"]


Command = Callable[..., Answer]


def command(capsys: pytest.CaptureFixture[str], *first: str) -> Command:
    """`steelyard FIRST WORDS...`, with these bytes on its standard input; what was printed before is forgotten."""

    def run(*words: object, stdin: bytes | None = None) -> Answer:
        capsys.readouterr()
        with pytest.MonkeyPatch.context() as patch:
            if stdin is not None:
                patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
            with pytest.raises(SystemExit) as stop:
                main([*first, *(str(word) for word in words)])
        out, err = capsys.readouterr()
        return Answer(int(stop.value.code or 0), out, err)

    return run
