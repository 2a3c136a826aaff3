"""Traces of several ranks become a job: who is there, which collectives belong together, and what is not told."""

from __future__ import annotations

import pytest
from tables import empty_tables, insert

from traceq.analysis.job.job import fill_jobs

MS = 1_000_000
SIZE = 1 << 20


class Ranks:
    """Traces with one GPU each; collectives are put in rank by rank."""

    def __init__(self):
        self.connection = empty_tables()
        self.slices = 0

    def rank(self, trace_id, rank=None, *, world=2, run="r", path=None, origin=0, ts=0, dur=1000 * MS, host=None):
        columns = "trace_id run path sha256 size_bytes format host rank world_size utc_origin_ns ts dur ingested_at"
        name = path or f"traces/rank{rank}.json"
        row = (
            trace_id,
            run,
            name,
            str(trace_id),
            1,
            "kineto",
            host,
            rank,
            world,
            origin,
            ts,
            dur,
            "2026-01-01 00:00:00",
        )
        insert(self.connection, "trace", columns, [row])

    def collective(
        self, trace_id, ts, dur, *, sequence=None, group="g", size=2, op="all_reduce", bytes_=SIZE, device=0, **more
    ):
        """One all-reduce from `ts` ms on, for `dur` ms; `more` is in args of the record."""
        self.slices += 1
        slice_id = self.slices
        begin, length = round(ts * MS), round(dur * MS)
        insert(
            self.connection,
            "gpu_slice",
            "trace_id slice_id kind name device stream ts dur is_communication",
            [(trace_id, slice_id, "kernel", "ncclKernel", device, 7, begin, length, True)],
        )
        insert(
            self.connection,
            "collective_slice",
            "trace_id slice_id device stream op group_name group_size bytes dur overlapped exposed step",
            [(trace_id, slice_id, device, 7, op, group, size, bytes_, length, 0, length, 0)],
        )
        args = "{" + ", ".join(f'"{key}": "{value}"' for key, value in more.items()) + "}"
        insert(
            self.connection,
            "collective",
            "trace_id slice_id op bytes group_name group_size sequence args",
            [(trace_id, slice_id, op, bytes_, group, size, sequence, args)],
        )

    def filled(self):
        fill_jobs(self.connection)
        return self

    def rows(self, query):
        return self.connection.execute(query).fetchall()

    def why(self):
        return self.rows("select cannot_tell from job order by all")


def two_ranks(**of_collectives):
    """Rank 1 comes 3 ms later to every one of four collectives, which take 1 ms; ten milliseconds apart."""
    ranks = Ranks()
    for rank in (0, 1):
        ranks.rank(rank + 1, rank)
        for number in range(4):
            late = 3 * rank
            ranks.collective(rank + 1, 10 * number + late, 4 - late, sequence=number, **of_collectives)
    return ranks


def test_two_ranks():
    ranks = two_ranks().filled()
    assert ranks.rows("select job, ranks, absent, matched_share, violations, cannot_tell from job") == [
        (0, 2, 0, 1.0, 0, None)
    ]
    assert ranks.rows(
        "select match_id, members, match_source, transfer, late_unit, late_alone from collective_match"
    ) == [(number, 2, "sequence", MS, 1, 3 * MS) for number in range(4)]
    assert ranks.rows("select rank, rank_source, transfer, wait, late_count, late_by from job_rank order by unit") == [
        (0, "trace", 4 * MS, 12 * MS, 0, 0),
        (1, "trace", 4 * MS, 0, 4, 12 * MS),
    ]


def test_time_adds_up():
    ranks = two_ranks().filled()
    # before the first collective rank 1 comes 3 ms late; then own time and transfers on its path make up the rest
    ((dur, late_start, transfer, own),) = ranks.rows(
        "select dur, late_start, transfer,"
        " (select sum(own) from collective_member where on_path and own_begins is not null) from job"
    )
    assert (dur, late_start, transfer, own) == (34 * MS, 3 * MS, 4 * MS, 27 * MS)
    assert ranks.rows("select wait + transfer - s.dur from collective_member as m join collective_match using (match_id)"
                      " join gpu_slice as s using (slice_id) group by all") == [(0,)]  # fmt: skip


def test_names_of_files_tell_ranks():
    ranks = Ranks()
    ranks.rank(1, path="run/worker1_step.json", world=None)
    ranks.rank(2, path="run/worker0_step.json", world=None)
    assert ranks.filled().rows("select trace_id, rank, rank_source from job_rank order by unit") == [
        (2, 0, "file"),
        (1, 1, "file"),
    ]


def test_ranks_are_in_natural_order():
    ranks = Ranks()
    for trace_id, rank in enumerate((10, 9, 100, 0), 1):
        ranks.rank(trace_id, rank, world=128)
    assert ranks.filled().rows("select rank from job_rank order by unit") == [(0,), (9,), (10,), (100,)]


def test_absent_and_short_ranks_are_counted():
    ranks = Ranks()
    for rank in range(3):
        ranks.rank(rank + 1, rank, world=8, dur=(900 if rank == 2 else 1000) * MS)
    assert ranks.filled().rows("select ranks, absent, short_ranks from job") == [(3, 5, 1)]


def test_one_rank_of_several():
    ranks = Ranks()
    ranks.rank(1, 3, world=8)
    assert ranks.filled().why() == [("only one of its ranks is in the database",)]


def test_a_program_of_one_rank_is_no_job():
    ranks = Ranks()
    ranks.rank(1, 0, world=1)
    ranks.rank(2, world=None, run=None, path="other/trace.json")
    assert ranks.filled().rows("from job") == []


def test_windows_are_apart_in_time():
    ranks = Ranks()
    for trace_id, (rank, begin) in enumerate([(0, 0), (1, 1), (0, 5000), (1, 5001)], 1):
        ranks.rank(trace_id, rank, ts=begin * MS)
    assert ranks.filled().rows("select time_window, trace_id, rank from job_rank order by all") == [
        (0, 1, 0),
        (0, 2, 1),
        (1, 3, 0),
        (1, 4, 1),
    ]


def test_ranks_that_repeat_in_another_folder_are_another_job():
    ranks = Ranks()
    for trace_id, (folder, rank) in enumerate([("a", 0), ("a", 1), ("b", 0), ("b", 1)], 1):
        ranks.rank(trace_id, rank, run=None, path=f"{folder}/rank{rank}.json")
    assert ranks.filled().rows("select job, list(trace_id order by rank) from job_rank group by job order by job") == [
        (0, [1, 2]),
        (1, [3, 4]),
    ]


def test_gpus_of_one_trace_without_ranks_are_numbered_in_order():
    ranks = Ranks()
    ranks.rank(1, world=None, run=None, path="two_gpus.sqlite")
    for device in (0, 1):
        for number in range(4):
            ranks.collective(1, 10 * number + device, 4 - device, sequence=number, device=device)
    ranks.filled()
    assert ranks.rows("select device, rank, rank_source from job_rank order by unit") == [
        (0, 0, "order"),
        (1, 1, "order"),
    ]
    assert ranks.rows("select matched_share, cannot_tell from job") == [(1.0, None)]


@pytest.mark.parametrize(
    ("more", "source"),
    [({}, "sequence"), ({"Comms Id": "77"}, "comms_id"), ({"Process Group Ranks": "[0, 1]"}, "sequence")],
)
def test_what_tells_that_slices_belong_together(more, source):
    ranks = two_ranks(**more).filled()
    assert ranks.rows("select distinct match_source from collective_match") == [(source,)]


def test_without_sequence_numbers_the_ordinal_in_the_step_tells():
    ranks = Ranks()
    for rank in (0, 1):
        ranks.rank(rank + 1, rank)
        insert(
            ranks.connection,
            "step",
            "trace_id step name source ts dur",
            [(rank + 1, 0, "ProfilerStep#3", "annotation", 0, 100 * MS)],
        )
        for number in range(4):
            ranks.collective(rank + 1, 10 * number + 3 * rank, 4 - 3 * rank)
    assert ranks.filled().rows("select match_source, count(*), any_value(step) from collective_match group by all") == [
        ("counted", 4, 0)
    ]


def test_ordinals_tell_nothing_where_ranks_have_different_numbers():
    ranks = Ranks()
    for rank in (0, 1):
        ranks.rank(rank + 1, rank)
        for number in range(4 + rank):
            ranks.collective(rank + 1, 10 * number + 5 * rank, 4)
    assert ranks.filled().why() == [("none of its communication could be matched between ranks",)]


def test_what_ends_together_belongs_together_where_nothing_else_tells():
    ranks = Ranks()
    for rank in (0, 1):
        ranks.rank(rank + 1, rank)
        for number in range(4):
            ranks.collective(rank + 1, 10 * number + 3 * rank, 4 - 3 * rank + 0.02 * rank, group=None, size=None)
    # two that end within a millisecond on one rank, and one on the other
    for trace_id, ends in ((1, (60, 60.5)), (2, (60.2,))):
        for end in ends:
            ranks.collective(trace_id, end - 0.3, 0.3, group=None, size=None)
    ranks.filled()
    assert ranks.rows("select match_source, count(*) from collective_match group by all") == [("co_end", 4)]
    assert ranks.rows("select count(*) from collective_member where match_id is null") == [(3,)]


def test_sizes_that_differ_are_no_match():
    ranks = Ranks()
    for rank in (0, 1):
        ranks.rank(rank + 1, rank)
        for number in range(4):
            ranks.collective(rank + 1, 10 * number, 4, sequence=number, bytes_=SIZE * (1 + rank * (number == 2)))
    ranks.filled()
    assert ranks.rows("select mismatched, matched_share, cannot_tell from job") == [
        (1, 0.75, "only 75 % of its time in communication could be matched between ranks")
    ]
    assert ranks.rows("select dur, slowdown, pattern, (select count(*) from straggler) from job") == [
        (None, None, None, 0)
    ]
    assert ranks.rows("select distinct own, transfer, wait, late_count, late_by, win from job_rank") == [(None,) * 6]


def test_a_collective_that_ends_before_another_rank_begins_makes_the_job_untold():
    ranks = two_ranks()
    for rank in (0, 1):
        ranks.collective(rank + 1, 50 + 10 * rank, 1, sequence=9)
    assert ranks.filled().why() == [("1 of 5 collectives end on one rank before they begin on another",)]


def test_jobs_are_worked_out_anew_when_a_trace_comes():
    ranks = two_ranks().filled()
    ranks.rank(3, 2)
    assert ranks.filled().rows("select ranks from job") == [(3,)]


def build_job(durations, *, world=2, ranks=(0,), **of_collectives):
    """A job of which `ranks` are here; each of its collectives takes as long on all of them, ms."""
    job = Ranks()
    for trace_id, rank in enumerate(ranks, 1):
        job.rank(trace_id, rank, world=world)
        for number, dur in enumerate(durations):
            job.collective(trace_id, 20 * number, dur, sequence=number, size=world, **of_collectives)
    return job.filled()


TEN = (1, 1.1, 1.2, 1.4, 1, 1, 1.1, 1, 9, 3)


def test_one_rank_alone_tells_how_long_it_waits_for_the_others():
    job = build_job(TEN)
    # 5th percentile 1 ms; 1.4 ms is within half as much again
    assert job.rows("select cannot_tell, wait_absent from job") == [
        ("only one of its ranks is in the database", 10 * MS)
    ]
    assert job.rows("select wait_absent from job_rank") == [(10 * MS,)]


@pytest.mark.parametrize("how", [{"durations": TEN[:7]}, {"durations": TEN, "op": "all_to_all"}])
def test_too_few_of_a_class_and_all_to_alls_do_not_tell(how):
    assert build_job(**how).rows("select wait_absent from job") == [(None,)]


def test_ranks_that_wait_together_wait_for_one_that_is_absent():
    job = build_job(TEN, world=3, ranks=(0, 1))
    assert job.rows("select ranks, absent, wait_absent from job") == [(2, 1, 20 * MS)]
    assert job.rows("select sum(wait_absent), sum(transfer) from collective_match") == [(10 * MS, 20.8 * MS)]


def test_in_a_complete_job_nobody_waits_for_absent_ranks():
    job = build_job(TEN, ranks=(0, 1))
    assert job.rows("select wait_absent from job") == [(None,)]
    assert job.rows("select distinct wait_absent from collective_match") == [(0,)]


def test_bandwidth_is_that_of_transfers():
    job = build_job(TEN, ranks=(0, 1))
    found = (
        "select op, collectives, transfer_best, transfer_median, place, round(bandwidth_best, 3) from job_collective"
    )
    # two ranks move a whole message each: 1 MiB in 1 ms
    assert job.rows(found) == [("all_reduce", 10, MS, 1.1 * MS, None, 1.049)]


def test_names_of_files_tell_where_in_the_model_ranks_are():
    ranks = Ranks()
    for trace_id in (1, 2):
        ranks.rank(trace_id, path=f"run/1-TP-{trace_id}-DP-0-PP-3-EP-1.trace.json", world=None)
    assert ranks.filled().rows("select tp, dp, pp, ep from job_rank order by unit") == [(1, 0, 3, 1), (2, 0, 3, 1)]


def test_what_a_rank_saves_in_its_own_group_is_told_where_nothing_joins_the_groups():
    ranks = Ranks()
    late = [0, 3, 0, 5]
    for rank, own in enumerate(late):
        ranks.rank(rank + 1, rank, world=4)
        for number in range(4):
            start = 20 * number + own
            ranks.collective(rank + 1, start, 6 - own, sequence=number, group=f"group {rank // 2}")
    # the median rank needs 15.5 ms before each of three collectives, rank 1 and rank 3 17 and 19; both groups end at once
    assert ranks.filled().rows("select rank, win, group_win / 1e6 from job_rank order by unit") == [
        (0, 0, 0.0),
        (1, 0, 4.5),
        (2, 0, 0.0),
        (3, 0, 10.5),
    ]


def three_ranks(op, *, start=(0, 3, 1), dur=(5, 2, 4), **more):
    """One collective of three ranks between all-reduces that tell the clocks; starts and durations in ms."""
    ranks = Ranks()
    for rank in range(3):
        ranks.rank(rank + 1, rank, world=3)
        for number in range(4):
            ranks.collective(rank + 1, 20 * number, 1, sequence=number, size=3)
        ranks.collective(rank + 1, 70 + start[rank], dur[rank], sequence=9, size=3, op=op, **more)
    return ranks.filled()


LISTED = {"Process Group Ranks": "[0, 1, 2]"}


@pytest.mark.parametrize(
    ("op", "more", "expected"),
    [
        # rank 1 comes last, 3 ms after the first
        ("broadcast", LISTED | {"Rank": 1}, ([3, 0, 2], 1, 2, "arrival")),
        ("broadcast", LISTED | {"root_rank": 1}, ([3, 0, 2], 1, 2, "arrival")),
        ("broadcast", {"Rank": 1}, ([3, 0, 2], 1, 2, "arrival")),
        ("scatter", LISTED | {"Rank": 2}, ([1, 0, 0], 2, 0, "arrival")),
        # nobody waits for a root that came first
        ("broadcast", LISTED | {"Rank": 0}, ([0, 0, 0], None, 0, "arrival")),
        ("reduce", LISTED | {"Rank": 0}, ([3, 0, 0], 1, 2, "arrival")),
        # the root itself came last
        ("gather", LISTED | {"Rank": 1}, ([0, 0, 0], None, 2, "arrival")),
        ("all_to_all", {}, ([3, 0, 2], 1, 2, "arrival")),
        ("reduce", LISTED, ([None, None, None], None, None, None)),
        ("broadcast", LISTED | {"Rank": 7}, ([None, None, None], None, None, None)),
        ("all_reduce", {}, ([3, 0, 2], 1, 2, "duration")),
    ],
)
def test_who_waits_in_collectives_with_a_root(op, more, expected):
    ranks = three_ranks(op, **more)
    (match,) = ranks.rows(
        "select match_id, late_unit, late_alone // 1000000, wait_source from collective_match order by match_id desc limit 1"
    )
    waits = ranks.rows(f"select wait // 1000000 from collective_member where match_id = {match[0]} order by unit")
    assert ([wait for (wait,) in waits], *match[1:]) == expected
    told = sum(wait or 0 for (wait,) in waits)
    assert ranks.rows("select sum(wait) // 1000000 from job_axis_rank") == [(told,)]


def test_ranks_that_tell_different_roots_tell_none():
    ranks = Ranks()
    for rank in range(2):
        ranks.rank(rank + 1, rank)
        ranks.collective(rank + 1, 3 * rank, 5 - 3 * rank, sequence=1, op="broadcast", Rank=rank)
    assert ranks.filled().rows("select root_unit, wait_source from collective_match") == [(None, None)]


def messages(rows):
    """Sends and receives between ranks: (rank, op, peer, ts, dur) each, in ms; all say 1 for sequence, as ranks count apart."""
    ranks = Ranks()
    for rank in sorted({row[0] for row in rows}):
        ranks.rank(rank + 1, rank, world=3)
    for rank, op, peer, ts, dur in rows:
        more = {"Dst Rank" if op == "send" else "Src Rank": peer}
        ranks.collective(rank + 1, ts, dur, sequence=1, size=3, op=op, **more)
    return ranks.filled()


def test_messages_belong_together_by_their_ordinal_between_two_ranks():
    ranks = messages(
        [
            (0, "send", 1, 0, 3), (1, "recv", 0, 2, 1),
            (0, "send", 2, 10, 1), (2, "recv", 0, 6, 5),
            (0, "send", 1, 20, 2), (1, "recv", 0, 20, 2),
            (1, "send", 0, 30, 4), (0, "recv", 1, 33, 1),
        ]
    )  # fmt: skip
    assert ranks.rows(
        "select match_source, any_value(transfer) // 1000000, list(unit order by unit), any_value(late_unit)"
        " from collective_match inner join collective_member using (job, time_window, match_id)"
        " group by match_source, match_id order by match_id"
    ) == [("pair", 1, [0, 1], 1), ("pair", 1, [0, 2], 0), ("pair", 2, [0, 1], None), ("pair", 1, [0, 1], 0)]


def test_messages_of_which_one_side_was_not_recorded_are_no_pairs():
    ranks = messages([(0, "send", 1, 0, 3), (1, "recv", 0, 2, 1), (0, "send", 1, 10, 3)])
    assert ranks.rows("select count(*) from collective_match where match_source = 'pair'") == [(0,)]


def batches(ranks, described):
    """Two ranks that send to each other and receive in one kernel, twice; `described` writes who is spoken to."""
    for rank in (0, 1):
        ranks.rank(rank + 1, rank)
        for number, ts in enumerate((0, 10)):
            ranks.collective(rank + 1, ts + 2 * rank, 4 - 2 * rank, size=None, group=None, op="send_recv")
            described(rank, number, ts + 2 * rank)
    return ranks.filled()


def test_a_batch_is_a_pair_by_the_operators_before_its_launch():
    ranks = Ranks()

    def described(rank, number, ts):
        trace, kernel = rank + 1, ranks.slices
        first = 1000 + 10 * number
        calls = [(trace, first + place, "op", "record_param_comms", 1, (ts - 1) * MS + place, 1) for place in (0, 1)]
        launch = [(trace, first + 2, "runtime", "cudaLaunchKernelExC", 1, (ts - 1) * MS + 5, 1)]
        insert(ranks.connection, "cpu_slice", "trace_id slice_id kind name thread_id ts dur", calls + launch)
        args = [f'{{"Dst Rank": {1 - rank}}}', f'{{"Src Rank": {1 - rank}}}']
        of_calls = [(trace, first + place, op, args[place]) for place, op in enumerate(("send", "recv"))]
        insert(ranks.connection, "collective", "trace_id slice_id op args", of_calls)
        ranks.connection.execute(f"update gpu_slice set launch_id = {first + 2} where slice_id = {kernel}")
        ranks.connection.execute(f"delete from collective where slice_id = {kernel}")

    batches(ranks, described)
    assert (
        ranks.rows("select match_source, group_id, members, late_unit from collective_match")
        == [("pair", "ranks 0 and 1", 2, 1)] * 2
    )


def test_a_batch_is_a_pair_by_its_peers_in_a_communicator():
    ranks = Ranks()

    def described(rank, _number, _ts):
        args = f'{{"parts": 2, "sends_to": [{1 - rank}], "receives_from": [{1 - rank}]}}'
        ranks.connection.execute(
            f"update collective set args = '{args}', group_name = '0xabc', group_rank = {rank} where slice_id = {ranks.slices}"
        )

    batches(ranks, described)
    assert ranks.rows("select match_source, members, late_unit from collective_match") == [("pair", 2, 1)] * 2
