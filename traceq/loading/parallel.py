"""Building several traces at once, each in a process of its own (traceq.loading.worker)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import closing

from traceq.common.child import Child
from traceq.common.limits import limits
from traceq.common.progress import Progress, State
from traceq.errors import StoreError, TraceqError
from traceq.loading.build import Task, build


def build_all(tasks: Sequence[Task]) -> None:
    """Build every task's database, as many at once as the limits allow. The first failure stops the rest and is raised."""
    total = _TotalProgress(limits().progress, len(tasks))
    processes = limits().share(len(tasks)).processes
    if processes == 1:
        for number, task in enumerate(tasks):
            build(task, lambda state, number=number: total.advance(number, state))  # type: ignore[misc]
        return
    workers = [_BuildProcess(task) for task in tasks]
    with ThreadPoolExecutor(processes) as threads:
        futures = [threads.submit(worker.run, total, number) for number, worker in enumerate(workers)]
        _wait_for(futures, workers, total)


def _wait_for(futures: list[Future[None]], workers: list[_BuildProcess], total: _TotalProgress) -> None:
    """Wait until all builds are done, and show their progress; at the first failure, stop the rest and raise it."""
    pending = set(futures)
    try:
        while pending:
            done, pending = wait(pending, timeout=0.1, return_when=FIRST_EXCEPTION)
            total.report()
            for future in done:
                future.result()
    except BaseException:
        for future in futures:
            future.cancel()
        for worker in workers:
            worker.stop()
        raise


class _TotalProgress:
    """Sums the progress of several builds and shows it to the user."""

    def __init__(self, progress: Progress, parts: int) -> None:
        self._progress = progress
        self._parts = [State()] * parts

    def update(self, part: int, state: State) -> None:
        """Note the state of the build with the index `part`."""
        self._parts[part] = state

    def report(self) -> None:
        """Show the progress of all builds: bytes and rows while any still reads, else the share of the analyses."""
        slowest = min(self._parts, key=lambda state: state.share)
        if all(state.stage for state in self._parts):
            self._progress.analyse(slowest.stage, sum(state.share for state in self._parts) / len(self._parts))
        else:
            self._progress.advance(
                sum(state.read_bytes for state in self._parts), sum(state.rows for state in self._parts)
            )

    def advance(self, part: int, state: State) -> None:
        """Note the state of the build with the index `part`, and show the progress of all."""
        self.update(part, state)
        self.report()


class _BuildProcess:
    """One child process that builds one task."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._child: Child | None = None
        self._stopped = threading.Event()

    def run(self, total: _TotalProgress, part: int) -> None:
        """Run the process to its end, pass its progress on as `part` of `total`, and raise its error. Runs in a thread."""
        if self._stopped.is_set():
            return
        with closing(Child("traceq.loading.worker")) as child:
            self._child = child
            child.send(self._task)
            for message in child.answers:
                if isinstance(message, TraceqError):
                    raise message
                total.update(part, message)
        if child.exit_code != 0 and not self._stopped.is_set():
            raise StoreError(
                f"{self._task.source.path}: the process that read it ended with code {child.exit_code};"
                " out of memory? try again with --jobs 1"
            )

    def stop(self) -> None:
        """Stop the process, or keep it from starting."""
        self._stopped.set()
        if self._child is not None:
            self._child.stop()
