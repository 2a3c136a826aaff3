"""Processes that a program forks after the PyTorch profiler was on."""

from __future__ import annotations

import ctypes


def end_without_destructors() -> None:
    """Let this process, a forked child, end with its exit code and without the destructors of C++.

    Those of PyTorch's profiler (2.13) wait for a thread that only the parent has: the child would hang or abort at its
    end. What Python does at exit is done before, as ever.
    """
    libc = ctypes.CDLL(None)
    # GNU's: the function is called first, and with the exit code.
    if hasattr(libc, "on_exit"):
        libc.on_exit(libc["_exit"], None)
