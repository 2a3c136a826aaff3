"""Counts of what a trace holds, which say for which metrics it is good. Their meaning is in health/inputs/."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from traceq.database.query import ask
from traceq.database.sql import statement

if TYPE_CHECKING:
    import duckdb


# Each a query of one row.
TOPICS = ("gpu", "kernel", "copy", "collective", "host", "wait", "step", "idle", "data", "memory", "sample", "operator")


class LostEvents(msgspec.Struct, frozen=True):
    """A kind of the trace's notes on lost events: its severity, code and number of events."""

    severity: str
    code: str
    count: int


class Inputs(msgspec.Struct, frozen=True):
    """Counts of the rows in a trace by which metrics are judged.

    Fields ending in `_dur` or `_dur_with_peak`, and `idle_unattributed`, are ns.
    """

    gpu_slices: int
    called_for: int
    launched: int
    kernels: int
    kernels_with_shape: int
    kernels_estimated: int
    kernel_dur: int
    copies: int
    copies_as_kernels: int
    copies_with_bytes: int
    copies_with_memory: int
    copies_with_call: int
    communication: int
    communication_with_bytes: int
    communication_with_group: int
    communication_with_blocking: int
    collectives: int
    whole_graphs: int
    graph_nodes: int
    graph_nodes_with_operator: int
    devices: int
    devices_with_limits: int
    host_slices: int
    calls: int
    graph_launches: int
    operators: int
    operators_with_shapes: int
    operators_with_flops: int
    flops_dur: int
    flops_dur_with_peak: int
    convolutions: int
    convolutions_with_flops: int
    mfu_entries: int
    mfu_entries_known: int
    annotations: int
    python_calls: int
    os_calls: int
    waiting_calls: int
    stream_wait_calls: int
    phases: int
    synchronizations: int
    stream_waits: int
    stream_waits_resolved: int
    steps: int
    steps_excluded: int
    step_source: str | None
    payloads: str | None
    idle_dur: int
    idle_unattributed: int
    fetches: int
    fetches_ahead: int
    steps_with_data_wait: int
    steps_with_input_copy: int
    memory_samples: int
    memory_samples_total: int
    devices_sampled: int
    devices_with_memory: int
    devices_with_capacity: int
    metric_samples: int
    metrics: int
    devices_with_metrics: int
    lost: tuple[LostEvents, ...]


def read(connection: duckdb.DuckDBPyConnection, trace_id: int) -> Inputs:
    """Return the counts of the trace by which its metrics are judged."""
    counts: dict[str, Any] = {}
    for topic in TOPICS:
        counts.update(ask(connection, statement(f"health/inputs/{topic}.sql"), trace_id=trace_id)[0])
    lost = ask(connection, statement("health/inputs/note.sql"), trace_id=trace_id)
    return Inputs(**counts, lost=tuple(LostEvents(**row) for row in lost))
