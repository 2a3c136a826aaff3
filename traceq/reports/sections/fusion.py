"""The words about sequences of memory-bound kernels that one kernel could replace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from traceq.common.units import UNKNOWN, count, duration, short_size
from traceq.reports.document import Block, Name, Paragraph, Query, Table, make_table
from traceq.reports.model import TraceReport
from traceq.reports.topics.kernels import FusionCandidate

_LISTED = 5
_SHOWN_OPERATORS = 6
_ARROW = " → "


def list_fusions(report: TraceReport) -> Iterator[Block]:
    """Yield a table of the repeated sequences with most time, and what fusing each saves; nothing without any."""
    candidates = report.topics.kernels.fusion[:_LISTED]
    if not candidates:
        return
    about = (
        "Memory-bound kernels that one kernel could replace, by sequence of operators, as sums over the steps that count."
        " What would not move assumes that neighbours work on the same tensor where their shapes agree:"
    )
    yield Paragraph((about,))
    yield _fusion_table(candidates)
    if all(candidate.most_bytes is None for candidate in candidates):
        yield Paragraph(
            (f"What would not move: {UNKNOWN}, because the trace lacks shapes or types of these operators.",)
        )
    yield Query(report.queries["fusion"])


def _fusion_table(candidates: Sequence[FusionCandidate]) -> Table:
    return make_table(
        candidates,
        {
            "sequence": lambda candidate: Name(shorten_sequence(candidate.sequence)),
            "times": lambda candidate: count(candidate.times),
            "kernels": lambda candidate: count(candidate.kernels),
            "time": lambda candidate: duration(candidate.dur_ns),
            "not moved": lambda candidate: _format_range(candidate.least_bytes, candidate.most_bytes, short_size),
            "saves": lambda candidate: _format_range(candidate.least_ns, candidate.most_ns, duration),
        },
    )


def shorten_sequence(sequence: str) -> str:
    """Return a sequence of operators with the first few by name and the number of all others."""
    operators = sequence.split(_ARROW)
    left = len(operators) - _SHOWN_OPERATORS
    if left <= 1:
        return sequence
    return _ARROW.join((*operators[:_SHOWN_OPERATORS], f"{left} more"))


def _format_range(least: int | None, most: int | None, format_: Callable[[int], str]) -> str:
    """Return "16 KiB to 48 KiB", or one of them where they look the same; "-" where either is not known."""
    if least is None or most is None:
        return "-"
    low, high = format_(least), format_(most)
    return low if low == high else f"{low} to {high}"
