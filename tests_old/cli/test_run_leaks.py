"""The key is sent to the server and goes nowhere else: a server that repeats it in every way, and nothing of it in any file or stream."""

from __future__ import annotations

import base64
import html
import http.server
import json
import re
import sys
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import steelyard_old as sy
from answers import Command
from evaluate.openai_server import Server
from steelyard_old import redaction
from steelyard_old.evaluate.models import endpoint as pace
from steelyard_old.redaction import redact, remember

KEY = "sk-Hidden/0123+456789&AbCdEf"
N = 6
TASK = '[task]\nname = "sums"\ndata = "sums.jsonl"\ninput = "{a} + {b} ="\ntruth = "answer"\nscorer = "exact"\n'


def in_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


ENCODINGS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "quoted": lambda key: urllib.parse.quote(key, safe=""),
    "quoted twice": lambda key: urllib.parse.quote(urllib.parse.quote(key, safe=""), safe=""),
    "quoted all": lambda key: "".join(f"%{ord(c):02x}" for c in key),
    "escaped": lambda key: "".join(f"\\u{ord(c):04x}" for c in key),
    "escaped solidus": lambda key: key.replace("/", "\\/"),
    "html": html.escape,
    "html numbers": lambda key: "".join(f"&#{ord(c)};" for c in key),
    "base64": in_base64,
    "base64 of the header": lambda key: in_base64(f"Bearer {key}"),
    "base64 shifted": lambda key: in_base64(f"x{key}y"),
    "base64 for a url": lambda key: base64.urlsafe_b64encode(f"k={key}&".encode()).decode(),
    "hexadecimal": lambda key: key.encode().hex(),
    "split by a line end": lambda key: key[:11] + "\n" + key[11:],
    "split by line ends": lambda key: "\r\n    ".join(key[i : i + 7] for i in range(0, len(key), 7)),
    "spaced": " ".join,
}
# What must not be found in anything: every encoding, and each half of the key.
TRACES = [KEY, KEY[:14], KEY[14:], *(encode(KEY) for encode in ENCODINGS.values()), in_base64(KEY)[4:28], KEY.encode().hex()[:20]]


class _Echo(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    how = "200"
    encode: Callable[[str], str] = staticmethod(str)

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        said = type(self).encode(KEY)
        body = self.reply(said, asked)
        status = 200 if self.how in REPLIES else 400 if self.how == "page" else int(self.how)
        self.send_response(status, "status " + " ".join(said.split()))
        for name in ("Location", "X-Request-Id", "Retry-After", "WWW-Authenticate", "Set-Cookie"):
            prefix = "http://127.0.0.1/" if name == "Location" else ""
            self.send_header(name, prefix + " ".join(said.split()))
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def reply(self, said: str, asked: Any) -> bytes:
        if self.how == "page":
            return f"<html>{' ' * 3980}{said} is wrong</html>".encode()
        if self.how == "utf-16":
            return json.dumps({"choices": [{"message": {"content": said}, "finish_reason": "stop"}]}).encode("utf-16")
        if self.how == "error-200":
            return json.dumps({"error": {"message": f"no {said}", "code": said, "type": said}}).encode()
        if self.how not in REPLIES:
            return json.dumps({"error": {"message": f"Incorrect API key provided: {said}", "code": said, "type": said}}).encode()
        tokens = [
            {"token": said[i : i + 3], "logprob": -0.1, "top_logprobs": [{"token": said, "logprob": -1}]} for i in range(0, len(said), 3)
        ]
        content: Any = f"You sent {said}, thank you"
        if self.how == "parts":
            content = [{"type": "text", "text": said[: len(said) // 2]}, {"type": "text", "text": said[len(said) // 2 :]}]
        message = {"content": content, "refusal": said if self.how == "refusal" else None, "reasoning_content": said}
        choice = {"message": message, "text": str(content), "finish_reason": said, "logprobs": {"content": tokens}}
        return json.dumps({"id": said, "model": said, "system_fingerprint": said, "choices": [choice], "usage": {said: 1}}).encode()

    def log_message(self, *_: object) -> None:
        pass


REPLIES = ("200", "parts", "refusal", "utf-16", "error-200")
HOW = (*REPLIES, "page", "302", "400", "401", "402", "403", "404", "429", "500", "503")


@pytest.fixture
def echo() -> Iterator[Any]:
    kind: Any = type("Echo", (_Echo,), {})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), kind)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    kind.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    yield kind
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr(pace.RetryPolicy, "wait", lambda *_: 0.0)
    monkeypatch.setattr(pace, "LONGEST", 0.0)
    rows = [{"id": f"q{i}", "a": i, "b": 2 * i + 1, "answer": 3 * i + 1} for i in range(N)]
    Path("sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("sums.toml").write_text(TASK + "[sampling]\nlogprobs = true\ntop_logprobs = 2\n")
    return tmp_path


def spotless(home: Path, *texts: str) -> None:
    """No trace of the key in any file below, nor in what was printed; nor once white space, escapes and JSON are taken away."""
    seen = {"streams": "\n".join(texts)}
    seen |= {str(file.relative_to(home)): file.read_bytes().decode("utf-8", "replace") for file in home.rglob("*") if file.is_file()}
    for name, text in seen.items():
        once = text.replace('\\"', '"').replace("\\\\", "\\").replace("\\n", "\n").replace("\\r", "\r")
        for form in (text, once, "".join(once.split()), urllib.parse.unquote(once), html.unescape(once)):
            for trace in TRACES:
                assert trace not in form, (name, trace, form[max(0, form.find(trace) - 80) : form.find(trace) + 120])


@pytest.mark.parametrize("how", HOW)
def test_a_server_that_repeats_the_key_does_not_get_it_out(steelyard: Command, echo: Any, home: Path, how: str) -> None:
    echo.how = how
    turn = HOW.index(how)
    for number, encode in enumerate(ENCODINGS.values()):
        if how != "200" and number not in (turn % len(ENCODINGS), (turn + 2) % len(ENCODINGS)):
            continue  # what is said goes one way from here on, whatever the reply was: all of them in one kind, two in the others
        echo.encode = staticmethod(encode)
        words = ("run", "sums.toml", "--n", "2", "--model", "openai:m", "--base-url", echo.url, "--debug", "--max-error-rate", "1")
        more = ("-o", f"out{number}.jsonl", "--answer", f"answer{number}.json", "--answer", f"answer{number}.html", "--missing", "wrong")
        answer = steelyard(*words, *more, "--history", "sqlite:///h.db")
        assert answer.code in (0, 3), answer
        assert "internal error" not in answer.err
        spotless(home, answer.out, answer.err)
        if how in ("200", "400"):  # an error keeps its journal
            answer = steelyard(*words, "-o", f"again{number}.jsonl")
            spotless(home, answer.out, answer.err)


def test_an_echo_in_an_answer_is_replaced_and_the_rest_of_the_answer_stays(steelyard: Command, echo: Any) -> None:
    assert steelyard("run", "sums.toml", "--model", "openai:m", "--base-url", echo.url, "-o", "out.jsonl").code == 0
    rows = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert {row["said"] for row in rows} == {"You sent ***, thank you"}


def test_other_kinds_of_models_do_not_get_the_key_out(steelyard: Command, home: Path) -> None:
    Path("talk.py").write_text(
        "import os\n"
        "def echoes(text): return os.environ['OPENAI_API_KEY']\n"
        "def fails(text): raise RuntimeError('Incorrect API key provided: ' + os.environ['OPENAI_API_KEY'])\n"
    )
    Path("predict.py").write_text(
        "import json, os, sys\n"
        "print(os.environ['OPENAI_API_KEY'], file=sys.stderr)\n"
        "for line in sys.stdin:\n"
        "    print(json.dumps({'id': json.loads(line)['id'], 'prediction': os.environ['OPENAI_API_KEY']}), flush=True)\n"
    )
    for model in ("python:talk:echoes", "python:talk:fails", f"command:{sys.executable} predict.py"):
        answer = steelyard("run", "sums.toml", "--model", model, "-o", "out.jsonl", "--debug", "--format", "json")
        spotless(home, answer.out, answer.err)
        for path in Path().glob("out*"):
            path.unlink()


@pytest.mark.parametrize("name", [KEY, "sk_hidden_0123456789", "AKIAHIDDEN0123456789", "sk-hidden=0123456789"])
def test_the_key_in_the_place_of_the_variables_name_is_not_shown(steelyard: Command, name: str) -> None:
    words = ("run", "sums.toml", "--model", "openai:m", "--base-url", "http://127.0.0.1:9", "--key-env", name)
    answer = steelyard(*words, "--debug")
    assert answer.code == 3
    assert name not in answer.out + answer.err
    assert "--key-env names no environment variable, or an empty one." in answer.err


def test_a_misspelt_variable_is_named(steelyard: Command) -> None:
    answer = steelyard("run", "sums.toml", "--model", "openai:m", "--base-url", "http://127.0.0.1:9", "--key-env", "OPENAI_API_KYE")
    assert "Did you mean OPENAI_API_KEY?" in answer.err


@pytest.mark.parametrize("key", ["x", "EMPTY", "token", "1", "sk-test"])
def test_a_short_key_takes_nothing_out_of_ordinary_words(steelyard: Command, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    said = f"the next token is EMPTY; extra {key} 1"
    with Server(key=key, say=lambda _: said) as server:
        assert steelyard("run", "sums.toml", "--model", "openai:m", "--base-url", server.url, "-o", "out.jsonl").code == 0
    rows = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert {row["said"] for row in rows} == {said}


def test_passwords_of_addresses_are_secrets_too(home: Path) -> None:
    with Server(say=lambda _: "pass-word-0123 " + base64.b64encode(b"user:pass-word-0123").decode()) as server:
        url = server.url.replace("http://", "http://user:pass-word-0123@")
        Path("key").unlink(missing_ok=True)
        found = sy.run("sums.toml", "openai:m", base_url=url, key="", output="out.jsonl")
    assert found.n == N
    text = Path("out.jsonl").read_text() + Path("out.jsonl.run").read_text()
    assert "pass-word" not in text
    assert base64.b64encode(b"user:pass-word-0123").decode()[:20] not in text


def test_secrets_are_found_inside_one_another_and_across_pieces() -> None:
    remember("abcdefgh-inner")
    remember("abcdefgh-inner-and-outer")
    assert redact("abcdefgh-inner-and-outer") == "***"
    assert redact("abcdefgh-inner") == "***"
    assert redact("a b c d e f g h - i n n e r") == "***"
    assert redact("abcdefgh") == "abcdefgh"


def test_every_place_of_every_secret_is_masked_from_the_left() -> None:
    """As one pattern with all forms of all secrets would, the longest form first: here several times in one text, and overlapping."""
    for secret in ("overlaps-left", "left-and-right", "overlaps-left-and"):
        remember(secret)
    one = re.compile("|".join(form.pattern for form in redaction._forms))
    texts = [
        "overlaps-left, overlaps-left; left-and-right.overlaps-left",
        "overlaps-left-and-right",
        "left-and-right-and-overlaps-left-and-left-and-right",
        f"{in_base64('overlaps-left')} {b'left-and-right'.hex()} overlaps-left {in_base64('overlaps-left')} left%2Dand%2Dright",
        "nothing of either",
    ]
    for text in texts:
        assert redact(text) == one.sub("***", text)
    assert redact(texts[0]) == "***, ***; ***.***"
    assert redact(texts[1]) == "***-right"
