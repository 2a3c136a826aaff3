"""All ranks of a job on one axis: each where it was on the common clock."""

from __future__ import annotations

import duckdb
import pytest
from handmade_job import MOVES, RANKS, STEPS, WORK, rank_trace
from msgspec.structs import replace

from traceq.loading.ingest import ingest
from traceq.reports import build_job_timeline as build_job_timeline_module
from traceq.reports.build import read_jobs
from traceq.reports.build_job_timeline import build_job_timeline
from traceq.reports.document import Tracks
from traceq.reports.sections.pictures import draw_job_over_time

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


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({0, 1}, "the clocks of ranks 2-3 to those of the others."),
        ({0, 1, 2}, "the clock of rank 3 to those of the others."),
        (set(), "the clocks of any two ranks."),
    ],
)
def test_without_a_common_clock_the_page_says_which_ranks_have_none(job_database, known, words):
    with duckdb.connect(str(job_database)) as connection:
        connection.begin()
        connection.execute("update job_rank set clock_offset = null where not list_contains($1, rank)", [list(known)])
        (job,) = read_jobs(connection)
        assert build_job_timeline(connection, job) is None
        connection.rollback()
    (told,) = draw_job_over_time(job)
    assert "".join(told.spans) == f"No timeline of all ranks on one clock: no collective joins {words}"


def test_a_job_on_one_clock_and_a_single_rank_are_told_nothing(job_database):
    with duckdb.connect(str(job_database), read_only=True) as connection:
        (job,) = read_jobs(connection)
        (drawn,) = draw_job_over_time(replace(job, over_time=build_job_timeline(connection, job)))
    assert isinstance(drawn, Tracks)
    alone = [replace(member, clock_offset_ns=None) for member in job.members[:1]]
    assert list(draw_job_over_time(replace(job, members=tuple(alone)))) == []


def test_of_many_ranks_those_that_matter_are_drawn(job_database, monkeypatch):
    monkeypatch.setattr(build_job_timeline_module, "_MOST_RANKS", 3)
    with duckdb.connect(str(job_database), read_only=True) as connection:
        (job,) = read_jobs(connection)
        # as if rank 2 were like many others
        usual = [
            replace(member, is_usual=False, own_ns=1 if member.rank == 2 else member.own_ns) for member in job.members
        ]
        timeline = build_job_timeline(connection, replace(job, members=tuple(usual)))
    lanes = [lane.label for lane in timeline.lanes]
    assert "rank 2" not in lanes
    assert {"rank 0", "rank 1", "rank 3"} == {*lanes}
    assert timeline.title == "3 of 4 ranks, those that are late, typical or first, on one clock: what each GPU does"
    assert {*timeline.slices.lane} == {0, 1, 2}
