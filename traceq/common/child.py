"""Child processes of traceq's own that exchange messages with their parent: any objects that can be pickled.

Plain subprocesses, not multiprocessing: a spawned multiprocessing child runs the user's main script again, which a library
must not ask its callers to guard against, and imports what is named like a library in the current directory; a forked one
inherits locks of DuckDB's and Arrow's threads.
"""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, Any

from traceq.common import signals
from traceq.common.process import ONE_BLAS_THREAD, block_pandas_import
from traceq.common.scratch import remove_abandoned


class Child:
    """A process that calls main() of the Python module `module`, with the same sys.path and additional environment variables."""

    def __init__(self, module: str, **environment: str) -> None:
        # Not `python -m`: that puts the current directory first, where a file of the user's may be named like a library.
        program = f"import sys; sys.path[:] = {sys.path!r}; from {module} import main; sys.exit(main())"
        # Ctrl-C reaches the whole group: it is for the parent to stop its children.
        with signals.block_interrupts():
            self._process = subprocess.Popen(
                [sys.executable, "-c", program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, **ONE_BLAS_THREAD, **environment},
            )
        assert self._process.stdin is not None  # noqa: S101
        assert self._process.stdout is not None  # noqa: S101
        self._requests = self._process.stdin
        self.answers = _read_messages(self._process.stdout)
        """The messages of the child, until it ends."""

    def send(self, message: object) -> None:
        """Send a message to the child. Raises OSError when it has ended."""
        _send(self._requests, message)

    def stop(self) -> None:
        """Kill the child, without waiting for its end."""
        self._process.kill()

    def close(self) -> None:
        """Close the pipe to the child and wait until it ends; after a failure remove the scratch files it left."""
        with suppress(BrokenPipeError), self._process:
            pass
        if self._process.returncode:
            remove_abandoned()

    @property
    def exit_code(self) -> int | None:
        """The exit code of the child; None while it runs."""
        return self._process.returncode


def read_requests() -> Iterator[Any]:
    """Yield the parent's messages, in a child process, until the parent closes the pipe; the process ends with its parent."""
    block_pandas_import()
    _keep_answers_apart()
    # where no thread can start, the child is going to say so
    with suppress(RuntimeError):
        threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    return _read_messages(sys.stdin.buffer)


def _keep_answers_apart() -> None:
    """Let only `send_answer` write to the parent: DuckDB prints a progress bar to standard output after two seconds."""
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.close(nothing)
    sys.stdout = io.TextIOWrapper(answers)


def send_answer(message: object) -> None:
    """Send a message from a child process to its parent; end the process if the parent is gone."""
    try:
        _send(sys.stdout.buffer, message)
    except BrokenPipeError:
        os._exit(1)


def _send(pipe: IO[bytes], message: object) -> None:
    """Write the message to the pipe."""
    pickle.dump(message, pipe, protocol=5)
    pipe.flush()


def _read_messages(pipe: IO[bytes]) -> Iterator[Any]:
    # The last message of a child that was killed may be cut short.
    """Yield the messages from the pipe until it is closed, without one that was cut short."""
    with suppress(EOFError, pickle.UnpicklingError):
        while True:
            yield pickle.load(pipe)  # noqa: S301 - from our own child or parent


def _end_with_parent(parent: int) -> None:
    """End this process with exit code 1 within a second of its parent, the process of this number."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
