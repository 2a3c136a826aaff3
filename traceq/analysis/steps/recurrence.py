"""Training steps of a trace that nothing marks: the same sequence of GPU work over and over.

A step starts where a kernel that occurs once per step is launched. Any such kernel would do; of those whose occurrences lie the
same sequence apart, again and again, the one with the longest sequence wins: layers repeat inside a step, steps do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from traceq.analysis.nesting.stack import Integers

    Hashes = npt.NDArray[np.uint64]

# Fewer repetitions are a coincidence, shorter sequences a loop inside an operator.
_LEAST_STEPS = 3
_LEAST_LAUNCHES = 8
# At least this share of the occurrences lie exactly the same sequence apart, and of all launches inside such sequences.
_LEAST_SHARE = 0.6
# At most this share of all launches is of kernels that no sequence holds.
_MOST_FOREIGN = 0.02

_SEED = 20


class Recurrence(NamedTuple):
    """Where a recurring sequence begins, as positions in the order of launches, and how many launches long it is."""

    starts: list[int]
    length: int


def recurring_sequence(names: Integers) -> Recurrence | None:
    """The longest sequence that recurs through most of `names`, numbers from 0 in the order of launches; None if none does."""
    prefix, power = _prefix_hashes(names)
    best: Recurrence | None = None
    counts = np.bincount(names)
    by_name = np.split(np.argsort(names, kind="stable"), np.cumsum(counts)[:-1])
    for positions in by_name:
        if not _LEAST_STEPS <= len(positions) <= len(names) // _LEAST_LAUNCHES:
            continue
        found = _recurrence(positions, prefix, power)
        if found and (best is None or (-found.length, found.starts[0]) < (-best.length, best.starts[0])):
            best = found
    return best if best and _explains(best, names) else None


def _explains(recurrence: Recurrence, names: Integers) -> bool:
    """Whether the sequences are most of the work, and hardly anything happens only outside them, as it does around layers."""
    inside = np.zeros(len(names) + 1, np.int64)
    np.add.at(inside, recurrence.starts, 1)
    np.add.at(inside, np.array(recurrence.starts) + recurrence.length, -1)
    covered = np.cumsum(inside)[:-1] > 0
    foreign = ~np.isin(names[~covered], np.unique(names[covered]))
    return bool(covered.mean() >= _LEAST_SHARE and foreign.sum() <= _MOST_FOREIGN * len(names))


def _recurrence(positions: Integers, prefix: Hashes, power: Hashes) -> Recurrence | None:
    """The occurrences that are the start of the commonest sequence up to the next occurrence, if most are."""
    lengths = np.diff(positions)
    length = int(np.bincount(lengths).argmax())
    if length < _LEAST_LAUNCHES:
        return None
    # The last occurrence starts a whole sequence too when enough follows.
    whole = positions[positions + length < len(prefix)]
    hashes = (prefix[whole + length] - prefix[whole]) * power[whole]
    values, inverse, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    same = whole[inverse == counts.argmax()] if len(values) else whole
    if len(same) < _LEAST_STEPS or len(same) < _LEAST_SHARE * len(positions):
        return None
    return Recurrence(same.tolist(), length)


def _prefix_hashes(names: Integers) -> tuple[Hashes, Hashes]:
    """Sums of hash(name) * base^position, and base^-position: any two sequences compare in constant time (modulo 2^64)."""
    random = np.random.default_rng(_SEED)
    of_name = random.integers(0, 1 << 63, int(names.max(initial=0)) + 1, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    base = int(random.integers(0, 1 << 63, dtype=np.uint64)) * 2 + 1
    steps = np.full(len(names) + 1, base % (1 << 64), np.uint64)
    back = np.full(len(names) + 1, pow(base, -1, 1 << 64), np.uint64)
    steps[0] = back[0] = 1
    powers = np.multiply.accumulate(steps)
    prefix = np.append(np.uint64(0), np.add.accumulate(of_name[names] * powers[:-1]))
    return prefix, np.multiply.accumulate(back)
