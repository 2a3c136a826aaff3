"""Rescale the work of a GPU to another one, by the ratio of their limits and the shares that libraries reach of them.

A kernel that lasts longer than its start is as fast as the limit that it meets, arithmetic or memory, so on another GPU
its time changes with the ratio of the two limits (Williams et al., "Roofline", CACM 2009; kernel by kernel: Yu et al.,
"Habitat", USENIX ATC 2021). Libraries reach a share of a limit that differs from GPU to GPU: the bounds hold what was
published of the makers' libraries.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Literal, NamedTuple

from traceq.analysis.kernels.ceiling import LEAST_START, USUAL_START, Ceiling, find_ceiling
from traceq.analysis.kernels.estimate import BOARD
from traceq.analysis.kernels.signature_ceiling import CostedSignature, read_signatures, work_of
from traceq.common.factor_range import SAME, FactorRange
from traceq.database.sql import run, statement

if TYPE_CHECKING:
    from collections.abc import Mapping

    import duckdb

    from traceq.analysis.kernels.ceiling import OperatorWork
    from traceq.analysis.kernels.known_gpu import KnownGpu

# What limits a kernel, of the two limits that GPUs differ in.
Limit = Literal["matrix", "memory", "unknown"]
Part = Literal["matrix", "memory", "unknown", "start", "host_copy", "peer_copy", "communication", "kept"]

# Share of the data sheet's peak that libraries reach with large products, at least and at most. NVIDIA: CUTLASS's profiles of
# A100 and H100. AMD: 0.38 in FP8 and 0.47 in BF16 on the MI300X (SemiAnalysis, "MI300X vs H100 vs H200 Benchmark Part 1", 2024),
# up to 0.65 on the MI325X (AMD, "Measuring Max-Achievable FLOPs", part 2).
_MATRIX_SHARES = {"NVIDIA": (0.65, 0.85), "AMD": (0.38, 0.65)}

# Share of the memory's bandwidth that streaming kernels reach. NVIDIA: STREAM and bandwidthTest. AMD: BabelStream on the MI300X
# (AMD's system acceptance guide: add and triad at the least, dot at the most).
_MEMORY_SHARES = {"NVIDIA": (0.8, 0.93), "AMD": (0.73, 0.88)}

# Arithmetic that a GPU without the first one computes in instead: there its operands are converted.
_INSTEAD = {"tf32": "fp32", "fp8": "bf16", "int8": "bf16", "fp64_tensor": "fp64"}

# Bytes of an element of a product's operands.
_ELEMENT_BYTES = {"fp8": 1, "int8": 1, "tf32": 4, "fp32": 4}

_SIZES = "select dtype, min(size) from _element_type group by dtype"


class GpuWork(NamedTuple):
    """A row of other_gpu.sql: a kernel, copy, memset or collective, and what tells how long it would take elsewhere."""

    slice_id: int
    device: int
    dur: float
    work: str
    arithmetic: str
    is_pageable: bool
    tokens: int | None
    operator_id: int | None
    signature: int | None
    compute_type: str | None
    operator_dur: float | None
    transfer: float | None
    group_size: int | None


class WorkRead(NamedTuple):
    """The GPU's work of a trace, the costs of its operators by signature, and the bytes of element types."""

    work: list[GpuWork]
    costs: dict[int, CostedSignature]
    sizes: dict[str, int]


class Rescaled(NamedTuple):
    """The time that a GPU slice would take on the other GPU, ns, and the part of the GPU that decides about it."""

    slice_id: int
    part: Part
    dur: float
    then: FactorRange


class _CeilingRatio(NamedTuple):
    """The ratio of the times that an operator's work takes at least on the two GPUs, what limits it, and how far off it is."""

    ratio: float
    limit: Limit
    excess: float


class GpuPair:
    """Works out the factors between the GPU of a trace (`now`) and another one (`then`)."""

    def __init__(self, now: KnownGpu, then: KnownGpu) -> None:
        self.now, self.then = now, then
        self.is_same_maker = maker_of(now) == maker_of(then)
        matrix, memory = (
            _divide_shares(shares[maker_of(now)], shares[maker_of(then)]) for shares in (_MATRIX_SHARES, _MEMORY_SHARES)
        )
        self._libraries: Mapping[str, FactorRange] = {
            "matrix": matrix,
            "memory": memory,
            "unknown": matrix.join_range(memory),
        }
        if now.model == then.model:
            self._libraries = dict.fromkeys(self._libraries, SAME)

    def library_factor(self, limit: Limit) -> FactorRange:
        """Return the factor by which a kernel's time differs as libraries reach other shares of this limit."""
        return self._libraries[limit]

    def start_factor(self) -> FactorRange:
        """Return the factor for what does not scale: kept, and as far apart as libraries are between makers."""
        matrix = self._libraries["matrix"]
        return SAME if self.is_same_maker else FactorRange(min(1, matrix.low), 1, max(1, matrix.high))

    def limit_factor(self, limit: Limit, arithmetic: str, library: Limit | None = None) -> FactorRange | None:
        """Return the factor of kernels with this limit, in this arithmetic; None where a figure is not published.

        Of an unknown limit it lies between those of both. `library` is the limit of which libraries reach a share, by
        default the same.
        """
        if limit == "memory":
            ratio = _divide_known(self.now.memory_bandwidth, self.then.memory_bandwidth)
        elif limit == "matrix":
            ratio = _divide_known(_peak_of(self.now, arithmetic), _peak_of(self.then, arithmetic))
        else:
            memory, matrix = self.limit_factor("memory", arithmetic), self.limit_factor("matrix", arithmetic)
            return memory.join_range(matrix) if memory and matrix else None
        return (
            None
            if ratio is None
            else FactorRange(ratio, ratio, ratio).multiply_by(self.library_factor(library or limit))
        )

    def is_below_ridge(self, tokens: int, arithmetic: str) -> bool:
        """Return whether products with `tokens` rows are limited by the weights that they read, on both GPUs."""
        intensity = 2 * tokens / _ELEMENT_BYTES.get(arithmetic, 2)
        ridges = [
            _divide_known((_peak_of(gpu, arithmetic) or 0) * 1e12, gpu.memory_bandwidth)
            for gpu in (self.now, self.then)
        ]
        return all(ridge is not None and intensity < ridge for ridge in ridges)

    def link_factor(self, work: str) -> FactorRange | None:
        """Return the factor of copies or collectives by the link that they take; None where it is not published."""
        name = "host_link_bandwidth" if work == "host_copy" else "peer_link_bandwidth"
        ratio = _divide_known(getattr(self.now, name), getattr(self.then, name))
        return None if ratio is None else FactorRange(min(1, ratio), ratio, max(1, ratio))


def maker_of(gpu: KnownGpu) -> str:
    """Return the maker of a GPU; only NVIDIA's have a compute capability."""
    return "AMD" if gpu.compute_capability is None else "NVIDIA"


def read_work(connection: duckdb.DuckDBPyConnection, trace_id: int) -> WorkRead:
    """Read the GPU's work of a trace, and what its operators cost.

    The connection gets temp views that hide other traces' operators, and temp tables: open it for this call alone.
    """
    catalog = _catalog_of(connection)
    for table in ("cpu_slice", "graph_operator"):
        select = f'select * from "{catalog}".main.{table} where trace_id = {int(trace_id)}'  # noqa: S608 - names of ours
        connection.execute(f"create or replace temp view {table} as {select}")
    run(connection, "analysis/kernels/operator_shape.sql")
    run(connection, "analysis/kernels/operator_work.sql")
    rows = connection.execute(statement("analysis/kernels/other_gpu.sql"), {"trace_id": trace_id}).fetchall()
    costs = read_signatures(connection)
    sizes = dict(connection.execute(_SIZES).fetchall())
    return WorkRead([GpuWork(*row) for row in rows], {cost.signature: cost for cost in costs}, sizes)


def rescale_work(pair: GpuPair, read: WorkRead, exchanges: Mapping[int, FactorRange] | None = None) -> list[Rescaled]:
    """Return the time of each GPU slice on the other GPU; where a figure is not published it is kept.

    `exchanges` are factors of the transfers of collectives, by slice_id, that hold for them instead of that of the link.
    """
    known: dict[tuple[int, str | None], _CeilingRatio | None] = {}
    found = []
    for one in read.work:
        share = None
        if one.signature is not None and one.signature in read.costs:
            key = (one.signature, one.compute_type)
            if key not in known:
                known[key] = _compare_ceilings(pair, read.costs[one.signature], one, read.sizes)
            share = known[key]
        found.append(_rescale_one(pair, one, share, (exchanges or {}).get(one.slice_id)))
    return found


def scale_part(kept: float, scaled: float, factor: FactorRange, start: FactorRange) -> FactorRange:
    """Return the time of a part that is kept but for `start`, and another that changes by the factor; ns."""
    low, likely, high = (kept * first + scaled * second for first, second in zip(start, factor, strict=True))
    return FactorRange(low, likely, high)


def _rescale_one(pair: GpuPair, one: GpuWork, share: _CeilingRatio | None, exchange: FactorRange | None) -> Rescaled:
    """Return the time of a GPU slice on the other GPU; `share` as of its operator, if that has a cost.

    `exchange` is the factor of a collective's transfer, None for that of the link.
    """
    if one.work == "communication":
        # between boards there is a network, which stays
        factor = exchange
        if factor is None and 1 < (one.group_size or 0) <= BOARD:
            factor = pair.link_factor(one.work)
        moved = min(one.dur, one.dur if one.transfer is None else one.transfer)
        then = scale_part(one.dur - moved, moved, factor or SAME, SAME)
        return Rescaled(one.slice_id, "communication", one.dur, then)
    if one.work in ("host_copy", "peer_copy"):
        factor = pair.link_factor(one.work) or SAME
        if one.is_pageable:
            # the host copies through a buffer of its own, which is as fast as its memory
            factor = FactorRange(min(1, factor.low), 1, max(1, factor.high))
        part: Part = "host_copy" if one.work == "host_copy" else "peer_copy"
        start = min(one.dur, USUAL_START)
        return Rescaled(one.slice_id, part, one.dur, scale_part(start, one.dur - start, factor, SAME))
    limit, factor = _find_factor(pair, one, share)
    if factor is None:
        return Rescaled(one.slice_id, "kept", one.dur, FactorRange(one.dur, one.dur, one.dur))
    start = min(one.dur, USUAL_START)
    usual = scale_part(start, one.dur - start, factor, pair.start_factor())
    least = min(one.dur, LEAST_START)
    # how much of a kernel is its start is not known: it may be all of it, or next to nothing
    scaled = scale_part(least, one.dur - least, factor, pair.start_factor())
    then = FactorRange(min(usual.low, scaled.low), usual.likely, max(usual.high, scaled.high))
    return Rescaled(one.slice_id, "start" if one.dur <= USUAL_START else limit, one.dur, then)


def _find_factor(pair: GpuPair, one: GpuWork, share: _CeilingRatio | None) -> tuple[Limit, FactorRange | None]:
    """Return what limits a kernel, and its factor: by the operator's ceilings on both GPUs, else by its name."""
    if share is not None:
        factor = FactorRange(share.ratio, share.ratio, share.ratio).multiply_by(pair.library_factor(share.limit))
        if not pair.is_same_maker and share.excess > 1:
            # far from what it could be: other code need not be so
            factor = factor._replace(low=factor.low / share.excess)
        return share.limit, factor
    arithmetic = one.compute_type or one.arithmetic
    if one.work == "few_rows" and one.tokens and pair.is_below_ridge(one.tokens, arithmetic):
        # reads, but by the code of products
        return "memory", pair.limit_factor("memory", arithmetic, "unknown")
    if one.work == "memory":
        return "memory", pair.limit_factor("memory", arithmetic)
    # products may be limited by what they read, too
    return "unknown", pair.limit_factor("unknown", arithmetic)


def _compare_ceilings(
    pair: GpuPair, cost: CostedSignature, one: GpuWork, sizes: Mapping[str, int]
) -> _CeilingRatio | None:
    """Return how the ceilings of an operator on the two GPUs compare; None where they are not known."""
    arithmetic = one.compute_type
    work = work_of(cost, sizes.get("fp32" if arithmetic == "tf32" else arithmetic or ""))
    if work is None:
        return None
    now, then = (_ceiling_on(gpu, work, arithmetic) for gpu in (pair.now, pair.then))
    if now.reachable is None or then.reachable is None:
        return None
    start = USUAL_START * max(1, len(work.products))
    moved_now, moved_then = now.reachable - start, then.reachable - start
    if moved_now <= 0 or moved_then <= 0:
        return None
    limits = {_limit_of(ceiling) for ceiling in (now, then)}
    limit: Limit = limits.pop() if len(limits) == 1 else "unknown"
    return _CeilingRatio(moved_then / moved_now, limit, (one.operator_dur or 0) / now.reachable)


def _ceiling_on(gpu: KnownGpu, work: OperatorWork, arithmetic: str | None) -> Ceiling:
    """Return the ceiling of an operator on a GPU, in the arithmetic or what the GPU has instead."""
    chosen = arithmetic or ""
    if gpu.peak_of(chosen) is None:
        chosen = _INSTEAD.get(chosen, chosen)
    return find_ceiling(work, gpu.limits_in(chosen))


def _limit_of(ceiling: Ceiling) -> Limit:
    if ceiling.limit == "memory":
        return "memory"
    return "matrix" if ceiling.limit in ("peak", "tiles") else "unknown"


def _divide_shares(now: tuple[float, float], then: tuple[float, float]) -> FactorRange:
    """Return the factor of a time where libraries reach a share of a limit between two bounds, now and then."""
    return FactorRange(now[0] / then[1], sqrt(now[0] * now[1] / (then[0] * then[1])), now[1] / then[0])


def _divide_known(first: float | None, second: float | None) -> float | None:
    return first / second if first and second else None


def _peak_of(gpu: KnownGpu, arithmetic: str) -> float | None:
    """Return the peak in TFLOP/s in the arithmetic, else in what the GPU computes in instead."""
    return gpu.peak_of(arithmetic) or gpu.peak_of(_INSTEAD.get(arithmetic, arithmetic))


def _catalog_of(connection: duckdb.DuckDBPyConnection) -> str:
    """Return the name of the database that the connection reads."""
    found = connection.execute("select current_database()").fetchone()
    return str(found[0]) if found else ""
