"""The server as a process: it says where it is, answers, stops on Ctrl-C, and refuses a busy port, a missing history, a weak token."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from steelyard.cli.main import main, steelyard
from steelyard.history.store import open_history


@pytest.fixture
def place(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path / 'runs.db'}"
    open_history(url).close()
    return url


def started(*words: str) -> tuple[subprocess.Popen[str], list[str], str]:
    """A server, what it said before it was ready, and its address."""
    argv = [sys.executable, "-m", "steelyard", "serve", "--port", "0", *words]
    child = subprocess.Popen(argv, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stderr is not None
    said = []
    for line in child.stderr:
        said.append(line.strip())
        if line.strip() == "press Ctrl-C to stop":
            break
    found = re.fullmatch(r"serving sqlite:///\S+ at (http://\S+)", said[0])
    assert found is not None, said
    return child, said, found[1]


@pytest.fixture
def server(place: str) -> Iterator[tuple[subprocess.Popen[str], list[str], str]]:
    child, said, address = started("--history", place)
    yield child, said, address
    child.kill()
    child.communicate()


def test_it_answers_and_stops_on_ctrl_c(server: tuple[subprocess.Popen[str], list[str], str]) -> None:
    child, said, address = server
    assert address.startswith("http://127.0.0.1:")
    assert any(re.fullmatch(r"token: [\w-]{32}", line) for line in said)
    with urllib.request.urlopen(address, timeout=30) as page:
        text = page.read().decode()
        assert page.headers["server"] is None
    assert "No runs yet" in text
    assert not any(line.removeprefix("token: ") in text for line in said if line.startswith("token"))
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=30)
    assert (child.returncode, out, err.split()) == (0, "", ["stopped"])


def test_a_given_token_is_not_printed_and_another_host_is_refused(place: str) -> None:
    child, said, address = started("--history", place, "--token", "a token that is given")
    try:
        assert not any("a token that is given" in line or line.startswith("token:") for line in said)
        asked = urllib.request.Request(address, headers={"Host": "evil.example"})
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(asked, timeout=30)
        assert refused.value.code == 421
        refused.value.close()
    finally:
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=30)


def test_elsewhere_it_warns_and_asks_for_the_token_first(place: str) -> None:
    child, said, address = started("--history", place, "--host", "0.0.0.0")
    try:
        assert "the token is needed to see anything" in said
        assert any(line.startswith("warning: this is unencrypted HTTP") for line in said)
        with urllib.request.urlopen(address.replace("0.0.0.0", "127.0.0.1") + "runs", timeout=30) as page:
            assert page.url.endswith("/sign-in?next=%2Fruns")
            assert "No runs" not in page.read().decode()
    finally:
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=30)


def told(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as end:
        main(["serve", *words])
    assert end.value.code == 3
    return capsys.readouterr().err


def test_a_busy_port_is_advice(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = told(capsys, "--history", place, "--port", str(port))
    assert f"Port {port} of 127.0.0.1 is in use. Hint: --port 0" in said


def test_what_cannot_be_served(place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "No history" in told(capsys)
    assert "No history at" in told(capsys, "--history", "sqlite:///other.db")
    assert "The token must be" in told(capsys, "--history", place, "--token", "short")
    assert "Cannot listen at '::nowhere'" in told(capsys, "--history", place, "--host", "::nowhere")
    assert "--port" in told(capsys, "--history", place, "--port", "70000")


def test_without_its_packages_it_says_what_to_install(
    place: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("steelyard.web")]:
        monkeypatch.delitem(sys.modules, name)
    import steelyard

    monkeypatch.delattr(steelyard, "web", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert 'pip install "steelyard[serve]"' in told(capsys, "--history", place)


def test_help_names_what_protects() -> None:
    text = CliRunner().invoke(steelyard, ["serve", "--help"]).output
    for word in ("--host", "--token", "--allow-host", "--open", "STEELYARD_TOKEN"):
        assert word in text
