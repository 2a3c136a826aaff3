"""From a trace database to what the report says of each topic. Sums are made in traceq/reports/sql/."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from traceq.reports.queries import rows
from traceq.reports.topics import Topics

if TYPE_CHECKING:
    import duckdb

# Topic and field of it to the section of the report and the query of that name in traceq/reports/sql/ that fills it.
_FIELDS = {
    "critical_path": {
        "summary": ("critical_path", "critical_path"),
        "parts": ("critical_path_parts", "critical_path_part"),
        "names": ("critical_path_names", "critical_path_name"),
    },
    "copies": {
        "totals": ("copies", "copy_total"),
        "groups": ("copy_groups", "copy_group"),
        "unified_memory": ("unified_memory", "unified_memory"),
    },
    "communication": {
        "totals": ("communication", "communication"),
        "blocking": ("blocking", "blocking"),
        "collectives": ("collectives", "collective"),
        "on_host": ("host_collectives", "host_collective"),
    },
    "kernels": {
        "fill": ("kernels", "kernel_fill"),
        "occupancy": ("kernel_occupancy", "kernel_occupancy"),
        "top": ("kernel_names", "kernel_top"),
        "operators": ("operators", "operator_kind"),
        "mfu": ("mfu", "mfu"),
        "measured": ("gpu_metrics", "gpu_metric"),
    },
    "data": {"stall": ("data", "data_stall"), "loaders": ("data_loaders", "data_loader")},
    "memory": {
        "peaks": ("memory", "memory_peak"),
        "timeline": ("memory_timeline", "memory_timeline"),
        "calls": ("allocator_calls", "allocator"),
        "snapshot": ("memory_snapshot", "snapshot_peak"),
        "course": ("memory_course", "snapshot_course"),
        "categories": ("memory_categories", "snapshot_category"),
        "holders": ("memory_holders", "snapshot_holder"),
        "fragmentation": ("memory_fragmentation", "snapshot_fragmentation"),
        "failures": ("memory_failures", "snapshot_failure"),
        "failure_holders": ("memory_failure_holders", "snapshot_failure_holder"),
    },
    "serving": {
        "summary": ("serving", "serving"),
        "batches": ("serving_batches", "serving_batch"),
        "stalls": ("serving_stalls", "serving_stall"),
        "roofline": ("serving_roofline", "serving_roofline"),
    },
}
_OF_ONE_ROW = frozenset(("critical_path", "data_stall", "serving"))


def topics(connection: duckdb.DuckDBPyConnection, trace_id: int, top: int) -> Topics:
    """All topics of the trace."""

    def asked(query: str) -> object:
        found = rows(connection, query, trace_id=trace_id, top=top)
        return found[0] if query in _OF_ONE_ROW else found

    filled = {topic: {name: asked(query) for name, (_, query) in fields.items()} for topic, fields in _FIELDS.items()}
    return msgspec.convert(filled, Topics)


# Section of the report to the query that gives its numbers again.
QUERIES = dict(each for fields in _FIELDS.values() for each in fields.values())
