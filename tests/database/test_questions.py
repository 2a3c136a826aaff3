"""The queries of the index by task, copied from docs/tables.md by their headings, against sums over the raw events of a trace."""

from __future__ import annotations

import gzip
import json
import re
import statistics
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import pytest
from builder import TraceBuilder

from traceq.database import catalogue
from traceq.database.questions import find_question, list_questions
from traceq.errors import QueryError

ROOT = Path(__file__).parents[2]
TRACE = ROOT / "fixtures" / "run" / "kineto_2026.json.gz"
PAGE = (ROOT / "docs" / "tables.md").read_text("utf-8")
STEPS = 5


def copied(title):
    """The query that docs/tables.md has under the heading."""
    (query,) = re.findall(rf"^### {re.escape(title)}\n\n.*?```sql\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL)
    return query


def ask(connection, title):
    """The rows of the answer, as mappings of columns to values."""
    answer = connection.execute(copied(title))
    names = [column[0] for column in answer.description]
    return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]


@pytest.fixture(scope="module")
def raw():
    """The raw events by category, times in ns."""
    events = defaultdict(list)
    for event in json.loads(gzip.decompress(TRACE.read_bytes()))["traceEvents"]:
        if "ts" in event:
            start = round(float(event["ts"]) * 1000)
            event |= {"ts": start, "end": start + round(float(event.get("dur", 0)) * 1000)}
            events[event.get("cat")].append(event)
    return events


@pytest.fixture
def connection(databases):
    return databases(TRACE)


def merge(slices):
    """The stretches in which at least one of the slices runs."""
    merged = []
    for start, end in sorted((each["ts"], each["end"]) for each in slices):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged


def shared(some, others):
    """The time that two lists of stretches have in common."""
    return sum(max(0, min(a[1], b[1]) - max(a[0], b[0])) for a in some for b in others)


def on_gpu(raw):
    return [*raw["kernel"], *raw["gpu_memcpy"], *raw["gpu_memset"]]


def is_collective(kernel):
    return "nccl" in kernel["name"]


def test_top_kernels_per_step(connection, raw):
    spent, calls = Counter(), Counter()
    for kernel in raw["kernel"]:
        spent[kernel["name"][:100]] += kernel["end"] - kernel["ts"]
        calls[kernel["name"][:100]] += 1
    rows = ask(connection, "Top kernels per step")
    assert len(rows) == min(20, len(spent))
    assert [row["ms_per_step"] for row in rows] == sorted((row["ms_per_step"] for row in rows), reverse=True)
    for row in rows:
        assert row["ms_per_step"] == pytest.approx(spent[row["kernel"]] / STEPS / 1e6, abs=1e-3)
        assert row["calls"] == calls[row["kernel"]] / STEPS
        assert row["mean_us"] <= row["max_us"]


def test_overlap_achieved(connection, raw):
    communication = merge(filter(is_collective, raw["kernel"]))
    compute = merge(kernel for kernel in raw["kernel"] if not is_collective(kernel))
    rows = ask(connection, "Is communication hidden behind compute?")
    assert len(rows) == STEPS
    hidden, total = (sum(row[name] for row in rows) for name in ("hidden_ms", "communication_ms"))
    assert hidden == pytest.approx(shared(communication, compute) / 1e6, abs=0.01)
    assert total == pytest.approx(sum(end - start for start, end in communication) / 1e6, abs=0.01)
    assert all(0 < row["percent_hidden"] < 100 for row in rows)


def test_gaps_of_a_millisecond_with_the_host_stack(connection, raw):
    busy = merge(on_gpu(raw))
    gaps = [(end, start) for (_, end), (start, _) in pairwise(busy) if start - end >= 1_000_000]
    rows = ask(connection, "Gaps of 1 ms and more, with what the host did")
    assert [row["ms"] for row in rows] == sorted((row["ms"] for row in rows), reverse=True)
    assert len(rows) == len(gaps) == 2
    for row, (start, end) in zip(rows, sorted(gaps, key=lambda gap: gap[0] - gap[1]), strict=True):
        # What is before the step that is cut is a gap of the step before.
        assert 1 <= row["ms"] <= (end - start) / 1e6
        middle = (start + end) // 2
        names = [e["name"] for e in raw["user_annotation"] if e["ts"] <= middle < e["end"]]
        assert row["cause"] == "idle_data"
        assert (row["stack"].split(" > "), row["line"]) == (names, None)


def test_bandwidth_of_collectives_by_size(connection, raw):
    kernels = [kernel for kernel in raw["kernel"] if is_collective(kernel)]
    two_bytes = {kernel["args"]["In msg nelems"] * 2 for kernel in kernels}
    (row,) = ask(connection, "Collectives' bandwidth by size")
    assert (row["op"], row["ranks"], row["collectives"]) == ("all_reduce", 8, len(kernels))
    assert row["least_bytes"] <= min(two_bytes)
    assert max(two_bytes) < 4 * row["least_bytes"]
    bandwidth = sum(k["args"]["In msg nelems"] * 2 for k in kernels) / sum(k["end"] - k["ts"] for k in kernels)
    assert row["algbw"] == pytest.approx(bandwidth, abs=0.01)
    assert row["busbw"] == pytest.approx(bandwidth * 2 * 7 / 8, abs=0.01)
    assert row["busbw_alone"] >= row["busbw"]


def test_memory_growth(connection, raw):
    totals = [event for event in raw["cpu_instant_event"] if event["args"]["Device Type"] == 1]
    starts = sorted(e["ts"] for e in raw["user_annotation"] if e["name"].startswith("ProfilerStep"))
    rows = [row for row in ask(connection, "Memory growth from step to step") if row["memory"] == "device"]
    numbers = sorted(int(e["name"].split("#")[1]) for e in raw["user_annotation"] if "ProfilerStep#" in e["name"])
    assert [row["step"] for row in rows] == numbers[:STEPS]
    for row, until in zip(rows, [*starts[1:], float("inf")], strict=True):
        last = [event for event in totals if event["ts"] < until][-1]
        assert row["end_mb"] == pytest.approx(last["args"]["Total Allocated"] / 1e6, abs=1e-3)
        assert row["growth_mb"] == (
            None if row["start_mb"] is None else pytest.approx(row["end_mb"] - row["start_mb"], abs=1e-3)
        )
    highest = max(event["args"]["Total Allocated"] for event in totals)
    assert max(row["peak_mb"] for row in rows) == pytest.approx(highest / 1e6, abs=1e-3)


def test_launch_latency_percentiles(connection, raw):
    calls = {e["args"]["correlation"]: e["ts"] for e in [*raw["cuda_runtime"], *raw["cuda_driver"]]}
    latency = defaultdict(list)
    for kind, category in (("kernel", "kernel"), ("memcpy", "gpu_memcpy"), ("memset", "gpu_memset")):
        latency[kind] = [(e["ts"] - calls[e["args"]["correlation"]]) / 1e3 for e in raw[category]]
    rows = ask(connection, "Launch latency percentiles")
    for kind, values in latency.items():
        of_kind = [row for row in rows if row["kind"] == kind]
        assert sum(row["launches"] for row in of_kind) == len(values)
        assert max(row["max_us"] for row in of_kind) == pytest.approx(max(values), abs=0.1)
    (memset,) = [row for row in rows if row["kind"] == "memset"]
    assert memset["p50_us"] == pytest.approx(statistics.median(latency["memset"]), abs=0.1)
    assert all(row["p50_us"] <= row["p90_us"] <= row["p99_us"] <= row["max_us"] for row in rows)
    by_queue = {row["queue"]: row["p50_us"] for row in rows if row["kind"] == "kernel"}
    assert by_queue["empty"] < by_queue["not empty"]


def test_copies_to_the_gpu_pinned_against_pageable(connection, raw):
    rows = ask(connection, "Copies to and from the GPU, pinned against pageable")
    by_memory = {row["host_memory"]: row for row in rows if row["copy_kind"] == "h2d"}
    assert set(by_memory) == {"pinned", "pageable"}
    for memory, row in by_memory.items():
        events = [e for e in raw["gpu_memcpy"] if f"HtoD ({memory.title()}" in e["name"]]
        size, dur = sum(e["args"]["bytes"] for e in events), sum(e["end"] - e["ts"] for e in events)
        assert (row["copies"], row["mb"]) == (len(events), pytest.approx(size / 1e6, abs=1e-3))
        assert row["gb_per_s"] == pytest.approx(size / dur, abs=0.01)
    assert by_memory["pinned"]["gb_per_s"] > by_memory["pageable"]["gb_per_s"]


def test_utilisation_of_streams_over_time(connection, raw):
    streams = defaultdict(list)
    for each in on_gpu(raw):
        streams[each["args"]["stream"]].append(each)
    begin, finish = min(e["ts"] for e in on_gpu(raw)), max(e["end"] for e in on_gpu(raw))
    rows = ask(connection, "Stream utilisation over time")
    assert Counter(row["stream"] for row in rows) == dict.fromkeys(streams, 20)
    length = (finish - begin) / 20
    for row in rows:
        start = begin + row["bin"] * length
        expected = 100 * shared(merge(streams[row["stream"]]), [(start, start + length)]) / length
        assert row["busy_percent"] == pytest.approx(expected, abs=0.1)
        assert row["from_ms"] == pytest.approx((start - begin) / 1e6, abs=1e-3)


def test_work_of_a_stream_without_a_number_is_in_its_utilisation():
    trace = TraceBuilder()
    trace.kernel("gemm", 0, 100, stream=None)
    trace.kernel("gemm", 190, 10, stream=None)
    rows = ask(trace.fill_all()._connection, "Stream utilisation over time")
    assert [row["busy_percent"] for row in rows] == [100] * 10 + [0] * 9 + [100]


def test_gpu_time_per_module():
    trace = TraceBuilder()
    for step in (0, 1_000_000):
        trace.annotation("ProfilerStep#1", step, 1_000_000)
        trace.cpu("python", "nn.Module: Net_0", step + 100_000, 200_000)
        for layer in (0, 1):
            ts = step + 110_000 + 60_000 * layer
            trace.cpu("python", f"nn.Module: Linear_{layer}", ts, 50_000)
            trace.kernel("gemm", ts + 15_000, 10_000 * (1 + layer), launched=(ts + 12_000, 2_000))
    rows = ask(trace.fill_all()._connection, "GPU time per module of the model")
    assert [(row["module"], row["calls"], row["gpu_ms"], row["own_ms"]) for row in rows] == [
        ("Net_0/Linear_1", 2, 0.04, 0.04),
        ("Net_0/Linear_0", 2, 0.02, 0.02),
        ("Net_0", 2, 0.06, 0.0),
    ]


def test_two_traces_joined_by_kernel():
    before = TraceBuilder()
    after = before.other_rank()
    for trace, gemm in ((before, 30_000), (after, 10_000)):
        trace.annotation("ProfilerStep#1", 0, 1_000_000)
        trace.kernel("gemm", 100_000, gemm, launched=(90_000, 1_000))
        trace.kernel("gemm", 200_000, gemm, launched=(190_000, 1_000))
    after.kernel("fused", 300_000, 5_000, launched=(290_000, 1_000))
    rows = ask(before.fill_all()._connection, "Join two traces, by kernel")
    columns = ("kernel", "before_ms", "after_ms", "change_ms", "before_calls", "after_calls")
    assert [tuple(row[column] for column in columns) for row in rows] == [
        ("gemm", 0.06, 0.02, -0.04, 2, 2),
        ("fused", 0, 0.005, 0.005, 0, 1),
    ]


def test_one_trace_is_not_joined_with_itself(connection):
    assert ask(connection, "Join two traces, by kernel") == []


def test_parts_of_a_step_add_up_to_it(connection):
    rows = ask(connection, "Where a step's time goes")
    (mean,) = connection.execute("select mean from step_stats").fetchone()
    assert sum(row["ms_per_step"] for row in rows) == pytest.approx(mean / 1e6, abs=0.01)
    assert sum(row["percent"] for row in rows) == pytest.approx(100, abs=0.5)


@pytest.mark.parametrize("question", list_questions(), ids=lambda question: question.name)
def test_every_query_answers_on_a_trace_and_names_what_its_numbers_are(connection, question):
    answer = connection.execute(question.query)
    columns = {name: str(kind) for name, kind, *_ in answer.description}
    answer.fetchall()
    units = r"(^|_)(ms|us|percent|mb|kb|gb|algbw|busbw|calls)(_|$)"
    fractions = [name for name, kind in columns.items() if kind in ("DOUBLE", "FLOAT")]
    assert [name for name in fractions if not re.search(units, name)] == []


def test_the_page_begins_with_the_questions():
    titles = re.findall(r"^\* \[(.+)\]\(#", PAGE, re.MULTILINE)
    assert titles == re.findall(r"^### (.+)", PAGE, re.MULTILINE) == [each.title for each in list_questions()]
    assert re.findall(r"^## (.+)", PAGE, re.MULTILINE)[:2] == ["By task", "Tables, views and macros"]


def test_a_wrong_name_says_what_is_close():
    assert find_question("gaps").title.startswith("Gaps of 1 ms")
    with pytest.raises(QueryError, match="no task is called 'gap'; did you mean: gaps"):
        find_question("gap")


def test_queries_run_where_nothing_was_recorded():
    with catalogue.empty_database() as connection:
        for question in list_questions():
            assert connection.execute(question.query).fetchall() == [], question.name
