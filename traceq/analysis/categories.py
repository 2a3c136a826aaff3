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
    Category("compute", "compute", "kernels", ("#1da776", "#7beda4"), "█", 28),
    Category("communication", "communication", "exposed communication", ("#1061f3", "#51a1fa"), "▓", 32),
    Category("copy_h2d", "copies to GPU", "copies to the GPU", ("#b4871a", "#ebc441"), "▒", 136),
    Category("copy_d2h", "copies from GPU", "copies from the GPU", ("#945d04", "#a86a25"), "▚", 166),
    Category("copy_other", "other copies", "other copies", ("#5a4822", "#ab9c28"), "▞", 130),
    Category("memset", "memsets", "memsets", ("#25697c", "#4a87a0"), "▂", 133),
)
_IDLE = (
    Category("idle_data", "idle: data loading", "data loading", ("#a60c00", "#f2444a")),
    Category("idle_sync", "idle: synchronization", "synchronization of the host", ("#3f128c", "#8633f4")),
    Category("idle_allocation", "idle: allocation", "allocation of memory", ("#b0593c", "#b0460a")),
    Category("idle_compile", "idle: compilation", "compilation", ("#632e91", "#935ee2")),
    Category("idle_launch", "idle: launching", "launching on the host", ("#fa4bbd", "#fb56bf")),
    Category("idle_python", "idle: Python", "Python on the host", ("#903ba8", "#a341ab")),
    Category("idle_cpu", "idle: host code", "the program's own code on the host", ("#6f0802", "#e79072")),
    Category("idle_os", "idle: system calls", "system calls", ("#804d37", "#825e4e")),
    Category("idle_checkpoint", "idle: checkpoint", "checkpoints", ("#70106c", "#d9b1ea")),
    Category("idle_communication", "idle: host communication", "communication on the host", ("#3931cd", "#675cc2")),
    Category("idle_dependency", "idle: other streams", "waits of streams for one another", ("#8d769f", "#a689b5")),
    Category("idle_launch_latency", "idle: launch latency", "launch latency", ("#541b4f", "#fedffa")),
    Category("idle_earlier_work", "earlier work", "work launched before the capture", ("#646255", "#7d7f52")),
    Category("idle_profiler", "idle: profiler", "the profiler itself", ("#8c91b9", "#d7cff6")),
    Category("idle_unattributed", "idle: unknown cause", "idle time without a known cause", ("#6c737f", "#84888c")),
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


def is_idle(category: str) -> bool:
    """Return whether a GPU does nothing in a category of the ledger.

    In `idle_earlier_work` it does what was launched before the capture, which is in no file.
    """
    return category in IDLE and category != "idle_earlier_work"


def in_words(category: str) -> str:
    """Return the words for a category inside a sentence; a category without words is returned unchanged."""
    if category.startswith(OF_HOST):
        return HOST_LABELS.get(category.removeprefix(OF_HOST), category)
    return BY_NAME[category].words if category in BY_NAME else _OTHERS.get(category, category)


def label(category: str) -> str:
    """Return the label of a ledger category, as it stands beside a bar; without one its name with spaces for underscores."""
    if category.startswith(OF_HOST):
        return HOST_LABELS.get(category.removeprefix(OF_HOST), category)
    return BY_NAME[category].label if category in BY_NAME else category.replace("_", " ")


def on_path(category: str) -> str:
    """Return the words for a category as the cause of a segment of the critical path; without words, its name unchanged."""
    return _ON_PATH.get(category) or in_words(category)
