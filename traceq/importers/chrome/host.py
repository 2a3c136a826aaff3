"""Rows of host activity: operators, annotations, calls, Python frames, instants, counters."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from traceq.importers.chrome import args
from traceq.importers.chrome.times import SEVEN_DAYS
from traceq.importers.rows import Batches, repeat_text

_Int64s = npt.NDArray[np.int64]

# Versions of API entry points (cudaLaunchKernel_v7000, cudaMemcpyAsync_ptsz) are not part of the call's name; the _v2 of
# cudaStreamGetCaptureInfo_v2 is.
_API_SUFFIX = re.compile(r"(_v\d{4,}|_ptsz|_ptds)+$")

_WINDOWS_FRAME = re.compile(r"[\\\x08\t\n\f\r].*\.pyw?\(\d+\): ", re.DOTALL)
_SLASHES = str.maketrans({"\\": "/", "\b": "/b", "\t": "/t", "\n": "/n", "\f": "/f", "\r": "/r"})

_MEMORY_INSTANT = "[memory]"

# traceq's own marks. The cheap way to make them in PyTorch writes them as operators.
_MARK = r"^traceq\.(step|phase|fetch|module|payload)#"


class _CounterSample(NamedTuple):
    """A row of counter; device None for the host, ts in ns."""

    device: int | None
    name: str
    unit: str | None
    ts: int
    value: float


# Phases of events that begin a range, and of those that are instants of one; all others end one. Capitals of S, T, F: older.
_BEGINS = frozenset("BbS")
_INSTANTS = frozenset("nT")
# Families of rows that are slices of the host.
_OF_HOST = frozenset({"op", "annotation", "runtime", "python", "overhead"})


class RangeEnd(NamedTuple):
    """One half of a range that is written as two events, to be joined over the whole file, or an asynchronous instant.

    `ts` is in ns, `args` is JSON, `kind` is the slice's kind, by its category. `key` joins the halves of an
    asynchronous range, which may end on another thread; None for B and E.
    """

    number: int
    phase: str
    thread_id: int
    name: str
    category: str | None
    ts: int
    args: bytes
    kind: str = "other"
    key: str | None = None


def build_batches(
    family: str,
    category: Any,
    events: Sequence[Any],
    ids: _Int64s,
    ts: _Int64s,
    dur: _Int64s,
    threads: list[int],
    notes: Counter[str],
) -> Batches:
    """Return the rows of cpu_slice for events of one family and category, decoded one by one.

    Operators of collectives also give rows of collective, instants of the allocator rows of counter. Slice ids, starts
    and durations (ns) and thread numbers are per event.
    """
    decoded = args.decode(args.HOST_COLUMNS, [event.args for event in events], notes)
    names = build_name_column(events)
    result: Batches = []
    if family == "runtime":
        plain = [_API_SUFFIX.sub("", name) for name in names.dictionary.to_pylist()]
        names = pa.DictionaryArray.from_arrays(names.indices, pa.array(plain, pa.string()))
    elif family == "python":
        paths = [_write_slashes(name) for name in names.dictionary.to_pylist()]
        names = pa.DictionaryArray.from_arrays(names.indices, pa.array(paths, pa.string()))
    elif family == "op":
        chosen = [number for number, event in enumerate(events) if event.name == "record_param_comms"]
        result += args.build_collectives([events[number].args for number in chosen], ids[chosen], notes)
    elif family == "instant":
        result += _build_memory_counters(events, ts, notes)
    columns = {
        "slice_id": pa.array(ids),
        "thread_id": pa.array(threads, pa.int32()),
        "kind": _kind_column("other" if family == "instant" else family, names),
        "category": repeat_text(None if category is None else str(category), len(ids)),
        "name": names,
        "ts": pa.array(ts),
        "dur": pa.array(dur),
        "correlation_id": pa.array(decoded.columns["correlation"], pa.int64()),
        "external_id": pa.array(merge_spellings(decoded.columns, "external_id", "external_id_old"), pa.int64()),
        "args": decoded.kept,
    }
    return [("cpu_slice", pa.record_batch(columns)), *result]


def _write_slashes(name: str) -> str:
    """Return the name of a Python frame with the path of Windows in it, if any, written with slashes, as event.sql does.

    Where a backslash was not escaped in the file it made a control character of the letter after it.
    """
    return name.translate(_SLASHES) if _WINDOWS_FRAME.search(name) else name


def build_name_column(events: Sequence[Any]) -> pa.DictionaryArray:
    """Return the events' names as an Arrow dictionary column: any JSON type as text, a missing name as "unknown"."""
    names = [event.name for event in events]
    try:
        array = pa.array(names, pa.string())
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        array = pa.array([text_of(name) for name in names], pa.string())
    if array.null_count:
        array = array.fill_null("unknown")
    return array.dictionary_encode()


def _kind_column(kinds: str | Sequence[str], names: pa.DictionaryArray) -> pa.DictionaryArray:
    """Return the slices' kinds, one for all or one each, as a column; traceq's own marks are always annotations."""
    is_mark = pc.match_substring_regex(names.dictionary, _MARK).take(names.indices)
    if isinstance(kinds, str):
        return pa.DictionaryArray.from_arrays(is_mark.cast(pa.int8()), pa.array([kinds, "annotation"]))
    return pc.if_else(is_mark, "annotation", pa.array(kinds, pa.string())).dictionary_encode()


def merge_spellings(columns: dict[str, list[Any]], name: str, old_name: str) -> list[Any]:
    """Return the values of column `name`; where one is None, the value under the name that older PyTorch writes."""
    if all(value is None for value in columns[old_name]):
        return columns[name]
    return [a if a is not None else b for a, b in zip(columns[name], columns[old_name], strict=True)]


def text_of(value: Any) -> str:
    """Return an event's name as text, whatever JSON type it has; "unknown" for none."""
    return value if isinstance(value, str) else "unknown" if value is None else str(value)


def _build_memory_counters(events: Sequence[Any], ts: _Int64s, notes: Counter[str]) -> Batches:
    """Return rows of counter with the allocator's totals (bytes allocated, reserved) at each [memory] instant."""
    chosen = [number for number, event in enumerate(events) if event.name == _MEMORY_INSTANT]
    rows: list[_CounterSample] = []
    for number, row in zip(
        chosen, args.pick_columns([events[n].args for n in chosen], args.MEMORY_COLUMNS, notes), strict=True
    ):
        device = row["device_id"] if row["device_type"] not in (0, None) else None
        for name, key in (("memory_allocated", "total_allocated"), ("memory_reserved", "total_reserved")):
            if row[key] is not None:
                rows.append(_CounterSample(device, name, "bytes", int(ts[number]), float(row[key])))
    return _build_counters(rows)


_GPU_COUNTERS = re.compile(r"GPU (\d{1,9}) Counters")


def _build_counters(samples: Sequence[_CounterSample]) -> Batches:
    """Return the samples as one batch of counter, no batch without samples."""
    if not samples:
        return []
    columns = [pa.array(column) for column in zip(*samples, strict=True)]
    return [("counter", pa.record_batch(columns, names=_CounterSample._fields))]


def build_counter_batches(events: Sequence[Any], ts: _Int64s, notes: Counter[str]) -> Batches:
    """Return rows of counter: for each C event one per series in its args; values that are no numbers are counted."""
    rows: list[_CounterSample] = []
    for event, start in zip(events, ts, strict=True):
        of_gpu = _GPU_COUNTERS.fullmatch(str(event.pid))
        device = int(of_gpu[1]) if of_gpu else None
        for key, value in args.loads_pairs(bytes(event.args), notes).items():
            name = f"{text_of(event.name)}.{key}" if key else text_of(event.name)
            try:
                number = float("true" if isinstance(value, bool) else value)
                rows.append(_CounterSample(device, name, None, int(start), number))
            except (TypeError, ValueError, OverflowError):
                notes["not_a_number"] += 1
    return _build_counters(rows)


def build_range_ends(
    events: Sequence[Any], ids: _Int64s, ts: _Int64s, threads: list[int], family: str | None
) -> list[RangeEnd]:
    """Return the events, halves of ranges, as RangeEnd; `ids` are their numbers, `ts` their times in ns.

    `family` is the family of rows that their category stands for, None for none.
    """
    kind = family if family in _OF_HOST else "other"
    return [
        RangeEnd(
            int(number),
            event.ph,
            thread,
            text_of(event.name),
            None if event.cat is None else str(event.cat),
            int(start),
            bytes(event.args),
            kind if event.ph in "BE" else "other",
            _async_key(event),
        )
        for event, number, start, thread in zip(events, ids, ts, threads, strict=True)
    ]


def _async_key(event: Any) -> str | None:
    """Return the key that the halves of an asynchronous range share: category, scope and id, with the process if local.

    None for B and E, which are joined by thread.
    """
    if event.ph in "BE":
        return None
    pair = event.id2 if isinstance(event.id2, dict) else {}
    process = event.pid if "local" in pair else None
    said = (pair.get("global"), pair.get("local"), event.id)
    identity = next((value for value in said if isinstance(value, (str, int, float))), None)
    # S, T and F belong together by their names, too
    name = event.name if event.ph in "STF" else None
    return json.dumps([event.cat, event.scope, identity, process, name], default=str)


def pair_ranges(ends: Sequence[RangeEnd], last: int, notes: Counter[str]) -> Batches:
    """Return rows of cpu_slice for all ranges, joined from their halves in order of time, and for asynchronous instants.

    An E ends the innermost open B of its thread, an asynchronous end the innermost begin of its key. A range without
    an end lasts until `last` (ns). Such ranges, and ends without a begin (left out), are counted; so are ranges of over
    seven days, whose duration becomes 0.
    """
    open_ranges: dict[int | str, list[RangeEnd]] = {}
    closed: list[tuple[RangeEnd, int, bytes]] = []
    for end in sorted(ends, key=lambda e: (e.ts, e.number)):
        stack = open_ranges.setdefault(end.thread_id if end.key is None else end.key, [])
        if end.phase in _BEGINS:
            stack.append(end)
        elif end.phase in _INSTANTS:
            closed.append((end, end.ts, b""))
        elif stack:
            closed.append((stack.pop(), end.ts, end.args))
        else:
            notes["unmatched_end"] += 1
    for stack in open_ranges.values():
        notes["unclosed_range"] += len(stack)
        closed += [(begin, max(last, begin.ts), b"") for begin in stack]
    if not closed:
        return []
    long = [number for number, (begin, end, _) in enumerate(closed) if end - begin.ts > SEVEN_DAYS]
    notes["duration_overflow"] += len(long)
    for number in long:
        begin, _, text = closed[number]
        closed[number] = begin, begin.ts, text
    return [("cpu_slice", _build_range_batch(sorted(closed, key=lambda row: row[0].number), notes))]


def _build_range_batch(closed: list[tuple[RangeEnd, int, bytes]], notes: Counter[str]) -> pa.RecordBatch:
    """Return rows of cpu_slice for joined ranges, given as (begin, end in ns, args of the end as JSON)."""
    begins = [begin for begin, _, _ in closed]
    merged = [args.loads_pairs(begin.args, notes) | args.loads_pairs(end_args, notes) for begin, _, end_args in closed]
    names = pa.array([b.name for b in begins], pa.string()).dictionary_encode()
    return pa.record_batch(
        {
            "slice_id": pa.array([b.number for b in begins], pa.int64()),
            "thread_id": pa.array([b.thread_id for b in begins], pa.int32()),
            "kind": _kind_column([b.kind for b in begins], names),
            "category": pa.array([b.category for b in begins], pa.string()),
            "name": names,
            "ts": pa.array([b.ts for b in begins], pa.int64()),
            "dur": pa.array([end - begin.ts for begin, end, _ in closed], pa.int64()),
            "is_async": pa.array([begin.key is not None for begin in begins]),
            **{
                name: pa.array([args.coerce_type(values.get(key), args.INT, notes) for values in merged], pa.int64())
                for name, key in (("correlation_id", "correlation"), ("external_id", "External id"))
            },
            "args": pa.array(
                [json.dumps(values, ensure_ascii=False) if values else None for values in merged], pa.string()
            ),
        }
    )
