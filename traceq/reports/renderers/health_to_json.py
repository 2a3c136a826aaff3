"""What doctor says, for programs; docs/report-json.md describes the keys."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from traceq.health.diagnosis import TraceHealth

# Raised with every change that breaks a reader.
SCHEMA_VERSION = 1

_TRACE = ("trace_id", "run", "path", "format", "producer", "producer_version", "rank")


def health_to_json(traces: Sequence[TraceHealth]) -> str:
    """One object; its list `traces` has one object a trace, whether there are none, one or several."""
    content = {"schema_version": SCHEMA_VERSION, "traces": [_part(trace) for trace in traces]}
    return json.dumps(content, ensure_ascii=False, allow_nan=False, sort_keys=True, indent=2) + "\n"


def _part(trace: TraceHealth) -> dict[str, Any]:
    held = asdict(trace.inputs)
    lost = held.pop("lost")
    return {
        "trace": {name: getattr(trace, name) for name in _TRACE},
        "identities": [
            {**asdict(each.identity), "checked": each.checked, "broken": each.broken, "example": each.example}
            for each in trace.identities
        ],
        "metrics": [asdict(each) for each in trace.metrics],
        "inputs": {_named(name): value for name, value in held.items()},
        "lost": lost,
    }


def _named(name: str) -> str:
    return f"{name}_ns" if "_dur" in name or name == "idle_unattributed" else name
