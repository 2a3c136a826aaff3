"""From a trace database to what the report says of each topic. Sums are made in traceq/sql/report/."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from traceq.reports.topics import (
    AllocatorCall,
    Blocking,
    Collective,
    Communication,
    CommunicationTotal,
    Copies,
    CopyGroup,
    CopyTotal,
    Data,
    DataStall,
    GpuMetric,
    HostCollective,
    KernelFill,
    KernelName,
    Kernels,
    Loader,
    Memory,
    MemoryPart,
    MemoryPeak,
    Mfu,
    OccupancyClass,
    OperatorKind,
    Topics,
    UnifiedMemory,
)
from traceq.sql.facts import standalone

# Section of the report to the query of that name in traceq/sql/report/.
_QUERIES = {
    "copies": "copy_total",
    "unified_memory": "unified_memory",
    "communication": "communication",
    "blocking": "blocking",
    "kernels": "kernel_fill",
    "kernel_occupancy": "kernel_occupancy",
    "operators": "operator_kind",
    "mfu": "mfu",
    "gpu_metrics": "gpu_metric",
    "data": "data_stall",
    "memory": "memory_peak",
    "memory_timeline": "memory_timeline",
}
# Those that list the first --top.
_LISTS = {
    "copy_groups": "copy_group",
    "collectives": "collective",
    "host_collectives": "host_collective",
    "kernel_names": "kernel_top",
    "data_loaders": "data_loader",
    "allocator_calls": "allocator",
}

Ask = Callable[[str], list[dict[str, Any]]]


def topics(ask: Ask) -> Topics:
    """All topics; `ask` gives the rows of a section's query for the trace, see parameters()."""
    (stall,) = ask("data")
    return Topics(
        copies=Copies(
            totals=tuple(CopyTotal(**row) for row in ask("copies")),
            groups=tuple(CopyGroup(**row) for row in ask("copy_groups")),
            unified_memory=tuple(UnifiedMemory(**row) for row in ask("unified_memory")),
        ),
        communication=Communication(
            totals=tuple(CommunicationTotal(**row) for row in ask("communication")),
            blocking=tuple(Blocking(**row) for row in ask("blocking")),
            collectives=tuple(Collective(**row) for row in ask("collectives")),
            on_host=tuple(HostCollective(**row) for row in ask("host_collectives")),
        ),
        kernels=_kernels(ask),
        data=Data(stall=DataStall(**stall), loaders=tuple(Loader(**row) for row in ask("data_loaders"))),
        memory=Memory(
            peaks=tuple(MemoryPeak(**row) for row in ask("memory")),
            timeline=tuple(MemoryPart(**row) for row in ask("memory_timeline")),
            calls=tuple(AllocatorCall(**row) for row in ask("allocator_calls")),
        ),
    )


def _kernels(ask: Ask) -> Kernels:
    return Kernels(
        fill=tuple(KernelFill(**row) for row in ask("kernels")),
        occupancy=tuple(OccupancyClass(**row) for row in ask("kernel_occupancy")),
        top=tuple(KernelName(**row) for row in ask("kernel_names")),
        operators=tuple(OperatorKind(**row) for row in ask("operators")),
        mfu=tuple(Mfu(**row) for row in ask("mfu")),
        measured=tuple(GpuMetric(**row) for row in ask("gpu_metrics")),
    )


def parameters(section: str, trace_id: int, top: int) -> tuple[str, dict[str, int]]:
    """The name of a section's query and what it is to be given."""
    if section in _LISTS:
        return _LISTS[section], {"trace_id": trace_id, "top": top}
    return _QUERIES[section], {"trace_id": trace_id}


def queries(trace_id: int, top: int) -> dict[str, str]:
    """Section to the query that gives its numbers again."""
    asked = {section: parameters(section, trace_id, top) for section in (*_QUERIES, *_LISTS)}
    return {section: standalone(name, **values) for section, (name, values) in asked.items()}
