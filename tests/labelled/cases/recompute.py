from __future__ import annotations

from labelled.gpu_work import GEMM, kernel, run

FORWARD = kernel(GEMM, 100_000, ("aten::linear", "aten::addmm"))
NODE = "autograd::engine::evaluate_function: "
BACKWARD = kernel(GEMM, 200_000, (NODE + "AddmmBackward0", "AddmmBackward0", "aten::mm"))


def found(trace):
    """A checkpoint that enters autograd again."""
    node = "CheckpointFunctionBackward"
    run(trace, FORWARD, kernel(GEMM, 100_000, (NODE + node, node, "aten::linear", "aten::addmm")), BACKWARD)


def found_in_another_node(trace):
    """A checkpoint that does not: forward operators run in the node that first needs a tensor of it."""
    run(
        trace,
        FORWARD,
        kernel(GEMM, 100_000, (NODE + "MulBackward0", "MulBackward0", "aten::linear", "aten::addmm")),
        BACKWARD,
    )


def clean(trace):
    run(trace, FORWARD, BACKWARD)


def clean_nested(trace):
    """The gradients that a checkpoint's node computes are no recomputation."""
    node = "CheckpointFunctionBackward"
    run(
        trace,
        FORWARD,
        kernel(GEMM, 200_000, (NODE + node, node, NODE + "AddmmBackward0", "AddmmBackward0", "aten::mm")),
    )


def cannot_tell(trace):
    """Without operators."""
    run(trace, kernel(GEMM, 100_000))
