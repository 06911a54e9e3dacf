"""The line that lets someone else repeat the number: `key:value|key:value|...`, fixed order, version last.

It is built from what was used, not from what was asked, and `parse` reads it back; a test replays it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from steelyard_old.errors import UsageError
from steelyard_old.late_pattern import late_pattern
from steelyard_old.version import __version__

ORDER = (
    "goal",
    "task",
    "model",
    "spec",
    "metric",
    "scale",
    "by",
    "critical_slices",
    "systems",
    "correction",
    "positive",
    "labels",
    "ratio",
    "n",
    "design",
    "units",
    "n_effective",
    "method",
    "parts",
    "id",
    "column",
    "text",
    "words",
    "folds",
    "repeats",
    "test_size",
    "stratified",
    "interval",
    "test",
    "stopping",
    "step",
    "spending",
    "kappa",
    "strata",
    "alternative",
    "alpha",
    "beta",
    "power",
    "theta",
    "theta_relative",
    "reference",
    "sigma",
    "discordance",
    "noise",
    "churn",
    "sd",
    "within",
    "answers",
    "design_effect",
    "n_reference",
    "expected",
    "precision",
    "recall",
    "prevalence",
    "total",
    "width",
    "threshold",
    "target",
    "assurance",
    "design_prior",
    "have",
    "pilot",
    "batch",
    "at-least",
    "level",
    "side",
    "margin",
    "margin_relative",
    "prior",
    "prior_scale",
    "range",
    "draws",
    "seed",
    "absent",
    "missing",
    "unmatched",
)
_ESCAPED = late_pattern("[%|:,\x00-\x1f\x7f-\x9f\u2028\u2029]")


def quote(text: str) -> str:
    """A value without the separators of the line, percent-encoded like a URL.

    >>> quote("a|b")
    'a%7Cb'
    """
    return _ESCAPED.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), text)


def unquote(text: str) -> str:
    return re.sub(r"(?:%[0-9A-F]{2})+", lambda found: bytes.fromhex(found[0].replace("%", "")).decode(), text)


def write(facts: Mapping[str, object]) -> str:
    """The line of the facts that are not None; lists are joined by commas.

    >>> write({"n": 800, "metric": ["f1"], "level": 0.95}).rsplit("|", 1)[0]
    'metric:f1|n:800|level:0.95'
    """
    parts = []
    for key in ORDER:
        value = facts.get(key)
        if value is not None:
            values = value if isinstance(value, (list, tuple)) else [value]
            parts.append(f"{key}:{','.join(quote(_text(v)) for v in values)}")
    return "|".join([*parts, f"steelyard:{__version__}"])


def _text(value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:g}" if float(f"{value:g}") == value else repr(value)  # short where that is exact


def values_of(line: str, key: str) -> list[str]:
    """The values of one fact of a line; none where the line does not have it.

    >>> values_of("metric:accuracy,macro_f1|n:20|steelyard:0.1.0", "metric"), values_of("n:20|steelyard:0.1.0", "prior")
    (['accuracy', 'macro_f1'], [])
    """
    return parse(line).get(key, []) if line else []


def parse(line: str) -> dict[str, list[str]]:
    """The facts of a line, each as its list of values.

    >>> parse("metric:accuracy,macro_f1|n:20|steelyard:0.1.0")["metric"]
    ['accuracy', 'macro_f1']
    """
    facts: dict[str, list[str]] = {}
    for part in line.strip().split("|"):
        key, colon, value = part.partition(":")
        if not colon:
            raise UsageError(
                f"A signature is key:value parts joined by |; this has {part!r}.", got=f"{part!r}", need="key:value parts joined by |"
            )
        facts[key] = [unquote(v) for v in value.split(",")]
    return facts
