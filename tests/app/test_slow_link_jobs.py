"""Slow links in made-up jobs of 64 ranks: how often they are named, and how often a healthy job gets one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from slow_links import judge_job, make_one, write_job

from traceq.app.collectives import report_collectives

# Apart from the seeds that thresholds were tried with (below 1,000), and from those of the benchmark (5,000).
SEED = 7000


def name_rightly(folder, number, *, slow):
    """Whether the slow place of a job, and nothing else, is named; of a healthy one whether nothing is."""
    job = make_one(SEED + number, 100, slow=slow)
    write_job(job, folder)
    return judge_job(job, report_collectives([folder]).content)


@pytest.mark.parametrize("slow", [True, False], ids=["slow", "healthy"])
def test_a_job(tmp_path, slow):
    assert name_rightly(tmp_path, 0, slow=slow)


@pytest.mark.slow
@pytest.mark.parametrize(("slow", "least"), [(True, 19), (False, 20)], ids=["slow", "healthy"])
def test_twenty_jobs(tmp_path, slow, least):
    right = [name_rightly(tmp_path / str(number), 1 + number, slow=slow) for number in range(20)]
    assert sum(right) >= least
