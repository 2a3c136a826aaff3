"""The words about what an operator costs, without a trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal as OneOf

import msgspec

from traceq.analysis.kernels.ceiling import STREAMED, SUSTAINED, SUSTAINED_BACKWARD, USUAL_START
from traceq.analysis.kernels.estimate import BOARD, OperatorPart
from traceq.common.units import UNKNOWN, duration, format_bandwidth, maybe, rate, share, size
from traceq.reports.document import Block, Facts, Heading, Items, Name, Spans, Table, Verdict
from traceq.reports.renderers.json_text import json_text, to_dict

# Raised with every change that breaks a reader.
SCHEMA_VERSION = 1

Bound = OneOf["compute", "memory", "link", "unknown"]

_FLOPS_UNITS = (("PFLOP", 1e15), ("TFLOP", 1e12), ("GFLOP", 1e9), ("MFLOP", 1e6), ("kFLOP", 1e3))
# From here on what another shape wins is worth a sentence.
_WORTH = 1.1

_LIMITS = {
    "peak": "operations at the sustained peak",
    "tiles": "tiles at the edges and waves that are not full",
    "memory": "bytes at the sustained bandwidth",
    "launch": "starting a kernel",
    "link": "bytes over the links",
    "unknown": UNKNOWN,
}


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """The cost of an operator on a GPU; None where something is not known. docs/estimate.md describes the fields."""

    operator: str
    shape: str
    backward: bool
    causal: bool
    dtype: str
    ranks: int | None
    gpu: str
    gpu_might_be: tuple[str, ...]
    flops: int
    computed_share: float
    bytes: int | None
    intensity: float | None
    ridge: float | None
    bound: Bound
    least_ns: int | None
    reachable_ns: int | None
    filled_ns: int | None
    limit: str
    multiprocessors: int | None
    peak: float | None
    """TFLOP/s."""
    memory_bandwidth: int | None
    """Bytes per second."""
    link: str | None
    link_bandwidth: float | None
    """GB/s per rank and direction."""
    parts: tuple[OperatorPart, ...]
    flops_formula: str
    bytes_formula: str
    assumed: tuple[str, ...]


def encode_estimate(estimate: Estimate) -> str:
    """Return the estimate as the text of a JSON object."""
    return json_text({"schema_version": SCHEMA_VERSION, **to_dict(estimate)})


def compose_estimate(estimate: Estimate) -> Iterator[Block]:
    """Yield the document on an estimate: what bounds the operator and how long it takes, what it counts, and by which formula."""
    passed = " (backward)" if estimate.backward else ""
    yield Heading(1, ("traceq estimate ", Name(f"{estimate.operator} {estimate.shape}"), passed))
    yield _judge_time(estimate)
    yield Facts(tuple(_list_facts(estimate)))
    if tiled := [part for part in estimate.parts if part.tile is not None]:
        yield Heading(3, ("Tiles and waves",))
        yield Table(
            ("product (batch x m x n x k)", "operations", "tile", "parts of k", "waves"),
            tuple(_row_of(part) for part in tiled),
        )
    yield Heading(3, ("How it is counted",))
    yield Items(tuple(_list_formulas(estimate)))


def _judge_time(estimate: Estimate) -> Verdict:
    """Return the first sentence: the bound, and the range of the time."""
    if estimate.least_ns is None or estimate.reachable_ns is None:
        lacking = _name_lacking(estimate)
        return Verdict((f"How long it takes on {estimate.gpu} cannot be told: {lacking}.",), "cannot tell")
    bounds = {
        "compute": "Arithmetic is the limit",
        "memory": "Memory is the limit",
        "link": "The link is the limit",
        "unknown": "What limits it is not known",
    }
    times = f"{duration(estimate.least_ns)} at the least, {duration(estimate.reachable_ns)} as libraries do it"
    said = (f"{bounds[estimate.bound]} on {estimate.gpu}: {times}.",)
    lines: list[Spans] = [(f"What decides: {_LIMITS[estimate.limit]}.",)]
    if estimate.filled_ns is not None and estimate.reachable_ns > _WORTH * estimate.filled_ns:
        other = f"as many operations and bytes would take {duration(estimate.filled_ns)}"
        lines.append((f"In a shape that fills tiles and waves (padded, larger, batches joined) {other}.",))
    return Verdict(said, "healthy", lines=tuple(lines))


def _name_lacking(estimate: Estimate) -> str:
    """Return what the times lack."""
    if estimate.bound == "link" and (estimate.ranks or 0) > BOARD:
        return f"{estimate.ranks} ranks are more than the GPUs of a board; give --link, GB/s per rank and direction"
    if estimate.bound == "link":
        return "its maker publishes no link; give --link, GB/s per rank and direction"
    if estimate.peak is None and estimate.flops:
        return f"its maker publishes no peak in {estimate.dtype}; --dtype has others"
    return "its maker publishes no memory bandwidth"


def _list_facts(estimate: Estimate) -> Iterator[tuple[str, Spans]]:
    """Yield the rows of operations, bytes and intensity, and of the GPU."""
    might_be = f" (also: {', '.join(estimate.gpu_might_be)})" if estimate.gpu_might_be else ""
    yield "GPU", (estimate.gpu, might_be)
    if estimate.bound == "link" and estimate.link_bandwidth is None:
        yield "Link", (UNKNOWN,)
        yield "Sent by a rank", (maybe(size, estimate.bytes),)
        return
    if estimate.bound == "link":
        link = maybe(format_bandwidth, estimate.link_bandwidth)
        yield "Link", (f"{estimate.link or UNKNOWN}, {link} per direction",)
        yield "Sent by a rank", (maybe(size, estimate.bytes),)
        return
    if estimate.flops:
        masked = "" if estimate.computed_share == 1 else f", of which {share(estimate.computed_share)} under the mask"
        yield "Operations", (_format_flops(estimate.flops) + masked,)
    yield "Bytes", (UNKNOWN if estimate.bytes is None else size(estimate.bytes),)
    if estimate.intensity is not None:
        ridge = "" if estimate.ridge is None else f"; from {rate(estimate.ridge)} on arithmetic is the limit"
        yield "Intensity", (f"{rate(estimate.intensity)} operations per byte{ridge}",)
    if estimate.flops:
        peak = UNKNOWN if estimate.peak is None else f"{rate(estimate.peak)} TFLOP/s in {estimate.dtype}, dense"
        yield "Peak", (peak,)
        if estimate.multiprocessors is not None:
            yield "Multiprocessors", (str(estimate.multiprocessors),)
    bandwidth = estimate.memory_bandwidth
    yield "Memory", (UNKNOWN if bandwidth is None else format_bandwidth(bandwidth / 1e9),)


def _list_formulas(estimate: Estimate) -> Iterator[Spans]:
    """Yield the formulas in words, and what is assumed."""
    yield (f"Operations: {estimate.flops_formula}.",)
    yield (f"Bytes: {estimate.bytes_formula}.",)
    if estimate.bound == "link":
        yield ("At the least: what a rank must receive, at the link's bandwidth; switches may add up an all_reduce.",)
        yield (f"Usually: what a ring sends, at {STREAMED} of it, on a board of {BOARD} between fewer at their share.",)
    else:
        yield ("At the least: operations at the peak, or bytes beyond the largest cache at the peak bandwidth.",)
        sustained = f"{SUSTAINED} of the peak (attention backward {SUSTAINED_BACKWARD})"
        start = duration(USUAL_START)
        yield (
            f"Usually: waves of the best tiles at {sustained}, or bytes at {STREAMED} of the bandwidth, and {start} a kernel.",
        )
    yield from ((text,) for text in estimate.assumed)


def _row_of(part: OperatorPart) -> tuple[str, ...]:
    """Return the row of a product on tiles."""
    batch, m, n, k = part.sizes
    rows, columns = part.tile or (0, 0)
    sizes = f"{batch} x {m} x {n} x {k}"
    return sizes, _format_flops(part.flops), f"{rows} x {columns}", str(part.split), maybe(str, part.waves)


def _format_flops(flops: float) -> str:
    """Format operations with three significant digits: 1.10 TFLOP."""
    for unit, one in _FLOPS_UNITS:
        if flops >= one:
            return f"{rate(flops / one)} {unit}"
    return f"{flops:.0f} FLOP"
