"""The colours of pictures: what is drawn of a kind is the same colour everywhere, on a light page and on a dark one.

Work is green or blue, copies are yellow, orange or brown, idle time is red, purple or grey. Every colour has a contrast of
at least 3:1 with its page, and neighbours in a stack can be told apart by those who see no red or no green, too.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from traceq.analysis import categories

# On light, on dark.
Colour = tuple[str, str]


class Look(NamedTuple):
    """The look of a part of a bar beside the categories of the ledger: its colours on a page; symbol and colour on terminals."""

    colours: Colour
    symbol: str = ""
    terminal: int = 0


PAGE: Colour = ("#ffffff", "#14171c")

# What is below is drawn below. A graph counts as compute.
WORK: dict[str, Colour] = {name: categories.BY_NAME[name].colours for name in categories.BUSY}
WORK = {"compute": WORK.pop("compute"), "graph": ("#014d3f", "#3b7f6e"), **WORK}
IDLE: dict[str, Colour] = {name: categories.BY_NAME[name].colours for name in categories.IDLE}
_HOST: dict[str, Colour] = {
    "op": ("#4e94ec", "#6f92c9"),
    "annotation": ("#3f4042", "#adb6b8"),
    "runtime": ("#e05d03", "#daa14a"),
    "python": ("#70905f", "#d8f4bb"),
    "other": ("#676b6f", "#959fa1"),
}
# The training thread's own time looks like idle time of the same cause.
_ON_HOST = {
    **{
        f"{categories.OF_HOST}{cause}": f"idle_{cause}"
        for cause in ("allocation", "checkpoint", "compile", "communication", "data", "os", "profiler")
    },
    "host_annotation": "annotation",
    "host_launch": "runtime",
    "host_none": "idle_unattributed",
    "host_operator": "op",
    "host_python": "python",
    "host_synchronization": "idle_sync",
}
PARTS: dict[str, Look] = {
    "idle": Look(("#9f032a", "#c51a38"), "░", 167),
    "copies and memsets": Look(WORK["copy_h2d"]),
    "behind compute": Look(WORK["compute"], "█", 28),
    "behind other work": Look(WORK["communication"], "▓", 32),
    "exposed": Look(IDLE["idle_data"], "░", 167),
    "blocking": Look(IDLE["idle_sync"], "▒", 166),
    "matmul": Look(WORK["compute"]),
    "convolution": Look(WORK["communication"]),
    "attention": Look(WORK["copy_h2d"]),
    "opaque": Look(WORK["graph"]),
    "allocated": Look(WORK["communication"], "█", 28),
    "cached": Look(WORK["copy_h2d"], "▒", 136),
    "free": Look(IDLE["idle_unattributed"], "░"),
    "before the capture": Look(WORK["communication"]),
    "during the capture": Look(WORK["compute"]),
    "managed": Look(WORK["copy_d2h"]),
    "parameters": Look(WORK["communication"]),
    "optimizer": Look(IDLE["idle_sync"]),
    "gradients": Look(WORK["copy_h2d"]),
    "inputs": Look(WORK["copy_d2h"]),
    "activations": Look(WORK["compute"]),
    "temporary": Look(IDLE["idle_data"]),
    "hidden": Look(WORK["compute"], "█", 28),
    "costs the GPU": Look(IDLE["idle_data"], "░", 167),
    "waiting": Look(IDLE["idle_sync"]),
    "reading": Look(WORK["copy_h2d"]),
    "transforms": Look(_HOST["op"]),
    "other calls": Look(_HOST["runtime"]),
    "not seen": Look(IDLE["idle_unattributed"]),
    "unknown": Look(IDLE["idle_unattributed"]),
    "late ranks": Look(IDLE["idle_data"], "░", 167),
    "usual work": Look(WORK["compute"], "█", 28),
    "transfer": Look(WORK["communication"], "▓", 32),
    "wait": Look(IDLE["idle_unattributed"], "░"),
    "late start": Look(IDLE["idle_earlier_work"]),
    "rest": Look(("#475256", "#b9b9b9")),
    "mark": Look(("#c2410c", "#ffb020")),
    "culprit": Look(("#d6006c", "#ff4fa3")),
}
# From longer to shorter: orange and blue differ for everybody. Those that changed most differ most from the page.
CHANGES: dict[str, Colour] = {
    "much longer": ("#8f2d04", "#ffa04d"),
    "longer": ("#c0620f", "#b9794a"),
    "as long": ("#6f7378", "#868b92"),
    "shorter": ("#3f7fb5", "#5f8fb5"),
    "much shorter": ("#0b4a85", "#7cc4ff"),
}
# All of which bars of characters may consist.
LOOKS: dict[str, categories.Category | Look] = {**categories.BY_NAME, **PARTS}
COLOURS: dict[str, Colour] = {
    **WORK,
    **IDLE,
    **_HOST,
    **{name: part.colours for name, part in PARTS.items()},
    **CHANGES,
}

_STACKED = {kind: place for place, kind in enumerate((*WORK, *IDLE))}


def light_colour(kind: str) -> str:
    """Return the colour on a light page, as "#a3314c", of a category or another kind of shape; unknown kinds are like "other"."""
    return COLOURS.get(_ON_HOST.get(kind, kind), COLOURS["other"])[0]


def stack_place(category: str) -> int:
    """Return the place of a ledger's category in stacked charts, from 0 for compute, the lowest; idle ones are on top."""
    return _STACKED.get(category, len(_STACKED))


def css_variable(kind: str) -> str:
    """Return the name of the CSS variable with the colour of `kind`, as "--c-copy-h2d"; "--c-other" for unknown kinds."""
    shown = _ON_HOST.get(kind, kind)
    known = shown if shown in COLOURS else "other"
    return f"--c-{re.sub('[^a-z0-9]+', '-', known.lower())}"


def write_stylesheet() -> str:
    """Return CSS text that sets the variables of all colours, with other values on dark screens; print uses the light ones."""
    colours = {**{css_variable(kind): colours for kind, colours in COLOURS.items()}, "--c-page": PAGE}
    light, dark = (";".join(f"{name}:{both[page]}" for name, both in colours.items()) for page in (0, 1))
    return f":root{{{light}}}\n@media screen and (prefers-color-scheme: dark){{:root{{{dark}}}}}\n"
