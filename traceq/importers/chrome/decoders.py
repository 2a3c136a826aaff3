"""Decoding blocks in child processes, each held by a thread that feeds it: Python decodes one block at a time per process."""

from __future__ import annotations

import gc
import os
import pickle
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import IO

from traceq.common.process import block_pandas_import, child_command
from traceq.errors import UnusableTrace
from traceq.importers.chrome.block import Rows, decode
from traceq.importers.chrome.cut import Piece

# Below this size on disk starting processes takes longer than decoding. Compressed files are ten times larger inside.
_LARGE = 24 << 20

_LENGTH = struct.Struct("<Q")

# A child needs the same memory for each block. Giving it back to the system in between costs a fifth of its time.
_KEEP_MEMORY = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_MMAP_THRESHOLD_": str(64 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(256 << 20),
}


class Decoders:
    """Decodes blocks, here or in child processes.

    `submit` returns a function that waits for the rows; `ahead` is how many blocks to submit before waiting.
    """

    def __init__(self, jobs: int, size: int) -> None:
        self._children: list[subprocess.Popen[bytes]] = []
        self._threads: ThreadPoolExecutor | None = None
        self._local = threading.local()
        self._lock = threading.Lock()
        if jobs > 1 and size >= _LARGE:
            self._threads = ThreadPoolExecutor(jobs)
        self.ahead = 2 * jobs if self._threads else 0

    def submit(self, piece: Piece) -> Callable[[], Rows | None]:
        """Start decoding a block; the function returned waits for its rows."""
        if self._threads is None:
            return lambda: decode(piece.read())
        return self._threads.submit(self._decode_in_child, piece).result

    def close(self) -> None:
        """End the child processes."""
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
        for child in self._children:
            if child.stdin is not None:
                child.stdin.close()
            if child.stdout is not None:
                child.stdout.close()
            child.wait()

    def _decode_in_child(self, piece: Piece) -> Rows | None:
        child = self._child()
        assert child.stdin is not None  # noqa: S101
        assert child.stdout is not None  # noqa: S101
        try:
            send(child.stdin, pickle.dumps(piece, protocol=5))
            answer = receive(child.stdout)
        except OSError:
            answer = None
        if answer is None:
            raise UnusableTrace("a process that decodes the trace ended early; out of memory? try again with --jobs 1")
        rows: Rows | None = pickle.loads(answer)  # noqa: S301 - from our own child
        return rows

    def _child(self) -> subprocess.Popen[bytes]:
        """The child of the calling thread, started when first needed."""
        child: subprocess.Popen[bytes] | None = getattr(self._local, "child", None)
        if child is None:
            child = subprocess.Popen(
                child_command(__name__),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, **_KEEP_MEMORY},
            )
            self._local.child = child
            with self._lock:
                self._children.append(child)
        return child


def send(pipe: IO[bytes], message: bytes) -> None:
    """Write a message with its length before it."""
    pipe.write(_LENGTH.pack(len(message)))
    pipe.write(message)
    pipe.flush()


def receive(pipe: IO[bytes]) -> bytes | None:
    """Read a message, None at the end of the pipe."""
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    message = pipe.read(length)
    return message if len(message) == length else None


def main() -> None:
    """Decode blocks from stdin to stdout until stdin ends."""
    # Rows are garbage as soon as they are sent, and hold no cycles: looking for some took a fifth of the time.
    gc.disable()
    block_pandas_import()
    while (message := receive(sys.stdin.buffer)) is not None:
        piece: Piece = pickle.loads(message)  # noqa: S301 - from our own parent
        send(sys.stdout.buffer, pickle.dumps(decode(piece.read()), protocol=5))
