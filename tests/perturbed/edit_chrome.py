"""Edits of Chrome / Kineto traces: the raw JSON is read, its events moved to new times, events added. No import of traceq."""

from __future__ import annotations

import gzip
import json
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

from retimer import Clock, Insert, Retimed, Wait, Work, explain, find_awaited_work, full_queue

Event = dict[str, Any]

GPU = {"kernel", "Kernel", "gpu_memcpy", "Memcpy", "gpu_memset", "Memset"}
COPIES = {"gpu_memcpy", "Memcpy"}
CALLS = {"cuda_runtime", "cuda_driver", "Runtime"}
OPERATORS = {"cpu_op", "Operator"}
ON_GPU = {"gpu_user_annotation"}
SYNCS = re.compile(r"(cuda|hip)(Stream|Device|Event)Synchronize$")
EVENT_WAIT = re.compile(r"(cuda|hip)StreamWaitEvent")
# A call that copies from pageable memory comes back up to so long (ns) before the copy ends, its last piece being staged.
STAGED = 100_000
PROCESS = "process"  # a file of Kineto is one process


class Trace:
    """A raw trace: its events, its GPU work and waits as the model takes them."""

    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.name.endswith(".gz") else data).decode(errors="replace")
        self.document = json.loads(text, parse_float=Decimal, strict=False)
        self.events: list[Event] = self.document if isinstance(self.document, list) else self.document["traceEvents"]
        self.slices = [event for event in self.events if event.get("ph") == "X"]
        self.in_whole_us = all(isinstance(event["ts"], int) for event in self.slices)
        self.calls = [event for event in self.slices if event.get("cat") in CALLS]
        self.gpu = [event for event in self.slices if event.get("cat") in GPU]
        self.host = [event for event in self.slices if event.get("cat") not in GPU | ON_GPU | {"Trace"}]
        by_correlation = {read_correlation(call): call for call in reversed(self.calls)}
        self.launches = [by_correlation.get(read_correlation(event)) for event in self.gpu]
        self.works = [self._read_work(event, call) for event, call in zip(self.gpu, self.launches, strict=True)]
        explain(self.works, [(PROCESS, read_track(e), start(e)) for e in self.calls if EVENT_WAIT.match(e["name"])])
        self.waits = without_overlap([*self._list_waits(), *full_queue(self.works)])
        self.watchers = self._list_watchers()

    def _read_work(self, event: Event, call: Event | None) -> Work:
        launch, launched, thread = (start(call), read_end(call), read_track(call)) if call else (None, None, None)
        return Work(PROCESS, read_track(event), start(event), read_end(event), launch, launched, thread)

    def _list_waits(self) -> Iterable[Wait]:
        """Synchronizations, and copies that hold the host."""
        by_stream: dict[object, list[tuple[int, int]]] = defaultdict(list)
        of_call: dict[int, int] = {}
        copies: dict[object, list[tuple[int, int]]] = defaultdict(list)
        for number, (work, call) in enumerate(zip(self.works, self.launches, strict=True)):
            by_stream[work.stream].append((work.start if work.launch is None else work.launch, number))
            if call is not None and self.gpu[number]["cat"] in COPIES:
                of_call[id(call)] = number
                copies[work.thread].append((start(call), number))
        for line in (*by_stream.values(), *copies.values()):
            line.sort()
        for call in self.calls:
            begin, finish = start(call), read_end(call)
            if id(call) in of_call:
                number = of_call[id(call)]
                if self.works[number].end <= finish + STAGED and self.works[number].start < finish:
                    yield Wait(PROCESS, begin, finish, (number,), 2000, finish - self.works[number].end)
                continue
            if not SYNCS.match(call["name"]):
                continue
            streams = [line for line in by_stream.values() if bisect_left(line, (begin, -1))]
            given = [line[bisect_left(line, (begin, -1)) - 1][1] for line in streams]  # the last launched on each
            given = [number for number in given if self.works[number].end <= finish]
            if not call["name"].endswith("DeviceSynchronize"):
                given = self._of_stream(given, copies[read_track(call)], begin, finish)
            if given:
                yield wait_of(self.works, given, begin, finish)

    def _of_stream(self, given: list[int], copies: list[tuple[int, int]], begin: int, finish: int) -> list[int]:
        """The file does not say which stream: the one that it waited for, else that of the copy before it."""
        found, _ = find_awaited_work(self.works, given, begin, finish)
        if found:
            return list(found)
        place = bisect_left(copies, (begin, -1)) - 1
        if place < 0:
            return []
        stream = self.works[copies[place][1]].stream
        return [number for number in given if self.works[number].stream == stream]

    def _list_watchers(self) -> set[object]:
        """Threads that neither launch nor run operators: they look on (NCCL's watchdog), and are not held by the others."""
        active = {read_track(event) for event in self.host if event.get("cat") not in CALLS} | {
            w.thread for w in self.works
        }
        return {read_track(event) for event in self.calls} - active

    def steps(self) -> list[tuple[int, int]]:
        """The program's own marks of steps."""
        marks = [event for event in self.host if event["name"].startswith("ProfilerStep#")]
        return sorted((start(event), read_end(event)) for event in marks)

    def main_thread(self) -> object:
        """The thread that marks the steps, else the one with the most operators."""
        marks = [read_track(event) for event in self.host if event["name"].startswith("ProfilerStep#")]
        threads = marks or [read_track(event) for event in self.host if event.get("cat") in OPERATORS]
        return max(sorted(set(threads), key=str), key=threads.count)

    def moved(self) -> dict[int, object]:
        """What collectives move, by number of their GPU work: elements and type, by the kernel or the range around it."""
        asked = sorted(
            (start(e), read_end(e), str(e["args"]["Input Dims"]))
            for e in self.host
            if e["name"].startswith("nccl:") and "Input Dims" in e["args"]
        )
        found: dict[int, object] = {}
        for number, (event, work) in enumerate(zip(self.gpu, self.works, strict=True)):
            place = bisect_left(asked, (work.launch or 0, 0, "")) - 1
            if "In msg nelems" in event["args"]:
                found[number] = (event["args"]["In msg nelems"], event["args"].get("dtype"))
            elif work.launch is not None and place >= 0 and work.launch < asked[place][1]:
                found[number] = asked[place][2]
        return found

    def boundaries(self, thread: object) -> list[int]:
        """Where an operator of a thread begins that no other operator encloses: between two statements of the program."""
        found, until = [], 0
        events = [e for e in self.host if read_track(e) == thread and (e.get("cat") in OPERATORS and not is_mark(e))]
        for event in sorted(events, key=lambda event: (start(event), -read_end(event))):
            if start(event) >= until:
                found.append(start(event))
            until = max(until, read_end(event))
        return found

    def retimed(self, new: Retimed) -> None:
        """Move every event to its new time."""
        clock = new.clocks.get(PROCESS, Clock())
        moved = {
            (event["pid"], str(event["tid"]), start(event)): at for event, at in zip(self.gpu, new.starts, strict=True)
        }
        for event in self.events:
            if event.get("ph") in ("s", "f", "t") and "ts" in event:
                at = moved.get((event["pid"], str(event["tid"]), start(event)))
                self._put(event, clock.start(start(event)) if at is None else at)
            elif event.get("ph") not in ("X", "M") and "ts" in event:
                self._put(event, clock.start(start(event)))
        self._move_annotations(new)
        for event, begin, finish in zip(self.gpu, new.starts, new.ends, strict=True):
            self._put(event, begin, finish)
        last = max(new.ends, default=0)
        for event in self.slices:
            if event.get("cat") in GPU | ON_GPU:
                continue
            begin, finish = clock.start(start(event)), clock.end(read_end(event))
            if event.get("cat") == "Trace":
                finish = max(finish, last)
            elif read_track(event) in self.watchers:
                finish = begin + read_end(event) - start(event)
            self._put(event, begin, max(begin, finish))

    def _move_annotations(self, new: Retimed) -> None:
        """Ranges on the GPU go from the first of the work inside them to the last."""
        lines: dict[object, list[int]] = defaultdict(list)
        for number, work in enumerate(self.works):
            lines[work.stream].append(number)
        for event in self.slices:
            if event.get("cat") in ON_GPU:
                inside = [
                    number
                    for number in lines[read_track(event)]
                    if start(event) <= self.works[number].start and self.works[number].end <= read_end(event)
                ]
                if inside:
                    self._put(event, min(new.starts[each] for each in inside), max(new.ends[each] for each in inside))

    def shift_gpu(self, by: int) -> None:
        """Set the clock of the GPU apart from that of the host."""
        tracks = {read_track(event) for event in self.gpu}
        for event in self.events:
            if "ts" in event and event.get("ph") != "M" and read_track(event) in tracks:
                begin = start(event) + by
                self._put(event, begin, begin + read_end(event) - start(event) if "dur" in event else None)

    def _put(self, event: Event, begin: int, finish: int | None = None) -> None:
        event["ts"] = self.written(begin)
        if finish is not None:
            event["dur"] = self.written(finish - begin)

    def written(self, ns: int) -> int | Decimal:
        """A time as this file writes times."""
        return round(ns / 1000) if self.in_whole_us else Decimal(ns) / 1000

    def add_call(self, name: str, like: Event, begin: int, finish: int, category: str | None = None) -> Event:
        """A new event on the thread of another."""
        event = {**like, "name": name, "args": dict(like.get("args") or {})}
        event["cat"] = category or like["cat"]
        self._put(event, begin, finish)
        self.events.append(event)
        return event

    def free_id(self) -> int:
        """A correlation id that no event has."""
        used = [value for event in self.events for value in [read_correlation(event)] if isinstance(value, int)]
        return max(used, default=0) + 1

    def write(self, path: Path) -> None:
        """As gzipped JSON, times with all their digits."""
        text = json.dumps(self.document, default=lambda number: f"\x00{number:f}\x00")
        path.write_bytes(gzip.compress(re.sub(r'"\\u0000(-?[0-9.]+)\\u0000"', r"\1", text).encode(), 1))


def wait_of(works: list[Work], given: list[int], begin: int, finish: int) -> Wait:
    """A call that waits for work given before it."""
    found, lag = find_awaited_work(works, given, begin, finish)
    if found:
        return Wait(
            works[found[0]].process,
            begin,
            finish,
            tuple(given),
            min(finish - begin, 5000),
            lag,
        )
    last = max(works[number].end for number in given)
    return Wait(works[given[0]].process, begin, finish, tuple(given), finish - begin, min(10_000, finish - last))


def without_overlap(waits: Iterable[Wait]) -> list[Wait]:
    """Of waits that overlap in a process the first: one clock cannot wait twice."""
    kept: list[Wait] = []
    until: dict[object, int] = {}
    for wait in sorted(waits, key=lambda wait: (wait.start, -wait.end)):
        if wait.start >= until.get(wait.process, 0):
            kept.append(wait)
            until[wait.process] = wait.end
    return kept


def is_mark(event: Event) -> bool:
    """Whether an operator of an old trace is a mark of the program or of the loader."""
    return event["name"].startswith(("ProfilerStep#", "enumerate(DataLoader)", "Optimizer."))


def start(event: Event) -> int:
    """ns"""
    return to_ns(event["ts"])


def read_end(event: Event) -> int:
    """ns"""
    return to_ns(event["ts"]) + to_ns(event.get("dur", 0))


def to_ns(microseconds: int | Decimal) -> int:
    """ns of the file's microseconds."""
    return microseconds * 1000 if isinstance(microseconds, int) else int((microseconds * 1000).to_integral_value())


def read_track(event: Event) -> object:
    """The thread or stream of an event."""
    return event.get("pid"), str(event.get("tid"))


def read_correlation(event: Event) -> object:
    """What joins a call with its GPU work."""
    return (event.get("args") or {}).get("correlation")


def inserts_at(times: Iterable[tuple[int, int | None]]) -> list[Insert]:
    """Inserts into the one process of such a file: when, and how long (None: until the GPU is dry)."""
    return [Insert(PROCESS, at, dur) for at, dur in times]
