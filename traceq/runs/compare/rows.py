"""Other cuts through the work of the GPU: by operator, by phase, and counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from traceq.runs.compare.comparison import Count, Row
from traceq.runs.compare.names import stable_name
from traceq.runs.compare.side import amount_of, round_parts, step_weight
from traceq.runs.run import Run
from traceq.runs.statistics import Statistic

_IDLE = "idle"
_COUNTED = {
    "compute": "kernels",
    "communication": "collectives",
    "copy_h2d": "copies to the GPU",
    "copy_d2h": "copies from the GPU",
    "copy_other": "other copies",
    "memset": "memsets",
}
_WITH_BYTES = ("copy_h2d", "copy_d2h", "copy_other")


def compare_rows(base: Sequence[Run], new: Sequence[Run], statistic: Statistic, by: str) -> tuple[Row, ...]:
    """Return the GPU time by innermost operator or by training phase, largest change first; `by` is `operator` or `phase`.

    Work without a name is a row of None; the result is empty if no work has a name.
    """
    sides = [_sum_items(runs, statistic, by) for runs in (base, new)]
    names = sorted({*sides[0], *sides[1]}, key=lambda name: (name is None, name or ""))
    if all(name is None for name in names):
        return ()
    nothing = (Fraction(0), Fraction(0))
    times = [[side.get(name, nothing)[1] for name in names] for side in sides]
    base_ns, new_ns = (round_parts(time, round(sum(time, Fraction(0)))) for time in times)
    found = [
        Row(
            name,
            float(sides[0].get(name, nothing)[0]),
            float(sides[1].get(name, nothing)[0]),
            base_ns[place],
            new_ns[place],
            new_ns[place] - base_ns[place],
        )
        for place, name in enumerate(names)
    ]
    return tuple(sorted(found, key=lambda row: (-abs(row.delta_ns), -row.base_ns, row.name or "")))


def _sum_items(runs: Sequence[Run], statistic: Statistic, by: str) -> dict[str | None, tuple[Fraction, Fraction]]:
    """Return the count and the GPU time (ns) per step, by the attribute `by` of items (operator or phase)."""
    sums: dict[str | None, tuple[Fraction, Fraction]] = {}
    for run in runs:
        share = step_weight(run, runs, statistic)
        for item in run.items:
            if item.category.startswith(_IDLE):
                continue
            amount = amount_of(item, statistic)
            name = stable_name(getattr(item, by) or "") or None
            counted, dur = sums.get(name, (Fraction(0), Fraction(0)))
            sums[name] = (counted + share * amount.count, dur + share * amount.dur)
    return sums


def compare_counts(base: Sequence[Run], new: Sequence[Run], statistic: Statistic) -> Iterator[Count]:
    """Yield the numbers of kernels, copies, collectives and copied bytes per step on both sides.

    Those that are 0 on both are left out.
    """
    for category, what in _COUNTED.items():
        numbers = [_per_step(runs, statistic, category, "count") for runs in (base, new)]
        if any(numbers):
            yield Count(what, "", float(numbers[0]), float(numbers[1]))
        if category in _WITH_BYTES:
            sizes = [_per_step(runs, statistic, category, "bytes") for runs in (base, new)]
            if any(sizes):
                yield Count(f"bytes of {what}", "bytes", float(sizes[0]), float(sizes[1]))


def _per_step(runs: Sequence[Run], statistic: Statistic, category: str, what: str) -> Fraction:
    """Return the count or bytes (`what` is the attribute) per step in items of the category, averaged over the runs."""
    return sum(
        (
            step_weight(run, runs, statistic) * getattr(amount_of(item, statistic), what)
            for run in runs
            for item in run.items
            if item.category == category
        ),
        Fraction(0),
    )
