"""Traces written by hand: steps and slices in, a database with the real analyses out."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from datetime import UTC, datetime
from functools import cache
from itertools import chain, count, groupby
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from traceq.analysis.nesting.nesting import nest_slices
from traceq.analysis.order import analyse
from traceq.database import sql
from traceq.database.empty import create_database
from traceq.database.publish import database_state, merge, publish
from traceq.reports.build import build

# What a test calls an activity -> kind, copy_kind, is_communication of the GPU slice.
_ACTIVITIES = {
    "compute": ("kernel", None, False),
    "communication": ("kernel", None, True),
    "h2d": ("memcpy", "h2d", False),
    "d2h": ("memcpy", "d2h", False),
    "d2d": ("memcpy", "d2d", False),
    "memset": ("memset", None, False),
    "graph": ("graph", None, False),
}


class MadeUp:
    """One trace; times in ns."""

    def __init__(self, **facts):
        self.facts = {
            "path": "runs/train.pt.trace.json",
            "sha256": "0123456789abcdef" * 4,
            "size_bytes": 123_456,
            "format": "chrome",
            "producer": "PyTorch Profiler",
            "ingested_at": datetime(2024, 1, 1, tzinfo=UTC),
            "ts": 0,
            "dur": 1_000_000,
            **facts,
        }
        self.rows = {"step": [], "device": [], "gpu_slice": [], "cpu_slice": [], "import_note": [], "thread": []}
        self.rows |= {"counter": [], "collective": [], "communication_name": []}
        self.rows |= {"unit": [], "phase_of_run": []}

    def step(self, ts, dur, *, name=None, excluded=None, source="profiler_step", thread=None):
        number = len(self.rows["step"])
        name = name or f"ProfilerStep#{number}"
        self._add("step", step=number, name=name, source=source, thread_id=thread, ts=ts, dur=dur, excluded=excluded)
        return self

    def unit(self, level, name, count, **columns):
        number = len(self.rows["unit"])
        given = {"source": "annotation", "is_step": level == "step", "is_possible": level == "step", "evidence": "seen"}
        self._add("unit", unit=number, level=level, name=name, count=count, **{**given, **columns})
        return self

    def run(self, *phases):
        """The phases of the run, one after the other from 0: (phase, dur)."""
        ts, whole = 0, sum(dur for _, dur in phases)
        for phase, dur in phases:
            self._add("phase_of_run", phase=phase, ts=ts, dur=dur, share=dur / whole, gpu_busy=0, text="what it is")
            ts += dur
        return self

    def device(self, device, name, **limits):
        self._add("device", device=device, name=name, source="trace", **limits)
        return self

    def gpu(self, activity, ts, dur, device=0, launch=None, **columns):
        kind, copy_kind, is_communication = _ACTIVITIES[activity]
        self._add(
            "gpu_slice",
            slice_id=self._next_id(),
            device=device,
            kind=kind,
            ts=ts,
            dur=dur,
            copy_kind=copy_kind,
            is_communication=is_communication,
            launch_id=launch,
            **{"name": activity, **columns},
        )
        return self

    def cpu(self, kind, name, ts, dur, *, thread=0, **columns):
        """Returns the slice_id."""
        slice_id = self._next_id()
        self._add("cpu_slice", slice_id=slice_id, thread_id=thread, kind=kind, name=name, ts=ts, dur=dur, **columns)
        if thread not in [each["thread_id"] for each in self.rows["thread"]]:
            self._add("thread", thread_id=thread, pid=0)
        return slice_id

    def collective(self, ts, dur, bytes_, ranks, device=0):
        """An all-reduce that the source describes."""
        self._add(
            "collective", slice_id=self._next_id(), op="allreduce", bytes=bytes_, group_name="0", group_size=ranks
        )
        self.rows["communication_name"] = [{"kind": "collective", "name": "allreduce", "op": "all_reduce"}]
        return self.gpu("communication", ts, dur, device, stream=7)

    def counter(self, name, ts, value, *, device=0, unit="bytes"):
        self._add("counter", device=device, name=name, unit=unit, ts=ts, value=float(value))
        return self

    def note(self, severity, code, text, count=1):
        self._add("import_note", severity=severity, code=code, text=text, count=count)
        return self

    def _next_id(self):
        return len(self.rows["gpu_slice"]) + len(self.rows["cpu_slice"])

    def _add(self, table, **values):
        self.rows[table].append(values)


def database(*traces):
    """A connection to a new database of `traces`, numbered from 1."""
    return duckdb.connect(str(database_file(*traces)))


def database_file(*traces):
    """A new database of `traces`, numbered from 1; the same ones are analysed once and copied from then on."""
    made = _made_once(tuple(_Analysed(trace) for trace in traces))
    path = made.with_name(f"{next(_NUMBERS)}.duckdb")
    shutil.copyfile(made, path)
    return path


def report(*traces, top=10, rules=None, scope="document"):
    """The report on `traces`, made once; without findings for `rules` of []."""
    return _report_once(
        tuple(_Analysed(trace) for trace in traces), top, None if rules is None else tuple(rules), scope
    )


@cache
def _report_once(traces, top, rules, scope):
    with closing(database(*(each.trace for each in traces))) as connection:
        return build(connection, top, rules=rules, scope=scope)


_NUMBERS = count()


class _Analysed:
    """A trace as a key: the same rows are the same trace."""

    def __init__(self, trace):
        self.trace = trace
        self._content = repr((trace.facts, trace.rows))

    def __eq__(self, other):
        return self._content == other._content

    def __hash__(self):
        return hash(self._content)


@cache
def _folder():
    return TemporaryDirectory(prefix="traceq.made_up.")


@cache
def _made_once(traces):
    parts = [_analysed(each.trace, number) for number, each in enumerate(traces, 1)]
    path = Path(_folder().name) / f"{next(_NUMBERS)}.duckdb"
    if parts:
        publish(merge(parts, path, path.parent), path, database_state(path))
    else:
        create_database(path)
    return path


def _analysed(trace, trace_id):
    path = Path(_folder().name) / f"{next(_NUMBERS)}.duckdb"
    create_database(path)
    with closing(duckdb.connect(str(path))) as connection:
        connection.execute("attach ':memory:' as staging")
        sql.run(connection, "loading/staging.sql")
        tables = {"trace": [trace.facts], **trace.rows}
        _insert(connection, {"staging.cpu_slice": tables.pop("cpu_slice")})
        _insert(connection, {table: [{"trace_id": trace_id, **row} for row in rows] for table, rows in tables.items()})
        connection.execute(
            "update gpu_slice as g set step = s.step from step as s where g.ts >= s.ts and g.ts < s.ts_end"
        )
        sql.run(connection, "analysis/nesting/host_name.sql", trace_id=trace_id)
        nest_slices(connection, trace_id)
        sql.run(connection, "analysis/serving/serving_annotation.sql", trace_id=trace_id)
        sql.run(connection, "analysis/serving/serving_mark.sql", trace_id=trace_id)
        analyse(connection, trace_id)
    return path


def _insert(connection, tables):
    # One commit: each waits for the disk.
    connection.begin()
    for table, rows in tables.items():
        for columns, alike in groupby(rows, key=tuple):
            marks = ", ".join("?" * len(columns))
            values = [list(row.values()) for row in alike]
            marks = ", ".join([f"({marks})"] * len(values))
            connection.execute(f"insert into {table} ({', '.join(columns)}) values {marks}", list(chain(*values)))
    connection.commit()


def training():
    """Two GPUs, a warm-up step and three that count; GPU 1 is used little."""
    trace = MadeUp(rank=3, world_size=8).device(0, "NVIDIA H100 80GB HBM3").device(1, "NVIDIA H100 80GB HBM3")
    trace.device(2, "NVIDIA H100 80GB HBM3")
    trace.step(0, 50_000_000, excluded="warm-up: leading step, above median + 5 MAD")
    for number in range(3):
        ts = 50_000_000 + number * 10_000_000
        trace.step(ts, 10_000_000 + (number == 2) * 1)
        trace.gpu("h2d", ts + 100_000, 400_000).gpu("compute", ts + 500_000, 5_000_000)
        trace.gpu("communication", ts + 5_000_000, 2_000_000).gpu("memset", ts + 9_000_000, 1_500)
        trace.gpu("compute", ts + 1_000_000, 200_000, device=1)
        trace.gpu("d2h", ts + 2_000_000, 300_000 + number, device=1)
    trace.note("info", "flow_not_stored", "flow events were left out", 1234)
    return trace.note("data_loss", "malformed_event", "events that are not valid JSON were left out", 1)


HOSTILE = "x|y`z``<script>alert(1)</script>\n\n# h\x1b[31m\u202e[a](http://e.vil) @me *b* _c_ &lt; \\| " + "n" * 300


def hostile():
    """Every text of the trace tries to be something else."""
    trace = MadeUp(
        dur=2000,
        path=f"runs/{HOSTILE.replace('/', '')}",
        run=HOSTILE,
        producer=HOSTILE,
        producer_version=HOSTILE,
    )
    trace.unit("step", HOSTILE, 2).unit("layer", HOSTILE, 4, is_possible=True)
    trace.device(0, HOSTILE).step(0, 1000, name=HOSTILE, thread=0).step(1000, 1000, name=HOSTILE, excluded=HOSTILE)
    trace.gpu("compute", 0, 300).gpu("d2d", 300, 300)
    trace.cpu("annotation", f"around {HOSTILE}", 500, 500)
    trace.cpu("op", HOSTILE, 700, 300)
    trace.cpu("op", f"gloo:{HOSTILE}", 600, 50)
    trace.cpu("annotation", f"traceq.phase#{HOSTILE}", 0, 100)
    trace.cpu("annotation", f"traceq.payload#{'k' * 200}=1e308,samples=1e308,inf=1e9999", 0, 0)
    trace.cpu("annotation", "traceq.payload#samples=1e308", 0, 0)
    return trace.note("error", HOSTILE, HOSTILE).note("info", HOSTILE, HOSTILE)


def on_host_only():
    """No GPU activity: operators and annotations under two steps."""
    trace = MadeUp(dur=2000).device(0, "NVIDIA A100")
    for number in range(2):
        ts = number * 1000
        trace.step(ts, 1000, thread=0)
        trace.cpu("annotation", f"ProfilerStep#{number}", ts, 1000)
        trace.cpu("annotation", "## forward ##", ts, 600)
        trace.cpu("op", "aten::linear", ts, 500)
        trace.cpu("op", "aten::addmm", ts + 100, 300 + number)
        trace.cpu("annotation", "inner", ts + 500, 50)
    return trace


def marked():
    """A program that says what it does: steps, phases, fetches on two threads, samples and tokens; profiled at a cost."""
    measured = {"overhead_share": 0.0345, "unprofiled_step_ns": 10_000_000, "profiled_step_ns": 10_345_000}
    trace = MadeUp(dur=40_000_000, args=json.dumps({"traceq": measured}))
    for number in range(4):
        ts = number * 10_000_000
        excluded = None if number else "warm-up: leading step, above median + 5 MAD"
        trace.step(ts, 10_000_000, name=f"traceq.step#{number}", source="mark", excluded=excluded, thread=0)
        trace.cpu("annotation", f"ProfilerStep#{number}", ts, 9_900_000)
        trace.cpu("annotation", f"traceq.step#{number}", ts, 9_800_000)
        trace.cpu("annotation", "traceq.payload#samples=32,tokens=16384,micro_batch=0", ts, 500)
        trace.cpu("annotation", "traceq.fetch#loader", ts + 1_000, 1_000_000 + number)
        trace.cpu("annotation", "traceq.fetch#prefetch", ts + 1_000, 3_000_000, thread=1)
        trace.cpu("annotation", "traceq.phase#forward", ts + 2_000_000, 3_000_000)
        trace.cpu("annotation", "traceq.phase#forward", ts + 3_000_000, 1_000_000)
        trace.cpu("op", "aten::mm", ts + 2_100_000, 800_000)
        if number == 2:
            trace.cpu("annotation", "traceq.phase#checkpoint", ts + 8_000_000, 1_500_000)
    return trace


def waiting(steps=6):
    """The host fetches, launches and waits in turn, and the GPU is idle meanwhile. Step 3 fetches longer, and computes less."""
    trace = MadeUp(dur=1_000_000 * (steps + 1)).device(0, "NVIDIA A100")
    ts = 0
    for number in range(steps):
        fetch = 300_000 + (number == 3) * 1_000_000
        dur = fetch + 700_000
        trace.step(ts, dur, thread=0)
        trace.cpu("annotation", f"ProfilerStep#{number}", ts, dur)
        trace.cpu("annotation", "traceq.fetch#loader", ts + 10_000, fetch)
        at = ts + 10_000 + fetch
        trace.cpu("annotation", "traceq.phase#forward", at + 10_000, 200_000)
        trace.cpu("op", "aten::linear", at + 20_000, 100_000)
        launch = trace.cpu("runtime", "cudaLaunchKernel", at + 90_000, 10_000)
        trace.gpu("compute", at + 105_000, 400_000 - (number == 3) * 100_000, launch=launch)
        trace.cpu("op", "aten::item", at + 250_000, 270_000)
        trace.cpu("runtime", "cudaStreamSynchronize", at + 260_000, 250_000)
        ts += dur
    return trace


def unmarked():
    """Nothing marks steps, and a CUDA graph was traced as a whole."""
    trace = MadeUp(format="nsys", producer="Nsight Systems", producer_version="2026.1")
    trace.step(0, 2_000_000_000, name="window", source="window")
    trace.unit(
        "window",
        "window",
        1,
        source="window",
        is_step=True,
        is_possible=True,
        evidence="nothing recurs that could be a step",
    )
    trace.unit("layer", "forward #", 8, is_possible=True, period=250_000_000)
    trace.run(("start_up", 1_000_000_000), ("window", 2_000_000_000), ("tail", 1_000_000_000))
    return trace.gpu("graph", 0, 1_500_000_000).gpu("h2d", 1_600_000_000, 1)


_H100 = {
    "memory_bytes": 80 << 30,
    "sm_count": 132,
    "compute_capability": "9.0",
    "warp_size": 32,
    "max_threads_per_sm": 2048,
    "registers_per_sm": 65536,
    "shared_memory_per_sm": 233472,
}
_GEMM = {"name": "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_cublas", "registers_per_thread": 168}
_HALVES = {"Input Dims": [[1024, 1024], [1024, 1024]], "Input type": ["c10::BFloat16", "c10::BFloat16"]}


def complete():
    """Something for every section: copies in three guises, a collective, known kernels, fetches, memory, counters."""
    trace = MadeUp(dur=30_000_000).device(0, "NVIDIA H100 80GB HBM3", **_H100)
    block = {"block_x": 128, "block_y": 1, "block_z": 1, "grid_y": 1, "grid_z": 1, "shared_memory": 0, "stream": 5}
    for number in range(3):
        ts = number * 10_000_000
        trace.step(ts, 10_000_000, thread=0, excluded=None if number else "warm-up: leading step, above median + 5 MAD")
        trace.cpu("annotation", f"ProfilerStep#{number}", ts, 10_000_000)
        trace.cpu("annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", ts + 1_000, 900_000)
        batch = trace.cpu("runtime", "cudaMemcpyAsync", ts + 910_000, 500_000)
        trace.gpu("h2d", ts + 920_000, 480_000, launch=batch, bytes=6 << 20, src_memory="pageable", dst_memory="device")
        trace.cpu("runtime", "cudaMalloc", ts + 1_500_000, 40_000 + number)
        trace.cpu("op", "aten::mm", ts + 1_550_000, 60_000, args=json.dumps(_HALVES))
        product = trace.cpu("runtime", "cudaLaunchKernel", ts + 1_560_000, 10_000)
        trace.gpu("compute", ts + 1_600_000, 3_000_000, launch=product, grid_x=132, **_GEMM, **block)
        sum_ = trace.cpu("runtime", "cudaLaunchKernel", ts + 1_620_000, 10_000)
        elementwise = {"name": "void at::native::vectorized_elementwise_kernel<4, float>", "registers_per_thread": 32}
        trace.gpu("compute", ts + 4_600_000, 1_000_000, launch=sum_, grid_x=10_000, **elementwise, **block)
        away = trace.cpu("runtime", "cudaMemcpyAsync", ts + 1_640_000, 10_000)
        trace.gpu("d2h", ts + 4_000_000, 800_000, launch=away, bytes=8 << 20, src_memory="device", dst_memory="pinned")
        back = trace.cpu("runtime", "cudaMemcpyAsync", ts + 5_000_000, 10_000)
        trace.gpu("h2d", ts + 5_100_000, 700_000, launch=back, bytes=8 << 20, src_memory="pinned", dst_memory="device")
        trace.collective(ts + 5_000_000, 2_000_000, 64 << 20, 8)
        for at, allocated in ((1_540_000, 8), (4_000_000, 30), (9_000_000, 4 + number)):
            trace.counter("memory_allocated", ts + at, allocated << 30)
            trace.counter("memory_reserved", ts + at, 32 << 30)
        trace.counter("SMs Active [Throughput %]", ts + 2_000_000, 90, unit="percent")
        trace.counter("SMs Active [Throughput %]", ts + 8_000_000, 10, unit="percent")
    return trace


def server():
    """Six steps of a server: prompts between two decode steps, and beside next tokens."""
    trace = MadeUp(dur=65_000_000).device(0, "NVIDIA H100 80GB HBM3", **_H100)
    ts = 0
    for dur, prompts, tokens, decoding in (
        (10, 0, 0, 4),
        (20, 2, 2048, 0),
        (10, 0, 0, 4),
        (15, 1, 64, 4),
        (5, 0, 0, 4),
        (5, 0, 0, 4),
    ):
        name = f"execute_context_{prompts}({tokens})_generation_{decoding}({decoding})"
        trace.step(ts, dur * 1_000_000, name=name, source="step_range", thread=0)
        trace.cpu("annotation", name, ts, dur * 900_000)
        call = trace.cpu("runtime", "cudaLaunchKernel", ts + 100_000, 10_000)
        trace.gpu("compute", ts + 200_000, dur * 700_000, launch=call, **_GEMM)
        ts += dur * 1_000_000
    return trace


def three_ranks():
    """A step of each of three ranks, of which the last computes longest while the others communicate."""
    traces = []
    for rank in range(3):
        trace = MadeUp(path=f"job/rank{rank}.json", rank=rank, world_size=3).device(0, "NVIDIA A100").step(0, 1_000_000)
        late = 300_000 + (rank == 2) * 200_000
        trace.gpu("compute", 0, late).gpu("communication", late, 600_000 - late, stream=7)
        traces.append(trace)
    return traces
