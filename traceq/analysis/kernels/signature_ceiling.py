"""Works out how fast the GPUs of a trace can do each operator: once per signature, GPU and arithmetic, which recur."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from traceq.analysis.kernels.ceiling import (
    Ceiling,
    Gpu,
    OperatorWork,
    Product,
    attention_work,
    cache_of,
    convolution_backward_work,
    convolution_work,
    find_ceiling,
    matmul_work,
    moving_work,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

PEAKS = ("fp64", "fp64_tensor", "fp32", "tf32", "fp16", "bf16", "fp8", "int8")

# Arithmetic that an operator may use, by the type of its operands.
_ARITHMETIC = {"fp64": ("fp64", "fp64_tensor"), "fp32": ("fp32", "tf32")}

_DEVICES = f"""
select device, sm_count, memory_bandwidth::double, compute_capability, {", ".join(PEAKS)}
from device_model
where trace_id = $trace_id
"""  # noqa: S608 - names of columns


class CostedSignature(NamedTuple):
    """A row of _signature_cost: an operator's operations, bytes, and the sizes of its product."""

    signature: int
    kind: str
    rule: str
    dtype: str | None
    flops: int | None
    bytes: int | None
    elements: int | None
    batch: float | None
    m: float | None
    n: float | None
    k: float | None
    window_positions: float | None
    gradients: int | None
    is_causal: bool | None
    written: float | None
    head_group: float | None


class _DeviceLimits(NamedTuple):
    """A row of device_model: what limits operators, with peaks in TFLOP/s by arithmetic."""

    device: int
    sm_count: int | None
    memory_bandwidth: float | None
    compute_capability: str | None
    peaks: dict[str, float | None]

    def limits_in(self, compute_type: str | None) -> Gpu:
        """Return the limits of operators in this arithmetic; None has no peak."""
        peak = self.peaks.get(compute_type or "")
        return Gpu(
            self.sm_count,
            None if peak is None else peak * 1e12,
            self.memory_bandwidth,
            cache_of(self.compute_capability),
        )


def read_signatures(connection: duckdb.DuckDBPyConnection) -> list[CostedSignature]:
    """Return the rows of _signature_cost."""
    query = f"select {', '.join(CostedSignature._fields)} from _signature_cost"  # noqa: S608 - names of columns
    return [CostedSignature(*row) for row in connection.execute(query).fetchall()]


def fill_ceilings(connection: duckdb.DuckDBPyConnection, trace_id: int) -> None:
    """Make the table _signature_ceiling: a row per signature, device and arithmetic that it may use, NULL included."""
    signatures = read_signatures(connection)
    devices = []
    if signatures:
        found = connection.execute(_DEVICES, {"trace_id": trace_id}).fetchall()
        devices = [
            _DeviceLimits(device, sm_count, bandwidth, capability, dict(zip(PEAKS, peaks, strict=True)))
            for device, sm_count, bandwidth, capability, *peaks in found
        ]
    sizes = dict(connection.execute("select dtype, min(size) from _element_type group by dtype").fetchall())
    rows = list(_list_ceilings(signatures, devices, sizes))
    columns = list(zip(*rows, strict=True)) or [()] * 7
    types = (pa.uint64(), pa.int32(), pa.string(), pa.int64(), pa.int64(), pa.int64(), pa.string())
    names = ("signature", "device", "compute_type", "ceiling_dur", "reachable_dur", "filled_dur", "ceiling_limit")
    table = pa.table({name: pa.array(values, type_) for name, values, type_ in zip(names, columns, types, strict=True)})
    connection.register("_rows", table)
    connection.execute("create temp table _signature_ceiling as from _rows")
    connection.unregister("_rows")


def work_of(cost: CostedSignature, size: int | None = None) -> OperatorWork | None:
    """Return the work of an operator; None when its products are not known. `size`: bytes of an element recorded without type."""
    bytes_ = cost.bytes
    if bytes_ is None and cost.dtype is None and cost.elements is not None and size is not None:
        bytes_ = cost.elements * size
    if cost.flops is None:
        return moving_work(bytes_, cost.written)
    if cost.batch is None or cost.m is None or cost.n is None or cost.k is None:
        return None
    product = Product(cost.batch, cost.m, cost.n, cost.k)
    if cost.kind == "attention":
        return attention_work(
            product,
            bytes_,
            group=cost.head_group or 1,
            is_causal=cost.is_causal,
            backward="backward" in cost.rule,
            windowed="by_token" in cost.rule,
        )
    if cost.rule == "convolution_backward":
        return convolution_backward_work(product, cost.window_positions or 1, bytes_, gradients=cost.gradients or 0)
    if cost.rule == "convolution":
        return convolution_work(product, cost.window_positions or 1, bytes_)
    return matmul_work(product, bytes_)


def _list_ceilings(
    signatures: list[CostedSignature], devices: list[_DeviceLimits], sizes: dict[str, int]
) -> Iterator[tuple[int, int, str | None, int | None, int | None, int | None, str]]:
    """Yield the rows of _signature_ceiling."""
    known: dict[tuple[OperatorWork, Gpu], Ceiling] = {}
    for cost in signatures:
        for device in devices:
            for compute_type in _arithmetic_of(cost):
                work = work_of(cost, sizes.get("fp32" if compute_type == "tf32" else compute_type or ""))
                if work is None:
                    continue
                gpu = device.limits_in(compute_type)
                key = (work, gpu)
                if key not in known:
                    known[key] = find_ceiling(work, gpu)
                least, reachable, filled, limit, *_ = known[key]
                yield (
                    cost.signature,
                    device.device,
                    compute_type,
                    _whole_ns(least),
                    _whole_ns(reachable),
                    _whole_ns(filled),
                    limit,
                )


def _arithmetic_of(cost: CostedSignature) -> tuple[str | None, ...]:
    """Return the values of compute_type that operator_cost may have for a signature."""
    if cost.flops is None:
        return (None,)
    if cost.dtype is None:
        return (None, *PEAKS)
    return (None, *_ARITHMETIC.get(cost.dtype, (cost.dtype,)))


def _whole_ns(dur: float | None) -> int | None:
    return None if dur is None else round(dur)
