"""Ingesting is repeatable: several files side by side into one database give what each gives on its own."""

from __future__ import annotations

import duckdb
import pytest
from trace_files import NSYS, ODD, TORCH, is_large, strip_container

# One of each kind of writer, large ones among them; starting a process for each of all files would take too long.
SAMPLE = (
    "bootcamp_2gpu_p2p_nvlink.s37",
    "centerformer_nvtx_only",
    "mordred_report1_old",
    "nsysai_mfu_2gpu_before",
    "hta_cpu_only_rank34",
    "hta_ns_resolution_rank0",
    "hta_sampled_rank0",
    "kineto_resnet50_w0.array.pt.trace",
    "tracelens_mi210_gpu_only",
    "hta_rank_not_found",
)
SAMPLES = [path for path in (*NSYS, *TORCH, *ODD) if strip_container(path) in SAMPLE]
# Large when unpacked.
UNPACKED = ("hta_ns_resolution_rank0", "kineto_resnet50_w0.array.pt.trace")


def is_slow(path) -> bool:
    """Whether the trace takes seconds."""
    return is_large(path) or strip_container(path) in UNPACKED


# Tables of jobs depend on all traces of a database.
TABLES = """
    select table_name, string_agg('"' || column_name || '"', ', ') filter (column_name <> 'trace_id')
    from duckdb_columns()
    join duckdb_tables() using (database_name, schema_name, table_name)
    where column_name not in ('ingested_at', 'path')
    group by table_name
    having bool_or(column_name = 'trace_id') and not bool_or(column_name = 'job')
    order by table_name
"""


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    """together(path): the sample in one database, ingested by two processes; slow traces only where the file is one."""
    from traceq.common.limits import Limits, within
    from traceq.database.connect import connect
    from traceq.loading.ingest import ingest

    opened: dict[bool, duckdb.DuckDBPyConnection] = {}

    def database(path):
        slow = is_slow(path)
        if slow not in opened:
            target = tmp_path_factory.mktemp("together") / "all.duckdb"
            with within(Limits(jobs=2)):
                ingest([each for each in SAMPLES if slow or not is_slow(each)], target)
            opened[slow] = connect(target)
        return opened[slow]

    yield database
    for connection in opened.values():
        connection.close()


def count_contents(database: duckdb.DuckDBPyConnection, path) -> dict[str, tuple]:
    """Number of rows and a checksum of each table, for one file, whatever its number in the database."""
    return {
        table: _compute_checksum(database, table, columns, path)
        for table, columns in database.execute(TABLES).fetchall()
    }


def _compute_checksum(database, table: str, columns: str, path) -> tuple:
    query = f"""
        select count(*), sum(hash({columns})::hugeint) from {table}
        where trace_id = (select trace_id from trace where parse_filename(path) = ?)
    """
    # By its name: other tests may have named the same file by another path.
    return database.execute(query, [path.name]).fetchone()


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=strip_container(path), marks=[pytest.mark.slow] if is_slow(path) else [])
        for path in SAMPLES
    ],
)
def test_a_file_gives_the_same_rows_on_its_own_and_among_others(path, databases, together):
    assert count_contents(together(path), path) == count_contents(databases(path), path)
