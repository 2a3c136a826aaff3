"""The sampled stacks of a loader's workers, in the file beside a trace: read, checked, and staged with the trace's rows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import duckdb
import pyarrow as pa

from traceq.formats.made_with import path_beside
from traceq.formats.worker_samples import SUFFIX, VERSION, samples_of
from traceq.loading.made_with import read_beside
from traceq.loading.staging import add_note, insert_fitting

_SCHEMA = pa.schema({
    "pid": pa.int64(), "worker": pa.int32(), "state": pa.string(), "function": pa.string(), "frames": pa.string(),
    "samples": pa.int64(), "worker_share": pa.float64(),
})  # fmt: skip


def stage_worker_samples(connection: duckdb.DuckDBPyConnection, trace: Path) -> None:
    """Insert the stacks of the loader's workers, in the file beside the trace, if there is one, into staging.worker_sample.

    A file that cannot be used is left out, with a note.
    """
    path = path_beside(trace, SUFFIX)
    if not path.is_file():
        return
    try:
        samples = list(samples_of(read_beside(trace, SUFFIX, "traceq_workers", VERSION)))
    except (ValueError, OSError) as error:
        add_note(connection, "info", "workers_left_out", 1, f"{path.name}, beside the trace, is left out: {error}")
        return
    totals: Counter[int] = Counter()
    for sample in samples:
        totals[sample.pid] += sample.samples
    rows = [
        {**sample._asdict(), "frames": ";".join(sample.frames), "worker_share": sample.samples / totals[sample.pid]}
        for sample in samples
    ]
    if rows:
        insert_fitting(connection, "worker_sample", pa.Table.from_pylist(rows, schema=_SCHEMA))
