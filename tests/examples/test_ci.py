"""The CI examples, run as a runner would: every shell step in bash, with the variables of the service, in a project of its own.

What cannot be run here is said in examples/ci/README.md: the services themselves and the actions of others.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from cases import seldom

CI = Path(__file__).parents[2] / "examples" / "ci"
OTHERS = {"actions/checkout@v4", "actions/setup-python@v5", "actions/upload-artifact@v4"}
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
NAMES = {0: "pass", 1: "regression", 2: "inconclusive", 3: "error"}


def run_text(right: int, n: int = 200) -> str:
    return "".join(json.dumps({"id": f"q{i}", "score": int(i < right)}) + "\n" for i in range(n))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a reference, and on the path a `steelyard` and a `python` whose pip notes what it was asked for."""
    from steelyard.questions.record.record import record

    there = tmp_path / "my project"
    there.mkdir()
    (there / "good.jsonl").write_text(run_text(180))
    (there / "bad.jsonl").write_text(run_text(150))
    (there / "steelyard.toml").write_text('directory = "references"\n[tasks.sums]\ntheta = 0.01\n[tasks.easy]\n')
    for task in ("sums", "easy"):
        record(str(there / "good.jsonl"), task=task, model="small", directory=str(there / "references"), reason="the first one")
    (there / "model.py").write_text('import shutil, sys, os\nshutil.copy(os.environ["ANSWERS"], sys.argv[1])\n')
    shims = tmp_path / "bin"
    shims.mkdir()
    log = tmp_path / "pip.log"
    pip = f'if [ "$1 $2" = "-m pip" ]; then printf "%s\\n" "$@" >> "{log}"; exit 0; fi\n'
    for name, body in (("steelyard", f'exec "{sys.executable}" -m steelyard "$@"'), ("python", f'{pip}exec "{sys.executable}" "$@"')):
        (shims / name).write_text(f"#!/bin/bash\n{body}\n")
        (shims / name).chmod(0o755)
    return there


def bash(script: str, project: Path, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """As GitHub starts `shell: bash`, and GitLab with pipefail: the first error ends the step."""
    home = {name: os.environ[name] for name in ("HOME", "LANG", "PYTHONPATH") if name in os.environ}
    path = f"{project.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=project,
        env={**home, "PATH": path, "CI": "true", **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def loaded(name: str) -> dict[Any, Any]:
    found = yaml.safe_load((CI / name).read_text())
    assert isinstance(found, dict)
    return found


class Runner:
    """What GitHub's runner does with a composite action: inputs to variables, one shell step after another, outputs out of a file."""

    def __init__(self, project: Path) -> None:
        self.project, self.action = project, loaded("github/action.yml")
        self.summary, self.output = project.parent / "summary.md", project.parent / "output"
        self.log = ""

    def act(self, **inputs: str) -> int:
        given = {name: str(value.get("default", "")) for name, value in self.action["inputs"].items()}
        assert set(inputs) <= set(given)
        given |= inputs
        for path in (self.summary, self.output):
            path.write_text("")
        files = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(self.summary), "GITHUB_OUTPUT": str(self.output)}
        for step in self.action["runs"]["steps"]:
            if "if" in step:
                assert step["if"] == "inputs.requirement != ''"
                if not given["requirement"]:
                    continue
            assert step["shell"] == "bash"
            variables = {
                name: EXPRESSION.sub(lambda found: given[found[1].removeprefix("inputs.")], text) for name, text in step["env"].items()
            }
            done = bash(step["run"], self.project, files | variables)
            self.log += done.stdout + done.stderr
            if done.returncode:
                return done.returncode
        return 0

    @property
    def outputs(self) -> dict[str, str]:
        """What the action hands on, by the steps' outputs that it names."""
        told = dict(line.split("=", 1) for line in self.output.read_text().splitlines())
        named = {name: EXPRESSION.fullmatch(value["value"]) for name, value in self.action["outputs"].items()}
        return {name: told[found[1].removeprefix("steps.check.outputs.")] for name, found in named.items() if found}


def test_no_expression_inside_a_script() -> None:
    """An input inside the text of a script would be run as a part of it."""
    steps = loaded("github/action.yml")["runs"]["steps"]
    workflow = [step for job in loaded("github/workflow.yml")["jobs"].values() for step in job["steps"]]
    scripts = [step["run"] for step in (*steps, *workflow) if "run" in step]
    assert len(scripts) == 3
    assert not any("${{" in script for script in scripts)
    used = {step["uses"] for step in workflow if "uses" in step}
    assert used == OTHERS | {"./.github/actions/steelyard"}
    assert all("secrets." not in path.read_text() for path in CI.rglob("*.yml"))
    assert loaded("github/workflow.yml")["permissions"] == {"contents": "read"}


def test_the_workflow_gives_inputs_that_the_action_has() -> None:
    (job,) = loaded("github/workflow.yml")["jobs"].values()
    ours = next(step for step in job["steps"] if step.get("uses", "").startswith("./"))
    action = loaded("github/action.yml")
    assert set(ours["with"]) <= set(action["inputs"])
    kept = next(step for step in job["steps"] if "upload-artifact" in step.get("uses", ""))
    assert kept["with"]["path"] == action["inputs"]["junit"]["default"]


@pytest.mark.parametrize(("source", "task", "code"), [*seldom(("good.jsonl", "easy", 0)), ("bad.jsonl", "easy", 1)])
def test_github_action(project: Path, source: str, task: str, code: int) -> None:
    runner = Runner(project)
    assert runner.act(source=source, task=task, model="small") == code, runner.log
    assert runner.outputs == {"verdict": NAMES[code], "exit-code": str(code), "junit": "steelyard.xml"}
    summary = runner.summary.read_text()
    assert summary.startswith(f"## {NAMES[code].upper()}: {task}, small")
    assert re.search(r"^`worse .*●.* better`", summary, re.MULTILINE), "the picture"
    assert summary.count("## ") == 1, "the second check adds nothing to the summary"
    assert ("::error title=" in runner.log) == (code == 1)
    suite = ElementTree.parse(project / "steelyard.xml").getroot()
    assert len(suite.findall(".//testcase")) == 1
    assert len(suite.findall(".//failure")) == (code == 1)
    assert (project.parent / "pip.log").read_text().splitlines()[-1] == "steelyard"


def test_github_action_when_it_cannot_tell(project: Path) -> None:
    """200 items cannot rule out a drop of one point, not even without a flip: a warning, if that is what was asked for."""
    runner = Runner(project)
    assert runner.act(source="good.jsonl", task="sums", model="small", requirement="", **{"fail-on": "regression"}) == 0, runner.log
    assert (runner.outputs["verdict"], runner.outputs["exit-code"]) == ("inconclusive", "2")
    assert "::warning title=inconclusive" in runner.log
    assert not (project.parent / "pip.log").exists()


@pytest.mark.parametrize(
    "inputs",
    [
        {"source": "--help", "task": "easy; touch broken", "model": "$(touch broken)", "spec": "quant_algo=`touch broken`"},
        {"fail-on": "regression"},
    ],
)
def test_github_action_on_a_question_that_cannot_be_asked(project: Path, inputs: dict[str, str]) -> None:
    runner = Runner(project)
    assert runner.act(**inputs) == 3, runner.log
    assert runner.outputs["verdict"] == "error"
    assert "error: " in runner.log
    assert not (project / "broken").exists()


def test_github_action_on_a_spec_and_a_directory(project: Path) -> None:
    from steelyard.questions.record.record import record

    there, spec = project / "other references", {"quant_algo": "FP8", "dtype": "half"}
    record(str(project / "good.jsonl"), task="sums", model="small", spec=spec, directory=str(there), reason="x")
    runner = Runner(project)
    asked = {"source": "good.jsonl", "task": "sums", "model": "small", "directory": there.name}
    assert runner.act(**asked, spec="quant_algo=FP8\ndtype=half\n") == 2, runner.log
    assert runner.summary.read_text().startswith("## INCONCLUSIVE: sums, small \\[quant\\_algo=FP8, dtype=half\\]")


def test_github_action_on_a_suite(project: Path) -> None:
    checks = [("easy", "bad.jsonl"), ("sums", "good.jsonl")]
    text = "".join(f'[[checks]]\ntask = "{task}"\nmodel = "small"\nresult = "{source}"\n' for task, source in checks)
    (project / "suite.toml").write_text(text)
    runner = Runner(project)
    assert runner.act(suite="suite.toml") == 1, runner.log
    assert len(ElementTree.parse(project / "steelyard.xml").findall(".//testcase")) == 2


@pytest.mark.parametrize(("answers", "code"), [("bad.jsonl", 1), ("nowhere.jsonl", 1)])
def test_gitlab_job(project: Path, answers: str, code: int) -> None:
    job = loaded("gitlab-ci.yml")[".steelyard-check"]
    variables = {name: str(value) for name, value in job["variables"].items()}
    assert set(variables) == {f"STEELYARD_{name}" for name in ("SOURCE", "TASK", "MODEL", "JUNIT", "MARKDOWN")}
    variables |= {"STEELYARD_TASK": "easy", "STEELYARD_MODEL": "small", "GITLAB_CI": "true", "ANSWERS": answers}
    done = bash("\n".join([*job["before_script"], *job["script"]]), project, variables)
    assert done.returncode == code, done.stdout + done.stderr
    assert job["allow_failure"] == {"exit_codes": 2}
    kept = [re.sub(r"\$(\w+)", lambda found: variables[found[1]], path) for path in job["artifacts"]["paths"]]
    if answers == "nowhere.jsonl":
        assert "nowhere.jsonl" in done.stderr, "the model failed, and no check was made"
        assert not any((project / path).exists() for path in kept)
        return
    assert done.stdout.startswith(NAMES[code].upper())
    assert len(ElementTree.parse(project / kept[0]).findall(".//failure")) == code
    assert (project / kept[1]).read_text().startswith(f"## {NAMES[code].upper()}")
