"""An address that cannot be a source is repeated without who may open it and what proves it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import steelyard as sy
from steelyard.cli.main import steelyard

ADDRESSES = [
    "https://bob:hunter2@127.0.0.1/x.csv",
    "https://127.0.0.1/x.csv?X-Amz-Signature=hunter2",
    "https://127.0.0.1/x.csv?part=1&access_token=hunter2",
    "s3://KEY:hunter2@bucket/x.csv",
    "mysql://bob:hunter2@host/db",
    "https://bob:pass@hunter2@127.0.0.1/x.csv",
]


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize(
    "words", [["measure", "{}"], ["compare", "{}", "{}"], ["check", "{}", "--task", "t", "--model", "m"], ["report", "{}"], ["audit", "{}"]]
)
def test_no_command_prints_a_password(words: list[str], address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told = CliRunner().invoke(steelyard, [word.format(address) for word in words])
    assert isinstance(told.exception, sy.SteelyardError)  # which the command prints
    assert "hunter2" not in f"{told.output} {told.exception}"


def test_the_history_without_its_slashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told = CliRunner().invoke(steelyard, ["history", "--history", "postgresql:bob:hunter2@h"])
    assert isinstance(told.exception, sy.SteelyardError)  # which the command prints
    assert "hunter2" not in f"{told.output} {told.exception}"


@pytest.mark.parametrize("address", ADDRESSES)
def test_the_exception_has_none_either(address: str) -> None:
    with pytest.raises(sy.SourceError, match="is an address, not a local file") as told:
        sy.measure(address)
    kept: Any = vars(told.value)
    assert "hunter2" not in f"{told.value} {kept}"


def test_what_looks_a_little_like_one_stays_as_it_is() -> None:
    said = "cannot use the id 'a:b@c' of user@host, mail bob@host.org?x=1 and https://host/a@b"
    assert str(sy.UsageError(f"{said}.")) == f"{said}."
