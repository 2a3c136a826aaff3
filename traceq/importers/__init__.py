"""One package per trace format. An importer knows its format and the tables' columns; it knows no database.

To add a format: a package here with NAME, sniff and read, its name in IMPORTERS, a fixture and a test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from traceq.importers import chrome, nsys
from traceq.importers.unknown import why_unknown


class Importer(Protocol):
    """What a package of this folder offers."""

    NAME: str

    def sniff(self, path: Path) -> bool:
        """Whether the content of the file (never its name) is this format's; cheap, raises nothing but OSError."""

    def read(
        self, path: Path, progress: Callable[[int], None] = ..., jobs: int = ...
    ) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield (table, batch) for the whole file; `progress` is told how many bytes of it were consumed so far.

        A batch has any of its table's columns but trace_id and those the store computes; times in ns. `jobs` is the
        number of processes it may use. Raises a TraceqError when nothing can be read.
        """


IMPORTERS: tuple[Importer, ...] = (nsys, chrome)


def sniff(path: Path) -> Importer | None:
    """The importer that recognises the file, or None; a file that cannot be opened is recognised by none."""
    try:
        return next((importer for importer in IMPORTERS if importer.sniff(path)), None)
    except OSError:
        return None


def named(name: str) -> Importer:
    """The importer called `name`; raises StopIteration when there is none."""
    return next(importer for importer in IMPORTERS if name == importer.NAME)


def find(path: Path) -> Importer:
    """The importer that recognises the file; raises UnknownFormat or UnusableTrace with the reason when none does."""
    importer = sniff(path)
    if importer is None:
        raise why_unknown(path)
    return importer
