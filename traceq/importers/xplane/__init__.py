"""XSpace protobufs (`*.xplane.pb`), which the profilers of JAX and TensorFlow write, of GPUs.

A space has planes: one per GPU, whose lines are its streams, and one for the host, whose lines are threads. `wire.py` reads the
protobuf's encoding, `space.py` the messages in it, `reading.py` makes rows of them: kernels, copies and fills become gpu_slice,
what threads did cpu_slice. Lines that XProf derives from others (XLA Ops) are not read twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from traceq.importers.packed import read_head
from traceq.importers.xplane.wire import DamagedMessage, read_fields, read_text

if TYPE_CHECKING:
    import pyarrow as pa

NAME = "xplane"

_SNIFF_BYTES = 4096
_PLANE, _PLANE_NAME = 1, 2

_PLANE_NAMES = re.compile(r"/(host|device):[\w:. #/-]+|Task Environment")


def sniff(path: Path) -> bool:
    """Return whether the file is an XSpace, plain or gzip'd, judged by the name of its first plane."""
    head = read_head(path, _SNIFF_BYTES)
    return _PLANE_NAMES.fullmatch(_first_name(head)) is not None


def _first_name(head: bytes) -> str:
    """Return the name of the first plane of the XSpace that begins with `head`; "" if there is none."""
    try:
        number, _, plane = next(read_fields(head, (0, len(head)), is_cut=True))
        if number == _PLANE:
            for inner, _, part in read_fields(head, plane, is_cut=True):
                if inner == _PLANE_NAME:
                    return read_text(head, part)
    except (DamagedMessage, StopIteration):
        pass
    return ""


def read(
    path: Path, progress: Callable[[int], None] = lambda _bytes: None, jobs: int = 1
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield (table, batch of rows) for an XSpace; see traceq.importers for the contract.

    `progress` is called with the bytes read so far; `jobs` is ignored, because one process reads the whole file.
    """
    from traceq.importers.xplane.reading import read as read_space

    del jobs
    return read_space(path, progress)
