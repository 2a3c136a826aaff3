"""From a trace database to a Report. Sums are made in traceq/reports/sql/; here rows get their names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import groupby
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from traceq.diagnosis.cache import cached_or_judged
from traceq.diagnosis.finding import Failed, Finding
from traceq.diagnosis.job.judge import judge_job
from traceq.diagnosis.judge import Judged
from traceq.diagnosis.rules.registry import Rule
from traceq.diagnosis.subject import Goal, Subject
from traceq.health.diagnosis import quality
from traceq.reports import build_topics, model
from traceq.reports.model import DeviceLedger, LedgerPart, Report, StepLedger, Steps, TraceFacts, TraceReport
from traceq.reports.queries import records, rows, standalone

if TYPE_CHECKING:
    import duckdb

# Field of the report to the query in traceq/reports/sql/ that fills it, and what its rows become.
_LISTS: dict[str, tuple[str, Callable[..., Any]]] = {
    "program": ("program", model.ProgramFact),
    "made_with": ("made_with", model.MadeWith),
    "devices": ("device", model.Device),
    "units": ("unit", model.Unit),
    "phases_of_run": ("phase_of_run", model.PhaseOfRun),
    "throughput": ("throughput", model.Throughput),
    "phases": ("phase", model.Phase),
    "conditions": ("condition", model.Condition),
    "gaps": ("gap", model.Gap),
    "gap_sizes": ("gap_size", model.GapSize),
    "outliers": ("outlier", model.Outlier),
    "host_ledger": ("host_ledger", model.HostPart),
    "notes": ("note", model.Note),
}

# The same of a job.
_LISTS_OF_JOB: dict[str, tuple[str, Callable[..., Any]]] = {
    "stragglers": ("straggler", model.Straggler),
    "collectives": ("job_collective", model.JobCollective),
    "lateness": ("job_lateness", model.Lateness),
    "worst": ("job_worst", model.WorstArrival),
}

# Section to the query that gives its numbers again; of a trace with a ledger of the GPU or without one.
_QUERIES = {
    "content": "content",
    "steps": "step_stats",
    "steps_excluded": "step_excluded",
    **{name: query for name, (query, _) in _LISTS.items() if name not in ("gaps", "gap_sizes")},
    **build_topics.QUERIES,
}
_OF_LEDGER = {"ledger": "ledger", "gaps": "gap", "gap_sizes": "gap_size"}
_OF_HOST = {"host_annotations": "host_annotation", "host_operators": "host_operator"}


def build(
    connection: duckdb.DuckDBPyConnection,
    top: int,
    goal: Goal = "throughput",
    rules: Sequence[Rule] | None = None,
    *,
    drawn: bool = False,
) -> Report:
    """The report on every trace of the database, with at most `top` findings (and host names) for each.

    `rules` are those to judge by, None for those of traceq; `goal` is what the advice optimises for. `drawn`: with
    timelines, which only some formats show.
    """
    return build_judged(connection, top, cached_or_judged(connection, goal, rules), drawn=drawn)


def build_judged(
    connection: duckdb.DuckDBPyConnection,
    top: int,
    judged: Sequence[tuple[Subject, Callable[[], Judged]]],
    *,
    drawn: bool = False,
    jobs: Sequence[model.Job] | None = None,
) -> Report:
    """The same, of some traces, with what gives the judgement on each; `jobs` are those of the database where they are known."""
    wanted = {subject.trace_id for subject, _ in judged}
    traces = [trace for trace in rows(connection, "trace") if trace["trace_id"] in wanted]
    files = _short_paths([trace["path"] for trace in traces])
    return Report(
        tuple(
            _trace_report(connection, trace, file, subject, judge, top, len(traces), drawn=drawn)
            for trace, file, (subject, judge) in zip(traces, files, judged, strict=True)
        ),
        query=standalone("overview"),
        jobs=tuple(jobs_of(connection, wanted) if jobs is None else (each for each in jobs if _has(each, wanted))),
    )


def jobs_of(connection: duckdb.DuckDBPyConnection, wanted: set[int] | None = None) -> Iterator[model.Job]:
    """The jobs that have one of these traces, all without."""
    names = [field.name for field in fields(model.Job)]  # its columns are the first of them
    for job in rows(connection, "job"):
        place = {"job": job["job"], "time_window": job["time_window"]}
        members = records(model.JobRank, connection, "job_rank", **place)
        if wanted is None or any(each.trace_id in wanted for each in members):
            lists: dict[str, Any] = {
                name: records(made, connection, query, **place) for name, (query, made) in _LISTS_OF_JOB.items()
            }
            told = judge_job(connection, **place)
            yield model.Job(
                **dict(zip(names, job.values(), strict=False)),
                members=members,
                findings=told.findings,
                not_applicable=told.not_applicable,
                failed=told.failed,
                **lists,
            )


def _has(job: model.Job, traces: set[int]) -> bool:
    return any(each.trace_id in traces for each in job.members)


def _short_paths(paths: Sequence[str]) -> list[str]:
    """Each path from where they part: of one file its name, else the directories that differ too."""
    try:
        shared = os.path.commonpath([PurePath(path).parent for path in paths]) if paths else ""
    except ValueError:  # absolute and relative paths in one database
        return [PurePath(path).name for path in paths]
    return [os.path.relpath(path, shared) if shared else path for path in paths]


def _trace_report(
    connection: duckdb.DuckDBPyConnection,
    trace: dict[str, Any],
    file: str,
    subject: Subject,
    judge: Callable[[], Judged],
    top: int,
    traces: int,
    *,
    drawn: bool,
) -> TraceReport:
    trace_id = trace["trace_id"]
    captured = (trace["ts"] or 0, (trace["ts"] or 0) + (trace["dur"] or 0))
    lists: dict[str, Any] = {
        name: records(made, connection, query, trace_id=trace_id, top=top) for name, (query, made) in _LISTS.items()
    }
    steps = _steps(connection, trace_id)
    ledger = _ledger(subject.ledgers, lists["devices"], steps.counted)
    judged = _not_adding_up(trace_id, steps, ledger) or judge()
    return TraceReport(
        trace=_facts(connection, trace, file),
        triage=subject.triage,
        **lists,
        steps=steps,
        ledger=ledger,
        step_ledgers=tuple(_step_ledgers(connection, trace_id, subject.device)),
        findings=judged.findings[:top],
        account=judged.account,
        findings_left_out=len(judged.findings[top:]),
        extra_findings=judged.extra_findings,
        extra_left_out=judged.extra_left_out,
        observations=judged.observations,
        small=judged.small,
        **rows(connection, "replay", trace_id=trace_id)[0],
        clean=judged.clean,
        not_applicable=judged.not_applicable,
        failed=judged.failed,
        rules_asked=judged.asked,
        quality=quality(connection, trace_id, trace["format"], subject.program),
        topics=build_topics.topics(connection, trace_id, top),
        host=None if ledger else _host(connection, trace_id, top),
        queries={
            section: standalone(query, trace_id=trace_id, top=top)
            for section, query in {**_QUERIES, **(_OF_LEDGER if ledger else _OF_HOST)}.items()
        },
        **(_drawn(connection, trace_id, captured, subject.device, judged.findings[:top], traces) if drawn else {}),
    )


def _drawn(
    connection: duckdb.DuckDBPyConnection,
    trace_id: int,
    captured: tuple[int, int],
    device: int | None,
    findings: Sequence[Finding],
    traces: int,
) -> dict[str, Any]:
    """What only pages show."""
    from traceq.reports.build_flame import flame
    from traceq.reports.build_timelines import all_steps, occurrences

    return {
        "over_time": all_steps(connection, trace_id, device, traces),
        "flame": flame(connection, trace_id, traces),
        "close_ups": dict(occurrences(connection, trace_id, captured, findings, traces)),
    }


def _facts(connection: duckdb.DuckDBPyConnection, trace: dict[str, Any], file: str) -> TraceFacts:
    slices: dict[str, dict[str, int]] = {"cpu_slice": {}, "gpu_slice": {}}
    for row in rows(connection, "content", trace_id=trace["trace_id"]):
        slices[row["table_name"]][row["kind"]] = row["slices"]
    return TraceFacts(
        **{name: value for name, value in trace.items() if name not in ("path", "ts", "dur")},
        dur_ns=trace["dur"],
        file=file,
        cpu_slices=slices["cpu_slice"],
        gpu_slices=slices["gpu_slice"],
    )


def _steps(connection: duckdb.DuckDBPyConnection, trace_id: int) -> Steps:
    named = ("total", "mean", "stddev", "min", "p50", "p90", "p95", "p99", "max")
    stats = next(iter(rows(connection, "step_stats", trace_id=trace_id)), {"steps": 0})
    source = next(iter(rows(connection, "step_source", trace_id=trace_id)), {})
    return Steps(
        source=source.get("source"),
        example=source.get("name"),
        counted=stats["steps"],
        excluded=records(model.ExcludedStep, connection, "step_excluded", trace_id=trace_id),
        **{f"{name}_ns": stats.get(name) for name in named},
    )


def _ledger(
    times: Mapping[int, Mapping[str, int]], devices: Sequence[model.Device], counted: int
) -> tuple[DeviceLedger, ...]:
    names = {device.device: device.name for device in devices}
    ledgers = []
    for device, parts in times.items():
        total = sum(parts.values())
        ledgers.append(
            DeviceLedger(
                device=device,
                name=names.get(device),
                total=total,
                parts=tuple(LedgerPart(category, dur, dur / counted, dur / total) for category, dur in parts.items()),
            )
        )
    return tuple(ledgers)


def _step_ledgers(connection: duckdb.DuckDBPyConnection, trace_id: int, device: int | None) -> Iterator[StepLedger]:
    if device is None:
        return
    found = rows(connection, "step_ledger", trace_id=trace_id, device=device)
    for (step, dur), parts in groupby(found, key=lambda row: (row["step"], row["step_dur"])):
        yield StepLedger(device, step, dur, tuple((part["category"], part["dur"]) for part in parts))


def _not_adding_up(trace_id: int, steps: Steps, ledger: Sequence[DeviceLedger]) -> Judged | None:
    """Failures only, when the ledger does not add up: no saving can be trusted then."""
    wrong = [device for device in ledger if device.total != steps.total_ns]
    failed = tuple(
        Failed(
            "time-ledger",
            "The ledger adds up to the steps",
            f"device {device.device}: {device.total} ns in the ledger, {steps.total_ns} ns in the steps;"
            " ingest the trace again",
        )
        for device in wrong
    )
    return Judged(trace_id, (), (), (), (), (), failed) if wrong else None


def _host(connection: duckdb.DuckDBPyConnection, trace_id: int, top: int) -> model.Host:
    return model.Host(
        annotations=records(model.AnnotationTime, connection, "host_annotation", trace_id=trace_id, top=top),
        operators=records(model.OperatorTime, connection, "host_operator", trace_id=trace_id, top=top),
    )
