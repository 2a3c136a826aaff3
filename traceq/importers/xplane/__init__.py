"""XSpace protobufs (`*.xplane.pb`), which the profilers of JAX and TensorFlow write, of GPUs.

A space has planes: one per GPU, whose lines are its streams, and one for the host, whose lines are threads. `wire.py` reads the
protobuf's encoding, `space.py` the messages in it, `reading.py` makes rows of them: kernels, copies and fills become gpu_slice,
what threads did cpu_slice. Lines that XProf derives from others (XLA Ops) are not read twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from traceq.importers.xplane.source import sniff

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["NAME", "read", "sniff"]

NAME = "xplane"


def read(
    path: Path, progress: Callable[[int], None] = lambda _bytes: None, jobs: int = 1
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield (table, batch) for an XSpace; see traceq.importers for the contract. It is read by one process."""
    from traceq.importers.xplane.reading import read as read_space

    del jobs
    return read_space(path, progress)
