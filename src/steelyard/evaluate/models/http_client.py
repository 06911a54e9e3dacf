"""HTTP to one server, over http.client: connections kept alive, proxies, separate timeouts, and a cap on what is read.

Nothing is retried here but one thing: a kept connection that the server had closed meanwhile, before a single byte of an
answer came. No redirect is followed, since the key would go with it. Names are looked up by the system, which has its own timeout.
"""

from __future__ import annotations

import http.client
import io
import select
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote, unquote, urlsplit

from steelyard.errors import UsageError
from steelyard.evaluate.models.address import basic, proxy_for
from steelyard.redaction import remember

Reason = Literal["name", "connection", "tls", "timeout", "torn", "size", "encoding"]
_PIECE = 1 << 16
_AS_IT_IS = ("", "identity")
_IN_PATHS = "/?&=%:;,+@!$'()*~"  # left as they are; the rest is quoted


class TransportError(Exception):
    """No whole answer came. `reason` is one word for the kind of failure; `connecting` that the request was never sent."""

    def __init__(self, reason: Reason, words: str, *, connecting: bool = False) -> None:
        self.reason, self.words, self.connecting = reason, words, connecting
        super().__init__(f"{reason}: {words}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Seconds: to get a connection, without a byte while waiting for an answer, and for all of a request together.

    A model that is asked for a whole answer says nothing until it is ready, so `read` has to be as long as it may think.
    """

    connect: float = 10.0
    read: float = 300.0
    total: float = 600.0

    def __post_init__(self) -> None:
        for name in ("connect", "read", "total"):
            seconds = getattr(self, name)
            if not 0 < seconds < float("inf"):
                raise UsageError(f"cannot use the {name} timeout", got=repr(seconds), need="a positive number of seconds")


@dataclass(frozen=True, slots=True)
class Reply:
    """What the server said. The names of headers are in small letters; the body is unpacked."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpClient:
    """A server, and connections to it that are used again. `send` may be called from many threads at once.

    `opened` counts the connections, `resent` the requests that were sent again because a kept connection had been closed.
    """

    def __init__(
        self,
        url: str,
        *,
        timeouts: Timeouts | None = None,
        limit: int = 64 << 20,
        tls: ssl.SSLContext | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.server = urlsplit(url)
        self.timeouts, self.limit, self.clock = timeouts or Timeouts(), limit, clock
        self.proxy = proxy_for(self.server)
        if self.proxy is not None and self.proxy.username:
            remember(unquote(self.proxy.password or ""))
            remember(basic(self.proxy).removeprefix("Basic "))
        self.opened = self.resent = 0
        self._tls = tls
        self._idle: list[_PooledConnection] = []
        self._lock = threading.Lock()
        self._closed = False

    def send(self, path: str, body: bytes, headers: Mapping[str, str], *, method: str = "POST", fresh: bool = False) -> Reply:
        """Send a body to a path of the server, and read the whole answer. Lost if that fails, whatever the reason.

        fresh: on a new connection, so that nothing is ever sent twice: for a request that makes a new thing each time.
        """
        until = self.clock() + self.timeouts.total
        kept = None if fresh else self._kept()
        if kept is not None:
            try:
                return self._exchange(kept, until, method, path, body, headers)
            except TransportError as lost:
                # Nothing came back on a connection that had been lying idle: the server had closed it.
                if lost.reason != "connection" or kept.ear.heard:
                    raise
                with self._lock:
                    self.resent += 1
        return self._exchange(self._connected(until), until, method, path, body, headers)

    def close(self) -> None:
        """Close the idle connections now, those in use when they are done."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for line in idle:
            line.connection.close()

    # ---- connections -----------------------------------------------------------------------------------------------

    def _kept(self) -> _PooledConnection | None:
        while True:
            with self._lock:
                if not self._idle:
                    return None
                line = self._idle.pop()  # the one used last: the others may be closed by the server in peace
            if _quiet(line.connection.sock):
                return line
            line.connection.close()

    def _connected(self, until: float) -> _PooledConnection:
        host, port, secure = self._address()
        connection: http.client.HTTPConnection  # to connect: through a proxy, and with TLS
        if secure:
            connection = http.client.HTTPSConnection(host, port, context=self._context())
        else:
            connection = http.client.HTTPConnection(host, port)
        if self.proxy and self.server.scheme == "https":
            connection.set_tunnel(self.server.hostname or "", self.server.port or 443, self._proxy_key())
        connection.timeout = max(min(self.timeouts.connect, until - self.clock()), 0.001)
        try:
            connection.connect()
        except (OSError, http.client.HTTPException, UnicodeError) as fault:
            connection.close()
            raise _lost_connecting(fault, f"{host}:{port}") from fault
        with self._lock:
            self.opened += 1
        return _PooledConnection(connection, _DeadlineReader(connection.sock, self.clock))

    def _address(self) -> tuple[str, int, bool]:
        secure = self.server.scheme == "https"
        if self.proxy:
            return self.proxy.hostname or "", self.proxy.port or 8080, secure
        return self.server.hostname or "", self.server.port or (443 if secure else 80), secure

    def _proxy_key(self) -> dict[str, str]:
        return {"Proxy-Authorization": basic(self.proxy)} if self.proxy and self.proxy.username else {}

    def _context(self) -> ssl.SSLContext:
        with self._lock:  # making one reads all certificates of the system: once, and only if there is need of it
            if self._tls is None:
                self._tls = ssl.create_default_context()
            return self._tls

    # ---- one request -----------------------------------------------------------------------------------------------

    def _exchange(self, line: _PooledConnection, until: float, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Reply:
        whole = False
        try:
            reply, again = self._talk(line, until, method, path, body, headers)
            whole = again
        except TimeoutError as fault:
            raise TransportError("timeout", self._waited(until)) from fault
        except http.client.IncompleteRead as fault:
            raise TransportError("torn", "the body ended too early") from fault
        except OSError as fault:
            # Before anything was heard the connection was lost; after that, the answer.
            raise TransportError("torn" if line.ear.heard else "connection", _words(fault)) from fault
        except http.client.HTTPException as fault:
            raise TransportError("torn", f"not HTTP as we know it ({type(fault).__name__})") from fault
        finally:
            self._done(line, whole)
        return reply

    def _talk(
        self, line: _PooledConnection, until: float, method: str, path: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[Reply, bool]:
        line.ear.listen(until, self.timeouts.read)
        line.connection.sock.settimeout(max(until - self.clock(), 0.001))
        line.connection.sock.sendall(self._head(method, path, headers, len(body)) + body)  # in one piece, where http.client makes two
        response = http.client.HTTPResponse(line.ear, method=method)  # type: ignore[arg-type]
        try:
            response.begin()
            found = self._body(response)
            again = not response.will_close
        finally:
            response.close()
        named = {name.lower(): value for name, value in response.getheaders()}
        return Reply(response.status, named, unpacked(found, named.get("content-encoding", ""), self.limit)), again

    def _head(self, method: str, path: str, headers: Mapping[str, str], length: int) -> bytes:
        host = self.server.netloc.rpartition("@")[2]
        lines = {"Host": host, "Accept-Encoding": "gzip", "Content-Length": str(length), **headers}
        target = quote(path, safe=_IN_PATHS)
        if self.proxy and self.server.scheme == "http":
            target, lines = f"http://{host}{target}", lines | self._proxy_key()
        head = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in lines.items())]
        if any(not line.isascii() or not line.isprintable() for line in head):  # a line end in a value would be a header of its own
            raise UsageError(
                "A header of the request is not plain ASCII text.",
                got="a header that is not plain text",
                need="letters, digits and signs of ASCII",
            )
        return "\r\n".join((*head, "", "")).encode("ascii")

    def _body(self, response: http.client.HTTPResponse) -> bytes:
        if (response.length or 0) > self.limit:
            raise TransportError("size", f"an answer of {response.length:,} bytes, more than {self.limit:,}")
        pieces, size = [], 0
        while piece := response.read(_PIECE):
            pieces.append(piece)
            size += len(piece)
            if size > self.limit:
                raise TransportError("size", f"an answer of more than {self.limit:,} bytes")
        if response.length:  # http.client keeps quiet about it when it is read in pieces
            raise http.client.IncompleteRead(b"", response.length)
        return b"".join(pieces)

    def _waited(self, until: float) -> str:
        if self.clock() >= until:
            return f"no whole answer within {self.timeouts.total:g} s"
        return f"nothing came for {self.timeouts.read:g} s"

    def _done(self, line: _PooledConnection, whole: bool) -> None:
        with self._lock:
            if whole and not self._closed:
                self._idle.append(line)
                return
        line.connection.close()


# ---- what http.client lacks ----------------------------------------------------------------------------------------


class _DeadlineReader:
    """How long to listen: a socket knows only the time between two bytes, and a slow drip would keep it busy for ever.

    For http.client it is the socket, which has to make a file to read from.
    """

    def __init__(self, sock: socket.socket, clock: Callable[[], float]) -> None:
        self.sock, self.clock, self.until, self.silence, self.heard = sock, clock, 0.0, 0.0, 0

    def listen(self, until: float, silence: float) -> None:
        self.until, self.silence, self.heard = until, silence, 0

    def makefile(self, *_: Any) -> io.BufferedReader:
        return io.BufferedReader(_Incoming(self))


class _Incoming(io.RawIOBase):
    """The bytes of a socket, each read with the time that is left. A file of the socket's, so that it is closed when both are."""

    def __init__(self, ear: _DeadlineReader) -> None:
        self._ear = ear
        self._raw: Any = ear.sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        left = self._ear.until - self._ear.clock()
        if left <= 0:
            raise TimeoutError("no time is left")
        self._ear.sock.settimeout(min(left, self._ear.silence))
        many = int(self._raw.readinto(into) or 0)
        self._ear.heard += many
        return many

    def close(self) -> None:
        self._raw.close()
        super().close()


@dataclass(frozen=True, slots=True, eq=False)
class _PooledConnection:
    connection: http.client.HTTPConnection
    ear: _DeadlineReader


def _quiet(sock: socket.socket | None) -> bool:
    """Whether an idle connection is still open: one that can be read from was closed, or says what nobody asked for."""
    if sock is None:
        return False
    if hasattr(select, "poll"):  # select itself knows no more than 1024 descriptors
        watch = select.poll()
        watch.register(sock, select.POLLIN | select.POLLHUP | select.POLLERR)
        return not watch.poll(0)
    return not select.select([sock], [], [], 0)[0]


def _lost_connecting(fault: Exception, where: str) -> TransportError:
    if isinstance(fault, socket.gaierror | UnicodeError):
        return TransportError("name", f"no address is known for {where}", connecting=True)
    if isinstance(fault, TimeoutError):
        return TransportError("timeout", f"no connection to {where} in time", connecting=True)
    # A server that closes in the middle of the handshake may be starting or crowded; one that speaks another TLS, or none, is not.
    if isinstance(fault, ssl.SSLError) and not isinstance(fault, ssl.SSLEOFError | ssl.SSLZeroReturnError | ssl.SSLSyscallError):
        return TransportError("tls", f"{where}: {_words(fault)}", connecting=True)
    return TransportError("connection", f"{where}: {_words(fault)}", connecting=True)


def _words(fault: BaseException) -> str:
    return getattr(fault, "strerror", None) or str(fault) or type(fault).__name__


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
