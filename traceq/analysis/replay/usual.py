"""Usual values: medians of the same kind, of the other half of the steps where a step has to be predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from traceq.analysis.replay.recorded import Booleans, Floats, Integers


def kind_medians(key: Integers, value: Floats, counts: Booleans, fewest: int = 1) -> Floats:
    """Return for each element the (lower) median of `value` over the elements with the same `key` that count.

    NaN where fewer than `fewest` of them count.
    """
    found = np.full(len(key), np.nan)
    where = np.flatnonzero(counts)
    if not len(where):
        return found
    order = where[np.lexsort((value[where], key[where]))]
    keys, first, sizes = np.unique(key[order], return_index=True, return_counts=True)
    # Of two the lower: one of them may be an accident.
    middle = np.where(sizes >= fewest, value[order[first + (sizes - 1) // 2]], np.nan)
    at = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
    same = keys[at] == key
    found[same] = middle[at[same]]
    return found


# One may be an accident; of a broad kind more than a few are needed to speak for others.
_FEWEST, _FEWEST_OF_BROAD = 2, 5
# What two agree on may still be one accident that met both, if it is longer than this, ns.
_MOST_OF_TWO = 1_000_000.0
# Times that differ by this share at most are alike.
_LIKE = 0.5


def predict_from_other_fold(
    keys: Sequence[Integers], value: Floats, counts: Booleans, fold: Integers, long: float = np.inf
) -> tuple[Floats, Booleans]:
    """Predict each element's value from elements of its kind in the other fold; return it, and whether enough elements told.

    `keys` give the kinds, from narrow to broad; `counts` marks elements that may tell. A kind with too few elements is passed
    over for the next broader one, then for all elements. If all are too few, those few count, then elements of the own fold;
    NaN where none counts. A value above `long` may be predicted from a single element of the narrowest kind, if both are
    alike: steps that agree so are no accident.
    """
    found = np.full(len(value), np.nan)
    everything = np.zeros(len(value), dtype=np.int64)
    for number, key in enumerate((*keys, everything)):
        _fill(found, key, value, counts, fold, _FEWEST_OF_BROAD if number else _FEWEST)
        if not number:
            sure = np.full(len(value), np.nan)
            _fill(sure, key, value, counts, fold, _FEWEST + 1)
            found[np.isnan(sure) & (found > _MOST_OF_TWO)] = np.nan
            single = np.full(len(value), np.nan)
            _fill(single, key, value, counts, fold, 1)
            repeats = counts & np.isnan(found) & (np.abs(single - value) <= _LIKE * value)
            repeats &= (np.minimum(single, value) > long) & (value <= _MOST_OF_TWO)
            found[repeats] = single[repeats]
    is_known = ~np.isnan(found)
    _fill(found, everything, value, counts, fold, 1)
    missing = np.isnan(found)
    if missing.any():
        found[missing] = kind_medians(everything, value, counts)[missing]
    return found, is_known


def _fill(found: Floats, key: Integers, value: Floats, counts: Booleans, fold: Integers, fewest: int) -> None:
    """Set `found`, where it is NaN, to medians of the other fold's elements with the same key, if at least `fewest` count."""
    for one in (0, 1):
        here = (fold == one) & np.isnan(found)
        if here.any():
            found[here] = kind_medians(key, value, counts & (fold != one), fewest)[here]


def combine_keys(*parts: Integers) -> Integers:
    """Return a key (hash) for each element: equal where all parts are equal, and otherwise different but for rare accidents."""
    key = np.zeros(len(parts[0]), dtype=np.uint64)
    for part in parts:
        key = (key ^ part.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    return key.astype(np.int64)
