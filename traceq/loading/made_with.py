"""The environment snapshot beside a trace: read, checked, and staged with the trace's rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from traceq.formats.made_with import SUFFIX, VERSION, is_knob, normalize_value, path_beside, size_of_content, unit_of
from traceq.loading.staging import add_note, insert_fitting

# No snapshot is nearly as large: whatever this is, it is not read.
_LARGEST = 1 << 20

_SCHEMA = pa.schema({
    "topic": pa.string(), "instance": pa.int32(), "name": pa.string(), "value": pa.string(), "unit": pa.string(),
    "is_knob": pa.bool_(),
})  # fmt: skip


def stage_made_with(connection: duckdb.DuckDBPyConnection, trace: Path) -> None:
    """Insert the facts of the environment snapshot beside the trace, if there is one, into staging.made_with.

    A snapshot that cannot be used is left out, with a note.
    """
    path = path_beside(trace)
    if not path.is_file():
        return
    try:
        rows = [
            {**fact._asdict(), "unit": unit_of(fact.name), "is_knob": is_knob(fact.name)}
            for fact in facts_of(read(trace))
        ]
    except (ValueError, OSError) as error:
        text = f"{path.name}, beside the trace, is left out: {error}"
        add_note(connection, "info", "made_with_left_out", 1, text)
    else:
        insert_fitting(connection, "made_with", pa.Table.from_pylist(rows, schema=_SCHEMA))


def read(trace: Path) -> dict[str, Any]:
    """Return the environment snapshot beside the trace, as the JSON object in its file.

    Raises ValueError where the file is no snapshot or belongs to another trace, OSError where it cannot be read.
    """
    return read_beside(trace, SUFFIX, "traceq_made_with", VERSION)


def read_beside(trace: Path, suffix: str, key: str, version: int) -> dict[str, Any]:
    """Return the JSON object in a file that traceq wrote beside the trace: `key` holds its version, `version` the newest known.

    Raises ValueError where the file is not of traceq or belongs to another trace, OSError where it cannot be read.
    """
    path = path_beside(trace, suffix)
    if path.stat().st_size > _LARGEST:
        raise ValueError(f"it is larger than {_LARGEST >> 20} MiB")
    try:
        content = json.loads(path.read_text("utf-8"))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(content, dict) or not isinstance(content.get(key), int):
        raise ValueError("it was not written by traceq")  # noqa: TRY004 - as all that is wrong with a file
    if content[key] > version:
        raise ValueError("it was written by a later version of traceq")
    if content.get("trace_bytes") not in (None, size_of_content(trace)):
        raise ValueError("it belongs to another trace that had this name, or the trace was changed since")
    return content


class Fact(NamedTuple):
    """A value of an environment snapshot, with its topic, instance and name: the columns of the table made_with."""

    topic: str
    instance: int
    name: str
    value: str


def facts_of(content: dict[str, Any]) -> Iterator[Fact]:
    """Yield the facts in a snapshot (JSON object) that traceq knows and may keep, with normalized values."""
    for topic, things in content.items():
        for instance, values in enumerate(things if isinstance(things, list) else ()):
            for name, value in values.items() if isinstance(values, dict) else ():
                if isinstance(value, str) and (text := normalize_value(topic, name, value)) is not None:
                    yield Fact(topic, instance, name, text)
