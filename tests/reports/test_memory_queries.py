"""Queries of the memory's layers, of who holds the peak, and of the times of modules and kernels: rows in, rows out."""

from __future__ import annotations

import json

import pytest
from handmade_traces import MadeUp, database

from traceq.reports.queries import read_rows


def ask(connection, query, **values):
    return [tuple(row.values()) for row in read_rows(connection, query, trace_id=1, top=10, **values)]


def snapshot(*lives, has_times=True):
    """A database of a snapshot with these allocations on GPU 0: (category, bytes, first event, last event or None)."""
    connection = database(MadeUp(format="memory_snapshot"))
    numbers = {number for *_, event, end in lives for number in (event, end) if number is not None}
    for number in sorted(numbers):
        ts = 1000 + 10 * number if has_times else None
        connection.execute(
            "insert into allocator_event (trace_id, device, number, action, ts, bytes) values (1, 0, ?, 'alloc', ?, 1)",
            [number, ts],
        )
    for place, (category, size, event, end) in enumerate(lives):
        ts, ts_end = (1000 + 10 * each if has_times and each is not None else None for each in (event, end))
        connection.execute(
            "insert into allocation (trace_id, allocation_id, device, address, requested_bytes, event, ts, event_end, ts_end,"
            " category, at_peak, is_lost) values (1, ?, 0, 1, ?, ?, ?, ?, ?, ?, false, false)",
            [place, size, event, ts, end, ts_end, category],
        )
    return connection


# Events 0 to 12: each part is a tenth of the distance of two.
LIVES = (
    (None, 100, None, None),  # from before the history to its end
    ("parameters", 50, 0, None),
    ("activations", 30, 3, 6),
    ("temporary", 5, 6, 6),
    ("activations", 10, 9, 12),
)


@pytest.mark.parametrize("has_times", [True, False])
def test_each_part_of_a_history_is_told_at_its_highest_moment(has_times):
    rows = {category: sizes for _, category, _, sizes in ask(snapshot(*LIVES, has_times=has_times), "snapshot_layer")}
    assert [*rows] == ["activations", "parameters", None]
    assert rows[None] == [100] * 120
    assert rows["parameters"] == [50] * 120
    # released at the start of part 60, which begins with what the part before it left
    assert rows["activations"] == [0] * 30 + [30] * 31 + [0] * 29 + [10] * 30


def test_layers_of_a_history_add_up_to_its_peak():
    rows = ask(snapshot(*LIVES), "snapshot_layer")
    assert max(map(sum, zip(*(sizes for *_, sizes in rows), strict=True))) == 180


def test_a_snapshot_without_history_has_no_layers():
    connection = snapshot((None, 100, None, None))
    assert ask(connection, "snapshot_layer") == []


def sampled():
    """Two steps of 600 ns after one that does not count; 70 bytes from before them, 90 at most, and 20 more in the cache."""
    trace = MadeUp().device(0, "GPU", memory_bytes=1000).step(0, 600, excluded="warm-up").step(600, 600).step(1200, 600)
    for ts, allocated, reserved in ((500, 70, 110), (1200, 10, 110), (1205, 90, 120)):
        trace.counter("memory_allocated", ts, allocated).counter("memory_reserved", ts, reserved)
    return database(trace.gpu("compute", 600, 5))


def test_layers_of_steps_are_what_is_allocated_and_what_is_cached():
    assert ask(sampled(), "memory_layer") == [
        (0, "allocated", 0, [70] * 60 + [90] * 60),
        (0, "cached", 0, [40] * 60 + [30] * 60),
    ]


def remembering(*events):
    """A step of 1,200 ns with events of PyTorch's allocator: (ts, address, bytes, allocated after it); 200 are reserved."""
    trace = MadeUp().step(0, 1200).gpu("compute", 0, 5)
    for ts, address, size, allocated in events:
        told = {"Device Type": 1, "Device Id": 0, "Addr": address, "Bytes": size, "Total Allocated": allocated}
        trace.cpu("other", "[memory]", ts, 0, args=json.dumps(told))
        trace.counter("memory_allocated", ts, allocated).counter("memory_reserved", ts, 200)
    return trace


def test_what_was_allocated_before_the_capture_is_what_was_there_less_what_is_released_first():
    # at address 1 are 30 bytes from before, which are used again; at address 2 are 50 of the capture
    events = ((0, 2, 50, 150), (300, 1, -30, 120), (600, 1, 10, 130), (900, 2, -50, 80), (901, 1, -10, 70))
    layers = {category: sizes for _, category, _, sizes in ask(database(remembering(*events)), "memory_layer")}
    assert [*layers] == ["before the capture", "cached", "during the capture"]
    assert layers["before the capture"] == [100] * 31 + [70] * 89
    assert layers["during the capture"] == [50] * 60 + [60] * 31 + [0] * 29
    assert layers["cached"][-1] == 130


def test_what_is_not_known_before_the_first_sample_is_no_zero():
    trace = MadeUp().step(0, 1200).gpu("compute", 0, 5).counter("memory_allocated", 600, 7)
    assert ask(database(trace), "memory_layer") == [(0, "allocated", 60, [7] * 60)]


def test_managed_memory_is_a_layer_of_its_own():
    trace = MadeUp().step(0, 1200).gpu("compute", 0, 5)
    trace.counter("memory_allocated", 0, 5).counter("memory_allocated_managed", 600, 7)
    assert ask(database(trace), "memory_layer") == [
        (0, "allocated", 0, [5] * 120),
        (0, "managed", 0, [0] * 60 + [7] * 60),
    ]


def test_marks_are_the_starts_of_counted_steps():
    assert ask(sampled(), "memory_mark") == [(1, 0, 1200), (2, 600, 1200)]


def test_of_many_steps_at_most_thirty_are_marked():
    trace = MadeUp().gpu("compute", 0, 5).counter("memory_allocated", 0, 5)
    for number in range(100):
        trace.step(number * 10, 10)
    assert ask(database(trace), "memory_mark") == [(number, number * 10, 1000) for number in range(0, 100, 4)]


def test_the_holders_of_the_peak_are_those_who_asked_for_what_is_not_released_yet():
    trace = MadeUp().step(0, 100).gpu("compute", 0, 5)
    trace.cpu("python", "nn.Module: Linear_0", 0, 100)
    trace.cpu("op", "aten::mm", 10, 10)
    trace.cpu("op", "aten::add", 30, 10)
    # of 100 from before the capture at address 9 nobody is known; the 999 at address 7 are of the host
    events = (
        (11, 1, 64, 164, 1),
        (12, 2, 8, 172, 1),
        (12, 2, -8, 164, 1),
        (14, 7, 999, 999, 0),
        (31, 2, 16, 180, 1),
        (31, 1, -64, 116, 1),
        (35, 9, -100, 16, 1),
    )
    for ts, address, size, allocated, device_type in events:
        told = {
            "Device Type": device_type,
            "Device Id": 0,
            "Addr": address,
            "Bytes": size,
            "Total Allocated": allocated,
        }
        trace.cpu("other", "[memory]", ts, 0, args=json.dumps(told))
    trace.counter("memory_allocated", 11, 164)
    assert ask(database(trace), "memory_event_holder") == [
        (0, "aten::mm", "Linear_0", None, 1, 64, 64, 80),
        (0, "aten::add", "Linear_0", None, 1, 16, 16, 80),
    ]


def modules(*rows):
    """A database with 1,000 ns of kernels and these rows of the table module: (device, path, forward, own, mfu)."""
    connection = database(MadeUp().step(0, 2000).gpu("compute", 0, 1000))
    for device, path, forward, own, mfu in rows:
        connection.execute(
            "insert into module (trace_id, device, module, depth, calls, forward_dur, backward_dur, own_dur, mfu)"
            " values (1, ?, ?, ?, 3, ?, 100, ?, ?)",
            [device, path, path.count("/") + 1, forward, own, mfu],
        )
    return connection


MODEL = (
    (0, "Net_0", 700, 50, 0.25),
    (0, "Net_0/layers.0.mlp", 200, 300, 0.5),
    (0, "Net_0/layers.1.mlp", 300, 400, 0.25),
    (0, "Net_0/Conv_2d", 0, 50, None),
)


def test_modules_that_differ_in_numbers_only_are_one_kind():
    assert ask(modules(*MODEL), "module_kind") == [
        ("Net", 1, 1, 3, 800, 100, 50, 0.8, 0.05, 0.25),
        ("Net/Conv_2d", 2, 1, 3, 100, 100, 50, 0.1, 0.05, None),
        ("Net/layers.mlp", 2, 2, 6, 700, 200, 700, 0.7, 0.7, pytest.approx(0.5 * 3 / 7 + 0.25 * 4 / 7)),
    ]


def test_modules_are_listed_by_time_of_their_own():
    assert [row[1:4] for row in ask(modules(*MODEL), "module_top")] == [
        ("Net_0/layers.1.mlp", 3, 400),
        ("Net_0/layers.0.mlp", 3, 300),
        ("Net_0", 3, 800),
        ("Net_0/Conv_2d", 3, 100),
    ]


def test_times_of_kernels_are_those_of_nsys():
    trace = MadeUp().step(0, 1000, excluded="warm-up").step(1000, 1000).gpu("compute", 0, 500, name="gemm")
    for ts, dur in ((1000, 10), (1100, 20), (1200, 60)):
        trace.gpu("compute", ts, dur, name="gemm")
    # at once with the first: it has half of the time, and its own duration
    trace.gpu("compute", 1000, 10, name="add", stream=9)
    rows = read_rows(database(trace), "kernel_top", trace_id=1, top=10)
    told = ("name", "kernels", "dur_ns", "mean_ns", "median_ns", "min_ns", "max_ns", "stddev_ns")
    assert [tuple(row[name] for name in told) for row in rows] == [
        ("gemm", 3, 85, 30, 20, 10, 60, pytest.approx(26.458, abs=0.001)),
        ("add", 1, 5, 10, 10, 10, 10, None),
    ]
