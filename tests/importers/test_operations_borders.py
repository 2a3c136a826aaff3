"""Every number of a table of operations at the borders of its type: rows are kept or counted, and no number is another one."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from borders import BORDERS, collect_tables

import traceq
from traceq.app.ingest import ingest
from traceq.errors import TraceqError
from traceq.importers import operations

SIZES = (pa.int8(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32(), pa.uint64())
OTHERS = (pa.float32(), pa.float64(), pa.string(), pa.bool_(), pa.null())
TIMES = (*(pa.timestamp(unit) for unit in ("ms", "us", "ns")), pa.duration("s"), pa.date32(), pa.decimal128(20))
NUMBERS = ("rank", "step", "stage", "dp_rank", "mb_id", "seq_id", "start_ts", "end_ts", "duration")


def list_values(kind):
    """The borders that a column of this type can hold."""
    found = []
    for value in BORDERS:
        try:
            found.append(pa.array([value], kind)[0].as_py())
        except (pa.ArrowException, OverflowError, TypeError):
            continue
    return found


def make_borders(kind):
    """A column of the borders of the type, and NULL."""
    if not pa.types.is_temporal(kind):
        return pa.array([None, *list_values(kind)], kind)
    plain = pa.int32() if pa.types.is_date32(kind) else pa.int64()
    return pa.array([None, *list_values(plain)], plain).cast(kind)


def write_column(path, column, kind):
    """Write a row for each border of the type in this column, and two usual ones; return how many."""
    borders = make_borders(kind)
    rows = len(borders) + 2
    starts = np.arange(rows) * 1000
    columns = {name: pa.array([0, 1] * rows)[:rows] for name in NUMBERS[:6]}
    columns |= {"optype": pa.array(["forward-recv", "grads-all-reduce"] * rows)[:rows], "start_ts": pa.array(starts)}
    columns |= {"duration": pa.array([10] * rows)} if column == "duration" else {"end_ts": pa.array(starts + 10)}
    usual = columns[column]
    try:
        columns[column] = pa.concat_arrays([usual[:2].cast(kind), borders])
    except pa.ArrowException:
        columns[column] = pa.concat_arrays([pa.nulls(2, kind), borders])
    pq.write_table(pa.table(columns), path)
    return rows


@pytest.mark.parametrize("column", NUMBERS)
def test_every_number_is_kept_or_counted(tmp_path, column):
    failures, read = {}, 0
    for number, kind in enumerate((*SIZES, *OTHERS, *TIMES)):
        rows = write_column(tmp_path / f"{number}.parquet", column, kind)
        try:
            tables = collect_tables(operations.read(tmp_path / f"{number}.parquet"))
        except TraceqError as error:
            failures |= {str(kind): str(error)} if "\n" in str(error) else {}
            continue
        read += 1
        counted = sum(note["count"] for note in tables["import_note"] if note["code"].endswith("_operations"))
        if rows != len(tables["gpu_slice"]) + counted:
            failures[str(kind)] = f"{rows} rows: {len(tables['gpu_slice'])} kept, {counted} counted"
        (trace,) = tables["trace"]
        told = {
            part[name] for part in json.loads(trace["args"])["operations"]["ranks"] for name in ("rank", "pp", "dp")
        }
        told |= {json.loads(row["args"])["micro_batch"] for row in tables["gpu_slice"] if row.get("args")}
        if odd := told - {0, 1, None, *(() if pa.types.is_temporal(kind) else list_values(kind))}:
            failures[f"{kind}, number"] = str(odd)
        lasts = {row["dur"] for row in tables["gpu_slice"]}
        if column in NUMBERS[:6] and lasts > {10}:
            failures[f"{kind}, dur"] = str(lasts)
    assert failures == {}
    assert read >= (3 if column not in NUMBERS[:6] else len(SIZES))


@pytest.mark.parametrize("column", ["seq_id", "start_ts"])
def test_all_of_them_make_a_database(tmp_path, column):
    write_column(tmp_path / "a.parquet", column, pa.int64())
    ingest([tmp_path / "a.parquet"], tmp_path / "a.duckdb")
    with traceq.open(tmp_path / "a.duckdb") as traces:
        ((kept, longest),) = traces.sql("select count(*), max(dur) from gpu_slice").fetchall()
    assert kept > 2
    assert longest < 2**55
