"""Sorting and grouping of arrays of millions of elements, where NumPy's own ways take several times as long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Integers = NDArray[np.signedinteger[Any]]
    Floats = NDArray[np.float64]


def stable_order(keys: Integers) -> Integers:
    """Return the indices that sort `keys` (integers >= 0); equal keys keep their order."""
    bits = max(len(keys) - 1, 0).bit_length()
    packed = (keys.astype(np.int64) << bits) | np.arange(len(keys))
    packed.sort()
    return (packed & ((1 << bits) - 1)).astype(np.int32)


def find_distinct(values: Integers) -> Integers:
    """Return the distinct values, in ascending order."""
    ordered = np.sort(values)
    is_new = np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]
    found: Integers = ordered[is_new]
    return found


def close_gaps(numbers: Integers) -> Integers:
    """Return the keys (integers >= 0) renumbered 0, 1, 2, ... in the same order; equal keys get equal numbers."""
    if numbers.max(initial=0) > 8 * len(numbers):
        found: Integers = np.unique(numbers, return_inverse=True)[1]
        return found
    occurs = np.zeros(int(numbers.max(initial=0)) + 1, bool)
    occurs[numbers] = True
    return (np.cumsum(occurs, dtype=np.int32) - 1)[numbers]


def number_combinations(*keys: Integers) -> Integers:
    """Return a number for each element; elements with equal values in all `keys` share one.

    The numbers are 0, 1, 2, ... in the order of the keys, the first key first.
    """
    number: Integers = np.zeros(len(keys[0]), np.int64)
    for key in keys:
        least = int(key.min(initial=0))
        number = close_gaps(number.astype(np.int64) * (int(key.max(initial=0)) - least + 1) + key - least)
    return number


def groups_by_size(group: Integers) -> Iterator[tuple[Integers, Integers]]:
    """Yield, for each size of groups, the groups' numbers and the indices of their elements (array: groups x size).

    `group` gives each element's group, 0 to n-1.
    """
    order, count = stable_order(group), np.bincount(group)
    first = np.cumsum(count) - count
    for size in np.flatnonzero(np.bincount(count)).tolist():
        which = np.flatnonzero(count == size)
        if size:
            yield which, order[first[which, None] + np.arange(size)]


def group_medians(group: Integers, values: Floats) -> Floats:
    """Return the median of the values of each group 0 to n-1; `group` gives each element's group, and no group is empty."""
    middle = np.empty(int(group.max(initial=-1)) + 1)
    for which, elements in groups_by_size(group):
        ordered = np.sort(values[elements], axis=1)
        size = ordered.shape[1]
        middle[which] = (ordered[:, (size - 1) // 2] + ordered[:, size // 2]) / 2
    return middle


def group_means(group: Integers, values: Floats) -> Floats:
    """Return for each element the mean of the values of its group; `group` gives each element's group."""
    mean: Floats = (np.bincount(group, values) / np.maximum(np.bincount(group), 1))[group]
    return mean


def measure_coverage(*spans: tuple[Floats | Integers, Floats | Integers]) -> float:
    """Return the time (ns) that the union of all spans covers; an argument is an array of begins and one of ends."""
    begin, end = (np.concatenate([span[side] for span in spans]) for side in (0, 1))
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order], end[order]
    until = np.maximum.accumulate(np.append(begin[:1], end))[:-1]
    return float(np.maximum(end - np.maximum(begin, until), 0).sum())
