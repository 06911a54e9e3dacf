"""Sessions without a memory: a cookie that only this server can have written, and a form token that belongs to it."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass

HOURS = 12
ANYONE, KNOWN = "anyone", "known"


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserSession:
    """Who is asking. `known` means that the token was given."""

    id: str
    known: bool = False
    fresh: bool = False


class Sessions:
    """Cookies and form tokens, signed with a secret that dies with the server."""

    def __init__(self, secret: bytes, port: int = 0) -> None:
        self._secret = secret
        self._ended: set[str] = set()
        self.cookie = f"steelyard_{port}"  # a browser does not keep ports of one host apart, so the name does

    def begun(self, *, known: bool = False) -> BrowserSession:
        """A new session. Signing in always begins one: a cookie that was planted before is worth nothing afterwards."""
        return BrowserSession(id=f"{int(time.time()):x}-{secrets.token_hex(16)}", known=known, fresh=True)

    def written(self, session: BrowserSession) -> str:
        """The value of its cookie."""
        rank = KNOWN if session.known else ANYONE
        return f"{session.id}.{rank}.{self._mac('session', session.id, rank)}"

    def read(self, value: str | None) -> BrowserSession:
        """The session of a cookie, or a new one for somebody unknown."""
        parts = (value or "").split(".")
        if len(parts) != 3:
            return self.begun()
        id_, rank, mac = parts
        if rank not in (ANYONE, KNOWN) or not _same(mac, self._mac("session", id_, rank)) or id_ in self._ended or _old(id_):
            return self.begun()
        return BrowserSession(id=id_, known=rank == KNOWN)

    def end(self, session: BrowserSession) -> None:
        """The cookie is worth nothing from now on."""
        self._ended.add(session.id)

    def form_token(self, session: BrowserSession) -> str:
        """What every form of this session must bring along."""
        return self._mac("form", session.id, KNOWN if session.known else ANYONE)

    def is_form_token(self, session: BrowserSession, given: str) -> bool:
        return _same(given, self.form_token(session))

    def _mac(self, *parts: str) -> str:
        return hmac.new(self._secret, "\0".join(parts).encode(), hashlib.sha256).hexdigest()


def _same(a: str, b: str) -> bool:
    """Compared in a time that does not tell where they differ."""
    return hmac.compare_digest(a.encode("utf-8", "replace"), b.encode())


def same_secret(given: str, secret: str) -> bool:
    """Whether a token is the right one. Hashed first, so that the time tells not even its length."""
    a, b = (hashlib.sha256(text.encode("utf-8", "replace")).digest() for text in (given, secret))
    return bool(secret) and hmac.compare_digest(a, b)


def _old(id_: str) -> bool:
    try:
        begun = int(id_.partition("-")[0], 16)
    except ValueError:
        return True
    return not 0 <= time.time() - begun < HOURS * 3600
