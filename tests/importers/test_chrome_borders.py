"""Walk through the numbers of Chrome traces at the borders of their columns: kept or counted, and never another number."""

from __future__ import annotations

import math

import pytest
from borders import BORDERS, NESTED, count_losses, find_untold
from chrome_trace import make_event, make_op, read_tables, render_text, write_text

import traceq
from traceq.app.ingest import ingest
from traceq.importers.chrome import args as chrome_args

VALUES = [*BORDERS, *NESTED]
JSON = [value for value in VALUES if not isinstance(value, float) or math.isfinite(value)]
"""Values without those that are no JSON, which send their whole block another way."""
ARGUMENTS = {
    "cpu_op": ("cpu_slice", chrome_args.HOST_COLUMNS),
    **dict.fromkeys(("kernel", "gpu_memcpy", "gpu_memset"), ("gpu_slice", chrome_args.GPU_COLUMNS)),
    "gpu_user_annotation": ("gpu_annotation", chrome_args.GPU_COLUMNS[:5]),
    "cuda_sync": ("synchronization", chrome_args.SYNC_COLUMNS),
    "cuda_event": ("cuda_event", chrome_args.SYNC_COLUMNS[:5]),
}
UNSET = (-1, 2**32 - 1)
PROPERTIES = (
    "numSms",
    "warpSize",
    "totalGlobalMem",
    "maxThreadsPerMultiprocessor",
    "regsPerMultiprocessor",
    "sharedMemPerMultiprocessor",
)


@pytest.fixture(params=[JSON, VALUES], ids=["json", "any"])
def values(request):
    """The values to put into a field."""
    return request.param


def read_events(folder, events, **around):
    return read_tables(write_text(folder, render_text(*events, **around)))


def check_events(folder, table, events, put, but=()):
    """Say what is wrong with the rows of a usual event and others of which each has one of the values somewhere."""
    tables = read_events(folder, events)
    rows = sorted(tables[table], key=lambda row: row["slice_id"])
    told = dict(enumerate(put, rows[0]["slice_id"] + 1))
    return find_untold(told, rows, count_losses(tables), "slice_id", but)


@pytest.mark.parametrize("category", ARGUMENTS)
def test_every_argument_is_kept_or_counted(tmp_path, values, category):
    table, columns = ARGUMENTS[category]
    usual = {"device": 0, "stream": 7, "grid": [1, 1, 1], "block": [1, 1, 1]}
    told = [value for value in values if not category.startswith("cuda_") or value not in UNSET]
    fields = [(key, value) for key, *_ in columns for value in told]
    made = [usual, *(usual | {key: [1, value, 1] if key in ("grid", "block") else value} for key, value in fields)]
    events = [make_event(category, "a", 9, 1, args, pid=0, tid=7) for args in made]
    assert check_events(tmp_path, table, events, [value for _, value in fields]) == ""


def test_every_argument_of_a_range_is_kept_or_counted(tmp_path, values):
    fields = [(key, value) for key in ("External id", "correlation") for value in values]
    made = [{"External id": 5, "correlation": 6} | {key: value} for key, value in fields]
    begins = [
        make_op("a", n, None, arguments, ph="B")
        for n, arguments in enumerate([{"External id": 5, "correlation": 6}, *made])
    ]
    ends = [make_op("a", 900 - n, None, ph="E") for n in range(len(begins))]
    put = [value for _, value in fields]
    assert check_events(tmp_path, "cpu_slice", [*begins, *ends], put, ("ts", "dur")) == ""


@pytest.mark.parametrize("category", ["cpu_op", "kernel"])
@pytest.mark.parametrize("member", ["ts", "dur"])
def test_every_time_is_kept_or_counted(tmp_path, values, category, member):
    usual = make_event(category, "a", 9, 1, {"device": 0, "stream": 7}, pid=0, tid=7)
    tables = read_events(tmp_path, [usual, *(usual | {member: value} for value in values)])
    found = {row["slice_id"]: row[member] for row in tables["gpu_slice" if category == "kernel" else "cpu_slice"]}
    lost = 0
    for number, value in enumerate(values, 1):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        written = 1.5 if value == "1.5" else value if is_number else 0
        ns = found.get(number, 0)
        assert ns in (0, written * 1000), value
        lost += ns == 0 and value not in (0, None)
    assert lost <= count_losses(tables)


def test_every_value_of_a_counter_is_kept_or_counted(tmp_path, values):
    events = [{"ph": "C", "name": "c", "pid": 1, "ts": number, "args": {"v": v}} for number, v in enumerate(values)]
    tables = read_events(tmp_path, events)
    found = {row["ts"] // 1000: row["value"] for row in tables["counter"]}
    assert found == {number: float(values[number]) for number in found}
    assert not any(isinstance(values[number], bool) for number in found)
    assert len(values) - len(found) <= count_losses(tables)


@pytest.mark.parametrize("key", ["Device Type", "Device Id", "Total Allocated", "Total Reserved"])
def test_every_total_of_the_allocator_is_kept_or_counted(tmp_path, values, key):
    usual = {"Device Type": 1, "Device Id": 0, "Total Allocated": 5, "Total Reserved": 9}
    tables = read_events(
        tmp_path, [make_op("[memory]", n, None, usual | {key: v}, ph="i") for n, v in enumerate(values)]
    )
    found = {number for row in tables["counter"] for number in (row["device"], row["value"])}
    assert found - {0, None, 5, 9} <= {float(value) for value in values if isinstance(value, int)}
    # NULL is no loss.
    assert 2 * len(values) - len(tables["counter"]) - ("Total" in key) <= count_losses(tables)


def test_every_property_of_a_gpu_is_kept_or_counted(tmp_path, values):
    fields = [(key, value) for key in PROPERTIES for value in values]
    usual = dict.fromkeys(PROPERTIES, 1)
    gpus = [{"id": 0, **usual}, *({"id": number, **usual, key: value} for number, (key, value) in enumerate(fields, 1))]
    gpus += [{"id": value} for value in values if value not in range(len(gpus))]
    tables = read_events(tmp_path, [make_op("a", 1, 1)], before={"deviceProperties": gpus})
    put = {number: value for number, (_, value) in enumerate(fields, 1)}
    rows = [row for row in tables["device"] if row["device"] in range(len(fields) + 1)]
    assert find_untold(put, rows, count_losses(tables), "device") == ""
    others = {row["device"] for row in tables["device"]} - set(range(len(gpus)))
    assert others == {value for value in values if type(value) is int and -(2**31) < value < 2**31} - set(
        range(len(gpus))
    )


@pytest.mark.parametrize("value", [-1, 2**31 - 1, 2**31, 2**63 - 1, 2**63, 1e308, 0.5, "text", True, [1]])
def test_every_number_of_the_capture_is_kept_or_counted(tmp_path, value):
    told = {"distributedInfo": {"rank": value, "world_size": value}, "baseTimeNanoseconds": value}
    tables = read_events(tmp_path, [make_op("a", 1, 1)], before={"schemaVersion": 1, **told})
    (trace,) = tables["trace"]
    found = [trace[name] for name in ("rank", "world_size", "utc_origin_ns")]
    assert all(number in (value, None) for number in found)
    assert found.count(None) <= count_losses(tables)


def test_all_of_them_make_a_database(tmp_path):
    usual = {"device": 0, "stream": 7}
    events = [
        make_event(category, "a", 9, 1, usual | {key: value}, pid=0, tid=7)
        for category, (_, columns) in ARGUMENTS.items()
        for key, *_ in columns
        for value in JSON
    ]
    events += [make_op("a", 9, 1) | {member: value} for member in ("pid", "tid", "ts", "dur") for value in JSON]
    events += [{"ph": "C", "name": "c", "pid": 1, "ts": 9, "args": {"v": value}} for value in JSON]
    gpus = [{"id": number, key: value} for key in PROPERTIES for number, value in enumerate(JSON)]
    ingest([write_text(tmp_path, render_text(*events, before={"deviceProperties": gpus}))], tmp_path / "a.duckdb")
    with traceq.open(tmp_path / "a.duckdb") as traces:
        ((kernels, most, least),) = traces.sql("select count(*), max(bytes), min(bytes) from gpu_slice").fetchall()
    assert kernels > 2000
    assert 0 <= least <= most < 2**50
