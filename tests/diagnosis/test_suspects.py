"""Of a job of many ranks those that stand for the others are asked all rules; the others when somebody names them."""

from __future__ import annotations

import pytest
from tables import empty_tables, insert

from traceq.diagnosis.cache import fill, load_judgements

OWN = [100, 103, 900, 800, 102, 700, 101, 104]


def job(own, stragglers, *, dur=1000, ranks_of_trace=1):
    """Tables of a job: the own time of each rank, and the units of each straggler, the worst first."""
    connection = empty_tables()
    columns = "job time_window ranks short_ranks steps communication mismatched violations dur"
    connection.execute(
        f"insert into job ({', '.join(columns.split())}) values (0, 0, {len(own)}, 0, 1, 0, 0, 0, {dur or 'null'})"
    )
    traces = sorted({unit // ranks_of_trace + 1 for unit in range(len(own))})
    insert(
        connection,
        "trace",
        "trace_id rank path sha256 size_bytes format ts dur ingested_at",
        [
            (each, each - 1, f"rank{each}.json", str(each), 1, "kineto", 0, 1000, "2026-01-01 00:00:00")
            for each in traces
        ],
    )
    insert(
        connection,
        "job_rank",
        "job time_window unit trace_id rank rank_source clock_samples own",
        [(0, 0, unit, unit // ranks_of_trace + 1, unit, "trace", 0, ns) for unit, ns in enumerate(own)],
    )
    for place, units in enumerate(stragglers):
        connection.execute(
            "insert into straggler (job, time_window, place, kind, units, name, adds, win)"
            " values (0, 0, $place, 'rank', $units, 'some', 1, 1)",
            {"place": place, "units": units},
        )
    return connection


def suspects(connection):
    """The late units, then the usual one."""
    found = connection.execute("select unit, is_usual from job_suspect order by unit").fetchall()
    return [unit for unit, is_usual in found if not is_usual], [unit for unit, is_usual in found if is_usual]


@pytest.mark.parametrize(
    ("own", "stragglers", "late", "usual"),
    [
        (OWN, [], [], [7]),  # of eight the fifth in order of time
        ([100, 102, 101], [], [], [2]),
        (OWN, [[2], [3], [5]], [2, 3, 5], [4]),
        (OWN, [[2, 3], [5]], [2, 3, 5], [4]),
        # One of each before the second of any, and no more than four.
        ([*OWN, 101], [[2, 3, 5, 7], [0], [1]], [0, 1, 2, 3], [8]),
        ([100, 90, 80], [[0, 1, 2]], [0, 1, 2], [1]),
    ],
)
def test_who_stands_for_a_job(own, stragglers, late, usual):
    connection = job(own, stragglers)
    found = connection.execute("select unit, is_usual from job_suspect order by unit").fetchall()
    assert sorted(unit for unit, _ in found) == sorted({*late, *usual})
    assert [unit for unit, is_usual in found if is_usual] == usual


def test_nobody_stands_for_a_job_that_cannot_be_judged():
    connection = job(OWN, [], dur=None)
    assert suspects(connection) == ([], [])
    assert asked(connection) == [1, 2, 3, 4, 5, 6, 7, 8]


def asked(connection, traces=None):
    """The trace_ids that rules are asked about; those left out say so."""
    judged = load_judgements(connection, rules=[], traces=traces)
    return [subject.trace_id for subject, judge in judged if judge().asked]


def test_only_those_that_stand_for_the_others_are_asked():
    connection = job(OWN, [[2], [3], [5]])
    assert asked(connection) == [3, 4, 5, 6]
    assert [subject.trace_id for subject, _ in load_judgements(connection, rules=[])] == [1, 2, 3, 4, 5, 6, 7, 8]


def test_who_is_named_is_asked():
    assert asked(job(OWN, [[2], [3], [5]]), [1, 3]) == [1, 3]


def test_of_few_ranks_all_are_asked():
    assert asked(job(OWN[:4], [[2]])) == [1, 2, 3, 4]


def test_gpus_of_one_trace_are_one_subject():
    assert asked(job(OWN, [[2]], ranks_of_trace=8)) == [1]


def test_what_was_not_asked_is_not_cached(monkeypatch):
    saved = []
    monkeypatch.setattr("traceq.diagnosis.cache.save", lambda _, judgements, *_more: saved.extend(judgements))
    fill(job(OWN, [[2], [3], [5]]), rules=[])
    assert [each.trace_id for each in saved] == [3, 4, 5, 6]
