"""PyTorch's structured log of torch.compile (TORCH_TRACE), the input of tlparse: what was compiled, and why again.

It says what no trace does: which line broke a graph, which guard failed, what a cache missed. docs/compile.md lists the records.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from traceq.errors import UnusableTrace
from traceq.importers.compile_log.envelope import HEAD_BYTES, begins_like_log

if TYPE_CHECKING:
    from traceq.importers.compile_log.records import CompileLog

__all__ = ["find_compile_logs", "is_compile_log", "read_compile_log"]


def is_compile_log(path: Path) -> bool:
    """Return whether the content of the file is a structured log of torch.compile; False where it cannot be read."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return begins_like_log(file.read(HEAD_BYTES))
    except OSError:
        return False


def find_compile_logs(folder: Path) -> Iterator[Path]:
    """Yield the structured logs in a folder, sorted by name: each process of a job writes its own; other files are skipped."""
    return (path for path in sorted(folder.rglob("*")) if is_compile_log(path))


def read_compile_log(path: Path) -> CompileLog:
    """Return what the log of one process says.

    Lines that are damaged, cut or foreign are counted, and what stands around them is read. Raises UnusableTrace where the
    file cannot be read, or holds no record.
    """
    from traceq.importers.compile_log.reading import read_log

    try:
        log = read_log(path)
    except OSError as error:
        raise UnusableTrace(f"{path}: cannot be read: {error.strerror}") from error
    if not log.records:
        raise UnusableTrace(f"{path}: holds no record of torch.compile; was it cut, or filtered?")
    return log
