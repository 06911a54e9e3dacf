"""The harness of atheris without atheris: every reader has seeds, and they pass through it; damage by its mutator does too."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.usefixtures("shared_engine")


def harness() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fuzz_readers", Path(__file__).parent / "fuzz_readers.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FUZZ = harness()


@pytest.mark.parametrize("reader", FUZZ.READERS)
def test_every_reader_has_seeds_that_pass(reader: str, tmp_path: Path) -> None:
    found = FUZZ.seeds(reader)
    assert found
    draw = random.Random(reader)
    for name, data, choices in found:
        FUZZ.examine(reader, name, data, choices, tmp_path)
        for _ in range(5):
            FUZZ.examine(reader, name, FUZZ.mutated(data, draw) or data[:-7], choices, tmp_path)


def test_an_exception_that_is_not_ours_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.read.open_source.open_source", lambda *_, **__: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        FUZZ.examine("csv", "a.csv", b"a,b\n", {}, tmp_path)


def test_every_log_reader_is_fuzzed() -> None:
    from steelyard.read.logs.found import FORMATS

    assert set(FUZZ.LOG_READERS.values()) == {form.module.rpartition(".")[2] for form in FORMATS}


def test_without_atheris_it_says_so(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "atheris", None)
    monkeypatch.setattr("sys.argv", ["fuzz_readers.py", "csv"])
    FUZZ.main()
    assert capsys.readouterr().out == "atheris is not installed: nothing was fuzzed\n"
