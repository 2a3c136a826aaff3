"""A ring of steps as a trace in the format of PyTorch's profiler (Chrome's, as Kineto writes it)."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType
from typing import Any

from traceq.annotate import names
from traceq.capture.ring import KeptStep, StackSpan
from traceq.capture.thread_stacks import name_function

Event = dict[str, Any]

# As rules name collections, which have no frame of their own.
_COLLECTION = "Python GC"

_STEP = names.step(0)[:-1]


def write_ring(path: str, steps: Sequence[KeptStep], training_thread: int, about: Mapping[str, object]) -> None:
    """Write the steps as a trace to `path`, with `about` under "traceq"; `training_thread` is the native id of the thread."""
    base = time.time_ns() - time.perf_counter_ns()
    pid = os.getpid()
    events = [
        {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": Path(sys.executable).name}},
        *_name_threads(pid),
        *(event for step in steps for event in _describe_step(step, training_thread, steps[-1].end)),
        *_draw_samples(steps),
    ]
    for event in events:
        event.setdefault("pid", pid)
        if "ts" in event:
            event["ts"] = _to_us(event["ts"] - steps[0].begin)
        if "dur" in event:
            event["dur"] = _to_us(event["dur"])
    document = {
        "schemaVersion": 1,
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": base + steps[0].begin,
        "traceq": {**about, "trim": _describe_part(steps, pid, training_thread)},
        "traceEvents": events,
        "traceName": path,
    }
    # The name at the end, on a line of its own, where files.save() looks for it.
    text = json.dumps(document).replace('"traceName": ', '\n"traceName": ')
    Path(path).write_text(f"{text[:-1]}\n}}\n", encoding="utf-8")


def _describe_part(steps: Sequence[KeptStep], pid: int, training_thread: int) -> dict[str, object]:
    """Return the steps as `traceq trim` describes those that it cut out of a trace: all of them count, with these ends."""
    thread = {"pid": str(pid), "tid": str(training_thread)}
    first = steps[0].begin
    return {
        "source": "mark",
        "unit": _STEP,
        "clock": "host",
        "is_followed": True,
        "training": thread,
        "steps": [
            {
                "name": names.step(step.number),
                "number": step.number,
                "ts": step.begin - first,
                "ts_end": step.end - first,
                **thread,
            }
            for step in steps
        ],
    }


def _to_us(ns: int) -> float:
    return ns / 1000


def _name_threads(pid: int) -> Iterator[Event]:
    for thread in threading.enumerate():
        if thread.native_id is not None:
            yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": thread.native_id, "args": {"name": thread.name}}


def _describe_step(step: KeptStep, training_thread: int, last: int) -> Iterator[Event]:
    """Yield events of the step's marks, with its counts as arguments of its own mark, of its collections and of its memory.

    Where marks are off, the step gets a mark over all of its time. `last` (ns) is the end of the trace.
    """
    own = names.step(step.number)
    marks = [_draw_mark(mark.name, mark.thread, mark.begin, mark.end, last) for mark in step.marks]
    if not any(mark["name"].startswith(_STEP) for mark in marks):
        marks.insert(0, _draw_mark(own, training_thread, step.begin, step.end, last))
    before, after = (use._asdict() for use in step.used)
    used = {name: after[name] - before[name] for name in after}
    for mark in marks:
        if mark["name"] == own:
            mark["args"] = {**used, **mark.get("args", {})}
    yield from marks
    for ts, thread, name in step.instants:
        yield {"ph": "X", "cat": "user_annotation", "name": name, "tid": thread, "ts": ts, "dur": 0}
    for pause in step.pauses:
        yield {
            "ph": "X",
            "cat": "python_function",
            "name": _COLLECTION,
            "tid": pause.thread,
            "ts": pause.begin,
            "dur": pause.end - pause.begin,
            "args": {"generation": pause.generation, "collected": pause.collected},
        }
    for device, counts in step.memory.items():
        known = {"Device Type": 1, "Device Id": device}
        totals = {"Total Allocated": counts["allocated"], "Total Reserved": counts["reserved"]}
        rest = {name: value for name, value in counts.items() if name not in ("allocated", "reserved")}
        yield {
            "ph": "i",
            "s": "t",
            "cat": "cpu_instant_event",
            "name": "[memory]",
            "tid": training_thread,
            "ts": step.end,
            "args": {**known, **totals, **rest},
        }


def _draw_mark(name: str, thread: int, begin: int, end: int | None, last: int) -> Event:
    event = {"ph": "X", "cat": "user_annotation", "name": name, "tid": thread, "ts": begin}
    return event | ({"dur": end - begin} if end is not None else {"dur": last - begin, "args": {"finished": False}})


def _draw_samples(steps: Sequence[KeptStep]) -> Iterator[Event]:
    """Yield a slice for each function that samples of a thread found in a row within a step, nested as they were called."""
    folders = [str(Path(folder).absolute()) for folder in sys.path if folder]
    for step in steps:
        for thread in {native_id for _, stacks in step.samples for native_id, _ in stacks}:
            for code, begin, end, count in _join_spans(step.spread_samples(thread)):
                yield {
                    "ph": "X",
                    "cat": "python_function",
                    "name": name_function(code, folders),
                    "tid": thread,
                    "ts": begin,
                    "dur": end - begin,
                    "args": {"samples": count},
                }


def _join_spans(spans: Sequence[StackSpan]) -> list[tuple[CodeType, int, int, int]]:
    """Return (function, begin, end (ns), number of samples) of functions that consecutive spans share, the outermost first."""
    opened: list[tuple[CodeType, int, int]] = []  # function, begin, number of its first sample
    found: list[tuple[CodeType, int, int, int]] = []
    last = spans[-1].end if spans else 0
    for number, (stack, begin, _) in enumerate([*spans, StackSpan((), last, last)]):
        common = 0
        while common < min(len(opened), len(stack)) and opened[common][0] is stack[common]:
            common += 1
        found += [(code, since, begin, number - first) for code, since, first in opened[common:]]
        opened[common:] = [(code, begin, number) for code in stack[common:]]
    return [piece for piece in found if piece[2] > piece[1]]
