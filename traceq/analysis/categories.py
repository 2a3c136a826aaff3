"""The categories of the ledger: what each is called and what it looks like, wherever a report shows it.

To add one: its line here, in the order in which time is given to categories, its query in analysis/ledger/, and a test.
"""

from __future__ import annotations

from typing import NamedTuple


class Category(NamedTuple):
    """A category of the time ledger: its name, its `label` beside a bar, and its `words` inside a sentence.

    `colours` are the colour on a light page and on a dark page (see reports/charts/palette.py). For categories in which
    the GPU works, `symbol` draws them in a bar of characters, and `terminal` is their colour among a terminal's 256.
    """

    name: str
    label: str
    words: str
    colours: tuple[str, str]
    symbol: str = ""
    terminal: int = 0


_BUSY = (
    Category("compute", "compute", "kernels", ("#36a574", "#63d6a5"), "█", 28),
    Category("communication", "communication", "exposed communication", ("#2a78d6", "#4d8ff0"), "▓", 32),
    Category("copy_h2d", "copies to GPU", "copies to the GPU", ("#b88b14", "#fad133"), "▒", 136),
    Category("copy_d2h", "copies from GPU", "copies from the GPU", ("#9e4904", "#e67c02"), "▚", 166),
    Category("copy_other", "other copies", "other copies", ("#af6c00", "#eab356"), "▞", 130),
    Category("memset", "memsets", "memsets", ("#2b86a3", "#3590ae"), "▂", 133),
)
_IDLE = (
    Category("idle_data", "idle: data loading", "data loading", ("#9d020f", "#e7473f")),
    Category("idle_sync", "idle: synchronization", "synchronization of the host", ("#5b03a6", "#cda5fd")),
    Category("idle_allocation", "idle: allocation", "allocation of memory", ("#6c0405", "#c73226")),
    Category("idle_compile", "idle: compilation", "compilation", ("#6b4cac", "#d6befb")),
    Category("idle_launch", "idle: launching", "launching on the host", ("#a92a6b", "#c31d54")),
    Category("idle_python", "idle: Python", "Python on the host", ("#5e0369", "#9f3ab1")),
    Category("idle_cpu", "idle: host code", "the program's own code on the host", ("#2b2dbf", "#e06a3c")),
    Category("idle_os", "idle: system calls", "system calls", ("#8a524d", "#edd8d9")),
    Category("idle_checkpoint", "idle: checkpoint", "checkpoints", ("#58144b", "#ac3793")),
    Category("idle_communication", "idle: host communication", "communication on the host", ("#6b86f8", "#4c63d7")),
    Category("idle_dependency", "idle: other streams", "waits of streams for one another", ("#5f4086", "#b6a1d5")),
    Category("idle_launch_latency", "idle: launch latency", "launch latency", ("#803136", "#a77f7f")),
    Category("idle_earlier_work", "idle: earlier work", "work launched before the capture", ("#74745c", "#8c5c74")),
    Category("idle_profiler", "idle: profiler", "the profiler itself", ("#908faf", "#ddd8fb")),
    Category("idle_unattributed", "idle: unknown cause", "idle time without a known cause", ("#70787e", "#a3a5a7")),
)

BUSY = tuple(category.name for category in _BUSY)
IDLE = tuple(category.name for category in _IDLE)
CATEGORIES = (*BUSY, *IDLE)
BY_NAME = {category.name: category for category in (*_BUSY, *_IDLE)}

# Categories of the training thread's own time (table host_ledger), as they stand beside a bar.
HOST_LABELS = {
    "allocation": "allocation",
    "annotation": "annotated ranges",
    "checkpoint": "checkpoints",
    "communication": "communication",
    "compile": "compilation",
    "data": "data loading",
    "launch": "launches",
    "none": "nothing recorded",
    "operator": "operators",
    "os": "system calls",
    "profiler": "profiler",
    "python": "Python",
    "synchronization": "synchronization",
}

# In front of such a category where it stands beside those of a GPU, some of which are called alike.
OF_HOST = "host_"

# Who is at work on the critical path, or that nobody is.
PATH_KINDS = {"host": "host", "gpu": "GPU", "transfer": "transfer", "wait": "wait"}
# There communication need not be exposed, nor a GPU idle.
_ON_PATH = {"communication": "communication", "idle_unattributed": "nothing recorded"}

# In the parts of a change only: what two ledgers leave.
_OTHERS = {"unattributed": "time that the ledger does not explain"}


def in_words(category: str) -> str:
    """Return the words for a category inside a sentence; a category without words is returned unchanged."""
    if category.startswith(OF_HOST):
        return HOST_LABELS.get(category.removeprefix(OF_HOST), category)
    return BY_NAME[category].words if category in BY_NAME else _OTHERS.get(category, category)


def label(category: str) -> str:
    """Return the label of a ledger category, as it stands beside a bar; without one its name with spaces for underscores."""
    return BY_NAME[category].label if category in BY_NAME else category.replace("_", " ")


def on_path(category: str) -> str:
    """Return the words for a category as the cause of a segment of the critical path; without words, its name unchanged."""
    return _ON_PATH.get(category) or in_words(category)
