"""Lines for the log of a whole run, which `traceq goodput` reads: one JSON object a line, also from several processes at once.

{"traceq_run": 1, "at": 1767258000000000000, "phase": "start_up", "mark": "begin", "rank": 0, "gpus": 8}
{"at": 1767258031000000000, "step": 1, "dur": 2950000000, "data": 12000000, "numbers": {"tokens": 65536}, "rank": 0}
{"at": 1767258040000000000, "phase": "checkpoint", "mark": "begin", "step": 3, "rank": 0}

`at` is ns since 1970: the begin of a phase, the end of a step. `dur` and `data` are ns: the step, and the wait for data
since the step before. Steps are those of rank 0, or of a process without a rank; events are of all processes.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path

VARIABLE = "TRACEQ_RUN_LOG"
_RANKS = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK")
_SIZES = ("WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE")
_STARTED_AT = time.time_ns()


def _read_number(names: tuple[str, ...]) -> int | None:
    """Return the first number among these environment variables; None without one."""
    texts = (os.environ.get(name, "") for name in names)
    return next((int(text) for text in texts if text.isascii() and text.isdecimal()), None)


class _OpenLog:
    """The open log of this process: its file, what all its lines end with, and the wait for data since the last step (ns).

    `head` is the line on the start of the program until it is written: by a process that has something to say, which the
    workers of a loader do not.
    """

    def __init__(self) -> None:
        self.file: int | None = None
        self.head = ""
        self.tail = "}\n"
        self.writes_steps = True
        self.waited = 0
        self.wanted = os.environ.get(VARIABLE) or None
        """The path in the environment, until it is opened."""


_state = _OpenLog()


def open_log(path: str | Path | None) -> None:
    """Append to the log at `path` from now on, "{rank}" in it being the rank; None: write no more. Raises OSError."""
    _state.wanted = None
    if _state.file is not None:
        os.close(_state.file)
        _state.file = None
    if path is None:
        return
    rank, size = _read_number(_RANKS), _read_number(_SIZES)
    place = str(path).replace("{rank}", str(rank or 0))
    # Lines of several processes do not mix: each is one write to a file that is open for appending.
    _state.file = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
    _state.tail = "}\n" if rank is None else f', "rank": {rank}}}\n'
    _state.writes_steps = not rank
    gpus = "" if size is None else f', "gpus": {size}'
    _state.head = f'{{"traceq_run": 1, "at": {_STARTED_AT}, "phase": "start_up", "mark": "begin"{gpus}{_state.tail}'


def is_on() -> bool:
    """Return whether there is a log to write; opens the one that the environment names at the first call."""
    if _state.wanted is not None:
        path = _state.wanted
        try:
            open_log(path)
        except OSError as error:
            warnings.warn(f"{VARIABLE}={path}: no run log: {error.strerror}", RuntimeWarning, stacklevel=2)
    return _state.file is not None


def writes_steps() -> bool:
    """Return whether this process writes a line a step."""
    return is_on() and _state.writes_steps


def write_event(phase: str, mark: str, step: int | None, detail: str | None = None) -> None:
    """Write a line about an event now; nothing without a log."""
    if is_on():
        of_step = "" if step is None else f', "step": {step}'
        more = "" if detail is None else f', "detail": {json.dumps(detail)}'
        _write_line(f'{{"at": {time.time_ns()}, "phase": "{phase}", "mark": "{mark}"{of_step}{more}')


def begin_phase(phase: str, step: int | None) -> Callable[[], None]:
    """Write the begin of a phase of the run, and return the function that writes its end."""
    write_event(phase, "begin", step)
    return lambda: write_event(phase, "end", step)


def begin_step(number: int, payload: str | None) -> Callable[[], None]:
    """Return the function that writes the line of the step `number`, which begins now; `payload` is the name of its mark."""
    begun = time.perf_counter_ns()
    pairs = [pair.partition("=") for pair in payload.partition("#")[2].split(",")] if payload else []
    said = ", ".join(f'"{key}": {value}' for key, _, value in pairs)

    def write_step() -> None:
        dur = time.perf_counter_ns() - begun
        numbers = f', "numbers": {{{said}}}' if said else ""
        _write_line(f'{{"at": {time.time_ns()}, "step": {number}, "dur": {dur}, "data": {_state.waited}{numbers}')
        _state.waited = 0

    return write_step


def begin_fetch() -> int:
    """Return the begin of a wait for data, for end_fetch(); 0 where no steps are written."""
    return time.perf_counter_ns() if writes_steps() else 0


def end_fetch(begun: int) -> None:
    """Add the wait for data since `begun` to those before the next step."""
    if begun:
        _state.waited += time.perf_counter_ns() - begun


def _write_line(line: str) -> None:
    """Write a line that lacks its end; where that fails, warn once and write no more: training goes on."""
    if _state.file is None:
        return
    text, _state.head = f"{_state.head}{line}{_state.tail}", ""
    try:
        os.write(_state.file, text.encode())
    except OSError as error:
        _state.file = None
        warnings.warn(f"the run log ends here: {error.strerror}", RuntimeWarning, stacklevel=2)
