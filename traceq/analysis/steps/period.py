"""The period of recurring launches: the autocorrelation of a sequence of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from traceq.analysis.nesting.stack import Integers

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
    """A lag in launches, the share of launches that recur at it, and the shorter lag at which most recur (0 for none)."""

    lag: int
    share: float
    inner: int
    inner_share: float


def period(numbers: Integers) -> Period | None:
    """Return the smallest lag at which launches recur about as well as at any; None where no two are the same.

    `numbers` are the launches in their order, the same number for the same launch. At least two whole periods are seen.
    """
    if len(numbers) > _MOST:
        first = (len(numbers) - _MOST) // 2
        numbers = numbers[first : first + _MOST]
    if len(numbers) <= 1:
        return None
    estimate = _shares(numbers)
    lag, share = _smallest(numbers, estimate)
    if share == 0:
        return None
    # Steps that differ here and there may resemble the one after the next a little more than the next.
    for part in range(1, lag // 2 + 1):
        if lag % part == 0 and estimate[part] >= share - 2 * _NEARLY and share_at(numbers, part) >= share - _NEARLY:
            lag, share = part, share_at(numbers, part)
            break
    inner, inner_share = _smallest(numbers, estimate[: lag // 2 + 1], _AS_GOOD * 10) if lag > 1 else (0, 0.0)
    return Period(lag, share, *((inner, inner_share) if inner_share >= _LEAST_INNER else (0, 0.0)))


def share_at(numbers: Integers, lag: int) -> float:
    """Share of pairs `lag` launches apart that are the same."""
    return float(np.mean(numbers[:-lag] == numbers[lag:]))


def _smallest(numbers: Integers, estimate: Shares, near: float = _AS_GOOD) -> tuple[int, float]:
    """Return the smallest lag whose share is at most `near` below the best one's, counted exactly; (0, 0.0) for none."""
    if len(estimate) <= 1 or estimate.max() <= 0:
        return 0, 0.0
    candidates = np.flatnonzero(estimate >= estimate.max() - near - _AS_GOOD)
    candidates = candidates if len(estimate) <= _FEW else candidates[:_COUNTED]
    counted = [share_at(numbers, int(lag)) if lag else 0.0 for lag in candidates]
    best = max(counted)
    return next((int(lag), share) for lag, share in zip(candidates, counted, strict=True) if share >= best - near)


def _shares(numbers: Integers) -> Shares:
    """Share of equal pairs for each lag from 0 (set to 0) to half of the length, estimated where there are many.

    Each number is a random unit vector in the complex plane: equal ones multiply to 1, different ones to 0 on average, so
    that the real part of the autocorrelation counts equal pairs.
    """
    count = len(numbers)
    if count <= _FEW:
        return np.array([0.0, *(share_at(numbers, lag) for lag in range(1, count // 2 + 1))])
    different, numbers = _numbered(numbers)
    # Lags beyond half of the length may meet themselves around the end.
    size = _transformed(count + count // 2 + 1)
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


def _numbered(numbers: Integers) -> tuple[int, Integers]:
    """Count the distinct numbers, and rank each among them."""
    if numbers.min() < 0 or numbers.max() > 2 * len(numbers):
        values, places = np.unique(numbers, return_inverse=True)
        return len(values), places
    # Sorting takes longer than all the rest.
    upto = np.cumsum(np.bincount(numbers) > 0)
    return int(upto[-1]), upto[numbers] - 1


def _transformed(least: int) -> int:
    """Return the next length that the Fourier transform is fast for: 1, 3, 5 or 9 times a power of two."""
    return min(odd << max(0, (-(-least // odd) - 1).bit_length()) for odd in (1, 3, 5, 9))
