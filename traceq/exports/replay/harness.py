"""Operators of a trace, run again without the model. Written by `traceq replay-op`; needs PyTorch only.

    python THIS_FILE                      all variants, on the GPU if there is one
    python THIS_FILE --device cpu         on the CPU
    python THIS_FILE --variants recorded  only as recorded
    python THIS_FILE --help               everything else

What was recorded stands in OPERATORS. Values are made up: a trace has none.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import statistics
import sys
import textwrap
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch


class Tensor(NamedTuple):
    """A tensor as recorded; without strides it is contiguous, without `dtype` the trace does not say its type.

    `fill`: positive or normal numbers, ones, an `index` below `high`, or `offsets` of bags of `high` indices.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    dtype: str | None = "float32"
    fill: str = "positive"
    high: int = 0


class Operator(NamedTuple):
    """An operator with its inputs in the order of its schema (... for a setting that was not recorded).

    With a `gradient` the backward pass of `called` runs, for the inputs `wanted`. `batch`: the arguments with the batch as
    their first dimension. Times are in ns, of the kernels on a GPU, else of the host. `ceiling_ns` is the least that any
    program could take on the recorded GPU, `reachable_ns` what libraries reach.
    """

    name: str
    called: str
    arguments: list[Any]
    gradient: Tensor | None = None
    wanted: tuple[int, ...] = ()
    batch: tuple[int, ...] = ()
    trace: str = ""
    step: int | None = None
    calls: int = 0
    median_ns: int = 0
    least_ns: int = 0
    on_gpu: bool = False
    device: str | None = None
    kernels: tuple[str, ...] = ()
    flops: int | None = None
    bytes: int | None = None
    ceiling_ns: int | None = None
    reachable_ns: int | None = None
    ceiling_limit: str | None = None
    assumed: tuple[str, ...] = ()


# <operators>
OPERATORS: list[Operator] = [
    Operator(
        name="aten::mm",
        called="aten::mm",
        arguments=[
            Tensor((96, 100), (100, 1), "float32", "normal"),
            Tensor((100, 64), (1, 100), "float32", "normal"),
        ],
        batch=(0,),
        calls=1,
        median_ns=20_000,
        least_ns=20_000,
        flops=1_228_800,
        bytes=88_576,
    ),
]
# </operators>

PRODUCTS = ("mm", "bmm", "addmm", "linear", "matmul", "baddbmm", "mv", "conv", "attention")
CHANNELS = ("conv", "batch_norm", "pool", "group_norm")
RANDOM = ("dropout", "bernoulli", "normal_", "uniform_", "exponential_", "random_", "rand")
BACKENDS = {
    "flash": "FLASH_ATTENTION",
    "efficient": "EFFICIENT_ATTENTION",
    "cudnn": "CUDNN_ATTENTION",
    "math": "MATH",
}
# They fill what was just allocated, as a rule; on the host its pages come with the first write.
FILLING = ("fill_", "zero_", "copy_")
# The largest difference of results, as a share of the largest value, where sums are only taken in another order.
TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-2, torch.float16: 3e-2, torch.bfloat16: 5e-2}
# Sizes that tiles of matrix products divide.
TILE = 64
GIB = 1 << 30
# Columns of a line.
LONGEST = 100


class Variant(NamedTuple):
    """A way to run an operator: a change of its tensors (the gradient comes last), and settings while it runs."""

    name: str
    change: Callable[[list[Any]], list[Any]] = list
    setting: Callable[[], AbstractContextManager[Any]] = nullcontext
    is_rounded: bool = False
    compiled: bool = False


class Settings(NamedTuple):
    """The options of the command."""

    device: torch.device
    runs: int
    warmup: int
    seconds: float
    variants: frozenset[str]
    memory: int | None
    list_type: str | None
    cold: bool


class Timed(NamedTuple):
    """The durations of runs, ns, and the tensors of the first result."""

    durations: list[int]
    result: list[torch.Tensor]


def make_arguments(operator: Operator, settings: Settings, cut: int) -> list[Any]:
    """Return the arguments on the device, and at the end the gradient or None; the same values every time."""
    torch.manual_seed(0)
    wide = any(isinstance(spec, Tensor) and spec.shape for spec in operator.arguments)
    batch = max((operator.arguments[place].shape[0] for place in operator.batch), default=0)

    def make_argument(spec: Any, *, is_batched: bool) -> Any:
        if isinstance(spec, list):
            return [make_argument(part, is_batched=False) for part in spec]
        if not isinstance(spec, Tensor):
            return spec
        if is_batched:
            spec = spec._replace(shape=(min(max(spec.shape[0] // cut, 1), spec.shape[0]), *spec.shape[1:]))
        # a number of Python among tensors
        on_host = wide and not spec.shape and spec.dtype in {"float64", "int64"}
        return make_tensor(spec, torch.device("cpu") if on_host else settings.device, settings.list_type or "float32")

    made = [make_argument(spec, is_batched=place in operator.batch) for place, spec in enumerate(operator.arguments)]
    gradient = operator.gradient
    has_batch = gradient is not None and bool(operator.batch) and gradient.shape[:1] == (batch,)
    return [*made, make_argument(gradient, is_batched=has_batch)]


def make_tensor(spec: Tensor, device: torch.device, list_type: str) -> torch.Tensor:
    """Return a tensor of the recorded shape, strides and type."""
    dtype = getattr(torch, spec.dtype or list_type)
    strides = spec.strides if spec.strides is not None else torch.empty(spec.shape, device="meta").stride()
    return torch.as_strided(make_values(spec, count_storage(spec), dtype, device), spec.shape, strides)


def count_storage(spec: Tensor) -> int:
    """Return how many elements lie in memory from the first one of a tensor to its last."""
    if 0 in spec.shape:
        return 0
    if spec.strides is None:
        return math.prod(spec.shape)
    return 1 + sum((size - 1) * step for size, step in zip(spec.shape, spec.strides, strict=True))


def make_values(spec: Tensor, number: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """Return `number` values of a type in a row."""
    if dtype is torch.bool:
        return torch.randint(2, (number,), device=device).bool()
    if spec.fill == "offsets":
        return (torch.arange(number, device=device) * spec.high // max(number, 1)).to(dtype)
    if spec.fill == "index":
        return torch.randint(max(spec.high, 1), (number,), device=device).to(dtype)
    if spec.fill == "ones":
        return torch.ones(number, device=device, dtype=dtype)
    if spec.fill == "normal":
        return torch.randn(number, device=device).to(dtype)
    # apart from 0, so that they stay finite when an operator changes them in place many times
    return torch.rand(number, device=device).add_(0.5).to(dtype)


def find_overload(name: str, arguments: Sequence[Any]) -> Any:
    """Return the overload of an operator whose schema these arguments fit, of those with the fewest further arguments."""
    namespace, _, rest = name.partition("::")
    packet = getattr(getattr(torch.ops, namespace), rest.partition(".")[0])
    overloads = [getattr(packet, found) for found in packet.overloads()]
    fitting = [overload for overload in overloads if fits_schema(overload._schema.arguments, arguments)]
    if not fitting:
        raise ValueError(
            f"PyTorch {torch.__version__} has no {name} with these arguments: {describe_arguments(arguments)}"
        )
    return min(fitting, key=lambda overload: len(overload._schema.arguments))


def fits_schema(schema: Sequence[Any], arguments: Sequence[Any]) -> bool:
    """Return whether the arguments fit those of the schema; further ones must have defaults."""
    if len(arguments) > len(schema) or not all(has_default(found) for found in schema[len(arguments) :]):
        return False
    return all(fits_type(found, argument) for found, argument in zip(schema, arguments, strict=False))


def has_default(argument: Any) -> bool:
    """Return whether an argument of a schema may be left out."""
    return bool(argument.has_default_value())


def fits_type(declared: Any, value: Any) -> bool:
    """Return whether a value fits an argument of a schema."""
    type_ = str(declared.type)
    bare = type_.removeprefix("Optional[").removesuffix("]") if type_.startswith("Optional[") else type_
    if value is ...:
        return has_default(declared)
    if value is None:
        # texts are not recorded
        return type_.startswith("Optional[") or (bare == "str" and has_default(declared))
    takes_numbers = bare.startswith("List[") and "Tensor" not in bare
    if isinstance(value, list):
        takes_tensors = bare in {"List[Tensor]", "List[Optional[Tensor]]"}
        has_tensors = bool(value) and isinstance(value[0], torch.Tensor)
        return (takes_tensors and (has_tensors or not value)) or (takes_numbers and not has_tensors)
    fitting = {
        "bool": {"bool", "number"},
        "int": {"int", "number", "float"},
        "float": {"float", "number"},
        "str": {"str", "Device"},
    }
    return bare in fitting.get(type(value).__name__, {"Tensor"}) or (takes_numbers and type(value) in (int, bool))


def bind_call(operator: Operator, arguments: list[Any]) -> Callable[[], Any]:
    """Return the call of the operator with arguments from make_arguments; the graph of a backward pass is built here."""
    *inputs, gradient = arguments
    overload = find_overload(operator.called, inputs)
    schema = overload._schema.arguments
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for declared, value in zip(schema, inputs, strict=False):
        if value is ... or (value is None and str(declared.type) == "str"):
            continue
        if declared.kwarg_only or len(positional) < schema.index(declared):
            named[declared.name] = value
        else:
            positional.append(value)
    if gradient is None:
        return partial(overload, *positional, **named)
    sources = [inputs[place].requires_grad_() for place in operator.wanted]
    with torch.enable_grad():
        output = overload(*positional, **named)
    first = output if isinstance(output, torch.Tensor) else output[0]
    return partial(torch.autograd.grad, first, sources, gradient, retain_graph=True)


def list_tensors(result: Any) -> list[torch.Tensor]:
    """Return all tensors of a result or of arguments."""
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, list | tuple):
        return [tensor for part in result for tensor in list_tensors(part)]
    return []


def change_tensors(change: Callable[[torch.Tensor], torch.Tensor], arguments: list[Any]) -> list[Any]:
    """Return the arguments with every tensor changed."""

    def change_value(value: Any) -> Any:
        if isinstance(value, list):
            return [change_value(part) for part in value]
        return change(value) if isinstance(value, torch.Tensor) else value

    return [change_value(argument) for argument in arguments]


def lay_channels_last(tensor: torch.Tensor) -> torch.Tensor:
    """Return an image or a volume with its channels last in memory, others unchanged."""
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return tensor.contiguous(memory_format=formats[tensor.ndim]) if tensor.ndim in formats else tensor


def to_bfloat16(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor of float32 in bfloat16, others unchanged."""
    return tensor.bfloat16() if tensor.dtype is torch.float32 and tensor.ndim else tensor


def pad_products(name: str, arguments: list[Any]) -> list[Any]:
    """Return the matrices with their sizes raised to multiples of TILE by zeros, in the order of their strides."""

    def pad_matrix(tensor: torch.Tensor, dimensions: int) -> torch.Tensor:
        shape = list(tensor.shape)
        shape[-dimensions:] = [-(-size // TILE) * TILE for size in shape[-dimensions:]]
        order = sorted(range(tensor.ndim), key=tensor.stride, reverse=True)
        made = torch.zeros([shape[place] for place in order], dtype=tensor.dtype, device=tensor.device)
        made = made.permute([order.index(place) for place in range(tensor.ndim)])
        made[tuple(slice(size) for size in tensor.shape)] = tensor
        return made

    first = {"mm": 0, "bmm": 0, "addmm": 1, "linear": 0, "baddbmm": 1}[name]
    padded = [*arguments]
    for place in (first, first + 1):
        padded[place] = pad_matrix(arguments[place], 2)
    for place, value in enumerate(arguments):
        if isinstance(value, torch.Tensor) and place not in (first, first + 1) and value.ndim:
            padded[place] = pad_matrix(value, min(value.ndim, 2))
    return padded


@contextmanager
def allow_tf32() -> Iterator[None]:
    """Let products of float32 use TF32."""
    before = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = before


@contextmanager
def search_algorithms() -> Iterator[None]:
    """Let cuDNN try its algorithms and keep the fastest."""
    before, torch.backends.cudnn.benchmark = torch.backends.cudnn.benchmark, True
    try:
        yield
    finally:
        torch.backends.cudnn.benchmark = before


def choose_attention(backend: str) -> AbstractContextManager[Any]:
    """Let attention run in one of its libraries only."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    chosen: AbstractContextManager[Any] = sdpa_kernel(getattr(SDPBackend, BACKENDS[backend]))
    return chosen


def list_variants(operator: Operator, arguments: list[Any]) -> Iterator[Variant]:
    """Yield the variants that make sense for the operator, the recorded one first."""
    name = operator.called.removeprefix("aten::").partition(".")[0]
    tensors = list_tensors(arguments)
    is_product = any(word in name for word in PRODUCTS)
    on_gpu = any(tensor.is_cuda for tensor in tensors)
    yield Variant("recorded")
    if not all(tensor.is_contiguous() for tensor in tensors):
        yield Variant("contiguous", partial(change_tensors, torch.Tensor.contiguous))
    images = [tensor for tensor in tensors if tensor.ndim in (4, 5)]
    if images and any(word in name for word in CHANNELS):
        yield Variant("channels_last", partial(change_tensors, lay_channels_last))
    if name in {"mm", "bmm", "addmm", "linear", "baddbmm"} and has_odd_sizes(tensors) and operator.gradient is None:
        yield Variant("padded", partial(pad_products, name))
    if any(tensor.dtype is torch.float32 and tensor.ndim for tensor in tensors):
        yield Variant("bf16", partial(change_tensors, to_bfloat16), is_rounded=True)
        if on_gpu and is_product:
            yield Variant("tf32", setting=allow_tf32, is_rounded=True)
    yield from list_library_variants(name, on_gpu=on_gpu)
    if operator.gradient is None:
        yield Variant("compiled", compiled=True)


def list_library_variants(name: str, *, on_gpu: bool) -> Iterator[Variant]:
    """Yield the variants that choose among libraries."""
    if name == "scaled_dot_product_attention":
        for backend in BACKENDS:
            if on_gpu or backend in {"flash", "math"}:
                yield Variant(backend, setting=partial(choose_attention, backend))
    if on_gpu and "conv" in name:
        yield Variant("cudnn.benchmark", setting=search_algorithms)


def has_odd_sizes(tensors: Sequence[torch.Tensor]) -> bool:
    """Return whether TILE leaves a rest of the size of some matrix."""
    return any(size % TILE for tensor in tensors for size in tensor.shape[-2:])


def run_variant(operator: Operator, variant: Variant, settings: Settings, cut: int) -> Timed:
    """Make the arguments, run the variant, and return its times and first result."""
    with torch.no_grad(), variant.setting():
        arguments = variant.change(make_arguments(operator, settings, cut))
        call = bind_call(operator, arguments)
        if variant.compiled:
            tunes = settings.device.type == "cuda" and any(word in operator.called for word in PRODUCTS)
            # after eight compilations of one function PyTorch runs it as it is, and all operators are called by one
            torch.compiler.reset()
            call = torch.compile(call, dynamic=False, mode="max-autotune-no-cudagraphs" if tunes else "default")
        begin = time.perf_counter()
        result = list_tensors(call())
        if (
            settings.device.type == "cpu"
            and time.perf_counter() - begin > settings.seconds / 4
            and not variant.compiled
        ):
            settings = settings._replace(warmup=0)
        # of those that change their inputs and return nothing
        kept = [tensor.detach().clone() for tensor in result or list_tensors(arguments)]
        fills = (
            operator.called.removeprefix("aten::") in FILLING and settings.device.type == "cpu" and not variant.compiled
        )
        renew = partial(bind_fresh, operator, arguments) if fills else None
        return Timed(time_calls(call, settings, renew), kept)


def bind_fresh(operator: Operator, arguments: list[Any]) -> Callable[[], Any]:
    """Return the call of an operator that fills its first argument, with one that was never written."""
    first, *others = arguments
    return bind_call(operator, [torch.empty_strided(first.shape, first.stride(), dtype=first.dtype), *others])


def time_calls(
    call: Callable[[], Any], settings: Settings, renew: Callable[[], Callable[[], Any]] | None = None
) -> list[int]:
    """Return the durations of calls, ns; fewer than `runs` where `seconds` are over, but one. `renew` makes each call anew."""
    if settings.device.type == "cpu":
        # what glibc frees at this size it keeps from then on, as in a program that has run for a while
        torch.empty((1 << 25) - (1 << 16), dtype=torch.uint8)
    begin = time.perf_counter()
    for _ in range(settings.warmup):
        call()
        if time.perf_counter() - begin > settings.seconds / 4:
            break
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        if settings.device.type == "cuda":
            return time_on_gpu(call, settings)
        return time_on_cpu(call, settings, renew)
    finally:
        if was_enabled:
            gc.enable()


def time_on_cpu(
    call: Callable[[], Any], settings: Settings, renew: Callable[[], Callable[[], Any]] | None
) -> list[int]:
    """Return the durations of calls by the clock of the host, ns. What they return is freed outside of them."""
    rest = torch.empty(GIB >> 4, dtype=torch.float32) if settings.cold else None
    durations: list[int] = []
    deadline = time.perf_counter() + settings.seconds
    while len(durations) < settings.runs and (not durations or time.perf_counter() < deadline):
        if rest is not None:
            rest.fill_(1)
        call = call if renew is None else renew()
        begin = time.perf_counter_ns()
        result = call()
        durations.append(time.perf_counter_ns() - begin)
        del result
    return durations


def time_on_gpu(call: Callable[[], Any], settings: Settings) -> list[int]:
    """Return the durations of calls between two events on the GPU, ns, which has work to do while the host launches them."""
    rest = torch.empty(GIB >> 2, dtype=torch.uint8, device=settings.device) if settings.cold else None
    torch.cuda.synchronize(settings.device)
    begin = time.perf_counter()
    call()
    host_seconds = time.perf_counter() - begin
    torch.cuda.synchronize(settings.device)
    durations: list[int] = []
    deadline = time.perf_counter() + settings.seconds
    while len(durations) < settings.runs and (not durations or time.perf_counter() < deadline):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        if rest is not None:
            rest.zero_()
        # cycles of about 2 GHz: the launch is over before the GPU comes to it
        torch.cuda._sleep(int(min(host_seconds, 0.05) * 4e9) + 100_000)  # type: ignore[no-untyped-call]
        first.record()
        call()
        last.record()
        torch.cuda.synchronize(settings.device)
        durations.append(round(first.elapsed_time(last) * 1e6))
    return durations


def measure_difference(result: Sequence[torch.Tensor], reference: Sequence[torch.Tensor]) -> float | None:
    """Return the largest difference as a share of the largest value of the reference; None if they cannot be compared."""
    if len(result) != len(reference):
        return None
    worst = 0.0
    # places of equal values, as those of the largest ones, may differ
    has_values = any(tensor.is_floating_point() or tensor.is_complex() for tensor in reference)
    for found, expected in zip(result, reference, strict=True):
        if has_values and not expected.is_floating_point() and not expected.is_complex():
            continue
        if found.ndim != expected.ndim or any(a < b for a, b in zip(found.shape, expected.shape, strict=True)):
            return None
        wide = torch.complex128 if expected.is_complex() else torch.float64
        part = found[tuple(slice(size) for size in expected.shape)].to(wide)
        whole = expected.to(wide)
        finite = whole.isfinite()
        others = part[~finite].nan_to_num(), whole[~finite].nan_to_num()
        if not torch.equal(part.isfinite(), finite) or not torch.equal(*others):
            return float("inf")
        if finite.any():
            largest = whole[finite].abs().max().item()
            apart = (part - whole)[finite].abs().max().item()
            worst = max(worst, apart / largest if largest else apart)
    return worst


def count_bytes(operator: Operator, cut: int) -> int:
    """Return about how much memory the tensors of a run take, in bytes: inputs and result, and the result to compare with."""
    total = 0
    for place, spec in enumerate([*operator.arguments, operator.gradient]):
        for tensor in spec if isinstance(spec, list) else [spec]:
            if isinstance(tensor, Tensor):
                size = getattr(torch, tensor.dtype or "float32").itemsize
                elements = max(math.prod(tensor.shape), count_storage(tensor))
                total += elements * size // (cut if place in operator.batch else 1)
    return 3 * max(total, (operator.bytes or 0) // cut)


def measure_memory(device: torch.device) -> int:
    """Return how many bytes to use at most: nine tenths of the free memory of a GPU, half of that available on the host."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0] * 0.9)
    table = Path("/proc/meminfo")
    lines = table.read_text("utf-8").splitlines() if table.exists() else []
    available = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable")]
    if available:
        return available[0] // 2
    names = getattr(os, "sysconf_names", {})
    if "SC_PHYS_PAGES" in names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4
    return 4 * GIB


def choose_cut(operator: Operator, settings: Settings) -> int:
    """Return by how much the batch is divided, so that a run fits into the memory, and on the CPU into the time.

    Only what ran on a GPU is cut for time. Raises ValueError where it cannot be cut enough.
    """
    batch = max((operator.arguments[place].shape[0] for place in operator.batch), default=1)
    memory = settings.memory or measure_memory(settings.device)
    cut = 1
    while count_bytes(operator, cut) > memory:
        if cut >= batch:
            raise ValueError(
                f"needs about {count_bytes(operator, cut) / GIB:.1f} GiB, and {memory / GIB:.1f} GiB may be used: take another"
                " device, or raise --memory-limit"
            )
        cut = min(2 * cut, batch)
    if settings.device.type == "cuda" or not operator.on_gpu:
        return cut
    # doubled from the smallest batch on, until the next one would take too long
    tried = 1 << (batch.bit_length() - 1)
    while tried > cut:
        with torch.no_grad():
            call = bind_call(operator, make_arguments(operator, settings, tried))
            begin = time.perf_counter()
            call()
            took = time.perf_counter() - begin
        if 2 * took * (settings.runs + settings.warmup) > settings.seconds:
            return tried
        tried //= 2
    return cut


def run_operator(operator: Operator, settings: Settings) -> dict[str, Any]:
    """Run the variants of an operator and return what was measured, as plain data; times in ns."""
    cut = choose_cut(operator, settings)
    comparable = (
        cut == 1 and is_same_device(operator, settings) and (not has_lists(operator) or settings.list_type is not None)
    )
    rows: list[dict[str, Any]] = []
    reference: Timed | None = None
    for variant in list_variants(operator, make_arguments(operator, settings, cut)):
        if settings.variants and variant.name not in settings.variants and variant.name != "recorded":
            continue
        try:
            timed = run_variant(operator, variant, settings, cut)
        except Exception as error:  # a library refuses in whatever way it likes
            rows.append(
                {"variant": variant.name, "failed": (str(error).strip() or type(error).__name__).splitlines()[0]}
            )
            continue
        if reference is None and variant.name == "recorded":
            reference = timed
        rows.append(describe_times(operator, variant, timed, reference, comparable=comparable, cut=cut))
    return {
        "name": operator.name,
        "called": operator.called,
        "inputs": describe_arguments(operator.arguments),
        "trace": operator.trace,
        "calls": operator.calls,
        "recorded_ns": operator.median_ns,
        "recorded_on": describe_recorded(operator),
        "device": name_device(settings.device),
        "threads": torch.get_num_threads(),
        "cut": cut,
        "comparable": comparable,
        "cold": settings.cold,
        "variants": rows,
    }


def describe_times(
    operator: Operator, variant: Variant, timed: Timed, reference: Timed | None, *, comparable: bool, cut: int
) -> dict[str, Any]:
    """Return the row of a variant. Ratios are None where this is another device than the recorded one, or less than all."""
    median = statistics.median(timed.durations)
    is_random = any(word in operator.called for word in RANDOM)
    difference = None
    if reference is not None and timed is not reference and not is_random:
        difference = measure_difference(timed.result, reference.result)
    types = [tensor.dtype for tensor in timed.result]
    parts = [dtype.to_real() if dtype.is_complex else dtype for dtype in types]
    tolerance = max((TOLERANCE.get(dtype, 0.1) for dtype in parts if dtype.is_floating_point), default=0.0)
    ceiling = operator.ceiling_ns if comparable and operator.on_gpu else None
    return {
        "variant": variant.name,
        "median_ns": median,
        "least_ns": min(timed.durations),
        "runs": len(timed.durations),
        "of_recorded": median / operator.median_ns if comparable and operator.median_ns else None,
        "of_ceiling": ceiling / median if ceiling and median else None,
        "tflops": operator.flops / cut / median / 1e3 if operator.flops and median else None,
        "gbps": operator.bytes / median if operator.bytes and cut == 1 and not variant.is_rounded and median else None,
        "difference": difference,
        # rounded more: how much of it is too much is for the user to say
        "is_same": None if difference is None or variant.is_rounded else difference <= tolerance,
    }


def has_lists(operator: Operator) -> bool:
    """Return whether an input is a list of tensors, whose types no trace has."""
    return any(isinstance(spec, list) and any(isinstance(part, Tensor) for part in spec) for spec in operator.arguments)


def is_same_device(operator: Operator, settings: Settings) -> bool:
    """Return whether this may be the device of the trace: a GPU of the same name, or the CPU where the trace has no GPU."""
    if operator.on_gpu:
        return settings.device.type == "cuda" and torch.cuda.get_device_name(settings.device) == operator.device
    return settings.device.type == "cpu"


def name_device(device: torch.device) -> str:
    """Return the name of the GPU, or how many threads of the CPU."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"CPU, {torch.get_num_threads()} threads"


def describe_arguments(arguments: Sequence[Any]) -> str:
    """Return arguments in one line: float32 (64, 32) strides (32, 1), 1, [1, 1]."""

    def show_value(value: Any) -> str:
        if isinstance(value, Tensor):
            strides = "" if value.strides is None or not value.shape else f" strides {value.strides}"
            return f"{value.dtype or 'unknown type'} {value.shape}{strides}"
        if isinstance(value, torch.Tensor):
            return f"{str(value.dtype).removeprefix('torch.')} {tuple(value.shape)}"
        if isinstance(value, list) and value and isinstance(value[0], Tensor | torch.Tensor):
            return f"[{len(value)} tensors, the first {show_value(value[0])}]"
        return "not recorded" if value is ... else str(value)

    return ", ".join(map(show_value, arguments))


def describe_recorded(operator: Operator) -> str:
    """Return where it was recorded."""
    return (operator.device or "a GPU that the trace does not name") if operator.on_gpu else "the CPU"


def show_time(ns: float) -> str:
    """Return a duration with four digits: 12.34 us."""
    for unit, one in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= one:
            return f"{ns / one:.4g} {unit}"
    return f"{ns:.0f} ns"


def print_operator(operator: Operator, found: dict[str, Any], settings: Settings) -> None:
    """Print what was recorded and what was measured, and why ratios are missing."""
    print(f"{operator.name}" + (f", as {operator.called}" if operator.called != operator.name else ""))
    print(textwrap.fill(f"  inputs    {found['inputs']}", LONGEST, subsequent_indent=" " * 12, break_on_hyphens=False))
    step = "" if operator.step is None else f", first in step {operator.step}"
    print(
        f"  recorded  median {show_time(operator.median_ns)}, least {show_time(operator.least_ns)} of {operator.calls}"
        f" {'call' if operator.calls == 1 else 'calls'}{step}, on {found['recorded_on']}"
    )
    if operator.ceiling_ns is not None and operator.on_gpu:
        reach = "" if operator.reachable_ns is None else f", libraries reach {show_time(operator.reachable_ns)}"
        limit = "" if operator.ceiling_limit in (None, "unknown") else f" (limit: {operator.ceiling_limit})"
        print(f"  ceiling   {show_time(operator.ceiling_ns)} at the least there{reach}{limit}")
    for kernel in operator.kernels[:3]:
        print("  kernel    " + textwrap.shorten(kernel, LONGEST - 12, placeholder="..."))
    caches = "cold caches" if settings.cold else "warm caches (--cold for cold ones)"
    print(f"  here      {found['device']}, PyTorch {torch.__version__}, {caches}")
    for sentence in operator.assumed:
        print(f"  note      {sentence}")
    if found["cut"] > 1:
        places = ", ".join(str(place) for place in operator.batch)
        print(
            f"  cut       1/{found['cut']} of the batch (first dimension of arguments {places}), to fit memory and time here"
        )
    if not found["comparable"]:
        print(f"  note      not compared with the recorded times: {explain_incomparable(operator, found, settings)}")
    elif not operator.on_gpu:
        print("  note      the trace does not name its CPU: compare only on the machine that recorded it")
    print()
    print_rows(found["variants"])


def explain_incomparable(operator: Operator, found: dict[str, Any], settings: Settings) -> str:
    """Return why times here say nothing about those recorded."""
    if found["cut"] > 1:
        return "this is a part of the batch"
    if not is_same_device(operator, settings):
        return f"they are of {found['recorded_on']}"
    return "the types of tensors in lists are not recorded; --dtype says them"


def print_rows(rows: Sequence[dict[str, Any]]) -> None:
    """Print the table of variants."""
    columns = ["variant", "median", "least", "runs", "of recorded", "of ceiling", "TFLOP/s", "GB/s", "result"]
    table = [columns]
    for row in rows:
        if "failed" in row:
            table.append([row["variant"], f"cannot run: {row['failed'][:75]}"])
            continue
        verdict = "" if row["is_same"] is None else "same" if row["is_same"] else "DIFFERS"
        apart = "" if row["difference"] is None else f"{row['difference']:.1e} apart"
        table.append(
            [
                row["variant"],
                show_time(row["median_ns"]),
                show_time(row["least_ns"]),
                str(row["runs"]),
                "-" if row["of_recorded"] is None else f"{row['of_recorded']:.2f}x",
                "-" if row["of_ceiling"] is None else f"{row['of_ceiling']:.0%}",
                "-" if row["tflops"] is None else f"{row['tflops']:.3g}",
                "-" if row["gbps"] is None else f"{row['gbps']:.3g}",
                f"{verdict} ({apart})" if verdict else apart,
            ]
        )
    full = [line for line in table if len(line) == len(columns)]
    widths = [max(len(line[place]) for line in full) for place in range(len(columns))]
    widths[0] = max(len(line[0]) for line in table)
    for line in table:
        print("  " + "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=False)).rstrip())
    print()


def read_settings(arguments: Sequence[str] | None = None) -> tuple[Settings, argparse.Namespace]:
    """Return the settings of the command line, and the other options."""
    parser = argparse.ArgumentParser(
        description="Run operators of a trace again, without the model, in several variants."
    )
    has_gpu = torch.cuda.is_available()
    parser.add_argument(
        "--device", default="cuda" if has_gpu else "cpu", help="cuda, cuda:1 or cpu [default: %(default)s]"
    )
    parser.add_argument("--runs", type=int, default=20, help="timed runs of each variant [default: %(default)s]")
    parser.add_argument("--warmup", type=int, default=3, help="runs before them [default: %(default)s]")
    parser.add_argument("--seconds", type=float, default=10, help="most time of each variant [default: %(default)s]")
    parser.add_argument(
        "--variants", default="", help="only these: recorded,contiguous,padded,channels_last,bf16,tf32,..."
    )
    parser.add_argument("--only", type=int, metavar="N", help="only the N-th operator, from 1")
    parser.add_argument("--memory-limit", type=float, metavar="GIB", help="memory that may be used; cuts the batch")
    parser.add_argument("--threads", type=int, help="threads of the CPU [default: PyTorch's]")
    parser.add_argument(
        "--dtype", help="type of tensors in lists, which is not recorded, as bfloat16 [default: float32]"
    )
    parser.add_argument("--cold", action="store_true", help="empty the caches before each run")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parsed = parser.parse_args(arguments)
    if parsed.device.startswith("cuda") and not has_gpu:
        parser.error(f"--device {parsed.device}: PyTorch {torch.__version__} finds no GPU here; --device cpu")
    if parsed.dtype is not None and not isinstance(getattr(torch, parsed.dtype, None), torch.dtype):
        parser.error(f"--dtype {parsed.dtype}: no type of PyTorch; as float32 or bfloat16")
    if parsed.only is not None and not 1 <= parsed.only <= len(OPERATORS):
        parser.error(f"--only {parsed.only}: there are {len(OPERATORS)} operators")
    if parsed.runs < 1 or parsed.warmup < 0:
        parser.error("--runs: at least 1; --warmup: at least 0")
    memory = None if parsed.memory_limit is None else int(parsed.memory_limit * GIB)
    variants = frozenset(filter(None, parsed.variants.split(",")))
    return (
        Settings(
            torch.device(parsed.device),
            parsed.runs,
            parsed.warmup,
            parsed.seconds,
            variants,
            memory,
            parsed.dtype,
            parsed.cold,
        ),
        parsed,
    )


def run_script(arguments: Sequence[str] | None = None) -> int:
    """Run the operators and print what was measured; return 1 if one of them does not run as recorded, else 0."""
    settings, parsed = read_settings(arguments)
    if parsed.threads:
        torch.set_num_threads(parsed.threads)
    warnings.simplefilter("ignore")
    every: list[dict[str, Any]] = []
    status = 0
    for operator in OPERATORS if parsed.only is None else [OPERATORS[parsed.only - 1]]:
        try:
            found = run_operator(operator, settings)
        except Exception as error:  # a damaged record fails in any way, and others of the batch may run
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            print(f"{operator.name}: cannot run on {settings.device}: {reason}", file=sys.stderr)
            status = 1
            continue
        status = 1 if "failed" in found["variants"][0] else status
        every.append(found)
        if not parsed.json:
            print_operator(operator, found, settings)
    if parsed.json:
        print(json.dumps(every, indent=1))
    return status


if __name__ == "__main__":
    sys.exit(run_script())
