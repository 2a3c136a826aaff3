"""Steps that nothing marks: where the same sequence of launches starts over and over.

The autocorrelation says how long the sequence is, not where it starts: any rotation of a loop is as periodic. What tells is
what programs do between two rounds: wait, read a result, update the weights, fetch the next input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from traceq.analysis.steps.parts import LIKE, Part, parts
from traceq.analysis.steps.period import period, share_at

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from traceq.analysis.nesting.stack import Integers

    Flags = npt.NDArray[np.bool_]

# A launch that recurs counts as one, one that does not as minus four: the best-scoring stretch recurs by at least four fifths.
_NOT_RECURRING = 4
# Within that stretch; below it sequences of different steps were taken for one (docs/decisions/0017).
_LEAST_SHARE = 0.93
# Of all launches, or of the GPU's busy time, inside rounds.
_LEAST_COVERAGE = 0.5
# Fewer rounds are a coincidence when rounds are short.
_LEAST_ROUNDS = 3
_LONG = 8  # launches: two rounds of such a sequence are no coincidence
# A pause is the one between rounds when it is so many times the next longest.
_LONGER = 2
# Of all launches in whole rounds, when the rounds are all that there is.
_ALL = 0.95
# Kinds of rounds that take turns.
_MOST_KINDS = 8
# With the host so many rounds ahead of the GPU, its own times pace nothing.
_FAR_AHEAD = 2
# So far a round is from the median where rounds are not even.
_UNEVEN = 0.1

_OTHER_BEFORE = "other work before the first"
_AFTER_UPDATE = "after the update"
_AFTER_READ = "after a copy to the host"
_BEFORE_INPUT = "before a copy to the GPU"


class Launches(NamedTuple):
    """The rows of launch_sequence.sql as arrays, one element a launch."""

    number: Integers
    ts: Integers
    ts_end: Integers
    settled: Integers
    gpu_ts: Integers
    gpu_ts_end: Integers
    is_input: Flags
    is_read: Flags
    is_graph: Flags
    is_update: Flags

    @classmethod
    def of(cls, rows: pa.Table) -> Launches:
        """From a table with columns of these names."""
        return cls(*(rows[name].to_numpy() for name in cls._fields))


class Recurrence(NamedTuple):
    """Rounds of the same launches.

    `parts`: the rounds and what lies between them, without gaps; `length` of most rounds in launches; `share` of launches that
    recur; `first`, `last`: the stretch that recurs, whole rounds or not, [first, last);
    `evidence`: what shows where a round starts; `is_sure`: it is what ends or begins a step, and no layer;
    `inner`, `inner_share`: the shorter sequence inside a round, 0 for none;
    `is_like_before`: the launches before the stretch are mostly some of its own, as in a first step that differs;
    `is_ahead`: the host runs rounds ahead, so that only the GPU's times pace the rounds.
    """

    parts: list[Part]
    length: int
    share: float
    first: int
    last: int
    evidence: tuple[str, ...]
    is_sure: bool
    inner: int
    inner_share: float
    is_like_before: bool
    is_ahead: bool


def recurrence(launches: Launches) -> Recurrence | None:
    """The rounds of the sequence that recurs through most of the launches; None where none does."""
    first, last = 0, len(launches.number)
    found = period(launches.number)
    for _ in range(2):  # what surrounds the loop blurs its period: found again without it
        if found is None:
            return None
        start, end = _stretch(launches.number[first:last], found.lag)
        first, last = first + start, first + end
        found = period(launches.number[first:last])
    if found is None or not _is_loop(launches, first, last, found.lag):
        return None
    length = _split(launches, first, last, found.lag)
    rounds, evidence = _rounds(launches, first, last, length)
    if not _is_most(launches, rounds):
        return None
    return Recurrence(
        parts=rounds,
        length=length,
        share=share_at(launches.number[first:last], found.lag),
        first=first,
        last=last,
        evidence=evidence,
        is_sure=_is_sure(launches, rounds),
        inner=found.inner if length == found.lag else 0,
        inner_share=found.inner_share if length == found.lag else 0.0,
        is_like_before=_is_like_before(launches, first, last, length),
        is_ahead=_is_ahead(launches, rounds),
    )


def _stretch(numbers: Integers, lag: int) -> tuple[int, int]:
    """The stretch [first, last) of launches in which most recur `lag` launches later: the one of the largest score."""
    scores = np.where(numbers[:-lag] == numbers[lag:], 1, -_NOT_RECURRING)
    total = np.concatenate([[0], np.cumsum(scores)])
    lowest = np.minimum.accumulate(total)
    end = int(np.argmax(total - lowest))
    start = int(np.flatnonzero(total[: end + 1] == lowest[end])[-1])
    return start, end + lag


def _is_loop(launches: Launches, first: int, last: int, lag: int) -> bool:
    """Whether the stretch is long and regular enough to be a loop."""
    rounds = (last - first) / lag
    if rounds < (2 if lag >= _LONG else _LEAST_ROUNDS):
        return False
    if lag == 1 and not launches.is_graph[first]:
        return False
    return share_at(launches.number[first:last], lag) >= _LEAST_SHARE


def _is_most(launches: Launches, rounds: list[Part]) -> bool:
    """Whether rounds are most of what the program does: of its launches, or of the time the GPU works."""
    busy = np.concatenate([[0], np.cumsum(launches.gpu_ts_end - launches.gpu_ts)])
    inside = sum(part.last - part.first for part in rounds if part.is_round)
    time = sum(int(busy[part.last] - busy[part.first]) for part in rounds if part.is_round)
    return inside >= _LEAST_COVERAGE * len(launches.number) or time >= _LEAST_COVERAGE * int(busy[-1]) > 0


def _split(launches: Launches, first: int, last: int, lag: int) -> int:
    """The length of a round: `lag`, or a k-th of it where the host reads a result k times at equal distances.

    A loop whose rounds differ in turn (sweeps along x, then along y) recurs after two of them; its reads of a time step, or of an
    error, still come once a round.
    """
    reads = np.flatnonzero(launches.is_read[first : last - (last - first) % lag])
    places, counts = np.unique(reads % lag, return_counts=True)
    places = places[counts >= (last - first) // lag]
    distances = np.diff(np.append(places, places[0] + lag)) if len(places) > 1 else np.array([lag])
    return int(distances[0]) if np.all(distances == distances[0]) else lag


def _phase(launches: Launches, first: int, last: int, length: int) -> tuple[int, tuple[str, ...]]:
    """Where in the stretch a round starts, 0 to length - 1, and what shows it, strongest first."""
    votes: dict[int, list[tuple[int, str]]] = {}

    def vote(position: int, weight: int, why: str) -> None:
        votes.setdefault((position - first) % length, []).append((weight, why))

    count = len(launches.number)
    if (last - first) % length == 0:
        vote(first, 2, "whole rounds from the first to the last")
    elif first < length and last == count and count % length == 0:
        vote(0, 2, "whole rounds from the first to the last")
    else:
        if first > 0 and not _is_like_before(launches, first, last, length):
            vote(first, 3, _OTHER_BEFORE)
        if last < count:
            vote(last, 1, "other work after the last")
    pauses = _by_place(launches.ts[1:] - np.maximum.accumulate(launches.ts_end)[:-1], first, last, length)
    longest = int(np.argmax(pauses))
    second = np.partition(pauses, -2)[-2] if length > 1 else 0
    vote(first + longest, 2 if pauses[longest] > max(_LONGER * second, 0) else 1, "the longest pause of the host")
    inside = slice(first, first + length)
    for flags, offset, why in (
        (launches.is_update[inside], 1, _AFTER_UPDATE),
        (launches.is_read[inside], 1, _AFTER_READ),
        (launches.is_input[inside], 0, _BEFORE_INPUT),
    ):
        places = (np.flatnonzero(flags) + offset) % length
        if len(places):
            vote(first + int(places[np.argmax(pauses[places])]), 1, why)
    # of equal ones the first that was given
    best = max(votes, key=lambda place: sum(weight for weight, _ in votes[place]))
    return best, tuple(why for _, why in sorted(votes[best], key=lambda each: -each[0]))


def _is_like_before(launches: Launches, first: int, last: int, length: int) -> bool:
    """Whether most launches before the stretch, up to a round of them, are launches of the stretch."""
    before = launches.number[max(first - length, 0) : first]
    return bool(len(before) and np.isin(before, launches.number[first:last]).mean() >= LIKE)


def _rounds(launches: Launches, first: int, last: int, length: int) -> tuple[list[Part], tuple[str, ...]]:
    """The rounds of all launches, those of [first, last) being as the others, and what shows where they start.

    After the last of them rounds as long may follow of other launches (another variant).
    """
    phase, evidence = _phase(launches, first, last, length)
    start = first + phase
    found = parts(launches.number, start, _templates(launches.number, start, last, length))
    end = found[-1].last if found else last
    rest = launches.number[end:]
    if len(rest) < _LEAST_ROUNDS * length:
        return found, evidence
    low, high = _stretch(rest, length)
    if high - low < _LEAST_ROUNDS * length or share_at(rest[low:high], length) < _LEAST_SHARE:
        return found, evidence
    others = [part for part in _rounds(launches, end + low, end + high, length)[0] if part.first >= end]
    if found and others and others[0].first > end:
        others.insert(0, Part(end, others[0].first, is_round=False))
    return found + others, evidence


def _templates(numbers: Integers, start: int, last: int, length: int) -> Integers:
    """What rounds look like: the first ones from `start` on that recur, in turn where they differ in turn."""
    rows = numbers[start : start + (last - start) // length * length].reshape(-1, length)
    kinds, counts = np.unique(rows, axis=0, return_counts=True)
    usual: Integers = kinds[counts == counts.max()] if counts.max() > 1 else rows[:1]
    return usual[:_MOST_KINDS]


def _is_sure(launches: Launches, rounds: list[Part]) -> bool:
    """Whether each round updates weights, reads a result or takes an input, or rounds are all that there is.

    Layers do none of these, and the rest of a step follows them.
    """
    is_all = rounds[-1].last - rounds[0].first >= _ALL * len(launches.number)
    inside = next(slice(part.first, part.last) for part in rounds if part.is_round)
    return bool(
        is_all or any(flags[inside].any() for flags in (launches.is_update, launches.is_read, launches.is_input))
    )


def _by_place(pauses: Integers, first: int, last: int, length: int) -> Integers:
    """The median pause before each place of a round, ns."""
    before = np.concatenate([pauses[first - 1 : first] if first else pauses[:0], pauses[first : last - 1]])
    rounds = np.full((-(-(last - first) // length), length), np.nan)
    rounds.ravel()[(0 if first else 1) : last - first] = before
    median: Integers = np.nan_to_num(np.nanmedian(rounds, axis=0)).astype(np.int64)
    return median


def _is_ahead(launches: Launches, rounds: list[Part]) -> bool:
    """Whether the GPU paces the rounds, and not the host.

    So it is where the host has launched the next rounds, and the ones after, when the GPU starts with one (median over all), and
    where rounds are far more even on the GPU: a host that fills the queue launches the first rounds faster than the others.
    """
    first = np.array([part.first for part in rounds])
    launched = np.searchsorted(launches.ts[first], launches.gpu_ts[first], side="right")
    if np.median(launched - np.arange(1, len(first) + 1)) >= _FAR_AHEAD:
        return True
    on_host, on_gpu = _unevenness(launches.ts[first]), _unevenness(launches.gpu_ts[first])
    return on_host > _UNEVEN and on_gpu < on_host / _LONGER


def _unevenness(starts: Integers) -> float:
    """How far the length of any round is from their median, as a share of it."""
    lengths = np.diff(starts)
    median = np.median(lengths) if len(lengths) else 0.0
    return float(np.abs(lengths - median).max() / median) if median > 0 else 0.0
