"""Dumps of PyTorch's flight recorder, one a rank: which collectives it called last, with sizes, types, states and stacks.

Pickles (`torch._C._distributed_c10d._dump_fr_trace()`, and what ProcessGroupNCCL writes at a timeout) are read by the reader of
pickles of primitives, which runs nothing; JSON (`_dump_fr_trace_json()`) has no stacks. Dumps are no traces: a report has no use
for them, `traceq hang` reads them together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from traceq.importers.flight_recorder.names import has_name_of_dump, rank_in_name
from traceq.importers.packed import DAMAGED, read_head

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["NAME", "has_name_of_dump", "rank_in_name", "read", "sniff"]

NAME = "flight_recorder"

_HEAD = 1 << 14
_PICKLE = re.compile(rb"\x80[\x02-\x05](?:\x95.{8})?[\x5d\x7d]", re.DOTALL)
_JSON = re.compile(rb'\s*\{\s*"')
# One of these stands near the beginning of all versions; of JSON its keys are sorted, and traces have a pg_config, too.
_KEYS = (b"pg_config", b"collective_seq_id", b"nccl_comm_state", b"pg_status")
_KEYS_IN_JSON = (b'"comm_lib_version"', b'"nccl_comm_state"', b'"collective_seq_id"', b'"pg_status"')


def is_dump(path: Path) -> bool:
    """Return whether the file begins like a dump, pickle or JSON, gzip'd or not. Raises nothing but OSError."""
    try:
        head = read_head(path, _HEAD)
    except DAMAGED:
        return False
    if _JSON.match(head) is not None:
        return any(key in head for key in _KEYS_IN_JSON) and b'"traceEvents"' not in head
    return _PICKLE.match(head) is not None and any(key in head for key in _KEYS)


def read_tables(path: Path) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield (table, batch of rows) of a dump: recorded_dump, recorded_group, recorded_stack, recorded_collective.

    Of a pickle that ends too early the whole entries are read, and recorded_dump.fault says so. Raises UnusableTrace
    where nothing can be read.
    """
    from traceq.importers.flight_recorder.reading import read_dump

    return read_dump(path)
