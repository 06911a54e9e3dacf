"""A small model: handwritten digits, each given the class of the image most like it.

python model.py predictions.jsonl        writes what it says about the test images
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

SHADES = 16  # grey levels that the model sees; set it to 1, black and white, and run pytest


def write_predictions(path: str | Path) -> None:
    """One JSON object a line: id, truth, prediction. Every third image is a test image."""
    digits = load_digits()
    images = np.round(digits.data / 16 * SHADES)
    test = np.arange(len(images)) % 3 == 0
    model = KNeighborsClassifier(n_neighbors=1, algorithm="brute").fit(images[~test], digits.target[~test])
    said = model.predict(images[test])
    with open(path, "w", encoding="utf-8") as out:
        for number, truth, prediction in zip(np.flatnonzero(test), digits.target[test], said, strict=True):
            row = {"id": f"image-{number:04}", "truth": int(truth), "prediction": int(prediction)}
            out.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    write_predictions(sys.argv[1])
