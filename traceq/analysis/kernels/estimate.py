"""Count the cost of an operator without a trace: the formulas of traces are run on a record as PyTorch would write it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from traceq.analysis.kernels.ceiling import LEAST_START, STREAMED, USUAL_START, Ceiling, Gpu, OperatorWork, find_ceiling
from traceq.analysis.kernels.signature_ceiling import CostedSignature, work_of
from traceq.database.sql import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

_RECORDED_TYPES = {
    "fp64": "double",
    "fp32": "float",
    "tf32": "float",
    "fp16": "c10::Half",
    "bf16": "c10::BFloat16",
    "fp8": "c10::Float8_e4m3fn",
    "int8": "signed char",
}
DTYPES = tuple(_RECORDED_TYPES)

# Bytes of an element.
ELEMENT_SIZES = {"fp64": 8, "fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2, "fp8": 1, "int8": 1}

_COSTS = """
select
    c.signature, c.kind, c.rule, c.dtype, c.flops, c.bytes, c.elements, c.batch, c.m, c.n, c.k, c.window_positions,
    c.gradients, c.is_causal, c.written, c.head_group
from _costed_operator as o
inner join _signature_cost as c using (signature)
order by o.slice_id
"""

# On a board of this many GPUs; between fewer a part of the links is idle, where no switch joins them.
BOARD = 8


class OperatorCall(NamedTuple):
    """A call of an operator as PyTorch records it: the shapes of its tensors and, by position, its settings."""

    name: str
    shapes: tuple[tuple[int, ...], ...]
    settings: tuple[str, ...] = ()


class MovedBytes(NamedTuple):
    """Bytes that an operator moves through memory, once each, and those of them that surely are in memory and not in caches."""

    bytes: int
    least_bytes: int


class Exchange(NamedTuple):
    """A collective of `ranks` ranks with a message of `bytes`; `link` is the GB/s of a rank per direction, None for the GPU's."""

    operation: str
    bytes: int
    ranks: int
    link: float | None


class OperatorPart(msgspec.Struct, frozen=True):
    """One product (or move) of an operator: its sizes, and how libraries would cut it into tiles."""

    sizes: tuple[int, ...]
    """Batch, m, n, k; empty for one that only moves bytes."""
    flops: int
    bytes: int | None
    tile: tuple[int, int] | None
    split: int
    waves: int | None


class Cost(NamedTuple):
    """The operations and bytes of an operator, and its times in ns, as of Ceiling."""

    flops: int
    bytes: int | None
    share: float
    """Of the operations, those that are computed: fewer than 1 under a causal mask."""
    least: int | None
    reachable: int | None
    filled: int | None
    limit: str
    parts: tuple[OperatorPart, ...]


def count_calls(connection: duckdb.DuckDBPyConnection, calls: Sequence[OperatorCall], dtype: str, gpu: Gpu) -> Cost:
    """Return what the calls cost one after the other, with all tensors of type `dtype`, by the formulas of operator_cost.

    Raises ValueError where these know no cost: sizes that do not fit together.
    """
    works = [(cost, work_of(cost)) for cost in _read_costs(connection, calls, dtype)]
    if len(works) < len(calls) or any(work is None for _, work in works):
        raise ValueError("these sizes do not fit together")
    # no tensor is a view that repeats itself
    dense = [(cost, work._replace(least_bytes=cost.bytes or 0)) for cost, work in works if work is not None]
    counted = [(cost, work, find_ceiling(work, gpu)) for cost, work in dense]
    parts = [part for cost, work, ceiling in counted for part in _list_parts(cost, work, ceiling)]
    ceilings = [ceiling for *_, ceiling in counted]
    bytes_ = [cost.bytes for cost, *_ in counted]
    return Cost(
        sum(cost.flops or 0 for cost, *_ in counted),
        None if None in bytes_ else sum(filter(None, bytes_)),
        counted[0][1].share,
        _add_times([ceiling.least for ceiling in ceilings]),
        _add_times([ceiling.reachable for ceiling in ceilings]),
        _add_times([ceiling.filled for ceiling in ceilings]),
        max(ceilings, key=lambda ceiling: ceiling.reachable or 0).limit,
        tuple(parts),
    )


def count_moved(moved: MovedBytes, gpu: Gpu) -> Cost:
    """Return what it costs to move these bytes through memory."""
    least, reachable, filled, limit, *_ = find_ceiling(OperatorWork((), moved.bytes, moved.least_bytes), gpu)
    times = (_round_time(least), _round_time(reachable), _round_time(filled))
    return Cost(0, moved.bytes, 1, *times, limit, (OperatorPart((), 0, moved.bytes, None, 1, None),))


def count_exchange(connection: duckdb.DuckDBPyConnection, exchange: Exchange, bandwidth: float | None) -> Cost:
    """Return the cost of a collective over links of `bandwidth` GB/s per rank and direction; times are None without it.

    At the most: what a ring sends (nccl-tests' factor) at 0.8 of the links that these GPUs of an eight-GPU board have
    between them. At the least: what each rank has to receive, at all of them; switches may add up an all_reduce on the way.
    """
    run(connection, "database/bandwidth.sql")
    ((factor,),) = connection.execute("select _bus_factor($1, $2)", [exchange.operation, exchange.ranks]).fetchall()
    sent = int(factor * exchange.bytes)
    least_sent = min(sent, exchange.bytes)
    part = OperatorPart((), 0, sent, None, 1, None)
    if bandwidth is None:
        return Cost(0, sent, 1, None, None, None, "unknown", (part,))
    joined = 1 if exchange.link is not None else min(1, (exchange.ranks - 1) / (BOARD - 1))
    usual = round(sent / (bandwidth * STREAMED * joined)) + USUAL_START
    return Cost(0, sent, 1, round(least_sent / bandwidth) + LEAST_START, usual, usual, "link", (part,))


def _read_costs(
    connection: duckdb.DuckDBPyConnection, calls: Sequence[OperatorCall], dtype: str
) -> list[CostedSignature]:
    """Return the costs of the calls, in order, as those of a trace that holds nothing else."""
    connection.execute(
        "create or replace temp table cpu_slice"
        " (slice_id bigint, operator_id bigint, ts bigint, kind varchar, name varchar, args varchar)"
    )
    connection.execute("create or replace temp table graph_operator as from cpu_slice")
    type_ = _RECORDED_TYPES[dtype]
    for place, (name, shapes, settings) in enumerate(calls):
        types = [type_ if shape else "" for shape in shapes]
        recorded = {"Input Dims": shapes, "Input type": types, "Concrete Inputs": settings}
        connection.execute(
            "insert into cpu_slice values ($1, null, $1, 'op', $2, $3)", [place, name, json.dumps(recorded)]
        )
    run(connection, "analysis/kernels/operator_shape.sql")
    run(connection, "analysis/kernels/operator_work.sql")
    return [CostedSignature(*row) for row in connection.execute(_COSTS).fetchall()]


def _list_parts(cost: CostedSignature, work: OperatorWork, ceiling: Ceiling) -> list[OperatorPart]:
    """Return the products of an operator; tiles are those of the one that takes longest."""
    if not work.products:
        return [OperatorPart((), 0, cost.bytes, None, 1, None)]
    sizes = [(round(batch), round(m), round(n), round(k)) for batch, m, n, k in work.products]
    return [
        OperatorPart(size, round(product.flop_count), cost.bytes, ceiling.tile, ceiling.split, ceiling.waves)
        for size, product in zip(sizes, work.products, strict=True)
    ]


def _add_times(times: Sequence[float | None]) -> int | None:
    """Return the sum of times in whole ns; None if one is not known."""
    known = [time for time in times if time is not None]
    return round(sum(known)) if len(known) == len(times) else None


def _round_time(time: float | None) -> int | None:
    return None if time is None else round(time)
