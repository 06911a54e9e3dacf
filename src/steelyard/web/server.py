"""A socket, a server on it, and a clean end."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from dataclasses import replace

import uvicorn

from steelyard.errors import SourceError, UsageError
from steelyard.web.app import make_app
from steelyard.web.settings import Serving

GRACE = 3  # seconds for answers that are on their way


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens there, or advice."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except OSError as fault:
        raise UsageError(f"cannot listen at {host!r}", got=str(fault.strerror or fault), need="an address of this machine") from None
    made = socket.socket(family, kind)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(128)
    except OSError as fault:
        made.close()
        if fault.errno == errno.EADDRINUSE:
            raise SourceError(
                f"cannot listen at {host}:{port}", got="a port that is in use", need="a free one", hint="port=0 takes any that is free"
            ) from None
        raise SourceError(f"cannot listen at {host}:{port}", got=str(fault.strerror or fault), need="an address of this machine") from None
    made.set_inheritable(False)
    return made


def address_of(found: socket.socket) -> str:
    """The address of a page on this socket."""
    host, port = found.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def serve(serving: Serving, found: socket.socket, *, ready: Callable[[], None] = lambda: None) -> None:
    """Answer until Ctrl-C. `ready` is called when the first page could be asked for."""
    app = make_app(replace(serving, port=found.getsockname()[1]))
    settings = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=GRACE,
    )
    server = uvicorn.Server(settings)
    ready()
    try:
        server.run(sockets=[found])
    except KeyboardInterrupt:  # uvicorn passes the signal on when it has closed everything
        pass
    finally:
        found.close()
