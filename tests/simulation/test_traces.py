"""Both formats show what happened: traceq reads back the same work and books it as the truth does."""

from __future__ import annotations

import pytest
from simulator import PAIRS, SCENES, Step, simulate, truth, write_kineto, write_nsys

import traceq

WRITERS = {"nsys": (write_nsys, "sqlite"), "kineto": (write_kineto, "json")}
NAMES = [name for name in SCENES if name not in PAIRS]
GROUPS = [NAMES[number::4] for number in range(4)]
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
            wrong += [(path, "ledger")] if ledger != told.ledger() else []
    assert wrong == []
    assert files == {}
