"""Whether the sides ran on other GPUs: told by their names, else by their makers."""

from __future__ import annotations

from collections.abc import Sequence

from traceq.runs.run import Run

_MAKERS = {"nvidia": "NVIDIA", "amd": "AMD", "intel": "Intel"}


def other_gpu(base: Sequence[Run], new: Sequence[Run]) -> str | None:
    """The GPUs of both sides where they are not the same; None where they are, or nothing tells."""
    names, makers = _told(base, new, "name"), _told(base, new, "maker")
    if all(names) and names[0] != names[1]:
        return " against ".join(map(", ".join, names))
    if all(makers) and makers[0] != makers[1]:
        told = (
            name or [f"one of {maker[0]} (name not in the trace)"] for name, maker in zip(names, makers, strict=True)
        )
        return " against ".join(map(", ".join, told))
    return None


def _told(base: Sequence[Run], new: Sequence[Run], what: str) -> list[list[str]]:
    return [sorted({told for run in runs if (told := _of(run, what)) is not None}) for runs in (base, new)]


def _of(run: Run, what: str) -> str | None:
    if what == "name":
        return run.device_name
    return _MAKERS.get(run.capture.vendor, run.capture.vendor) if run.capture.vendor else None
