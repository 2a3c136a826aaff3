"""The table of late ranks of a job that falls into parts."""

from __future__ import annotations

from msgspec.structs import replace
from test_job_axis_table import JOB, MS, lines_of

from traceq.reports.model import LatePart
from traceq.reports.sections.job_parts import list_late_parts

PARTS = (
    LatePart((4, 5, 6, 7), (5, 6), (8 * MS, 4 * MS), 12 * MS),
    LatePart((0, 1, 2, 3), (1,), (6 * MS,), 6 * MS),
)


def test_a_line_a_part():
    lines = lines_of(list_late_parts(replace(JOB, late_parts=PARTS, steps=2)))
    assert lines[0] == "No process group connects these parts of the job: what the late ranks of each cost it together."
    assert [line.rstrip() for line in lines[-2:]] == [
        "ranks 4-7  ranks 5-6       6.000 ms  5: 4.000 ms, 6: 2.000 ms",
        "ranks 0-3  rank 1          3.000 ms  1: 3.000 ms",
    ]


def test_of_many_parts_and_ranks_the_first_are_listed():
    late = tuple(range(6))
    part = LatePart(late, late, (MS,) * 6, 6 * MS)
    lines = lines_of(list_late_parts(replace(JOB, late_parts=(part,) * 18, steps=1)))
    assert lines[-1] == "2 more parts with late ranks."
    assert sum(line.rstrip().endswith("3: 1.000 ms, ...") for line in lines) == 16


def test_nothing_of_a_job_in_one_part():
    assert list(list_late_parts(JOB)) == []
