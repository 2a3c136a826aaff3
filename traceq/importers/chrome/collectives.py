"""Rows of collective, from the arguments Kineto gives to NCCL kernels and to record_param_comms operators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from traceq.importers.chrome import args
from traceq.importers.rows import Batches, batches_of

# Bytes per element of c10's scalar types, lower-cased.
_ELEMENT_BYTES = {
    "double": 8, "long": 8, "complexfloat": 8, "uint64": 8,
    "float": 4, "int": 4, "uint32": 4,
    "half": 2, "bfloat16": 2, "short": 2, "uint16": 2,
    "byte": 1, "char": 1, "bool": 1,
    "float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e4m3fnuz": 1, "float8_e5m2fnuz": 1, "float8_e8m0fnu": 1,
}  # fmt: skip

_COLUMNS = (("External id", "external_id", args.INT), *args.COLLECTIVE_COLUMNS)


def build_batches(raws: Sequence[Any], ids: npt.NDArray[np.int64], notes: Counter[str]) -> Batches:
    """Return a row per args object that names a collective; `ids` are the slices they belong to."""
    rows = []
    for slice_id, row in zip(ids, args.pick_columns(raws, _COLUMNS, notes), strict=True):
        if row["op"] is not None:
            rest = row.pop("")
            rows.append({"slice_id": int(slice_id), "bytes": _message_bytes(row), "args": rest, **row})
    return batches_of("collective", rows)


def _message_bytes(row: dict[str, Any]) -> int | None:
    size = _ELEMENT_BYTES.get(str(row["dtype"]).lower())
    counts = [row[key] for key in ("in_elements", "out_elements") if row[key] is not None]
    total = max(counts) * size if size and counts else None
    return total if total is not None and total < 1 << 63 else None
