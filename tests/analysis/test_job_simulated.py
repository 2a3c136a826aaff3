"""Jobs with one thing wrong: who is named and why, and what is promised, against the simulator's own what-if."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_job import KINDS, job, told, verdict, wrong


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_wrong_with_a_job_of_64_ranks_is_told(kind):
    said = verdict(wrong(kind, 64, seed=5))
    assert (said.who, said.why, said.pattern) == (True, True, True), said.said


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "host"])
def test_what_is_wrong_with_a_job_of_8_ranks_is_told(kind):
    said = verdict(wrong(kind, 8, seed=3))
    assert (said.who, said.why, said.pattern) == (True, True, True), said.said


def test_promises_are_kept():
    cases = [wrong(kind, 16, seed=7) for kind in ("rank", "stage", "expert", "hiccups", "two", "pipeline")]
    assert np.median([abs(verdict(case).error) for case in cases]) < 0.1


@pytest.mark.parametrize("layout", ["groups", "pipeline"])
def test_the_replay_lasts_as_long_as_the_simulated_job(layout):
    made = job(16, 6, layout, seed=1)
    said = told(made)
    assert said["replay_error"] < 0.001
    # counted from the first arrival at a collective on
    assert said["dur"] == pytest.approx(made.lasts(), abs=3e6)
