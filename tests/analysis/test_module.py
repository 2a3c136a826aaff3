"""Kernels and operations by the module of the model: module_slice, module_timeline, module."""

from __future__ import annotations

import json

import pytest
from builder import TraceBuilder

from traceq.analysis.kernels.module_timeline import Call, nest_calls

MODULES = """
select module, depth, calls, forward_dur::integer, backward_dur::integer, own_dur::integer from module order by module
"""


def test_boundaries_of_calls_that_nest():
    calls = [Call(1, 0, 0, 100, "Net"), Call(2, 0, 10, 40, "A"), Call(3, 0, 40, 90, "B"), Call(4, 1, 5, 9, "C")]
    assert [tuple(each) for each in nest_calls(calls)] == [
        (0, 0, "Net", 1),
        (0, 10, "Net/A", 2),
        (0, 40, "Net", 1),
        (0, 40, "Net/B", 3),
        (0, 90, "Net", 1),
        (0, 100, "", None),
        (1, 5, "C", 4),
        (1, 9, "", None),
    ]


def test_what_outlasts_the_call_around_it_ends_with_it_and_a_wrapper_is_no_module():
    calls = [Call(1, 0, 0, 100, "Net"), Call(2, 0, 50, 120, "A"), Call(3, 0, 60, 70, "A")]
    assert [(each.ts, each.path) for each in nest_calls(calls)] == [
        (0, "Net"),
        (50, "Net/A"),
        (60, "Net/A"),
        (70, "Net/A"),
        (100, "Net"),
        (100, ""),
    ]


def add_numbered_module(trace, name, ts, number, thread=0):
    trace.op(name, ts, 20, thread, args=json.dumps({"Sequence number": number}))


def test_frames_name_modules_and_numbers_of_the_graph_those_of_the_backward_pass():
    """Two layers in a network; of the second what the network does itself, and an update outside of all."""
    trace = TraceBuilder()
    for step in (0, 1000):
        trace.annotation("ProfilerStep#1", step, 1000)
        trace.cpu("python", "nn.Module: Net_0", step + 100, 200)
        for layer in (0, 1):
            ts = step + 110 + 60 * layer
            trace.cpu("python", f"nn.Module: Linear_{layer}", ts, 50)
            add_numbered_module(trace, "aten::linear", ts + 10, step + layer)
            trace.kernel("gemm", ts + 15, 10 + layer, launched=(ts + 12, 2))
            back = step + 500 - 60 * layer
            add_numbered_module(
                trace, "autograd::engine::evaluate_function: AddmmBackward0", back, step + layer, thread=1
            )
            trace.kernel("gemm", back + 10, 20 + layer, launched=(back + 2, 2), thread=1)
        trace.kernel("add", step + 250, 5, launched=(step + 240, 2))
        trace.kernel("update", step + 800, 30, launched=(step + 790, 5))
    assert trace.fill_all().rows(MODULES) == [
        ("Net_0", 1, 2, 52, 82, 10),
        ("Net_0/Linear_0", 2, 2, 20, 40, 60),
        ("Net_0/Linear_1", 2, 2, 22, 42, 64),
    ]


def test_ranges_of_fsdp_and_of_the_program_name_modules():
    trace = TraceBuilder()
    for step in (0, 1000):
        trace.annotation("ProfilerStep#1", step, 1000)
        trace.annotation("FSDP::pre_forward (blocks.3._checkpoint_wrapped_module)", step + 100, 20)
        trace.annotation("attention sublayer", step + 150, 50)
        trace.kernel("gemm", step + 170, 10, launched=(step + 160, 5))
        trace.kernel("add", step + 240, 5, launched=(step + 230, 5))
        trace.annotation("FSDP::post_forward (blocks.3._checkpoint_wrapped_module)", step + 280, 20)
        trace.annotation("layers.0.mlp", step + 400, 50)
        trace.kernel("gemm", step + 420, 20, launched=(step + 410, 5))
        trace.annotation("save block of files: load data", step + 600, 50)
        trace.kernel("copy", step + 620, 20, launched=(step + 610, 5))
    assert trace.fill_all().rows(MODULES) == [
        ("blocks.3", 1, 2, 30, 0, 10),
        ("blocks.3/attention sublayer", 2, 2, 20, 0, 20),
        ("layers.0.mlp", 1, 2, 40, 0, 40),
    ]


def test_ranges_of_pieces_name_the_work_of_the_graphs_that_they_launch_and_are_no_layers():
    """A server splits its graph at attention: the first and last piece have half a layer, those between two halves."""
    trace = TraceBuilder()
    for step in (0, 10_000):
        trace.annotation("ProfilerStep#1", step, 10_000)
        for piece in range(9):
            ts = step + 100 + 1000 * piece
            trace.annotation(f"submod_{piece}", ts, 500)
            trace.kernel("gemm", ts + 200, 10 + piece, launched=(ts + 300, 5))
    trace.fill_all()
    assert trace.rows("select module, calls, forward_dur::integer from module order by module") == [
        (f"submod_{piece}", 2, 2 * (10 + piece)) for piece in range(9)
    ]
    assert trace.rows("from layer") == []


def test_operations_peak_and_memory_of_a_module():
    """Operations at the peak of half precision over the time of the kernels; a call keeps 64 bytes."""
    trace = TraceBuilder()
    trace.add("device", device=0, name="NVIDIA A100-SXM4-80GB", source="trace")
    args = json.dumps({"Input Dims": [[64, 64], [64, 64]], "Input type": ["c10::Half"] * 2})
    for step in (0, 100_000):
        trace.annotation("ProfilerStep#1", step, 100_000)
        trace.cpu("python", "nn.Module: Linear_0", step + 1000, 5000)
        for ts, value in ((500, 1000), (5500, 1064)):
            trace.add("counter", device=0, name="memory_allocated", unit="bytes", ts=step + ts, value=float(value))
        trace.op("aten::mm", step + 1100, 1000, args=args)
        trace.kernel("ampere_fp16_s16816gemm_fp16_64x64", step + 8000, 10_000, launched=(step + 1200, 100))
    flops = 2 * 2 * 64**3
    rows = trace.fill_all().rows("select module, flops, mfu, memory_growth from module")
    assert rows == [("Linear_0", flops, pytest.approx(flops / 312e12 * 1e9 / 20_000), 64)]


def test_without_modules_there_is_no_row():
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 100)
    trace.kernel("gemm", 10, 60, launched=(2, 5))
    assert trace.fill_all().rows("from module") == []
