"""What execution traces say that operators wait for, against a reading byte by byte."""

from __future__ import annotations

import json

import pytest
from executed_programs import PROGRAMS, depend_by_bytes, record
from hypothesis import given
from hypothesis import strategies as st

from traceq.errors import UnusableTrace
from traceq.importers.execution_trace.dependencies import WrittenStorages, find_dependencies
from traceq.importers.execution_trace.reading import TensorUse, is_execution_trace, read_execution_trace


@pytest.mark.parametrize("program", PROGRAMS)
def test_dependencies_are_those_of_every_byte(program, tmp_path):
    recorded, executed = record(program, tmp_path)
    trace = read_execution_trace(executed)
    number = {operator.node: operator.record_id for operator in trace.operators}
    found = {(number[one.reader], number[one.writer]): one.kind for one in find_dependencies(trace)}
    assert found == depend_by_bytes(recorded, executed)
    assert len(found) > 10


def node(number, name, parent, schema, inputs=(), outputs=(), thread=1):
    """A node of schema 1.1; tensors are (storage, offset, size), of float."""

    def values(tensors):
        return {
            "values": [[100 + storage, storage, offset, size, 4, "cpu"] for storage, offset, size in tensors],
            "shapes": [[size] for *_, size in tensors],
            "types": ["Tensor(float)"] * len(tensors),
            "strides": [[1]] * len(tensors),
        }

    attributes = {"rf_id": number, "tid": thread, "op_schema": schema}
    return {
        "id": number, "name": name, "ctrl_deps": parent, "inputs": values(inputs), "outputs": values(outputs),
        "attrs": [{"name": key, "type": "", "value": value} for key, value in attributes.items()],
    }  # fmt: skip


def write(path, *nodes, schema="1.1.1-chakra.0.0.4"):
    path.write_text(json.dumps({"schema": schema, "pid": 7, "time": "", "start_ts": 1, "nodes": nodes}))
    return path


def depend(path, *nodes):
    return [
        f"{one.reader} <- {one.writer} {one.kind} {one.size}"
        for one in find_dependencies(read_execution_trace(write(path, *nodes)))
    ]


BINARY = "aten::add.Tensor(Tensor self, Tensor other) -> Tensor"


def test_the_outermost_that_has_ended_has_written(tmp_path):
    unary = "aten::f(Tensor self) -> Tensor"
    assert depend(
        tmp_path / "et.json",
        # nodes are written as they end
        node(3, "aten::inner", 2, unary, [(1, 0, 8)], [(2, 0, 8)]),
        node(2, "aten::outer", 1, unary, [(1, 0, 8)], [(2, 0, 8)]),
        node(5, "aten::inner", 4, unary, [(2, 0, 8)], [(3, 0, 8)]),
        node(4, "aten::outer", 1, unary, [(2, 0, 8)], [(3, 0, 8)]),
        # of another thread
        node(6, "aten::add", 9, BINARY, [(2, 0, 8), (3, 0, 8)], [(4, 0, 8)], thread=2),
    ) == ["4 <- 2 read 32", "5 <- 2 read 32", "6 <- 2 read 32", "6 <- 4 read 32"]  # fmt: skip


RANGE = st.tuples(st.integers(0, 12), st.integers(0, 6))


@given(writes=st.lists(RANGE), reading=RANGE)
def test_the_last_writers_are_those_of_every_byte(writes, reading):
    storages, last = WrittenStorages(), {}
    for writer, (begin, size) in enumerate(writes):
        storages.add_write(writer, TensorUse(1, begin, begin + size, size))
        last |= dict.fromkeys(range(begin, begin + size), writer)
    begin, size = reading
    expected = {last[byte] for byte in range(begin, begin + size) if byte in last}
    if size:
        assert storages.find_writers(TensorUse(1, begin, begin + size, size)) == expected
    assert storages.find_writers(TensorUse(2, 0, 99, 99)) == set()


def test_a_buffer_of_many_parts_takes_no_quadratic_time():
    # with a list of all writes, made anew for each, this takes an hour
    storages = WrittenStorages()
    for writer in range(50_000):
        storages.add_write(writer, TensorUse(1, 8 * writer, 8 * writer + 8, 8))
    assert storages.find_writers(TensorUse(1, 80, 100, 20)) == {10, 11, 12}


def test_of_two_threads_the_later_end_has_written_last(tmp_path):
    # thread 2 appears first, and its operator ends last
    schema = "aten::add_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)"
    assert depend(
        tmp_path / "et.json",
        node(3, "aten::add_", 1, schema, [(5, 0, 8)], thread=1),
        node(2, "aten::add_", 1, schema, [(5, 0, 8)], thread=2),
        node(4, "aten::add", 1, BINARY, [(5, 0, 8)], [(6, 0, 8)], thread=3),
    ) == ["4 <- 2 read 32"]  # fmt: skip


def test_memory_that_is_given_again_is_another(tmp_path):
    assert depend(
        tmp_path / "et.json",
        node(2, "aten::add", 1, BINARY, [], [(5, 0, 100)]),
        node(3, "aten::add", 1, BINARY, [], [(5, 0, 8)]),
        node(4, "aten::add", 1, BINARY, [(5, 0, 16), (5, 0, 16)], [(6, 0, 8)]),
    ) == ["4 <- 3 read 64"]  # fmt: skip


def test_collectives_change_what_they_are_given(tmp_path):
    schema = "c10d::allreduce_(Tensor[] tensors, int timeout=-1) -> (Tensor[], int)"
    assert depend(
        tmp_path / "et.json",
        node(2, "aten::add", 1, BINARY, [], [(5, 0, 8)]),
        node(3, "c10d::allreduce_", 1, schema, [(5, 0, 8)], [(5, 0, 8)]),
        node(4, "aten::add", 1, BINARY, [(5, 0, 8)], [(6, 0, 8)]),
    ) == ["3 <- 2 update 32", "4 <- 3 read 32"]  # fmt: skip


def flattened(node):
    """The node as layout 1.0.1 has it."""
    node = node | {"parent": node["ctrl_deps"]} | {each["name"]: each["value"] for each in node["attrs"]}
    for side in ("input", "output"):
        values = node[f"{side}s"]
        node |= {f"{side}s": values["values"], f"{side}_shapes": values["shapes"], f"{side}_types": values["types"]}
    return {key: value for key, value in node.items() if key not in ("ctrl_deps", "attrs")}


@pytest.mark.parametrize("layout", ["1.0.1", "1.0.2-chakra.0.0.4"])
def test_earlier_layouts(tmp_path, layout):
    """They know no strides; 1.0.1 has all fields in the node itself."""
    nodes = [
        node(2, "aten::add", 1, BINARY, [], [(5, 0, 8)]),
        node(3, "aten::add", 1, BINARY, [(5, 4, 4)], [(6, 0, 4)]),
    ]
    for one in nodes:
        for side in ("inputs", "outputs"):
            del one[side]["strides"]
    if layout == "1.0.1":
        nodes = [flattened(one) for one in nodes]
    path = write(tmp_path / "et.json", *nodes, schema=layout)
    assert is_execution_trace(path)
    assert [(one.reader, one.writer, one.size) for one in find_dependencies(read_execution_trace(path))] == [(3, 2, 16)]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"schema": "1.1.1", "pid": 1, "nodes": [{"id": 1}', "unregister_callback"),
        ('{"schema": "1.1.1", "pid": 1, "nodes": [{"name": "x"}]}', "missing required field"),
        (
            '{"schema": "1.1.1", "pid": 1, "nodes": [{"id": 1, "inputs": {"values": [1], "shapes": [], "types": []}}]}',
            "zip",
        ),
    ],
)
def test_what_is_damaged_says_so(tmp_path, content, said):
    path = tmp_path / "et.json"
    path.write_text(content)
    assert is_execution_trace(path)
    with pytest.raises(UnusableTrace, match=said):
        read_execution_trace(path)


def test_a_trace_of_the_profiler_is_none(tmp_path):
    path = tmp_path / "trace.json"
    path.write_text('{"schemaVersion": 1, "deviceProperties": [], "traceEvents": []}')
    assert not is_execution_trace(path)
    assert not is_execution_trace(tmp_path / "none.json")
