"""When everything of a recorded program would have happened, had the host been held up or had GPU work taken longer.

A model of its own, with no import of traceq and much simpler than its replay. Times are ns of the raw file. Unchanged input comes
out as it was recorded, to the ns.

* **Host**: all threads of a process share one clock; what is inserted on one of them holds them all (a quota of CPU time does; in
  PyTorch the thread of the backward pass and the main one wait for each other). Between events it takes as long as recorded.
* **GPU work** starts at the latest of: its launch and its launch latency; the end of the work before it on its stream and the gap
  between them; the end of work on other streams that it was recorded to wait for. It takes as long as recorded, times its
  factor. A collective of several recorded ranks ends for all at once.
* **Waits** (synchronizations, blocking copies, launches into a full queue) end when their GPU work does, and as long after it as
  recorded.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from statistics import median

NEAR = 50_000  # ns within which an event follows from another: several launch latencies (5-10 us each)
RETURN = 10_000  # ns from the end of GPU work to the return of an inserted wait: as recorded ones take (5-20 us)
TAIL = 0.25  # of a kernel, its last blocks, beside which others start
QUEUE = 512  # launches ahead of the GPU from which a slow launch call waits for room: half of CUDA's queue of 1,024
SLOW = 5  # a launch call of a full queue is so many times as long as the median of all


@dataclass
class Work:
    """A kernel, copy or memset: where it ran, when, and when the call that launched it began and ended."""

    process: object
    stream: object
    start: int
    end: int
    launch: int | None = None
    launched: int | None = None
    thread: object = None
    collective: object = None
    factor: float = 1.0
    extra: int = 0  # ns that it takes more, beside the factor
    needs: list[tuple[int, int]] = field(default_factory=list)  # work on other streams, and the lag behind its end
    latency: int = 0
    gap: int = 0
    before: int | None = None

    @property
    def given(self) -> int:
        """When it was launched; what was launched before the capture, when it started."""
        return self.start if self.launch is None else self.launch


@dataclass
class Wait:
    """A call that holds the host until GPU work (numbers of it) is done; `least`: what it takes when none is left to wait for."""

    process: object
    start: int
    end: int
    works: tuple[int, ...]
    least: int
    lag: int = RETURN
    room: int | None = None  # it waits until no more than so much work is queued


@dataclass
class Insert:
    """What holds the host at a time: for `dur` ns, or (`dur` None) until all GPU work launched so far is done."""

    process: object
    at: int
    dur: int | None
    new: tuple[int, int] = (0, 0)


class Clock:
    """From old to new times of a process: jumps where something was inserted, stretches where waits changed."""

    def __init__(self) -> None:
        self.old: list[int] = []
        self.before: list[int] = []
        self.after: list[int] = []

    def add(self, old: int, before: int, after: int) -> None:
        """From here on `after`; what ends here ends at `before`."""
        self.old.append(old)
        self.before.append(before)
        self.after.append(after)

    def now(self, old: int) -> int:
        """The new time after all knots so far."""
        return self.after[-1] + old - self.old[-1] if self.old else old

    def start(self, old: int) -> int:
        """The new time of what begins at an old one."""
        return self._shift_at(old, bisect_right(self.old, old) - 1)

    def end(self, old: int) -> int:
        """The new time of what ends at an old one: before anything inserted there."""
        place = bisect_left(self.old, old)
        if place < len(self.old) and self.old[place] == old:
            return self.before[place]
        return self._shift_at(old, place - 1)

    def _shift_at(self, old: int, place: int) -> int:
        if place < 0:
            return old
        if place + 1 == len(self.old):
            return self.after[place] + old - self.old[place]
        length, new = self.old[place + 1] - self.old[place], self.before[place + 1] - self.after[place]
        if length == new or not length:
            return self.after[place] + old - self.old[place]
        return self.after[place] + (old - self.old[place]) * new // length


@dataclass
class Retimed:
    """The clock of each process, and start and end of each work."""

    clocks: dict[object, Clock]
    starts: list[int]
    ends: list[int]


def explain(works: Sequence[Work], event_waits: Sequence[tuple[object, object, int]]) -> None:
    """Give each work its latency, gap, predecessor, and what it waits for on other streams.

    `event_waits`: process, thread, time of calls that let a stream wait for an event.
    """
    by_stream: dict[object, list[int]] = defaultdict(list)
    for number in sorted(range(len(works)), key=lambda number: (works[number].start, works[number].end, number)):
        work = works[number]
        line = by_stream[work.process, work.stream]
        work.before = line[-1] if line else None
        if (
            work.launch is None and work.before is not None
        ):  # its call is not in the file: it came with the work before it
            work.launch = works[work.before].launch
        line.append(number)
    idle, gaps = [], []
    for work in works:
        free = works[work.before].end if work.before is not None else work.start - NEAR
        launch = work.start if work.launch is None else work.launch
        if free <= launch and work.launched is not None:
            idle.append(work.start - launch)
        elif launch + NEAR < free:
            gaps.append(work.start - free)
    usual, usual_gap = (int(median(idle)) if idle else 0), (int(median(gaps)) if gaps else 0)
    ends = {stream: [works[number].end for number in line] for stream, line in by_stream.items()}
    for work in works:
        _explain(work, works, by_stream, ends, usual, usual_gap)
    _add_recorded_waits(works, by_stream, event_waits)


def _explain(work: Work, works: Sequence[Work], by_stream: dict, ends: dict, usual: int, usual_gap: int) -> None:
    """Which of launch, stream and other streams held it, and what the others would have taken at least."""
    launch = work.start if work.launch is None else work.launch
    free = works[work.before].end if work.before is not None else None
    own, gap = work.start - launch, work.start - free if free is not None else None
    was_queued = free is not None and free > launch
    held = (was_queued and gap is not None and gap > usual_gap + NEAR) or (not was_queued and own > usual + NEAR)
    if held:
        since = max(launch, free) if free is not None else launch
        other = _ends_before(work, works, by_stream, ends, since)
        if other is not None:
            work.needs.append((other, work.start - works[other].end))
            work.latency = min(own, usual)
            work.gap = min(gap, usual_gap) if gap is not None else 0
            return
    work.latency = min(own, usual) if was_queued else own
    work.gap = 0 if gap is None else gap if was_queued else min(gap, usual_gap)  # below 0 where they ran side by side


def _ends_before(work: Work, works: Sequence[Work], by_stream: dict, ends: dict, since: int) -> int | None:
    """The work on another stream of its process that ends nearest to its start.

    That is what it waited for, or what had left it no room: a kernel starts while the last blocks of a large one still run.
    """
    best: int | None = None
    for stream, line in by_stream.items():
        if stream[0] != work.process or stream[1] == work.stream:
            continue
        place = bisect_right(ends[stream], work.start)
        for number in line[max(place - 1, 0) : place + 1]:
            other = works[number]
            late = other.end - work.start
            fits = other.end >= since and -NEAR <= late <= TAIL * (other.end - other.start) and other.start < work.start
            is_earlier = other.launch is None or work.launch is None or other.launch < work.launch
            if fits and is_earlier and (best is None or abs(late) < abs(works[best].end - work.start)):
                best = number
    return best


def _add_recorded_waits(
    works: Sequence[Work], by_stream: dict, event_waits: Sequence[tuple[object, object, int]]
) -> None:
    """Work launched next after a wait for an event waits for what other streams had been given by then, if it did."""
    by_thread: dict[object, list[tuple[int, int]]] = defaultdict(list)
    for number, work in enumerate(works):
        if work.launch is not None:
            by_thread[work.process, work.thread].append((work.launch, number))
    for line in by_thread.values():
        line.sort()
    launched = {
        stream: sorted((works[number].launch, number) for number in line if works[number].launch is not None)
        for stream, line in by_stream.items()
    }
    for process, thread, time in event_waits:
        line = by_thread[process, thread]
        place = bisect_left(line, (time, -1))
        if place == len(line):
            continue
        work = works[line[place][1]]
        for stream, others in launched.items():
            last = bisect_left(others, (time, -1)) - 1
            if stream[0] != process or stream[1] == work.stream or last < 0:
                continue
            other = others[last][1]
            if works[other].end <= work.start and all(other != known for known, _ in work.needs):
                work.needs.append((other, min(work.start - works[other].end, RETURN)))


def full_queue(works: Sequence[Work], told: Collection[int] = ()) -> list[Wait]:
    """Launch calls that wait for room in the queue: they end when earlier work does. The others of their process would, too.

    `told`: numbers of work of whose launch the file says so.
    """
    waits = []
    usual = median(
        work.launched - work.launch for work in works if work.launch is not None and work.launched is not None
    )
    by_process: dict[object, list[int]] = defaultdict(list)
    for number, work in enumerate(works):
        if work.launch is not None and work.launched is not None:
            by_process[work.process].append(number)
    for process, line in by_process.items():
        line.sort(key=lambda number: works[number].launch or 0)
        ends = sorted((works[number].end, number) for number in line)
        found, prompt, most = len(waits), [], 0
        for place, number in enumerate(line):
            work = works[number]
            assert work.launch is not None
            assert work.launched is not None
            done = bisect_right(ends, (work.launch, len(works)))
            most = max(most, place + 1 - done)
            last = bisect_right(ends, (work.launched, len(works))) - 1
            is_slow = work.launched - work.launch >= SLOW * usual and place - done >= QUEUE
            if (is_slow or number in told) and last >= 0 and ends[last][0] > work.launch:
                lag = work.launched - ends[last][0]
                waits.append(Wait(process, work.launch, work.launched, (ends[last][1],), int(usual), lag))
            else:
                prompt.append(Wait(process, work.launch, work.launched, (), work.launched - work.launch))
        if len(waits) > found:
            waits += [replace(wait, room=most) for wait in (*waits[found:], *prompt)]
            del waits[found : len(waits) - len(line)]
    return waits


def retime_work(works: Sequence[Work], waits: Sequence[Wait], inserts: Sequence[Insert]) -> Retimed:
    """The new times. Collectives of several processes are gone through until they no longer change."""
    ranks = defaultdict(list)
    for number, work in enumerate(works):
        if work.collective is not None:
            ranks[work.collective].append(number)
    last = [
        max((works[each].start for each in ranks[work.collective]), default=0) if work.collective is not None else 0
        for work in works
    ]
    starts = [work.start for work in works]
    for _ in range(200):
        peers = [
            max((starts[each] for each in ranks[work.collective]), default=0) if work.collective is not None else None
            for work in works
        ]
        found = _Pass(works, peers, last).result(waits, inserts)
        if found.starts == starts:
            return found
        starts = found.starts
    raise ValueError("the collectives of the ranks do not settle")


class _Pass:
    """One pass over the host's events in the order of time; `peers`: when the last rank came to each collective, if known."""

    def __init__(self, works: Sequence[Work], peers: Sequence[int | None], last: Sequence[int]) -> None:
        self.works, self.peers, self.last = works, peers, last
        self.starts: list[int | None] = [None] * len(works)
        self.ends: list[int] = [0] * len(works)
        self.done: dict[object, int] = defaultdict(int)  # the end of all that a process has launched so far
        self.queued: dict[object, list[int]] = defaultdict(list)  # the ends of what had not ended when last looked at

    def result(self, waits: Sequence[Wait], inserts: Sequence[Insert]) -> Retimed:
        """The new times."""
        items: dict[object, list[tuple[int, int, int, Wait | Insert | None]]] = defaultdict(list)
        for number, wait in enumerate(waits):
            items[wait.process].append((wait.end, 0, number, wait))
        for number, insert in enumerate(inserts):
            items[insert.process].append((insert.at, 1, number, insert))
        for number, work in enumerate(self.works):
            items[work.process].append((work.given, 2, number, None))
        clocks: dict[object, Clock] = defaultdict(Clock)
        for process, line in items.items():
            for _, _, number, item in sorted(line, key=lambda each: each[:3]):
                if isinstance(item, Wait):
                    self._wait(item, clocks[process])
                elif isinstance(item, Insert):
                    self._insert(item, clocks[process])
                else:
                    self._launch(number, clocks[process])
        return Retimed(dict(clocks), [start or 0 for start in self.starts], self.ends)

    def _launch(self, number: int, clock: Clock) -> None:
        """What stands before it on its stream, launched before the capture, comes first."""
        line: list[int] = []
        each: int | None = number
        while each is not None and self.starts[each] is None:
            line.append(each)
            each = self.works[each].before
        for each in reversed(line):
            self._place(each, clock)
        process = self.works[number].process
        self.done[process] = max(self.done[process], self.ends[number])
        heappush(self.queued[process], self.ends[number])

    def _place(self, number: int, clock: Clock) -> None:
        work = self.works[number]
        start = clock.now(work.given) + work.latency
        if work.before is not None:
            start = max(start, self.ends[work.before] + work.gap)
        start = max([start, *(self.ends[other] + lag for other, lag in work.needs if self.starts[other] is not None)])
        dur = round((work.end - work.start) * work.factor) + work.extra
        peer = self.peers[number]
        if peer is not None:  # waiting for the last rank, then what it took from there on
            dur = max(peer - start, 0) + round((work.end - max(self.last[number], work.start)) * work.factor)
        self.starts[number], self.ends[number] = start, start + dur

    def _wait(self, wait: Wait, clock: Clock) -> None:
        if clock.old and clock.old[-1] > wait.start:
            raise ValueError(f"a wait at {wait.start} overlaps another, or something was inserted into it")
        start = clock.now(wait.start)
        end = start + wait.least
        if wait.works:
            end = max(end, max(self.ends[each] for each in wait.works) + wait.lag)
        if wait.room is not None:
            queued = self.queued[wait.process]
            while queued and (queued[0] <= end or len(queued) > wait.room):
                end = max(end, heappop(queued))
        if end - start != wait.end - wait.start:
            clock.add(wait.start, start, start)
            clock.add(wait.end, end, end)

    def _insert(self, insert: Insert, clock: Clock) -> None:
        at = clock.now(insert.at)
        end = at + insert.dur if insert.dur is not None else max(at, self.done[insert.process]) + RETURN
        insert.new = (at, end)
        clock.add(insert.at, at, end)


def find_awaited_work(
    works: Sequence[Work], candidates: Sequence[int], start: int, end: int
) -> tuple[tuple[int, ...], int]:
    """Of GPU work launched before a call what it waited for: the last to end within it; and how long after it the call ended."""
    inside = [number for number in candidates if start < works[number].end <= end]
    if not inside:
        return (), 0
    found = max(inside, key=lambda number: works[number].end)
    return (found,), end - works[found].end
