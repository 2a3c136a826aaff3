"""The request of a what-if: arguments of Python and of the command line as changes, checked against what a trace has."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from traceq.analysis.categories import BUSY, HOST_LABELS, IDLE
from traceq.errors import WrongUse
from traceq.reports.whatif.answer import Asked

Named = str | Sequence[str]
Numbered = Mapping[str, float] | Sequence[tuple[str, float]]

COPIES = "copies"
TRANSFERS = ("communication", *(name for name in BUSY if name.startswith("copy")), COPIES)
PATTERNS = ("host:", "kernel:")
# Nobody can change what was launched before the capture, or the profiler.
ASKABLE = (*BUSY, *(name for name in IDLE if name not in {"idle_earlier_work", "idle_profiler"}))
# Work of the host itself, which other threads could do.
MOVABLE = tuple(
    name
    for name in ASKABLE
    if name not in {*BUSY, "idle_sync", "idle_dependency", "idle_launch_latency", "idle_unattributed"}
)
# Waits that last as long as what is waited for.
NO_LENGTH = ("idle_dependency",)
# Categories of the training thread's own time, where no GPU works.
HOST = tuple(name for name in HOST_LABELS if name != "profiler")
HOST_MOVABLE = ("annotation", "checkpoint", "data", "none", "operator", "os", "python")
# What a GPU would be idle for, as categories of the training thread's time.
HOST_OF = {
    "idle_data": ("data",),
    "idle_sync": ("synchronization",),
    "idle_allocation": ("allocation",),
    "idle_compile": ("compile",),
    "idle_launch": ("launch", "operator"),
    "idle_python": ("annotation", "python"),
    "idle_os": ("os",),
    "idle_checkpoint": ("checkpoint",),
    "idle_communication": ("communication",),
    "idle_unattributed": ("none",),
}
_NAMES = (*ASKABLE, COPIES, *(name for name in HOST if name not in ASKABLE))

_LISTS = "traceq whatif SOURCE --list shows what can be changed"


class WhatIfRequest(NamedTuple):
    """The changes of a what-if as the user gave them, or the finding whose owned time is to be removed."""

    remove: Named = ()
    scale: Numbered = ()
    overlap: Named = ()
    move: Numbered = ()
    graph: bool = False
    transfer_only: bool = False
    finding: str | None = None

    @property
    def is_given(self) -> bool:
        """Whether any change or a finding is requested."""
        return any(self)

    def changes(self) -> tuple[Asked, ...]:
        """Return the changes in the order of the options; empty for a finding.

        Raises WrongUse for changes that no trace allows, and when none is requested.
        """
        if self.finding is not None:
            if any(self[:-1]):
                raise WrongUse("--finding cannot be combined with other changes: leave them out.")
            return ()
        remove, overlap = ([value] if isinstance(value, str) else value for value in (self.remove, self.overlap))
        scale, move = (value.items() if isinstance(value, Mapping) else value for value in (self.scale, self.move))
        found = (
            *(Asked("remove", _check_known("--remove", what)) for what in remove),
            *(_parse_scale(what, factor) for what, factor in scale),
            *(_parse_overlap(what) for what in overlap),
            *(_parse_move(what, number) for what, number in move),
            *([Asked("graph")] if self.graph else []),
            *([Asked("transfer")] if self.transfer_only else []),
        )
        if not found:
            raise WrongUse(f"No change given: say what to remove, scale, overlap or move; {_LISTS}.")
        return found


def is_missing(asked: Asked, present: Collection[str]) -> bool:
    """Return whether a trace with the ledger categories `present` lacks what the change is about.

    False for patterns of names.
    """
    if asked.what.startswith(PATTERNS):
        return False
    needed = {
        COPIES: [name for name in TRANSFERS if name.startswith("copy")],
        "": ["compute" if asked.kind == "graph" else "communication"],
    }.get(asked.what, [asked.what])
    return not any(name in present for name in needed)


def _check_known(option: str, what: str) -> str:
    """Return `what` if it can be changed at all. Raises WrongUse, naming the option, for an unknown one."""
    prefix = next((pattern for pattern in PATTERNS if what.startswith(pattern)), None)
    if prefix == what:
        raise WrongUse(f"{option} {what}: say which names, as in '{what}*'.")
    if prefix is None and what not in _NAMES:
        close = " or ".join(difflib.get_close_matches(what, _NAMES, n=2, cutoff=0.6))
        rest = (
            f"; did you mean {close}?" if close else ": give a category of the ledger, copies, host:GLOB or kernel:GLOB"
        )
        raise WrongUse(f"{option} {what}: unknown{rest}; {_LISTS}.")
    return what


def _parse_overlap(what: str) -> Asked:
    """Return the change that runs `what` beside kernels.

    Raises WrongUse unless it is communication, copies or kernels by name.
    """
    _check_known("--overlap", what)
    if what not in TRANSFERS and not what.startswith("kernel:"):
        can = f"{', '.join(TRANSFERS)}, kernel:GLOB"
        raise WrongUse(f"--overlap {what}: only communication and copies can overlap: {can}.")
    return Asked("overlap", what)


def _parse_scale(what: str, factor: float) -> Asked:
    """Return the change that multiplies the time of `what` by the factor (0 or more).

    Raises WrongUse for an impossible one.
    """
    _check_known("--scale", what)
    if what in NO_LENGTH:
        raise WrongUse(f"--scale {what}: a wait cannot be scaled: --remove {what} says what removing it would save.")
    if not math.isfinite(factor) or factor < 0:
        raise WrongUse(f"--scale {what} {factor:g}: the factor must be 0 (takes no time) or more; 1 changes nothing.")
    return Asked("scale", what, float(factor))


def _parse_move(what: str, threads: float) -> Asked:
    """Return the change that moves `what` to other threads (1 or more).

    Raises WrongUse unless it is work of the host.
    """
    _check_known("--move", what)
    movable = (*MOVABLE, *HOST_MOVABLE)
    if what not in movable and not what.startswith("host:"):
        raise WrongUse(f"--move {what}: only work of the host can be moved: {', '.join(movable)}, host:GLOB.")
    if not math.isfinite(threads) or threads < 1:
        raise WrongUse(f"--move {what} {threads:g}: give at least 1 thread.")
    return Asked("move", what, float(threads))
