"""What the rules about allocation have in common."""

from __future__ import annotations

from typing import Any

from traceq.diagnosis.needs import CannotTell
from traceq.diagnosis.rules.shared.wording import per_step, times_per_step
from traceq.diagnosis.subject import Subject


def needs_steps(subject: Subject) -> None:
    """Raise CannotTell where nothing divides the trace into steps: setting up allocates, and should."""
    subject.needs("gpu", "steps", "calls")
    if subject.is_whole_trace:
        raise CannotTell("setting up and training are not told apart; traceq.annotate, or --step-range, marks steps")


def calls(subject: Subject, operations: tuple[str, ...]) -> list[dict[str, Any]]:
    """Calls of the counted steps by function, of these operations of allocator_call, the costliest first."""
    return [row for row in subject.ask("allocation_facts") if row["operation"] in operations]


def described(subject: Subject, found: list[dict[str, Any]]) -> str:
    """The calls as a phrase: "cudaMalloc 12 per step (0.4 ms)"."""
    return ", ".join(_call(subject, row) for row in found[:3])


def _call(subject: Subject, row: dict[str, Any]) -> str:
    return f"{row['name']} {times_per_step(subject, row['calls'])} ({per_step(subject, row['dur_ns'] / subject.steps)})"
