"""Start of `traceq --help`, in seconds and as a multiple of starting Python alone."""

from __future__ import annotations

import argparse
import sys

from measure import alternate, cost, tell, traceq


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--times", type=int, default=10, metavar="N", help="runs of each command")
    arguments = parser.parse_args()
    python, ours = (
        min(each.wall for each in costs)
        for costs in alternate(arguments.times, lambda: cost([sys.executable, "-c", "pass"]), lambda: traceq("--help"))
    )
    tell(f"python -c pass   {python:.3f} s")
    tell(f"traceq --help    {ours:.3f} s, {ours / python:.1f} times that")


if __name__ == "__main__":
    main()
