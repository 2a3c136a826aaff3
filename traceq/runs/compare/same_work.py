"""How much of the GPU's work two sides do alike: the same kernels, collectives and copies, as often in a step."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from traceq.runs.compare.kernel_name import family_name
from traceq.runs.run import Item, Run

_AS_OFTEN = 0.01


def alike_share(base: Sequence[Run], new: Sequence[Run]) -> float | None:
    """The share of GPU time in what the other side does as often, of the side where it is less; None where a side names none."""
    sides = [_work(runs) for runs in (base, new)]
    totals = [sum(dur for _, dur in side.values()) for side in sides]
    if not all(totals):
        return None
    return min(
        sum(dur for key, (count, dur) in side.items() if _is_as_often(count, other.get(key))) / total
        for side, other, total in zip(sides, reversed(sides), totals, strict=True)
    )


def _is_as_often(count: float, other: tuple[float, int] | None) -> bool:
    return other is not None and abs(count - other[0]) <= _AS_OFTEN * max(count, other[0])


def _work(runs: Sequence[Run]) -> Mapping[Hashable, tuple[float, int]]:
    """Count in a step and time, ns, of each kernel, collective and size of copy."""
    found: dict[Hashable, tuple[float, int]] = {}
    for run in runs:
        for item in run.items:
            if item.name is not None and not item.category.startswith("idle_"):
                count, dur = found.get(_key(item), (0.0, 0))
                found[_key(item)] = (count + item.every.count / (len(run.counted) * len(runs)), dur + item.every.dur)
    return found


def _key(item: Item) -> Hashable:
    if item.category == "compute":
        return item.category, family_name(item.name or "")
    return item.category, item.name, item.every.bytes // max(item.every.count, 1)
