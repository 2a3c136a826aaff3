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


def read_durations(tmp_path, events):
    """Durations of GPU slices, us, and the notes on those that were cut."""
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    ingest([path], tmp_path / "t.duckdb")
    with closing(connect(tmp_path / "t.duckdb")) as connection:
        notes = connection.execute("select count, text from import_note where code = 'impossible_duration'").fetchall()
        return [
            dur for (dur,) in connection.execute("select dur // 1000 from gpu_slice order by ts, stream").fetchall()
        ], notes


def test_work_ends_with_the_call_that_waited_for_it(tmp_path):
    """Of a real trace one such event is 99 % of the GPU's time (TraceLens#972)."""
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


@pytest.mark.parametrize(("code", "lasts"), [(0, 1_984_000), (700, 5_000_000_000)])
def test_a_call_that_failed_proves_nothing(tmp_path, code, lasts):
    from nsys_export import GPID, KERNEL, RUNTIME, SYNCHRONIZATION, global_id, write

    call = {"globalTid": global_id(), "returnValue": 0}
    place = {"deviceId": 0, "contextId": 1, "streamId": 7, "globalPid": GPID}
    path = write(
        tmp_path / "t.sqlite",
        {1: "cudaLaunchKernel", 2: "cudaStreamSynchronize"},
        **{
            RUNTIME: [
                {"start": 10_000, "end": 15_000, "nameId": 1, "correlationId": 1, **call},
                {"start": 20_000, "end": 2_000_000, "nameId": 2, "correlationId": 2, **call, "returnValue": code},
            ],
            KERNEL: [{"start": 16_000, "end": 5_000_016_000, "correlationId": 1, **place}],
            SYNCHRONIZATION: [
                {"start": 21_000, "end": 1_999_000, "correlationId": 2, "syncType": 3, "eventId": -1, **place}
            ],
        },
    )
    ingest([path], tmp_path / "t.duckdb")
    with closing(connect(tmp_path / "t.duckdb")) as connection:
        assert connection.execute("select dur from gpu_slice").fetchall() == [(lasts,)]
