"""A server that answers every completion after the same time, for thousands at once: python -m benchmarks.endpoint_server SECONDS.

It prints its port. The server of the tests has a thread for each connection, and at 512 of them would be what is measured.
GET tells how often each prompt was asked.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections import Counter

_LENGTH = re.compile(rb"(?i)content-length: *(\d+)")
_USAGE = {"prompt_tokens": 4, "completion_tokens": 1}
ASKED: Counter[str] = Counter()


class Completions(asyncio.Protocol):
    """One connection. Requests come one after another, each in one or more pieces."""

    def __init__(self, latency: float) -> None:
        self.latency, self.buffer = latency, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, end, rest = self.buffer.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        many = int(length[1]) if length else 0
        if not end or len(rest) < many:
            return
        body, self.buffer = rest[:many], rest[many:]
        if head.startswith(b"GET"):
            self.answer(json.dumps(ASKED).encode())
            return
        prompt = json.loads(body)["prompt"]
        ASKED[prompt] += 1
        said = str(sum(map(int, re.findall(r"\d+", prompt))))
        choices = [{"index": 0, "text": said, "finish_reason": "stop"}]
        told = json.dumps({"id": "1", "object": "text_completion", "model": "m", "choices": choices, "usage": _USAGE})
        asyncio.get_running_loop().call_later(self.latency, self.answer, told.encode())

    def answer(self, body: bytes) -> None:
        head = b"HTTP/1.1 200 OK\r\nServer: benchmark\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        self.transport.write(head % len(body) + body)


async def serve(latency: float) -> None:
    server = await asyncio.get_running_loop().create_server(lambda: Completions(latency), "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
