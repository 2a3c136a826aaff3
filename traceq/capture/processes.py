"""The processes of a program that was started: which there are, what memory they take, and their end."""

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
def adopting() -> Iterator[None]:
    """While the block runs, processes that lose their parent below this one become its children, and so are found (Linux)."""
    libc = ctypes.CDLL(None)
    has = hasattr(libc, "prctl")
    if has:
        libc.prctl(_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        if has:
            libc.prctl(_SUBREAPER, 0, 0, 0, 0)


def descendants(root: int) -> list[int]:
    """All processes below `root`, parents first; empty where the system does not say (macOS)."""
    children: dict[int, list[int]] = {}
    for pid, parent in _parents():
        children.setdefault(parent, []).append(pid)
    found: list[int] = []
    waiting = [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def _parents() -> Iterator[tuple[int, int]]:
    for entry in _PROC.iterdir() if _PROC.is_dir() else ():
        if entry.name.isdigit():
            # One that has just ended.
            with suppress(OSError, ValueError, IndexError):
                # Its name, in parentheses, may hold anything.
                yield int(entry.name), int((entry / "stat").read_text().rpartition(")")[2].split()[1])


def environment_of(pid: int) -> bytes:
    """The environment that the process was started with, as the system holds it; empty where it does not say."""
    with suppress(OSError):
        return (_PROC / str(pid) / "environ").read_bytes()
    return b""


def session_of(pid: int) -> int | None:
    """The session of the process, by the number of the process that began it; None where it has ended."""
    with suppress(OSError):
        return os.getsid(pid)
    return None


def memory(pids: list[int]) -> int:
    """Bytes that these processes hold together, with what they share counted once; 0 where it is not known."""
    return sum(_field(pid, "smaps_rollup", "Pss:") for pid in pids)


def peak(pids: list[int]) -> int:
    """Bytes that the largest of these processes has held at any time."""
    return max((_field(pid, "status", "VmHWM:") for pid in pids), default=0)


def _field(pid: int, file: str, name: str) -> int:
    with suppress(OSError):
        for line in (_PROC / str(pid) / file).read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) << 10
    return 0


def killed_for_memory() -> int | None:
    """How many processes the kernel has killed since it started because memory ran out; None where it does not say."""
    with suppress(OSError):
        for line in (_PROC / "vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return None


def end(pids: list[int], patience: float) -> None:
    """Ask these processes to end, and kill those that still run `patience` seconds later."""
    _send(pids, signal.SIGTERM)
    deadline = time.monotonic() + patience
    while (left := [each for each in pids if _runs(each)]) and time.monotonic() < deadline:
        time.sleep(0.02)
    _send(left, signal.SIGKILL)
    while any(_runs(each) for each in left) and time.monotonic() < deadline + patience:
        time.sleep(0.02)


def end_group(leader: subprocess.Popen[bytes], patience: float) -> None:
    """The same for the group of a process that leads one, where it is not known what else there is."""
    with suppress(ProcessLookupError):
        os.killpg(leader.pid, signal.SIGTERM)
    try:
        leader.wait(patience)
    except subprocess.TimeoutExpired:
        os.killpg(leader.pid, signal.SIGKILL)
        leader.wait()


def reap(pids: list[int]) -> None:
    """Take leave of those of these processes that have ended and were adopted by this one."""
    for pid in pids:
        with suppress(OSError):  # no child of this process
            os.waitpid(pid, os.WNOHANG)


def _send(pids: list[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _runs(pid: int) -> bool:
    """Whether it runs; one that has ended and waits for its parent does not."""
    try:
        return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
