"""NVTX ranges and marks.

One table holds several kinds of rows, separated by eventType: ranges (pushed and popped on one thread; or started and
ended, perhaps on different threads), marks, and the names of domains, categories and threads.
"""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.compute as pc

from traceq.importers.nsys.columns import durations, json_objects, looked_up, without
from traceq.importers.nsys.context import Job, Rows, batch_of
from traceq.importers.nsys.operators import ranges
from traceq.importers.nsys.payload import Payloads
from traceq.importers.nsys.strings import decoded
from traceq.importers.nsys.threads import pid_of

TABLE = "NVTX_EVENTS"
TABLES = (TABLE,)

_CATEGORY, _THREAD_NAME, _DOMAIN, _DOMAIN_END = 33, 39, 75, 76
_MARKS = (34, 65)
_PUSH_POP = (59, 70)
_START_END = (60, 71)
_DESCRIPTIONS = (_CATEGORY, _THREAD_NAME, _DOMAIN, _DOMAIN_END)
_SLICES = (*_MARKS, *_PUSH_POP, *_START_END)

_COLUMNS = (
    *("start", "end", "eventType", "globalTid", "endGlobalTid", "textId"),
    *("domainId", "category", "jsonTextId"),
)
_TEXTS = ("text", "jsonText")
_BINARY = "binaryData"
_TID_MASK = 0xFFFFFF
_INTEGER_PAYLOADS = ("uint64Value", "int64Value", "uint32Value", "int32Value")
_REAL_PAYLOADS = ("doubleValue", "floatValue")
# All columns: those that are NULL throughout are told by one look at the whole table, the largest of most exports.
SEARCHED = (*_COLUMNS, *_TEXTS, _BINARY, *_INTEGER_PAYLOADS, *_REAL_PAYLOADS)
_LARGEST_REAL = 1.7976931348623157e308


def read_nvtx(job: Job) -> Rows:
    """Rows of cpu_slice for all ranges and marks, of collective for NCCL's. Read last: open ranges end where the trace ends."""
    reader, payloads = _Nvtx(job), Payloads(job)
    computed = {"payload": _payload_expression(job)}
    for rows in job.timed(TABLE, _COLUMNS, keep=reader.slices_of, texts=(*_TEXTS, _BINARY), computed=computed):
        texts = reader.json_payloads(rows)
        made = reader.slices(rows, texts)
        payloads.add(rows, made, texts)
        yield "cpu_slice", made
    job.members = payloads.members()
    yield from payloads.collectives()


def _payload_expression(job: Job) -> str | None:
    """SQL for the payload value of a row as JSON, '' for none; None when no row has any. At most one of the columns is set."""
    have = job.source.columns(TABLE)
    used = job.source.used(TABLE, SEARCHED)
    whens = []
    for column in (*_INTEGER_PAYLOADS, *_REAL_PAYLOADS):
        if column not in used:
            continue
        # Exports of 2019 declare all columns NOT NULL and write 0 for "none".
        present = f'"{column}" <> 0' if have[column] else f'"{column}" is not null'
        # SQLite stores unsigned numbers as signed ones; %u undoes that.
        value = f"""printf('{"%u" if column == "uint64Value" else "%d"}', "{column}")"""
        if column in _REAL_PAYLOADS:
            # JSON knows no infinity.
            real = f'cast("{column}" as real)'
            value = f"case when abs({real}) <= {_LARGEST_REAL} then cast({real} as text) else 'null' end"
        whens.append(f"when {present} then {value}")
    return f"case {' '.join(whens)} else '' end" if whens else None


class _Nvtx:
    """Names found on the way, and how to make slices of rows."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._domains: dict[tuple[int, int], str] = {}
        self._categories: dict[tuple[int, int, int], str] = {}
        self._trace_end: int | None = None
        self._read_descriptions()

    def _read_descriptions(self) -> None:
        """Domains and categories first: a name may be given after the first range that uses it."""
        job = self._job
        if "eventType" not in job.source.columns(TABLE):
            return
        columns = ("eventType", "globalTid", "domainId", "category", "textId", "text")
        kinds = ", ".join(str(kind) for kind in _DESCRIPTIONS)
        for row in job.source.rows(TABLE, columns, f'"eventType" in ({kinds})'):
            kind, global_tid, domain, category, text_id, text = row
            name = str(text) if text else job.strings.one(text_id)
            self._describe(kind, global_tid, (domain or 0, category or 0), name)

    def _describe(self, kind: object, global_tid: object, numbers: tuple[object, object], name: str | None) -> None:
        domain, category = numbers
        if name is None or not isinstance(domain, int) or not isinstance(category, int):
            return
        thread = global_tid if isinstance(global_tid, int) else 0
        if kind == _DOMAIN:
            self._domains[pid_of(thread), domain] = name
        elif kind == _CATEGORY:
            self._categories[pid_of(thread), domain, category] = name
        elif kind == _THREAD_NAME:
            self._job.threads.name(thread, name)

    def slices_of(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that are ranges or marks; others are descriptions, or unknown and counted."""
        kinds = batch.column("eventType")
        wanted = pc.is_in(kinds, value_set=pa.array(_SLICES, pa.int64()))
        if pc.all(wanted).as_py():
            return batch
        unknown = pc.invert(pc.is_in(kinds, value_set=pa.array((*_SLICES, *_DESCRIPTIONS), pa.int64())))
        self._job.notes.data_loss(
            "nvtx_kind_unknown",
            pc.sum(unknown).as_py() or 0,
            f"Rows of {TABLE} with an eventType traceq does not know; they are left out.",
        )
        return batch.filter(wanted)

    def slices(self, rows: pa.RecordBatch, payloads: pa.Array) -> pa.RecordBatch:
        """Slices of ranges and marks; `payloads` are their extended payloads."""
        job = self._job
        starts, ends = rows.column("start"), self._ends(rows)
        lengths = durations(starts, ends, TABLE, job.notes)
        job.seen(starts, lengths)
        domains = looked_up(self._domains.get, _processes(rows), rows.column("domainId")) if self._domains else None
        is_nested = pc.is_in(rows.column("eventType"), value_set=pa.array(_PUSH_POP, pa.int64()))
        named = ranges(self._names(rows), is_nested)
        return batch_of(
            {
                "slice_id": job.ids(rows.num_rows),
                "thread_id": job.threads.numbers(rows.column("globalTid")),
                "kind": named.kinds,
                "category": domains,
                "name": named.names,
                "ts": starts,
                "dur": lengths,
                "is_async": pc.is_in(rows.column("eventType"), value_set=pa.array(_START_END, pa.int64())),
                "args": self._args(rows, domains, {"json": payloads, **named.args}),
            }
        )

    def _ends(self, rows: pa.RecordBatch) -> pa.Array:
        """Ends of the rows: a mark ends where it starts, an open range where the trace does."""
        starts, ends = rows.column("start"), rows.column("end")
        marks = pc.is_in(rows.column("eventType"), value_set=pa.array(_MARKS, pa.int64()))
        if self._job.source.columns(TABLE).get("end"):
            # Declared NOT NULL, as in 2019: "none" is 0 there.
            ends = without(ends, 0)
        ends = pc.if_else(marks, starts, ends)
        if ends.null_count == 0:
            return ends
        self._job.notes.info(
            "unclosed_range",
            ends.null_count,
            "NVTX ranges that were never closed; they are taken to end with the trace.",
        )
        return pc.if_else(ends.is_null(), pc.max_element_wise(starts, self._end_of_trace()), ends)

    def _end_of_trace(self) -> pa.Scalar:
        if self._trace_end is None:
            # Numbers only: a column may hold text, and the name of one that is not there is text to SQLite.
            last = self._job.source.scalar(
                TABLE, 'max(max(coalesce(cast("end" as integer), 0), cast("start" as integer)))'
            )
            self._trace_end = max(one for one in (last, self._job.end, 0) if one is not None)
        return pa.scalar(self._trace_end, pa.int64())

    def _names(self, rows: pa.RecordBatch) -> pa.Array:
        """`text`, or the registered string `textId` refers to."""
        job = self._job
        raw = rows.column("text")
        empty = pc.equal(pc.binary_length(raw), 0)
        if pc.all(empty).as_py():
            return job.strings.names(rows.column("textId"))
        texts = decoded(raw, job.notes)
        if not pc.any(empty).as_py():
            return texts
        # Rows with a text of their own are not looked up, so that they do not count as missing.
        registered = job.strings.names(rows.column("textId").filter(empty)).cast(pa.string())
        return pc.replace_with_mask(texts, empty, registered)

    def _args(
        self, rows: pa.RecordBatch, named_domains: pa.Array | None, others: dict[str, pa.Array]
    ) -> pa.Array | None:
        domains, categories = rows.column("domainId"), without(rows.column("category"), 0)
        if self._categories:
            names = {key: json.dumps(name) for key, name in self._categories.items()}
            named = looked_up(names.get, _processes(rows), domains, rows.column("category"))
            categories = _either(named, categories)
        end_tids = rows.column("endGlobalTid")
        moved = pc.and_(pc.not_equal(end_tids, rows.column("globalTid")), pc.not_equal(end_tids, 0))
        if named_domains is not None:
            domains = pc.if_else(named_domains.is_valid(), pa.scalar(None, pa.int64()), domains)
        members = {
            "domain_id": without(domains, 0),
            "category": categories,
            "end_tid": pc.if_else(moved, pc.bit_wise_and(end_tids, _TID_MASK), pa.scalar(None, pa.int64())),
            "payload": _present(rows.column("payload").cast(pa.string())),
            **others,
        }
        return json_objects(members)

    def json_payloads(self, rows: pa.RecordBatch) -> pa.Array:
        """Extended payloads, as JSON values; text that is no JSON becomes a JSON string."""
        own = _present(decoded(rows.column("jsonText"), self._job.notes))
        registered = self._job.strings.optional(without(rows.column("jsonTextId"), 0))
        texts = own if registered.null_count == len(registered) else _either(own, registered)
        if texts.null_count == len(texts):
            return texts
        encoded = texts.dictionary_encode()
        values = pa.array([_json_value(text) for text in encoded.dictionary.to_pylist()], pa.string())
        return values.take(encoded.indices)


def _processes(rows: pa.RecordBatch) -> pa.Array:
    return pc.bit_wise_and(pc.shift_right(rows.column("globalTid").fill_null(0), 24), _TID_MASK)


def _either(first: pa.Array, second: pa.Array) -> pa.Array:
    return pc.coalesce(first.cast(pa.string()), second.cast(pa.string()))


def _present(texts: pa.Array) -> pa.Array:
    """The texts with empty ones as NULL."""
    empty = pc.equal(pc.binary_length(texts), 0)
    return pc.if_else(empty, pa.scalar(None, pa.string()), texts)


def _json_value(text: str) -> str:
    try:
        return json.dumps(json.loads(text, parse_constant=str), separators=(",", ":"))
    except (ValueError, RecursionError):
        return json.dumps(text)
