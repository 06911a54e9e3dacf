"""Names that become files: tasks, and the outcomes of a model under a spec. None of them can leave its directory."""

from __future__ import annotations

import hashlib
import json
import os
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steelyard_old.errors import UsageError, with_article
from steelyard_old.late_pattern import late_pattern
from steelyard_old.reference.entry import SPEC_DEFAULTS
from steelyard_old.reference.strict_yaml import NULLS

LONGEST = 150  # bytes: room for endings and for the name of a temporary file within the 255 that filesystems allow
SLUG = 60
_RESERVED = late_pattern(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\.|\Z)", re.IGNORECASE)  # devices of Windows, with any ending
_PUNCTUATION = frozenset("._-")


def check_task(task: str) -> str:
    """The name of a task, if it can be the name of a file on any system.

    Letters and digits of any script, in their composed form (two spellings of one name would be two files on one system and
    one on another), and `.`, `_`, `-`.

    >>> check_task("gsm8k")
    'gsm8k'
    """
    fault = _fault(task)
    if fault:
        raise UsageError(
            f"The name of the task must be letters, digits, '.', '_' and '-', at most {LONGEST} bytes; it is {task!r}, {fault}.",
            got=f"{task!r}, {fault}",
            need=f"letters, digits, '.', '_' and '-', at most {LONGEST} bytes",
            hint="a task is the name of one file in the directory of references, without .yaml",
        )
    return task


def _fault(name: str) -> str:
    if not isinstance(name, str) or not name:
        return "no name at all"
    if strange := next((char for char in name if not _may_be_in_a_name(char)), None):
        return f"with the character {strange!r}"
    if unicodedata.normalize("NFC", name) != name:
        return "in decomposed Unicode (NFD)"
    if not (name[0].isalnum() or name[0] == "_"):  # hidden, an option, or an accent on nothing
        return f"which begins with {name[0]!r}"
    if name[-1] == ".":  # Windows forgets it
        return "which ends with a dot"
    if ".." in name:
        return "with '..'"
    if _RESERVED.match(name):
        return "which is a device on Windows"
    return "" if len(name.encode()) <= LONGEST else f"of {len(name.encode())} bytes"


def _may_be_in_a_name(char: str) -> bool:
    return char.isalnum() or char in _PUNCTUATION or unicodedata.category(char)[0] == "M"  # M: the vowels of many scripts


def task_path(directory: Path, task: str) -> Path:
    """The file of a task's references."""
    return inside(directory, f"{check_task(task)}.yaml")


def history_path(directory: Path, task: str) -> Path:
    """The file with the history of a task's references."""
    return inside(directory, f"{check_task(task)}.history.jsonl")


def items_directory(directory: Path, task: str) -> Path:
    """The directory with the item outcomes of a task."""
    return inside(directory, f"{check_task(task)}.items")


def intent_path(directory: Path, task: str) -> Path:
    """The file that a change of a task's references leaves only if its process is killed."""
    return inside(directory, f"{check_task(task)}.unfinished.json")


def inside(directory: Path, name: str) -> Path:
    """A file of the directory, by a relative name with `/`. A name or a symbolic link that leads out of it is an error.

    The directory itself may be a link: it is the user's choice where the references are.
    """
    parts = name.split("/")
    if any(part in ("", ".", "..") or re.search(r"[\\:\x00-\x1f\x7f]", part) for part in parts):
        raise UsageError(
            f"The file must be a relative path inside {str(directory)!r}, not {name!r}.",
            got=repr(name),
            need=f"a relative path inside {str(directory)!r}",
        )
    path = Path(directory, *parts)
    try:
        home, real = os.path.realpath(directory), os.path.realpath(path)
        os.stat(path)  # realpath is content with links that go in circles
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as fault:
        said = getattr(fault, "strerror", None) or str(fault)
        raise UsageError(f"Cannot open {str(path)!r}: {said}.", got=said, need="a file in the directory of references") from fault
    if os.path.commonpath([home, real]) != home:
        raise UsageError(
            f"{str(path)!r} is a link out of the directory {str(directory)!r}, to {real!r}.",
            got=f"a link that leads to {real!r}",
            need=f"a file inside {str(directory)!r}",
            hint="replace the link by the file, or point directory= to where the files are",
        )
    return path


def check_spec(spec: Any) -> Mapping[str, Any]:
    """The spec, if it is a mapping; a text in its place is refused with the mapping that was meant.

    null and ~ are None, whoever says them: a command line has texts only, and readers of YAML take both for nothing. So is an empty text.
    """
    if isinstance(spec, Mapping):
        return {key: None if isinstance(value, str) and value in NULLS else value for key, value in spec.items()}
    key, _, value = spec.partition("=") if isinstance(spec, str) and "=" in spec else ("quant_algo", "=", "FP8")
    raise UsageError(
        "The spec must be a mapping of keys to values, not "
        f"{f'the text {spec!r}' if isinstance(spec, str) else with_article(type(spec).__name__)}.",
        got=f"the text {spec!r}" if isinstance(spec, str) else with_article(type(spec).__name__),
        need="a mapping of keys to values",
        hint=f"spec={{{key.strip()!r}: {value.strip()!r}}}",
    )


def canonical_spec(spec: Mapping[str, Any]) -> str:
    """A spec as one text: keys in order, defaults and nulls left out, so that equal specs have equal texts.

    >>> canonical_spec({"quant_algo": "FP8", "dtype": "auto", "kv_cache_quant_algo": None})
    '{"quant_algo":"FP8"}'
    """
    said = {key: value for key, value in check_spec(spec).items() if value is not None and value != SPEC_DEFAULTS.get(key)}
    try:
        return json.dumps(said, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as fault:
        raise UsageError(
            f"The spec must hold texts, numbers, true or false; it is {dict(spec)!r}.",
            got=repr(dict(spec)),
            need="texts, numbers, true or false",
        ) from fault


def outcomes_name(model: str, spec: Mapping[str, Any]) -> str:
    """The name under which the outcomes of a model are kept: readable, and its own for every model and spec.

    >>> outcomes_name("meta-llama/Llama-3.1-8B", {"quant_algo": "FP8"})
    'meta-llama-llama-3-1-8b-fp8-942c0ff2fb'
    """
    if not model:
        raise UsageError("The name of the model is empty.", got="an empty name of the model", need="a model", hint="give model=NAME")
    canonical = canonical_spec(spec)
    values = [str(value) for _, value in sorted(json.loads(canonical).items())]
    plain = unicodedata.normalize("NFKD", " ".join([model, *values])).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:SLUG].strip("-")
    digest = hashlib.sha256(json.dumps([model, canonical]).encode()).hexdigest()
    return f"{slug or 'model'}-{digest[:10]}"
