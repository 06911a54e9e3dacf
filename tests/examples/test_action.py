"""The action in the root and the workflows that use it: read as a linter would, and their shell steps run as a runner would.

What cannot be run here is GitHub itself and the actions of others.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from cases import every, seldom
from examples.test_ci import bash, run_text
from integrations.comment_services import HEAD, TOKEN, GitHub, serving

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / "examples" / "ci" / "github"
WORKFLOWS = sorted(path for path in GITHUB.glob("*.yml") if path.name != "action.yml")
ACTIONS = [ROOT / "action.yml", GITHUB / "action.yml"]
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
OTHERS = {f"actions/{name}" for name in ("checkout@v4", "setup-python@v5", "upload-artifact@v4", "download-artifact@v4")}
OURS = {"OWNER/steelyard@COMMIT", "./.github/actions/steelyard"}
STEP = {"name", "id", "if", "uses", "with", "run", "env", "shell", "working-directory", "continue-on-error", "timeout-minutes"}
# What somebody who opens a pull request may choose: text of theirs must not come near a script.
THEIRS = re.compile(
    r"github\.(head_ref|event\.(pull_request\.(title|body|head\.(ref|label))|workflow_run\.head_branch|comment|issue|review))"
)
pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")


def loaded(path: Path) -> dict[Any, Any]:
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def steps_of(path: Path) -> list[dict[str, Any]]:
    found = loaded(path)
    if path in ACTIONS:
        return list(found["runs"]["steps"])
    return [step for job in found["jobs"].values() for step in job["steps"]]


def texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for each in value.values() for text in texts(each)]
    return [text for each in value for text in texts(each)] if isinstance(value, list) else [value] if isinstance(value, str) else []


@every("path", [*ACTIONS, *WORKFLOWS], ids=lambda path: path.name)
def test_steps_are_well_formed(path: Path) -> None:
    names = set()
    for step in steps_of(path):
        assert set(step) <= STEP, step
        assert ("run" in step) != ("uses" in step), step
        names |= {step["id"]} if "id" in step else set()
        assert step.get("uses") in {None, *OTHERS, *OURS}
        assert "run" not in step or path not in ACTIONS or step["shell"] == "bash", "a composite action has no default shell"
    used = set(re.findall(r"steps\.([\w-]+)\.", path.read_text(encoding="utf-8")))
    assert used <= names


@every("path", [*ACTIONS, *WORKFLOWS], ids=lambda path: path.name)
def test_no_expression_inside_a_script(path: Path) -> None:
    scripts = [step["run"] for step in steps_of(path) if "run" in step]
    assert scripts
    assert not any("${{" in script for script in scripts)
    assert not any("eval " in script for script in scripts)
    assert not THEIRS.search(path.read_text(encoding="utf-8"))
    assert "secrets." not in path.read_text(encoding="utf-8")


@every("path", ACTIONS, ids=lambda path: path.parent.name)
def test_an_action_uses_the_inputs_it_has(path: Path) -> None:
    action = loaded(path)
    assert action["runs"]["using"] == "composite"
    assert all(value["description"] for value in (*action["inputs"].values(), *action["outputs"].values()))
    used = {name for text in texts(action["runs"]) for name in re.findall(r"\binputs\.([\w-]+)", text)}
    assert used == set(action["inputs"])
    told = {name for text in texts(action["outputs"]) for name in re.findall(r"steps\.\w+\.outputs\.([\w-]+)", text)}
    written = {name for step in action["runs"]["steps"] for name in re.findall(r'echo "([\w-]+)=', step.get("run", ""))}
    assert told <= written


@every("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_asks_for_no_more_rights_than_it_needs(path: Path) -> None:
    found = loaded(path)
    (on,) = found[True].keys()  # YAML reads `on` as true
    assert on in ("pull_request", "workflow_run"), "pull_request_target would run with the rights of the repository"
    rights = {name for name, right in found["permissions"].items() if right == "write"}
    assert rights <= {"pull-requests"}
    assert all(job["runs-on"] for job in found["jobs"].values())
    uses = [step.get("uses", "") for step in steps_of(path)]
    if on == "workflow_run":
        assert not any(each.startswith("actions/checkout") for each in uses), "nothing of a fork is run with a token that may write"


def test_the_workflow_gives_inputs_that_the_action_has() -> None:
    (ours,) = [step for step in steps_of(GITHUB / "pull-request.yml") if step.get("uses") in OURS]
    action = loaded(ROOT / "action.yml")
    assert {name for name, value in action["inputs"].items() if value.get("required")} <= set(ours["with"]) <= set(action["inputs"])
    second = steps_of(GITHUB / "pull-request-comment.yml")
    (download,) = [step for step in second if "download-artifact" in step.get("uses", "")]
    assert download["with"]["name"] == ours["with"]["artifact"]
    assert loaded(GITHUB / "pull-request-comment.yml")[True]["workflow_run"]["workflows"] == [loaded(GITHUB / "pull-request.yml")["name"]]
    script = second[-1]["run"]
    assert f"{download['with']['path']}/verdict.json" in script
    assert f"--key {ours['with']['key']}" in script


# ---- run as a runner would ---------------------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path) -> Path:
    import sys

    from steelyard.questions.record.record import record

    there = tmp_path / "my project"
    there.mkdir()
    (there / "good.jsonl").write_text(run_text(180))
    (there / "bad.jsonl").write_text(run_text(150))
    (there / "steelyard.toml").write_text('directory = "references"\n[tasks.sums]\ntheta = 0.01\n[tasks.easy]\n')
    for task in ("sums", "easy"):
        record(str(there / "good.jsonl"), task=task, model="small", directory=str(there / "references"), reason="the first one")
    shims = tmp_path / "bin"
    shims.mkdir()
    pip = f'if [ "$1 $2" = "-m pip" ]; then printf "%s\\n" "$@" >> "{tmp_path / "pip.log"}"; exit 0; fi\n'
    for name, body in (("steelyard", f'exec "{sys.executable}" -m steelyard "$@"'), ("python", f'{pip}exec "{sys.executable}" "$@"')):
        (shims / name).write_text(f"#!/bin/bash\n{body}\n")
        (shims / name).chmod(0o755)
    return there


class Runner:
    """What GitHub's runner does with the action, for a pull request of the repository or of a fork."""

    def __init__(self, project: Path, api: str, *, fork: bool = False) -> None:
        self.project, self.action, self.fork, self.log = project, loaded(ROOT / "action.yml"), fork, ""
        place = project.parent
        self.files = {name: place / name.lower() for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT", "GITHUB_EVENT_PATH")}
        for path in self.files.values():
            path.write_text("")
        (place / "temp").mkdir()
        self.files["GITHUB_EVENT_PATH"].write_text(json.dumps({"pull_request": {"number": 7, "head": {"sha": HEAD}}}))
        facts = {"GITHUB_ACTIONS": "true", "GITHUB_API_URL": api, "GITHUB_REPOSITORY": "octo/model", "GITHUB_EVENT_NAME": "pull_request"}
        self.variables = {**facts, "RUNNER_TEMP": str(place / "temp")} | {name: str(path) for name, path in self.files.items()}
        self.kept: list[str] = []

    @property
    def outputs(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in self.files["GITHUB_OUTPUT"].read_text().splitlines())

    def act(self, *arguments: str, **inputs: str) -> int:
        given = {name: str(value.get("default", "")) for name, value in self.action["inputs"].items()}
        assert set(inputs) <= set(given)
        given |= inputs | {"arguments": "\n".join(arguments), "token": TOKEN}
        code = 0
        for step in self.action["runs"]["steps"]:
            if not self.wanted(step.get("if", ""), given, code):
                continue
            if "uses" in step:
                self.kept = sorted(path.name for path in Path(self.outputs["folder"]).iterdir())
                continue
            env = {name: EXPRESSION.sub(lambda found: self.said(found[1], given), text) for name, text in step["env"].items()}
            done = bash(step["run"], self.project, self.variables | env)
            self.log += done.stdout + done.stderr
            code = code or done.returncode
        return code

    def said(self, name: str, given: dict[str, str]) -> str:
        kind, _, rest = name.partition(".")
        if kind == "inputs":
            return given[rest]
        return self.outputs.get(rest.rpartition(".")[2], "") if kind == "steps" else {"github.action_path": str(ROOT)}[name]

    def wanted(self, condition: str, given: dict[str, str], code: int) -> bool:
        """The conditions of this action, and no others."""
        if not condition:
            return code == 0
        always, *rest = re.split(r"\s*&&\s*", condition.strip())
        assert always == "always()"
        facts = {
            "inputs.artifact != ''": given["artifact"] != "",
            "inputs.comment == 'true'": given["comment"] == "true",
            "steps.ask.outputs.answer != ''": self.outputs.get("answer", "") != "",
            "github.event_name == 'pull_request'": True,
            "github.event.pull_request.head.repo.full_name == github.repository": not self.fork,
        }
        return all(facts[each] for each in rest)


ASKED = ("--task", "easy", "--model", "small")


@pytest.mark.parametrize(("source", "verdict", "code"), [*seldom(("good.jsonl", "pass", 0)), ("bad.jsonl", "regression", 1)])
def test_a_check_comments_and_keeps_its_report(project: Path, source: str, verdict: str, code: int) -> None:
    with serving(GitHub()) as there:
        runner = Runner(project, there.url)
        assert runner.act(source, *ASKED, key="accuracy") == code, runner.log
        assert (runner.outputs["verdict"], runner.outputs["exit-code"]) == (verdict, str(code))
        assert runner.kept == ["report.html", "verdict.json"]
        (body,) = there.bodies
        assert body.startswith(f"<!-- steelyard:accuracy -->\n## {verdict.upper()}: easy, small")
        assert f"## {verdict.upper()}: easy, small" in runner.files["GITHUB_STEP_SUMMARY"].read_text()
        assert (project.parent / "pip.log").read_text().splitlines()[-1] == str(ROOT)
        assert TOKEN not in runner.log


def test_a_check_of_a_fork_keeps_the_answer_and_the_second_workflow_comments(project: Path) -> None:
    with serving(GitHub(head_repository="fork/model")) as there:
        runner = Runner(project, there.url, fork=True)
        assert runner.act("bad.jsonl", *ASKED, key="accuracy", artifact="accuracy") == 1
        assert there.asked == []
        (project / "accuracy").mkdir()
        shutil.copy(runner.outputs["answer"], project / "accuracy" / "verdict.json")
        run = {"head_sha": HEAD, "head_branch": "better", "head_repository": {"full_name": "fork/model"}, "event": "pull_request"}
        runner.files["GITHUB_EVENT_PATH"].write_text(json.dumps({"workflow_run": run}))
        step = steps_of(GITHUB / "pull-request-comment.yml")[-1]
        done = bash(step["run"], project, runner.variables | {"GITHUB_EVENT_NAME": "workflow_run", "GITHUB_TOKEN": TOKEN})
        assert done.returncode == 0, done.stderr
        assert there.bodies[0].startswith("<!-- steelyard:accuracy -->\n## REGRESSION")


def test_an_inconclusive_check_may_pass(project: Path) -> None:
    with serving(GitHub()) as there:
        runner = Runner(project, there.url)
        assert runner.act("good.jsonl", "--task", "sums", "--model", "small", version="0.1.0", **{"fail-on": "regression"}) == 0, runner.log
        assert runner.outputs["exit-code"] == "2"
        assert (project.parent / "pip.log").read_text().splitlines()[-1] == "steelyard==0.1.0"


def test_a_question_that_cannot_be_asked_is_no_comment(project: Path) -> None:
    with serving(GitHub()) as there:
        runner = Runner(project, there.url)
        words = ("$(touch broken)", "--task", "easy; touch broken", "--model", "`touch broken`")
        assert runner.act(*words) == 3
        assert (runner.outputs["verdict"], runner.outputs["answer"], runner.kept, there.asked) == ("error", "", [], [])
        assert not (project / "broken").exists()


@pytest.mark.parametrize(
    "inputs",
    [
        {"command": "serve"},
        {"command": "check; touch broken"},
        {"version": "0.1 --index-url http://evil.example"},
        {"version": "$(touch broken)"},
        {"comment": "yes"},
        {"key": "--token-env"},
        {"key": "a\ntouch broken"},
        {"artifact": "../x"},
        {"fail-on": "never"},
    ],
    ids=str,
)
def test_inputs_that_are_refused(project: Path, inputs: dict[str, str]) -> None:
    runner = Runner(project, "http://127.0.0.1:9")
    assert runner.act("good.jsonl", *ASKED, **inputs) == 3
    assert f"The input {next(iter(inputs))} is not valid" in runner.log
    assert not (project.parent / "pip.log").exists()
    assert not (project / "broken").exists()
