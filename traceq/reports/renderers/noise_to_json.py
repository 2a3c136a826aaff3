"""What runs differ by, for programs. docs/compare.md describes the keys."""

from __future__ import annotations

from traceq.reports.renderers.json_text import json_text, pick
from traceq.runs.compare.noise import Noise

SCHEMA_VERSION = 1


def noise_to_json(noise: Noise) -> str:
    """Encode the noise as one object."""
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
