"""Limits of a command: memory, processes, the time of the user's queries; and whom it tells how far it is.

Set once, where a command or a function of the Python interface begins, and read where they apply. Threads that run work need
a copy of the context; processes are given their share explicitly.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

import msgspec

from traceq.common.process import usable_cpus, usable_memory
from traceq.common.progress import Progress, Silent

# How long a query, a rule or a budget of the user's may take unless they say more, seconds.
TIMEOUT = 300.0

# More processes than this only wait for each other.
_MOST_JOBS_PER_CPU = 4

# Bytes that DuckDB may hold by default, however small the machine.
_LEAST_BY_DEFAULT = 1 << 30

# Bytes that DuckDB may hold where it answers queries, whatever the limit: DuckDB 2.0 promises each hash table of a query some
# MiB, and below this recursive queries with thirty of them wait for memory for ever. What is there to be read is seldom that
# large, so less is used.
LEAST_OF_QUERIES = 768 << 20

# Bytes that DuckDB may hold in each process that reads a trace, whatever the limit.
LEAST_OF_READING = 128 << 20


def warn(text: str) -> None:
    """Issue the text as a Python warning, the way to show notes where there is no terminal."""
    warnings.warn(text, stacklevel=2)


class Limits(msgspec.Struct, frozen=True):
    """The resources that a command may use, and where it reports progress and notes.

    `memory` is what DuckDB may hold, bytes; None for a quarter of the usable memory. `jobs` is the number of processes
    that read traces at once, `timeout` the seconds for a query, rule or budget of the user. `progress` follows the
    reading of traces, `note` receives sentences about things that are not errors.
    """

    memory: int | None = None
    jobs: int = 1
    timeout: float = TIMEOUT
    progress: Progress = msgspec.field(default_factory=Silent)
    note: Callable[[str], None] = warn

    @property
    def memory_bytes(self) -> int:
        """The bytes that DuckDB may hold in all processes together: `memory`, else a quarter of usable memory, at least 1 GiB.

        Each process that reads a trace still gets LEAST_OF_READING, each database that is queried LEAST_OF_QUERIES.
        """
        return self.memory or max(_LEAST_BY_DEFAULT, usable_memory() // 4)

    def share(self, tasks: int) -> Share:
        """Divide the limits among processes that do `tasks` tasks; with little memory there are fewer processes."""
        jobs = min(self.jobs, _MOST_JOBS_PER_CPU * (os.cpu_count() or 1))
        processes = max(1, min(jobs, tasks, self.memory_bytes // LEAST_OF_READING))
        return Share(
            processes,
            jobs=max(1, jobs // processes),
            # whatever `jobs` says, a trace that is alone has all CPUs
            threads=max(1, usable_cpus() // processes),
            memory=max(LEAST_OF_READING, self.memory_bytes // processes),
        )


class Share(NamedTuple):
    """A part of the limits: the number of parallel `processes`, and what each of them may use.

    That is `jobs` processes of its own, `threads` of DuckDB, and `memory` in bytes.
    """

    processes: int
    jobs: int
    threads: int
    memory: int


_DEFAULT = Limits()
_limits: ContextVar[Limits] = ContextVar("limits", default=_DEFAULT)


def limits() -> Limits:
    """Return the limits of the running command; defaults outside `within`."""
    return _limits.get()


@contextmanager
def within(new: Limits) -> Iterator[None]:
    """Let `limits()` return `new` inside the block."""
    token = _limits.set(new)
    try:
        yield
    finally:
        _limits.reset(token)
