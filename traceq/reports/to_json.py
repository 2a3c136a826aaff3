"""The report for programs: raw nanoseconds and shares. docs/report.schema.json describes every key."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from traceq.reports.report import SCHEMA_VERSION, DeviceLedger, Report, Steps, TraceReport

if TYPE_CHECKING:
    from traceq.findings import Finding

_TIMES = ("total", "mean", "stddev", "min", "p50", "p90", "p95", "p99", "max")


def to_json(report: Report) -> str:
    """One object; of a single trace its keys stand at the top, of several they are in the list `traces`."""
    traces = [_trace(each) for each in report.traces]
    content = traces[0] if len(traces) == 1 else {"traces": traces}
    return (
        json.dumps(
            {"schema_version": SCHEMA_VERSION, **content},
            ensure_ascii=False,
            allow_nan=False,
            sort_keys=True,
            indent=2,
        )
        + "\n"
    )


def _trace(report: TraceReport) -> dict[str, Any]:
    return {
        "trace": _renamed(asdict(report.trace), dur="dur_ns"),
        "devices": [asdict(device) for device in report.devices],
        "steps": _steps(report.steps),
        "throughput": [asdict(each) for each in report.throughput],
        "phases": [_renamed(asdict(each), dur="dur_ns", median="median_ns") for each in report.phases],
        "ledger": [row for device in report.ledger for row in _ledger(device)],
        "step_ledger": [
            {"device": each.device, "step": each.step, "dur_ns": each.dur, "parts_ns": dict(each.parts)}
            for each in report.step_ledgers
        ],
        "findings": [_finding(finding) for finding in report.findings],
        "findings_left_out": report.findings_left_out,
        "observations": [_renamed(asdict(each), finding_id="id") for each in report.observations],
        "small": report.small,
        "replay_error": report.replay_error,
        "is_replayed": report.is_replayed,
        "gaps": [_renamed(asdict(each), ts="ts_ns", dur="dur_ns") for each in report.gaps],
        "gap_sizes": [_renamed(asdict(each), dur="dur_ns") for each in report.gap_sizes],
        "outliers": [_renamed(asdict(each), dur="dur_ns", change="change_ns") for each in report.outliers],
        "host_ledger": [_renamed(asdict(each), dur="dur_ns") for each in report.host_ledger],
        **asdict(report.topics),
        "clean": [asdict(each) for each in report.clean],
        "not_applicable": [asdict(each) for each in report.not_applicable],
        "failed": [asdict(each) for each in report.failed],
        "notes": [asdict(each) for each in report.notes],
        "quality": [
            {"metric": each.metric, "state": each.state, "reason": each.reason, "needs": each.needs}
            for each in report.quality
        ],
        "host": _host(report),
        "queries": report.queries,
    }


def _renamed(values: dict[str, Any], **names: str) -> dict[str, Any]:
    return {names.get(key, key): value for key, value in values.items()}


def _steps(steps: Steps) -> dict[str, Any]:
    values = _renamed(asdict(steps), **{name: f"{name}_ns" for name in _TIMES})
    values["excluded"] = [_renamed(each, dur="dur_ns") for each in values["excluded"]]
    return values


def _ledger(device: DeviceLedger) -> list[dict[str, Any]]:
    return [
        {
            "device": device.device,
            "category": part.category,
            "dur_ns": part.dur,
            "per_step_ns": part.per_step,
            "step_share": part.share,
        }
        for part in device.parts
    ]


def _finding(finding: Finding) -> dict[str, Any]:
    values = _renamed(asdict(finding), finding_id="id")
    values["parts"] = [_renamed(each, finding_id="id") for each in values["parts"]]
    # The contract's names: what proves the saving.
    return {**values, "evidence": values["summary"], "query": finding.summary.query}


def _host(report: TraceReport) -> dict[str, Any] | None:
    if report.host is None:
        return None
    return {
        "annotations": [_renamed(asdict(row), dur="dur_ns", longest="longest_ns") for row in report.host.annotations],
        "operators": [_renamed(asdict(row), dur="self_dur_ns", longest="longest_ns") for row in report.host.operators],
    }
