"""Estimate: what an operator costs on a GPU, without any trace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing

import duckdb

from traceq.analysis.kernels.estimate import BOARD, DTYPES, Cost, count_calls, count_exchange, count_moved
from traceq.analysis.kernels.known_gpu import ChosenGpu, KnownGpu, choose_gpu, read_gpus
from traceq.app.estimate_request import EstimateChoices, EstimateRequest, parse_operator
from traceq.app.view import View
from traceq.errors import WrongUse
from traceq.reports.document import Block
from traceq.reports.estimate import Bound, Estimate, compose_estimate, encode_estimate


class EstimateView(View[Estimate]):
    """The cost of an operator; `content` is plain data, in operations, bytes and ns."""

    def blocks(self) -> Iterable[Block]:
        """Return the document on operations, bytes, bound and times as blocks, for every format."""
        return compose_estimate(self.content)

    def to_json(self) -> str:
        """Return the estimate as JSON text, for programs."""
        return encode_estimate(self.content)


def estimate_operator(operator: str, shape: Sequence[str], gpu: str, choices: EstimateChoices) -> EstimateView:
    """Estimate what an operator costs on a GPU, by the formulas and ceilings of operator_cost.

    Raises WrongUse for operators, shapes, types and GPUs that are not known, saying which are.
    """
    if choices.dtype not in DTYPES:
        raise WrongUse(f"--dtype: there is no type {choices.dtype!r}; known are {', '.join(DTYPES)}.")
    request = parse_operator(operator, shape, choices)
    with closing(duckdb.connect(config={"threads": 1})) as connection:
        chosen = choose_gpu(gpu, read_gpus(connection))
        cost = _count_cost(connection, request, chosen.gpu, choices)
    return EstimateView(_describe_cost(request, chosen, choices, cost))


def list_gpus() -> list[str]:
    """Return the names of all GPUs that traceq knows."""
    with closing(duckdb.connect(config={"threads": 1})) as connection:
        return [gpu.model for gpu in read_gpus(connection)]


def _count_cost(
    connection: duckdb.DuckDBPyConnection, request: EstimateRequest, gpu: KnownGpu, choices: EstimateChoices
) -> Cost:
    """Return what the operator costs on the GPU."""
    limits = gpu.limits_in(choices.dtype)
    if request.exchange is not None:
        return count_exchange(connection, request.exchange, _bandwidth_of(gpu, choices))
    if request.moved is not None:
        return count_moved(request.moved, limits)
    try:
        return count_calls(connection, request.calls, choices.dtype, limits)
    except ValueError as error:
        raise WrongUse(f"estimate {request.operator} {request.shape}: {error}.") from None


def _bandwidth_of(gpu: KnownGpu, choices: EstimateChoices) -> float | None:
    """Return the GB/s per direction between the ranks of a collective: as given, else the GPU's own of a board of eight."""
    if choices.link is not None or (choices.ranks or 0) > BOARD:
        return choices.link
    return gpu.peer_link_bandwidth or gpu.host_link_bandwidth


def _describe_cost(request: EstimateRequest, chosen: ChosenGpu, choices: EstimateChoices, cost: Cost) -> Estimate:
    """Return the estimate with what it follows from."""
    gpu, others = chosen
    peak = gpu.peak_of(choices.dtype) if cost.flops else None
    bandwidth = _bandwidth_of(gpu, choices) if request.exchange is not None else None
    intensity = cost.flops / cost.bytes if cost.flops and cost.bytes else None
    ridge = peak * 1e12 / gpu.memory_bandwidth if peak and gpu.memory_bandwidth else None
    return Estimate(
        operator=request.operator,
        shape=request.shape,
        backward=choices.backward,
        causal=choices.causal,
        dtype=choices.dtype,
        ranks=choices.ranks,
        gpu=gpu.model,
        gpu_might_be=others,
        flops=cost.flops,
        computed_share=cost.share,
        bytes=cost.bytes,
        intensity=intensity,
        ridge=ridge,
        bound=_name_bound(request, cost, intensity, ridge),
        least_ns=cost.least,
        reachable_ns=cost.reachable,
        filled_ns=cost.filled,
        limit=cost.limit,
        multiprocessors=gpu.sm_count,
        peak=peak,
        memory_bandwidth=gpu.memory_bandwidth,
        link=None if request.exchange is None else _name_link(gpu, choices),
        link_bandwidth=bandwidth,
        parts=cost.parts,
        flops_formula=request.flops_formula,
        bytes_formula=request.bytes_formula,
        assumed=request.assumed,
    )


def _name_bound(request: EstimateRequest, cost: Cost, intensity: float | None, ridge: float | None) -> Bound:
    """Return what the operator is limited by, as operator_cost.bound; bytes without operations are limited by memory."""
    if request.exchange is not None:
        return "link"
    if not cost.flops:
        return "memory"
    if intensity is None or ridge is None:
        return "unknown"
    return "compute" if intensity >= ridge else "memory"


def _name_link(gpu: KnownGpu, choices: EstimateChoices) -> str | None:
    """Return the link that a collective takes; None where it is not known."""
    if choices.link is not None:
        return "--link"
    if (choices.ranks or 0) > BOARD:
        return None
    return gpu.peer_link if gpu.peer_link_bandwidth else gpu.host_link
