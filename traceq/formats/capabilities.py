"""Capabilities of each trace format: the formats and the metrics, one row each.

To add a format: its record in a module of its own here, a row in FORMATS, and an importer of the same name.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from functools import cache

import msgspec

from traceq.common.plugins import load_plugins
from traceq.errors import UnknownMetric
from traceq.formats.chrome import CHROME
from traceq.formats.format import Capture, Format
from traceq.formats.memory_snapshot import memory_snapshot
from traceq.formats.nsys import NSYS
from traceq.formats.operations import operations
from traceq.formats.rocm import ROCM
from traceq.formats.xplane import XPLANE

_METRICS, _INPUTS = NSYS.captures, {**NSYS.ways, **CHROME.ways}
FORMATS: tuple[Format, ...] = (
    NSYS,
    CHROME,
    ROCM,
    XPLANE,
    operations(_METRICS, _INPUTS),
    memory_snapshot(_METRICS, _INPUTS),
)


@cache
def format_of(name: str) -> Format:
    """Return the record of the format called `name`, also from a plug-in importer that has one as FORMAT.

    Without any, return a record with the name only and neutral words. Raises UnusablePlugin for a broken plug-in.
    """
    known = next((record for record in FORMATS if record.name == name), None)
    if known is None:
        importers = (importer for importer in load_plugins("traceq.importers") if name == importer.NAME)
        known = next((importer.FORMAT for importer in importers if hasattr(importer, "FORMAT")), None)
    return known or Format(name)


class Metric(msgspec.Struct, frozen=True):
    """A metric, and the cost of capturing it.

    `record` names the backends of `traceq record` (torch, nsys) that capture it, `options` the command's options for
    it.
    """

    name: str
    answers: str
    cost: str
    record: tuple[str, ...] = ("torch", "nsys")
    options: str = ""

    def captures(self, of: Format | None = None) -> Iterable[tuple[Format, Capture | str]]:
        """Yield the formats, each with the options that record the metric, or the reason why its profiler cannot.

        With `of`, only this format and those whose profilers can record the same program (`beside`).
        """
        names = None if of is None else (of.name, *of.beside)
        return (
            (record, record.captures[self.name])
            for record in FORMATS
            if record.is_recorded and (names is None or record.name in names)
        )


_PER_CALL = "an event per CUDA call and per kernel"
_PER_OPERATOR = "the shapes of each operator's arguments"

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            "steps",
            "how long steps take, how much they vary, samples or tokens per second",
            "next to nothing: a few marks per step",
        ),
        Metric(
            "idle",
            "when a GPU is idle, and what the host does meanwhile",
            f"{_PER_CALL}, per operator or range, and per blocking call",
        ),
        Metric(
            "ledger",
            "for what part of each step a GPU computes, communicates, copies or is idle",
            "an event per kernel and copy",
        ),
        Metric(
            "host",
            "what the training thread does in each step, by kind and by phase",
            "an event per CUDA call, and per operator or range",
        ),
        Metric("launch", "what launching costs the host, and whether the GPU waits for launches", _PER_CALL),
        Metric(
            "sync",
            "which calls wait for the GPU, and which work of the GPU waits for which",
            "one more event per synchronization",
        ),
        Metric(
            "copies",
            "bytes, bandwidth, direction, pinned or pageable, overlapped with kernels or not",
            "an event per copy",
        ),
        Metric(
            "occupancy",
            "waves, occupancy and what limits it, from how kernels were launched, not measured",
            "an event per kernel",
        ),
        Metric(
            "hardware-counters",
            "how busy multiprocessors, tensor cores, memory, PCIe and NVLink really were",
            "a row per counter and sample: some 200,000 a second and GPU at 10 kHz",
            (),
        ),
        Metric(
            "communication",
            "collectives: time, overlap with compute, by message size and group",
            "an event per collective",
        ),
        Metric("data", "how long steps wait for input, and what that costs the GPU", "a mark per fetch"),
        Metric(
            "memory",
            "how much memory is allocated over time, and when it peaks",
            "an event per allocation",
            options="--memory",
        ),
        Metric(
            "flops",
            "FLOPs and bytes of matrix products, convolutions and attention, and the rates reached",
            _PER_OPERATOR,
            ("torch",),
        ),
        Metric("mfu", "what share of the GPU's peak a step's FLOPs reach", _PER_OPERATOR, ("torch",)),
        Metric(
            "python",
            "which Python functions and modules the time went through",
            "an event per Python call: steps get far longer, so measure times without it",
            ("torch",),
            "--stacks",
        ),
        Metric("graphs", "what runs inside CUDA graphs", "an event per node of a graph instead of one per launch"),
        Metric("os", "which system calls the host's threads block in", "an event per blocking call", ("nsys",)),
    )
}


def metrics_named(names: Sequence[str]) -> list[Metric]:
    """Return the metrics with these names, in the order given. Raises UnknownMetric, which suggests the closest name."""
    return [_build_metric(name) for name in dict.fromkeys(name.lower() for name in names)]


def _build_metric(name: str) -> Metric:
    try:
        return METRICS[name]
    except KeyError:
        close = difflib.get_close_matches(name, METRICS, n=3, cutoff=0.5) or list(METRICS)
        raise UnknownMetric(f"no metric is called {name!r}; did you mean: {', '.join(close)}?") from None


def record_backend(metrics: Sequence[Metric]) -> str | None:
    """Return the backend of `traceq record` that captures most of the metrics, torch on a tie; None if neither captures any."""
    counts = {backend: sum(backend in metric.record for metric in metrics) for backend in ("torch", "nsys")}
    best = max(counts, key=lambda backend: counts[backend])
    return best if counts[best] else None
