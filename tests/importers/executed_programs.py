"""Programs of which PyTorch records an execution trace beside its profiler's trace, and another reading of what they say."""

from __future__ import annotations

import json
import re
from collections import defaultdict

import torch
from torch.profiler import ExecutionTraceObserver, ProfilerActivity, profile


def perceptron():
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
    optimizer = torch.optim.Adam(model.parameters(), foreach=True)
    inputs, labels = torch.randn(8, 16), torch.randint(0, 4, (8,))

    def step():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()

    return step


def convolution():
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(inplace=True), torch.nn.Dropout(0.1)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    images = torch.randn(2, 3, 8, 8)

    def step():
        optimizer.zero_grad(set_to_none=False)
        model(images).mean().backward()
        optimizer.step()

    return step


def attention():
    query = torch.randn(2, 2, 8, 4, requires_grad=True)

    def step():
        keys, values = query.chunk(2, dim=2)
        found = torch.nn.functional.scaled_dot_product_attention(query, keys, values)
        torch.cat([found, query], dim=-1).sum().backward()
        with torch.no_grad():
            query.grad.zero_()

    return step


def slices():
    """Writes into parts of a tensor, of which others read some."""
    table, memory = torch.zeros(6, 4), torch.zeros(12)

    def step():
        table[:2].copy_(torch.ones(2, 4))
        table[2:4].add_(table[:2])
        table[4:].mul_(2)
        table.index_add_(0, torch.tensor([1, 5]), torch.ones(2, 4))
        torch.add(table[0], table[5], out=memory[:4])
        (memory[4:8] + memory[:4]).relu_()
        memory[2:6].exp_()
        memory.sum()

    return step


PROGRAMS = {made.__name__: made for made in (perceptron, convolution, attention, slices)}


def record(program, folder):
    """Run three steps of a program under both; return the paths of the profiler's trace and the execution trace."""
    torch.manual_seed(0)
    step = PROGRAMS[program]()
    step()
    executed, recorded = folder / f"{program}.et.json", folder / f"{program}.json"
    observer = ExecutionTraceObserver().register_callback(str(executed))
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, execution_trace_observer=observer) as found:
        for _ in range(3):
            step()
    observer.unregister_callback()
    found.export_chrome_trace(str(recorded))
    return recorded, executed


def depend_by_bytes(recorded, executed):
    """The dependencies of an execution trace, byte by byte: (record id of reader, of writer) -> kind.

    Who is within whom, and who began before whom, is told by the times of the profiler's trace.
    """
    nodes = {}
    for node in json.loads(executed.read_text())["nodes"]:
        attributes = {one["name"]: one["value"] for one in node["attrs"]}
        if attributes["op_schema"]:
            nodes[attributes["rf_id"]] = (node, attributes["op_schema"])
    moments = []
    for event in json.loads(recorded.read_text())["traceEvents"]:
        number = event.get("args", {}).get("Record function id")
        if event.get("cat") == "cpu_op" and number in nodes:
            # of two that begin or end at one time the outer one, of the smaller number, begins first and ends last
            moments.append((event["ts"], 1, number))
            moments.append((event["ts"] + event["dur"], 0, -number))
    # Kineto has no event of some allocations
    missing = nodes.keys() - {abs(number) for *_, number in moments}
    assert {nodes[number][0]["name"] for number in missing} <= {"aten::empty"}
    owner, found = defaultdict(dict), {}
    for _, begins, number in sorted(moments, key=lambda one: (one[0], one[1] or -1, one[2])):
        node, schema = nodes[abs(number)]
        arguments = [_bytes_of(*one) for one in _entries(node["inputs"])]
        marked = list(zip(arguments, _marks(schema), strict=False))
        storages = {storage for argument in arguments for storage, _ in argument}
        results = {byte for one in _entries(node["outputs"]) for byte in _bytes_of(*one) if byte[0] not in storages}
        if begins:
            _note_uses(found, owner, number, marked)
            for storage in {storage for storage, _ in results}:
                owner[storage].clear()
        else:
            for storage, byte in {
                *results,
                *(byte for argument, is_changed in marked if is_changed for byte in argument),
            }:
                owner[storage][byte] = abs(number)
    return found


def _note_uses(found, owner, reader, marked):
    """Add to `found` who wrote the bytes of the arguments, each with whether the operator changes it."""
    for argument, is_changed in marked:
        for storage, byte in argument:
            writer = owner[storage].get(byte)
            if writer is not None:
                kind = "update" if is_changed else "read"
                found[reader, writer] = "read" if "read" in (kind, found.get((reader, writer))) else kind


def _entries(values):
    return zip(values["values"], values["shapes"], values["types"], values["strides"], strict=True)


def _bytes_of(value, shape, kind, strides):
    """The (storage, byte) pairs of all between the first and the last element of a tensor, or of a list's tensors."""
    if kind.startswith("GenericList[Tensor"):
        kinds = re.findall(r"Tensor\([^()]*(?:\([^()]*\))?\)", kind)
        return [
            byte
            for one in zip(value, shape, kinds, strides, strict=True)
            for byte in _bytes_of(*one)
        ]  # fmt: skip
    if not kind.startswith("Tensor(") or not value[3]:
        return []
    _, storage, offset, _, width, _ = value
    last = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    return [(storage, byte) for byte in range(offset * width, (offset + last + 1) * width)]


def _marks(schema):
    """Whether the operator changes each argument."""
    depth, marks, part = 0, [], ""
    for letter in schema[schema.index("(") + 1 : schema.rindex("->")].rstrip()[:-1] + ",":
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            if part.strip() != "*":
                marks.append("!" in part)
            part = ""
        else:
            part += letter
    return marks
