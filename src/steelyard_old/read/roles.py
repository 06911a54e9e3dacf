"""Which column plays which part. Given by option, or found by name; two candidates are an error, never a guess."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from steelyard_old.did_you_mean import did_you_mean, listed
from steelyard_old.errors import AmbiguityError, SourceError, UsageError
from steelyard_old.items import ROLES, Items
from steelyard_old.late_dataclass import dataclass
from steelyard_old.options.option import FORMER

# The names that are recognised, compared without case, exactly. Roles without any are only ever given, as `ratio` is.
RECOGNISED: Mapping[str, tuple[str, ...]] = {name: role.known for name, role in ROLES.items() if role.known}
GIVEN_ONLY = tuple(name for name, role in ROLES.items() if not role.known)
# Not columns: which part of a log is meant, and what its reader calls that. task and model_name are former names.
LOG_CHOICES: Mapping[str, str] = {
    "log_task": "task", "task": "task", "filter": "filter", "scorer": "scorer", "prompt": "prompt",
    "log_model": "model", "model_name": "model", "latest": "latest",
}  # fmt: skip
SINGLE = (*RECOGNISED, *GIVEN_ONLY)
OFFERED = ("subject", "category", "task")
NUMBER_ROLES = frozenset(name for name, role in ROLES.items() if role.number)
MORE_ROLES = frozenset(name for name in NUMBER_ROLES if name not in Items.__slots__)  # whose numbers lie in `Items.more`


def option(role: str) -> str:
    """The parameter that names the column of a role, or chooses inside a log."""
    return f"{FORMER.get(role, role)}="


@dataclass(frozen=True, slots=True)
class Assignment:
    """What was decided about the columns of one source."""

    roles: dict[str, str]
    by: tuple[str, ...] = ()
    ratio: tuple[str, str] | None = None
    hints: tuple[str, ...] = ()
    warnings: tuple[str, ...] = field(default=())


def assign(names: Sequence[str], columns: Mapping[str, object], *, exact: bool = False) -> Assignment:
    """Decide the role of each column from what was given and from the names. exact: a column has a role only by the role's own name.

    >>> assign(["id", "Gold", "pred", "subject"], {}).roles
    {'id': 'id', 'truth': 'Gold', 'prediction': 'pred'}
    """
    refuse_duplicates(names)
    asked = {role: value for role, value in columns.items() if value is not None and not (isinstance(value, tuple) and not value)}
    if unknown := set(asked) - {*SINGLE, "by", "ratio"}:
        raise unknown_argument(sorted(unknown)[0], (*SINGLE, "by", "ratio"))
    ignored = {role for role in RECOGNISED if isinstance(said := asked.get(role), str) and said == "none" and "none" not in names}
    roles = {role: find(names, asked[role], option(role)) for role in SINGLE if role in asked and role not in ignored}
    ratio = _pair(names, asked["ratio"]) if "ratio" in asked else None
    taken = {*roles.values(), *(ratio or ())}
    warnings: list[str] = []
    for role in RECOGNISED:
        if role in roles:
            continue
        known = (role,) if exact else RECOGNISED[role]
        found = [name for name in names if (name if exact else name.lower()) in known and name not in taken]
        if role in ignored:
            warnings += [_ignored(role, name) for name in found]
        elif len(found) > 1:
            raise _ambiguous(role, found)
        elif found:
            roles[role] = found[0]
    if "truth" in roles and roles["truth"] == roles.get("prediction"):
        raise UsageError(
            f"The column {roles['truth']!r} is both truth and prediction.",
            got=f"{roles['truth']!r} as truth and as prediction",
            need="two columns",
        )
    by = _slices(names, asked.get("by", ()), roles)
    roles = {role: roles[role] for role in SINGLE if role in roles}
    used = {*roles.values(), *by, *(ratio or ())}
    offered = [name for name in names if (name.rpartition(".")[2] if exact else name).lower() in OFFERED and name not in used]
    hints = tuple(f"column {name!r} could be used with by= or group=" for name in offered)
    return Assignment(roles, by, ratio, hints, tuple(warnings))


def column_of_role(names: Sequence[str], role: str, asked: str | None) -> str | None:
    """The column of one role, whatever the others are: the one named, else the one found by its name; None if 'none' or not there.

    >>> column_of_role(["doc_id", "label", "target"], "id", None)
    'doc_id'
    """
    refuse_duplicates(names)
    if asked == "none" and "none" not in names:
        return None
    if asked is not None:
        return find(names, asked, option(role))
    found = [name for name in names if name.lower() in RECOGNISED[role]]
    if len(found) > 1:
        raise _ambiguous(role, found)
    return found[0] if found else None


def may_use(columns: Mapping[str, object]) -> Callable[[str], bool]:
    """Whether a column could be asked for, so that a reader need not keep the prompts of a log in memory."""
    wanted = {name for known in RECOGNISED.values() for name in known}
    for value in columns.values():
        if isinstance(value, str):
            wanted.add(value.lower())
        elif isinstance(value, (tuple, list)):
            wanted.update(part.lower() for part in value if isinstance(part, str))
    return lambda name: name.lower() in wanted


def find(names: Sequence[str], asked: object, by_option: str) -> str:
    """The column that the user named: exactly, or alone without regard to case; else an error with the nearest name."""
    if not isinstance(asked, str):
        raise UsageError(
            f"cannot use {by_option}",
            got=f"{type(asked).__name__}",
            need="the name of a column",
            hint="arrays go with arrays, names with tables",
        )
    if asked in names:
        return asked
    loose = [name for name in names if name.lower() == asked.lower()]
    if len(loose) == 1:
        return loose[0]
    if loose:
        raise AmbiguityError(
            f"Several columns match {asked!r}: {listed(loose)}.",
            got=listed(loose),
            need=f"one of them, exactly as written, in {by_option}",
            hint=f"write one of them exactly in {by_option}",
        )
    hint = did_you_mean(asked, names) or f"name one of the columns with {by_option}"
    raise UsageError(
        f"No column {asked!r} for {by_option}; the columns are {listed(names)}.",
        got=f"columns {listed(names)}",
        need="one of them",
        hint=hint,
    )


def whole_name(names: Sequence[str], asked: object) -> object:
    """A column of a log by the last part of its name, if that is clear; else what was asked for, as it was.

    >>> whole_name(["id", "doc.topic"], "topic")
    'doc.topic'
    """
    if not isinstance(asked, str) or any(name.lower() == asked.lower() for name in names):
        return asked
    ends = [name for name in names if name.endswith(f".{asked}")]
    return ends[0] if len(ends) == 1 else asked


def _slices(names: Sequence[str], asked: object, roles: Mapping[str, str]) -> tuple[str, ...]:
    """The slice columns. A role word works too: `--by model` finds a column called `system`."""
    parts = (asked,) if isinstance(asked, str) else asked
    if not isinstance(parts, (tuple, list)):
        raise UsageError("cannot use by=", got=type(asked).__name__, need="names of columns")
    chosen: list[str] = []
    for part in parts:
        lowered = {name.lower() for name in names}
        known = isinstance(part, str) and part.lower() not in lowered and part.lower() in roles
        name = roles[str(part).lower()] if known else find(names, part, "by=")
        if name not in chosen:
            chosen.append(name)
    return tuple(chosen)


def _pair(names: Sequence[str], asked: object) -> tuple[str, str]:
    if not isinstance(asked, (tuple, list)) or len(asked) != 2:
        raise UsageError("cannot use ratio=", got=repr(asked), need="two columns: the sums above and below the line")
    return find(names, asked[0], "ratio="), find(names, asked[1], "ratio=")


def refuse_duplicates(names: Sequence[str]) -> None:
    """Two columns of one name cannot be told apart."""
    twice = [name for name, many in Counter(names).items() if name and many > 1] if len(set(names)) < len(names) else []
    if twice:
        raise SourceError(
            f"The column name {twice[0]!r} occurs {names.count(twice[0])} times.",
            got=f"the column name {twice[0]!r} {names.count(twice[0])} times",
            need="each name once",
        )


def unknown_argument(name: str, known: Sequence[str]) -> UsageError:
    """A keyword that names no column; a misspelled one gets the nearest."""
    hint = did_you_mean(name, known)
    listed = "" if hint else f"; a source takes {', '.join(known)}"
    return UsageError(f"Unknown argument {name!r}{listed}.", got=repr(name), need=f"one of {', '.join(known)}", hint=hint)


def _ambiguous(role: str, found: Sequence[str]) -> AmbiguityError:
    return AmbiguityError(
        f"{len(found)} columns could be the {role}: {listed(found)}.",
        got=f"{len(found)} candidates: {listed(found)}",
        need="one",
        hint=f"choose one with {option(role)}{found[0]!r}",
    )


def _ignored(role: str, name: str) -> str:
    if role == "group":
        return f"groups ignored (group='none'): the items of column {name!r} are treated as independent, so intervals may be too narrow"
    return f"column {name!r} ignored ({role}='none')"
