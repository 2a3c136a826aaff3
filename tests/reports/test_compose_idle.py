"""The report's sections about idle time: what is listed, and that it adds up."""

from __future__ import annotations

import handmade_traces
import pytest
from handmade_traces import MadeUp, database, hostile, marked, on_host_only, training, waiting
from msgspec import structs

from traceq.reports.build import build
from traceq.reports.document import Query, Table
from traceq.reports.sections import idle


def only(trace, top=10):
    (report,) = handmade_traces.report(trace, top=top, rules=[]).traces
    return report


def tables(blocks):
    return [block for block in blocks if isinstance(block, Table)]


def test_a_gpu_that_is_never_idle_has_no_section_about_gaps():
    report = only(MadeUp().step(0, 100).gpu("compute", 0, 100))
    assert list(idle.describe_gaps(report)) == []
    assert report.gap_sizes == ()


def test_gaps_of_excluded_steps_are_not_listed():
    report = only(MadeUp().step(0, 50, excluded="warm-up").step(50, 10).gpu("compute", 50, 8))
    assert [(gap.step, gap.ts_ns, gap.dur_ns) for gap in report.gaps] == [(1, 58, 2)]
    assert [(size.bucket, size.gaps, size.dur_ns) for size in report.gap_sizes] == [("below 10 µs", 1, 2)]


def test_the_longest_gap_is_first_and_says_what_the_host_did():
    report = only(waiting())
    durations = [gap.dur_ns for gap in report.gaps]
    assert durations == sorted(durations, reverse=True)
    sizes, longest = tables(idle.describe_gaps(report))
    assert sizes.rows == (("below 1 ms", "11", "3.285 ms"), ("below 10 ms", "1", "1.415 ms"))
    assert longest.rows[0] == ("1.415 ms", "0", "3", "idle: data loading", "traceq.fetch#loader", "-", "-")
    assert {row[-1] for row in longest.rows if row[3] == "idle: Python"} == {"cudaStreamSynchronize"}


@pytest.mark.parametrize("trace", [training, hostile, waiting])
def test_gaps_of_every_size_add_up_to_the_idle_time_of_the_ledger(trace):
    report = only(trace())
    idle = [part.dur_ns for device in report.ledger for part in device.parts if part.category.startswith("idle_")]
    assert sum(size.dur_ns for size in report.gap_sizes) == sum(idle)


def test_top_limits_the_gaps_that_are_listed_and_not_their_sizes():
    report = only(waiting(), top=2)
    assert len(report.gaps) == 2
    assert sum(size.gaps for size in report.gap_sizes) == 12


def test_unusually_long_steps_are_listed_with_differences_that_add_up_to_their_excess():
    report = only(waiting())
    assert {(each.step, each.typical_step, each.dur_ns) for each in report.outliers} == {(3, 0, 2_000_000)}
    assert [(each.category, each.change_ns) for each in report.outliers] == [
        ("idle_data", 1_000_000),
        ("compute", -100_000),
        ("idle_sync", 100_000),
    ]
    assert sum(each.change_ns for each in report.outliers) == 2_000_000 - 1_000_000
    (table,) = tables(idle.describe_outliers(report))
    assert table.rows == (
        ("3", "2.000 ms", "0", "idle: data loading", "1.000 ms"),
        ("3", "2.000 ms", "0", "compute", "-100.0 µs"),
        ("3", "2.000 ms", "0", "idle: synchronization", "100.0 µs"),
    )


def test_too_few_steps_have_no_typical_one():
    assert list(idle.describe_outliers(only(waiting(steps=3)))) == []


def test_without_a_gpu_an_unusually_long_step_is_listed_and_no_reason_given():
    trace = MadeUp()
    for number in range(5):
        trace.step(number * 100, 100)
    (table,) = tables(idle.describe_outliers(only(trace.step(500, 200))))
    assert table.rows == (("5", "200 ns", "-", "-", "-"),)


@pytest.mark.parametrize("trace", [hostile, waiting, marked, on_host_only])
def test_the_parts_of_the_training_thread_are_the_counted_steps(trace):
    report = only(trace())
    assert sum(part.dur_ns for part in report.host_ledger) == report.steps.total_ns
    (table,) = tables(idle.describe_training_thread(report))
    *parts, total = table.rows
    assert total[0] == "sum"
    assert total[-1] == "100.0 %"
    assert sum(float(share.strip("<% ")) for *_, share in parts) == pytest.approx(100, abs=0.1 * len(parts))


def test_many_parts_of_the_training_thread_are_gathered_so_that_they_still_add_up():
    trace = MadeUp().step(0, 2000, thread=0)
    kinds = [("op", "aten::mm"), ("op", "aten::item"), ("runtime", "cudaMalloc"), ("os", "poll")]
    phases = ["forward", "backward", "optimizer", "else"]
    for number, phase in enumerate(phases):
        trace.cpu("annotation", f"traceq.phase#{phase}", number * 500, 400)
        for place, (kind, name) in enumerate(kinds):
            trace.cpu(kind, name, number * 500 + 10 + place * 20, place + 5)
    report = only(trace)
    (table,) = tables(idle.describe_training_thread(report))
    *parts, others, total = table.rows
    assert len(parts) < len(report.host_ledger)
    rest = sum(part.dur_ns for part in report.host_ledger[len(parts) :])
    assert others[:3] == ("others", "-", f"{rest} ns")
    assert total == ("sum", "", "2.000 µs", "100.0 %")


def test_a_trace_without_a_host_side_says_nothing_of_a_training_thread():
    assert list(idle.describe_training_thread(only(training()))) == []


def test_each_section_ends_with_the_query_that_gives_it_again():
    connection = database(waiting())
    (report,) = build(connection, 10, rules=[]).traces
    for section in (idle.describe_gaps, idle.describe_outliers, idle.describe_training_thread):
        *_, last = section(report)
        assert isinstance(last, Query)
    for name in ("gaps", "gap_sizes", "outliers", "host_ledger"):
        rows = connection.execute(report.queries[name]).fetchall()
        assert rows == [structs.astuple(each) for each in getattr(report, name)]
