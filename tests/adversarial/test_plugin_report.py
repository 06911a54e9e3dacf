"""The report of the plugin over a file that a test checks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def test_the_accuracy_report_is_not_written_over_a_checked_run(runs: Path) -> None:
    Path("b.json").write_text(json.dumps([json.loads(line) for line in Path("b.jsonl").read_text().splitlines()]))
    Path("test_guard.py").write_text('def test_guard(accuracy):\n    accuracy.check("b.json", task="t", model="m")\n')
    before = Path("b.json").read_bytes()
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_guard.py", "--accuracy-report", "b.json"]
    subprocess.run(words, capture_output=True, check=False)
    assert Path("b.json").read_bytes() == before
