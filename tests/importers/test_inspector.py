"""Records of collectives: JSON of the Inspector plugins, their text for Prometheus, and events of NCCL's example plugin."""

from __future__ import annotations

import gzip
import json
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traceq.errors import UnknownFormat, UnusableTrace
from traceq.importers import inspector
from traceq.importers.inspector import json_records
from traceq.importers.rows import Notes

ROOT = Path(__file__).resolve().parents[2]
RECORDS = ROOT / "fixtures" / "inspector"
sys.path.append(str(ROOT / "fixtures" / "make"))

HEADER = {"id": "0x7f8c", "rank": 2, "n_ranks": 8, "nnodes": 1}
METADATA = {
    "inspector_output_format_version": "v4.0", "git_rev": "", "rec_mechanism": "nccl_profiler_interface",
    "dump_timestamp_us": 1_748_030_377_748_202, "hostname": "node-1", "pid": 1639,
}  # fmt: skip
COLLECTIVE = {
    "coll": "AllReduce", "coll_sn": 1407, "coll_msg_size_bytes": 1 << 20, "coll_exec_time_us": 61,
    "coll_timing_source": "kernel_gpu", "coll_algobw_gbs": 17.2, "coll_busbw_gbs": 30.1,
}  # fmt: skip
SEND = {
    "p2p": "Send", "p2p_sn": 3, "p2p_peer": 5, "p2p_msg_size_bytes": 4096, "p2p_exec_time_us": 7,
    "p2p_timing_source": "kernel_gpu", "p2p_algobw_gbs": 0.6, "p2p_busbw_gbs": 0.6,
}  # fmt: skip


def record(kind="coll_perf", header=None, metadata=None, **changes):
    operation = (COLLECTIVE if kind == "coll_perf" else SEND) | changes
    return {"header": HEADER | (header or {}), "metadata": METADATA | (metadata or {}), kind: operation}


def write(folder, *records, name="node-1-pid1639.log"):
    path = folder / name
    path.write_text("".join(one if isinstance(one, str) else f"{json.dumps(one)}\n" for one in records))
    return path


def read(path):
    """The rows of both tables, without columns that are NULL, and the counts of the notes by code."""
    notes, rows = Notes(), defaultdict(list)
    for table, batch in inspector.read_records(path, 0, notes):
        batch.validate(full=True)
        rows[table] += [{key: value for key, value in row.items() if value is not None} for row in batch.to_pylist()]
    counts = defaultdict(int)
    for (_, code, _), count in notes.items():
        counts[code] += count
    return rows, dict(counts)


def test_a_collective(tmp_path):
    rows, counts = read(write(tmp_path, record(header={"comm_name": "DP Group 0"}, coll_algo="RING", coll_proto="LL")))
    assert rows["inspected_record"] == [
        {
            "file": 0, "host": "node-1", "pid": 1639, "communicator": "0x7f8c", "communicator_name": "DP Group 0",
            "communicator_rank": 2, "group_size": 8, "nodes": 1, "op": "AllReduce", "sequence": 1407,
            "message_bytes": 1 << 20, "dur": 61_000, "timing": "kernel_gpu", "algorithm": "RING", "protocol": "LL",
            "said_algorithm_bandwidth": 17.2, "said_bus_bandwidth": 30.1, "utc_ns": 1_748_030_377_748_202_000,
            "utc_source": "dump",
        }
    ]  # fmt: skip
    assert counts == {}


def test_a_send_has_a_peer(tmp_path):
    rows, _ = read(write(tmp_path, record("p2p_perf")))
    (row,) = rows["inspected_record"]
    assert (row["op"], row["sequence"], row["peer"], row["dur"]) == ("Send", 3, 5, 7_000)


def test_a_verbose_log_has_the_times_of_kernels(tmp_path):
    def traced(start, *kernels):
        return {
            "coll_start_ts": start,
            "kernel_events": [{"channel_id": 0, "kernel_start_ts": time} for time in kernels],
        }

    rows, _ = read(
        write(
            tmp_path,
            record(event_trace_ts=traced(100, 120, 121)),
            record(event_trace_ts=traced(200)),
            record(event_trace_ts=traced(0, 0)),
            record(),
        )
    )
    assert [(row["utc_ns"], row["utc_source"]) for row in rows["inspected_record"]] == [
        (120_000, "kernel"), (200_000, "operation"), (1_748_030_377_748_202_000, "dump"), (1_748_030_377_748_202_000, "dump"),
    ]  # fmt: skip


def test_what_the_plugin_dropped_is_counted_once_for_each_communicator(tmp_path):
    def stats(coll, p2p, rank=2):
        return {
            "header": HEADER | {"rank": rank}, "metadata": METADATA,
            "dump_stats": {"coll_records": 1, "coll_dropped_total": coll, "p2p_dropped_total": p2p},
        }  # fmt: skip

    _, counts = read(write(tmp_path, stats(3, 0), record(), stats(5, 1), stats(2, 0, rank=3)))
    assert counts == {"inspector_dropped": 8}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(json.dumps(record(), indent=2) * 2, id="indented"),
        pytest.param(json.dumps(record()) + json.dumps(record()), id="without line breaks"),
        pytest.param("\n\n" + json.dumps(record()) + "\n\n\n" + json.dumps(record()), id="empty lines"),
    ],
)
def test_two_records_in_any_layout(tmp_path, text):
    rows, counts = read(write(tmp_path, text))
    assert [row["sequence"] for row in rows["inspected_record"]] == [1407, 1407]
    assert counts == {}


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(json.dumps(record())[:200] + "\n", id="cut"),
        pytest.param("\x00\x00\x7f garbage {\n", id="garbage"),
        pytest.param(record(coll_exec_time_us=-1), id="negative time"),
        pytest.param(record(coll_exec_time_us=1 << 62), id="time of 146,000 years"),
        pytest.param(record(coll_sn=None), id="without number"),
        pytest.param(record(coll_msg_size_bytes=1 << 60), id="exbibyte"),
        pytest.param(record(coll_msg_size_bytes=1.5), id="fraction of a byte"),
        pytest.param(record(coll=7), id="number for a name"),
        pytest.param(record(header={"rank": -4}), id="negative rank"),
        pytest.param(record(header={"id": None}), id="without communicator"),
        pytest.param({"header": [], "metadata": 3, "coll_perf": COLLECTIVE}, id="other types"),
        pytest.param({"header": HEADER, "metadata": METADATA, "coll_perf": []}, id="no operation"),
    ],
)
def test_a_damaged_record_is_left_out_and_counted(tmp_path, damage):
    rows, counts = read(write(tmp_path, record(coll_sn=1), damage, record(coll_sn=2)))
    assert [row["sequence"] for row in rows["inspected_record"]] == [1, 2]
    assert counts == {"inspector_damaged": 1}


def test_a_file_that_ends_in_a_record(tmp_path):
    whole = json.dumps(record(coll_sn=1)) + "\n" + json.dumps(record(coll_sn=2))
    for length in range(len(whole) - 60, len(whole)):
        rows, counts = read(write(tmp_path, whole[:length]))
        assert ([row["sequence"] for row in rows["inspected_record"]], counts) == ([1], {"inspector_damaged": 1})


def test_packed_files(tmp_path):
    path = tmp_path / "a.log.gz"
    path.write_bytes(gzip.compress(json.dumps(record()).encode()))
    assert len(read(path)[0]["inspected_record"]) == 1
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(UnusableTrace, match=r"a\.log\.gz: cannot be read"):
        read(path)


def test_files_without_records(tmp_path):
    for text in ("", "{}", "[1, 2]", "a log\n", '{"header": {}}'):
        with pytest.raises(UnknownFormat, match="no records of collectives"):
            read(write(tmp_path, text))
    with pytest.raises(UnusableTrace, match="wrote no operation into it"):
        read(write(tmp_path, {"header": HEADER, "metadata": METADATA, "dump_stats": {"coll_dropped_total": 1}}))


def test_lines_that_no_record_is_as_long_as(tmp_path, monkeypatch):
    monkeypatch.setattr(json_records, "_BLOCK", 1 << 10)
    monkeypatch.setattr(json_records, "_LONGEST_LINE", 4 << 10)
    with pytest.raises(UnusableTrace, match="which is no record"):
        read(write(tmp_path, record(), '{"header": "' + "x" * (8 << 10)))


def test_blocks_may_end_anywhere(tmp_path, monkeypatch):
    path = write(tmp_path, *(record(coll_sn=number) for number in range(40)))
    for size in (700, 1000, 1 << 14):
        monkeypatch.setattr(json_records, "_BLOCK", size)
        assert [row["sequence"] for row in read(path)[0]["inspected_record"]] == [*range(40)]


_TEXTS = st.text(max_size=4)
_NUMBERS = st.one_of(st.integers(-2, 1 << 45), st.none())


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.builds(
            record,
            st.sampled_from(["coll_perf"]),
            st.fixed_dictionaries({"id": st.one_of(_TEXTS, st.none()), "rank": _NUMBERS, "comm_name": _TEXTS}),
            coll=_TEXTS,
            coll_sn=_NUMBERS,
            coll_exec_time_us=_NUMBERS,
            coll_busbw_gbs=st.floats(0, 1e6),
        ),
        max_size=5,
    )
)
def test_both_ways_to_read_give_the_same(records):
    """By Arrow, and object by object, as where something in a block is damaged."""
    block = "".join(f"{json.dumps(one)}\n" for one in records).encode()
    fast, slow = Notes(), Notes()
    rows = [row for batch in json_records._BlockReader(0, fast).read_block(block) for row in batch.to_pylist()]
    other = json_records._BlockReader(0, slow)
    batch = json_records.make_record_batch(list(other._decode_rows(block)))
    assert rows == [row for kept in other._keep_possible(batch) for row in kept.to_pylist()]
    assert fast == slow


def test_sums_are_those_of_another_reader():
    """Lines read by Python's json, and added up by loops."""
    for path in sorted(RECORDS.glob("*.log.gz")):
        expected = defaultdict(lambda: [0, 0, 0, 0.0])
        for line in gzip.decompress(path.read_bytes()).decode().splitlines():
            operation = json.loads(line)["coll_perf"]
            total = expected[operation["coll"]]
            total[0] += 1
            total[1] += operation["coll_exec_time_us"] * 1000
            total[2] += operation["coll_msg_size_bytes"]
            total[3] += operation["coll_busbw_gbs"]
        found = defaultdict(lambda: [0, 0, 0, 0.0])
        for row in read(path)[0]["inspected_record"]:
            total = found[row["op"]]
            for place, value in enumerate((1, row["dur"], row["message_bytes"], row["said_bus_bandwidth"])):
                total[place] += value
        assert found == expected


TEXT = """\
# HELP nccl_bus_bandwidth_gbs RCCL collective bus bandwidth in GB/s
# TYPE nccl_bus_bandwidth_gbs gauge
nccl_bus_bandwidth_gbs{version="v5.1",cluster="c",slurm_job_id="7",node="node001",gpu="GPU3",comm_name="a \\"b\\"",\
n_nodes="2",nranks="16",collective="AllReduce",message_size="1-2MB",algo_proto="TREE_LL128"} 34.25
nccl_collective_exec_time_microseconds{version="v5.1",cluster="c",slurm_job_id="7",node="node001",gpu="GPU3",\
comm_name="a \\"b\\"",n_nodes="2",nranks="16",collective="AllReduce",message_size="1-2MB",algo_proto="TREE_LL128"} 58.5
nccl_p2p_bus_bandwidth_gbs{node="node001",gpu="GPU3",comm_name="unknown",n_nodes="2",nranks="16",p2p_operation="Send",\
message_size="512-513KB"} 4.5
nccl_collectives_dropped_total{node="node001",gpu="GPU3"} 12
nccl_bus_bandwidth_gbs{node="node001",gpu="GPU3",collective="AllReduce",message_size="big"} 1
nccl_bus_bandwidth_gbs{node="node001",gpu="GPU3",collective="AllReduce",message_size="1-2MB"} NaN
"""


def test_text_for_prometheus(tmp_path):
    rows, counts = read(write(tmp_path, TEXT, name="nccl_inspector_metrics_0.prom"))
    shared = {"file": 0, "host": "node001", "gpu": 3, "group_size": 16, "nodes": 2}
    assert rows["inspected_sample"] == [
        {
            **shared, "communicator_name": 'a "b"', "op": "AllReduce", "size_low": 1 << 20, "size_high": 2 << 20,
            "algorithm": "TREE_LL128", "bus_bandwidth": 34.25, "mean_dur": 58_500.0,
        },
        {
            **shared, "communicator_name": "unknown", "op": "Send", "size_low": 512 << 10, "size_high": 513 << 10,
            "bus_bandwidth": 4.5,
        },
    ]  # fmt: skip
    assert counts == {"inspector_damaged": 2, "inspector_dropped": 12}


def test_the_scrape_of_an_exporter_holds_other_metrics(tmp_path):
    scrape = "# TYPE node_load1 gauge\nnode_load1 0.5\n" + TEXT
    path = write(tmp_path, scrape, name="scrape.txt")
    assert len(read(path)[0]["inspected_sample"]) == 2
    assert (inspector.is_record_file(path), inspector.is_only_records(path)) == (True, False)
    only = write(tmp_path, TEXT, name="only.prom")
    assert (inspector.is_record_file(only), inspector.is_only_records(only)) == (True, True)


def test_answers_of_prometheus(tmp_path):
    metric = {
        "__name__": "nccl_bus_bandwidth_gbs",
        "node": "a",
        "gpu": "GPU0",
        "collective": "AllGather",
        "message_size": "4-5GB",
    }
    answer = {"data": {"resultType": "matrix", "result": [{"metric": metric, "values": [[17.5, "2"], [18, "3.5"]]}]}}
    rows, _ = read(write(tmp_path, json.dumps(answer)))
    assert [(row["utc_ns"], row["bus_bandwidth"], row["size_low"]) for row in rows["inspected_sample"]] == [
        (17_500_000_000, 2.0, 4 << 30), (18_000_000_000, 3.5, 4 << 30),
    ]  # fmt: skip
    with pytest.raises(UnusableTrace, match="a damaged answer of Prometheus"):
        read(write(tmp_path, json.dumps(answer)[:-4]))


def event(name, category, phase, number, time, **args):
    words = f'"name": "{name}", "cat": "{category}", "ph": "{phase}", "id": {number}, "pid": 9, "tid": 1, "ts": {time}'
    return f'{{{words}, "args": {json.dumps(args)}}},\n' if args else f"{{{words}}},\n"


def test_events_of_a_profiler_plugin(tmp_path):
    operation = {"CommHash": 255, "Rank": 1, "Count": 1000, "Datatype": "ncclFloat32", "SeqNum": 4}
    path = write(
        tmp_path,
        "[\n",
        '{"name": "AllReduce", "cat": "COLL_API", "ph": "b", "id": 0, "pid": 9, "tid": 1, "ts": 0.0, "args": {"count": 1000,'
        ' "datatype": ncclFloat32, "Stream": 0x5020}},\n',
        event("AllReduce", "COLL", "b", 0, 10.0, **operation),
        event("KernelCh", "GPU", "b", 0, 11.0, Channel=0, StartGpuClk=5_000, StopGpuClk=9_500),
        event("KernelCh", "GPU", "b", 1, 11.0, Channel=1, StartGpuClk=4_000, StopGpuClk=8_000),
        event("AllReduce", "COLL", "e", 0, 12.5),
        event("Send", "P2P", "b", 0, 20.0, **operation | {"Peer": 0}),
        event("Send", "P2P", "e", 0, 22.0),
        event("Recv", "P2P", "b", 1, 30.0, **operation),
        "nonsense\n",
        "{}]\n",
    )
    rows, counts = read(path)
    assert [
        tuple(row.get(name) for name in ("op", "communicator", "sequence", "peer", "message_bytes", "dur", "timing", "utc_ns"))
        for row in rows["inspected_record"]
    ] == [
        ("AllReduce", "0xff", 4, None, 4000, 4_500, "kernel_gpu", 4_000),
        ("Send", "0xff", 4, 0, 4000, 2_000, "collective_cpu", None),
    ]  # fmt: skip
    assert counts == {"inspector_damaged": 1, "inspector_unfinished": 1}


def test_every_fixture_is_recognised():
    assert [path.name for path in sorted(RECORDS.iterdir()) if not inspector.is_record_file(path)] == []
    assert not inspector.is_record_file(ROOT / "fixtures" / "run" / "kineto_2026.json.gz")
    assert not inspector.is_record_file(RECORDS)
