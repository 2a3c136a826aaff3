"""Builds the flame graph of the difference of two sides: the call paths of both, matched by name, per step."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from traceq.reports.build_flame import paths_of
from traceq.reports.call_paths import Numbers
from traceq.reports.flame import FlameDifference, FramePair, NamedChange, TimeChange
from traceq.runs.compare.causes import part_interval
from traceq.runs.compare.known_noise import KnownNoise, assume_noise
from traceq.runs.compare.match import MatchPiece
from traceq.runs.compare.names import canonical_name, stable_name
from traceq.runs.compare.side import keep_kind, kinds_of, steps_of
from traceq.runs.run import Run
from traceq.runs.statistics import Statistic

if TYPE_CHECKING:
    import duckdb

# Frames below this share of all host time and of all GPU time on both sides are merged, and more of them if there are too many.
_LEAST_SHARE, _FRAMES = 0.001, 2_000
_CHANGED = 10

# Steps are divided into so many batches at most, each of steps that follow one another: what batches differ by is noise.
_BATCHES = 8
# The typical step is the mean of the middle half, whose scatter is less than that of all steps (see causes.py).
_OF_MIDDLE_HALF = 2.0

# A thread is compared with so many others on either side that spend nearly as much time in a frame.
_NEIGHBOURS = 8

_ON_GPU = ("compute", "graph", "communication", "memset", "copy_h2d", "copy_d2h", "copy_other")
# Categories whose assumed noise host time and GPU work of several kinds have.
_HOST_TIME, _GPU_TIME = "host_operator", "compute"

# "train.py(12): main" is the same function when it moves to line 14, or to another folder.
_PLACE = re.compile(r"^(?:.*/)?([^/]*/[^/]*|[^/]*)\(\d+\): ")
_NUMBER = re.compile(r"\d+")


# Time of a thread in its outermost frames, ns per step, by kind and name.
_Times = dict[tuple[str, str], float]


class RunPaths(msgspec.Struct, frozen=True):
    """The call paths of a run (see paths_of), with the number and the kind of the steps in each batch.

    `is_typical` says whether the steps are the middle half of those counted.
    """

    run: Run
    paths: Sequence[Mapping[str, Any]]
    steps: Numbers
    kinds: tuple[str | None, ...]
    is_typical: bool


def read_run_paths(
    connection: duckdb.DuckDBPyConnection, trace_id: int, run: Run, statistic: Statistic
) -> RunPaths | None:
    """Read the call paths of the steps that the statistic averages; None without any.

    Steps of a server are divided into batches of one kind, so that one kind can be chosen later.
    """
    batch_of: dict[int, int] = {}
    kinds: list[str | None] = []
    for kind in kinds_of([run]) or (None,):
        steps = steps_of(run if kind is None else keep_kind(run, kind), statistic)
        for batch in np.array_split([step.step for step in steps], min(_BATCHES, len(steps))):
            batch_of |= dict.fromkeys(batch.tolist(), len(kinds))
            kinds.append(kind)
    found = paths_of(connection, trace_id, batch_of)
    if not any(path["host"] for path in found):
        return None
    steps_in = np.bincount(list(batch_of.values()), minlength=len(kinds))
    return RunPaths(run, found, steps_in, tuple(kinds), statistic == "typical")


class _Tree:
    """The call paths of runs in one tree: numbered from the root, 0, on, each after its parent."""

    def __init__(self) -> None:
        self.names = ["all"]
        self.kinds = ["all"]
        self.parents = [-1]
        self._numbers: dict[tuple[int, str, str], int] = {}
        self._threads: dict[int, _Times] = {}

    def add_run(self, found: RunPaths) -> list[int]:
        """Add the paths of a run and return the number of each; the name that a path has in the last run is kept."""
        numbers: list[int] = []
        threads = self._pair_threads(found)
        for path in found.paths:
            around = 0 if path["parent"] is None else numbers[path["parent"]]
            if path["kind"] == "thread":
                number = threads[path["path"]]
                self.names[number] = path["name"]
            else:
                number = self._number_frame(around, path["kind"], path["name"])
            numbers.append(number)
        return numbers

    def _number_frame(self, around: int, kind: str, name: str) -> int:
        key = (around, kind, _name_to_match(kind, name))
        number = self._numbers.setdefault(key, len(self.names))
        if number == len(self.names):
            self._append_frame(around, kind, name)
        self.names[number] = name
        return number

    def _append_frame(self, around: int, kind: str, name: str) -> None:
        self.names.append(name)
        self.kinds.append(kind)
        self.parents.append(around)

    def _pair_threads(self, found: RunPaths) -> dict[int, int]:
        """Return the number in the tree of each thread of a run, by its path; threads are paired by what runs in them.

        Threads of two runs have other ids, and often all the same name.
        """
        outermost: dict[int, _Times] = {path["path"]: {} for path in found.paths if path["kind"] == "thread"}
        for path in found.paths:
            if path["parent"] in outermost and path["host"]:
                key = (path["kind"], _name_to_match(path["kind"], path["name"]))
                outermost[path["parent"]][key] = path["host"] / found.steps.sum()
        paired: dict[int, int] = {}
        left, others = dict(outermost), dict(self._threads)
        while pairs := _pair_alike(left, others):
            paired |= pairs
            for thread, number in pairs.items():
                del left[thread], others[number]
        for thread, own in left.items():
            paired[thread] = len(self.names)
            self._append_frame(0, "thread", "")
            self._threads[paired[thread]] = own
        return paired


def _pair_alike(threads: Mapping[int, _Times], others: Mapping[int, _Times]) -> dict[int, int]:
    """Return threads and others in pairs, those that are most alike first; each is in one pair at most.

    Compared are those next to each other by their time in a frame, not all with all: there may be thousands. So some that
    are alike may be left, and form pairs in another call.
    """
    ranked, others_ranked = _rank_by_frame(threads), _rank_by_frame(others)
    near = {
        (thread, other)
        for frame in ranked.keys() & others_ranked.keys()
        for place, thread in enumerate(ranked[frame])
        for other in others_ranked[frame][max(0, place - _NEIGHBOURS) : place + _NEIGHBOURS + 1]
    }
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for _, thread, other in sorted((-_sum_shared_time(threads[one], others[two]), one, two) for one, two in near):
        if thread not in pairs and other not in taken:
            pairs[thread] = other
            taken.add(other)
    return pairs


def _rank_by_frame(threads: Mapping[int, _Times]) -> dict[tuple[str, str], list[int]]:
    """Return for each frame the threads that have it, those with most time in it first."""
    found: dict[tuple[str, str], list[int]] = {}
    for thread, times in threads.items():
        for frame in times:
            found.setdefault(frame, []).append(thread)
    for frame, having in found.items():
        having.sort(key=lambda thread: (-threads[thread][frame], thread))
    return found


def _sum_shared_time(times: _Times, others: _Times) -> float:
    """Return the time that both threads spend in the same frames, ns."""
    return sum(min(ns, others[frame]) for frame, ns in times.items() if frame in others)


def _name_to_match(kind: str, name: str) -> str:
    """Return the part of a frame's name that is the same in another run of the program, and in the next version of it."""
    if kind in _ON_GPU:
        return canonical_name(name)
    return stable_name(_PLACE.sub(r"\1: ", name) if kind == "python" else name)


class _Sums(msgspec.Struct, frozen=True):
    """Sums of a run by frame of the tree (rows) and batch of steps (columns): calls, ns of the host and of GPU work."""

    calls: Numbers
    host: Numbers
    gpu: Numbers
    steps: Numbers
    is_typical: bool


class _Judge(msgspec.Struct, frozen=True):
    """The runs of both sides, and the noise and level that tell a difference between them from chance."""

    sides: tuple[Sequence[_Sums], Sequence[_Sums]]
    noise: KnownNoise | None
    level: float

    def judge_change(self, category: str, sums: Sequence[Sequence[Numbers]]) -> TimeChange:
        """Return the difference of the ns per step; `sums` has for each run of both sides its ns by batch."""
        pieces = tuple(
            [
                _make_piece(category, run, number, len(runs), ns)
                for number, (run, ns) in enumerate(zip(runs, own, strict=True))
            ]
            for runs, own in zip(self.sides, sums, strict=True)
        )
        base, new = (round(sum((piece.dur for piece in side), Fraction(0))) for side in pieces)
        if not base and not new:
            return TimeChange(0, 0, 0)
        interval = part_interval((pieces[0], pieces[1]), (len(pieces[0]), len(pieces[1])), self.noise, self.level)
        return TimeChange(base, new, None if interval is None else (interval[1] - interval[0]) // 2)


def _make_piece(category: str, run: _Sums, number: int, runs: int, ns: Numbers) -> MatchPiece:
    """Make a piece of the run `number` of the `runs` on its side from its ns by batch."""
    steps, error = run.steps, None
    if len(steps) > 1:
        scatter = float((ns / steps).std(ddof=1)) / math.sqrt(len(steps))
        error = scatter * (_OF_MIDDLE_HALF if run.is_typical else 1.0) / runs
    mean = Fraction(int(ns.sum()), int(steps.sum()) * runs)
    return MatchPiece(category, None, None, None, Fraction(0), mean, number, error, max(1, len(steps) - 1))


def build_flame_difference(
    base: Sequence[RunPaths],
    new: Sequence[RunPaths],
    *,
    kind: str | None,
    noise: KnownNoise | None,
    level: float,
    most: int = _FRAMES,
) -> FlameDifference | None:
    """Build the flame graph of `new` against `base`, of at most `most` frames; None without call paths on either side.

    Runs of a side weigh the same. `kind` chooses steps of a server, None takes all. `noise` between runs and `level`
    are as in `compare`.
    """
    if not base or not new or not all(kind is None or kind in found.kinds for found in (*base, *new)):
        return None
    tree = _Tree()
    numbers = [tree.add_run(found) for found in (*base, *new)]
    runs = [_sum_run(tree, found, own, kind) for found, own in zip((*base, *new), numbers, strict=True)]
    judge = _Judge((runs[: len(base)], runs[len(base) :]), noise or assume_noise(len(base), len(new)), level)
    share = _LEAST_SHARE
    while len(groups := _group_frames(tree, judge.sides, share)) > most:
        share *= 1.5
    frames = tuple(_make_frame(tree, judge, group) for group in groups)
    return FlameDifference(frames, share, tuple(_find_changed(tree, judge)), level)


def _sum_run(tree: _Tree, found: RunPaths, numbers: Sequence[int], kind: str | None) -> _Sums:
    """Return the run's sums over steps of that kind; those of GPU work are with what is launched in frames inside."""
    sums = {name: np.zeros((len(tree.names), len(found.kinds)), np.int64) for name in ("count", "host", "own_gpu")}
    for path, number in zip(found.paths, numbers, strict=True):
        for name, own in path["in"].items():
            sums[name][number] += own
    for number in range(len(tree.names) - 1, 0, -1):
        sums["own_gpu"][tree.parents[number]] += sums["own_gpu"][number]
        if tree.parents[number] == 0:
            sums["host"][0] += sums["host"][number]
    chosen = [batch for batch, of_batch in enumerate(found.kinds) if kind in (None, of_batch)]
    calls, host, gpu = (matrix[:, chosen] for matrix in sums.values())
    return _Sums(calls, host, gpu, found.steps[chosen], found.is_typical)


class _Group(msgspec.Struct, frozen=True):
    """Frames of the tree that are one in the graph: one of its own, or several small ones; `parent` as in Frame."""

    members: list[int]
    parent: int
    is_small: bool


def _group_frames(tree: _Tree, sides: Sequence[Sequence[_Sums]], share: float) -> list[_Group]:
    """Return the frames of the graph: those with at least `share` of the time of a side, and what is smaller as one."""
    has_time, is_large = np.zeros((2, len(tree.names)), bool)
    for measure in ("host", "gpu"):
        times = np.max([_mean_of(runs, measure) for runs in sides], axis=0)
        has_time |= times > 0
        is_large |= (times >= share * times[0]) & (times > 0)
    found: list[_Group] = []
    place_of: dict[int, int] = {-1: -1}
    smaller: dict[int, list[int]] = {}
    for number, parent in enumerate(tree.parents):
        if parent not in place_of:
            continue  # inside one that is too small
        if is_large[number]:
            place_of[number] = len(found)
            found.append(_Group([number], place_of[parent], is_small=False))
        elif has_time[number]:
            smaller.setdefault(place_of[parent], []).append(number)
    return found + [_Group(members, parent, is_small=True) for parent, members in smaller.items()]


def _mean_of(runs: Sequence[_Sums], measure: str) -> Numbers:
    """Return the mean ns per step of all frames of the tree over the runs of a side."""
    means: Numbers = np.mean([getattr(run, measure).sum(axis=1) / run.steps.sum() for run in runs], axis=0)
    return means


def _make_frame(tree: _Tree, judge: _Judge, group: _Group) -> FramePair:
    first, members = group.members[0], group.members
    kind = "smaller" if group.is_small else tree.kinds[first]
    host, gpu = (
        judge.judge_change(
            category, [[getattr(run, measure)[members].sum(axis=0) for run in runs] for runs in judge.sides]
        )
        for measure, category in (("host", _HOST_TIME), ("gpu", kind if kind in _ON_GPU else _GPU_TIME))
    )
    base, new = (sum(run.calls[members].sum() / run.steps.sum() for run in runs) / len(runs) for runs in judge.sides)
    name = "(smaller)" if group.is_small else tree.names[first]
    return FramePair(name, kind, group.parent, float(base), float(new), host, gpu)


def _find_changed(tree: _Tree, judge: _Judge) -> Iterator[NamedChange]:
    """Yield the names whose own host time changed most and beyond noise, the largest change first."""
    keys: dict[tuple[str, str], int] = {}
    rows = np.array(
        [
            keys.setdefault((kind, _name_to_match(kind, name)), len(keys))
            for kind, name in zip(tree.kinds, tree.names, strict=True)
        ]
    )
    named = {row: number for number, row in enumerate(rows.tolist())}  # the last of each
    sums = [[_sum_own(tree, run, rows, len(keys)) for run in runs] for runs in judge.sides]
    base, new = (
        np.mean([own.sum(axis=1) / run.steps.sum() for own, run in zip(side, runs, strict=True)], axis=0)
        for side, runs in zip(sums, judge.sides, strict=True)
    )
    found = 0
    for row in np.argsort(-np.abs(new - base), kind="stable").tolist():
        number = named[row]
        if tree.kinds[number] in ("all", "thread") or base[row] == new[row]:
            continue
        own = judge.judge_change(_HOST_TIME, [[of_run[row] for of_run in side] for side in sums])
        if not own.is_noise:
            yield NamedChange(tree.names[number], tree.kinds[number], own)
            found += 1
        if found == _CHANGED:
            return


def _sum_own(tree: _Tree, run: _Sums, rows: Numbers, size: int) -> Numbers:
    """Return the run's host ns by batch without those of frames inside, summed by row."""
    own = run.host.copy()
    np.subtract.at(own, np.array(tree.parents[1:], np.int64), run.host[1:])
    found = np.zeros((size, own.shape[1]), np.int64)
    np.add.at(found, rows, own)
    return found
