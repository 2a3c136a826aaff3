"""Memory in the real traces that record it."""

from __future__ import annotations

import pytest
from test_data_of_traces import query_database
from trace_files import every_trace

BROKEN = {
    "a sample that counts all of the device's memory has what is reserved at least": """
        select ts from memory_timeline where is_total and memory = 'device' and reserved < allocated
    """,
    "a step starts with what the one before left": """
        select a.step from memory_step as a join memory_step as b
            on b.step = a.step + 1 and b.memory = a.memory and b.device is not distinct from a.device
        where b.allocated_start is distinct from a.allocated_end
    """,
    "a peak is at least what there is at both ends": """
        select step from memory_step where peak < allocated_end or peak < allocated_start or peak > capacity
    """,
    "every call that allocates is counted once": """
        select 1 from (select coalesce(sum(calls), 0) as counted from allocator_call)
        where counted <> (
            select count(*) from cpu_slice as c where c.kind = 'runtime'
            and name in (select name from host_name where kind = 'runtime' and activity = 'allocation')
            and not exists (select 1 from cpu_slice as p where p.slice_id = c.parent_id and p.kind = 'runtime'
                and p.name in (select name from host_name where kind = 'runtime' and activity = 'allocation'))
        )
    """,
}


@every_trace
def test_identities(databases, path):
    database = databases(path)
    broken = {rule: database.execute(query).fetchall() for rule, query in BROKEN.items()}
    assert broken == {rule: [] for rule in BROKEN}


SUMMARY = """
    select memory, is_total, sum(samples), max(peak), max(peak_unused), max(reserved), max(capacity)
    from memory_step group by all order by memory
"""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "tracelens_h100_owlv2",
            [
                ("device", True, 12256, 2707847680, 892962304, 3600809984, 85018279936),
                ("host", True, 870, 152515072, None, None, None),
            ],
        ),
        (
            "sidnb13_h100_transformer",
            [
                ("device", True, 120, 94398464, 23042048, 117440512, 85045477376),
                ("host", True, 6, 8, None, None, None),
            ],
        ),
        # changes only
        (
            "kineto_resnet50_w0.v19",
            [
                ("device", False, 8220, 2791636480, None, None, 34084028416),
                ("host", False, 4617, 57803264, None, None, None),
            ],
        ),
        ("kineto_resnet50_w0.array", []),
    ],
)
def test_peaks(databases, name, expected):
    assert query_database(databases, name, SUMMARY) == expected
