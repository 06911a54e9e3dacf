"""Models and learners of the samples. A run pins this file by its content: leave it as it is."""

import os
import signal
from pathlib import Path


def right(text):
    a, b = text.removesuffix(" =").split(" + ")
    return str(int(a) + int(b))


def some_wrong(text):
    return "0" if int(text.split()[0]) % 9 == 4 else right(text)


def few_wrong(text):
    return "0" if int(text.split()[0]) in (17, 105) else right(text)


def many_wrong(text):
    return "0" if int(text.split()[0]) % 3 == 1 else right(text)


def killed(text):
    """Notes what it was asked; with STOP_AFTER its process is killed, as by kill -9, when it has been asked that often."""
    with Path("asked.txt").open("a") as file:
        file.write(text + "\n")
    if len(Path("asked.txt").read_text().splitlines()) > int(os.environ.get("STOP_AFTER", "1000000")):
        os.kill(os.getpid(), signal.SIGKILL)
    return some_wrong(text)


def speech(text):
    words = text.split()
    return " ".join(words[:-1] if len(words) % 3 == 0 else words)


class Nearest:
    """The label of the nearest training item."""

    def fit(self, X, y):
        self.X, self.y = list(X), list(y)
        return self

    def predict(self, X):
        return [min(zip(self.X, self.y), key=lambda known: sum((a - b) ** 2 for a, b in zip(row, known[0])))[1] for row in X]


class Most:
    """The most frequent label."""

    def fit(self, X, y):
        self.y = max(sorted(set(y)), key=list(y).count)
        return self

    def predict(self, X):
        return [self.y for row in X]
