"""Reads execution traces as ExecutionTraceObserver writes them: JSON, schemas 1.0.1 to 1.1 of Chakra's host traces."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from traceq.errors import UnusableTrace
from traceq.importers.packed import DAMAGED, is_packed, open_unpacked, read_head

_HEAD = 4096
_SIGN = re.compile(rb'^\s*\{\s*"schema"\s*:\s*"[^"]*"\s*,')
_NODES = re.compile(rb'"(?:nodes|start_ts|pid)"\s*:')
# A trace is decoded as a whole.
_LARGEST = 1 << 31
# Place of the number of elements in the value of a tensor.
_ELEMENTS = 3
_UNREADABLE: tuple[type[Exception], ...] = (OSError, *DAMAGED)


class _Values(msgspec.Struct):
    """Inputs or outputs of a node, one entry each in every list."""

    values: list[Any] = []
    shapes: list[Any] = []
    types: list[Any] = []
    strides: list[Any] = []


class _Attribute(msgspec.Struct):
    name: str
    value: Any = None


class _RawNode(msgspec.Struct):
    """A node of either layout: attributes and values in lists of their own, or (schema 1.0.1) all as fields."""

    id: int
    name: str = ""
    ctrl_deps: int | None = None
    inputs: Any = None
    outputs: Any = None
    attrs: list[_Attribute] = []
    parent: int | None = None
    rf_id: int | None = None
    tid: int | None = None
    op_schema: str | None = None
    input_shapes: list[Any] = []
    input_types: list[Any] = []
    output_shapes: list[Any] = []
    output_types: list[Any] = []


_NODE = msgspec.json.Decoder(_RawNode)


class _RawTrace(msgspec.Struct):
    """A trace whose nodes are still text: decoded one by one they take little memory."""

    schema: str
    nodes: list[msgspec.Raw]
    pid: int | None = None


class TensorUse(msgspec.Struct, frozen=True):
    """The bytes of a storage that a tensor covers: those from `begin` to before `end`, and `size` of its elements."""

    storage: int
    begin: int
    end: int
    size: int


class ExecutedOperator(msgspec.Struct, frozen=True):
    """A node of an execution trace; ids rise in the order in which nodes begin, over all threads.

    `place` is the position in the file, which has nodes in the order in which they end. `record_id` is the number that
    Kineto gives the operator, too ("Record function id"); `schema` is "" for what is no operator. Per argument and per
    result the tensors in it: none for a number, several for a list.
    """

    node: int
    place: int
    parent: int | None
    name: str
    record_id: int | None
    thread: int
    schema: str
    arguments: tuple[tuple[TensorUse, ...], ...]
    results: tuple[tuple[TensorUse, ...], ...]


class ExecutionTrace(msgspec.Struct, frozen=True):
    """An execution trace; operators in the order in which they begin. `pid` is its process, None where it does not say."""

    schema: str
    pid: int | None
    operators: tuple[ExecutedOperator, ...]


def is_execution_trace(path: Path) -> bool:
    """Return whether the file begins like an execution trace; False where it cannot be read."""
    try:
        head = read_head(path, _HEAD)
    except _UNREADABLE:
        return False
    return bool(_SIGN.match(head) and _NODES.search(head))


def read_execution_trace(path: Path) -> ExecutionTrace:
    """Return what the file holds. Raises UnusableTrace for one that cannot be read, is damaged or has another layout."""
    try:
        with open_unpacked(path) as file:
            content = file.read(_LARGEST + 1)
    except OSError as error:
        raise UnusableTrace(f"{path}: cannot be read: {error.strerror}") from error
    except DAMAGED as error:
        raise UnusableTrace(f"{path}: a damaged {'gzip file' if is_packed(path) else 'file'}: {error}") from error
    if len(content) > _LARGEST:
        raise UnusableTrace(f"{path}: an execution trace of more than {_LARGEST >> 30} GiB; record fewer steps of it")
    try:
        raw = msgspec.json.decode(content, type=_RawTrace)
        operators = sorted(map(_build_operator, range(len(raw.nodes)), raw.nodes), key=lambda operator: operator.node)
    except (msgspec.DecodeError, ValueError, TypeError, LookupError, RecursionError) as error:
        raise UnusableTrace(
            f"{path}: cannot be read as an execution trace: {error}; a program that is ended before it calls"
            " unregister_callback() leaves it unfinished"
        ) from error
    return ExecutionTrace(raw.schema, raw.pid, tuple(operators))


def _build_operator(place: int, text: msgspec.Raw) -> ExecutedOperator:
    node = _NODE.decode(text)
    attributes: Mapping[str, Any] = {attribute.name: attribute.value for attribute in node.attrs}
    record_id = attributes.get("rf_id", node.rf_id)
    return ExecutedOperator(
        node=node.id,
        place=place,
        parent=node.parent if node.ctrl_deps is None else node.ctrl_deps,
        name=node.name,
        record_id=int(record_id) if record_id else None,
        thread=int(attributes.get("tid", node.tid) or 0),
        schema=str(attributes.get("op_schema", node.op_schema) or ""),
        arguments=_list_tensors(node.inputs, node.input_shapes, node.input_types),
        results=_list_tensors(node.outputs, node.output_shapes, node.output_types),
    )


def _list_tensors(values: Any, shapes: list[Any], types: list[Any]) -> tuple[tuple[TensorUse, ...], ...]:
    """Return per argument the tensors in it. Shapes and types are in `values` (1.0.2 and later) or beside it."""
    given = msgspec.convert(values, _Values) if isinstance(values, dict) else _Values(values or [], shapes, types)
    strides = given.strides or [None] * len(given.values)
    return tuple(
        tuple(_find_tensors(value, shape, str(kind), stride))
        for value, shape, kind, stride in zip(given.values, given.shapes, given.types, strides, strict=True)
    )


def _find_tensors(value: Any, shape: Any, kind: str, stride: Any) -> Iterator[TensorUse]:
    """Yield the tensors of a value: itself, or, in the order of a list, its elements'."""
    if kind.startswith("Tensor("):
        # Undefined tensors have no device and no elements.
        if value[_ELEMENTS]:
            yield _measure_tensor(value, shape, stride)
    elif kind.startswith("GenericList[") and isinstance(value, list):
        kinds = _split_list(kind)
        strides = stride if isinstance(stride, list) and len(stride) == len(value) else [None] * len(value)
        if len(kinds) == len(value) == len(shape):
            for one, its_shape, its_kind, its_stride in zip(value, shape, kinds, strides, strict=True):
                yield from _find_tensors(one, its_shape, its_kind, its_stride)


def _split_list(kind: str) -> list[str]:
    """Return the types within "GenericList[Tensor(float),GenericList[Int,Int]]", those of inner lists whole."""
    parts, depth, start = list[str](), 0, 0
    inner = kind[len("GenericList[") : -1]
    for place, letter in enumerate(inner):
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and depth == 0:
            parts.append(inner[start:place])
            start = place + 1
    return [*parts, inner[start:]] if inner else []


def _measure_tensor(value: Sequence[Any], shape: Any, stride: Any) -> TensorUse:
    """Return which bytes [tensor id, storage id, offset, elements, bytes of an element, device] covers."""
    _, storage, offset, elements, width = (int(part) for part in value[:5])
    reach = elements
    if isinstance(shape, list) and isinstance(stride, list) and len(shape) == len(stride):
        reach = 1 + sum((int(size) - 1) * abs(int(step)) for size, step in zip(shape, stride, strict=True))
    return TensorUse(storage, offset * width, (offset + max(1, reach)) * width, elements * width)
