"""The trade-off for programs: nanoseconds, work per second and shares. docs/tradeoff.md describes the keys."""

from __future__ import annotations

from typing import Any

from traceq.reports.renderers.json_text import json_text, pick
from traceq.runs.trials.resources import COMPUTE
from traceq.runs.trials.tradeoff import CurveFit, Headroom, Point, Tradeoff

# Raised with every change that breaks a reader.
SCHEMA_VERSION = 1


def tradeoff_to_json(found: Tradeoff) -> str:
    """Return the trade-off as the text of a JSON object; values that could not be computed are null."""
    choice, limit, within = found.choice, found.limit, found.within
    return json_text(
        {
            "schema_version": SCHEMA_VERSION,
            **pick(found.setting, "knob", "is_amount", "work", "percentile"),
            "latency_budget_ns": found.setting.budget_ns,
            "values_from": found.setting.values_from,
            "window_launches": found.launches,
            "values": [_encode_point(point, found) for point in found.points],
            "left_out": [
                {
                    **pick(each.taken, "value", "run.source", "run.file"),
                    "reason": each.why,
                    "start_up_ns": each.taken.run.start_up_ns if each.why == "cold" else None,
                    "warm_ns": each.warm_ns,
                }
                for each in found.left_out
            ],
            "gpus": found.gpus,
            "differs": dict(found.differs),
            "intervals_hold_runs": found.between_runs,
            "curve": found.fit and _encode_curve(found.fit),
            "curve_missed_share": found.missed,
            "knee": found.knee and pick(found.knee, "place", "value", "interval", "best_tried"),
            "latency_optimal": choice and choice.latency.value,
            "latency_alike": choice.latency_alike if choice else [],
            "throughput_optimal": choice and choice.throughput.value,
            "throughput_alike": choice.throughput_alike if choice else [],
            "dominated": [{"value": point.value, "by": by.value} for point, by in found.dominated],
            "within_budget": within
            and {
                "largest": within.largest and within.largest.value,
                "fits": within.largest is not None,
                "next": within.next and within.next.value,
                "estimate": within.estimate,
            },
            "ledger": [pick(part, "category", "ns", "exponent", "growth") for part in found.parts],
            "limit": limit
            and {
                **pick(limit, "point.value", "compute_share", "is_compute", "category"),
                "category_share": limit.share,
            },
            "headroom": [_encode_headroom(each) for each in found.headroom],
        }
    )


def _encode_point(point: Point, found: Tradeoff) -> dict[str, Any]:
    return {
        **pick(point, "value", "steps", "excluded", "typical_ns", "typical_interval_ns", "p50_ns", "p95_ns", "p99_ns"),
        "runs": [pick(run, "source", "file", "rank") for run in point.runs],
        "work_per_step": point.work,
        "work_per_s": point.throughput,
        "work_per_s_interval": point.throughput_interval,
        "curve_ns": None if found.fit is None or point.value is None else found.fit.curve.at(point.value),
        "ledger_ns": dict(point.ledger),
    }


def _encode_curve(fit: CurveFit) -> dict[str, Any]:
    return {
        **pick(fit.curve, "shape", "flat_ns", "fixed_ns", "per_unit_ns"),
        "left_out_error_share": fit.left_out_error,
        "largest_error_share": fit.largest_error,
        "others": {shape: {"left_out_error_share": error} for shape, error in fit.others.items()},
    }


def _encode_headroom(each: Headroom) -> dict[str, Any]:
    return {
        **pick(each, "value", "run.source", "run.file", "saturated", "reason"),
        "is_saturated": _is_saturated(each),
        "compute_exponent": each.exponent,
        "upper_bound": each.bound,
    }


def _is_saturated(each: Headroom) -> bool | None:
    """Return whether the GPU is saturated; None if the rule cannot tell or is refuted, or no GPU was seen to compute."""
    if each.saturated is not None:
        return True
    computes = any(step.ledger.get(COMPUTE) for step in each.run.typical)
    return None if each.reason or each.run.saturated is not None or not computes else False
