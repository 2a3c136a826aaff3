"""One series from the simulator through the real ingest: kernels grow with the batch, the host takes the same each step."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hand_made import MS

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "make"
BATCHES = (8, 32, 128)
PER_SAMPLE = 4_000  # ns of each kernel
KERNELS = 11  # of a step
IDLE = 3 * MS
sys.path.insert(0, str(FIXTURES))


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    from contextlib import closing

    from simulator import Program, simulate, write_kineto
    from simulator.loop import Loop
    from simulator.program import Process

    from traceq.database.connect import connect
    from traceq.loading.ingest import ingest
    from traceq.runs.read import read_runs
    from traceq.runs.trials.study_tradeoff import study_tradeoff
    from traceq.runs.trials.tradeoff import Taken, TradeoffTerms

    folder = tmp_path_factory.mktemp("series")
    taken = []
    for batch in BATCHES:
        loop = Loop(steps=5, layers=3, kernel=PER_SAMPLE * batch, seed=batch, inject={"idle_python": IDLE})
        path = folder / f"b{batch}.json"
        write_kineto(simulate(Program((Process(loop.actions()),))), path, 0)
        database = ingest([str(path)], folder / f"b{batch}.duckdb").database
        with closing(connect(str(database))) as connection:
            taken += [Taken(float(batch), run) for run in read_runs(connection, path.name).values()]
    return study_tradeoff(taken, TradeoffTerms("batch_size", is_amount=True, work="batch_size"))


@pytest.mark.slow
def test_the_cost_curve_is_what_was_simulated(found):
    curve = found.fit.curve
    assert curve.shape == "affine"
    assert curve.per_unit_ns == pytest.approx(KERNELS * PER_SAMPLE, rel=0.05)
    # The simulator varies it by a tenth; besides it there are copies, launches and the reading of the loss.
    assert 0.9 * IDLE < curve.fixed_ns < 1.3 * IDLE
    assert found.fit.left_out_error < 0.05
    assert found.knee.value == pytest.approx(curve.fixed_ns / curve.per_unit_ns)


@pytest.mark.slow
def test_parts_grow_as_they_were_simulated(found):
    growth = {part.category: part.growth for part in found.parts}
    assert growth["compute"] == "proportional"
    assert growth["idle_python"] == "constant"
    assert found.limit.category == "idle_python"
    assert (found.choice.latency.value, found.choice.throughput.value) == (8, 128)
