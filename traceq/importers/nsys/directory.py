"""Exports of one file a table: `nsys export --type parquetdir` (TABLE.parquet) and arrowdir (TABLE.arrow)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from traceq.errors import UnusableTrace

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIXES = (".parquet", ".arrow")
# Every export has strings. Not every folder with a table of this name is an export of nsys, so another one must be there.
_STRINGS = "StringIds"
_OTHERS = ("CUPTI_ACTIVITY_KIND_*", "NVTX_EVENTS", "OSRT_API", "META_DATA_EXPORT", "TARGET_INFO_*")


def files_of(path: Path) -> tuple[Path, ...]:
    """Return the files of the export that `path` is a table of, strings first; () if it is no such table."""
    strings = path.with_name(f"{_STRINGS}{path.suffix}")
    if path.suffix not in SUFFIXES or not strings.is_file():
        return ()
    if not any(True for other in _OTHERS for _ in path.parent.glob(f"{other}{path.suffix}")):
        return ()
    tables = (table for table in path.parent.glob(f"*{path.suffix}") if table.is_file() and table != strings)
    return strings, *sorted(tables)


def write_sqlite(files: tuple[Path, ...], target: Path) -> None:
    """Write the tables into the SQLite file `target`, each under its file's name. Raises UnusableTrace for a damaged one."""
    # The SQLite driver takes 0.3 s to import, which reading another trace should not have to wait for.
    import pyarrow as pa
    from adbc_driver_sqlite import dbapi

    with closing(dbapi.connect(f"file:{target}")) as database, closing(database.cursor()) as cursor:
        for file in files:
            try:
                schema, batches = _read_table(file)
                cursor.adbc_ingest(file.stem, pa.RecordBatchReader.from_batches(schema, batches), mode="create")
            except (pa.ArrowException, OSError) as error:
                raise UnusableTrace(
                    f"{file}: cannot be read ({' '.join(str(error).split())}); export it again"
                ) from error
        database.commit()


def _read_table(file: Path) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Return the table's columns in types that SQLite has, and its rows batch by batch."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if file.suffix == ".parquet":
        table = pq.ParquetFile(file)
        schema, batches = table.schema_arrow, table.iter_batches()
    else:
        arrow = pa.ipc.open_file(pa.memory_map(str(file)))
        schema, batches = arrow.schema, map(arrow.get_batch, range(arrow.num_record_batches))
    plain = pa.schema([(field.name, _plain_type(field.type)) for field in schema])
    return plain, (batch.cast(plain) for batch in batches)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return pa.int64()
    if pa.types.is_floating(kind):
        return pa.float64()
    return pa.binary() if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) else pa.string()
