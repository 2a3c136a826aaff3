"""The child process of traceq.loading.parallel: it gets one task, and sends how far it is, or an error."""

from __future__ import annotations

import time

from traceq.common.child import read_requests, send_answer
from traceq.common.process import lack_of_threads, thread_lack_in
from traceq.common.progress import State
from traceq.database.failures import FAILURES, one_line, way_out
from traceq.errors import StoreError, TraceqError
from traceq.loading.build import build

_SECONDS_BETWEEN_MESSAGES = 0.1


def main() -> int:
    """Build the database of the one task that the parent sends; return 0 when done, 1 when an error was sent back."""
    task = next(read_requests())
    last = 0.0

    def progress(state: State) -> None:
        nonlocal last
        if time.monotonic() - last > _SECONDS_BETWEEN_MESSAGES:
            last = time.monotonic()
            send_answer(state)

    try:
        if (lack := lack_of_threads()) is not None:
            raise StoreError(f"{task.source.path}: {lack}")
        build(task, progress)
    except TraceqError as error:
        send_answer(error)
        return 1
    except RuntimeError as error:
        if (lack := thread_lack_in(error)) is None:
            raise
        send_answer(StoreError(f"{task.source.path}: {lack}"))
        return 1
    except FAILURES as error:
        send_answer(StoreError(f"{task.source.path}: {one_line(error)}{way_out(error, task.scratch)}"))
        return 1
    return 0
