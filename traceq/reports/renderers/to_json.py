"""The report for programs: raw nanoseconds and shares. docs/report.schema.json describes every key."""

from __future__ import annotations

from typing import Any

from traceq.diagnosis.finding import Finding, Observation, Part
from traceq.reports import model
from traceq.reports.renderers.json_text import json_text, picked, plain
from traceq.reports.sections.verdict import verdict

_RENAMED: dict[type, dict[str, str]] = {
    **{key: {"dur": "dur_ns"} for key in (model.TraceFacts, model.ExcludedStep, model.GapSize, model.HostPart)},
    **{key: {"finding_id": "id"} for key in (Observation, Part)},
    Finding: {"finding_id": "id", "owned_by_category": "owned_by_category_ns"},
    model.Unit: {"period": "period_ns", "coverage": "coverage_share", "share": "recurring_share"},
    model.PhaseOfRun: {"ts": "ts_ns", "dur": "dur_ns", "share": "run_share", "gpu_busy": "gpu_busy_ns"},
    model.Phase: {"dur": "dur_ns", "median": "median_ns"},
    model.Steps: {name: f"{name}_ns" for name in ("total", "mean", "stddev", "min", "p50", "p90", "p95", "p99", "max")},
    model.LedgerPart: {"dur": "dur_ns", "per_step": "per_step_ns", "share": "step_share"},
    model.Gap: {"ts": "ts_ns", "dur": "dur_ns"},
    model.Job: {
        name: f"{name}_ns"
        for name in ("clock_residual", "claim_limit", "dur", "ideal", "transfer", "late_start", "late", "wait_absent")
    },
    model.JobRank: {
        name: f"{name}_ns"
        for name in (
            "clock_offset",
            "own",
            "transfer",
            "wait",
            "late",
            "win",
            "compute",
            "communication",
            "counted",
            "recorded",
        )
    },
    model.JobCollective: {name: f"{name}_ns" for name in ("best", "typical", "transfer", "wait")},
    model.Straggler: {
        **{name: f"{name}_ns" for name in ("adds", "win", "operator_dur", "usual_operator_dur")},
        "late_steps": "late_steps_share",
    },
    model.MadeWith: {"text": "value"},
    model.Outlier: {"dur": "dur_ns", "change": "change_ns"},
}


def to_json(report: model.Report) -> str:
    """One object with the lists `jobs` and `traces`, also of one trace or none."""
    traces = [_trace(each) for each in report.traces]
    jobs = [_job(each) for each in report.jobs]
    return json_text({"schema_version": model.SCHEMA_VERSION, "jobs": jobs, "traces": traces}, _RENAMED)


def _job(job: model.Job) -> dict[str, Any]:
    content = plain(job, _RENAMED)
    for drawn in ("lateness", "worst"):
        del content[drawn]
    return content


def _trace(report: model.TraceReport) -> dict[str, Any]:
    content = {**plain(report, _RENAMED), **plain(report.topics, _RENAMED)}
    for drawn in ("topics", "step_ledgers", "over_time", "flame", "close_ups"):
        del content[drawn]
    said = verdict(report)
    return {
        **content,
        "verdict": {"outcome": said.outcome, "text": "".join(said.spans)},
        "ledger": [
            {"device": device.device, **plain(part, _RENAMED)} for device in report.ledger for part in device.parts
        ],
        "step_ledger": [
            {"device": each.device, "step": each.step, "dur_ns": each.dur, "parts_ns": dict(each.parts)}
            for each in report.step_ledgers
        ],
        "findings": [_finding(each) for each in report.findings],
        "extra_findings": [_finding(each) for each in report.extra_findings],
        "quality": [picked(each, "metric", "state", "reason", "needs") for each in report.quality],
        "host": report.host
        and {
            "annotations": [_host_time(each, "dur_ns") for each in report.host.annotations],
            "operators": [_host_time(each, "self_dur_ns") for each in report.host.operators],
        },
    }


def _finding(each: Finding) -> dict[str, Any]:
    # The contract's names: what proves the saving.
    return {**plain(each, _RENAMED), "evidence": each.summary, "query": each.summary.query, "deed": each.deed}


def _host_time(each: model.HostTime, dur: str) -> dict[str, Any]:
    return plain(each, {model.HostTime: {"dur": dur, "longest": "longest_ns"}})
