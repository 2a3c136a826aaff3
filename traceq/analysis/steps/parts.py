"""A sequence of launches cut into rounds, and what lies between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from traceq.analysis.nesting.stack import Integers

    Shares = npt.NDArray[np.float64]

# Of the launches of a round, in their places; of a longer or shorter one, in any.
LIKE = 0.5
# So like a round that none of its own layers is more so.
_SURE = 0.99
# Rounds: what interrupts one and is shorter makes it longer, and one that differs is no longer than so many.
SHORT, LONG = 0.5, 2
# Launches that are compared at once.
_TOGETHER = 1 << 20


class LaunchPart(NamedTuple):
    """Launches [first, last): a round, or other work between rounds."""

    first: int
    last: int
    is_round: bool


def split_into_parts(numbers: Integers, start: int, templates: Integers, updates: Integers) -> list[LaunchPart]:
    """Return the rounds before and after the index `start`, where a round starts, and the launches between rounds, without gaps.

    `numbers` are the launches, equal for equal ones; `templates` are typical rounds, a row each, of equal length. A round that
    few other launches interrupt gets longer by them; one that differs is still a round if it is about as long and made of the
    same launches. `updates` are launches of which each round has one, if there are any: a validation pass, otherwise like a
    step, has none.
    """
    count = len(numbers)
    backwards = _walk(numbers[::-1], count - start, templates[:, ::-1], updates)
    before = [LaunchPart(count - part.last, count - part.first, part.is_round) for part in reversed(backwards)]
    return before + _walk(numbers, start, templates, updates)


def _walk(numbers: Integers, start: int, templates: Integers, updates: Integers) -> list[LaunchPart]:
    """Return the parts from the index `start` on, up to the last round; parameters as of split_into_parts()."""
    length = templates.shape[1]
    rounds = _RoundFinder(numbers, templates, updates)
    found: list[LaunchPart] = []
    while start + length <= len(numbers):
        if regular := rounds.count_regular(start):
            found += [
                LaunchPart(start + place * length, start + (place + 1) * length, True) for place in range(regular)
            ]
            start += regular * length
            continue
        again = rounds.find_first(start)
        if again is None:
            break
        if again == start:
            found.append(LaunchPart(start, start + length, is_round=True))
            start += length
            continue
        between = numbers[start:again]
        if found and len(between) < SHORT * length:
            found[-1] = found[-1]._replace(last=again)
        else:
            is_alike = len(between) < LONG * length and _overlap_of(between, templates[0], updates) >= LIKE
            found.append(LaunchPart(start, again, is_round=is_alike))
        start = again
    return _extend_last_round(found, numbers, templates)


def _extend_last_round(found: list[LaunchPart], numbers: Integers, templates: Integers) -> list[LaunchPart]:
    """Return the parts with the last round extended to a template's last launch, if one follows within two lengths of a round."""
    if not found or numbers[found[-1].last - 1] in templates[:, -1]:
        return found
    first, last, _ = found[-1]
    more = np.flatnonzero(np.isin(numbers[last : first + LONG * templates.shape[1]], templates[:, -1]))
    return [*found[:-1], found[-1]._replace(last=last + int(more[0]) + 1)] if len(more) else found


def _overlap_of(some: Integers, others: Integers, updates: Integers) -> float:
    """Return the share of launches (0..1) that two sequences have in common, with counts; 0 if `some` lacks all `updates`."""
    if len(updates) and not np.isin(some, updates).any():
        return 0.0
    values, counts = np.unique(some, return_counts=True)
    common = sum(min(count, int((others == value).sum())) for value, count in zip(values, counts, strict=True))
    return float(common / max(len(some), len(others)))


class _RoundFinder:
    """Finds rounds in a sequence of launches by their likeness to templates, which are typical rounds."""

    def __init__(self, numbers: Integers, templates: Integers, updates: Integers) -> None:
        self._numbers = numbers
        self._templates = templates
        self._length = templates.shape[1]
        # So many places are looked at together.
        self._several = max(1, _TOGETHER // templates.size)
        # A round starts with the first launch of a template.
        starts = np.isin(numbers, templates[:, 0])
        starts[max(len(numbers) - self._length + 1, 0) :] = False
        if len(updates):
            before = np.concatenate([[0], np.cumsum(np.isin(numbers, updates))])
            starts[: len(before) - self._length] &= before[self._length :] > before[: -self._length]
        self._places = np.flatnonzero(starts)

    def count_regular(self, start: int) -> int:
        """Return how many rounds follow one another from `start` on that clearly match a template."""
        starts = np.arange(start, len(self._numbers) - self._length + 1, self._length)
        for low, high in self._split_range(len(starts)):
            unlike = np.flatnonzero(self._measure_likeness(starts[low:high]) < _SURE)
            if len(unlike):
                return low + int(unlike[0])
        return len(starts)

    def find_first(self, start: int) -> int | None:
        """Return the first index from `start` on at which a round starts; None without one.

        Of candidates within a round's length the most alike counts: as layers are like one another, a round is like
        itself a layer later, but less so.
        """
        places = self._places[np.searchsorted(self._places, start) :]
        for low, high in self._split_range(len(places)):
            likeness = self._measure_likeness(places[low:high])
            if (likeness >= LIKE).any():
                first = low + int(np.argmax(likeness >= LIKE))
                near = places[first : np.searchsorted(places, places[first] + self._length)]
                return int(near[0]) if likeness[first - low] >= _SURE else self._pick_best(near)
        return None

    def _pick_best(self, places: Integers) -> int:
        """Return the index, of those in `places`, whose following launches match a template best."""
        likeness = np.concatenate(
            [self._measure_likeness(places[low:high]) for low, high in self._split_range(len(places))]
        )
        return int(places[np.argmax(likeness)])

    def _split_range(self, count: int) -> Iterator[tuple[int, int]]:
        """Yield pieces [low, high) of the range from 0 to `count`, each twice as long as the one before, up to a limit."""
        low, size = 0, 8
        while low < count:
            high = min(low + min(size, self._several), count)
            yield low, high
            low, size = high, 2 * size

    def _measure_likeness(self, places: Integers) -> Shares:
        """Return for each index the share of following launches (0..1) that match the best template, place by place."""
        windows = self._numbers[places[:, None] + np.arange(self._length)]
        likeness: Shares = (windows[:, None, :] == self._templates).mean(axis=2).max(axis=1)
        return likeness
