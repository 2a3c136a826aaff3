"""From a table of operations to the rows of traceq's tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from traceq.importers.operations.groups import Communication, find_communication
from traceq.importers.operations.hidden import find_barriers_between, find_inner_barriers
from traceq.importers.operations.table import NONE, Operations, read_operations
from traceq.importers.rows import Batches, Notes, batches_of

if TYPE_CHECKING:
    from traceq.importers.operations.table import Integers

# Computing has a stream of its own; what runs beside it, another one for each kind.
_COMPUTE_STREAM = 0


def read(path: Path, progress: Callable[[int], None]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield (table, batch) of a trace in which each rank of the table of operations is a device; raises UnusableTrace."""
    operations = read_operations(path)
    progress(path.stat().st_size)
    named = find_communication(operations)
    inner, hidden = find_inner_barriers(operations, named), find_barriers_between(operations)
    yield from batches_of("trace", [{"producer": "operation table", "args": json.dumps(_describe_ranks(operations))}])
    yield from batches_of(
        "device", [{"device": device, "source": "unknown"} for device in range(len(operations.ranks))]
    )
    yield from _build_steps(operations)
    yield "gpu_slice", _build_slices(operations, (named, inner))
    first = len(operations.kind)
    yield "gpu_slice", _build_barriers(operations, hidden, first)
    for part, slice_id in ((named, named.row), (inner, inner.row), (hidden, first + np.arange(len(hidden.row)))):
        yield "collective", _build_collectives(part, slice_id)
    yield from _note_counts(operations, inner, hidden)


def _describe_ranks(operations: Operations) -> dict[str, Any]:
    """Return trace.args: under "operations", each rank's device, rank number, pipeline stage (pp) and copy of the model (dp).

    pp and dp are None where the table does not say.
    """
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


def _build_steps(operations: Operations) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield a thread, and a CPU slice "traceq.step#STEP" for each step, from its first operation's start to its last one's end.

    Nothing where the table has no steps.
    """
    if not operations.has_steps:
        return
    yield from batches_of("thread", [{"thread_id": 0, "thread_name": "steps of the table"}])
    count = len(operations.steps)
    begins, ends = np.full(count, np.iinfo(np.int64).max), np.full(count, np.iinfo(np.int64).min)
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


def _build_slices(operations: Operations, parts: tuple[Communication, ...]) -> pa.RecordBatch:
    is_part = np.zeros(len(operations.kind), bool)
    for part in parts:
        is_part[part.row] = True
    args = [f'{{"micro_batch":{batch}}}' if batch != NONE else None for batch in operations.micro_batch.tolist()]
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


def _build_barriers(operations: Operations, hidden: Communication, first: int) -> pa.RecordBatch:
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


def _build_collectives(parts: Communication, slice_id: Integers) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {
            "slice_id": slice_id,
            "op": pa.array(parts.op, pa.string()),
            "group_name": pa.array(parts.group, pa.string()),
            "group_size": pa.array(parts.size, pa.int32()),
            "sequence": parts.sequence,
        }
    )


def _note_counts(operations: Operations, inner: Communication, hidden: Communication) -> Batches:
    names = ", ".join(sorted({operations.names[kind] for kind in operations.kind[inner.row].tolist()}))
    notes = Notes()
    text = "rows without a rank, a name or times, or with impossible numbers, were left out"
    notes.data_loss("unreadable_operations", operations.unreadable, text)
    notes.info("empty_operations", operations.empty, "operations that took no time were left out")
    text = f"ends that were moved back to the next start, by less than {operations.loose // 1000} us"
    notes.info("loose_ends", operations.trimmed, text)
    text = "steps whose times start over: laid out one after the other"
    notes.info("steps_laid_out", len(operations.steps) * operations.laid_out, text)
    text = f"operations that end on all ranks at once: they contain a barrier ({names})"
    notes.info("inner_barriers", len(inner.row), text)
    text = "waits that the table does not list: ranks that ended at different times continued at the same time"
    notes.info("hidden_barriers", len(hidden.row), text)
    return notes.batches()
