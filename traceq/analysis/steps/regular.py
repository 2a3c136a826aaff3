"""The stretch of launches that recur at a fixed distance, without the few that come only now and then."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from traceq.analysis.steps.period import Period, period, share_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from traceq.analysis.nesting.stack import Integers

    Flags = npt.NDArray[np.bool_]

# A launch that recurs counts as one, one that does not as minus four: the best-scoring stretch recurs by at least four fifths.
_NOT_RECURRING = 4
# Within that stretch; below it sequences of different steps were taken for one (docs/decisions/0017).
_LEAST_SHARE = 0.93
# Fewer rounds are a coincidence when rounds are short.
LEAST_ROUNDS = 3
_LONG = 8  # launches: two rounds of such a sequence are no coincidence
# A loop of one kernel: at least so many launches; this share of the distances between them differs little from the median.
_LEAST_EVEN, _MOSTLY, _LITTLE = 8, 0.8, 0.1
# A loss logged now and then moves all that follows by a launch: what comes less often than so many times is left out.
_OFTEN = (*range(1, 17), *range(20, 64, 4), *range(64, 257, 16))


class Regular(NamedTuple):
    """Launches [first, last) of those `kept` (their places among all, ascending), which recur with a period.

    `share` of them recur; `same`: how many of all kept are the same as the one a period before or after.
    """

    kept: Integers
    first: int
    last: int
    period: Period
    share: float
    same: int


def regular(numbers: Integers, is_graph: Flags, starts: Integers | None = None) -> Regular | None:
    """Return the regular stretch of most launches; None where launches do not recur.

    One launch that repeats is a loop where it is a graph, or where its `starts` on the GPU, ns, are evenly apart; they are
    negative for what is no loop by itself.
    """
    best: Regular | None = None
    # Small numbers in their place: all that counts is which are the same.
    _, numbers, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    for least, kept in _frequent(counts[numbers]):
        if best is not None and len(kept) < best.same:
            break
        found = _regular(numbers, kept, is_graph, starts)
        # what comes once a round is not rare
        if found is None or found.last - found.first < least * found.period.lag:
            continue
        if best is None or (found.same, found.last - found.first) > (best.same, best.last - best.first):
            best = found
    return best


def stretch(numbers: Integers, lag: int) -> tuple[int, int]:
    """Return the stretch [first, last) of launches in which most recur `lag` launches later: the one of the largest score."""
    scores = np.where(numbers[:-lag] == numbers[lag:], 1, -_NOT_RECURRING)
    total = np.concatenate([[0], np.cumsum(scores)])
    lowest = np.minimum.accumulate(total)
    end = int(np.argmax(total - lowest))
    start = int(np.flatnonzero(total[: end + 1] == lowest[end])[-1])
    return start, end + lag


def is_regular(numbers: Integers, lag: int) -> bool:
    """Return whether nearly all launches recur after `lag` launches."""
    return share_at(numbers, lag) >= _LEAST_SHARE


def _frequent(times: Integers) -> Iterator[tuple[int, Integers]]:
    """Yield the places of all launches, of those that come twice or oftener (`times`), and so on; each with how often."""
    last = -1
    for least in _OFTEN:
        kept = np.flatnonzero(times >= least)
        if len(kept) != last:
            yield least, kept
        last = len(kept)


def _regular(numbers: Integers, kept: Integers, is_graph: Flags, starts: Integers | None) -> Regular | None:
    """Return the regular stretch of the launches kept."""
    numbers = numbers[kept]
    first, last = 0, len(numbers)
    found = period(numbers)
    for _ in range(2):  # what surrounds the loop blurs its period: found again without it
        if found is None:
            return None
        start, end = stretch(numbers[first:last], found.lag)
        first, last = first + start, first + end
        found = period(numbers[first:last])
    if found is None:
        return None
    may_be_one = is_graph[kept[first]] or (starts is not None and _is_even(starts[kept[first:last]]))
    if not _is_loop(numbers[first:last], found.lag, may_be_one=bool(may_be_one)):
        return None
    share = share_at(numbers[first:last], found.lag)
    return Regular(kept, first, last, found, share, _count(numbers, found.lag))


def _count(numbers: Integers, lag: int) -> int:
    """Count the launches that equal the one `lag` before or after."""
    same = numbers[:-lag] == numbers[lag:]
    around = np.zeros(lag, np.bool_)
    return int((np.concatenate([same, around]) | np.concatenate([around, same])).sum())


def _is_even(starts: Integers) -> bool:
    """Return whether most of these times are about equally far from the one before."""
    if len(starts) < _LEAST_EVEN or starts.min() < 0:
        return False
    distances = np.diff(starts)
    typical = np.median(distances)
    return bool(np.quantile(np.abs(distances - typical), _MOSTLY) <= _LITTLE * typical)


def _is_loop(numbers: Integers, lag: int, *, may_be_one: bool) -> bool:
    """Return whether the stretch is long and regular enough to be a loop."""
    if len(numbers) / lag < (2 if lag >= _LONG else LEAST_ROUNDS):
        return False
    if lag == 1 and not may_be_one:
        return False
    return is_regular(numbers, lag)
