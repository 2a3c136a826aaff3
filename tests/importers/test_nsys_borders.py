"""Every number that the nsys importer reads, at the borders of its column: rows are neither lost without a note nor more."""

from __future__ import annotations

import pytest
from nsys_export import global_id, read, write

from traceq.errors import TraceqError
from traceq.importers.nsys import reader
from traceq.importers.nsys.source import NsysExport

BORDERS = [
    2**31 - 1,
    2**31,
    -(2**31) - 1,
    2**32 - 1,
    2**63 - 1,
    -(2**63),
    -1,
    1e300,
    -1e300,
    float("inf"),
    "text",
    b"\xff",
    None,
]
TIMES = {"start": 10, "end": 20, "timestamp": 10, "startedAt": 10, "endedAt": 20}
THREADS = {"globalTid": global_id(), "globalPid": global_id(0), "eventType": 59, "id": 1, "deviceId": 0}


def list_columns(source, table, _names=()):
    """The columns of the table, as an export that declares none of them NOT NULL."""
    return dict.fromkeys(source._columns.get(table, {}), False)


@pytest.fixture(scope="module")
def tables_read(tmp_path_factory):
    """The columns of numbers that the importer asks for, by table of events."""
    asked = {}
    original = NsysExport.read

    def note(self, table, integers, *rest, **options):
        asked.setdefault(table, list(integers))
        return original(self, table, integers, *rest, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NsysExport, "read", note)
        patch.setattr(NsysExport, "columns_of", list_columns)
        everything = {
            table: [{"graphNodeId": 1, **TIMES, **THREADS}] for table in reader._TABLES if table != "StringIds"
        }
        read(write(tmp_path_factory.mktemp("a") / "a.sqlite", {1: "name"}, **everything))
    return {table: columns for table, columns in asked.items() if table != "StringIds"}


def read_borders(path, table, columns, column):
    """Say what goes wrong where the column holds its borders, one in each row."""
    row = {name: TIMES.get(name, THREADS.get(name, 1)) for name in columns}
    rows = [{**row, column: value} for value in BORDERS]
    try:
        tables = read(write(path, {1: "name"}, **{table: rows}))
    except TraceqError:
        return None
    except Exception as error:  # noqa: BLE001 - the test names each
        return f"{table}.{column}: {type(error).__name__}: {error}"
    most = max((len(found) for name, found in tables.items() if name in ("gpu_slice", "cpu_slice")), default=0)
    return f"{table}.{column}: {most} rows of {len(rows)}" if most > len(rows) else None


def test_every_column_of_every_table_takes_every_number(tables_read, tmp_path):
    assert {
        "CUPTI_ACTIVITY_KIND_KERNEL",
        "CUPTI_ACTIVITY_KIND_RUNTIME",
        "NVTX_EVENTS",
        "OSRT_API",
    } <= tables_read.keys()
    failures = [
        read_borders(tmp_path / f"{table}.{column}.sqlite", table, columns, column)
        for table, columns in tables_read.items()
        for column in columns
    ]
    assert [failure for failure in failures if failure] == []
