"""The sections about copies, communication, kernels, input and memory: they agree with the ledger, and say what is missing."""

from __future__ import annotations

import json
from functools import cache

import pytest
from handmade_traces import MadeUp, complete, database, hostile, on_host_only, server, training, unmarked, waiting
from msgspec import structs
from msgspec.structs import replace

from traceq.common.text import width
from traceq.formats.capabilities import METRICS
from traceq.reports.build import build
from traceq.reports.document import Bars, Curve, Heading, Items, Paragraph, Query, Table
from traceq.reports.model import Report
from traceq.reports.renderers.to_markdown import to_markdown
from traceq.reports.renderers.to_text import blocks_to_text
from traceq.reports.sections import capture, communication, copies, data, kernels, memory, modules, serving
from traceq.reports.sections.compose import compose_report
from traceq.reports.sections.missing import how_to_capture
from traceq.reports.topics.communication import Blocking
from traceq.reports.topics.kernels import GraphRegion, LayerTimes, ModuleKind, ModuleTime

SECTIONS = (
    (copies.describe_copies, copies.explain_no_copies),
    (communication.describe_communication, communication.explain_no_communication),
    (kernels.describe_kernels, kernels.explain_no_kernels),
    (data.describe_input, data.explain_no_input),
    (memory.describe_memory, memory.explain_no_memory),
)
QUERY_OF = {
    "copies": ("copies", "totals"),
    "copy_groups": ("copies", "groups"),
    "unified_memory": ("copies", "unified_memory"),
    "communication": ("communication", "totals"),
    "blocking": ("communication", "blocking"),
    "collectives": ("communication", "collectives"),
    "host_collectives": ("communication", "on_host"),
    "kernels": ("kernels", "fill"),
    "kernel_occupancy": ("kernels", "occupancy"),
    "kernel_names": ("kernels", "top"),
    "operators": ("kernels", "operators"),
    "mfu": ("kernels", "mfu"),
    "gpu_metrics": ("kernels", "measured"),
    "module_kinds": ("kernels", "module_kinds"),
    "modules": ("kernels", "modules"),
    "graph_regions": ("kernels", "regions"),
    "layers": ("kernels", "layers"),
    "data_loaders": ("data", "loaders"),
    "reported_kernels": ("kernels", "reported"),
    "unreported_kernels": ("kernels", "unreported"),
    "memory": ("memory", "peaks"),
    "memory_timeline": ("memory", "timeline"),
    "memory_layers": ("memory", "layers"),
    "memory_marks": ("memory", "marks"),
    "memory_event_holders": ("memory", "event_holders"),
    "allocator_calls": ("memory", "calls"),
    "serving_batches": ("serving", "batches"),
    "serving_stalls": ("serving", "stalls"),
    "serving_roofline": ("serving", "roofline"),
    "request_quantities": ("requests", "quantities"),
    "slowest_requests": ("requests", "slowest"),
    "slow_request_steps": ("requests", "slow_steps"),
}


@cache
def connected(trace):
    """Of the function that makes it: a database takes longer than all that is asked of it."""
    return database(trace())


@cache
def known(trace, top=10):
    (report,) = build(connected(trace), top, rules=[]).traces
    return report


def only(trace):
    (report,) = build(database(trace), 10, rules=[]).traces
    return report


def blocks(section, report, kind):
    return [block for block in section(report) if isinstance(block, kind)]


def words(section, report):
    return " ".join("".join(block.spans) for block in blocks(section, report, Paragraph))


def missing(report):
    items = [block.items for block in compose_report(Report((report,), "")) if isinstance(block, Items)]
    return {"".join(item).split(":")[0]: "".join(item) for each in items for item in each}


@pytest.mark.parametrize("trace", [complete, training, hostile, unmarked])
def test_exposed_time_is_the_ledgers(trace):
    report = known(trace)
    ledger = {(device.device, part.category): part.dur_ns for device in report.ledger for part in device.parts}
    topics = report.topics
    for each in topics.copies.totals:
        assert each.exposed_ns == ledger.get((each.device, each.category), 0)
        assert each.busy_ns == each.overlapped_ns + each.hidden_ns + each.exposed_ns
    for each in topics.communication.totals:
        assert each.exposed_ns == ledger.get((each.device, "communication"), 0)
        assert each.communication_ns == each.overlapped_ns + each.exposed_ns


def test_numbers_of_a_complete_trace():
    topics = known(complete).topics
    into, away = topics.copies.totals
    assert (into.category, into.copies, into.bytes, into.busy_ns) == ("copy_h2d", 4, 28 << 20, 2_360_000)
    assert (into.overlapped_ns, into.hidden_ns, into.exposed_ns) == (1_000_000, 400_000, 960_000)
    assert (away.category, away.exposed_ns) == ("copy_d2h", 0)
    assert [(each.position, each.pageable, each.returning) for each in topics.copies.groups] == [
        ("data", 2, 0),
        ("other", 0, 0),
        ("other", 0, 2),
    ]
    (collective,) = topics.communication.collectives
    assert (collective.op, collective.group_size, collective.slices) == ("all_reduce", 8, 2)
    assert collective.bus_gb_per_s == pytest.approx((64 << 20) / 2_000_000 * 7 / 4)
    (fill,) = topics.kernels.fill
    assert fill.dur_ns == sum(each.dur_ns for each in topics.kernels.occupancy) == 7_400_000
    assert sum(each.kernel_share for each in topics.kernels.top) == pytest.approx(1)
    assert topics.data.stall.data_stall_ns == 2 * (900_000 + 480_000)
    (peak,) = topics.memory.peaks
    assert (peak.peak_bytes, peak.peak_step, peak.peak_unused_bytes, peak.capacity_bytes) == (
        30 << 30,
        1,
        2 << 30,
        80 << 30,
    )
    assert (peak.growth_per_step_bytes, peak.growing_steps) == (1 << 30, 2)


@pytest.mark.parametrize("trace", [complete, training, waiting, server])
def test_queries_give_the_sections_again(trace):
    connection, report = connected(trace), known(trace)
    for query, (topic, field) in QUERY_OF.items():
        found = connection.execute(report.queries[query]).fetchall()
        rows = [tuple(tuple(value) if isinstance(value, list) else value for value in row) for row in found]
        assert rows == [structs.astuple(each) for each in getattr(getattr(report.topics, topic), field)]
    for query, row in (("data", report.topics.data.stall), ("serving", report.topics.serving.summary)):
        assert connection.execute(report.queries[query]).fetchone() == structs.astuple(row)


@pytest.mark.parametrize("trace", [complete, training, hostile, unmarked, waiting, on_host_only])
def test_every_topic_has_a_section_or_a_line_and_not_both(trace):
    report = known(trace)
    for section, instead in SECTIONS:
        content = list(section(report))
        if report.ledger:
            assert bool(content) != bool(instead(report))
        assert len(instead(report)) <= 1
        if content:
            assert isinstance(content[0], Heading)
            assert any(isinstance(block, Query) for block in content)


def test_what_is_missing_is_told_from_what_did_not_happen():
    lines = missing(only(MadeUp().step(0, 10).gpu("compute", 0, 5)))
    assert lines["Copies"] == "Copies: none ran in the counted steps."
    assert lines["Communication"] == "Communication: none ran in the counted steps."
    assert "traceq.annotate.loader(loader)" in lines["Waiting for input"]
    assert "profile(profile_memory=True)" in lines["Memory"]
    lines = missing(known(unmarked))
    assert "--cuda-memory-usage=true" in lines["Memory"]
    assert "inside graphs it is not visible" in lines["Communication"]
    assert "only inside graphs" in lines["Compute kernels"]


def test_unknown_sizes_and_limits_are_no_zeros():
    report = only(
        MadeUp().step(0, 100).gpu("h2d", 0, 10).gpu("d2h", 10, 10).gpu("compute", 20, 50).gpu("communication", 70, 5)
    )
    totals, groups = blocks(copies.describe_copies, report, Table)
    assert [row[3] for row in totals.rows] == ["-", "-"]
    assert {row[index] for row in groups.rows for index in (1, 2, 4, 5, 8, 9)} == {"-"}
    (names,) = blocks(kernels.describe_kernels, report, Table)
    assert names.columns == ("kernel", "time", "share", "count", "mean", "median", "min", "max", "std")
    assert names.rows == (("compute", "50 ns", "100.0 %", "1", *["50 ns"] * 4, "-"),)
    assert "Occupancy: cannot tell" in words(kernels.describe_kernels, report)
    assert "do not show" in words(kernels.describe_kernels, report)
    assert not blocks(kernels.describe_kernels, report, Bars)
    (collectives,) = blocks(communication.describe_communication, report, Table)
    assert collectives.columns == ("operation", "count", "time", "exposed")
    assert "record_shapes=True" in words(communication.describe_communication, report)


def test_an_unknown_convolution_leaves_no_utilization_that_looks_whole():
    trace = complete()
    for number in range(3):
        ts = number * 10_000_000
        trace.cpu("op", "aten::cudnn_convolution", ts + 1_700_000, 50_000)
        launch = trace.cpu("runtime", "cudaLaunchKernel", ts + 1_710_000, 10_000)
        trace.gpu("compute", ts + 7_000_000, 1_400_000, launch=launch)
    report = only(trace)
    (mfu,) = report.topics.kernels.mfu
    assert (mfu.unknown_ns, mfu.mfu_share) == (2_800_000, None)
    text = words(kernels.describe_kernels, report)
    assert "do at least 2.15 GFLOP" in text
    assert "MFU: cannot tell, 27.5 % of that time is other products" in text
    (row,) = [each for each in report.topics.kernels.operators if each.kind == "convolution"]
    assert (row.tflop_per_s, row.peak_share) == (None, None)


def test_copies_launched_before_the_counted_steps_are_in_their_time_only():
    trace = MadeUp().step(0, 100, excluded="warm-up").step(100, 100).gpu("compute", 100, 10)
    report = only(trace.gpu("h2d", 90, 40))
    assert [(each.copies, each.busy_ns, each.exposed_ns) for each in report.topics.copies.totals] == [(0, 30, 20)]
    assert words(copies.describe_copies, report).startswith("Most exposed: copies to the device. They take 30 ns")


@pytest.mark.parametrize(
    ("blocking", "said"),
    [
        (Blocking(0, 2, 2, 500), "waited 500 ns for communication alone."),
        (Blocking(0, 2, 2, 0), "waited 0 ns for communication alone."),
        (Blocking(0, 2, 1, 500), "at least 500 ns for communication alone (known for only 1 of 2 collectives)."),
        (Blocking(0, 2, 1, 0), "The trace does not show whether compute waited"),
        (Blocking(0, 2, 0, None), "The trace does not show whether compute waited"),
    ],
)
def test_blocking_is_said_as_far_as_it_is_known(blocking, said):
    report = known(complete)
    topics = report.topics
    blocked = replace(topics.communication, blocking=(blocking,))
    report = replace(report, topics=replace(topics, communication=blocked))
    assert said in words(communication.describe_communication, report)


def test_many_gpus_are_listed_as_far_as_they_can_be_read_and_the_others_counted():
    trace = MadeUp().step(0, 1000)
    for device in range(12):
        trace.gpu("compute", 0, 400, device).gpu("h2d", 400, 10 + device, device).gpu(
            "communication", 500, 100 + device, device
        )
        trace.counter("memory_allocated", 5, 1000 + device, device=device)
    report = only(trace)
    (bars,) = blocks(communication.describe_communication, report, Bars)
    assert [row.label for row in bars.rows] == [f"GPU {device}" for device in range(4, 12)]
    assert "4 GPUs with less exposed communication are not shown." in words(
        communication.describe_communication, report
    )
    totals = blocks(copies.describe_copies, report, Table)[0]
    assert [row[0] for row in totals.rows] == [str(device) for device in range(4, 12)]
    assert "4 with less exposed time are not shown." in words(copies.describe_copies, report)
    assert "8 GPUs with less kernel time are not shown." in words(kernels.describe_kernels, report)
    assert "8 GPUs with lower peaks are not shown." in words(memory.describe_memory, report)
    assert len(report.topics.memory.peaks) == 12


def test_groups_of_ranks_have_untrusted_names_and_tables_stay_within_the_page():
    report = known(complete)
    communication = report.topics.communication
    (collective,) = communication.collectives
    rows = tuple(replace(collective, group_name=f"| <b>{name}", blocking_ns=5) for name in ("x" * 300, "y" * 300))
    topics = replace(report.topics, communication=replace(communication, collectives=rows))
    report = Report((replace(report, topics=topics),), "")
    assert max(map(width, blocks_to_text(compose_report(report)).splitlines())) <= 100
    assert "\\| <b>" in to_markdown(report)


def test_the_curve_of_memory_goes_on_between_samples():
    trace = MadeUp().device(0, "GPU", memory_bytes=1000).step(0, 600, excluded="warm-up").step(600, 600)
    trace.counter("memory_allocated", 500, 70).counter("memory_allocated", 900, 10).counter("memory_allocated", 905, 90)
    (curve,) = blocks(memory.describe_memory, only(trace.gpu("compute", 0, 5)), Curve)
    assert curve.values == (70.0,) * 30 + (90.0,) * 30


def test_a_trace_says_who_asked_for_the_memory_at_the_peak():
    trace = MadeUp().step(0, 100).gpu("compute", 0, 5)
    trace.cpu("python", "nn.Module: Linear_0", 0, 100)
    trace.cpu("op", "aten::mm", 10, 10)
    told = {"Device Type": 1, "Device Id": 0, "Addr": 1, "Bytes": 64, "Total Allocated": 164}
    trace.cpu("other", "[memory]", 11, 0, args=json.dumps(told))
    report = only(trace.counter("memory_allocated", 11, 164).counter("memory_reserved", 11, 200))
    holders = blocks(memory.describe_memory, report, Table)[-1]
    assert holders.columns == ("operator", "module", "allocations", "allocated", "share")
    assert holders.rows == (("aten::mm", "Linear_0", "1", "64 B", "39.0 %"),)
    assert "64 B of the peak on GPU 0 were allocated during the capture (100 B before it), by:" in words(
        memory.describe_memory, report
    )


def with_modules(*kinds, **facts):
    report = known(complete)
    return replace(
        report,
        topics=replace(report.topics, kernels=replace(report.topics.kernels, module_kinds=kinds, **facts)),
    )


def test_modules_are_a_tree_without_those_of_little_time():
    kinds = (
        ModuleKind("Net", 1, 1, 4, 8_000_000, 3_000_000, 0, 1.0, 0.0, None),
        ModuleKind("Net/Conv", 2, 3, 12, 7_950_000, 3_000_000, 7_950_000, 0.994, 0.994, 0.5),
        ModuleKind("Net/Norm", 2, 3, None, 50_000, 0, 50_000, 0.006, 0.006, None),
    )
    rows = tuple(ModuleTime(0, f"Net_0/Conv_{number}", 4, 100, 100, 0.5, -1024) for number in range(2))
    report = with_modules(*kinds, modules=rows)
    tree, longest = blocks(modules.describe_modules, report, Table)
    assert tree.columns == ("module", "number", "calls", "time", "backward", "share", "own time", "own share", "MFU")
    assert tree.rows == (
        ("Net", "1", "4", "8.000 ms", "3.000 ms", "100.0 %", "0 ns", "0.0 %", "-"),
        ("· Conv", "3", "12", "7.950 ms", "3.000 ms", "99.4 %", "7.950 ms", "99.4 %", "50.0 %"),
    )
    assert longest.rows[1] == ("Net_0/Conv_1", "4", "100 ns", "100 ns", "50.0 %", "-1.0 KiB")
    text = words(modules.describe_modules, report)
    assert text.startswith("100.0 % of the time of compute kernels is in 7 modules of the model.")
    assert "1 more kind of modules with less time not shown." in text
    queries = [block.sql for block in blocks(modules.describe_modules, report, Query)]
    assert queries == [report.queries["module_kinds"], report.queries["modules"]]


def test_regions_of_graphs_are_listed_beside_modules():
    rows = (GraphRegion("optimizer", "optimizer", 4, 400_000, 0.4), GraphRegion(None, None, 8, 600_000, 0.6))
    report = with_modules(regions=rows)
    (table,) = blocks(modules.describe_modules, report, Table)
    assert table.rows == (
        ("optimizer", "optimizer", "4", "400.0 µs", "40.0 %"),
        ("not annotated", "-", "8", "600.0 µs", "60.0 %"),
    )


def test_layers_are_told_with_what_tells_of_them_and_what_lies_around_them():
    rows = (
        LayerTimes(0, "before the layers", "order", None, None, 100_000, 0, 0.1, None, None, None, None),
        LayerTimes(0, "Net_0/Model_0", "order", 8, 2, 900_000, 0, 0.9, 100_000, 110_000, 150_000, "layer 3 of 8"),
    )
    report = with_modules(layers=rows)
    (table,) = blocks(modules.describe_modules, report, Table)
    assert table.columns == ("layers", "number", "calls", "time", "share", "least", "median", "most", "slowest")
    assert table.rows == (
        ("before the layers", "-", "-", "100.0 µs", "10.0 %", "-", "-", "-", "-"),
        ("Model_0", "8", "2", "900.0 µs", "90.0 %", "100.0 µs", "110.0 µs", "150.0 µs", "layer 3"),
    )
    assert words(modules.describe_modules, report).startswith(
        "90.0 % of the time of compute kernels is in 8 layers, inferred from the order of kernels, which repeat."
    )


def test_layers_of_training_have_their_backward_pass_and_no_calls():
    row = LayerTimes(0, "Net/Block", "module", 4, 2, 900_000, 600_000, 1.0, 1, 2, 3, "Net_0/Block_3")
    (table,) = blocks(modules.describe_modules, with_modules(layers=(row, replace(row, device=1))), Table)
    assert table.columns == (
        "layers",
        "GPU",
        "number",
        "time",
        "backward",
        "share",
        "least",
        "median",
        "most",
        "slowest",
    )
    assert table.rows[1] == ("Block", "1", "4", "900.0 µs", "600.0 µs", "100.0 %", "1 ns", "2 ns", "3 ns", "Block_3")


def test_work_in_graphs_without_any_annotation_is_no_region():
    assert list(modules.describe_modules(with_modules(regions=(GraphRegion(None, None, 8, 600_000, 1.0),)))) == []


def test_without_modules_there_is_no_section_about_them():
    assert list(modules.describe_modules(known(complete))) == []


@pytest.mark.parametrize("trace_format", ["chrome", "nsys"])
@pytest.mark.parametrize("metric", METRICS)
def test_everything_that_is_missing_can_be_brought_by_something(metric, trace_format):
    text = "".join(how_to_capture(metric, trace_format))
    assert text.endswith(f"(traceq doctor --plan {metric})")
    assert "profile" in text


def test_steps_beyond_top_leave_a_row_for_the_rest_of_what_differs():
    whole, cut = known(waiting).outliers, known(waiting, top=1).outliers
    assert [(each.category, each.change_ns) for each in cut] == [("idle_data", 1_000_000), ("the rest", 0)]
    assert sum(each.change_ns for each in cut) == sum(each.change_ns for each in whole)


def test_a_server_has_its_steps_by_kind_and_batch_and_what_prompts_cost():
    report = known(server)
    (batches,) = blocks(serving.describe_serving, report, Table)
    cells = [row[:3] for row in batches.rows]
    assert cells == [("decode", "4 to 7", "4"), ("mixed", "4 to 7", "1"), ("prefill", "2 to 3", "1")]
    text = words(serving.describe_serving, report)
    assert text.startswith(
        "6 steps of a server in 65.00 ms, found by annotations like those of vLLM: 1 prefill, 4 decode, 1 mixed."
    )
    assert "308 output tokens per second" in text
    (remarks,) = blocks(serving.describe_serving, report, Items)
    stalls = [item[0] for item in remarks.items]
    assert stalls[0].startswith(
        "Decoding requests waited 20.00 ms (30.8 % of the steps) for prompts of others, 1 time: prompt-only steps"
    )
    assert stalls[1].startswith(
        "Decoding requests waited 7.500 ms (11.5 % of the steps) for prompts of others, 1 time: steps also computed"
    )
    assert stalls[-1] == (
        "The least time of 4 decode steps is not known: shapes of its matrix products are not recorded."
    )


@pytest.mark.parametrize("trace", [complete, training, unmarked, on_host_only])
def test_training_has_no_section_about_serving(trace):
    assert list(serving.describe_serving(known(trace))) == []


def test_a_gpu_without_a_name_does_not_read_as_a_number_of_gpus():
    report = known(training)
    device = replace(report.devices[0], device=2, name=None, slices=85)
    text = blocks_to_text(capture.describe_capture(replace(report, devices=(device,))), 100)
    assert "GPU 2, name not in the trace (85 slices)" in text
