"""traceq record: a training program is run as it is, and leaves a trace of a window of its steps."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from traceq.capture import loader_workers, nsys, status
from traceq.capture.files import number_names
from traceq.capture.monitor import SUFFIX as LOG_SUFFIX
from traceq.capture.monitor import sample_machine
from traceq.capture.snapshot.write import write
from traceq.common import signals
from traceq.common.owner import PATTERN, owner_word
from traceq.common.process import find_tool
from traceq.common.scratch import remove_gone
from traceq.errors import MissingTool, StoreError, TraceqError
from traceq.formats import printed
from traceq.formats.made_with import SUFFIX

INJECT = Path(__file__).parent / "inject"

# Of a `traceq record` that was killed: what processes said to it, and what it was ingesting, which no other run has the name of.
_LEFT = re.compile(rf"\..+\.({PATTERN})\.(?:status|[0-9a-f]{{8}}\.ingest)")

# Of a request, what the processes of the program are told.
_OPTIONS = ("steps", "most_steps", "warmup", "skip", "memory", "stacks", "samples", "printed", "memory_history")

# What a name may hold that becomes part of file names.
_NOT_IN_NAMES = re.compile(r"[^\w.-]+")

# What a terminal, a batch system or a user sends to end a job or to make it write a checkpoint.
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_ENDING = {signal.SIGINT, signal.SIGTERM}
_WATCHED = {*_PASSED_ON, signal.SIGCHLD}

# Linux' si_code of a signal that the kernel sent (Ctrl-C): to the whole foreground group, so the program has it already.
_BY_KERNEL = 128

# Seconds a program has after it was told twice to end.
_PATIENCE = 5.0

# Seconds to wait for anything to happen, when nothing is due.
_LONG = 60.0


def _run_program(command: Sequence[str], environment: Mapping[str, str], executable: str | None = None) -> int:
    """Run the command to its end and return its exit code, 128 + n when signal n ended it.

    Signals are passed on to the program. If a second SIGINT or SIGTERM comes, the program is killed if it still
    runs 5 s later. `executable` is the path of the program where PATH is not to tell it. Raises OSError when the
    command cannot be started.
    """
    with signals.leave_signals(), _hold_signals() as early:
        # Handlers are not inherited by what is executed; blocked signals would be.
        child = subprocess.Popen(command, executable=executable, env=dict(environment))
        if hasattr(signal, "sigtimedwait"):
            signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
            _pass_on(child, early)
            _wait(child)
        else:  # macOS
            _wait_polling(child, early)
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


@contextmanager
def _hold_signals() -> Iterator[list[int]]:
    """Catch the signals to pass on during the block, and yield the list of numbers of those that arrive.

    Signals that are ignored stay ignored. The former handlers and the signal mask are restored at the end.
    """
    early: list[int] = []
    # What is ignored (by nohup, or in the background) stays so, also for the program.
    caught = [number for number in _PASSED_ON if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, lambda number, _frame: early.append(number)) for number in caught}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        yield early
    finally:
        # Handlers run when the mask falls; until then they are the collecting ones.
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in before.items():
            signal.signal(number, handler)


def _pass_on(child: subprocess.Popen[bytes], numbers: list[int]) -> None:
    while numbers:
        child.send_signal(numbers.pop(0))


def _wait(child: subprocess.Popen[bytes]) -> None:
    told, deadline = 0, None
    while child.poll() is None:
        info = signal.sigtimedwait(_WATCHED, _LONG if deadline is None else max(0.0, deadline - time.monotonic()))
        if info is None:
            if deadline is not None:
                child.kill()
        elif info.si_signo != signal.SIGCHLD:
            if info.si_signo != signal.SIGINT or info.si_code != _BY_KERNEL:
                child.send_signal(info.si_signo)
            told += info.si_signo in _ENDING
            if told > 1 and deadline is None:
                deadline = time.monotonic() + _PATIENCE


def _wait_polling(child: subprocess.Popen[bytes], arrived: list[int]) -> None:
    """Wait for the program's end and pass on the signals in `arrived`, on systems that do not name a signal's sender (macOS).

    SIGINT is taken for Ctrl-C, which the program received as well, and is not passed on.
    """
    while child.poll() is None:
        while signal.SIGINT in arrived:
            arrived.remove(signal.SIGINT)
        _pass_on(child, arrived)
        time.sleep(0.05)


@dataclass(frozen=True)
class Request:
    """A program to record: its command, the profiler (`backend`: torch or nsys), the directory of traces, and the window.

    The window is in optimizer steps: `skip`, then `warmup`, then `steps` that are recorded, or where these take less than a
    second up to `most_steps`. `memory` records allocations; `stacks` records the Python functions that ran, which makes
    steps longer, and `samples` samples them where it does not. `printed` keeps what the program prints as step time, loss
    and the like. `memory_history` writes PyTorch's snapshot of GPU memory beside each trace.
    """

    command: tuple[str, ...]
    backend: str
    directory: Path
    steps: int
    warmup: int
    skip: int
    memory: bool = False
    stacks: bool = False
    printed: bool = True
    memory_history: bool = False
    samples: bool = True
    most_steps: int = 0


@dataclass(frozen=True)
class Launch:
    """The start of a program: its whole command and additions to its environment; traces are DIRECTORY/NAME.*."""

    command: tuple[str, ...]
    additions: Mapping[str, str]
    directory: Path
    name: str


@dataclass(frozen=True)
class Recording:
    """The outcome of a recording: the program's exit code, its traces, and sentences on why traces are missing or cut short."""

    exit_code: int
    traces: tuple[Path, ...]
    reasons: tuple[str, ...]


def plan(request: Request) -> Launch:
    """Return how the program of `request` is to be started, with a free name for its traces; nothing is run or written."""
    directory = request.directory.absolute()
    name = free_name(directory, _name_after(request.command))
    command = request.command
    if request.backend == "nsys":
        prefix = nsys.profile_command(directory / name, windowed=request.steps > 0, memory=request.memory)
        command = (*prefix, *command)
    return Launch(command, _make_environment(request, directory, name), directory, name)


def record(request: Request, launch: Launch) -> Recording:
    """Run the program to its end, and return its exit code, its traces, and the reasons where traces are missing.

    A program that fails or leaves no trace is no error. Raises MissingTool when the command (or nsys) is missing,
    StoreError when the directory cannot be written.
    """
    for tool in (launch.command[0], request.command[0]):
        _check_tool(tool)
    log = launch.directory / f"{launch.name}{LOG_SUFFIX}"
    with signals.raise_signals(), _open_status(launch) as told, sample_machine(log):
        try:
            profiler = find_tool("nsys") if request.backend == "nsys" else None
            exit_code = _run_program(launch.command, {**os.environ, **launch.additions}, profiler)
        except OSError as error:
            raise MissingTool(f"{launch.command[0]}: cannot be started: {error.strerror or error}") from error
        events = status.read(told)
        if request.backend == "nsys" and nsys.find_report(launch.directory / launch.name) is not None:
            _put_beside(told, launch)
        for event in events:
            if event.kind == "end" and event.facts["path"]:
                loader_workers.put_beside(Path(event.facts["path"]), told, event.pid)
    if request.backend == "nsys":
        return _export_report(exit_code, launch, events)
    traces = tuple(Path(event.facts["path"]) for event in events if event.kind == "end" and event.facts["path"])
    return Recording(
        exit_code, traces, tuple(status.explain_missing(events, got_a_trace=bool(traces), exit_code=exit_code))
    )


def _put_beside(told: Path, launch: Launch) -> None:
    """Move environment snapshot and printed values of the lowest rank from the directory `told` beside nsys's trace.

    Without any snapshot there, write one of this machine. An OSError is ignored.
    """
    for suffix in (SUFFIX, printed.SUFFIX):
        found = sorted(told.glob(f"rank*{suffix}"), key=lambda path: (len(path.name), path.name))
        target = launch.directory / f"{launch.name}{suffix}"
        with suppress(OSError):
            if found:
                shutil.move(found[0], target)
            elif suffix == SUFFIX:
                write(target, None, None)


def _export_report(exit_code: int, launch: Launch, events: Sequence[status.Event]) -> Recording:
    report = nsys.find_report(launch.directory / launch.name)
    why = tuple(status.list_reasons(events))
    if report is None:
        return Recording(exit_code, (), why or (f"nsys wrote no report {launch.name}.nsys-rep: see its own messages",))
    try:
        return Recording(exit_code, (nsys.export(report),), why)
    except TraceqError as error:
        return Recording(exit_code, (), (*why, str(error)))


def _check_tool(tool: str) -> None:
    if (find_tool(tool) if tool == "nsys" else shutil.which(tool)) is not None:
        return
    if tool == "nsys":
        raise MissingTool(
            "nsys: not on PATH; install NVIDIA Nsight Systems, or record with --backend torch, which needs no "
            "other tool"
        )
    raise MissingTool(
        f"{tool}: no such command on PATH; give the command as in a shell: traceq record -- python train.py"
    )


def _name_after(command: Sequence[str]) -> str:
    """Return the name for traces: the command's first Python file without suffix, else the module after -m.

    Without either it is the program. Options (`--key=secret.py`) do not count. Characters that are not usual in file
    names become underscores.
    """
    files = [Path(word).stem for word in command[1:] if word.endswith(".py") and word[0] != "-"]
    modules = [after for before, after in pairwise(command) if before == "-m"]
    name = next(iter([*files, *modules[-1:]]), Path(command[0]).name)
    return _NOT_IN_NAMES.sub("_", name).lstrip(".-") or "program"


def free_name(directory: Path, name: str) -> str:
    """Return the first of NAME, NAME-2, NAME-3, ... under which the directory holds no traces or files of a recording."""
    there = [path.name for path in directory.iterdir()] if directory.is_dir() else []

    def is_taken(name: str) -> bool:
        traces = (".rank", ".duckdb", ".nsys-rep", ".sqlite", ".pt.trace.json")
        endings = (*traces, ".stacks.txt", LOG_SUFFIX, SUFFIX, printed.SUFFIX)
        ours = (f".{name}.", *(f"{name}{ending}" for ending in endings))
        return any(file.startswith(ours) for file in there)

    return next(free for free in number_names(name) if not is_taken(free))


def _status_path(directory: Path, name: str) -> Path:
    # Beside the traces: the directory for temporary files may be another one in a container that the program starts.
    return directory / f".{name}.{owner_word()}.status"


def _make_environment(request: Request, directory: Path, name: str) -> dict[str, str]:
    """Return the environment variables that make the program record itself, with the options of `request` in them."""
    options = {
        "backend": request.backend,
        "directory": str(directory),
        "name": name,
        **{field: getattr(request, field) for field in _OPTIONS},
        "workers": request.backend == "torch" and request.samples,
        "status": str(_status_path(directory, name)),
    }
    return {**inject_traceq(options, os.environ.get("PYTHONPATH")), **keep_marks()}


def inject_traceq(options: Mapping[str, object], path: str | None) -> dict[str, str]:
    """Return the variables PYTHONPATH and TRACEQ_RECORD that load traceq in a program and hand it the `options` (as JSON).

    `path` is the program's own PYTHONPATH, which is kept behind traceq's.
    """
    # An empty entry would mean the current directory.
    return {"PYTHONPATH": os.pathsep.join(filter(None, [str(INJECT), path])), "TRACEQ_RECORD": json.dumps(options)}


def keep_marks() -> dict[str, str]:
    """Return `TRACEQ_ANNOTATE=all` for the recorded program if that variable is set in this process to anything, else nothing.

    A recording needs the marks of phases, fetches and steps, which the user's value might switch off.
    """
    return {"TRACEQ_ANNOTATE": "all"} if "TRACEQ_ANNOTATE" in os.environ else {}


@contextmanager
def _open_status(launch: Launch) -> Iterator[Path]:
    directory = _status_path(launch.directory, launch.name)
    remove_gone(launch.directory, _LEFT)
    try:
        directory.mkdir(parents=True)
    except OSError as error:
        raise StoreError(
            f"{launch.directory}: cannot be written: {error.strerror}; choose another directory with -o"
        ) from error
    try:
        yield directory
    finally:
        # Something of the program may still run and write.
        shutil.rmtree(directory, ignore_errors=True)
