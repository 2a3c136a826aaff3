"""What of the machine a process may use, and what it does without."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

# Where Linux says how much memory the processes of a container may use: cgroup version 2, then 1.
_MEMORY_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))

# Taken for the machine's memory where the system does not say it, bytes.
_USUAL_MEMORY = 8 << 30


def usable_cpus() -> int:
    """CPUs this process may run on, which in a container or under SLURM are fewer than the machine has."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS, Windows
        return os.cpu_count() or 1


def is_running(pid: int) -> bool:
    """Whether there is a process of this number."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def usable_memory() -> int:
    """Bytes of memory that this process may use: the machine's, in a container those it is limited to."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows
        memory = _USUAL_MEMORY
    for file in _MEMORY_LIMITS:
        try:
            limit = file.read_text()
        except OSError:
            continue
        if limit.strip().isdecimal():  # else "max"
            memory = min(memory, int(limit))
    return memory


# NumPy's library for matrices starts a thread for each CPU, which nothing here is large enough for.
ONE_BLAS_THREAD = {"OPENBLAS_NUM_THREADS": "1"}

# So many new objects before garbage is looked for, instead of 700: little of what a command makes refers to itself.
_OBJECTS_PER_COLLECTION = 50_000


def spare_threads_and_collections() -> None:
    """Let this process, which is traceq's own, start no threads for matrices (20 ms) and look for garbage seldom."""
    for name, value in ONE_BLAS_THREAD.items():
        os.environ.setdefault(name, value)
    gc.set_threshold(_OBJECTS_PER_COLLECTION)


class _NoPandas:
    """An import hook that finds no pandas."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("this process does without pandas", name=name)


def block_pandas_import() -> None:
    """Make pandas look absent, for processes of traceq's own that hand out no data frames.

    Arrow imports pandas, where there is one, to see whether what it is given is a data frame: 0.4 s of every start.
    """
    sys.meta_path.insert(0, _NoPandas())
