"""The section about the critical path: what its queries add up, and what is said of it."""

from __future__ import annotations

import pytest
from handmade_traces import MadeUp, on_host_only, report, training
from msgspec.structs import replace
from tables import empty_tables, insert, insert_row

from traceq.reports.queries import read_rows
from traceq.reports.sections.critical_path import describe_critical_path, explain_no_critical_path
from traceq.reports.topics.critical_path import PathName, PathPart, PathSummary, PathTopic


@pytest.fixture
def path():
    """Two steps that count and one that does not; a kernel launched in a module, and what the host did in another."""
    connection = empty_tables()
    insert_row(
        connection, "trace", trace_id=1, path="", sha256="", size_bytes=0, format="chrome", ingested_at="2024-01-01"
    )
    insert(
        connection,
        "step",
        "step name source ts dur excluded",
        [
            (0, "ProfilerStep#7", "profiler_step", 0, 100, None),
            (1, "ProfilerStep#8", "profiler_step", 100, 100, "warm-up"),
            (2, "ProfilerStep#9", "profiler_step", 200, 100, None),
        ],
    )
    insert(
        connection,
        "cpu_slice",
        "slice_id thread_id kind name ts dur depth",
        [
            (0, 0, "annotation", "ProfilerStep#7", 0, 100, 0),
            (1, 0, "python", "nn.Module: Net_0", 5, 70, 1),
            (2, 0, "python", "nn.Module: Linear_0", 10, 10, 2),
            (3, 0, "runtime", "cudaLaunchKernel", 12, 4, 3),
            (4, 0, "python", "nn.Module: Linear_1", 30, 10, 2),
            (5, 0, "op", "aten::mm", 31, 4, 3),
            (6, 1, "python", "nn.Module: Other_0", 0, 300, 1),
        ],
    )
    insert(
        connection,
        "gpu_slice",
        "slice_id device kind name ts dur is_communication launch_id",
        [(9, 0, "kernel", "gemm", 20, 20, False, 3)],
    )
    insert(
        connection,
        "critical_path",
        "segment step ts dur kind edge cause slice_id thread_id name operator unexplained",
        [
            (0, 0, 0, 12, "host", None, "idle_python", 0, 0, "ProfilerStep#7", None, 0),
            (1, 0, 12, 8, "wait", "launch", "idle_launch_latency", 9, None, "gemm", None, 3),
            (2, 0, 20, 20, "gpu", None, "compute", 9, None, "gemm", None, 0),
            (3, 0, 31, 40, "host", None, "idle_launch", 5, 0, "aten::mm", "aten::mm", 0),
            (4, 0, 80, 20, "host", None, "idle_python", 0, 0, "ProfilerStep#7", None, 0),
            (5, 1, 100, 100, "host", None, "idle_python", 0, 0, "ProfilerStep#8", None, 0),
            (6, 2, 200, 100, "host", None, "idle_python", 0, 0, "ProfilerStep#9", None, 0),
        ],
    )
    errors = [(0, 100, 99, 0.01), (1, 100, 200, 1.0), (2, 100, 97, 0.03)]
    insert(connection, "replay_step", "step dur predicted error", errors)
    return connection


def asked(connection, name, **values):
    return [tuple(row.values()) for row in read_rows(connection, name, trace_id=1, **values)]


def test_the_path_is_that_of_the_steps_that_count(path):
    assert asked(path, "critical_path") == [(2, 200, 3, 0.02, 0.03)]


def test_parts_add_up_to_it(path):
    assert asked(path, "critical_path_part") == [
        ("host", "idle_python", 132, 0, 0.66),
        ("host", "idle_launch", 40, 0, 0.2),
        ("gpu", "compute", 20, 0, 0.1),
        ("wait", "idle_launch_latency", 8, 3, 0.04),
    ]


def test_names_have_the_innermost_module_of_the_host_or_of_the_launch_and_steps_are_one_name(path):
    assert asked(path, "critical_path_name", top=10) == [
        ("host", "ProfilerStep#", None, None, 0, 132, 0.66),
        ("host", "aten::mm", None, "Linear_1", 1, 40, 0.2),
        ("gpu", "gemm", None, "Linear_0", 1, 20, 0.1),
    ]
    assert len(asked(path, "critical_path_name", top=1)) == 1


def test_of_several_modules_the_one_with_most_time_is_named(path):
    path.execute("update critical_path set name = 'aten::mm', operator = 'aten::mm' where segment = 0")
    path.execute("update critical_path set ts = 6 where segment = 0")
    assert asked(path, "critical_path_name", top=10)[1] == ("host", "aten::mm", None, "Linear_1", 2, 52, 0.26)


def test_without_a_path_nothing_is_known():
    assert asked(empty_tables(), "critical_path") == [(0, 0, None, None, None)]


def with_path(trace, **summary):
    """The report of a trace with a path made up."""
    facts = PathSummary(**{"steps": 2, "dur_ns": 2000, "unexplained_ns": 20, "median_error_share": 0.01, **summary})
    parts = tuple(PathPart("wait", f"idle_{number}", 250, 0, 0.125) for number in range(8))
    names = tuple(PathName("gpu", f"k{number}", None, "Linear_0", number, 9, 0.1) for number in range(1, 8))
    (found,) = report(trace, rules=[]).traces
    return replace(found, topics=replace(found.topics, critical_path=PathTopic(facts, parts, names)))


def words(blocks):
    return "\n".join("".join(block.spans) for block in blocks if hasattr(block, "spans"))


def tables(blocks):
    return [block for block in blocks if hasattr(block, "columns")]


def test_the_section_is_short_and_adds_up():
    parts, names = tables(list(describe_critical_path(with_path(training(), largest_error_share=0.02))))
    assert parts.rows[0] == ("wait", "idle_0", "125 ns", "12.5 %")
    assert parts.rows[-2:] == (("others", "", "250 ns", "25.0 %"), ("sum", "", "1.000 µs", "100.0 %"))
    assert len(parts.rows) == 8
    assert [row[2] for row in names.rows] == ["Linear_0", *(f"Linear_0 +{others}" for others in range(1, 5))]


def test_the_words_say_how_far_it_can_be_relied_on():
    several = words(describe_critical_path(with_path(training(), largest_error_share=0.02)))
    assert "explains all but 1.0 % of it" in several
    assert "misses a step by 1.0 % in the median and by 2.0 % at most" in several
    alone = words(describe_critical_path(with_path(training(), largest_error_share=0.02, steps=1, unexplained_ns=0)))
    assert "explains all of it" in alone
    assert "It covers 1 of 3 counted steps." in alone
    assert "each half with the latencies of the other misses the step by 2.0 %" in alone


def test_of_a_host_alone_no_replay_is_spoken_of():
    assert "replay" not in words(describe_critical_path(with_path(on_host_only(), largest_error_share=0.0)))


def test_a_database_without_it_says_so_in_a_line():
    (found,) = report(MadeUp().step(0, 100).gpu("compute", 0, 80), rules=[]).traces
    nothing = PathTopic(PathSummary(0, 0, None, None, None), (), ())
    without = replace(found, topics=replace(found.topics, critical_path=nothing))
    assert list(describe_critical_path(without)) == []
    assert "not in this database" in words_of(explain_no_critical_path(without))
    assert explain_no_critical_path(found) == ()


def words_of(lines):
    return "\n".join("".join(line) for line in lines)
