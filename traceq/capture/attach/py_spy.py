"""The Python stacks of a process that hangs, by py-spy: what each thread does, or waits for."""

from __future__ import annotations

import json
import linecache
import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from traceq.common.extras import install_command
from traceq.common.process import find_tool, is_running
from traceq.errors import MissingTool, UnreachableProgram, WrongUse

_SECONDS = 60

_LIBRARY = re.compile(r"/lib/python\d[^/]*/|^<")

# What the innermost frames of a waiting thread say: a pattern of "FILE FUNCTION" of one of them, the file by its last parts.
_DEEP = 6
_WAITS = tuple(
    (re.compile(pattern), wait)
    for pattern, wait in (
        (r"distributed/(distributed_c10d|rendezvous|elastic/.*)\.py ", "other ranks (a collective or a rendezvous)"),
        (r"utils/data/dataloader\.py .*(_try_get_data|_get_data|_next_data)", "a batch from the DataLoader's workers"),
        (
            r"utils/data/_utils/(worker|pin_memory)\.py ",
            "work from the DataLoader (one of its own threads or processes)",
        ),
        (r"cuda/(__init__|streams)\.py .*synchronize", "the GPU"),
        (r"autograd/graph\.py ", "the backward pass (in C++)"),
        (r"multiprocessing/(connection|popen_\w+|process|pool|queues)\.py ", "another process"),
        (r"subprocess\.py ", "a child process"),
        (r"concurrent/futures/", "a task of an executor"),
        (r"queue\.py .*(get|put)", "a queue"),
        (r"threading\.py .*join", "the end of another thread"),
        (r"threading\.py ", "a lock, an event or a condition"),
        (r"(asyncio/|selectors\.py |uvloop)", "an event (its event loop is idle)"),
        (r"(socket|ssl|http/client)\.py ", "the network"),
    )
)

# What the kernel says of a thread that is not on a CPU (/proc/PID/task/TID/wchan), where the frames say nothing.
_KERNEL_WAITS = tuple(
    (re.compile(pattern), wait)
    for pattern, wait in (
        (r"futex", "a lock"),
        (r"(hrtimer_nanosleep|clock_nanosleep|nanosleep)", "a sleep to end"),
        (r"(poll|select|ep_)", "a file or the network (poll)"),
        (r"(pipe|unix_stream|sk_wait|tcp_|skb_)", "a pipe or the network"),
        (r"(io_schedule|wait_on_page|folio_wait|jbd2|nfs|fuse|blk|fsync|filemap)", "a disk or a file system"),
        (r"do_wait", "a child process"),
    )
)


@dataclass(frozen=True)
class ThreadStack:
    """A thread: its name, whether it runs, what it waits for, the line it is at, and its functions from the innermost on."""

    name: str
    native_id: int
    runs: bool
    waits_for: str | None
    line: str
    frames: tuple[str, ...]


def dump_stacks(pid: int) -> list[ThreadStack]:
    """Return the stacks of all Python threads of the process `pid` of this machine; it is stopped for some milliseconds.

    Raises MissingTool without py-spy, WrongUse without such a process, UnreachableProgram where py-spy fails.
    """
    if not is_running(pid):
        raise WrongUse(f"--attach {pid}: no process has this id on this machine; find it with ps -ef")
    command = [_find_py_spy(), "dump", "--json", "--pid", str(pid)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise UnreachableProgram(
            f"process {pid}: py-spy read nothing of it within {_SECONDS:g} s; its state is in /proc/{pid}/status"
        ) from error
    if done.returncode:
        raise UnreachableProgram(f"process {pid}: {_explain_failure(' '.join(done.stderr.split()))}")
    threads = [_read_thread(pid, thread) for thread in json.loads(done.stdout)]
    return sorted(threads, key=lambda thread: (thread.native_id != pid, thread.native_id))


def describe_stacks(pid: int, threads: list[ThreadStack]) -> str:
    """Return the stacks as text: for each thread a line on what it does, and a line for each function."""
    lines = [f"process {pid}, {len(threads)} Python thread{'s' if len(threads) != 1 else ''}"]
    for thread in threads:
        does = "runs" if thread.runs else f"waits for {thread.waits_for}" if thread.waits_for else "waits"
        at = f", at: {thread.line}" if thread.line else ""
        lines += ["", f"{thread.name} ({thread.native_id}): {does}{at}", *(f"    {frame}" for frame in thread.frames)]
    return "\n".join(lines) + "\n"


def _find_py_spy() -> str:
    beside = Path(sys.executable).with_name("py-spy")
    found = str(beside) if beside.is_file() else find_tool("py-spy")
    if found is None:
        raise MissingTool(
            f"py-spy: not installed, and it reads the stacks of a running process: {install_command('pyspy')}"
        )
    return found


def _explain_failure(words: str) -> str:
    """Return py-spy's error with the way out, where one is known."""
    if "ermission" in words or "ptrace" in words.lower():
        return (
            "this user may not look into it; run traceq as the user who started it and with sudo, or in a container with "
            f"--cap-add SYS_PTRACE ({words[:200]})"
        )
    if "python" in words.lower():
        return f"py-spy finds no Python that it knows in it ({words[:200]})"
    return f"py-spy failed: {words[:300] or 'without a word'}"


def _read_thread(pid: int, thread: dict[str, Any]) -> ThreadStack:
    """Return the thread of py-spy's JSON."""
    frames = [frame for frame in thread["frames"] if frame.get("name")]
    native_id = int(thread.get("os_thread_id") or 0)
    runs = bool(thread.get("active"))
    return ThreadStack(
        str(thread.get("thread_name") or "thread"),
        native_id,
        runs,
        None if runs else _find_wait([f"{frame['filename']} {frame['name']}" for frame in frames], pid, native_id),
        _read_line(frames),
        tuple(f"{frame['name']} ({frame['filename']}:{frame['line']})" for frame in frames),
    )


def _read_line(frames: Sequence[dict[str, Any]]) -> str:
    """Return the source line of the innermost frame that is of no library, "" without one or its file."""
    own = next((frame for frame in frames if not _LIBRARY.search(frame["filename"])), None)
    return "" if own is None else linecache.getline(own["filename"], own["line"]).strip()


def _find_wait(innermost: list[str], pid: int, native_id: int) -> str | None:
    """Return what a thread waits for, by its functions (FILE NAME, the innermost first), else by the kernel; None if unknown."""
    for pattern, wait in _WAITS:
        if any(pattern.search(frame) for frame in innermost[:_DEEP]):
            return wait
    channel = ""
    with suppress(OSError):  # a thread that has ended, or a system without /proc
        channel = Path(f"/proc/{pid}/task/{native_id}/wchan").read_text(encoding="utf-8")
    return next((wait for pattern, wait in _KERNEL_WAITS if pattern.search(channel)), None)
