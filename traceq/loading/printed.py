"""The values that the program printed, in the file beside a trace: read, checked, and staged with the trace's rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from traceq.formats.made_with import path_beside
from traceq.formats.printed import SUFFIX, VERSION, PrintedValue, values_of
from traceq.loading.made_with import read_beside
from traceq.loading.staging import add_note, insert_fitting

_SCHEMA = pa.schema({
    "ts": pa.int64(), "line": pa.int64(), "step": pa.int64(), "steps_completed": pa.int64(), "quantity": pa.string(),
    "value": pa.float64(), "unit": pa.string(), "is_recorded": pa.bool_(),
})  # fmt: skip


def stage_printed(connection: duckdb.DuckDBPyConnection, trace: Path) -> None:
    """Insert the values that the program printed, in the file beside the trace, if there is one, into staging.printed_value.

    A file that cannot be used is left out, with a note.
    """
    path = path_beside(trace, SUFFIX)
    if not path.is_file():
        return
    try:
        content = read_printed(trace)
        first, last = window_of(content)
    except (ValueError, OSError) as error:
        text = f"{path.name}, beside the trace, is left out: {error}"
        add_note(connection, "info", "printed_left_out", 1, text)
        return
    ((origin,),) = connection.execute("select max(utc_origin_ns) from staging.trace").fetchall()
    rows = [_make_row(value, origin, first, last) for value in values_of(content)]
    if rows:
        insert_fitting(connection, "printed_value", pa.Table.from_pylist(rows, schema=_SCHEMA))


def read_printed(trace: Path) -> dict[str, Any]:
    """Return the JSON object in the file of printed values beside the trace.

    Raises ValueError where the file is not of traceq or belongs to another trace, OSError where it cannot be read.
    """
    return read_beside(trace, SUFFIX, "traceq_printed", VERSION)


def window_of(content: dict[str, Any]) -> tuple[int, int]:
    """Return begin and end of the recording, ns since 1970, from such a file. Raises ValueError where they are not there."""
    window = content.get("window_ns")
    if not isinstance(window, list) or [type(time) for time in window] != [int, int]:
        raise ValueError("it does not say when the recording began and ended")
    return window[0], window[1]


def _make_row(value: PrintedValue, origin: int | None, first: int, last: int) -> dict[str, object]:
    return {
        "ts": None if origin is None else value.time_ns - origin,
        "line": value.line,
        "step": value.step,
        "steps_completed": value.steps_completed if value.time_ns <= last else None,
        "quantity": value.quantity,
        "value": value.value,
        "unit": value.unit,
        "is_recorded": first <= value.time_ns <= last,
    }
