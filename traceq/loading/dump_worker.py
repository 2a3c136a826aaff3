"""The child process of traceq.loading.dumps: it gets lists of files, and sends what each list holds, or an error."""

from __future__ import annotations

from traceq.common.child import read_requests, send_answer
from traceq.common.process import spare_threads_and_collections
from traceq.errors import TraceqError
from traceq.loading.dumps import read_files


def main() -> int:
    """Read the dumps that the parent names; return 0 when done, 1 when an error was sent back."""
    spare_threads_and_collections()
    try:
        for files in next(read_requests()):
            send_answer(read_files(files))
    except TraceqError as error:
        send_answer(error)
        return 1
    return 0
