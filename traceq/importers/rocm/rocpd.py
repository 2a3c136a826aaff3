"""rocpd databases: rocprofiler-sdk's own SQLite (schema 3), which rocprofv3 writes since ROCm 7 and rocprof-sys on demand.

Names of tables end in a UUID, one for each process; files of several ranks that were merged have several. Regions are calls of a
thread, and their events say which dispatches and copies they caused (stack_id) and what a range of roctx is called (extdata).
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from traceq.importers.rocm.dispatches import (
    Agent,
    RowBuilder,
    Rows,
    build_gpu_row,
    count_blocks,
    describe_copy,
    kernel_name,
    range_of,
)
from traceq.importers.rows import batches_of, pseudonym_of
from traceq.importers.sqlite import fetch_batches, quote_name

Tables = Mapping[str, set[str]]

_ID = re.compile(r"rocpd_(?:kernel_dispatch|region|memory_copy|info_agent)((?:_[0-9a-f]{8}.*)?)")

# Tables of which nothing is made, and whose rows are counted.
_OTHERS = ("memory_allocate", "pmc_event", "sample", "event_operation")

# (rank, world size) as launchers announce them; nothing else of the environment is looked at.
_RANK_VARIABLES = (
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)

_CALLS = {"HIP": "hip", "HSA": "hsa", "ROCDECODE": "rocdecode", "ROCJPEG": "rocjpeg"}


def read(connection: sqlite3.Connection, tables: Tables, builder: RowBuilder) -> Rows:
    """Yield (table, batch) for all processes in a rocpd database; `tables` are the columns by table."""
    suffixes = sorted({match[1] for name in tables if (match := _ID.fullmatch(name))})
    found = [_RocpdProcess(connection, tables, builder, suffix) for suffix in suffixes]
    devices = _number_devices(found, builder)
    for process in found:
        yield from process.read(devices)
    yield from batches_of("trace", [_trace_row(found)])


class _RocpdProcess:
    """One process of a rocpd database: the tables with the same suffix, and what they say of its threads, agents and kernels."""

    def __init__(self, connection: sqlite3.Connection, tables: Tables, builder: RowBuilder, suffix: str) -> None:
        self._connection = connection
        self._tables = tables
        self._builder = builder
        self._suffix = suffix
        self.node = dict(self.fetch_rows("info_node", "id", "hostname"))
        self._strings = {number: str(text) for number, text in self.fetch_rows("string", "id", "string")}
        self._threads = {number: (pid, tid) for number, pid, tid in self.fetch_rows("info_thread", "id", "pid", "tid")}
        self._pids = dict(self.fetch_rows("info_process", "id", "pid"))
        for pid, command in self.fetch_rows("info_process", "pid", "command"):
            builder.name_program(pid, str(command).split(" ", 1)[0] if command else None)
        self._symbols = {
            number: (str(name or mangled or ""), _sum_registers(vectors, accumulators))
            for number, name, mangled, vectors, accumulators in self.fetch_rows(
                "info_kernel_symbol", "id", "display_name", "kernel_name", "arch_vgpr_count", "accum_vgpr_count"
            )
        }

    def fetch_rows(self, table: str, *columns: str) -> Iterator[tuple[Any, ...]]:
        """Yield these columns of the process's table rocpd_TABLE, a tuple per row.

        NULL for a column, nothing for a table that it lacks.
        """
        name = f"rocpd_{table}{self._suffix}"
        have = self._tables.get(name, set())
        if have:
            picked = ", ".join(quote_name(column) if column in have else "null" for column in columns)
            yield from self._connection.execute(f"select {picked} from {quote_name(name)} order by rowid")  # noqa: S608

    def list_gpus(self) -> list[tuple[Any, ...]]:
        """Return (node, index among the GPUs of the node, id of the agent, Agent) of each GPU."""
        wanted = ("nid", "type_index", "id", "type", "name", "product_name", "extdata")
        return [
            (node, index, number, _decode_agent(extra, name, product))
            for node, index, number, kind, name, product, extra in self.fetch_rows("info_agent", *wanted)
            if kind == "GPU"
        ]

    def find_ranks(self) -> tuple[int | None, int | None]:
        """Return (rank, world size) from variables of the process's environment; (None, None) where they are not set."""
        for (text,) in self.fetch_rows("info_process", "environment"):
            environment = _json_object(text)
            for names in _RANK_VARIABLES:
                rank, size = (str(environment.get(name, "")) for name in names)
                if re.fullmatch("[0-9]{1,7}", rank) and re.fullmatch("[0-9]{1,7}", size):
                    return int(rank), int(size)
        return None, None

    def read(self, devices: Mapping[tuple[Any, Any], int]) -> Rows:
        """Yield (table, batch) of the process's kernels, copies, calls, ranges.

        `devices` are device numbers by (node, id of agent). Counts records of other kinds in a note.
        """
        axes = tuple(f"{size}_size_{axis}" for size in ("grid", "workgroup") for axis in "xyz")
        wanted = ("nid", "pid", "agent_id", "kernel_id", "stream_id", "group_segment_size", *axes)
        for rows in self._read_timed("kernel_dispatch", *wanted):
            yield from self._builder.build_batches("kernel", [self._kernel_row(devices, row) for row in rows])
        wanted = ("nid", "pid", "src_agent_id", "dst_agent_id", "name_id", "stream_id", "size")
        for rows in self._read_timed("memory_copy", *wanted):
            yield from self._builder.build_batches("memcpy", [self._copy_row(devices, row) for row in rows])
        for rows in self._read_timed("region", "tid", "name_id"):
            yield from self._build_regions(rows)
        for table in _OTHERS:
            name = f"rocpd_{table}{self._suffix}"
            if name in self._tables:
                (count,) = self._connection.execute(f"select count(*) from {quote_name(name)}").fetchone()  # noqa: S608
                text = f"rows of rocpd_{table} were left out: traceq has no place for them yet"
                self._builder.notes["data_loss", "records_not_imported", text] += count

    def _read_timed(self, table: str, *columns: str) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the rows of a table in portions of some thousand; nothing for a table without start and end.

        A row is (start, end, the event's stack_id, category_id and extdata, then `columns`); NULL for what the file
        lacks.
        """
        name, events = f"rocpd_{table}{self._suffix}", f"rocpd_event{self._suffix}"
        have = self._tables.get(name, set())
        if not {"start", "end"} <= have:
            return
        of_event = ("stack_id", "category_id", "extdata")
        is_told = "event_id" in have and {"id", *of_event} <= self._tables.get(events, set())
        event = [f"e.{column}" if is_told else "null" for column in of_event]
        own = [f"r.{quote_name(column)}" if column in have else "null" for column in columns]
        join = f"left join {quote_name(events)} as e on e.id = r.event_id" if is_told else ""
        query = f'select r."start", r."end", {", ".join([*event, *own])} from {quote_name(name)} as r {join} order by r.rowid'  # noqa: S608
        yield from fetch_batches(self._connection, query)

    def _kernel_row(self, devices: Mapping[tuple[Any, Any], int], row: Sequence[Any]) -> tuple[Any, ...]:
        start, end, stack, _, _, node, pid, agent, kernel, stream, shared, *sizes = row
        name, registers = self._symbols.get(kernel, (None, None))
        place = (
            devices.get((node, agent), -1),
            stream,
            kernel_name(name, kernel),
            self._pids.get(pid, pid),
            stack or None,
        )
        return start, end, *place, *count_blocks(sizes[:3], sizes[3:]), registers, shared

    def _copy_row(self, devices: Mapping[tuple[Any, Any], int], row: Sequence[Any]) -> tuple[Any, ...]:
        start, end, stack, _, _, node, pid, source, target, name, stream, size = row
        source, target = (devices.get((node, agent)) for agent in (source, target))
        called, *told = describe_copy(self._strings.get(name, "copy"), source, target)
        number = next((device for device in (target, source) if device is not None), -1)
        return start, end, number, stream, called, self._pids.get(pid, pid), stack or None, *told, source, target, size

    def _build_regions(self, rows: Sequence[Sequence[Any]]) -> Rows:
        """Yield (table, batch) of regions: API calls, roctx and RCCL ranges, and others, told by the category of their event.

        A row is one of _read_timed(), with the thread and the name's id.
        """
        calls, ranges, others = [], [], []
        for start, end, stack, category, extra, thread, name in rows:
            group = self._strings.get(category, "")
            called = self._strings.get(name, f"region {name}")
            pid, tid = self._threads.get(thread, (None, thread))
            number = self._builder.number_thread(self._pids.get(pid, pid), tid)
            if group.startswith("MARKER"):
                message = _json_object(extra).get("message")
                row = range_of(called, str(message) if message else None, (start, end), number)
                ranges += [row] if row else []
            elif group.startswith("RCCL"):
                ranges.append((start, end, number, "rccl", called, False))
            elif (api := _CALLS.get(group.partition("_")[0])) is not None:
                calls.append((start, end, number, api, called, stack or None))
            else:
                others.append((start, end, number, "other", group or None, called))
        for kind, found in (("call", calls), ("range", ranges), ("other", others)):
            yield from self._builder.build_batches(kind, found)


def _decode_agent(extra: object, name: object, product: object) -> Agent:
    """Return the Agent of a row of info_agent; `extra` is rocprofiler-sdk's JSON of it, which may be missing or damaged."""
    try:
        agent = msgspec.json.decode(str(extra), type=Agent)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        agent = Agent()
    agent.name, agent.product_name = str(name or ""), str(product or "")
    return agent


def _number_devices(processes: Sequence[_RocpdProcess], builder: RowBuilder) -> dict[tuple[Any, Any], int]:
    """Return device numbers by (node, id of agent), and add each GPU to the builder's devices.

    A device has the GPU's index on its node if all are on one node; else the GPUs are counted over all nodes.
    """
    agents = [agent for process in processes for agent in process.list_gpus()]
    places = sorted({(node, index) for node, index, _, _ in agents}, key=str)
    is_one = len({node for node, _ in places}) == 1
    numbers = {
        place: place[1] if is_one and isinstance(place[1], int) else number for number, place in enumerate(places)
    }
    for node, index, _, about in agents:
        builder.devices.setdefault(numbers[node, index], build_gpu_row(numbers[node, index], about))
    return {(node, number): numbers[node, index] for node, index, number, _ in agents}


def _trace_row(processes: Sequence[_RocpdProcess]) -> dict[str, Any]:
    """Return the row of table trace.

    The machine's name becomes a pseudonym, rank and world size are those of a single process.
    """
    hosts = sorted({str(host) for process in processes for host in process.node.values() if host})
    rank, size = processes[0].find_ranks() if len(processes) == 1 else (None, None)
    return {
        "producer": "rocprofiler-sdk",
        "host": pseudonym_of(hosts[0]) if len(hosts) == 1 else None,
        "rank": rank,
        "world_size": size,
    }


def _sum_registers(*counts: object) -> object:
    """Return the sum of a kernel's registers, None for none; a count that is no number as it is."""
    odd = next((count for count in counts if count is not None and not isinstance(count, int)), None)
    return sum(count for count in counts if isinstance(count, int)) or None if odd is None else odd


def _json_object(text: object) -> dict[str, Any]:
    """Return the members of a JSON object, by name; empty if the text is not a JSON object."""
    try:
        found = json.loads(str(text)) if text else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
