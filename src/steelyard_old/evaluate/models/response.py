"""A response of HTTP/1: read from pieces as they arrive, whoever waits for them, with a cap on its size.

The standard library reads a response from a file that blocks, and parses its headers as those of an e-mail, which costs more than all
the rest of a request. Here the bytes are handed in: by a thread that waits for one socket, or by one that watches hundreds.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Reason = Literal["name", "connection", "tls", "timeout", "torn", "size", "encoding"]
LARGEST_HEAD = 1 << 18  # bytes of a status line and its headers, and of what follows the last chunk
LONGEST_LINE = 1 << 12  # bytes of a chunk's size
_AS_IT_IS = ("", "identity")
_HEAD_END = re.compile(rb"\n\r?\n")  # line ends without \r are wrong, and common enough
_STATUS = re.compile(r"HTTP/1\.(\d+)[ \t]+([1-9]\d\d)(?:[ \t].*)?")
_DIGITS = re.compile(r"[0-9]{1,18}")
_HEXADECIMAL = re.compile(rb"[ \t]*([0-9a-fA-F]{1,15})[ \t]*(?:;.*)?")


class TransportError(Exception):
    """No whole answer came. `reason` is one word for the kind of failure; `connecting` that the request was never sent."""

    def __init__(self, reason: Reason, words: str, *, connecting: bool = False) -> None:
        self.reason, self.words, self.connecting = reason, words, connecting
        super().__init__(f"{reason}: {words}")


@dataclass(frozen=True, slots=True)
class Reply:
    """What the server said. The names of headers are in small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class ResponseReader:
    """One response: `feed` it what arrives until it says that this was all, or `end` it when the server has closed; then ask for `reply`.

    `heard` counts the bytes. `reusable`: whether the connection may carry another request afterwards.

    >>> reader = ResponseReader(100)
    >>> reader.feed(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\n{"), reader.feed(b"}"), reader.reply().body, reader.reusable
    (False, True, b'{}', True)
    """

    __slots__ = (
        "_bodiless",
        "_buffer",
        "_chunked",
        "_headers",
        "_left",
        "_limit",
        "_pieces",
        "_size",
        "_status",
        "_trailing",
        "heard",
        "reusable",
    )

    def __init__(self, limit: int, *, bodiless: bool = False) -> None:
        self._limit, self._bodiless = limit, bodiless
        self._buffer, self._pieces, self._size, self.heard = b"", list[bytes](), 0, 0
        self._status, self._headers = 0, dict[str, str]()
        self._left: int | None = None  # bytes of the body, or of its chunk, that are still to come; None: until the server closes
        self._chunked = self._trailing = False
        self.reusable = False

    def feed(self, data: bytes) -> bool:
        """Take what arrived; True if the response is whole now."""
        self.heard += len(data)
        self._buffer = self._buffer + data if self._buffer else data
        while not self._status:
            found = _HEAD_END.search(self._buffer)
            if found is None or found.end() > LARGEST_HEAD:
                if len(self._buffer) > LARGEST_HEAD:
                    raise strange("a head without end")
                if not b"HTTP/".startswith(self._buffer[:5]):
                    raise strange("no status line")
                return False
            head, self._buffer = self._buffer[: found.start()], self._buffer[found.end() :]
            self._begin(head.decode("latin-1"))
        return self._chunks() if self._chunked else self._body()

    def end(self) -> None:
        """The server has closed the connection. What was to come until then is whole; anything else is torn."""
        self.reusable = False
        if not self._status or self._chunked or self._left is not None:
            raise TransportError("torn" if self.heard else "connection", "the body ended too early" if self._status else CLOSED)

    def reply(self) -> Reply:
        """The whole response, its body as it was sent."""
        return Reply(self._status, self._headers, b"".join(self._pieces))

    def _begin(self, head: str) -> None:
        first, *lines = head.split("\n")
        status = _STATUS.fullmatch(first.rstrip("\r"))
        if status is None:
            raise strange("no status line")
        code = int(status[2])
        if 100 <= code < 200 and code != 101:
            return  # a word in between: the response is still to come
        headers: dict[str, str] = {}
        name = ""
        for line in lines:
            if line[:1] in (" ", "\t") and name:  # a value that goes on in the next line
                headers[name] = f"{headers[name]} {line.strip()}".strip()
                continue
            name, colon, value = line.partition(":")
            name = name.strip().lower() if colon else ""
            if name:  # a line that is no header says nothing
                headers[name] = value.strip()
        self._status, self._headers = code, headers
        said = headers.get("connection", "").lower()
        keeps = "close" not in said if status[1] != "0" else "keep-alive" in said or "keep-alive" in headers
        self._chunked = headers.get("transfer-encoding", "").lower() == "chunked"
        length = headers.get("content-length", "")
        if self._bodiless or code in (101, 204, 304):
            self._chunked, self._left = False, 0
        elif not self._chunked and _DIGITS.fullmatch(length):
            self._left = int(length)
            if self._left > self._limit:
                raise TransportError("size", f"an answer of {self._left:,} bytes, more than {self._limit:,}")
        elif self._chunked:
            self._left = 0
        self.reusable = keeps and self._left is not None

    def _take(self, many: int) -> None:
        piece, self._buffer = self._buffer[:many], self._buffer[many:]
        self._size += len(piece)
        if self._size > self._limit:
            raise TransportError("size", f"an answer of more than {self._limit:,} bytes")
        self._pieces.append(piece)

    def _body(self) -> bool:
        if self._left is None:
            self._take(len(self._buffer))
            return False
        many = min(self._left, len(self._buffer))
        self._left -= many
        self._take(many)
        return self._whole() if not self._left else False

    def _chunks(self) -> bool:
        while self._buffer or self._trailing:
            if self._trailing:
                return self._trailer()
            if self._left:
                many = min(self._left - 2, len(self._buffer))  # the two belong to the line end
                if many > 0:
                    self._left -= many
                    self._take(many)
                    continue
                over = min(self._left, len(self._buffer))
                if self._buffer[:over] not in (b"\r\n", b"\r", b"\n"):
                    raise strange("a chunk longer than it says")
                self._left, self._buffer = self._left - over, self._buffer[over:]
                continue
            line, end, rest = self._buffer.partition(b"\n")
            if len(line) > LONGEST_LINE:
                raise strange("a chunk without a size")
            if not end:
                return False
            size = _HEXADECIMAL.fullmatch(line.rstrip(b"\r"))
            if size is None:
                raise strange("a chunk without a size")
            self._buffer, many = rest, int(size[1], 16)
            self._left, self._trailing = (many + 2, False) if many else (0, True)
        return False

    def _trailer(self) -> bool:
        """Headers after the last chunk, which nobody asked for, up to an empty line."""
        while True:
            line, end, rest = self._buffer.partition(b"\n")
            if len(self._buffer) > LARGEST_HEAD:
                raise strange("a trailer without end")
            if not end:
                return False
            self._buffer = rest
            if not line.rstrip(b"\r"):
                self._chunked, self._left = False, 0
                return self._whole()

    def _whole(self) -> bool:
        self.reusable = self.reusable and not self._buffer  # what follows unasked would be taken for the next response
        return True


CLOSED = "Remote end closed connection without response"


def strange(what: str) -> TransportError:
    """For what is no response of HTTP/1."""
    return TransportError("torn", f"not HTTP as we know it ({what})")


def unpacked(body: bytes, encoding: str, limit: int) -> bytes:
    """A body as it was before it was packed with gzip; Lost if it is torn, packed otherwise, or would become larger than limit.

    >>> import gzip
    >>> unpacked(gzip.compress(b"{}"), "gzip", 100)
    b'{}'
    """
    name = encoding.strip().lower()
    if name in _AS_IT_IS:
        return body
    if name not in ("gzip", "x-gzip"):
        raise TransportError("encoding", f"a body packed as {name[:40]!r}, where gzip was offered")
    out = b""
    while body:
        unpack = zlib.decompressobj(wbits=31)
        try:
            out += unpack.decompress(body, limit + 1 - len(out))
        except zlib.error as fault:
            raise TransportError("torn", "a body that is said to be gzip and is not") from fault
        if len(out) > limit:
            raise TransportError("size", f"a packed answer of more than {limit:,} bytes")
        if not unpack.eof:
            raise TransportError("torn", "the packed body ended too early")
        body = unpack.unused_data
    return out
