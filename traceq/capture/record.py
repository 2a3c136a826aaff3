"""traceq record: a training program is run as it is, and leaves a trace of a window of its steps."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from traceq.capture import nsys, status, supervise
from traceq.capture.files import number_names
from traceq.capture.monitor import SUFFIX as LOG_SUFFIX
from traceq.capture.monitor import sample_machine
from traceq.capture.snapshot.write import write
from traceq.common import signals
from traceq.common.owner import PATTERN, owner_word
from traceq.common.scratch import remove_gone
from traceq.errors import MissingTool, StoreError, TraceqError
from traceq.formats.made_with import SUFFIX

INJECT = Path(__file__).parent / "inject"

# Of a `traceq record` that was killed: what processes said to it, and what it was ingesting, which no other run has the name of.
_LEFT = re.compile(rf"\..+\.({PATTERN})\.(?:status|[0-9a-f]{{8}}\.ingest)")

# What a name may hold that becomes part of file names.
_NOT_IN_NAMES = re.compile(r"[^\w.-]+")


@dataclass(frozen=True)
class Request:
    """A program to record: its command, the profiler, where traces go, the window in optimizer steps.

    `memory`: with allocations. `stacks`: with the Python functions that ran, which makes steps longer.
    """

    command: tuple[str, ...]
    backend: str
    directory: Path
    steps: int
    warmup: int
    skip: int
    memory: bool = False
    stacks: bool = False


@dataclass(frozen=True)
class Launch:
    """The start of a program: the whole command and what is added to its environment; traces are NAME.*."""

    command: tuple[str, ...]
    additions: Mapping[str, str]
    directory: Path
    name: str


@dataclass(frozen=True)
class Recorded:
    """The outcome: the program's exit code, the traces, and a line for each that is missing or cut short."""

    exit_code: int
    traces: tuple[Path, ...]
    reasons: tuple[str, ...]


def plan(request: Request) -> Launch:
    """Plan how the program is run; touches nothing."""
    directory = request.directory.absolute()
    name = _free_name(directory, _name_after(request.command))
    command = request.command
    if request.backend == "nsys":
        prefix = nsys.profile_command(directory / name, windowed=request.steps > 0, memory=request.memory)
        command = (*prefix, *command)
    return Launch(command, _make_environment(request, directory, name), directory, name)


def record(request: Request, launch: Launch) -> Recorded:
    """Run the program to its end.

    A program that fails, and one that leaves no trace, is no error: its exit code is kept and the reasons say why. Raises
    MissingTool when the command (or nsys) is not there, StoreError when the directory cannot be written.
    """
    for tool in (launch.command[0], request.command[0]):
        _check_tool(tool)
    log = launch.directory / f"{launch.name}{LOG_SUFFIX}"
    with signals.raise_signals(), _open_status(launch) as told, sample_machine(log):
        try:
            exit_code = supervise.run(launch.command, {**os.environ, **launch.additions})
        except OSError as error:
            raise MissingTool(f"{launch.command[0]}: cannot be started: {error.strerror or error}") from error
        events = status.read(told)
        if request.backend == "nsys" and nsys.find_report(launch.directory / launch.name) is not None:
            _put_snapshot(told, launch)
    if request.backend == "nsys":
        return _export_report(exit_code, launch, events)
    traces = tuple(Path(event.facts["path"]) for event in events if event.kind == "end" and event.facts["path"])
    return Recorded(
        exit_code, traces, tuple(status.explain_missing(events, got_a_trace=bool(traces), exit_code=exit_code))
    )


def _put_snapshot(told: Path, launch: Launch) -> None:
    """Put what the lowest rank was made with beside the trace of nsys; where no process said it, the machine it ran on."""
    found = sorted(told.glob(f"rank*{SUFFIX}"), key=lambda path: (len(path.name), path.name))
    target = launch.directory / f"{launch.name}{SUFFIX}"
    with suppress(OSError):
        if found:
            shutil.move(found[0], target)
        else:
            write(target, None, None)


def _export_report(exit_code: int, launch: Launch, events: Sequence[status.Event]) -> Recorded:
    report = nsys.find_report(launch.directory / launch.name)
    why = tuple(status.list_reasons(events))
    if report is None:
        return Recorded(
            exit_code, (), why or (f"nsys left no report {launch.name}.nsys-rep: its own messages say why",)
        )
    try:
        return Recorded(exit_code, (nsys.export(report),), why)
    except TraceqError as error:
        return Recorded(exit_code, (), (*why, str(error)))


def _check_tool(tool: str) -> None:
    if shutil.which(tool) is not None:
        return
    if tool == "nsys":
        raise MissingTool(
            "nsys: not on PATH; install NVIDIA Nsight Systems, or record with --backend torch, which needs nothing"
        )
    raise MissingTool(
        f"{tool}: no such command on PATH; give the command as in a shell: traceq record -- python train.py"
    )


def _name_after(command: Sequence[str]) -> str:
    """Name the traces after the first Python file or module of the command without its suffix, else the program."""
    files = [Path(word).stem for word in command[1:] if word.endswith(".py")]
    modules = [after for before, after in pairwise(command) if before == "-m"]
    name = next(iter([*files, *modules[-1:]]), Path(command[0]).name)
    return _NOT_IN_NAMES.sub("_", name).lstrip(".-") or "program"


def _free_name(directory: Path, name: str) -> str:
    """Return `name`, or NAME-2 and so on: nothing that is there is overwritten or mixed with the new traces."""
    there = [path.name for path in directory.iterdir()] if directory.is_dir() else []

    def is_taken(name: str) -> bool:
        ours = (
            f"{name}.rank",
            f"{name}.duckdb",
            f"{name}.nsys-rep",
            f"{name}.sqlite",
            f"{name}{LOG_SUFFIX}",
            f"{name}{SUFFIX}",
            f".{name}.",
        )
        return any(file.startswith(ours) for file in there)

    return next(free for free in number_names(name) if not is_taken(free))


def _status_path(directory: Path, name: str) -> Path:
    # Beside the traces: the directory for temporary files may be another one in a container that the program starts.
    return directory / f".{name}.{owner_word()}.status"


def _make_environment(request: Request, directory: Path, name: str) -> dict[str, str]:
    """Make environment variables for the program. An empty entry of PYTHONPATH would mean the current directory."""
    options = {
        "backend": request.backend,
        "directory": str(directory),
        "name": name,
        "steps": request.steps,
        "warmup": request.warmup,
        "skip": request.skip,
        "memory": request.memory,
        "stacks": request.stacks,
        "status": str(_status_path(directory, name)),
    }
    path = os.pathsep.join(filter(None, [str(INJECT), os.environ.get("PYTHONPATH")]))
    # Without marks there are no phases and fetches: what a shell still says about marks is not meant for a recording.
    marks = {"TRACEQ_ANNOTATE": "all"} if "TRACEQ_ANNOTATE" in os.environ else {}
    return {"PYTHONPATH": path, "TRACEQ_RECORD": json.dumps(options), **marks}


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
