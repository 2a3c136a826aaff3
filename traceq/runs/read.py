"""From a trace database to its runs. Sums are made in runs/sql/; here rows get their names."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from itertools import groupby
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from traceq.database.query import ask
from traceq.database.sql import statement
from traceq.diagnosis.cache import load_judgements
from traceq.diagnosis.judge import Judged, not_asked
from traceq.diagnosis.query import read, standalone_query
from traceq.diagnosis.rules.registry import Rule
from traceq.diagnosis.subject import Subject
from traceq.runs.losses import read_losses
from traceq.runs.read_job import read_jobs
from traceq.runs.run import Amount, CaptureFacts, FindingKept, Item, PartKept, Run, RunStep

if TYPE_CHECKING:
    import duckdb

# Items that are kept; all others of a category are one.
_MOST_ITEMS = 600
_SATURATED = "gpu-saturated"
_OF_FIRST_STEPS = ("first-use", "idle-compile", "lazy-module-loading", "torchscript-compilation")
_FACTS = ("sha256", "format", "producer", "producer_version", "overhead_share", "loader_queue")


def read_runs(
    connection: duckdb.DuckDBPyConnection,
    source: str,
    wanted: Collection[int] | None = None,
    rules: Sequence[Rule] | None = None,
) -> dict[int, Run]:
    """Return the runs of the traces `wanted` (all if None), by trace_id in the order of ingest.

    `source` is the name of the database in reports. `rules` are judged for the wanted traces; None means the default
    rules.
    """
    traces = {trace["trace_id"]: trace for trace in ask(connection, statement("database/trace.sql"))}
    ranks = tuple(sorted({trace["rank"] for trace in traces.values() if trace["rank"] is not None}))
    runs: dict[int, Run] = {}
    for subject, judge in load_judgements(connection, rules=rules, traces=traces):
        trace_id = subject.trace_id
        # The times of the others belong to the job, their findings to nobody.
        judged = judge() if wanted is None or trace_id in wanted else not_asked(trace_id)
        runs[trace_id] = replace(_read_run(connection, source, traces[trace_id], subject, judged), ranks=ranks)
    jobs = read_jobs(connection, runs)
    return {each: replace(runs[each], job=jobs.get(each)) for each in (runs if wanted is None else wanted)}


def _read_run(
    connection: duckdb.DuckDBPyConnection, source: str, trace: dict[str, Any], subject: Subject, judged: Judged
) -> Run:
    """Return the run of one trace, without its job and the ranks beside it; `trace` is its row of database/trace.sql."""
    trace_id = subject.trace_id
    device = -2 if subject.device is None else subject.device
    steps = ask(connection, statement("runs/sql/step.sql"), trace_id=trace_id, device=device)
    unit = next(iter(ask(connection, statement("runs/sql/unit.sql"), trace_id=trace_id)), {"level": None, "name": None})
    saturated = [observation.text for observation in judged.observations if observation.rule == _SATURATED]
    notes = ask(connection, statement("database/note.sql"), trace_id=trace_id)
    (capture,) = ask(connection, statement("runs/sql/capture.sql"), trace_id=trace_id, device=device)
    losses = next((row["losses"] for row in ask(connection, statement("runs/sql/losses.sql"), trace_id=trace_id)), None)
    only_device_name = capture.pop("only_device_name")
    return Run(
        source=source,
        file=PurePath(trace["path"]).name,
        **{name: trace[name] for name in _FACTS},
        rank=subject.rank,
        world_size=subject.world_size,
        device=subject.device,
        device_name=subject.device_name or (only_device_name if subject.device is not None else None),
        devices=subject.devices,
        step_source=steps[0]["source"] if steps else None,
        settings=_read_settings(connection, trace_id),
        payload={
            row["key"]: row["per_step"] for row in ask(connection, statement("runs/sql/payload.sql"), trace_id=trace_id)
        },
        shapes=_read_shapes(connection, trace_id),
        steps=tuple(_read_steps(steps)),
        items=_read_items(connection, trace_id, subject.device),
        findings=tuple(
            FindingKept(**{name: getattr(finding, name) for name in FindingKept.__struct_fields__})
            for finding in judged.every_finding
        ),
        parts=tuple(
            PartKept(part.rule, part.finding_id, part.title, part.saving_ns, finding.finding_id)
            for finding in judged.every_finding
            for part in finding.parts
        ),
        saturated=saturated[0] if saturated else None,
        cannot_tell={
            **{skipped.rule: skipped.reason for skipped in judged.not_applicable},
            **{each.rule: f"the rule failed: {each.error}" for each in judged.failed},
        },
        lost=tuple(note["text"] for note in notes if note["severity"] != "info"),
        unit=unit["level"],
        unit_name=unit["name"],
        conditions={
            row["series"]: row["mean"]
            for row in ask(connection, statement("runs/sql/condition.sql"), trace_id=trace_id, device=device)
        },
        start_up_ns=_measure_start_up(subject, judged),
        made_with={
            row["name"]: row["value"] for row in ask(connection, statement("runs/sql/made_with.sql"), trace_id=trace_id)
        },
        capture=CaptureFacts(**capture),
        losses=read_losses(json.loads(losses) if losses else None),
    )


def _measure_start_up(subject: Subject, judged: Judged) -> int:
    """Return the time of a single step that only a first step takes (loading and compiling code), ns; 0 with several steps."""
    if subject.steps != 1:
        return 0
    once = 0 if subject.triage is None else subject.triage.once_ns
    return max(
        once, round(sum(finding.owned_ns for finding in judged.every_finding if finding.rule in _OF_FIRST_STEPS))
    )


def _read_steps(found: list[dict[str, Any]]) -> list[RunStep]:
    """Return the steps with their ledgers.

    `found` are rows of runs/sql/step.sql: one for each step and category, by step.
    """
    steps = []
    for _, parts in groupby(found, key=lambda row: row["step"]):
        listed = list(parts)
        first = listed[0]
        ledger = {part["category"]: part["dur"] for part in listed if part["category"] is not None}
        steps.append(RunStep(first["step"], first["name"], first["step_dur"], first["excluded"], ledger, first["kind"]))
    return steps


def _read_items(connection: duckdb.DuckDBPyConnection, trace_id: int, device: int | None) -> tuple[Item, ...]:
    """Return the largest items of the device's ledger (_MOST_ITEMS at most): time by category, kernel and operator.

    Each has the amounts of every counted step and of the typical ones. None means the training thread's ledger.
    """
    values = {"trace_id": trace_id, "most": _MOST_ITEMS}
    if device is None:
        found = ask(connection, standalone_query(read(statement("runs/sql/host_item.sql"), "host_item"), values))
    else:
        found = ask(connection, statement("runs/sql/item.sql"), device=device, **values)
    return tuple(
        Item(
            **{key: row[key] for key in ("category", "name", "shape", "family", "phase", "operator")},
            every=Amount(row["count"], row["dur"], row["bytes"], row["deviation"]),
            typical=Amount(row["typical_count"], row["typical_dur"], row["typical_bytes"], row["typical_deviation"]),
            kind=row["kind"],
        )
        for row in found
    )


def _read_shapes(connection: duckdb.DuckDBPyConnection, trace_id: int) -> dict[str, dict[str, int]]:
    """Return the GPU time, ns, by operator and input dimensions; empty where shapes were not recorded."""
    shapes: dict[str, dict[str, int]] = {}
    for row in ask(connection, statement("runs/sql/shape.sql"), trace_id=trace_id):
        shapes.setdefault(row["operator"], {})[row["dims"]] = row["dur"]
    return shapes


def _read_settings(connection: duckdb.DuckDBPyConnection, trace_id: int) -> dict[str, str]:
    """Return the profiler's top-level settings from the trace's metadata, as texts by name."""
    rows = ask(connection, statement("runs/sql/args.sql"), trace_id=trace_id)
    return {row["key"]: str(json.loads(row["atom"])) for row in rows}
