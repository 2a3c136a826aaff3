"""By how much ranks work longer than the usual one before collectives, in the order of time."""

from __future__ import annotations

import pytest
from tables import empty_tables, insert

from traceq.database.query import ask
from traceq.database.sql import statement

US = 1000


def lateness(members, steps=()):
    """Rows of the query; `members` are (collective, rank, own time beyond the usual in us, None for the first of a rank)."""
    connection = empty_tables()
    connection.execute(
        "insert into job (job, time_window, ranks, short_ranks, steps, communication, mismatched, violations, claim_limit)"
        f" values (0, 0, 3, 0, 1, 0, 0, 0, {20 * US})"
    )
    ranks = sorted({rank for _, rank, _ in members})
    columns = "job time_window unit trace_id rank rank_source clock_samples"
    insert(connection, "job_rank", columns, [(0, 0, rank, rank + 1, rank, "trace", 0) for rank in ranks])
    for match in sorted({match for match, _, _ in members}):
        step = steps[match] if steps else None
        connection.execute(
            "insert into collective_match (job, time_window, match_id, op, members, match_source, step, ts_end, transfer)"
            " values (0, 0, $match, 'send_recv', $members, 'sequence', $step, $match, 1000)",
            {"match": match, "members": len(ranks), "step": step},
        )
    columns = "job time_window trace_id slice_id unit match_id wait own_begins own usual on_path"
    for number, (match, rank, beyond) in enumerate(members):
        own = None if beyond is None else (match, (100 + beyond) * US, 100 * US)
        insert(
            connection,
            "collective_member",
            columns,
            # Who arrives last waits for nobody: of a pipeline that tells nothing.
            [(0, 0, rank + 1, number, rank, match, rank * 1000 * US, *(own or (None, 900 * US, 100 * US)), False)],
        )
    found = ask(connection, statement("reports/sql/job_lateness.sql"), job=0, time_window=0)
    return [(row["rank"], row["place"], row["places"], row["is_step"], row["late_by"] // US) for row in found]


@pytest.mark.parametrize(
    ("members", "steps", "rows"),
    [
        # The first of a rank has no work before it; what is less than the claim limit is not late.
        ([(0, 0, None), (0, 1, None), (1, 0, 0), (1, 1, 50), (2, 0, 19), (2, 1, -60)], (), [(1, 1, 3, False, 50)]),
        # Of several steps a column each, which adds up.
        ([(0, 1, 30), (1, 1, 50), (2, 1, 40)], (0, 0, 1), [(1, 0, 2, True, 80), (1, 1, 2, True, 40)]),
        ([(0, 0, 0), (1, 0, 5)], (), []),
    ],
)
def test_who_works_longer_than_usual(members, steps, rows):
    assert lateness(members, steps) == rows


def test_many_columns_are_joined():
    assert lateness([(match, 0, 50) for match in range(240)])[:2] == [(0, 0, 120, False, 100), (0, 1, 120, False, 100)]
