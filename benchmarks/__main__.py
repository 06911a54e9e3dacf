"""`python -m benchmarks [NAME ...]`: the rows whose name contains all of the words, beside their peers."""

from __future__ import annotations

import sys
import warnings

from benchmarks.ladder import HEAD, RULE, rows


def main(words: list[str]) -> int:
    warnings.simplefilter("ignore")
    print(HEAD, RULE, sep="\n")
    missed = count = 0
    for row in rows():
        if all(word in row.name for word in words):
            told = row.run()
            print(told.line, flush=True)
            count, missed = count + 1, missed + (not told.ok)
    print(f"\n{count} rows, {missed} beyond their goal")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
