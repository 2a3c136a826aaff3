"""Where the nodes of CUDA graphs were made: CUDA_GRAPH_NODE_EVENTS, before 2024 CUDA_GRAPH_EVENTS."""

from __future__ import annotations

from traceq.importers.nsys.columns import without
from traceq.importers.nsys.context import Job, Rows, batch_of
from traceq.importers.nsys.threads import pids

# The older name is used for whole graphs from 2024 on: those rows have no node.
TABLES = ("CUDA_GRAPH_NODE_EVENTS", "CUDA_GRAPH_EVENTS")


def read_graph_nodes(job: Job) -> Rows:
    """All rows of graph_node."""
    for table in TABLES:
        if "graphNodeId" not in job.source.columns(table):
            continue
        for rows in job.timed(table, ["start", "globalTid", "nameId", "graphNodeId", "originalGraphNodeId"]):
            yield (
                "graph_node",
                batch_of(
                    {
                        "pid": pids(rows.column("globalTid")),
                        "graph_node_id": rows.column("graphNodeId"),
                        "original_node_id": without(rows.column("originalGraphNodeId"), 0),
                        "thread_id": job.threads.numbers(rows.column("globalTid")),
                        "ts": rows.column("start"),
                        "name": job.strings.optional(rows.column("nameId")),
                    }
                ),
            )
