"""PyTorch's history of the GPU's memory over the recorded steps, as a snapshot beside the trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from traceq.common.files import name_part
from traceq.formats.made_with import path_beside

SUFFIX = ".memory.pickle"

# Allocations and frees that are kept: those of some hundred steps, in some hundred MB of the host's memory.
_MOST_EVENTS = 1_000_000


class MemoryHistory:
    """The history that PyTorch keeps for this recording, unless the program keeps its own; `torch` is the module."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._is_kept = False

    def begin_history(self) -> str | None:
        """Have PyTorch note each allocation and its Python stack from now on; return why not where that is impossible."""
        cuda = self._torch.cuda
        if not (cuda.is_available() and cuda.is_initialized()):
            return "no memory history: the program uses no GPU through torch.cuda"
        is_enabled = getattr(self._torch._C, "_cuda_isHistoryEnabled", bool)  # noqa: SLF001 - of newer versions
        if is_enabled():
            return "no memory history: the program records its own, which is left alone"
        cuda.memory._record_memory_history(max_entries=_MOST_EVENTS, stacks="python")  # noqa: SLF001 - documented so
        self._is_kept = True
        return None

    def end_history(self, trace: Path | None) -> None:
        """Write the history beside the trace, or without one only forget it; nothing where none was begun."""
        if not self._is_kept:
            return
        self._is_kept = False
        memory = self._torch.cuda.memory
        try:
            if trace is not None:
                _dump_snapshot(memory, path_beside(trace, SUFFIX))
        finally:
            memory._record_memory_history(enabled=None)  # noqa: SLF001 - as above


def _dump_snapshot(memory: Any, path: Path) -> None:
    part = name_part(path)
    try:
        memory._dump_snapshot(str(part))  # noqa: SLF001 - as above
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def find_snapshot(trace: Path) -> Path | None:
    """Return the snapshot that was written beside the trace; None without one."""
    path = path_beside(trace, SUFFIX)
    return path if path.is_file() else None
