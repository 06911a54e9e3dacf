"""A first configuration and a directory for references, for a project that has neither. What is there is left alone."""

from __future__ import annotations

import json
import os
from pathlib import Path

from steelyard import signature
from steelyard.errors import UsageError
from steelyard.options import documented
from steelyard.questions.references.listing import shown_path
from steelyard.reference.config import find_config
from steelyard.results.references import ProjectInit

FILE = "steelyard.toml"
NEXT = (
    "steelyard record RUN.jsonl --task TASK --model MODEL",
    "steelyard check NEW.jsonl --task TASK --model MODEL",
    "steelyard references lint",
)
TEMPLATE = """\
# Where the references are, and what each task says of itself. The nearest steelyard.toml upward counts, alone.
# An option of a command comes first, then the entry of a reference, then this file, then the default.

directory = {directory}       # of the references, relative to this file

# spec_keys = ["hardware"]       # spec keys of your own, beside dtype, quant_algo, kv_cache_quant_algo, spec_dec_algo,
                                 # extra_acc_spec, mtp_enabled and max_draft_len: what justifies another accuracy
# ids = "hashed"                 # how item ids are stored beside a reference: "kept" (the default) or "hashed"
# history = "sqlite:///runs.db"  # where every check and record is kept: a file relative to this one, or postgresql://host/db

[policy]                         # what `steelyard references lint` holds the references to
# max_theta = 3.0                # refuse a reference that could not find a drop of this size (in its own scale)
# require_provenance = true      # refuse an entry without recorded, by, commit and reason
# stale_days = 180               # warn of references older than this

# What a task says of all its entries; an entry may say otherwise. One table for each task.
# [tasks.mmlu]
# metric = "accuracy"            # what the value is
# scale = "percent"              # of value, theta, margin, sigma and threshold: percent, fraction or raw
# higher_is_better = true        # only for a metric that steelyard does not know
# alpha = 0.05                   # false alarms: the share of healthy runs called worse
# beta = 0.2                     # misses that the minimum detectable effect is reported for
# sigma = 50                     # deviation of one item's score, for references that are a single number
# num_samples = 4096             # items behind such a number
# theta = 2.0                    # the drop that matters: a pass must rule it out
# margin = 0.0                   # the drop that is tolerated
# chance = 25.0                  # what guessing scores: lint refuses thresholds at or below it
# tier = "critical"              # in a suite: critical, supporting or advisory
# spec_keys = ["prompt"]         # spec keys of this task alone
# protocol = {{ num_fewshot = 5 }} # how a run is made; must be what the reference says
"""
README = """\
# References

What the models scored when they were put on record, one file for each task, written by `steelyard record`:

- `TASK.yaml` has the values: model, spec, value, and where it came from. Made for people and diffs; commit it.
- `TASK.items/` has what every item scored, so that the next run is compared item by item. Commit it too.
- `TASK.history.jsonl` has a line for every change, with who and why. It is only ever added to.
- `TASK.unfinished.json` is there only if a command was killed half-way. The next one that writes finishes or undoes its change.

`steelyard references list` shows them, `steelyard references lint` says what is wrong with them, and
`steelyard references history TASK MODEL` how they came about.
"""
ATTRIBUTES = "# Two branches that both add to a history: keep the lines of both.\n*.history.jsonl merge=union\n"


@documented(
    (),
    "a ProjectInit",
    directory="Where the references will be. Default: references.",
    where="The directory of steelyard.toml. Default: the current one.",
)
def init(directory: str | os.PathLike[str] = "references", *, where: str | os.PathLike[str] = ".") -> ProjectInit:
    """Write a commented steelyard.toml, and a directory of references with a few words about it.

    A configuration that is there is an error; a directory that is there is used as it is, and nothing in it is changed.
    """
    home = Path(where)
    named = os.fspath(directory)
    if not named.strip() or any(not char.isprintable() for char in named):
        raise UsageError("cannot make the directory of references", got=repr(named), need="a name that can be printed")
    config, folder = home / FILE, home / named
    _refuse_second(home, config)
    above = find_config(home).path
    written: list[str] = []
    kept: list[str] = []
    try:
        if folder.is_dir():
            kept.append(shown_path(folder))
        else:
            folder.mkdir(parents=True)
        for path, text in (
            (folder / "README.md", README),
            (folder / ".gitattributes", ATTRIBUTES),
            (config, TEMPLATE.format(directory=json.dumps(named, ensure_ascii=False))),  # last: it says that all is in place
        ):
            (written if _new_file(path, text) else kept).append(shown_path(path))
    except OSError as fault:
        said = f"{fault.strerror or fault} ({fault.filename!r})"
        raise UsageError(f"cannot start in {str(home)!r}", got=said, need="a directory that can be written to") from fault
    find_config(home, config)  # what was written is read as any other
    return ProjectInit(
        written=tuple(written),
        kept=tuple(kept),
        next=NEXT,
        conclusion=f"Ready: references go to {shown_path(folder)}.",
        warnings=() if above is None else (f"{shown_path(above)} does not count here any more: the nearest file counts, alone",),
        signature=signature.write({"goal": "init"}),
    )


def _refuse_second(home: Path, config: Path) -> None:
    """One configuration in a directory: a second would silently take the place of the first."""
    there = config if os.path.lexists(config) else None
    project = home / "pyproject.toml"
    if there is None and project.is_file() and find_config(home).path == Path(os.path.abspath(project)):
        there = project
    if there is not None:
        raise UsageError(
            "cannot start",
            got=f"a configuration in {shown_path(there)!r} already",
            need="a directory without one",
            hint="it is left as it is; steelyard record RUN --task TASK --model MODEL goes on from there",
        )


def _new_file(path: Path, text: str) -> bool:
    """Write a file that is not there; False if it is."""
    try:
        with open(path, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        return False
    return True
