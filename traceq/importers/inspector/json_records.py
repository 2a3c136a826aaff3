"""JSON of the Inspector plugins of NCCL and RCCL: one object per operation of one rank of a communicator, mostly one a line.

`header` is the communicator (a hash, the same on all its ranks, and the rank in it), `metadata` the process and when the
record was written, `coll_perf` or `p2p_perf` the operation; `dump_stats` counts what the plugin had to drop. Sizes are of
one rank's message, times are whole microseconds. A verbose log has the times of callbacks as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pa_json

from traceq.errors import UnusableTrace
from traceq.importers.inspector.reading import RECORD_SCHEMA, keep_possible, make_record_batch, open_packed
from traceq.importers.rows import Notes

TOOL = "the Inspector plugin"

_PERFORMANCE = re.compile(r'"(coll_perf|p2p_perf|dump_stats)"\s*:')
_BLOCK = 16 << 20
# Of a block, as much is parsed by each thread.
_PARSED = 4 << 20
# A longer line is no record; a longer file of records over several lines is not read at once.
_LONGEST_LINE = 64 << 20
_LARGEST_INDENTED = 256 << 20

_TEXT, _NUMBER, _REAL = pa.string(), pa.int64(), pa.float64()


def _operation_type(prefix: str, *others: tuple[str, pa.DataType]) -> pa.DataType:
    """Return the Arrow type of coll_perf ("coll") or p2p_perf ("p2p"): its fields that are read, with `others`."""
    kernels = pa.list_(pa.struct([("kernel_start_ts", _NUMBER)]))
    return pa.struct(
        [
            (prefix, _TEXT),
            (f"{prefix}_sn", _NUMBER),
            (f"{prefix}_msg_size_bytes", _NUMBER),
            (f"{prefix}_exec_time_us", _NUMBER),
            (f"{prefix}_timing_source", _TEXT),
            (f"{prefix}_algobw_gbs", _REAL),
            (f"{prefix}_busbw_gbs", _REAL),
            ("event_trace_ts", pa.struct([(f"{prefix}_start_ts", _NUMBER), ("kernel_events", kernels)])),
            *others,
        ]
    )


_SCHEMA = pa.schema(
    [
        (
            "header",
            pa.struct(
                [("id", _TEXT), ("comm_name", _TEXT), ("rank", _NUMBER), ("n_ranks", _NUMBER), ("nnodes", _NUMBER)]
            ),
        ),
        ("metadata", pa.struct([("dump_timestamp_us", _NUMBER), ("hostname", _TEXT), ("pid", _NUMBER)])),
        ("coll_perf", _operation_type("coll", ("coll_algo", _TEXT), ("coll_proto", _TEXT))),
        ("p2p_perf", _operation_type("p2p", ("p2p_peer", _NUMBER))),
        ("dump_stats", pa.struct([("coll_dropped_total", _NUMBER), ("p2p_dropped_total", _NUMBER)])),
    ]
)
_PARSE = pa_json.ParseOptions(explicit_schema=_SCHEMA, unexpected_field_behavior="ignore")


def has_records(head: str) -> bool:
    """Return whether the text holds an object with a header and what an operation did."""
    return head.lstrip().startswith("{") and '"header"' in head and _PERFORMANCE.search(head) is not None


def read_rows(path: Path, file: int, notes: Notes) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield batches of inspected_record; what cannot be read is left out and counted in `notes`.

    Raises UnusableTrace for lines longer than any record.
    """
    reader = _BlockReader(file, notes)
    with open_packed(path) as stream:
        for block in _split_blocks(stream, path):
            for batch in reader.read_block(block):
                yield "inspected_record", batch
    reader.note_dropped()


def _split_blocks(stream: IO[bytes], path: Path) -> Iterator[bytes]:
    """Yield the stream in blocks that end at the end of a line, of about 16 MiB; a file of indented objects as one block.

    Raises UnusableTrace where a line is longer than any record, or a file of indented objects too large.
    """
    rest = stream.read(_BLOCK)
    if rest.lstrip()[:64].splitlines()[:1] == [b"{"]:
        rest += stream.read(_LARGEST_INDENTED)
        if len(rest) > _LARGEST_INDENTED:
            raise UnusableTrace(
                f"{path}: records over several lines, more than 256 MiB; write one record a line (jq -c)"
            )
        yield rest
        return
    while block := stream.read(_BLOCK):
        whole, end, rest = (rest + block).rpartition(b"\n")
        if whole:
            yield whole + end
        if len(rest) > _LONGEST_LINE:
            raise UnusableTrace(f"{path}: a line of more than 64 MiB, which is no record; copy the file again")
    yield rest


class _BlockReader:
    """Reads the blocks of one file, and adds up what the plugin says that it dropped."""

    def __init__(self, file: int, notes: Notes) -> None:
        self._file = file
        self._notes = notes
        self._dropped: dict[tuple[Any, Any], tuple[int, int]] = {}

    def read_block(self, block: bytes) -> Iterator[pa.RecordBatch]:
        """Yield the operations in a block of whole lines: by Arrow, else object by object where one is damaged."""
        if not block.strip():
            return
        try:
            table = pa_json.read_json(
                pa.BufferReader(block), read_options=pa_json.ReadOptions(block_size=_PARSED), parse_options=_PARSE
            )
        except pa.ArrowInvalid:
            yield from self._keep_possible(make_record_batch(list(self._decode_rows(block))))
            return
        for rows in table.combine_chunks().to_batches():
            self._count_drops(rows.column("header"), rows.column("dump_stats"))
            for prefix in ("coll", "p2p"):
                has_operation = rows.column(f"{prefix}_perf").is_valid()
                yield from self._keep_possible(self._flatten_rows(rows.filter(has_operation), prefix))

    def _keep_possible(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Yield those rows that can be true, if there are any; the others are counted."""
        kept, lost = keep_possible(rows)
        self._count_damage(lost)
        if kept.num_rows:
            yield kept

    def _count_damage(self, count: int) -> None:
        self._notes.data_loss(
            "inspector_damaged", count, "Records of collectives that are cut or damaged; they are left out."
        )

    def _flatten_rows(self, rows: pa.RecordBatch, prefix: str) -> pa.RecordBatch:
        """Return parsed records whose operation is in PREFIX_perf as rows of inspected_record."""
        header, metadata, operation = (rows.column(name) for name in ("header", "metadata", f"{prefix}_perf"))
        begin, source = _find_times(operation, pc.struct_field(metadata, "dump_timestamp_us"), prefix)
        found = {
            "file": pa.array(np.full(rows.num_rows, self._file, np.int32)),
            "host": pc.struct_field(metadata, "hostname"),
            "pid": pc.struct_field(metadata, "pid"),
            "communicator": pc.struct_field(header, "id"),
            "communicator_name": pc.struct_field(header, "comm_name"),
            "communicator_rank": pc.struct_field(header, "rank"),
            "group_size": pc.struct_field(header, "n_ranks"),
            "nodes": pc.struct_field(header, "nnodes"),
            "op": pc.struct_field(operation, prefix),
            "sequence": pc.struct_field(operation, f"{prefix}_sn"),
            "message_bytes": pc.struct_field(operation, f"{prefix}_msg_size_bytes"),
            "dur": _to_ns(pc.struct_field(operation, f"{prefix}_exec_time_us")),
            "timing": pc.struct_field(operation, f"{prefix}_timing_source"),
            "said_algorithm_bandwidth": pc.struct_field(operation, f"{prefix}_algobw_gbs"),
            "said_bus_bandwidth": pc.struct_field(operation, f"{prefix}_busbw_gbs"),
            "utc_ns": begin,
            "utc_source": source,
        }
        if prefix == "coll":
            found |= {
                "algorithm": pc.struct_field(operation, "coll_algo"),
                "protocol": pc.struct_field(operation, "coll_proto"),
            }
        else:
            found["peer"] = pc.struct_field(operation, "p2p_peer")
        columns = [
            _narrow_numbers(found[field.name], field.type)
            if field.name in found
            else pa.nulls(rows.num_rows, field.type)
            for field in RECORD_SCHEMA
        ]
        return pa.RecordBatch.from_arrays(columns, schema=RECORD_SCHEMA)

    def _count_drops(self, header: pa.StructArray, stats: pa.StructArray) -> None:
        """Keep the largest totals of dropped operations that each communicator reported."""
        said = stats.is_valid()
        for of, totals in zip(header.filter(said).to_pylist(), stats.filter(said).to_pylist(), strict=True):
            self._add_drops(of or {}, totals)

    def _add_drops(self, header: dict[str, Any], stats: dict[str, Any]) -> None:
        """Keep the largest totals of dropped operations of one communicator."""
        key = (str(header.get("id")), str(header.get("rank")))
        totals = [stats.get(f"{kind}_dropped_total") for kind in ("coll", "p2p")]
        new = [total if isinstance(total, int) and 0 <= total < 1 << 62 else 0 for total in totals]
        old = self._dropped.get(key, (0, 0))
        self._dropped[key] = (max(old[0], new[0]), max(old[1], new[1]))

    def note_dropped(self) -> None:
        """Add a note with the number of operations that the plugin dropped, as it says itself."""
        total = min(sum(map(sum, self._dropped.values())), (1 << 62) - 1)
        text = (
            "Operations that the Inspector dropped because it was not asked for its records in time; a shorter"
            " NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS, or a larger NCCL_INSPECTOR_DUMP_COLL_RING_SIZE, keeps them."
        )
        self._notes.data_loss("inspector_dropped", total, text)

    def _decode_rows(self, block: bytes) -> Iterator[dict[str, Any]]:
        """Yield the operations of a block as dicts of the columns of inspected_record, found one by one; count the damaged."""
        objects = _Objects(block.decode("utf-8", "replace"))
        for found in objects:
            header, metadata = (_as_dict(found.get(name)) for name in ("header", "metadata"))
            if isinstance(stats := found.get("dump_stats"), dict):
                self._add_drops(header, stats)
            for prefix in ("coll", "p2p"):
                if f"{prefix}_perf" in found:
                    yield self._make_row(header, metadata, _as_dict(found[f"{prefix}_perf"]), prefix)
        self._count_damage(objects.damaged)

    def _make_row(
        self, header: dict[str, Any], metadata: dict[str, Any], operation: dict[str, Any], prefix: str
    ) -> dict[str, Any]:
        """Return one decoded record as a row of inspected_record."""
        times = _as_dict(operation.get("event_trace_ts"))
        events = times.get("kernel_events")
        kernel = _as_dict(events[0]).get("kernel_start_ts") if isinstance(events, list) and events else None
        candidates = {
            "kernel": kernel, "operation": times.get(f"{prefix}_start_ts"), "dump": metadata.get("dump_timestamp_us"),
        }  # fmt: skip
        source, begin = next(((name, time) for name, time in candidates.items() if _is_count(time) and time), (None, 0))
        duration = operation.get(f"{prefix}_exec_time_us")
        return {
            "file": self._file,
            "host": metadata.get("hostname"),
            "pid": metadata.get("pid"),
            "communicator": header.get("id"),
            "communicator_name": header.get("comm_name"),
            "communicator_rank": header.get("rank"),
            "group_size": header.get("n_ranks"),
            "nodes": header.get("nnodes"),
            "op": operation.get(prefix),
            "sequence": operation.get(f"{prefix}_sn"),
            "peer": operation.get("p2p_peer"),
            "message_bytes": operation.get(f"{prefix}_msg_size_bytes"),
            "dur": duration * 1000 if isinstance(duration, int) and _is_count(duration) else None,
            "timing": operation.get(f"{prefix}_timing_source"),
            "algorithm": operation.get("coll_algo"),
            "protocol": operation.get("coll_proto"),
            "said_algorithm_bandwidth": operation.get(f"{prefix}_algobw_gbs"),
            "said_bus_bandwidth": operation.get(f"{prefix}_busbw_gbs"),
            "utc_ns": begin * 1000 if source else None,
            "utc_source": source,
        }


class _Objects(Iterable[dict[str, Any]]):
    """Iterates over the JSON objects in a text, whatever lies between them; `damaged` counts what looked like one."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.damaged = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        decoder = json.JSONDecoder()
        text, place = self._text, self._text.find("{")
        while place >= 0:
            try:
                found, end = decoder.raw_decode(text, place)
            except (ValueError, RecursionError):
                self.damaged += 1
                # the next record begins a line, or follows in the same
                starts = [text.find(sign, place + 1) for sign in ("\n{", '{"header"')]
                place = min((start for start in starts if start >= 0), default=-1)
                place = text.find("{", place) if place >= 0 else -1
                continue
            if isinstance(found, dict):
                yield found
            place = text.find("{", end)


def _as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_count(value: Any) -> bool:
    """Return whether the value is a whole number from 0 that fits 64 bits when it is made nanoseconds."""
    return type(value) is int and 0 <= value < 1 << 53


def _to_ns(micros: pa.Array) -> pa.Array:
    """Return microseconds as ns; what would not fit 64 bits becomes negative, and so is left out."""
    is_possible = pc.and_(pc.greater_equal(micros, 0), pc.less(micros, 1 << 53))
    return pc.if_else(is_possible, pc.multiply(micros, 1000), -1)


def _narrow_numbers(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return whole numbers as a narrower column; those that do not fit become -1, and so are left out."""
    if values.type == kind or not pa.types.is_integer(kind):
        return values
    limit = 1 << (kind.bit_width - 1)
    return pc.if_else(pc.and_(pc.greater_equal(values, 0), pc.less(values, limit)), values, -1).cast(kind)


def _find_times(operation: pa.StructArray, dumped: pa.Array, prefix: str) -> tuple[pa.Array, pa.Array]:
    """Return when each operation began (ns since 1970), and whose time that is: kernel, operation or dump.

    Without a verbose log only the time of the record is known (`dumped`, in us), which is after the end.
    """
    times = pc.struct_field(operation, "event_trace_ts")
    if times.null_count == len(times):
        return _to_ns(dumped), pc.if_else(dumped.is_valid(), "dump", None)
    began = pc.struct_field(times, f"{prefix}_start_ts")
    kernel = _first_starts(pc.struct_field(times, "kernel_events"))
    known = [pc.if_else(pc.greater(column, 0), column, None) for column in (kernel, began)]
    source = pc.case_when(
        pc.make_struct(*(column.is_valid() for column in (*known, dumped))), "kernel", "operation", "dump"
    )
    return _to_ns(pc.coalesce(*known, dumped)), source


def _first_starts(events: pa.ListArray) -> pa.Array:
    """Return the start of the first kernel event of each operation, in us; NULL of operations without any."""
    has_any = pc.greater(pc.list_value_length(events), 0).fill_null(False)
    first = pc.list_element(events.filter(has_any), 0)
    place = pc.if_else(has_any, pc.subtract(pc.cumulative_sum(has_any.cast(pa.int64())), 1), None)
    return pc.struct_field(first, "kernel_start_ts").take(place)
