"""Comparisons, noise and verifications for programs: whole nanoseconds and shares. docs/compare.md describes the keys."""

from __future__ import annotations

from typing import Any

from traceq.reports.renderers.json_text import json_text, pick, to_dict
from traceq.runs.compare.comparison import Change, Comparison, NamedCause, Side
from traceq.runs.compare.noise import Noise
from traceq.runs.made_with import Difference, is_turned
from traceq.runs.verify.verify import Verification

SCHEMA_VERSION = 1


def comparison_to_json(comparison: Comparison) -> str:
    """Return the comparison as the text of a JSON object.

    The changes in `causes` add up to `delta_ns`, and the parts of each cause to its change.
    """
    return json_text({"schema_version": SCHEMA_VERSION, **_encode_comparison(comparison), **_encode_job(comparison)})


def _encode_job(comparison: Comparison) -> dict[str, Any]:
    """Return the JSON keys on a job: `job`, the ranks that changed, and `of_rank`, one rank's comparison.

    None for single traces.
    """
    rank = comparison.of_rank
    return {"job": comparison.job, "of_rank": None if rank is None else _encode_comparison(rank)}


def _encode_comparison(comparison: Comparison) -> dict[str, Any]:
    total = comparison.change
    return {
        **pick(
            comparison,
            "verdict",
            "reasons",
            "comparable",
            "obstacles",
            "assumptions",
            "remarks",
            "level",
            "floor_share",
        ),
        **(_encode_change(total) if total else dict.fromkeys(_CHANGE)),
        "other_statistic": comparison.other and _encode_change(comparison.other),
        "base": _encode_side(comparison.base),
        "new": _encode_side(comparison.new),
        "knobs": [_encode_difference(each) for each in comparison.made_with if is_turned(each)],
        "also_differs": [_encode_difference(each) for each in comparison.made_with if not is_turned(each)],
        "causes": comparison.causes,
        "named_causes": [_encode_cause(each) for each in comparison.named],
        "across_the_board": comparison.across,
        "kernels": [part for cause in comparison.causes if cause.category == "compute" for part in cause.parts],
        **pick(comparison, "operators", "phases", "counts", "findings_gone", "findings_new", "kind"),
        "kinds": [
            {
                **pick(each, "kind", "base_steps", "new_steps", "verdict"),
                **(_encode_change(each.change) if each.change else {}),
            }
            for each in comparison.kinds
        ],
    }


_CHANGE = ("statistic", "base_ns", "new_ns", "delta_ns", "delta_share", "interval_ns", "p", "detectable_ns", "noise_ns")


def _encode_change(change: Change) -> dict[str, Any]:
    return {**to_dict(change), "delta_share": change.share}


def _encode_difference(difference: Difference) -> dict[str, Any]:
    base, new = difference.values
    return {**pick(difference, "name", "unit", "is_knob", "follows"), "base": base, "new": new}


def _encode_cause(cause: NamedCause) -> dict[str, Any]:
    part = cause.part
    return {
        **pick(cause, "category", "delta_ns", "interval_ns", "how", "per_call", "calls"),
        "part": part and part.name,
        "part_delta_ns": part and part.delta_ns,
        "part_interval_ns": part and part.interval_ns,
    }


def _encode_side(side: Side) -> dict[str, Any]:
    return {
        **pick(side, "counted", "excluded", "drifts", "outliers"),
        "runs": [
            {
                **pick(run, "source", "file", "sha256", "format", "producer", "producer_version", "rank"),
                **pick(run, "world_size", "device", "device_name", "devices", "step_source"),
                "vendor": run.capture.vendor,
                "payload": dict(run.payload),
                "made_with": dict(run.made_with),
                "steps_ns": [step.dur for step in run.counted],
            }
            for run in side.runs
        ],
    }


def noise_to_json(noise: Noise) -> str:
    """Return the noise of steps within and between runs as the text of a JSON object."""
    return json_text(
        {
            "schema_version": SCHEMA_VERSION,
            **pick(noise, "statistic", "between", "low", "high", "within", "remarks"),
            "runs": [
                {"file": run.file, "sha256": run.sha256, "steps": len(run.counted), "step_ns": step}
                for run, step in zip(noise.runs, noise.steps_ns, strict=True)
            ],
        }
    )


def verification_to_json(verification: Verification) -> str:
    """Return the verification of a fix as the text of a JSON object, with the verdict and causes of its comparison only."""
    comparison = verification.comparison
    return json_text(
        {
            "schema_version": SCHEMA_VERSION,
            **pick(verification, "finding", "state", "after", "won_ns", "won_interval_ns", "prediction", "reason"),
            "also_gone": verification.also_gone,
            "earlier": verification.earlier,
            "losses": verification.losses,
            **pick(comparison, "verdict", "comparable", "assumptions"),
            "causes": [pick(cause, "category", "base_ns", "new_ns", "delta_ns") for cause in comparison.causes],
        }
    )
