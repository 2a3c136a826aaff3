"""Tell other GPUs by their names, else by their makers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from traceq.runs.run import Run

_MAKERS = {"nvidia": "NVIDIA", "amd": "AMD", "intel": "Intel"}


def describe_other_gpu(base: Sequence[Run], new: Sequence[Run]) -> str | None:
    """Return the GPUs of both sides where they are not the same; None where they are, or nothing tells."""
    names = [_distinct(run.device_name for run in runs) for runs in (base, new)]
    makers = [_distinct(_MAKERS.get(run.capture.vendor or "") for run in runs) for runs in (base, new)]
    if all(names) and names[0] != names[1]:
        return " against ".join(map(", ".join, names))
    if all(makers) and makers[0] != makers[1]:
        sides = zip(names, makers, strict=True)
        return " against ".join(
            ", ".join(name or [f"one of {maker[0]} (name not in the trace)"]) for name, maker in sides
        )
    return None


def _distinct(values: Iterable[str | None]) -> list[str]:
    return sorted({value for value in values if value is not None})
