"""Logs of requests beside a trace: read, placed on its clock, and staged as rows of request_log, request and request_token."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np
import pyarrow as pa

from traceq.common.units import some
from traceq.importers.request_logs import read_request_log
from traceq.importers.request_logs.reading import END_OF_TIME, SECOND, LoggedRequest, RequestLog
from traceq.loading.sources import split_duplicates
from traceq.loading.staging import add_note, insert_fitting

_MINUTE = 60 * SECOND
_HOUR = 60 * _MINUTE


class _TraceTimes(NamedTuple):
    """When the trace was recorded: its first and last ns, UTC at 0 and local time ahead of UTC (ns; None: unknown)."""

    since: int
    until: int
    origin: int | None
    zone: int | None


def stage_request_logs(connection: duckdb.DuckDBPyConnection, logs: Sequence[Path], offset: float | None) -> None:
    """Insert the requests of the logs into staging, with a note on each log.

    `offset` are the seconds to add to their times (--offset), None if the user says none. Raises UnusableTrace for a log that is
    damaged.
    """
    paths, twice = split_duplicates(logs)
    if not paths:
        return
    trace = _read_trace_times(connection)
    before = 0
    for number, path in enumerate(paths):
        log = read_request_log(path)
        shift, reason = _place_log(log, trace, offset)
        for table, rows in _build_rows(number, before, path, log, shift, reason).items():
            if rows.num_rows:
                insert_fitting(connection, table, rows)
        before += len(log.requests)
        _add_notes(connection, path, log, trace, shift, reason)
    for path, first in twice:
        add_note(connection, "info", "given_twice", 1, f"{path.name} is identical to {first.name}, and counts once")


def _read_trace_times(connection: duckdb.DuckDBPyConnection) -> _TraceTimes:
    """Return when the staged trace was recorded."""
    ((origin, zone),) = connection.execute("select utc_origin_ns, utc_zone_ns from staging.trace").fetchall() or [
        (None, None)
    ]
    ((since, until),) = connection.execute(
        "select min(ts), max(ts + dur) from"
        " (select ts, dur from staging.cpu_slice union all select ts, dur from staging.gpu_slice)"
    ).fetchall()
    return _TraceTimes(since or 0, until or 0, origin, zone)


def _place_log(log: RequestLog, trace: _TraceTimes, offset: float | None) -> tuple[int | None, str]:
    """Return (ns to add to the log's times to have them on the trace's clock, None where that cannot be told; why)."""
    first = min((one.arrival_ns for one in log.requests if one.arrival_ns is not None), default=None)
    if log.clock == "none" or first is None:
        return None, "it has durations only, no times"
    if offset is not None:
        start = trace.since - first if trace.origin is None else -trace.origin
        return start + round(offset * SECOND), "placed by --offset"
    if trace.origin is None:
        return None, (
            "the trace does not say when it was recorded; give --offset, the seconds from its start to the first request"
        )
    if log.clock == "own":
        return None, (
            "its times count from a moment that only its writer knows; give --offset, what to add to them to have seconds since"
            " 1970"
        )
    if log.clock == "local" and trace.zone is None:
        return None, "its times name no zone, nor does the trace; give --offset: 0 for times in UTC, -3600 for UTC+1"
    zone = trace.zone if log.clock == "local" and trace.zone is not None else 0
    return -zone - trace.origin, "its times are UTC" if log.clock == "utc" else "its times are in the trace's zone"


def _build_rows(
    number: int, before: int, path: Path, log: RequestLog, shift: int | None, reason: str
) -> dict[str, pa.Table]:
    """Return the rows of a log by table; `before` is how many requests the logs before it have."""
    requests = log.requests
    about = {
        "log_id": number,
        "file": path.name,
        "format": log.format,
        "side": log.side,
        "clock": log.clock,
        "shift": shift,
        "requests": len(requests),
        "left_out": log.left_out,
        "reason": reason,
    }
    numbers = range(before, before + len(requests))
    columns = {
        "log_id": pa.array([number] * len(requests), pa.int32()),
        "request_number": pa.array(numbers, pa.int64()),
        "request_id": pa.array((one.request_id for one in requests), pa.string()),
        "status": pa.array((one.status for one in requests), pa.string()),
        **{
            f"{name}_ts": pa.array((_place_time(getattr(one, f"{name}_ns"), shift) for one in requests), pa.int64())
            for name in ("arrival", "scheduled", "first_token", "end")
        },
        **{
            name: pa.array((getattr(one, name) for one in requests), pa.int64())
            for name in ("prompt_tokens", "output_tokens", "cached_tokens")
        },
        **{
            name: pa.array((getattr(one, f"{name}_ns") for one in requests), pa.int64())
            for name in ("queue", "ttft", "e2e")
        },
        "tpot": pa.array(map(_time_per_token, requests), pa.float64()),
    }
    return {
        "request_log": pa.Table.from_pylist([about]),
        "request": pa.table(columns),
        "request_token": _build_tokens(numbers, requests),
    }


def _place_time(at: int | None, shift: int | None) -> int | None:
    """Return a time on the clock of the trace; None where it is not known, or too far away to be one."""
    if at is None or shift is None:
        return None
    placed = at + shift
    return placed if abs(placed) < END_OF_TIME else None


def _time_per_token(request: LoggedRequest) -> float | None:
    """Return the mean time of a token after the first, ns; None where their number is not known: chunks hold several."""
    tokens = request.output_tokens
    if (
        tokens is None
        or tokens <= 1
        or request.e2e_ns is None
        or request.ttft_ns is None
        or request.e2e_ns < request.ttft_ns
    ):
        return None
    return (request.e2e_ns - request.ttft_ns) / (tokens - 1)


def _build_tokens(numbers: Sequence[int], requests: Sequence[LoggedRequest]) -> pa.Table:
    """Return the rows of request_token."""
    counts = np.array([len(one.token_ns) for one in requests], dtype=np.int64)
    total = int(counts.sum())
    at = np.fromiter((ns for one in requests for ns in one.token_ns), dtype=np.int64, count=total)
    starts = np.cumsum(counts) - counts
    is_first = np.zeros(total, dtype=bool)
    is_first[starts[counts > 0]] = True
    return pa.table(
        {
            "request_number": pa.array(np.repeat(np.asarray(numbers, dtype=np.int64), counts)),
            "token": pa.array((np.arange(total) - np.repeat(starts, counts)).astype(np.int32)),
            "since_arrival": pa.array(at),
            "gap": pa.array(np.diff(at, prepend=0), mask=is_first),
        }
    )


def _add_notes(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    log: RequestLog,
    trace: _TraceTimes,
    shift: int | None,
    reason: str,
) -> None:
    """Add a note on the log: how many requests, and whether they are placed; another on what was left out."""
    said = f"{path.name}, a log of {some(len(log.requests), 'request')} ({log.format}, of the {log.side})"
    if shift is None:
        add_note(
            connection, "data_loss", "request_log_not_placed", len(log.requests), f"{said}: not placed, as {reason}"
        )
    else:
        spans = [
            (one.arrival_ns + shift, one.end_ns + shift)
            for one in log.requests
            if one.arrival_ns is not None and one.end_ns is not None
        ]
        within = sum(begin < trace.until and end > trace.since for begin, end in spans)
        if within:
            add_note(
                connection, "info", "request_log", len(log.requests), f"{said}: {within:,} within the trace; {reason}"
            )
        else:
            away = _describe_distance(spans, trace)
            text = f"{said}: none within the trace{away}; {reason}; if a clock was wrong, give --offset"
            add_note(connection, "data_loss", "request_log_not_placed", len(log.requests), text)
    if log.servers > 1:
        text = f"{path.name}: requests of {log.servers} processes count as those of one server; leave those that were traced"
        add_note(connection, "data_loss", "request_log_servers", log.servers, text)
    if log.left_out:
        text = f"{path.name}: records that are damaged, or tell of requests nothing of their times, were left out"
        add_note(connection, "info", "request_log_left_out", log.left_out, text)


def _describe_distance(spans: Sequence[tuple[int, int]], trace: _TraceTimes) -> str:
    """Return in words how far from the trace the nearest request is; "" without one."""
    if not spans:
        return ""
    before, after = (min((gap for gap in gaps if gap >= 0), default=None) for gaps in (
        [trace.since - end for _, end in spans], [begin - trace.until for begin, _ in spans],
    ))  # fmt: skip
    away, side = min(
        ((gap, side) for gap, side in ((before, "before"), (after, "after")) if gap is not None), default=(0, "before")
    )
    if away < _MINUTE:
        told = f"{away / SECOND:.3g} s"
    else:
        told = f"{away / _HOUR:,.1f} h" if away >= _HOUR else f"{away / _MINUTE:.0f} min"
    return f", the nearest {told} {side} it"
