"""What recording cost a run, by what traceq.profile measured, where the steps without it can be trusted."""

from __future__ import annotations

import json

import pytest
from tables import empty_tables, insert, insert_row

from traceq.database.query import ask
from traceq.database.sql import statement

MS = 1_000_000
WORKERS = {"num_workers": 4, "prefetch_factor": 2}


@pytest.mark.parametrize(
    ("without", "within", "facts", "expected"),
    [
        pytest.param(100, 110, {}, (0.1, None), id="by the steps"),
        pytest.param(52, 152, {"cpu": (21, 26)}, (0.034, None), id="most of it is waiting for a loader"),
        pytest.param(100, 110, {"cpu": (50, 90)}, (0.1, None), id="what it does while it would wait costs nothing"),
        pytest.param(100, 80, {"cpu": (90, 70)}, (-0.2, None), id="shorter"),
        pytest.param(52, 152, {"cpu": (21, 26), "on_gpu": True}, (1.923, None), id="of a GPU CPU time is no bound"),
        pytest.param(52, 152, {"on_gpu": True, "loader": WORKERS}, (None, 8), id="fed from a full queue"),
        pytest.param(52, 152, {"on_gpu": True, "loader": {"num_workers": 4}}, (None, 8), id="two each by default"),
        pytest.param(100, 104, {"on_gpu": True, "loader": WORKERS}, (0.04, None), id="little at most"),
        pytest.param(52, 152, {"loader": WORKERS, "on_gpu": True, "steps": 32}, (1.923, None), id="far more steps"),
        pytest.param(52, 152, {"on_gpu": True, "loader": {"num_workers": 0}}, (1.923, None), id="no workers"),
        pytest.param(52, 152, {"loader": WORKERS}, (None, 8), id="CPU time not measured"),
        pytest.param(52, 152, {"cpu": (21, 26), "loader": WORKERS}, (0.034, None), id="CPU time and a queue"),
        pytest.param(52, 152, {"on_gpu": True, "loader": WORKERS, "steady": True}, (1.923, None), id="steady"),
        pytest.param(52, 52, {"on_gpu": True, "loader": WORKERS, "steady": False}, (None, 8), id="not steady"),
        pytest.param(52, 52, {"on_gpu": True, "steady": False}, (0.0, None), id="a loader that nothing is known of"),
    ],
)
def test_what_recording_cost(without, within, facts, expected):
    measured = {
        "overhead_share": within / without - 1,
        "unprofiled_step_ns": without * MS,
        "profiled_step_ns": within * MS,
        "unprofiled_steps": facts.get("steps", 3),
    }
    measured |= {"is_steady": facts["steady"]} if "steady" in facts else {}
    for name, ms in zip(("unprofiled_cpu_ns", "profiled_cpu_ns"), facts.get("cpu", ()), strict=False):
        measured[name] = ms * MS
    connection = empty_tables()
    file = {"path": "a.json", "sha256": "", "size_bytes": 0, "format": "chrome", "ingested_at": "2026-01-01"}
    insert_row(connection, "trace", args=json.dumps({"traceq": measured}), **file)
    if facts.get("on_gpu"):
        insert_row(connection, "time_ledger", device=0, step=0, category="compute", dur=1)
    loader = facts.get("loader", {}).items()
    insert(
        connection,
        "made_with",
        "topic instance name value is_knob",
        [("loader", 0, name, str(value), True) for name, value in loader],
    )
    (row,) = ask(connection, statement("database/trace.sql"))
    share = row["overhead_share"]
    assert (None if share is None else round(share, 3), row["loader_queue"]) == expected
