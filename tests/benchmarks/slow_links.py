"""How often slow links are named, and how often a healthy job gets one: 20 + 20 made-up jobs of 64 ranks.

    python tests/benchmarks/slow_links.py [--jobs N] [--steps N] [--seed N]

In half of the jobs one of the 64 network cards, or one pair's path, runs at half speed, from the beginning or from some step
on; in all some ranks come late. Prints a line per job and a table. A job is right if the place that is slow is named, and no
other. The seeds are apart from those that thresholds were tried with (below 1,000).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "fixtures" / "make")]

from inspector import Fault, Job, Layout, make_job, write_job  # noqa: E402

from traceq.app.collectives import report_collectives  # noqa: E402
from traceq.reports.collectives.model import CollectivesReport  # noqa: E402

_LAYOUTS = (Layout(8, 4, 2), Layout(8, 2, 4), Layout(8, 8, 1), Layout(4, 4, 4), Layout(8, 4, 2, has_world=False))


def main() -> None:
    """Make the jobs, read their records, and print what was named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--seed", type=int, default=5000)
    given = parser.parse_args()
    right = {"slow": 0, "healthy": 0}
    spent = 0.0
    for kind in right:
        for number in range(given.jobs):
            job = make_one(
                given.seed + number + (given.jobs if kind == "healthy" else 0), given.steps, slow=kind == "slow"
            )
            with tempfile.TemporaryDirectory() as folder:
                write_job(job, Path(folder))
                began = time.process_time()
                report = report_collectives([folder]).content
                spent += time.process_time() - began
            is_right = judge_job(job, report)
            right[kind] += is_right
            print(f"{kind:8}{describe_job(job):60}{describe_found(report):50}{'right' if is_right else 'WRONG'}")
    print(
        f"\nslow links named: {right['slow']} of {given.jobs}; healthy jobs without one: {right['healthy']} of {given.jobs}"
    )
    print(f"CPU time per job: {spent / 2 / given.jobs:.1f} s for {len(job.operations):,} records")


def make_one(seed: int, steps: int, *, slow: bool) -> Job:
    """A job of 64 ranks, by its seed: how its ranks are laid out, who is late, what is slow."""
    chance = np.random.default_rng(seed + 10_000_019)
    layout = _LAYOUTS[int(chance.integers(len(_LAYOUTS)))]
    late = tuple(int(rank) for rank in chance.choice(layout.ranks, int(chance.integers(0, 4)), replace=False))
    fault = None
    if slow:
        since = float(chance.choice([0.0, 0.0, 0.35]))
        rank = int(chance.integers(layout.ranks))
        fault = Fault("card", (rank,), since=since)
        if layout.pipeline > 1 and chance.random() < 0.3:
            stage = rank // (layout.tensor * layout.data)
            other = rank + layout.tensor * layout.data * (1 if stage + 1 < layout.pipeline else -1)
            fault = Fault("pair", (rank, other), since=since)
    return make_job(seed, steps, layout, fault, late, noise=float(chance.uniform(0.03, 0.05)))


def judge_job(job: Job, report: CollectivesReport) -> bool:
    """Whether what is slow was named and nothing else; of a card that only one ring shows, that ring."""
    if job.fault is None:
        return not report.slow_links
    if len(report.slow_links) != 1:
        return False
    (found,) = report.slow_links
    names = {name_rank(job, rank) for rank in job.fault.ranks}
    if job.fault.kind == "pair":
        return found.kind == "pair" and {found.name, found.peer_name} == names
    if found.kind == "group":
        return job.layout.pipeline == 1 and names <= set(found.ranks)
    return found.kind == "rank" and {found.name} == names


def name_rank(job: Job, rank: int) -> str:
    """Return the report's name of a rank: its number where a communicator holds all ranks, else host and pid."""
    return f"rank {rank}" if job.layout.has_world else f"node-{job.layout.host(rank)}:{4000 + rank}"


def describe_job(job: Job) -> str:
    layout = job.layout
    words = f"tp{layout.tensor} dp{layout.data} pp{layout.pipeline} late {','.join(map(str, job.late)) or '-'}"
    if job.fault is None:
        return words
    since = f" from {job.fault.since:.0%}" if job.fault.since else ""
    return f"{words}; {job.fault.kind} {','.join(map(str, job.fault.ranks))}{since}"


def describe_found(report: CollectivesReport) -> str:
    return "; ".join(
        f"{link.kind} {link.name}{f' -> {link.peer_name}' if link.peer_name else ''} at {1 / link.ratio:.0%}"
        for link in report.slow_links
    ) or (report.no_links or "none")


if __name__ == "__main__":
    main()
