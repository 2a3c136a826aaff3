"""One run of a program for `traceq experiment`: started in a session of its own, measured, and ended."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from traceq.capture import processes, status
from traceq.capture.knobs import registry
from traceq.capture.record import INJECT
from traceq.common import signals
from traceq.errors import MissingTool, ProgramFailed

# Why a run came to its end: it made its steps, it ended before, its time was over, none of its processes measures any more.
End = Literal["measured", "exit", "time", "gave up"]

# Seconds: between looks at the program, and at its memory; for other ranks after the first is done; to end by itself.
_LOOK = 0.05
_MEMORY = 1.0
_RANKS = 30.0
_PATIENCE = 5.0


@dataclass(frozen=True)
class Launch:
    """How the program is run once: `values` of knobs to turn in it, `variables` that are added to its environment.

    `warmup` steps are left out, `steps` count, more where these take less than `least_seconds`; `profiled` follow under the
    profiler, 0 for none, into NAME.* in `traces`.
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


@dataclass(frozen=True)
class Ran:
    """What one run said and left: its exit code (negative: the signal), what its processes said, memory in bytes."""

    end: End
    exit_code: int
    events: tuple[status.Event, ...]
    seconds: float
    host_memory_peak: int | None
    killed_for_memory: bool
    log: Path


def run(launch: Launch) -> Ran:
    """Run the program until its steps are made, and end all of its processes, whatever happens here.

    Its output goes to the log. Raises MissingTool when the command is not there.
    """
    told = launch.traces / f".{launch.name}.status"
    with signals.raise_signals(), _empty(told), processes.adopting(), launch.log.open("wb") as log:
        killed = processes.killed_for_memory()
        began = time.monotonic()
        child: subprocess.Popen[bytes] | None = None
        try:
            with signals.defer_signals():
                child = _start(launch, told, log)
            watched = _Watched(child, told, launch)
            end = watched.wait()
        finally:
            with _undisturbed():
                _end_all(told, child)
        return Ran(
            end,
            child.wait(),
            tuple(status.read(told)),
            time.monotonic() - began,
            watched.memory or None,
            (processes.killed_for_memory() or 0) > (killed or 0),
            launch.log,
        )


def _end_all(told: Path, child: subprocess.Popen[bytes] | None) -> None:
    """End all processes of the program. ProgramFailed where the one that was started cannot be ended."""
    if child is not None and not processes.KNOWN:
        processes.end_group(child, _PATIENCE)
    if child is None or not processes.KNOWN:
        return
    found = _processes_of(told, child)
    processes.end(found, _PATIENCE)
    # What was started meanwhile.
    more = _processes_of(told, child)
    processes.end(more, 0)
    try:
        child.wait(_PATIENCE)
    except subprocess.TimeoutExpired as error:
        raise ProgramFailed(
            f"process {child.pid} of the program cannot be ended, as under sudo: end it by hand, and run all of"
            " traceq experiment as that user"
        ) from error
    processes.reap([*found, *more])


def _processes_of(told: Path, child: subprocess.Popen[bytes]) -> list[int]:
    """Those of the program that run: the one started, all below it, and what this process has adopted of them.

    Adopted ones are known by their session, or by the directory to report to in their environment: a program may lose either.
    """
    mark = str(told).encode()
    own = [] if child.poll() is not None else [child.pid, *processes.descendants(child.pid)]
    adopted = [
        each
        for each in processes.descendants(os.getpid())
        if processes.session_of(each) == child.pid or mark in processes.environment_of(each)
    ]
    return list(dict.fromkeys([*own, *adopted]))


@contextmanager
def _undisturbed() -> Iterator[None]:
    """A second Ctrl-C waits: the program would be left behind."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start(launch: Launch, told: Path, log: Any) -> subprocess.Popen[bytes]:
    if shutil.which(launch.command[0]) is None:
        raise MissingTool(
            f"{launch.command[0]}: no such command on PATH; give the command as in a shell: traceq experiment -- python train.py"
        )
    environment = {**os.environ, **_additions(launch), **launch.variables}
    environment |= _injection(launch, told, environment.get("PYTHONPATH"))
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


def _additions(launch: Launch) -> dict[str, str]:
    """Variables that --env may say otherwise."""
    return {
        "TRACEQ_SEED": str(launch.seed),
        # Without marks there are no steps of the program's own: what a shell still says about marks is not meant for this.
        **({"TRACEQ_ANNOTATE": "all"} if "TRACEQ_ANNOTATE" in os.environ else {}),
        **registry.environment(launch.values),
    }


def _injection(launch: Launch, told: Path, path: str | None) -> dict[str, str]:
    """Variables that bring traceq into the program; `path` is the PYTHONPATH that it has."""
    options = {
        "backend": "torch",
        "directory": str(launch.traces),
        "name": launch.name,
        "steps": max(1, launch.profiled),
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
            "values": dict(launch.values),
        },
    }
    return {
        "PYTHONPATH": os.pathsep.join(filter(None, [str(INJECT), path])),
        "TRACEQ_RECORD": json.dumps(options),
    }


class _Watched:
    """A running program."""

    def __init__(self, child: subprocess.Popen[bytes], told: Path, launch: Launch) -> None:
        self._child = child
        self._told = told
        self._deadline = None if launch.time_limit is None else time.monotonic() + launch.time_limit
        self._memory_due = time.monotonic() + _MEMORY
        self._first_done: float | None = None
        self._has_measured = self._has_given_up = False
        self._size = 0
        self.memory = 0

    def wait(self) -> End:
        """Until the steps are made, the program ends or its time is over."""
        while self._child.poll() is None:
            if self._is_measured():
                return "measured"
            if self._has_given_up:
                return "gave up"
            now = time.monotonic()
            if self._deadline is not None and now > self._deadline:
                return "time"
            if now > self._memory_due and not self._has_measured:
                self._see_memory()
                self._memory_due = now + _MEMORY
            time.sleep(_LOOK)
        return "measured" if self._is_measured() else "exit"

    def _is_measured(self) -> bool:
        """Whether all processes that make steps are done, or waited for long enough since the first was."""
        size = sum(each.stat().st_size for each in self._told.glob("*.jsonl"))
        if size == self._size and self._first_done is None:
            return False
        self._size = size
        events = status.read(self._told)
        done = {each.pid for each in events if each.kind in {"end", "reason"}}
        if not any(each.kind == "measured" for each in events):
            making = {each.pid for each in events if each.kind == "step"}
            # Who made too few steps is ending by itself.
            ends = {each.pid for each in events if each.kind == "few"}
            given_up = {each.pid for each in events if each.kind == "reason"}
            self._has_given_up = bool(making - ends) and making <= given_up
            return False
        if not self._has_measured:
            # What the profiler takes from now on is not the program's.
            self._see_memory()
            self._has_measured = True
        if not done:
            return False
        self._first_done = self._first_done or time.monotonic()
        making = {each.pid for each in events if each.kind == "step"}
        return making <= done or time.monotonic() - self._first_done > _RANKS

    def _see_memory(self) -> None:
        pids = [self._child.pid, *processes.descendants(self._child.pid)]
        self.memory = max(self.memory, processes.memory(pids), processes.peak(pids))


@contextmanager
def _empty(directory: Path) -> Iterator[None]:
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    try:
        yield
    finally:
        # Something of the program may still write.
        shutil.rmtree(directory, ignore_errors=True)
