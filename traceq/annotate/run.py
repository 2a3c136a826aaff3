"""run_log, run_event and run_phase: what happens in a whole run besides steps, for `traceq goodput`."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import SupportsIndex

from traceq.annotate import emit, names, to_run_log
from traceq.annotate.marks import Region

PHASES = ("start_up", "compile", "data", "evaluation", "checkpoint", "restart", "idle", "failure")


def run_log(path: str | Path | None) -> None:
    """Append what the run does to the file `path`, a JSON object a line; "{rank}" in it becomes the rank. None: no more.

    The environment variable TRACEQ_RUN_LOG does the same without code. Several processes may write to one file: steps
    come from rank 0, events from all. With it, step() writes a line a step, with its payload. Raises OSError where the file
    cannot be opened; where writing fails later, a warning says so and the program goes on.
    """
    to_run_log.open_log(path)


def run_event(phase: str, *, step: SupportsIndex | None = None, detail: str | None = None) -> None:
    """Note in the run log that something happened now.

    run_event("failure", detail="loss is NaN") does nothing without a run log. ValueError for a phase that is none of
    start_up, compile, data, evaluation, checkpoint, restart, idle and failure; TypeError where `step` is no whole number.
    """
    to_run_log.write_event(_check_phase(phase), "moment", _check_step(step), detail)


class run_phase(Region):  # noqa: N801 - reads as the function that would only call it
    """A phase of the run, by `with` or as a decorator: with run_phase("evaluation", step=100): ...

    Its begin and end are lines of the run log; in profiles it is a mark as phase() sets. Errors are those of run_event().
    """

    __slots__ = ("_label", "_step")

    def __init__(self, label: str, *, step: SupportsIndex | None = None) -> None:
        self._open = None
        self._label = _check_phase(label)
        self._step = _check_step(step)

    def begin(self, *, crosses: bool) -> emit.Mark:
        """Write the begin of the phase and return its mark for emit.pop()."""
        mark = emit.begin(names.phase(self._label), crosses=crosses)
        return emit.with_line(mark, to_run_log.begin_phase(self._label, self._step))


def _check_phase(phase: str) -> str:
    """Return the phase. Raises ValueError if it is unknown."""
    if phase not in PHASES:
        raise ValueError(f"{phase!r} is no phase of a run: choose from {', '.join(PHASES)}")
    return phase


def _check_step(step: SupportsIndex | None) -> int | None:
    """Return the number of a step as an int. Raises TypeError if it is no whole number."""
    if step is not None and not hasattr(step, "__index__"):
        raise TypeError(f"the number of a step is an int, not {type(step).__name__}: write step=12")
    return None if step is None else operator.index(step)
