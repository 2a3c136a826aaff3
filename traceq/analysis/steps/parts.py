"""A sequence of launches cut into rounds, and what lies between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from traceq.analysis.nesting.stack import Integers

# Of the launches of a round, in their places; of a longer or shorter one, in any.
LIKE = 0.5
# So like a round that none of its own layers is more so.
_SURE = 0.99
# Rounds: what interrupts one and is shorter makes it longer, and one that differs is no longer than so many.
_SHORT, LONG = 0.5, 2


class Part(NamedTuple):
    """Launches [first, last): a round, or other work between rounds."""

    first: int
    last: int
    is_round: bool


def parts(numbers: Integers, start: int, templates: Integers, updates: Integers) -> list[Part]:
    """The rounds before and after `start`, where one starts, with what lies between, without gaps.

    `templates` is what rounds look like, one a row, all of one length. A round that a few launches interrupt is longer by them;
    one that differs is a round as well while it is about as long and made of the same launches. `updates` are launches of which
    each round has one, if there are any: a validation, as like a step as its forward passes are long, has none.
    """
    count = len(numbers)
    backwards = _walk(numbers[::-1], count - start, templates[:, ::-1], updates)
    before = [Part(count - part.last, count - part.first, part.is_round) for part in reversed(backwards)]
    return before + _walk(numbers, start, templates, updates)


def _walk(numbers: Integers, start: int, templates: Integers, updates: Integers) -> list[Part]:
    """The parts from `start` on; they end with the last round."""
    length = templates.shape[1]
    places = np.flatnonzero(np.isin(numbers, templates[:, 0]))
    found: list[Part] = []
    while start + length <= len(numbers):
        again = _next_round(numbers, places[np.searchsorted(places, start) :], templates, updates)
        if again is None:
            break
        if again == start:
            found.append(Part(start, start + length, is_round=True))
            start += length
            continue
        between = numbers[start:again]
        if found and len(between) < _SHORT * length:
            found[-1] = found[-1]._replace(last=again)
        else:
            is_alike = len(between) < LONG * length and _overlap(between, templates[0], updates) >= LIKE
            found.append(Part(start, again, is_round=is_alike))
        start = again
    return _ended(found, numbers, templates)


def _ended(found: list[Part], numbers: Integers, templates: Integers) -> list[Part]:
    """The parts with the last round as long as it takes to its usual last launch, where others come before that."""
    if not found or numbers[found[-1].last - 1] in templates[:, -1]:
        return found
    first, last, _ = found[-1]
    more = np.flatnonzero(np.isin(numbers[last : first + LONG * templates.shape[1]], templates[:, -1]))
    return [*found[:-1], found[-1]._replace(last=last + int(more[0]) + 1)] if len(more) else found


def _overlap(some: Integers, others: Integers, updates: Integers) -> float:
    """Share of launches that the two have in common, each as often as in both; 0 without an update."""
    if not _has_update(some, updates):
        return 0.0
    values, counts = np.unique(some, return_counts=True)
    common = sum(min(count, int((others == value).sum())) for value, count in zip(values, counts, strict=True))
    return float(common / max(len(some), len(others)))


def _has_update(launches: Integers, updates: Integers) -> bool:
    return not len(updates) or bool(np.isin(launches, updates).any())


def _next_round(numbers: Integers, places: Integers, templates: Integers, updates: Integers) -> int | None:
    """The first of the places at which a round starts; of those less than a round behind it the one most like a round.

    Layers are like one another: a round is like itself a layer later, but not as much.
    """
    length = templates.shape[1]
    first = next((int(place) for place in places if _likeness(numbers, int(place), templates, updates) >= LIKE), None)
    if first is None or _likeness(numbers, first, templates, updates) >= _SURE:
        return first
    near = [int(place) for place in places if first <= place < first + length]
    return max(near, key=lambda place: _likeness(numbers, place, templates, updates))


def _likeness(numbers: Integers, start: int, templates: Integers, updates: Integers) -> float:
    """Share of launches from `start` on that are those of a template, in their places; 0 where too few, or no update, follow."""
    found = numbers[start : start + templates.shape[1]]
    if len(found) < templates.shape[1] or not _has_update(found, updates):
        return 0.0
    return float((templates == found).mean(axis=1).max())
