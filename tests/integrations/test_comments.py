"""One comment, whatever happens: against stand-ins of both services on this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from cases import every
from integrations.comment_services import TOKEN, GitHub, GitLab, Request, Service, once, serving
from steelyard.errors import SourceError, UsageError
from steelyard.integrations import rest
from steelyard.integrations.comments import Conversation, bears, find_ours, mark_of, plan_comment, write_comment
from steelyard.integrations.github import GitHubComments, github_headers
from steelyard.integrations.gitlab import GitLabNotes, gitlab_headers, without_quick_actions
from steelyard.integrations.rest import Refused, RestClient, api_address

MARK = mark_of("nightly")
BODY = f"{MARK}\n## PASS\n"
CLIENTS: list[RestClient] = []


class Clock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.now, self.slept = 1_700_000_000.0, 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept += seconds


@pytest.fixture(params=["github", "gitlab"])
def service(request: pytest.FixtureRequest) -> Iterator[Service]:
    with serving(GitHub() if request.param == "github" else GitLab(login="project_42_bot")) as there:
        yield there


@pytest.fixture
def github() -> Iterator[Service]:
    with serving(GitHub()) as there:
        yield there


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    while CLIENTS:
        CLIENTS.pop().close()


def client_of(url: str, headers: dict[str, str], time: Clock) -> RestClient:
    client = RestClient(url, headers, service="GitHub", sleep=time.sleep, now=lambda: time.now)
    CLIENTS.append(client)
    return client


def opened(service: Service, clock: Clock | None = None, token: str = TOKEN) -> Any:
    time = clock or Clock()
    if isinstance(service, GitHub):
        return GitHubComments(client_of(service.url, github_headers(token), time), "octo/model", 7)
    client = client_of(f"{service.url}/api/v4", gitlab_headers(token, "GITLAB_TOKEN"), time)
    return GitLabNotes(client, "42", 7)


def write(service: Service, body: str = BODY, clock: Clock | None = None) -> Any:
    time = clock or Clock()
    return write_comment(opened(service, time), MARK, body, sleep=time.sleep)


def test_written_once_then_edited_then_left_alone(service: Service) -> None:
    assert write(service).done == "created"
    assert write(service, BODY.replace("PASS", "REGRESSION")).done == "edited"
    service.asked.clear()
    again = write(service, BODY.replace("PASS", "REGRESSION"))
    assert (again.done, service.writes) == ("unchanged", [])
    assert len(service.comments) == 1
    assert "REGRESSION" in service.bodies[0]


def test_line_ends_and_blanks_of_the_service_are_no_change(service: Service) -> None:
    service.add(BODY.replace("\n", "\r\n").rstrip())
    assert write(service).done == "unchanged"


def test_found_on_the_last_of_many_pages(service: Service) -> None:
    service.page = 10
    for i in range(34):
        service.add(f"remark {i}", "ada")
    ours = service.add(f"{MARK}\nold")
    assert write(service).comment.id == ours["id"]
    lists = [each for each in service.asked if each.method == "GET" and "per_page" in each.path]
    assert len(lists) == 4
    assert len(service.comments) == 35


def test_pages_that_did_not_change_are_not_sent_again(service: Service) -> None:
    service.page = 10
    answered: list[int] = []
    for i in range(25):
        service.add(f"remark {i}", "ada")

    def note(request: Request) -> None:
        if request.headers.get("if-none-match"):
            answered.append(1)

    service.script.append(note)
    assert write(service).done == "created"
    assert len(answered) == 3, "after writing, all three pages were asked for with the ETag they had"


@every(
    "body",
    [
        f"> {MARK}\n> PASS\nwhat is this?",
        f"Look:\n{MARK}\n",
        f"`{MARK}`",
        f"    {MARK}\n",
        f"{MARK} and more\n",
        mark_of("nightly2") + "\nPASS",
        "",
    ],
)
def test_a_comment_that_quotes_the_mark_does_not_bear_it(body: str) -> None:
    with serving(GitHub()) as there:
        there.add(body)
        assert find_ours(opened(there), MARK) == []


def test_somebody_elses_comment_with_our_mark_is_never_touched(service: Service) -> None:
    theirs = [service.add(BODY, "mallory"), service.add(BODY, "other-app[bot]")]
    assert write(service, f"{MARK}\nnew").done == "created"
    assert [each["body"] for each in theirs] == [BODY, BODY]
    assert len(service.comments) == 3
    assert write(service, f"{MARK}\nnewer").done == "edited"
    assert [each["body"] for each in theirs] == [BODY, BODY]


def test_where_github_does_not_say_who_we_are_only_bots_are_ours(github: Service) -> None:
    theirs = github.add(BODY, "mallory")
    ours = github.add(f"{MARK}\nold")
    github.script.append(lambda request: request.path == "/graphql" and request.answer(403, {"message": "no"}))
    assert write(github).comment.id == ours["id"]
    assert theirs["body"] == BODY


def test_a_personal_token_is_asked_who_it_is(github: Service) -> None:
    github.app, github.login = False, "ada"  # type: ignore[attr-defined]
    ours = github.add(f"{MARK}\nold", "Ada")
    assert write(github).comment.id == ours["id"]
    assert not [each for each in github.asked if each.path == "/graphql"]


def test_a_deleted_users_comment_is_read(github: Service) -> None:
    github.add(BODY, user=None)
    github.add("x")["body"] = None
    assert write(github).done == "created"


def test_of_two_comments_the_oldest_is_kept(service: Service) -> None:
    first = service.add(f"{MARK}\none")
    service.add(f"{MARK}\ntwo")
    service.add(f"{MARK}\nthree")
    service.add("a remark", "ada")
    planned = plan_comment(opened(service), MARK, BODY)
    assert (planned.done, planned.removed, len(service.comments)) == ("edited", 2, 4)
    found = write(service)
    assert (found.comment.id, found.removed, found.warnings) == (first["id"], 2, ())
    assert len(service.comments) == 2


def test_what_may_not_be_deleted_is_blanked(service: Service) -> None:
    service.add(BODY)
    second = service.add(BODY)
    service.script.append(lambda request: request.method == "DELETE" and request.answer(403, {"message": "no"}))
    found = write(service)
    assert (found.done, found.removed, found.warnings) == ("unchanged", 1, ())
    assert second["body"].startswith("Replaced by ")
    assert write(service).removed == 0


def test_what_may_not_even_be_blanked_is_said(service: Service) -> None:
    service.add(BODY)
    second = service.add(BODY)
    service.script.append(lambda request: request.method in ("DELETE", "PATCH", "PUT") and request.answer(403, {"message": "no"}))
    (said,) = write(service).warnings
    assert str(second["id"]) in said


def test_two_writers_at_once_leave_one_comment(service: Service) -> None:
    """Both look before either writes; whatever comes then, one comment is left, with the body of one of them."""
    both = threading.Barrier(4)

    def wait(request: Request) -> None:
        if request.method == "POST" and "/graphql" not in request.path:
            both.wait(10)

    service.script.append(wait)
    bodies = [f"{MARK}\nwriter {i}\n" for i in range(4)]
    done: list[Any] = []
    workers = [threading.Thread(target=lambda body=body: done.append(write(service, body))) for body in bodies]
    for each in workers:
        each.start()
    for each in workers:
        each.join(30)
    assert len(done) == 4
    assert len(service.comments) == 1
    assert service.bodies[0].strip() in [body.strip() for body in bodies]
    assert sum(each.method == "POST" and "/graphql" not in each.path for each in service.asked) == 4


def test_a_server_that_dies_between_writing_and_answering(service: Service) -> None:
    """The comment was written, the answer was lost: it is found, not written again."""

    def die(request: Request) -> bool | None:
        if request.method != "POST" or "/graphql" in request.path:
            return None
        service.add(request.body["body"])
        return request.hang_up()

    service.script.append(once(die))
    found = write(service)
    assert (found.done, len(service.comments)) == ("unchanged", 1)
    assert sum(write.startswith("POST") for write in service.writes) == 1


def test_a_server_that_dies_before_writing(service: Service, clock: Clock) -> None:
    def die(request: Request) -> bool | None:
        return request.method == "POST" and "/graphql" not in request.path and request.hang_up()

    service.script.append(once(die, times=2))
    assert write(service, clock=clock).done == "created"
    assert len(service.comments) == 1
    assert clock.slept > 0


def test_an_answer_of_502_to_a_comment_that_was_written(service: Service) -> None:
    def lost(request: Request) -> bool | None:
        if request.method != "POST" or "/graphql" in request.path:
            return None
        service.add(request.body["body"])
        return request.answer(502, {"message": "Server Error"})

    service.script.append(once(lost))
    write(service)
    assert len(service.comments) == 1


def test_a_server_that_never_answers_is_an_error(service: Service, clock: Clock) -> None:
    service.script.append(lambda request: request.method == "POST" and "/graphql" not in request.path and request.hang_up())
    with pytest.raises(SourceError, match="may not have been written"):
        write(service, clock=clock)
    assert service.comments == []


def test_a_comment_deleted_while_it_is_edited_is_written_again(service: Service) -> None:
    old = service.add(f"{MARK}\nold")

    def gone(request: Request) -> bool | None:
        if request.method in ("PATCH", "PUT"):
            service.comments.remove(old)
            return request.answer(404, {"message": "Not Found"})
        return None

    service.script.append(once(gone))
    assert write(service).done == "created"
    assert len(service.comments) == 1


def test_a_list_that_lags_behind_loses_nothing(service: Service) -> None:
    """After writing, the list does not have the new comment yet: it is not written a second time."""
    written = threading.Event()

    def late(request: Request) -> bool | None:
        if request.method == "POST" and "/graphql" not in request.path:
            written.set()
        elif request.method == "GET" and "per_page" in request.path and written.is_set():
            return request.answer(200, [])
        return None

    service.script.append(late)
    assert write(service).done == "created"
    assert len(service.comments) == 1


# ---- rate limits, errors, redirects ------------------------------------------------------------------------------------


@every(
    ("status", "headers", "least"),
    [
        (429, {"Retry-After": "7"}, 7),
        (403, {"Retry-After": "3"}, 3),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1700000030"}, 30),
        (429, {"RateLimit-Remaining": "0", "RateLimit-Reset": "1700000012"}, 12),
        (429, {}, 60),
        (429, {"Retry-After": "0"}, 1),
    ],
)
def test_a_rate_limit_is_waited_for(status: int, headers: dict[str, str], least: float) -> None:
    with serving(GitHub()) as there:
        clock = Clock()
        there.script.append(once(lambda request: request.method == "POST" and request.answer(status, {"message": "slow"}, headers)))
        assert write(there, clock=clock).done == "created"
        assert least <= clock.slept <= least + 2
        assert len(there.comments) == 1


@every("headers", [{"Retry-After": "3600"}, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1700003600"}])
def test_a_long_rate_limit_is_an_error_at_once(headers: dict[str, str]) -> None:
    with serving(GitHub()) as there:
        clock = Clock()
        there.script.append(lambda request: request.answer(403, {"message": "limit"}, headers))
        with pytest.raises(SourceError, match=r"rate-limits this token for another 6[01] minutes"):
            write(there, clock=clock)
        assert clock.slept == 0


SECONDARY = {"message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}


@every("status", [403, 429])
def test_a_secondary_limit_of_github_is_no_missing_right(status: int) -> None:
    """No Retry-After and requests left: its words alone say what it is, and the time of the reset is that of another limit."""
    headers = {"X-RateLimit-Remaining": "4999", "X-RateLimit-Reset": "1700003600"}
    with serving(GitHub()) as there:
        clock = Clock()
        there.script.append(once(lambda request: request.method == "POST" and request.answer(status, SECONDARY, headers)))
        assert write(there, clock=clock).done == "created"
        assert clock.slept == 60


def test_a_secondary_limit_that_stays_is_an_error_that_says_so(github: Service, clock: Clock) -> None:
    github.script.append(lambda request: request.answer(403, SECONDARY, {"X-RateLimit-Remaining": "4999"}))
    with pytest.raises(SourceError, match="rate-limits this token for another 2 minutes"):
        write(github, clock=clock)
    assert clock.slept == 60, "a minute; the second time it would be longer than we wait"


def test_rate_limits_that_follow_one_another_end(github: Service, clock: Clock) -> None:
    github.script.append(lambda request: request.answer(429, {"message": "limit"}, {"Retry-After": "0"}))
    with pytest.raises(SourceError, match="rate-limits this token"):
        write(github, clock=clock)
    assert len(github.asked) <= 121


def test_one_second_is_no_seconds(github: Service, clock: Clock) -> None:
    github.script.append(lambda request: request.answer(429, {"message": "limit"}, {"Retry-After": "1"}))
    with pytest.raises(SourceError, match=r"for another 1 second\."):
        write(github, clock=clock)


def test_a_403_without_a_limit_is_not_waited_for(github: Service, clock: Clock) -> None:
    github.script.append(lambda request: request.answer(403, {"message": "no"}, {"X-RateLimit-Remaining": "4999"}))
    with pytest.raises(Refused, match="no"):
        write(github, clock=clock)
    assert clock.slept == 0


def test_faults_of_the_server_are_tried_again(service: Service, clock: Clock) -> None:
    service.script.append(once(lambda request: request.method == "GET" and request.answer(503, {"message": "busy"}), times=2))
    assert write(service, clock=clock).done == "created"
    service.script.append(lambda request: request.answer(500, {"message": "down"}))
    with pytest.raises(SourceError, match=r"No answer from .* status 500 \(down\)"):
        write(service, clock=clock)


def test_a_redirect_on_the_same_host_is_followed(github: Service) -> None:
    """A repository was renamed."""

    def moved(request: Request) -> bool | None:
        if "/octo/model/" not in request.path and "/octo/old/" in request.path:
            there = f"{github.url}{request.path.replace('/octo/old/', '/octo/model/')}"
            return request.answer(307, {"message": "Moved"}, {"Location": there})
        return None

    github.script.append(moved)
    client = client_of(github.url, github_headers(TOKEN), Clock())
    assert write_comment(GitHubComments(client, "octo/old", 7), MARK, BODY).done == "created"
    assert len(github.comments) == 1


def test_the_token_does_not_go_to_another_host(service: Service) -> None:
    with serving(GitHub()) as other:
        place = urls(other)
        for there in place:
            service.script[:] = [lambda request, there=there: request.answer(302, {"message": "Moved"}, {"Location": there})]
            with pytest.raises(SourceError, match="another host, and the token is not sent there"):
                write(service)
        assert other.asked == []


def urls(other: Service) -> list[str]:
    port = other.url.rpartition(":")[2]
    return [other.url, f"//127.0.0.1:{port}/x", f"http://localhost:{port}/", "https://127.0.0.1/", "http://[::1", "", "ftp://x/"]


def test_a_next_page_on_another_host_is_refused(github: Service) -> None:
    with serving(GitHub()) as other:
        github.script.append(
            lambda request: request.method == "GET" and request.answer(200, [], {"Link": f'<{other.url}/x?page=2>; rel="next"'})
        )
        with pytest.raises(SourceError, match="another host"):
            write(github)
        assert other.asked == []


def test_lists_and_redirects_without_an_end_are_refused(github: Service) -> None:
    github.script.append(
        lambda request: request.answer(200, [], {"Link": f'<{github.url}/repos/octo/model/issues/7/comments?per_page=100>; rel="next"'})
    )
    with pytest.raises(SourceError, match="has no end"):
        write(github)
    github.script[:] = [lambda request: request.answer(307, {"message": "x"}, {"Location": request.path})]
    with pytest.raises(SourceError, match="redirects too many times"):
        write(github)


@every("value", [{"message": "a page"}, [1], [{"body": "x"}], "text", [{"id": "7", "body": "x"}]])
def test_answers_of_another_shape_are_errors(value: Any) -> None:
    with serving(GitHub()) as there:
        there.script.append(lambda request: request.method == "GET" and request.answer(200, value))
        with pytest.raises(SourceError, match=r"GitHub at .* answers in a form"):
            write(there)
        assert there.comments == []


def test_a_huge_answer_is_refused(github: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest, "LARGEST", 100_000)
    for _ in range(20):
        github.add("x" * 10_000, "ada")
    with pytest.raises(SourceError, match="more than 100,000"):
        write(github)


def test_the_token_is_in_its_header_and_nowhere_else(service: Service) -> None:
    service.script.append(lambda request: request.answer(400, {"message": f"you sent {TOKEN}"}))
    there: Conversation = opened(service)
    from steelyard.redaction import remember

    remember(TOKEN)
    with pytest.raises(Refused) as fault:
        write_comment(there, MARK, BODY)
    assert TOKEN not in str(fault.value)
    assert TOKEN not in repr(vars(there.client)["_headers"])  # type: ignore[attr-defined]
    assert all(TOKEN not in each.path for each in service.asked)


@every(
    "url",
    [
        "http://api.github.com",
        "ftp://x",
        "https://",
        "https://me:pw-4711@host/api",
        "https://host:0",
        "https://h/a?token=x",
        "https://h h/",
        "x",
    ],
)
def test_addresses_that_a_token_is_not_sent_to(url: str) -> None:
    with pytest.raises(UsageError) as fault:
        api_address(url)
    assert "4711" not in str(fault.value)


def test_addresses_that_are_fine() -> None:
    assert api_address(" https://ghe.example/api/v3/ ").path == "/api/v3"
    assert api_address("http://127.0.0.1:8080").netloc == "127.0.0.1:8080"


def test_graphql_of_github_enterprise_lies_beside_v3(github: Service) -> None:
    client = client_of(f"{github.url}/api/v3", github_headers(TOKEN), Clock())
    asked: list[str] = []

    def answer(request: Request) -> bool:
        asked.append(request.path)
        if request.path.endswith("/user"):
            return request.answer(403, {"message": "no"})
        return request.answer(200, {"data": {"viewer": {"login": "app[bot]"}}})

    github.script.append(answer)
    assert GitHubComments(client, "octo/model", 7).login() == "app[bot]"
    assert asked == ["/api/v3/user", "/api/graphql"]


def test_system_notes_of_gitlab_are_passed_over() -> None:
    with serving(GitLab(login="bot")) as there:
        there.add(BODY, system=True)
        assert write(there).done == "created"


def test_gitlab_obeys_no_line_of_ours() -> None:
    text = "/approve\n  /merge\nfine /close\n```sh\n/not/obeyed\n```\n/close"
    assert without_quick_actions(text) == "&#47;approve\n  &#47;merge\nfine /close\n```sh\n/not/obeyed\n```\n&#47;close"
    assert without_quick_actions(without_quick_actions(text)) == without_quick_actions(text)


def test_the_mark_of_a_page_with_a_byte_order_mark() -> None:
    with serving(GitHub()) as there:
        there.add("\ufeff" + BODY)
        (one,) = opened(there).comments()
        assert bears(one, MARK)
