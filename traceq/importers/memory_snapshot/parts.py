"""Parts of a snapshot, told by the keys of its dicts: each becomes a row as soon as it is complete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from traceq.importers.pickled import GONE, Malformed, Pairs, PickledItems

NS_PER_US = 1000
_INT64 = 1 << 63
# What was seen of a list in which something is no frame.
_MIXED = -1
_FEW = 4
# Texts of one file can be in many rows.
_LONGEST_NAME, _LONGEST_CONTEXT = 500, 200
_DEEPEST = 100_000
_MOST_DEVICES, _MOST_MARKS, _MOST_FRAMES = 1024, 1_000_000, 1_000_000
# Sizes of all that was ever allocated: their sum is a number of 64 bits, too.
_MOST_BYTES = 1 << 62


class StackFrame:
    """A frame of a Python stack: name, file, line. Equal frames are one object."""

    __slots__ = ("file", "line", "name")

    def __init__(self, name: str, file: str, line: int) -> None:
        self.name, self.file, self.line = name, file, line


class Stack:
    """A Python stack, or the first part of a long one; `number` is its id, assigned on first use."""

    __slots__ = ("frames", "number")

    def __init__(self, frames: tuple[StackFrame, ...]) -> None:
        self.frames = frames
        self.number: int | None = None


class SegmentBlock(NamedTuple):
    """A block of an allocator's segment: address, size and requested size in bytes, state, id of the stack that allocated it.

    `address`, `requested_bytes` and `stack_id` are None where the file lacks them, as older ones do.
    """

    address: int | None
    bytes: int
    requested_bytes: int | None
    state: str
    stack_id: int | None


class BlockUse(NamedTuple):
    """A use of a block, as older files list it: the requested bytes, and the stack that asked for them; None where unknown."""

    bytes: int | None
    stack: Stack | None


class AnnotationMark(NamedTuple):
    """One end of an annotation, its start or its stop; `device` is the GPU's number, `ts` is ns since 1970."""

    is_start: bool
    name: str
    device: int
    ts: int


# A row by table: the values in the order of the table's columns in reading.COLUMNS.
Sink = Callable[[str, Sequence[Any]], None]


class SnapshotParts:
    """Converter of the parts of a snapshot, as they are read, into rows, which go to `sink(table, row)`.

    `marks` collects the ends of annotations, `events` the number of allocator events by device; `timeless` counts
    events without a time.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._frames: dict[tuple[str, str, int], StackFrame] = {}
        self._stacks: dict[tuple[StackFrame, ...], Stack] = {}
        self._used_stacks = self._segments = 0
        # Events of each device so far, and how many of all have no time.
        self.events: dict[int, int] = {}
        self.timeless = 0
        self.marks: list[AnnotationMark] = []
        self._bytes = 0

    def list_of(self, items: PickledItems) -> Any:
        """Return the replacement of a finished list, for PickleReader.

        That is a tuple for a list of at most four numbers (a memory pool's id), a Stack for a list of frames, else the
        list itself.
        """
        if items and len(items) <= _FEW and all(type(item) is int for item in items):
            return tuple(items)
        if not _are_frames(items):
            return items
        if len(items) > _DEEPEST:
            raise Malformed(f"a stack has more than {_DEEPEST:,} frames")
        frames = tuple(items)
        stack = self._stacks.get(frames)
        if stack is None:
            stack = self._stacks[frames] = Stack(frames)
        return stack

    def dict_of(self, pairs: Pairs, level: list[Any] | None) -> Any:
        """Return the replacement of a finished dict, for PickleReader, told by the dict's keys.

        An event or a segment (with its blocks) becomes rows, an annotation a mark: all three are dropped (GONE in a
        list, None elsewhere). A frame becomes a StackFrame, a block a SegmentBlock, a block's use a BlockUse; other
        dicts stay as they are.
        """
        if "action" in pairs:
            self.emit_event(pairs, _find_device(level) if level else 0)
        elif "blocks" in pairs and "total_size" in pairs:
            self.emit_segment(pairs)
        elif "filename" in pairs and "line" in pairs:
            return self.intern_frame(pairs)
        elif "state" in pairs and "size" in pairs:
            return self.build_block(pairs)
        elif "real_size" in pairs:
            return BlockUse(_get_optional(pairs, "real_size"), _get_stack(pairs))
        elif "stage" in pairs and "time_us" in pairs:
            self._mark(pairs)
        else:
            return pairs
        return GONE if level else None

    def build_block(self, pairs: Pairs) -> SegmentBlock:
        """Return the block that a dict describes; its stack becomes rows.

        Files of PyTorch 2.0 and older have requested size and stack in a list of the block's uses; its first entry is
        taken.
        """
        uses = pairs.get("history", ())
        last = uses[0] if type(uses) is PickledItems and uses and type(uses[0]) is BlockUse else BlockUse(None, None)
        return SegmentBlock(
            _get_optional(pairs, "address"),
            self._get_size(pairs, "size"),
            _get_optional(pairs, "requested_size") if "requested_size" in pairs else last.bytes,
            _get_text(pairs, "state")[:_LONGEST_CONTEXT],
            self._number(_get_stack(pairs) or last.stack),
        )

    def intern_frame(self, pairs: Pairs) -> StackFrame:
        """Return the StackFrame that a dict describes; equal frames are one object. Raises Malformed if there are too many."""
        name, file = _get_text(pairs, "name")[:_LONGEST_NAME], _get_text(pairs, "filename")[-_LONGEST_NAME:]
        key = (name, file, _get_integer(pairs, "line"))
        frame = self._frames.get(key)
        if frame is None:
            if len(self._frames) >= _MOST_FRAMES:
                raise Malformed(f"it has more than {_MOST_FRAMES:,} distinct frames")
            frame = self._frames[key] = StackFrame(*key)
        return frame

    def emit_event(self, pairs: Pairs, device: int) -> None:
        """Add the row of an allocator event on `device`, numbered after the earlier events of this device.

        Its stack becomes rows, too.
        """
        number = self.events.get(device, 0)
        # PyTorch writes times since 2.1; before, only the order of the events is known
        ts = _get_time(pairs) if pairs.get("time_us") else None
        self.timeless += ts is None
        self.events[device] = number + 1
        is_oom = _get_text(pairs, "action") == "oom"
        self._sink(
            "allocator_event",
            (
                device,
                number,
                pairs["action"][:_LONGEST_CONTEXT],
                ts,
                None if is_oom else _get_integer(pairs, "addr"),
                self._get_size(pairs, "size"),
                _get_optional(pairs, "device_free"),
                _get_optional(pairs, "stream"),
                self._number(_get_stack(pairs)),
                _get_text(pairs, "compile_context")[:_LONGEST_CONTEXT] if "compile_context" in pairs else None,
            ),
        )

    def emit_segment(self, pairs: Pairs) -> None:
        """Add the rows of a segment, numbered after the earlier segments, and of its blocks; its stack becomes rows, too."""
        segment = self._segments
        self._segments += 1
        pool = pairs.get("segment_pool_id", ())
        self._sink(
            "allocator_segment",
            (
                segment,
                get_device(pairs),
                _get_integer(pairs, "address"),
                self._get_size(pairs, "total_size"),
                _get_optional(pairs, "allocated_size"),
                _get_optional(pairs, "active_size"),
                _get_optional(pairs, "requested_size"),
                _get_optional(pairs, "stream"),
                _get_text(pairs, "segment_type")[:_LONGEST_CONTEXT] if "segment_type" in pairs else None,
                ".".join(map(str, pool)) if isinstance(pool, tuple) and pool else None,
                pairs.get("is_expandable") is True,
                self._number(_get_stack(pairs)),
            ),
        )
        address = _get_integer(pairs, "address")
        for number, block in enumerate(_check_blocks(pairs["blocks"])):
            start = address if block.address is None else block.address
            if start >= _INT64:
                raise Malformed("the blocks of a segment lie beyond 64-bit addresses")
            self._sink("allocator_block", (segment, number, start, *block[1:]))
            address = start + block.bytes

    def _number(self, stack: Stack | None) -> int | None:
        """Return the id of the stack, None without a stack; at a stack's first use, its frames become rows of allocator_stack."""
        if stack is None:
            return None
        if stack.number is None:
            stack.number = self._used_stacks
            self._used_stacks += 1
            for depth, frame in enumerate(stack.frames):
                self._sink("allocator_stack", (stack.number, depth, frame.name, frame.file, frame.line))
        return stack.number

    def _get_size(self, pairs: Pairs, key: str) -> int:
        size = _get_integer(pairs, key)
        self._bytes += abs(size)
        if size < 0 or self._bytes >= _MOST_BYTES:
            raise Malformed(f"'{key}' is not a size")
        return size

    def _mark(self, pairs: Pairs) -> None:
        if len(self.marks) >= _MOST_MARKS:
            raise Malformed(f"it has more than {_MOST_MARKS:,} annotations")
        name = _get_text(pairs, "name")[:_LONGEST_NAME]
        self.marks.append(AnnotationMark(pairs["stage"] == "START", name, get_device(pairs), _get_time(pairs)))


def _are_frames(items: PickledItems) -> bool:
    """Return whether the list is not empty and holds StackFrames only; items examined before are not examined again."""
    if items.seen != _MIXED:
        are_frames = all(type(item) is StackFrame for item in (items[items.seen :] if items.seen else items))
        items.seen = len(items) if are_frames else _MIXED
    return items.seen > 0


def _get_stack(pairs: Pairs) -> Stack | None:
    stack = pairs.get("frames", ())
    if type(stack) is Stack:
        return stack
    if stack not in ((), None):
        raise Malformed("a stack holds something other than frames")
    return None


def _find_device(level: list[Any]) -> int:
    """Return the number of the device whose events the list at the end of `level` holds.

    It is the list's index in `level` if all values there are lists (one per device), else 0. Raises Malformed for too
    many lists.
    """
    last = level[-1]
    if last.tag is None:
        if len(level) > _MOST_DEVICES and type(level[0]) is PickledItems:
            raise Malformed(f"it has lists of more than {_MOST_DEVICES:,} devices")
        last.tag = len(level) - 1 if all(type(part) is PickledItems for part in level) else 0
    device: int = last.tag
    return device


def _check_blocks(blocks: Any) -> Sequence[SegmentBlock]:
    if blocks == ():
        return ()
    if type(blocks) is not PickledItems or not all(type(block) is SegmentBlock for block in blocks):
        raise Malformed("the blocks of a segment are not a list of blocks")
    return blocks


def _get_text(pairs: Pairs, key: str) -> str:
    value = pairs.get(key)
    if type(value) is not str:
        raise Malformed(f"'{key}' is not text")
    return value


def _get_integer(pairs: Pairs, key: str) -> int:
    value = pairs.get(key)
    if type(value) is not int or abs(value) >= _INT64:
        raise Malformed(f"'{key}' is not a number of at most 64 bits")
    return value


def _get_time(pairs: Pairs) -> int:
    """Return `time_us` of a dict as ns since 1970; raises Malformed if it is no such time."""
    ns = _get_integer(pairs, "time_us") * NS_PER_US
    if not 0 <= ns < _INT64:
        raise Malformed("'time_us' is not a time")
    return ns


def get_device(pairs: Pairs) -> int:
    """Return the number of the GPU in a dict, 0 where it names none; raises Malformed for an impossible number."""
    device = _get_optional(pairs, "device") or 0
    if not 0 <= device < _MOST_DEVICES:
        raise Malformed("'device' is not the number of a GPU")
    return device


def _get_optional(pairs: Pairs, key: str) -> int | None:
    return _get_integer(pairs, key) if pairs.get(key) is not None else None
