"""certify: everything we claim, worked out again and judged; the answer is a Certificate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from steelyard_old.errors import UsageError
from steelyard_old.options.certify import OPTIONS
from steelyard_old.options.option import documented
from steelyard_old.proof import accuracy as forms
from steelyard_old.proof.catalogue import every_claim, picked, refuse_unknown
from steelyard_old.proof.judging import held
from steelyard_old.proof.preferences import preference_faults, preferences
from steelyard_old.proof.running import work_out
from steelyard_old.results import signature
from steelyard_old.results.certificate import NOT_OFFERED, UP_IS_BAD, Certificate, CertifiedClaim

STATE = "steelyard-certify.state"  # what the full grid is resumed from, unless another file is named


@documented(OPTIONS, "a Certificate")
def certify(
    grid: str = "quick",
    *,
    only: str | Sequence[str] | None = None,
    seed: int | None = None,
    nightly: bool = False,
    jobs: int = 1,
    state: str | Path | None = None,
    csv: str | Path | None = None,
    progress: Callable[[int, int, float], None] = lambda *_: None,
) -> Certificate:
    """Recompute what we claim about coverage, error rates and precision, and check it against the documented bands.

    grid: quick (a minute) or full (about half an hour on two cores). only: parts of names, or patterns with *; None is
    everything. seed: of what is simulated, 0 unless given. nightly: today's date (UTC) is the seed, 20261231 for example, so
    that every night tries other data; the certificate names it, and the same seed repeats it. jobs: processes; more than 1 in a
    script needs its `if __name__ == "__main__":`, as everything that starts processes. state: a file that finished settings are
    written to and read back from, so that an interrupted run is resumed. progress is told (done, in all, seconds).

    >>> found = certify(only="a proportion: coverage of clopper*")
    >>> found.exit_code, found.claims[0].worst >= 0.95
    (0, True)
    """
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise UsageError("cannot use jobs", got=repr(jobs), need="a whole number of at least 1")
    seed = _seed(seed, nightly)
    asked = [only] if isinstance(only, str) else list(only or ())
    claims = every_claim()
    refuse_unknown(asked, [*(claim.name for claim in claims), *(form.name for form in forms.FORMS)])
    chosen = [claim for claim in claims if picked(claim.name, asked)]
    place = None if state is None else Path(state)
    found = work_out(chosen, grid, seed=seed, jobs=jobs, state=place, done=progress) if chosen else {}
    made = certificate([held(claim, found[claim.name]) for claim in chosen], grid=grid, seed=seed, only=asked)
    if csv is not None:
        from steelyard_old.atomic import write_text
        from steelyard_old.render.pages.certificate import certificate_csv

        write_text(Path(csv), certificate_csv(made))
    return made


def _seed(seed: int | None, nightly: bool) -> int:
    """The seed that is asked for: a number, or today's date in UTC; a machine's own time zone would make two seeds of one night."""
    if nightly and seed is not None:
        raise UsageError(
            f"nightly= takes the date as the seed; leave seed={seed!r} out.",
            got=f"seed {seed!r} and nightly",
            need="one of them",
        )
    if nightly:
        return int(datetime.now(UTC).strftime("%Y%m%d"))
    if seed is None:
        return 0
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise UsageError("cannot use seed", got=repr(seed), need="a whole number of 0 or more")
    return seed


def certificate(claims: Sequence[CertifiedClaim], *, grid: str, seed: int, only: Sequence[str] = ()) -> Certificate:
    """The claims, the defaults and the accuracy put together, and the last line."""
    better = preferences(claims)
    precise = forms.accuracy(only) if forms.there() else []
    asked_for = [form.name for form in forms.FORMS if picked(form.name, only)]
    left_out = None if forms.there() or not asked_for else forms.LEFT_OUT
    faults = [fault for claim in claims for fault in claim.faults]
    faults += preference_faults(better, complete=grid == "full" and not only)
    faults += [
        f"{form.name} at {form.worst_at}: found an error of {form.worst:.2g}, documented at most {form.limit:g}"
        for form in precise
        if not form.holds
    ]
    coverage, size = worst_of(claims, "coverage"), worst_of(claims, "size")
    return Certificate(
        grid=grid,
        seed=seed,
        only=tuple(only),
        claims=tuple(claims),
        preferences=tuple(better),
        accuracy=tuple(precise),
        accuracy_left_out=left_out,
        coverage=coverage,
        size=size,
        faults=tuple(faults),
        conclusion=_conclusion(len(claims), len(precise), coverage, size, faults),
        warnings=(left_out,) if left_out else (),
        versions=_versions(),
        signature=signature.write({"goal": f"certify-{grid}", "seed": seed}),
    )


def worst_of(claims: Sequence[CertifiedClaim], kind: str) -> Mapping[str, Any] | None:
    """The share furthest on the bad side of nominal among the methods that are claimed to be valid: those with a bound for every
    point, offered here and no documented failure."""
    bound = "high" if kind in UP_IS_BAD else "low"
    ours = [claim for claim in claims if claim.kind == kind and not claim.family.startswith(NOT_OFFERED)]
    valid = [claim for claim in ours if bound in claim.band and "fails" not in claim.band]
    if not valid:
        return None
    sign = 1 if kind in UP_IS_BAD else -1
    claim = max(valid, key=lambda each: sign * (each.worst - each.nominal))  # a chart's share of alarms is no test's alpha
    return {
        "claim": claim.name,
        "family": claim.family,
        "method": claim.method,
        "worst": claim.worst,
        "at": claim.worst_at,
        "error": claim.worst_error,
        "claimed": claim.band[bound],
    }


def _conclusion(
    claims: int, precise: int, coverage: Mapping[str, Any] | None, size: Mapping[str, Any] | None, faults: Sequence[str]
) -> str:
    said = []
    for name, sign, found in (("Worst coverage", "at least", coverage), ("Worst size", "at most", size)):
        if found is not None:
            chance = f" +-{found['error']:.4f}" if found["error"] else ""
            where = f"{found['family']}, {found['method']}, {found['at']}"
            said.append(f"{name}: {found['worst']:.4f}{chance}, claimed {sign} {found['claimed']:g} ({where}).")
    whole = [f"all {claims} claims hold" if claims > 1 else "the claim holds"] if claims else []
    whole += (
        [f"all {precise} closed forms are within their limits" if precise > 1 else "the closed form is within its limit"] if precise else []
    )
    first = f"{len(faults)} {'fault' if len(faults) == 1 else 'faults'}: {faults[0]}" if faults else " and ".join(whole)
    return " ".join([f"{first[:1].upper()}{first[1:]}.", *said])


def _versions() -> dict[str, str]:
    """What the numbers were computed with."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version()}
    for name in ("numpy", "scipy", "mpmath"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
