"""What must not change the steps of a simulated program: more of the same, or a long start-up before it."""

from __future__ import annotations

import pytest
from simulator.kinds import KINDS
from transformations import after, started_later, without_annotations
from unit_programs import WRITERS, fill_unit_tables, find_unit, judge_unit, list_boundaries, make_program

SEEDS = 1
START_UP = 60 * 10**9

UNIT = "select source, launches, period from unit where is_step"
LEDGER = """
    select device, step, category, l.dur from time_ledger as l join step using (step) where excluded is null order by all
"""
RECURRING = [kind for kind in KINDS if kind not in ("serving", "nothing recurs", "one step")]


@pytest.mark.slow
def test_a_capture_twice_as_long_has_the_same_unit(tmp_path):
    said = {}
    for number, kind in enumerate(RECURRING):
        for seed in range(SEEDS):
            trace_format = list(WRITERS)[(number + seed) % 2]
            several = [make_program(kind, seed, trace_format, tmp_path, times) for times in (1, 2)]
            databases = [fill_unit_tables(one.path, change=without_annotations()) for one in several]
            verdicts = [
                judge_unit(find_unit(database), one.known, list_boundaries(one.known, one.run))
                for database, one in zip(databases, several, strict=True)
            ]
            if "abstained" in verdicts:
                continue
            assert verdicts == ["right", "right"], (kind, seed)
            said[kind, seed] = [database.execute(UNIT).fetchone() for database in databases]
    assert len(said) >= 0.9 * SEEDS * len(RECURRING)
    for key, ((source, launches, period), (again, launches_again, period_again)) in said.items():
        assert (again, launches_again) == (source, launches), key
        assert period_again == pytest.approx(period, rel=0.05), key


@pytest.mark.sample(4)
@pytest.mark.parametrize("kind", RECURRING[::3])
def test_a_long_start_up_changes_no_share_of_the_window(kind, tmp_path):
    path = make_program(kind, 1, "kineto", tmp_path).path
    bare = without_annotations()
    changes = bare, after(bare, started_later(START_UP))
    ours, theirs = (fill_unit_tables(path, "time_ledger", change=change) for change in changes)
    ledger = ours.execute(LEDGER).fetchall()
    assert ledger
    assert theirs.execute(LEDGER).fetchall() == ledger
    (start_up,) = theirs.execute("select sum(dur) from phase_of_run where phase = 'start_up'").fetchone()
    assert start_up >= 0.99 * START_UP
