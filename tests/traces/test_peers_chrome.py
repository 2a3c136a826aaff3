"""traceq's tables give the figures that Perfetto and HolisticTraceAnalysis compute from the same files.

HTA's figures come out exactly, once its own definitions are applied to traceq's rows (its documents, and its source of 0.5.0):
it leaves out the last of several steps with all it launched, it brings times with a fraction to whole microseconds
inwards (start up, end down, in double precision), and a slice that this turns around then counts as minus one
microsecond where nothing else runs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import peers
import pytest
from agreement import assert_same_values
from raw_slices import Interval
from trace_files import every_torch_trace, read_raw

PERFETTO = """
    select category, count(*), sum(dur) from cpu_slice where category is not null group by category
    union all select 'gpu_user_annotation', count(*), sum(dur) from gpu_annotation having count(*) > 0
    union all select 'cuda_sync', count(*), sum(dur) from synchronization having count(*) > 0
"""
DEVICE_CATEGORIES = {"kernel": "kernel", "gpu_memcpy": "memcpy", "gpu_memset": "memset"} | {
    "Kernel": "kernel",
    "Memcpy": "memcpy",
    "Memset": "memset",
}
# A device slice counts for HTA when its call began before the last of several steps.
HTA_SLICES = """
    with last as (select max(ts) as ts, count(*) as steps from cpu_slice where name like 'ProfilerStep#%')
    select gpu_slice.ts, gpu_slice.dur, gpu_slice.kind = 'kernel', is_communication
    from gpu_slice left join cpu_slice as call on call.slice_id = gpu_slice.launch_id, last
    where last.steps < 2 or call.ts < last.ts
"""


@every_torch_trace
def test_slices_per_category_are_those_of_perfetto(path, databases):
    """Perfetto drops slices that overlap on one track, but in none of these files: every category can be compared."""
    database = databases(path)
    found = {category: (count, dur) for category, count, dur in database.execute(PERFETTO).fetchall()}
    instants = sum(row.category is None for row in read_raw(path).host)
    expected = {category: figures for category, figures in peers.read_perfetto(path).items() if category}
    of_devices = {kind: expected.pop(category) for category, kind in DEVICE_CATEGORIES.items() if category in expected}
    assert_same_values(found, expected)
    query = "select kind, count(*), sum(dur) from gpu_slice group by kind"
    assert_same_values({kind: (count, dur) for kind, count, dur in database.execute(query).fetchall()}, of_devices)
    assert peers.read_perfetto(path).get("", (0, 0)) == (instants, 0)


class Breakdown(NamedTuple):
    """HTA's temporal breakdown, microseconds."""

    span: float
    busy: float
    compute: float
    overlap_percent: float | None


@every_torch_trace
def test_busy_and_compute_time_are_those_of_hta(path, databases):
    facts = peers.read_hta(path)
    found = hta_breakdown(databases(path).execute(HTA_SLICES).fetchall())
    assert found.span == facts["kernel_time(us)"]
    assert found.span - found.busy == facts["idle_time(us)"]
    assert found.compute == facts["compute_time(us)"]
    assert found.busy - found.compute == facts["non_compute_time(us)"]


@every_torch_trace
def test_overlap_of_communication_with_compute_is_that_of_hta(path, databases):
    facts = peers.read_hta(path)
    found = hta_breakdown(databases(path).execute(HTA_SLICES).fetchall())
    assert found.overlap_percent == pytest.approx(facts["comp_comm_overlap_pctg"], abs=0.005001)


@every_torch_trace
def test_activity_of_the_whole_trace_is_that_of_hta_where_hta_neither_trims_nor_rounds(path, databases):
    facts = peers.read_hta(path)
    database = databases(path)
    (trims,) = database.execute("select count(*) > 1 from cpu_slice where name like 'ProfilerStep#%'").fetchone()
    (rounds,) = database.execute("select bool_or(ts % 1000 <> 0 or dur % 1000 <> 0) from gpu_slice").fetchone()
    if trims or rounds:
        pytest.skip("HTA trims or rounds this file")
    compute, idle = database.execute("""
        select sum(dur) filter (compute > 0),
            sum(dur) filter (compute + communication + copy_h2d + copy_d2h + copy_other + memset + graph = 0)
        from device_activity, (select min(ts) as first, max(ts_end) as last from gpu_slice)
        where ts >= first and ts < last
    """).fetchone()
    assert (compute, idle) == (facts["compute_time(us)"] * 1000, facts["idle_time(us)"] * 1000)


def hta_breakdown(rows: list[tuple[int, int, bool, bool]]) -> Breakdown:
    rounds = any(ts % 1000 or dur % 1000 for ts, dur, _, _ in rows)
    whole = [(*_to_microseconds(ts, dur, rounds=rounds), *kinds) for ts, dur, *kinds in rows]
    everything = _merge_like_hta((start, end) for start, end, _, _ in whole)
    compute = _measure_union((start, end) for start, end, kernel, talks in whole if kernel and not talks)
    talking = _measure_union((start, end) for start, end, _, talks in whole if talks)
    either = _measure_union((start, end) for start, end, kernel, talks in whole if kernel or talks)
    overlap = 100 * (talking + compute - either) / talking if talking else None
    return Breakdown(
        everything[-1][1] - everything[0][0], sum(end - start for start, end in everything), compute, overlap
    )


def _to_microseconds(ts: int, dur: int, *, rounds: bool) -> Interval:
    if rounds:
        return math.ceil(ts / 1000), math.floor(ts / 1000 + dur / 1000)
    return ts // 1000, (ts + dur) // 1000


def _merge_like_hta(intervals) -> list[Interval]:
    """HTA's own merging: an interval that ends before it starts stands alone, with a negative length."""
    union: list[Interval] = []
    for start, end in sorted(intervals):
        if union and start <= union[-1][1]:
            union[-1] = (union[-1][0], max(union[-1][1], end))
        else:
            union.append((start, end))
    return union


def _measure_union(intervals) -> int:
    return sum(end - start for start, end in _merge_like_hta(intervals))
