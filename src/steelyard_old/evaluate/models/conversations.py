"""Many asks of one server at once, in one thread that watches all their sockets.

A thread for each ask costs more than the ask: with hundreds of them most of the time goes into handing over the interpreter's lock.
Here an ask is a generator that says what it waits for (`Wanted`), and goes on when that is there. Only new connections are made in
threads of their own: looking up a name, a proxy's tunnel and the handshake of TLS block, and are the same code for everybody.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import math
import queue
import selectors
import socket
import ssl
import threading
from collections import deque
from collections.abc import Callable, Generator, Mapping
from typing import Any, Protocol

from steelyard_old.evaluate.asking.asks import Answer, Ask
from steelyard_old.evaluate.models.http_client import HttpClient, PooledConnection, with_body
from steelyard_old.evaluate.models.response import Reply, ResponseReader, TransportError

CONNECTORS = 32  # threads that make connections, at most
_PIECE = 1 << 16

Wanted = None | bytes | float  # a turn, which is sent as a number; the reply to these bytes; so many seconds of rest
Steps = Generator[Wanted, int | Reply | None, Answer]
Place = tuple[int, Ask]  # an ask, with its place in the order of all
Over = tuple[Place, Answer | None, BaseException | None]  # no answer: it was not asked, or the fault is its own
Arrived = Callable[[list[Over]], None]


class RunEnded(Exception):
    """The run ends: what waits for its turn or for a retry is not to be asked any more."""


class TurnLimiter(Protocol):
    """Who may ask now: the rate limiter of an endpoint."""

    def try_enter(self) -> tuple[int | None, float]:
        """A turn, or None and the seconds after which to try again."""

    @property
    def ended(self) -> bool:
        """Whether the run has ended."""


class Conversations:
    """See the module. `take` an ask from any thread; `dismiss` when no more will come: the thread ends after what is under way."""

    def __init__(
        self,
        steps: Callable[[Ask], Steps],
        client: HttpClient,
        turns: TurnLimiter,
        path: str,
        headers: Mapping[str, str],
        most: int,
        arrived: Arrived,
    ) -> None:
        self._steps, self._client, self._turns, self._path, self._headers = steps, client, turns, path, headers
        self._most, self._arrived, self._clock = most, arrived, client.clock
        self._inbox: deque[Place] = deque()  # not begun yet
        self._head = b""
        self._made: deque[tuple[_Exchange, PooledConnection | Exception]] = deque()  # connections, and why there is none
        self._dismissed = self._asleep = False
        self._hearing, self._bell = socket.socketpair()
        self._hearing.setblocking(False)
        self._bell.setblocking(False)
        self._ringing = threading.Lock()
        # Only the thread touches what follows.
        self._active: set[_BegunAsk] = set()
        self._waiting: deque[_BegunAsk] = deque()  # for a turn
        self._next_try = math.inf
        self._resting: set[_BegunAsk] = set()
        self._alarms: list[tuple[float, int, _BegunAsk | _OpenConnection]] = []
        self._numbers = itertools.count()
        self._idle: list[_OpenConnection] = []
        self._over: list[Over] = []
        self._wanted: queue.SimpleQueue[_Exchange | None] = queue.SimpleQueue()
        self._connecting = self._connectors = 0
        self.thread = threading.Thread(target=self._run, name="asking", daemon=True)
        self.thread.start()

    @staticmethod
    def possible() -> bool:
        """Whether this system can watch more than a few hundred sockets."""
        return not issubclass(selectors.DefaultSelector, selectors.SelectSelector)

    def take(self, place: Place) -> None:
        """Ask this, as soon as it may be asked."""
        self._inbox.append(place)
        self._wake()

    def dismiss(self) -> None:
        """Begin nothing new."""
        self._dismissed = True
        self.ring()

    def ring(self) -> None:
        """Look up: something has changed."""
        with self._ringing:
            if self._bell.fileno() >= 0:
                with contextlib.suppress(BlockingIOError):  # it rings already
                    self._bell.send(b"!")

    def _wake(self) -> None:
        if self._asleep:
            self._asleep = False
            self.ring()

    # ---- the thread --------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        with selectors.DefaultSelector() as self._selector:
            self._selector.register(self._hearing, selectors.EVENT_READ, None)
            try:
                while not (self._dismissed and not self._active):
                    self._pass()
                    self._tell()
            except BaseException as fault:  # whatever it is, those who wait must hear of it
                self._over += [(each.place, None, fault) for each in self._active]
                self._active.clear()
            finally:
                self._leave()

    def _pass(self) -> None:
        self._asleep = True  # from here on who brings something rings the bell
        more = self._made or (self._inbox and len(self._active) < self._most)
        events = self._selector.select(0.0 if more else self._until_alarm())
        self._asleep = False
        for key, mask in events:
            if key.data is None:
                self._hear()
            else:
                key.data.ready(mask)
        while self._made:
            exchange, found = self._made.popleft()
            self._connecting -= 1
            exchange.connected(found)
        self._ring_alarms()
        if self._turns.ended:
            self._end_waiting()
        self._begin()
        self._admit()

    def _hear(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._hearing.recv(4096):
                pass

    def _begin(self) -> None:
        while self._inbox and (self._dismissed or len(self._active) < self._most):
            place = self._inbox.popleft()
            if self._dismissed:
                self._over.append((place, None, None))
                continue
            talk = _BegunAsk(place)
            self._active.add(talk)
            try:
                talk.steps = self._steps(place[1])
            except BaseException as fault:
                self._finish(talk, None, fault)
                continue
            self.go_on(talk, None)

    def go_on(self, talk: _BegunAsk, found: int | Reply | BaseException | None) -> None:
        """Hand over what was waited for, and take in what is waited for next."""
        self._next_try = 0.0  # a place may have become free
        try:
            wanted = talk.steps.throw(found) if isinstance(found, BaseException) else talk.steps.send(found)
        except StopIteration as end:
            self._finish(talk, end.value, None)
        except BaseException as fault:
            self._finish(talk, None, fault)
        else:
            if wanted is None:
                self._waiting.append(talk)
            elif isinstance(wanted, bytes):
                self._send(talk, wanted)
            else:
                self._resting.add(talk)
                self._alarm(self._clock() + wanted, talk)

    def _finish(self, talk: _BegunAsk, answer: Answer | None, fault: BaseException | None) -> None:
        self._active.discard(talk)
        self._over.append((talk.place, answer, fault))

    def _tell(self) -> None:
        if self._over:
            over, self._over = self._over, []
            self._arrived(over)

    def _leave(self) -> None:
        self._over += [(place, None, None) for place in self._inbox]
        self._tell()
        for line in [key.data for key in self._selector.get_map().values() if key.data is not None]:
            self._client.put_back(line.pooled, reusable=line.exchange is None)
        for _ in range(self._connectors):
            self._wanted.put(None)
        with self._ringing:
            self._bell.close()
        self._hearing.close()

    # ---- turns, rests and deadlines ----------------------------------------------------------------------------------

    def _admit(self) -> None:
        """Those who wait for a turn, as far as there are turns."""
        while self._waiting and self._clock() >= self._next_try:
            try:
                turn, pause = self._turns.try_enter()
            except RunEnded as ended:
                self.go_on(self._waiting.popleft(), ended)
                continue
            if turn is None:
                self._next_try = self._clock() + pause
                return
            self.go_on(self._waiting.popleft(), turn)

    def _end_waiting(self) -> None:
        self._next_try = 0.0
        for talk in list(self._resting):
            self._resting.discard(talk)
            self.go_on(talk, RunEnded())

    def _alarm(self, when: float, who: _BegunAsk | _OpenConnection) -> None:
        heapq.heappush(self._alarms, (when, next(self._numbers), who))

    def _until_alarm(self) -> float | None:
        nearest = min(self._alarms[0][0] if self._alarms else math.inf, self._next_try if self._waiting else math.inf)
        return None if nearest == math.inf else max(nearest - self._clock(), 0.0)

    def _ring_alarms(self) -> None:
        now = self._clock()
        while self._alarms and self._alarms[0][0] <= now:
            who = heapq.heappop(self._alarms)[2]
            if isinstance(who, _OpenConnection):
                who.overdue(now)
            elif who in self._resting:
                self._resting.discard(who)
                self.go_on(who, RunEnded() if self._turns.ended else None)

    # ---- connections -------------------------------------------------------------------------------------------------

    def _send(self, talk: _BegunAsk, body: bytes) -> None:
        until = self._clock() + self._client.timeouts.total
        if not self._head:
            try:
                self._head = self._client.head("POST", self._path, self._headers)
            except Exception as fault:
                self.go_on(talk, fault)
                return
        exchange = _Exchange(self, talk, with_body(self._head, body), until)
        if self._idle:
            exchange.begin(self._idle.pop(), kept=True)
        elif (pooled := self._client.kept()) is not None:
            exchange.begin(self._line(pooled), kept=True)
        else:
            self.connect(exchange)

    def connect(self, exchange: _Exchange) -> None:
        """Have a connection made for it."""
        self._connecting += 1
        self._wanted.put(exchange)
        if self._connectors < min(self._connecting, CONNECTORS):
            self._connectors += 1
            threading.Thread(target=self._connect, name="connecting", daemon=True).start()

    def _connect(self) -> None:
        while (exchange := self._wanted.get()) is not None:
            found: PooledConnection | Exception
            try:
                found = self._client.connected(exchange.until)
            except Exception as fault:
                found = fault
            self._made.append((exchange, found))
            self._wake()

    def _line(self, pooled: PooledConnection) -> _OpenConnection:
        sock = pooled.connection.sock
        sock.setblocking(False)
        line = _OpenConnection(self, pooled, sock)
        self._selector.register(sock, selectors.EVENT_READ, line)
        return line


class _BegunAsk:
    """One ask that was begun."""

    __slots__ = ("place", "steps")

    def __init__(self, place: Place) -> None:
        self.place = place
        self.steps: Steps


class _Exchange:
    """One request and its reply, on a kept connection first, and on a new one if that was closed."""

    __slots__ = ("kept", "owner", "reader", "request", "silent_since", "talk", "until")

    def __init__(self, owner: Conversations, talk: _BegunAsk, request: bytes, until: float) -> None:
        self.owner, self.talk, self.request, self.until = owner, talk, request, until
        self.kept, self.silent_since = False, 0.0
        self.reader = ResponseReader(owner._client.limit)

    def connected(self, found: PooledConnection | Exception) -> None:
        if isinstance(found, Exception):
            self.owner.go_on(self.talk, found)
        else:
            self.begin(self.owner._line(found), kept=False)

    def begin(self, line: _OpenConnection, *, kept: bool) -> None:
        self.kept = kept
        line.begin(self)

    def failed(self, fault: TransportError) -> None:
        """Its connection is gone."""
        if self.kept and fault.reason == "connection":
            self.owner._client.sent_again()
            self.reader = ResponseReader(self.owner._client.limit)
            self.owner.connect(self)
        else:
            self.owner.go_on(self.talk, fault)


class _OpenConnection:
    """An open connection, with the exchange that is going on over it, if any."""

    __slots__ = ("exchange", "has_alarm", "open", "owner", "pooled", "sock", "unsent")

    def __init__(self, owner: Conversations, pooled: PooledConnection, sock: Any) -> None:
        self.owner, self.pooled, self.sock = owner, pooled, sock
        self.exchange: _Exchange | None = None
        self.unsent: memoryview | None = None
        self.has_alarm, self.open = False, True

    def begin(self, exchange: _Exchange) -> None:
        self.exchange = exchange
        exchange.silent_since = self.owner._clock()
        self._write(memoryview(exchange.request), watched=False)
        if self.open and not self.has_alarm:
            self._set_alarm()

    def ready(self, mask: int) -> None:
        """The socket can be read from, or written to."""
        if not self.open:  # closed earlier in the same pass
            return
        if self.unsent is not None and mask & selectors.EVENT_WRITE:
            self._write(self.unsent, watched=True)
        if self.open and mask & selectors.EVENT_READ:
            self._read()

    def _write(self, data: memoryview, *, watched: bool) -> None:
        try:
            sent = self.sock.send(data)
        except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
            sent = 0
        except OSError as fault:
            self._lost(fault)
            return
        if watched and sent and self.exchange is not None:
            self.exchange.silent_since = self.owner._clock()
        if sent < len(data):
            self.unsent = data[sent:]
            if not watched:
                self.owner._selector.modify(self.sock, selectors.EVENT_READ | selectors.EVENT_WRITE, self)
        elif watched:
            self.unsent = None
            self.owner._selector.modify(self.sock, selectors.EVENT_READ, self)

    def _read(self) -> None:
        while True:
            try:
                data = self.sock.recv(_PIECE)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            except OSError as fault:
                self._lost(fault)
                return
            exchange = self.exchange
            if exchange is None:  # closed by the server, or words that nobody asked for
                self._close()
                return
            try:
                if data:
                    whole = exchange.reader.feed(data)
                else:
                    exchange.reader.end()
                    whole = True
                reply = self.owner._client.reply(exchange.reader) if whole else None
            except TransportError as fault:
                self._close()
                exchange.failed(fault)
                return
            if reply is not None:
                self._done(exchange, reply)
                return
            exchange.silent_since = self.owner._clock()
            if not isinstance(self.sock, ssl.SSLSocket) or not self.sock.pending():
                return

    def _done(self, exchange: _Exchange, reply: Reply) -> None:
        self.exchange = None
        if exchange.reader.reusable and self.unsent is None:
            self.owner._idle.append(self)
        else:
            self._close()
        self.owner.go_on(exchange.talk, reply)

    def _lost(self, fault: OSError) -> None:
        exchange = self.exchange
        self._close()
        if exchange is not None:
            exchange.failed(self.owner._client.lost(fault, exchange.reader, exchange.until))

    def _set_alarm(self) -> None:
        assert self.exchange is not None
        self.has_alarm = True
        self.owner._alarm(self._deadline(self.exchange), self)

    def _deadline(self, exchange: _Exchange) -> float:
        """When to give up. It only ever moves on, so one alarm for a connection is enough."""
        return min(exchange.until, exchange.silent_since + self.owner._client.timeouts.read)

    def overdue(self, now: float) -> None:
        """Its alarm rings: too late for this exchange, or set for an earlier one."""
        self.has_alarm = False
        if self.exchange is None or not self.open:
            return
        if now < self._deadline(self.exchange):
            self._set_alarm()
        else:
            self._lost(TimeoutError("no time is left"))

    def _close(self) -> None:
        if not self.open:
            return
        self.open, self.exchange = False, None
        if self in self.owner._idle:
            self.owner._idle.remove(self)
        self.owner._selector.unregister(self.sock)
        self.pooled.connection.close()
