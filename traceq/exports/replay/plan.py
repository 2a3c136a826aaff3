"""The plan of a replay: an operator with arguments that can be made again, and which of them have the batch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from traceq.exports.replay.arguments import (
    WITH_SETTINGS,
    Argument,
    RecordedInputs,
    RecordedTensor,
    read_arguments,
)
from traceq.exports.replay.values import fill_tensors, is_tensor, list_parts

# Without recorded settings only those are replayed whose settings nearly everybody leaves as they are.
_SETTLED = frozenset(
    (
        *("mm", "bmm", "mv", "addmm", "addmv", "baddbmm", "matmul", "linear", "embedding", "copy_"),
        *("add", "add_", "sub", "sub_", "mul", "mul_", "div", "div_", "addcmul", "addcmul_", "addcdiv", "addcdiv_"),
        *("relu", "relu_", "gelu", "silu", "sqrt", "rsqrt", "exp", "log", "tanh", "sigmoid", "neg", "abs"),
        *("cudnn_batch_norm_backward", "miopen_batch_norm_backward"),
    )
)

# Attention of one library: the places of mask, dropout, causality and scale, None for what it does not have.
_ATTENTION: dict[str, tuple[int | None, int, int, int]] = {
    "_scaled_dot_product_flash_attention": (None, 3, 4, 6),
    "_scaled_dot_product_flash_attention_for_cpu": (5, 3, 4, 6),
    "_scaled_dot_product_efficient_attention": (3, 5, 6, 7),
    "_scaled_dot_product_cudnn_attention": (3, 5, 6, 8),
    "_scaled_dot_product_flash_attention_backward": (None, 10, 11, 14),
    "_scaled_dot_product_flash_attention_for_cpu_backward": (8, 6, 7, 9),
    "_scaled_dot_product_efficient_attention_backward": (4, 9, 11, 12),
    "_scaled_dot_product_cudnn_attention_backward": (8, 13, 14, 15),
}
# The places of the gradient, input, weight, mean and variance.
_LIBRARY_NORM_BACKWARD = {
    "cudnn_batch_norm_backward": (1, 0, 2, 3, 4),
    "miopen_batch_norm_backward": (1, 0, 2, 3, 4),
}

# Which arguments have the batch as their first dimension; of others all that are shaped like the largest.
_BATCHED: dict[str, tuple[int, ...]] = {
    "mm": (0, 2),
    "mv": (0, 2),
    "linear": (0,),
    "matmul": (0,),
    "addmm": (1, 5),
    "_addmm_activation": (1,),
    "bmm": (0, 1, 2),
    "baddbmm": (0, 1, 2),
    "convolution": (0,),
    "conv1d": (0,),
    "conv2d": (0,),
    "conv3d": (0,),
    "convolution_backward": (0, 1),
    "scaled_dot_product_attention": (0, 1, 2),
    "embedding": (1,),
    "embedding_dense_backward": (0, 1),
    "batch_norm": (0,),
}
_ALIKE = frozenset({"elementwise", "norm"})
# Their settings hold the size of the batch.
_COUNTED = frozenset({"native_group_norm", "native_group_norm_backward"})
_READS_ONE_VALUE = frozenset({"item", "_local_scalar_dense", "is_nonzero"})
_COMPUTES_NOTHING = frozenset(
    (
        *(
            "empty",
            "empty_like",
            "empty_strided",
            "new_empty",
            "new_empty_strided",
            "resize_",
            "detach",
            "detach_",
            "alias",
        ),
        *(
            "as_strided",
            "as_strided_",
            "_reshape_alias",
            "view",
            "expand",
            "permute",
            "transpose",
            "t",
            "select",
            "slice",
        ),
    )
)
_NAME = re.compile(r"aten::(\w+)(?:\.\w+)?")


class RecordedOperator(NamedTuple):
    """An operator of a trace with equal inputs: how often and how long it ran, and what it could take; times in ns.

    `trace` is the name of its file. `flops` and the ceilings are those of operator_cost. `device` is None where the trace
    does not name the GPU, and without `kernels` it ran on the host.
    """

    trace: str
    name: str
    inputs: RecordedInputs
    calls: int
    total_dur: int
    median_dur: int
    least_dur: int
    step: int | None
    device: str | None
    kernels: tuple[str, ...]
    is_wanted: bool
    kind: str | None
    flops: int | None
    bytes: int | None
    ceiling_dur: int | None
    reachable_dur: int | None
    ceiling_limit: str | None
    beyond_dur: int


class ReplayPlan(NamedTuple):
    """The call that a script makes: `called` with the arguments, or for a `gradient` its backward pass for the inputs `wanted`.

    `batch` are the places of arguments that have the batch as their first dimension, `assumed` what no record says.
    """

    called: str
    arguments: list[Argument]
    recorded: RecordedOperator
    gradient: RecordedTensor | None = None
    wanted: tuple[int, ...] = ()
    batch: tuple[int, ...] = ()
    assumed: tuple[str, ...] = ()


def plan_replay(operator: RecordedOperator) -> ReplayPlan:
    """Return how the operator is run again. Raises ValueError, which says what the trace lacks and how to record it."""
    match = _NAME.fullmatch(operator.name)
    if match is None:
        raise ValueError(
            f"{operator.name} is no operator of PyTorch itself (aten::): the library that has it is needed"
        )
    name = match[1]
    arguments = read_arguments(operator.inputs)
    if not any(map(is_tensor, list_parts(arguments))):
        raise ValueError("it has no tensor among its inputs")
    if any(argument is ... for argument in arguments) and name not in _SETTLED:
        raise ValueError(f"the trace lacks its settings (Concrete Inputs); {WITH_SETTINGS}")
    if name in _READS_ONE_VALUE:
        raise ValueError("it only reads one value, and waits for what computes it")
    if name in _COMPUTES_NOTHING:
        raise ValueError("it computes nothing: it allocates memory, or names some")
    if name == "einsum":
        raise ValueError("PyTorch does not record its equation; the products in it can be run again: --op bmm")
    assumed = (*_list_assumptions(arguments), *(["its approximation is not recorded: none"] if "gelu" in name else []))
    if name in _ATTENTION:
        plan = _plan_attention(name, arguments, operator)
    elif name in _LIBRARY_NORM_BACKWARD:
        plan = _plan_norm_backward(name, arguments, operator)
    else:
        plan = ReplayPlan(operator.name, fill_tensors(name, arguments), operator)
    return plan._replace(assumed=(*assumed, *plan.assumed), batch=_find_batch(plan, operator.kind))


def _list_assumptions(arguments: Sequence[Argument]) -> list[str]:
    """Return what has to be assumed of the arguments, as sentences."""
    tensors = [argument for argument in arguments if is_tensor(argument)]
    lists = [part for part in list_parts(arguments) if is_tensor(part) and part not in tensors]
    found = []
    if any(tensor.strides is None for tensor in tensors):
        found.append("strides were not recorded: tensors are contiguous here")
    if lists:
        found.append("types of tensors in lists are not recorded: float32 unless --dtype says otherwise")
    if any(argument is ... for argument in arguments):
        found.append("settings were not recorded: PyTorch's defaults are taken")
    return found


def _plan_attention(name: str, arguments: list[Argument], operator: RecordedOperator) -> ReplayPlan:
    """Return the plan of attention through scaled_dot_product_attention, which picks a library on every device."""
    backward = name.endswith("_backward")
    mask, dropout, causal, scale = _ATTENTION[name]
    gradient, *rest = arguments if backward else [None, *arguments]
    inputs = rest[:3]
    if not all(map(is_tensor, inputs)) or (backward and not is_tensor(gradient)):
        raise ValueError("the trace lacks the shapes of query, key and value")
    called = [
        *inputs,
        _take_argument(arguments, mask),
        _take_argument(arguments, dropout) or 0.0,
        bool(_take_argument(arguments, causal)),
        _take_argument(arguments, scale),
        # only newer versions of PyTorch have this one
        *([True] if _heads_differ(inputs) else []),
    ]
    return ReplayPlan(
        "aten::scaled_dot_product_attention",
        fill_tensors("scaled_dot_product_attention", called),
        operator,
        gradient if is_tensor(gradient) else None,
        (0, 1, 2) if backward else (),
    )


def _heads_differ(inputs: Sequence[Argument]) -> bool:
    """Return whether queries have more heads than keys (grouped-query attention)."""
    heads = [tensor.shape[-3] for tensor in inputs if is_tensor(tensor) and len(tensor.shape) > 2]  # noqa: PLR2004
    return len(set(heads)) > 1


def _take_argument(arguments: Sequence[Argument], place: int | None) -> Argument:
    """Return the argument at a place; None without one."""
    return arguments[place] if place is not None and place < len(arguments) else None


def _plan_norm_backward(name: str, arguments: list[Argument], operator: RecordedOperator) -> ReplayPlan:
    """Return the plan of a library's batch_norm backward as the backward pass of batch_norm."""
    gradient, input_, weight, mean, variance = (
        _take_argument(arguments, place) for place in _LIBRARY_NORM_BACKWARD[name]
    )
    if not is_tensor(gradient) or not is_tensor(input_) or not is_tensor(weight):
        raise ValueError("the trace lacks the shapes of its input and weight")
    called = [input_, weight, weight, mean, variance, True, 0.1, 1e-5, True]
    assumed = ("eps does not change its time: 1e-5",)
    return ReplayPlan("aten::batch_norm", called, operator, gradient, (0, 1, 2), assumed=assumed)


def _find_batch(plan: ReplayPlan, kind: str | None) -> tuple[int, ...]:
    """Return the places of arguments that can be cut along their first dimension together; none if that is not known."""
    name = plan.called.removeprefix("aten::").partition(".")[0]
    tensors = {
        place: argument for place, argument in enumerate(plan.arguments) if is_tensor(argument) and argument.shape
    }
    if name in _BATCHED:
        places = [place for place in _BATCHED[name] if place in tensors]
        if name == "addmm" and len(tensors[0].shape if 0 in tensors else ()) > 1:
            places.append(0)
        if name == "scaled_dot_product_attention" and 3 in tensors:  # noqa: PLR2004 - the mask
            places.append(3)
    elif kind in _ALIKE and name not in _COUNTED and tensors:
        longest = max(len(tensor.shape) for tensor in tensors.values())
        places = [place for place, tensor in tensors.items() if len(tensor.shape) == longest]
    else:
        return ()
    size = max((tensors[place].shape[0] for place in places), default=0)
    return tuple(sorted(place for place in places if tensors[place].shape[0] == size))
