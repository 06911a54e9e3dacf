"""A PyTorch module through a function: inputs in, labels out, in batches.

steelyard run examples/run/digits.toml --model python:examples.run.torch_digits:predict -o torch.jsonl
"""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def network() -> Any:
    """A small network, trained on the odd rows of the digits; the even ones it has never seen."""
    import torch
    from sklearn.datasets import load_digits

    torch.manual_seed(0)
    digits = load_digits()
    x = torch.tensor(digits.data[1::2] / 16, dtype=torch.float32)
    y = torch.tensor(digits.target[1::2])
    net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(150):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
    return net.eval()


def predict(inputs: list[list[float]]) -> list[str]:
    """Labels of a batch of digits."""
    import torch

    net = network()
    with torch.inference_mode():
        chosen = net(torch.tensor(inputs, dtype=torch.float32) / 16).argmax(1)
    return [str(label) for label in chosen.tolist()]


predict.batched = True  # type: ignore[attr-defined]  # it is given lists
