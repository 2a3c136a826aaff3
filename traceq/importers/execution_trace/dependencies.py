"""Dependencies between the operators of an execution trace by the tensors that they use."""

from __future__ import annotations

import re
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


class _Write(NamedTuple):
    node: int
    begin: int
    end: int


class _OpenNode(NamedTuple):
    node: int
    place: int
    written: frozenset[TensorUse]


class _Storages:
    """The last writers of the bytes of every storage."""

    def __init__(self) -> None:
        self._writes: dict[int, list[_Write]] = defaultdict(list)

    def renew_storage(self, storage: int) -> None:
        """Note that the id names other memory from now on, which nobody has written."""
        self._writes.pop(storage, None)

    def add_write(self, node: int, use: TensorUse) -> None:
        """Note that the node wrote these bytes; what others wrote there no longer counts."""
        kept = [
            _Write(one.node, begin, end)
            for one in self._writes[use.storage]
            for begin, end in ((one.begin, min(one.end, use.begin)), (max(one.begin, use.end), one.end))
            if begin < end
        ]
        self._writes[use.storage] = [*kept, _Write(node, use.begin, use.end)]

    def find_writers(self, use: TensorUse) -> Iterator[int]:
        """Yield the nodes whose bytes the tensor covers."""
        for one in self._writes[use.storage]:
            if one.begin < use.end and one.end > use.begin:
                yield one.node


def find_dependencies(trace: ExecutionTrace) -> list[TensorDependency]:
    """Return what each operator waits for, in the order of readers, then writers.

    An operator writes its results, but for views of its arguments, and the arguments that its schema marks as changed. It
    has written them when it ends, whoever within it did; until then what is within it waits for one another. The id of a
    storage that was freed may be given again: a result that is no view is in new memory. Nodes are written as they end, which
    tells of two threads what had ended.
    """
    storages = _Storages()
    open_nodes: dict[int, list[_OpenNode]] = defaultdict(list)
    found: dict[tuple[int, int], TensorDependency] = {}
    for operator in trace.operators:
        for thread, stack in open_nodes.items():
            while stack and (
                stack[-1].node != operator.parent if thread == operator.thread else stack[-1].place < operator.place
            ):
                ended = stack.pop()
                for use in ended.written:
                    storages.add_write(ended.node, use)
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


def _list_waits(storages: _Storages, operator: ExecutedOperator, changed: frozenset[int]) -> Iterator[TensorDependency]:
    """Yield what each different tensor among the arguments waits for."""
    seen = set[TensorUse]()
    for place, uses in enumerate(operator.arguments):
        for use in uses:
            if use in seen:
                continue
            seen.add(use)
            for writer in sorted(set(storages.find_writers(use))):
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
