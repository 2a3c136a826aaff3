"""Identities, and what must not change, on random traces: made-up slices, and simulated training loops in both formats.

Many small traces are one after the other in each file, because most of what a tiny trace costs is the ingest itself. With
TRACEQ_RANDOM_TRACES=3000 in the environment there are so many of each kind instead of a few hundred.
"""

from __future__ import annotations

import os

import pytest
from random_loops import draw_program
from random_slices import FLAVOURS, Worlds
from simulator import Step, simulate, truth
from test_traces import LEDGER, STEPS, WORK, WRITERS, list_happened
from test_traces import list_differences as beside_the_truth
from transformations import (
    SLICES,
    UNIONS,
    after,
    analyzed,
    broken,
    cut_on_device,
    cut_on_host,
    differences,
    host_cuts,
    moved,
    said,
    scaled,
    shifted,
)

from traceq import importers

TRACES = int(os.environ.get("TRACEQ_RANDOM_TRACES", "0"))
WORLDS, LOOPS = 100, 50
WORLD_SEEDS = range(TRACES // WORLDS or len(FLAVOURS))
LOOP_SEEDS = range(TRACES // LOOPS // len(WRITERS) or 1)
LATER = 10**15


def assert_invariant(importer, path, *, nests=True):
    """A connection to the database of a trace for which everything holds that must hold for any."""
    plain = analyzed(importer, path)
    assert broken(plain) == []
    # whether a slice that outlasts the one around it is cut depends on whether it is by more than a rounding error of 1 us
    factor = 2 if nests else 1
    other = analyzed(importer, path, after(scaled(factor), shifted(LATER)))
    assert differences(said(other, UNIONS | SLICES), moved(said(plain, UNIONS | SLICES), factor, LATER)) == []
    cut = cut_on_host(host_cuts(plain) if nests else {})
    other = analyzed(importer, path, after(cut_on_device, cut))
    assert broken(other) == []
    assert differences(said(other, UNIONS), said(plain, UNIONS)) == []
    return plain


@pytest.mark.sample(4)
@pytest.mark.parametrize("seed", WORLD_SEEDS)
def test_made_up_traces(seed):
    worlds = Worlds(seed, WORLDS)
    plain = assert_invariant(worlds.trace, None, nests=worlds.flavour != "crooked")
    assert plain.execute("select count(*) from cpu_slice").fetchone() > (5 * WORLDS,)
    assert (worlds.flavour == "no device") == (plain.execute("select 1 from idle_gap limit 1").fetchone() is None)


@pytest.mark.slow
@pytest.mark.parametrize("trace_format", WRITERS)
@pytest.mark.parametrize("seed", LOOP_SEEDS)
def test_simulated_loops(seed, trace_format, tmp_path):
    run = simulate(draw_program(seed, LOOPS))
    write, suffix = WRITERS[trace_format]
    path = tmp_path / f"loops.{suffix}"
    write(run, path, 0)
    (importer,) = (one for one in importers.IMPORTERS if one.sniff(path))
    plain = assert_invariant(importer, path)
    work, marks, ledger = (plain.execute(query, {"t": 1}).fetchall() for query in (WORK, STEPS, LEDGER))
    told = truth(run, trace_format)
    assert work == list_happened(told)
    assert [Step(*one) for one in marks] == list(told.steps)
    # where one thread waits for another one, traceq says in what it waits and the truth what for: docs/decisions/0009
    if len(run.processes[0].threads) == 1:
        assert list(beside_the_truth({tuple(key): ns for *key, ns in ledger}, told)) == []
