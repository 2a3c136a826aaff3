"""Operators as people write them: matmul 8192x8192x8192, attention b=1,h=32,s=4096,d=128, optimizer adam 7e9."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from math import prod

import msgspec

from traceq.analysis.kernels.estimate import ELEMENT_SIZES, Exchange, MovedBytes, OperatorCall
from traceq.common.units import parse_size
from traceq.errors import WrongUse

Shape = tuple[int, ...]

COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast")

# Tensors as large as the parameters that a step of the optimizer reads, and that it writes (torch.optim's fused kernels).
_OPTIMIZERS = {"adam": (4, 3), "adamw": (4, 3), "sgd": (2, 1), "momentum": (3, 2), "adagrad": (3, 2), "rmsprop": (3, 2)}

_SIZE = re.compile(r"[1-9][0-9]{0,11}")
# Sizes of a matrix, and of the batch and channels of an image.
_SIDES = 2

# Of a product of sizes, beyond which they are a slip.
_MOST = 1e24


class EstimateRequest(msgspec.Struct, frozen=True):
    """An operator in words and as work: calls that PyTorch would record, bytes to move, or a collective."""

    operator: str
    shape: str
    calls: tuple[OperatorCall, ...] = ()
    moved: MovedBytes | None = None
    exchange: Exchange | None = None
    flops_formula: str = ""
    bytes_formula: str = ""
    assumed: tuple[str, ...] = ()


class EstimateChoices(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about an operator beside its shape; `link` is in GB/s per rank and direction."""

    dtype: str = "bf16"
    backward: bool = False
    causal: bool = False
    ranks: int | None = None
    link: float | None = None


def parse_operator(operator: str, shape: Sequence[str], choices: EstimateChoices) -> EstimateRequest:
    """Parse the name of an operator with the texts of its shape. Raises WrongUse, which says how to write it."""
    read = _READERS.get(operator) or (_read_collective if operator in COLLECTIVES else None)
    if read is None:
        known = (*_READERS, *COLLECTIVES)
        near = difflib.get_close_matches(operator, known, n=1)
        way = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}."
        raise WrongUse(f"traceq estimates no operator {operator!r}; {way}")
    if choices.causal and operator != "attention":
        raise WrongUse(f"--causal is for attention, not {operator}.")
    if choices.backward and operator in ("elementwise", "optimizer", "embedding", *COLLECTIVES):
        raise WrongUse(
            f"--backward: traceq has no formula for the backward pass of {operator}; estimate what it consists of."
        )
    if operator not in COLLECTIVES and (choices.ranks is not None or choices.link is not None):
        raise WrongUse(f"--ranks and --link are for collectives, not {operator}.")
    try:
        request = read(operator, shape, choices)
    except ValueError as error:
        raise WrongUse(
            f"estimate {operator} {' '.join(shape)}: {error}; write it as in: traceq estimate {_show_example(operator)}"
        ) from None
    return msgspec.structs.replace(request, operator=operator, shape=" ".join(shape))


_EXAMPLES = {
    "matmul": "matmul 8192x8192x8192 --gpu H100",
    "linear": "linear 16x4096 4096x11008 --gpu H100",
    "attention": "attention b=1,h=32,s=4096,d=128 --gpu H100",
    "conv": "conv 32x64x56x56 128x64x3x3 stride=1,padding=1 --gpu H100",
    "norm": "norm 8192x4096 --gpu H100",
    "elementwise": "elementwise 8192x4096 8192x4096 --gpu H100",
    "embedding": "embedding 128256x4096 16384 --gpu H100",
    "optimizer": "optimizer adam 7e9 --gpu H100",
}


def _show_example(operator: str) -> str:
    return _EXAMPLES.get(operator, f"{operator} 1GiB --ranks 8 --gpu H100")


def parse_shape(text: str) -> Shape:
    """Parse a shape such as 16x4096. Raises ValueError, which says what is wrong."""
    sizes = text.lower().replace("*", "x").split("x")
    if not all(_SIZE.fullmatch(size) for size in sizes):
        raise ValueError(f"{text!r} is not a shape: write whole numbers with x between")
    if prod(float(size) for size in sizes) > _MOST:
        raise ValueError(f"{text!r} has more elements than any GPU holds")
    return tuple(map(int, sizes))


def _parse_settings(text: str, known: Mapping[str, int | None]) -> dict[str, int | None]:
    """Parse settings such as b=1,h=32; `known` has their names and defaults. Raises ValueError for others."""
    found = dict(known)
    for item in filter(None, text.split(",")):
        name, _, value = item.partition("=")
        if name not in known:
            raise ValueError(f"there is no {name!r}; known are {', '.join(known)}")
        # padding may be 0
        if not re.fullmatch(r"[0-9]{1,12}", value):
            raise ValueError(f"{item!r} is not a name, = and a whole number")
        found[name] = int(value)
    return found


def _parse_shapes(texts: Sequence[str], *counts: int) -> list[Shape]:
    """Parse shapes, as many as one of `counts`."""
    if len(texts) not in counts:
        raise ValueError(
            f"it takes {' or '.join(map(str, counts))} shape{'s' if counts != (1,) else ''}, not {len(texts)}"
        )
    return [parse_shape(text) for text in texts]


def _read_matmul(_operator: str, texts: Sequence[str], choices: EstimateChoices) -> EstimateRequest:
    shapes = _parse_shapes(texts, 1, 2)
    if len(shapes) == 1:
        if len(shapes[0]) not in (3, 4):
            raise ValueError("one shape is m x n x k, or batch x m x n x k")
        batch, m, n, k = (1, *shapes[0])[-4:]
    else:
        if min(map(len, shapes)) < _SIDES:
            raise ValueError("matrices have two sizes at the least")
        (*batches, m, k), (*others, inner, n) = shapes
        if inner != k or (others and others != batches):
            raise ValueError("the second matrix must have as many rows as the first has columns, and as large a batch")
        batch = prod(batches)
        if not others:
            batch, m = 1, m * batch
    return _product_request(batch, m, n, k, choices)


def _product_request(batch: int, m: int, n: int, k: int, choices: EstimateChoices) -> EstimateRequest:
    """Return the request of `batch` products of m x k by k x n; backward those of both gradients."""

    def make_product(rows: int, columns: int, inner: int) -> OperatorCall:
        if batch == 1:
            return OperatorCall("aten::mm", ((rows, inner), (inner, columns)))
        return OperatorCall("aten::bmm", ((batch, rows, inner), (batch, inner, columns)))

    calls = (make_product(m, k, n), make_product(k, n, m)) if choices.backward else (make_product(m, n, k),)
    sizes = f"{m:,} x {n:,} x {k:,}" if batch == 1 else f"{batch:,} x {m:,} x {n:,} x {k:,}"
    times = "2 products x " if choices.backward else ""
    return EstimateRequest(
        "",
        "",
        calls,
        flops_formula=f"{times}2 x {'batch x ' if batch > 1 else ''}m x n x k = {times}2 x {sizes}",
        bytes_formula="both operands read and the product written, once"
        + (", of each of the two products" if times else ""),
        assumed=_narrow_types(choices.dtype),
    )


def _narrow_types(dtype: str) -> tuple[str, ...]:
    return ("The result has the type of the operands.",) if dtype in ("fp8", "int8") else ()


def _read_linear(_operator: str, texts: Sequence[str], choices: EstimateChoices) -> EstimateRequest:
    (*rows, k), weight = _parse_shapes(texts, 2)
    if len(weight) != _SIDES or k not in weight or not rows:
        raise ValueError("the weight has two sizes, one of which is the last of the input")
    n = weight[1] if weight[0] == k else weight[0]
    if choices.backward:
        return _product_request(1, prod(rows), n, k, choices)
    request = _product_request(1, prod(rows), n, k, choices)
    return msgspec.structs.replace(request, calls=(OperatorCall("aten::linear", ((*rows, k), (n, k), ())),))


def _read_attention(_operator: str, texts: Sequence[str], choices: EstimateChoices) -> EstimateRequest:
    known = dict.fromkeys(("b", "h", "hk", "s", "q", "d", "dv"))
    found = _parse_settings(",".join(texts), known)
    missing = [name for name in ("h", "s", "d") if not found[name]]
    if missing:
        raise ValueError(
            f"{', '.join(missing)} is missing (b batch, h heads, s keys, d width; also q queries, hk heads of keys, dv)"
        )
    batch, heads, keys, width = found["b"] or 1, found["h"] or 1, found["s"] or 1, found["d"] or 1
    queries, key_heads, value_width = found["q"] or keys, found["hk"] or heads, found["dv"] or width
    if heads % key_heads:
        raise ValueError(f"{heads} heads of queries cannot share {key_heads} heads of keys")
    query: Shape = (batch, heads, queries, width)
    key: Shape = (batch, key_heads, keys, width)
    value: Shape = (batch, key_heads, keys, value_width)
    causal = str(choices.causal)
    if choices.backward:
        settings = ("",) * 11 + (causal,)
        call = OperatorCall(
            "aten::_scaled_dot_product_flash_attention_backward",
            ((batch, heads, queries, value_width), query, key, value),
            settings,
        )
        widths = "(3 x width + 2 x width of values)"
    else:
        call = OperatorCall("aten::_scaled_dot_product_flash_attention", (query, key, value), ("", "", "", "", causal))
        widths = "(width + width of values)"
    return EstimateRequest(
        "",
        "",
        (call,),
        flops_formula=f"2 x batch x heads x queries x keys x {widths}, masks not subtracted",
        bytes_formula="queries, keys and values read and the output written, once"
        + (", and as much again for their gradients" if choices.backward else ""),
        assumed=("Scores stay on the GPU's multiprocessors (flash attention).",),
    )


def _read_conv(_operator: str, texts: Sequence[str], choices: EstimateChoices) -> EstimateRequest:
    shapes = _parse_shapes([text for text in texts if "=" not in text], 2)
    settings = _parse_settings(
        ",".join(text for text in texts if "=" in text), {"stride": 1, "padding": 0, "dilation": 1, "groups": 1}
    )
    image, weight = shapes
    stride, padding, dilation, groups = (settings[name] or 0 for name in ("stride", "padding", "dilation", "groups"))
    spatial = len(image) - _SIDES
    if spatial < 1 or len(weight) != len(image) or not stride or not groups or weight[1] * groups != image[1]:
        raise ValueError(
            "input is batch x channels x sizes, and the weight filters x channels per group x as many sizes"
        )
    output = [
        (size + 2 * padding - dilation * (window - 1) - 1) // stride + 1
        for size, window in zip(image[2:], weight[2:], strict=True)
    ]
    if min(output) < 1:
        raise ValueError("the filter is larger than the input with its padding")
    places = [str([value] * spatial) for value in (stride, padding, dilation)]
    transposed = ("False", str([0] * spatial), str(groups))
    if choices.backward:
        gradient = (image[0], weight[0], *output)
        call = OperatorCall(
            "aten::convolution_backward",
            (gradient, image, weight),
            ("", "", "", "[0]", *places, *transposed, "[True, True, False]"),
        )
    else:
        call = OperatorCall("aten::convolution", (image, weight), ("", "", "", *places, *transposed))
    return EstimateRequest(
        "",
        "",
        (call,),
        flops_formula=("2 gradients x " if choices.backward else "")
        + "2 x elements of the weight x images x positions of the output"
        + f" ({' x '.join(f'{size:,}' for size in output)})",
        bytes_formula="input and weight read and the output written, once"
        + (", for each gradient" if choices.backward else ""),
        assumed=(
            "Tiles are those of an implicit product; filters above 1x1 may need fewer operations (Winograd, FFT).",
        ),
    )


def _read_norm(_operator: str, texts: Sequence[str], choices: EstimateChoices) -> EstimateRequest:
    (shape,) = _parse_shapes(texts, 1)
    call = OperatorCall("aten::native_layer_norm", (shape,))
    if choices.backward:
        call = OperatorCall("aten::native_layer_norm_backward", (shape, shape))
    return EstimateRequest(
        "",
        "",
        (call,),
        flops_formula="not counted: they hide behind the bytes",
        bytes_formula="gradient and input read and one gradient written, once"
        if choices.backward
        else "input read and output written, once",
        assumed=("Weight, bias and statistics are small beside the input.",),
    )


def _read_elementwise(_operator: str, texts: Sequence[str], _choices: EstimateChoices) -> EstimateRequest:
    shapes = _parse_shapes(texts, 1, 2, 3)
    for sizes in zip_longest(*(shape[::-1] for shape in shapes), fillvalue=1):
        if len({*sizes} - {1}) > 1:
            raise ValueError("each size of an input, from the last one on, must be that of the others or 1")
    name = ("aten::relu", "aten::mul", "aten::addcmul")[len(shapes) - 1]
    return EstimateRequest(
        "",
        "",
        (OperatorCall(name, tuple(shapes)),),
        flops_formula="not counted: they hide behind the bytes",
        bytes_formula="every input read and an output of their broadcast shape written, once",
    )


def _read_embedding(_operator: str, texts: Sequence[str], choices: EstimateChoices) -> EstimateRequest:
    table, tokens = _parse_shapes(texts, 2)
    if len(table) != _SIDES:
        raise ValueError("it takes the table (rows x width) and the number of indices")
    rows = prod(tokens) * table[1] * ELEMENT_SIZES[choices.dtype]
    return EstimateRequest(
        "",
        "",
        moved=MovedBytes(2 * rows + 8 * prod(tokens), rows),
        flops_formula="none",
        bytes_formula=f"a row of the table read and written for each of {prod(tokens):,} indices, and the indices (8 bytes)",
        assumed=("No two indices are alike: rows that come again are read from caches.",),
    )


def _read_optimizer(_operator: str, texts: Sequence[str], choices: EstimateChoices) -> EstimateRequest:
    if len(texts[1:]) != 1 or texts[0] not in _OPTIMIZERS:
        raise ValueError(f"it takes one of {', '.join(_OPTIMIZERS)}, and the number of parameters")
    try:
        parameters = float(texts[1])
    except ValueError:
        raise ValueError(f"{texts[1]!r} is not a number of parameters") from None
    if not 1 <= parameters <= _MOST:
        raise ValueError(f"{texts[1]!r} is not a number of parameters")
    reads, writes = _OPTIMIZERS[texts[0]]
    one = int(parameters) * ELEMENT_SIZES[choices.dtype]
    return EstimateRequest(
        "",
        "",
        moved=MovedBytes((reads + writes) * one, (reads + writes) * one),
        flops_formula="not counted: they hide behind the bytes",
        bytes_formula=f"{reads} tensors as large as the parameters read (with the gradient), {writes} written",
        assumed=(f"Fused; parameters, gradients and state are all in {choices.dtype}.",),
    )


def _read_collective(operator: str, texts: Sequence[str], choices: EstimateChoices) -> EstimateRequest:
    if len(texts) != 1:
        raise ValueError("it takes the size of the message: the larger of a rank's input and output")
    if choices.ranks is None or choices.ranks <= 1:
        raise ValueError("--ranks N is missing, of 2 or more")
    message = parse_size(texts[0])
    return EstimateRequest(
        "",
        "",
        exchange=Exchange(operator, message, choices.ranks, choices.link),
        flops_formula="not counted",
        bytes_formula=f"what a rank sends in a ring: nccl-tests' factor for {choices.ranks} ranks, times the message",
        assumed=("All ranks come at once.",),
    )


_READERS: Mapping[str, Callable[[str, Sequence[str], EstimateChoices], EstimateRequest]] = {
    "matmul": _read_matmul,
    "linear": _read_linear,
    "attention": _read_attention,
    "conv": _read_conv,
    "norm": _read_norm,
    "elementwise": _read_elementwise,
    "embedding": _read_embedding,
    "optimizer": _read_optimizer,
}
OPERATORS = (*_READERS, *COLLECTIVES)
