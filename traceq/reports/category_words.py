"""Categories of the ledger in words, for sentences."""

from __future__ import annotations

_WORDS = {
    "compute": "kernels",
    "communication": "exposed communication",
    "copy_h2d": "copies to the GPU",
    "copy_d2h": "copies from the GPU",
    "copy_other": "other copies",
    "memset": "memsets",
    "idle_data": "data loading",
    "idle_sync": "synchronization of the host",
    "idle_launch": "launching on the host",
    "idle_python": "Python on the host",
    "idle_os": "calls of the operating system",
    "idle_allocation": "allocation of memory",
    "idle_compile": "compilation",
    "idle_checkpoint": "checkpoints",
    "idle_communication": "communication on the host",
    "idle_dependency": "waits of streams for one another",
    "idle_launch_latency": "launch latency",
    "idle_profiler": "the profiler itself",
    "idle_unattributed": "idle time without a known cause",
    "unattributed": "time that no ledger explains",
}


def in_words(category: str) -> str:
    """What the category is, as it stands in a sentence; what has no words keeps its name."""
    return _WORDS.get(category, category)
