"""The whole run, as training logs beside the trace tell it."""

from __future__ import annotations

import msgspec


class RunLog(msgspec.Struct, frozen=True):
    """A training log, and where the captured steps lie in it; numbers of steps are the log's.

    The log has `steps` steps in `attempts`, `run_step_ns` each (median, None where it does not tell). `placed_by` is clock
    or step_number, None where the captured steps could not be placed; `reason` says how, or why not. What begins with
    window_ is of the captured steps, None where they are not placed: `percentile` is the share of the `run_steps` that are
    faster (50: usual), `ratio` their time by the usual one, and `trace_ratio` that in the trace by that in the log.
    """

    log_id: int
    file: str
    format: str
    gpus: int | None
    lines_left_out: int
    attempts: int
    first_step: int | None
    last_step: int | None
    steps: int
    run_step_ns: int | None
    checkpoints: int
    failures: int
    placed_by: str | None
    reason: str | None
    window_first: int | None
    window_last: int | None
    window_step_ns: int | None
    run_steps: int | None
    percentile: float | None
    ratio: float | None
    trace_ratio: float | None


class RunPhase(msgspec.Struct, frozen=True):
    """A category of the ledger of the whole run: its time, ns, and share of the wall time, 0 to 1."""

    category: str
    dur_ns: int
    share: float


class RunPoint(msgspec.Struct, frozen=True):
    """Steps of a training log that follow each other: the shortest, median and longest, ns."""

    log_id: int
    first_step: int
    last_step: int
    shortest_ns: int
    median_ns: int
    longest_ns: int
