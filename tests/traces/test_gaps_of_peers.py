"""The tables themselves, not figures computed beside them, give nsys' gaps and HTA's breakdown of whole traces."""

from __future__ import annotations

import peers
import pytest
from trace_files import every_nsys_trace, every_torch_trace, strip_container

GAP = 1_000_000

# Segments of a device's timeline in which nothing runs, joined up where a step begins, between its first and its last work.
IDLE = """
    with used as (select device, min(ts) as first, max(ts_end) as last from gpu_slice group by device),
    idle as (
        select device, ts, ts + dur as ts_end, sum(starts) over (partition by device order by ts) as gap
        from (
            select *, (lag(ts + dur) over (partition by device order by ts) is distinct from ts)::integer as starts
            from device_activity where category = 'idle'
        )
    ),
    joined as (select device, min(ts) as ts, max(ts_end) as ts_end from idle group by device, gap)
    select device, ts, ts_end - ts as dur from joined join used using (device) where ts >= first and ts_end <= last
"""

# nsys writes no gpu_gaps where no gap is long enough; the first of these has no GPU work at all.
WITHOUT_GAPS = {"centerformer_nvtx_only", "cestwc_report11", "nways_gh200_jacobi"}


@every_nsys_trace
def test_idle_segments_of_a_millisecond_are_those_of_gpu_gaps(path, databases):
    found = databases(path).execute(f"select * from ({IDLE}) where dur >= {GAP} order by all").fetchall()
    if strip_container(path) in WITHOUT_GAPS:
        assert found == []
        return
    report = peers.read_nsys_report(path, "gpu_gaps")
    columns = ("Device ID", "Start (ns)", "Duration (ns)")
    assert found == sorted(tuple(int(row[column]) for column in columns) for row in report)


@every_nsys_trace
def test_gaps_in_steps_are_those_idle_segments_and_no_others(path, databases):
    database = databases(path)
    inside = f"""
        select count(*), coalesce(sum(least(i.ts + i.dur, s.last) - greatest(i.ts, s.first)), 0)
        from ({IDLE}) as i, (select min(ts) as first, max(ts_end) as last from step) as s
        where i.ts < s.last and i.ts + i.dur > s.first
    """
    gaps, dur = database.execute(inside).fetchone()
    of_table = """
        select count(distinct (device, next_slice_id)), coalesce(sum(dur), 0) from idle_gap
        join (select device, min(ts) as first, max(ts_end) as last from gpu_slice group by device) using (device)
        where ts >= first and ts + dur <= last
    """
    assert database.execute(of_table).fetchone() == (gaps, dur)


@every_torch_trace
def test_windows_are_as_busy_as_hta_says_within_its_rounding(path, databases):
    """HTA brings each end of a slice to a whole microsecond: a busy stretch may lose one at each end, a gap win two."""
    facts = peers.read_hta(path)
    database = databases(path)
    (trims,) = database.execute("select count(*) > 1 from cpu_slice where name like 'ProfilerStep#%'").fetchone()
    if trims:
        pytest.skip("HTA leaves the last step of this file out")
    segments, idle, compute = database.execute("""
        select count(*),
            sum(dur) filter (category = 'idle') / 1e3,
            sum(dur) filter (compute > 0) / 1e3
        from device_activity, (select min(ts) as first, max(ts_end) as last from gpu_slice)
        where ts >= first and ts < last
    """).fetchone()
    assert idle == pytest.approx(facts["idle_time(us)"], abs=2 * segments)
    assert compute == pytest.approx(facts["compute_time(us)"], abs=2 * segments)
