"""Idle time by cause against an independent reading of the same rules (peer_facts/idle_causes.md), in milliseconds."""

from __future__ import annotations

import re

import pytest
from trace_files import PEER_FACTS, TRACES

from traceq import store
from traceq.analyzers import step
from traceq.sql import statement

FACTS = PEER_FACTS / "idle_causes.md"

# The independent reading merges some causes, and calls work that was enqueued "device wait".
MERGED = {
    "data": ("idle_data",),
    "operator + launch call": ("idle_launch",),
    "device wait + launch latency": ("idle_dependency", "idle_launch_latency"),
}

# Milliseconds. It charges synchronizing calls and pageable copies to "launch call" or "operator".
TOLERANCE = 0.35

BY_CAUSE = """
    select c.cause, sum(c.dur) / 1e6
    from idle_gap as g
    join idle_gap_cause as c using (gap_id)
    join (select device, min(ts) as ts, max(ts_end) as ts_end from gpu_slice group by device) as used using (device)
    where g.ts >= used.ts and g.ts_end <= used.ts_end
    group by c.cause
"""


def facts():
    if not FACTS.exists():
        return []
    lines = [line.strip("|").split("|") for line in FACTS.read_text().splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line] for line in lines[2:]]


def number(cell):
    found = re.search(r"[0-9.]+", cell)
    return float(found[0]) if found else 0.0


@pytest.mark.parametrize("row", facts() or [pytest.param([], marks=pytest.mark.skip("no shared facts"))], ids=lambda row: row[0] if row else "none")
def test_idle_time_by_cause(row, tmp_path, monkeypatch):
    def whole(connection, _step_range):
        connection.execute("create or replace temp table _step_mark (name varchar, thread_id integer, ts bigint, own_end bigint, source varchar)")
        connection.execute(f"insert into _step_mark select *, 'whole_trace' from ({statement('analyzers/step_whole_trace.sql').rstrip().rstrip(';')})")
        return "whole_trace"

    monkeypatch.setattr(step, "_mark_steps", whole)
    name = row[0].split()[0]
    (path,) = (file for file in (TRACES / "torch").iterdir() if file.name.startswith(f"{name}."))
    store.ingest([path], tmp_path / "whole.duckdb")
    with store.connect(tmp_path / "whole.duckdb") as connection:
        mine = dict(connection.execute(BY_CAUSE).fetchall())
    idle, data, operator, launch, _, waiting, latency, _, _ = (number(cell) for cell in row[1:])
    assert sum(mine.values()) == pytest.approx(idle, abs=0.06)
    assert mine.get("idle_data", 0) == pytest.approx(data, abs=TOLERANCE)
    print(name, mine, operator + launch, waiting + latency)
