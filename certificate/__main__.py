"""python -m certificate [--quick] [--only TEXT] [--all]: work the claims out again; exit 1 where one does not hold."""

from __future__ import annotations

import argparse
import sys
import time
import warnings

from certificate.claim import judge
from certificate.table import CLAIMS


def main() -> int:
    """Print a line for each claim."""
    parser = argparse.ArgumentParser(prog="python -m certificate", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer settings and samples: a minute and a half")
    parser.add_argument("--only", default="", metavar="TEXT", help="claims whose name or kind holds the text")
    parser.add_argument("--all", action="store_true", help="print every setting")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")  # that numpy keeps quiet is a claim of its own
    start, failed = time.process_time(), 0
    chosen = [claim for claim in CLAIMS if asked.only.lower() in f"{claim.name} {claim.kind}".lower()]
    for claim in chosen:
        found = judge(claim, not asked.quick)
        failed += bool(found.outside)
        sys.stdout.write(f"{found}\n")
        sys.stdout.flush()
        if asked.all:
            sys.stdout.writelines(f"         {p.where}: {p.value:.4f}\n" for p in found.points)
    sys.stdout.write(f"{len(chosen) - failed} of {len(chosen)} claims hold; {time.process_time() - start:.0f} s\n")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
