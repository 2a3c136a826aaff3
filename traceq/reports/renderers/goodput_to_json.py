"""The goodput of a run for programs: nanoseconds, shares, money and joules. docs/goodput.md describes the keys."""

from __future__ import annotations

from traceq.reports.renderers.json_text import json_text, pick
from traceq.runs.goodput.goodput import Goodput

# Raised with every change that breaks a reader.
SCHEMA_VERSION = 1


def goodput_to_json(found: Goodput) -> str:
    """Return the goodput as the text of a JSON object; what traceq cannot tell is null."""
    return json_text(
        {
            "schema_version": SCHEMA_VERSION,
            "cannot_tell": found.cannot_tell or None,
            "begin_ns": found.first_at if found.wall_ns else None,
            "is_local_time": found.is_local,
            "wall_ns": found.wall_ns,
            "goodput_share": None if found.cannot_tell else found.good_share,
            "ideal_share": found.ideal_share,
            "gpus": list(found.gpus),
            "cost_per_gpu_hour": found.terms.price,
            "cost": found.cost,
            "ledger": [
                {"category": row.category, "ns": row.dur, **pick(row, "share", "cost", "joules")}
                for row in found.ledger
            ],
            "early_ends": [
                {
                    **pick(end, "attempt", "ended_by", "reason", "lost_steps", "cost"),
                    "ended_at_ns": end.ended_at,
                    "ns": end.dur,
                    "parts_ns": end.parts,
                }
                for end in found.early_ends
            ],
            "slow_starts": [
                {
                    **pick(start, "attempt", "cost"),
                    "ns": start.dur,
                    "usual_ns": start.usual_dur,
                    "excess_ns": start.excess,
                }
                for start in found.slow_starts
            ],
            "checkpoints": found.checkpoints
            and {
                "count": found.checkpoints.count,
                "ns": found.checkpoints.dur,
                **pick(found.checkpoints, "interval_ns", "between_failures_ns", "best_interval_ns", "saves_ns"),
            },
            "steps": {
                **pick(found.pace, "steps", "counted", "step_ns", "low_ns", "high_ns", "throughput", "throughput_unit"),
                "loss": found.pace.loss and [{"step": step, "loss": loss} for step, loss in found.pace.loss],
                "changes": [
                    pick(change, "kind", "step", "until", "before", "after", "ratio") for change in found.changes
                ],
            },
            "power": found.power and pick(found.power, "devices", "coverage"),
            "logs": [pick(log, "file", "format", "lines", "left_out", "steps") for log in found.logs],
        }
    )
