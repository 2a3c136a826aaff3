"""Decoding blocks in child processes, each held by a thread that feeds it: Python decodes one block at a time per process."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from traceq.common.child import Child, answer, requests
from traceq.errors import UnusableTrace
from traceq.importers.chrome.block import Rows, decode
from traceq.importers.chrome.cut import Piece

# Below this size on disk starting processes takes longer than decoding. Compressed files are ten times larger inside.
_LARGE = 24 << 20

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
        self._children: list[Child] = []
        self._local = threading.local()
        self._threads = ThreadPoolExecutor(jobs) if jobs > 1 and size >= _LARGE else None
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
            child.close()

    def _child(self) -> Child:
        """The child of the calling thread, started when first needed."""
        if not hasattr(self._local, "child"):
            self._local.child = Child(__name__, **_KEEP_MEMORY)
            self._children.append(self._local.child)
        child: Child = self._local.child
        return child

    def _decode_in_child(self, piece: Piece) -> Rows | None:
        child = self._child()
        try:
            child.send(piece)
            rows: Rows | None = next(child.answers)
        except (OSError, StopIteration) as error:
            raise UnusableTrace(
                "a process that decodes the trace ended early; out of memory? try again with --jobs 1"
            ) from error
        return rows


def main() -> None:
    """Decode blocks from stdin to stdout until stdin ends."""
    # Rows are garbage as soon as they are sent, and hold no cycles: looking for some took a fifth of the time.
    gc.disable()
    for piece in requests():
        answer(decode(piece.read()))
