"""Files that public bug reports say break tools, made anew and small: of each the values that are right.

Facts are a few lines of text: steps and their mean length, what the ledger of an average step holds (ms), and the notes.
"""

from __future__ import annotations

import json
import pickle
import random
import re
import sqlite3
from contextlib import closing

import pytest
from captures import (
    KERNEL_TIME,
    KERNELS,
    STEP,
    STEPS,
    TWO,
    NsysCapture,
    call_frame,
    launch_graph,
    launch_kernels,
    make_program,
    mark_step,
    render_trace,
    save,
)
from chrome_trace import make_event
from nsys_export import global_id
from snapshots import make_history, make_segment, make_snapshot

import traceq

MIB = 1 << 20


def facts(trace) -> str:
    """Return the steps, the ledger of an average step by device, and the notes but that there are no phases."""
    steps = trace.sql("select count(*), round(avg(dur) / 1e6, 3) from step").fetchall()[0]
    ledger = trace.sql(
        "select device, string_agg(category || ' ' || ms, ', ' order by category) from (select device, category,"
        " round(sum(dur) / 1e6 / (select count(*) from step), 3) as ms from time_ledger group by all) group by 1 order by 1"
    ).fetchall()
    notes = trace.sql("select code, sum(count) from import_note where code <> 'no_phases' group by 1 order by 1")
    return "\n".join(
        [
            "{} steps of {} ms".format(*steps),
            *(f"GPU {device}: {parts}" for device, parts in ledger),
            *(f"{code} {count}" for code, count in notes.fetchall()),
        ]
    )


def read(path, query: str = "select 1") -> tuple[str, list[tuple]]:
    """Return the facts of a file, and the rows of a query of it."""
    with traceq.open(path) as trace:
        return facts(trace), trace.sql(query).fetchall()


def confidences(path) -> set[str]:
    """Return the confidences of the findings of a file."""
    with traceq.open(path) as trace:
        return set(trace.report().findings["confidence"])


HEALTHY = """6 steps of 10.0 ms
GPU 0: compute 8.0, idle_launch 0.013, idle_launch_latency 0.002, idle_python 1.98, idle_sync 0.005"""
GRAPHS = """6 steps of 10.0 ms
GPU 0: compute 8.0, idle_launch 0.012, idle_launch_latency 0.008, idle_python 1.975, idle_sync 0.005"""


def test_the_healthy_program(tmp_path):
    assert read(save(tmp_path, render_trace(make_program()))) == (HEALTHY, [(1,)])


def test_kernels_without_a_time(tmp_path):
    """pytorch/kineto#109: in a trace of times since 1970 some kernels have ts 0 and dur 0."""
    events = make_program()
    lost = [event for event in events if event["cat"] == "kernel" and event["args"]["correlation"] % 10 == 4]
    for event in events:
        event["ts"] += 1_615_207_264_500_000
    for event in lost:
        event |= {"ts": 0, "dur": 0}
    found, rows = read(save(tmp_path, render_trace(events)), "select round(dur / 1e6) from trace")
    assert (found.splitlines()[-1], rows, len(lost)) == ("time_out_of_range 12", [(60.0,)], 12)
    assert "compute 7.2," in found


def test_paths_with_single_backslashes(tmp_path):
    """pytorch/pytorch#98432: on Windows a path in a frame's name is no valid JSON."""
    names = ["torch/nn/modules/module.py(1501): _call_impl", "torch/utils/data/fetch.py(51): fetch", "torch/x.py(1): f"]
    frames = [
        call_frame("PATH:" + name, step * STEP + 8100 + 400 * number, 300, 10 * step + number)
        for step in range(STEPS)
        for number, name in enumerate(names)
    ]
    text = render_trace(make_program() + frames)
    for name in names:
        text = text.replace("PATH:" + name, name.replace("/", "\\"))
    found, rows = read(
        save(tmp_path, text), "select name, count(*) from cpu_slice where kind = 'python' group by 1 order by 1"
    )
    assert found.splitlines()[:2] == HEALTHY.splitlines()
    assert rows == [(name, STEPS) for name in sorted(names)]


def test_quotes_and_a_line_break_in_a_name(tmp_path):
    """pytorch/pytorch#113001: a frame of generated code has its source as file name."""
    frames = [call_frame("HERE", step * STEP + 8200, 900, step) for step in range(STEPS)]
    text = render_trace(make_program() + frames).replace('"HERE"', '"registry = make("_demo", "CUDA")\n(1): <module>"')
    found, rows = read(save(tmp_path, text), "select count(*) from cpu_slice")
    assert found == f"{HEALTHY}\ncontrol_character 6\nmalformed_event 6"
    assert rows == [(STEPS * (1 + 2 * KERNELS + 1),)]


def test_a_quote_is_missing_in_each_arrow(tmp_path):
    """pytorch/pytorch#33961: the autograd profiler's array of 2020; lanes by name, no categories."""
    rows = []
    for number in range(50):
        at = 1000 * number
        common = f'"name": "aten::mm", "ts": {at}, "id": {number}, "args": {{}}'
        rows += [
            f'{{"ph": "X", "dur": 300.5, "tid": 1, "pid": "CPU functions", {common}}}',
            f'{{"ph": "f", "cat": "cpu_to_cuda", tid": 0, "pid": "CUDA functions", {common}}}',
            f'{{"ph": "X", "dur": 600.25, "tid": 0, "pid": "CUDA functions", {common}}}',
        ]
    found, rows = read(
        save(tmp_path, f"[{', '.join(rows)}]"),
        "select 'host', count(*), min(dur), max(dur) from cpu_slice"
        " union all select 'GPU', count(*), min(dur), max(dur) from gpu_slice order by 1 desc",
    )
    assert "malformed_event 50" in found
    assert rows == [("host", 50, 300_500, 300_500), ("GPU", 50, 600_250, 600_250)]


def test_the_unit_of_display_is_not_that_of_times(tmp_path):
    """google/perfetto#274: displayTimeUnit "ns" is about showing."""
    base = {"displayTimeUnit": "ns", "baseTimeNanoseconds": 1_774_650_000_000_000_000}
    found, rows = read(
        save(tmp_path, render_trace(make_program(), **base)),
        "select make_timestamp_ns(utc_origin_ns)::date::text from trace",
    )
    assert (found, rows) == (HEALTHY, [("2026-03-27",)])


def test_some_times_have_exponents(tmp_path):
    """google/perfetto#558: a tool between wrote some numbers with exponents."""
    events = []
    for number, event in enumerate(make_program()):
        text = json.dumps(event | {"ts": event["ts"] + 1_712_195_495_519_689})
        if number % 2:
            text = re.sub(r'"ts": (\d+)', lambda found: f'"ts": {int(found[1]):.15e}', text)
            text = re.sub(r'"dur": (\d+)', lambda found: f'"dur": {int(found[1]):.6E}', text)
        events.append(text)
    text = render_trace([])[: -len("]}")] + ",\n".join(events) + "]}"
    assert read(save(tmp_path, text), "select dur from trace") == (HEALTHY, [(60_000_000,)])


def test_streams_are_handles_that_agree_in_their_lower_half(tmp_path):
    """pytorch/kineto#1424: HIP's streams are pointers."""
    first, second = 0x7F0A_0000_1000, 0x7F0B_0000_1000
    events = make_program()
    for event in [event for event in events if event["cat"] == "kernel"]:
        event["args"]["stream"] = first
        at, number = event["ts"] - event["ts"] // STEP * STEP, event["args"]["correlation"]
        if at < STEP // 2:
            key = {"correlation": 10_000 + number, "device": 0}
            launch = make_event("cuda_runtime", "hipLaunchKernel", event["ts"] - 1, 1, key, pid=1, tid=2)
            events += [
                launch,
                make_event("kernel", "side", event["ts"] + 5, 100, key | {"stream": second}, pid=0, tid=second),
            ]
    found, rows = read(
        save(tmp_path, render_trace(events)), "select stream, sum(dur) / 6e6 from gpu_slice group by 1 order by 1"
    )
    assert rows == [(first, 8.0), (second, 1.3)]
    assert "compute 8.0" in found
    assert "overlap" not in found


def test_copy_engines_gather(tmp_path):
    """NVIDIA/Megatron-LM#5859: an all-gather by copy engines has no kernel, only copies."""
    events = make_program(of_step=lambda step: launch_kernels(step, names=["gemm_bf16_128x128"] * 15))
    told = {
        "Collective name": "_allgather_base",
        "In msg nelems": 33_554_432,
        "Out msg nelems": 67_108_864,
        "Group size": 2,
        "dtype": "BFloat16",
        "Process Group Name": "0",
    }
    for step in range(STEPS):
        key = {"External id": 5000 + step}
        copy = key | {"correlation": 7000 + step}
        place = {"device": 0, "stream": 20, "bytes": 67_108_864}
        at = step * STEP
        events += [
            make_event("cpu_op", "record_param_comms", at + 2, 6, key | told, pid=1, tid=1),
            make_event("cuda_runtime", "cudaMemcpyAsync", at + 3, 4, copy, pid=1, tid=1),
            make_event("gpu_memcpy", "Memcpy PtoP (Device -> Device)", at + 6030, 1500, copy | place, pid=0, tid=20),
        ]
    found, rows = read(
        save(tmp_path, render_trace(events, **TWO)),
        "select op, bytes, group_size, algorithm, count(*) from collective_slice group by all",
    )
    assert rows == [("all_gather", 134_217_728, 2, "copy_engine", STEPS)]
    assert "communication 1.5, compute 6.0," in found


COLLECTIVES = (
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "void vllm::cross_device_reduce_2stage<__half, 4>(vllm::RankData*, vllm::RankSignals, vllm::Signal*, __half*, int, int)",
    "void c10d::symmetric_memory::(anonymous namespace)::one_shot_all_reduce_kernel<float, 16>(float**)",
    "nvshmemi_transfer_rma_kernel(void*, void*, unsigned long, int)",
    "void mscclpp::allreduce6<__half>(__half*, __half*, int)",
)
OTHERS = ("triton_poi_fused_all_gather_into_tensor_wait_tensor_1", "void at::native::reduce_kernel<512, 1, float>(int)")


def test_kernels_that_communicate_by_other_names(tmp_path):
    """facebookresearch/HolisticTraceAnalysis#109, vllm-project/vllm#24111: and kernels that only sound so."""
    events = make_program(of_step=lambda step: launch_kernels(step, names=[*COLLECTIVES, *OTHERS]))
    found, rows = read(
        save(tmp_path, render_trace(events)), "select distinct name from gpu_slice where is_communication order by 1"
    )
    assert rows == [(name,) for name in sorted(COLLECTIVES)]
    assert "communication 2.0, compute 0.8," in found


@pytest.mark.parametrize("overlap", [0.001, 0.5, 1, 3.5, 90])
def test_marks_overlap_the_next(tmp_path, overlap):
    """pytorch/pytorch#174555: steps that begin a little before the one before them ends follow one another."""
    marks = [mark_step(step, ts=step * STEP - overlap, dur=STEP + overlap) for step in range(STEPS)]
    frames = [call_frame("train.py(20): one_step", step * STEP - overlap / 2, STEP - 10, step) for step in range(STEPS)]
    found, rows = read(
        save(tmp_path, render_trace(make_program(marked=False) + marks + frames)),
        "select step.step, count(*) from step join gpu_slice on gpu_slice.ts between step.ts and step.ts_end - 1"
        " group by 1 order by 1",
    )
    lines = found.splitlines()
    assert lines[0].startswith("6 steps of 10.0")
    assert "compute 8.0," in lines[1]
    assert "mark_overlaps_next 5" in lines
    assert rows == [(step, KERNELS) for step in range(STEPS)]


def test_frames_that_end_when_recording_does(tmp_path):
    """pytorch/pytorch#193440: frames of custom operators in C are never closed."""
    frames = []
    for step in range(STEPS):
        at = step * STEP
        frames += [
            call_frame("train.py(20): one_step", at, 9999, 10 * step),
            call_frame("data.py(7): make_batch", at + 8200, 1700, 10 * step + 2),
        ]
        if step < 3:
            name = "<built-in method my_op of PyCapsule object at 0x7f0000000000>"
            frames.append(call_frame(name, at + 100, STEPS * STEP - at - 100, 10 * step + 1))
    found, rows = read(
        save(tmp_path, render_trace(make_program() + frames)),
        "select cpu_slice.name, round(sum(idle_culprit.dur) / 6e6, 1) as ms from idle_culprit join cpu_slice using (slice_id)"
        " where cause = 'idle_python' group by 1 order by 2 desc limit 1",
    )
    assert found == f"{HEALTHY}\noverlapping_slices 3"
    assert rows == [("data.py(7): make_batch", 1.7)]


def test_ranges_of_a_library_are_no_steps(tmp_path):
    """GindaChen/nsys-ai#215: CUB's ranges are the only ones."""
    chance = random.Random(3)  # noqa: S311 - nothing secret about it
    capture, at = NsysCapture(), 1_000_000_000
    process, thread = global_id(0), global_id()
    for number in range(300):
        at += chance.choice((20_000, 30_000, 900_000))
        dur = chance.randrange(5_000, 400_000)
        capture.call(thread, "cudaLaunchKernel_v7000", at - 15_000, at - 8_000, number)
        capture.kernel(process, f"k{chance.randrange(40)}", at, at + dur, number)
        if number in (40, 41, 42, 150, 151, 250):
            capture.range(thread, "cub::DeviceReduce::Sum", at - 20_000, at - 5_000, domain=1)
        at += dur
    found, rows = read(capture.save(tmp_path), "select source, count(*) from step group by 1")
    assert rows == [("window", 1)]
    assert "steps_not_marked 1" in found


def test_two_containers_with_one_process_id(tmp_path):
    """NVIDIA/PyProf#79: the upper bits of globalPid tell them apart; correlation ids are the same numbers."""
    capture = NsysCapture(gpus=2)
    for device, late, dur in ((0, 0, 400_000), (1, 3_000_000, 200_000)):
        process = (device + 1) << 48 | 7 << 24
        capture.process(process, 7)
        for step in range(STEPS):
            begin = 1_000_000_000 + late + step * 10_000_000
            capture.range(process | 7, f"step {step}", begin, begin + 10_000_000)
            for number in range(KERNELS):
                key, at = step * 100 + number + 1, begin + 25_000 + dur * number
                capture.call(
                    process | 7,
                    "cudaLaunchKernel_v7000",
                    begin + 15_000 + 9_000 * number,
                    begin + 20_000 + 9_000 * number,
                    key,
                )
                capture.kernel(process, "gemm", at, at + dur, key, device)
            end = begin + 25_000 + dur * KERNELS
            capture.call(process | 7, "cudaDeviceSynchronize_v3020", begin + 215_000, end + 5_000, step * 100 + 99)
    found, rows = read(
        capture.save(tmp_path),
        "select device, thread_id, count(*), min(launch_latency) >= 0, max(launch_latency) < 9000000 from launch"
        " group by 1, 2 order by 1",
    )
    assert [row[0] for row in rows] == [0, 1]
    assert len({row[1] for row in rows}) == 2
    assert [row[2:] for row in rows] == [(120, True, True)] * 2
    assert "GPU 0: compute 8.0," in found
    assert "GPU 1: compute 4.0," in found


def test_two_ranks_in_one_file_share_numbers(tmp_path):
    """AMD-AGI/TraceLens#581: correlation ids collide, and each launch of a graph has many kernels."""
    events = []
    for device, (late, dur) in enumerate(((0, 400), (5000, 200))):
        for step in range(STEPS):
            begin, pid = step * STEP + late, 1000 * (device + 1)
            nodes = [("graph_gemm", 40 + dur * number, dur, 7) for number in range(KERNELS)]
            events += [
                mark_step(step, ts=begin, pid=pid),
                *launch_graph(step, nodes, begin=begin, pid=pid, device=device),
            ]
    found, rows = read(
        save(tmp_path, render_trace(events, **TWO)),
        "select device, thread.pid, count(*), min(launch_latency) from launch join thread using (trace_id, thread_id)"
        " group by 1, 2 order by 1",
    )
    assert rows == [(0, 1000, STEPS * KERNELS, 20_000), (1, 2000, STEPS * KERNELS, 20_000)]
    assert "GPU 0: compute 8.0," in found
    assert "GPU 1: compute 4.0," in found


SEGMENT = f"""
    {128 * MIB} 1 free -
    {96 * MIB} {96 * MIB} used forward
    {32 * MIB} 1 free -
    {128 * MIB} {128 * MIB} used forward
    {32 * MIB} {32 * MIB} used forward
    {96 * MIB} 1 free -"""
HISTORY = f"""
    0 segment_alloc 0 {512 * MIB} main
    10 alloc 0 {64 * MIB} forward
    20 alloc {128 * MIB} {96 * MIB} forward
    30 alloc {256 * MIB} {128 * MIB} forward
    50 free 0 {64 * MIB} -
    51 freed 0 {64 * MIB} -
    60 alloc {384 * MIB} {32 * MIB} forward"""
PEAK = (
    "select device, bytes // 1048576, at_end, bytes_at_end // 1048576, reserved // 1048576, older_bytes // 1048576"
    " from memory_peak"
)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_snapshots_of_each_protocol(tmp_path, protocol):
    """pytorch/pytorch#183842: newer PyTorch pickles with protocol 5."""
    path = tmp_path / "snapshot.pickle"
    snapshot = make_snapshot(make_history(HISTORY), segments=[make_segment(0, SEGMENT)])
    path.write_bytes(pickle.dumps(snapshot, protocol=protocol))
    assert read(path, PEAK)[1] == [(0, 288, 3, 256, 512, 0)]


def test_snapshots_in_sqlite(tmp_path):
    """pytorch/pytorch#178670: the same as three tables."""
    snapshot = make_snapshot(make_history(HISTORY), segments=[make_segment(0, SEGMENT)])
    path = tmp_path / "snapshot.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(
            "create table device_traces (id integer primary key, device, action, addr, size, stream, time_us, frames);"
            "create table segments (id integer primary key, device, address, total_size, allocated_size, active_size,"
            " segment_type, stream);"
            "create table blocks (id integer primary key, segment_id, address, size, requested_size, state, frames);"
        )
        for event in snapshot["device_traces"][0]:
            row = [0, event["action"], event["addr"], event["size"], 0, event["time_us"], json.dumps(event["frames"])]
            database.execute(f"insert into device_traces values (null, {', '.join('?' * 7)})", row)
        database.execute(f"insert into segments values (1, 0, 0, {512 * MIB}, {256 * MIB}, {256 * MIB}, 'large', 0)")
        for block in snapshot["segments"][0]["blocks"]:
            row = [
                block["address"],
                block["size"],
                block["requested_size"],
                block["state"],
                json.dumps(block["frames"]),
            ]
            database.execute("insert into blocks values (null, 1, ?, ?, ?, ?, ?)", row)
        database.commit()
    assert read(path, PEAK)[1] == [(0, 288, 3, 256, 512, 0)]


def test_a_history_that_begins_late(tmp_path):
    """pytorch/pytorch#179489: blocks are freed that were never allocated in it, others never appear; the second device."""
    freed = "\n".join(
        f"{20 + number} {action} {256 * number * MIB} {256 * MIB} -"
        for number in range(4)
        for action in ("free", "freed")
    )
    begin = f"5 segment_map {1280 * MIB} {512 * MIB} main\n10 alloc {1280 * MIB} {512 * MIB} main"
    history = f"{begin}\n{freed}\n40 alloc 0 {64 * MIB} main"
    blocks = f"""
        {64 * MIB} {64 * MIB} used main
        {960 * MIB} 1 free -
        {128 * MIB} {128 * MIB} used main
        {128 * MIB} {128 * MIB} used main
        {512 * MIB} {512 * MIB} used main"""
    segments = [make_segment(0, blocks, device=1, is_expandable=True)]
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(pickle.dumps(make_snapshot([], make_history(history), segments=segments)))
    assert read(path, PEAK)[1] == [(1, 1792, 4, 832, 1792, 1280)]


def test_regions_of_graphs_with_a_second_stream(tmp_path):
    """pytorch/pytorch#194854: annotated kernels have the key "stream" twice."""

    def replay(step):
        events = launch_graph(step, [("gemm", 40 + 400 * number, 400, 7) for number in range(KERNELS)])
        for number, event in enumerate(event for event in events if event["cat"] == "kernel"):
            lane, name = ((62, "attention"), (61, "mlp"))[number % 2]
            event["tid"] = lane
            event["args"] |= {"name": name, "SECOND": lane}
        return events

    lanes = [
        {"ph": "M", "name": "thread_name", "pid": 0, "tid": lane, "ts": 0, "args": {"name": name}}
        for lane, name in ((62, "attention"), (61, "mlp"))
    ]
    text = render_trace(make_program(of_step=replay) + lanes).replace('"SECOND"', '"stream"')
    found, rows = read(
        save(tmp_path, text), "select stream, args->>'$.name', sum(dur) / 6e6 from gpu_slice group by 1, 2 order by 2"
    )
    assert found == f"{GRAPHS}\nduplicate_key 120\ngraph_kernel_without_operator 120"
    assert rows == [(7, "attention", 4.0), (7, "mlp", 4.0)]


def test_a_graph_whose_branches_have_streams_of_their_own(tmp_path):
    """pytorch/pytorch#152114: 40 streams where the program has two."""

    def replay(step):
        nodes = []
        for number in range(KERNELS):
            at = 40 + KERNEL_TIME * number
            nodes += [("gemm", at, KERNEL_TIME, 7), ("set_kv_buffer", at + 100, 50, 20 + number + 40 * step)]
        return launch_graph(step, nodes)

    path = save(tmp_path, render_trace(make_program(of_step=replay)))
    with traceq.open(path) as trace:
        assert facts(trace).startswith(GRAPHS)
        assert trace.sql("select count(*), count(distinct stream) from gpu_slice").fetchall() == [(240, 121)]
        assert not [rule for rule in trace.report().findings["rule"] if "stream" in rule]


def test_a_file_without_an_event(tmp_path):
    """facebookresearch/HolisticTraceAnalysis#337: metadata only."""
    named = [{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "ts": 0, "args": {"name": "python"}}]
    with pytest.raises(traceq.TraceqError, match=r"nothing recorded"):
        traceq.report(save(tmp_path, render_trace(named)))


def test_clocks_that_disagree(tmp_path):
    """pytorch/kineto#996: all of the GPU's times are 0.4 s before the launches."""
    events = make_program()
    for event in events:
        event["ts"] += 100_000 if event["cat"] == "kernel" else 500_000
    path = save(tmp_path, render_trace(events))
    assert "starts_before_launch 120" in read(path)[0]
    assert confidences(path) <= {"low"}
