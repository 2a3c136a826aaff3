"""What the dicts and lists of a snapshot are, told by their keys: each becomes a row as soon as it is complete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from traceq.importers.memory_snapshot.opcodes import GONE, Items, Malformed, Pairs

NS_PER_US = 1000
_INT64 = 1 << 63
_FEW = 4


class Frame:
    """A frame of a stack: name, file, line. Each that the file writes is one of its own."""

    __slots__ = ("file", "line", "name")

    def __init__(self, name: str, file: str, line: int) -> None:
        self.name, self.file, self.line = name, file, line


class Stack:
    """A stack; `number` is its id."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


class Block(NamedTuple):
    """A block of a segment, with its size in bytes; of older files without an address and what was requested."""

    address: int | None
    bytes: int
    requested_bytes: int | None
    state: str
    stack_id: int | None


class Mark(NamedTuple):
    """One end of an annotation; time in ns since the epoch."""

    is_start: bool
    name: str
    device: int
    ts: int


# A row by table: the values in the order of the table's columns in reading.COLUMNS.
Sink = Callable[[str, Sequence[Any]], None]


class Parts:
    """Gives the rows of a snapshot to `sink` while it is read; `marks` are the ends of annotations."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._stacks: dict[tuple[Frame, ...], Stack] = {}
        self._segments = 0
        # Events of each device so far.
        self.events: dict[int, int] = {}
        self.marks: list[Mark] = []
        self.unknown_actions: dict[str, int] = {}

    def list_of(self, items: Items) -> Any:
        """A stack where the items are frames, a tuple where they are a few numbers (the id of a pool), else the list."""
        if items and len(items) <= _FEW and all(type(item) is int for item in items):
            return tuple(items)
        if not items or not all(type(item) is Frame for item in items):
            return items
        frames = tuple(items)
        stack = self._stacks.get(frames)
        if stack is None:
            stack = self._stacks[frames] = Stack(len(self._stacks))
            for depth, frame in enumerate(frames):
                self._sink("allocator_stack", (stack.number, depth, frame.name, frame.file, frame.line))
        return stack

    def dict_of(self, pairs: Pairs, level: list[Any] | None) -> Any:
        """What stands for the dict; GONE for an event and a segment that go into a list."""
        if "action" in pairs:
            self._event(pairs, _device(level) if level else 0)
        elif "blocks" in pairs and "total_size" in pairs:
            self._segment(pairs)
        elif "filename" in pairs and "line" in pairs:
            return Frame(_text(pairs, "name"), _text(pairs, "filename"), _whole(pairs, "line"))
        elif "state" in pairs and "size" in pairs:
            return Block(
                _maybe(pairs, "address"),
                _size(pairs, "size"),
                _maybe(pairs, "requested_size"),
                _text(pairs, "state"),
                _stack(pairs),
            )
        elif "stage" in pairs and "time_us" in pairs:
            self._mark(pairs)
        else:
            return pairs
        return GONE if level else None

    def _event(self, pairs: Pairs, device: int) -> None:
        number = self.events.get(device, 0)
        self.events[device] = number + 1
        if "time_us" not in pairs:
            raise Malformed("its events have no times: PyTorch 2.1 and later write them")
        is_oom = _text(pairs, "action") == "oom"
        self._sink(
            "allocator_event",
            (
                device,
                number,
                pairs["action"],
                _whole(pairs, "time_us") * NS_PER_US,
                None if is_oom else _whole(pairs, "addr"),
                _size(pairs, "size"),
                _maybe(pairs, "device_free"),
                _maybe(pairs, "stream"),
                _stack(pairs),
                _text(pairs, "compile_context") if "compile_context" in pairs else None,
            ),
        )

    def _segment(self, pairs: Pairs) -> None:
        segment = self._segments
        self._segments += 1
        pool = pairs.get("segment_pool_id", ())
        self._sink(
            "allocator_segment",
            (
                segment,
                _maybe(pairs, "device") or 0,
                _whole(pairs, "address"),
                _size(pairs, "total_size"),
                _maybe(pairs, "allocated_size"),
                _maybe(pairs, "active_size"),
                _maybe(pairs, "requested_size"),
                _maybe(pairs, "stream"),
                pairs.get("segment_type") if isinstance(pairs.get("segment_type"), str) else None,
                ".".join(map(str, pool)) if isinstance(pool, tuple) and pool else None,
                pairs.get("is_expandable") is True,
                _stack(pairs),
            ),
        )
        address = _whole(pairs, "address")
        for number, block in enumerate(_blocks(pairs["blocks"])):
            start = address if block.address is None else block.address
            self._sink("allocator_block", (segment, number, start, *block[1:]))
            address = start + block.bytes

    def _mark(self, pairs: Pairs) -> None:
        device = _maybe(pairs, "device") or 0
        at = _whole(pairs, "time_us") * NS_PER_US
        self.marks.append(Mark(pairs["stage"] == "START", _text(pairs, "name"), device, at))


def _device(level: list[Any]) -> int:
    """The device of the list that the last of `level` is: its place among the lists around it, 0 where it is the only one."""
    last = level[-1]
    if last.tag is None:
        last.tag = len(level) - 1 if all(type(each) is Items for each in level) else 0
    device: int = last.tag
    return device


def _blocks(blocks: Any) -> Sequence[Block]:
    if blocks == ():
        return ()
    if type(blocks) is not Items or not all(type(each) is Block for each in blocks):
        raise Malformed("the blocks of a segment are no list of blocks")
    return blocks


def _stack(pairs: Pairs) -> int | None:
    stack = pairs.get("frames", ())
    if type(stack) is Stack:
        return stack.number
    if stack not in ((), None):
        raise Malformed("a stack holds more than frames")
    return None


def _text(pairs: Pairs, key: str) -> str:
    value = pairs.get(key)
    if type(value) is not str:
        raise Malformed(f"'{key}' is no text")
    return value


def _whole(pairs: Pairs, key: str) -> int:
    value = pairs.get(key)
    if type(value) is not int or not -_INT64 <= value * NS_PER_US < _INT64 * NS_PER_US or abs(value) >= _INT64:
        raise Malformed(f"'{key}' is no number of at most 64 bits")
    return value


def _size(pairs: Pairs, key: str) -> int:
    value = _whole(pairs, key)
    if value < 0:
        raise Malformed(f"'{key}' is negative")
    return value


def _maybe(pairs: Pairs, key: str) -> int | None:
    return _whole(pairs, key) if pairs.get(key) is not None else None
