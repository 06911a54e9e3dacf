"""A suite that is worse only as a whole is red in every output."""

from __future__ import annotations

from pathlib import Path

import pytest

import steelyard as sy
from steelyard.render.formats import FORMATS


@pytest.fixture
def pooled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> sy.Suite:
    """Eight tasks that lost a little each: none can be named, all together are worse."""
    monkeypatch.chdir(tmp_path)
    text = ""
    for place in range(8):
        task = f"t{place}"

        def rows(wrong: set[int]) -> list[dict[str, object]]:
            return [{"id": f"q{i:03}", "score": float(i not in wrong)} for i in range(100)]

        sy.record(rows({1}), rows({2}), rows({3}), rows({4}), rows({5}), task=task, model="m")
        lines = [f"{row['id']},{row['score']:g}" for row in rows({10, 11, 12, 13, 14})]
        Path(f"{task}.csv").write_text("\n".join(["id,score", *lines]) + "\n")
        text += f'[[checks]]\ntask = "{task}"\nmodel = "m"\nresult = "{task}.csv"\nalpha = 0.05\n'
    Path("suite.toml").write_text(text)
    found = sy.check_suite("suite.toml")
    assert found.verdict == "regression"
    assert not any(row["counts_as"] == "regression" for row in found.rows)
    return found


def test_junit_has_a_failure(pooled: sy.Suite) -> None:
    assert 'failures="0"' not in FORMATS["junit"].write(pooled)


def test_github_has_an_error(pooled: sy.Suite) -> None:
    assert "::error" in FORMATS["github"].write(pooled)
