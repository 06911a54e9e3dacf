"""Requests to a server that takes 200 ms for each, 64 and 512 at once: throughput, and CPU time of the client per request.

The server has a process of its own: 64 at once and 200 ms allow 320 requests a second, 512 allow 2,560. Throughput is by the clock on
the wall, since it is waiting that is measured; CPU time is that of the client's process alone. Ours is the whole runner with its
journal. The peers send the same requests and read the same answers, and keep no journal: aiohttp in one thread, urllib3 with a
thread for each request, and lm-eval's `local-completions`, its model class asked directly, without tasks, metrics and cache; that
one runs if LM_EVAL_PYTHON names a Python that has lm-eval[api] (best in an environment of its own).
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.timing import Row, Unmeasured, Wrong, scratch, seconds, unjudged

LATENCY = 0.2
ROUNDS = {64: 2000, 512: 10_240}  # how many at once, and how many in all
KEYS = (
    "endpoint.throughput",
    "endpoint.throughput-512",
    "endpoint.overhead",
    "endpoint.overhead-512",
    "endpoint.aiohttp",
    "endpoint.aiohttp-512",
)
Taken = tuple[float, float]  # seconds on the wall, and of CPU

LM_EVAL = """
import json, sys, time
import logging; logging.disable(logging.WARNING)
from lm_eval.api.instance import Instance
from lm_eval.models.openai_completions import LocalCompletionsAPI
url, n, at_once = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
text = {"tokenized_requests": False, "tokenizer_backend": None}
model = LocalCompletionsAPI(model="m", base_url=url + "/completions", num_concurrent=at_once, **text)
how = {"until": ["\\n"], "max_gen_toks": 16}
asks = [Instance(request_type="generate_until", doc={}, arguments=(f"{i} + 2 =", how), idx=i) for i in range(n)]
wall, cpu = time.perf_counter(), time.process_time()
said = model.generate_until(asks, disable_tqdm=True)
print(json.dumps({"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "said": said}))
"""


def rows(*, quick: bool) -> Iterator[Row | Unmeasured]:
    for at_once, n in ROUNDS.items():
        for row in asked(at_once, 10 * at_once if quick else n, 1 if quick else 3):
            yield unjudged(row) if quick else row
    if quick:
        yield Unmeasured(KEYS, "ten rounds of requests were made, where the start weighs more than in thirty")
    elif find_spec("aiohttp") is None:
        yield Unmeasured(("endpoint.aiohttp", "endpoint.aiohttp-512"), "aiohttp is not installed (extra `bench`)")


def asked(at_once: int, n: int, rounds: int) -> Iterator[Row]:
    clients: dict[str, Callable[[str], Taken]] = {"ours": partial(_ours, n=n, at_once=at_once)}
    if find_spec("aiohttp") is not None:
        clients["aiohttp"] = partial(_aiohttp, n=n, at_once=at_once)
    if find_spec("urllib3") is not None:
        clients["urllib3"] = partial(_urllib3, n=n, at_once=at_once)
    if os.environ.get("LM_EVAL_PYTHON"):
        clients["lm-eval local-completions"] = partial(_lm_eval, n=n, at_once=at_once)
    taken: dict[str, list[Taken]] = {name: [] for name in clients}
    for _ in range(rounds):  # a fresh server for each, turn and turn about
        for name, client in clients.items():
            with server() as url:
                taken[name].append(client(url))
                _once_each(url, n)
    allowed, ours = at_once / LATENCY, taken.pop("ours")
    title = f"{n:,} requests of {LATENCY * 1e3:g} ms, {at_once} at once"
    suffix = "" if at_once == 64 else f"-{at_once}"
    share, cost = max(n / wall for wall, _ in ours) / allowed, min(cpu for _, cpu in ours) / n
    note = "best of the rounds"
    yield Row(
        key=f"endpoint.throughput{suffix}",
        value=share,
        what=f"{title}: share of the {allowed:,g} a second this allows",
        ours=f"{share:.0%}",
        note=note,
    )
    yield Row(
        key=f"endpoint.overhead{suffix}", value=cost, what=f"{title}: CPU time of the runner per request", ours=seconds(cost), note=note
    )
    for name, theirs in taken.items():
        walls = tuple(their / our for (our, _), (their, _) in zip(ours, theirs, strict=True))
        costs = tuple(their / our for (_, our), (_, their) in zip(ours, theirs, strict=True))
        best = max(n / wall for wall, _ in theirs) / allowed
        yield Row(what=f"the same: share, beside {name}", ours=f"{share:.0%}", peer=f"{best:.0%}", times=walls)
        yield Row(
            key=f"endpoint.aiohttp{suffix}" if name == "aiohttp" else None,
            value=sorted(costs)[len(costs) // 2],
            what=f"the same: CPU time per request, beside {name}",
            ours=seconds(cost),
            peer=seconds(min(cpu for _, cpu in theirs) / n),
            times=costs,
        )


@contextmanager
def server() -> Iterator[str]:
    """The address of a server in a process of its own."""
    root = Path(__file__).parents[1]
    begun = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.endpoint_server", str(LATENCY)], cwd=root, stdout=subprocess.PIPE, text=True
    )
    try:
        assert begun.stdout is not None
        yield f"http://127.0.0.1:{int(begun.stdout.readline())}/v1"
    finally:
        begun.kill()
        begun.communicate()


def _ours(url: str, n: int, at_once: int) -> Taken:
    """The whole runner: asks made, sent, answered, written to the journal, handed out in order."""
    from steelyard.evaluate.asking.asking import ask_all, interleaved
    from steelyard.evaluate.asking.asks import Case
    from steelyard.evaluate.asking.journal import Journal
    from steelyard.evaluate.models.endpoint import Endpoint

    model = Endpoint("m", url, key="none", api="completions", sampling={"temperature": 0, "max_tokens": 16}, concurrency=at_once)

    cases = [Case(id=str(i), input=f"{i} + 2 =", truth=i + 2, row={}) for i in range(n)]
    with scratch() as folder:
        wall, cpu = time.perf_counter(), time.process_time()
        with Journal.open(Path(folder, "journal"), model.identity) as journal:
            asks = interleaved(cases, 1, [0], 0)
            with ask_all(asks, [model], journal, total=n) as asking:
                found = [answer.said for _, answer in asking]
            taken = time.perf_counter() - wall, time.process_time() - cpu
    model.close()
    _right(found)
    return taken


def _body(i: int) -> dict[str, Any]:
    return {"model": "m", "prompt": f"{i} + 2 =", "seed": i, "temperature": 0, "max_tokens": 16, "n": 1}


def _aiohttp(url: str, n: int, at_once: int) -> Taken:
    import aiohttp

    found: list[Any] = [None] * n

    async def all_of_them() -> None:
        places = iter(range(n))
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

            async def one_after_another() -> None:
                for i in places:
                    async with session.post(f"{url}/completions", json=_body(i), headers={"Authorization": "Bearer none"}) as reply:
                        found[i] = (await reply.json())["choices"][0]["text"]

            await asyncio.gather(*(one_after_another() for _ in range(at_once)))

    wall, cpu = time.perf_counter(), time.process_time()
    asyncio.run(all_of_them())
    taken = time.perf_counter() - wall, time.process_time() - cpu
    _right(found)
    return taken


def _urllib3(url: str, n: int, at_once: int) -> Taken:
    import urllib3

    def one(i: int) -> str:
        reply = pool.request("POST", f"{url}/completions", json=_body(i), headers={"Authorization": "Bearer none"})
        return str(reply.json()["choices"][0]["text"])

    wall, cpu = time.perf_counter(), time.process_time()
    with urllib3.PoolManager(maxsize=at_once) as pool, ThreadPoolExecutor(at_once) as threads:
        found = list(threads.map(one, range(n)))
    taken = time.perf_counter() - wall, time.process_time() - cpu
    _right(found)
    return taken


def _lm_eval(url: str, n: int, at_once: int) -> Taken:
    env = {**os.environ, "OPENAI_API_KEY": "none", "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    argv = [os.environ["LM_EVAL_PYTHON"], "-c", LM_EVAL, url, str(n), str(at_once)]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Wrong(f"lm-eval ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    told = json.loads(done.stdout.splitlines()[-1])
    _right(told["said"])
    return told["wall"], told["cpu"]


def _right(found: list[Any]) -> None:
    if [str(each).strip() for each in found] != [str(i + 2) for i in range(len(found))]:
        raise Wrong("the answers of the endpoint are not the sums")


def _once_each(url: str, n: int) -> None:
    with urllib.request.urlopen(url) as reply:
        asked = json.load(reply)
    if len(asked) != n or set(asked.values()) != {1}:
        raise Wrong(f"{sum(asked.values())} requests for {n} prompts")
