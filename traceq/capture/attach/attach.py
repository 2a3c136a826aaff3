"""traceq record --attach: ask a running program for a trace, and fetch it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from traceq.capture.attach import dynolog, py_spy, ray, servers
from traceq.capture.attach.address import HostPort
from traceq.capture.attach.arrivals import copy_trace, wait_for_files
from traceq.capture.attach.target import Target, parse_target
from traceq.capture.record import free_name
from traceq.common.files import replace_file
from traceq.errors import StoreError, UnreachableProgram, WrongUse

# The user's own kinds of files; ingest finds out what is in them.
_SUFFIX = ".pt.trace.json"


@dataclass(frozen=True)
class AttachRequest:
    """Whom to ask and for what: `steps` of dynolog, Ray and SGLang, `seconds` of vLLM, of the process `pid` only.

    `trace_dir` is where the program writes its traces, as seen from here and from there; `patience` is in seconds.
    """

    target: str
    directory: Path
    steps: int
    seconds: float
    patience: float
    pid: int | None = None
    trace_dir: Path | None = None


@dataclass(frozen=True)
class Attached:
    """The outcome: traces under the name `name`, or the text of a process's stacks and the file that holds it."""

    name: str
    traces: tuple[Path, ...] = ()
    stacks: str | None = None
    file: Path | None = None


def ask_program(request: AttachRequest) -> Attached:
    """Ask the program for a trace, and bring it to the request's directory.

    Raises WrongUse, UnreachableProgram or MissingTool where that does not work, StoreError where the directory cannot be
    written.
    """
    target = parse_target(request.target)
    name = free_name(request.directory, target.kind)
    try:
        request.directory.mkdir(parents=True, exist_ok=True)
        if target.pid is not None:
            return _dump_process(request, target.pid, name)
        traces = _record_target(request, target, name)
    except OSError as error:
        where = error.filename2 or error.filename or request.directory
        raise StoreError(
            f"{where}: {error.strerror or error}; choose another directory with -o or --trace-dir"
        ) from error
    return Attached(name, tuple(traces))


def _dump_process(request: AttachRequest, pid: int, name: str) -> Attached:
    text = py_spy.describe_stacks(pid, py_spy.dump_stacks(pid))
    file = request.directory / f"{name}.stacks.txt"
    with replace_file(file) as opened:
        opened.write(text.encode())
    return Attached(name, (), text, file)


def _record_target(request: AttachRequest, target: Target, name: str) -> list[Path]:
    """Return the traces, fetched to the request's directory."""
    kind, address = target.kind, target.address
    if kind == "ray":
        path = request.directory / f"{name}{_SUFFIX}"
        return [ray.record_worker(address, request.pid, path, steps=request.steps, patience=request.patience)]
    if request.pid is not None and kind != "dynolog":
        raise WrongUse(f"--pid is for dynolog and Ray; {kind} records all of its processes")
    if kind == "vllm":
        folder = request.trace_dir and _check_folder(request.trace_dir)
        found = servers.record_vllm(address, folder, seconds=request.seconds, patience=request.patience)
        where = f"{folder}"
    elif kind == "sglang":
        folder = _choose_folder(request, address)
        found = servers.record_sglang(address, folder, steps=request.steps, patience=request.patience)
        where = f"{folder}"
    else:
        return _record_with_dynolog(request, address, name)
    if not found:
        raise UnreachableProgram(_explain_nothing(kind, address, where, request))
    return [copy_trace(path, request.directory / f"{name}.{path.name}") for path in found]


def _record_with_dynolog(request: AttachRequest, address: HostPort, name: str) -> list[Path]:
    """Return the traces of dynolog's programs, fetched to the request's directory and removed where they were written."""
    folder = request.trace_dir and _check_folder(request.trace_dir)
    pids = () if request.pid is None else (request.pid,)
    told = dynolog.trigger_traces(address, steps=request.steps, pids=pids, folder=folder)
    if not told.files:
        raise UnreachableProgram(
            f"{address}: {told.busy} processes are being recorded already; try again when that is over"
        )
    files = ", ".join(map(str, told.files.values()))
    if folder is None and not address.is_local():
        raise UnreachableProgram(
            f"{address}: the traces are being written on that machine: {files}; copy them from there and run traceq "
            "report, or name a folder that both machines see: --trace-dir DIR"
        )
    found = wait_for_files(told.files.values(), request.patience)
    if not found:
        raise UnreachableProgram(_explain_nothing("dynolog", address, files, request))
    traces = {pid: path for pid, path in told.files.items() if path in found}
    fetched = [copy_trace(path, request.directory / f"{name}.pid{pid}{_SUFFIX}") for pid, path in traces.items()]
    for path in found:
        with suppress(OSError):  # another user's, and there to stay
            path.unlink()
    return fetched


def _choose_folder(request: AttachRequest, address: HostPort) -> Path:
    """Return the folder that a server is told to write to. Raises WrongUse where it could not be read from here."""
    if request.trace_dir is None and not address.is_local():
        raise WrongUse(
            f"{address}: another machine, which writes the trace to its own disk: name a folder that both see, --trace-dir DIR"
        )
    return _check_folder(request.trace_dir or request.directory)


def _check_folder(folder: Path) -> Path:
    if not folder.is_dir():
        raise WrongUse(
            f"--trace-dir {folder}: no such folder here; name one that this machine and the program both see"
        )
    return folder.absolute()


def _explain_nothing(kind: str, address: HostPort, where: str, request: AttachRequest) -> str:
    does = "make optimizer steps" if kind == "dynolog" else "work on requests"
    return (
        f"{address}: no trace came within {request.patience:g} s; it was to be written to {where}; does the program {does}, "
        "and does it see the same folder as you, not that of a container? (--wait S, --trace-dir DIR)"
    )
