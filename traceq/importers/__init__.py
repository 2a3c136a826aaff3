"""One package per trace format. An importer knows its format and the tables' columns; it knows no database.

To add a format: its record in traceq.formats, a package here with NAME, sniff and read, its name in IMPORTERS, a fixture
and a test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from traceq.common.plugins import load_plugins
from traceq.errors import UnusablePlugin
from traceq.importers import chrome, memory_snapshot, nsys, operations, rocm, xplane
from traceq.importers.unknown import explain_unknown

if TYPE_CHECKING:
    import pyarrow as pa


class Importer(Protocol):
    """Interface of the packages of this folder, and of entry points of the group traceq.importers.

    A plug-in importer may also have FORMAT, its record for traceq.formats, and trace_files(path): all files of the
    trace that `path` belongs to, with the file for `read` first.
    """

    NAME: str

    def sniff(self, path: Path) -> bool:
        """Return whether the content of the file (never its name) is this format's; cheap, raises nothing but OSError."""

    def read(
        self, path: Path, progress: Callable[[int], None] = ..., jobs: int = ...
    ) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield (table, batch) for the whole file; `progress` gets the number of bytes consumed so far.

        A batch has any of its table's columns but trace_id and those the store computes; times in ns. `jobs` is the
        number of processes it may use. Raises a TraceqError when nothing can be read.
        """


# Chrome traces last of those in JSON: their list of events may stand far behind the beginning.
IMPORTERS: tuple[Importer, ...] = (nsys, rocm, xplane, chrome, operations, memory_snapshot)


@cache
def all_importers() -> tuple[Importer, ...]:
    """Traceq's own importers, then those of other packages. Raises UnusablePlugin for one that cannot be used."""
    found = [*IMPORTERS]
    for load_plugin in load_plugins("traceq.importers"):
        if any(load_plugin.NAME == taken.NAME for taken in found):
            raise UnusablePlugin(
                f"importer {load_plugin.NAME}: there is one of this name already; remove the other package"
            )
        found.append(load_plugin)
    return tuple(found)


def sniff(path: Path) -> Importer | None:
    """Return the importer that recognises the file, or None; a file that cannot be opened is recognised by none."""
    try:
        own = next((importer for importer in IMPORTERS if importer.sniff(path)), None)
        return own or next((importer for importer in all_importers() if importer.sniff(path)), None)
    except OSError:
        return None


def importer_named(name: str) -> Importer:
    """Return the importer called `name`; raises StopIteration when there is none."""
    return next(importer for importer in all_importers() if name == importer.NAME)


def files_of(importer: Importer, path: Path) -> tuple[Path, ...]:
    """Return all files of the trace that `path` belongs to; the file to read comes first."""
    return tuple(importer.trace_files(path)) if hasattr(importer, "trace_files") else (path,)


def find(path: Path) -> Importer:
    """Return the importer that recognises the file; raises UnknownFormat or UnusableTrace with the reason when none does."""
    importer = sniff(path)
    if importer is None:
        raise explain_unknown(path)
    return importer
