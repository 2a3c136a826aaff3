"""One run of a program for `traceq experiment`: started in a session of its own, measured, and ended."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from traceq.capture import processes, status
from traceq.capture.knobs import registry
from traceq.capture.record import inject_traceq, keep_marks
from traceq.common import signals
from traceq.errors import MissingTool, ProgramFailed

# Why a run came to its end: it made its steps, it ended before, its time was over, none of its processes measures any more.
End = Literal["measured", "exit", "time", "gave up"]

# Seconds: between looks at the program, and at its memory; for other ranks after the first is done; to end by itself.
_LOOK = 0.05
_MEMORY = 1.0
_RANKS = 30.0
_PATIENCE = 5.0
# Seconds between lines on a program that still runs.
_NEWS = 20.0

# A program that starts others while it is ended is looked at so many times.
_MOST_ROUNDS = 10


@dataclass(frozen=True)
class TrialLaunch:
    """One run of a program to start: `values` of knobs to apply in it, `variables` to add to its environment.

    The first `warmup` steps are not counted, the next `steps` are, and more where these take less than `least_seconds`.
    Then `profiled` steps are recorded under the profiler (0: none), into NAME.* in `traces`. `outputs` keeps the norms
    of the model's outputs in the first steps, beside their losses.
    """

    command: tuple[str, ...]
    values: Mapping[str, str]
    variables: Mapping[str, str]
    seed: int
    warmup: int
    steps: int
    least_seconds: float
    profiled: int
    traces: Path
    name: str
    log: Path
    time_limit: float | None
    outputs: bool = False


@dataclass(frozen=True)
class TrialResult:
    """The outcome of a run: its exit code (negative: the signal), its processes' reports, and memory in bytes."""

    end: End
    exit_code: int
    events: tuple[status.Event, ...]
    seconds: float
    host_memory_peak: int | None
    killed_for_memory: bool
    log: Path


def run(launch: TrialLaunch, tell: Callable[[str], None] = lambda _: None) -> TrialResult:
    """Run the program until its steps are made, end all of its processes in any case, and return the outcome.

    Its output goes to the log; `tell` receives a few words on a program that takes long. Raises MissingTool when the
    command is missing.
    """
    told = launch.traces / f".{launch.name}.status"
    with signals.raise_signals(), _empty_folder(told), processes.adopt_orphans(), launch.log.open("wb") as log:
        killed = processes.count_oom_kills()
        began = time.monotonic()
        child: subprocess.Popen[bytes] | None = None
        try:
            with signals.defer_signals():
                child = _start(launch, told, log)
            watched = _RunningProgram(child, told, launch, tell)
            end = watched.wait()
        finally:
            # Masked, a signal reaches the handler through other threads (numpy has some), so that is changed, too.
            with _delay_signals(), signals.defer_signals():
                _end_all(told, child)
        return TrialResult(
            end,
            child.wait(),
            tuple(status.read(told)),
            time.monotonic() - began,
            watched.memory or None,
            (processes.count_oom_kills() or 0) > (killed or 0),
            launch.log,
        )


def _end_all(told: Path, child: subprocess.Popen[bytes] | None) -> None:
    """End all processes of the program. Raises ProgramFailed where the process that was started cannot be ended."""
    if child is not None and not processes.KNOWN:
        processes.end_group(child, _PATIENCE)
    if child is None or not processes.KNOWN:
        return
    ended: list[int] = []
    # Programs can start processes while they are ended.
    for _ in range(_MOST_ROUNDS):
        found = [pid for pid in _processes_of(told, child) if pid not in ended]
        if not found:
            break
        processes.end_processes(found, _PATIENCE)
        ended += found
    try:
        child.wait(_PATIENCE)
    except subprocess.TimeoutExpired as error:
        raise ProgramFailed(
            f"process {child.pid} of the program cannot be ended (does it run under sudo?): end it by hand, and run all of"
            " traceq experiment as its user"
        ) from error
    processes.reap(ended)


def _processes_of(told: Path, child: subprocess.Popen[bytes]) -> list[int]:
    """Return the ids of the program's running processes: the one started, its descendants, and orphans that were adopted.

    Adopted ones are known by their session, or by the directory `told` in their environment: a program may change
    either.
    """
    mark = str(told).encode()
    own = [] if child.poll() is not None else [child.pid, *processes.find_descendants(child.pid)]
    adopted = [
        descendant
        for descendant in processes.find_descendants(os.getpid())
        if processes.read_session(descendant) == child.pid or mark in processes.read_environment(descendant)
    ]
    return list(dict.fromkeys([*own, *adopted]))


@contextmanager
def _delay_signals() -> Iterator[None]:
    """Delay SIGINT, SIGTERM and SIGHUP until the block ends, so that a second Ctrl-C leaves no process behind."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start(launch: TrialLaunch, told: Path, log: Any) -> subprocess.Popen[bytes]:
    if shutil.which(launch.command[0]) is None:
        raise MissingTool(
            f"{launch.command[0]}: no such command on PATH; give the command as in a shell: traceq experiment -- python train.py"
        )
    environment = {**os.environ, **_set_variables(launch), **launch.variables}
    environment |= _inject_traceq(launch, told, environment.get("PYTHONPATH"))
    try:
        return subprocess.Popen(
            launch.command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            # Ctrl-C is for traceq, which ends the program.
            start_new_session=True,
        )
    except OSError as error:
        raise MissingTool(f"{launch.command[0]}: cannot be started: {error.strerror or error}") from error


def _set_variables(launch: TrialLaunch) -> dict[str, str]:
    """Return the environment variables for the run that the user's --env may override."""
    return {
        "TRACEQ_SEED": str(launch.seed),
        **keep_marks(),
        **registry.list_variables(launch.values),
    }


def _inject_traceq(launch: TrialLaunch, told: Path, path: str | None) -> dict[str, str]:
    """Return environment variables that load traceq in the program; `path` is the program's own PYTHONPATH."""
    options = {
        "backend": "torch",
        "directory": str(launch.traces),
        "name": launch.name,
        "steps": max(1, launch.profiled),
        "most_steps": 0,
        "samples": True,
        "warmup": 1,
        "skip": launch.warmup + launch.steps,
        "memory": False,
        "stacks": False,
        "status": str(told),
        "trial": {
            "seed": launch.seed,
            "steps": launch.steps,
            "least_seconds": launch.least_seconds,
            "profile": launch.profiled > 0,
            "outputs": launch.outputs,
            "values": dict(launch.values),
        },
    }
    return inject_traceq(options, path)


class _RunningProgram:
    """A program that was started for a trial, observed through the reports of its processes."""

    def __init__(
        self, child: subprocess.Popen[bytes], told: Path, launch: TrialLaunch, tell: Callable[[str], None]
    ) -> None:
        self._child = child
        self._tell = tell
        self._began = time.monotonic()
        self._news_due = self._began + _NEWS
        self._told = told
        self._deadline = None if launch.time_limit is None else time.monotonic() + launch.time_limit
        self._memory_due = time.monotonic() + _MEMORY
        self._first_done: float | None = None
        self._has_measured = self._has_given_up = False
        self._size = 0
        self.memory = 0

    def wait(self) -> End:
        """Wait for the end of the measurement; return why it ended: measured, gave up, time (limit), or exit of the program."""
        while self._child.poll() is None:
            if self._is_measured():
                return "measured"
            if self._has_given_up:
                return "gave up"
            now = time.monotonic()
            if self._deadline is not None and now > self._deadline:
                return "time"
            if now > self._news_due:
                self._tell(f"{self._describe_stage()} after {now - self._began:.0f} s")
                self._news_due = now + _NEWS
            if now > self._memory_due and not self._has_measured:
                self._see_memory()
                self._memory_due = now + _MEMORY
            time.sleep(_LOOK)
        return "measured" if self._is_measured() else "exit"

    def _is_measured(self) -> bool:
        """Return whether all processes that make steps are done, or were waited for long enough after the first was done."""
        size = sum(path.stat().st_size for path in self._told.glob("*.jsonl"))
        if size == self._size and self._first_done is None:
            return False
        self._size = size
        events = status.read(self._told)
        done = {event.pid for event in events if event.kind in {"end", "reason"}}
        if not any(event.kind == "measured" for event in events):
            making = {event.pid for event in events if event.kind == "step"}
            # Who made too few steps is ending by itself.
            ends = {event.pid for event in events if event.kind == "few"}
            given_up = {event.pid for event in events if event.kind == "reason"}
            self._has_given_up = bool(making - ends) and making <= given_up
            return False
        if not self._has_measured:
            # What the profiler takes from now on is not the program's.
            self._see_memory()
            self._has_measured = True
        if not done:
            return False
        self._first_done = self._first_done or time.monotonic()
        making = {event.pid for event in events if event.kind == "step"}
        return making <= done or time.monotonic() - self._first_done > _RANKS

    def _describe_stage(self) -> str:
        """Return in a few words how far the program is."""
        if self._has_measured:
            return "measured, still recording"
        kinds = {event.kind for event in status.read(self._told)}
        return "still measuring" if "step" in kinds else "no step yet"

    def _see_memory(self) -> None:
        pids = [self._child.pid, *processes.find_descendants(self._child.pid)]
        self.memory = max(self.memory, processes.measure_memory(pids), processes.measure_peak(pids))


@contextmanager
def _empty_folder(directory: Path) -> Iterator[None]:
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    try:
        yield
    finally:
        # Something of the program may still write.
        shutil.rmtree(directory, ignore_errors=True)
