"""`steelyard comment`: exit codes, what it prints, and that no token is ever in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import steelyard as sy
from integrations.comment_services import TOKEN, GitHub, serving


@pytest.fixture
def verdict(tmp_path: Path) -> Path:
    path = tmp_path / "verdict.json"
    path.write_text(json.dumps(sy.measure(sy.Counts.of(12, 40)).to_dict()))
    return path


def steelyard(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "GITLAB_", "CI_", "GH_"))}
    return subprocess.run(
        [sys.executable, "-m", "steelyard", *words], capture_output=True, text=True, env={**kept, **variables}, timeout=120, check=False
    )


def test_the_command(verdict: Path) -> None:
    with serving(GitHub()) as there:
        variables = {"GITHUB_REPOSITORY": "octo/model", "GITHUB_API_URL": there.url, "GITHUB_TOKEN": TOKEN}
        words = ("comment", str(verdict), "--pull-request", "7", "--key", "nightly")
        first = steelyard(*words, **variables)
        again = steelyard(*words, "--format", "json", **variables)
        assert (first.returncode, again.returncode) == (0, 0), first.stderr + again.stderr
        assert first.stdout.startswith("Wrote the comment on pull request 7 of octo/model.")
        assert json.loads(again.stdout)["done"] == "unchanged"
        dry = steelyard(*words, str(verdict), "--dry-run", **variables)
        assert dry.stdout.startswith("Would edit the comment on pull request 7 of octo/model.")
        assert "  <!-- steelyard:nightly -->\n" in dry.stdout
        assert len(there.comments) == 1
        there.script.append(lambda request: request.answer(401, {"message": f"token {TOKEN} is wrong"}))
        wrong = steelyard(*words, "--debug", **variables)
        assert wrong.returncode == 3
        assert "does not accept the token in GITHUB_TOKEN" in wrong.stderr
        for said in (first, again, dry, wrong):
            assert TOKEN not in said.stdout + said.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "Hint: --platform github with --repository and --pull-request"),
        (("--platform", "github"), "No token for GitHub"),
        (("--platform", "github", "--token-env", "ghp_4711 4711"), "--token-env must be the name of a variable"),
        (("--platform", "bitbucket"), "--platform"),
        (("--pull-request", "0"), "--pull-request"),
        (("--key", "a--b"), "The key must be"),
        (
            ("--platform", "github", "--token-env", "SECRET", "--repository", "o/n", "--pull-request", "1", "--api-url", "http://host/"),
            "https://",
        ),
    ],
)
def test_mistakes_have_exit_code_3(verdict: Path, words: tuple[str, ...], said: str) -> None:
    done = steelyard("comment", str(verdict), *words, SECRET="a-secret-0815")
    assert (done.returncode, done.stdout) == (3, "")
    assert said in done.stderr
    assert "4711" not in done.stderr
    assert "0815" not in done.stderr


def test_an_output_is_never_a_result_that_is_read(verdict: Path) -> None:
    before = verdict.read_bytes()
    done = steelyard("comment", str(verdict), "--dry-run", "-o", str(verdict))
    assert (done.returncode, verdict.read_bytes()) == (3, before)
