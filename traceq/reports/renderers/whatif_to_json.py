"""A what-if for programs: nanoseconds per counted step, and shares. docs/whatif.md describes the keys."""

from __future__ import annotations

from traceq.reports.renderers.json_text import json_text, pick
from traceq.reports.whatif.answer import Choices, JobAnswer, WhatIfAnswer

# Raised with every change that breaks a reader.
SCHEMA_VERSION = 1


def answer_to_json(found: WhatIfAnswer) -> str:
    """Encode the answer as one object; unknown values are null."""
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
    """Encode a step of the job: as recorded, with the ranks as usual, and with all of them."""
    return json_text(
        {
            "schema_version": SCHEMA_VERSION,
            **pick(found, "name", "ranks", "of_ranks", "steps", "recorded_ns", "after_ns", "ideal_ns"),
            **pick(found, "error_share", "waited_for"),
            "saved_ns": found.recorded_ns - found.after_ns,
        }
    )


def choices_to_json(found: Choices) -> str:
    """Encode what can be changed as one object."""
    return json_text(
        {"schema_version": SCHEMA_VERSION, **pick(found, "trace_id", "file", "rank", "steps", "recorded_ns", "choices")}
    )
