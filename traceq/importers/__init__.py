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
        """Return whether the content of the file, never its name, is of this format. Cheap; raises only OSError."""

    def read(
        self, path: Path, progress: Callable[[int], None] = ..., jobs: int = ...
    ) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield (name of a table, batch of its rows) until the whole file is read.

        `progress` gets the number of the file's bytes consumed so far; `jobs` is the number of processes or threads it
        may use. A batch may lack columns (they are NULL), trace_id and those that the store computes. Times are in ns.
        Raises a TraceqError when nothing can be read.
        """


# Chrome traces last of those in JSON: their list of events may stand far behind the beginning.
IMPORTERS: tuple[Importer, ...] = (nsys, rocm, xplane, chrome, operations, memory_snapshot)


@cache
def all_importers() -> tuple[Importer, ...]:
    """Return traceq's own importers, then those of plug-in packages.

    Raises UnusablePlugin for a plug-in that cannot be used or that has the name of another importer.
    """
    found = [*IMPORTERS]
    for load_plugin in load_plugins("traceq.importers"):
        if any(load_plugin.NAME == taken.NAME for taken in found):
            raise UnusablePlugin(f"importer {load_plugin.NAME}: another importer has this name; remove its package")
        found.append(load_plugin)
    return tuple(found)


def sniff(path: Path) -> Importer | None:
    """Return the first importer that recognises the file by its content, traceq's own first.

    None where there is no such importer or the file cannot be opened. Raises UnusablePlugin.
    """
    try:
        own = next((importer for importer in IMPORTERS if importer.sniff(path)), None)
        return own or next((importer for importer in all_importers() if importer.sniff(path)), None)
    except OSError:
        return None


def importer_named(name: str) -> Importer:
    """Return the importer called `name`; raises StopIteration when there is none."""
    return next(importer for importer in all_importers() if name == importer.NAME)


def files_of(importer: Importer, path: Path) -> tuple[Path, ...]:
    """Return the paths of all files of the trace that `path` belongs to, `path` alone for formats of one file.

    The file to pass to the importer's `read` comes first.
    """
    return tuple(importer.trace_files(path)) if hasattr(importer, "trace_files") else (path,)


def find(path: Path) -> Importer:
    """Return the importer that recognises the file by its content.

    Raises UnknownFormat or UnusableTrace, with the reason in words for the user, when there is none.
    """
    importer = sniff(path)
    if importer is None:
        raise explain_unknown(path)
    return importer
