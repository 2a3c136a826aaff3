"""Per metric: what a tiny trace holds, and what is said of it."""

from __future__ import annotations

from types import NoneType
from typing import get_args

import pytest
from builder import TraceBuilder
from msgspec.structs import asdict, fields, replace

from traceq.formats.capabilities import METRICS
from traceq.health.coverage import Inputs, LostEvents, read
from traceq.health.diagnosis import diagnose
from traceq.health.judges import JUDGES
from traceq.health.verdict import suggest_captures

NOTHING = Inputs(
    **{
        field.name: () if field.name == "lost" else None if NoneType in get_args(field.type) else 0
        for field in fields(Inputs)
    }
)
A_KERNEL = {"gpu_slices": 1, "called_for": 1, "launched": 1, "kernels": 1, "devices": 1, "host_slices": 1, "calls": 1}
COPIES = {"copies": 2, "copies_with_bytes": 2, "copies_with_memory": 2, "copies_with_call": 2}
COMMUNICATION = {
    "communication": 2,
    "communication_with_bytes": 2,
    "communication_with_group": 2,
    "communication_with_blocking": 2,
}
MEMORY = {"memory_samples": 3, "memory_samples_total": 3, "devices_with_memory": 1}
SHAPES = {"operators": 3, "operators_with_shapes": 2, "operators_with_flops": 2}


def said(metric, **held):
    """State and reason, of a trace that holds this and nothing else."""
    verdict = JUDGES[metric](replace(NOTHING, **held))
    return f"{verdict.state}: {verdict.reason}"


def test_every_metric_has_a_judge():
    assert list(JUDGES) == list(METRICS)


@pytest.mark.parametrize("metric", METRICS)
def test_of_an_empty_trace_nothing_can_be_computed(metric):
    verdict = JUDGES[metric](NOTHING)
    assert (verdict.state, bool(verdict.reason), verdict.needs is None) == ("not computable", True, False)


@pytest.mark.parametrize(
    ("metric", "held", "expected"),
    [
        ("steps", {"steps": 5, "step_source": "mark"}, "ok: 5 steps by traceq.annotate, no samples or tokens marked"),
        (
            "steps",
            {"steps": 5, "step_source": "profiler_step", "payloads": "samples, tokens"},
            "ok: 5 steps by prof.step(), rates of samples, tokens",
        ),
        (
            "steps",
            {"steps": 1, "step_source": "annotation"},
            "degraded: 1 step counted: there is nothing to compare with; capture more",
        ),
        (
            "steps",
            {"steps": 16, "step_source": "recurrence"},
            "degraded: 16 steps, inferred (recurrence), not marked",
        ),
        (
            "steps",
            {"steps": 1, "step_source": "window"},
            "not computable: no steps are marked or recur, so the window of GPU work counts as one",
        ),
        ("idle", A_KERNEL | {"operators": 1}, "ok: never idle in a step"),
        (
            "idle",
            A_KERNEL | {"operators": 1, "idle_dur": 200, "idle_unattributed": 10},
            "ok: 5.0% of idle time has no cause",
        ),
        (
            "idle",
            A_KERNEL | {"operators": 1, "idle_dur": 100, "idle_unattributed": 12},
            "degraded: 12% of idle time has no cause",
        ),
        ("idle", A_KERNEL, "degraded: no operator or range shows what the host did"),
        (
            "idle",
            A_KERNEL | {"operators": 1, "launched": 0},
            "degraded: the launch call is known for 0 of 1 GPU slice",
        ),
        (
            "idle",
            A_KERNEL | {"operators": 1, "whole_graphs": 1},
            "degraded: 1 graph traced as a whole: each counts as busy throughout",
        ),
        ("ledger", A_KERNEL | {"gpu_slices": 1200, "devices": 2}, "ok: 1,200 GPU slices on 2 GPUs"),
        (
            "ledger",
            A_KERNEL | {"whole_graphs": 3},
            "degraded: 3 graphs traced as a whole: each counts as compute throughout",
        ),
        (
            "host",
            {"host_slices": 3, "operators": 2, "annotations": 1, "phases": 1},
            "ok: 2 operators, 1 range, 0 runtime calls",
        ),
        (
            "host",
            {"host_slices": 3, "calls": 3},
            "degraded: no operator and no range around the calls; nothing marks forward, backward or optimizer",
        ),
        ("launch", A_KERNEL, "ok: the launch call is known for 1 of 1 GPU slice"),
        (
            "launch",
            A_KERNEL | {"called_for": 100, "launched": 99},
            "ok: the launch call is known for 99 of 100 GPU slices",
        ),
        (
            "launch",
            A_KERNEL | {"called_for": 100, "launched": 98},
            "degraded: the launch call is known for 98 of 100 GPU slices",
        ),
        ("launch", A_KERNEL | {"launched": 0}, "not computable: no launch call was traced"),
        ("sync", A_KERNEL, "ok: 0 calls in which the host waits, 0 in which a stream does"),
        (
            "sync",
            A_KERNEL | {"waiting_calls": 1, "stream_wait_calls": 1, "stream_waits": 1, "stream_waits_resolved": 1},
            "ok: 1 call in which the host waits, 1 in which a stream does",
        ),
        (
            "sync",
            A_KERNEL | {"stream_wait_calls": 2},
            "degraded: what a stream waited for is known for 0 of 2 waits",
        ),
        (
            "sync",
            A_KERNEL | {"stream_waits": 2, "stream_waits_resolved": 1},
            "degraded: what a stream waited for is known for 1 of 2 waits",
        ),
        ("copies", A_KERNEL, "ok: no copy ran on a GPU"),
        (
            "copies",
            A_KERNEL | {"copies_as_kernels": 35},
            "degraded: 35 copies are run as kernels by the driver and count as compute",
        ),
        ("copies", A_KERNEL | COPIES, "ok: 2 copies, all with bytes, kinds of memory and the call"),
        (
            "copies",
            A_KERNEL | COPIES | {"copies_with_bytes": 1, "copies_with_memory": 0, "copies_with_call": 0},
            (
                "degraded: bytes known for 1 of 2 copies; pinned or pageable known for 0 of 2 copies; "
                "the call known for 0 of 2 copies"
            ),
        ),
        (
            "copies",
            A_KERNEL | {"whole_graphs": 1},
            "degraded: 1 graph traced as a whole: each hides the copies within",
        ),
        ("occupancy", A_KERNEL, "not computable: no kernel has its grid, block and registers"),
        (
            "occupancy",
            A_KERNEL | {"kernels_with_shape": 1},
            (
                "not computable: estimated of no kernel: grid, block and registers of 1 of 1 kernel,"
                " limits of 0 of 1 GPU"
            ),
        ),
        (
            "occupancy",
            A_KERNEL | {"kernels": 100, "kernels_with_shape": 99, "kernels_estimated": 99, "devices_with_limits": 1},
            "ok: estimated of 99 of 100 kernels",
        ),
        (
            "occupancy",
            A_KERNEL
            | {
                "kernels": 100,
                "kernels_with_shape": 99,
                "kernels_estimated": 98,
                "devices": 2,
                "devices_with_limits": 1,
            },
            (
                "degraded: estimated of 98 of 100 kernels: grid, block and registers of 99 of 100 kernels,"
                " limits of 1 of 2 GPUs"
            ),
        ),
        (
            "hardware-counters",
            {"metric_samples": 2},
            "degraded: in SQL only (counter): 2 samples, none within a step of a metric that traceq knows",
        ),
        (
            "hardware-counters",
            {"metric_samples": 2, "metrics": 1, "devices": 2, "devices_with_metrics": 2},
            "ok: 1 metric of 2 GPUs per step",
        ),
        (
            "hardware-counters",
            {"metrics": 1, "devices": 2, "devices_with_metrics": 1},
            "degraded: metrics known for 1 of 2 GPUs",
        ),
        ("communication", A_KERNEL, "ok: no communication ran on a GPU"),
        ("communication", A_KERNEL | {"collectives": 3}, "ok: no communication ran on a GPU"),
        (
            "communication",
            A_KERNEL | {"whole_graphs": 1},
            "degraded: 1 graph traced as a whole: each hides the communication within",
        ),
        (
            "communication",
            A_KERNEL | COMMUNICATION,
            "ok: 2 GPU slices, all with bytes, group and what they hold up",
        ),
        (
            "communication",
            A_KERNEL
            | COMMUNICATION
            | {"communication_with_bytes": 1, "communication_with_group": 0, "communication_with_blocking": 0},
            (
                "degraded: bytes known for 1 of 2 GPU slices; group known for 0 of 2 GPU slices;"
                " what they hold up known for 0 of 2 GPU slices"
            ),
        ),
        (
            "data",
            {"fetches_ahead": 2},
            "not computable: 2 fetches on other threads, but nothing marks where training waits for input",
        ),
        (
            "data",
            A_KERNEL | {"fetches": 1, "steps": 2, "steps_with_data_wait": 2, "steps_with_input_copy": 2},
            "ok: 1 fetch marked, waits known for 2 of 2 steps",
        ),
        (
            "data",
            A_KERNEL | {"fetches": 1, "steps": 1, "steps_excluded": 1, "steps_with_data_wait": 1},
            "degraded: waits known for 1 of 2 steps; copies of input known for 0 of 2 steps",
        ),
        ("data", {"fetches": 5}, "degraded: 5 fetches, but no GPU work to say what they cost"),
        (
            "memory",
            A_KERNEL | MEMORY | {"devices_with_capacity": 1},
            "ok: 3 samples of 1 GPU with their capacity",
        ),
        ("memory", {"memory_samples": 3, "memory_samples_total": 3}, "ok: 3 samples, none of a GPU"),
        ("memory", {"memory_samples": 3, "memory_samples_total": 3, "devices_sampled": 1}, "ok: 3 samples of 1 GPU"),
        (
            "memory",
            A_KERNEL | {"memory_samples": 3, "memory_samples_total": 3},
            "degraded: 3 samples, none of a GPU's memory in a step",
        ),
        (
            "memory",
            A_KERNEL | MEMORY | {"memory_samples_total": 1},
            ("degraded: 2 of 3 samples are sums since the capture began, not totals; capacity known for 0 of 1 GPU"),
        ),
        (
            "flops",
            {"operators": 3, "operators_with_shapes": 2},
            (
                "not computable: shapes of 2 of 3 operators, none a matrix product, convolution or attention"
                " of known FLOPs"
            ),
        ),
        ("flops", SHAPES, "ok: FLOPs of 2 operators"),
        (
            "flops",
            A_KERNEL | SHAPES | {"kernel_dur": 100, "flops_dur": 40},
            "ok: FLOPs of 2 operators, in 40% of the time of kernels",
        ),
        ("flops", A_KERNEL | SHAPES, "degraded: FLOPs of 2 operators, but no kernel of theirs: no rates"),
        (
            "flops",
            A_KERNEL | SHAPES | {"kernel_dur": 100, "flops_dur": 40, "convolutions": 5, "convolutions_with_flops": 1},
            "degraded: FLOPs known for 1 of 5 convolutions",
        ),
        (
            "flops",
            A_KERNEL | SHAPES | {"kernel_dur": 100, "flops_dur": 40, "graph_nodes": 1, "whole_graphs": 1},
            "degraded: 2 GPU slices of graphs not counted",
        ),
        ("mfu", SHAPES, "not computable: no GPU work was traced"),
        ("mfu", A_KERNEL, "not computable: no operator has the shapes of its arguments"),
        ("mfu", A_KERNEL | SHAPES, "not computable: no operator with known FLOPs launched a kernel"),
        (
            "mfu",
            A_KERNEL | SHAPES | {"flops_dur": 40, "mfu_entries": 2},
            "not computable: no peak known for the GPU and the types that operators with FLOPs compute in",
        ),
        (
            "mfu",
            A_KERNEL | SHAPES | {"flops_dur": 40, "flops_dur_with_peak": 10, "mfu_entries": 2, "mfu_entries_known": 1},
            ("degraded: MFU known for 1 of 2 GPUs x steps; peak known for 25% of the GPU time of operators with FLOPs"),
        ),
        (
            "mfu",
            A_KERNEL | SHAPES | {"flops_dur": 40, "flops_dur_with_peak": 40, "mfu_entries": 2, "mfu_entries_known": 2},
            "ok: MFU known for 2 of 2 GPUs x steps; peak known for 100% of the GPU time of operators with FLOPs",
        ),
        (
            "mfu",
            A_KERNEL | SHAPES | {"flops_dur": 40, "flops_dur_with_peak": 40},
            (
                "degraded: MFU known for 0 of 0 GPUs x steps; peak known for 100% of the GPU time of operators with FLOPs"
            ),
        ),
        ("python", {"python_calls": 1}, "degraded: no analysis yet, in SQL only: 1 Python call"),
        ("graphs", A_KERNEL, "ok: no graph was launched"),
        ("graphs", A_KERNEL | {"graph_launches": 1, "graph_nodes": 4}, "ok: 4 GPU slices from inside graphs"),
        (
            "graphs",
            A_KERNEL | {"graph_launches": 2, "whole_graphs": 2},
            "not computable: 2 graph launches, nothing from inside",
        ),
        (
            "graphs",
            A_KERNEL | {"graph_launches": 2, "graph_nodes": 4, "whole_graphs": 1},
            "degraded: 1 graph traced as a whole: each hides what ran within",
        ),
        (
            "graphs",
            A_KERNEL | {"calls": 0},
            "not computable: no call was traced, so it is not known whether graphs were launched",
        ),
        ("os", {"os_calls": 1}, "ok: 1 call"),
    ],
)
def test_what_a_trace_holds_decides(metric, held, expected):
    assert said(metric, **held) == expected


# ---- on real tables


def diagnosed(trace, tmp_path):
    trace.build(tmp_path)
    (health,) = diagnose(trace._connection)
    return health, {each.metric: each for each in health.metrics}


def rich():
    """A bit of everything that a column of Inputs counts."""
    trace = TraceBuilder()
    trace.annotation("traceq.step#0", 0, 100)
    trace.annotation("traceq.fetch#loader", 1, 4)
    trace.annotation("traceq.payload#samples=8", 6, 0)
    h100 = {"name": "NVIDIA H100 80GB HBM3", "compute_capability": "9.0", "sm_count": 132}
    trace.add("device", device=0, source="trace", memory_bytes=80, **h100)
    shapes = '{"Input Dims":[[2, 2], [2, 2]],"Input type":["c10::BFloat16","c10::BFloat16"]}'
    trace.op("aten::mm", 10, 10, args=shapes)
    trace.op("aten::empty", 21, 1, args='{"Input dims":[]}')
    trace.cpu("python", "train.py(1): step", 10, 60)
    trace.cpu("os", "poll", 72, 1)
    ones = dict.fromkeys(("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z"), 1)
    shape = {**ones, "registers_per_thread": 8, "shared_memory": 0}
    trace.kernel("gemm", 30, 10, launched=(12, 2), **shape)
    reduced = trace.kernel("ncclDevKernel_AllReduce", 50, 5, launched=(16, 2))
    trace.add("collective", slice_id=reduced, op="allreduce", bytes=8, group_name="dp")
    trace.memcpy("h2d", 60, 5, launched=(40, 2), bytes=8, src_memory="pinned", dst_memory="device")
    trace.memcpy("d2h", 66, 2, launched=(44, 2))
    trace.memcpy("um", 69, 1, bytes=4)
    graph = trace.call("cudaGraphLaunch", 74, 2, 77)
    trace.kernel("node", 77, 2, correlation_id=77)
    trace.gpu("graph", "whole", 80, 2, correlation_id=78)
    trace.call("cudaStreamSynchronize", 84, 2)
    trace.call("cudaStreamWaitEvent", 87, 1)
    trace.annotation("traceq.step#1", 100, 100)
    trace.add("synchronization", slice_id=900, kind="stream_wait_event", device=0, stream=7, ts=84, dur=0)
    for name in ("memory_allocated", "memory_reserved"):
        trace.add("counter", device=0, name=name, unit="bytes", ts=1, value=1.0)
    trace.add("counter", device=0, name="SMs Active", ts=1, value=1.0)
    trace.add("collective", slice_id=graph, op="allreduce", bytes=8)
    return trace


def test_the_tables_are_counted(tmp_path):
    trace = rich().build(tmp_path)
    held = read(trace._connection, 1)
    counted = {name: value for name, value in asdict(held).items() if value}
    assert counted == {
        "gpu_slices": 7,
        "called_for": 6,
        "launched": 5,
        "kernels": 3,
        "kernels_with_shape": 1,
        "kernels_estimated": 1,
        "kernel_dur": 17,
        "copies": 3,
        "copies_with_bytes": 2,
        "copies_with_memory": 2,
        "copies_with_call": 3,
        "communication": 1,
        "communication_with_bytes": 1,
        "communication_with_group": 1,
        "communication_with_blocking": 1,
        "collectives": 2,
        "whole_graphs": 1,
        "graph_nodes": 1,
        "devices": 1,
        "devices_with_limits": 1,
        "host_slices": 15,
        "calls": 7,
        "graph_launches": 1,
        "operators": 2,
        "operators_with_shapes": 1,
        "operators_with_flops": 1,
        "flops_dur": 15,
        "flops_dur_with_peak": 15,
        "mfu_entries": 1,
        "mfu_entries_known": 1,
        "annotations": 4,
        "python_calls": 1,
        "os_calls": 1,
        "waiting_calls": 1,
        "stream_wait_calls": 1,
        "phases": 1,
        "synchronizations": 1,
        "stream_waits": 1,
        "steps": 1,
        "steps_excluded": 1,
        "step_source": "mark",
        "payloads": "samples",
        "idle_dur": held.idle_dur,
        "idle_unattributed": held.idle_unattributed,
        "fetches": 1,
        "steps_with_data_wait": 2,
        "steps_with_input_copy": 2,
        "memory_samples": 1,
        "memory_samples_total": 1,
        "metric_samples": 1,
        "devices_sampled": 1,
        "devices_with_memory": 1,
        "devices_with_capacity": 1,
    }
    assert held.idle_dur == trace.rows("select sum(dur) from idle_gap")[0][0]


def test_counters_of_a_device_that_are_no_memory_and_no_faults_are_gpu_metrics(tmp_path):
    trace = rich()
    trace.add("counter", name="of the program", ts=1, value=1.0)
    trace.add("counter", device=0, name="gpu_page_faults", ts=1, value=1.0)
    held = read(trace.build(tmp_path)._connection, 1)
    assert (held.metric_samples, held.metrics, held.memory_samples) == (1, 0, 1)


def test_metrics_are_known_by_their_names(tmp_path):
    trace = rich()
    for device in (0, 1):
        for name in ("SMs Active [Throughput %]", "GR Active [Throughput %]", "Unheard of [Throughput %]"):
            trace.add("counter", device=device, name=name, ts=1, value=1.0)
    held = read(trace.build(tmp_path)._connection, 1)
    assert (held.metric_samples, held.metrics, held.devices_with_metrics) == (7, 2, 2)


def test_a_capture_that_is_not_complete_is_quite_right_in_nothing(tmp_path):
    trace = rich()
    trace.add("import_note", severity="error", code="events_dropped", count=3, text="nsys lost some")
    trace.add("import_note", severity="data_loss", code="no_value", count=1, text="a sample")
    health, metrics = diagnosed(trace, tmp_path)
    assert health.inputs.lost == (LostEvents("error", "events_dropped", 3), LostEvents("data_loss", "no_value", 1))
    assert metrics["os"].state == "degraded"
    assert metrics["os"].reason == "1 call; but the capture is incomplete (events_dropped)"
    assert "ok" not in {each.state for each in health.metrics}


@pytest.mark.sample(3)
@pytest.mark.parametrize("code", ["view_not_read", "wal_ignored", "large_event", "spelled_otherwise", "table_twice"])
def test_what_was_not_read_may_be_missing_in_all(tmp_path, code):
    trace = rich()
    trace.add("import_note", severity="data_loss", code=code, count=1, text="kernels")
    health, _ = diagnosed(trace, tmp_path)
    assert "ok" not in {each.state for each in health.metrics}


def test_a_loss_of_single_values_degrades_nothing(tmp_path):
    trace = rich()
    trace.add("import_note", severity="data_loss", code="no_value", count=1, text="a sample")
    _, metrics = diagnosed(trace, tmp_path)
    assert metrics["os"].state == "ok"


# ---- ways


def ways_of(metric, format_):
    return [f"{each.tool}: {each.options}" for each in suggest_captures(METRICS[metric], format_)]


def test_the_way_is_that_of_the_profiler_that_made_the_trace():
    assert ways_of("idle", "nsys") == [
        "nsys: --trace=cuda,nvtx,osrt --cuda-graph-trace=node --sample=process-tree --cpuctxsw=process-tree"
    ]
    assert ways_of("idle", "chrome") == ["torch.profiler: activities=[CPU, CUDA]"]
    assert ways_of("steps", "chrome") == ["torch.profiler: activities=[CPU]"]
    assert ways_of("python", "chrome") == ["torch.profiler: with_stack=True, with_modules=True"]
    assert ways_of("sync", "chrome") == [
        "torch.profiler: experimental_config=_ExperimentalConfig(enable_cuda_sync_events=True)"
    ]


def test_what_one_profiler_cannot_give_the_other_can():
    assert ways_of("flops", "nsys") == ["nsys: None", "torch.profiler: record_shapes=True"]
    assert ways_of("os", "chrome") == ["nsys: --trace=osrt", "torch.profiler: None"]


def test_only_waits_that_were_not_recorded_call_for_another_capture():
    def needs(**held):
        return JUDGES["sync"](replace(NOTHING, calls=1, **held)).needs

    assert needs(stream_wait_calls=1) == "options"
    assert needs(stream_wait_calls=1, stream_waits=1) is None


def test_of_a_format_that_is_not_known_no_way_is_told():
    assert ways_of("idle", "made up") == []


def test_a_metric_that_another_capture_would_not_improve_has_no_way(tmp_path):
    trace = rich()
    trace.NAME = "nsys"
    health, metrics = diagnosed(trace, tmp_path)
    assert metrics["flops"].ways == metrics["launch"].ways == metrics["os"].ways == ()
    told = {each.metric for each in health.metrics if each.ways}
    assert told == {"idle", "ledger", "graphs", "copies", "communication"}


def test_convolutions_without_known_flops_are_seen(tmp_path):
    """A convolution takes its settings too; those of PyTorch 1.8 wrote none. Of operators around one another one counts."""
    trace = TraceBuilder()
    shapes = '{"Input Dims":[[1, 3, 8, 8], [4, 3, 3, 3], []],"Input type":["float","float",""]}'
    for name, ts, dur in (
        ("conv2d", 0, 50),
        ("convolution", 1, 48),
        ("_convolution", 2, 46),
        ("cudnn_convolution", 3, 44),
    ):
        trace.op(f"aten::{name}", ts, dur, args=shapes)
    trace.op("aten::cudnn_convolution_backward", 60, 9, args=shapes)
    trace.op("aten::cudnn_convolution_backward_input", 61, 3, args=shapes)
    held = read(trace.build(tmp_path)._connection, 1)
    assert (held.convolutions, held.convolutions_with_flops) == (2, 0)
