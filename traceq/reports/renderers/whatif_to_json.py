"""A what-if for programs: nanoseconds per counted step, and shares. docs/whatif.md describes the keys."""

from __future__ import annotations

from traceq.reports.renderers.json_text import json_text, pick
from traceq.reports.whatif.answer import Choices, JobAnswer, WhatIfAnswer
from traceq.reports.whatif.platform import PlatformAnswer

# Raised with every change that breaks a reader.
SCHEMA_VERSION = 1


def answer_to_json(found: WhatIfAnswer) -> str:
    """Return the answer to a what-if of one trace as the text of a JSON object; unknown values are null."""
    saved, step = found.saved, found.recorded_ns
    return json_text(
        {
            "schema_version": SCHEMA_VERSION,
            **pick(found, "trace_id", "file", "rank", "steps", "asked", "recorded_ns", "replayed_ns", "after_ns"),
            **pick(found, "error_share", "unexplained_share", "reason", "limits"),
            "saved_low_ns": saved and saved.low_ns,
            "saved_ns": saved and saved.likely_ns,
            "saved_high_ns": saved and saved.high_ns,
            "amdahl": [
                {"category": part.name, "dur_ns": part.dur_ns, "step_without_ns": max(step - part.dur_ns, 0.0)}
                for part in found.ledger
                if step is not None
            ],
        }
    )


def job_answer_to_json(found: JobAnswer) -> str:
    """Return the answer to a what-if of a job as the text of a JSON object.

    It has the job's step as recorded, with the chosen ranks like the median rank, and with all ranks like it.
    """
    return json_text(
        {
            "schema_version": SCHEMA_VERSION,
            **pick(found, "name", "ranks", "of_ranks", "steps", "recorded_ns", "after_ns", "ideal_ns"),
            **pick(found, "error_share", "waited_for"),
            "saved_ns": found.recorded_ns - found.after_ns,
        }
    )


def platform_to_json(found: PlatformAnswer) -> str:
    """Return the answer to a what-if of another GPU or more ranks as the text of a JSON object; unknown values are null."""
    now, low, likely, high = found.recorded_ns, found.after_low_ns, found.after_ns, found.after_high_ns
    return json_text(
        {
            "schema_version": SCHEMA_VERSION,
            **pick(
                found, "trace_id", "file", "rank", "steps", "gpu", "gpu_then", "gpu_might_be", "ranks", "ranks_then"
            ),
            **pick(found, "host_factor_low", "host_factor_high", "recorded_ns", "replayed_ns"),
            **pick(found, "after_low_ns", "after_ns", "after_high_ns"),
            "saved_low_ns": None if now is None or high is None else now - high,
            "saved_ns": None if now is None or likely is None else now - likely,
            "saved_high_ns": None if now is None or low is None else now - low,
            **pick(found, "error_share", "unexplained_share", "reason", "parts", "groups", "costs"),
            **pick(found, "host_share_before", "host_share", "limits_before", "limits", "assumed"),
        }
    )


def choices_to_json(found: Choices) -> str:
    """Return the changes that are possible in a trace as the text of a JSON object."""
    return json_text(
        {"schema_version": SCHEMA_VERSION, **pick(found, "trace_id", "file", "rank", "steps", "recorded_ns", "choices")}
    )
