"""Dependencies between the operators of an execution trace by the tensors that they use."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from typing import Literal, NamedTuple

from traceq.importers.execution_trace.reading import ExecutedOperator, ExecutionTrace, TensorUse

_ARGUMENT_LIST = re.compile(r"\((.*)\)\s*->", re.DOTALL)


class TensorDependency(NamedTuple):
    """`reader` uses bytes that `writer` wrote last: it reads them, or changes them in place (update).

    Both are ids of nodes. `size` is of the tensors that it uses, in bytes, each counted once.
    """

    reader: int
    writer: int
    kind: Literal["read", "update"]
    size: int


class _OpenNode(NamedTuple):
    node: int
    place: int
    written: frozenset[TensorUse]


class _WrittenBytes(NamedTuple):
    """The ranges of bytes of a storage that were written, disjoint and in their order, with the node that wrote each last."""

    begins: list[int]
    ends: list[int]
    nodes: list[int]

    def find_overlap(self, use: TensorUse) -> slice:
        """Return the places of the ranges that share bytes with the tensor."""
        return slice(bisect_right(self.ends, use.begin), bisect_left(self.begins, use.end))

    def add_range(self, node: int, use: TensorUse) -> None:
        """Note that the node wrote these bytes; of ranges that they cut, what lies outside stays."""
        overlap = self.find_overlap(use)
        ranges = [(use.begin, use.end, node)]
        if overlap.start < overlap.stop:
            first, last = overlap.start, overlap.stop - 1
            if self.begins[first] < use.begin:
                ranges.insert(0, (self.begins[first], use.begin, self.nodes[first]))
            if self.ends[last] > use.end:
                ranges.append((use.end, self.ends[last], self.nodes[last]))
        for values, added in zip(self, zip(*ranges, strict=True), strict=True):
            values[overlap] = added


class WrittenStorages:
    """The last writers of the bytes of every storage."""

    def __init__(self) -> None:
        self._written: dict[int, _WrittenBytes] = {}

    def renew_storage(self, storage: int) -> None:
        """Note that the id names other memory from now on, which nobody has written."""
        self._written.pop(storage, None)

    def add_write(self, node: int, use: TensorUse) -> None:
        """Note that the node wrote these bytes; what others wrote there no longer counts."""
        if use.begin < use.end:
            self._written.setdefault(use.storage, _WrittenBytes([], [], [])).add_range(node, use)

    def find_writers(self, use: TensorUse) -> set[int]:
        """Return the nodes whose bytes the tensor covers."""
        written = self._written.get(use.storage)
        return set() if written is None else set(written.nodes[written.find_overlap(use)])


def find_dependencies(trace: ExecutionTrace) -> list[TensorDependency]:
    """Return what each operator waits for, in the order of readers, then writers.

    An operator writes its results, but for views of its arguments, and the arguments that its schema marks as changed. It
    has written them when it ends, whoever within it did; until then what is within it waits for one another. The id of a
    storage that was freed may be given again: a result that is no view is in new memory. Nodes are written as they end, which
    tells of two threads what had ended.
    """
    storages = WrittenStorages()
    open_nodes: dict[int, list[_OpenNode]] = defaultdict(list)
    found: dict[tuple[int, int], TensorDependency] = {}
    for operator in trace.operators:
        ended: list[_OpenNode] = []
        for thread, stack in open_nodes.items():
            while stack and (
                stack[-1].node != operator.parent if thread == operator.thread else stack[-1].place < operator.place
            ):
                ended.append(stack.pop())
        for one in sorted(ended, key=lambda node: node.place):
            for use in one.written:
                storages.add_write(one.node, use)
        if ended:
            open_nodes = defaultdict(list, {thread: stack for thread, stack in open_nodes.items() if stack})
        written = frozenset[TensorUse]()
        if operator.schema:
            changed = _find_changed(operator)
            for dependency in _list_waits(storages, operator, changed):
                place = dependency.reader, dependency.writer
                earlier = found.get(place)
                found[place] = dependency if earlier is None else _merge_uses(earlier, dependency)
            fresh = _find_fresh(operator)
            for use in fresh:
                storages.renew_storage(use.storage)
            written = fresh.union(*(operator.arguments[place] for place in changed))
        open_nodes[operator.thread].append(_OpenNode(operator.node, operator.place, written))
    return sorted(found.values())


def _list_waits(
    storages: WrittenStorages, operator: ExecutedOperator, changed: frozenset[int]
) -> Iterator[TensorDependency]:
    """Yield what each different tensor among the arguments waits for."""
    seen = set[TensorUse]()
    for place, uses in enumerate(operator.arguments):
        for use in uses:
            if use in seen:
                continue
            seen.add(use)
            for writer in sorted(storages.find_writers(use)):
                yield TensorDependency(operator.node, writer, "update" if place in changed else "read", use.size)


def _merge_uses(one: TensorDependency, other: TensorDependency) -> TensorDependency:
    kind: Literal["read", "update"] = "read" if "read" in (one.kind, other.kind) else "update"
    return one._replace(kind=kind, size=one.size + other.size)


def _find_fresh(operator: ExecutedOperator) -> frozenset[TensorUse]:
    """Return the results that share no storage with an argument."""
    of_arguments = {use.storage for uses in operator.arguments for use in uses}
    return frozenset(use for uses in operator.results for use in uses if use.storage not in of_arguments)


def _find_changed(operator: ExecutedOperator) -> frozenset[int]:
    """Return the places of the arguments that the operator changes: marked with ! in its schema (`Tensor(a!) self`).

    Operators of c10d mark none: those whose name ends in _ change what they are given first.
    """
    declared = _ARGUMENT_LIST.search(operator.schema)
    marks = [bool(re.search(r"\(\w+!", part)) for part in _split_arguments(declared[1] if declared else "")]
    changed = {place for place, is_changed in enumerate(marks[: len(operator.arguments)]) if is_changed}
    if not changed and operator.name.endswith("_") and operator.arguments:
        changed = {next((place for place, uses in enumerate(operator.arguments) if uses), 0)}
    return frozenset(changed)


def _split_arguments(text: str) -> list[str]:
    """Return the arguments of a schema, without the * that names stand behind."""
    parts, depth, start = list[str](), 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    return [part for part in (one.strip() for one in (*parts, text[start:])) if part and part != "*"]
