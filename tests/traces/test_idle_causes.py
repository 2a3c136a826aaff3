"""Idle time by cause against an independent reading of the same rules (peer_facts/idle_causes.md), in milliseconds."""

from __future__ import annotations

import re
from contextlib import closing

import pytest
from tables import filled
from trace_files import PEER_FACTS, TRACES

from traceq import importers
from traceq.analysis.steps import step
from traceq.analysis.steps.level import StepLevel, StepMark

FACTS = PEER_FACTS / "idle_causes.md"

# What the independent reading calls operator, launch call, python and allocation: it merges some causes, and charges
# synchronizing calls and pageable copies to "launch call" or "operator".
HOST = (
    "idle_launch",
    "idle_python",
    "idle_sync",
    "idle_allocation",
    "idle_compile",
    "idle_os",
    "idle_profiler",
)

# What it calls device wait and launch latency.
DEVICE = ("idle_dependency", "idle_launch_latency")

TOLERANCE = 0.35

# traceq's own figure, ms, where the two differ and why; to be met within 0.1.
KNOWN_DIFFERENCES = {
    ("hta_trace_diff_control", "data"): (1.36, "annotations `## load_batch ##` count as data; it read them as Python"),
    ("hta_sampled_rank0", "data"): (3.81, "annotations `## data_load ##` count as data; it read them as Python"),
}

BY_CAUSE = """
    select c.cause, sum(c.dur) / 1e6
    from idle_gap as g
    join idle_gap_cause as c using (gap_id)
    join (select device, min(ts) as ts, max(ts_end) as ts_end from gpu_slice group by device) as used using (device)
    where g.ts >= used.ts and g.ts_end <= used.ts_end
    group by c.cause
"""


def load_facts():
    if not FACTS.exists():
        return []
    lines = [line.strip("|").split("|") for line in FACTS.read_text().splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line] for line in lines[2:]]


def number(cell):
    found = re.search(r"[0-9.]+", cell)
    return float(found[0]) if found else 0.0


# The facts are about all of a trace.
EXTENT = """
    select min(ts), max(ts_end)
    from (
        select ts, ts_end from cpu_slice where kind <> 'other' or dur > 0
        union all
        select ts, ts + dur from staging.gpu_slice
    )
"""


@pytest.mark.sample(16)
@pytest.mark.parametrize(
    "row",
    load_facts() or [pytest.param([], marks=pytest.mark.skip("no shared facts"))],
    ids=lambda row: row[0] if row else "none",
)
def test_idle_time_by_cause(row, monkeypatch):
    def everything(connection, *_rest):
        ((ts, ts_end),) = connection.execute(EXTENT).fetchall()
        return StepLevel("window", "window", [StepMark("window", None, ts, ts_end)], "")

    monkeypatch.setattr(step, "_choose_level", everything)
    name = row[0].split()[0]
    (path,) = (file for file in (TRACES / "torch").iterdir() if file.name.startswith(f"{name}."))
    with closing(filled(importers.find(path).read(path), "idle_gap")) as connection:
        mine = dict(connection.execute(BY_CAUSE).fetchall())
    idle, data, operator, launch, python, waiting, latency, allocation, _ = (number(cell) for cell in row[1:])
    assert sum(mine.values()) == pytest.approx(idle, abs=0.06)
    check_agreement(name, "data", mine.get("idle_data", 0), data, TOLERANCE)
    host = operator + launch + python + allocation
    check_agreement(name, "host", sum(mine.get(cause, 0) for cause in HOST), host, max(1, 0.03 * host))
    device = waiting + latency
    check_agreement(name, "device", sum(mine.get(cause, 0) for cause in DEVICE), device, max(1, 0.03 * device))


def check_agreement(name, what, found, independent, tolerance):
    expected, reason = KNOWN_DIFFERENCES.get((name, what), (None, ""))
    if expected is None:
        assert found == pytest.approx(independent, abs=tolerance), what
    else:
        assert found == pytest.approx(expected, abs=0.1), f"{what}: {reason}"
        assert found != pytest.approx(independent, abs=tolerance), f"{what} is no exception any more"
