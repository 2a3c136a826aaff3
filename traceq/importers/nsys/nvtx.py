"""NVTX ranges and marks.

One table holds several kinds of rows, separated by eventType: ranges (pushed and popped on one thread; or started and
ended, perhaps on different threads), marks, and the names of domains, categories and threads.
"""

from __future__ import annotations

import json
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from traceq.importers.nsys.columns import build_json_objects, compute_durations, map_rows, null_if
from traceq.importers.nsys.context import ImportState, Rows, build_batch
from traceq.importers.nsys.payload import Payloads
from traceq.importers.nsys.strings import decode_text
from traceq.importers.rows import repeat_text

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


def read_nvtx(state: ImportState) -> Rows:
    """Yield batches of cpu_slice for all NVTX ranges and marks, then of collective for NCCL's ranges with a payload.

    Must run after the other readers: ranges never closed end with the latest end in `state`. Sets `state.members`.
    """
    reader, payloads = _RangeReader(state), Payloads(state)
    computed = {"payload": _payload_expression(state)}
    for rows in state.read_timed(TABLE, _COLUMNS, keep=reader.keep_ranges, texts=(*_TEXTS, _BINARY), computed=computed):
        texts = reader.read_json_payloads(rows)
        made = reader.build_slices(rows, texts)
        payloads.add(rows, made, texts)
        yield "cpu_slice", made
    state.members = payloads.find_members()
    yield from payloads.build_collectives()


def _payload_expression(state: ImportState) -> str | None:
    """Return SQL for a row's payload as JSON text ('' for none); None when no row of the table has any."""
    have = state.source.columns_of(TABLE, SEARCHED)
    used = state.source.filled_columns(TABLE, SEARCHED)
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


class _RangeReader:
    """Builder of slices from NVTX ranges and marks, which knows the names of domains and categories from the start."""

    def __init__(self, state: ImportState) -> None:
        self._state = state
        self._domains: dict[tuple[int, int], str] = {}
        self._categories: dict[tuple[int, int, int], str] = {}
        self._trace_end: int | None = None
        self._read_descriptions()

    def _read_descriptions(self) -> None:
        """Read the names of domains, categories and threads: a name may be given after the first range that uses it."""
        state = self._state
        if "eventType" not in state.source.columns_of(TABLE, SEARCHED):
            return
        columns = ("eventType", "globalTid", "domainId", "category", "textId", "text")
        kinds = ", ".join(str(kind) for kind in _DESCRIPTIONS)
        for row in state.source.fetch_rows(TABLE, columns, f'"eventType" in ({kinds})'):
            kind, global_tid, domain, category, text_id, text = row
            name = str(text) if text else state.strings.find_one(text_id)
            self._describe(kind, global_tid, (domain or 0, category or 0), name)

    def _describe(self, kind: object, global_tid: object, numbers: tuple[object, object], name: str | None) -> None:
        """Keep the name of a domain, category or thread, by `kind`; `numbers` are domain and category. Ignores bad rows."""
        domain, category = numbers
        if name is None or not isinstance(domain, int) or not isinstance(category, int):
            return
        thread = global_tid if isinstance(global_tid, int) else 0
        pid = self._state.processes.pid_of(thread)
        if kind == _DOMAIN:
            self._domains[pid, domain] = name
        elif kind == _CATEGORY:
            self._categories[pid, domain, category] = name
        elif kind == _THREAD_NAME:
            self._state.threads.name(thread, name)

    def keep_ranges(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows that are ranges or marks; rows of unknown kinds are counted in a data-loss note."""
        kinds = batch.column("eventType")
        wanted = pc.is_in(kinds, value_set=pa.array(_SLICES, pa.int64()))
        if pc.all(wanted).as_py():
            return batch
        unknown = pc.invert(pc.is_in(kinds, value_set=pa.array((*_SLICES, *_DESCRIPTIONS), pa.int64())))
        self._state.notes.data_loss(
            "nvtx_kind_unknown",
            pc.sum(unknown).as_py() or 0,
            f"Rows of {TABLE} with an eventType traceq does not know; they are left out.",
        )
        return batch.filter(wanted)

    def build_slices(self, rows: pa.RecordBatch, payloads: pa.Array) -> pa.RecordBatch:
        """Return rows of cpu_slice for rows that are ranges or marks; `payloads` are their extended payloads (JSON)."""
        state = self._state
        starts, ends = rows.column("start"), self._find_ends(rows)
        lengths = compute_durations(starts, ends, TABLE, state.notes)
        state.extend_end(starts, lengths)
        pids = state.processes.process_ids(rows.column("globalTid"))
        domains = map_rows(self._domains.get, pids, rows.column("domainId")) if self._domains else None
        is_nested = pc.is_in(rows.column("eventType"), value_set=pa.array(_PUSH_POP, pa.int64()))
        named = _classify_ranges(self._find_names(rows), is_nested)
        return build_batch(
            {
                "slice_id": state.take_ids(rows.num_rows),
                "thread_id": state.threads.thread_ids(rows.column("globalTid")),
                "kind": named.kinds,
                "category": domains,
                "name": named.names,
                "ts": starts,
                "dur": lengths,
                "is_async": pc.is_in(rows.column("eventType"), value_set=pa.array(_START_END, pa.int64())),
                "args": self._build_args(rows, pids, domains, {"json": payloads, **named.args}),
            }
        )

    def _find_ends(self, rows: pa.RecordBatch) -> pa.Array:
        """Return each row's end, ns: a mark ends at its start, a range never closed at the trace's end (noted)."""
        starts, ends = rows.column("start"), rows.column("end")
        marks = pc.is_in(rows.column("eventType"), value_set=pa.array(_MARKS, pa.int64()))
        if self._state.source.columns_of(TABLE).get("end"):
            # Declared NOT NULL, as in 2019: "none" is 0 there.
            ends = null_if(ends, 0)
        ends = pc.if_else(marks, starts, ends)
        if ends.null_count == 0:
            return ends
        self._state.notes.info(
            "unclosed_range",
            ends.null_count,
            "NVTX ranges that were never closed; they are taken to end with the trace.",
        )
        return pc.if_else(ends.is_null(), pc.max_element_wise(starts, self._end_of_trace()), ends)

    def _end_of_trace(self) -> pa.Scalar:
        """Return the latest time of any slice or NVTX row as an Arrow scalar, ns."""
        if self._trace_end is None:
            # Numbers only: a column may hold text, and the name of one that is not there is text to SQLite.
            last = self._state.source.fetch_scalar(
                TABLE, 'max(max(coalesce(cast("end" as integer), 0), cast("start" as integer)))'
            )
            self._trace_end = max(one for one in (last, self._state.end, 0) if one is not None)
        return pa.scalar(self._trace_end, pa.int64())

    def _find_names(self, rows: pa.RecordBatch) -> pa.Array:
        """Return each row's name: its own `text`, else the registered string of `textId`, else "unknown"."""
        state = self._state
        raw = rows.column("text")
        empty = pc.equal(pc.binary_length(raw), 0)
        if pc.all(empty).as_py():
            return state.strings.names_of(rows.column("textId"))
        texts = decode_text(raw, state.notes)
        if not pc.any(empty).as_py():
            return texts
        # Rows with a text of their own are not looked up, so that they do not count as missing.
        registered = state.strings.names_of(rows.column("textId").filter(empty)).cast(pa.string())
        return pc.replace_with_mask(texts, empty, registered)

    def _build_args(
        self, rows: pa.RecordBatch, pids: pa.Array, named_domains: pa.Array | None, others: dict[str, pa.Array]
    ) -> pa.Array | None:
        """Return the args of the slices as JSON objects; None when no row has any.

        Domain and category are named where they have names, else given by number; `others` are further members (JSON).
        """
        domains, categories = rows.column("domainId"), null_if(rows.column("category"), 0)
        if self._categories:
            names = {key: json.dumps(name) for key, name in self._categories.items()}
            named = map_rows(names.get, pids, domains, rows.column("category"))
            categories = _coalesce_texts(named, categories)
        end_tids = rows.column("endGlobalTid")
        moved = pc.and_(pc.not_equal(end_tids, rows.column("globalTid")), pc.not_equal(end_tids, 0))
        if named_domains is not None:
            domains = pc.if_else(named_domains.is_valid(), pa.scalar(None, pa.int64()), domains)
        members = {
            "domain_id": null_if(domains, 0),
            "category": categories,
            "end_tid": pc.if_else(moved, pc.bit_wise_and(end_tids, _TID_MASK), pa.scalar(None, pa.int64())),
            "payload": _null_if_empty(rows.column("payload").cast(pa.string())),
            **others,
        }
        return build_json_objects(members)

    def read_json_payloads(self, rows: pa.RecordBatch) -> pa.Array:
        """Return the rows' extended payloads as JSON text, NULL for none; text that is not JSON becomes a JSON string."""
        own = _null_if_empty(decode_text(rows.column("jsonText"), self._state.notes))
        registered = self._state.strings.names_or_null(null_if(rows.column("jsonTextId"), 0))
        texts = own if registered.null_count == len(registered) else _coalesce_texts(own, registered)
        if texts.null_count == len(texts):
            return texts
        encoded = texts.dictionary_encode()
        values = pa.array([_to_json(text) for text in encoded.dictionary.to_pylist()], pa.string())
        return values.take(encoded.indices)


def _coalesce_texts(first: pa.Array, second: pa.Array) -> pa.Array:
    """Return the first column as text, with NULLs filled from the second."""
    return pc.coalesce(first.cast(pa.string()), second.cast(pa.string()))


def _null_if_empty(texts: pa.Array) -> pa.Array:
    """Return the texts with NULL for empty ones."""
    empty = pc.equal(pc.binary_length(texts), 0)
    return pc.if_else(empty, pa.scalar(None, pa.string()), texts)


def _to_json(text: str) -> str:
    """Return the text as compact JSON if it is JSON, else as a JSON string."""
    try:
        return json.dumps(json.loads(text, parse_constant=str), separators=(",", ":"))
    except (ValueError, RecursionError):
        return json.dumps(text)


# Operators of PyTorch among NVTX ranges, as torch.autograd.profiler.emit_nvtx names them (torch/csrc/profiler/util.cpp,
# getNvtxStr): "NAME[, seq = N][, op_id = N][, sizes = [...]][, input_op_ids = [...]]"; op_id since PyTorch 1.9, "stashed seq=N"
# of backward functions before. Ranges of record_function are written so as well.
_PARTS = (
    r"(?s)^(?P<name>.+?)(?:,(?: stashed)? seq ?= ?(?P<seq>[0-9]+))?(?:, op_id = (?P<op_id>[0-9]+))?"
    r"(?:, sizes = (?P<sizes>\[[][, 0-9-]*\]))?(?:, input_op_ids = \[[(), 0-9]*\])?$"
)
# What only an operator is called, whether numbers stand behind it or not.
_CERTAIN = (
    r"^(aten|prim|c10d|torch::autograd)::[\w:.]+(,|$)|^autograd::engine::evaluate_function: "
    r"|^\w+Backward([0-9]+(,|$)|,(?: stashed)? seq)|^(record_param_comms|triton_(poi|red|per|for|tem)_\w+)(,|$)"
)
# With an op_id: operators of any library, and those of PyTorch and Triton that name none. Whatever has a sequence number is
# part of the graph of autograd. All other ranges with an op_id are record_function("...") of a program or library: annotations.
_LIBRARY = r"^[a-z_]\w*::[\w:.]+$|^detach_?$|^triton_\w+$"


class Ranges(NamedTuple):
    """Kinds of NVTX ranges, their names without PyTorch's numbers, and these numbers as JSON columns by member name."""

    kinds: pa.Array
    names: pa.Array
    args: dict[str, pa.Array]


def _classify_ranges(names: pa.Array, nested: pa.Array) -> Ranges:
    """Return the ranges' kinds ("op" or "annotation"), plain names, and args found in names, under Kineto's names.

    Operators of PyTorch (emit_nvtx) are told by their names; only `nested` ranges, pushed and popped on one thread,
    can be operators.
    """
    encoded = names if pa.types.is_dictionary(names.type) else names.dictionary_encode()
    values = encoded.dictionary
    certain = pc.match_substring_regex(values, _CERTAIN)
    if not pc.any(pc.or_(certain, pc.match_substring(values, ", op_id = "))).as_py():
        return Ranges(repeat_text("annotation", len(names)), names, {})
    parts = pc.extract_regex(values, _PARTS)
    name, seq, op_id, sizes = (_extract_part(parts, part) for part in ("name", "seq", "op_id", "sizes"))
    numbered = op_id.is_valid()
    known = pc.or_(pc.match_substring_regex(name, _LIBRARY), seq.is_valid())
    is_operator = pc.or_(certain, pc.and_(numbered, known))
    stripped = pc.or_(certain, numbered)
    rows = encoded.indices
    kinds = pc.if_else(pc.and_(is_operator.take(rows), nested), "op", "annotation")
    members = {"Sequence number": seq, "op_id": op_id, "Input Dims": sizes}
    nothing = pa.scalar(None, pa.string())
    return Ranges(
        kinds.dictionary_encode(),
        pc.if_else(stripped, name, values).take(rows),
        {key: pc.if_else(stripped, part, nothing).take(rows) for key, part in members.items()},
    )


def _extract_part(parts: pa.StructArray, part: str) -> pa.Array:
    """Return the part of this name of every range's name (see _PARTS), NULL where the name lacks it."""
    found = pc.struct_field(parts, part)
    return pc.if_else(pc.equal(found, ""), pa.scalar(None, pa.string()), found)
