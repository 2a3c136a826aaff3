"""The summary of logs of torch.compile for programs: nanoseconds and counts. docs/compile.md describes the keys."""

from __future__ import annotations

from typing import Any

import msgspec

from traceq.reports.renderers.json_text import json_text
from traceq.runs.compile_log.summary import CompileSummary

# Raised with every change that breaks a reader.
SCHEMA_VERSION = 1


def compile_log_to_json(found: CompileSummary) -> str:
    """Return the summary as the text of a JSON object; what traceq cannot tell is null."""
    content: dict[str, Any] = msgspec.to_builtins(found)
    return json_text({"schema_version": SCHEMA_VERSION, **content})
