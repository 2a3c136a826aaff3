"""Chrome traces written again in another way that means the same, or whose effect on every report is known."""

from __future__ import annotations

import gzip
import json
import random
import re
import zipfile
from collections.abc import Callable
from copy import deepcopy
from decimal import Decimal
from pathlib import Path
from typing import Any

Trace = dict[str, Any]
Change = Callable[[Trace], Trace]
DAY_US = Decimal(86_400_000_000)


def load_trace(path: Path) -> Trace:
    """Return the file's object; numbers with a fraction are decimals, so that they can be written as they were."""
    content = path.read_bytes()
    text = gzip.decompress(content) if path.suffix == ".gz" else content
    trace = json.loads(text, parse_float=Decimal)
    return trace if isinstance(trace, dict) else {"traceEvents": trace}


class _Exponent(Decimal):
    """A number that is written in thousands, with an exponent."""


def dump_trace(trace: Trace, **options: Any) -> str:
    """Return the trace as JSON text with every decimal as it is."""
    decimals: dict[str, str] = {}

    def mark(value: Any) -> str:
        text = f"{value.scaleb(-3):f}e3" if isinstance(value, _Exponent) else format(value, "f")
        decimals[f"@{len(decimals)}@"] = text
        return f"@{len(decimals) - 1}@"

    text = json.dumps(trace, default=mark, **options)
    parts = text.split('"@')
    return parts[0] + "".join(
        decimals["@" + number + "@"] + rest for number, rest in (part.split('@"', 1) for part in parts[1:])
    )


def _each_event(change: Callable[[dict[str, Any]], None]) -> Change:
    """Return a change of the whole trace that changes a copy of each event in place."""

    def changed(trace: Trace) -> Trace:
        trace = deepcopy(trace)
        for event in trace["traceEvents"]:
            change(event)
        return trace

    return changed


def reorder(seed: int) -> Change:
    """Return a change that shuffles the events; those with the same start keep their order."""

    def shuffled(trace: Trace) -> Trace:
        places = list({_time_of(event) for event in trace["traceEvents"]})
        random.Random(seed).shuffle(places)  # noqa: S311
        place = {ts: number for number, ts in enumerate(places)}
        return trace | {"traceEvents": sorted(trace["traceEvents"], key=lambda event: place[_time_of(event)])}

    return shuffled


def _time_of(event: dict[str, Any]) -> Decimal:
    return Decimal(event.get("ts", 0))


def sort_events(trace: Trace) -> Trace:
    """Order the events by start, as merging tools do."""
    return trace | {"traceEvents": sorted(trace["traceEvents"], key=_time_of)}


def shift(by: Decimal) -> Change:
    """Return a change that moves all events by `by` microseconds."""

    def move(event: dict[str, Any]) -> None:
        if "ts" in event:
            event["ts"] = Decimal(event["ts"]) + by

    return _each_event(move)


def _rename(member: str, rename: Callable[[int], int], categories: str | None = None) -> Change:
    """Return a change that renames whole numbers in an argument of all events."""

    def renamed(event: dict[str, Any]) -> None:
        arguments = event.get("args", {})
        if type(arguments.get(member)) is int and (categories is None or event.get("cat") in categories.split()):
            arguments[member] = rename(arguments[member])

    return _each_event(renamed)


def rename_correlations(trace: Trace) -> Trace:
    """Give every correlation id another number, in the same order."""
    names = ("correlation", "wait_on_cuda_event_record_corr_id")
    for name in names:
        trace = _rename(name, lambda number: number if number <= 0 else number + 1_000_000)(trace)
    return trace


def rename_externals(trace: Trace) -> Trace:
    """Give every external id another number."""
    return _rename("External id", lambda number: number if number <= 0 else number + 7_000_000)(trace)


_OF_HOSTS = ("cpu_op", "cuda_runtime", "operator", "runtime")


def rename_processes(trace: Trace) -> Trace:
    """Give host processes and threads other numbers; GPU tracks keep theirs, which are devices and streams."""
    hosts = {event["pid"] for event in trace["traceEvents"] if str(event.get("cat")).lower() in _OF_HOSTS}
    threads = {event.get("tid") for event in trace["traceEvents"] if event.get("pid") in hosts}

    def renamed(event: dict[str, Any]) -> None:
        if event.get("pid") in hosts:
            event["pid"] = _next_number(event["pid"])
            event["tid"] = _next_number(event.get("tid"))
        fwd = event.get("args", {}).get("Fwd thread id")
        if fwd and fwd in threads:
            event["args"]["Fwd thread id"] = _next_number(fwd)

    return _each_event(renamed)(trace)


def _next_number(value: Any) -> Any:
    return value + 1_000_000 if type(value) is int and value > 0 else value


def ids_as_text(trace: Trace) -> Trace:
    """Write pid and tid as texts, as files of 2021 do for some."""

    def quote(event: dict[str, Any]) -> None:
        for member in ("pid", "tid"):
            if type(event.get(member)) is int:
                event[member] = str(event[member])

    return _each_event(quote)(trace)


def times_as_text(trace: Trace) -> Trace:
    """Write ts and dur as texts, as Ascend does."""

    def quote(event: dict[str, Any]) -> None:
        for member in ("ts", "dur"):
            if member in event:
                event[member] = format(Decimal(event[member]), "f")

    return _each_event(quote)(trace)


def members_backwards(trace: Trace) -> Trace:
    """Write the members of every event, and of its arguments, in the opposite order."""
    events = []
    for event in trace["traceEvents"]:
        arguments = {"args": dict(reversed(event["args"].items()))} if isinstance(event.get("args"), dict) else {}
        events.append(dict(reversed((event | arguments).items())))
    return trace | {"traceEvents": events}


def list_first(trace: Trace) -> Trace:
    """Write the list of events before all other members of the file."""
    return {"traceEvents": trace["traceEvents"]} | trace


def list_last(trace: Trace) -> Trace:
    """Write the list of events after all other members of the file."""
    return {key: value for key, value in trace.items() if key != "traceEvents"} | {"traceEvents": trace["traceEvents"]}


def metadata_twice(trace: Trace) -> Trace:
    """Repeat the names of processes and threads at the end, as mergers do."""
    return trace | {
        "traceEvents": [*trace["traceEvents"], *(event for event in trace["traceEvents"] if event.get("ph") == "M")]
    }


def empty_events(trace: Trace) -> Trace:
    """Add empty events, as XProf's last element is one."""
    return trace | {"traceEvents": [*trace["traceEvents"], {}, {}]}


def foreign_members(trace: Trace) -> Trace:
    """Add members that a profiler of tomorrow may write, to the file and to every event."""
    changed = _each_event(
        lambda event: event.update(tomorrow={"x": [1, {"ts": 5, "name": "no event"}]}, tts=1, bp="e")
    )(trace)
    return {"tomorrow": [{"traceEvents": []}]} | changed


def without_flows(trace: Trace) -> Trace:
    """Leave out the arrows, which say no more than the ids do."""
    return trace | {"traceEvents": [event for event in trace["traceEvents"] if event.get("ph") not in ("s", "t", "f")]}


def other_counters(trace: Trace) -> Trace:
    """Add samples of a counter of another tool."""
    first = min(_time_of(event) for event in trace["traceEvents"] if event.get("ph") == "X")
    samples = [
        {"ph": "C", "name": "temperature", "pid": 77, "ts": first + number, "args": {"C": number}}
        for number in range(50)
    ]
    return trace | {"traceEvents": [*trace["traceEvents"], *samples]}


def begin_and_end(trace: Trace) -> Trace:
    """Write the slices of threads on which they nest as two events each, a beginning and an end."""
    threads: dict[tuple[Any, Any], list[dict[str, Any]]] = {}
    for event in trace["traceEvents"]:
        if event.get("ph") == "X" and str(event.get("cat")).lower() in _OF_HOSTS:
            threads.setdefault((event["pid"], event.get("tid")), [])
    for event in trace["traceEvents"]:
        if event.get("ph") == "X" and (event["pid"], event.get("tid")) in threads:
            threads[event["pid"], event.get("tid")].append(event)
    paired: list[dict[str, Any]] = []
    moved: set[int] = set()
    for events in threads.values():
        pairs = _pair_events(events)
        if pairs is not None:
            paired += pairs
            moved.update(map(id, events))
    return trace | {"traceEvents": [*(event for event in trace["traceEvents"] if id(event) not in moved), *paired]}


def _pair_events(events: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
    """Return the events of a thread as beginnings and ends in order; None where two overlap and neither holds the other."""
    pairs: list[dict[str, Any]] = []
    stack: list[tuple[Decimal, dict[str, Any]]] = []

    def close_until(ts: Decimal | None) -> None:
        while stack and (ts is None or stack[-1][0] <= ts):
            end, event = stack.pop()
            pairs.append({"ph": "E", "pid": event["pid"], "tid": event.get("tid"), "ts": end})

    for event in sorted(events, key=lambda event: (_time_of(event), -Decimal(event.get("dur", 0)))):
        start = _time_of(event)
        end = start + Decimal(event.get("dur", 0))
        close_until(start)
        if stack and stack[-1][0] < end:
            return None
        pairs.append({key: value for key, value in event.items() if key != "dur"} | {"ph": "B"})
        stack.append((end, event))
    close_until(None)
    return pairs


def move_epoch(trace: Trace) -> Trace:
    """Say that the clock of the events began a year later."""
    if "baseTimeNanoseconds" not in trace:
        return trace
    return trace | {"baseTimeNanoseconds": trace["baseTimeNanoseconds"] + 365 * int(DAY_US) * 1000}


def other_unit(trace: Trace) -> Trace:
    """Ask viewers for the other unit; times in the file are microseconds all the same."""
    return trace | {"displayTimeUnit": "ns" if trace.get("displayTimeUnit") == "ms" else "ms"}


def without_order(trace: Trace) -> Trace:
    """Leave out in which order viewers show the tracks."""
    kept = [event for event in trace["traceEvents"] if not str(event.get("name")).endswith("_sort_index")]
    return trace | {"traceEvents": kept}


def scale_times(trace: Trace) -> Trace:
    """Let everything take twice as long, counted from the first event: times since 1970 have no room for more."""
    first = min(_time_of(event) for event in trace["traceEvents"] if event.get("ph") == "X")

    def scale(event: dict[str, Any]) -> None:
        if event.get("ph") != "M" and "ts" in event:
            event["ts"] = first + 2 * (_time_of(event) - first)
        if "dur" in event:
            event["dur"] = 2 * Decimal(event["dur"])

    return _each_event(scale)(trace)


def _copy_events(trace: Trace, change: Callable[[dict[str, Any]], None]) -> Trace:
    """Return the trace with a changed copy of each event that has a place, with ids of their own."""
    copied = rename_externals(rename_correlations(trace))["traceEvents"]
    for event in copied:
        if event.get("ph") in ("s", "t", "f"):
            event["id"] = f"again {event.get('id')}"
        change(event)
    return trace | {"traceEvents": [*trace["traceEvents"], *copied]}


def double(trace: Trace) -> Trace:
    """Add the capture once more, later in time."""
    slices = [event for event in trace["traceEvents"] if event.get("ph") == "X" and event.get("cat") != "Trace"]
    first, last = min(map(_time_of, slices)), max(_time_of(event) + Decimal(event.get("dur", 0)) for event in slices)

    def move(event: dict[str, Any]) -> None:
        if event.get("ph") != "M" and "ts" in event:
            event["ts"] = _time_of(event) + last - first + 1000

    return _copy_events(trace, move)


def add_host_process(trace: Trace) -> Trace:
    """Add a process that has ranges and no GPU, during the whole capture."""
    long = [event for event in trace["traceEvents"] if event.get("ph") == "X" and Decimal(event.get("dur", 0)) > 1]
    place = {"ph": "X", "cat": "user_annotation", "name": "serve a request", "pid": 990001, "tid": 990001}
    served = [place | {"ts": event["ts"], "dur": event["dur"]} for event in long[:5]]
    return trace | {"traceEvents": [*trace["traceEvents"], *served]}


_OF_GPUS = ("kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation", "cuda_sync")


def add_gpu_process(trace: Trace) -> Trace:
    """Add a second process with a GPU of its own that does the same at the same time."""
    gpus = {event["pid"] for event in trace["traceEvents"] if str(event.get("cat")).lower() in _OF_GPUS}
    most = max(int(gpu) for gpu in gpus)

    def rename(event: dict[str, Any]) -> None:
        if event.get("pid") in gpus:
            event["pid"] = int(event["pid"]) + most + 1
            for name in ("device", "labels"):
                if type(event.get("args", {}).get(name)) is int:
                    event["args"][name] += most + 1
        elif event.get("ph") != "M":
            event["pid"], event["tid"] = _next_number(event.get("pid")), _next_number(event.get("tid"))

    described = trace.get("deviceProperties", [])
    further = [gpu | {"id": gpu["id"] + most + 1} for gpu in described if gpu["id"] <= most]
    known = {gpu["id"] for gpu in described}
    more = {"deviceProperties": [*described, *(gpu for gpu in further if gpu["id"] not in known)]} if described else {}
    return _copy_events(trace | more, rename)


MEANS_THE_SAME: dict[str, Change] = {
    "events shuffled": reorder(1),
    "events in order of start": sort_events,
    "correlation ids": rename_correlations,
    "external ids": rename_externals,
    "ids as text": ids_as_text,
    "times as text": times_as_text,
    "members backwards": members_backwards,
    "list first": list_first,
    "list last": list_last,
    "metadata twice": metadata_twice,
    "empty events": empty_events,
    "members of tomorrow": foreign_members,
    "no arrows": without_flows,
    "counters of another tool": other_counters,
    "processes and threads": rename_processes,
    "begin and end": begin_and_end,
    "a year later by the calendar": move_epoch,
    "another unit for viewers": other_unit,
    "no order of tracks": without_order,
}
"""Changes after which a report says the same."""

MOVED: dict[str, tuple[Change, int]] = {
    "a day later": (shift(DAY_US), int(DAY_US) * 1000),
    "before zero": (shift(-DAY_US), -int(DAY_US) * 1000),
}
"""Changes that move all times, and by how many ns."""


AMOUNTS: dict[str, Change] = {
    "twice as long": scale_times,
    "once more, later": double,
    "a process without a GPU": add_host_process,
    "a process with a GPU": add_gpu_process,
}
"""Changes that make what is counted or measured more, by name; test_amounts.py says of what, and how much."""


def write_pretty(trace: Trace, folder: Path) -> Path:
    """Write the trace with one member a line."""
    return _write(folder / "pretty.json", dump_trace(trace, indent=2).encode())


def write_dense(trace: Trace, folder: Path) -> Path:
    """Write the trace without blanks, with letters beyond ASCII as they are."""
    return _write(folder / "dense.json", dump_trace(trace, separators=(",", ":"), ensure_ascii=False).encode())


def write_with_bom(trace: Trace, folder: Path) -> Path:
    """Write the trace as tools on Windows do: a byte order mark, and two characters for a line break."""
    return _write(folder / "bom.json", b"\xef\xbb\xbf" + dump_trace(trace, indent=1).replace("\n", "\r\n").encode())


def write_gz(trace: Trace, folder: Path) -> Path:
    """Write the trace as gzip of two members, as pigz makes them."""
    content = dump_trace(trace).encode()
    half = len(content) // 2
    return _write(folder / "trace.json.gz", gzip.compress(content[:half], 1) + gzip.compress(content[half:], 1))


def write_zip(trace: Trace, folder: Path) -> Path:
    """Write the trace into a zip archive."""
    path = folder / "trace.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("log/trace.json", dump_trace(trace))
    return path


def write_exponents(trace: Trace, folder: Path) -> Path:
    """Write times as numbers with an exponent."""

    def write(event: dict[str, Any]) -> None:
        for member in ("ts", "dur"):
            if member in event:
                event[member] = _Exponent(event[member])

    return _write(folder / "exponents.json", dump_trace(_each_event(write)(trace)).encode())


def write_escaped(trace: Trace, folder: Path) -> Path:
    """Write every letter of texts as an escape; those of members' names stay, as no writer escapes them."""
    text = re.sub(
        r'"(?P<letters>[^"\\]*(?:\\.[^"\\]*)*)"(?P<is_name>\s*:)?',
        lambda quoted: (
            quoted[0]
            if quoted["is_name"] or "\\" in quoted["letters"]
            else '"' + "".join(f"\\u{ord(letter):04X}" for letter in quoted["letters"]) + '"'
        ),
        dump_trace(trace),
    )
    return _write(folder / "escaped.json", text.encode())


def _write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


WRITERS: dict[str, Callable[[Trace, Path], Path]] = {
    "pretty": write_pretty,
    "dense": write_dense,
    "gzip": write_gz,
    "zip": write_zip,
    "exponents": write_exponents,
    "escaped letters": write_escaped,
    "byte order mark": write_with_bom,
}
"""Ways to write a trace, after which a report says the same."""
