"""Work on many pieces at once, by any executor of concurrent.futures: processes here, or workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, as_completed

from traceq.dataset.piece import Made, PieceTask, make_piece
from traceq.errors import StoreError, TraceqError
from traceq.loading.ingest import Failure

Outcome = Made | Failure
Told = Callable[[PieceTask, Outcome], None]


def run_all(tasks: Sequence[PieceTask], executor: Executor, told: Told) -> Iterator[tuple[PieceTask, Outcome]]:
    """Make the pieces, and give what came of each as soon as it is known."""
    futures = {executor.submit(make_piece, task): task for task in tasks}
    for future in as_completed(futures):
        task = futures[future]
        try:
            outcome: Outcome = future.result()
        except TraceqError as error:
            outcome = Failure(task.build.source.shown, str(error))
        except BrokenExecutor as error:
            raise StoreError(
                f"{task.build.source.shown}: a process that read a trace was killed; out of memory? try again with --jobs 1"
            ) from error
        told(task, outcome)
        yield task, outcome
