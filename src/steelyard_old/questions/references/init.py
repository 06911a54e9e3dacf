"""A first configuration and a directory for references, for a project that has neither. What is there is left alone."""

from __future__ import annotations

import json
import os
from pathlib import Path

from steelyard_old.errors import UsageError
from steelyard_old.evaluate.task.presets import preset_text
from steelyard_old.options.init import OPTIONS
from steelyard_old.options.option import documented
from steelyard_old.questions.references.listing import shown_path
from steelyard_old.reference.config import find_config
from steelyard_old.results import signature
from steelyard_old.results.references import ProjectInit

FILE = "steelyard.toml"
NEXT = (
    "steelyard record RUN.jsonl --task TASK --model MODEL",
    "steelyard check NEW.jsonl --task TASK --model MODEL",
    "steelyard references lint",
)
TEMPLATE = """\
# Where the references are, and the settings of each task. Only the nearest steelyard.toml, going up, is used.
# Order of precedence: command-line option, entry of the reference, this file, default.

directory = {directory}       # of the references, relative to this file

# spec_keys = ["hardware"]       # spec keys of your own, beside dtype, quant_algo, kv_cache_quant_algo, spec_dec_algo,
                                 # extra_acc_spec, mtp_enabled and max_draft_len: they tell configurations apart
# ids = "hashed"                 # how item ids are stored beside a reference: "kept" (the default) or "hashed"
# history = "sqlite:///runs.db"  # where every check and record is kept: a file relative to this one, or postgresql://host/db

[policy]                         # what `steelyard references lint` requires
# max_theta = 3.0                # refuse a reference that cannot detect a drop of this size (in its own scale)
# require_provenance = true      # refuse an entry without recorded, by, commit and reason
# stale_days = 180               # warn of references older than this

# Settings for all entries of a task; an entry can override them. One table per task.
# [tasks.mmlu]
# metric = "accuracy"            # the metric of the value
# scale = "percent"              # scale of value, theta, margin, sigma and threshold: percent, fraction or raw
# higher_is_better = true        # only for a metric that steelyard does not know
# alpha = 0.05                   # false-alarm rate: share of healthy runs called worse
# beta = 0.2                     # miss rate (type II) assumed for the minimum detectable effect
# sigma = 50                     # standard deviation of one item's score, for references that are a single number
# num_samples = 4096             # items behind such a number
# theta = 2.0                    # smallest drop that matters; a pass has to rule it out
# margin = 0.0                   # drop to tolerate
# ratio = "accepted/drafted"     # the two columns of a ratio metric, above and below the line
# by = ["language"]              # columns whose values are judged beside the whole, each by itself
# critical_slices = ["de"]       # of these, the values that count; the others are shown
# chance = 25.0                  # score of random guessing; lint refuses thresholds at or below it
# tier = "critical"              # in a suite: critical, supporting or advisory
# spec_keys = ["prompt"]         # spec keys of this task alone
# protocol = {{ num_fewshot = 5 }} # how a run is made; has to match the reference
"""
README = """\
# References

The recorded scores of the models, one file per task, written by `steelyard record`:

- `TASK.yaml` has the values: model, spec, value, and where it came from. Easy to read and diff; commit it.
- `TASK.items/` has the outcome of every item, so later runs can be compared item by item. Commit it too.
- `TASK.history.jsonl` has a line for every change, with who and why. Lines are only ever added.
- `TASK.unfinished.json` is there only if a command was killed half-way. The next one that writes finishes or undoes its change.

`steelyard references list` shows them, `steelyard references lint` finds mistakes in them, and
`steelyard references history TASK MODEL` shows who changed them, when and why.
"""
ATTRIBUTES = "# Two branches that both add to a history: keep the lines of both.\n*.history.jsonl merge=union\n"


@documented(
    OPTIONS,
    "a ProjectInit",
    directory="Where the references will be. Default: references.",
    preset="Name of a ready-made task whose task file is written instead. Default: none.",
)
def init(
    directory: str | os.PathLike[str] = "references", *, where: str | os.PathLike[str] = ".", preset: str | None = None
) -> ProjectInit:
    """Write a commented steelyard.toml, and a directory of references with a few words about it.

    A configuration that is there is an error; a directory that is there is used as it is, and nothing in it is changed.
    With `preset`, the task file of that ready-made task is written instead, to be changed; one that is there is an error.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as there:
    ...     done = init(where=there)
    ...     sorted(path.name for path in Path(there).iterdir())
    ['references', 'steelyard.toml']
    """
    home = Path(where)
    if preset is not None:
        return _preset(home, preset)
    named = os.fspath(directory)
    if not named.strip() or any(not char.isprintable() for char in named):
        raise UsageError(
            f"The name of the directory of references cannot be printed: {named!r}.", got=repr(named), need="a name that can be printed"
        )
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
        raise UsageError(f"Cannot write in {str(home)!r}: {said}.", got=said, need="a directory that can be written to") from fault
    find_config(home, config)  # what was written is read as any other
    return ProjectInit(
        written=tuple(written),
        kept=tuple(kept),
        next=NEXT,
        conclusion=f"Ready: references are kept in {shown_path(folder)}.",
        warnings=() if above is None else (f"{shown_path(above)} no longer applies here: only the nearest steelyard.toml is used",),
        signature=signature.write({"goal": "init"}),
    )


def _preset(home: Path, name: str) -> ProjectInit:
    """A task file, NAME.toml, that can be changed."""
    text, path = preset_text(name), home / f"{name}.toml"
    try:
        new = _new_file(path, text)
    except OSError as fault:
        raise UsageError(
            f"Cannot write {str(path)!r}: {fault.strerror or fault}.",
            got=fault.strerror or str(fault),
            need="a directory that can be written to",
        ) from fault
    if not new:
        raise UsageError(
            f"{shown_path(path)!r} exists already.",
            got=f"{shown_path(path)!r}",
            need="a name that is free",
            hint="it was not changed; rename it",
        )
    return ProjectInit(
        written=(shown_path(path),),
        next=(f"steelyard run {shown_path(path)} --data PATH --model MODEL",),
        conclusion=f"Ready: change {shown_path(path)} as you need it.",
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
            f"There is a configuration already: {shown_path(there)!r}.",
            got=f"a configuration in {shown_path(there)!r} already",
            need="a directory without one",
            hint="it was not changed; continue with sy.record(run, task=task, model=model)",
        )


def _new_file(path: Path, text: str) -> bool:
    """Write a file that is not there; False if it is."""
    try:
        with open(path, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        return False
    return True
