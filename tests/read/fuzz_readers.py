"""Coverage-guided fuzzing of one reader by atheris, by hand: no exception but ours, whatever the bytes are.

    pip install atheris
    python tests/read/fuzz_readers.py lm_eval --seconds 300

Without atheris it says so and ends. What a log is read from are its own fixtures; a finding is written to the current directory
as crash-..., and `python tests/read/fuzz_readers.py lm_eval crash-...` shows it again. A finding becomes a test at the end of
tests/read/test_logs_fuzz.py or tests/read/test_open_source_bad_files.py.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import random
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from damage import FILES, LOGS, STRANGE, nodes, replaced, without

ROWS = [{"id": f"q{i}", "truth": "ab"[i % 2], "prediction": "ab"[i % 3 % 2], "score": i % 2} for i in range(6)]
TABLES = {
    "csv": ("id,truth,prediction\n" + "".join(f'{r["id"]},{r["truth"]},"{r["prediction"]}"\n' for r in ROWS)).encode(),
    "jsonl": "".join(json.dumps(row) + "\n" for row in ROWS).encode(),
    "json": json.dumps(ROWS).encode(),
}
LOG_READERS = {
    "lm_eval": "lm_eval", "inspect": "inspect_log", "promptfoo": "promptfoo", "helm": "helm", "lighteval": "lighteval",
    "openai_evals": "openai_evals", "every_eval_ever": "every_eval_ever", "deepeval_run": "deepeval_run", "mlflow_table": "mlflow_table",
    "tau_bench": "tau_bench", "tau2_bench": "tau2_bench",
}  # fmt: skip
READERS = (*LOG_READERS, *TABLES, "gzip", "zstd")
OPTIONS = {"--score": "score", "--filter": "filter", "--scorer": "scorer", "--model": "model", "--prompt": "prompt"}


def seeds(reader: str) -> list[tuple[str, bytes, dict[str, str]]]:
    """Whole files to start from: name, bytes, and what to choose in them."""
    if reader in TABLES:
        return [(f"a.{reader}", TABLES[reader], {})]
    if reader in ("gzip", "zstd"):
        import pyarrow as pa

        return [(f"a.csv.{'gz' if reader == 'gzip' else 'zst'}", pa.compress(TABLES["csv"] * 20, reader, asbytes=True), {})]
    found = [(file, words) for file, words in FILES.items() if file.split("/")[0] == reader]
    chosen = [{OPTIONS[a]: b for a, b in zip(words[::2], words[1::2], strict=True) if a in OPTIONS} for _, words in found]
    return [
        (Path(file).name, (LOGS / file).read_bytes(), choice)
        for (file, _), choice in zip(found, chosen, strict=True)
        if not file.endswith("run_spec.json") and "/results_" not in file
    ]


def examine(reader: str, name: str, data: bytes, choices: dict[str, str], folder: Path) -> None:
    """Read bytes as a reader would. Every exception that is not ours goes on."""
    from steelyard.errors import SteelyardError

    path = folder / name
    path.write_bytes(data)
    with contextlib.suppress(SteelyardError):
        if reader in LOG_READERS:
            from steelyard.read.logs.log import Choices

            module = importlib.import_module(f"steelyard.read.logs.{LOG_READERS[reader]}")
            module.looks_like(str(path), data[: 1 << 16])
            columns = module.read(str(path), Choices(**choices)).columns
            assert len({len(column) for column in columns.values()}) == 1
        else:
            from steelyard.read.open_source import open_source

            source = open_source(path, columns={})
            source.items()
            if roles := [role for role in ("truth", "prediction") if role in source.roles]:
                source.tabulate(roles)


def mutated(data: bytes, draw: random.Random) -> bytes | None:
    """Another type for a node of the JSON value, or of a line of it; None if the bytes are no JSON."""
    try:
        text = data.decode()
        lines = text.count("\n") > 1 and text.lstrip().startswith("{") and text.split("\n")[0].rstrip().endswith("}")
        value: Any = [json.loads(line) for line in text.split("\n") if line.strip()] if lines else json.loads(text)
        places = nodes(value)
        place = draw.choice(places)
        if lines and len(place) < 2:
            return None
        other = draw.choice(STRANGE) if draw.random() < 0.7 else _node(value, draw.choice(places))
        changed = without(value, place) if place and draw.random() < 0.15 else replaced(value, place, other)
        return ("".join(json.dumps(row) + "\n" for row in changed) if lines else json.dumps(changed)).encode()
    except (ValueError, RecursionError):
        return None


def _node(value: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        value = value[key]
    return value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reader", choices=READERS)
    parser.add_argument("files", nargs="*", help="findings to show again, instead of fuzzing")
    parser.add_argument("--seconds", type=int, default=300)
    given = parser.parse_args()
    try:
        import atheris
    except ImportError:
        print("atheris is not installed: nothing was fuzzed")
        return
    start = seeds(given.reader)
    folder = Path(tempfile.mkdtemp())
    corpus = folder / "corpus"
    corpus.mkdir()
    for place, (_, data, _) in enumerate(start):
        (corpus / f"seed{place}").write_bytes(data)
    with atheris.instrument_imports(include=["steelyard.read"]):
        for module in ("doors", "source", "opened", "jsons", "delimited", "inflate", "gate"):
            importlib.import_module(f"steelyard.read.{module}")
        if given.reader in LOG_READERS:
            importlib.import_module(f"steelyard.read.logs.{LOG_READERS[given.reader]}")

    def once(data: bytes) -> None:
        name, _, choices = start[len(data) % len(start)]
        examine(given.reader, name, data, choices, folder)

    def mutator(data: bytes, most: int, seed: int) -> bytes:
        changed = mutated(data, random.Random(seed)) if seed % 4 else None
        return (changed if changed is not None else atheris.Mutate(data, len(data)))[:most]

    limits = [f"-max_total_time={given.seconds}", "-max_len=150000", "-timeout=30", "-rss_limit_mb=3000"]
    what = given.files if given.files else [str(corpus), *limits]
    try:
        atheris.Setup([sys.argv[0], *what], once, custom_mutator=mutator)
        atheris.Fuzz()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
