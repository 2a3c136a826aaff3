"""The report for programs: raw nanoseconds and shares. docs/report.schema.json describes every key."""

from __future__ import annotations

from typing import Any

from traceq.diagnosis.choose import number_findings
from traceq.diagnosis.finding import Finding, Observation, Part
from traceq.reports.document import Verdict
from traceq.reports.model import SCHEMA_VERSION, Job, MadeWith, Report, TraceReport
from traceq.reports.renderers.json_text import json_text, pick, to_dict
from traceq.reports.sections.headline import name_source, write_headline
from traceq.reports.sections.verdict import write_verdict

# What only pages draw; stacks stand with their findings.
_DRAWN = (
    *("step_ledgers", "activity", "over_time", "flame", "close_ups", "lateness", "worst", "group_waits", "pairs"),
    *("layer_loads", "exchanged"),
    *("stacks", "price"),
)


def to_json(report: Report) -> str:
    """Return the report as the text of a JSON object with its `verdict` and the lists `jobs` and `traces`."""
    headline = write_headline(report)
    trace_id = None if headline.trace is None else headline.trace.trace.trace_id
    content = {
        "schema_version": SCHEMA_VERSION,
        "verdict": {**_encode_verdict(headline.verdict), "trace_id": trace_id},
        "jobs": [_drop_drawn(job) for job in report.jobs],
        "traces": [_encode_trace(trace, name_source(report)) for trace in report.traces],
    }
    return json_text(content)


def _drop_drawn(value: Job | TraceReport) -> dict[str, Any]:
    return {name: part for name, part in to_dict(value).items() if name not in _DRAWN}


def _encode_verdict(verdict: Verdict) -> dict[str, Any]:
    lines = ["".join(spans) for spans in verdict.lines]
    return {"outcome": verdict.outcome, "text": "".join(verdict.spans), "lines": lines}


def _encode_trace(report: TraceReport, source: str) -> dict[str, Any]:
    content = _drop_drawn(report)
    del content["topics"]
    return {
        **content,
        **to_dict(report.topics),
        "made_with": [_encode_made_with(fact) for fact in report.made_with],
        "verdict": _encode_verdict(write_verdict(report, source)),
        "ledger": [{"device": device.device, **to_dict(part)} for device in report.ledger for part in device.parts],
        "step_ledger": [
            {"device": ledger.device, "step": ledger.step, "dur_ns": ledger.dur, "parts_ns": dict(ledger.parts)}
            for ledger in report.step_ledgers
        ],
        "findings": [_encode_finding(report, *numbered) for numbered in number_findings(report.findings)],
        "extra_findings": [_encode_finding(report, *numbered) for numbered in number_findings(report.extra_findings)],
        "observations": [_with_id(observation) for observation in report.observations],
        "quality": [pick(metric, "metric", "state", "reason", "needs") for metric in report.quality],
    }


def _encode_finding(report: TraceReport, number: str, finding: Finding) -> dict[str, Any]:
    content = _with_id(finding)
    del content["owned_by_category"]
    return {
        "number": number,
        **content,
        "owned_by_category_ns": finding.owned_by_category,
        "parts": [_with_id(part) for part in finding.parts],
        # The contract's names: what proves the saving.
        "evidence": finding.summary,
        "query": finding.summary.query,
        "deed": finding.deed,
        "stack": report.stacks.get(finding.finding_id),
    }


def _with_id(value: Finding | Observation | Part) -> dict[str, Any]:
    content = to_dict(value)
    del content["finding_id"]
    return {"id": value.finding_id, **content}


def _encode_made_with(fact: MadeWith) -> dict[str, Any]:
    # In the model it is `text`, since redact.py leaves a field of the name `value` as it is.
    return {"value": fact.text, **pick(fact, "topic", "instance", "name", "unit", "is_knob")}
