"""The child process of traceq.dataset.runner: it calls what it is told to, one after the other, and sends what came of each."""

from __future__ import annotations

from traceq.common.child import read_requests, send_answer
from traceq.common.process import lack_of_threads
from traceq.errors import StoreError


def main() -> int:
    """Make the calls that the parent process sends, one after the other, and answer each with its result or exception.

    Returns the exit code 0.
    """
    lack = lack_of_threads()
    for function, arguments in read_requests():
        try:
            if lack is not None:
                raise StoreError(lack)  # noqa: TRY301 - as what the function raises
            result = function(*arguments)
        except Exception as error:  # noqa: BLE001 - whatever it is, the parent raises it
            result = error
        send_answer(result)
    return 0
