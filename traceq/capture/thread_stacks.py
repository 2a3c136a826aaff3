"""Read the Python stacks of this process's threads, from one of them."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, FrameType

# Deeper stacks keep their innermost frames.
_DEEPEST = 96

# Before Python 3.12 a collection may begin wherever memory is taken, also for a frame that f_back returns. A destructor
# that it runs may release the interpreter's lock, the thread that is read goes on, and its frame is gone: a crash.
_COLLECTS_ANYWHERE = sys.version_info < (3, 12)

# Code of functions from the innermost on, by native thread id.
Stacks = list[tuple[int, tuple[CodeType, ...]]]


def read_stacks(leave_out: int, most: int) -> Stacks:
    """Return the Python stacks of at most `most` threads, the oldest first, without the one whose ident is `leave_out`."""
    with prevent_collection():
        frames = sys._current_frames()  # noqa: SLF001 - documented, and the only way
        return [
            (thread.native_id, _list_codes(frames[thread.ident]))
            for thread in threading.enumerate()[: most + 1]
            if thread.ident in frames and thread.ident != leave_out and thread.native_id is not None
        ][:most]


@contextmanager
def prevent_collection() -> Iterator[None]:
    """Collect no garbage during the block, in which frames of running threads are read; nothing to do since Python 3.12."""
    if not _COLLECTS_ANYWHERE or not gc.isenabled():
        yield
        return
    gc.disable()
    _prevented.set()
    try:
        yield
    finally:
        _prevented.clear()
        gc.enable()


# Set while a thread keeps garbage from being collected; a process that is forked meanwhile has no such thread.
_prevented = threading.Event()


def _collect_in_child() -> None:
    if _prevented.is_set():
        _prevented.clear()
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_collect_in_child)


def _list_codes(innermost: FrameType) -> tuple[CodeType, ...]:
    codes: list[CodeType] = []
    frame: FrameType | None = innermost
    while frame is not None and len(codes) < _DEEPEST:
        codes.append(frame.f_code)
        frame = frame.f_back
    return tuple(codes)


def name_function(code: CodeType, folders: Sequence[str]) -> str:
    """Return FILE(LINE): NAME, as PyTorch's profiler writes it: the file below the one of `folders` that holds it."""
    within = max((len(folder) + 1 for folder in folders if code.co_filename.startswith(f"{folder}{os.sep}")), default=0)
    return f"{code.co_filename[within:]}({code.co_firstlineno}): {code.co_name}"
