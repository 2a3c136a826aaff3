"""Work that lasts beyond the call that waited for it: it ended before the call did, whatever its record says."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from pathlib import Path

import pytest

from traceq.database.connect import connect
from traceq.loading.ingest import ingest

sys.path.append(str(Path(__file__).resolve().parents[1] / "importers"))

LONG = 5_000_000  # us


def make_call(name, ts, dur, correlation, pid=1):
    args = {"correlation": correlation}
    return {"ph": "X", "cat": "cuda_runtime", "name": name, "pid": pid, "tid": pid, "ts": ts, "dur": dur, "args": args}


def make_work(ts, dur, correlation=1, cat="kernel", **more):
    args = {"device": 0, "context": 1, "stream": 7, "correlation": correlation, **more}
    return {"ph": "X", "cat": cat, "name": "k", "pid": 0, "tid": args["stream"], "ts": ts, "dur": dur, "args": args}


def make_sync(name, ts, dur, correlation=2, **more):
    return make_work(ts, dur, correlation, "cuda_sync", **more) | {"name": name}


LAUNCH = make_call("cudaLaunchKernel", 10, 5, 1)
DEVICE = make_call("hipDeviceSynchronize", 20, 1980, 2)
STREAM = make_call("cudaStreamSynchronize", 20, 1980, 2)
OF_STREAM = [STREAM, make_sync("Stream Sync", 21, 1978)]
EVENT = make_call("cudaEventSynchronize", 20, 1980, 2)
OF_EVENT = make_sync(
    "Event Sync", 21, 1978, stream=-1, wait_on_stream=7, wait_on_cuda_event_record_corr_id=3, wait_on_cuda_event_id=4
)


def write_chrome(folder, events, devices):
    path = folder / "t.json"
    listed = [{"id": device, "name": "NVIDIA A100"} for device in devices]
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": listed, "traceEvents": events}))
    return path


def write_nsys(folder, events, devices):
    """Write calls, kernels and waits among Chrome `events` as an export of nsys."""
    from nsys_export import GPID, KERNEL, NO, RUNTIME, SYNCHRONIZATION, global_id, write

    names = sorted({event["name"] for event in events})
    tables = {KERNEL: [], RUNTIME: [], SYNCHRONIZATION: []}
    for event in events:
        args = event["args"]
        row = {
            "start": event["ts"] * 1000,
            "end": (event["ts"] + event["dur"]) * 1000,
            "correlationId": args["correlation"],
        }
        if event["cat"] in ("cuda_runtime", "cuda_driver"):
            called = {"nameId": names.index(event["name"]) + 1, "globalTid": global_id()}
            tables[RUNTIME].append(row | called | {"returnValue": args.get("return_value", 0)})
            continue
        row |= {"deviceId": args["device"], "contextId": args["context"], "streamId": args["stream"] % (NO + 1)}
        table = KERNEL if event["cat"] == "kernel" else SYNCHRONIZATION
        tables[table].append(row | {"globalPid": GPID, **({} if table == KERNEL else {"eventId": NO, "syncType": 0})})
    tables = {name: rows for name, rows in tables.items() if rows}
    listed = [{"id": device, "name": "NVIDIA A100"} for device in devices]
    return write(folder / "t.sqlite", dict(enumerate(names, 1)), **tables, TARGET_INFO_GPU=listed)


both_formats = pytest.mark.parametrize("write", [write_chrome, write_nsys])


def read_durations(tmp_path, events, devices=(0,), write=write_chrome):
    """Return durations of GPU slices, us, and the notes on those that last too long, of a file that lists `devices`."""
    database = tmp_path / "t.duckdb"
    database.unlink(missing_ok=True)
    ingest([write(tmp_path, events, devices)], database)
    with closing(connect(database)) as connection:
        notes = connection.execute("select count, text from import_note where code = 'impossible_duration'").fetchall()
        return [
            dur for (dur,) in connection.execute("select dur // 1000 from gpu_slice order by ts, stream").fetchall()
        ], notes


def test_work_ends_with_the_call_that_waited_for_it(tmp_path):
    """Cut a kernel that lasts beyond the wait for it, as the one that is 99 % of a real trace's GPU time (TraceLens#972)."""
    found, notes = read_durations(tmp_path, [LAUNCH, make_work(16, LONG), DEVICE])
    assert found == [1984]
    ((count, text),) = notes
    assert count == 1
    assert text.startswith(
        "GPU slices last beyond the return of a call that waited for them, the longest 5.000 s: they end "
    )


@pytest.mark.parametrize(
    ("events", "lasts"),
    [
        pytest.param([make_work(16, LONG), *OF_STREAM], 1984, id="stream"),
        pytest.param([make_work(16, LONG, stream=8), *OF_STREAM], LONG, id="another stream"),
        pytest.param([make_work(16, LONG, context=2), *OF_STREAM], LONG, id="another context"),
        pytest.param([make_work(16, LONG, device=1), *OF_STREAM], LONG, id="another device"),
        pytest.param([make_work(16, LONG), STREAM], LONG, id="a stream, nobody says which"),
        pytest.param([make_work(16, LONG, **{"graph id": 3}), *OF_STREAM], LONG, id="in a graph"),
        pytest.param([make_work(16, LONG, **{"graph id": 3}), DEVICE], 1984, id="in a graph, all is waited for"),
        pytest.param(
            [make_work(16, LONG), make_call("cudaDeviceSynchronize", 12, 1988, 2)], LONG, id="at the same time"
        ),
        pytest.param([make_work(16, LONG), DEVICE | {"pid": 2, "tid": 2}], LONG, id="another process waits"),
        pytest.param([make_work(16, 2084), DEVICE], 2084, id="clocks differ by little"),
        pytest.param([make_work(16, 2091), DEVICE], 1984, id="clocks differ by more"),
        pytest.param([make_work(9000, 1900), DEVICE], 1900, id="the clock of the GPU is late"),
        pytest.param([make_work(9000, LONG), DEVICE], LONG, id="late, and it lasts too long"),
        pytest.param([make_work(-9000, 9200), DEVICE], 9200, id="early, and it lasts too long"),
        pytest.param(
            [make_work(16, LONG), make_call("cudaEventRecord", 15, 2, 3), EVENT, OF_EVENT], 1984, id="event after it"
        ),
        pytest.param(
            [make_work(16, LONG), make_call("cudaEventRecord", 5, 2, 3), EVENT, OF_EVENT], LONG, id="event before it"
        ),
        pytest.param(
            [make_work(16, LONG), make_call("cudaEventRecord", 30, 2, 3), EVENT, OF_EVENT], LONG, id="event of later"
        ),
        pytest.param([make_work(16, LONG, correlation=9), DEVICE], LONG, id="nobody says who launched it"),
        pytest.param(
            [make_call("cudaLaunchKernel", 11, 5, 1, pid=2), make_work(16, LONG), DEVICE], LONG, id="ids used twice"
        ),
    ],
)
def test_what_a_wait_proves(tmp_path, events, lasts):
    found, notes = read_durations(tmp_path, [LAUNCH, *events])
    assert found == [lasts]
    assert bool(notes) == (lasts == 1984)


def test_a_call_for_one_of_two_devices_says_nothing_without_its_record(tmp_path):
    both = [make_work(16, LONG), make_work(16, LONG, correlation=4, device=1, stream=9)]
    calls = [LAUNCH, make_call("cudaLaunchKernel", 15, 2, 4), DEVICE]
    assert read_durations(tmp_path, [*calls, *both])[0] == [LONG, LONG]


def test_of_two_devices_the_record_tells_which(tmp_path):
    both = [make_work(16, LONG), make_work(16, LONG, correlation=4, device=1, stream=9)]
    calls = [LAUNCH, make_call("cudaLaunchKernel", 15, 2, 4), DEVICE]
    assert read_durations(tmp_path, [*calls, *both, make_sync("Context Sync", 21, 1978, stream=-1)])[0] == [1984, LONG]


@pytest.mark.parametrize("devices", [(), (0, 1), (1,)])
def test_a_call_says_nothing_without_its_record_unless_the_file_lists_one_device(tmp_path, devices):
    assert read_durations(tmp_path, [LAUNCH, make_work(16, LONG), DEVICE], devices) == ([LONG], [])


@pytest.mark.parametrize(
    "more",
    [
        pytest.param([make_sync("Context Sync", 21, 1978, stream=-1, device=1)], id="its record names another device"),
        pytest.param(
            [make_sync("Context Sync", 21, 1978, stream=-1, context=2)], id="its record names another context"
        ),
        pytest.param([make_work(16, 3, 4, context=2)], id="two contexts work"),
        pytest.param([make_sync("Stream Sync", 21, 3, 4, context=2)], id="another context is waited for"),
    ],
)
def test_a_call_may_wait_for_another_context(tmp_path, more):
    assert LONG in read_durations(tmp_path, [LAUNCH, make_work(16, LONG), DEVICE, *more])[0]


def test_a_cuda_call_without_contexts_says_nothing(tmp_path):
    """Expect AMD's profiler, which names no context, to be the only one believed without it."""
    work = make_work(16, LONG)
    del work["args"]["context"]
    assert read_durations(tmp_path, [LAUNCH, work, DEVICE])[0] == [1984]
    assert read_durations(tmp_path, [LAUNCH, work, DEVICE | {"name": "cudaDeviceSynchronize"}])[0] == [LONG]


def make_steps(steps, lasts, sync=None):
    """Return events of `steps` of 10 ms that launch a kernel of `lasts(step)` us and wait 3 ms; `sync` names a record."""
    events = []
    for step in range(steps):
        ts, launch, wait = step * 10_000, 2 * step + 1, 2 * step + 2
        events += [
            make_call("cudaLaunchKernel", ts + 10, 5, launch),
            make_work(ts + 16, lasts(step), launch),
            make_call("cudaDeviceSynchronize", ts + 20, 3000, wait),
        ]
        if sync:
            events.append(make_sync(sync, ts + 21, 2998, wait, **({} if sync == "Stream Sync" else {"stream": -1})))
    return events


@both_formats
@pytest.mark.parametrize("sync", [None, "Context Sync", "Stream Sync"])
@pytest.mark.parametrize(("late", "steps", "is_cut"), [(1, 1, True), (2, 20, True), (2, 19, False), (30, 30, False)])
def test_waits_that_fail_often_prove_nothing(tmp_path, write, sync, late, steps, is_cut):
    """Keep durations where more than a tenth of the waits, and more than one, return before their work ends."""
    events = make_steps(steps, lambda step: 8000 if step < late else 2000, sync)
    found, notes = read_durations(tmp_path, events, write=write)
    assert found == [3004 if is_cut else 8000] * late + [2000] * (steps - late)
    ((count, text),) = notes
    assert count == late
    assert ("they end with it" in text) == is_cut
    assert ("the longest 8.000 ms: more than a tenth of such calls return before" in text) != is_cut


def test_a_kernel_of_many_steps_fails_one_wait(tmp_path):
    found, _ = read_durations(tmp_path, make_steps(10, lambda step: LONG if step == 3 else 2000))
    assert found == [3004 if step == 3 else 2000 for step in range(10)]


def test_other_kinds_of_waits_still_prove(tmp_path):
    """Expect calls of the device that fail to take nothing from those of the stream, which say what they waited for."""
    early = [make_call("cudaDeviceSynchronize", step * 10_000 + 16, 3, 1000 + step) for step in range(5)]
    waits = make_steps(5, lambda step: 8000 if step == 3 else 2000, "Stream Sync")
    found, notes = read_durations(tmp_path, [*waits, *early])
    assert found == [2000, 2000, 2000, 3004, 2000]
    assert [(count, "kept as recorded" in text) for count, text in notes] == [(1, False), (4, True)]


@both_formats
@pytest.mark.parametrize(("devices", "kept"), [((0, 1), []), ((1,), [30])])
def test_a_model_on_another_device_than_the_current_one_keeps_its_durations(tmp_path, write, devices, kept):
    """Let torch.cuda.synchronize() for GPU 0 return at once, as the model runs on GPU 1."""
    events, ids = [], iter(range(1, 1000))
    for start in range(0, 30 * 6100, 6100):
        for number in range(3):
            launch = next(ids)
            events.append(make_call("cudaLaunchKernel", start + 20 * number, 8, launch))
            events.append(make_work(start + 10 + 2001 * number, 2000, launch, device=1))
        events.append(make_call("cudaDeviceSynchronize", start + 60, 5, next(ids)))
    found, notes = read_durations(tmp_path, events, devices, write)
    assert found == [2000] * 90
    assert [count for count, _ in notes] == kept


@both_formats
def test_a_context_that_is_not_waited_for_works_on(tmp_path, write):
    events = []
    for step in range(20):
        ts, own, other, wait = step * 4100, 3 * step + 1, 3 * step + 2, 3 * step + 3
        events += [
            make_call("cudaLaunchKernel", ts, 8, other),
            make_work(ts + 10, 4000, other, context=2, stream=20),
            make_call("cudaLaunchKernel", ts + 20, 8, own),
            make_work(ts + 30, 500, own),
            make_call("cuCtxSynchronize", ts + 40, 500, wait) | {"cat": "cuda_driver"},
        ]
    found, notes = read_durations(tmp_path, events, write=write)
    assert found == [4000, 500] * 20
    assert notes == []


@pytest.mark.parametrize(("code", "lasts"), [(0, 1984), (700, LONG)])
def test_a_call_that_failed_proves_nothing(tmp_path, code, lasts):
    failed = STREAM | {"args": STREAM["args"] | {"return_value": code}}
    events = [LAUNCH, make_work(16, LONG), failed, *OF_STREAM[1:]]
    assert read_durations(tmp_path, events, write=write_nsys)[0] == [lasts]
