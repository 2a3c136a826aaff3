"""Ceilings of operators in the real traces: no kernel is faster than operator_cost.ceiling_dur says that any can be.

Two kinds of rows may lie below it, and for each this tells by the records why. `no length`: a profiler recorded a kernel of
0 ns (Kineto of 2020 rounds to whole us). `beside others`: another kernel ran at the same time, so `gpu_dur` has only a share of
its time; the whole of it is no faster than the ceiling. GPUs that traceq does not know whole (a part of one, a virtual function)
have no peak: their ceilings are those of bytes or of a launch.
"""

from __future__ import annotations

import pytest
from failure_list import assert_none
from trace_files import SHARED, TORCH, parametrize_paths

# Kernels launched while the operator runs, on its thread; of an operator in a graph those that the capture says are its own.
BELOW = """
with
below as (
    select o.slice_id, o.gpu_dur, o.ceiling_dur, coalesce(c.name, r.name) as name, c.thread_id, c.ts, c.ts_end
    from operator_cost as o
    left join cpu_slice as c using (slice_id)
    left join graph_operator as r using (slice_id)
    where o.gpu_dur < o.ceiling_dur
),

kernel as (
    select b.slice_id, g.dur
    from below as b
    inner join cpu_slice as l on l.thread_id = b.thread_id and l.ts >= b.ts and l.ts_end <= b.ts_end
    inner join gpu_slice as g on g.launch_id = l.slice_id
    where g.kind = 'kernel'
    union all
    select b.slice_id, g.dur
    from below as b
    inner join graph_kernel as k on k.operator_id = b.slice_id
    inner join gpu_slice as g on g.slice_id = k.slice_id
)

select
    b.slice_id,
    b.name,
    b.gpu_dur,
    b.ceiling_dur,
    case
        when min(k.dur) = 0 then 'no length'
        when sum(k.dur) >= b.ceiling_dur then 'beside others'
        else 'too fast'
    end as kind
from below as b
left join kernel as k using (slice_id)
group by b.slice_id, b.name, b.gpu_dur, b.ceiling_dur
order by b.slice_id
"""
CHECKED = "select count(*) from operator_cost where gpu_dur is not null and ceiling_dur is not null"

JUDGED = sorted(SHARED.glob("judged*/torch/*.json*"))
# Of the judged traces every day: attention and products, decoding in a graph, one product.
EVERY_DAY = (
    "tl_bert_small_h100.json.gz",
    "sglang_qwen3_30b_a3b_decode_b300.json.gz",
    "tl_cmp05_gemm_identical_h100.json",
)
PATHS = [*TORCH, *(path for path in JUDGED if path.name in EVERY_DAY)]
LATER = [path for path in JUDGED if path.name not in EVERY_DAY]


def list_too_fast(connection):
    """List the operators that no kind explains."""
    for slice_id, name, dur, ceiling, kind in connection.execute(BELOW).fetchall():
        if kind == "too fast":
            yield f"{name} ({slice_id}): {dur} ns, at the least {ceiling}"


@parametrize_paths(PATHS)
def test_no_kernel_is_faster_than_its_ceiling(databases, path):
    assert_none(list_too_fast(databases(path)))


@pytest.mark.slow
@parametrize_paths(LATER)
def test_no_kernel_of_judged_traces_is_faster_than_its_ceiling(databases, path):
    assert_none(list_too_fast(databases(path)))


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.exists(), reason="the folder shared is not beside the checkout")
def test_rows_below_their_ceilings_are_few_and_of_both_kinds(databases):
    kinds, checked = set(), 0
    for path in [*PATHS, *LATER]:
        connection = databases(path)
        kinds |= {kind for *_, kind in connection.execute(BELOW).fetchall()}
        checked += connection.execute(CHECKED).fetchall()[0][0]
    assert checked > 50_000
    assert kinds == {"no length", "beside others"}


@pytest.mark.skipif(not SHARED.exists(), reason="the folder shared is not beside the checkout")
def test_a_ceiling_that_is_too_high_is_listed(databases):
    (path,) = (path for path in JUDGED if path.name == EVERY_DAY[0])
    connection = databases(path).cursor()
    connection.execute(
        "create temp table operator_cost as"
        " select * replace (if(kind = 'attention', 2 * gpu_dur, ceiling_dur) as ceiling_dur) from main.operator_cost"
    )
    assert len(list(list_too_fast(connection))) == 4
