"""The logs of a whole run without a trace: training logs, schedulers' marks, and power from logs of monitors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from traceq.analysis import order
from traceq.analysis.state import AnalysisState
from traceq.database.connect import is_database
from traceq.database.sql import statement
from traceq.errors import NoTraces, TraceqError, UnknownFormat, WrongUse
from traceq.importers.monitors import read_log
from traceq.importers.monitors.reading import SECOND
from traceq.loading.sources import find_sources
from traceq.loading.training_logs import insert_training_logs

# In a database of logs alone.
TRACE_ID = 0


def load_run(
    connection: duckdb.DuckDBPyConnection,
    logs: Sequence[Path],
    monitors: Sequence[Path] = (),
    formats: Sequence[Path] = (),
    offset: float | None = None,
) -> list[str]:
    """Insert what the logs say into the tables of a run, and find its steps, attempts and ledger; return notes for the user.

    `monitors` are logs with the power of GPUs, `formats` TOML files of text formats. `offset` are the seconds to add to times
    without a zone. Raises WrongUse for a trace instead of a log, for logs of two runs at the same time, and for times with
    and without a zone that no offset brings together; else as read_training_log().
    """
    _check_logs(logs)
    try:
        twice = insert_training_logs(connection, logs, formats)
    except UnknownFormat as error:
        raise _explain_unknown(logs, error) from error
    notes = [f"{path.name} is identical to {first.name}, and counts once" for path, first in twice]
    _place_logs(connection, offset)
    order.run(connection, ("run_step",), AnalysisState(TRACE_ID))
    _check_one_run(connection)
    for number, path in enumerate(monitors):
        _insert_power(connection, number, path, offset)
    order.run(connection, ("run_attempt", "run_phase", "run_change"), AnalysisState(TRACE_ID))
    return notes


def _check_logs(logs: Sequence[Path]) -> None:
    """Raise WrongUse where there is no log, or where one is a folder or a database."""
    if not logs:
        raise WrongUse("Name a training log: traceq goodput train.log")
    for path in logs:
        if path.is_dir():
            raise WrongUse(f"{path} is a folder: name the logs in it.")
        if is_database(path):
            raise WrongUse(
                f"{path} is a database: traceq goodput reads training logs; query it with traceq sql {path}."
            )


def _explain_unknown(logs: Sequence[Path], error: UnknownFormat) -> TraceqError:
    """Return the error for a log of no known format: WrongUse where it is a trace."""
    for path in logs:
        if str(error).startswith(f"{path}: "):
            try:
                found = find_sources([path])
            except (TraceqError, NoTraces):
                break
            if found:
                return WrongUse(
                    f"{path} is a trace: traceq goodput reads training logs of a whole run."
                    f" For both together: traceq report {path} --with train.log"
                )
    return error


def _place_logs(connection: duckdb.DuckDBPyConnection, offset: float | None) -> None:
    """Shift times without a zone by the offset (s). Raises WrongUse where there are others, too, and no offset is given."""
    if offset is not None:
        connection.execute("update run_log set shift = ? where clock = 'local'", [round(offset * SECOND)])
        return
    found = dict(
        connection.execute("select clock, any_value(file order by log_id) from run_log group by clock").fetchall()
    )
    if "utc" in found and "local" in found:
        raise WrongUse(
            f"{found['local']} has times of a zone that it does not name, {found['utc']} has times in UTC: say what to add to"
            " the former, in seconds, as --offset -7200 for a zone that is two hours ahead of UTC."
        )


def _check_one_run(connection: duckdb.DuckDBPyConnection) -> None:
    """Raise WrongUse where two logs tell of different steps at the same time."""
    found = connection.execute(statement("analysis/run/run_overlap.sql"), {"trace_id": TRACE_ID}).fetchone()
    if found is not None:
        raise WrongUse(
            f"{found[0]} and {found[1]} tell of different steps at the same time: they are logs of two runs. Give those of one;"
            " those of several ranks, or of one run after the other, are fine."
        )


def _insert_power(connection: duckdb.DuckDBPyConnection, number: int, path: Path, offset: float | None) -> None:
    """Insert the power of GPUs in the log of a monitor. Raises WrongUse where it has none, or its times cannot be placed."""
    log = read_log(path)
    samples = [sample for sample in log.samples if sample.name == "gpu_power" and sample.device is not None]
    if not samples:
        raise WrongUse(
            f"{path}: no power of GPUs in it; --with takes logs of nvidia-smi, DCGM or amd-smi that have it."
        )
    clocks = [
        clock
        for (clock,) in connection.execute("select distinct clock from run_log where first_at is not null").fetchall()
    ]
    if (
        log.clock == "none"
        or (log.clock == "local" and offset is None and clocks != ["local"])
        or (log.clock == "utc" and offset is None and clocks != ["utc"])
    ):
        raise WrongUse(
            f"{path}: its times are not of the same clock as those of the training logs: say with --offset what to add to times"
            " without a zone, in seconds."
        )
    add = round((offset or 0) * SECOND) if log.clock == "local" else 0
    count = len(samples)
    rows = pa.table(
        {
            "trace_id": pa.array([TRACE_ID] * count, pa.int32()),
            "device": pa.array([sample.device for sample in samples], pa.int32()),
            "name": pa.array(["gpu_power"] * count),
            "unit": pa.array([sample.unit for sample in samples], pa.string()),
            "ts": pa.array([sample.ts + add for sample in samples], pa.int64()),
            "value": pa.array([sample.value for sample in samples], pa.float64()),
            "log_id": pa.array([number] * count, pa.int32()),
        }
    )
    connection.register("_rows", rows)
    connection.execute("insert into counter by name from _rows")
    connection.unregister("_rows")
