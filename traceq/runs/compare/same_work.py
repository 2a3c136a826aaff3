"""Measure how much of the GPU's work two sides do alike: the same kernels, collectives and copies, as often in a step."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from traceq.runs.compare.names import family_name
from traceq.runs.run import Item, Run

_AS_OFTEN = 0.01
_MOSTLY = 0.5
_OF_HOST = ("idle_", "host_")
_LEAST_CALLS = 10  # of fewer kernels and copies nothing tells whose they are


def measure_alike_share(base: Sequence[Run], new: Sequence[Run], *, by_shape: bool = False) -> float | None:
    """Return the share (0..1) of a side's GPU time in work that the other side does as often.

    The lower one of both sides. Work is a kernel, collective or copy; with `by_shape` kernels must have the same launch
    shape. None where a side has fewer than ten calls.
    """
    sides = [_sum_work(runs, by_shape=by_shape) for runs in (base, new)]
    totals = [sum(dur for _, dur in side.values()) for side in sides]
    if not all(totals) or min(_count_calls(base), _count_calls(new)) < _LEAST_CALLS:
        return None
    return min(
        sum(dur for key, (count, dur) in side.items() if _is_as_often(count, other.get(key))) / total
        for side, other, total in zip(sides, reversed(sides), totals, strict=True)
    )


def _count_calls(runs: Sequence[Run]) -> int:
    """Return the number of calls in all counted steps: kernels, copies, memsets and collectives."""
    return sum(item.every.count for run in runs for item in run.items if not item.category.startswith(_OF_HOST))


def _is_as_often(count: float, other: tuple[float, int] | None) -> bool:
    """Return whether the count per step is within 1 % of the other side's.

    `other` is its (count, ns), None if it has none.
    """
    return other is not None and abs(count - other[0]) <= _AS_OFTEN * max(count, other[0])


def _sum_work(runs: Sequence[Run], *, by_shape: bool) -> Mapping[Hashable, tuple[float, int]]:
    """Return (count per step, total ns) of each kernel, collective and size of copy.

    Counts are means over the runs' counted steps, times sums over all of them.
    """
    found: dict[Hashable, tuple[float, int]] = {}
    for run in runs:
        for item in run.items:
            if item.name is not None and not item.category.startswith(_OF_HOST):
                key = _item_key(item, by_shape=by_shape)
                count, dur = found.get(key, (0.0, 0))
                found[key] = (count + item.every.count / (len(run.counted) * len(runs)), dur + item.every.dur)
    return found


def _item_key(item: Item, *, by_shape: bool) -> Hashable:
    """Return a key for the same work on both sides: a kernel's family name, else the name and the bytes of a call."""
    if item.category == "compute":
        return item.category, family_name(item.name or ""), item.shape if by_shape else None
    return item.category, item.name, item.every.bytes // max(item.every.count, 1)


def hides_kernels(runs: Iterable[Run]) -> bool:
    """Return whether more than half of the kernel time is in CUDA graphs that were traced as a whole."""
    items = [item for run in runs for item in run.items if item.category == "compute"]
    total = sum(item.every.dur for item in items)
    graphs = sum(item.every.dur for item in items if (item.name or "").replace(" ", "").startswith("CUDAgraph"))
    return graphs > _MOSTLY * total
