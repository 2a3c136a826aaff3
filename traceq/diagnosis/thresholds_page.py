"""The thresholds of all rules as one page: docs/thresholds.md."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from traceq.common.text import markdown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from traceq.diagnosis.threshold import Threshold

_INTRODUCTION = """\
# Thresholds

The numbers that decide what the rules say, by the file in `traceq/diagnosis/` that they stand in. None is taken from a trace that
the rules are judged on: they come from what hardware, drivers and schedulers do, from definitions, or from what others published.
Names that end in `_ns` are nanoseconds, in `_bytes` bytes; numbers below 1 shares. `traceq rules thresholds` prints this page.
"""


def page(thresholds: Sequence[Threshold]) -> str:
    """All thresholds in Markdown, a table for each file."""
    parts = [_INTRODUCTION]
    for place, of_place in groupby(thresholds, lambda each: each.place):
        rows = [f"| `{each.name}` | {each.value:,} | {markdown(each.reason)} |" for each in of_place]
        parts.append("\n".join([f"\n## {place}\n", "| threshold | value | because |", "|---|---|---|", *rows, ""]))
    return "".join(parts)
