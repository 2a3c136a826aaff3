"""Simulated jobs with one thing wrong: how often traceq says who, why and in which pattern, and how far off its promises are.

    python tests/benchmarks/job_truth.py [--ranks 8,16,64,256] [--seeds 6]

Cases that cost less than 1 % of the job's time, by the simulator's own what-if, are left out. Prints a line per kind of flaw and
number of ranks, each case that was missed, and what all of them give together.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "analysis"))
from simulated_job import KINDS, Verdict, Wrong, break_job, judge_case


def main() -> None:
    """Simulate, ask and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", default="8,16,64,256")
    parser.add_argument("--seeds", type=int, default=6)
    asked = parser.parse_args()
    every: list[Verdict] = []
    for ranks in map(int, asked.ranks.split(",")):
        for kind in KINDS:
            cases = [case for seed in range(asked.seeds) if (case := break_job(kind, ranks, seed))]
            found = [judge_case(case) for case in cases]
            every += found
            for case, each in zip(cases, found, strict=True):
                _print_missed(case, each)
            if found:
                _print(f"{kind}, {ranks} ranks", found)
    _print("all", every)


def _print(name: str, found: list[Verdict]) -> None:
    right = sum(each.who and each.why for each in found)
    errors = [abs(each.error) for each in found if each.error is not None]
    error = f"{np.median(errors):.1%}" if errors else "-"
    print(f"{name}: who and why {right} of {len(found)}, pattern {sum(each.pattern for each in found)}, error {error}")


def _print_missed(case: Wrong, each: Verdict) -> None:
    if not (each.who and each.why and each.pattern):
        worth = case.worth / case.made.lasts()
        named = [(kind, units[:8], cause) for kind, units, _, cause in each.said["named"][:3]]
        print(
            f"  missed: {case.name}, {worth:.1%}: {sorted(case.units or [])[:8]}; said {each.said['pattern']} {named}"
        )


if __name__ == "__main__":
    main()
