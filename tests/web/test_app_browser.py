"""The dashboard in a real browser: quiet, without barriers, nothing planted is run, and changes work with and without JavaScript."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from barriers import barriers
from cases import seldom
from steelyard.web.pages import plain_link
from web.board_samples import PLANTED, TOKEN, Project, make_project
from window import Window

pytestmark = pytest.mark.needs_system
GSM = {"task": "gsm8k", "model": "llama-3.1-8b", "spec": {"quant": "FP8"}}
BAD = {"task": "planted", "model": PLANTED, "spec": {"quant": PLANTED}}
PHONE = {"viewport": {"width": 360, "height": 740}}


@dataclass(frozen=True)
class Board:
    """A server that runs, and the project behind it."""

    project: Project
    address: str


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    import uvicorn

    from steelyard.web.app import address_of, bound, make_app

    project = make_project(tmp_path_factory.mktemp("board"))
    socket = bound("127.0.0.1", 0)
    app = make_app(replace(project.serving(), port=socket.getsockname()[1]))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [socket]})
    thread.start()
    yield Board(project, address_of(socket).rstrip("/"))
    server.should_exit = True
    thread.join()
    socket.close()


class Seen(Window):
    """A window on the dashboard, signed in or not."""

    def __init__(self, page: Any, board: Board, *, known: bool = False) -> None:
        super().__init__(page, lambda url: url.startswith(board.address + "/"))
        self.board = board
        if known:
            self.go("/sign-in")
            self.page.fill("#token", TOKEN)
            self.page.click("main button")
            self.page.get_by_role("button", name="Sign out").wait_for()

    def go(self, path: str) -> Any:
        return self.page.goto(self.board.address + path)

    def __enter__(self) -> Seen:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def paths(project: Project) -> list[str]:
    a, b = project.ids["gsm8k-2"], project.ids["gsm8k-11"]
    return [
        *(
            "/",
            "/runs",
            "/references",
            "/compare",
            f"/compare?a={a}&b={b}",
            "/plan?theta=0.01&discordance=0.04",
            "/plan?theta=x",
            "/sign-in",
        ),
        *(plain_link(each, **asked) for each in ("/series", "/reference") for asked in (GSM, BAD)),
        *(f"/runs/{project.ids[name]}{end}" for name in ("gsm8k-11", "planted") for end in ("", "/record")),
        *(plain_link("/drift", **GSM), "/nights", "/nowhere"),
    ]


@pytest.mark.parametrize("options", [pytest.param({}, id="light"), *seldom({"color_scheme": "dark"}, PHONE, ids=["dark", "phone"])])
def test_quiet_without_barriers_and_nothing_planted_is_run(window: Any, board: Board, options: dict[str, Any]) -> None:
    with Seen(window(**options), board, known=True) as seen:
        for place, path in enumerate(paths(board.project)):
            reply = seen.go(path)
            if reply.status >= 400:  # the browser says so on its console, and only that
                seen.faults = [each for each in seen.faults if "the server responded with a status of" not in each]
            seen.page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
            assert "pwned" not in seen.page.title() or PLANTED in seen.page.title()
            assert seen.page.locator("main img, main script").count() == 0
            assert seen.page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), path
            if not options or place % 4 == 0:  # other colours and widths: some of the pages, since all share one style
                assert not (found := barriers(seen.page)), f"{path}\n{found}"
            assert seen.faults == [], path


def test_points_of_a_chart_answer_to_pointer_and_keys(window: Any, board: Board) -> None:
    with Seen(window(), board) as seen:
        seen.go(plain_link("/series", **GSM))
        told = seen.page.locator(".told")
        assert told.is_hidden()
        seen.page.locator(".point").nth(1).hover()
        assert "2026-10-01 03:00; accuracy" in told.inner_text()
        seen.page.locator(".point").last.focus()
        newest = told.inner_text()
        seen.page.keyboard.press("ArrowLeft")
        assert told.inner_text() != newest
        seen.page.keyboard.press("End")
        assert told.inner_text() == newest
        seen.page.keyboard.press("Enter")
        seen.page.wait_for_url("**/runs/*")
        assert seen.faults == []


@pytest.mark.parametrize("script", [True, False], ids=["with JavaScript", "without"])
def test_the_whole_way_to_an_approval(window: Any, board: Board, script: bool) -> None:
    """From the reference to the sign-in and back, a reason, approved: by clicks and keys alone."""
    reason = f"looked at it, script {script}"
    with Seen(window(**({} if script else {"java_script_enabled": False})), board) as seen:
        seen.go("/references")
        seen.page.locator("a", has_text="llama-3.1-8b [quant=FP8]").click()
        seen.page.get_by_text("Sign in to approve").click()
        seen.page.fill("#token", "not the token at all")
        seen.page.click("main button")
        seen.page.get_by_text("Wrong token.").wait_for()
        seen.page.fill("#token", TOKEN)
        seen.page.click("main button")
        seen.page.get_by_text("What will change in").wait_for()
        seen.page.fill("#reason", reason)
        seen.page.get_by_role("button", name="Approve").click()
        seen.page.get_by_text("Approved. The approval is stored in the file and its history.").wait_for()
        assert seen.page.get_by_text(reason).count() == 1
        assert [each for each in seen.faults if "403" not in each] == []
    lines = (board.project.root / "references" / "gsm8k.history.jsonl").read_text(encoding="utf-8")
    assert reason in lines


@pytest.mark.parametrize("script", [True, False], ids=["with JavaScript", "without"])
def test_two_runs_are_picked_and_compared(window: Any, board: Board, script: bool) -> None:
    with Seen(window(**({} if script else {"java_script_enabled": False})), board) as seen:
        seen.go(plain_link("/series", **GSM))
        seen.page.locator('input[name="a"]').nth(9).check()
        seen.page.get_by_role("button", name="Compare a with b").click()
        seen.page.get_by_role("heading", name="Items that changed").wait_for()
        seen.page.wait_for_load_state("load")
        search = seen.page.locator(".search input")
        assert search.is_visible() == script
        if script:
            search.fill("no such item")
            assert seen.page.locator("table.searched tbody tr:visible").count() == 0
        assert seen.faults == []


def test_a_stranger_cannot_send_a_form_here(window: Any, board: Board) -> None:
    """Another page, of another port of this very machine, sends the form of the approval with the cookie of somebody signed in."""
    form = f'<form method="post" action="{board.address}/reference/approve"><input name="task" value="gsm8k"><button>x</button></form>'
    with Seen(window(), board, known=True) as seen:
        seen.page.unroute("**/*")
        seen.page.route("http://127.0.0.1:1/**", lambda route: route.fulfill(body=form, content_type="text/html"))
        seen.page.goto("http://127.0.0.1:1/")
        with seen.page.expect_response(f"{board.address}/reference/approve") as sent:
            seen.page.click("button")
        assert sent.value.status == 403
        seen.page.get_by_text("This form was not sent from this server").wait_for()


def test_a_cookie_is_out_of_the_reach_of_scripts_and_pages_of_frames(window: Any, board: Board) -> None:
    with Seen(window(), board, known=True) as seen:
        assert seen.page.evaluate("document.cookie") == ""
        (cookie,) = seen.context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        seen.go("/")
        seen.page.evaluate(
            "const s = document.createElement('script'); s.textContent = 'document.title = \"pwned\"'; document.body.append(s)"
        )
        assert "pwned" not in seen.page.title()
