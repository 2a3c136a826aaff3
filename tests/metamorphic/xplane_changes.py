"""XSpaces written again in another way that means the same, or whose effect on every report is known.

A message is a list of fields [number, wire type, value]; the value is a number, bytes, or the fields of a message.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import xspace
from xspace import Ref, make_plane

Field = list[Any]
Message = list[Field]
Change = Callable[[Message], Message]
DAY_NS = 86_400 * 10**9

_VARINT, _FIXED64, _BYTES = 0, 1, 2
_SIGNED = 1 << 63

# message -> number of a field -> the message in it, as xplane.proto has them
_STAT: dict[int, Any] = {}
_EVENT = {4: _STAT}
_LINE = {4: _EVENT}
_ENTRY = {2: {5: _STAT}}
_PLANE = {3: _LINE, 4: _ENTRY, 5: _ENTRY, 6: _STAT}
_SPACE = {1: _PLANE}


def load_space(path: Path) -> Message:
    """Return the messages of the file."""
    content = path.read_bytes()
    return _decode(gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content, _SPACE)


def _decode(content: bytes, inner: dict[int, Any]) -> Message:
    fields, at = [], 0
    while at < len(content):
        key, at = _read_varint(content, at)
        number, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, at = _read_varint(content, at)
        else:
            size, at = (8, at) if wire == _FIXED64 else _read_varint(content, at)
            value, at = content[at : at + size], at + size
        fields.append([number, wire, _decode(value, inner[number]) if number in inner else value])
    return fields


def _read_varint(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while content[at] & 0x80:
        value |= (content[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
    return value | content[at] << shift, at + 1


def encode(message: Message) -> bytes:
    """Return the bytes of a message."""
    parts = []
    for number, wire, value in message:
        parts.append(_encode_varint(number << 3 | wire))
        if wire == _VARINT:
            parts.append(_encode_varint(value))
            continue
        content = encode(value) if isinstance(value, list) else value
        parts.append(content if wire == _FIXED64 else _encode_varint(len(content)) + content)
    return b"".join(parts)


def _encode_varint(value: int) -> bytes:
    parts = []
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def _fields_of(message: Message, number: int) -> Iterator[Field]:
    return (field for field in message if field[0] == number)


def _value_of(message: Message, number: int, otherwise: Any = 0) -> Any:
    return next((value for _, _, value in _fields_of(message, number)), otherwise)


def _set(message: Message, number: int, value: int) -> None:
    message[:] = [field for field in message if field[0] != number] + [[number, _VARINT, value % (1 << 64)]]


def _planes_of(space: Message) -> list[Message]:
    return [plane for _, _, plane in _fields_of(space, 1)]


def _lines_of(space: Message) -> list[Message]:
    return [line for plane in _planes_of(space) for _, _, line in _fields_of(plane, 3)]


def _of_each(find: Callable[[Message], list[Message]], change: Callable[[Message], None]) -> Change:
    """Return a change of a copy of the space that changes each of the messages found in it, in place."""

    def changed(space: Message) -> Message:
        space = deepcopy(space)
        for message in find(space):
            change(message)
        return space

    return changed


def _reverse(number: int) -> Callable[[Message], None]:
    """Return a function that writes the fields of a number in the opposite order, where they stand."""

    def reverse(message: Message) -> None:
        turned = iter([field for field in message if field[0] == number][::-1])
        message[:] = [next(turned) if field[0] == number else field for field in message]

    return reverse


def _names_first(plane: Message) -> None:
    """Write the fields of a plane but its name in the opposite order of their numbers: names come before the events."""
    plane.sort(key=lambda field: (field[0] != 2, -field[0]))


def renumber_names(plane: Message) -> None:
    """Give the names of events and of stats other ids."""
    for number, place in ((4, 1), (5, 1)):
        for _, _, entry in _fields_of(plane, number):
            _set(entry, place, _value_of(entry, place) + 5000)
            _set(_value_of(entry, 2), 1, _value_of(entry, place))
    for _, _, line in _fields_of(plane, 3):
        for _, _, event in _fields_of(line, 4):
            _set(event, 1, _value_of(event, 1) + 5000)
    for stat in _stats_of(plane):
        _set(stat, 1, _value_of(stat, 1) + 5000)
        if _value_of(stat, 7, None) is not None:
            _set(stat, 7, _value_of(stat, 7) + 5000)


def _stats_of(plane: Message) -> Iterator[Message]:
    yield from (stat for _, _, stat in _fields_of(plane, 6))
    for _, _, line in _fields_of(plane, 3):
        for _, _, event in _fields_of(line, 4):
            yield from (stat for _, _, stat in _fields_of(event, 4))
    for number in (4, 5):
        for _, _, entry in _fields_of(plane, number):
            yield from (stat for _, _, stat in _fields_of(_value_of(entry, 2, []), 5))


def _names_of_stats(plane: Message) -> dict[int, str]:
    return {
        _value_of(entry, 1): _value_of(_value_of(entry, 2, []), 2, b"").decode() for _, _, entry in _fields_of(plane, 5)
    }


def refer_to_texts(plane: Message) -> None:
    """Write the texts of stats as names of stats, and refer to them."""
    known = {name: number for number, name in _names_of_stats(plane).items()}
    for stat in list(_stats_of(plane)):
        text = _value_of(stat, 5, None)
        if text is None:
            continue
        name = text.decode()
        if name not in known:
            known[name] = max(known.values()) + 1
            described = [[1, _VARINT, known[name]], [2, _BYTES, text]]
            plane.append([5, _BYTES, [[1, _VARINT, known[name]], [2, _BYTES, described]]])
        stat[:] = [field for field in stat if field[0] != 5] + [[7, _VARINT, known[name]]]


def repeat_texts(plane: Message) -> None:
    """Write the texts that stats refer to into the stats."""
    names = _names_of_stats(plane)
    for stat in _stats_of(plane):
        number = _value_of(stat, 7, None)
        if number in names:
            stat[:] = [field for field in stat if field[0] != 7] + [[5, _BYTES, names[number].encode()]]


def renumber_correlations(plane: Message) -> None:
    """Give calls and their work other correlation ids."""
    ids = {number for number, name in _names_of_stats(plane).items() if name == "correlation_id"}
    for stat in _stats_of(plane):
        if _value_of(stat, 1) in ids:
            for field in stat:
                if field[0] in (3, 4) and field[2]:
                    field[2] += 1_000_000


def _renumber_line(line: Message) -> None:
    """Give a thread another number, in its name, too; streams have theirs in their name alone."""
    number = _value_of(line, 1)
    if not 0 < number < _SIGNED:
        return
    name = _value_of(line, 2, b"").decode()
    _set(line, 1, number + 1_000_000)
    for field in _fields_of(line, 2):
        field[2] = re.sub(rf"/{number}$", f"/{number + 1_000_000}", name).encode()


def _count_from_earlier(line: Message) -> None:
    """Let the times of a line's events count from 500 ns earlier."""
    _set(line, 3, _value_of(line, 3) - 500)
    for _, _, event in _fields_of(line, 4):
        _set(event, 2, _value_of(event, 2) + 500_000)


def _add_unknown(message: Message) -> None:
    """Add fields that a version of tomorrow may have, a number, a double and a message."""
    message += [[99, _VARINT, 5], [98, _FIXED64, bytes(8)], [97, _BYTES, b"\x0a\x03abc"]]


def add_unknown_fields(space: Message) -> Message:
    """Add fields of tomorrow to the space, its planes, lines, events and stats."""
    space = deepcopy(space)
    for plane in _planes_of(space):
        for stat in _stats_of(plane):
            _add_unknown(stat)
    events = [event for line in _lines_of(space) for _, _, event in _fields_of(line, 4)]
    for message in [space, *_planes_of(space), *_lines_of(space), *events]:
        _add_unknown(message)
    return space


def add_unknown_stats(plane: Message) -> None:
    """Add a stat that no version has had to every event."""
    number = max(_names_of_stats(plane), default=0) + 1
    plane.append([5, _BYTES, [[1, _VARINT, number], [2, _BYTES, [[1, _VARINT, number], [2, _BYTES, b"tomorrow"]]]]])
    for _, _, line in _fields_of(plane, 3):
        for _, _, event in _fields_of(line, 4):
            event.append([4, _BYTES, [[1, _VARINT, number], [5, _BYTES, b"?"]]])


def add_planes(space: Message) -> Message:
    """Add planes that hold no events of GPUs or threads, with an event in one."""
    line = [[1, _VARINT, 1], [2, _BYTES, b"a line"], [4, _BYTES, [[1, _VARINT, 1], [3, _VARINT, 10**9]]]]
    return [
        *space,
        [1, _BYTES, [[2, _BYTES, b"#tomorrow#"], [3, _BYTES, line]]],
        [1, _BYTES, [[2, _BYTES, b"/host:metadata"]]],
    ]


def _derive_line(plane: Message) -> None:
    """Add to a GPU's plane, beside its streams, a line that XProf works out from them, with the same events."""
    lines = [line for _, _, line in _fields_of(plane, 3) if _value_of(line, 2, b"").startswith(b"Stream #")]
    for line in lines:
        plane.append(
            [3, _BYTES, [[1, _VARINT, 77], [2, _BYTES, b"XLA Ops"], *(field for field in line if field[0] > 2)]]
        )


def _split_stream(plane: Message) -> None:
    """Write each stream of a GPU's plane as two lines of the same name, with every second event in each."""
    for field in list(_fields_of(plane, 3)):
        line = field[2]
        if not _value_of(line, 2, b"").startswith(b"Stream #"):
            continue
        head, events = ([part for part in line if (part[0] == 4) is is_event] for is_event in (False, True))
        field[2] = [*head, *events[::2]]
        plane.append([3, _BYTES, [*deepcopy(head), *events[1::2]]])


def _first_time(space: Message) -> int:
    """Return the ns from which most times count: the earliest of a line that has events."""
    return min(_value_of(line, 3) for line in _lines_of(space) if _value_of(line, 4, None))


def move_times(by: int) -> Change:
    """Return a change that moves all events by `by` ns."""

    def move(line: Message) -> None:
        _set(line, 3, _value_of(line, 3) + by)

    return _of_each(_lines_of, move)


def scale_times(space: Message) -> Message:
    """Let everything take twice as long, counted from the first line's time: times since 1970 have no room for more."""
    space, first = deepcopy(space), _first_time(space)
    for line in _lines_of(space):
        _set(line, 3, first + 2 * (_value_of(line, 3) - first))
        for _, _, event in _fields_of(line, 4):
            _set(event, 2, 2 * _value_of(event, 2))
            _set(event, 3, 2 * _value_of(event, 3))
    return space


def _turn_planes(space: Message) -> Message:
    space = deepcopy(space)
    _reverse(1)(space)
    return space


def _extent(space: Message) -> tuple[int, int]:
    """Return when the first event starts and when the last one ends, in ns."""
    spans = [
        (begin, begin + _value_of(event, 3))
        for line in _lines_of(space)
        for _, _, event in _fields_of(line, 4)
        for begin in [_value_of(line, 3) * 1000 + _value_of(event, 2)]
    ]
    return min(spans)[0] // 1000, max(end for _, end in spans) // 1000


def double(space: Message) -> Message:
    """Add the events of every line once more, later in time, with correlation ids of their own."""
    space = deepcopy(space)
    first, last = _extent(space)
    later = (last - first + 1_000_000) * 1000
    for plane in _planes_of(space):
        further = deepcopy(plane)
        renumber_correlations(further)
        for (_, _, line), (_, _, copied) in zip(_fields_of(plane, 3), list(_fields_of(further, 3)), strict=True):
            for field in list(_fields_of(copied, 4)):
                _set(field[2], 2, _value_of(field[2], 2) + later)
                line.append(field)
    return space


def add_host_process(space: Message) -> Message:
    """Add a thread of the host that has ranges and launches nothing."""
    first, last = _extent(space)
    name = [[1, _VARINT, 1], [2, _BYTES, [[1, _VARINT, 1], [2, _BYTES, b"serve a request"]]]]
    event = [[1, _VARINT, 1], [2, _VARINT, 0], [3, _VARINT, (last - first) * 1000]]
    line = [[1, _VARINT, 990001], [2, _BYTES, b"server/990001"], [3, _VARINT, first], [4, _BYTES, event]]
    return [*space, [1, _BYTES, [[2, _BYTES, b"/host:CPU"], [3, _BYTES, line], [4, _BYTES, name]]]]


def add_gpu_process(space: Message) -> Message:
    """Add planes of GPUs and of the host that are the same, as GPUs of the next numbers."""
    planes = deepcopy(_planes_of(space))
    gpus = [plane for plane in planes if _value_of(plane, 2, b"").startswith(b"/device:GPU:")]
    hosts = [plane for plane in planes if _value_of(plane, 2, b"").startswith(b"/host:CPU")]
    for plane in gpus:
        for field in _fields_of(plane, 2):
            field[2] = b"/device:GPU:%d" % (int(field[2].rsplit(b":", 1)[1]) + len(gpus))
    for plane in [*gpus, *hosts]:
        renumber_correlations(plane)
        for _, _, line in _fields_of(plane, 3):
            _renumber_line(line)
    return [*space, *([1, _BYTES, plane] for plane in [*gpus, *hosts])]


MEANS_THE_SAME: dict[str, Change] = {
    "planes backwards": _turn_planes,
    "lines backwards": _of_each(_planes_of, _reverse(3)),
    "events backwards": _of_each(_lines_of, _reverse(4)),
    "names before events": _of_each(_planes_of, _names_first),
    "ids of names": _of_each(_planes_of, renumber_names),
    "texts as names": _of_each(_planes_of, refer_to_texts),
    "texts in stats": _of_each(_planes_of, repeat_texts),
    "correlation ids": _of_each(_planes_of, renumber_correlations),
    "threads": _of_each(_lines_of, _renumber_line),
    "earlier zeros": _of_each(_lines_of, _count_from_earlier),
    "fields of tomorrow": add_unknown_fields,
    "stats of tomorrow": _of_each(_planes_of, add_unknown_stats),
    "planes of tomorrow": add_planes,
    "lines derived from streams": _of_each(_planes_of, _derive_line),
    "streams in two lines": _of_each(_planes_of, _split_stream),
}
"""Changes after which a report says the same."""

MOVED: dict[str, tuple[Change, int]] = {"a day later": (move_times(DAY_NS), DAY_NS)}
"""Changes that move all times, and by how many ns."""


AMOUNTS: dict[str, Change] = {
    "twice as long": scale_times,
    "once more, later": double,
    "a process without a GPU": add_host_process,
    "a process with a GPU": add_gpu_process,
}
"""Changes that make what is counted or measured more, by name; test_amounts.py says of what, and how much."""


def write_plain(space: Message, folder: Path) -> Path:
    """Write the space as it is."""
    path = folder / "changed.xplane.pb"
    path.write_bytes(encode(space))
    return path


def write_gz(space: Message, folder: Path) -> Path:
    """Write the space as gzip of two members."""
    content, path = encode(space), folder / "changed.xplane.pb.gz"
    half = len(content) // 2
    path.write_bytes(gzip.compress(content[:half], 1) + gzip.compress(content[half:], 1))
    return path


WRITERS: dict[str, Callable[[Message, Path], Path]] = {"gzip": write_gz}
"""Ways to write a space, after which a report says the same."""


def write_steps(path: Path) -> Path:
    """Write a space of eight marked steps on two streams: a copy, then kernels that threads launch and wait for."""
    streams: dict[tuple[int, str], list[Any]] = {(7, "Stream #7(Compute)"): [], (8, "Stream #8(MemcpyH2D)"): []}
    python: list[Any] = []
    for step in range(8):
        t = step * 900_000_000 + step * step * 1_000_000
        python += [
            ("train", t, 880_000_000, {"step_num": step, "_r": 1}),
            ("cuMemcpyHtoDAsync", t + 1_000_000, 20_000_000, {"correlation_id": 1000 + step}),
        ]
        details = Ref("kind_src:pageable kind_dst:device size:4194304 dest:0 async:1")
        about = {"correlation_id": 1000 + step, "memcpy_details": details}
        streams[8, "Stream #8(MemcpyH2D)"].append(("MemcpyH2D", t + 22_000_000, 110_000_000, about))
        for part in range(5):
            number, begin = 2000 + 10 * step + part, t + 200_000_000 + 40_000_000 * part
            python.append(("cuLaunchKernel", begin, 6_000_000, {"correlation_id": number}))
            details = "regs:32 static_shared:0 dynamic_shared:1024 grid:100,1,1 block:256,1,1 occ_pct:100"
            about = {
                "correlation_id": number,
                "kernel_details": details,
                "hlo_op": Ref("fusion"),
                "hlo_module": "jit_step",
            }
            kernel = (f"fusion_{part % 2}", begin + 15_000_000, 25_000_000, about)
            streams[7, "Stream #7(Compute)"].append(kernel)
        python.append(("$train.py:10 wait", t + 405_000_000, 90_000_000))
    planes = (
        make_plane("/host:CPU", {(41, "python/41"): python}),
        make_plane("/device:GPU:0", streams, stats={"compute_cap_major": 9, "compute_cap_minor": 0, "core_count": 132}),
        make_plane("Task Environment", {}, stats={"profile_start_time": 1_760_000_000_000_000_000}),
    )
    path.write_bytes(xspace.make_space(*planes))
    return path
