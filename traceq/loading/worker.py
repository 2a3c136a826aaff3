"""The child process of traceq.loading.parallel: one task as JSON on stdin, progress and errors as JSON lines on stdout."""

from __future__ import annotations

import json
import os
import sys
import time

from traceq.common.process import block_pandas_import
from traceq.database.connect import FAILURES, one_line
from traceq.errors import StoreError, TraceqError
from traceq.loading.build import Task, build

_SECONDS_BETWEEN_MESSAGES = 0.1


def main() -> int:
    """Build the task on stdin; 0 when done, 1 when an error was written."""
    block_pandas_import()
    task = Task.from_json(sys.stdin.read())
    last = 0.0

    def progress(read_bytes: int, rows: int) -> None:
        nonlocal last
        if time.monotonic() - last > _SECONDS_BETWEEN_MESSAGES:
            last = time.monotonic()
            _say({"read": read_bytes, "rows": rows})

    try:
        build(task, progress)
    except TraceqError as error:
        _say({"error": type(error).__name__, "text": str(error)})
        return 1
    except FAILURES as error:
        _say({"error": StoreError.__name__, "text": f"{task.source.path}: {one_line(error)}"})
        return 1
    return 0


def _say(message: dict[str, object]) -> None:
    try:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        # The parent is gone: nobody wants the result.
        os._exit(1)
