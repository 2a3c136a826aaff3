"""Work on many pieces at once, by workers that may die: processes here, or those of a cluster (traceq.dataset.cluster)."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any, NamedTuple, Protocol

from traceq.common import signals
from traceq.common.child import Child
from traceq.common.limits import Share, limits
from traceq.common.process import thread_lack_in
from traceq.database.failures import FAILURES, one_line, way_out
from traceq.dataset.piece import MadePiece, PieceTask, make_piece
from traceq.errors import StoreError, TraceqError
from traceq.loading.ingest import Failure

Outcome = MadePiece | Failure

# A piece whose worker died is made once more, when no other one is: the one that ends its worker then as well is given up.
_TRIES = 2

# Seconds between looks at the workers while none of them has anything to say.
_SECONDS_BETWEEN_LOOKS = 5.0


class WorkerDied(Exception):
    """Raised when a worker ended before its call returned; the message says how."""


class WorkersLost(StoreError):
    """Raised when no worker is left, and no work can be done any more."""


class Workers(Protocol):
    """Interface of workers that make pieces: an executor of concurrent.futures whose futures raise WorkerDied."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        """Return the future of a call of the function by a worker; it raises WorkerDied if the worker ends meanwhile."""

    def count_slots(self) -> int:
        """Return the number of calls at a time that keep all workers busy."""

    def plan_share(self, pieces: int) -> Share:
        """Return the limits (CPUs, memory) of each worker when `pieces` pieces are to be made."""

    def prepare(self, tasks: Sequence[PieceTask]) -> None:
        """Raise StoreError if the workers cannot do these tasks."""

    def check(self) -> None:
        """Raise WorkersLost when no worker is left and none is expected; asked while no call ends."""


def run_all(tasks: Sequence[PieceTask], workers: Workers) -> Iterator[tuple[PieceTask, Outcome]]:
    """Yield each task with its outcome, a piece's record or a failure, as soon as it is known. Raises WorkersLost.

    A trace that cannot be read fails at once. A piece whose worker died is made again alone, after the others, because
    another piece may have brought the worker down.
    """
    waiting, again = deque(tasks), deque[PieceTask]()
    running: dict[Future[MadePiece], PieceTask] = {}
    tries: Counter[str] = Counter()
    while waiting or running or again:
        most = max(1, workers.count_slots())
        while waiting and len(running) < most:
            _submit(waiting.popleft(), workers, running)
        if not running:
            _submit(again.popleft(), workers, running)
        done, _ = wait(running, _SECONDS_BETWEEN_LOOKS, FIRST_COMPLETED)
        if not done:
            workers.check()
        for future in done:
            task = running.pop(future)
            tries[task.folder] += 1
            outcome = _read_outcome(task, future, is_last=tries[task.folder] == _TRIES)
            if outcome is None:
                again.append(task)
                continue
            if isinstance(outcome, Failure):
                task.place.remove(task.folder)  # what a worker that died has left
            yield task, outcome


def _submit(task: PieceTask, workers: Workers, running: dict[Future[MadePiece], PieceTask]) -> None:
    """Give the task to a worker, and note its future in `running`."""
    running[workers.submit(make_piece, task)] = task


def _read_outcome(task: PieceTask, future: Future[MadePiece], *, is_last: bool) -> Outcome | None:
    """Return the piece's record, or a failure.

    None if the worker died and the task is to be tried again (not if `is_last`). Raises WorkersLost.
    """
    shown = task.build.source.shown
    try:
        return future.result()
    except WorkersLost:
        raise
    except TraceqError as error:
        return Failure(shown, str(error))
    except WorkerDied as error:
        if not is_last:
            return None
        return Failure(
            shown,
            f"{shown}: the process that read it ended, when it was read alone as well ({error}): out of memory?"
            " Try a smaller --memory-limit, or a machine with more memory",
        )
    except FAILURES as error:
        return Failure(shown, f"{shown}: {one_line(error)}{way_out(error)}")
    except Exception as error:  # noqa: BLE001 - a fault that one trace meets must not cost the others
        return Failure(
            shown, f"{shown}: {thread_lack_in(error) or f'traceq is at fault: {type(error).__name__}: {error}'}"
        )


class InProcess(ThreadPoolExecutor):
    """This process as the only worker, a piece at a time: for a place that no other process sees."""

    def __init__(self) -> None:
        super().__init__(1)

    def count_slots(self) -> int:
        """Return 1: this process makes one piece at a time."""
        return 1

    def plan_share(self, _pieces: int) -> Share:
        """Return the limits of the whole machine, as there is one worker."""
        return limits().share(1)

    def prepare(self, tasks: Sequence[PieceTask]) -> None:
        """Do nothing: the worker is this process."""

    def check(self) -> None:
        """Do nothing: this process is there as long as anybody waits."""


class Processes(ThreadPoolExecutor):
    """Worker processes of this machine, each served by a thread: when one dies, the work of the others is not lost.

    Their temporary files lie in one folder, which is removed at the end.
    """

    def __init__(self, jobs: int) -> None:
        super().__init__(jobs)
        self._jobs = jobs
        self._scratch = TemporaryDirectory(prefix=f"traceq-ingest-{os.getpid()}-")
        signals.remove_on_exit(self._scratch.name)
        self._idle: list[_WorkerProcess] = []
        self._all: set[_WorkerProcess] = set()
        self._lock = threading.Lock()
        self._is_over = False

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:  # type: ignore[override]
        """Return the future of a call of the function by one of the processes."""
        return super().submit(self._call, function, arguments)

    def count_slots(self) -> int:
        """Return the number of processes."""
        return self._jobs

    def plan_share(self, pieces: int) -> Share:
        """Return one process's share of the machine's CPUs and memory, when `pieces` pieces are to be made."""
        return limits().share(min(self._jobs, pieces))

    def prepare(self, tasks: Sequence[PieceTask]) -> None:
        """Do nothing: the processes are like this one."""

    def check(self) -> None:
        """Do nothing: new processes take the place of those that died."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = True) -> None:
        """End all processes at once, even in the middle of a call."""
        with self._lock:
            self._is_over = True
            for process in self._all:
                process.child.stop()
        super().shutdown(wait=wait, cancel_futures=cancel_futures)
        for process in self._all:
            process.child.close()
        self._scratch.cleanup()

    def _call(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Return the result of the call in one of the processes. Raises the error of the call, or WorkerDied."""
        process = self._take_process()
        try:
            process.child.send((function, arguments))
            answer = next(process.child.answers, None)
        except OSError:  # it ended between two calls
            answer = None
        if answer is None:
            raise WorkerDied(self._close_ended(process))
        with self._lock:
            self._idle.append(process)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _take_process(self) -> _WorkerProcess:
        """Return an idle process, or a new one. Raises WorkerDied after `shutdown`."""
        with self._lock:
            if self._is_over:
                raise WorkerDied("interrupted")
            if self._idle:
                return self._idle.pop()
            folder = mkdtemp(dir=self._scratch.name)
            process = _WorkerProcess(Child("traceq.dataset.worker", TMPDIR=folder), Path(folder))
            self._all.add(process)
            return process

    def _close_ended(self, process: _WorkerProcess) -> str:
        """Remove the temporary files of a process that ended; return words on its end: signal or exit code."""
        process.child.close()
        with self._lock:
            self._all.discard(process)
        shutil.rmtree(process.folder, ignore_errors=True)
        code = process.child.exit_code or 0
        return f"signal {-code}, {signal.strsignal(-code)}" if code < 0 else f"exit code {code}"


class _WorkerProcess(NamedTuple):
    """A worker process and its folder for temporary files."""

    child: Child
    folder: Path
