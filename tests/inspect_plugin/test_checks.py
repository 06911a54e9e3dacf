"""The hook on logs that Inspect wrote: verdicts, what cannot be checked, exit codes. The package itself is not needed."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import steelyard as sy
from cases import every
from steelyard import inspect_plugin
from steelyard.errors import UsageError
from steelyard.inspect_plugin import RunChecks, _refuse_unknown_answer, local_path

LOGS = Path(__file__).parents[1] / "read" / "logs" / "inspect"
MODEL = "mockllm/model-b"


def ended(location: Path, task: str = "arith", model: str = MODEL) -> Any:
    """What a hook is told when a run of one task ends."""
    return SimpleNamespace(logs=[SimpleNamespace(location=str(location), eval=SimpleNamespace(task=task, model=model))])


def checks(directory: Path, on_regression: str = "warn", **options: Any) -> RunChecks:
    made = type("Made", (RunChecks,), {"on_regression": on_regression, "options": {"directory": directory, "scorer": "match", **options}})
    return made()


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    sy.record(LOGS / "arith_b.eval", task="arith", model=MODEL, scorer="match", directory=tmp_path)
    return tmp_path


def test_the_same_run_passes(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = checks(recorded)
    asyncio.run(made.on_run_end(ended(LOGS / "arith_b.eval")))
    assert [verdict.verdict for verdict in made.verdicts] == ["pass"]
    assert made.code == 0
    assert capsys.readouterr().err.startswith(f"steelyard: pass: arith, {MODEL}: ")


def test_a_worse_run_is_a_regression_and_only_fail_changes_the_exit_code(
    recorded: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[RunChecks] = []
    monkeypatch.setattr(inspect_plugin, "end_with", asked.append)
    for on_regression in ("warn", "fail"):
        made = checks(recorded, on_regression)
        asyncio.run(made.on_run_end(ended(LOGS / "arith.eval")))
        assert made.verdicts[0].verdict == "regression"
        assert made.code == 1
        assert "steelyard: regression: arith" in capsys.readouterr().err
    assert len(asked) == 1
    assert asked[0].on_regression == "fail"


def test_a_task_of_a_package_is_known_by_its_own_name(recorded: Path) -> None:
    made = checks(recorded)
    asyncio.run(made.on_run_end(ended(LOGS / "arith_b.eval", task="my_evals/arith")))
    assert made.verdicts[0].task == "arith"


def test_what_cannot_be_checked_is_told_and_goes_no_further(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No reference, a log that is gone, a fault of ours: never an exception inside the evaluation."""
    made = checks(recorded)
    asyncio.run(made.on_run_end(ended(LOGS / "arith_b.eval", model="other")))
    told = capsys.readouterr().err
    assert "not checked: arith, other: No reference for 'other'" in told
    asyncio.run(made.on_run_end(ended(recorded / "gone.eval")))
    asyncio.run(made.on_run_end(ended(Path("s3://bucket/log.eval"))))
    broken = ended(LOGS / "arith_b.eval")
    del broken.logs[0].location
    asyncio.run(made.on_run_end(broken))
    assert capsys.readouterr().err.count("steelyard: not checked: arith") == 3
    assert made.code == 3
    assert made.verdicts == []


def test_a_task_without_references_is_told_how_to_record_this_very_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = shutil.copy(LOGS / "arith_b.eval", tmp_path / "a log.eval")
    asyncio.run(checks(tmp_path / "references").on_run_end(ended(Path(log))))
    assert f"sy.record('{log}', task='arith'" in capsys.readouterr().err


def test_words_of_a_log_cannot_drive_the_terminal(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(checks(recorded).on_run_end(ended(LOGS / "arith_b.eval", model="\x1b[2Jmodel")))
    assert "\x1b" not in capsys.readouterr().err


def test_a_regression_outweighs_a_log_that_cannot_be_read(recorded: Path) -> None:
    made = checks(recorded)
    asyncio.run(made.on_run_end(ended(LOGS / "arith.eval")))
    asyncio.run(made.on_run_end(ended(recorded / "gone.eval")))
    assert made.code == 1


@every("location, path", [("/a/b.eval", "/a/b.eval"), ("file:///a/b%20c.eval", "/a/b c.eval"), ("logs/x.eval", "logs/x.eval")])
def test_local_logs_are_paths_or_file_urls(location: str, path: str) -> None:
    assert local_path(location) == path


def test_a_wish_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="on_regression must be warn or fail, not 'fial'"):
        _refuse_unknown_answer("fial")


def test_the_exit_code_is_that_of_the_worst_verdict_and_output_is_not_lost() -> None:
    """In a process of its own: whatever the program itself would have ended with."""
    code = (
        "from steelyard.inspect_plugin import RunChecks, end_with\n"
        "a, b = RunChecks(), RunChecks()\n"
        "a.code, b.code = 2, 1\n"
        "end_with(a); end_with(b); end_with(a)\n"
        "print('written', end='')\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (1, "written")


def test_it_has_a_short_name_too() -> None:
    assert sy.inspect is inspect_plugin
