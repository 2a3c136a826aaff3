"""The changes of a what-if: arguments of Python and of the command line as changes, checked against what a trace has."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Iterator, Mapping, Sequence

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


def changes(
    *, remove: Named, scale: Numbered, overlap: Named, move: Numbered, graph: bool, transfer_only: bool
) -> tuple[Asked, ...]:
    """The changes in the order of the options. Raises WrongUse for changes that no trace allows, or when there is none."""
    found = (
        *(Asked("remove", _check_known("--remove", what)) for what in _as_list(remove)),
        *(
            Asked("scale", _check_scalable("--scale", what), _check_factor(what, factor))
            for what, factor in _as_pairs(scale)
        ),
        *(Asked("overlap", _check_overlap("--overlap", what)) for what in _as_list(overlap)),
        *(
            Asked("move", _check_movable("--move", what), _check_threads(what, number))
            for what, number in _as_pairs(move)
        ),
        *([Asked("graph")] if graph else []),
        *([Asked("transfer")] if transfer_only else []),
    )
    if not found:
        raise WrongUse(f"No change is given: say what to remove, scale, overlap or move; {_LISTS}.")
    return found


def is_missing(asked: Asked, present: Collection[str]) -> bool:
    """Whether a trace that has the categories `present` has nothing to change; names are looked up elsewhere."""
    if asked.what.startswith(PATTERNS):
        return False
    needed = {
        COPIES: [name for name in TRANSFERS if name.startswith("copy")],
        "": ["compute" if asked.kind == "graph" else "communication"],
    }.get(asked.what, [asked.what])
    return not any(name in present for name in needed)


def _as_list(names: Named) -> Iterator[str]:
    yield from [names] if isinstance(names, str) else names


def _as_pairs(numbers: Numbered) -> Iterator[tuple[str, float]]:
    yield from numbers.items() if isinstance(numbers, Mapping) else numbers


def _check_known(option: str, what: str) -> str:
    prefix = next((each for each in PATTERNS if what.startswith(each)), None)
    if prefix == what:
        raise WrongUse(f"{option} {what}: say which names, as in '{what}*'.")
    if prefix is None and what not in _NAMES:
        raise WrongUse(f"{option} {what}: {_suggest(what)}; {_LISTS}.")
    return what


def _suggest(what: str) -> str:
    found = difflib.get_close_matches(what, _NAMES, n=2, cutoff=0.6)
    if found:
        return f"unknown; did you mean {' or '.join(found)}?"
    return "unknown: give a category of the ledger, copies, host:GLOB or kernel:GLOB"


def _check_overlap(option: str, what: str) -> str:
    _check_known(option, what)
    if what not in TRANSFERS and not what.startswith("kernel:"):
        raise WrongUse(
            f"{option} {what}: only communication and copies can overlap: {', '.join(TRANSFERS)}, kernel:GLOB."
        )
    return what


def _check_scalable(option: str, what: str) -> str:
    _check_known(option, what)
    if what in NO_LENGTH:
        raise WrongUse(
            f"{option} {what}: a wait has no length of its own: --remove {what} says what removing it would save."
        )
    return what


def _check_movable(option: str, what: str) -> str:
    _check_known(option, what)
    movable = (*MOVABLE, *HOST_MOVABLE)
    if what not in movable and not what.startswith("host:"):
        raise WrongUse(f"{option} {what}: only work of the host can be moved: {', '.join(movable)}, host:GLOB.")
    return what


def _check_factor(what: str, factor: float) -> float:
    if not math.isfinite(factor) or factor < 0:
        raise WrongUse(
            f"--scale {what} {factor:g}: the factor is a number from 0 (takes no time) up; 1 changes nothing."
        )
    return float(factor)


def _check_threads(what: str, number: float) -> float:
    if not math.isfinite(number) or number < 1:
        raise WrongUse(f"--move {what} {number:g}: it is moved to 1 thread or more.")
    return float(number)
