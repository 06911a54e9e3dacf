"""Write results into the one comment on a pull request: where, with which token, what is there already, and what to do about it."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from typing import Any

from steelyard_old.errors import SteelyardError, UsageError
from steelyard_old.integrations.ci_variables import TOKENS, CiJob, read_ci
from steelyard_old.integrations.comments import WrittenComment, mark_of, plan_comment, write_comment
from steelyard_old.integrations.github import GitHubComments, github_headers, pull_requests_of
from steelyard_old.integrations.gitlab import JOB_TOKEN, GitLabNotes, gitlab_headers
from steelyard_old.integrations.rest import Refused, RestClient
from steelyard_old.options.comment import OPTIONS
from steelyard_old.options.option import documented
from steelyard_old.questions.comment.body import comment_body
from steelyard_old.results import signature
from steelyard_old.results.comment import PostedComment
from steelyard_old.results.reading import open_result

LARGEST = 32 << 20  # bytes of a file of results, which may come from a fork
MOST = 200  # results in one comment
SERVICES = {"github": "GitHub", "gitlab": "GitLab"}
CALLED = {"github": "pull request", "gitlab": "merge request"}
VARIABLES = {
    "github": {"repository": "GITHUB_REPOSITORY", "pull_request": "an event of a pull request (GITHUB_EVENT_PATH)"},
    "gitlab": {"repository": "CI_PROJECT_ID", "pull_request": "CI_MERGE_REQUEST_IID, which only pipelines of merge requests have"},
}


@documented(OPTIONS, "a PostedComment", results="Results, their dicts, or paths of JSON files, in the order of the comment.")
def comment(
    *results: Any,
    key: str | None = None,
    pull_request: int | None = None,
    repository: str | None = None,
    platform: str | None = None,
    api_url: str | None = None,
    token_env: str | None = None,
    dry_run: bool = False,
) -> PostedComment:
    """Write results into one comment on the pull request, on GitHub or GitLab; the next call edits it.

    Whatever is not given is found in the variables of GitHub Actions or GitLab CI. The comment is known by a hidden first line with
    its key, and by its author, so that nobody else's is ever edited. If two runs wrote one each, the oldest is kept.

    >>> import steelyard_old as sy
    >>> found = sy.comment(sy.measure(sy.Counts.of(12, 40)), key="nightly", platform="github", dry_run=True)
    >>> found.body.splitlines()[0]
    '<!-- steelyard:nightly -->'
    """
    if not results:
        raise UsageError(
            "Give at least one result to write a comment about.",
            got="no results",
            need="at least one",
            hint="sy.comment(verdict)",
        )
    if len(results) > MOST:
        raise UsageError(
            f"A comment holds at most {MOST} results, not {len(results)}.",
            got=f"{len(results)} results",
            need=f"at most {MOST}",
            hint="use several keys",
        )
    if platform is not None and platform not in SERVICES:
        raise UsageError("cannot use platform", got=repr(platform), need="'github' or 'gitlab'")
    job = read_ci(
        os.environ,
        platform=platform,
        repository=repository,
        pull_request=pull_request,
        api_url=api_url,
        token_env=token_env,
        key=key,
    )
    opened = [(_name(each, i), open_result(each, largest=LARGEST)) for i, each in enumerate(results, 1)]
    body = comment_body(opened, mark_of(job.key), platform=job.platform, commit=job.commit)
    lacking = _lacking(job)
    if lacking is None:
        return _on_service(job, body, dry_run)
    if dry_run:
        return _answer(job, body, dry_run=True, conclusion=f"Dry run: existing comments were not read. {lacking.sentence}")
    raise lacking


def _name(given: Any, number: int) -> str:
    return repr(os.fspath(given)) if isinstance(given, str | os.PathLike) else f"result {number}"


def _lacking(job: CiJob) -> SteelyardError | None:
    """What has to be known before anything can be asked of the service."""
    if job.platform is None:
        hint = "platform='github' with repository= and pull_request=, or run it in GitHub Actions or GitLab CI"
        return UsageError("No service to write to: no variables of GitHub Actions or GitLab CI are set.", hint=hint)
    service, called = SERVICES[job.platform], CALLED[job.platform]
    if job.token is None:
        first, second = TOKENS[job.platform]
        hint = (
            "in the job: env: GITHUB_TOKEN: ${{ github.token }}, and permissions: pull-requests: write"
            if job.platform == "github"
            else "add a project access token with the scope api as the masked variable GITLAB_TOKEN"
        )
        return UsageError(f"No token for {service}: neither {first} nor {second} is set.", hint=hint)
    if job.repository is None:
        return UsageError(f"No repository: {VARIABLES[job.platform]['repository']} is not set.", hint="repository='octo/model'")
    if job.pull_request is None and job.workflow_run is None:
        started = f" (this one was started by {job.event!r})" if job.event else ""
        return UsageError(
            f"No {called}: a run knows one from {VARIABLES[job.platform]['pull_request']}{started}.",
            hint="name it with pull_request=12, or run this step only for pull requests",
        )
    return None


# ---- with a service ----------------------------------------------------------------------------------------------------


def _on_service(job: CiJob, body: str, dry_run: bool) -> PostedComment:
    assert job.platform is not None
    assert job.api_url is not None
    assert job.token is not None
    github = job.platform == "github"
    headers = github_headers(job.token) if github else gitlab_headers(job.token, job.token_name or "")
    with closing(RestClient(job.api_url, headers, service=SERVICES[job.platform])) as client:
        try:
            if github:
                return _github(job, client, body, dry_run)
            return _gitlab(job, client, body, dry_run)
        except Refused as fault:
            raise _refusal(job, fault) from fault


def _github(job: CiJob, client: RestClient, body: str, dry_run: bool) -> PostedComment:
    repository = job.repository or ""
    number = job.pull_request if job.pull_request is not None else _of_run(job, client)
    if number is None:
        return _answer(job, body, done="outdated", dry_run=dry_run, conclusion=_moved_on(job, None))
    there = GitHubComments(client, repository, number)
    if job.workflow_run is not None and job.named:
        head = there.head()
        if (head.repository.lower(), head.branch) != (job.workflow_run.repository.lower(), job.workflow_run.branch):
            raise UsageError(
                f"Pull request {number} is not the one that the workflow ran for.",
                got=f"a run of {job.workflow_run.repository}, branch {job.workflow_run.branch!r}",
                need=f"one of {head.repository}, branch {head.branch!r}",
                hint="leave out pull_request=: it is found from the event",
            )
    return _written(job, there, number, body, dry_run)


def _of_run(job: CiJob, client: RestClient) -> int | None:
    """The open pull request whose last commit the run was for; None if there is one, but with a newer commit."""
    run = job.workflow_run
    assert run is not None
    if run.event not in ("pull_request", "pull_request_target"):
        raise UsageError(f"The workflow did not run for a pull request, but for {run.event!r}.", hint="name one with pull_request=12")
    found = pull_requests_of(client, job.repository or "", run)
    exact = [number for number, commit in found if commit == run.commit]
    if len(exact) > 1:
        raise UsageError(
            f"Commit {run.commit[:10]} is the last one of several pull requests: {', '.join(map(str, sorted(exact)))}.",
            hint="name one with pull_request=12",
        )
    if not exact and not found:
        raise UsageError(f"No open pull request from branch {run.branch!r} of {run.repository}.", hint="it may have been closed meanwhile")
    return exact[0] if exact else None


def _gitlab(job: CiJob, client: RestClient, body: str, dry_run: bool) -> PostedComment:
    assert job.pull_request is not None
    login = job.user if job.token_name == JOB_TOKEN else None
    return _written(job, GitLabNotes(client, job.repository or "", job.pull_request, login), job.pull_request, body, dry_run)


def _written(job: CiJob, there: GitHubComments | GitLabNotes, number: int, body: str, dry_run: bool) -> PostedComment:
    """Write, unless a newer commit has come: a slow run of an older one must not hide the newer one's answer."""
    if job.commit is not None:
        try:
            head = there.head()
        except Refused as fault:
            if fault.status not in (403, 404):  # a token may be allowed to comment and no more
                raise
        else:
            if not head.commit.startswith(job.commit):
                said = _moved_on(job, head.commit)
                return _answer(job, body, done="outdated", number=number, dry_run=dry_run, conclusion=said)
    act: Callable[..., WrittenComment] = plan_comment if dry_run else write_comment
    done = act(there, mark_of(job.key), body)
    said = _sentence(job, number, done, dry_run)
    return _answer(job, body, number=number, written=done, done=done.done, dry_run=dry_run, conclusion=said)


def _moved_on(job: CiJob, newer: str | None) -> str:
    at = f" ({newer[:10]})" if newer else ""
    return f"Not written: the {CALLED[job.platform or 'github']} has a newer commit{at} than this run ({(job.commit or '')[:10]})."


def _sentence(job: CiJob, number: int, written: WrittenComment, dry_run: bool) -> str:
    where = f"{CALLED[job.platform or 'github']} {number} of {job.repository}"
    words = {
        "created": ("Wrote the comment", "Would write a comment"),
        "edited": ("Edited the comment", "Would edit the comment"),
    }
    unchanged = f"The comment on {where} is up to date."
    said = unchanged if written.done == "unchanged" else f"{words[written.done][dry_run]} on {where}."
    if written.removed:
        more = "1 more of ours" if written.removed == 1 else f"{written.removed} more of ours"
        said += f" {'Would delete' if dry_run else 'Deleted'} {more}: one is enough."
    return said


def _answer(
    job: CiJob,
    body: str,
    *,
    conclusion: str,
    done: str | None = None,
    number: int | None = None,
    dry_run: bool = False,
    written: WrittenComment | None = None,
) -> PostedComment:
    found = written.comment if written is not None else None
    return PostedComment(
        done=done,
        dry_run=dry_run,
        platform=job.platform,
        repository=job.repository,
        pull_request=number if number is not None else job.pull_request,
        key=job.key,
        comment_id=found.id if found is not None else None,
        url=found.url if found is not None else None,
        removed=written.removed if written is not None else 0,
        characters=len(body),
        body=body,
        conclusion=conclusion,
        warnings=written.warnings if written is not None else (),
        signature=signature.write({"goal": "comment"}),
    )


def _refusal(job: CiJob, fault: Refused) -> UsageError:
    """What the service refused, and which right is missing."""
    platform = job.platform or "github"
    service, called = SERVICES[platform], CALLED[platform]
    where = f"{called} {job.pull_request} of {job.repository}" if job.pull_request is not None else f"{job.repository}"
    said = f"{fault.status}: {fault.words}" if fault.words else f"status {fault.status}"
    rights = (
        "give the job permissions: pull-requests: write. The token of a pull request from a fork may only read: comment from a second "
        "workflow (workflow_run), as docs/comment.md shows"
        if platform == "github"
        else "use a project access token with the scope api and the role Reporter or higher in GITLAB_TOKEN"
        + ("; a CI_JOB_TOKEN may not write comments" if job.token_name == JOB_TOKEN else "")
    )
    if fault.status == 401 and job.token_name != JOB_TOKEN:
        sentence, hint = f"{service} does not accept the token in {job.token_name} ({said}).", "has it expired, or is it for another host?"
    elif "locked" in fault.words.lower():
        sentence, hint = f"The conversation of {where} is locked ({said}).", "unlock it, or use a token of somebody who may write there"
    elif fault.status in (401, 403):
        sentence, hint = f"The token in {job.token_name} may not write comments on {where} ({said}).", rights
    elif fault.status in (404, 410):
        sentence, hint = f"{service} knows no {where}, or the token in {job.token_name} may not see it ({said}).", rights
    else:
        sentence, hint = f"{service} refused the comment on {where} ({said}).", ""
    return UsageError(sentence, got=str(fault.status), need="the right to write comments", hint=hint)
