"""What a dashboard serves and to whom: the history, the references, the names it answers to, and its token."""

from __future__ import annotations

import ipaddress
import os
import secrets
from dataclasses import dataclass, field

from steelyard_old.errors import UsageError
from steelyard_old.history.store import History, open_history

SHORTEST = 16  # letters of a token that somebody chose
LOCAL = ("localhost", "127.0.0.1", "::1")
Where = str | os.PathLike[str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """The settings of one server. `local` says that only this machine can reach it: then reading needs no token."""

    history: str
    base: Where = None
    shown: str = ""
    config: Where = None
    directory: Where = None
    local: bool = True
    names: frozenset[str] = frozenset(LOCAL)
    any_address: bool = False
    port: int = 0
    token: str = field(default="", repr=False)
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def opened(self) -> History:
        """The history, for one request: a connection belongs to the thread that opened it."""
        return open_history(self.history, base=self.base, create=False)

    def knows(self, host: str) -> bool:
        """Whether a Host header is one of ours. A page of somebody else that has its name lead here is not.

        >>> Serving(history="").knows("127.0.0.1:8765"), Serving(history="").knows("evil.example:8765")
        (True, False)
        """
        name = host_name(host)
        return name is not None and (name in self.names or (self.any_address and _address(name) is not None))


def host_name(header: str) -> str | None:
    """The name in a Host header, without the port and the brackets; None if it is malformed.

    >>> host_name("[::1]:8765"), host_name("Localhost"), host_name("a:b:c")
    ('::1', 'localhost', None)
    """
    if header.startswith("["):
        name, closed, port = header[1:].partition("]")
        fits = bool(closed) and (port == "" or (port.startswith(":") and port[1:].isdecimal()))
        return name.lower() if fits and ":" in name else None
    name, colon, port = header.partition(":")
    return name.lower() if name and (not colon or port.isdecimal()) else None


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def is_local(host: str) -> bool:
    """Whether only this machine can reach what listens there.

    >>> is_local("127.0.0.1"), is_local("localhost"), is_local("0.0.0.0")
    (True, True, False)
    """
    address = _address(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


def names_of(host: str, allowed: tuple[str, ...] = ()) -> tuple[frozenset[str], bool]:
    """The names a server answers to when it listens at `host`, and whether any bare address will do (it listens at all of them).

    A bare address is safe from names that lead elsewhere tomorrow, because it is no name.
    """
    address = _address(host)
    everywhere = address is not None and address.is_unspecified
    own = LOCAL if is_local(host) or everywhere else (host.lower(),)
    return frozenset((*own, *(name.lower() for name in allowed))), everywhere


def checked_token(token: str | None) -> str:
    """The token as given, or a new one that nobody can guess."""
    if token is None:
        return secrets.token_urlsafe(24)
    if len(token) < SHORTEST or not token.isascii() or not token.isprintable() or token != token.strip():
        raise UsageError(
            f"The token must be at least {SHORTEST} printable ASCII characters; it has "
            f"{f'{len(token)} characters' if len(token) < SHORTEST else 'characters that a form would change'}.",
            got=f"{len(token)} characters" if len(token) < SHORTEST else "characters that a form would change",
            need=f"at least {SHORTEST} printable ASCII characters",
            hint="without token= a new one is made and printed",
        )
    return token
