"""Records of collectives beside a trace: whose they are, whether the traced window is usual, and what a report says of it."""

from __future__ import annotations

import hashlib
import json
from contextlib import closing
from pathlib import Path
from statistics import median

import duckdb
import pytest
from builder import TraceBuilder
from numpy import quantile

from traceq.analysis.steps.choice import AS_FOUND
from traceq.app.ingest import ingest
from traceq.app.report import report
from traceq.errors import NoTraces, UnusableTrace
from traceq.loading.build import Task, build
from traceq.loading.monitors import MonitorLogs
from traceq.loading.sources import Source

RUN = Path(__file__).resolve().parents[2] / "fixtures" / "run"
ORIGIN = 1_760_000_000_000_000_000
MESSAGE = 64 << 20
# The pid of the process in a built trace.
PID = 1


def write_records(folder, durations, *, pid=PID, rank=0, ranks=2, host="a", communicator="0xabc", message=MESSAGE):
    """A file of a process; `durations` in us, one record a ms."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{host}-pid{pid}.log"
    path.write_text(
        "".join(
            json.dumps(
                {
                    "header": {"id": communicator, "comm_name": "dp", "rank": rank, "n_ranks": ranks, "nnodes": 1},
                    "metadata": {"dump_timestamp_us": ORIGIN // 1000 + 1000 * number, "hostname": host, "pid": pid},
                    "coll_perf": {
                        "coll": "AllReduce", "coll_sn": number, "coll_msg_size_bytes": message,
                        "coll_exec_time_us": duration, "coll_timing_source": "kernel_gpu",
                        "coll_algobw_gbs": message / duration / 1000, "coll_busbw_gbs": message / duration / 1000,
                    },
                }
            ) + "\n"
            for number, duration in enumerate(durations)
        )
    )  # fmt: skip
    return path


def trace_of(durations, *, numbered=True, group_name="0xabc", **facts):
    """A trace of rank 0 with an all-reduce a ms; `durations` in us."""
    trace = TraceBuilder()
    trace.add("trace", producer="tests", **{"rank": 0, "world_size": 2, "utc_origin_ns": ORIGIN, **facts})
    for number, duration in enumerate(durations):
        begin = number * 1_000_000
        trace.annotation(f"ProfilerStep#{number}", begin, 1_000_000)
        slice_id = trace.kernel(
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL", begin + 100_000, duration * 1000, (begin + 50_000, 5_000)
        )
        trace.add(
            "collective", slice_id=slice_id, op="allreduce", bytes=MESSAGE, group_name=group_name, group_size=2,
            sequence=number if numbered else None,
        )  # fmt: skip
    return trace


def build_with(folder, trace, *logs):
    database, path = folder / "part.duckdb", folder / "made-up.json"
    path.write_text("made up")
    task = Task(
        Source((path,), trace), database, folder, 1, None, "0" * 64, AS_FOUND, 1, 1, 256 << 20,
        beside=MonitorLogs(tuple(logs)),
    )  # fmt: skip
    build(task, lambda _state: None)
    return closing(duckdb.connect(str(database)))


def test_bandwidths_are_those_of_the_trace(tmp_path):
    """A made-up pair: the trace and the record of the same twenty collectives."""
    durations = [400 + 7 * number % 50 for number in range(20)]
    with build_with(tmp_path, trace_of(durations), write_records(tmp_path / "r", durations)) as database:
        traced = database.execute(
            "select dur, bytes, algorithm_bandwidth, bus_bandwidth from collective_slice"
        ).fetchall()
        recorded = database.execute(
            "select dur, bytes, algorithm_bandwidth, bus_bandwidth from inspected_collective order by sequence"
        ).fetchall()
        assert recorded == traced
        assert database.execute("select paired, paired_ratio, bus_bandwidth from inspected_usual").fetchall() == [
            (20, 1.0, database.execute("select median(bus_bandwidth) from collective_slice").fetchone()[0])
        ]


def test_a_usual_window(tmp_path):
    """Four collectives of about 400 us, in a record of 400: 100 windows."""
    recorded = [395 + number % 11 for number in range(400)]
    medians = [median(recorded[place : place + 4]) * 1000 for place in range(0, 400, 4)]
    files = [write_records(tmp_path / "r", recorded, pid=pid, rank=rank) for rank, pid in enumerate((PID, 50))]
    with build_with(tmp_path, trace_of([400, 402, 399, 401]), *files) as database:
        found = database.execute(
            "select op, bytes, group_size, count, median_dur, records, compared_with, windows, usual_dur, usual_low, usual_high,"
            " paired from inspected_usual"
        ).fetchall()
        assert found == [
            ("all_reduce", MESSAGE, 2, 4, 400_500, 400, "own", 100, *quantile(medians, [0.5, 0.05, 0.95]), 4)
        ]
        # of other processes only what all ranks of an operation tell stays
        assert database.execute("select distinct process from inspected_collective").fetchall() == [(0,)]
        assert database.execute("select process, rank, is_of_trace, records from inspected_process").fetchall() == [
            (0, 0, True, 400), (1, 1, False, 400),
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("durations", "recorded", "words"),
    [
        ([400] * 4, [400] * 99, "are usual: all_reduce of 64.0 MiB 400.0 µs, usually 400.0 µs (99 records)."),
        ([800] * 4, [400] * 99, "take 2 times as long as usual: all_reduce of 64.0 MiB 800.0 µs, usually 400.0 µs"),
        ([200] * 4, [400] * 99, "take only 0.5 of the usual time"),
        ([400] * 4, [400] * 20, "cannot tell, as the records hold fewer than 8 windows"),
    ],
)
def test_the_line_in_a_report(tmp_path, durations, recorded, words):
    with build_with(tmp_path, trace_of(durations), write_records(tmp_path / "r", recorded)) as database:
        database.execute("checkpoint")
    view = report(tmp_path / "part.duckdb")
    assert words in " ".join(view.to_text().split())


def test_operations_of_other_sizes_tell_nothing(tmp_path):
    records = write_records(tmp_path / "r", [400] * 99, message=1 << 20)
    with build_with(tmp_path, trace_of([400] * 4), records) as database:
        assert database.execute("select count(*) from inspected_usual").fetchall() == [(0,)]
        database.execute("checkpoint")
    assert "no operation has the same size and group in both" in " ".join(
        report(tmp_path / "part.duckdb").to_text().split()
    )


def test_a_process_that_is_not_known_is_compared_with_all(tmp_path):
    files = [write_records(tmp_path / "r", [400] * 99, pid=77 + rank, rank=rank + 5, ranks=9) for rank in range(2)]
    trace = trace_of([400] * 4, rank=None, world_size=None, numbered=False)
    with build_with(tmp_path, trace, *files) as database:
        assert database.execute("select is_of_trace from inspected_process").fetchall() == [(None,), (None,)]
        assert database.execute("select count(*) from inspected_collective").fetchall() == [(198,)]


def test_numbers_that_begin_elsewhere_are_no_pairs(tmp_path):
    """The trace's first is the record's third: sizes tell."""
    records = write_records(tmp_path / "r", [400] * 99)
    lines = records.read_text().splitlines()
    records.write_text(
        "\n".join(line.replace(str(MESSAGE), str(MESSAGE * (1 + number % 2))) for number, line in enumerate(lines))
    )
    with build_with(tmp_path, trace_of([400] * 4), records) as database:
        assert database.execute("select paired, paired_ratio from inspected_usual").fetchall() == [(0, None)]


def test_with_a_folder_of_records_hosts_have_their_pseudonyms(tmp_path):
    write_records(
        tmp_path / "records", [400] * 99, host="node-CANARY_ENVIRONMENT_VALUE", pid=4101, ranks=8, message=12582912 * 2
    )
    (tmp_path / "records" / "readme.txt").write_text("not a record")
    database = tmp_path / "a.duckdb"
    ingest([RUN / "kineto_2026.json.gz"], database, logs=[tmp_path / "records"])
    with closing(duckdb.connect(str(database))) as connection:
        host = "host-" + hashlib.sha256(b"node-CANARY_ENVIRONMENT_VALUE").hexdigest()[:8]
        assert connection.execute("select host, is_of_trace from inspected_process").fetchall() == [(host, True)]
        assert connection.execute("select op, count, records from inspected_usual").fetchall() == [
            ("all_reduce", 10, 99)
        ]
        assert connection.execute(
            "select code, count from import_note where code = 'inspector_records'"
        ).fetchall() == [("inspector_records", 1)]
    assert b"CANARY" not in database.read_bytes()


def test_a_folder_without_records_and_a_file_of_none(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(NoTraces, match="no file here holds records of collectives"):
        ingest([RUN / "kineto_2026.json.gz"], tmp_path / "a.duckdb", logs=[tmp_path / "empty"])
    stats = {"header": {"id": "0x1", "rank": 0}, "metadata": {}, "dump_stats": {"coll_dropped_total": 1}}
    (tmp_path / "a.log").write_text(json.dumps(stats))
    with pytest.raises(UnusableTrace, match="wrote no operation into it"):
        ingest([RUN / "kineto_2026.json.gz"], tmp_path / "a.duckdb", logs=[tmp_path / "a.log"])
    assert not (tmp_path / "a.duckdb").exists()
