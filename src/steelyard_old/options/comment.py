"""The options of `steelyard comment`, declared once: flags of the command, keywords of Python, lines of docstrings."""

from __future__ import annotations

from steelyard_old.options.option import Option

OPTIONS = (
    Option(
        name="key",
        metavar="NAME",
        help="Name of this comment; a pull request has one comment per key.  [default: workflow and job, or 'default']",
    ),
    Option(name="pull_request", type=int, least=1, metavar="NUMBER", help="Pull request or merge request.  [default: from CI variables]"),
    Option(
        name="repository",
        metavar="OWNER/NAME",
        help="Repository, or number or path of a GitLab project.  [default: from CI variables]",
    ),
    Option(name="platform", choices=("github", "gitlab"), help="Service to write to.  [default: from CI variables]"),
    Option(name="api_url", metavar="URL", help="Address of the API; https, except on this machine.  [default: from CI variables]"),
    Option(
        name="token_env",
        metavar="NAME",
        help="Environment variable with the token.  [default: GITHUB_TOKEN or GH_TOKEN; GITLAB_TOKEN or CI_JOB_TOKEN]",
    ),
    Option(name="dry_run", switch=True, help="Print the comment and what would be done; write nothing."),
)
