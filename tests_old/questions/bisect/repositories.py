"""A real repository in which one commit makes a model worse: commits of a small program that answers items, flaky on purpose."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ITEMS = 300
# The program of the repository. Whether an item is right follows from the version in model.txt; one answer in `flaky` is turned round.
EVALUATE = """
import json, os, random, sys
from pathlib import Path

facts = dict(line.split("=") for line in Path("model.txt").read_text().splitlines())
if facts["builds"] == "no":
    sys.exit("error: cannot build")
asked = Path(os.environ["STEELYARD_ITEMS"]).read_text().splitlines() if "STEELYARD_ITEMS" in os.environ else [f"q{i}" for i in range(ITEMS)]
chance = random.Random(" ".join([os.environ.get("STEELYARD_COMMIT", ""), *asked]))  # the same everywhere, and as good as chance
rows = []
for name in asked:
    number = int(name[1:])
    right = number % 5 != 0 and not (facts["broken"] == "yes" and number % 20 == 1)
    rows.append({"id": name, "score": int(right != (chance.random() < float(facts["flaky"])))})
out = Path(os.environ.get("STEELYARD_OUT", sys.argv[-1] if len(sys.argv) > 1 else "."))
(out / "run.jsonl").write_text("".join(json.dumps(row) + "\\n" for row in rows))
with open(Path(os.environ.get("STEELYARD_REPOSITORY", "."), "..", "calls.txt"), "a") as calls:
    calls.write(f"{os.environ.get('STEELYARD_COMMIT', '')} {len(rows)}\\n")
""".replace("ITEMS)]", f"{ITEMS})]")


@dataclass(frozen=True)
class Made:
    """The repository, its commits in order, the first bad one, and stored runs of both ends."""

    folder: Path
    commits: tuple[str, ...]
    first_bad: str
    good_run: Path
    bad_run: Path

    @property
    def range(self) -> str:
        return f"{self.commits[0]}..{self.commits[-1]}"

    @property
    def runs(self) -> tuple[str, ...]:
        return ("--good-run", str(self.good_run), "--bad-run", str(self.bad_run))

    def calls(self) -> list[tuple[str, int]]:
        """(commit, items) of every run of the command."""
        path = self.folder.parent / "calls.txt"
        return (
            [(words[0], int(words[1])) for line in path.read_text().splitlines() if len(words := line.split()) == 2]
            if path.exists()
            else []
        )


ENVIRONMENT = {
    **{key: value for key, value in os.environ.items() if not key.startswith("GIT_")},
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
}
COMMAND = (sys.executable, "evaluate.py")


def git(folder: Path, *words: str, given: bytes | None = None) -> str:
    done = subprocess.run(["git", "-C", str(folder), *words], env=ENVIRONMENT, input=given, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode().strip()


def make(
    place: Path,
    *,
    commits: int = 64,
    first_bad: int = 41,
    flaky: float = 0.02,
    unbuilt: tuple[int, ...] = (),
    subjects: dict[int, str] | None = None,
) -> Made:
    """So many commits, of which this one breaks every twentieth item. Ids of commits are the same on every machine."""
    folder = place / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    stream = []
    for number in range(commits):
        broken, builds = ("yes" if number >= first_bad else "no"), ("no" if number in unbuilt else "yes")
        files = {"model.txt": f"version={number}\nbroken={broken}\nbuilds={builds}\nflaky={flaky}\n"} | (
            {} if number else {"evaluate.py": EVALUATE}
        )
        stream.append(f"commit refs/heads/main\nmark :{number + 1}\ncommitter Ada <ada@example.org> {1_700_000_000 + number} +0000\n")
        stream.append(_data((subjects or {}).get(number, f"Change {number}")) + (f"from :{number}\n" if number else ""))
        stream += [f"M 644 inline {name}\n{_data(text)}" for name, text in files.items()]
    git(folder, "fast-import", "--quiet", given="".join(stream).encode())
    git(folder, "checkout", "--quiet", "--force", "main")
    ids = git(folder, "rev-list", "--reverse", "main").splitlines()
    git(folder, "tag", "v1.2", ids[0])
    for name, worse in (("good", False), ("bad", True)):
        turned = {3, 7, 33, 62, 114} if worse else {10, 48, 157}  # what chance did to these very runs
        right = [number % 5 != 0 and not (worse and number % 20 == 1) for number in range(ITEMS)]
        rows = [{"id": f"q{number}", "score": int(each != (number in turned))} for number, each in enumerate(right)]
        (place / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Made(folder, tuple(ids), ids[first_bad], place / "good.jsonl", place / "bad.jsonl")


def _data(text: str) -> str:
    return f"data {len(text.encode())}\n{text}\n"
