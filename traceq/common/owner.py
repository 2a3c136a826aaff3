"""The owner of a scratch file: a word in its name that tells later whether that process is gone."""

from __future__ import annotations

import os
import platform
import zlib
from functools import cache
from pathlib import Path

from traceq.common.process import is_running

# An owner's word as a regular expression; those of traceq 0.1 had the number of the process only.
PATTERN = r"\d+(?:-[0-9a-f]+-[0-9a-f]+)?"

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE = Path("/proc/self/ns/pid")

# Of the fields of /proc/PID/stat that follow the name.
_START = 19


def owner_word() -> str:
    """Return a word that identifies this process: its pid, its start time, and a hash of the machine or container."""
    pid = os.getpid()
    return f"{pid}-{_start_of(pid)}-{_machine_hash()}"


def is_gone(word: str) -> bool | None:
    """Return whether the process of an owner's word has ended; None if that is unknown, as on another machine."""
    pid, _, rest = word.partition("-")
    start, _, machine = rest.partition("-")
    if machine != _machine_hash():
        return None
    return not is_running(int(pid)) or _start_of(int(pid)) != start


def _start_of(pid: int) -> str:
    """Return the start of the process in hexadecimal clock ticks since boot, as pids are reused; "0" if unknown."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return "0"
    return f"{int(stat.rpartition(b')')[2].split()[_START]):x}"


@cache
def _machine_hash() -> str:
    """Return eight hexadecimal digits for this machine since it was booted, and this container."""
    try:
        told = _BOOT.read_text() + str(_NAMESPACE.readlink())
    except OSError:  # not Linux
        told = ""
    return f"{zlib.crc32(f'{platform.node()} {told}'.encode()):08x}"
