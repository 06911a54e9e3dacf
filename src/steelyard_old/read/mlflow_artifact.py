"""A table that an MLflow run has logged, as a source: `mlflow:runs:/RUN_ID/eval_results_table.json`, from MLFLOW_TRACKING_URI."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator

from steelyard_old.errors import SourceError, UsageError
from steelyard_old.mlflow_store import client_of, faults, from_environment, is_missing, quiet
from steelyard_old.read.files.paths import TemporaryFile

_ADDRESS = re.compile(r"mlflow:runs:/+(?P<run>[^/]+)/(?P<path>.+)", re.DOTALL)
_RUN = re.compile(r"[0-9A-Za-z_-]{1,64}")
EXAMPLE = "mlflow:runs:/RUN_ID/eval_results_table.json"


def download(address: str) -> tuple[TemporaryFile, str]:
    """The artifact as a temporary file of ours, and the name of its run."""
    run, path = _parts(address)
    tracking = from_environment()
    with quiet(), faults(tracking, f"Cannot read {address!r}"), tempfile.TemporaryDirectory(prefix="steelyard-mlflow-") as folder:
        client = client_of(tracking)
        try:
            name = client.get_run(run).info.run_name
        except Exception as fault:
            if not is_missing(fault):
                raise
            raise SourceError(f"No run {run!r} in MLflow at {tracking.shown}.", got=repr(run), need="the id of a run") from None
        there = {each.path: each.is_dir for each in client.list_artifacts(run, os.path.dirname(path) or None)}
        if there.get(path) is not False:
            raise _no_table(address, path, there)
        file = client.download_artifacts(run, path, folder)
        spool = TemporaryFile()
        spool.fill(_chunks(file), f"download {address!r}")
    return spool, name or run


def _parts(address: str) -> tuple[str, str]:
    """The run and the path of its artifact. A path that leaves the artifacts of the run is refused."""
    found = _ADDRESS.fullmatch(address)
    if found is None or not _RUN.fullmatch(found["run"]):
        raise UsageError(
            f"{address!r} does not name a run and the path of its artifact.",
            got="another address",
            need="a run and the path of its artifact",
            hint=EXAMPLE,
        )
    path = found["path"]
    if any(part in ("", ".", "..") for part in path.split("/")) or "\\" in path or any(ord(char) < 32 for char in path):
        raise UsageError(
            f"{path!r} is not a path below the artifacts of a run.",
            got=f"the path {path!r}",
            need="a path below the artifacts of the run",
            hint=EXAMPLE,
        )
    return found["run"], path


def _no_table(address: str, path: str, there: dict[str, bool]) -> SourceError:
    if there.get(path):
        return SourceError(f"{address!r} is a folder.", got="a folder", need="a file", hint="name the table in it")
    files = [name for name, folder in sorted(there.items()) if not folder]
    shown = ", ".join(repr(name) for name in files[:8]) + (f" and {len(files) - 8:,} more" if len(files) > 8 else "")
    beside = os.path.dirname(path)
    where = f"The run has no artifact {path!r}; " + (
        f"there {'are' if len(files) > 1 else 'is'} {shown}." if files else "nothing is there."
    )
    return SourceError(where, got="no such artifact", need="a table that was logged", hint=f"the folder {beside!r}" if beside else EXAMPLE)


def _chunks(path: str) -> Iterator[bytes]:
    with open(path, "rb") as stream:
        while chunk := stream.read(1 << 20):
            yield chunk
