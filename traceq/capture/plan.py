"""Which backend of `traceq record` captures the metrics wanted."""

from __future__ import annotations

from collections.abc import Sequence

from traceq.formats.capabilities import Metric


def record_backend(metrics: Sequence[Metric]) -> str | None:
    """The backend that gives most of the metrics, torch where both do; None when neither gives any."""
    counts = {backend: sum(backend in metric.record for metric in metrics) for backend in ("torch", "nsys")}
    best = max(counts, key=lambda backend: counts[backend])
    return best if counts[best] else None
