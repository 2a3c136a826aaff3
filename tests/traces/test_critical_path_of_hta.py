"""The critical path of the two cases that HolisticTraceAnalysis publishes, nanosecond by nanosecond."""

from __future__ import annotations

import json
import sys
from bisect import bisect_right
from collections import Counter
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from traceq.analysis.replay.critical_path import EDGES, SEGMENTS, find_critical_path
from traceq.analysis.replay.graph import build_graph
from traceq.analysis.replay.recorded import ReplayStep, read
from traceq.analysis.replay.whatif import show_one_trace
from traceq.database.connect import connect
from traceq.loading.ingest import ingest

sys.path.append(str(Path(__file__).parents[1] / "truth"))
import critical_path_labels as labels

# What HTA's stretches are in ours: the path is on the host, on a GPU, or between two things.
SAME = {
    ("host", "host", None),
    ("gpu", "gpu", None),
    ("gpu", "transfer", None),
    ("kernel_launch_delay", "wait", "launch"),
    ("kernel_kernel_delay", "wait", "stream"),
    ("sync_dependency", "wait", "event"),
    ("sync_dependency", "wait", "synchronization"),
    # A blocking copy: HTA's edge ends the wait, ours the copy.
    ("sync_dependency", "host", None),
}

MOST_CALLS = """
select t.pid, t.thread_id from thread as t inner join cpu_slice as c using (trace_id, thread_id)
where c.kind = 'runtime' group by all order by count(*) desc limit 1
"""


def list_stretches(database, window):
    """Our path of a window as (ts, ts_end, (kind, edge))."""
    with closing(connect(database)) as connection:
        pid, thread = connection.execute(MOST_CALLS).fetchone()
        show_one_trace(connection, 1)
        recorded = read(connection, [ReplayStep(0, *window, True, 1, pid, thread, None, None)])
        path = find_critical_path(recorded, build_graph(recorded))
    columns = (path.ts, path.ts_end, path.kind, path.edge)
    return [
        (ts, ts_end, (SEGMENTS[kind], None if edge < 0 else EDGES[edge]))
        for ts, ts_end, kind, edge in zip(*(column.tolist() for column in columns), strict=True)
    ]


def sum_agreement(one, other):
    """Time in ns by what two lists of stretches say of it."""
    found = Counter()
    times = sorted({time for each in (*one, *other) for time in each[:2]})
    starts = [[each[0] for each in each_list] for each_list in (one, other)]
    for ts, ts_end in pairwise(times):
        here = [each[bisect_right(start, ts) - 1] for each, start in zip((one, other), starts, strict=True)]
        found[here[0][2], *here[1][2]] += ts_end - ts
    return found


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("name", "least"), [("simple_add_forward", 1.0), ("alexnet_forward", 1.0), ("simple_add", 0.9996)]
)
def test_the_path_is_where_hta_has_it(name, least, tmp_path):
    trace = labels.TORCH / labels.ASKED[name][0]
    if not trace.exists():
        pytest.skip("the folder shared is not beside the checkout")
    told = labels.list_spans(json.loads((labels.LABELS / f"{name}.json").read_text()))
    database = tmp_path / "trace.duckdb"
    ingest([trace], database)
    # The origin of a trace's clock is that of its file.
    ours = list_stretches(database, (told[0][0], told[-1][1]))
    assert (ours[0][0], ours[-1][1]) == (told[0][0], told[-1][1])
    found = sum_agreement([(ts, ts_end, where) for ts, ts_end, where, _ in told], ours)
    agree = sum(time for what, time in found.items() if what in SAME)
    assert agree / sum(found.values()) >= least, found.most_common()
