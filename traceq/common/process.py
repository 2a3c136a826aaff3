"""The share of the machine that a process may use, and libraries that it does without."""

from __future__ import annotations

import _thread
import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

# Where Linux says which control groups this process is in, and where their files lie.
_GROUPS_OF_PROCESS = Path("/proc/self/cgroup")
_GROUPS = Path("/sys/fs/cgroup")

# Version 1 of control groups writes the largest number of pages for no limit.
_LEAST_UNLIMITED = 1 << 60

# Taken for the machine's memory where the system does not say it, bytes.
_USUAL_MEMORY = 8 << 30


def usable_cpus() -> int:
    """Return the number of CPUs that this process may use; in a container or under SLURM fewer than the machine has."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS, Windows
        return os.cpu_count() or 1


def is_running(pid: int) -> bool:
    """Return whether a process with this pid exists."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def usable_memory() -> int:
    """Return the bytes of memory that this process may use: the machine's, or the limit of its container or Slurm job."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows
        memory = _USUAL_MEMORY
    return min([memory, *_limits_of_groups(), *_limits_of_slurm()])


def _limits_of_groups() -> Iterator[int]:
    """Yield the memory limits of this process's control groups and their parents, bytes; all of them apply."""
    for folder, is_new in _control_groups("memory"):
        limit = _read(folder / ("memory.max" if is_new else "memory.limit_in_bytes"))
        if limit.isdecimal():  # else "max", and the root has none
            yield int(limit)


def memory_limit() -> int | None:
    """Return the least memory limit of this process's control groups, bytes; None without a limit."""
    return min((limit for limit in _limits_of_groups() if limit < _LEAST_UNLIMITED), default=None)


def address_space() -> int | None:
    """Return the limit on this process's address space, bytes; None where there is none or it is unknown."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


def open_files(wanted: int) -> int:
    """Raise the soft limit of open files up to `wanted` if allowed, and return how many files (at most `wanted`) may be open."""
    try:
        import resource
    except ImportError:  # Windows
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    except (OSError, ValueError):  # a sandbox may refuse it
        return soft
    return most


def find_tool(name: str) -> str | None:
    """Return the path of the program `name` on PATH, None without it.

    Folders of PATH that depend on the current one, like ".", do not count: traces of strangers may lie in it, and programs
    beside them.
    """
    # not every command looks for one
    import shutil

    folders = filter(os.path.isabs, os.environ.get("PATH", os.defpath).split(os.pathsep))
    return shutil.which(name, path=os.pathsep.join(folders))


def lack_of_threads() -> str | None:
    """Return an error message if this process cannot start the threads that its libraries need; None if it can.

    Limits also count threads of other processes, so all are really started; that takes 1 ms for 38 threads.
    """
    wanted = _LEAST_THREADS + _LEAST_THREADS_PER_CPU * usable_cpus()
    gate = _thread.allocate_lock()

    def wait() -> None:
        with gate:
            pass

    with gate:
        for started in range(wanted):
            try:
                _thread.start_new_thread(wait, ())
            except RuntimeError as error:
                return f"{thread_lack_in(error)}; {wanted} are needed, and {started} were there"
    return None


def thread_lack_in(error: Exception) -> str | None:
    """Return an error message if the error is Python's "can't start new thread"; None for other errors."""
    if str(error) != "can't start new thread":
        return None
    return (
        "no more threads may be started: raise the limit of the user (ulimit -u) or of the container (pids),"
        " end other processes, or use fewer CPUs (taskset) or --jobs"
    )


def cpu_quota() -> float | None:
    """Return the CPU time per second that control groups allow this process, in CPUs; None without a limit."""
    return min(_read_quotas(), default=None)


def _read_quotas() -> Iterator[float]:
    """Yield the CPU limits of this process's control groups and their parents, in CPUs."""
    for folder, is_new in _control_groups("cpu"):
        if is_new:
            quota, _, period = _read(folder / "cpu.max").partition(" ")
        else:
            quota, period = (_read(folder / f"cpu.cfs_{name}_us") for name in ("quota", "period"))
        if quota.isdecimal() and period.isdecimal() and int(period):  # else "max", or -1
            yield int(quota) / int(period)


def _read(file: Path) -> str:
    """Return the file's text without blanks around it; empty if it cannot be read."""
    try:
        return file.read_text().strip()
    except OSError:
        return ""


def _control_groups(controller: str) -> Iterator[tuple[Path, bool]]:
    """Yield the folder of each control group of this process and of its parents, and whether it is of version 2."""
    for group in _read(_GROUPS_OF_PROCESS).splitlines():  # nothing where this is not Linux
        _, controllers, place = group.split(":", 2)
        if controllers == "":
            folder, is_new = _GROUPS, True
        elif controller in controllers.split(","):
            folder, is_new = _GROUPS / controller, False
        else:
            continue
        inner = Path(place.lstrip("/"))
        # A container may see its own group as the root, and be told the path that the host sees.
        yield from ((folder / around, is_new) for around in (inner, *inner.parents))


def _limits_of_slurm() -> Iterator[int]:
    """Yield the memory limits of the Slurm job on this node, bytes; nothing where the job has all memory."""
    per_node = _megabytes_of("SLURM_MEM_PER_NODE")
    per_cpu = _megabytes_of("SLURM_MEM_PER_CPU")
    cpus = os.environ.get("SLURM_CPUS_ON_NODE", "")
    if per_node:
        yield per_node
    if per_cpu and cpus.isdecimal():
        yield per_cpu * int(cpus)


def _megabytes_of(name: str) -> int:
    """Return the environment variable, a whole number of MiB, in bytes; 0 if it is not set or no number."""
    value = os.environ.get(name, "")
    return int(value) << 20 if value.isdecimal() else 0


# A database of DuckDB has eight threads for files and one for each CPU, and two are open at once; Arrow has as many again.
_LEAST_THREADS, _LEAST_THREADS_PER_CPU = 32, 3

# NumPy's library for matrices starts a thread for each CPU, which nothing here is large enough for.
ONE_BLAS_THREAD = {"OPENBLAS_NUM_THREADS": "1"}

# So many new objects before garbage is looked for, instead of 700: little of what a command makes refers to itself.
_OBJECTS_PER_COLLECTION = 50_000


def spare_threads_and_collections() -> None:
    """Make start-up cheaper, in processes of traceq's own: no BLAS threads (20 ms), and rare garbage collections."""
    for name, value in ONE_BLAS_THREAD.items():
        os.environ.setdefault(name, value)
    gc.set_threshold(_OBJECTS_PER_COLLECTION)


class _NoPandas:
    """An import hook that raises ModuleNotFoundError for pandas, as if it were not installed."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> None:
        """Raise ModuleNotFoundError for pandas; return None for other modules, which are then looked for as usual."""
        if name == "pandas":
            raise ModuleNotFoundError("this process does without pandas", name=name)


def block_pandas_import() -> None:
    """Make pandas look absent, for processes of traceq's own that return no data frames.

    Arrow would import it, which takes 0.4 s at every start, to check whether its arguments are data frames.
    """
    sys.meta_path.insert(0, _NoPandas())
