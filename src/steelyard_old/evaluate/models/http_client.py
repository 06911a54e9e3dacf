"""HTTP to one server: connections kept alive, proxies, separate timeouts, and a cap on what is read.

Nothing is retried here but one thing: a kept connection that the server had closed meanwhile, before a single byte of an
answer came. No redirect is followed, since the key would go with it. Names are looked up by the system, which has its own timeout.
"""

from __future__ import annotations

import http.client
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from urllib.parse import quote, unquote, urlsplit

from steelyard_old.errors import UsageError
from steelyard_old.evaluate.models.address import basic, proxy_for
from steelyard_old.evaluate.models.response import Reply, ResponseReader, TransportError, unpacked
from steelyard_old.redaction import remember

_PIECE = 1 << 16
_IN_PATHS = "/?&=%:;,+@!$'()*~"  # left as they are; the rest is quoted


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
                raise UsageError(
                    f"The {name} timeout must be a positive number of seconds, not {seconds!r}.",
                    got=repr(seconds),
                    need="a positive number of seconds",
                )


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
        self._idle: list[PooledConnection] = []
        self._lock = threading.Lock()
        self._closed = False

    def send(self, path: str, body: bytes, headers: Mapping[str, str], *, method: str = "POST", fresh: bool = False) -> Reply:
        """Send a body to a path of the server, and read the whole answer. Lost if that fails, whatever the reason.

        fresh: on a new connection, so that nothing is ever sent twice: for a request that makes a new thing each time.
        """
        until = self.clock() + self.timeouts.total
        request = with_body(self.head(method, path, headers), body)
        kept = None if fresh else self.kept()
        if kept is not None:
            try:
                return self._exchange(kept, until, method, request)
            except TransportError as lost:
                if lost.reason != "connection":
                    raise
                self.sent_again()
        return self._exchange(self.connected(until), until, method, request)

    def close(self) -> None:
        """Close the idle connections now, those in use when they are done."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for line in idle:
            line.connection.close()

    # ---- connections -----------------------------------------------------------------------------------------------

    def kept(self) -> PooledConnection | None:
        """A connection that was used before and is still open; None if there is none."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                line = self._idle.pop()  # the one used last: the others may be closed by the server in peace
            if _quiet(line.connection.sock):
                return line
            line.connection.close()

    def connected(self, until: float) -> PooledConnection:
        """A new connection, to the server or through the proxy, with TLS where the address says so. It takes a while."""
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
        return PooledConnection(connection)

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

    def _exchange(self, line: PooledConnection, until: float, method: str, request: bytes) -> Reply:
        reader = ResponseReader(self.limit, bodiless=method == "HEAD")
        reusable = False
        try:
            self._talk(line.connection.sock, reader, until, request)
            reusable = reader.reusable
        except OSError as fault:
            raise self.lost(fault, reader, until) from fault
        finally:
            self.put_back(line, reusable)
        return self.reply(reader)

    def _talk(self, sock: socket.socket, reader: ResponseReader, until: float, request: bytes) -> None:
        sock.settimeout(max(until - self.clock(), 0.001))
        sock.sendall(request)
        while True:
            left = until - self.clock()
            if left <= 0:
                raise TimeoutError("no time is left")
            # A socket knows only the time between two bytes, and a slow drip would keep it busy for ever.
            sock.settimeout(min(left, self.timeouts.read))
            data = sock.recv(_PIECE)
            if not data:
                return reader.end()
            if reader.feed(data):
                return None

    def lost(self, fault: OSError, reader: ResponseReader, until: float) -> TransportError:
        """What a fault of the socket means: before anything was heard the connection was lost; after that, the answer."""
        if isinstance(fault, TimeoutError):
            late = self.clock() >= until
            said = f"no whole answer within {self.timeouts.total:g} s" if late else f"nothing came for {self.timeouts.read:g} s"
            return TransportError("timeout", said)
        return TransportError("torn" if reader.heard else "connection", _words(fault))

    def reply(self, reader: ResponseReader) -> Reply:
        """What was read, its body unpacked."""
        found = reader.reply()
        packing = found.headers.get("content-encoding")
        return found if packing is None else replace(found, body=unpacked(found.body, packing, self.limit))

    def sent_again(self) -> None:
        """Nothing came back on a connection that had been lying idle: the server had closed it, and the request is sent once more."""
        with self._lock:
            self.resent += 1

    def head(self, method: str, path: str, headers: Mapping[str, str]) -> bytes:
        """All of a request that comes before its length and its body (`with_body`)."""
        host = self.server.netloc.rpartition("@")[2]
        lines = {"Host": host, "Accept-Encoding": "gzip", **headers}
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
        return "\r\n".join((*head, "Content-Length: ")).encode("ascii")

    def put_back(self, line: PooledConnection, reusable: bool = True) -> None:
        """Keep a connection for the next request, or close it."""
        with self._lock:
            if reusable and not self._closed:
                self._idle.append(line)
                return
        line.connection.close()


@dataclass(frozen=True, slots=True, eq=False)
class PooledConnection:
    """A connection that may be used again."""

    connection: http.client.HTTPConnection


def with_body(head: bytes, body: bytes) -> bytes:
    """A request as it goes over the wire, in one piece."""
    return b"%s%d\r\n\r\n%s" % (head, len(body), body)


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
