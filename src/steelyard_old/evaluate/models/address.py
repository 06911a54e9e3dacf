"""Addresses of servers: the base URL as people write it, what of it may be shown, its credentials, and the proxy on the way."""

from __future__ import annotations

import base64
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from steelyard_old.errors import UsageError

PATHS: dict[str, str] = {"chat": "/chat/completions", "completions": "/completions"}


class Secret(str):
    """A text that does not show itself where values are printed: in a traceback with locals, in a repr of what holds it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


def address(base_url: str) -> SplitResult:
    """The base URL as people write it: with or without /v1 (where there is no path at all), a slash, or the path of a call at its end.

    >>> [address(url).path for url in ("http://h:1", "http://h:1/v1/", "http://h:1/api/v1/chat/completions")]
    ['/v1', '/v1', '/api/v1']
    """
    need, hint = "http://host:port/v1 or https://host/v1", "as in base_url='http://127.0.0.1:8000/v1'"
    try:
        url = urlsplit(base_url.strip())
        port = url.port
    except ValueError as fault:
        raise UsageError(
            f"The base URL must be {need}; its host or port is not valid.", got="a host or port that is not valid", need=need, hint=hint
        ) from fault
    strange = not url.netloc.isascii() or any(each.isspace() or not each.isprintable() for each in base_url.strip())
    if url.scheme not in ("http", "https") or not url.hostname or port == 0 or strange:
        raise UsageError(f"The base URL must be {need}, not {shown(url)!r}.", got=repr(shown(url)), need=need, hint=hint)
    path = url.path.rstrip("/")
    for tail in PATHS.values():
        path = path.removesuffix(tail)
    return url._replace(path=path or "/v1", fragment="")


def shown(url: SplitResult) -> str:
    """An address for people and files: without user, password and query.

    >>> shown(urlsplit("https://me:secret@model.example/v1?key=secret"))
    'https://model.example/v1'
    """
    host = url.netloc.rpartition("@")[2]
    return f"{url.scheme}://{host}{url.path}" if url.netloc else url.path.rpartition("@")[2]


def credentials(key: str | None, url: SplitResult) -> tuple[dict[str, str], list[str]]:
    """The header that lets us in, and the texts that nobody may see: the key, or the user and password of the address."""
    hidden = [value for _, value in parse_qsl(url.query) if len(value) >= 8]
    key = (key or "").strip()
    if url.username is not None and key:
        raise UsageError(
            "There are two credentials: a key, and a user in the base URL.",
            got="a key, and a user in the base URL",
            need="one of them",
            hint="take the user out of the base URL",
        )
    if url.username is not None:
        header = basic(url)
        pair = f"{unquote(url.username)}:{unquote(url.password or '')}"
        return {"Authorization": header}, [*hidden, header.removeprefix("Basic "), pair, *filter(None, [unquote(url.password or "")])]
    if not key:
        return {}, hidden
    if not key.isascii() or not key.isprintable() or " " in key:
        strange = "one with spaces, line ends or letters that no header can hold"
        raise UsageError(
            "The key has spaces, line ends or letters that no header can hold; copy it as the provider shows it.",
            got=strange,
            need="the key as the provider shows it",
        )
    return {"Authorization": Secret(f"Bearer {key}")}, [*hidden, key]


def basic(url: SplitResult) -> Secret:
    """User and password of an address as the header of basic authentication has them."""
    pair = f"{unquote(url.username or '')}:{unquote(url.password or '')}"
    return Secret("Basic " + base64.b64encode(pair.encode()).decode())


def proxy_for(server: SplitResult) -> SplitResult | None:
    """The proxy that the environment names for a server: HTTPS_PROXY or HTTP_PROXY, unless NO_PROXY has it. Never for this machine."""
    import urllib.request  # only here: it takes longer to load than all the rest

    found = urllib.request.getproxies_environment()
    named = found.get(server.scheme) or found.get("all")
    host = server.netloc.rpartition("@")[2]
    if not named or is_loopback(server.hostname or "") or urllib.request.proxy_bypass_environment(host, found):  # type: ignore[attr-defined]
        return None
    proxy = urlsplit(named if "://" in named else f"http://{named}")
    if proxy.scheme != "http" or not proxy.hostname:
        raise UsageError(
            f"The proxy of the environment begins with {proxy.scheme}://; it must be http://host:port.",
            got=f"one that begins with {proxy.scheme}://",
            need="http://host:port",
            hint=f"set {server.scheme.upper()}_PROXY, or add {server.hostname} to NO_PROXY",
        )
    return proxy


def is_loopback(host: str) -> bool:
    """Whether a host is this machine.

    >>> is_loopback("localhost"), is_loopback("127.0.0.2"), is_loopback("::1"), is_loopback("model.example")
    (True, True, True, False)
    """
    import ipaddress

    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
