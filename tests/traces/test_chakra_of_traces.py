"""The graphs that real traces are written as for simulators last as long as they did."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from trace_files import NSYS, TORCH, strip_container

from traceq.exports.chakra import write_chakra

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "exports"))

from chakra_proto import read_chakra, run_graph

# Of each trace with a graph when its counted steps begin, and when the last of its calls and GPU work ends.
_EXTENTS = """
with
edge as (
    select trace_id, source_id as cpu_id, target_id as gpu_id from dependency where kind = 'launch'
    union all
    select trace_id, target_id, null from dependency
    where kind not in ('launch', 'stream', 'copy_engine', 'event', 'graph', 'tensor')
    union all
    select trace_id, null, source_id from dependency where kind not in ('thread', 'hand_over', 'launch')
)

select
    e.trace_id,
    (select min(s.ts) from replay_step as r join step as s using (trace_id, step) where r.trace_id = e.trace_id) as begin,
    max(greatest(c.ts_end, g.ts_end)) as last
from edge as e
left join cpu_slice as c on c.trace_id = e.trace_id and c.slice_id = e.cpu_id
left join gpu_slice as g on g.trace_id = e.trace_id and g.slice_id = e.gpu_id
group by e.trace_id
order by e.trace_id
"""


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=strip_container(path)) for path in (*NSYS, *TORCH)]
    or [pytest.param(None, marks=pytest.mark.skip(reason="the folder shared is not beside the checkout"))],
)
def test_the_graph_lasts_as_long_as_the_recording(path, databases):
    connection = databases(path)
    for trace_id, begin, last in connection.execute(_EXTENTS).fetchall():
        file = io.BytesIO()
        write_chakra(connection, trace_id, file)
        _, nodes = read_chakra(file.getvalue())
        assert run_graph(nodes) == (last - begin) // 1_000
        assert len({node.id for node in nodes}) == len(nodes)
