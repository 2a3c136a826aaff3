"""Traces of replayed graphs and of their capture, written by hand: kernels by name, the operators they are of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from builder import TraceBuilder

from traceq.analysis import order
from traceq.analysis.graphs.captured import Captured
from traceq.analysis.graphs.graph_match import add_known_nodes, read_captured

# Operators and the kernels they launch: (operator, shapes, kernels).
Call = tuple[str, list[list[int]], Sequence[str]]


def render_shapes(*dims: list[int]) -> str:
    return json.dumps({"Input Dims": list(dims), "Input type": ["c10::BFloat16"] * len(dims)})


def build_layer(tokens: int, product: str = "gemm") -> list[Call]:
    """Build a layer for that many tokens: three kernels, two of one name."""
    return [
        ("aten::mm", [[tokens, 64], [64, 32]], [product]),
        ("aten::add", [[tokens, 32], [tokens, 32]], ["add", "add"]),
    ]


class World:
    """A trace whose host calls follow one another."""

    def __init__(self) -> None:
        self.trace = TraceBuilder()
        self._at = 0
        self._correlations = 1000

    def capture(self, calls: Sequence[Call], annotation: str | None = None, *, named: bool = True) -> World:
        """A graph is captured."""
        first = self._at
        self._add_call("cudaStreamBeginCapture")
        for name, shapes, kernels in calls:
            self._add_operator(name, shapes, [(kernel if named else None) for kernel in kernels])
        self._add_call("cudaStreamEndCapture")
        if annotation is not None:
            self.trace.annotation(annotation, first, self._at - first)
        return self

    def run(self, calls: Sequence[Call], **columns: Any) -> World:
        """The calls run without a graph."""
        for name, shapes, kernels in calls:
            first, launches = self._at, len(kernels)
            self.trace.op(name, first, 10 * launches + 2, args=render_shapes(*shapes))
            for number, kernel in enumerate(kernels):
                at = first + 1 + 10 * number
                self.trace.kernel(kernel, at + 100, 5, launched=(at, 5), **columns)
            self._at += 10 * launches + 10
        return self

    def replay(self, *kernels: str | tuple[str, dict[str, Any]]) -> World:
        """A graph is launched, which runs these kernels."""
        self._correlations += 1
        self._add_call("cudaGraphLaunch", self._correlations)
        for number, each in enumerate(kernels):
            name, columns = each if isinstance(each, tuple) else (each, {})
            self.trace.kernel(name, self._at + 100 + 10 * number, 5, correlation_id=self._correlations, **columns)
        self._at += 200 + 10 * len(kernels)
        return self

    def _add_operator(self, name: str, shapes: list[list[int]], kernels: Sequence[str | None]) -> None:
        first = self._at
        for kernel in kernels:
            self._at += 1
            args = {} if kernel is None else {"args": json.dumps({"kernel": kernel})}
            self.trace.cpu("runtime", "cudaLaunchKernel", self._at, 2, **args)
            self._at += 3
        self.trace.op(name, first, self._at - first, args=render_shapes(*shapes))
        self._at += 5

    def _add_call(self, name: str, correlation: int | None = None) -> None:
        self.trace.call(name, self._at, 5, correlation)
        self._at += 10

    def captured(self) -> Captured:
        """What it tells as a capture beside another trace."""
        connection = self.trace.fill("module_timeline")._connection
        captured = read_captured(connection, with_eager=True)
        return add_known_nodes(connection, captured)

    def beside(self, *captures: World) -> TraceBuilder:
        """The trace, with what the captures tell of its graphs."""
        connection = self.trace.fill("module_timeline")._connection
        state = order.AnalysisState(1, captures=[each.captured() for each in captures])
        order.run(connection, ("graph_match", "graph_kernel"), state)
        return self.trace
