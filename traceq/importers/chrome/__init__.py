"""Chrome traces: PyTorch profiler (Kineto) files of every era, and the generic format of many other tools.

How the format maps: `X` events of GPU categories become gpu_slice rows, other `X`, `B`/`E` and `i` events cpu_slice rows,
`C` events and memory instants counter rows; `M` events name threads. Flow events are redundant with correlation and external
ids and are only counted. The file is streamed in blocks of a few MiB, decoded by several processes when it is large; memory
does not grow with it.
"""

from __future__ import annotations

from traceq.importers.chrome.reading import read
from traceq.importers.chrome.source import sniff

NAME = "chrome"

__all__ = ["NAME", "read", "sniff"]
