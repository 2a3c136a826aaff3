"""Both formats show what happened: traceq reads back the same work and books it as the truth does."""

from __future__ import annotations

import pytest
from simulator import PAIRS, SCENES, Step, simulate, truth, write_kineto, write_nsys

import traceq

WRITERS = {"nsys": (write_nsys, "sqlite"), "kineto": (write_kineto, "json")}
# A sample of the pairs; all of them take minutes.
NAMES = [name for name in SCENES if name not in PAIRS] + list(PAIRS)[::16]
GROUPS = [NAMES[number::4] for number in range(4)]

# A cause's time may differ from the truth by this much, in all other parts nothing may.
SHARE, NANOSECONDS = 0.01, 1000
WORK = "select device, stream, correlation_id, ts, dur from gpu_slice where trace_id = $t order by all"
LEDGER = "select device, step, category, dur from time_ledger where trace_id = $t and dur > 0"
STEPS = "select name, ts, ts + dur from step where trace_id = $t order by ts"


def written(folder, names):
    """Path -> the run, format and rank in it."""
    files = {}
    for name in names:
        run = simulate(SCENES[name]())
        for rank in {run.ranks[0], run.ranks[-1]}:
            for trace_format, (write, suffix) in WRITERS.items():
                path = folder / f"{name}.{rank}.{suffix}"
                write(run, path, rank)
                files[str(path)] = run, trace_format, rank
    return files


def seen(db, trace_id):
    """What traceq has of a trace: work, steps, ledger."""
    work, marks, ledger = (db.sql(query, {"t": trace_id}).fetchall() for query in (WORK, STEPS, LEDGER))
    return work, [Step(*one) for one in marks], {tuple(key): ns for *key, ns in ledger}


def happened(told):
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


def differences(ledger, told):
    """Parts of the ledger that are not as the truth has them."""
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


@pytest.mark.parametrize("names", GROUPS, ids=lambda names: names[0])
def test_traces_hold_the_run_and_the_ledger_is_the_truth(tmp_path, names):
    files = written(tmp_path, names)
    traceq.ingest(list(files), tmp_path / "all.duckdb")
    wrong = []
    with traceq.open(tmp_path / "all.duckdb") as db:
        assert db.sql("select code from import_note where severity <> 'info'").fetchall() == []
        for trace_id, path in db.sql("select trace_id, path from trace").fetchall():
            run, trace_format, rank = files.pop(path)
            work, marks, ledger = seen(db, trace_id)
            told = truth(run, trace_format, rank)
            if "unmarked" in path:
                told = truth(run, trace_format, rank, marks)
            wrong += [(path, "work")] if work != happened(told) else []
            wrong += [(path, "steps")] if marks != list(told.steps) else []
            wrong += [(path, *difference) for difference in differences(ledger, told)]
    assert wrong == []
    assert files == {}


@pytest.mark.parametrize("trace_format", WRITERS)
def test_an_item_each_step_is_what_drained_the_queue(tmp_path, trace_format):
    write, suffix = WRITERS[trace_format]
    run = simulate(SCENES["item_each_step"]())
    write(run, tmp_path / f"item.{suffix}", run.ranks[0])
    traceq.ingest([tmp_path / f"item.{suffix}"], tmp_path / "item.duckdb")
    query = "select step, c.name from idle_gap as g join cpu_slice as c on c.slice_id = g.drained_by order by step"
    with traceq.open(tmp_path / "item.duckdb") as db:
        found = db.sql(query).fetchall()
        steps = [step for (step,) in db.sql("select step from step order by step").fetchall()]
    assert [step for step, _ in found] == steps
    assert {name for _, name in found} == {"cudaStreamSynchronize"}


def test_a_loader_behind_a_full_queue_costs_nothing(tmp_path):
    run = simulate(SCENES["hidden_loader"]())
    write_kineto(run, tmp_path / "hidden.json", run.ranks[0])
    traceq.ingest([tmp_path / "hidden.json"], tmp_path / "hidden.duckdb")
    with traceq.open(tmp_path / "hidden.duckdb") as db:
        fetching = db.sql("select sum(dur) from host_ledger where category = 'data'").fetchall()
        idle = db.sql("select coalesce(sum(dur), 0) from time_ledger where category = 'idle_data'").fetchall()
    assert fetching[0][0] > 0
    assert idle == [(0,)]
