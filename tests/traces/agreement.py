"""Comparisons whose failure shows the first rows that differ, not a hundred thousand that agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping

SHOWN = 3


def assert_same_rows(found: Iterable[Hashable], expected: Iterable[Hashable]) -> None:
    """Equal as multisets."""
    ours, theirs = Counter(found), Counter(expected)
    missing, surplus = theirs - ours, ours - theirs
    absent = f"{missing.total()} rows missing, e.g. {_take_first(missing)}"
    difference = f"{absent}; {surplus.total()} too many, e.g. {_take_first(surplus)}"
    assert ours == theirs, difference


def assert_same_values(found: Mapping, expected: Mapping) -> None:
    """Equal as mappings, named by key."""
    different = {key: (found.get(key), expected.get(key)) for key in {*found, *expected}}
    different = {key: values for key, values in different.items() if values[0] != values[1]}
    assert not different, f"{len(different)} keys differ (found, expected), e.g. {_take_first(different)}"


def _take_first(items: Iterable) -> list:
    return sorted(items.items() if isinstance(items, dict) else items, key=repr)[:SHOWN]
