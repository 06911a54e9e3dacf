"""--accuracy-dir, and where references are looked for without it."""

from __future__ import annotations

from typing import Any

TEST = "from runs import worse\ndef test_it(accuracy):\n    accuracy.check(worse(LOST), task='t', model='m')\n"


def test_the_option_says_where(project: Any) -> None:
    project.record("m", directory=project.path / "elsewhere" / "refs", rows=project.rows(16))
    project.record("m")
    project.write("test_it.py", TEST.replace("LOST", "16"))
    assert project.pytest("-q").code == 1
    from_below = project.path / "elsewhere"
    assert project.pytest("-q", "--accuracy-dir", "refs", "..", cwd=from_below).code == 0, "relative to where pytest was started"


def test_the_configuration_nearest_to_the_test_counts(project: Any) -> None:
    """Not the one nearest to where pytest was started."""
    project.record("m", directory=project.path / "sub" / "known")
    project.write("sub/steelyard.toml", 'directory = "known"\n[tasks.t]\nmargin = 0.2\n')
    project.write("steelyard.toml", 'directory = "nowhere"\n')
    project.write("sub/test_it.py", TEST.replace("LOST", "16"))
    project.write("pytest.ini", "[pytest]\n")
    answer = project.pytest()
    assert answer.code == 0
    assert "1 check: 1 pass" in answer.out
    new = project.write("sub/test_it.py", TEST.replace("LOST", "0").replace("'m'", "'other'"))
    missing = project.pytest(str(new))
    assert "steelyard record RUN --task t --model other --config sub/steelyard.toml" in missing.out, "a command that works from here"
