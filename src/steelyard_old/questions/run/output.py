"""Where the rows of a run go: a place that can be written, found out before the first question."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from steelyard_old.errors import UsageError
from steelyard_old.outputs import refuse_overwriting
from steelyard_old.reference.run_notes import ENDING, JOURNAL, rows_paths


def check_output(output: Path | None, models: int, sources: Sequence[Any], references: str | os.PathLike[str]) -> None:
    """A place that can be written, and that is none of what the run reads. Found out before the first question."""
    if output is None:
        return
    if str(output).endswith((ENDING, JOURNAL)):
        raise UsageError(
            f"The name {output.name!r} is one that the run needs for itself.",
            got=f"the name {output.name!r}, which a run needs for itself",
            need="another name",
            hint="write the rows to another name",
        )
    try:
        mode = os.stat(output).st_mode
        if not stat.S_ISREG(mode):
            kind = "a directory" if stat.S_ISDIR(mode) else "a pipe or a device"
            raise UsageError(f"The rows must go to a regular file: {str(output)!r} is {kind}.", got=kind, need="a regular file")
    except FileNotFoundError:
        pass
    except OSError as fault:
        raise UsageError(
            f"Cannot write the rows to {str(output)!r}: {fault.strerror or fault}.", got=fault.strerror or str(fault), need="a file"
        ) from fault
    home = output.absolute().parent
    if not home.is_dir():
        raise UsageError(f"No directory {str(home)!r} to write the rows to.", got=f"no directory {str(home)!r}", need="one that exists")
    refuse_overwriting({"the rows": rows_paths(output, models)}, sources, [references])
