"""The words of the ledger of a run, and its numbers as text."""

from __future__ import annotations

from datetime import UTC, datetime

from traceq.common.units import UNKNOWN, format_money, time_span

# By category: the label of the ledger, and what it is as part of a sentence.
LABELS = {
    "step": "steps that count",
    "lost": "lost steps",
    "compile": "compilation and warm-up",
    "data": "waiting for data",
    "evaluation": "evaluation",
    "checkpoint": "checkpoints",
    "start_up": "start-up",
    "hang": "hangs before failures",
    "restart": "failure to restart",
    "idle": "idle GPUs",
    "queue": "queue",
    "not_submitted": "not submitted",
    "unattributed": "cannot tell",
}

# By category: what has its colour in other pictures.
COLOURED_AS = {
    "step": "compute",
    "lost": "idle_sync",
    "compile": "idle_compile",
    "data": "idle_data",
    "evaluation": "communication",
    "checkpoint": "idle_checkpoint",
    "start_up": "copy_h2d",
    "hang": "idle_communication",
    "restart": "idle_os",
    "idle": "idle",
    "queue": "idle_profiler",
    "not_submitted": "idle_allocation",
    "unattributed": "idle_unattributed",
}

ENDS = {"failure": "failure", "preemption": "preemption", "restart": "restart"}

# By part of an early end.
PARTS = {
    "lost": "lost steps",
    "hang": "hang",
    "restart": "restart",
    "queue": "queue",
    "start_up": "start-up",
    "compile": "compilation",
    "other": "other",
}


def write_cost(cost: float | None) -> str:
    """Return an amount of money as text: $12.34; "cannot tell" for None."""
    return UNKNOWN if cost is None else f"${format_money(cost)}"


def write_moment(nanoseconds: int, *, is_local: bool) -> str:
    """Return a moment (ns since 1970) as text: 2026-11-28 02:00:00, with UTC unless it is of a zone that is not known."""
    text = datetime.fromtimestamp(nanoseconds / 1e9, tz=UTC).strftime("%Y-%m-%d %H:%M:%S")
    return text if is_local else f"{text} UTC"


def list_parts(parts: dict[str, int]) -> str:
    """Return what an early end consists of, the longest first: lost steps 6 min 40 s, start-up 3 min."""
    longest = sorted(parts.items(), key=lambda part: -part[1])
    return ", ".join(f"{PARTS[name]} {time_span(dur)}" for name, dur in longest)
