"""The steps of real marked traces without their marks: at the same places, or traceq says that it finds none.

Traces with one step are left out: what is captured once does not recur. With TRACEQ_RANDOM_TRACES set all traces, else a few.
"""

from __future__ import annotations

import os

import pytest
from trace_files import NSYS, TORCH, parametrize_paths, strip_container
from transformations import after, analyzed, started_later, without_annotations

from traceq import importers

SMALL = ("sidnb13_h100_transformer.pt.trace", "hta_cpu_only_rank34")
CHOSEN = [path for path in [*NSYS, *TORCH] if "TRACEQ_RANDOM_TRACES" in os.environ or strip_container(path) in SMALL]
# The launches of their two steps differ.
SAMPLED = ("hta_sampled_rank0", "hta_sampled_rank1")

MARKED = ("mark", "profiler_step", "annotation")
START_UP = 60 * 10**9
# Of a step.
NEAR = 0.01

STEPS = """
    select s.ts, min_by(g.slice_id, (c.ts, g.ts)) as first_slice_id, s.excluded is null as counts
    from step as s
    left join gpu_slice as g using (step)
    left join cpu_slice as c on c.slice_id = g.launch_id
    group by s.step, s.ts, s.excluded
    order by s.step
"""
# Where the capture starts in the loop nothing but its start bounds the first step.
LEDGER = """
    select device, step, category, l.dur
    from time_ledger as l join step using (step)
    where excluded is null and step > (select min(step) from step)
    order by all
"""


def read(path, *changes):
    (importer,) = (one for one in importers.IMPORTERS if one.sniff(path))
    change = changes[0] if len(changes) == 1 else after(*changes)
    return analyzed(importer, path, change)


def find_source(database):
    return database.execute("select any_value(source) from step").fetchone()[0]


@parametrize_paths(CHOSEN)
def test_steps_are_where_the_marks_were(path):
    (importer,) = (one for one in importers.IMPORTERS if one.sniff(path))
    marked = analyzed(importer, path)
    marks = marked.execute(STEPS).fetchall()
    counted = sum(counts for _, _, counts in marks)
    if find_source(marked) not in MARKED or counted < 2:
        pytest.skip("no marks of several steps in this file")
    bare = read(path, without_annotations())
    if strip_container(path) in SAMPLED:
        assert find_source(bare) == "window"
        return
    assert find_source(bare) == "recurrence"
    steps = [(ts, first) for ts, first, counts in bare.execute(STEPS).fetchall() if counts]
    assert abs(len(steps) - counted) <= 1
    near = NEAR * (marks[-1][0] - marks[0][0]) / (len(marks) - 1)
    # the same launches, or the same time
    for ts, first in steps:
        assert any(first == own or abs(ts - mark) <= near for mark, own, _ in marks)


@parametrize_paths(CHOSEN)
def test_a_long_start_up_changes_no_share_of_the_window(path):
    plain, later = read(path, without_annotations()), read(path, without_annotations(), started_later(START_UP))
    assert later.execute(LEDGER).fetchall() == plain.execute(LEDGER).fetchall()
