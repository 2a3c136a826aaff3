"""Logs of monitors that ran beside a trace: read, placed on its clock, and staged as counters with its rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import duckdb
import msgspec
import numpy as np
import pyarrow as pa

from traceq.common.units import some
from traceq.errors import TraceqError, UnusableTrace
from traceq.importers import inspector, memory_snapshot
from traceq.importers.compile_log import is_compile_log
from traceq.importers.execution_trace.reading import is_execution_trace
from traceq.importers.kernel_reports import is_kernel_report
from traceq.importers.monitors import is_monitor_log, read_log
from traceq.importers.monitors.reading import Log, Sample
from traceq.importers.request_logs import is_request_log
from traceq.importers.rows import batches_of
from traceq.importers.training_logs import is_training_log, read_training_log
from traceq.loading.monitor_clock import SECOND, GpuLoad, Placement, TraceClock, beat_of, fits_best, load_of, place_log
from traceq.loading.sources import logs_beside, split_duplicates
from traceq.loading.staging import add_note, insert_fitting
from traceq.loading.training_logs import build_rows

# More slices than this are not looked at to find out where a log lies.
_MOST_SLICES = 20_000_000
_APART = (inspector.is_only_records, memory_snapshot.sniff, is_compile_log, is_execution_trace, is_kernel_report)
_OTHERS = (*_APART, is_monitor_log)


class MonitorLogs(msgspec.Struct, frozen=True):
    """Files that the user names with --with.

    Logs of monitors, of the training, torch.compile and requests; memory snapshots; execution traces; kernel reports.
    `offset` are the seconds to add to their times (--offset, None if not given), `formats` the files that declare formats
    of training logs (--log-format).
    """

    logs: tuple[Path, ...] = ()
    offset: float | None = None
    formats: tuple[Path, ...] = ()


NOTHING = MonitorLogs()


def stage_logs(connection: duckdb.DuckDBPyConnection, trace: Path, beside: MonitorLogs) -> bool:
    """Insert the logs' samples into staging.counter, and a row about each log into staging.monitor_log, with notes.

    `beside` are the logs that the user named; a log that `traceq record` wrote beside the trace is found. Return whether
    there are any logs.
    """
    logs = _read_logs(connection, trace, beside)
    if not logs:
        return False
    clock, host, devices = _read_trace(connection)
    zones: set[int] = set()
    placed: dict[int, Placement] = {}
    # What is certain first: the zone of one log is that of the others of its machine.
    for number in sorted(range(len(logs)), key=lambda place: logs[place][1].clock == "local"):
        placed[number] = _place_log(logs[number][1], clock, host, devices, beside.offset, zones)
        zone = placed[number].zone
        zones |= set() if zone is None else {zone}
    for number, (path, log) in enumerate(logs):
        _stage(connection, number, path, log, placed[number], clock, devices)
    return True


def _read_logs(connection: duckdb.DuckDBPyConnection, trace: Path, beside: MonitorLogs) -> list[tuple[Path, Log]]:
    """Return each log of the trace once, with its path.

    A note says which logs are duplicates. So does one for the log that `traceq record` wrote, where it cannot be read;
    a log that the user named raises TraceqError instead.
    """
    others = {*choose_training_logs(beside), *choose_request_logs(beside)}
    given = [log for log in beside.logs if log not in others and not any(is_other(log) for is_other in _APART)]
    paths, twice = split_duplicates(logs_beside(trace, given))
    logs: list[tuple[Path, Log]] = []
    for path in paths:
        try:
            logs.append((path, read_log(path)))
        except TraceqError as error:
            if path in given:
                raise
            add_note(connection, "data_loss", "monitor_log_left_out", 1, f"beside the trace, and left out: {error}")
    for path, first in twice:
        add_note(connection, "info", "given_twice", 1, f"{path.name} is identical to {first.name}, and counts once")
    return logs


def choose_training_logs(beside: MonitorLogs) -> list[Path]:
    """Return those of the named files that are training logs: nothing else that traceq reads beside a trace."""
    return [
        log
        for log in beside.logs
        if not any(is_other(log) for is_other in (*_OTHERS, is_request_log)) and is_training_log(log, beside.formats)
    ]


def choose_request_logs(beside: MonitorLogs) -> list[Path]:
    """Return those of the named files that are logs of requests to a server."""
    return [log for log in beside.logs if not any(is_other(log) for is_other in _OTHERS) and is_request_log(log)]


def stage_training_logs(connection: duckdb.DuckDBPyConnection, beside: MonitorLogs) -> None:
    """Insert what the training logs say into staging.run_log, run_value and run_event, with a note on each.

    Raises UnusableTrace for a log that is damaged.
    """
    paths, twice = split_duplicates(choose_training_logs(beside))
    for number, path in enumerate(paths):
        log = read_training_log(path, beside.formats)
        for table, rows in build_rows(0, number, path, log, beside.offset).items():
            insert_fitting(connection, table, rows)
        if log.left_out:
            text = f"{path.name}: lines that look like those of {log.format} and cannot be read as a whole, or hold no number"
            add_note(connection, "info", "training_log_left_out", log.left_out, text)
    for path, first in twice:
        add_note(connection, "info", "given_twice", 1, f"{path.name} is identical to {first.name}, and counts once")


def _place_log(
    log: Log, clock: TraceClock, host: str | None, devices: Sequence[int], offset: float | None, zones: set[int]
) -> Placement:
    """Return how the log's times convert to the trace's clock; not at all if it is of another machine.

    `host` is the name of the trace's machine as in its table (None: unknown), `devices` are its GPUs.
    """
    if offset is None and log.host and host and host != f"host-{hashlib.sha256(log.host.encode()).hexdigest()[:8]}":
        return Placement(
            None,
            "its machine has another name than the trace's; if it is the same machine (a container), give --offset 0"
            " and times in UTC",
        )
    pairs = [(of_log, of_trace) for of_log in _gpus_of(log) for of_trace in devices]
    same = [pair for pair in pairs if pair[0] == pair[1]]
    return place_log(log, clock, same if set(_gpus_of(log)) <= set(devices) else pairs, offset, zones)


def _gpus_of(log: Log) -> list[int]:
    """Return the numbers of the GPUs that the log has samples of, ascending."""
    return sorted({sample.device for sample in log.samples if sample.device is not None})


def _read_trace(connection: duckdb.DuckDBPyConnection) -> tuple[TraceClock, str | None, list[int]]:
    """Return the staged trace's clock with the load of its GPUs, its machine's name (None: unknown), and its GPU numbers."""
    ((origin, zone, host),) = connection.execute(
        "select utc_origin_ns, utc_zone_ns, host from staging.trace"
    ).fetchall() or [(None, None, None)]
    ((since, until, slices),) = connection.execute(
        "select min(ts), max(ts + dur), count(*) from"
        " (select ts, dur from staging.cpu_slice union all select ts, dur from staging.gpu_slice)"
    ).fetchall()
    since, until = since or 0, until or 0
    listed = connection.execute(
        "select device from staging.device where device >= 0 union select device from staging.gpu_slice order by all"
    ).fetchall()
    devices = [device for (device,) in listed]
    loads: dict[int, GpuLoad] = {}
    for device in devices if slices <= _MOST_SLICES else ():
        found = connection.execute(
            "select ts, dur from staging.gpu_slice where device = ? and kind in ('kernel', 'graph') order by ts",
            [device],
        ).fetchnumpy()
        if len(found["ts"]):
            starts, durations = (np.asarray(found[name], dtype=np.int64) for name in ("ts", "dur"))
            loads[device] = load_of(starts, durations, since, until)
    return TraceClock(since, until, origin, loads, zone), host, devices


def _devices_of(log: Log, placed: Placement, clock: TraceClock, devices: Sequence[int]) -> tuple[dict[int, int], str]:
    """Return the trace's GPU number by the log's GPU number, and words on the mapping, "" where the numbers agree.

    GPUs that cannot be matched are left out.
    """
    of_log = _gpus_of(log)
    if placed.add is None or not of_log or set(of_log) <= set(devices):
        return {gpu: gpu for gpu in of_log}, ""
    if len(of_log) == len(devices) == 1:
        words = f"; its GPU {of_log[0]} is GPU {devices[0]} of the trace, as both have only one"
        return {of_log[0]: devices[0]}, words
    found = {
        gpu: device
        for device, load in clock.loads.items()
        if (gpu := fits_best(log, load, of_log, placed.add)) is not None
    }
    if found:
        told = ", ".join(f"{gpu} is {device} of the trace" for gpu, device in found.items())
        return found, f"; by their load, GPU {told}"
    words = f"; it has {some(len(of_log), 'GPU')}, the trace {len(devices)}, and it is not known which is which"
    return {}, f"{words}: their samples are left out"


def _stage(
    connection: duckdb.DuckDBPyConnection,
    number: int,
    path: Path,
    log: Log,
    placed: Placement,
    clock: TraceClock,
    devices: Sequence[int],
) -> None:
    """Insert the samples of a log that could be placed, a row about the log, and a note on it into staging."""
    gpus, about = _devices_of(log, placed, clock, devices)
    add, around = placed.add or 0, beat_of(log)
    kept = [
        sample for sample in log.samples if placed.add is not None and (sample.device is None or sample.device in gpus)
    ]
    within = sum(clock.since - around <= sample.ts + add <= clock.until + around for sample in kept)
    if kept:
        insert_fitting(connection, "counter", _build_counters(number, kept, add, gpus))
    said = f"{path.name}, a log of {log.tool}: "
    if placed.add is None:
        said += f"not placed, {some(len(log.samples), 'sample')} left out: {placed.words}"
    else:
        said += (
            f"{some(len(kept), 'sample')}, {within:,} within the trace; {placed.words}{_residual_text(placed)}{about}"
        )
    told = {
        "log_id": number,
        "path": str(path),
        "tool": log.tool,
        "samples": len(log.samples),
        "kept": len(kept),
        "clock": log.clock,
        "placed_by": placed.by,
        "zone_ns": placed.zone,
        "offset_ns": placed.add,
        "residual_ns": placed.residual,
        "correlation": placed.correlation,
        "text": said,
    }
    insert_fitting(connection, "monitor_log", pa.Table.from_pylist([told]))
    severity, code = "info", "monitor_log"
    if not within or len(kept) < len(log.samples):
        severity, code = "data_loss", "monitor_log_left_out"
    add_note(connection, severity, code, len(log.samples), said)
    if log.left_out:
        text = f"{path.name}: values that are not numbers, lines that cannot be read, and averages since boot were left out"
        add_note(connection, "info", "monitor_log_left_out", log.left_out, text)


def _residual_text(placed: Placement) -> str:
    """Return words on how well the GPU load confirms the placement."""
    if placed.residual is None:
        return "; the load cannot confirm that"
    return f"; the load fits within {abs(placed.residual) / SECOND:.2g} s (correlation {placed.correlation:.2f})"


def _build_counters(number: int, samples: Sequence[Sample], add: int, gpus: dict[int, int]) -> pa.Table:
    """Return rows of the table counter from samples of log `number`.

    `add` (ns) converts times to the trace's clock, `gpus` GPU numbers of the log to those of the trace.
    """
    return pa.table(
        {
            "device": pa.array(
                (None if sample.device is None else gpus[sample.device] for sample in samples), pa.int32()
            ),
            "name": pa.array((sample.name for sample in samples), pa.string()),
            "unit": pa.array((sample.unit for sample in samples), pa.string()),
            "ts": pa.array((sample.ts + add for sample in samples), pa.int64()),
            "value": pa.array((sample.value for sample in samples), pa.float64()),
            "instance": pa.array((sample.instance for sample in samples), pa.string()),
            "log_id": pa.array([number], pa.int32()).take(pa.array([0] * len(samples))),
        }
    )


def read_snapshots(
    connection: duckdb.DuckDBPyConnection, beside: Iterable[Path], offset: float | None
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield (table, batch of rows) from those files in `beside` that are memory snapshots; `offset` (s) is added to their times.

    Raises UnusableTrace where neither the trace's absolute time nor an offset places them on its clock.
    """
    paths, twice = split_duplicates([*filter(memory_snapshot.sniff, beside)])
    for path, first in twice:
        text = f"{path.name} is identical to {first.name}, and counts once"
        yield from batches_of("import_note", [{"severity": "info", "code": "given_twice", "count": 1, "text": text}])
    for path in paths:
        ((origin,),) = connection.execute("select max(utc_origin_ns) from staging.trace").fetchall()
        if origin is None and offset is None:
            raise UnusableTrace(
                f"{path}: the trace does not say when it was recorded, so a snapshot cannot be placed on its clock; give --offset"
                " (what to add to the snapshot's times, in seconds), or read the snapshot alone"
            )
        yield from memory_snapshot.beside(path, (origin or 0) - round((offset or 0) * 1e9))
