"""Jobs as a scheduler sees them, as the events of a log: waiting in the queue, having resources, ending badly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from traceq.importers.training_logs.reading import Clock, LogEvent, LogValue, TrainingLog


class JobRun(NamedTuple):
    """One time that a job ran: line or record in the file, the job's name, times in ns since 1970, None where not known.

    `ending` is why it ended badly, None where it did not. `gpus` is what it has.
    """

    line: int
    name: str
    submitted: int | None
    started: int | None
    ended: int | None
    ending: str | None
    gpus: int | None


def log_of_jobs(format_: str, runs: Sequence[JobRun | None], clock: Clock, lines: int) -> TrainingLog:
    """Return the log of jobs; None stands for one that could not be read. A requeued job waits since it last ended."""
    values: list[LogValue] = []
    events: list[LogEvent] = []
    known = [run for run in runs if run is not None]
    ends: dict[str, int] = {}
    for run in sorted(known, key=lambda run: (run.started or run.submitted or 0, run.line)):
        events += _list_events(run, ends.get(run.name))
        if run.started is not None and run.gpus:
            values.append(LogValue(run.line, run.started, None, "gpus", float(run.gpus)))
        if run.ended is not None:
            ends[run.name] = run.ended
    return TrainingLog(
        format=format_,
        clock=clock,
        values=values,
        events=events,
        gpus=max((run.gpus for run in known if run.gpus), default=None),
        rank=None,
        lines=lines,
        left_out=len(runs) - len(known),
    )


def _list_events(run: JobRun, ended_before: int | None) -> list[LogEvent]:
    """Return the events of one run of a job, which ended at `ended_before` the last time."""
    events: list[LogEvent] = []
    submitted = run.submitted
    if submitted is not None and ended_before is not None:
        submitted = max(submitted, ended_before)
    # a job that was cancelled in the queue never starts
    waited_until = run.started if run.started is not None else run.ended
    if submitted is not None and waited_until is not None and waited_until >= submitted:
        events.append(LogEvent(run.line, submitted, waited_until - submitted, "interval", "queue"))
    if run.started is None:
        return events
    if run.ended is None:
        return [*events, LogEvent(run.line, run.started, None, "begin", "allocation")]
    events.append(LogEvent(run.line, run.started, max(0, run.ended - run.started), "interval", "allocation"))
    if run.ending is not None:
        events.append(LogEvent(run.line, run.ended, None, "moment", "failure", None, run.ending))
    return events
