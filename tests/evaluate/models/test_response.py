"""Responses in pieces of any size: the same as in one piece, and the same as the standard library reads them; torn ones are refused."""

from __future__ import annotations

import contextlib
import http.client
import io
import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import every
from steelyard.evaluate.models.response import LARGEST_HEAD, Reply, ResponseReader, TransportError

LIMIT = 10_000


def read(pieces: list[bytes], *, closed: bool = False, **options: Any) -> tuple[Reply | None, ResponseReader]:
    """What a reader makes of the pieces; None if it waits for more."""
    reader = ResponseReader(LIMIT, **options)
    for piece in pieces:
        if reader.feed(piece):
            return reader.reply(), reader
    if closed:
        reader.end()
        return reader.reply(), reader
    return None, reader


def with_length(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


def in_chunks(body: bytes, size: int) -> bytes:
    parts = [body[i : i + size] for i in range(0, len(body), size)]
    chunks = b"".join(b"%x;ext=1\r\n%s\r\n" % (len(part), part) for part in parts)
    return b"HTTP/1.1 503 No\r\ntransfer-encoding: Chunked\r\nRetry-After:  2 \r\n\r\n" + chunks + b"0\r\nX-Trailer: 1\r\n\r\n"


def until_closed(body: bytes) -> bytes:
    return b"HTTP/1.0 200 OK\r\nX-Folded: one\r\n  two\r\n\r\n" + body


def torn_at(whole: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({min(cut, len(whole)) for cut in cuts} | {0, len(whole)})
    return [whole[a:b] for a, b in itertools.pairwise(places)]


def by_the_standard_library(whole: bytes) -> tuple[int, bytes]:
    class Sock:
        def makefile(self, *_: object) -> io.BytesIO:
            return io.BytesIO(whole)

    response = http.client.HTTPResponse(Sock(), method="POST")  # type: ignore[arg-type]
    response.begin()
    return response.status, response.read()


@given(
    st.binary(max_size=400), st.integers(1, 50), st.lists(st.integers(0, 1000), max_size=12), st.sampled_from(["length", "chunks", "close"])
)
def test_however_it_is_cut_it_is_read_as_the_standard_library_reads_it(body: bytes, size: int, cuts: list[int], way: str) -> None:
    whole = {"length": with_length(body), "chunks": in_chunks(body, size), "close": until_closed(body)}[way]
    found, reader = read(torn_at(whole, cuts), closed=way == "close")
    assert found is not None
    assert (found.status, found.body) == by_the_standard_library(whole) == (found.status, body)
    assert reader.reusable == (way != "close")
    assert reader.heard == len(whole)


@given(st.binary(min_size=1, max_size=200), st.integers(1, 50), st.data(), st.booleans())
def test_what_ends_too_early_is_torn(body: bytes, size: int, data: st.DataObject, chunked: bool) -> None:
    whole = in_chunks(body, size) if chunked else with_length(body)
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(TransportError) as lost:
        read([whole[:cut]] if cut else [], closed=True)
    assert lost.value.reason == ("torn" if cut else "connection")


@given(st.binary(max_size=300))
def test_whatever_comes_is_a_response_or_refused(noise: bytes) -> None:
    for before in (b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"):
        with contextlib.suppress(TransportError):
            found, reader = read([before + noise], closed=True)
            assert found is not None
            assert reader.heard == len(before + noise)


def test_headers_are_found_by_small_names_and_long_values_go_on() -> None:
    found, _ = read([b"HTTP/1.1 429 Slow down\nRetry-After: 2\nX-Long: a\n\tb\nno header\nContent-Length: 0\n\n"])
    assert found == Reply(429, {"retry-after": "2", "x-long": "a b", "content-length": "0"}, b"")


@every("words", ["100 Continue\r\n\r\n", "103 Early Hints\r\nLink: x\r\n\r\n"])
def test_words_in_between_are_not_the_response(words: str) -> None:
    found, reader = read([b"HTTP/1.1 " + words.encode() + with_length(b"now")])
    assert (found and found.status, found and found.body, reader.reusable) == (200, b"now", True)


@every("head", [b"HTTP/1.1 204 No Content\r\n\r\n", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n"])
def test_some_responses_have_no_body(head: bytes) -> None:
    assert read([head])[0] is not None
    assert read([b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"], bodiless=True)[0] is not None


@every(
    ("head", "kept"),
    [
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", False),
        (b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nwhat nobody asked for", False),
    ],
)
def test_when_a_connection_may_be_used_again(head: bytes, kept: bool) -> None:
    assert read([head])[1].reusable is kept


@every(
    "strange",
    [
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: " + b"x" * LARGEST_HEAD,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 5000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + b"A: b\r\n" * LARGEST_HEAD,
    ],
)
def test_what_is_not_http_is_told(strange: bytes) -> None:
    with pytest.raises(TransportError, match="not HTTP as we know it"):
        read([strange], closed=False)


def test_more_than_the_limit_is_not_read() -> None:
    body = b"x" * (LIMIT + 1)
    for whole in (with_length(body), in_chunks(body, 4000), until_closed(body)):
        with pytest.raises(TransportError, match="size"):
            read([whole])
    assert read([with_length(b"x" * LIMIT)])[0] is not None
