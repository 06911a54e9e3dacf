"""What a guard answers with: a verdict on one task, on a suite of them, and what was put on record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from steelyard.results.display import Displayable

SCHEMA = 1
EXIT = {"pass": 0, "regression": 1, "inconclusive": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict(Displayable):
    """Has it become worse than the reference? `difference` is candidate minus reference, turned so that up is good.

    All of value, difference, margin, theta, mde, sigma and threshold are in `scale`. `lower` and `upper` are the
    one-sided bounds of level 1 - alpha; the p-value decides, and they never contradict it.
    """

    verdict: str
    task: str
    model: str
    spec: Mapping[str, Any] = field(default_factory=dict)
    metric: str = "accuracy"
    higher_is_better: bool = True
    scale: str = "fraction"
    design: str = "unpaired"
    target: str = "items"
    n: int | None = None
    alpha: float = 0.05
    beta: float = 0.2
    sigma: float | None = None
    margin: float = 0.0
    theta: float | None = None
    mde: float | None = None
    reference: Mapping[str, Any] = field(default_factory=dict)
    candidate: Mapping[str, Any] = field(default_factory=dict)
    threshold: float | None = None
    difference: Mapping[str, float | None] = field(default_factory=dict)
    test: str | None = None
    p_value: float | None = None
    flips: Mapping[str, int] | None = None
    needed: Mapping[str, Any] | None = None
    tier: str | None = None
    waiver: Mapping[str, Any] | None = None
    conclusion: str = ""
    claim: str = ""
    telling: tuple[Mapping[str, Any], ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    signature: str = ""

    @property
    def passed(self) -> bool:
        return self.verdict == "pass"

    @property
    def exit_code(self) -> int:
        return EXIT[self.verdict]

    def __str__(self) -> str:
        from steelyard.render.formats import result_text  # the listed exception: a result may ask render for its looks

        return result_text(self)

    def to_dict(self) -> dict[str, Any]:
        names = ("verdict", "task", "model", "metric", "higher_is_better", "scale", "design", "target", "n", "alpha", "beta", "sigma")
        more = ("margin", "theta", "mde", "threshold", "test", "p_value", "tier", "conclusion", "claim", "signature")
        return {
            "kind": "verdict",
            "schema": SCHEMA,
            **{name: getattr(self, name) for name in (*names, *more)},
            "spec": dict(self.spec),
            "reference": dict(self.reference),
            "candidate": dict(self.candidate),
            "difference": dict(self.difference),
            "flips": None if self.flips is None else dict(self.flips),
            "needed": None if self.needed is None else dict(self.needed),
            "waiver": None if self.waiver is None else dict(self.waiver),
            "telling_items": [dict(item) for item in self.telling],
            "details": dict(self.details),
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite(Displayable):
    """Many guards at once. `rows` say for each verdict its place in the family: adjusted p, tier, waiver, what counts."""

    verdict: str
    correction: str
    alpha: float
    verdicts: tuple[Verdict, ...]
    rows: tuple[Mapping[str, Any], ...] = ()
    name: str | None = None
    conclusion: str = ""
    warnings: tuple[str, ...] = ()
    signature: str = ""

    @property
    def passed(self) -> bool:
        return self.verdict == "pass"

    @property
    def exit_code(self) -> int:
        return EXIT[self.verdict]

    def __str__(self) -> str:
        from steelyard.render.formats import result_text  # the listed exception

        return result_text(self)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "suite",
            "schema": SCHEMA,
            "name": self.name,
            "verdict": self.verdict,
            "correction": self.correction,
            "alpha": self.alpha,
            "conclusion": self.conclusion,
            "rows": [dict(row) for row in self.rows],
            "verdicts": [verdict.to_dict() for verdict in self.verdicts],
            "warnings": list(self.warnings),
            "signature": self.signature,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded(Displayable):
    """A reference that was put on record, or replaced (`before` is then its old value)."""

    task: str
    model: str
    spec: Mapping[str, Any]
    metric: str
    scale: str
    value: float
    n: int
    runs: int
    sigma_run: float | None = None
    before: float | None = None
    file: str = ""
    items: str | None = None
    reason: str | None = None
    conclusion: str = ""
    warnings: tuple[str, ...] = ()
    signature: str = ""

    def __str__(self) -> str:
        from steelyard.render.formats import result_text  # the listed exception

        return result_text(self)

    def to_dict(self) -> dict[str, Any]:
        names = ("task", "model", "metric", "scale", "value", "n", "runs", "sigma_run", "before", "file", "items", "reason", "conclusion")
        return {
            "kind": "recorded",
            "schema": SCHEMA,
            **{name: getattr(self, name) for name in names},
            "spec": dict(self.spec),
            "warnings": list(self.warnings),
            "signature": self.signature,
        }
