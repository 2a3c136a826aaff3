from __future__ import annotations

import io
import itertools
import json
import random

import pytest
from builder import TraceBuilder
from labelled.packs import as_if_confirmed
from viewer import load, show

from traceq.database.connect import connect
from traceq.diagnosis.choose import choose
from traceq.diagnosis.judge import judge
from traceq.exports.trace_file import prepare_traces, write_finding, write_trace
from traceq.loading.ingest import ingest

HOSTILE = 'x|"y`</script><script>alert(1)</script>\\\n\r\t\0\x1b[31m\u202e\u2028, NaN, [1,] é漢字'
SINCE_1970 = 1_623_142_623_460_016_001


def step(trace, ts, fetch=300_000):
    """The host fetches, launches and waits in turn, and the GPU is idle meanwhile. Returns when it ends."""
    dur = fetch + 700_003
    trace.annotation(f"ProfilerStep#{ts}", ts, dur)
    trace.annotation("traceq.fetch#loader", ts + 10_000, fetch)
    at = ts + 10_000 + fetch
    trace.op("aten::linear", at + 20_000, 100_000)
    trace.kernel("gemm", at + 105_001, 400_000, launched=(at + 90_000, 10_000), grid_x=132, grid_y=1, grid_z=1)
    trace.op("aten::item", at + 250_000, 270_000)
    trace.call("cudaStreamSynchronize", at + 260_000, 250_000)
    return ts + dur


def training(start=SINCE_1970, steps=6):
    trace, ts = TraceBuilder(), start
    for number in range(steps):
        ts = step(trace, ts, fetch=1_300_000 if number == 3 else 300_000)
    return trace


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    trace = training().build(tmp_path_factory.mktemp("trained"))
    return trace, judged(trace)


def judged(trace):
    return {each.trace_id: each.findings for each in judge(trace._connection, rules=as_if_confirmed())}


def text_of(trace, findings=None, trace_ids=None):
    file = io.BytesIO()
    ids = [row[0] for row in trace.rows("select trace_id from trace order by 1")] if trace_ids is None else trace_ids
    write_trace(trace._connection, ids, findings or {}, file)
    return file.getvalue()


def shown(trace, **options):
    content = show(load(text_of(trace, **options)))
    assert content.complaints == []
    return content


def test_slices_keep_their_place_and_time(tmp_path):
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 1_000_000_001, 100)
    trace.op("aten::mm", 1_000_000_011, 20)
    trace.kernel("gemm", 1_000_000_051, 30, launched=(1_000_000_013, 5))
    trace.memcpy("HtoD", 1_000_000_090, 0, stream=8)
    content = shown(trace.build(tmp_path))
    slices = [each for each in content.slices if each.track not in ("GPU 0 ledger", "critical path")]
    assert [(each.process, each.track, each.name, each.ts, each.dur, each.depth) for each in slices] == [
        ("traceq", "steps", "ProfilerStep#1", 0, 100, 0),
        ("host", "100", "ProfilerStep#1", 0, 100, 0),
        ("host", "100", "aten::mm", 10, 20, 1),
        ("host", "100", "cudaLaunchKernel", 12, 5, 2),
        ("GPU 0", "stream 7", "gemm", 50, 30, 0),
        ("GPU 0", "stream 8", "Memcpy HtoD", 89, 0, 0),
    ]
    assert content.arrows == [("cudaLaunchKernel", "gemm")]


def test_slices_that_overlap_go_to_further_lanes(tmp_path):
    trace = TraceBuilder()
    for name, ts, dur in [("a", 0, 10), ("b", 5, 10), ("inside a", 2, 2), ("c", 7, 1), ("d", 8, 20), ("e", 30, 0)]:
        trace.kernel(name, ts, dur, graph_node_id=1)
    trace.cpu("other", "outer", 0, 10)
    trace.cpu("other", "outlasting", 5, 10_000)
    trace.annotation("from one", 2, 10, is_async=True)
    trace.annotation("place to another", 4, 20, is_async=True)
    content = shown(trace.build(tmp_path))
    assert {each.name: each.track for each in content.slices if each.process == "GPU 0"} == {
        "a": "stream 7",
        "inside a": "stream 7",
        "b": "stream 7 (2)",
        "c": "stream 7",
        "d": "stream 7 (3)",
        "e": "stream 7",
    }
    assert {each.name: each.track for each in content.slices if each.process == "host"} == {
        "outer": "100",
        "outlasting": "thread (2)",
        "from one": "thread: ranges",
        "place to another": "thread: ranges (2)",
    }


def graph_on_streams(streams):
    """A graph of which one kernel runs on each of many streams, and what its viewer shows of the GPU: tracks and slices."""
    trace = TraceBuilder()
    trace.kernel("gemm", 0, 40, graph_id=5, stream=7)
    trace.kernel("gemm", 50, 40, graph_id=5, stream=7)
    trace.kernel("silu", 10, 10, graph_id=5, stream=20)
    trace.kernel("silu", 60, 10, graph_id=5, stream=21)
    trace.kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 5, 40, graph_id=5, stream=22)
    trace.memcpy("DtoD", 7, 10, graph_id=5, stream=23)
    trace.kernel("eager", 95, 4, stream=7)
    for stream in range(24, 19 + streams):
        trace.kernel("last", 100, 1, graph_id=5, stream=stream)
    return trace


def test_work_of_graphs_on_many_streams_is_drawn_by_role(tmp_path):
    content = shown(graph_on_streams(9).build(tmp_path))
    slices = [drawn for drawn in content.slices if drawn.process == "GPU 0" and drawn.name != "last"]
    assert [f"{drawn.track}: {drawn.name} {drawn.ts}, stream {drawn.args['stream']}" for drawn in slices] == [
        "graphs: compute: gemm 0, stream 7",
        "graphs: communication: ncclDevKernel_AllReduce_Sum_bf16_RING_LL 5, stream 22",
        "graphs: copies: Memcpy DtoD 7, stream 23",
        "graphs: compute (2): silu 10, stream 20",
        "graphs: compute: gemm 50, stream 7",
        "graphs: compute (2): silu 60, stream 21",
        "stream 7: eager 95, stream 7",
    ]


def test_work_of_graphs_on_few_streams_is_drawn_on_them(tmp_path):
    content = shown(graph_on_streams(8).build(tmp_path))
    assert {drawn.track for drawn in content.slices if drawn.process == "GPU 0"} == {
        f"stream {stream}" for stream in (7, *range(20, 27))
    }


def test_whatever_overlaps_nothing_is_dropped(tmp_path):
    chance = random.Random(0)  # noqa: S311 - made-up slices
    trace = TraceBuilder()
    for number in range(300):
        ts, dur = chance.randrange(200), chance.choice([0, 1, 5, 20, 100])
        trace.kernel(f"k{number}", ts, dur, stream=chance.choice([None, 0, 7]))
        trace.cpu("other", f"c{number}", ts, dur, thread=chance.randrange(2))
        trace.annotation(f"r{number}", ts, dur, thread=chance.randrange(2), is_async=True)
        trace.add("gpu_annotation", slice_id=1000 + number, device=0, stream=7, name="p", ts=ts, dur=dur)
        trace.add("synchronization", slice_id=2000 + number, device=0, stream=7, kind="stream", ts=ts, dur=dur)
    content = shown(trace.build(tmp_path))
    assert len([each for each in content.slices if each.process != "traceq"]) == 1500


def test_the_ledger_adds_up(trained):
    trace, findings = trained
    drawn = {}
    for each in shown(trace, findings=findings).on("GPU 0 ledger"):
        key = (each.args["step"], each.name)
        drawn[key] = drawn.get(key, 0) + each.dur
    assert drawn == {
        (step, category): dur for step, category, dur in trace.rows("select step, category, dur from time_ledger")
    }


def test_the_critical_path_is_a_track_that_says_what_each_moment_waited_for(trained):
    trace, findings = trained
    drawn = shown(trace, findings=findings).on("critical path")
    assert all(left.ts + left.dur == right.ts for left, right in itertools.pairwise(drawn))
    assert {each.name for each in drawn} == {
        *("host: data loading", "host: launching on the host", "host: Python on the host"),
        *("host: synchronization of the host", "GPU: kernels"),
        *("wait: launch latency", "wait: synchronization of the host"),
    }
    by_step = {}
    for each in drawn:
        by_step[each.args["step"]] = by_step.get(each.args["step"], 0) + each.dur
    assert by_step == dict(trace.rows("select step, dur from replay_step"))
    assert {each.args["slice"] for each in drawn if each.name == "GPU: kernels"} == {"gemm"}


def test_arrows_follow_the_critical_path_from_thread_to_stream_and_back(trained):
    trace, _ = trained
    content = shown(trace)
    assert content.path[:2] == [("cudaLaunchKernel", "gemm"), ("gemm", "cudaStreamSynchronize")]
    assert len(content.path) == 12


def test_around_a_finding_the_path_is_there_without_arrows(trained):
    _, _, picture, _ = finding_of(*trained, "F1")
    assert len(picture.on("critical path")) > 1
    assert picture.path == []


def test_arrows_lead_to_slices_that_are_beside_their_track(tmp_path):
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 5000)
    trace.kernel("first", 1000, 1000, launched=(100, 50))
    trace.op("aten::mm", 200, 1300)
    trace.kernel("second", 1500, 2500, launched=(1400, 50))
    trace.call("cudaDeviceSynchronize", 1600, 2500)
    content = shown(trace.build(tmp_path))
    assert content.on("stream 7 (2)")[0].name == "second"
    assert content.path == [("cudaLaunchKernel", "second"), ("second", "cudaDeviceSynchronize")]


def test_findings_are_tracks_with_what_would_help(trained):
    trace, findings = trained
    worst = findings[1][0]
    content = shown(trace, findings=findings)
    (track,) = {each.track for each in content.slices if each.track.startswith("F1 ")}
    assert track.startswith(f"F1 {worst.title}: ")
    pieces = content.on(track)
    assert len(pieces) == worst.summary.rows[0][0]
    assert {(each.args["id"], each.args["rule"], each.args["fix"]) for each in pieces} == {
        (worst.finding_id, worst.rule, worst.fix)
    }


def test_more_pieces_are_drawn_than_the_evidence_lists(trained):
    trace, findings = trained
    content = shown(trace, findings=findings)
    assert all(len(each.instances.rows) <= 5 for each in findings[1])
    assert max(sum(each.track.startswith(f"F{n} ") for each in content.slices) for n in (1, 2, 3)) > 5


def test_an_excluded_step_says_why(tmp_path):
    trace = training(steps=5)
    trace.build(tmp_path)
    excluded = trace.rows("select name, excluded from step where excluded is not null")
    steps = shown(trace).on("steps")
    assert [(each.name, each.args["excluded"]) for each in steps if "excluded" in each.args] == [
        (f"{name} (excluded)", why) for name, why in excluded
    ]
    assert len(steps) == 5


def test_hostile_names_are_only_names(tmp_path):
    trace = TraceBuilder()
    trace.add("thread", thread_id=0, pid=0, tid=0, process_name=HOSTILE, thread_name=HOSTILE)
    trace.add("device", device=0, name=HOSTILE, source="trace")
    trace.annotation(f"ProfilerStep#{HOSTILE}", 0, 1000, args=json.dumps({HOSTILE: HOSTILE}))
    trace.op(HOSTILE, 10, 20, args='{"a": NaN, "b": [1,], "c": -Infinity}')
    trace.cpu("other", HOSTILE, 30, 0, category=HOSTILE, args="no object")
    trace.call("cudaLaunchKernel", 40, 5, correlation=1)
    trace._rows["cpu_slice"][-1]["args"] = json.dumps({'"]}': '{"x'})
    trace.kernel(HOSTILE, 50, 60, correlation_id=1, args='["no object"]')
    trace.add("counter", device=0, name=HOSTILE, unit=HOSTILE, ts=5, value=1.5)
    trace.add("counter", device=None, name="nan", unit=None, ts=5, value=float("nan"))
    content = shown(trace.build(tmp_path))
    names = {each.name for each in content.slices if each.process != "traceq"}
    assert names == {f"ProfilerStep#{HOSTILE}", HOSTILE, "cudaLaunchKernel"}
    args = {each.name: each.args for each in content.slices if each.process == HOSTILE}
    # what looks like no strict JSON is handed on as text
    assert json.loads(args[f"ProfilerStep#{HOSTILE}"]["args"]) == {HOSTILE: HOSTILE}
    assert args["cudaLaunchKernel"] == {"correlation": 1, '"]}': '{"x'}
    assert content.counters == [(f"GPU 0 ({HOSTILE})", f"{HOSTILE} {HOSTILE}", 5, 1.5)]


def test_a_trace_without_gpu_has_its_threads_and_steps(tmp_path):
    trace = TraceBuilder()
    for number in range(3):
        trace.annotation(f"ProfilerStep#{number}", number * 100, 100)
        trace.op("aten::mm", number * 100 + 10, 50)
    content = shown(trace.build(tmp_path))
    assert {(each.process, each.track) for each in content.slices} == {
        *(("traceq", "steps"), ("traceq", "critical path")),
        ("host", "100"),
    }


def test_an_empty_trace_is_a_file(tmp_path):
    trace = TraceBuilder().build(tmp_path)
    assert load(text_of(trace))["otherData"]["traces"][0]["ts_zero_ns"] == "0"


def test_memory_and_counters_are_counter_tracks(tmp_path):
    trace = TraceBuilder()
    trace.kernel("gemm", 100, 50)
    trace.add("counter", device=0, name="memory_allocated", unit="bytes", ts=110, value=5.0)
    trace.add("counter", device=0, name="memory_reserved", unit="bytes", ts=110, value=8.0)
    trace.add("counter", device=0, name="SMs Active", unit="percent", ts=120, value=12.5)
    assert shown(trace.build(tmp_path)).counters == [
        ("GPU 0", "GPU memory, bytes: allocated", 10, 5.0),
        ("GPU 0", "GPU memory, bytes: reserved", 10, 8.0),
        ("GPU 0", "SMs Active percent", 20, 12.5),
    ]


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    first = training(start=SINCE_1970, steps=3)
    first.add("trace", rank=0, world_size=2, utc_origin_ns=0)
    step(other := first.other_rank(), SINCE_1970 + 500_007)
    other.add("trace", rank=1, world_size=2, utc_origin_ns=0)
    return first.build(tmp_path_factory.mktemp("ranks"))


@pytest.mark.slow
def test_ranks_have_processes_of_their_own_and_one_clock(ranks):
    content = shown(ranks)
    processes = {each.process for each in content.slices}
    assert processes == {f"rank {rank}: {what}" for rank in (0, 1) for what in ("traceq", "host", "GPU 0")}
    starts = {name: min(each.ts for each in content.slices if each.process == name) for name in processes}
    assert (starts["rank 0: host"], starts["rank 1: host"]) == (0, 500_007)
    assert len(content.arrows) == 4


def test_clocks_of_a_job_are_aligned():
    row = {"run": None, "world_size": 2, "sha256": "0", "utc_origin_ns": 0, "ts_end": 10**9, "step_ns": 0}
    rows = [
        {**row, "trace_id": 1, "rank": 0, "ts": 10_000, "clock_offset": -1_000},
        {**row, "trace_id": 2, "rank": 1, "ts": 510_007, "clock_offset": 4_000},
        {**row, "trace_id": 3, "rank": 2, "ts": 20_000, "clock_offset": None},
    ]
    first, *others = prepare_traces(rows)
    assert first.row["ts"] - first.origin == 0
    # what the clocks are ahead is taken off; one that is not known stays as it is
    assert [each.row["ts"] - each.origin for each in others] == [495_007, 9_000]


def test_one_of_several_traces(ranks):
    content = shown(ranks, trace_ids=[2])
    assert {each.process for each in content.slices} == {"traceq", "host", "GPU 0"}
    assert min(each.ts for each in content.slices) == 0


def test_the_same_database_makes_the_same_bytes(trained):
    trace, findings = trained
    assert text_of(trace, findings=findings) == text_of(trace, findings=findings)


# Times count from the first slice; {start} is where that is.
SAME = (
    "select kind, name, device, stream, ts - {start} as ts, dur, grid_x, correlation_id from gpu_slice order by all",
    "select kind, name, ts - {start} as ts, dur from cpu_slice where category is distinct from 'traceq' order by all",
    "select device, step, category, dur from time_ledger order by all",
    "select step, name, source, ts - {start} as ts, dur, excluded from step order by all",
    "select ts - {start}, api_ts - {start}, name, api_name, operator, annotation, phase, queue_depth from launch order by all",
    "select utc_origin_ns + ts, dur, rank, world_size from trace",
)


def test_an_export_that_is_ingested_again_says_the_same(tmp_path):
    trace = training(start=7)
    trace.add("trace", producer="tests", rank=3, world_size=8, utc_origin_ns=1_000_000)
    trace.build(tmp_path)
    (tmp_path / "again.json").write_bytes(text_of(trace))
    with connect(ingest([tmp_path / "again.json"], tmp_path / "again.duckdb").database) as again:
        for query in SAME:
            assert again.execute(query.format(start=0)).fetchall() == trace.rows(query.format(start=7))


def finding_of(trace, findings, name, most=1_000_000):
    file = io.BytesIO()
    written = write_finding(trace._connection, choose(name, findings), findings, file, most)
    content = load(file.getvalue())
    picture = show(content)
    assert [each for each in picture.complaints if "an arrow from nowhere" not in each] == []
    assert written.events == len(content["traceEvents"])
    return written, content, picture, len(file.getvalue())


def test_a_finding_is_shown_with_what_is_around_it(trained):
    trace, findings = trained
    worst = findings[1][0]
    written, content, picture, _ = finding_of(trace, findings, "F1")
    piece = dict(zip(worst.instances.columns, worst.instances.rows[0], strict=True))
    assert (piece["ts"] - SINCE_1970, piece["dur"]) in [
        (each.ts, each.dur) for each in picture.slices if each.args.get("id") == worst.finding_id
    ]
    since, until = content["otherData"]["window_ns"]
    assert all(each.ts <= until and each.ts + each.dur >= since for each in picture.slices)
    assert {each.process for each in picture.slices} == {"traceq", "host", "GPU 0"}
    assert len(picture.slices) < len(shown(trace, findings=findings).slices) / 2
    assert (written.left_out, content["otherData"]["finding"]["id"]) == (None, worst.finding_id)


@pytest.mark.parametrize("part", [0.75, 0.85, 0.95])
def test_what_does_not_fit_is_left_out_and_said(trained, part):
    trace, findings = trained
    _, whole, _, whole_size = finding_of(trace, findings, "F1")
    most = int(part * whole_size)
    written, content, picture, size = finding_of(trace, findings, "F1", most)
    assert size <= most
    assert written.left_out == content["otherData"]["left_out"]
    assert f"of {len(whole['traceEvents']) - sum(e['ph'] == 'M' for e in whole['traceEvents'])} events" in (
        written.left_out
    )
    assert any(each.args.get("id") == findings[1][0].finding_id for each in picture.slices)


@pytest.mark.slow
def test_texts_are_cut_around_a_finding_only(tmp_path):
    trace = training(start=0)
    trace.op("n" * 300_000, 1_000_000, 1_000, args=json.dumps({"stack": "s" * 300_000}))
    trace.build(tmp_path)
    findings = judged(trace)
    assert len(text_of(trace)) > 600_000
    assert max(finding_of(trace, findings, each.finding_id)[3] for each in findings[1]) < 200_000
