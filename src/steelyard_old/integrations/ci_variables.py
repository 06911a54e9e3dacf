"""Where a job of CI runs, from the variables that GitHub and GitLab set: which service, repository, pull request, commit and token.

What a variable says is checked like what a person types. The token is read from its variable, remembered as a secret and put into one
header; it is in no result, message or file.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard_old.errors import SourceError, UsageError
from steelyard_old.evaluate.models.address import Secret
from steelyard_old.integrations.github import WorkflowRun
from steelyard_old.redaction import remember

TOKENS = {"github": ("GITHUB_TOKEN", "GH_TOKEN"), "gitlab": ("GITLAB_TOKEN", "CI_JOB_TOKEN")}
API = {"github": "https://api.github.com", "gitlab": "https://gitlab.com/api/v4"}
OF_THE_EVENT = ("GITHUB_EVENT_PATH", "GITHUB_EVENT_NAME", "CI_MERGE_REQUEST_IID", "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA")
EVENT = "the event of the workflow (GITHUB_EVENT_PATH)"
LARGEST = 32 << 20  # bytes of the file that describes an event
KEY = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._/:]|-(?!-))*(?<!-)")
LONGEST_KEY = 100
_OWNER_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*/[A-Za-z0-9_.-]+")
_PROJECT = re.compile(r"[1-9][0-9]*|[A-Za-z0-9_][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_.-]+)+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_COMMIT = re.compile(r"[0-9a-f]{7,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CiJob:
    """What is known of where we are; None where nothing says it. workflow_run: the run that an event of that name is about."""

    platform: str | None
    api_url: str | None
    repository: str | None
    pull_request: int | None
    token_name: str | None
    token: Secret | None
    key: str
    commit: str | None
    user: str | None
    event: str | None
    workflow_run: WorkflowRun | None
    named: bool  # whether somebody named the pull request, instead of the event


def read_ci(
    environ: Mapping[str, str],
    *,
    platform: str | None = None,
    repository: str | None = None,
    pull_request: int | None = None,
    api_url: str | None = None,
    token_env: str | None = None,
    key: str | None = None,
) -> CiJob:
    """The job that the variables describe; whatever is given goes before them."""
    found = platform or _platform(environ)
    here = _repository(environ, found)
    where = repository or here
    elsewhere = repository is not None and here is not None and repository.lower() != here.lower()
    if elsewhere:  # what the variables say of pull request and commit is about another repository
        environ = {name: value for name, value in environ.items() if name not in OF_THE_EVENT}
    event = _event(environ) if found == "github" else {}
    said = _number(environ, found, event)
    number = pull_request if pull_request is not None else said
    other = said is not None and str(number) != str(said)  # the commit is not one of the pull request that was named
    name, token = _token(environ, found, token_env)
    return CiJob(
        platform=found,
        api_url=api_url or (environ.get({"github": "GITHUB_API_URL", "gitlab": "CI_API_V4_URL"}[found]) or API[found] if found else None),
        repository=None if where is None else _checked_repository(where, found),
        pull_request=None if number is None else _checked_number(number),
        token_name=name,
        token=token,
        key=checked_key(key) if key is not None else _default_key(environ, found),
        commit=None if other else _commit(environ, found, event),
        user=environ.get("GITLAB_USER_LOGIN") or None if found == "gitlab" else None,
        event=environ.get("GITHUB_EVENT_NAME") or None if found == "github" else environ.get("CI_PIPELINE_SOURCE") or None,
        workflow_run=_workflow_run(event),
        named=pull_request is not None,
    )


def checked_key(key: str) -> str:
    """A key that can stand in a hidden line: it must not end it."""
    if len(key) > LONGEST_KEY or not KEY.fullmatch(key):
        need = f"at most {LONGEST_KEY} letters, digits and . _ / : -, without --"
        raise UsageError(f"The key must be {need}, not {key[:120]!r}.", got=repr(key[:120]), need=need, hint="key='nightly'")
    return key


def _default_key(environ: Mapping[str, str], platform: str | None) -> str:
    """The name of the workflow and job. Where signs have to be replaced, a few digits keep two such names apart."""
    names = ("GITHUB_WORKFLOW", "GITHUB_JOB") if platform == "github" else ("CI_JOB_NAME",) if platform == "gitlab" else ()
    said = "/".join(environ[name] for name in names if environ.get(name))
    if not said:
        return "default"
    if len(said) <= LONGEST_KEY and KEY.fullmatch(said):
        return said
    plain = re.sub(r"[^A-Za-z0-9._/:]+", "-", said)[: LONGEST_KEY - 10].strip("-./:_")
    return f"{plain or 'job'}-{hashlib.sha256(said.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def _platform(environ: Mapping[str, str]) -> str | None:
    github = environ.get("GITHUB_ACTIONS") == "true" or bool(environ.get("GITHUB_REPOSITORY"))
    gitlab = environ.get("GITLAB_CI") == "true" or bool(environ.get("CI_API_V4_URL"))
    if github and gitlab:
        raise UsageError(
            "The variables of both GitHub and GitLab are set; say which it is with platform='github' or 'gitlab'.",
            got="variables of both",
            need="platform='github' or 'gitlab'",
        )
    return "github" if github else "gitlab" if gitlab else None


def _repository(environ: Mapping[str, str], platform: str | None) -> str | None:
    """On GitLab the project of the merge request, which is not the one of the pipeline if that runs in a fork."""
    names = {"github": ("GITHUB_REPOSITORY",), "gitlab": ("CI_MERGE_REQUEST_PROJECT_ID", "CI_PROJECT_ID")}
    return next((environ[name] for name in names.get(platform or "", ()) if environ.get(name)), None)


def _checked_repository(given: str, platform: str | None) -> str:
    of_github = platform == "github"
    plain = (_OWNER_NAME if of_github else _PROJECT).fullmatch(given) if platform else given
    if not plain or any(part in (".", "..") for part in given.split("/")):
        need = "OWNER/NAME" if of_github else "the number of the project, or GROUP/NAME"
        raise UsageError(
            f"The repository must be {need}, not {given[:200]!r}.", got=repr(given[:200]), need=need, hint="repository='octo/model'"
        )
    return given


def _number(environ: Mapping[str, str], platform: str | None, event: Mapping[str, Any]) -> Any:
    if platform == "gitlab":
        return environ.get("CI_MERGE_REQUEST_IID") or None
    issue = event.get("issue")
    if isinstance(issue, dict) and isinstance(issue.get("pull_request"), dict):  # a comment on a pull request
        return issue.get("number")
    return _inside(event, "pull_request", "number")


def _checked_number(given: Any) -> int:
    text = str(given)
    if isinstance(given, bool) or not text.isascii() or not text.isdecimal() or not 0 < int(text[:20]) < 10**12:
        raise UsageError(
            f"The pull request must be a number of 1 or more, not {repr(given)[:80]}.",
            got=repr(given)[:80],
            need="its number, 1 or more",
            hint="pull_request=12",
        )
    return int(text)


def _token(environ: Mapping[str, str], platform: str | None, token_env: str | None) -> tuple[str | None, Secret | None]:
    """The variable with the token, and the token. Only the name is ever shown."""
    if token_env is not None:
        if not _NAME.fullmatch(token_env):  # somebody pasted the token itself: it must not be repeated
            raise UsageError(
                "token_env must be the name of a variable, not the token itself.",
                got="something else",
                need="the name of a variable, not the token",
                hint="token_env='BOT_TOKEN'",
            )
        if not environ.get(token_env, "").strip():
            raise UsageError(
                f"The variable {token_env} has no token.", got="nothing", need="a token", hint="is the secret set for this job?"
            )
    names = (token_env,) if token_env is not None else TOKENS.get(platform or "", ())
    name = next((name for name in names if environ.get(name, "").strip()), None)
    if name is None:
        return None, None
    token = environ[name].strip()
    if not token.isascii() or not token.isprintable() or " " in token:
        strange = "one with spaces, line ends or letters that no header can hold"
        raise UsageError(
            f"The token in {name} has spaces, line ends or letters that no header can hold; copy it as the service shows it.",
            got=strange,
            need="the token as the service shows it",
        )
    remember(token)
    return name, Secret(token)


def _event(environ: Mapping[str, str]) -> Mapping[str, Any]:
    """The event that started a workflow of GitHub, from the file that the runner wrote."""
    where = environ.get("GITHUB_EVENT_PATH")
    if not where:
        return {}
    try:
        with Path(where).open("rb") as file:
            data = file.read(LARGEST + 1)
        found = json.loads(data.decode("utf-8")) if len(data) <= LARGEST else None
    except (OSError, ValueError, RecursionError) as fault:
        said = fault.strerror or str(fault) if isinstance(fault, OSError) else "no JSON"
        raise SourceError(
            f"Cannot read {EVENT}, which the runner writes: {said}.", got=said, need="the file that the runner wrote"
        ) from fault
    return found if isinstance(found, dict) else {}


def _commit(environ: Mapping[str, str], platform: str | None, event: Mapping[str, Any]) -> str | None:
    """The commit of the branch that is to be merged. GITHUB_SHA is no such one: of a pull request it is a merge that was only tried."""
    if platform == "gitlab":
        if not environ.get("CI_MERGE_REQUEST_IID"):
            return None
        said: Any = environ.get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA") or environ.get("CI_COMMIT_SHA")
    else:
        said = _inside(event, "pull_request", "head", "sha") or _inside(event, "workflow_run", "head_sha")
    return said if isinstance(said, str) and _COMMIT.fullmatch(said) else None


def _workflow_run(event: Mapping[str, Any]) -> WorkflowRun | None:
    run = event.get("workflow_run")
    if not isinstance(run, dict):
        return None
    facts = [_inside(run, *path) for path in (("head_sha",), ("head_branch",), ("head_repository", "full_name"), ("event",))]
    commit, branch, repository, kind = (fact if isinstance(fact, str) else "" for fact in facts)
    if not _COMMIT.fullmatch(commit) or not branch or not _OWNER_NAME.fullmatch(repository):
        raise SourceError(
            f"A run in {EVENT} has no commit, branch or repository.",
            got="a run without commit, branch or repository",
            need="all three",
        )
    return WorkflowRun(commit=commit, branch=branch, repository=repository, event=kind)


def _inside(found: Any, *path: str) -> Any:
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found
