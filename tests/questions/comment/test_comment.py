"""`sy.comment`: results in the one comment of a pull request, with the variables that CI sets, against stand-ins of the services."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from cases import every
from integrations.comment_services import HEAD, TOKEN, GitHub, GitLab, Service, serving
from steelyard.errors import SteelyardError
from steelyard.questions.comment import comment as verb

FACTS = {"head_branch": "better", "head_repository": {"full_name": "fork/model"}, "event": "pull_request", "pull_requests": []}


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    for name in os.environ:
        if name.startswith(("GITHUB_", "GITLAB_", "CI_", "GH_")):
            monkeypatch.delenv(name)


@pytest.fixture
def result() -> Any:
    return sy.measure(sy.Counts.of(12, 40))


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Service]:
    with serving(GitHub()) as there:
        event(monkeypatch, tmp_path, {"pull_request": {"number": 7, "head": {"sha": HEAD}}})
        for name, value in {"REPOSITORY": "octo/model", "API_URL": there.url, "TOKEN": TOKEN, "ACTIONS": "true"}.items():
            monkeypatch.setenv(f"GITHUB_{name}", value)
        yield there


@pytest.fixture
def gitlab(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    with serving(GitLab(login="project_42_bot")) as there:
        facts = {"CI_PROJECT_ID": "42", "CI_API_V4_URL": f"{there.url}/api/v4", "CI_MERGE_REQUEST_IID": "7", "CI_COMMIT_SHA": HEAD}
        for name, value in {**facts, "GITLAB_TOKEN": TOKEN, "GITLAB_CI": "true"}.items():
            monkeypatch.setenv(name, value)
        yield there


def event(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, found: Any) -> None:
    (tmp_path / "event.json").write_text(json.dumps(found))
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(tmp_path / "event.json"))


def test_github(github: Service, result: Any, tmp_path: Path) -> None:
    first = sy.comment(result, key="nightly")
    assert (first.done, first.pull_request, first.url) == ("created", 7, "https://github.com/octo/model/pull/7#issuecomment-1001")
    (body,) = github.bodies
    assert body.startswith("<!-- steelyard:nightly -->\n")
    assert f"Commit {HEAD[:10]}" in body
    assert "| accuracy | 0.30 |" in body
    path = tmp_path / "result.json"
    path.write_text(json.dumps(result.to_dict()))
    again = sy.comment(path, key="nightly")
    assert (again.done, again.conclusion) == ("unchanged", "The comment on pull request 7 of octo/model is up to date.")
    assert sy.comment(str(path), result.to_dict(), key="nightly").done == "edited"
    assert len(github.comments) == 1
    assert sy.comment(result, key="other").done == "created"
    assert len(github.comments) == 2, "another key, another comment"
    assert all(TOKEN not in json.dumps(each.body) for each in github.asked)


def test_gitlab(gitlab: Service, result: Any) -> None:
    first = sy.comment(result)
    assert (first.done, first.url) == ("created", "https://gitlab.com/octo/model/-/merge_requests/7#note_1001")
    assert sy.comment(result).done == "unchanged"
    assert sy.comment(result, result).done == "edited"
    assert {each.headers.get("private-token") for each in gitlab.asked} == {TOKEN}


def test_a_job_token_of_gitlab_is_said_to_have_no_right(gitlab: Service, result: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITLAB_TOKEN")
    monkeypatch.setenv("CI_JOB_TOKEN", TOKEN)
    with pytest.raises(SteelyardError, match=r"The token in CI_JOB_TOKEN may not write comments .*a CI_JOB_TOKEN may not write comments"):
        sy.comment(result)
    assert {each.headers.get("job-token") for each in gitlab.asked} == {TOKEN}


def test_nobody_guesses_whose_note_it_is(gitlab: Service, result: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    gitlab.add("<!-- steelyard:default -->\nold", "somebody")
    monkeypatch.delenv("GITLAB_TOKEN")
    monkeypatch.setenv("CI_JOB_TOKEN", TOKEN)
    with pytest.raises(SteelyardError, match="it cannot be told which comment is ours"):
        sy.comment(result)
    assert gitlab.writes == []


def test_a_slow_run_does_not_hide_the_answer_for_a_newer_commit(github: Service, result: Any) -> None:
    sy.comment(result)
    github.head = "f" * 40
    late = sy.comment(result, result)
    assert late.done == "outdated"
    assert "newer commit" in late.conclusion
    assert len(github.writes) == 1


def test_a_token_that_may_comment_and_no_more(github: Service, result: Any) -> None:
    github.script.append(
        lambda request: "/pulls/" in request.path and request.answer(403, {"message": "Resource not accessible by integration"})
    )
    assert sy.comment(result).done == "created"


# ---- forks: a second workflow ------------------------------------------------------------------------------------------


@pytest.fixture
def fork(github: Service, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Service:
    event(monkeypatch, tmp_path, {"workflow_run": {"head_sha": HEAD, **FACTS}})
    github.head_repository = "fork/model"
    return github


def test_the_pull_request_of_a_fork_is_found_from_the_event(fork: Service, result: Any) -> None:
    found = sy.comment(result)
    assert (found.done, found.pull_request) == ("created", 7)
    assert sy.comment(result, pull_request=7).done == "unchanged"


def test_a_fork_cannot_name_somebody_elses_pull_request(fork: Service, result: Any) -> None:
    fork.head_repository = "octo/model"
    with pytest.raises(SteelyardError, match="Pull request 7 is not the one that the workflow ran for"):
        sy.comment(result, pull_request=7)
    with pytest.raises(SteelyardError, match="No open pull request from branch 'better' of fork/model"):
        sy.comment(result)
    assert fork.writes == []


def test_a_fork_that_has_moved_on(fork: Service, result: Any) -> None:
    fork.head = "f" * 40
    assert sy.comment(result).done == "outdated"
    assert sy.comment(result, pull_request=7).done == "outdated"
    assert fork.writes == []


def test_a_workflow_that_ran_for_a_push(fork: Service, result: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    event(monkeypatch, tmp_path, {"workflow_run": {"head_sha": HEAD, **FACTS, "event": "push"}})
    with pytest.raises(SteelyardError, match="did not run for a pull request, but for 'push'"):
        sy.comment(result)


# ---- what is missing, what is refused ----------------------------------------------------------------------------------


@every(
    ("without", "words"),
    [
        (("GITHUB_ACTIONS", "GITHUB_REPOSITORY"), "No service to write to"),
        (("GITHUB_TOKEN",), "No token for GitHub: neither GITHUB_TOKEN nor GH_TOKEN is set"),
        (("GITHUB_REPOSITORY",), "No repository: GITHUB_REPOSITORY is not set"),
        (("GITHUB_EVENT_PATH",), "No pull request"),
    ],
)
def test_what_is_missing_is_named(without: tuple[str, ...], words: str) -> None:
    there = {"GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "octo/model", "GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": "http://127.0.0.1:9"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in there.items():
            if name not in without:
                patch.setenv(name, value)
        with pytest.raises(SteelyardError, match=words) as fault:
            sy.comment(sy.measure(sy.Counts.of(12, 40)))
    assert fault.value.hint


@every(
    ("status", "message", "words", "hint"),
    [
        (401, "Bad credentials", "does not accept the token in GITHUB_TOKEN", "expired"),
        (403, "Resource not accessible by integration", "may not write comments on pull request 7 of octo/model", "pull-requests: write"),
        (404, "Not Found", "GitHub knows no pull request 7 of octo/model", "pull-requests: write"),
        (403, "Unable to create comment because issue is locked.", "is locked", "unlock"),
        (422, "Validation Failed", "refused the comment on pull request 7", ""),
    ],
)
def test_a_refusal_says_which_right_is_missing(status: int, message: str, words: str, hint: str) -> None:
    with serving(GitHub()) as there, pytest.MonkeyPatch.context() as patch:
        patch.setenv("GITHUB_TOKEN", TOKEN)
        there.script.append(lambda request: request.method == "POST" and request.answer(status, {"message": message}))
        with pytest.raises(SteelyardError, match=words) as fault:
            sy.comment(sy.measure(sy.Counts.of(12, 40)), platform="github", api_url=there.url, repository="octo/model", pull_request=7)
    assert hint in fault.value.hint
    assert message in str(fault.value)


def test_a_refusal_says_all_that_the_service_said() -> None:
    said = {
        "message": "Validation Failed",
        "errors": [{"code": "unprocessable", "message": "Body is too long"}, {"field": "x", "code": "y"}],
    }
    with serving(GitHub()) as there, pytest.MonkeyPatch.context() as patch:
        patch.setenv("GITHUB_TOKEN", TOKEN)
        there.script.append(lambda request: request.method == "POST" and request.answer(422, said))
        with pytest.raises(SteelyardError, match="422: Validation Failed: Body is too long; field x, code y"):
            sy.comment(sy.measure(sy.Counts.of(12, 40)), platform="github", api_url=there.url, repository="octo/model", pull_request=7)


def test_a_dry_run_writes_nothing(github: Service, result: Any) -> None:
    found = sy.comment(result, dry_run=True)
    assert (found.done, found.dry_run, found.conclusion) == ("created", True, "Would write a comment on pull request 7 of octo/model.")
    assert github.writes == []
    sy.comment(result)
    github.asked.clear()
    assert sy.comment(result, result, dry_run=True).conclusion == "Would edit the comment on pull request 7 of octo/model."
    assert github.writes == []


def test_a_dry_run_without_a_token_asks_nobody(github: Service, result: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_TOKEN")
    found = sy.comment(result, dry_run=True)
    assert (found.done, github.asked) == (None, [])
    assert "No token for GitHub" in found.conclusion
    assert found.body.startswith("<!-- steelyard:default -->")


def test_results_that_are_none(github: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps(sy.measure(sy.Counts.of(12, 40)).to_dict()) + " " * 1000)
    monkeypatch.setattr(verb, "LARGEST", 1000)
    with pytest.raises(SteelyardError, match="larger than 1,000 bytes"):
        sy.comment(path)
    for given in ((), ("nowhere.json",), ({"kind": "poem"},), (7,), tuple([{}] * 201)):
        with pytest.raises(SteelyardError):
            sy.comment(*given)
    assert github.asked == []


def test_the_answer_comes_back_from_json(github: Service, result: Any) -> None:
    found = sy.comment(result)
    assert sy.PostedComment.from_dict(json.loads(json.dumps(found.to_dict()))) == found
