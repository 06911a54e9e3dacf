"""Who is let in: names, origins, tokens, sessions, forms; and what every answer carries."""

from __future__ import annotations

import pytest

from steelyard.errors import UsageError
from steelyard.web import app as app_module
from steelyard.web.pages import plain_link
from steelyard.web.sessions import Sessions
from steelyard.web.settings import Serving, checked_token, names_of
from web.board_samples import TOKEN, Project, Visitor

REFERENCE = plain_link("/reference", task="gsm8k", model="llama-3.1-8b", spec={"quant": "FP8"})
WRITES = ("/reference/approve", "/runs/" + "0" * 32 + "/record")


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_module, "PAUSE", 0.0)


# ---- names ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "localhost.evil.example", "192.168.0.7", "", "a:b", "[::1"]
)
def test_an_unknown_host_is_refused(project: Project, host: str) -> None:
    reply = project.visitor(host=host).get("/")
    assert reply.status == 421
    assert "gsm8k" not in reply.text


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:1", "LOCALHOST", "[::1]:8765"])
def test_names_of_this_machine_are_known(project: Project, host: str) -> None:
    assert project.visitor(host=host).get("/").status == 200


def test_which_names_a_place_has() -> None:
    assert names_of("10.0.0.5") == (frozenset({"10.0.0.5"}), False)
    everywhere, bare = names_of("0.0.0.0", ("Eval.example",))
    serving = Serving(history="", names=everywhere, any_address=bare)
    assert [serving.knows(host) for host in ("eval.example:80", "10.1.2.3:80", "[fe80::1]", "evil.example")] == [True, True, True, False]


# ---- forms ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [*WRITES, "/sign-out"])
@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": ""},
        {"origin": "http://127.0.0.1:9999"},
        {"sec_fetch_site": "cross-site"},
    ],
)
def test_a_form_of_another_page_is_refused(project: Project, path: str, headers: dict[str, str]) -> None:
    visitor = project.visitor().sign_in()
    token = visitor.form_token("/")
    reply = visitor.post(path, {"form_token": token, "reason": "because"}, **headers)
    assert reply.status == 403
    assert "This form was not sent from this server" in reply.text


@pytest.mark.parametrize("path", [*WRITES, "/sign-in", "/sign-out"])
@pytest.mark.parametrize("given", ["", "0" * 64, "é"])
def test_a_form_without_its_token_is_refused(project: Project, path: str, given: str) -> None:
    visitor = project.visitor().sign_in()
    assert visitor.post(path, {"form_token": given, "reason": "because", "token": TOKEN}).status == 403


def test_a_form_token_belongs_to_its_session(project: Project) -> None:
    first, second = project.visitor().sign_in(), project.visitor().sign_in()
    assert second.post("/sign-out", {"form_token": first.form_token("/")}).status == 403
    stranger = Visitor(second.app)
    token = stranger.form_token()
    stranger.cookie = ""
    assert stranger.post("/sign-in", {"form_token": token, "token": TOKEN}).status == 403


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"{}", "application/json", 415),
        (b"a=1", "multipart/form-data; boundary=x", 415),
        (b"a=1&a=2", "application/x-www-form-urlencoded", 400),
        (b"\xff\xfe", "application/x-www-form-urlencoded", 400),
        (b"a=%ff", "application/x-www-form-urlencoded", 400),
        (b"&".join(b"f%d=1" % i for i in range(99)), "application/x-www-form-urlencoded", 400),
        (b"a=" + b"x" * 70_000, "application/x-www-form-urlencoded", 413),
        (b"", "application/x-www-form-urlencoded", 403),
    ],
)
def test_what_is_no_form_is_refused(project: Project, body: bytes, kind: str, status: int) -> None:
    visitor = project.visitor().sign_in()
    assert visitor.ask("POST", "/sign-out", body=body, content_type=kind, origin="http://127.0.0.1:8765").status == status


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(visitor: Visitor, method: str) -> None:
    assert visitor.ask(method, "/").status == 405


def test_a_change_is_no_get(visitor: Visitor) -> None:
    assert visitor.get("/reference/approve").status == 405
    assert visitor.get("/sign-out").status == 405


# ---- the token -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", WRITES)
def test_a_change_requires_the_token_even_on_this_machine(project: Project, path: str) -> None:
    visitor = project.visitor()
    reply = visitor.post(path, {"form_token": visitor.form_token(), "reason": "because", "seen": "x"})
    assert reply.status == 403
    assert "The token is required" in reply.text


def test_elsewhere_everything_requires_the_token(project: Project) -> None:
    visitor = project.visitor(local=False)
    for path in ("/", "/runs", "/references", REFERENCE, "/plan", "/nowhere"):
        reply = visitor.get(path)
        assert reply.status == 303
        assert reply.headers["location"].startswith("/sign-in?next=%2F")
        assert reply.text == ""
    assert visitor.get("/static/page.css").status == 200
    page = visitor.get("/sign-in").text
    assert "runs.db" not in page
    assert "gsm8k" in visitor.sign_in().get("/").text


@pytest.mark.parametrize("given", ["", "wrong", TOKEN + "x", TOKEN[:-1], TOKEN.upper(), "é" * 30])
def test_a_wrong_token_opens_nothing(project: Project, given: str) -> None:
    visitor = project.visitor(local=False)
    reply = visitor.post("/sign-in", {"token": given, "next": "/", "form_token": visitor.form_token()})
    assert reply.status == 403
    assert "Wrong token." in reply.text
    assert visitor.get("/").status == 303


def test_a_server_without_a_token_lets_nobody_in(project: Project) -> None:
    visitor = project.visitor(token="")
    assert visitor.post("/sign-in", {"token": "", "form_token": visitor.form_token()}).status == 403


def test_signing_in_begins_another_session_and_signing_out_ends_it(project: Project) -> None:
    visitor = project.visitor(local=False)
    visitor.get("/sign-in")
    planted = visitor.cookie
    visitor.sign_in()
    signed = visitor.cookie
    assert planted != signed
    token = visitor.form_token("/")
    assert visitor.post("/sign-out", {"form_token": token}).status == 303
    for cookie in (planted, signed):
        visitor.cookie = cookie
        assert visitor.get("/").status == 303


@pytest.mark.parametrize(
    "next_", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "", "/\r\nx: y", "/é"]
)
def test_signing_in_leads_nowhere_else(project: Project, next_: str) -> None:
    visitor = project.visitor()
    reply = visitor.post("/sign-in", {"token": TOKEN, "next": next_, "form_token": visitor.form_token()})
    assert (reply.status, reply.headers["location"]) == (303, "/")
    other = project.visitor()
    reply = other.post("/sign-in", {"token": TOKEN, "next": REFERENCE, "form_token": other.form_token()})
    assert reply.headers["location"] == REFERENCE


def test_tokens_that_are_no_good_are_refused() -> None:
    assert checked_token(None) != checked_token(None)
    assert len(checked_token(None)) >= 32
    assert checked_token("a long enough token") == "a long enough token"
    for bad in ("", "short", " " + "a" * 20, "é" * 20, "a" * 20 + "\n"):
        with pytest.raises(UsageError, match="The token must be"):
            checked_token(bad)


def test_the_token_is_not_shown_by_accident() -> None:
    assert TOKEN not in repr(Serving(history="", token=TOKEN))


# ---- sessions ------------------------------------------------------------------------------------------------------------


def test_a_cookie_cannot_be_raised_forged_or_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = Sessions(b"s" * 32, 1)
    anyone = sessions.begun()
    value = sessions.written(anyone)
    assert sessions.read(value).id == anyone.id
    raised = value.replace(".anyone.", ".known.")
    assert not sessions.read(raised).known
    known = sessions.written(sessions.begun(known=True))
    assert sessions.read(known).known
    for forged in (known[:-1] + ("0" if known[-1] != "0" else "1"), known + ".x", "", "a.known.b", known.replace("known", "other")):
        assert not sessions.read(forged).known
    assert not Sessions(b"t" * 32, 1).read(known).known  # of another server
    import time

    later = time.time() + 13 * 3600
    monkeypatch.setattr(time, "time", lambda: later)
    assert not sessions.read(known).known


def test_cookies_are_for_this_server_and_for_no_script(project: Project) -> None:
    set_ = project.visitor(port=8765).get("/").headers["set-cookie"]
    assert set_.startswith("steelyard_8765=")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= {part.strip() for part in set_.split(";")}


@pytest.mark.parametrize("path", ["/", "/nowhere", "/?page=0", "/static/page.css", "/sign-in"])
@pytest.mark.parametrize("host", ["127.0.0.1", "evil.example"])
def test_every_answer_carries_the_headers(project: Project, path: str, host: str) -> None:
    headers = project.visitor(host=host).get(path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'self';")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    if not path.startswith("/static"):
        assert headers["cache-control"] == "no-store"
