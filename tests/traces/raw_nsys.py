"""An independent reading of an nsys SQLite export: sqlite3 and gzip, nothing of traceq.

Constants are those that nsys itself lists in its ENUM_ tables; API names lose their version suffix, copies get the names
that PyTorch gives them.
"""

from __future__ import annotations

import gzip
import re
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from raw_slices import DeviceSlice, HostSlice, Interval, RawTrace

DIRECTIONS = {1: "HtoD", 2: "DtoH", 8: "DtoD", 10: "PtoP", 11: "HtoD", 12: "DtoH", 13: "DtoD"}
UNIFIED = (11, 12, 13)
MEMORIES = {0: "Pageable", 1: "Pinned", 2: "Device", 3: "Array", 4: "Managed"}
OTHER_TABLES = {
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": "synchronization",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": "cuda_event",
}
TABLES_OF_MACHINE = ("TARGET_INFO_SYSTEM_ENV", "EXPORT_META_DATA", "META_DATA_EXPORT")
UNSTORED = {
    "marks of the profiler among system calls": "select count(*) from OSRT_API where globalTid & 0xFFFFFF = 0",
    "calls once more, to carry their call stack": """
        select count(*) from CUPTI_ACTIVITY_KIND_RUNTIME where eventClass not in (0, 1)
    """,
}
# Not _v2 and _v3, which belong to the name of the call.
SUFFIX = re.compile(r"(_v\d{4,}|_ptsz|_ptds)+$")


def read(path: Path) -> RawTrace:
    """Every row of the file's event tables, each under the table it belongs to."""
    with open_export(path) as database:
        return RawTrace(
            host=list(_read_host(database)),
            device=[*_read_kernels(database), *_read_copies(database), *_read_memsets(database)],
            other=Counter(
                {ours: _number(database, f"select count(*) from {theirs}") for theirs, ours in OTHER_TABLES.items()}
            ),
            unstored=Counter({rows: _number(database, query) for rows, query in UNSTORED.items()}),
            utc_origin=_utc_origin(database),
            machine=_names_of_machine(database),
            place=(_rank(database), None),
        )


@contextmanager
def open_export(path: Path) -> Iterator[sqlite3.Connection]:
    with tempfile.TemporaryDirectory() as folder:
        if path.suffix == ".gz":
            unpacked = Path(folder) / path.stem
            unpacked.write_bytes(gzip.decompress(path.read_bytes()))
            path = unpacked
        with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
            yield database


def _number(database: sqlite3.Connection, query: str) -> int:
    table = query.split("from ")[1].split(maxsplit=1)[0]
    return database.execute(query).fetchone()[0] if _list_columns(database, table) else 0


def _list_columns(database: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in database.execute(f"pragma table_info({table})")}


def _read_rows(database: sqlite3.Connection, table: str, columns: str, where: str = "true") -> list[tuple]:
    """The rows of a table, none where the export lacks it; `value` is the text that the row's name stands for."""
    if not _list_columns(database, table):
        return []
    name = "demangledName" if table.endswith("KERNEL") else "nameId"
    join = f"left join StringIds on StringIds.id = {name}" if "value" in columns else ""
    return database.execute(f"select {columns} from {table} {join} where {where}").fetchall()


def _utc_origin(database: sqlite3.Connection) -> int | None:
    rows = _read_rows(database, "TARGET_INFO_SESSION_START_TIME", "utcEpochNs")
    return rows[0][0] if rows else None


def _names_of_machine(database: sqlite3.Connection) -> set[str]:
    tables = [table for table in TABLES_OF_MACHINE if _list_columns(database, table)]
    queries = [
        f"select value from {table} where name in ('Hostname', 'EXPORT_HOST', 'EXPORT_USER')" for table in tables
    ]
    return {value for query in queries for (value,) in database.execute(query) if value}


def _rank(database: sqlite3.Connection) -> int | None:
    """MPI's own name for the thread (event type 39), where it was traced."""
    query = "select text from NVTX_EVENTS where eventType = 39 and text like 'MPI Rank %'"
    row = database.execute(query).fetchone() if _list_columns(database, "NVTX_EVENTS") else None
    return int(row[0].split()[-1]) if row else None


def _split_thread(global_tid: int) -> tuple[int, int]:
    return (global_tid >> 24) & 0xFFFFFF, global_tid & 0xFFFFFF


def _read_host(database: sqlite3.Connection) -> Iterator[HostSlice]:
    calls = 'start, "end", globalTid, value, correlationId'
    yield from _make_slices(
        "runtime", _read_rows(database, "CUPTI_ACTIVITY_KIND_RUNTIME", calls, "eventClass in (0, 1)")
    )
    others = 'start, "end", globalTid, value, null'
    yield from _make_slices("os", _read_rows(database, "OSRT_API", others, "globalTid & 0xFFFFFF <> 0"))
    yield from _make_slices("overhead", _read_rows(database, "PROFILER_OVERHEAD", others))
    yield from _make_slices("overhead", _read_rows(database, "CUPTI_ACTIVITY_KIND_OVERHEAD", others))
    for start, end, thread, text, is_nested in _read_ranges(database):
        kind, name = range_of(text, is_nested=is_nested)
        yield HostSlice(kind, None, name, start, end - start, _split_thread(thread), None)


def range_of(text: str, *, is_nested: bool) -> tuple[str, str]:
    """Kind and name of a range, as torch.autograd.profiler.emit_nvtx writes operators: with numbers behind their names.

    Operators are of a library (library::name), or part of autograd's graph (with a sequence number); or known by name.
    """
    name, *numbers = re.split(r",(?= (?:stashed )?seq ?= ?\d|(?: op_id|sizes|input_op_ids) = )|, (?=op_id = )", text)
    known = re.match(
        r"(aten|prim|c10d|torch::autograd)::|autograd::engine::evaluate_function: |\w+Backward\d+$"
        r"|(record_param_comms|triton_(poi|red|per|for|tem)_\w+)$",
        name,
    )
    numbered = any("op_id" in each for each in numbers)
    in_graph = any("seq" in each for each in numbers)
    if not (known or numbered):
        return "annotation", text
    of_library = numbered and re.fullmatch(r"[a-z_]\w*::[\w:.]+|detach_?|triton_\w+", name)
    return ("op" if is_nested and (known or of_library or in_graph) else "annotation"), name


def _make_slices(kind: str, rows: list[tuple]) -> Iterator[HostSlice]:
    for start, end, thread, name, correlation in rows:
        yield HostSlice(kind, None, SUFFIX.sub("", name), start, end - start, _split_thread(thread), correlation)


def _read_ranges(database: sqlite3.Connection) -> list[tuple]:
    """Push/pop (nested) and start/end ranges and marks; no file here has a range that was never closed."""
    query = """
        select start, coalesce("end", iif(eventType = 34, start, null)), globalTid, coalesce(text, value), eventType in (59, 70)
        from NVTX_EVENTS left join StringIds on StringIds.id = textId where eventType in (34, 59, 60, 70, 71)
    """
    return database.execute(query).fetchall() if _list_columns(database, "NVTX_EVENTS") else []


def _read_kernels(database: sqlite3.Connection) -> Iterator[DeviceSlice]:
    columns = 'start, "end", deviceId, streamId, correlationId, value, gridX, gridY, gridZ, blockX, blockY, blockZ'
    for start, end, device, stream, correlation, name, *shape in _read_rows(
        database, "CUPTI_ACTIVITY_KIND_KERNEL", columns
    ):
        grid, block = tuple(shape[:3]), tuple(shape[3:])
        yield DeviceSlice("kernel", name, start, end - start, device, stream, correlation, None, grid, block)


def _read_copies(database: sqlite3.Connection) -> Iterator[DeviceSlice]:
    columns = 'start, "end", deviceId, streamId, correlationId, bytes, copyKind, srcKind, dstKind'
    for start, end, *where, size, kind, source, target in _read_rows(database, "CUPTI_ACTIVITY_KIND_MEMCPY", columns):
        places = "Unified" if kind in UNIFIED else f"{MEMORIES[source]} -> {MEMORIES[target]}"
        yield _make_transfer("memcpy", f"Memcpy {DIRECTIONS[kind]} ({places})", (start, end), where, size)


def _read_memsets(database: sqlite3.Connection) -> Iterator[DeviceSlice]:
    columns = 'start, "end", deviceId, streamId, correlationId, bytes, memKind'
    for start, end, *where, size, memory in _read_rows(database, "CUPTI_ACTIVITY_KIND_MEMSET", columns):
        yield _make_transfer("memset", f"Memset ({MEMORIES[memory]})", (start, end), where, size)


def _make_transfer(kind: str, name: str, interval: Interval, where: list[int], size: int) -> DeviceSlice:
    """Migrations of unified memory have no call: their correlation is 0."""
    (start, end), (device, stream, correlation) = interval, where
    return DeviceSlice(kind, name, start, end - start, device, stream, correlation or None, size, None, None)
