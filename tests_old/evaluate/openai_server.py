"""A small OpenAI-compatible server on loopback that adds two numbers, and fails as it is told: for tests, benchmarks and examples.

In a test:      with Server(shares={"429": 0.05}, key="sk-test") as server: ... server.url, server.asked, server.seen
As a process:   python tests/evaluate/openai_server.py --port-file port.txt --log seen.jsonl --share 429=0.05 --share 500=0.03

What it answers depends on the prompt and the seed alone. Faults come by share (drawn by hash of seed, prompt and how often that
prompt has been asked), by script (prompt to a list of faults, one per request) or by place (the first requests). Standard library only.

    a status         "429", "500", "503", "400", "401" ...: that status; Retry-After goes with 429 and 503 if it was given
    no answer        hang, reset, drip (a byte at a time for ever), drip-head, garbage, torn (shorter than it says), cut-chunk
    no sense         empty, wrong-json, no-choices, error-200, huge, bomb, redirect
    Completions with `echo` begin with the prompt and its log-probabilities, `doubt` times as low, unless `echoes` is False.

    another answer   length, refusal, silent, null, thinking, parts, chunked, gzip, old (HTTP/1.0), close
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import gzip
import hashlib
import http.server
import json
import os
import re
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SHAPES = ("length", "refusal", "silent", "null", "thinking", "parts", "chunked", "gzip", "old", "close")


@dataclass(frozen=True)
class Seen:
    """One request: which prompt, for which time, which fault it got, how many were under way with it, on which connection."""

    prompt: str
    nth: int
    fault: str
    under_way: int
    connection: int
    asked: Mapping[str, Any] = field(repr=False)

    def told(self) -> str:
        return json.dumps({name: getattr(self, name) for name in ("prompt", "nth", "fault", "under_way", "connection")})


class Server:
    """See the module. `seen` has every request in the order of arrival, `connections` how many were opened."""

    def __init__(
        self,
        *,
        key: str | None = None,
        shares: Mapping[str, float] | None = None,
        times: int | None = None,
        script: Mapping[str, Sequence[str]] | None = None,
        first: Sequence[str] = (),
        seed: int = 0,
        wrong: float = 0.0,
        flaky: float = 0.0,
        latency: float = 0.0,
        retry_after: Mapping[str, str] | None = None,
        capacity: int | None = None,
        gate: int = 0,
        say: Callable[[Mapping[str, Any]], str] | None = None,
        style: str = "{answer}",
        echoes: bool = True,
        doubt: float = 1.0,
        log: Path | None = None,
        port: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.key, self.shares, self.times, self.script, self.first = key, dict(shares or {}), times, dict(script or {}), first
        self.seed, self.wrong, self.flaky, self.latency = seed, wrong, flaky, latency
        self.retry_after, self.capacity, self.gate = dict(retry_after or {}), capacity, gate
        self.say, self.style, self.tls = say or self._add, style, tls
        self.echoes, self.doubt = echoes, doubt
        self._log = None if log is None else log.open("a", encoding="utf-8", buffering=1)
        self.seen: list[Seen] = []
        self.denied = self.connections = self.under_way = 0
        self.ending = threading.Event()
        self.lock = threading.Condition()
        self.times_asked: Counter[str] = Counter()
        self._http = _Http(("127.0.0.1", port), _Handler)
        self._http.owner = self
        if tls is not None:
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}/v1"

    @property
    def asked(self) -> Counter[str]:
        """How often each prompt was asked."""
        with self.lock:
            return Counter(each.prompt for each in self.seen)

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ending.set()
        with self.lock:
            self.lock.notify_all()
        self._http.shutdown()
        self._thread.join()
        self._http.hang_up()
        self._http.server_close()
        if self._log is not None:
            self._log.close()

    # ---- what is answered, and what goes wrong -----------------------------------------------------------------------

    def luck(self, *of: object) -> float:
        """A number between 0 and 1 that depends on the seed of the server and on what it is for."""
        digest = hashlib.sha256("|".join(map(str, (self.seed, *of))).encode()).digest()
        return int.from_bytes(digest[:8], "big") / 2**64

    def _add(self, asked: Mapping[str, Any]) -> str:
        prompt = prompt_of(asked)
        numbers = [int(each) for each in re.findall(r"\d+", prompt)][-2:]
        if len(numbers) < 2:
            return "I do not know"
        off = self.luck("wrong", prompt) < self.wrong or self.luck("flaky", prompt, asked.get("seed")) < self.flaky
        return self.style.format(answer=sum(numbers) + off)

    def arrive(self, asked: Mapping[str, Any], connection: int) -> Seen:
        prompt = prompt_of(asked)
        with self.lock:
            self.under_way += 1
            self.times_asked[prompt] += 1
            seen = Seen(prompt, self.times_asked[prompt], self._fault(prompt), self.under_way, connection, asked)
            self.seen.append(seen)
            if self._log is not None:
                self._log.write(seen.told() + "\n")
            self.lock.notify_all()
            if len(self.seen) <= self.gate:
                self.lock.wait_for(lambda: len(self.seen) >= self.gate or self.ending.is_set())
        return seen

    def leave(self) -> None:
        with self.lock:
            self.under_way -= 1

    def _fault(self, prompt: str) -> str:
        nth = self.times_asked[prompt]
        if len(self.seen) < len(self.first):
            return self.first[len(self.seen)]
        for part, faults in self.script.items():
            if part in prompt:
                return faults[nth - 1] if nth <= len(faults) else ""
        if self.capacity is not None and self.under_way > self.capacity:
            return "429"
        if self.times is not None and nth > self.times:
            return ""
        luck = self.luck("fault", prompt, nth)
        for fault, share in self.shares.items():
            luck -= share
            if luck < 0:
                return fault
        return ""


def prompt_of(asked: Mapping[str, Any]) -> str:
    """The question: the last message, or the prompt."""
    if "messages" in asked:
        return str(asked["messages"][-1]["content"])
    prompt = asked["prompt"]
    return str(prompt[0] if isinstance(prompt, list) else prompt)


class _Http(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256
    owner: Server

    def __init__(self, *args: Any) -> None:
        self.open: set[socket.socket] = set()
        super().__init__(*args)

    def hang_up(self) -> None:
        with self.owner.lock:
            left = list(self.open)
        for each in left:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for _ in range(500):  # threads end by themselves once nobody speaks to them
            if not self.open:
                return
            time.sleep(0.01)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], OSError):  # clients that go away are the point of many tests
            super().handle_error(request, client_address)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.owner = self.server.owner
        with self.owner.lock:
            self.owner.connections += 1
            self.number = self.owner.connections
            self.server.open.add(self.connection)

    def finish(self) -> None:
        with self.owner.lock:
            self.server.open.discard(self.connection)
        super().finish()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.owner.key is not None and self.headers.get("Authorization") != f"Bearer {self.owner.key}":
            self.owner.denied += 1
            self._error(401, f"Incorrect API key provided: {self.headers.get('Authorization', 'none').removeprefix('Bearer ')}")
            return
        if not self.path.partition("?")[0].endswith(("/v1/chat/completions", "/v1/completions")):
            self._error(404, f"no such path: {self.path.partition('?')[0]}")
            return
        asked = json.loads(body)
        seen = self.owner.arrive(asked, self.number)
        here = True
        try:
            if self.owner.latency:
                self.owner.ending.wait(self.owner.latency)
            self.owner.leave()  # before the answer goes out: who has it may ask again at once
            here = False
            self._reply(asked, seen.fault)
        finally:
            if here:
                self.owner.leave()

    # ---- replies -----------------------------------------------------------------------------------------------------

    def _reply(self, asked: Mapping[str, Any], fault: str) -> None:
        if fault.isdigit():
            self._error(int(fault), f"you were told {fault}", self.owner.retry_after if fault in ("429", "503") else None)
        elif fault and fault not in SHAPES:
            getattr(self, "_" + fault.replace("-", "_"))(json.dumps(self._good(asked, "")).encode())
        else:
            self._shaped(json.dumps(self._good(asked, fault)).encode(), fault)

    def _good(self, asked: Mapping[str, Any], shape: str) -> dict[str, Any]:
        said = self.owner.say(asked)
        chat = "messages" in asked
        finish = "length" if shape == "length" else "stop"
        choice: dict[str, Any] = {"index": 0, "finish_reason": finish}
        text = said[: max(len(said) // 2, 1)] if shape == "length" else "" if shape == "silent" else said
        if chat:
            content: Any = [{"type": "text", "text": text}] if shape == "parts" else None if shape in ("refusal", "null") else text
            choice["message"] = {"role": "assistant", "content": content}
            choice["message"] |= {"refusal": "I cannot help with that."} if shape == "refusal" else {}
            choice["message"] |= {"reasoning_content": "Carry the one."} if shape == "thinking" else {}
        else:
            choice["text"] = text
        if asked.get("logprobs") not in (None, False):
            choice["logprobs"] = _logprobs(text, chat)
        if asked.get("echo") and self.owner.echoes and not chat:
            choice["text"] = prompt_of(asked) + text
            choice["logprobs"] = self._echoed(prompt_of(asked), choice["logprobs"])
        tokens = {"prompt_tokens": len(prompt_of(asked).split()), "completion_tokens": len(said.split())}
        return {"id": "0", "model": f"{asked['model']}-0613", "system_fingerprint": "fp_1", "choices": [choice], "usage": tokens}

    def _echoed(self, prompt: str, after: dict[str, Any]) -> dict[str, Any]:
        """The tokens of the prompt before those of the answer: each as probable as its hash says, the first without a number."""
        tokens = prompt.split()
        values = [None, *(-self.owner.doubt * (0.5 + self.owner.luck("token", token)) for token in tokens[1:])]
        return {"tokens": [*tokens, *after["tokens"]], "token_logprobs": [*values, *after["token_logprobs"]], "top_logprobs": None}

    def _shaped(self, body: bytes, shape: str) -> None:
        if shape == "gzip":
            self._send(200, gzip.compress(body), {"Content-Encoding": "gzip"})
        elif shape == "chunked":
            half = len(body) // 2
            parts = b"".join(b"%x;x=1\r\n%s\r\n" % (len(part), part) for part in (body[:half], body[half:]))
            self.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + parts + b"0\r\n\r\n")
        elif shape == "old":
            self.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n" + body)
            self.close_connection = True
        elif shape == "close":  # says that it stays, and goes
            self._send(200, body)
            self.close_connection = True
        else:
            self._send(200, body)

    def _send(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        """In one piece: two would meet Nagle's algorithm and a delayed acknowledgement."""
        lines = {"Content-Type": "application/json", "Content-Length": str(len(body)), **(headers or {})}
        head = f"HTTP/1.1 {status} so\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        self.wfile.write(head.encode() + b"\r\n" + body)

    def _error(self, status: int, words: str, headers: Mapping[str, str] | None = None) -> None:
        self._send(status, json.dumps({"error": {"message": words, "type": "told", "code": None}}).encode(), headers)

    # ---- faults ------------------------------------------------------------------------------------------------------

    def _hang(self, _: bytes) -> None:
        self.owner.ending.wait()
        self.close_connection = True

    def _reset(self, _: bytes) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        with self.owner.lock:
            self.server.open.discard(self.connection)
        os.close(self.connection.detach())
        self.close_connection = True

    def _drip(self, body: bytes) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        self._drop_by_drop(body)

    def _drip_head(self, _: bytes) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
        self._drop_by_drop(b"")

    def _drop_by_drop(self, body: bytes) -> None:
        self.close_connection = True
        for i in range(60_000):
            if self.owner.ending.wait(0.02):
                return
            self.wfile.write(body[i : i + 1] or b" ")

    def _garbage(self, _: bytes) -> None:
        self.wfile.write(b"220 mail.example ESMTP\r\n")
        self.close_connection = True

    def _torn(self, body: bytes) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body) + 50, body))
        self.close_connection = True

    def _cut_chunk(self, body: bytes) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s" % (len(body), body[:20]))
        self.close_connection = True

    def _empty(self, _: bytes) -> None:
        self._send(200, b"")

    def _wrong_json(self, body: bytes) -> None:
        self._send(200, body[:-5])

    def _no_choices(self, _: bytes) -> None:
        self._send(200, b'{"id": "0", "choices": []}')

    def _error_200(self, _: bytes) -> None:
        self._send(200, b'{"error": {"message": "the provider is down", "code": 502}}')

    def _huge(self, _: bytes) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n{")
        self.close_connection = True

    def _bomb(self, _: bytes) -> None:
        self._send(200, _bomb(), {"Content-Encoding": "gzip"})

    def _redirect(self, _: bytes) -> None:
        self._send(307, b"", {"Location": "http://me:pw@elsewhere.example/v1/chat/completions?k=v"})


@functools.cache
def _bomb() -> bytes:
    return gzip.compress(bytes(80 << 20), compresslevel=1)


def _logprobs(text: str, chat: bool) -> dict[str, Any]:
    tokens = re.findall(r"\s*\S+", text)
    values = [-(i + 1) / 8 for i in range(len(tokens))]
    if chat:
        tops = [[{"token": token, "logprob": value}, {"token": "?", "logprob": -9.0}] for token, value in zip(tokens, values, strict=True)]
        return {"content": [top[0] | {"top_logprobs": top} for top in tops]}
    tops_of = [{token: value, "?": -9.0} for token, value in zip(tokens, values, strict=True)]
    return {"tokens": tokens, "token_logprobs": values, "top_logprobs": tops_of}


# ---- as a process ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spawned:
    """A server in a process of its own."""

    url: str
    log: Path

    def rows(self) -> list[dict[str, Any]]:
        """What it was asked so far. A line that is being written is left for the next time."""
        if not self.log.exists():
            return []
        return [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines(keepends=True) if line.endswith("\n")]

    def asked(self) -> Counter[str]:
        return Counter(row["prompt"] for row in self.rows())


@contextlib.contextmanager
def spawned(*options: str, key: str | None = None) -> Iterator[Spawned]:
    """Start this file as a process, and end it. The key goes through the environment, where the list of processes does not show it."""
    with tempfile.TemporaryDirectory(prefix="openai-server-") as folder:
        port, log = Path(folder, "port"), Path(folder, "seen.jsonl")
        argv = [sys.executable, str(Path(__file__)), "--port-file", str(port), "--log", str(log), *options]
        env = {**os.environ, **({"OPENAI_SERVER_KEY": key} if key else {})}
        process = subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        try:
            while not port.exists():
                if process.poll() is not None:
                    raise RuntimeError(f"the server ended with {process.returncode}")
                time.sleep(0.01)
            yield Spawned(f"http://127.0.0.1:{int(port.read_text())}/v1", log)
        finally:
            process.kill()
            process.wait()
            if process.stdin:
                process.stdin.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="An OpenAI-compatible server that adds two numbers, with faults.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--port-file", type=Path, help="where to write the port once it listens")
    parser.add_argument("--log", type=Path, help="one JSON line per request")
    parser.add_argument("--share", action="append", default=[], metavar="FAULT=SHARE", help="as in 429=0.05; may be given often")
    parser.add_argument("--times", type=int, help="no prompt has more faults than this")
    parser.add_argument("--retry-after-ms", help="say so with 429 and 503")
    for name in ("--wrong", "--flaky", "--latency"):
        parser.add_argument(name, type=float, default=0.0)
    parser.add_argument("--capacity", type=int, help="429 for all above so many at once")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--style", default="{answer}", help="as in 'The answer is {answer}.'")
    asked = parser.parse_args()
    server = Server(
        key=os.environ.get("OPENAI_SERVER_KEY"),
        shares={fault: float(share) for fault, _, share in (each.partition("=") for each in asked.share)},
        times=asked.times,
        seed=asked.seed,
        wrong=asked.wrong,
        flaky=asked.flaky,
        latency=asked.latency,
        retry_after={"retry-after-ms": asked.retry_after_ms} if asked.retry_after_ms else None,
        capacity=asked.capacity,
        style=asked.style,
        log=asked.log,
        port=asked.port,
    )
    with server:
        if asked.port_file:
            new = asked.port_file.with_suffix(".new")
            new.write_text(str(server.port))
            new.replace(asked.port_file)
        print(f"listening on {server.url}", flush=True)
        if sys.stdin.isatty():
            with contextlib.suppress(KeyboardInterrupt):
                server.ending.wait()
        else:
            sys.stdin.read()  # whoever started it has gone when this ends


if __name__ == "__main__":
    main()
