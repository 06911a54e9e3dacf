"""HTTP as it comes: kept connections, timeouts that end a drip, torn and packed bodies, proxies, TLS. On loopback only."""

from __future__ import annotations

import base64
import gzip
import http.server
import json
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluate.openai_server import Server
from steelyard.errors import UsageError
from steelyard.evaluate.models.address import address, credentials, proxy_for, shown
from steelyard.evaluate.models.http_client import HttpClient, Reply, Timeouts, TransportError, unpacked

PATH = "/v1/chat/completions"
SILENCE = Timeouts(connect=30, read=0.2, total=60)
IN_ALL = Timeouts(connect=30, read=60, total=0.3)


def ask(wire: HttpClient, text: str = "1 + 2 =") -> Reply:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()
    return wire.send(PATH, body, {"Content-Type": "application/json"})


def said(reply: Reply) -> str:
    return str(json.loads(reply.body)["choices"][0]["message"]["content"])


@contextmanager
def wired(server: Server, timeouts: Timeouts | None = None, **options: Any) -> Iterator[HttpClient]:
    wire = HttpClient(server.url, timeouts=timeouts, **options)
    try:
        yield wire
    finally:
        wire.close()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "REQUEST_METHOD"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


# ---- connections -----------------------------------------------------------------------------------------------------


def test_one_connection_serves_many_requests() -> None:
    with Server() as server, wired(server) as wire:
        assert [said(ask(wire, f"{i} + 2")) for i in range(20)] == [str(i + 2) for i in range(20)]
        assert (server.connections, wire.opened, wire.resent) == (1, 1, 0)


def test_as_many_connections_as_threads_and_no_more() -> None:
    with Server(gate=4) as server, wired(server) as wire, ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda i: said(ask(wire, f"{i} + 2")), range(60)))
        assert found == [str(i + 2) for i in range(60)]
        assert server.connections == wire.opened == 4


def test_a_connection_that_the_server_closed_is_replaced_and_the_request_sent_once() -> None:
    """Announced (HTTP/1.0) or not (`close`): nothing is asked twice, since the closing is seen before the request is sent."""
    with Server(first=["old", "close", ""]) as server, wired(server) as wire:
        for i in range(2):
            ask(wire, f"{i} + 1")
        idle = wire._idle[0].connection.sock
        idle.settimeout(10)
        assert idle.recv(1, socket.MSG_PEEK) == b"", "wait until the closing has arrived"
        assert said(ask(wire, "7 + 1")) == "8"
        assert (wire.opened, wire.resent, len(server.seen)) == (3, 0, 3)


def test_a_kept_connection_that_breaks_before_a_byte_is_tried_once_more_on_a_fresh_one() -> None:
    with Server(first=["", "reset", ""]) as server, wired(server) as wire:
        ask(wire)
        assert said(ask(wire, "3 + 4")) == "7"
        assert (wire.opened, wire.resent, len(server.seen)) == (2, 1, 3)


def test_a_fresh_connection_that_breaks_is_the_callers_to_judge() -> None:
    with Server(first=["reset"]) as server, wired(server) as wire:
        with pytest.raises(TransportError) as lost:
            ask(wire)
        assert (lost.value.reason, lost.value.connecting, len(server.seen)) == ("connection", False, 1)


def test_a_kept_connection_that_breaks_after_a_byte_is_not_sent_again() -> None:
    with Server(first=["", "torn"]) as server, wired(server) as wire:
        ask(wire)
        with pytest.raises(TransportError) as lost:
            ask(wire)
        assert (lost.value.reason, len(server.seen), wire.resent) == ("torn", 2, 0)


def test_after_close_nothing_is_kept() -> None:
    with Server() as server, wired(server) as wire:
        wire.close()
        assert said(ask(wire)) == "3"
        assert wire._idle == []


# ---- bodies ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["chunked", "gzip", "old", "close"])
def test_every_way_to_send_a_body(shape: str) -> None:
    with Server(first=[shape, ""]) as server, wired(server) as wire:
        assert said(ask(wire)) == "3"
        assert said(ask(wire, "4 + 4")) == "8"


@pytest.mark.parametrize(
    ("fault", "reason"), [("torn", "torn"), ("cut-chunk", "torn"), ("garbage", "torn"), ("huge", "size"), ("reset", "connection")]
)
def test_a_body_that_does_not_come_whole(fault: str, reason: str) -> None:
    with Server(first=[fault]) as server, wired(server) as wire:
        with pytest.raises(TransportError) as lost:
            ask(wire)
        assert lost.value.reason == reason
        assert said(ask(wire)) == "3", "the next request has a connection of its own"


@pytest.mark.parametrize(
    ("fault", "timeouts", "words"),
    [
        ("hang", SILENCE, "nothing came for 0.2 s"),
        ("hang", IN_ALL, "no whole answer within 0.3 s"),
        ("drip", IN_ALL, "no whole answer within 0.3 s"),
        ("drip-head", IN_ALL, "no whole answer within 0.3 s"),
    ],
)
def test_silence_and_a_slow_drip_end(fault: str, timeouts: Timeouts, words: str) -> None:
    """A drip is never silent for long: only the total ends it. The headers may drip as well as the body."""
    with Server(first=[fault]) as server, wired(server, timeouts) as wire:
        with pytest.raises(TransportError) as lost:
            ask(wire)
        assert (lost.value.reason, lost.value.words, lost.value.connecting) == ("timeout", words, False)


def test_a_body_above_the_limit_is_not_read() -> None:
    with Server(say=lambda _: "x" * 5000, first=["chunked", "old", "", "gzip"]) as server, wired(server, limit=4000) as wire:
        for _ in range(4):
            with pytest.raises(TransportError) as lost:
                ask(wire)
            assert lost.value.reason == "size"
    with Server(say=lambda _: "x" * 5000, first=["chunked", "old", "", "gzip"]) as server, wired(server, limit=6000) as wire:
        assert [len(said(ask(wire))) for _ in range(4)] == [5000] * 4


def test_a_bomb_is_not_unpacked() -> None:
    with Server(first=["bomb"]) as server, wired(server) as wire, pytest.raises(TransportError, match="more than 67,108,864 bytes"):
        ask(wire)


@given(st.binary(max_size=3000), st.integers(0, 3000), st.booleans())
def test_unpacking_gives_back_what_was_packed_or_refuses(body: bytes, limit: int, twice: bool) -> None:
    packed, whole = gzip.compress(body), body
    if twice:  # gzip allows members one after another
        packed, whole = packed * 2, body * 2
    if len(whole) <= limit:
        assert unpacked(packed, "gzip", limit) == whole
    else:
        with pytest.raises(TransportError, match="size"):
            unpacked(packed, "GZIP", limit)


@given(st.binary(min_size=1, max_size=300), st.data())
def test_a_packed_body_cut_anywhere_is_torn(body: bytes, data: st.DataObject) -> None:
    packed = gzip.compress(body)
    with pytest.raises(TransportError, match="torn"):
        unpacked(packed[: data.draw(st.integers(1, len(packed) - 1))], "gzip", 10_000)


def test_other_packings_are_named() -> None:
    with pytest.raises(TransportError, match="packed as 'br'"):
        unpacked(b"x", "br", 10)
    assert unpacked(b"x", "identity", 10) == b"x"


# ---- no connection ---------------------------------------------------------------------------------------------------


def test_nobody_listens() -> None:
    with socket.socket() as taken:  # bound, and not listening: refused
        taken.bind(("127.0.0.1", 0))
        wire = HttpClient(f"http://127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(TransportError) as lost:
            ask(wire)
    assert (lost.value.reason, lost.value.connecting) == ("connection", True)
    assert "refused" in lost.value.words


@pytest.mark.parametrize("host", ["no-such-host.invalid", "x" * 80])
def test_nobody_knows_the_name(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    if len(host) < 64:  # a longer label is no name at all, and Python says so itself
        monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(TransportError) as lost:
        ask(HttpClient(f"http://{host}:80"))
    assert (lost.value.reason, lost.value.connecting) == ("name", True)


def test_a_path_is_quoted_and_a_header_stays_one_line() -> None:
    with Server() as server, wired(server) as wire:
        assert wire.send("/é x/v1/chat/completions?a=b%20c", b'{"model": "m", "prompt": "1 + 2"}', {}).status == 200
        for wrong in ("a\r\nX-Other: b", "ä", "a\x00"):
            with pytest.raises(UsageError, match=r"A header of the request is not plain ASCII text\."):
                wire.send(PATH, b"{}", {"X-One": wrong})
        assert len(server.seen) == 1


@pytest.mark.parametrize("wrong", [0, -1, float("inf"), float("nan")])
def test_timeouts_are_positive(wrong: float) -> None:
    with pytest.raises(UsageError, match="read timeout"):
        Timeouts(read=wrong)


# ---- TLS -------------------------------------------------------------------------------------------------------------


def test_a_server_without_tls() -> None:
    with Server() as server:
        with pytest.raises(TransportError) as lost:
            ask(HttpClient(server.url.replace("http:", "https:")))
        assert (lost.value.reason, lost.value.connecting) == ("tls", True)


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate of our own, with its key behind it in the same file."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    key, found = tmp_path / "key.pem", tmp_path / "certificate.pem"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:model.example"]
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
        "-keyout",
        str(key),
        "-out",
        str(found),
        *names,
    ]
    subprocess.run(made, check=True, capture_output=True)
    found.write_text(found.read_text() + key.read_text())
    return found


def inside(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.mark.needs_system
def test_tls_with_a_certificate_that_is_trusted_and_one_that_is_not(certificate: Path) -> None:
    with Server(tls=inside(certificate)) as server:
        with wired(server, tls=ssl.create_default_context(cafile=str(certificate))) as wire:
            assert [said(ask(wire)) for _ in range(3)] == ["3"] * 3
            assert wire.opened == 1
        with pytest.raises(TransportError) as lost:
            ask(HttpClient(server.url))
        assert lost.value.reason == "tls"
        assert "certificate" in lost.value.words


@pytest.mark.needs_system
def test_https_through_the_tunnel_of_a_proxy(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Server(tls=inside(certificate)) as server, Server() as unused, proxied(unused, server.port) as (proxy, seen):
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:secret@{proxy}")
        wire = HttpClient("https://model.example", tls=ssl.create_default_context(cafile=str(certificate)))
        assert [said(ask(wire)), said(ask(wire))] == ["3", "3"]
        wire.close()
        assert seen == [("model.example:443", "Basic " + base64.b64encode(b"me:secret").decode())], "one tunnel for both"
        assert not unused.seen


# ---- proxies ---------------------------------------------------------------------------------------------------------


class Proxy(http.server.BaseHTTPRequestHandler):
    """Forwards plain requests to the test server, whatever host they are for; opens tunnels to `inner`, or refuses them with 407."""

    protocol_version = "HTTP/1.1"
    target: HttpClient
    seen: list[tuple[str, str | None]]
    inner: int | None = None

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.seen.append((self.path, self.headers.get("Proxy-Authorization")))
        reply = self.target.send(urlsplit(self.path).path, body, {"Content-Type": "application/json"})
        self.send_response(reply.status)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def do_CONNECT(self) -> None:
        self.seen.append((self.path, self.headers.get("Proxy-Authorization")))
        self.close_connection = True
        if self.inner is None:
            self.wfile.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
            return
        self.wfile.write(b"HTTP/1.1 200 Connection established\r\nVia: tests\r\n\r\n")
        with socket.create_connection(("127.0.0.1", self.inner)) as there:
            back = threading.Thread(target=carry, args=(there, self.connection))
            back.start()
            carry(self.connection, there)
            back.join()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


def carry(source: socket.socket, target: socket.socket) -> None:
    while piece := source.recv(4096):
        target.sendall(piece)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


@contextmanager
def proxied(server: Server, inner: int | None = None) -> Iterator[tuple[str, list[tuple[str, str | None]]]]:
    seen: list[tuple[str, str | None]] = []
    with wired(server) as target:
        handler = type("Bound", (Proxy,), {"target": target, "seen": seen, "inner": inner})
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as proxy:
            proxy.daemon_threads, proxy.block_on_close = True, False
            thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.02})
            thread.start()
            try:
                yield f"127.0.0.1:{proxy.server_address[1]}", seen
            finally:
                proxy.shutdown()
                thread.join()


def test_http_goes_through_the_proxy_with_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    with Server() as server, proxied(server) as (proxy, seen):
        monkeypatch.setenv("HTTP_PROXY", f"http://me:s%40crd@{proxy}")
        wire = HttpClient("http://model.example:8000")
        assert [said(ask(wire)), said(ask(wire))] == ["3", "3"]
        wire.close()
        assert seen == [("http://model.example:8000/v1/chat/completions", "Basic " + base64.b64encode(b"me:s@crd").decode())] * 2
        assert wire.opened == 1


def test_https_asks_the_proxy_for_a_tunnel(monkeypatch: pytest.MonkeyPatch) -> None:
    with Server() as server, proxied(server) as (proxy, seen):
        monkeypatch.setenv("HTTPS_PROXY", f"http://{proxy}")
        with pytest.raises(TransportError) as lost:
            ask(HttpClient("https://model.example"))
        assert (lost.value.reason, lost.value.connecting) == ("connection", True)
        assert "407" in lost.value.words
        assert seen == [("model.example:443", None)]


def test_which_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    def chosen(url: str) -> str | None:
        found = proxy_for(urlsplit(url))
        return found and found.netloc

    monkeypatch.setenv("HTTPS_PROXY", "http://one:1")
    monkeypatch.setenv("HTTP_PROXY", "two:2")
    monkeypatch.setenv("NO_PROXY", "near.example,.local")
    assert chosen("https://far.example/v1") == "one:1"
    assert chosen("http://far.example/v1") == "two:2", "a proxy is often written without http://"
    assert chosen("https://near.example") is chosen("https://a.local") is None
    assert chosen("http://127.0.0.1:8000") is chosen("http://localhost") is chosen("http://[::1]:80") is None
    monkeypatch.setenv("HTTPS_PROXY", "socks5://me:secret@one:1")
    with pytest.raises(UsageError, match="socks5://") as told:
        chosen("https://far.example")
    assert "secret" not in str(told.value)


# ---- addresses -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/v1"),
        (" https://api.example/v1/ ", "https://api.example/v1"),
        ("https://api.example/v1/chat/completions", "https://api.example/v1"),
        ("https://api.example/v1/completions/", "https://api.example/v1"),
        ("https://api.example/v1beta/openai/", "https://api.example/v1beta/openai"),
        ("https://me:secret@api.example/v1?key=secret#part", "https://api.example/v1"),
        ("http://[::1]:8000", "http://[::1]:8000/v1"),
    ],
)
def test_base_urls(written: str, meant: str) -> None:
    assert shown(address(written)) == meant


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "localhost:8000",
        "127.0.0.1:8000/v1",
        "ftp://h/v1",
        "http://",
        "http://h:99999",
        "http://h:0",
        "http://h/v 1",
        "http://[h",
        "http://müller.example",
    ],
)
def test_base_urls_that_are_none(wrong: str) -> None:
    with pytest.raises(UsageError, match="The base URL must be") as told:
        address(wrong)
    assert "http://127.0.0.1:8000/v1" in str(told.value)


def test_a_wrong_base_url_does_not_show_its_password() -> None:
    for wrong in ("ftp://me:secret@h", "http://me:secret@h:99999", "me:secret@h/v1", "http://me:secret@"):
        with pytest.raises(UsageError) as told:
            address(wrong)
        assert "secret" not in str(told.value)


def test_credentials() -> None:
    bare, user = urlsplit("https://h/v1"), urlsplit("https://me:s%40crd@h/v1")
    assert credentials(None, bare) == ({}, [])
    assert credentials(" sk-1\n", bare) == ({"Authorization": "Bearer sk-1"}, ["sk-1"])
    assert credentials(None, user)[0] == {"Authorization": "Basic " + base64.b64encode(b"me:s@crd").decode()}
    assert "s@crd" in credentials(None, user)[1]
    assert "sk-1" not in repr(credentials("sk-1", bare)[0])
    with pytest.raises(UsageError, match=r"There are two credentials: a key, and a user in the base URL\."):
        credentials("sk-1", user)
    for wrong in ("sk 1secret", "sk\n1secret", "sk-1secrét", "sk\x001secret"):
        with pytest.raises(UsageError, match="no header can hold") as told:
            credentials(wrong, bare)
        assert "1secr" not in str(told.value)
