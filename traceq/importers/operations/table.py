"""The table as arrays: one element per operation, in the order of rank and time, and what was left out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec.structs import replace

from traceq.errors import UnusableTrace
from traceq.importers.operations.source import find_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]
    Integers = NDArray[np.int64]

NONE = -1

# Start and end of an operation come from events of their own: one that overlaps the next by little has ended before it. How
# little is measured where events are loose both ways, from overlap to gap: twice what nearly all overlaps are that are less than
# half of both operations, between these bounds.
_LEAST_LOOSE_NS, _MOST_LOOSE_NS = 50_000, 1_000_000
_NEARLY_ALL = 0.99
_BOTH_WAYS = 0.5
# Times that can be added and subtracted in 64 bits; so far apart, more than a year, no two times of a job are.
_MOST_NS, _REACH_NS = 1 << 62, 1 << 55
_NS_OF_UNIT = {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}
# From fewer overlaps nothing is concluded.
_ENOUGH_OVERLAPS = 100


class Operations(msgspec.Struct, frozen=True):
    """The operations of a table as arrays, one element each, sorted by rank and start.

    `device` is the index of the rank in `ranks`, `kind` that of the operation's name in `names`, `step` that of the
    step in `steps` (empty if the table tells no steps). `stage`, `copy` (of the model) and `micro_batch` are NONE where
    the table does not say. `ordinal` numbers the operations of a kind within a step of a rank. `start` and `end` are
    ns. Left out are `unreadable` rows and `empty` operations, which took no time. `trimmed` ends were moved back, by
    less than `loose` ns; `laid_out` says whether the steps' times were moved.
    """

    names: Sequence[str]
    ranks: Integers
    steps: Integers
    device: Integers
    kind: Integers
    step: Integers
    stage: Integers
    copy: Integers
    micro_batch: Integers
    ordinal: Integers
    start: Integers
    end: Integers
    unreadable: int
    empty: int
    trimmed: int = 0
    loose: int = 0
    laid_out: bool = False

    @property
    def has_steps(self) -> bool:
        """Whether the table has steps."""
        return bool(len(self.steps))

    def select(self, rows: Any) -> Operations:
        """Return the operations `rows` only, a mask or indices in the wanted order; names, ranks and steps stay."""
        fields = ("device", "kind", "step", "stage", "copy", "micro_batch", "ordinal", "start", "end")
        return replace(self, **{name: getattr(self, name)[rows] for name in fields})


def read_operations(path: Path) -> Operations:
    """Return the operations of a Parquet file, with overlaps trimmed and steps laid out.

    Raises UnusableTrace where the file cannot be read, a column has the wrong type, or no operation took time.
    """
    try:
        return _build_operations(
            path, pq.read_table(path, columns=list(find_columns(pq.read_schema(path).names).values()))
        )
    except (pa.ArrowException, OSError) as error:
        raise UnusableTrace(f"{path}: cannot be read: {' '.join(str(error).split())}; copy it again") from error
    except OverflowError as error:
        raise UnusableTrace(f"{path}: {error}; write times of one clock, in seconds or nanoseconds") from error


def _build_operations(path: Path, file: pa.Table) -> Operations:
    """Return the operations of a table of the file; raises OverflowError where its steps lie too far apart to be true."""
    found = {role: file.column(name) for role, name in find_columns(file.column_names).items()}
    start, end, readable = _read_times(path, found)
    numbers = {role: _read_integers(path, found, role) for role in ("rank", "step", *_PLACES)}
    rank, step = (numbers[role][0] for role in ("rank", "step"))
    names = found["operation"].cast(pa.string()).combine_chunks().dictionary_encode()
    kind, _ = _to_integers(pa.chunked_array([names.indices]))
    readable &= (end >= start) & (kind != NONE) & (rank != NONE)
    for _, fits in numbers.values():
        readable &= fits
    usable = readable & (end > start)
    if not usable.any():
        raise UnusableTrace(f"{path}: none of its {len(kind)} rows is an operation that took time")
    far = np.abs(start - int(np.median(start[usable]))) > _REACH_NS
    readable &= ~far & (end - start <= _REACH_NS)
    usable &= readable
    ranks, device = np.unique(rank[usable], return_inverse=True)
    steps, number = np.unique(step[usable], return_inverse=True)
    stage, copy, micro_batch, ordinal = (numbers[role][0][usable] for role in _PLACES)
    operations = Operations(
        names=names.dictionary.to_pylist(),
        ranks=ranks,
        steps=steps if "step" in found else np.zeros(0, np.int64),
        device=device.astype(np.int64),
        kind=kind[usable],
        step=number.astype(np.int64),
        stage=stage,
        copy=copy,
        micro_batch=micro_batch,
        # Which are the same is all that counts, and large ones cannot be multiplied.
        ordinal=np.unique(ordinal, return_inverse=True)[1].astype(np.int64),
        start=start[usable],
        end=end[usable],
        unreadable=int((~readable).sum()),
        empty=int((readable & ~usable).sum()),
    )
    operations = operations.select(np.lexsort((operations.end, operations.start, operations.device)))
    if "ordinal" not in found:
        operations = replace(operations, ordinal=_number_operations(operations))
    return _lay_out_steps(_trim_overlaps(operations))


_PLACES = ("stage", "copy", "micro_batch", "ordinal")


def _read_times(path: Path, found: dict[str, pa.ChunkedArray]) -> tuple[Integers, Integers, Flags]:
    """Return start and end of each row (ns), and whether both are times that can be; `found` are the columns by role."""
    start, readable = _to_nanoseconds(path, "start", found["start"])
    if "end" in found:
        end, fits = _to_nanoseconds(path, "end", found["end"])
        return start, end, readable & fits
    duration, fits = _to_nanoseconds(path, "duration", found["duration"])
    return start, start + duration, readable & fits


def _to_nanoseconds(path: Path, role: str, column: pa.ChunkedArray) -> tuple[Integers, Flags]:
    """Return the times of a column as ns, and which of them can be; the others are 0.

    Raises UnusableTrace if the column does not hold times.
    """
    if pa.types.is_floating(column.type):
        seconds = np.asarray(column.cast(pa.float64()).to_numpy())
        fits = np.abs(seconds) < _MOST_NS / 1e9
        return np.rint(np.where(fits, seconds, 0) * 1e9).astype(np.int64), fits
    factor = 1
    if pa.types.is_timestamp(column.type) or pa.types.is_duration(column.type):
        factor = _NS_OF_UNIT[column.type.unit]
        column = column.cast(pa.int64())
    if not pa.types.is_integer(column.type):
        raise UnusableTrace(f"{path}: the column for {role} holds {column.type}, not times")
    values, known = _to_integers(column)
    fits = known & (values > -_MOST_NS // factor) & (values < _MOST_NS // factor)
    return np.where(fits, values, 0) * factor, fits


def _read_integers(path: Path, found: dict[str, pa.ChunkedArray], role: str) -> tuple[Integers, Flags]:
    """Return the values of the column for `role`, and which of them fit 64 bits.

    NONE stands for missing values, and for all if there is no such column: these fit. `found` are the columns by role.
    Raises UnusableTrace if the column does not hold whole numbers.
    """
    if role not in found:
        rows = len(found["rank"])
        return np.full(rows, NONE, np.int64), np.ones(rows, bool)
    if not pa.types.is_integer(found[role].type):
        raise UnusableTrace(f"{path}: the column for {role} holds {found[role].type}, not whole numbers")
    values, known = _to_integers(found[role])
    return values, known | found[role].is_null().to_numpy()


def _to_integers(column: pa.ChunkedArray) -> tuple[Integers, Flags]:
    """Return whole numbers as 64 bits with sign, and which are there and fit; NONE stands for the others."""
    if column.type == pa.uint64():
        column = pc.if_else(pc.less(column, pa.scalar(1 << 63, pa.uint64())), column, None)
    return pc.fill_null(column.cast(pa.int64()), NONE).to_numpy(), column.is_valid().to_numpy()


def _number_operations(operations: Operations) -> Integers:
    """Return for each operation how many of its kind, rank and step started before it."""
    order = np.lexsort((operations.start, operations.kind, operations.step, operations.device))
    keys = np.stack([operations.device, operations.step, operations.kind])[:, order]
    begins = np.flatnonzero(np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0)))
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order)) - np.repeat(begins, np.diff(np.append(begins, len(order))))
    return number


def _trim_overlaps(operations: Operations) -> Operations:
    """Return the operations with ends moved back to the start of the next one of their rank, where they overlap it by little.

    Such overlaps come from inexact times of start and end. `trimmed` counts the ends moved.
    """
    place = TimesByStep(operations)
    loose = _event_overlap_ns(operations, place)
    starts, ends = place.shift_times(operations.start), place.shift_times(operations.end)
    order = np.argsort(starts, kind="stable")
    lasts = operations.end - operations.start
    earliest = np.maximum(starts + 1, ends - loose)
    found = np.searchsorted(starts[order], earliest)
    following = order[np.minimum(found, len(order) - 1)]
    overlap = np.where(found < len(order), ends - starts[following], 0)
    # operations that are shorter than events are loose run beside each other all the same
    is_little = (overlap <= _LEAST_LOOSE_NS) | (2 * overlap < np.minimum(lasts, lasts[following]))
    overlaps = (overlap > 0) & is_little
    end = np.where(overlaps, operations.end - overlap, operations.end)
    return replace(operations, end=end, trimmed=int(overlaps.sum()), loose=loose)


def _event_overlap_ns(operations: Operations, place: TimesByStep) -> int:
    """Return the ns by which operations can overlap the next one of their rank only because times of start and end are inexact.

    It is measured on kinds that follow each other with gaps as well as overlaps, and lies between 50,000 and 1,000,000.
    """
    order = np.argsort(place.shift_times(operations.start), kind="stable")
    end, start, kind = (
        place.shift_times(operations.end)[order],
        place.shift_times(operations.start)[order],
        operations.kind[order],
    )
    overlap = end[:-1] - start[1:]
    lasts = (operations.end - operations.start)[order]
    is_little = (overlap > 0) & (2 * overlap < np.minimum(lasts[:-1], lasts[1:]))
    # what always overlaps when one kind follows another does so by design
    pair = kind[:-1] * len(operations.names) + kind[1:]
    is_gap = (overlap <= 0) & (overlap > -_MOST_LOOSE_NS)
    little, gaps = np.bincount(pair, is_little), np.bincount(pair, is_gap)
    by_chance = overlap[is_little & (gaps >= _BOTH_WAYS * little)[pair]]
    if len(by_chance) < _ENOUGH_OVERLAPS:
        return _LEAST_LOOSE_NS
    return int(np.clip(2 * float(np.quantile(by_chance, _NEARLY_ALL)), _LEAST_LOOSE_NS, _MOST_LOOSE_NS))


def _lay_out_steps(operations: Operations) -> Operations:
    """Return the operations with steps one after the other if the times of steps begin anew (overlap); else unchanged."""
    count = int(operations.step.max()) + 1
    begins, ends = np.full(count, np.iinfo(np.int64).max), np.full(count, np.iinfo(np.int64).min)
    np.minimum.at(begins, operations.step, operations.start)
    np.maximum.at(ends, operations.step, operations.end)
    if not (begins[1:] < begins[:-1] + (ends - begins)[:-1] / 2).any():
        return operations
    moved = _sum_before(ends - begins) - begins
    later = moved[operations.step]
    return replace(operations, start=operations.start + later, end=operations.end + later, laid_out=True)


def _sum_before(lengths: Integers) -> Integers:
    """Return for each length (ns) the sum of those before it; raises OverflowError where they do not fit 64 bits."""
    if lengths.sum(dtype=np.float64) > _MOST_NS:
        raise OverflowError("its steps lie further apart than can be true")
    return np.cumsum(lengths) - lengths


class TimesByStep:
    """Mapping of times to a line on which each rank and step has a stretch of its own, for a search among its times only.

    `number` is the number of each operation's stretch.
    """

    def __init__(self, operations: Operations) -> None:
        number = np.unique(np.stack([operations.device, operations.step]), axis=1, return_inverse=True)[1]
        self.number: Integers = number.reshape(-1).astype(np.int64)
        count = int(self.number.max()) + 1
        begins, ends = np.full(count, _MOST_NS), np.full(count, -_MOST_NS)
        np.minimum.at(begins, self.number, operations.start)
        np.maximum.at(ends, self.number, operations.end)
        # longer than all times of it, and what is looked for just before or after them
        self._shift: Integers = _sum_before(ends - begins + 2 * _MOST_LOOSE_NS) + _MOST_LOOSE_NS - begins

    def shift_times(self, times: Integers) -> Integers:
        """Return the places on the line of `times`, one time (ns) for each operation."""
        return times + self._shift[self.number]
