"""From a table of operations to the rows of traceq's tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from traceq.importers.operations.groups import Communication, communication
from traceq.importers.operations.hidden import before, inside
from traceq.importers.operations.table import NONE, Operations, read_operations
from traceq.importers.rows import batches_of

if TYPE_CHECKING:
    from traceq.importers.operations.table import Integers

# Computing has a stream of its own; what runs beside it, another one for each kind.
_COMPUTE_STREAM = 0


def read(path: Path, progress: Callable[[int], None]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield (table, batch) for a table of operations."""
    operations = read_operations(path)
    progress(path.stat().st_size)
    named = communication(operations)
    inner, hidden = inside(operations, named), before(operations)
    yield from batches_of("trace", [{"producer": "operation table", "args": json.dumps(_ranks(operations))}])
    yield from batches_of(
        "device", [{"device": device, "source": "unknown"} for device in range(len(operations.ranks))]
    )
    yield from _steps(operations)
    yield "gpu_slice", _slices(operations, (named, inner))
    first = len(operations.kind)
    yield "gpu_slice", _barriers(operations, hidden, first)
    for each, slice_id in ((named, named.row), (inner, inner.row), (hidden, first + np.arange(len(hidden.row)))):
        yield "collective", _collectives(each, slice_id)
    yield from batches_of("import_note", _notes(operations, inner, hidden))


def _ranks(operations: Operations) -> dict[str, Any]:
    """What trace.args says of the ranks: which device each is, and where in the model (pp, dp)."""
    places = {}
    for device, stage, copy in set(
        zip(operations.device.tolist(), operations.stage.tolist(), operations.copy.tolist(), strict=True)
    ):
        places[device] = {
            "device": device,
            "rank": int(operations.ranks[device]),
            "pp": None if stage == NONE else stage,
            "dp": None if copy == NONE else copy,
        }
    return {"operations": {"ranks": [places[device] for device in sorted(places)]}}


def _steps(operations: Operations) -> Iterator[tuple[str, pa.RecordBatch]]:
    """A mark for each step, from its first to its last operation, as the program would have made it."""
    if not operations.has_steps:
        return
    yield from batches_of("thread", [{"thread_id": 0, "thread_name": "steps of the table"}])
    count = len(operations.steps)
    begins, ends = np.full(count, np.iinfo(np.int64).max), np.zeros(count, np.int64)
    np.minimum.at(begins, operations.step, operations.start)
    np.maximum.at(ends, operations.step, operations.end)
    first = 2 * len(operations.kind)
    yield (
        "cpu_slice",
        pa.RecordBatch.from_pydict(
            {
                "slice_id": first + np.arange(count),
                "thread_id": pa.array(np.zeros(count), pa.int32()),
                "kind": ["annotation"] * count,
                "name": [f"traceq.step#{step}" for step in operations.steps.tolist()],
                "ts": begins,
                "dur": ends - begins,
            }
        ),
    )


def _slices(operations: Operations, parts: tuple[Communication, ...]) -> pa.RecordBatch:
    is_part = np.zeros(len(operations.kind), bool)
    for part in parts:
        is_part[part.row] = True
    args = [f'{{"micro_batch":{each}}}' if each != NONE else None for each in operations.micro_batch.tolist()]
    return _gpu_batch(
        np.arange(len(operations.kind)),
        operations.device,
        np.where(is_part, operations.kind + 1, _COMPUTE_STREAM),
        pa.DictionaryArray.from_arrays(pa.array(operations.kind), pa.array(operations.names, pa.string())).cast(
            pa.string()
        ),
        operations.start,
        operations.end,
    ).append_column("args", pa.array(args, pa.string()))


def _barriers(operations: Operations, hidden: Communication, first: int) -> pa.RecordBatch:
    return _gpu_batch(
        first + np.arange(len(hidden.row)),
        hidden.device,
        np.full(len(hidden.row), len(operations.names) + 1),
        pa.array([f"barrier {group}" for group in hidden.group], pa.string()),
        hidden.start,
        hidden.end,
    )


def _gpu_batch(
    slice_id: Integers, device: Integers, stream: Integers, name: pa.Array, start: Integers, end: Integers
) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {
            "slice_id": slice_id,
            "device": pa.array(device, pa.int32()),
            "stream": stream,
            "kind": pa.array(["kernel"] * len(slice_id), pa.string()),
            "name": name,
            "ts": start,
            "dur": end - start,
        }
    )


def _collectives(parts: Communication, slice_id: Integers) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {
            "slice_id": slice_id,
            "op": pa.array(parts.op, pa.string()),
            "group_name": pa.array(parts.group, pa.string()),
            "group_size": pa.array(parts.size, pa.int32()),
            "sequence": parts.sequence,
        }
    )


def _notes(operations: Operations, inner: Communication, hidden: Communication) -> list[dict[str, Any]]:
    names = ", ".join(sorted({operations.names[kind] for kind in operations.kind[inner.row].tolist()}))
    told = [
        (
            "data_loss",
            "unreadable_operations",
            operations.unreadable,
            "rows without a rank, a name or times were left out",
        ),
        ("info", "empty_operations", operations.empty, "operations that took no time were left out"),
        (
            "info",
            "loose_ends",
            operations.trimmed,
            f"ends that were moved back to the next start, less than {operations.loose // 1000} us before",
        ),
        (
            "info",
            "steps_laid_out",
            len(operations.steps) * operations.laid_out,
            "steps whose times begin anew: laid out one after the other",
        ),
        (
            "info",
            "inner_barriers",
            len(inner.row),
            f"operations that end on all ranks at once: they hold a barrier ({names})",
        ),
        (
            "info",
            "hidden_barriers",
            len(hidden.row),
            "waits that the table does not name: ranks that had ended at different times went on at once",
        ),
    ]
    return [
        {"severity": severity, "code": code, "count": count, "text": text}
        for severity, code, count, text in told
        if count
    ]
