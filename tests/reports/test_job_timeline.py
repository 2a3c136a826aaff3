"""All ranks of a job on one axis: each where it was on the common clock."""

from __future__ import annotations

import duckdb
import pytest
from handmade_job import MOVES, RANKS, STEPS, WORK, rank_trace

from traceq.loading.ingest import ingest
from traceq.reports.build import read_jobs
from traceq.reports.build_job_timeline import build_job_timeline

US = 1000
LATE = 400


@pytest.fixture(scope="module")
def job_database(tmp_path_factory):
    """A job of which rank 1 is late to every collective; the clocks of its ranks are 5 ms apart."""
    folder = tmp_path_factory.mktemp("job")
    paths = [folder / f"rank{rank}.json" for rank in range(RANKS)]
    for rank, path in enumerate(paths):
        text = rank_trace(rank, {1: LATE}, begins_ns=1_700_000_000_000_000_000 + rank * 5_000_000)
        path.write_text(text, "utf-8")
    ingest(paths, folder / "job.duckdb")
    return folder / "job.duckdb"


def test_ranks_have_a_lane_each_in_which_collectives_end_at_once(job_database):
    with duckdb.connect(str(job_database), read_only=True) as connection:
        (job,) = read_jobs(connection)
        timeline = build_job_timeline(connection, job)
    assert [lane.label for lane in timeline.lanes] == [f"rank {rank}" for rank in range(RANKS)]
    slices = timeline.slices
    ends, works = {}, {}
    for i in range(len(slices)):
        kind = timeline.called[slices.called[i]].kind
        if kind == "communication":
            ends.setdefault(slices.lane[i], []).append(slices.ts[i] + slices.dur[i])
        else:
            works.setdefault(slices.lane[i], []).append(slices.dur[i])
    assert {len(each) for each in ends.values()} == {2 * STEPS}
    assert max(max(each) - min(each) for each in zip(*ends.values(), strict=True)) < 50 * US
    # But for what clocks drift.
    assert min(works[1]) > (WORK + LATE - 10) * US > max(works[0])
    assert timeline.dur == pytest.approx(2 * STEPS * (WORK + LATE + MOVES) * US, rel=0.05)
