"""The trade-off for programs: nanoseconds, work per second and shares. docs/tradeoff.md describes the keys."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from traceq.tradeoffs.resources import COMPUTE

if TYPE_CHECKING:
    from traceq.tradeoffs.tradeoff import Fit, Headroom, Knee, Limit, Point, Tradeoff, Within

# Raised with every change that breaks a reader.
SCHEMA_VERSION = 1


def tradeoff_to_json(found: Tradeoff) -> str:
    """One object; what could not be computed is null."""
    setting, choice = found.setting, found.choice
    content = {
        "schema_version": SCHEMA_VERSION,
        "knob": setting.knob,
        "is_amount": setting.is_amount,
        "work": setting.work,
        "percentile": setting.percentile,
        "latency_budget_ns": setting.budget_ns,
        "values": [_point(point, found) for point in found.points],
        "left_out": [
            {
                "value": each.taken.value,
                "source": each.taken.run.source,
                "file": each.taken.run.file,
                "reason": each.why,
            }
            for each in found.left_out
        ],
        "gpus": found.gpus,
        "differs": dict(found.differs),
        "intervals_hold_runs": found.between_runs,
        "curve": None if found.fit is None else _curve(found.fit),
        "curve_missed_share": found.missed,
        "knee": None if found.knee is None else _knee(found.knee),
        "latency_optimal": None if choice is None else choice.latency.value,
        "latency_alike": [] if choice is None else choice.latency_alike,
        "throughput_optimal": None if choice is None else choice.throughput.value,
        "throughput_alike": [] if choice is None else choice.throughput_alike,
        "within_budget": None if found.within is None else _within(found.within),
        "ledger": [
            {"category": part.category, "ns": part.ns, "exponent": part.exponent, "growth": part.growth}
            for part in found.parts
        ],
        "limit": None if found.limit is None else _limit(found.limit),
        "headroom": [_headroom(each) for each in found.headroom],
    }
    return json.dumps(content, ensure_ascii=False, allow_nan=False, sort_keys=True, indent=2) + "\n"


def _point(point: Point, found: Tradeoff) -> dict[str, Any]:
    return {
        "value": point.value,
        "runs": [{"source": run.source, "file": run.file, "rank": run.rank} for run in point.runs],
        "steps": point.steps,
        "excluded": point.excluded,
        "typical_ns": point.typical_ns,
        "typical_interval_ns": point.typical_interval_ns,
        "p50_ns": point.p50_ns,
        "p95_ns": point.p95_ns,
        "p99_ns": point.p99_ns,
        "work_per_step": point.work,
        "work_per_s": point.throughput,
        "work_per_s_interval": point.throughput_interval,
        "curve_ns": None if found.fit is None or point.value is None else found.fit.curve.at(point.value),
        "ledger_ns": dict(point.ledger),
    }


def _curve(fit: Fit) -> dict[str, Any]:
    return {
        "shape": fit.curve.shape,
        "flat_ns": fit.curve.flat_ns,
        "fixed_ns": fit.curve.fixed_ns,
        "per_unit_ns": fit.curve.per_unit_ns,
        "left_out_error_share": fit.left_out_error,
        "largest_error_share": fit.largest_error,
        "others": {shape: {"left_out_error_share": error} for shape, error in fit.others.items()},
    }


def _knee(knee: Knee) -> dict[str, Any]:
    return {"place": knee.place, "value": knee.value, "interval": knee.interval, "best_tried": knee.best_tried}


def _within(within: Within) -> dict[str, Any]:
    return {
        "largest": None if within.largest is None else within.largest.value,
        "fits": within.largest is not None,
        "next": None if within.next is None else within.next.value,
        "estimate": within.estimate,
    }


def _limit(limit: Limit) -> dict[str, Any]:
    return {
        "value": limit.point.value,
        "compute_share": limit.compute_share,
        "is_compute": limit.is_compute,
        "category": limit.category,
        "category_share": limit.share,
    }


def _headroom(each: Headroom) -> dict[str, Any]:
    return {
        "value": each.value,
        "source": each.run.source,
        "file": each.run.file,
        "is_saturated": _is_saturated(each),
        "saturated": each.saturated,
        "reason": each.reason,
        "compute_exponent": each.exponent,
        "upper_bound": each.bound,
    }


def _is_saturated(each: Headroom) -> bool | None:
    """None where the rule cannot tell, where what it says is refuted, and where no GPU was seen to compute."""
    if each.saturated is not None:
        return True
    computes = any(step.ledger.get(COMPUTE) for step in each.run.typical)
    return None if each.reason or each.run.saturated is not None or not computes else False
