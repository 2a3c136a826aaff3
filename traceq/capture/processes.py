"""Processes of a program that was started: which there are, what memory they take, and their end."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PROC = Path("/proc")
# Of Linux' prctl: what a process that ends leaves behind becomes a child of this one.
_SUBREAPER = 36


# Whether the system says which processes there are.
KNOWN = (_PROC / "self" / "stat").exists()


@contextmanager
def adopt_orphans() -> Iterator[None]:
    """During the block, adopt descendants of this process whose parent ends, so that they can still be found (Linux)."""
    libc = ctypes.CDLL(None)
    has = hasattr(libc, "prctl")
    if has:
        libc.prctl(_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        if has:
            libc.prctl(_SUBREAPER, 0, 0, 0, 0)


def find_descendants(root: int) -> list[int]:
    """Return the ids of all processes below `root`, each after its parent; empty where there is no /proc (macOS)."""
    children: dict[int, list[int]] = {}
    for pid, parent in _read_parents():
        children.setdefault(parent, []).append(pid)
    found: list[int] = []
    waiting = [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def _read_parents() -> Iterator[tuple[int, int]]:
    for entry in _PROC.iterdir() if _PROC.is_dir() else ():
        if entry.name.isdigit():
            # One that has just ended.
            with suppress(OSError, ValueError, IndexError):
                # Its name, in parentheses, may hold anything.
                yield int(entry.name), int((entry / "stat").read_text().rpartition(")")[2].split()[1])


def read_environment(pid: int) -> bytes:
    """Return the environment a process was started with, NAME=VALUE parts separated by zero bytes; b"" if it cannot be read."""
    with suppress(OSError):
        return (_PROC / str(pid) / "environ").read_bytes()
    return b""


def read_session(pid: int) -> int | None:
    """Return the id of the process's session (the process id of the session's first process); None if the process has ended."""
    with suppress(OSError):
        return os.getsid(pid)
    return None


def measure_memory(pids: list[int]) -> int:
    """Return the bytes of memory that these processes hold together, shared pages counted once; unreadable ones count 0."""
    return sum(_read_field(pid, "smaps_rollup", "Pss:") for pid in pids)


def measure_peak(pids: list[int]) -> int:
    """Return the largest peak resident memory (bytes) of any single one of these processes; 0 if unknown."""
    return max((_read_field(pid, "status", "VmHWM:") for pid in pids), default=0)


def _read_field(pid: int, file: str, name: str) -> int:
    with suppress(OSError):
        for line in (_PROC / str(pid) / file).read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) << 10
    return 0


def count_oom_kills() -> int | None:
    """Return how many processes the kernel has killed for lack of memory since the machine started; None if unknown."""
    with suppress(OSError):
        for line in (_PROC / "vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return None


def end_processes(pids: list[int], patience: float) -> None:
    """Send SIGTERM to these processes, SIGKILL to those that still run `patience` seconds later; wait up to as long again."""
    _send(pids, signal.SIGTERM)
    deadline = time.monotonic() + patience
    while (left := [pid for pid in pids if _is_running(pid)]) and time.monotonic() < deadline:
        time.sleep(0.02)
    _send(left, signal.SIGKILL)
    while any(_is_running(pid) for pid in left) and time.monotonic() < deadline + patience:
        time.sleep(0.02)


def end_group(leader: subprocess.Popen[bytes], patience: float) -> None:
    """Send SIGTERM to the process group of `leader`, and SIGKILL if the leader still runs `patience` seconds later.

    For systems that do not tell which processes there are.
    """
    with suppress(ProcessLookupError):
        os.killpg(leader.pid, signal.SIGTERM)
    try:
        leader.wait(patience)
    except subprocess.TimeoutExpired:
        os.killpg(leader.pid, signal.SIGKILL)
        leader.wait()


def reap(pids: list[int]) -> None:
    """Collect the exit status of each of these child processes that has exited, so that no zombie is left.

    Ids of other processes are skipped.
    """
    for pid in pids:
        with suppress(OSError):  # no child of this process
            os.waitpid(pid, os.WNOHANG)


def _send(pids: list[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _is_running(pid: int) -> bool:
    """Return whether the process runs; False for one that has ended, even if it waits to be reaped."""
    try:
        return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
