"""The answer of doctor for programs; docs/report-json.md describes the keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from traceq.health.diagnosis import TraceHealth
from traceq.reports.renderers.json_text import json_text, pick, to_dict
from traceq.sharing.secrets import FoundSecrets

# Raised with every change that breaks a reader.
SCHEMA_VERSION = 1


def health_to_json(traces: Sequence[TraceHealth], secrets: Mapping[str, Sequence[FoundSecrets]] | None = None) -> str:
    """Return the health of traces as the text of a JSON object with a list `traces`.

    `secrets` has the secrets found in each file, by its path.
    """
    found = secrets or {}
    parts = [_encode_trace(trace, found.get(trace.path, ())) for trace in traces]
    return json_text({"schema_version": SCHEMA_VERSION, "traces": parts})


def _encode_trace(trace: TraceHealth, secrets: Sequence[FoundSecrets]) -> dict[str, Any]:
    held = to_dict(trace.inputs)
    lost = held.pop("lost")
    inputs = {
        f"{name}_ns" if "_dur" in name or name == "idle_unattributed" else name: value for name, value in held.items()
    }
    return {
        "trace": pick(trace, "trace_id", "run", "path", "format", "producer", "producer_version", "rank"),
        "identities": [
            {**to_dict(each.identity), **pick(each, "checked", "broken", "example")} for each in trace.identities
        ],
        "metrics": trace.metrics,
        "inputs": inputs,
        "lost": lost,
        "logs": [to_dict(log) for log in trace.logs],
        "made_with": trace.made_with,
        "names": {each.kind: each.number for each in secrets},
    }
