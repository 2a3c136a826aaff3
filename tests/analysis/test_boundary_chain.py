"""What is around the launches before rounds: the same level by level and all at once, also of slices that do not nest."""

from __future__ import annotations

import random
from types import SimpleNamespace

import duckdb
import numpy as np
import pytest

from traceq.analysis.steps import rounds
from traceq.database.sql import run

# slice_id, parent_id, kind, ts, ts_end, depth: a launch in four slices, of which the outermost ends after the next launch at 40.
NESTED = [
    (1, None, "op", 0, 60, 0),
    (2, 1, "python", 5, 30, 1),
    (3, 2, "op", 5, 30, 2),
    (4, 3, "annotation", 6, 25, 3),
    (5, 4, "runtime", 10, 12, 4),
    (6, 1, "runtime", 40, 42, 1),
]


def connect(slices):
    connection = duckdb.connect()
    connection.execute(
        "create table cpu_slice ("
        "slice_id bigint, parent_id bigint, kind varchar, ts bigint, ts_end bigint, depth integer, thread_id integer, dur bigint)"
    )
    connection.execute("create schema staging")
    connection.execute("create table staging.gpu_slice (ts bigint)")
    connection.executemany("insert into cpu_slice values (?, ?, ?, ?, ?, ?, 1, 0)", slices)
    return connection


def around(slices, calls):
    """When the host starts the rounds after each of these calls, and the rows in _around."""
    connection = connect(slices)
    calls = np.array(calls)
    launches = SimpleNamespace(ts=calls, settled=calls + 1, thread_id=np.ones(len(calls), dtype=np.int64))
    starts = rounds._host_starts(connection, launches, [*range(len(calls)), len(calls)])
    rows = "select round, parent_id, kind, ts_end, depth from _around order by all"
    return starts, connection.execute(rows).fetchall()


def test_a_round_starts_after_what_ends_before_its_first_launch():
    starts, rows = around(NESTED, [10, 40])
    assert starts[1] == 30
    assert rows == [
        (1, 1, "python", 30, 1),
        (1, 2, "op", 30, 2),
        (1, 3, "annotation", 25, 3),
        (1, 4, "runtime", 12, 4),
        (2, 1, "runtime", 42, 1),
        (2, None, "op", 60, 0),
    ]


@pytest.mark.parametrize("level", [0, 1, 2])
def test_all_around_a_level_is_found_at_once(level):
    connection = connect(NESTED)
    run(connection, "analysis/steps/boundary.sql", threads=[1], launched=[10], settled=[12], until=[40])
    for inner in range(level):
        run(connection, "analysis/steps/boundary_around.sql", level=inner)
    run(connection, "analysis/steps/boundary_chain.sql", level=level)
    rows = connection.execute("select level, depth, ts_end from _around order by depth desc").fetchall()
    ends = [(4, 12), (3, 25), (2, 30), (1, 30)]
    levels = [*range(level + 1), *[None] * (2 - level), level + 1]
    assert rows == [(number, *end) for number, end in zip(levels, ends, strict=True)]


def build_slices(seed):
    """Slices at random in each other, some of which end after what is around them, and the times of calls."""
    chance = random.Random(seed)  # noqa: S311
    slices, calls, open_ = [], [], []
    for ts in range(0, 400, 2):
        open_ = [each for each in open_ if each[4] > ts]
        is_call = chance.random() < 0.2
        end = ts + 1 if is_call else ts + chance.randint(1, 120)
        if open_ and chance.random() < 0.9:
            end = min(end, open_[-1][4])
        row = (
            len(slices) + 1,
            open_[-1][0] if open_ else None,
            "runtime" if is_call else chance.choice(["op", "python", "annotation"]),
            ts,
            end,
            len(open_),
        )
        slices.append(row)
        open_.append(row)
        if is_call:
            calls.append(ts)
    return slices, calls


@pytest.mark.parametrize("seed", range(8))
def test_the_same_is_found_level_by_level_and_at_once(monkeypatch, seed):
    slices, calls = build_slices(seed)
    by_level = around(slices, calls)
    monkeypatch.setattr(rounds, "_MANY_LEVELS", 1)
    assert around(slices, calls) == by_level
