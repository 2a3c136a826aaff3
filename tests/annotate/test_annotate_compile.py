"""Marks and torch.compile: no graph breaks, no warnings, no recompilation."""

from __future__ import annotations

import lazy_import
import pytest

from traceq import annotate

torch = lazy_import.module("torch")

backends = pytest.mark.parametrize("backend", ["eager", pytest.param("aot_eager", marks=pytest.mark.slow)])


@pytest.fixture(autouse=True)
def counters():
    """What torch.compile counts, from nothing; only whoever runs these tests waits for its import."""
    from torch._dynamo.utils import counters

    torch._dynamo.reset()
    counters.clear()
    yield counters
    torch._dynamo.reset()


@annotate.phase("decorated")
def add_one(x):
    return x + 1


def dump_everything(x):
    with annotate.step(3, samples=2), annotate.phase("within"):
        annotate.payload(tokens=1)
        return add_one(x * 2)


@backends
def test_code_with_marks_compiles_as_one_graph(backend, profiled, counters):
    compiled = torch.compile(dump_everything, fullgraph=True, backend=backend)
    assert compiled(torch.ones(2)).tolist() == [3.0, 3.0]

    def call():
        with annotate.phase("around"):
            compiled(torch.ones(2))

    assert [name for name, _, _ in profiled(call)] == ["traceq.phase#around"]
    assert not counters["graph_break"]


def test_nothing_is_compiled_again_when_marks_are_switched_or_open(tool, counters):
    compiled = torch.compile(dump_everything, fullgraph=True, backend="eager")
    compiled(torch.ones(2))
    with annotate.phase("open"):
        compiled(torch.ones(2))
    annotate.disable()
    compiled(torch.ones(2))
    assert counters["stats"]["unique_graphs"] == 1
    assert tool.calls == ["push traceq.phase#open", "pop traceq.phase#open"]


def test_marks_come_first_or_torch_does(tool):
    """The first mark of all is one that is being compiled."""
    compiled = torch.compile(add_one, fullgraph=True, backend="eager")
    assert compiled(torch.ones(1)).tolist() == [2.0]
    assert add_one(torch.ones(1)).tolist() == [2.0]
    assert tool.calls == ["push traceq.phase#decorated", "pop traceq.phase#decorated"]


@backends
def test_a_model_with_marks_compiles_as_one_graph(backend, tool, counters):
    module = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    inner = annotate.model(module)
    compiled = torch.compile(module, fullgraph=True, backend=backend)
    compiled(torch.ones(1, 2))
    assert tool.calls == []
    inner.remove()
    annotate.model(compiled)
    compiled(torch.ones(1, 2))
    assert tool.calls == ["push traceq.module#Sequential", "pop traceq.module#Sequential"]
    assert not counters["graph_break"]
