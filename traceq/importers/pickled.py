"""Pickles of primitives, opcode by opcode.

A pickle is a program. This reader knows the opcodes for numbers, text, lists, tuples and dicts and no other: it has nothing
that imports, calls or builds an object, so that a pickle which asks for that ends in an error. Objects are handed to
whoever reads when they are complete, which may replace them by something smaller, or by GONE: nothing of a long history stays.
"""

from __future__ import annotations

import re
import struct
from array import array
from collections.abc import Callable, Iterator
from typing import Any

from traceq.importers.packed import Readable

# What a file may ask for. Snapshots stay far below; whatever does not is refused before it takes the memory.
_DEEPEST = 100
_MOST_TEXT = 1 << 20
_LONGEST_INTEGER = 9
_MOST_OPEN = 4_000_000
_MOST_OBJECTS = 1 << 26
_MOST_KEPT = 1 << 30
_MOST_HELD = 4_000_000
_LONGEST_TUPLE = 16
_MOST_SETTLED = 1000
# Bytes that a value that is kept takes, and each item of a stack.
_OVERHEAD, _PER_ITEM = 100, 40

_CHUNK = 1 << 18
# No opcode with its argument is longer, texts aside: so much is in the buffer before one is read.
_AHEAD = 1 << 12
_MOST_AT_ONCE = 1 << 16

# References to earlier objects, one after the other, as the frames of a stack are written.
_REFERENCES = re.compile(rb"(?:h.|j.{4})+", re.DOTALL)
_REFERENCE = re.compile(rb"h(.)|j(.{4})", re.DOTALL)

_STOP = ord(".")
# Picklers write longer lists in parts of so many items.
_PART = 1000
_PROTOCOLS = range(2, 6)
_PRIMITIVES = (int, str, float, bool, type(None))
_BYTE, _FOUR = struct.Struct("<B"), struct.Struct("<I")

GONE: Any = object()
_NOWHERE = -1
_EMPTY = 0


class Malformed(Exception):
    """Raised when the bytes are no pickle of primitives; the message says why, without the path."""


class Truncated(Malformed):
    """Raised when the pickle ends before its end."""


class PickledItems(list[Any]):
    """A list that is being read; `place` is its index among the numbered objects of the file, -1 while it has no number.

    `tag` and `seen` belong to the callbacks of PickleReader: `seen` is how many items they had examined when the list
    was last finished.
    """

    __slots__ = ("place", "seen", "tag")

    def __init__(self) -> None:
        self.place = _NOWHERE
        self.seen = 0
        self.tag: Any = None


class Pairs(dict[Any, Any]):
    """A dict that is being read; `place` is its index among the numbered objects of the file, -1 while it has no number."""

    __slots__ = ("place",)

    def __init__(self) -> None:
        self.place = _NOWHERE


class PickleReader:
    """Reader of one pickle in `file`, which replaces most objects by something smaller as soon as they are complete.

    `finished_dict(pairs, level)` is called with each dict that has items. `level` is the list of values being read
    beside it, the last of which is the open list that the dict goes into; None if it goes into no list. It returns a
    replacement, or GONE to drop the dict. `finished_list(items)` is called after each part of a list and returns its
    replacement, or `items` to keep it. Later references find only replacements, which are hashable, and texts.
    """

    def __init__(
        self,
        file: Readable,
        finished_dict: Callable[[Pairs, list[Any] | None], Any],
        finished_list: Callable[[PickledItems], Any],
        progress: Callable[[int], None],
    ) -> None:
        self._file = file
        self._finished_dict, self._finished_list, self._progress = finished_dict, finished_list, progress
        self._buffer, self._at, self._read = b"", 0, 0
        self._is_whole = self._is_filled = False
        self._stack: list[Any] = []
        self._below: list[list[Any]] = []
        # Of each object that a pickler numbers, its place in _kept; most are not kept.
        self._memo = array("i")
        self._kept: list[Any] = [()]
        self._place_of: dict[Any, int] = {}
        self._kept_bytes = self._held = self._settlings = 0
        self._last: tuple[PickledItems, Any] = (PickledItems(), object())
        self._made_of: dict[bytes, Any] = {}
        self._steps = self._build_steps()
        self.result: Any = None

    def run(self) -> Iterator[None]:
        """Read the pickle chunk by chunk; yields None after each, so that the caller can take what the callbacks made so far.

        At the end, `result` is the object in the file. Raises Malformed.
        """
        self._fill_buffer(2)
        if self._buffer[:1] != b"\x80":
            raise Malformed("it does not begin like a pickle of protocol 2 or later")
        steps = self._steps
        while True:
            if len(self._buffer) - self._at < _AHEAD and not self._is_whole:
                self._fill_buffer(_AHEAD)
            if self._is_filled:
                self._is_filled = False
                yield
            if self._at >= len(self._buffer):
                raise Truncated("it ends too early; copy it again")
            code = self._buffer[self._at]
            self._at += 1
            if code == _STOP:
                break
            step = steps[code]
            if step is None:
                raise Malformed(f"opcode {bytes([code])!r} is not one for numbers, text, lists or dicts; not read")
            step()
        if self._below or len(self._stack) != 1:
            raise Malformed("it does not end with a single object")
        self.result = self._stack[0]

    # --- bytes ---

    def _fill_buffer(self, needed: int) -> None:
        """Read on until the buffer holds `needed` bytes or the file ends; raises Malformed if too many objects are open."""
        parts = [self._buffer[self._at :]]
        there = len(parts[0])
        while there < needed and not self._is_whole:
            part = self._file.read(max(_CHUNK, needed - there))
            self._is_whole = not part
            parts.append(part)
            there += len(part)
            self._read += len(part)
        self._buffer, self._at, self._is_filled = b"".join(parts), 0, True
        self._progress(self._read)
        if len(self._stack) + sum(map(len, self._below)) > _MOST_OPEN:
            raise Malformed(f"more than {_MOST_OPEN:,} objects are open at once")

    def _take_bytes(self, size: int) -> bytes:
        if len(self._buffer) - self._at < size:
            self._fill_buffer(size)
        taken = self._buffer[self._at : self._at + size]
        if len(taken) < size:
            raise Truncated("it ends too early; copy it again")
        self._at += size
        return taken

    def _read_argument(self, layout: struct.Struct) -> int:
        value: int = layout.unpack(self._take_bytes(layout.size))[0]
        return value

    # --- objects ---

    def _push_constant(self, value: Any) -> Callable[[], None]:
        return lambda: self._stack.append(value)

    def _push_number(self, layout: struct.Struct) -> Callable[[], None]:
        return lambda: self._stack.append(layout.unpack(self._take_bytes(layout.size))[0])

    def _push_long(self) -> None:
        size = self._take_bytes(1)[0]
        if size > _LONGEST_INTEGER:
            raise Malformed(f"an integer of {size} bytes")
        self._stack.append(int.from_bytes(self._take_bytes(size), "little", signed=True))

    def _push_text(self, layout: struct.Struct, *, is_text: bool) -> Callable[[], None]:
        def push_text() -> None:
            size = self._read_argument(layout)
            if not 0 <= size <= _MOST_TEXT:
                raise Malformed(f"a text of {size:,} bytes")
            taken = self._take_bytes(size)
            self._stack.append(self._kept[self._keep_value(taken.decode("utf-8", "replace") if is_text else taken)])

        return push_text

    def _open_mark(self) -> None:
        if len(self._below) >= _DEEPEST:
            raise Malformed(f"it is nested more than {_DEEPEST} deep")
        self._below.append(self._stack)
        self._stack = []

    def _since_mark(self) -> list[Any]:
        if not self._below:
            raise Malformed("an object ends that never began")
        taken = self._stack
        self._stack = self._below.pop()
        return taken

    def _get_top(self, kind: type) -> Any:
        if not self._stack or type(self._stack[-1]) is not kind:
            raise Malformed("something is added to an object that is not an open list or dict")
        return self._stack[-1]

    def _pop_value(self) -> Any:
        if not self._stack:
            raise Malformed("it takes a value from an empty stack")
        return self._stack.pop()

    def _settle_list(self, value: Any) -> Any:
        """Return the value to put into an object: () for a list that has no items yet, else `value` itself.

        Such a list counts as complete and empty from then on.
        """
        if type(value) is PickledItems and not value and value.tag is None:
            if value.place != _NOWHERE:
                self._memo[value.place] = _EMPTY
            return ()
        return value

    def _extend_since_mark(self) -> None:
        self._extend_list([self._settle_list(value) for value in self._since_mark()])

    def _extend_list(self, values: list[Any]) -> None:
        # A long list comes in several parts, after the first of which it looked complete.
        is_continued = bool(self._stack) and self._stack[-1] is self._last[1]
        items = self._last[0] if is_continued else self._get_top(PickledItems)
        if items.place != _NOWHERE and self._memo[items.place] == _EMPTY:
            raise Malformed("a list gets items after it was complete")
        items.extend(values)
        made = self._finished_list(items)
        self._last = (items, made)
        if made is items:
            self._count_held(len(values))
            return
        self._stack[-1] = made
        place = self._keep_value(made, _PER_ITEM * len(items))
        if items.place != _NOWHERE:
            self._memo[items.place] = place

    def _set_item(self) -> None:
        value, key = self._pop_value(), self._pop_value()
        self._update_dict([key, value])

    def _update_dict(self, flat: list[Any]) -> None:
        pairs = self._get_top(Pairs)
        if len(flat) % 2:
            raise Malformed("a dict has a key without a value")
        for key, value in zip(flat[::2], flat[1::2], strict=True):
            if type(key) is not str and type(key) is not int:
                raise Malformed("a key of a dict is neither text nor a number")
            pairs[key] = self._settle_list(value)
        self._stack.pop()
        made = self._finished_dict(pairs, self._get_level())
        if made is GONE and self._stack:
            # the only item of a list is taken from the stack
            made = None
        if made is not GONE:
            self._stack.append(made)
        if made is pairs:
            self._count_held(len(flat))
            return
        self._held -= sum(len(value) for value in pairs.values() if type(value) is PickledItems)
        if made is not GONE and pairs.place != _NOWHERE:
            self._memo[pairs.place] = self._keep_value(made)

    def _get_level(self) -> list[Any] | None:
        """Return the values being read beside the next one, of which the last is the open list that it goes into.

        None if it goes into no list.
        """
        level = self._stack or (self._below[-1] if self._below else None)
        return level if level and type(level[-1]) is PickledItems else None

    def _count_held(self, more: int) -> None:
        self._held += more
        if self._held > _MOST_HELD:
            raise Malformed(f"it has more than {_MOST_HELD:,} items that traceq does not know")

    def _push_tuple(self, size: int) -> Callable[[], None]:
        def push_tuple() -> None:
            if len(self._stack) < size:
                raise Malformed("a tuple has too few values")
            split = len(self._stack) - size
            self._stack[split:] = [_check_plain(tuple(self._stack[split:]))]

        return push_tuple

    def _push_tuple_since_mark(self) -> None:
        values = self._since_mark()
        self._stack.append(_check_plain(tuple(values)))

    # --- references ---

    def _put_memo(self, place: int) -> None:
        if place != len(self._memo):
            raise Malformed("its objects are not numbered consecutively")
        if place >= _MOST_OBJECTS:
            raise Malformed(f"it has more than {_MOST_OBJECTS:,} objects")
        # PyTorch's C++ numbers objects when they are complete: that of a row is gone then.
        value = self._stack[-1] if self._stack else GONE
        if type(value) is PickledItems or type(value) is Pairs:
            value.place = place
            self._memo.append(_NOWHERE)
        elif value is GONE:
            self._memo.append(_NOWHERE)
        else:
            self._memo.append(self._keep_value(value))

    def _keep_value(self, value: Any, size: int = 0) -> int:
        """Return the index in `_kept` of a value that later references may need, adding it if new; equal values share an index.

        `size` is the bytes that count for a value that is no text. Raises Malformed if all together take too much
        memory.
        """
        place = self._place_of.get(value)
        if place is None:
            self._count_bytes(len(value) if isinstance(value, (str, bytes)) else size)
            place = self._place_of[value] = len(self._kept)
            self._kept.append(value)
        return place

    def _count_bytes(self, size: int) -> None:
        self._kept_bytes += size + _OVERHEAD
        if self._kept_bytes > _MOST_KEPT:
            raise Malformed(f"its distinct texts and stacks take more than {_MOST_KEPT >> 20} MiB")

    def _look_up(self, number: int) -> Any:
        if not 0 <= number < len(self._memo):
            raise Malformed("it refers to an object that does not exist")
        if self._memo[number] == _NOWHERE:
            self._settle_empty(number)
        return self._kept[self._memo[number]]

    def _settle_empty(self, number: int) -> None:
        """Treat the open list with number `number` as complete and empty, because something refers to it.

        Raises Malformed if no such list without items is open.
        """
        self._settlings += 1
        if self._settlings > _MOST_SETTLED:
            raise Malformed("it refers to too many lists that are not complete")
        for level in (*self._below, self._stack):
            for value in level[:-1]:
                if type(value) is PickledItems and value.place == number and not value and value.tag is None:
                    self._memo[number] = _EMPTY
                    return
        raise Malformed("it refers to an object that is incomplete, or was not kept")

    def _push_reference(self, layout: struct.Struct) -> None:
        if not self._stack and self._get_level():
            self._push_references()
        else:
            self._stack.append(self._look_up(self._read_argument(layout)))

    def _push_references(self) -> None:
        """Read all references at the beginning of a list at once; these are mostly the frames of a stack that occurred before."""
        self._at -= 1
        if len(self._buffer) - self._at < _MOST_AT_ONCE and not self._is_whole:
            self._fill_buffer(_MOST_AT_ONCE)
        found = _REFERENCES.match(self._buffer, self._at)
        if found is None:
            raise Truncated("it ends too early; copy it again")
        run = found.group()
        self._at += len(run)
        if self._buffer[self._at : self._at + 1] != b"e":
            self._stack = self._decode_references(run)
            return
        self._at += 1
        self._whole_list(run)

    def _whole_list(self, run: bytes) -> None:
        """Complete the list that is being read with items that are all references; `run` holds the bytes of these references.

        Equal bytes give the replacement that was made of them the first time.
        """
        items = self._below[-1][-1]
        made = None if items else self._made_of.get(run)
        if made is None:
            is_first = not items
            self._stack = self._decode_references(run)
            self._extend_since_mark()
            # of a longer list this is the first part
            if is_first and len(items) < _PART and self._stack[-1] is not items:
                self._count_bytes(len(run))
                self._made_of[run] = self._stack[-1]
            return
        self._stack = self._below.pop()
        self._stack[-1] = made
        if items.place != _NOWHERE:
            self._memo[items.place] = self._keep_value(made)

    def _decode_references(self, run: bytes) -> list[Any]:
        return [
            self._look_up(small[0] if small else int.from_bytes(large, "little"))
            for small, large in _REFERENCE.findall(run)
        ]

    def _build_steps(self) -> list[Callable[[], None] | None]:
        byte, two, four, eight = _BYTE, struct.Struct("<H"), _FOUR, struct.Struct("<Q")
        known: dict[bytes, Callable[[], None]] = {
            b"\x80": self._check_protocol,
            b"\x95": lambda: self._skip_bytes(8),
            b"(": self._open_mark,
            b"N": self._push_constant(None),
            b"\x88": self._push_constant(True),
            b"\x89": self._push_constant(False),
            b"K": self._push_number(byte),
            b"M": self._push_number(two),
            b"J": self._push_number(struct.Struct("<i")),
            b"G": self._push_number(struct.Struct(">d")),
            b"\x8a": self._push_long,
            b"\x8c": self._push_text(byte, is_text=True),
            b"X": self._push_text(four, is_text=True),
            b"\x8d": self._push_text(eight, is_text=True),
            b"C": self._push_text(byte, is_text=False),
            b"B": self._push_text(four, is_text=False),
            b"]": lambda: self._stack.append(PickledItems()),
            b"}": lambda: self._stack.append(Pairs()),
            b")": self._push_constant(()),
            b"\x85": self._push_tuple(1),
            b"\x86": self._push_tuple(2),
            b"\x87": self._push_tuple(3),
            b"t": self._push_tuple_since_mark,
            b"a": lambda: self._extend_list([self._settle_list(self._pop_value())]),
            b"e": self._extend_since_mark,
            b"s": self._set_item,
            b"u": lambda: self._update_dict(self._since_mark()),
            b"\x94": lambda: self._put_memo(len(self._memo)),
            b"q": lambda: self._put_memo(self._read_argument(byte)),
            b"r": lambda: self._put_memo(self._read_argument(four)),
            b"h": lambda: self._push_reference(byte),
            b"j": lambda: self._push_reference(four),
        }
        return [known.get(bytes([code])) for code in range(256)]

    def _skip_bytes(self, size: int) -> None:
        self._take_bytes(size)

    def _check_protocol(self) -> None:
        if self._take_bytes(1)[0] not in _PROTOCOLS:
            raise Malformed("its protocol is not 2 to 5")


def _check_plain(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the tuple; raises Malformed if it has more than 16 items, or one that is no number, text, bool or None."""
    if len(values) > _LONGEST_TUPLE or not all(type(value) in _PRIMITIVES for value in values):
        raise Malformed("a tuple holds more than a few numbers and texts")
    return values
