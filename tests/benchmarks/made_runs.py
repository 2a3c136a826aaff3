"""Whether the changes of made runs are found with their sizes, and none in healthy ones; prints tables and writes JSON.

    python tests/benchmarks/made_runs.py [--runs N] [--out FILE]

fixtures/make/run_logs/made_runs.py makes them, with seeds other than those that thresholds are fitted on (fit_change_points.py).
Logs are written to files and read back as `traceq goodput` does: reader, tables, run_step, run_change.

* **Found whole**: the one slow window begins and ends within its bounds, with a ratio off by at most 10 % of the excess, or
  whose interval holds the true one; two restarts, at exactly the steps at which they happened; nothing else.
* **History**: a slope, off by at most 30 % or whose interval holds the true one; no step.
* **Healthy**: no row of run_change for time, throughput or memory; in histories neither change nor slope.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple

import duckdb

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "fixtures" / "make" / "run_logs")]

from made_runs import MadeHistory, MadeRun, make_history, make_run, write_log  # noqa: E402

from traceq.analysis import order  # noqa: E402
from traceq.analysis.state import AnalysisState  # noqa: E402
from traceq.common.change_points import describe_series  # noqa: E402
from traceq.database.connect import create_schema  # noqa: E402
from traceq.loading.training_logs import insert_training_logs  # noqa: E402

CREEP = 0.005


class Judged(NamedTuple):
    """The judgement of one made run or history: whether each part of what was put in is found, and the details as text."""

    seed: int
    right: dict[str, bool]
    text: str


class Change(NamedTuple):
    """A row of run_change."""

    quantity: str
    kind: str
    begin: tuple[int, int]
    begin_bounds: tuple[int, int]
    end: tuple[int, int] | None
    end_bounds: tuple[int, int] | None
    ratio: float
    ratio_bounds: tuple[float, float]


_CHANGES = """
select
    quantity, kind, (attempt, step), (step_low, step_high), (until_attempt, until_step), (until_low, until_high), ratio,
    (ratio_low, ratio_high)
from run_change
order by quantity, attempt, step
"""
_STARTS = "select attempt, min(step - steps + 1) from run_step group by attempt order by attempt"


def read_run(run: MadeRun) -> tuple[list[Change], list[tuple[int, int]]]:
    """Write the log of a run, read it, and return its changes and the first step of each attempt."""
    with tempfile.TemporaryDirectory() as folder, closing(duckdb.connect()) as connection:
        create_schema(connection)
        insert_training_logs(connection, [write_log(run, Path(folder))])
        order.run(connection, ("run_step", "run_change"), AnalysisState(0))
        changes = [Change(*row) for row in connection.execute(_CHANGES).fetchall()]
        return changes, connection.execute(_STARTS).fetchall()


def judge_run(seed: int, run: MadeRun) -> Judged:
    """Return whether the window and the restarts of a run are found as they were put in."""
    changes, starts = read_run(run)
    of_time = [change for change in changes if change.quantity == "step_time"]
    begin, end, ratio = run.slow
    near = [change for change in of_time if change.kind == "window" and is_near(run, change, begin)]
    right = {
        "restarts": starts == [(1, 1), *enumerate(run.starts, start=2)],
        "window": bool(near),
        "position": any(is_within(change.begin, change.begin_bounds, begin, run.interval)
                        and is_within(change.end, change.end_bounds, end, run.interval) for change in near),
        "size": any(abs(change.ratio - ratio) <= 0.1 * (ratio - 1)
                    or change.ratio_bounds[0] <= ratio <= change.ratio_bounds[1] for change in near),
        "nothing else": len(of_time) == 1 and not [change for change in changes if change.quantity == "memory"],
    }  # fmt: skip
    return Judged(
        seed, right, f"{run.form} {run.interval} {len(run.step)} put in {run.slow} {run.starts}; {of_time} {starts}"
    )


def is_near(run: MadeRun, change: Change, begin: tuple[int, int]) -> bool:
    """Return whether a change begins at most 100 steps from the planted begin."""
    return change.begin[0] == begin[0] and abs(change.begin[1] - begin[1]) <= max(100, 10 * run.interval)


def is_within(at: tuple[int, int], bounds: tuple[int, int], true: tuple[int, int], interval: int) -> bool:
    """Return whether the true (attempt, step) is in the bounds, rounded to lines of the log."""
    return at[0] == true[0] and bounds[0] - interval < true[1] < bounds[1] + interval


def judge_healthy_run(seed: int, run: MadeRun) -> Judged:
    """Return whether nothing is found in a healthy run."""
    changes, starts = read_run(run)
    right = {"restarts": starts == [(1, 1), *enumerate(run.starts, start=2)], "nothing": not changes}
    return Judged(seed, right, f"{run.form} {run.interval} {len(run.step)} {run.starts}; {changes} {starts}")


def judge_history(seed: int, history: MadeHistory) -> Judged:
    """Return whether the creep of a history is found, or nothing in one without."""
    found = describe_series(history.weeks, history.steps)
    slope, changes = found.slope, found.changes
    if not history.per_week:
        return Judged(seed, {"nothing": not changes and slope is None}, f"{len(history.weeks)} {found}")
    # a share of the level in the middle
    true = history.per_week / (1 + history.per_week * history.weeks.mean())
    right = {
        "slope": slope is not None,
        "size": slope is not None and (abs(slope.per_unit - true) <= 0.3 * true or slope.low <= true <= slope.high),
    }
    return Judged(seed, right, f"{len(history.weeks)} {history.weeks[-1]:.0f} weeks {found}")


def summarise(name: str, judged: list[Judged], *, verbose: bool) -> dict[str, object]:
    """Print how many are right, in all and by part, and return it."""
    parts = {part: sum(bool(one.right[part]) for one in judged) for part in judged[0].right}
    whole = sum(all(one.right.values()) for one in judged)
    print(
        f"| {name} | {len(judged)} | {whole} | {', '.join(f'{part} {number}' for part, number in parts.items())} |",
        flush=True,
    )
    if verbose:
        for one in judged:
            if not all(one.right.values()):
                print("   ", one.seed, one.right, one.text)
    return {
        "made": len(judged),
        "right": whole,
        "parts": parts,
        "wrong": [one.seed for one in judged if not all(one.right.values())],
    }


def main() -> None:
    """Judge all, print the table, and write the JSON file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200, help="runs of each kind")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    parser.add_argument("--verbose", action="store_true", help="print what is wrong")
    args = parser.parse_args()
    seeds = range(args.first, args.first + args.runs)
    print("| made | number | right | of these |")
    print("|---|---:|---:|---|")
    results = {
        name: summarise(name, [judge(seed, make(seed)) for seed in seeds], verbose=args.verbose)
        for name, judge, make in (
            ("history with a creep of 0.5 % a week", judge_history, partial(make_history, per_week=CREEP)),
            ("healthy history", judge_history, partial(make_history, per_week=0.0)),
            ("run with a slow window and two restarts", judge_run, make_run),
            ("healthy run", judge_healthy_run, partial(make_run, healthy=True)),
        )
    }
    if args.out:
        args.out.write_text(json.dumps(results, indent=1, default=int) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
