"""Exclusive durations: kernels that run at once share the time, so that all of them add up to the time in which any runs."""

from __future__ import annotations

from collections import defaultdict
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_tables import add_kernel, analyse_kernels
from tables import a_hundred, empty_tables, insert, worlds

TIME = st.integers(0, 30)
KERNELS = st.lists(st.tuples(st.integers(0, 1), TIME, st.integers(0, 12)), min_size=1, max_size=24)


def share_time(kernels):
    """Every kernel's share and the time in which any runs, one nanosecond after the other; kernels are (device, ts, dur)."""
    shares, busy = [0.0] * len(kernels), defaultdict(int)
    for device in {device for device, _, _ in kernels}:
        for instant in range(50):
            running = [n for n, (d, ts, dur) in enumerate(kernels) if d == device and ts <= instant < ts + dur]
            busy[device] += bool(running)
            for number in running:
                shares[number] += 1 / len(running)
    return shares, busy


@a_hundred
@given(several=worlds(KERNELS))
def test_kernels_share_the_time_in_which_they_run_at_once(several):
    # worlds have two devices each
    kernels = [(2 * world + device, *rest) for world, each in enumerate(several) for device, *rest in each]
    rows = [(slice_id, *each, "kernel", "k", False) for slice_id, each in enumerate(kernels)]
    with closing(empty_tables()) as tables:
        insert(tables, "gpu_slice", "slice_id device ts dur kind name is_communication", rows)
        found = analyse_kernels(tables, "device, exclusive_dur")
    shares, busy = share_time(kernels)
    assert [dur for _, dur in found] == pytest.approx(shares, rel=1e-6, abs=1e-6)
    for device, time in busy.items():
        assert sum(dur for d, dur in found if d == device) == pytest.approx(time, rel=1e-6)


def test_communication_kernels_share_as_well_and_nothing_else_does(tables):
    add_kernel(tables, 0, ts=0, dur=10)
    add_kernel(tables, 1, ts=5, dur=10, is_communication=True)
    tables.execute(
        "insert into gpu_slice (trace_id, slice_id, device, kind, name, ts, dur, is_communication)"
        " values (1, 2, 0, 'memcpy', 'Memcpy PtoP', 0, 15, true), (1, 3, 0, 'graph', 'CUDA graph 1', 0, 15, false)"
    )
    assert analyse_kernels(tables, "slice_id, exclusive_dur") == [(0, 7.5), (1, 7.5)]


def test_thousands_of_kernels_at_once_lose_nothing(tables):
    # each start and end divides 1 ns by another number of kernels
    number = 3000
    tables.execute(
        "insert into gpu_slice (trace_id, slice_id, device, kind, name, ts, dur, is_communication)"
        " select 1, i, 0, 'kernel', 'k', i, 2 * $n, false from range($n) as t (i)",
        {"n": number},
    )
    total = sum(dur for (dur,) in analyse_kernels(tables, "exclusive_dur"))
    assert total == pytest.approx(3 * number - 1, rel=1e-12, abs=1e-9)
