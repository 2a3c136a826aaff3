"""Pickled dumps: entries become rows as they are read; those that look like an earlier one in one step each."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from functools import cache
from itertools import groupby
from typing import Any

from traceq.importers.flight_recorder.entries import (
    EntryFacts,
    EntryRows,
    TensorSizes,
    in_ns,
    join_types,
    make_frame,
    sum_sizes,
)
from traceq.importers.packed import Readable
from traceq.importers.pickled import GONE, Malformed, Pairs, PickledItems, PickleReader

_SHORT_LIST = 4096
_MOST_SHAPES = 8

# What PyTorch's pickler writes for a value: a number, a reference to an earlier text or frame, lists of them, None, a truth.
_INTEGER = rb"(?:K.|M..|J.{4}|\x8a(?:\x05.{5}|\x06.{6}|\x07.{7}|\x08.{8}))"
_REFERENCE = rb"(?:h.|j.{4})"
_REFERENCES = rb"\](?:\(" + _REFERENCE + rb"*e)?"
_SIZES = rb"\](?:\((?:\](?:\(" + _INTEGER + rb"*e)?)*e)?"
_OPTIONAL = rb"(?:N|" + _INTEGER + rb")"
_VALUES = {
    "frames": _REFERENCES,
    "record_id": _INTEGER,
    "pg_id": _INTEGER,
    "process_group": _REFERENCE + _REFERENCE + rb"\x86",
    "thread_name": _REFERENCE,
    "thread_id": _REFERENCE,
    "collective_seq_id": _INTEGER,
    "p2p_seq_id": _INTEGER,
    "op_id": _INTEGER,
    "profiling_name": _REFERENCE,
    "time_created_ns": _INTEGER,
    "duration_ms": rb"G.{8}",
    "input_sizes": _SIZES,
    "output_sizes": _SIZES,
    "input_dtypes": _REFERENCES,
    "output_dtypes": _REFERENCES,
    "state": _REFERENCE,
    "time_discovered_started_ns": _OPTIONAL,
    "time_discovered_completed_ns": _OPTIONAL,
    "retired": rb"[\x88\x89]",
    "timeout_ms": _INTEGER,
    "is_p2p": rb"[\x88\x89]",
}
# Those that differ from entry to entry, in the order of the columns.
_NUMBERS = (
    "record_id",
    "collective_seq_id",
    "p2p_seq_id",
    "op_id",
    "time_created_ns",
    "time_discovered_started_ns",
    "time_discovered_completed_ns",
)
_NOT_KEPT = frozenset({"thread_name", "thread_id", "duration_ms"})
# Those of a row of version 2.4 and later; entries without one of them are read value by value.
_NEEDED = frozenset(_VALUES) - _NOT_KEPT - {"frames"}
_LONG_NUMBER = struct.Struct("<xxq")
_LONG_BYTES = _LONG_NUMBER.size
_TRUE, _LONG, _NONE, _SIGNED = b"\x88", 0x8A, ord("N"), ord("J")
_SIZE_PART = re.compile(rb"\](?:\(((?:" + _INTEGER + rb")*)e)?", re.DOTALL)
_INTEGERS = re.compile(_INTEGER, re.DOTALL)
_ONE_REFERENCE = re.compile(rb"h(.)|j(.{4})", re.DOTALL)


class _EntryShape:
    """The form that an entry of certain keys has in the file, behind its first opcode.

    `match` is a function of the bytes and a place in them. Its groups are the opcodes of the values of _NUMBERS, which
    `numbers` are the places of, and what stands between them and is not left out, which `repeated` are the places of.
    """

    def __init__(self, keys: Sequence[str], references: Sequence[bytes]) -> None:
        """Take the keys of the entry and the opcodes by which the file refers to them, in their order."""
        parts, stretches, group_of = [rb"\("], [], dict[str, int]()
        self.repeated: list[int] = []
        groups = 0
        kinds = [key if key in _NUMBERS else None if key in _NOT_KEPT else "" for key in keys]
        for kind, run in groupby(zip(kinds, keys, references, strict=True), key=lambda each: each[0]):
            pairs = [(key, re.escape(reference), _VALUES[key]) for _, key, reference in run]
            if kind is None:
                parts += [reference + b"(?:" + value + b")" for _, reference, value in pairs]
            elif kind:
                ((key, reference, value),) = pairs
                parts.append(reference + b"(" + value + b")")
                group_of[key] = groups
                groups += 1
            else:
                parts.append(b"(" + b"".join(reference + b"(?:" + value + b")" for _, reference, value in pairs) + b")")
                named = b"".join(
                    reference + b"(?P<" + key.encode() + b">" + value + b")" for key, reference, value in pairs
                )
                stretches.append(re.compile(named, re.DOTALL))
                self.repeated.append(groups)
                groups += 1
        self.match = re.compile(b"".join(parts) + b"u", re.DOTALL).match
        self.numbers = [group_of[key] for key in _NUMBERS]
        self._stretches = stretches

    def split_codes(self, repeated: tuple[bytes, ...]) -> dict[str, bytes]:
        """Return the opcodes of each value by its key, from the groups `repeated`."""
        found: dict[str, bytes] = {}
        for stretch, code in zip(self._stretches, repeated, strict=True):
            match = stretch.fullmatch(code)
            found |= {} if match is None else match.groupdict()
        return found


class DumpReader(PickleReader):
    """Reader of one pickled dump in `file`; entries become rows of `entries`, everything else is in `result`.

    PyTorch writes all entries alike, and 64 opcodes for each: once one was read, a regular expression takes those of the
    same keys at once. It accepts no opcode that the reader of single ones refuses.
    """

    def __init__(self, file: Readable, entries: EntryRows) -> None:
        self.entries = entries
        self._shapes: dict[tuple[str, ...], _EntryShape] = {}
        self._places: dict[tuple[bytes, ...], int] = {}
        self._sizes: dict[bytes, TensorSizes] = {}
        self._stacks: dict[bytes, int | None] = {}
        super().__init__(file, self._replace_dict, self._replace_list, lambda _read: None)

    def get_open_dict(self) -> dict[Any, Any]:
        """Return the keys and values of the outermost dict that were read so far, for a file that ends too early."""
        levels = [*self._below, self._stack]
        flat = levels[1] if len(levels) > 1 else []
        return {key: value for key, value in zip(flat[::2], flat[1::2], strict=False) if type(key) is str}

    # --- values that are complete ---

    def _replace_dict(self, pairs: Pairs, level: list[Any] | None) -> Any:
        """Return the replacement of a finished dict: a frame for a frame, nothing for an entry, which becomes a row."""
        if "filename" in pairs and "line" in pairs:
            return make_frame(pairs)
        if "profiling_name" in pairs and "record_id" in pairs:
            self.entries.add_entry(pairs)
            self._learn_shape(tuple(pairs))
            return GONE if level else None
        return pairs

    def _replace_list(self, items: PickledItems) -> Any:
        """Return a short list of numbers, texts, frames or tuples as a tuple; others as they are."""
        is_plain = len(items) <= _SHORT_LIST and not any(
            type(item) is Pairs or type(item) is PickledItems for item in items
        )
        return tuple(items) if items and is_plain else items

    # --- entries that look like an earlier one ---

    def _build_steps(self) -> list[Callable[[], None] | None]:
        steps = super()._build_steps()
        steps[ord("}")] = self._begin_dict
        return steps

    def _begin_dict(self) -> None:
        if not self._stack and self._get_level() and self._add_entries():
            return
        self._stack.append(Pairs())

    def _add_entries(self) -> bool:
        """Add all entries from here on that look like an earlier one; return whether there is any."""
        buffer, at = self._buffer, self._at
        for shape in self._shapes.values():
            match = shape.match(buffer, at)
            if match is None:
                continue
            # an entry that goes on behind the buffer does not match: it is read value by value
            codes = []
            while match is not None:
                codes.append(match.groups())
                at = match.end()
                # behind the opcode that begins a dict
                match = shape.match(buffer, at + 1) if buffer[at : at + 1] == b"}" else None
            self._at = at
            self._add_codes(shape, codes)
            return True
        return False

    def _learn_shape(self, keys: tuple[str, ...]) -> None:
        """Note what entries with these keys look like, if all of them are known, and written by PyTorch."""
        is_known = (
            keys not in self._shapes and len(self._shapes) < _MOST_SHAPES and _VALUES.keys() >= {*keys} >= _NEEDED
        )
        numbers = [self._find_number(key) for key in keys] if is_known else [None]
        if None not in numbers:
            self._shapes[keys] = _EntryShape(keys, [_encode_reference(number or 0) for number in numbers])

    def _find_number(self, text: str) -> int | None:
        """Return the number by which the file refers to a text; None where it has none."""
        place = self._place_of.get(text)
        return None if place is None or place not in self._memo else self._memo.index(place)

    def _add_codes(self, shape: _EntryShape, codes: list[tuple[bytes, ...]]) -> None:
        """Add entries that were matched in one step each; `codes` are the groups of the shape's pattern."""
        columns = list(zip(*codes, strict=True))
        for numbers, place in zip(self.entries.numbers, shape.numbers, strict=True):
            numbers.extend(_read_numbers(columns[place]))
        places = self._places
        for repeated in zip(*(columns[place] for place in shape.repeated), strict=True):
            if repeated not in places:
                self._count_bytes(sum(map(len, repeated)))
                places[repeated] = self._place_facts(shape.split_codes(repeated))
            self.entries.places.append(places[repeated])

    def _place_facts(self, codes: dict[str, bytes]) -> int:
        """Return the place of the facts in `codes`, the opcodes of an entry by key."""
        name, description = map(_check_text, self._read_references(codes["process_group"]))
        inputs, outputs = self._read_sizes(codes["input_sizes"]), self._read_sizes(codes["output_sizes"])
        facts = EntryFacts(
            name,
            description,
            _read_number(codes["pg_id"]),
            *self.entries.split_op(self._read_text(codes["profiling_name"])),
            codes["is_p2p"] == _TRUE,
            inputs.text,
            outputs.text,
            join_types(self._read_references(codes["input_dtypes"])),
            join_types(self._read_references(codes["output_dtypes"])),
            inputs.elements,
            outputs.elements,
            self._read_text(codes["state"]),
            codes["retired"] == _TRUE,
            in_ns(_read_number(codes["timeout_ms"])),
            self._read_stack(codes["frames"]) if "frames" in codes else None,
        )
        return self.entries.place_facts(facts)

    def _read_sizes(self, code: bytes) -> TensorSizes:
        if code not in self._sizes:
            self._sizes[code] = _read_sizes(code)
        return self._sizes[code]

    def _read_stack(self, code: bytes) -> int | None:
        if code not in self._stacks:
            self._stacks[code] = self.entries.number_stack(self._read_references(code))
        return self._stacks[code]

    def _read_references(self, code: bytes) -> list[Any]:
        return [
            self._look_up(small[0] if small else int.from_bytes(large, "little"))
            for small, large in _ONE_REFERENCE.findall(code)
        ]

    def _read_text(self, code: bytes) -> str:
        return _check_text(self._read_references(code)[0])


def _check_text(value: Any) -> str:
    if type(value) is not str:
        raise Malformed("a name is not text")
    return value[:500]


def _encode_reference(number: int) -> bytes:
    """Return the opcode by which PyTorch's pickler refers to an earlier object."""
    return b"h" + bytes([number]) if number < 1 << 8 else b"j" + number.to_bytes(4, "little")


@cache
def _small_numbers() -> dict[bytes, int | None]:
    """Return the numbers of one and two bytes, and None, by the opcodes that stand for them."""
    short: dict[bytes, int | None] = {b"M" + number.to_bytes(2, "little"): number for number in range(1 << 16)}
    return {**short, **{b"K" + bytes([number]): number for number in range(1 << 8)}, b"N": None}


def _read_numbers(codes: Sequence[bytes]) -> list[int | None]:
    """Return the numbers of opcodes with their arguments."""
    if all(len(code) == _LONG_BYTES for code in codes):
        # times: the opcode and the number of bytes, then 8 bytes
        return [number for (number,) in _LONG_NUMBER.iter_unpack(b"".join(codes))]
    small = _small_numbers()
    return [small[code] if code in small else _read_number(code) for code in codes]


def _read_number(code: bytes) -> int | None:
    """Return the number of an opcode with its argument; None for the opcode of None."""
    first = code[0]
    if first == _LONG:
        return int.from_bytes(code[2:], "little", signed=True)
    return None if first == _NONE else int.from_bytes(code[1:], "little", signed=first == _SIGNED)


def _read_sizes(code: bytes) -> TensorSizes:
    """Return the sizes of tensors from the opcodes of a list of lists of numbers."""
    inner = code[2:-1] if len(code) > 1 else b""
    # from opcode to opcode: a byte of a number may look like the begin of a list
    sizes = []
    at = 0
    while at < len(inner):
        part = _SIZE_PART.match(inner, at)
        if part is None:
            raise Malformed("a tensor's size is no list of numbers")
        sizes.append(tuple(_read_number(number.group()) or 0 for number in _INTEGERS.finditer(part[1] or b"")))
        at = part.end()
    return sum_sizes(sizes)
