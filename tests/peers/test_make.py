"""The recorded numbers of the peers: asked again where a peer is installed, and none of them left unused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from peers.make import PEERS, ask, installed, recorded

HERE = Path(__file__).parent


def leaves(value: Any, where: str = "") -> dict[str, Any]:
    """Every number and text of a nested answer, by its path."""
    if isinstance(value, dict):
        return {path: leaf for key, part in value.items() for path, leaf in leaves(part, f"{where}/{key}").items()}
    if isinstance(value, list):
        return {path: leaf for i, part in enumerate(value) for path, leaf in leaves(part, f"{where}/{i}").items()}
    return {where: value}


@pytest.mark.parametrize("peer", PEERS)
def test_the_peer_still_says_so(peer: str) -> None:
    if not installed(peer):
        pytest.skip(f"needs {peer}, which no extra installs: its numbers of {peer}.json are compared instead")
    told, now = leaves(recorded(peer)), leaves(ask(peer)["entries"])
    assert told.keys() == now.keys()
    for path, value in told.items():
        assert now[path] == (pytest.approx(value, rel=1e-6, abs=1e-9) if isinstance(value, float) else value), path


@pytest.mark.parametrize("peer", PEERS)
def test_no_number_is_left_unused(peer: str) -> None:
    """Each entry is named by the test module of its peer, whole or up to an underscore."""
    module = (HERE / f"test_{peer.lower()}.py").read_text(encoding="utf-8")
    for name in recorded(peer):
        parts = name.split("_")
        beginnings = [f'"{name}"', *('"' + "_".join(parts[:i]) + '_"' for i in range(1, len(parts)))]
        assert any(text in module for text in beginnings), name
