"""The comparison for programs: whole nanoseconds and shares. docs/compare.md describes the keys."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from traceq.comparisons.comparison import Change, Comparison, Part, Side

SCHEMA_VERSION = 1


def comparison_to_json(comparison: Comparison) -> str:
    """One object. `causes` add up to `delta_ns`, and the parts of each to its own."""
    total = comparison.change
    content = {
        "schema_version": SCHEMA_VERSION,
        "verdict": comparison.verdict,
        "reasons": comparison.reasons,
        "comparable": comparison.comparable,
        "obstacles": comparison.obstacles,
        "remarks": comparison.remarks,
        "level": comparison.level,
        "floor_share": comparison.floor_share,
        **(_change(total) if total else dict.fromkeys(_CHANGE)),
        "other_statistic": _change(comparison.other) if comparison.other else None,
        "base": _side(comparison.base),
        "new": _side(comparison.new),
        "causes": [
            {
                "category": cause.category,
                "base_ns": cause.base_ns,
                "new_ns": cause.new_ns,
                "delta_ns": cause.delta_ns,
                "interval_ns": cause.interval_ns,
                "parts": [_part(part) for part in cause.parts],
            }
            for cause in comparison.causes
        ],
        "kernels": [_part(part) for cause in comparison.causes if cause.category == "compute" for part in cause.parts],
        "operators": [asdict(row) for row in comparison.operators],
        "phases": [asdict(row) for row in comparison.phases],
        "counts": [asdict(each) for each in comparison.counts],
        "findings_gone": [asdict(each) for each in comparison.findings_gone],
        "findings_new": [asdict(each) for each in comparison.findings_new],
    }
    return json.dumps(content, ensure_ascii=False, allow_nan=False, sort_keys=True, indent=2) + "\n"


_CHANGE = ("statistic", "base_ns", "new_ns", "delta_ns", "delta_share", "interval_ns", "p", "detectable_ns")


def _change(change: Change) -> dict[str, Any]:
    return {**asdict(change), "delta_share": change.share}


def _part(part: Part) -> dict[str, Any]:
    return asdict(part)


def _side(side: Side) -> dict[str, Any]:
    return {
        "counted": side.counted,
        "excluded": side.excluded,
        "drifts": [asdict(each) for each in side.drifts],
        "outliers": [asdict(each) for each in side.outliers],
        "runs": [
            {
                "source": run.source,
                "file": run.file,
                "sha256": run.sha256,
                "format": run.format,
                "producer": run.producer,
                "producer_version": run.producer_version,
                "rank": run.rank,
                "world_size": run.world_size,
                "device": run.device,
                "device_name": run.device_name,
                "devices": run.devices,
                "step_source": run.step_source,
                "payload": dict(run.payload),
                "steps_ns": [step.dur for step in run.counted],
            }
            for run in side.runs
        ],
    }
