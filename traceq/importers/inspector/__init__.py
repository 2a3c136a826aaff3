"""Records of collectives that libraries keep on their own while a program runs: no trace, and no profiler.

NCCL's and RCCL's Inspector plugins write one JSON record per operation and rank, or text for Prometheus; NCCL's example of
a profiler plugin writes events. One module a format, with TOOL, has_records and read_rows (docs/collectives.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from traceq.errors import UnknownFormat, UnusableTrace
from traceq.importers.inspector import json_records, plugin_events, prometheus_samples
from traceq.importers.inspector.reading import HEAD_BYTES, open_packed

if TYPE_CHECKING:
    import pyarrow as pa

    from traceq.importers.rows import Notes


class RecordReader(Protocol):
    """Interface of the modules of this folder, each of which reads one format; TOOL names what writes it."""

    TOOL: str

    def has_records(self, head: str) -> bool:
        """Return whether a file that begins with the text `head` is of this format."""

    def read_rows(self, path: Path, file: int, notes: Notes) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield (staged table, batch of its rows) of the file, which has the number `file`; oddities go to `notes`.

        Raises OSError where the file cannot be read, UnusableTrace where nothing in it can be used.
        """


READERS: tuple[RecordReader, ...] = (json_records, plugin_events, prometheus_samples)


def find_reader(path: Path) -> RecordReader | None:
    """Return the reader of the format that the file's content is of; None for any other. Raises OSError."""
    with open_packed(path) as stream:
        head = stream.read(HEAD_BYTES).decode("utf-8", "replace")
    return next((reader for reader in READERS if reader.has_records(head)), None)


def is_record_file(path: Path) -> bool:
    """Return whether the file holds records of collectives; False where it cannot be read."""
    try:
        return path.is_file() and find_reader(path) is not None
    except (OSError, EOFError):
        return False


def is_only_records(path: Path) -> bool:
    """Return whether the file holds records of collectives and, if it is the scrape of an exporter, no other metrics."""
    if not is_record_file(path):
        return False
    with open_packed(path) as stream:
        head = stream.read(HEAD_BYTES).decode("utf-8", "replace")
    return not (prometheus_samples.has_records(head) and prometheus_samples.has_other_metrics(head))


def read_records(path: Path, file: int, notes: Notes) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield (staged table, batch of its rows) of a file of records, by the reader of its format; oddities go to `notes`.

    Tables are inspected_record and inspected_sample; `file` numbers the file in them. Raises UnknownFormat for another
    format, UnusableTrace for a file that cannot be read or holds no record.
    """
    rows = 0
    try:
        reader = find_reader(path)
        if reader is None:
            raise UnknownFormat(
                f"{path}: no records of collectives: traceq collectives reads what the Inspector plugins of NCCL and RCCL write"
                " (JSON or Prometheus text), and events of NCCL's example of a profiler plugin"
            )
        for table, batch in reader.read_rows(path, file, notes):
            rows += batch.num_rows
            yield table, batch
    except (OSError, EOFError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise UnusableTrace(f"{path}: cannot be read: {reason or error}") from error
    if not rows:
        raise UnusableTrace(
            f"{path}: {reader.TOOL} wrote no operation into it that can be used; it leaves out messages below 8 KiB"
            " (NCCL_INSPECTOR_DUMP_MIN_SIZE_BYTES) and, without an interval, writes at the end of the program"
        )
