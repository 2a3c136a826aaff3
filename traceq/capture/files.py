"""The files of a capture: one per rank, named after it, there in full or not at all."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from traceq.common.files import name_part, replace_file

SUFFIX = ".pt.trace.json"

# Kineto ends a file with the path it was told to write to; it is within the last bytes.
_TRACE_NAME = re.compile(rb'"traceName": "[^\n]*"')
_TAIL = 1 << 14


def rank() -> int:
    """Return this process's rank: from torch.distributed if it is initialized, else from the variable RANK, else 0."""
    if is_distributed():
        return int(sys.modules["torch"].distributed.get_rank())
    return _read_number("RANK") or 0


def is_distributed() -> bool:
    """Return whether torch.distributed is initialized; PyTorch's profiler then writes rank and world size itself."""
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    return distributed is not None and bool(distributed.is_available() and distributed.is_initialized())


def read_launcher_ranks() -> dict[str, int]:
    """Return `rank` and `world_size` from a launcher's variables RANK and WORLD_SIZE; one that is no number is left out."""
    found = {"rank": _read_number("RANK"), "world_size": _read_number("WORLD_SIZE")}
    return {key: number for key, number in found.items() if number is not None}


def _read_number(variable: str) -> int | None:
    text = os.environ.get(variable, "")
    return int(text) if text.isascii() and text.isdigit() else None


# What this process has written: to run a program again replaces its traces, to profile twice in a run does not.
_written: set[Path] = set()


def unwritten_name(directory: Path, name: str) -> str:
    """Return the first of NAME, NAME-2, NAME-3, ... under which this process has written no trace to the directory."""
    return next(free for free in number_names(name) if _trace_path(directory, free) not in _written)


def number_names(name: str) -> Iterator[str]:
    """Yield `name`, then NAME-2, NAME-3 and so on without end."""
    return itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))


def _trace_path(directory: Path, name: str) -> Path:
    return directory / f"{name}.rank{rank()}{SUFFIX}.gz"


def save(export: Callable[[str], None], directory: Path, name: str) -> Path:
    """Write this rank's trace by `export`, compress it, and return its path DIRECTORY/NAME.rankN.pt.trace.json.gz.

    `export` gets a path to write to, in a folder that only this user can read. The trace appears under its name only
    when it is complete, and replaces an older one. Raises OSError where it cannot be written.
    """
    path = _trace_path(directory, name)
    directory.mkdir(parents=True, exist_ok=True)
    # Not in TMPDIR: a trace may be larger than what is left there.
    # Training waits meanwhile: a tenth of the time of zlib, for files some percent larger. A program recorded in an
    # environment of its own may not have it.
    packer: Any = gzip
    with contextlib.suppress(ImportError):
        from isal import igzip as packer
    room = name_part(path)
    raw = room / path.stem
    try:
        room.mkdir(mode=0o700)
        export(str(raw))
        _hide_path(raw, path.name)
        with raw.open("rb") as plain, replace_file(path) as file, packer.open(file, "wb", compresslevel=1) as packed:
            shutil.copyfileobj(plain, packed, 1 << 20)
        _written.add(path)
    finally:
        shutil.rmtree(room, ignore_errors=True)
    return path


def _hide_path(trace: Path, name: str) -> None:
    """Replace the path that the file `trace` states of itself at its end, which names directories, by `name`."""
    with trace.open("r+b") as file:
        file.seek(max(0, trace.stat().st_size - _TAIL))
        start = file.tell()
        named = b'"traceName": ' + json.dumps(name).encode()
        tail = _TRACE_NAME.sub(lambda _: named, file.read())
        file.seek(start)
        file.write(tail)
        file.truncate()
