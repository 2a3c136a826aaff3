"""Diagnose the traces of a database: identities, and per metric how far it goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from traceq.database.query import ask
from traceq.database.sql import statement
from traceq.diagnosis.program import Program, program_of
from traceq.formats.capabilities import METRICS, Metric
from traceq.health import coverage, identities
from traceq.health.coverage import Inputs, LostEvents
from traceq.health.identities import IdentityCheck
from traceq.health.judges import JUDGES
from traceq.health.verdict import MetricHealth, MetricVerdict, suggest_captures

if TYPE_CHECKING:
    import duckdb


# Metrics that a capture of the host alone can bring: of others nothing is suggested where the device is no GPU.
_OF_HOST = frozenset({"steps", "host", "data", "python", "os", "flops"})

# Notes of severity data_loss that say that events are missing which any metric may stand on.
_INCOMPLETE = frozenset((
    "truncated", "table_damaged", "malformed_event", "large_event", "view_not_read", "spelled_otherwise",
    "wal_ignored", "table_twice",
))  # fmt: skip


class BesideLog(msgspec.Struct, frozen=True):
    """A monitor's log that was read beside a trace: a row of the table monitor_log."""

    path: str
    tool: str
    samples: int
    kept: int
    clock: str
    placed_by: str | None
    zone_ns: int | None
    offset_ns: int | None
    residual_ns: int | None
    correlation: float | None
    text: str


class TraceHealth(msgspec.Struct, frozen=True):
    """The diagnosis of one trace: identities, and a verdict on each metric.

    `made_with` counts the facts and knobs in its environment snapshot, 0 without one.
    """

    trace_id: int
    run: str | None
    path: str
    format: str
    producer: str | None
    producer_version: str | None
    rank: int | None
    inputs: Inputs
    identities: tuple[IdentityCheck, ...]
    metrics: tuple[MetricHealth, ...]
    logs: tuple[BesideLog, ...]
    made_with: int = 0
    damage: tuple[str, ...] = ()
    """What in the trace is impossible and explains the identities that do not hold."""

    @property
    def broken(self) -> tuple[IdentityCheck, ...]:
        """The identities that do not hold in this trace."""
        return tuple(identity for identity in self.identities if identity.broken)


def diagnose(connection: duckdb.DuckDBPyConnection) -> tuple[TraceHealth, ...]:
    """Return the diagnosis of every trace in the database, in the order of ingest."""
    return tuple(_diagnose_trace(connection, row) for row in ask(connection, statement("health/trace.sql")))


def _diagnose_trace(connection: duckdb.DuckDBPyConnection, row: dict[str, Any]) -> TraceHealth:
    held = coverage.read(connection, row["trace_id"])
    checked = identities.check(connection, row["trace_id"])
    return TraceHealth(
        **row,
        inputs=held,
        identities=checked,
        metrics=_judge_metrics(held, row["format"], program_of(connection, row["trace_id"])),
        logs=tuple(BesideLog(**log) for log in ask(connection, statement("health/log.sql"), trace_id=row["trace_id"])),
        damage=_find_damage(connection, row["trace_id"], checked),
    )


def _find_damage(
    connection: duckdb.DuckDBPyConnection, trace_id: int, checked: tuple[IdentityCheck, ...]
) -> tuple[str, ...]:
    """Return descriptions of impossible rows in the trace if they explain all broken identities, else ().

    Lost events never explain a broken identity.
    """
    broken = {identity.identity.name for identity in checked if identity.broken}
    if not broken:
        return ()
    impossible = ask(connection, statement("health/damage.sql"), trace_id=trace_id)
    excused = {name for damage in impossible for name in damage["excuses"]}
    return tuple(f"{damage['what']} ({damage['count']:,})" for damage in impossible) if broken <= excused else ()


def judge_quality(
    connection: duckdb.DuckDBPyConnection, trace_id: int, format_: str, program: Program
) -> tuple[MetricHealth, ...]:
    """Return for each metric how far it can be trusted in a trace of `program`.

    The identities, which take long to check, are not considered.
    """
    return _judge_metrics(coverage.read(connection, trace_id), format_, program)


def _judge_metrics(held: Inputs, format_: str, program: Program) -> tuple[MetricHealth, ...]:
    return tuple(_judge_metric(metric, held, format_, program) for metric in METRICS.values())


def _judge_metric(metric: Metric, held: Inputs, format_: str, program: Program) -> MetricHealth:
    """Return the verdict on the metric, and captures that would improve it where the trace's profiler or another can."""
    verdict = _degrade_incomplete(JUDGES[metric.name](held), held.lost)
    is_of_gpu = metric.name not in _OF_HOST and any(events.code.endswith("_not_measured") for events in held.lost)
    more = (
        suggest_captures(metric, format_, of_pytorch=program.may_be_pytorch, of_amd=program.is_amd)
        if verdict.needs and not is_of_gpu
        else ()
    )
    return MetricHealth(metric.name, metric.answers, verdict.state, verdict.reason, verdict.needs, more)


def _degrade_incomplete(verdict: MetricVerdict, lost: tuple[LostEvents, ...]) -> MetricVerdict:
    """Return the verdict; one that is ok becomes degraded where notes say that events of the capture are missing."""
    codes = [events.code for events in lost if events.severity == "error" or events.code in _INCOMPLETE]
    if verdict.state != "ok" or not codes:
        return verdict
    reason = f"{verdict.reason}; but the capture is incomplete ({', '.join(codes)})"
    return replace(verdict, state="degraded", reason=reason)
