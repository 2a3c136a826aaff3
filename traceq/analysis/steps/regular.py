"""The stretch of launches that recur at a fixed distance, without the few that come only now and then."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from traceq.analysis.nesting.stack import Integers

    Flags = npt.NDArray[np.bool_]
    Shares = npt.NDArray[np.float64]


# A multiple of the period repeats as well as the period itself, but for chance: the smallest lag so near the best is it.
_AS_GOOD = 0.002
# So does one that a whole multiple is hardly better than.
_NEARLY = 0.02
# Random vectors cancel like 1 / sqrt(launches * rounds): with so many products the estimate is good to 0.001, and lags that are
# about as good as the best one are counted exactly.
_PRODUCTS = 1 << 20
_COUNTED = 64
# All lags of so few launches are.
_FEW = 2048
# A longer sequence is judged by so many launches from its middle.
_MOST = 1 << 21

# Inside a unit: a lag at which at least half of the launches recur, and which is no multiple of a shorter one as good.
_LEAST_INNER = 0.5

_SEED = 20


class Period(NamedTuple):
    """A lag in launches, and the share of launches that recur at it (0..1).

    `inner` and `inner_share` are the shorter lag at which most launches recur, and their share; 0 for none.
    """

    lag: int
    share: float
    inner: int
    inner_share: float


def find_period(numbers: Integers) -> Period | None:
    """Return the smallest lag at which launches recur about as well as at any; None where no two launches are equal.

    `numbers` are the launches in their order, equal for equal launches. The lag is at most half of their number.
    """
    if len(numbers) > _MOST:
        first = (len(numbers) - _MOST) // 2
        numbers = numbers[first : first + _MOST]
    if len(numbers) <= 1:
        return None
    estimate = _estimate_shares(numbers)
    lag, share = _smallest_lag(numbers, estimate)
    if share == 0:
        return None
    # Steps that differ here and there may resemble the one after the next a little more than the next.
    for part in range(1, lag // 2 + 1):
        if lag % part == 0 and estimate[part] >= share - 2 * _NEARLY and share_at(numbers, part) >= share - _NEARLY:
            lag, share = part, share_at(numbers, part)
            break
    inner, inner_share = _smallest_lag(numbers, estimate[: lag // 2 + 1], _AS_GOOD * 10) if lag > 1 else (0, 0.0)
    return Period(lag, share, *((inner, inner_share) if inner_share >= _LEAST_INNER else (0, 0.0)))


def share_at(numbers: Integers, lag: int) -> float:
    """Return the share (0..1) of launches that equal the launch `lag` places later."""
    return np.count_nonzero(numbers[:-lag] == numbers[lag:]) / (len(numbers) - lag)


def _smallest_lag(numbers: Integers, estimate: Shares, near: float = _AS_GOOD) -> tuple[int, float]:
    """Return the smallest lag whose share is within `near` of the best share, and its exact share; (0, 0.0) for none.

    `estimate` is the estimated share by lag.
    """
    if len(estimate) <= 1 or estimate.max() <= 0:
        return 0, 0.0
    candidates = np.flatnonzero(estimate >= estimate.max() - near - _AS_GOOD)
    candidates = candidates if len(estimate) <= _FEW else candidates[:_COUNTED]
    counted = [share_at(numbers, int(lag)) if lag else 0.0 for lag in candidates]
    best = max(counted)
    return next((int(lag), share) for lag, share in zip(candidates, counted, strict=True) if share >= best - near)


def _estimate_shares(numbers: Integers) -> Shares:
    """Return the share of equal pairs at each lag from 0 (set to 0) to half of the length; estimated for long sequences.

    Each number becomes a random unit vector in the complex plane: equal ones multiply to 1, different ones to 0 on
    average, so that the real part of the autocorrelation counts equal pairs.
    """
    count = len(numbers)
    if count <= _FEW:
        return np.array([0.0, *(share_at(numbers, lag) for lag in range(1, count // 2 + 1))])
    different, numbers = _rank_numbers(numbers)
    # Lags beyond half of the length may meet themselves around the end.
    size = _fast_length(count + count // 2 + 1)
    random = np.random.default_rng(_SEED)
    power = np.zeros(size)
    rounds = min(64, max(1, _PRODUCTS // count))
    for _ in range(rounds):
        spectrum = np.fft.fft(np.exp(2j * np.pi * random.random(different))[numbers], size)
        power += spectrum.real**2 + spectrum.imag**2
    # The transform is linear: one back does for the sum of all rounds.
    shares = np.fft.ifft(power).real[: count // 2 + 1] / rounds / (count - np.arange(count // 2 + 1))
    shares[0] = 0
    return shares


def _rank_numbers(numbers: Integers) -> tuple[int, Integers]:
    """Return how many distinct numbers there are, and the rank (from 0) of each element among them."""
    if numbers.min() < 0 or numbers.max() > 2 * len(numbers):
        values, places = np.unique(numbers, return_inverse=True)
        return len(values), places
    # Sorting takes longer than all the rest.
    upto = np.cumsum(np.bincount(numbers) > 0)
    return int(upto[-1]), upto[numbers] - 1


def _fast_length(least: int) -> int:
    """Return the next length, at least `least`, for which the Fourier transform is fast: 1, 3, 5 or 9 times a power of two."""
    return min(odd << max(0, (-(-least // odd) - 1).bit_length()) for odd in (1, 3, 5, 9))


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
    """A stretch [first, last) of the launches `kept` (their indices among all, ascending) that recurs with a period.

    `share` of the stretch recurs (0..1); `same` is how many of all kept launches equal the one a period before or after.
    """

    kept: Integers
    first: int
    last: int
    period: Period
    share: float
    same: int


def find_regular(numbers: Integers, is_graph: Flags, starts: Integers | None = None) -> Regular | None:
    """Return the regular stretch that covers most launches, with rare launches left out; None where launches do not recur.

    A single repeating launch is a loop if it is a graph, or if its `starts` on the GPU (ns) are evenly spaced; negative
    starts mark launches that are no loop by themselves.
    """
    best: Regular | None = None
    # Small numbers in their place: all that counts is which are the same.
    _, numbers, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    for least, kept in _drop_rare(counts[numbers]):
        if best is not None and len(kept) < best.same:
            break
        found = _check_regular(numbers, kept, is_graph, starts)
        # what comes once a round is not rare
        if found is None or found.last - found.first < least * found.period.lag:
            continue
        if best is None or (found.same, found.last - found.first) > (best.same, best.last - best.first):
            best = found
    return best


def find_stretch(numbers: Integers, lag: int) -> tuple[int, int]:
    """Return the stretch [first, last) in which most launches recur `lag` launches later: the one with the largest score."""
    scores = np.where(numbers[:-lag] == numbers[lag:], 1, -_NOT_RECURRING)
    total = np.concatenate([[0], np.cumsum(scores)])
    lowest = np.minimum.accumulate(total)
    end = int(np.argmax(total - lowest))
    start = int(np.flatnonzero(total[: end + 1] == lowest[end])[-1])
    return start, end + lag


def is_regular(numbers: Integers, lag: int) -> bool:
    """Return whether at least 93 % of the launches equal the launch `lag` places later."""
    return share_at(numbers, lag) >= _LEAST_SHARE


def _drop_rare(times: Integers) -> Iterator[tuple[int, Integers]]:
    """Yield (least, indices) of the launches that occur `least` times or more, for growing `least`.

    `times` is how often each launch occurs.
    """
    last = -1
    for least in _OFTEN:
        kept = np.flatnonzero(times >= least)
        if len(kept) != last:
            yield least, kept
        last = len(kept)


def _check_regular(numbers: Integers, kept: Integers, is_graph: Flags, starts: Integers | None) -> Regular | None:
    """Return the regular stretch of the launches with the indices `kept`, judged without all others; None without one."""
    numbers = numbers[kept]
    first, last = 0, len(numbers)
    found = find_period(numbers)
    for _ in range(2):  # what surrounds the loop blurs its period: found again without it
        if found is None:
            return None
        start, end = find_stretch(numbers[first:last], found.lag)
        first, last = first + start, first + end
        found = find_period(numbers[first:last])
    if found is None:
        return None
    may_be_one = is_graph[kept[first]] or (starts is not None and _is_even(starts[kept[first:last]]))
    if not _is_loop(numbers[first:last], found.lag, may_be_one=bool(may_be_one)):
        return None
    share = share_at(numbers[first:last], found.lag)
    return Regular(kept, first, last, found, share, _count_recurring(numbers, found.lag))


def _count_recurring(numbers: Integers, lag: int) -> int:
    """Return how many launches equal the launch `lag` places before or after."""
    same = numbers[:-lag] == numbers[lag:]
    around = np.zeros(lag, np.bool_)
    return int((np.concatenate([same, around]) | np.concatenate([around, same])).sum())


def _is_even(starts: Integers) -> bool:
    """Return whether most of these times are about equally far from the one before; False for fewer than 8, or negative ones."""
    if len(starts) < _LEAST_EVEN or starts.min() < 0:
        return False
    distances = np.diff(starts)
    typical = np.median(distances)
    return bool(np.quantile(np.abs(distances - typical), _MOSTLY) <= _LITTLE * typical)


def _is_loop(numbers: Integers, lag: int, *, may_be_one: bool) -> bool:
    """Return whether the stretch is long and regular enough for a loop; `may_be_one`: a loop of a single launch is possible."""
    if len(numbers) / lag < (2 if lag >= _LONG else LEAST_ROUNDS):
        return False
    if lag == 1 and not may_be_one:
        return False
    return is_regular(numbers, lag)


# A loop lasts for so many of the common periods at least: shorter runs of like launches are inside of a round.
_LEAST_PERIODS = 3
# Of the launches that recur, in loops of their own.
_MOSTLY_LOOPS = 0.93


class Loop(NamedTuple):
    """Launches [first, last) that each equal the launch `lag` places before, except in the first round."""

    first: int
    last: int
    lag: int


def split_into_loops(numbers: Integers, first: int, last: int, lag: int) -> tuple[Loop, ...]:
    """Return the loops of shorter periods, in their order, that make up the launches [first, last), which recur at `lag`.

    Empty where they are a single loop. Loops that follow one another and share launches recur together after several
    rounds of each: a reference of five launches a round and a solver of four both recur after twenty.
    """
    found = tuple(sorted(_find_loops(numbers, first, last, lag)))
    is_most = sum(loop.last - loop.first for loop in found) >= _MOSTLY_LOOPS * (last - first)
    return found if is_most and len({loop.lag for loop in found}) > 1 else ()


def _find_loops(numbers: Integers, first: int, last: int, lag: int) -> Iterator[Loop]:
    """Yield the longest loop in [first, last) whose period divides `lag`, between the loops before and after it.

    A period of `lag` itself counts only where no shorter one lasts for three times `lag` launches.
    """
    least = _LEAST_PERIODS * lag
    if last - first < least:
        return
    shorter = [part for part in range(1, lag // 2 + 1) if lag % part == 0]
    longest = max(
        (_find_longest_loop(numbers, first, last, part) for part in shorter),
        key=lambda loop: (loop.last - loop.first, -loop.lag),
        default=Loop(first, first, lag),
    )
    if longest.last - longest.first < least:
        longest = _find_longest_loop(numbers, first, last, lag)
    if longest.last - longest.first < least:
        return
    yield from _find_loops(numbers, first, longest.first, lag)
    yield longest
    yield from _find_loops(numbers, longest.last, last, lag)


def _find_longest_loop(numbers: Integers, first: int, last: int, lag: int) -> Loop:
    """Return the longest run in [first, last), in whole rounds, in which each launch equals the one `lag` launches before.

    It is empty (first = last) where no launch does.
    """
    same = numbers[first : last - lag] == numbers[first + lag : last]
    borders = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]])))
    starts, ends = borders[::2], borders[1::2]
    if not len(starts):
        return Loop(first, first, lag)
    place = int(np.argmax(ends - starts))
    # whole rounds: a launch that the next loop begins with, too, is its own
    return Loop(
        first + int(starts[place]),
        first + int(starts[place]) + int(ends[place] + lag - starts[place]) // lag * lag,
        lag,
    )
