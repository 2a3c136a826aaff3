"""Entries of flight recorders matched across ranks: tiny tables, and the places that are found."""

from __future__ import annotations

import duckdb
import pytest

from traceq.analysis.hang.matching import create_tables, match_recorded

STATES = {
    "finished": ("completed", True, 1),
    "waiting": ("started", False, None),
    "scheduled": ("scheduled", False, None),
    "failed": ("started", True, None),
}


@pytest.fixture
def connection():
    with duckdb.connect() as made:
        create_tables(made)
        yield made


def fill(
    connection, text: str, *, backend: str = "nccl", groups: str = "", first: int = 0, world_size: int | None = None
) -> None:
    """Fill the tables: a line per entry, as "rank group#number op size type state", a blank for each rank without any.

    `groups` are lines "name members", as the dumps list them. A send or receive is "send 0->1", by members. Records of
    all ranks begin at `first`.
    """
    ranks: dict[int, int] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        rank, *rest = line.split()
        number = ranks.setdefault(int(rank), first)
        if not rest:
            continue
        (place, op), ends, (size, dtype, state) = rest[:2], rest[2:-3], rest[-3:]
        name, _, sequence = place.partition("#")
        sender, receiver = map(int, ends[0].split("->")) if ends else (None, None)
        words, is_retired, completed = STATES[state] if backend == "nccl" else ("scheduled", state != "waiting", None)
        connection.execute(
            "insert into recorded_fact values"
            " ($1, $2, $3, $4, 0, $5, $6, $7, $8, $9, $10, $10, $11, $11, $12, $12, $13, $14, 1, null)",
            [
                int(rank), number, name, name.rstrip("0123456789"), backend, op, sender, receiver, bool(ends), size, dtype,
                None if size == "-" else int(size), words, is_retired,
            ],
        )  # fmt: skip
        numbers = (0, int(sequence)) if ends else (int(sequence), 0)
        connection.execute(
            "insert into recorded_call values ($1, $2, $3, $4, $3 + $4, $2 + 1000, null, $5, $2)",
            [int(rank), number, *numbers, completed],
        )
        ranks[int(rank)] += 1
    for rank, end in ranks.items():
        calls = connection.execute(
            "select count(*) > count(distinct (group_name, sequence)) from recorded_collective"
            " where rank = $1 and not is_p2p",
            [rank],
        ).fetchone()
        connection.execute(
            "insert into recorded_dump values ($1, $2, 'file', 'json', '2.10', $3, $4, 0, $5, null)",
            [f"fr_trace_{rank}", rank, end - first, first if end > first else None, calls[0]],
        )
    for line in filter(None, map(str.strip, groups.splitlines())):
        name, *members = line.split()
        for rank in set(map(int, members)) & ranks.keys():
            for member in members:
                connection.execute(
                    "insert into recorded_group values ($1, $2, $3, $4)",
                    [rank, name, name.rstrip("0123456789"), int(member)],
                )
    match_recorded(connection, world_size)


def list_partings(connection) -> list[str]:
    """Return the partings as "group#number differs: there / lacking / without a dump"."""
    rows = connection.execute(
        """
        select name, sequence, differs, present, lacking, without_dump
        from hang_parting
        inner join hang_group using (group_id)
        order by name, sequence
        """
    ).fetchall()
    return [
        f"{name}#{number} {differs}: {present} / {lacking} / {without}"
        for name, number, differs, present, lacking, without in rows
    ]


def test_a_rank_that_lacks_the_last_one(connection):
    fill(
        connection,
        """
        0 tp#1 all_reduce 8 Float finished
        0 tp#2 all_reduce 9 Float waiting
        1 tp#1 all_reduce 8 Float finished
        2 tp#1 all_reduce 8 Float finished
        2 tp#2 all_reduce 9 Float waiting
        """,
        groups="tp 0 1 2",
    )
    assert list_partings(connection) == ["tp#2 missing: [0, 2] / [1] / []"]


def test_one_that_is_finished_for_others_is_no_hang(connection):
    """The dump of rank 1 was written earlier."""
    fill(
        connection,
        """
        0 tp#1 all_reduce 8 Float finished
        0 tp#2 all_reduce 9 Float finished
        1 tp#1 all_reduce 8 Float finished
        """,
        groups="tp 0 1",
    )
    assert list_partings(connection) == []


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ("broadcast 8 Float", ["tp#1 operation: [0, 1] / [] / []"]),
        ("all_reduce 9 Float", ["tp#1 sizes: [0, 1] / [] / []"]),
        ("all_reduce 8 Half", ["tp#1 types: [0, 1] / [] / []"]),
        ("all_reduce 8 Float", ["tp#1 none: [0, 1] / [] / []"]),
    ],
)
def test_ranks_that_have_others(connection, changed, expected):
    fill(connection, f"0 tp#1 all_reduce 8 Float waiting\n1 tp#1 {changed} waiting", groups="tp 0 1")
    assert list_partings(connection) == expected


@pytest.mark.parametrize("op", ["all_to_all", "gather", "scatter", "all_gather_v"])
def test_operations_whose_sizes_may_differ(connection, op):
    fill(connection, f"0 tp#1 {op} 8 Float finished\n1 tp#1 {op} 9 Float finished", groups="tp 0 1")
    assert list_partings(connection) == []


def test_the_first_place_of_several(connection):
    """Sizes differ in the second one; that rank 1 lacks the third is no wonder."""
    fill(
        connection,
        """
        0 tp#1 all_reduce 8 Float finished
        0 tp#2 all_reduce 8 Float failed
        0 tp#3 all_reduce 8 Float waiting
        1 tp#1 all_reduce 8 Float finished
        1 tp#2 all_reduce 7 Float waiting
        """,
        groups="tp 0 1",
    )
    assert list_partings(connection) == ["tp#2 sizes: [0, 1] / [] / []"]


def test_a_call_behind_one_in_flight_has_not_come(connection):
    """All are in the first one; that the program of rank 0 is already further says nothing of rank 1."""
    fill(
        connection,
        """
        0 tp#1 all_reduce 8 Float waiting
        0 tp#2 all_reduce 9 Float waiting
        1 tp#1 all_reduce 8 Float waiting
        """,
        groups="tp 0 1",
    )
    assert list_partings(connection) == ["tp#1 none: [0, 1] / [] / []"]


def test_a_call_of_another_group_is_queued_where_it_did_not_start(connection):
    """Rank 1 calls the two in another order: each of them waits in the one that it called first."""
    fill(
        connection,
        """
        0 tp#1 all_reduce 8 Float waiting
        0 dp#1 all_reduce 8 Float scheduled
        1 dp#1 all_reduce 8 Float waiting
        1 tp#1 all_reduce 8 Float scheduled
        """,
        groups="tp 0 1\ndp 0 1",
    )
    assert list_partings(connection) == ["dp#1 missing: [1] / [0] / []", "tp#1 missing: [0] / [1] / []"]
    assert connection.execute("select queued from hang_parting order by group_id").fetchall() == [([0],), ([1],)]


def test_a_call_of_another_group_that_started_has_come(connection):
    """Groups have streams of their own: rank 0 is in both, and rank 1 in neither."""
    fill(
        connection,
        """
        0 tp#1 all_reduce 8 Float waiting
        0 dp#1 all_reduce 8 Float waiting
        1
        """,
        groups="tp 0 1\ndp 0 1",
    )
    assert list_partings(connection) == ["dp#1 missing: [0] / [1] / []", "tp#1 missing: [0] / [1] / []"]


def test_a_rank_without_a_dump(connection):
    fill(connection, "0 tp#1 all_reduce 8 Float waiting\n2 tp#1 all_reduce 8 Float waiting", groups="tp 0 1 2")
    assert list_partings(connection) == ["tp#1 no_dump: [0, 2] / [] / [1]"]


def test_a_recorder_that_has_overwritten_all_of_a_group_tells_nothing_of_it(connection):
    """Rank 1 may have called all of them: it is neither there nor lacking."""
    fill(
        connection,
        """
        0 tp#1 all_reduce 8 Float waiting
        0 dp#7 all_reduce 8 Float finished
        1 dp#7 all_reduce 8 Float finished
        """,
        groups="tp 0 1\ndp 0 1",
        first=50,
    )
    rows = connection.execute("select sequence, differs, present, lacking, unknown from hang_parting").fetchall()
    assert rows == [(1, "no_dump", [0], [], [1])]


def test_recorders_that_begin_apart_are_compared_by_number(connection):
    fill(
        connection,
        """
        0 tp#7 all_reduce 8 Float finished
        0 tp#8 all_reduce 9 Float waiting
        1 tp#6 all_reduce 4 Float finished
        1 tp#7 all_reduce 8 Float finished
        """,
        groups="tp 0 1",
        first=90,
    )
    assert list_partings(connection) == ["tp#8 missing: [0] / [1] / []"]


def test_groups_of_one_name_with_different_members(connection):
    """Judge groups that split_group made under one name each by itself."""
    fill(
        connection,
        """
        0 tp#1 all_reduce 8 Float finished
        1 tp#1 all_reduce 8 Float finished
        2 tp#1 all_reduce 5 Float waiting
        3
        """,
        groups="tp 0 1\ntp 2 3",
    )
    assert list_partings(connection) == ["tp#1 missing: [2] / [3] / []"]


def test_members_that_nobody_lists(connection):
    """gloo: of two copies one lacks a rank, and one rank is in none; a gathered tensor tells the size of a group, too."""
    fill(
        connection,
        """
        0 tp1#1 all_reduce 8 Float finished
        1 tp1#1 all_reduce 8 Float finished
        2 tp2#1 all_reduce 8 Float waiting
        """,
        backend="gloo",
        world_size=4,
    )
    rows = connection.execute("select name, members, source, size from hang_group order by 1").fetchall()
    assert rows == [("tp1", [0, 1], "seen", 2), ("tp2", [2, 3], "seen", 2)]
    assert list_partings(connection) == ["tp2#1 no_dump: [2] / [] / [3]"]


def test_empty_tensors_tell_no_size_of_a_group(connection):
    fill(connection, "0 tp#1 all_gather 0 Float finished\n1 tp#1 all_gather 0 Float finished", backend="gloo")
    assert connection.execute("select members, size from hang_group").fetchall() == [([0, 1], 2)]


def test_a_lonely_rank_whose_group_nobody_knows(connection):
    fill(connection, "0 tp#1 all_reduce 8 Float waiting", backend="gloo")
    rows = connection.execute("select members, size from hang_group").fetchall()
    assert rows == [([0], None)]
    assert list_partings(connection) == ["tp#1 no_dump: [0] / [] / []"]


def test_gloo_does_not_tell_the_end_of_the_last_one(connection):
    """It failed or it is finished: where a rank lacks it, it failed."""
    text = "0 tp#1 all_reduce 8 Float finished\n1 tp#1 all_reduce 8 Float finished"
    fill(connection, f"{text}\n0 tp#2 all_reduce 8 Float failed", backend="gloo")
    assert list_partings(connection) == ["tp#2 missing: [0] / [1] / []"]
    states = connection.execute("select sequence, rank, state from hang_call order by all").fetchall()
    assert states == [(1, 0, "finished"), (1, 1, "ended"), (2, 0, "ended")]


def test_sends_and_receives_by_two_ranks(connection):
    """Each rank numbers its own: what counts is the second of them from rank 4 to rank 6, which are members 0 and 1."""
    fill(
        connection,
        """
        4 pp#1 send 0->1 8 Float finished
        4 pp#2 send 0->1 8 Float waiting
        6 pp#1 recv 0->1 8 Float finished
        6 pp#2 recv 1->0 8 Float waiting
        """,
        groups="pp 4 6",
    )
    assert list_partings(connection) == ["pp#1 missing: [6] / [4] / []", "pp#2 missing: [4] / [6] / []"]


def test_sizes_of_a_send_and_its_receive(connection):
    fill(connection, "0 pp#1 send 0->1 8 Float waiting\n1 pp#1 recv 0->1 4 Float waiting", groups="pp 0 1")
    assert list_partings(connection) == ["pp#1 sizes: [0, 1] / [] / []"]


def test_sends_count_from_the_end_where_a_recorder_has_overwritten_some(connection):
    """Rank 0 remembers one more send that is finished; both wait for the same."""
    fill(
        connection,
        """
        0 pp#8 send 0->1 8 Float finished
        0 pp#9 send 0->1 4 Float waiting
        1 pp#5 recv 0->1 4 Float waiting
        """,
        groups="pp 0 1",
        first=30,
    )
    assert list_partings(connection) == ["pp#1 none: [0, 1] / [] / []"]


def test_parts_of_a_coalesced_one_are_one(connection):
    """Its last entry tells its state, and its parts are compared one by one."""
    fill(
        connection,
        """
        0 tp#1 all_gather 8 Float waiting
        0 tp#1 all_gather 9 Float waiting
        0 tp#1 coalesced - - finished
        0 tp#2 all_reduce 5 Float waiting
        1 tp#1 all_gather 8 Float waiting
        1 tp#1 all_gather 9 Float waiting
        1 tp#1 coalesced - - finished
        """,
        groups="tp 0 1",
    )
    assert list_partings(connection) == ["tp#2 missing: [0] / [1] / []"]


def test_parts_that_differ(connection):
    fill(
        connection,
        """
        0 tp#1 all_gather 8 Float waiting
        0 tp#1 all_gather 9 Float waiting
        1 tp#1 all_gather 8 Float waiting
        1 tp#1 all_gather 7 Float waiting
        """,
        groups="tp 0 1",
    )
    assert list_partings(connection) == ["tp#1 operation: [0, 1] / [] / []"]
