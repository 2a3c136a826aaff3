"""How often shares are taken from so many made-up programs, and how far they are from further programs, beside the assumption.

    python tests/benchmarks/fit_shares.py

The numbers in docs/writing-rules.md are of five programs.
"""

from __future__ import annotations

import random
from statistics import fmean

from traceq.runs.verify.calibration import VERSION, Calibrated
from traceq.runs.verify.shares import Shares, fit

TIMES, NEW = 1_000, 50
STEP, CLAIMED = 1_000_000, 500_000


def main() -> None:
    """Run from the command line."""
    chance = random.Random(0)  # noqa: S311
    print("| scatter | assumed off by | programs | taken | error | of the assumption | inside | of the assumption |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    for scatter in (0.1, 0.2):
        for off in (0.0, 0.1, 0.2, 0.3):
            for programs in (5, 8, 20):
                print(f"| {scatter} | {off} | {programs} | {_row(chance, scatter, off, programs)} |")


def _row(chance: random.Random, scatter: float, off: float, programs: int) -> str:
    """Programs' shares scatter about 0.6, most of them normally, one in ten anyhow."""
    assumed = Shares(max(0.3 - off, 0.0), 0.6 - off, min(0.9 - off, 1.0))
    taken, errors, inside = 0, [], []
    for _ in range(TIMES):
        shares = [_share(chance, scatter) for _ in range(programs + NEW)]
        found = fit(
            [_line(each, number, assumed) for number, each in enumerate(shares[:programs])], assumed, is_on_gpu=False
        )
        used = found.taken if found is not None and found.taken is not None else assumed
        taken += used is not assumed
        errors.append([fmean(abs(each.likely - share) for share in shares[programs:]) for each in (used, assumed)])
        inside.append([fmean(each.hold(share) for share in shares[programs:]) for each in (used, assumed)])
    means = [fmean(column) for table in (errors, inside) for column in zip(*table, strict=True)]
    return f"{taken / TIMES:.0%} | " + " | ".join(f"{each:.3f}" for each in means)


def _share(chance: random.Random, scatter: float) -> float:
    share = chance.random() if chance.random() < 0.1 else chance.gauss(0.6, scatter)
    return min(max(share, 0.0), 1.0)


def _line(share: float, program: int, assumed: Shares) -> Calibrated:
    low, likely, high = (round(each * CLAIMED) for each in assumed)
    won = round(share * CLAIMED)
    return Calibrated(
        *("", "rule", "chrome", STEP, likely, low, high, won, won, won, 0, "right", ""),
        version=VERSION,
        program=str(program),
        hardware="cpu",
        claimed_ns=CLAIMED,
        assumed=assumed.likely,
    )


if __name__ == "__main__":
    main()
