"""Phases of training where nothing names them: phase_interval, from the numbers of autograd's graph."""

from __future__ import annotations

import json

from builder import TraceBuilder

PHASES = """
select g.name, s.phase from gpu_slice as g inner join launch_state as s using (trace_id, slice_id) order by g.ts
"""
LEDGER = "select phase, category, dur from host_ledger where dur > 0 order by all"


def add_numbered_range(trace, name, ts, dur, number, thread=0):
    trace.op(name, ts, dur, thread, args=json.dumps({"Sequence number": number, "Fwd thread id": thread}))


def build_training(backward=True, marked=False):
    """Two steps on thread 0: input, two layers, backward on thread 1, an update; `marked`: a range names the forward pass."""
    trace = TraceBuilder()
    for step in (0, 1000):
        trace.annotation("ProfilerStep#1", step, 1000)
        if marked:
            trace.annotation("forward", step + 90, 200)
        add_numbered_range(trace, "aten::to", step + 30, 20, 7 + step)
        trace.kernel("copy of the batch", step + 50, 10, launched=(step + 40, 5))
        for layer in (0, 1):
            add_numbered_range(trace, "aten::linear", step + 100 + 100 * layer, 50, 7 + layer + step)
            trace.kernel(f"layer {layer}", step + 120 + 100 * layer, 30, launched=(step + 110 + 100 * layer, 5))
        trace.kernel("between layers", step + 170, 10, launched=(step + 160, 5))
        if backward:
            for layer in (1, 0):
                ts = step + 500 - 100 * layer
                name = "autograd::engine::evaluate_function: AddmmBackward0"
                add_numbered_range(trace, name, ts, 50, 7 + layer + step, thread=1)
                trace.kernel(f"gradient {layer}", ts + 20, 20, launched=(ts + 10, 5), thread=1)
        trace.op("aten::_foreach_norm", step + 740, 20)
        trace.kernel("norm of the gradients", step + 750, 20, launched=(step + 745, 5))
        trace.op("aten::_foreach_addcdiv_", step + 780, 20)
        trace.kernel("update", step + 800, 30, launched=(step + 790, 5))
    return trace


def test_what_a_backward_pass_undoes_was_forward_and_what_lies_between():
    rows = build_training().fill_all().rows(PHASES)
    one = [
        ("copy of the batch", "other"),
        ("layer 0", "forward"),
        ("between layers", "forward"),
        ("layer 1", "forward"),
        ("gradient 1", "backward"),
        ("gradient 0", "backward"),
        ("norm of the gradients", "other"),
        ("update", "optimizer"),
    ]
    assert rows == one * 2


def test_the_thread_that_waits_for_the_backward_pass_is_in_it():
    """In each of two steps 150 ns of both layers 150 ns in which thread 1 runs backward, and 20 ns of an update."""
    rows = build_training().fill_all().rows("select phase, sum(dur) from host_ledger group by phase order by phase")
    assert rows == [("backward", 300), ("forward", 300), ("optimizer", 40), ("other", 1360)]


def test_a_marked_forward_pass_ends_the_backward_pass_before_it():
    rows = build_training(marked=True).fill_all().rows(PHASES)
    assert [phase for name, phase in rows if name == "copy of the batch"] == ["other", "other"]
    assert [phase for name, phase in rows if name == "gradient 0"] == ["backward", "backward"]


def test_numbers_alone_are_no_training():
    rows = build_training(backward=False).fill_all().rows(PHASES)
    assert {phase for _, phase in rows} == {"other"}
