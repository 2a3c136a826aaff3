"""Whole simulated training runs through the real ingest: of one program, and of one whose kernels got slower."""

from __future__ import annotations

import sys
from contextlib import closing
from itertools import combinations
from pathlib import Path

import pytest
from msgspec.structs import replace

from traceq.runs.compare.compare import compare

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "fixtures" / "make"))

LOOP = {"steps": 30, "layers": 3, "kernel": 150_000}


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """simulated(seed, share): the run of a loop whose kernels take so much longer than usual."""
    from simulator import Process, Program, simulate, write_kineto
    from simulator.loop import Loop

    from traceq.database.connect import connect
    from traceq.loading.ingest import ingest
    from traceq.runs.read import read_runs

    folder = tmp_path_factory.mktemp("loops")

    def run(seed, share=0.0):
        name = f"{seed}-{share}"
        kernel = round(LOOP["kernel"] * (1 + share))
        loop = Loop(seed=seed, **LOOP | {"kernel": kernel})
        write_kineto(simulate(Program((Process(loop.actions()),))), folder / f"{name}.json", 0)
        database = ingest([folder / f"{name}.json"], folder / f"{name}.duckdb").database
        with closing(connect(database)) as connection:
            (found,) = read_runs(connection, name).values()
        return replace(found, source=name)

    return run


@pytest.mark.slow
def test_a_slower_kernel_is_found_and_one_program_is_like_itself(simulated):
    same = [simulated(seed) for seed in (1, 2, 3)]
    for base, new in combinations(same, 2):
        found = compare([base], [new])
        assert found.verdict == "no change", found.reasons
        assert sum(cause.delta_ns for cause in found.causes) == found.change.delta_ns
    slower = simulated(4, 0.03)
    found = compare(same[:1], [slower])
    assert found.verdict == "regression", found.reasons
    assert found.causes[0].category == "compute"
    # The step is mostly kernels, of which all got slower.
    assert found.change.share == pytest.approx(0.027, abs=0.01)
    assert found.causes[0].interval_ns[0] > 0
    back = compare([slower], same)
    assert back.verdict == "improvement"
