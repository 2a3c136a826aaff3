"""Both formats show what happened: traceq reads back the same work and books it as the truth does."""

from __future__ import annotations

import pytest
from simulator import PAIRS, SCENES, Step, simulate, truth, write_kineto, write_nsys

import traceq

WRITERS = {"nsys": (write_nsys, "sqlite"), "kineto": (write_kineto, "json")}
# A sample of the pairs; all of them take minutes.
NAMES = [name for name in SCENES if name not in PAIRS] + list(PAIRS)[::16]

# A cause's time may differ from the truth by this much, in all other parts nothing may.
SHARE, NANOSECONDS = 0.01, 1000
WORK = "select device, stream, correlation_id, ts, dur from gpu_slice where trace_id = $t order by all"
LEDGER = "select device, step, category, dur from time_ledger where trace_id = $t and dur > 0"
STEPS = "select name, ts, ts + dur from step where trace_id = $t order by ts"


def read_trace(db, trace_id):
    """Return work, steps and ledger that traceq has of a trace."""
    work, marks, ledger = (db.sql(query, {"t": trace_id}).fetchall() for query in (WORK, STEPS, LEDGER))
    return work, [Step(*one) for one in marks], {tuple(key): ns for *key, ns in ledger}


def list_happened(told):
    return sorted(
        (
            one.device,
            one.started.item.action.stream.number,
            one.started.correlation,
            one.ts,
            one.ts_end - one.ts,
        )
        for one in told.busy
    )


def list_differences(ledger, told):
    """List parts of the ledger that differ from the truth."""
    causes = {key: ns for key, ns in told.causes().items() if key[1] is not None}
    busy = {key: ns for key, ns in told.ledger().items() if key[2] != "idle"}
    for key in sorted(ledger.keys() | causes.keys() | busy.keys(), key=str):
        found, expected = ledger.get(key, 0), (causes | busy).get(key, 0)
        allowed = max(NANOSECONDS, SHARE * expected) if key[2].startswith("idle") else 0
        if abs(found - expected) > allowed:
            yield key, found, expected
    for (device, step, category), idle in told.ledger().items():
        found = sum(ns for key, ns in ledger.items() if key[:2] == (device, step) and key[2].startswith("idle"))
        if category == "idle" and found != idle:
            yield (device, step, category), found, idle


@pytest.mark.sample(72)
@pytest.mark.parametrize("trace_format", WRITERS)
@pytest.mark.parametrize("name", NAMES)
def test_traces_hold_the_run_and_the_ledger_is_the_truth(name, trace_format, ingested):
    run = simulate(SCENES[name]())
    for rank in {run.ranks[0], run.ranks[-1]}:
        with traceq.open(ingested(name, trace_format, rank)) as db:
            assert db.sql("select code from import_note where severity <> 'info'").fetchall() == []
            work, marks, ledger = read_trace(db, 1)
        told = truth(run, trace_format, rank)
        if name == "unmarked":
            told = truth(run, trace_format, rank, marks)
        assert work == list_happened(told)
        assert marks == list(told.steps)
        assert list(list_differences(ledger, told)) == []


@pytest.mark.parametrize("trace_format", WRITERS)
def test_an_item_each_step_is_what_drained_the_queue(trace_format, ingested):
    query = "select step, c.name from idle_gap as g join cpu_slice as c on c.slice_id = g.drained_by order by step"
    with traceq.open(ingested("item_each_step", trace_format)) as db:
        found = db.sql(query).fetchall()
        steps = [step for (step,) in db.sql("select step from step order by step").fetchall()]
    assert [step for step, _ in found] == steps
    assert {name for _, name in found} == {"cudaStreamSynchronize"}


def test_a_loader_behind_a_full_queue_costs_nothing(ingested):
    with traceq.open(ingested("hidden_loader", "kineto")) as db:
        fetching = db.sql("select sum(dur) from host_ledger where category = 'data'").fetchall()
        idle = db.sql("select coalesce(sum(dur), 0) from time_ledger where category = 'idle_data'").fetchall()
    assert fetching[0][0] > 0
    assert idle == [(0,)]
