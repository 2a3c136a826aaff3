"""Steps that nothing marks: where the same sequence of launches starts over and over.

The autocorrelation says how long the sequence is, not where it starts: any rotation of a loop is as periodic. What tells is
what programs do between two rounds: wait, read a result, update the weights, fetch the next input.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from traceq.analysis.steps.parts import LIKE, LONG, SHORT, LaunchPart, split_into_parts
from traceq.analysis.steps.regular import (
    LEAST_ROUNDS,
    Loop,
    Regular,
    find_regular,
    find_stretch,
    is_regular,
    split_into_loops,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy.typing as npt
    import pyarrow as pa

    from traceq.analysis.nesting.stack import Integers

    Flags = npt.NDArray[np.bool_]

# Of all launches, or of the GPU's busy time, inside rounds.
_LEAST_COVERAGE = 0.5
# Of the time in which kernels compute, inside rounds.
_LEAST_COMPUTING = 0.05
# A pause is the one between rounds when it is so many times the next longest.
_LONGER = 2
# Of all launches in whole rounds, when the rounds are all that there is.
_ALL = 0.95
# Of a round: a result that is read so soon after the update is the last that a step does, an input the first of the next.
_SOON = 0.1
# Of a step's launches; more is the optimizer's own loop over weights.
_MOST_UPDATES = 0.5
# Kinds of rounds that take turns.
_MOST_KINDS = 8
# With the host so many rounds ahead of the GPU, its own times pace nothing.
_FAR_AHEAD = 2
# So much shorter than the median is a round that the host only puts into the queue.
_HASTE = 0.1

_OTHER_BEFORE = "other work before the first"
_AFTER_UPDATE = "after the update"
_AFTER_READ = "after a copy to the host"
_BEFORE_INPUT = "before a copy to the GPU"


class Launches(NamedTuple):
    """The rows of launch_sequence.sql as arrays, an element per launch; times in ns.

    `number` is equal for equal launches. `is_aside` is whether it is on another stream than most; `is_compute`, a kernel that
    computes; `is_set_up`, a memset or copy to the GPU alone; `thread_id` is -1 where unknown.
    """

    number: Integers
    thread_id: Integers
    ts: Integers
    ts_end: Integers
    settled: Integers
    gpu_ts: Integers
    gpu_ts_end: Integers
    is_input: Flags
    is_read: Flags
    is_graph: Flags
    is_update: Flags
    is_aside: Flags
    is_compute: Flags
    is_set_up: Flags

    @classmethod
    def read(cls, batches: Iterable[pa.RecordBatch]) -> tuple[Launches, str]:
        """Return the launches in these batches, and the word for them ("" without any); filled batch by batch to save memory."""
        what = ""
        parts: dict[str, list[npt.NDArray[Any]]] = {
            name: [np.zeros(0, np.bool_ if name.startswith("is_") else np.int64)] for name in cls._fields
        }
        for batch in batches:
            what = what or batch.column("what")[0].as_py()
            for name, columns in parts.items():
                columns.append(batch.column(name).to_numpy(zero_copy_only=False).copy())
        return cls(*(np.concatenate(parts.pop(name)) for name in cls._fields)), what


class Recurrence(NamedTuple):
    """Rounds of equal launches.

    `parts` are the rounds and the launches between them, without gaps; `length` is the usual length of a round in
    launches; `share` of launches recur (0..1). `first` and `last` bound the stretch that recurs, [first, last), in
    whole rounds or not. `evidence` is words for what shows where a round starts; `is_sure`: a round does what ends or begins
    a step, and no layer. `inner` and `inner_share` are length and share of the shorter sequence inside a round, 0 for none;
    `inner_whole` is the number of these sequences if a round has no other launches but reads, else 0. `is_like_before`: most
    launches before the stretch are also in it, as in a first step that differs. `is_ahead`: the host runs rounds ahead, so
    that only GPU times pace the rounds.
    """

    parts: list[LaunchPart]
    length: int
    share: float
    first: int
    last: int
    evidence: tuple[str, ...]
    is_sure: bool
    inner: int
    inner_share: float
    inner_whole: int
    is_like_before: bool
    is_ahead: bool


def find_recurrence(launches: Launches) -> Recurrence | None:
    """Return the rounds of the sequence that recurs through most of the launches, or of GPU time; None without one."""
    found = find_regular(launches.number, launches.is_graph, np.where(launches.is_compute, launches.gpu_ts, -1))
    if found is None:
        return None
    inside = _find_inner(launches, found)
    has_ends = True
    if inside and _are_steps(launches, found, inside):
        found, inside, has_ends = inside, None, False
    is_all = len(found.kept) == len(launches.number)
    seen = launches if is_all else Launches._make(column[found.kept] for column in launches)
    first, last, lag = found.first, found.last, found.period.lag
    length = _round_length(seen, first, last, lag)
    loops = split_into_loops(seen.number, first, last, lag) if length == lag else ()
    rounds, evidence = (
        _rounds_of_loops(seen, loops) if loops else _find_rounds(seen, first, last, length, has_ends=has_ends)
    )
    rounds, first, last = _map_to_all(launches, found.kept, rounds, first, last)
    inner, inner_share, inner_whole = 0, 0.0, 0
    if inside and length == lag and launches.is_read[_launches_outside(found, inside)].all():
        inner, inner_share = inside.period.lag, inside.share
        inner_whole = int(((inside.kept >= first) & (inside.kept < last)).sum()) // inner
    elif length == lag and not loops:
        inner, inner_share = found.period.inner, found.period.inner_share
    if not _is_most(launches, rounds):
        return None
    return Recurrence(
        parts=rounds,
        length=int(np.median([part.last - part.first for part in rounds if part.is_round])),
        share=found.share,
        first=first,
        last=last,
        evidence=evidence,
        is_sure=_is_sure(launches, rounds) or _is_one_kernel(launches, rounds),
        inner=inner,
        inner_share=inner_share,
        inner_whole=inner_whole,
        is_like_before=_is_like(launches.number[max(first - length, 0) : first], launches.number[first:last]),
        is_ahead=_is_ahead(launches, rounds),
    )


def _find_inner(launches: Launches, found: Regular) -> Regular | None:
    """Return the sequence that recurs through at least half of the first round of `found`, for all rounds; None without one."""
    one = found.kept[found.first : found.first + found.period.lag]
    inside = find_regular(launches.number[one], launches.is_graph[one])
    if inside is None or inside.last - inside.first < _LEAST_COVERAGE * len(one):
        return None
    # the same launches in all rounds
    part = one[inside.kept[inside.first : inside.last]]
    kept = np.flatnonzero(np.isin(launches.number, launches.number[part]))
    first, last = np.searchsorted(kept, part[[0, -1]])
    return inside._replace(kept=kept, first=int(first), last=int(last) + 1)


def _are_steps(launches: Launches, found: Regular, inside: Regular) -> bool:
    """Return whether the sequence `inside` that recurs in a round of `found` is the step, as in an epoch or between two logs.

    Then it updates weights, by less than half of its launches (else it is the optimizer's own loop). Where nothing in the
    trace does, both it and the rest of the round take an input, or both read a result, or it takes an input and the rest
    only reads.
    """
    part = inside.kept[inside.first : inside.first + inside.period.lag]
    if launches.is_update[inside.kept].any():
        return bool(0 < launches.is_update[part].mean() < _MOST_UPDATES)
    rest = _launches_outside(found, inside)
    if launches.is_input[part].any() and launches.is_read[rest].all():
        return True
    return any(flags[part].any() and flags[rest].any() for flags in (launches.is_input, launches.is_read))


def _launches_outside(found: Regular, inside: Regular) -> Integers:
    """Return the indices of the launches of a round of `found` that are not in the stretch `inside`."""
    one = found.kept[found.first : found.first + found.period.lag]
    return np.setdiff1d(one, inside.kept[inside.first : inside.last], assume_unique=True)


def _map_to_all(
    launches: Launches, kept: Integers, rounds: list[LaunchPart], first: int, last: int
) -> tuple[list[LaunchPart], int, int]:
    """Return rounds, and the stretch [first, last), with indices into `kept` mapped to indices into all launches."""
    known = np.unique(launches.number[kept[first] : kept[last - 1] + 1])
    is_known = np.isin(launches.number, known)
    places = {
        place: _find_border(launches, is_known, kept, place) for part in rounds for place in (part.first, part.last)
    }
    found = [part for own in rounds for part in _place_part(own, places, kept)]
    return found, int(kept[first]), int(kept[last - 1]) + 1


def _place_part(part: LaunchPart, places: dict[int, int], kept: Integers) -> Iterator[LaunchPart]:
    """Yield a part at its place among all launches, not as a round if many other launches lie inside it.

    Where many other launches follow, these are a part of their own. `places` maps the bounds of parts in `kept` to indices.
    """
    start, own_end, end = places[part.first], int(kept[part.last - 1]) + 1, places[part.last]
    length = part.last - part.first
    is_round = part.is_round and own_end - start < LONG * length
    if end - own_end < SHORT * length:
        yield LaunchPart(start, end, is_round)
    else:
        yield LaunchPart(start, own_end, is_round)
        yield LaunchPart(own_end, end, is_round=False)


def _find_border(launches: Launches, is_known: Flags, kept: Integers, place: int) -> int:
    """Return the index at which, among the launches before a place of `kept`, a round ends and the next one starts.

    That is after a result is read, or before an input is copied. Before the first and after the last round only
    launches that also occur in rounds (`is_known`) are added to them.
    """
    start = int(kept[place - 1]) + 1 if place else 0
    end = int(kept[place]) if place < len(kept) else len(launches.number)
    gap = slice(start, end)
    reads = np.flatnonzero(launches.is_read[gap] & is_known[gap])
    if len(reads):
        return start + int(reads[-1]) + 1
    inputs = np.flatnonzero(launches.is_input[gap] & is_known[gap])
    if len(inputs):
        return start + int(inputs[0])
    return end if place < len(kept) else start


def _is_most(launches: Launches, rounds: list[LaunchPart]) -> bool:
    """Return whether rounds are at least half of the program, by launches or by GPU time.

    They are not if they compute next to nothing in a program that computes, or if they only set memory and fill it.
    """
    if all(launches.is_set_up[part.first : part.last].all() for part in rounds if part.is_round):
        return False
    durs = launches.gpu_ts_end - launches.gpu_ts
    computing = _time_in(np.where(launches.is_compute, durs, 0), rounds)
    if computing < _LEAST_COMPUTING * int(durs[launches.is_compute].sum()):
        return False
    inside = sum(part.last - part.first for part in rounds if part.is_round)
    is_most = _time_in(durs, rounds) >= _LEAST_COVERAGE * int(durs.sum()) > 0
    return inside >= _LEAST_COVERAGE * len(launches.number) or is_most


def _time_in(durs: Integers, rounds: list[LaunchPart]) -> int:
    """Return the sum of `durs` (by launch, ns) over the launches in rounds."""
    until = np.concatenate([[0], np.cumsum(durs)])
    return sum(int(until[part.last] - until[part.first]) for part in rounds if part.is_round)


def _round_length(launches: Launches, first: int, last: int, lag: int) -> int:
    """Return the length of a round in launches: `lag`, or a k-th of it if the host reads a result k times at equal distances.

    A loop whose rounds alternate (sweeps along x, then along y) recurs after two of them, while its reads come once a
    round.
    """
    reads = np.flatnonzero(launches.is_read[first : last - (last - first) % lag])
    places, counts = np.unique(reads % lag, return_counts=True)
    places = places[counts >= (last - first) // lag]
    distances = np.diff(np.append(places, places[0] + lag)) if len(places) > 1 else np.array([lag])
    return int(distances[0]) if np.all(distances == distances[0]) else lag


def _find_phase(
    launches: Launches, first: int, last: int, length: int, *, has_ends: bool
) -> tuple[int, tuple[str, ...]]:
    """Return the offset in the stretch [first, last) at which a round starts, 0 to length - 1, and the evidence, strongest first.

    `has_ends` is whether the loop starts and ends with the stretch; otherwise the stretch is only its most regular
    part.
    """
    votes: dict[int, list[tuple[int, str]]] = {}

    def vote(position: int, weight: int, why: str) -> None:
        votes.setdefault((position - first) % length, []).append((weight, why))

    if has_ends:
        for place, weight, why in _votes_of_ends(launches, first, last, length):
            vote(place, weight, why)
    pauses = _by_place(launches.ts[1:] - np.maximum.accumulate(launches.ts_end)[:-1], first, last, length)
    longest = int(np.argmax(pauses))
    second = np.partition(pauses, -2)[-2] if length > 1 else 0
    one = slice(first, first + length)
    places = {
        why: int(flagged[np.argmax(pauses[flagged])])
        for why, flagged in (
            (_AFTER_READ, _places_after(launches.is_read[one])),
            (_BEFORE_INPUT, _first_places(launches.is_input[one] & ~launches.is_aside[one])),
            (_AFTER_UPDATE, _places_after(launches.is_update[one])),
        )
        if len(flagged)
    }
    if _AFTER_UPDATE in places:
        places[_AFTER_UPDATE] = _place_near_update(places, pauses)
    for why, place in places.items():
        vote(first + place, 2 if why == _AFTER_UPDATE else 1, why)
    vote(first + longest, 2 if pauses[longest] > max(_LONGER * second, 0) else 1, "the longest pause of the host")
    # of equal ones the first that was given
    best = max(votes, key=lambda place: sum(weight for weight, _ in votes[place]))
    return best, tuple(why for _, why in sorted(votes[best], key=lambda vote: -vote[0]))


def _place_near_update(places: dict[str, int], pauses: Integers) -> int:
    """Return the place in a round after the update, or of a read or input that follows soon, with the longest pause before it.

    `places` maps evidence to places, `pauses` are by place, ns.
    """
    update, length = places[_AFTER_UPDATE], len(pauses)
    near = [place for place in places.values() if (place - update) % length <= _SOON * length]
    return max(near, key=lambda place: int(pauses[place]))


def _votes_of_ends(launches: Launches, first: int, last: int, length: int) -> Iterator[tuple[int, int, str]]:
    """Yield launches at which a round may start, judged by the ends of the loop [first, last): (index, weight, words)."""
    count = len(launches.number)
    if (last - first) % length == 0:
        yield first, 3, "whole rounds from the first to the last"
    elif first < length and last == count and count % length == 0:
        yield 0, 3, "whole rounds from the first to the last"
    else:
        inside = launches.number[first:last]
        if first > 0 and not _is_like(launches.number[max(first - length, 0) : first], inside):
            yield first, 3, _OTHER_BEFORE
        # a stretch that ends in launches of its own, as in a validation, goes on for as long as these are those of a round
        if not np.isin(launches.number[last : last + length], inside).all():
            yield last, 1, "other work after the last"


def _places_after(flags: Flags) -> Integers:
    """Return the places in a round right after flagged launches; after several in a row, the place after the last.

    `flags` are by place, and the first place follows the last.
    """
    return np.flatnonzero(np.roll(flags, 1) & ~flags)


def _first_places(flags: Flags) -> Integers:
    """Return the flagged places in a round; of several in a row, the first.

    `flags` are by place, and the first place follows the last.
    """
    return np.flatnonzero(flags & ~np.roll(flags, 1))


def _is_like(some: Integers, stretch_numbers: Integers) -> bool:
    """Return whether at least half of the launches `some` also occur in the stretch; false for no launches."""
    return bool(len(some) and np.isin(some, stretch_numbers).mean() >= LIKE)


def _find_rounds(
    launches: Launches, first: int, last: int, length: int, *, has_ends: bool
) -> tuple[list[LaunchPart], tuple[str, ...]]:
    """Return the rounds among all launches, found by those in [first, last), and the evidence for where they start.

    After the last round, rounds of equal length but of other launches (another variant) may follow.
    """
    phase, evidence = _find_phase(launches, first, last, length, has_ends=has_ends)
    start = first + phase
    templates = _find_templates(launches.number, start, last, length)
    updates = np.intersect1d(templates, launches.number[launches.is_update])
    found = split_into_parts(launches.number, start, templates, updates)
    end = found[-1].last if found else last
    rest = launches.number[end:]
    if len(rest) < LEAST_ROUNDS * length:
        return found, evidence
    low, high = find_stretch(rest, length)
    if high - low < LEAST_ROUNDS * length or not is_regular(rest[low:high], length):
        return found, evidence
    others = [
        part
        for part in _find_rounds(launches, end + low, end + high, length, has_ends=has_ends)[0]
        if part.first >= end
    ]
    if found and others and others[0].first > end:
        others.insert(0, LaunchPart(end, others[0].first, is_round=False))
    return found + others, evidence


def _rounds_of_loops(launches: Launches, loops: Sequence[Loop]) -> tuple[list[LaunchPart], tuple[str, ...]]:
    """Return the rounds of several loops with the launches between them.

    The evidence returned shows where the rounds of the longest loop start.
    """
    found: list[LaunchPart] = []
    evidence: dict[int, tuple[str, ...]] = {}
    for loop in loops:
        until = Launches._make(column[: loop.last] for column in launches)
        rounds, why = _find_rounds(until, loop.first, loop.last, loop.lag, has_ends=True)
        rounds = [part for part in rounds if part.first >= loop.first]
        if found and rounds and rounds[0].first > found[-1].last:
            found.append(LaunchPart(found[-1].last, rounds[0].first, is_round=False))
        found += rounds
        evidence[loop.last - loop.first] = why
    return found, evidence[max(evidence)]


def _find_templates(numbers: Integers, start: int, last: int, length: int) -> Integers:
    """Return typical rounds, a row each: those that recur most often in [start, last), 8 at most; the first if none recurs."""
    rows = numbers[start : start + (last - start) // length * length].reshape(-1, length)
    kinds, counts = np.unique(rows, axis=0, return_counts=True)
    usual: Integers = kinds[counts == counts.max()] if counts.max() > 1 else rows[:1]
    return usual[:_MOST_KINDS]


def _is_sure(launches: Launches, rounds: list[LaunchPart]) -> bool:
    """Return whether a round updates weights, reads a result or takes an input, or rounds make up nearly all launches.

    Layers do none of these, and the rest of a step follows them again and again.
    """
    lengths = [part.last - part.first for part in rounds]
    interruptions = len(lengths) - max(Counter(lengths).values())
    is_all = sum(lengths) >= _ALL * len(launches.number) and interruptions < LEAST_ROUNDS
    inside = next(slice(part.first, part.last) for part in rounds if part.is_round)
    return bool(
        is_all or any(flags[inside].any() for flags in (launches.is_update, launches.is_read, launches.is_input))
    )


def _is_one_kernel(launches: Launches, rounds: list[LaunchPart]) -> bool:
    """Return whether each round is a single kernel that computes: no layer is."""
    inside = [part for part in rounds if part.is_round]
    return all(part.last - part.first == 1 for part in inside) and bool(launches.is_compute[inside[0].first])


def _by_place(pauses: Integers, first: int, last: int, length: int) -> Integers:
    """Return the median pause before each place of a round, ns; `pauses` are those after each launch."""
    before = np.concatenate([pauses[first - 1 : first] if first else pauses[:0], pauses[first : last - 1]])
    rounds = np.full((-(-(last - first) // length), length), np.nan)
    rounds.ravel()[(0 if first else 1) : last - first] = before
    median: Integers = np.nan_to_num(np.nanmedian(rounds, axis=0)).astype(np.int64)
    return median


def _is_ahead(launches: Launches, rounds: list[LaunchPart]) -> bool:
    """Return whether the GPU paces the rounds, and not the host.

    It does if the host has launched the next two rounds when the GPU starts one (median over all). It also does if the GPU
    is still busy with a round when the next is launched, and the host is far faster with some rounds than with most
    while the GPU is not: the host fills the queue with them.
    """
    first = np.array([part.first for part in rounds])
    launched = np.searchsorted(launches.ts[first], launches.gpu_ts[first], side="right")
    if np.median(launched - np.arange(1, len(first) + 1)) >= _FAR_AHEAD:
        return True
    on_host, on_gpu = _measure_haste(launches.ts[first]), _measure_haste(launches.gpu_ts[first])
    is_busy = launches.gpu_ts_end[first[1:] - 1] > launches.ts[first[1:]]
    return on_host > _HASTE and on_gpu < on_host / _LONGER and bool(is_busy.mean() > 0.5)  # noqa: PLR2004 - most


def _measure_haste(starts: Integers) -> float:
    """Return by which share (0..1) the shortest round is shorter than the median; 0 for fewer than two starts."""
    lengths = np.diff(starts)
    median = np.median(lengths) if len(lengths) else 0.0
    return float((median - lengths.min()) / median) if median > 0 else 0.0
