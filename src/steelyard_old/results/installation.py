"""What `doctor` answers with: the packages there are, what each extra would add, and the programs that are used where they are found."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard_old.late_dataclass import dataclass
from steelyard_old.results.base import Result, ResultPart, json_name


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledPackage(ResultPart):
    """A package: its version, None if it is not there, and the lowest that is allowed. ok: there, and not older."""

    version: str | None
    lowest: str
    ok: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledExtra(ResultPart):
    """An extra: what it adds, the command that installs it, and its packages by name."""

    adds: str
    install: str
    packages: Mapping[str, InstalledPackage]


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledProgram(ResultPart):
    """A program: where it was found, None if it was not, and what it serves."""

    found: str | None
    serves: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Installation(Result):
    """What is installed: versions, and the paths of two programs."""

    KIND = "doctor"

    warnings: tuple[str, ...] = json_name(None, default=())
    signature: str = json_name(None, default="")
    steelyard: str
    python: str
    system: str
    core: Mapping[str, InstalledPackage]
    extras: Mapping[str, InstalledExtra]
    programs: Mapping[str, InstalledProgram]

    @property
    def headline(self) -> str:
        return f"steelyard {self.steelyard}, Python {self.python} on {self.system}"
