"""What the variables of GitHub Actions and GitLab CI say, and what they must not say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cases import every
from steelyard.errors import SteelyardError
from steelyard.integrations.ci_variables import checked_key, read_ci

SHA = "b" * 40
GITHUB = {"GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "octo/model", "GITHUB_TOKEN": "ghs_token_0815"}
GITLAB = {"GITLAB_CI": "true", "CI_API_V4_URL": "https://git.example/api/v4", "CI_PROJECT_ID": "42", "GITLAB_TOKEN": "glpat-0815-0815"}


def event(tmp_path: Path, found: Any) -> dict[str, str]:
    path = tmp_path / "event.json"
    path.write_text(found if isinstance(found, str) else json.dumps(found))
    return {**GITHUB, "GITHUB_EVENT_PATH": str(path)}


def test_a_pull_request_of_github(tmp_path: Path) -> None:
    job = read_ci(event(tmp_path, {"number": 7, "pull_request": {"number": 7, "head": {"sha": SHA}}}))
    assert (job.platform, job.repository, job.pull_request, job.commit) == ("github", "octo/model", 7, SHA)
    assert (job.api_url, job.token_name, job.token) == ("https://api.github.com", "GITHUB_TOKEN", "ghs_token_0815")
    assert "0815" not in repr(job)


def test_a_comment_on_a_pull_request_of_github(tmp_path: Path) -> None:
    assert read_ci(event(tmp_path, {"issue": {"number": 8, "pull_request": {"url": "x"}}})).pull_request == 8
    assert read_ci(event(tmp_path, {"issue": {"number": 8}})).pull_request is None, "an issue is no pull request"


def test_a_merge_request_of_gitlab() -> None:
    variables = {**GITLAB, "CI_MERGE_REQUEST_IID": "9", "CI_COMMIT_SHA": SHA, "CI_JOB_NAME": "accuracy"}
    job = read_ci(variables)
    assert (job.platform, job.repository, job.pull_request, job.commit, job.key) == ("gitlab", "42", 9, SHA, "accuracy")
    merged = read_ci({**variables, "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": "c" * 40, "CI_MERGE_REQUEST_PROJECT_ID": "41"})
    assert (merged.repository, merged.commit) == ("41", "c" * 40), "the project of the merge request, not of the fork"
    assert read_ci({**GITLAB, "CI_COMMIT_SHA": SHA}).commit is None, "the commit of a branch is no merge request's"


def test_the_run_of_another_workflow(tmp_path: Path) -> None:
    run = {
        "head_sha": SHA,
        "head_branch": "fix",
        "head_repository": {"full_name": "fork/model"},
        "event": "pull_request",
        "pull_requests": [],
    }
    job = read_ci(event(tmp_path, {"workflow_run": run}))
    assert job.workflow_run is not None
    assert (job.workflow_run.repository, job.workflow_run.branch, job.commit, job.pull_request) == ("fork/model", "fix", SHA, None)
    with pytest.raises(SteelyardError, match="has no commit, branch or repository"):
        read_ci(event(tmp_path, {"workflow_run": {**run, "head_repository": None}}))


def test_what_is_given_goes_before_the_variables(tmp_path: Path) -> None:
    there = event(tmp_path, {"pull_request": {"number": 7, "head": {"sha": SHA}}}) | {"BOT": "other-token"}
    job = read_ci(there, pull_request=8, api_url="https://ghe.example/api/v3", token_env="BOT", key="mine")
    assert (job.pull_request, job.api_url, job.token, job.key) == (8, "https://ghe.example/api/v3", "other-token", "mine")
    assert job.commit is None, "the commit of another pull request"
    assert read_ci(there, pull_request=7).commit == SHA
    other = read_ci(there, repository="octo/other")
    assert (other.repository, other.pull_request, other.commit) == ("octo/other", None, None)
    assert read_ci(there, repository="Octo/Model").pull_request == 7


def test_no_variables_at_all() -> None:
    job = read_ci({})
    assert (job.platform, job.repository, job.pull_request, job.token, job.key) == (None, None, None, None, "default")


@every(
    ("variables", "key"),
    [
        ({"GITHUB_WORKFLOW": "accuracy", "GITHUB_JOB": "check"}, "accuracy/check"),
        ({"GITHUB_WORKFLOW": "Accuracy --> all", "GITHUB_JOB": "x"}, "Accuracy-all/x-"),
        ({"GITHUB_WORKFLOW": "<!-- -->"}, "job-"),
        ({"GITHUB_WORKFLOW": "größer"}, "gr-er-"),
        ({"GITHUB_WORKFLOW": "w" * 300}, "w" * 90 + "-"),
        ({}, "default"),
    ],
)
def test_the_key_of_a_workflow(variables: dict[str, str], key: str) -> None:
    found = read_ci({**GITHUB, **variables}).key
    assert found.startswith(key)
    assert len(found) == len(key) + 8 * key.endswith("-")
    assert checked_key(found) == found


def test_two_names_that_look_the_same_as_keys_stay_apart() -> None:
    keys = {read_ci({**GITHUB, "GITHUB_WORKFLOW": name}).key for name in ("a b", "a  b", "a-b", "a+b")}
    assert len(keys) == 4


@every("key", ["", "a--b", "a b", "-a", "a-", "a>", "é", "x" * 101, "a\nb", "-->", "../.. "])
def test_keys_that_would_end_the_mark_are_refused(key: str) -> None:
    with pytest.raises(SteelyardError, match="The key must be"):
        read_ci(GITHUB, key=key)


@every(
    ("variables", "given", "words"),
    [
        ({**GITHUB, **GITLAB}, {}, "both GitHub and GitLab"),
        ({**GITHUB, "GITHUB_REPOSITORY": "octo"}, {}, "The repository must be"),
        (GITHUB, {"repository": "octo/.."}, "The repository must be"),
        (GITHUB, {"repository": "octo/a/b"}, "The repository must be"),
        (GITHUB, {"repository": "octo/a?x=1"}, "The repository must be"),
        (GITLAB, {"repository": "a/../b"}, "The repository must be"),
        ({**GITLAB, "CI_PROJECT_ID": "-1"}, {}, "The repository must be"),
        ({**GITLAB, "CI_MERGE_REQUEST_IID": "7/../8"}, {}, "The pull request must be"),
        ({**GITLAB, "CI_MERGE_REQUEST_IID": "٣"}, {}, "The pull request must be"),
        (GITHUB, {"pull_request": 0}, "The pull request must be"),
        (GITHUB, {"pull_request": True}, "The pull request must be"),
        (GITHUB, {"token_env": "NOT_SET"}, "The variable NOT_SET has no token"),
        (GITHUB, {"token_env": "ghp_4711-4711"}, "the name of a variable, not the token"),
        ({**GITHUB, "GITHUB_TOKEN": "a b 4711"}, {}, "The token in GITHUB_TOKEN has spaces"),
        ({**GITHUB, "GITHUB_TOKEN": "a\r\nX-Evil: 4711"}, {}, "The token in GITHUB_TOKEN has spaces"),
        ({**GITHUB, "GITHUB_EVENT_PATH": "nowhere.json"}, {}, "Cannot read the event"),
    ],
)
def test_bad_variables_are_errors_that_do_not_repeat_secrets(variables: dict[str, str], given: dict[str, Any], words: str) -> None:
    with pytest.raises(SteelyardError, match=words) as fault:
        read_ci(variables, **given)
    assert "4711" not in str(fault.value)


@every("found", ["[]", '"x"', "7", '{"pull_request": 7}', '{"pull_request": {"number": null}}'])
def test_events_that_are_none(tmp_path: Path, found: str) -> None:
    assert read_ci(event(tmp_path, found)).pull_request is None


@every("found", ["{", "", "[" * 100_000, "\x00"])
def test_events_that_are_no_json(tmp_path: Path, found: str) -> None:
    with pytest.raises(SteelyardError, match="Cannot read the event"):
        read_ci(event(tmp_path, found))
