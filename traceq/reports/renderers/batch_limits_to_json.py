"""Predictions for limits of batched tokens for programs: ns and tokens per second. docs/tradeoff.md describes the keys."""

from __future__ import annotations

from typing import Any

from traceq.reports.renderers.json_text import json_text, pick
from traceq.runs.batching.limit_study import Bounded, LimitPrediction, LimitQuantity, LimitStudy
from traceq.runs.batching.step_cost import StepCost

# Raised with every change that breaks a reader.
SCHEMA_VERSION = 1


def batch_limits_to_json(found: LimitStudy) -> str:
    """Return the predictions as the text of a JSON object; what could not be computed is null."""
    return json_text(
        {
            "schema_version": SCHEMA_VERSION,
            "limits": found.asked.limits,
            "latency_budget_ns": found.asked.budget_ns,
            **pick(found.asked, "percentile"),
            **pick(found, "reason", "dialect", "mixes", "steps", "fitted_steps", "is_filled", "requests", "log_file"),
            "way_out": found.way_out or None,
            "largest_step_tokens": found.recorded_limit,
            "most_decoding_requests": found.most_decoding,
            "max_num_seqs": found.slots,
            "requests_left_out": found.other_requests,
            "step_cost": found.cost and _encode_cost(found.cost),
            "replay": [
                {"quantity": _name_quantity(replayed.quantity), **pick(replayed, "recorded", "scheduled")}
                for replayed in found.replay
            ],
            "predictions": [_encode_prediction(prediction) for prediction in found.predictions],
        }
    )


def _encode_cost(cost: StepCost) -> dict[str, Any]:
    return {
        "per_unit_ns": dict(zip(cost.terms, cost.per_unit, strict=True)),
        "free_tokens": cost.free_tokens,
        "left_out_error_share": cost.left_out_error,
    }


def _encode_prediction(found: LimitPrediction) -> dict[str, Any]:
    return {
        **pick(found, "limit", "trust"),
        "reason": found.reason or None,
        "largest_step_tokens": found.largest_step,
        "values": {_name_quantity(quantity): _encode_bounds(value) for quantity, value in found.values.items()},
    }


def _encode_bounds(found: Bounded) -> dict[str, float]:
    return pick(found, "value", "low", "high")


def _name_quantity(quantity: LimitQuantity) -> str:
    """Return the quantity's key, with its unit at its end."""
    return quantity if quantity == "tokens_per_s" else f"{quantity}_ns"
