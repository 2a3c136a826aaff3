"""What the best change of a healthy series explains, by number of values: the penalties of traceq/common/change_points.py.

    python tests/benchmarks/fit_change_points.py [--fit] [--judge] [--series N] [COUNT ...]

--fit prints, for series with AR(1) of 0, 0.3 and 0.6 and one long value of 100, the 90, 98, 99 and 99.5 % quantiles of what the
best change or slope explains, in long-run variances; the penalties are the largest 99 % quantile. --judge prints how many healthy
series of other seeds are said to change, with the floors that users have and without any. Run it after a change of either.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "fixtures" / "make" / "run_logs")]

from made_runs import Floats, make_series  # noqa: E402

from traceq.common import change_points  # noqa: E402
from traceq.common.change_points import describe_series  # noqa: E402

COUNTS = (8, 10, 14, 20, 30, 40, 60, 100, 200, 400, 1_000, 2_000)
JUDGED = (20, 50, 100, 300, 1_000, 3_000, 20_000, 100_000)
CORRELATIONS = (0.0, 0.3, 0.6)
SPREAD = 0.02
QUANTILES = (0.9, 0.98, 0.99, 0.995)


def least_penalty(values: Floats) -> float:
    """Return the penalty from which on a series is not cut, to 2 %."""
    series = change_points._prepare_series(values, None)
    low, high = 1.0, 400.0
    while high > 1.02 * low:
        middle = (low * high) ** 0.5
        is_cut = change_points._cut_blocks(series.blocks, series.shortest, middle * series.variance)
        low, high = (middle, high) if is_cut else (low, middle)
    return high


def line_gain(values: Floats) -> float:
    """Return what a slope explains, in long-run variances."""
    series = change_points._prepare_series(values, None)
    return change_points._line_gain(series, np.arange(len(values), dtype=float))[1] / series.variance


def fit(counts: tuple[int, ...], number: int) -> None:
    """Print the quantiles of what the best change and a slope explain."""
    print("| values | AR(1) | changes: 90, 98, 99, 99.5 % | slope: 90, 98, 99, 99.5 % |")
    print("|---:|---:|---|---|")
    for count in counts:
        for correlation in CORRELATIONS:
            made = [
                make_series(np.random.default_rng([77, count, int(10 * correlation), seed]), count, correlation, SPREAD)
                for seed in range(number)
            ]
            texts = (
                ", ".join(f"{value:.1f}" for value in np.quantile([measure(values) for values in made], QUANTILES))
                for measure in (least_penalty, line_gain)
            )
            print(f"| {count} | {correlation} | {' | '.join(texts)} |", flush=True)


def make_healthy(kind: str, generator: np.random.Generator, count: int) -> Floats:
    """Return a healthy series of a kind of KINDS."""
    if kind == "noise grows to 2.7 times":
        noise = make_series(generator, count, 0.3, 1.0, tail=0.0)
        return np.exp(np.log(noise) * SPREAD * np.linspace(0.6, 1.6, count))
    values = make_series(generator, count, *KINDS[kind])
    if kind == "three digits":
        values = np.round(values, 2)
    if kind == "waves of 1 %":
        values = values * (1 + 0.01 * np.sin(2 * np.pi * np.arange(count) / max(count / 8, 10)))
    return values


KINDS = {
    "independent": (0.0, SPREAD),
    "AR(1) of 0.3": (0.3, SPREAD),
    "AR(1) of 0.6": (0.6, SPREAD),
    "AR(1) of 0.6, 10 % noise": (0.6, 0.1),
    "three digits": (0.3, SPREAD),
    "waves of 1 %": (0.3, 0.01),
    "noise grows to 2.7 times": (0.3, SPREAD),
}


def judge(counts: tuple[int, ...], number: int) -> None:
    """Print the per cent of healthy series in which anything is found, and without floors."""
    print(f"| values | {' | '.join(KINDS)} |")
    print(f"|---:|{'---|' * len(KINDS)}")
    for count in counts:
        cells = []
        for place, kind in enumerate(KINDS):
            wrong = [0, 0]
            for seed in range(number):
                values = make_healthy(kind, np.random.default_rng([99, count, place, seed]), count)
                for column, floors in enumerate(({}, {"floor": 0.0, "slope_floor": 0.0})):
                    found = describe_series(np.arange(count), values, **floors)
                    wrong[column] += bool(found.changes or found.slope)
            cells.append(f"{100 * wrong[0] / number:.1f} ({100 * wrong[1] / number:.1f})")
        print(f"| {count:,} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("counts", nargs="*", type=int, help="numbers of values")
    parser.add_argument("--fit", action="store_true", help="print quantiles")
    parser.add_argument("--judge", action="store_true", help="print false alarms")
    parser.add_argument("--series", type=int, default=400, help="series of each kind and length")
    args = parser.parse_args()
    if args.fit:
        fit(tuple(args.counts) or COUNTS, args.series)
    if args.judge:
        judge(tuple(args.counts) or JUDGED, args.series)


if __name__ == "__main__":
    main()
