"""Recognising Parquet files that are tables of operations, and the roles of their columns."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

PARQUET = b"PAR1"

# What a column may be called, by what it says. Times are seconds where they are floating-point numbers, else nanoseconds.
_NAMES = {
    "rank": ("rank",),
    "operation": ("optype", "operation", "op_type", "op"),
    "start": ("start_ts", "start"),
    "end": ("end_ts", "end"),
    "duration": ("duration", "dur"),
    "step": ("step", "iteration"),
    "stage": ("stage", "pp_rank"),
    "copy": ("dp_rank", "dp"),
    "micro_batch": ("mb_id", "micro_batch", "microbatch"),
    "ordinal": ("seq_id",),
}
_NEEDED = ("rank", "operation", "start")
_EITHER = ("end", "duration")


def sniff(path: Path) -> bool:
    """Return whether the file is Parquet with the columns of a table of operations; raises nothing but OSError."""
    with path.open("rb") as file:
        if file.read(len(PARQUET)) != PARQUET:
            return False
    return find_missing_columns(path) is None


def find_missing_columns(path: Path) -> str | None:
    """Return why a Parquet file is not a table of operations, as the end of a sentence; None if it is one."""
    # PyArrow takes 0.1 s to import, which other formats should not have to wait for.
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        found = find_columns(pq.read_schema(path).names)
    except pa.ArrowException as error:
        return f"which cannot be read ({' '.join(str(error).split())}); copy it again"
    missing = [f"{role} ({' or '.join(_NAMES[role])})" for role in _NEEDED if role not in found]
    if not any(role in found for role in _EITHER):
        missing.append(f"end or duration ({' or '.join(name for role in _EITHER for name in _NAMES[role])})")
    return f"but not a table of a job's operations: it has no column for {', '.join(missing)}" if missing else None


def find_columns(names: Iterable[str]) -> dict[str, str]:
    """Return, by role (rank, operation, start, ...), the name of the column that has it; roles without a column are left out.

    `names` are the file's columns.
    """
    there = set(names)
    chosen = {role: next((name for name in known if name in there), None) for role, known in _NAMES.items()}
    return {role: name for role, name in chosen.items() if name is not None}
