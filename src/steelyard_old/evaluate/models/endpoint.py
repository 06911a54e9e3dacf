"""A model behind an OpenAI-compatible address: chat or completions, retried with patience, the key in the header and nowhere else."""

from __future__ import annotations

import json
import math
import random
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, Literal
from urllib.parse import urlsplit

from steelyard_old.errors import DataError, SourceError, UsageError
from steelyard_old.evaluate.asking.asks import Answer, Ask, Case
from steelyard_old.evaluate.asking.plain import without_secrets
from steelyard_old.evaluate.models.address import PATHS, address, credentials, is_loopback, shown
from steelyard_old.evaluate.models.conversations import Arrived, Conversations, RunEnded, Steps, Wanted
from steelyard_old.evaluate.models.http_client import HttpClient, Timeouts
from steelyard_old.evaluate.models.replies import ErrorReply, Unreadable, answer_in, code_of, of_prompt, words_of
from steelyard_old.evaluate.models.response import Reason, Reply, TransportError
from steelyard_old.redaction import redact, redact_bytes, remember, shortened
from steelyard_old.version import __version__

LONGEST = 60.0  # seconds: no pause and no wait is longer, whatever a server says


def worth_a_retry(status: int) -> bool:
    """Whether the same request may succeed later: 408, 409, 425, 429 and what is the server's own fault.

    >>> [status for status in (400, 401, 404, 408, 409, 422, 425, 429, 500, 503) if worth_a_retry(status)]
    [408, 409, 425, 429, 500, 503]
    """
    return status in (408, 409, 425, 429) or status >= 500


def asked_to_wait(headers: Mapping[str, str], now: float | None = None, longest: float = LONGEST) -> float | None:
    """Seconds that `retry-after-ms` or `Retry-After` asks for, from 0 to longest; None if it asks for nothing we can read.

    A date is counted from the `Date` of the same answer, since the two clocks may differ; without one, from `now`.

    >>> asked_to_wait({"retry-after": "2"}), asked_to_wait({"retry-after-ms": "250"}), asked_to_wait({"retry-after": "soon"})
    (2.0, 0.25, None)
    >>> asked_to_wait({"retry-after": "Mon, 16 Nov 2026 04:30:07 GMT", "date": "Mon, 16 Nov 2026 04:30:00 GMT"})
    7.0
    """
    seconds = _number(headers.get("retry-after-ms"), 1e-3)
    if seconds is None:
        seconds = _number(headers.get("retry-after"), 1.0)
    if seconds is None:
        then = _date(headers.get("retry-after"))
        if then is None:
            return None
        here = _date(headers.get("date"))
        seconds = then - (here if here is not None else time.time() if now is None else now)
    return min(max(seconds, 0.0), longest)


def _number(text: str | None, unit: float) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number * unit if math.isfinite(number) else None


def _date(text: str | None) -> float | None:
    try:
        then = parsedate_to_datetime(text or "")
        return (then if then.tzinfo else then.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):  # what the standard library raises on dates that are none
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often one ask is tried, and how long before it is tried again: full jitter below a bound that grows by a factor.

    The first wait is short, since most faults are over at once; together they outlast a limit per minute that comes unannounced.
    """

    attempts: int = 6
    timeouts: int = 3
    first: float = 0.25
    factor: float = 4.0
    longest: float = LONGEST

    def __post_init__(self) -> None:
        if self.attempts < 1 or self.timeouts < 1:
            raise UsageError(
                f"attempts and timeouts must be at least 1, not {self.attempts} and {self.timeouts}.",
                got=f"{self.attempts} attempts, {self.timeouts} timeouts",
                need="at least 1 of each",
            )

    def bound(self, failed: int) -> float:
        """The longest wait after so many failures.

        >>> [RetryPolicy().bound(failed) for failed in (1, 2, 3, 4, 5, 5000)]
        [0.25, 1.0, 4.0, 16.0, 60.0, 60.0]
        """
        return min(self.first * self.factor ** min(failed - 1, 60), self.longest)

    def wait(self, failed: int, luck: float, asked: float | None = None) -> float:
        """Seconds to wait after so many failures: `luck` (0 to 1) of the bound, and no less than the server asked for."""
        return max(luck * self.bound(failed), asked or 0.0)


class RateLimiter:
    """Who may ask now. `enter` before a request, `leave` after it; then tell how it went: `went_well`, `refused`.

    `clock` and `sleep` are there for tests. `allowed` is how many requests may be under way, never above `limit`, never below 1.
    """

    def __init__(
        self,
        limit: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] | None = None,
        luck: Callable[[], float] = random.random,
    ) -> None:
        if limit < 1:
            raise UsageError(f"concurrency must be at least 1, not {limit}.", got=f"concurrency {limit}", need="at least 1")
        self.limit = self.allowed = self.lowest = limit
        self.luck, self._clock = luck, clock
        self._free = threading.Condition()
        self._ended = threading.Event()
        self._sleep = sleep or self._ended.wait  # an event wakes up when the run ends, however long it was to sleep
        self._under_way = self._well = self._round = 0
        self._paused_until = -math.inf

    def enter(self) -> int:
        """Wait for a turn. What it returns is handed to `refused`, if it comes to that."""
        while True:
            with self._free:
                while self._under_way >= self.allowed and not self._ended.is_set():
                    self._free.wait()
                turn, pause = self._turn()
            if turn is not None:
                return turn
            self._sleep(pause)

    def try_enter(self) -> tuple[int | None, float]:
        """A turn, if there is one now; otherwise None, and the seconds after which to try again (infinite: when somebody leaves)."""
        with self._free:
            return (None, math.inf) if self._under_way >= self.allowed and not self._ended.is_set() else self._turn()

    def _turn(self) -> tuple[int | None, float]:
        if self._ended.is_set():
            raise RunEnded
        pause = self._paused_until - self._clock()
        if pause > 0:
            return None, pause
        self._under_way += 1
        return self._round, 0.0

    def leave(self) -> None:
        """A request is over."""
        with self._free:
            self._under_way -= 1
            self._free.notify()

    def went_well(self) -> None:
        """A whole window of these allows one more."""
        with self._free:
            self._well += 1
            if self._well >= self.allowed:
                self._well = 0
                self.allowed = min(self.allowed + 1, self.limit)
                self._free.notify()

    def refused(self, turn: int) -> None:
        """Half as many from now on; the other refusals of requests that were under way then are the same news."""
        with self._free:
            self._well = 0
            if turn == self._round:
                self._round += 1
                self.allowed = max(self.allowed // 2, 1)
                self.lowest = min(self.lowest, self.allowed)

    def pause(self, seconds: float) -> None:
        """Nobody begins before so many seconds are over."""
        with self._free:
            self._paused_until = max(self._paused_until, self._clock() + seconds)

    def rest(self, seconds: float) -> None:
        """Wait before a retry, without holding a place. Stopped if the run ends meanwhile."""
        if seconds > 0 and not self._ended.is_set():
            self._sleep(seconds)
        if self._ended.is_set():
            raise RunEnded

    @property
    def ended(self) -> bool:
        """Whether the run has ended."""
        return self._ended.is_set()

    def stop(self) -> None:
        """Let nobody begin any more; those who wait are told at once."""
        self._ended.set()
        with self._free:
            self._free.notify_all()


Api = Literal["chat", "completions"]
OURS = ("model", "messages", "prompt", "n", "stream")
LONGEST_WORDS = 200
PROBE = "One, two, three, four."
_NAMES: dict[Reason, str] = {
    "connection": "connection lost",
    "name": "connection lost",
    "tls": "connection lost",
    "size": "unusable answer",
    "encoding": "unusable answer",
    "timeout": "timeout",
    "torn": "torn answer",
}


class Endpoint:
    """A `Model` (evaluate/asking/asks.py) that is asked over HTTP. `ask` is safe from as many threads as you like.

    A failed ask is an Answer with an error. What no ask can survive is a SourceError: a wrong key, model or path, another TLS, a
    host nobody knows, an account without credit, a server that could not be reached once. `faults` counts what went wrong on
    the way, retried or not; `requests` counts the attempts. `stop()` ends waiting, and lets requests that are under way finish.

    >>> Endpoint("m", "http://127.0.0.1:8000", key="sk-1", sampling={"temperature": 0})
    Endpoint('m', 'http://127.0.0.1:8000/v1', api='chat')
    """

    batch = 1
    one_thread = Conversations.possible()

    def __init__(
        self,
        name: str,
        base_url: str,
        *,
        key: str | None = None,
        api: Api = "chat",
        sampling: Mapping[str, Any] | None = None,
        logprobs: int | None = None,
        seeds: bool = True,
        timeouts: Timeouts | None = None,
        concurrency: int = 16,
        of_input: bool = False,
        patience: RetryPolicy | None = None,
        pace: RateLimiter | None = None,
        tls: ssl.SSLContext | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if api not in PATHS:
            raise UsageError(f"api must be chat or completions, not {api!r}.", got=f"api {api!r}", need="chat or completions")
        if of_input and api != "completions":
            raise UsageError(
                "A chat does not give the log-probabilities of what it is asked, which perplexity is made of.",
                got=f"api {api!r}",
                need="the API completions, with echo and logprobs",
                hint="api='completions'",
            )
        url = address(base_url)
        self.name, self.api, self.base_url = name, api, shown(url)
        self.sampling, self.logprobs = _split(sampling or {}, logprobs)
        self.concurrency, self.seeds = concurrency, seeds
        self.identity: dict[str, Any] = {
            "kind": "openai",
            "model": name,
            "base_url": self.base_url,
            "api": api,
            "sampling": dict(self.sampling),
        }
        self.identity |= {} if seeds else {"seeds": False}
        self.identity |= {"echo": True} if of_input else {}
        self.of_input, self._able, self._probing = of_input, False, threading.Lock()
        self._unable: SourceError | None = None
        self.warnings: list[str] = []
        self.patience, self.pace = patience or RetryPolicy(), pace or RateLimiter(concurrency)
        self.requests, self.faults = 0, Counter[str]()
        self._clock, self._lock, self._reached, self._answered = clock, threading.Lock(), False, False
        self._path = url.path + PATHS[api] + (f"?{url.query}" if url.query else "")
        self._wire = HttpClient(f"{url.scheme}://{url.netloc}", timeouts=timeouts, tls=tls)
        self._talking: list[Conversations] = []
        authorization, hidden = credentials(key, url)
        for each in hidden:
            remember(each)
        self._headers = {"Content-Type": "application/json", "User-Agent": f"steelyard/{__version__}", **authorization}
        if authorization and url.scheme == "http" and not is_loopback(url.hostname or ""):
            self.warnings.append(f"the key is sent to {self.base_url} without encryption: use https:// if the server has it")

    def __repr__(self) -> str:
        return f"Endpoint({self.name!r}, {self.base_url!r}, api={self.api!r})"

    def ask(self, asks: Sequence[Ask]) -> list[Answer]:
        """One answer per ask, in their order."""
        if self.of_input:
            self._probe()
        return [self._answer(ask) for ask in asks]

    def _probe(self) -> None:
        """Ask once for the log-probabilities of a few words: a server that cannot give them is found out before it is paid for texts."""
        with self._probing:
            if self._able or self.pace.ended:
                return
            if self._unable is not None:  # another thread has found out, and the run is about to end
                raise self._unable
            found = self._answer(Ask(case=Case(id="probe", input=PROBE, truth=None, row={})))
            if found.error is not None and not self.pace.ended:
                self._unable = SourceError(
                    f"The server at {self.base_url} gave no log-probabilities of a short text: {found.error.removesuffix('.')}.",
                    got=found.error,
                    need="completions with echo and logprobs",
                    hint="no text was sent yet; use a server whose completions echo log-probabilities, or a Python model that returns them",
                )
                raise self._unable
            self._able = found.error is None

    def stop(self) -> None:
        """Begin nothing more: asks that wait for their turn or for a retry are answered with an error at once."""
        self.pace.stop()
        for each in self._talking:
            each.ring()

    def close(self) -> None:
        """Stop, and let go of the connections."""
        self.stop()
        self._wire.close()

    # ---- one ask -----------------------------------------------------------------------------------------------------

    def _answer(self, ask: Ask) -> Answer:
        """Ask, and wait for everything that has to be waited for."""
        steps = self._steps(ask)
        try:
            wanted = next(steps)
            while True:
                try:
                    found = self._waited_for(wanted)
                except Exception as fault:
                    wanted = steps.throw(fault)
                else:
                    wanted = steps.send(found)
        except StopIteration as end:
            answer: Answer = end.value
            return answer

    def _waited_for(self, wanted: Wanted) -> int | Reply | None:
        if wanted is None:
            return self.pace.enter()
        if isinstance(wanted, bytes):
            return self._wire.send(self._path, wanted, self._headers)
        self.pace.rest(wanted)
        return None

    def all_at_once(self, most: int, arrived: Arrived) -> Conversations:
        """One thread for any number of asks, at most so many at once. `arrived` is called in it, with the asks that are over."""
        begun = Conversations(self._steps_of_many, self._wire, self.pace, self._path, self._headers, most, arrived)
        self._talking = [*(each for each in self._talking if each.thread.is_alive()), begun]
        return begun

    def _steps_of_many(self, ask: Ask) -> Steps:
        if self.of_input:
            self._probe()  # the others have to wait for it anyway
        return self._steps(ask)

    def _steps(self, ask: Ask) -> Steps:
        """One ask, up to its answer: every time something has to be waited for, what it is. See `Wanted`."""
        body = json.dumps(self.request(ask), allow_nan=False).encode()
        failed = timeouts = 0
        while True:
            try:
                turn = yield None
            except RunEnded:
                return Answer(error="stopped: the run ended before this was asked", attempts=failed)
            assert isinstance(turn, int)
            try:
                found = yield from self._attempt(body, turn, failed + 1)
            finally:
                self.pace.leave()  # not before a refusal has been taken to heart, or another would slip in
            if isinstance(found, Answer):
                return found
            failed += 1
            timeouts += found.timeout
            if not found.again or failed >= self.patience.attempts or timeouts >= self.patience.timeouts:
                return self._failed(found, failed)
            try:
                yield self.patience.wait(failed, self.pace.luck(), found.wait)
            except RunEnded:
                return Answer(error=self._public(f"stopped before another attempt, after {found.words}"), attempts=failed)

    def request(self, ask: Ask) -> dict[str, Any]:
        """The body of a request, as JSON will have it."""
        case = ask.case
        asked: dict[str, Any] = {"model": self.name}
        if self.api == "chat" and case.messages is not None:
            asked["messages"] = [dict(message) for message in case.messages]
        elif not isinstance(case.input, str):
            raise DataError(
                f"Item {case.id!r} has an input of type {type(case.input).__name__}; a language model needs text.",
                got=f"an input of type {type(case.input).__name__} for item {case.id!r}",
                need="a text",
                hint="write the task's input as a template, as in input = 'Q: {question}'",
            )
        elif self.api == "chat":
            asked["messages"] = [{"role": "user", "content": case.input}]
        else:
            asked["prompt"] = case.input
        if self.seeds:
            asked["seed"] = ask.seed & 0x7FFFFFFF  # what every server can hold; one in the sampling takes its place
        asked |= self.sampling | {"n": 1}
        if self.of_input:
            asked = {"max_tokens": 1, **asked, "echo": True, "logprobs": max(self.logprobs or 0, 1)}
        elif self.logprobs is not None:
            asked |= {"logprobs": True, "top_logprobs": self.logprobs} if self.api == "chat" else {"logprobs": self.logprobs}
        return asked

    def _attempt(self, body: bytes, turn: int, attempt: int) -> Generator[Wanted, int | Reply | None, Answer | _Failed]:
        began = self._clock()
        try:
            self._count("requests")
            sent = yield body
        except TransportError as lost:
            return self._lost(lost)
        assert isinstance(sent, Reply)
        reply = _clean(sent)
        took = self._clock() - began
        self._reached = True
        if not 200 <= reply.status < 300:
            return self._refused(reply, reply.status, turn)
        try:
            asked_for = self.of_input or self.logprobs is not None
            answer = answer_in(reply.body, api=self.api, logprobs=asked_for, attempts=attempt, seconds=took)
        except ErrorReply as said:
            return self._refused(reply, said.status or 500, turn)
        except Unreadable as fault:
            return self._fault("unreadable", f"unreadable answer: {fault}", again=True)
        self.pace.went_well()
        self._answered = True
        if self.of_input:
            return without_secrets(of_prompt(answer, generates=self.sampling.get("max_tokens") != 0, repeats="" if self._able else PROBE))
        if self.logprobs is not None and answer.more.get("logprobs") is None:
            self._warn("log-probabilities were asked for, and the server does not give them")
        return without_secrets(answer)

    # ---- failures ----------------------------------------------------------------------------------------------------

    def _lost(self, lost: TransportError) -> _Failed:
        if lost.reason == "tls" and not self._reached:  # later, a machine behind the address may be in trouble
            raise SourceError(
                f"TLS with the server failed: {self._public(lost.words)}.",
                got=self._public(lost.words),
                need="a certificate that this machine trusts",
                hint="check the address; http:// if the server has no TLS; SSL_CERT_FILE for a certificate of your own",
            )
        if lost.reason == "name" and not self._reached:
            raise SourceError(
                f"Cannot find the server: {self._public(lost.words)}.",
                got=self._public(lost.words),
                need="a host that exists",
                hint="check the base URL, and the proxy if there is one",
            )
        told = f"{_NAMES[lost.reason]}: {lost.words}"
        again = lost.reason not in ("size", "encoding")
        return self._fault(lost.reason, told, again=again, timeout=lost.reason == "timeout", never=lost.connecting)

    def _refused(self, reply: Reply, status: int, turn: int) -> _Failed:
        words, code = words_of(reply.body), code_of(reply.body)
        if status in (401, 402, 404, 405) or 300 <= status < 400 or code == "insufficient_quota" or (status == 403 and not self._answered):
            raise self._fatal(reply, status, words)
        wait = None
        if worth_a_retry(status):
            wait = asked_to_wait(reply.headers)
            if status == 429:
                self.pace.refused(turn)
            if wait is not None:
                self.pace.pause(wait)
        named = "rate limited" if status == 429 else "server error" if status >= 500 else "refused"
        return self._fault(str(status), f"{named} ({status}): {words or 'no words'}", again=worth_a_retry(status), wait=wait)

    def _fatal(self, reply: Reply, status: int, words: str) -> SourceError:
        """For what no ask can survive. A redirect is told and not followed: the key would go with it."""
        said = self._public(f"status {status}" + (f": {words}" if words else ""))
        if 300 <= status < 400:
            where = _where(reply.headers.get("location", ""))
            return SourceError(
                f"The server redirects (status {status}) to {self._public(where or 'nowhere')}.",
                got=self._public(f"status {status}, a redirect to {where or 'nowhere'}"),
                need="an answer",
                hint="give that address as the base URL, if you trust it with the key",
            )
        hints = {
            401: "is OPENAI_API_KEY set, and is it a key for this server?",
            402: "the account has no credit; run again when it has",
            403: "the key may not be allowed to use this model",
            404: f"check the model's name {self.name!r} and the address {self.base_url}, which usually ends with /v1",
            405: f"check the address {self.base_url}, which usually ends with /v1",
            429: "the account's quota is used up; run again when it is not",
        }
        what = f"The server {'denied access' if status in (401, 403) else 'refused the request'}: {said.removesuffix('.')}."
        return SourceError(what, got=said, need="an answer", hint=hints.get(status, hints[429]))

    def _failed(self, found: _Failed, attempts: int) -> Answer:
        if found.never and not self._reached:
            raise SourceError(
                f"Cannot reach the server at {self.base_url}: {f'{found.words}, {attempts} times' if attempts > 1 else found.words}.",
                got=f"{found.words}, {attempts} times" if attempts > 1 else found.words,
                need=f"a server at {self.base_url}",
                hint="is it running, and is the port right?",
            )
        return Answer(error=found.words, attempts=attempts)

    def _fault(
        self, kind: str, words: str, *, again: bool, timeout: bool = False, wait: float | None = None, never: bool = False
    ) -> _Failed:
        self._count(kind)
        return _Failed(self._public(words), again=again, timeout=timeout, wait=wait, never=never)

    # ---- the key, and counts -----------------------------------------------------------------------------------------

    def _public(self, words: str) -> str:
        """Words for people: without the key, even if the server repeats it, and short."""
        return shortened(words, LONGEST_WORDS)

    def _count(self, kind: str) -> None:
        with self._lock:
            if kind == "requests":
                self.requests += 1
            else:
                self.faults[kind] += 1

    def _warn(self, words: str) -> None:
        with self._lock:
            if words not in self.warnings:
                self.warnings.append(words)


def _clean(reply: Reply) -> Reply:
    """The reply of a server that may repeat the key, in any field and any header: before anybody reads it."""
    return Reply(reply.status, {name: redact(value) for name, value in reply.headers.items()}, redact_bytes(reply.body))


def _where(location: str) -> str:
    try:
        return shown(urlsplit(location))
    except ValueError:
        return "an address that is not valid"


class _Failed:
    """One failed attempt: in which words, whether it is worth another, and how long the server asked us to wait."""

    __slots__ = ("again", "never", "timeout", "wait", "words")

    def __init__(self, words: str, *, again: bool, timeout: bool, wait: float | None, never: bool) -> None:
        self.words, self.again, self.timeout, self.wait, self.never = words, again, timeout, wait, never


def _split(sampling: Mapping[str, Any], logprobs: int | None) -> tuple[dict[str, Any], int | None]:
    """The sampling without its log-probabilities, which the two APIs write differently; and how many alternatives are asked for."""
    for name in sampling:
        if name in OURS:
            raise UsageError(
                f"Sampling takes temperature, top_p, max_tokens or the like, not {name!r}.",
                got=repr(name),
                need="temperature, top_p, max_tokens or the like",
                hint="the run sets it",
            )
    rest = dict(sampling)
    wanted, top = rest.pop("logprobs", None), rest.pop("top_logprobs", None)
    if logprobs is None and (wanted or top is not None or (wanted == 0 and wanted is not False)):
        logprobs = top if top is not None else 0 if wanted is True else wanted
    if logprobs is not None and (not isinstance(logprobs, int) or isinstance(logprobs, bool) or not 0 <= logprobs <= 20):
        raise UsageError(
            f"logprobs must be a number of alternatives from 0 to 20, not {logprobs!r}.",
            got=repr(logprobs),
            need="a number of alternatives from 0 to 20",
        )
    try:
        json.dumps(rest, allow_nan=False)
    except (TypeError, ValueError) as fault:
        raise UsageError(
            f"The values of the sampling must be such that JSON can hold them ({fault}).", got=str(fault), need="values that JSON can hold"
        ) from fault
    return rest, logprobs
