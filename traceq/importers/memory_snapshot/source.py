"""Which files are memory snapshots of PyTorch, and their bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from traceq.importers.packed import DAMAGED, GZIP, GzipStream, Readable

# A pickle (protocol 2 or later), perhaps a frame, then a dict or a list of dicts whose first keys are those of a snapshot.
_BEGIN = re.compile(rb"\x80[\x02-\x05](?:\x95.{8})?[\x5d\x7d]", re.DOTALL)
_KEYS = (b"segments", b"device_traces", b"total_size")
_HEAD = 1024


def sniff(path: Path) -> bool:
    """Whether the file begins like a pickled snapshot, gzip'd or not; raises nothing but OSError."""
    try:
        with opened(path) as file:
            head = file.read(_HEAD)
    except DAMAGED:
        return False
    return _BEGIN.match(head) is not None and any(key in head for key in _KEYS)


@contextmanager
def opened(path: Path) -> Iterator[Readable]:
    """The file, unpacked where it is gzip'd."""
    with path.open("rb") as file:
        is_packed = file.read(len(GZIP)) == GZIP
        file.seek(0)
        yield GzipStream(file) if is_packed else file
