"""Annotations of the nodes of CUDA graphs, saved beside a trace: put onto the staged work that these nodes ran."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import duckdb
import msgspec
import numpy as np
import pyarrow as pa

from traceq.common.units import count
from traceq.database import sql
from traceq.importers.chrome.args import build_collectives
from traceq.importers.chrome.gpu import COMMUNICATES
from traceq.importers.graph_annotations import read_annotations
from traceq.loading.staging import add_note

_LARGEST_ID = 1 << 63
_COUNTS = """
select count(*), count(*) filter (n.graph_node_id is not null)
from staging.gpu_slice as g
left join _annotated_node as n using (graph_node_id)
where g.graph_node_id is not null
"""


class AnnotationFile(msgspec.Struct, frozen=True):
    """A file of annotations by graph node, named with --capture: the only one of `files`, as traces have several."""

    files: tuple[Path]


def stage_annotations(connection: duckdb.DuckDBPyConnection, given: Sequence[AnnotationFile]) -> None:
    """Add annotations by graph node to the args of the staged GPU work, and rows of collective where they describe some.

    A note says how much of the work in graphs they name. Raises UnusableTrace for a file that cannot be read.
    """
    if not given:
        return
    annotations = {node: told for file in given for node, told in read_annotations(file.files[0]).items() if told}
    # PyTorch's stream of a node is the lane that it is drawn on.
    args = {
        node: json.dumps({"annotated_stream" if key == "stream" else key: value for key, value in told.items()})
        for node, told in annotations.items()
        if node < _LARGEST_ID
    }
    nodes, notes = np.fromiter(args, np.int64), Counter[str]()
    rows = pa.table({"graph_node_id": nodes, "args": pa.array(args.values(), pa.string())})
    connection.register("_annotated_node", rows)
    connection.execute("create or replace temp table _annotated_collective as from staging.collective limit 0")
    for _, batch in build_collectives([text.encode() for text in args.values()], nodes, notes):
        connection.register("_batch", pa.table(batch))
        connection.execute("insert into _annotated_collective by name from _batch")
        connection.unregister("_batch")
    sql.run(connection, "loading/annotated_nodes.sql", communicates=COMMUNICATES.pattern)
    ((in_graphs, named),) = connection.execute(_COUNTS).fetchall()
    connection.unregister("_annotated_node")
    connection.execute("drop table _annotated_collective")
    told = f"annotations name {count(named)} of {count(in_graphs)} GPU slices in graphs"
    if named:
        add_note(connection, "info", "graph_annotations", named, told)
    else:
        text = f"{told}: ids of nodes are new in each run, so save them in the run that is traced"
        add_note(connection, "data_loss", "graph_annotations", 1, text)
    for code, number in notes.items():
        add_note(connection, "data_loss", code, number, "in annotations of graphs")
