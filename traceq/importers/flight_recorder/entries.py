"""Entries of a dump as rows, whatever format they come in; equal stacks are stored once."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, NamedTuple

from traceq.importers.pickled import Malformed

_INT64 = 1 << 63
_LONGEST = 500
_MOST_FRAMES = 1000
_MOST_STACKS = 1_000_000
# Sizes of tensors: their product is a number of 64 bits, too.
_MOST_ELEMENTS = 1 << 62
_NS_PER_MS = 1_000_000

Sizes = tuple[tuple[int, ...], ...]


class DumpFrame(NamedTuple):
    """A frame of a Python stack."""

    name: str
    file: str
    line: int


class EntryNumbers(NamedTuple):
    """The numbers of an entry, which differ from entry to entry: columns of recorded_collective, times in ns since 1970."""

    record: int
    sequence: int
    p2p_sequence: int
    op_number: int | None
    created: int | None
    started: int | None
    completed: int | None


class EntryFacts(NamedTuple):
    """The facts that many entries of a dump have in common: the other columns of recorded_collective, without rank."""

    group_name: str
    group_description: str
    group_number: int | None
    backend: str
    op: str
    from_member: int | None
    to_member: int | None
    is_p2p: bool
    input_sizes: str
    output_sizes: str
    input_types: str
    output_types: str
    input_elements: int | None
    output_elements: int | None
    state: str
    is_retired: bool
    timeout: int | None
    stack_id: int | None


class NamedOp(NamedTuple):
    """The name of an operation, taken apart: "nccl:send 0->1" is a send of nccl from member 0 of the group to member 1."""

    backend: str
    op: str
    from_member: int | None
    to_member: int | None


class TensorSizes(NamedTuple):
    """Sizes of an operation's tensors: as text, and the number of their elements; None where there is no tensor."""

    text: str
    elements: int | None


class EntryRows:
    """The entries of a dump: `numbers` are columns of EntryNumbers, `places` the place of each entry's facts in `facts`.

    `facts` holds distinct ones. `stacks` maps each distinct stack to its number, in the order of first use.
    """

    def __init__(self) -> None:
        self.numbers: list[list[int | None]] = [[] for _ in EntryNumbers._fields]
        self.places: list[int] = []
        self.facts: dict[EntryFacts, int] = {}
        self.stacks: dict[tuple[DumpFrame, ...], int] = {}
        self._ops: dict[str, NamedOp] = {}

    def add_entry(self, entry: Mapping[Any, Any]) -> None:
        """Add an entry, a dict with PyTorch's keys. Raises Malformed where a value cannot be."""
        group = entry.get("process_group")
        if not isinstance(group, (tuple, list)) or len(group) != 2 or not all(type(part) is str for part in group):  # noqa: PLR2004
            raise Malformed("'process_group' is not a name and a description")
        inputs, outputs = sum_sizes(entry.get("input_sizes", ())), sum_sizes(entry.get("output_sizes", ()))
        operation = self.split_op(_get_text(entry, "profiling_name"))
        facts = EntryFacts(
            group[0][:_LONGEST],
            group[1][:_LONGEST],
            _get_optional(entry, "pg_id"),
            *operation,
            # before version 2.3 only the name says it
            bool(entry.get("is_p2p", operation.op in ("send", "recv"))),
            inputs.text,
            outputs.text,
            join_types(entry.get("input_dtypes", ())),
            join_types(entry.get("output_dtypes", ())),
            inputs.elements,
            outputs.elements,
            _get_text(entry, "state"),
            entry.get("retired") is True,
            in_ns(_get_optional(entry, "timeout_ms")),
            self.number_stack(entry.get("frames", ())),
        )
        numbers = EntryNumbers(
            _get_integer(entry, "record_id"),
            _get_sequence(entry),
            _get_optional(entry, "p2p_seq_id") or 0,
            _get_optional(entry, "op_id"),
            _get_time(entry, "time_created_ns"),
            _get_time(entry, "time_discovered_started_ns"),
            _get_time(entry, "time_discovered_completed_ns"),
        )
        for column, number in zip(self.numbers, numbers, strict=True):
            column.append(number)
        self.places.append(self.place_facts(facts))

    def place_facts(self, facts: EntryFacts) -> int:
        """Return the place of these facts in `facts`, where they are put if they are new."""
        return self.facts.setdefault(facts, len(self.facts))

    def split_op(self, name: str) -> NamedOp:
        """Return the parts of an operation's name, as of "nccl:send 0->1", "nccl:recv 1<-0", "gloo:all_reduce"."""
        known = self._ops.get(name)
        if known is None:
            backend, _, rest = name.rpartition(":")
            op, _, ends = rest.partition(" ")
            arrow = "->" if "->" in ends else "<-"
            left, _, right = ends.partition(arrow)
            members = (left, right) if arrow == "->" else (right, left)
            is_pair = all(member.isdecimal() and len(member) < 10 for member in members)  # noqa: PLR2004
            sender, receiver = (int(member) for member in members) if is_pair else (None, None)
            known = self._ops[name] = NamedOp(backend[:_LONGEST], op[:_LONGEST], sender, receiver)
        return known

    def number_stack(self, frames: Any) -> int | None:
        """Return the number of a stack, a sequence of StackFrames; None without frames. Raises Malformed for anything else."""
        if not frames:
            return None
        stack = tuple(frames) if isinstance(frames, (tuple, list)) else ()
        if not 0 < len(stack) <= _MOST_FRAMES or not all(type(frame) is DumpFrame for frame in stack):
            raise Malformed("a stack holds something other than frames")
        number = self.stacks.setdefault(stack, len(self.stacks))
        if number >= _MOST_STACKS:
            raise Malformed(f"it has more than {_MOST_STACKS:,} distinct stacks")
        return number


def make_frame(pairs: Mapping[Any, Any]) -> DumpFrame:
    """Return the frame that a dict describes. Raises Malformed where a value cannot be."""
    return DumpFrame(
        _get_text(pairs, "name")[:_LONGEST], _get_text(pairs, "filename")[-_LONGEST:], _get_integer(pairs, "line")
    )


def sum_sizes(sizes: Any) -> TensorSizes:
    """Return the sizes of an operation's tensors as text ("8x4, 8"), and the number of their elements."""
    if not isinstance(sizes, (tuple, list)):
        raise Malformed("the sizes of tensors are no list")
    elements = 0
    for size in sizes:
        if not isinstance(size, (tuple, list)) or not all(type(length) is int and length >= 0 for length in size):
            raise Malformed("a tensor's size is no list of numbers")
        elements += prod(size)
        if elements >= _MOST_ELEMENTS:
            raise Malformed("tensors are larger than can be")
    # of long lists the first tell enough
    text = ", ".join("x".join(map(str, size)) or "1" for size in sizes[:8]) + (", ..." if len(sizes) > 8 else "")  # noqa: PLR2004
    return TensorSizes(text[:_LONGEST], elements if sizes else None)


def join_types(types: Any) -> str:
    """Return the distinct element types of an operation's tensors as text: "Float"; "BFloat16, Float"."""
    if not isinstance(types, (tuple, list)) or not all(type(name) is str for name in types):
        raise Malformed("the types of tensors are no list of names")
    return ", ".join(sorted(set(types)))[:_LONGEST]


def in_ns(milliseconds: int | None) -> int | None:
    """Return ms as ns; None for None, and for more than 64 bits of ns."""
    return None if milliseconds is None or abs(milliseconds) >= _INT64 // _NS_PER_MS else milliseconds * _NS_PER_MS


def _get_text(pairs: Mapping[Any, Any], key: str) -> str:
    value = pairs.get(key)
    if type(value) is not str:
        raise Malformed(f"'{key}' is not text")
    return value


def _get_integer(pairs: Mapping[Any, Any], key: str) -> int:
    value = pairs.get(key)
    if type(value) is not int or abs(value) >= _INT64:
        raise Malformed(f"'{key}' is not a number of at most 64 bits")
    return value


def _get_optional(pairs: Mapping[Any, Any], key: str) -> int | None:
    return None if pairs.get(key) is None else _get_integer(pairs, key)


def _get_time(pairs: Mapping[Any, Any], key: str) -> int | None:
    """Return a time (ns since 1970); None without one, for which JSON has 0."""
    return _get_optional(pairs, key) or None


def _get_sequence(pairs: Mapping[Any, Any]) -> int:
    """Return the number of a collective within its group; version 1 called it seq_id."""
    return _get_integer(pairs, "collective_seq_id" if "collective_seq_id" in pairs else "seq_id")
