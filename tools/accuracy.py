"""Test the rules against the labelled traces of this checkout, and write docs/accuracy.md.

    python tools/accuracy.py                          # cases of every rule, and simulated programs: some minutes
    python tools/accuracy.py -o docs/accuracy.md      # and write the page
    python tools/accuracy.py --real                   # real traces beside the checkout; fails when reports are worse
    python tools/accuracy.py --real --sensitivity     # and which first findings change with thresholds: takes long

Labelled are: a positive and a negative case of every rule; simulated training loops in both formats, with one bottleneck, with
two, and healthy ones; with --real real traces, where they lie beside the checkout. Says how often the first finding is the right
one, how many findings are true, how many bottlenecks are found, and how far the predicted savings are from what taking the cause
out really wins. Exit status 1 when a rule breaks, a case of a rule ends otherwise than it says, or reports of real traces are
less often right than they were.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fixtures" / "make"))

from labelled import accuracy_page


def main() -> int:
    """Test, and print or write the page; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=re.compile, metavar="REGEX", help="only cases whose names match")
    parser.add_argument("--jobs", type=int, metavar="N", default=os.cpu_count() or 1, help="cases at a time")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the page to FILE")
    parser.add_argument("--real", action="store_true", help="only real traces, against what people said of them")
    parser.add_argument("--sensitivity", action="store_true", help="with --real: what thresholds decide")
    options = parser.parse_args()
    only = options.only.pattern if options.only else None
    if options.real:
        keeps = options.output is not None
        page, broken = accuracy_page.of_real_traces(only, options.jobs, sensitivity=options.sensitivity, keeps=keeps)
    else:
        page, broken = accuracy_page.written(only, options.jobs)
    if options.output is None:
        print(page, end="")
    else:
        options.output.write_text(page, "utf-8")
        print(f"{options.output}: written")
    print("\n".join(broken), file=sys.stderr, end="\n" if broken else "")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
