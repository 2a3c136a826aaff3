"""From a trace database to a Report. Sums are made in traceq/reports/sql/; here rows get their names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import asdict, replace

from traceq.database.query import ask
from traceq.database.sql import statement
from traceq.diagnosis.cache import load_judgements
from traceq.diagnosis.finding import Failed, Finding
from traceq.diagnosis.job.judge import judge_job
from traceq.diagnosis.judge import Judged
from traceq.diagnosis.rules.registry import Rule
from traceq.diagnosis.subject import Goal, Subject
from traceq.formats.capabilities import format_of
from traceq.health.diagnosis import judge_quality
from traceq.reports import model
from traceq.reports.model import (
    NOT_BUILT,
    DeviceLedger,
    LedgerPart,
    Report,
    Scope,
    StepLedger,
    Steps,
    TraceFacts,
    TraceReport,
)
from traceq.reports.queries import Queries, print_query
from traceq.reports.topics import Topics
from traceq.reports.topics.recorded import RecordFacts, UsualCollective
from traceq.reports.topics.requests import RequestLogFacts
from traceq.reports.topics.run import RunLog, RunPhase, RunPoint
from traceq.reports.topics.serving import ServingSummary
from traceq.runs.run_change import RunChange

if TYPE_CHECKING:
    import duckdb

# Field of the report to the query in traceq/reports/sql/ that fills it, and what its rows become.
LISTS: dict[str, tuple[str, Callable[..., Any]]] = {
    "program": ("program", model.ProgramFact),
    "made_with": ("made_with", model.MadeWith),
    "devices": ("device", model.Device),
    "units": ("unit", model.Unit),
    "phases_of_run": ("phase_of_run", model.PhaseOfRun),
    "throughput": ("throughput", model.Throughput),
    "phases": ("phase", model.Phase),
    "conditions": ("condition", model.Condition),
    "run_logs": ("run_log", RunLog),
    "run_points": ("run_point", RunPoint),
    "run_changes": ("run_change", RunChange),
    "run_phases": ("run_phase", RunPhase),
    "request_logs": ("request_log", RequestLogFacts),
    "records": ("record_facts", RecordFacts),
    "recorded_collectives": ("inspected_usual", UsualCollective),
    "gaps": ("gap", model.Gap),
    "gap_sizes": ("gap_size", model.GapSize),
    "outliers": ("outlier", model.Outlier),
    "host_ledger": ("host_ledger", model.HostPart),
    "notes": ("note", model.Note),
}
# Those that the first screen does not show.
_NOT_ON_SCREEN = (
    "units",
    "throughput",
    "phases",
    "conditions",
    "run_points",
    "run_phases",
    "run_changes",
    "gaps",
    "gap_sizes",
)

# Query to what its rows become: the fields of a job after its members, in their order.
LISTS_OF_JOB: dict[str, Callable[..., Any]] = {
    "straggler": model.Straggler,
    "job_collective": model.JobCollective,
    "job_lateness": model.Lateness,
    "job_worst": model.WorstArrival,
    "job_axis": model.make_axis_of_job,
    "job_group_wait": model.GroupWait,
    "job_pair": model.RankPair,
    "job_bubble": model.StageBubble,
    "job_path": model.JobPathPart,
    "job_part": model.LatePart,
    "job_load": model.RankLoad,
    "job_load_layer": model.LayerLoad,
    "job_exchanged": model.ExchangedBytes,
}

# Topic and field of it to the section of the report and the query of that name that fills it.
_TOPICS = {
    "critical_path": {
        "summary": ("critical_path", "critical_path"),
        "parts": ("critical_path_parts", "critical_path_part"),
        "names": ("critical_path_names", "critical_path_name"),
    },
    "copies": {
        "totals": ("copies", "copy_total"),
        "groups": ("copy_groups", "copy_group"),
        "unified_memory": ("unified_memory", "unified_memory"),
        "peers": ("peer_copies", "peer_copy"),
    },
    "communication": {
        "totals": ("communication", "communication"),
        "blocking": ("blocking", "blocking"),
        "collectives": ("collectives", "collective"),
        "on_host": ("host_collectives", "host_collective"),
        "axes": ("axes", "axis"),
    },
    "kernels": {
        "fill": ("kernels", "kernel_fill"),
        "occupancy": ("kernel_occupancy", "kernel_occupancy"),
        "top": ("kernel_names", "kernel_top"),
        "operators": ("operators", "operator_kind"),
        "mfu": ("mfu", "mfu"),
        "measured": ("gpu_metrics", "gpu_metric"),
        "module_kinds": ("module_kinds", "module_kind"),
        "modules": ("modules", "module_top"),
        "roofline": ("kernel_roofline", "kernel_roofline"),
        "experts": ("experts", "expert"),
        "grouped": ("grouped_products", "grouped_product"),
        "regions": ("graph_regions", "graph_region"),
        "layers": ("layers", "layer_list"),
        "fusion": ("fusion", "fusion"),
        "reported": ("reported_kernels", "kernel_reported"),
        "unreported": ("unreported_kernels", "kernel_unreported"),
    },
    "data": {"stall": ("data", "data_stall"), "loaders": ("data_loaders", "data_loader")},
    "memory": {
        "peaks": ("memory", "memory_peak"),
        "timeline": ("memory_timeline", "memory_timeline"),
        "calls": ("allocator_calls", "allocator"),
        "layers": ("memory_layers", "memory_layer"),
        "marks": ("memory_marks", "memory_mark"),
        "event_holders": ("memory_event_holders", "memory_event_holder"),
        "snapshot": ("memory_snapshot", "snapshot_peak"),
        "course": ("memory_course", "snapshot_course"),
        "snapshot_layers": ("memory_snapshot_layers", "snapshot_layer"),
        "categories": ("memory_categories", "snapshot_category"),
        "holders": ("memory_holders", "snapshot_holder"),
        "fragmentation": ("memory_fragmentation", "snapshot_fragmentation"),
        "failures": ("memory_failures", "snapshot_failure"),
        "failure_holders": ("memory_failure_holders", "snapshot_failure_holder"),
    },
    "serving": {
        "summary": ("serving", "serving"),
        "batches": ("serving_batches", "serving_batch"),
        "stalls": ("serving_stalls", "serving_stall"),
        "roofline": ("serving_roofline", "serving_roofline"),
    },
    "requests": {
        "quantities": ("request_quantities", "request_quantity"),
        "slowest": ("slowest_requests", "request_slowest"),
        "slow_steps": ("slow_request_steps", "request_slow_step"),
    },
}
_DRAWN = frozenset(("snapshot_layer",))
_OF_ONE_ROW = frozenset(("critical_path", "data_stall", "serving"))

# Section to the query that gives its numbers again; of a trace with a ledger of the GPU or without one.
_QUERIES = {
    "content": "content",
    "steps": "step_stats",
    "steps_excluded": "step_excluded",
    **{name: query for name, (query, _) in LISTS.items() if name not in ("gaps", "gap_sizes")},
    **dict(sections for fields in _TOPICS.values() for sections in fields.values()),
}
_OF_LEDGER = {"ledger": "ledger", "gaps": "gap", "gap_sizes": "gap_size"}
_OF_HOST = {"host_annotations": "host_annotation", "host_operators": "host_operator"}


def build(
    connection: duckdb.DuckDBPyConnection,
    top: int,
    goal: Goal = "throughput",
    rules: Sequence[Rule] | None = None,
    *,
    scope: Scope = "document",
) -> Report:
    """Return the report on every trace of the database, with at most `top` findings (and host names) for each.

    `rules` judge the traces, None for traceq's own; `goal` is what the advice optimises for. `scope` is how much of the
    report is built.
    """
    return build_judged(connection, top, load_judgements(connection, goal, rules), scope=scope)


def build_judged(
    connection: duckdb.DuckDBPyConnection,
    top: int,
    judged: Sequence[tuple[Subject, Callable[[], Judged]]],
    *,
    scope: Scope = "document",
    jobs: Sequence[model.Job] | None = None,
) -> Report:
    """Return the report on the traces in `judged`, a list of (subject, function that returns the judgement of this trace).

    For `top` and `scope` see `build`; `jobs` are the jobs of the database, None to read them.
    """
    wanted = {subject.trace_id for subject, _ in judged}
    queries = Queries(connection)
    traces = [trace for trace in queries.read_rows("trace") if trace["trace_id"] in wanted]
    files = _shorten_paths([trace["path"] for trace in traces])
    if jobs is None:
        jobs = tuple(_read_jobs(queries, wanted))
    kept = [job for job in jobs if any(member.trace_id in wanted for member in job.members)]
    return Report(
        tuple(
            _build_trace(queries, trace, file, subject, judge, top, len(traces), scope)
            for trace, file, (subject, judge) in zip(traces, files, judged, strict=True)
        ),
        query=print_query("overview"),
        jobs=tuple(_draw_over_time(connection, job) if scope == "drawing" else job for job in kept),
    )


def _draw_over_time(connection: duckdb.DuckDBPyConnection, job: model.Job) -> model.Job:
    """Return the job with the timeline of its ranks."""
    from traceq.reports.build_job_timeline import build_job_timeline

    return msgspec.structs.replace(job, over_time=build_job_timeline(connection, job))


def read_jobs(connection: duckdb.DuckDBPyConnection) -> Iterator[model.Job]:
    """Yield every job of the database, with its findings."""
    return _read_jobs(Queries(connection), None)


def _read_jobs(queries: Queries, wanted: set[int] | None) -> Iterator[model.Job]:
    """Yield each job with a trace whose id is in `wanted`, with its findings; every job if that is None."""
    for job in queries.read_rows("job"):
        place = {"job": job["job"], "time_window": job["time_window"]}
        members = queries.read_records(model.JobRank, "job_rank", **place)
        if wanted is None or any(member.trace_id in wanted for member in members):
            lists = (queries.read_records(made, query, **place) for query, made in LISTS_OF_JOB.items())
            judged = judge_job(queries.connection, **place)
            values = [*job.values(), members, *lists, judged.findings, judged.not_applicable, judged.failed]
            yield model.Job(*values)


def _shorten_paths(paths: Sequence[str]) -> list[str]:
    """Return the paths without the directories that all have in common; a single path becomes its file's name."""
    try:
        shared = os.path.commonpath([PurePath(path).parent for path in paths]) if paths else ""
    except ValueError:  # absolute and relative paths in one database
        return [PurePath(path).name for path in paths]
    return [os.path.relpath(path, shared) if shared else path for path in paths]


def _build_trace(
    queries: Queries,
    trace: dict[str, Any],
    file: str,
    subject: Subject,
    judge: Callable[[], Judged],
    top: int,
    traces: int,
    scope: Scope,
) -> TraceReport:
    connection, trace_id = queries.connection, trace["trace_id"]
    is_screen = scope == "screen"
    lists: dict[str, Any] = {
        name: NOT_BUILT
        if is_screen and name in _NOT_ON_SCREEN
        else queries.read_records(made, query, trace_id=trace_id, top=top)
        for name, (query, made) in LISTS.items()
    }
    steps = _read_steps(queries, trace_id)
    ledger = _divide_ledger(subject.ledgers, lists["devices"], steps.counted)
    judged = _fail_unless_adding_up(trace_id, steps, ledger) or judge()
    sections = {**_QUERIES, **(_OF_LEDGER if ledger else _OF_HOST)}
    return TraceReport(
        trace=_read_facts(queries, trace, file, scope),
        triage=subject.triage,
        **lists,
        steps=steps,
        ledger=ledger,
        step_ledgers=tuple(_read_step_ledgers(queries, trace_id, subject.device)),
        findings=judged.findings[:top],
        account=judged.account,
        findings_left_out=len(judged.findings[top:]),
        extra_findings=judged.extra_findings,
        extra_left_out=judged.extra_left_out,
        observations=judged.observations,
        small=judged.small,
        **queries.read_rows("replay", trace_id=trace_id)[0],
        clean=judged.clean,
        not_applicable=judged.not_applicable,
        failed=judged.failed,
        rules_asked=judged.asked,
        quality=NOT_BUILT if is_screen else judge_quality(connection, trace_id, trace["format"], subject.program),
        # of a memory snapshot the screen tells what is in its memory
        topics=NOT_BUILT
        if is_screen and format_of(subject.format).has_times
        else _read_topics(queries, trace_id, top, is_screen=is_screen),
        host=NOT_BUILT if is_screen else None if ledger else _read_host(queries, trace_id, top),
        queries=NOT_BUILT
        if is_screen
        else {name: print_query(query, trace_id=trace_id, top=top) for name, query in sections.items()},
        stacks=NOT_BUILT
        if is_screen
        else _read_stacks(connection, trace_id, (*judged.findings[:top], *judged.extra_findings)),
        **(_for_html(connection, trace, subject.device, judged.findings[:top], traces) if scope == "drawing" else {}),
    )


def _read_stacks(
    connection: duckdb.DuckDBPyConnection, trace_id: int, findings: Sequence[Finding]
) -> dict[str, model.HostStack]:
    """Return the stack of the host at the worst occurrence of each finding, by its id; none for those without a stack."""
    slices: dict[str, int] = {}
    for finding in findings:
        columns, rows = finding.instances.columns, finding.instances.rows
        worst = dict(zip(columns, rows[0], strict=True)) if rows else {}
        if isinstance(slice_id := worst.get("slice_id"), int):
            slices[finding.finding_id] = slice_id
    if not slices:
        return {}
    found = {
        row["slice_id"]: model.HostStack(tuple(row["frames"]), row["line"], row["is_captured"])
        for row in ask(
            connection, statement("reports/sql/finding_stack.sql"), trace_id=trace_id, slices=list(slices.values())
        )
    }
    return {name: found[slice_id] for name, slice_id in slices.items() if slice_id in found}


def _for_html(
    connection: duckdb.DuckDBPyConnection,
    trace: dict[str, Any],
    device: int | None,
    findings: Sequence[Finding],
    traces: int,
) -> dict[str, Any]:
    """Return the fields of the trace's report that only HTML pages show, by name: activity, timelines, flame graph, close-ups.

    `device` is the judged one, `traces` the number of traces in the report.
    """
    from traceq.reports.build_activity import build_activity
    from traceq.reports.build_flame import build_flame
    from traceq.reports.build_timelines import build_occurrences, build_steps

    trace_id, begin = trace["trace_id"], trace["ts"] or 0
    captured = (begin, begin + (trace["dur"] or 0))
    return {
        "activity": build_activity(connection, trace_id),
        "over_time": build_steps(connection, trace_id, device, traces),
        "flame": build_flame(connection, trace_id, traces),
        "close_ups": dict(build_occurrences(connection, trace_id, captured, findings, traces)),
    }


def _read_facts(queries: Queries, trace: dict[str, Any], file: str, scope: Scope) -> TraceFacts:
    slices: dict[str, dict[str, int]] = {"cpu_slice": {}, "gpu_slice": {}}
    if scope == "screen":
        slices = dict.fromkeys(slices, NOT_BUILT)
    else:
        for row in queries.read_rows("content", trace_id=trace["trace_id"]):
            slices[row["table_name"]][row["kind"]] = row["slices"]
    return TraceFacts(*{**trace, "path": file}.values(), *slices.values())


def _read_steps(queries: Queries, trace_id: int) -> Steps:
    source = next(iter(queries.read_rows("step_source", trace_id=trace_id)), {})
    excluded = queries.read_records(model.ExcludedStep, "step_excluded", trace_id=trace_id)
    statistics = next(iter(queries.read_rows("step_stats", trace_id=trace_id)), {"steps": 0, "excluded": 0})
    counted, _, *numbers = statistics.values()
    printed = next(iter(queries.read_records(model.PrintedStep, "printed_step", trace_id=trace_id)), None)
    steps = Steps(source.get("source"), source.get("name"), counted, excluded, *numbers)
    return replace(steps, printed=printed)


def _divide_ledger(
    times: Mapping[int, Mapping[str, int]], devices: Sequence[model.Device], counted: int
) -> tuple[DeviceLedger, ...]:
    names = {device.device: device.name for device in devices}
    ledgers = []
    for device, durations in times.items():
        total = sum(durations.values())
        parts = (LedgerPart(category, dur, dur / counted, dur / total) for category, dur in durations.items())
        ledgers.append(DeviceLedger(device, names.get(device), total, tuple(parts)))
    return tuple(ledgers)


def _read_step_ledgers(queries: Queries, trace_id: int, device: int | None) -> Iterator[StepLedger]:
    if device is None:
        return
    found = queries.read_rows("step_ledger", trace_id=trace_id, device=device)
    for (step, dur), parts in groupby(found, key=lambda row: (row["step"], row["step_dur"])):
        yield StepLedger(device, step, dur, tuple((part["category"], part["dur"]) for part in parts))


def _fail_unless_adding_up(trace_id: int, steps: Steps, ledger: Sequence[DeviceLedger]) -> Judged | None:
    """Return a judgement with a failed check for each device whose ledger does not add up to the steps; None if all do."""
    failed = tuple(
        Failed(
            "time-ledger",
            "The ledger adds up to the steps",
            f"device {device.device}: {device.total} ns in the ledger, {steps.total_ns} ns in the steps;"
            " ingest the trace again",
        )
        for device in ledger
        if device.total != steps.total_ns
    )
    return Judged(trace_id, (), (), (), (), (), failed) if failed else None


def _read_topics(queries: Queries, trace_id: int, top: int, *, is_screen: bool) -> Topics:
    """Return the topics of the trace; on the screen of a memory snapshot without what only charts show, which takes long."""

    def read(query: str) -> object:
        if is_screen and query in _DRAWN:
            return []
        found = queries.read_rows(query, trace_id=trace_id, top=top)
        # only the summary of a server's steps may not have been asked for
        return (found or [asdict(ServingSummary())])[0] if query in _OF_ONE_ROW else found

    filled = {topic: {name: read(query) for name, (_, query) in fields.items()} for topic, fields in _TOPICS.items()}
    return msgspec.convert(filled, Topics)


def _read_host(queries: Queries, trace_id: int, top: int) -> model.Host:
    return model.Host(
        annotations=queries.read_records(model.AnnotationTime, "host_annotation", trace_id=trace_id, top=top),
        operators=queries.read_records(model.OperatorTime, "host_operator", trace_id=trace_id, top=top),
    )
