"""Threads that lose their core: found in both formats, with what it really costs."""

from __future__ import annotations

import pytest
from simulator import SCENES, simulate, steps, write_kineto, write_nsys

from traceq.database.connect import connect
from traceq.diagnosis.judge import judge
from traceq.loading.ingest import ingest

WRITERS = {"nsys": (".sqlite", write_nsys), "kineto": (".json", write_kineto)}


def measure_gain(scene):
    """What the steps lose to it on average, measured by giving every thread a core."""
    before, after = (steps(simulate(SCENES[scene](), without=without).of(0)) for without in ([], ["host_preempted"]))
    return (sum(one.dur for one in before) - sum(one.dur for one in after)) / len(before)


def find_findings(scene, how, folder, rank=0):
    suffix, write = WRITERS[how]
    write(simulate(SCENES[scene]()), folder / f"t{suffix}", rank)
    ingest([folder / f"t{suffix}"], folder / "t.duckdb")
    with connect(folder / "t.duckdb") as connection:
        return judge(connection)[0].findings


@pytest.mark.sample(2)
@pytest.mark.parametrize("how", WRITERS)
def test_on_one_rank_the_saving_is_what_cores_win(how, tmp_path):
    first = find_findings("frozen_host", how, tmp_path)[0]
    assert first.rule == "host-preempted"
    assert first.saving_ns == pytest.approx(measure_gain("frozen_host"), rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 2])
def test_of_a_job_all_of_it_is_won_when_every_rank_has_cores(rank, tmp_path):
    """What is likely is this rank's part, the others' waiting is within the bounds."""
    first = find_findings("frozen_ranks", "kineto", tmp_path, rank)[0]
    assert first.rule == "host-preempted"
    assert first.saving_low_ns < first.saving_ns < measure_gain("frozen_ranks")
    assert first.saving_high_ns == pytest.approx(measure_gain("frozen_ranks"), rel=0.05)
