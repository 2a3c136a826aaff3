"""What a strict viewer makes of a Chrome trace: the rules by which Perfetto's importer drops or misplaces events."""

from __future__ import annotations

import json
from collections import defaultdict
from decimal import Decimal
from typing import NamedTuple


class Slice(NamedTuple):
    """A slice as it is shown; times in ns, depth on its track."""

    process: str
    track: str
    name: str
    ts: int
    dur: int
    depth: int
    args: dict


class Shown(NamedTuple):
    """`complaints` says what the viewer would drop; arrows are (name, name) of the slices they connect.

    `path` are those arrows that have events of their own.
    """

    slices: list[Slice]
    counters: list[tuple[str, str, int, float]]
    arrows: list[tuple[str, str]]
    path: list[tuple[str, str]]
    complaints: list[str]

    def on(self, track):
        return [each for each in self.slices if each.track == track]


def load(text):
    """The file as strict JSON: no NaN, no key twice, times exact."""

    def constant(name):
        raise ValueError(f"{name} is no JSON")

    def pairs(items):
        keys = [key for key, _ in items]
        assert len(set(keys)) == len(keys), f"a key twice: {keys}"
        return dict(items)

    return json.loads(text, parse_constant=constant, object_pairs_hook=pairs, parse_float=Decimal)


def show(content):
    """Stack the events of each track as Perfetto does, sorted by time, of equals in the order of the file."""
    complaints = [complaint for event in content["traceEvents"] for complaint in _wrong_ids(event)]
    processes, tracks = _names(content["traceEvents"], complaints)
    slices, counters, arrows = [], [], _Arrows(complaints)
    stacks = defaultdict(list)
    timed = [(_ns(event["ts"]), event) for event in content["traceEvents"] if event["ph"] != "M"]
    for ts, event in sorted(timed, key=lambda each: each[0]):
        process = processes.get(event["pid"])
        complaints += [f"no name for process {event['pid']}"] if process is None else []
        if event["ph"] == "C":
            counters += [(process, f"{event['name']} {key}", ts, float(value)) for key, value in event["args"].items()]
            continue
        track = (event["pid"], event["tid"])
        if event["ph"] in ("s", "f"):
            arrows.join(event, stacks[track][-1][2] if stacks[track] else None)
            continue
        dur = 0 if event["ph"] == "i" else _ns(event["dur"])
        depth = _push(stacks[track], ts, dur, event["name"])
        if depth is None:
            complaints.append(f"overlaps: {event['name'][:100]!r} at {ts} for {dur} on {process}, {track}")
            continue
        name = tracks.get(track, str(event["tid"]))
        slices.append(Slice(process, name, event["name"], ts, dur, depth, event["args"]))
        arrows.bind(event)
    return Shown(slices, counters, arrows.drawn, arrows.joined, complaints)


def _names(events, complaints):
    """The names of processes by pid and of tracks by pid and tid."""
    processes, tracks = {}, {}
    for event in events:
        if event["ph"] == "M" and event["name"] in ("process_name", "thread_name"):
            is_process = event["name"] == "process_name"
            table, key = (processes, event["pid"]) if is_process else (tracks, (event["pid"], event["tid"]))
            complaints += [f"named twice: {key}"] if key in table else []
            table[key] = event["args"]["name"]
    return processes, tracks


def _push(stack, ts, dur, name):
    """The depth of a slice on its track; None when it overlaps another without nesting, which drops it."""
    while stack and (stack[-1][1] < ts or (stack[-1][1] == ts and (dur or stack[-1][1] > stack[-1][0]))):
        stack.pop()
    if stack and ts + dur > stack[-1][1]:
        return None
    stack.append((ts, ts + dur, name))
    return len(stack) - 1


class _Arrows:
    """Arrows lead from slices with flow_out to those with flow_in and the same bind_id, forward in time."""

    def __init__(self, complaints):
        self.drawn = []
        self.joined = []
        self._begun = {}
        self._complaints = complaints

    def bind(self, event):
        if event.get("flow_out"):
            self._begun[event["bind_id"]] = event["name"]
        elif event.get("flow_in") and event["bind_id"] in self._begun:
            self.drawn.append((self._begun[event["bind_id"]], event["name"]))
        elif event.get("flow_in"):
            self._complaints.append(f"an arrow from nowhere to {event['name']!r}")

    def join(self, event, name):
        """An event of its own is bound to the innermost slice of its track: the last that began there, as far as known."""
        if name is None:
            self._complaints.append(f"an arrow with no slice at {event['ts']}")
        elif event["ph"] == "s":
            self._begun[event["cat"], event["name"], event["id"]] = name
        elif (event["cat"], event["name"], event["id"]) not in self._begun or event.get("bp") != "e":
            self._complaints.append(f"an arrow from nowhere to {name!r}")
        else:
            self.joined.append((self._begun[event["cat"], event["name"], event["id"]], name))


def _ns(value):
    assert isinstance(value, Decimal), f"{value!r} has no decimals"
    assert value.as_tuple().exponent == -3, f"{value} has not three decimals"
    assert int(float(value) * 1000 + 0.5) == int(value * 1000), f"{value} is no exact double"
    assert value >= 0, f"{value} is before the trace"
    return int(value * 1000)


def _wrong_ids(event):
    ids = [event["pid"], event["tid"]]
    return [f"ids that mean something else: {ids}"] if not all(0 < each < 1 << 32 for each in ids) else []
