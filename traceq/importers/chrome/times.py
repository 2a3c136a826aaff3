"""From microseconds as JSON writes them to exact integer nanoseconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation

import numpy as np
import numpy.typing as npt

# Below 2**43 us a double is within half a nanosecond of the decimal it was written as, so the nanosecond is certain.
# That covers times since a trace's base (at most three months) but not fractional microseconds since 1970.
_EXACT_BELOW = float(1 << 43)

# int64 nanoseconds, with room for an end.
_MOST_MICROSECONDS = 9.0e15

_MOST = Decimal(_MOST_MICROSECONDS)

SEVEN_DAYS = 7 * 86_400_000_000_000


def is_inexact(value: object) -> bool:
    """Return whether a time (us) is a double too large for exact ns, so that its text must be read as a decimal."""
    return isinstance(value, float) and _EXACT_BELOW <= abs(value) <= _MOST_MICROSECONDS


def parse_starts(values: Sequence[object], notes: Counter[str]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return the ns of `ts` values (us), and for each whether it is usable; those that are not are 0 and counted.

    A value may be text or a Decimal; no value may be inexact (see is_inexact).
    """
    ns, valid = _to_nanoseconds(values)
    bad = int(len(valid) - np.count_nonzero(valid))
    if bad:
        notes["invalid_timestamp"] += bad
    return ns, valid


def parse_durations(values: Sequence[object], notes: Counter[str]) -> npt.NDArray[np.int64]:
    """Return the ns of `dur` values (us); 0 for absent ones, and for negative ones and ones over seven days (counted)."""
    present = [0 if value is None else value for value in values]
    ns, valid = _to_nanoseconds(present)
    too_long = ~valid | (ns > SEVEN_DAYS)
    negative = valid & (ns < 0)
    notes["duration_overflow"] += int(np.count_nonzero(too_long))
    notes["negative_duration"] += int(np.count_nonzero(negative))
    ns[too_long | negative] = 0
    return ns


def _to_nanoseconds(values: Sequence[object]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return the ns of values in us, rounded, and for each whether it is usable; those that are not are 0."""
    kinds = set(map(type, values))
    # NumPy takes true for 1, and lists of one length for rows of a matrix.
    if not kinds <= {int, float, type(None)}:
        return _convert_exactly(values)
    try:
        microseconds = np.array(values, dtype=np.float64)
    except OverflowError:
        return _convert_exactly(values)
    size = np.abs(microseconds)
    # A double of this size can look whole although its text was not: only an int is sure to be exact.
    if np.any((size >= _EXACT_BELOW) & (size <= _MOST_MICROSECONDS)) and kinds != {int}:
        return _convert_exactly(values)
    valid = size < _MOST_MICROSECONDS
    microseconds = np.where(valid, microseconds, 0.0)
    whole = np.floor(microseconds)
    fraction = microseconds - whole
    return whole.astype(np.int64) * 1000 + np.rint(fraction * 1000).astype(np.int64), valid


def _convert_exactly(values: Sequence[object]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return the same as `_to_nanoseconds` by decimal arithmetic, for values of any type; slower."""
    exact = [_exact_nanoseconds(value) for value in values]
    ns = np.array([0 if value is None else value for value in exact], dtype=np.int64)
    return ns, np.array([value is not None for value in exact], dtype=np.bool_)


def _exact_nanoseconds(value: object) -> int | None:
    """Return the ns of a time in us given as number or text, rounded half to even; None when it is no usable time."""
    if not isinstance(value, (int, float, Decimal, str)):
        return None
    try:
        microseconds = Decimal(str(value))
        # Comparing is exact, where abs() rounds, and fails at 1e999999999.
        if not microseconds.is_finite() or not -_MOST < microseconds < _MOST:
            return None
        return int((microseconds * 1000).to_integral_value(ROUND_HALF_EVEN))
    except InvalidOperation:
        return None
