"""Rules of jobs on made-up tables: what each finds, what it does not, and when it cannot tell. Times in ms."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest
from tables import empty_tables

from traceq.diagnosis.job.judge import RULES, judge_job

MS = 1_000_000

JOB = {
    "job": 0,
    "time_window": 0,
    "world_size": 4,
    "ranks": 4,
    "hosts": 2,
    "absent": 0,
    "short_ranks": 0,
    "steps": 10,
    "communication": 100 * MS,
    "matched_share": 1.0,
    "mismatched": 0,
    "clock_residual": 20_000,
    "claim_limit": 60_000,
    "violations": 0,
    "dur": 1000 * MS,
    "replay_error": 0.0,
    "transfer": 100 * MS,
    "late_start": 0,
    "ideal": 990 * MS,
    "slowdown": 1000 / 990,
    "pattern": "none",
}
RANK = {"rank_source": "trace", "device": 0, "clock_samples": 0, "stage": 0, "transfer": 50 * MS, "wait": 10 * MS}
STRAGGLER = {"kind": "rank", "units": [1], "name": "rank 1", "adds": 200 * MS, "win": 150 * MS, "late_steps": 0.9}
MATCH = {"op": "all_reduce", "bytes": 1 << 20, "match_source": "sequence"}


class Made:
    """The tables of a job of four ranks on two hosts with 10 steps, in which nothing is wrong but what is put in."""

    def __init__(self, *stragglers, ranks=4, rank=None, **job):
        self.connection = empty_tables()
        self.put("job", JOB | {"ranks": ranks} | job)
        for unit in range(ranks):
            row = RANK | {"unit": unit, "rank": unit, "trace_id": unit + 1, "host": f"n{unit // 2}"}
            self.put("job_rank", row | (rank(unit) if rank else {}))
        for place, each in enumerate(stragglers, 1):
            self.put("straggler", STRAGGLER | {"place": place} | each)

    def put(self, table, row):
        self.insert(table, {"job": 0, "time_window": 0} | row)

    def insert(self, table, row):
        self.connection.register("_rows", pa.Table.from_pylist([row]))
        self.connection.execute(f"insert into {table} by name from _rows")

    def member(self, match, unit, wait=0, *, own=0, usual=0, on_path=False, begins=0):
        row = {"trace_id": unit + 1, "slice_id": match, "unit": unit, "match_id": match, "wait": wait}
        self.put("collective_member", row | {"own_begins": begins, "own": own, "usual": usual, "on_path": on_path})

    def counted(self, ms):
        """So much counted time on the GPU of each rank."""
        for (trace,) in self.connection.execute("select trace_id from job_rank").fetchall():
            where = {"trace_id": trace, "step": 0}
            for table, row in (
                ("step", where | {"name": "s", "source": "made up", "ts": 0, "dur": ms * MS}),
                ("time_ledger", where | {"device": 0, "category": "compute", "dur": ms * MS}),
            ):
                self.insert(table, row)

    @property
    def told(self):
        return judge_job(self.connection, 0, 0)

    def lines(self):
        """Findings as lines of text: rule, unit, what it saves per step alone and beside others, how sure, because."""

        def ms(value):
            return "-" if value is None else f"{value / MS:g}"

        found = self.told.findings
        for each in found:
            assert self.connection.execute(each.evidence.query).fetchall() == list(each.evidence.rows)
            assert each.evidence.rows
        return [
            f"{each.rule} | {each.unit} | {ms(each.saving_ns)} | {ms(each.adds_ns)} | {each.confidence} | {each.because}"
            for each in found
        ]

    def cannot_tell(self, rule):
        return [each.reason for each in self.told.not_applicable if each.rule == rule]


def test_in_a_balanced_job_nothing_is_found():
    assert Made().lines() == []


def test_a_job_that_cannot_be_judged_has_no_findings_and_every_rule_says_why():
    made = Made(cannot_tell="nothing is matched", dur=None, ideal=None, slowdown=None, pattern=None)
    assert made.lines() == []
    assert {each.reason for each in made.told.not_applicable} == {"nothing is matched"}
    # Of a job whose ranks are all here nobody asks for those that are not.
    assert {each.rule for each in made.told.not_applicable} == set(RULES) - {"absent-late-rank"}


def test_a_broken_rule_is_told_and_the_others_are_asked(monkeypatch):
    def broken(job):
        yield job.facts["nothing"]

    monkeypatch.setitem(RULES, "late-start", ("Title", broken))
    told = Made({}, pattern="fixed").told
    assert [(each.rule, each.title, each.error) for each in told.failed] == [
        ("late-start", "Title", "KeyError: 'nothing'")
    ]
    assert [each.rule for each in told.findings] == ["job-straggler"]

    def interrupted(_job):
        raise duckdb.InterruptException("stop")

    monkeypatch.setitem(RULES, "late-start", ("Title", interrupted))
    with pytest.raises(duckdb.InterruptException):
        _ = Made().told


def test_late_ranks_one_by_one():
    second = {"name": "rank 2", "units": [2], "adds": 50 * MS, "win": 20 * MS, "late_steps": None}
    made = Made({"cause": "idle_launch", "cause_ns": 300 * MS}, second, pattern="alternating")
    assert made.lines() == [
        "job-straggler | rank 1 | 15 | 20 | high | idle: launching +30.00 ms",
        "job-straggler | rank 2 | 2 | 5 | medium | ",
    ]
    first, second = made.told.findings
    assert first.fix == (
        "Report on rank 1 alone (`traceq report DB --rank 1`); it spends more time than a typical rank in idle: launching."
    )
    assert first.confidence_reason == "It delays the job in 90.0 % of 10 steps."
    assert second.confidence_reason == "Only one step was recorded, so it is not known whether this recurs."
    assert first.ranks == (1,)


def test_the_proof_of_a_late_rank_is_its_own_time_on_the_critical_path():
    made = Made({}, pattern="fixed")
    made.member(0, 1, own=30 * MS, usual=10 * MS, on_path=True)
    made.member(1, 1, own=90 * MS, usual=10 * MS)
    made.member(0, 2, own=90 * MS, usual=10 * MS, on_path=True)
    (found,) = made.told.findings
    (row,) = found.evidence.rows
    proof = dict(zip(found.evidence.columns, row, strict=True))
    assert (proof["rank"], proof["late_arrivals"], proof["beyond_usual_ns"]) == (1, 1, 20 * MS)


def test_who_is_late_now_and_then_is_less_sure():
    assert "| medium |" in Made({"late_steps": 0.5}, pattern="fixed").lines()[0]


HOST = {"kind": "host", "name": "host n1", "units": [2, 3]}


def test_a_host_is_late_as_a_whole():
    made = Made(HOST, pattern="host")
    # No real job at hand has had one.
    assert made.lines() == ["slow-host | host n1 | 15 | 20 | medium | "]
    assert made.told.findings[0].ranks == (2, 3)


def test_without_names_of_hosts_none_is_judged():
    assert Made(hosts=None).cannot_tell("slow-host") == ["no trace names its host"]
    assert Made().cannot_tell("slow-host") == []


STAGE = {"kind": "stage", "name": "stage 1", "units": [2, 3]}


def test_a_stage_has_more_to_do():
    made = Made(STAGE, pattern="stage", stage_win=150 * MS, rank=lambda unit: {"stage": unit // 2})
    assert made.lines() == ["stage-imbalance | stage 1 | 15 | 20 | high | "]
    assert made.told.findings[0].fix.startswith("Move layers from stage 1")


def test_stages_without_an_order_are_not_judged():
    reason = "ranks have different collectives, and the order of their stages is not known"
    assert Made(rank=lambda unit: {"stage": unit // 2}).cannot_tell("stage-imbalance") == [reason]
    assert Made().cannot_tell("stage-imbalance") == []
    assert Made(stage_win=0, rank=lambda unit: {"stage": unit // 2}).cannot_tell("stage-imbalance") == []


def test_a_different_rank_each_time():
    made = Made({}, pattern="wandering", ideal=800 * MS, slowdown=1.25)
    for match, (unit, beyond) in enumerate([(0, 30), (1, 40), (2, 30)]):
        made.member(match, unit, own=(beyond + 5) * MS, usual=5 * MS, on_path=True)
    # The one that is named by chance is no finding.
    assert made.lines() == ["wandering-straggler | all ranks | 20 | - | high | rank 1 most, 40.0 % of it"]


@pytest.mark.parametrize("steps", [0, 1, 7])
def test_few_steps_do_not_tell_who_is_late_by_chance(steps):
    made = Made(steps=steps, pattern="wandering", slowdown=1.25)
    reason = f"it takes 8 steps to tell chance from a pattern, and there are {steps}"
    assert made.cannot_tell("wandering-straggler") == [reason]
    assert Made(steps=8).cannot_tell("wandering-straggler") == []


def computing(durs, *, grids=(), calls=(), steps=(), own=(), beyond=300, **job):
    """A job of as many ranks, of which rank 1 is late by its compute; each runs two kernels so long, us, with a grid, so often.

    It computes longer by `beyond` us before its late arrivals. `steps` is how many each rank has, `own` how long the kernel
    that each has by itself takes in them, us.
    """
    made = Made({"cause": "compute", "cause_ns": beyond * 1000}, ranks=len(durs), pattern="fixed", **job)
    rows = [
        (rank, name, grids[rank] if grids else 64, 8, durs[rank] * 1000, call)
        for rank in range(len(durs))
        for name in ("gemm", "softmax")
        for call in range(calls[rank] if calls else 10)
    ]
    rows += [(rank, f"expert_{rank}", 64, 8, dur * 1000, 0) for rank, dur in enumerate(own)]
    made.counted(1)
    for rank in range(len(durs)):
        for step in range(1, steps[rank] if steps else 10):
            at = {"trace_id": rank + 1, "step": step, "ts": step, "dur": 1}
            made.insert("step", at | {"name": "s", "source": "made up"})
    slices = [
        {"trace_id": rank + 1, "slice_id": number, "device": 0, "kind": "kernel", "name": name, "ts": call, "dur": dur}
        | {"step": 0, "is_communication": False, "grid_x": grid, "block_x": block}
        for number, (rank, name, grid, block, dur, call) in enumerate(rows)
    ]
    made.connection.register("_rows", pa.Table.from_pylist(slices))
    made.connection.execute("insert into gpu_slice by name from _rows")
    return made


def test_the_same_kernels_that_take_longer_are_a_slow_gpu():
    made = computing([100, 110, 100, 101])
    # Twenty kernels take 10 us longer, of ten steps.
    assert made.lines() == ["slow-gpu | rank 1 | 15 | 20 | medium | slower kernels +20.00 µs"]


def test_kernels_of_an_excluded_step_between_counted_ones_are_of_the_job_as_its_steps_are():
    made = computing([100, 110, 100, 101])
    made.connection.execute("update step set excluded = 'checkpoint' where step in (1, 9)")
    made.connection.execute("update gpu_slice set step = 1 where ts < 5")
    # nine steps, from the first that is counted to the last
    assert made.lines() == ["slow-gpu | rank 1 | 15 | 20 | medium | slower kernels +22.22 µs"]
    made.connection.execute("update gpu_slice set step = 9 where ts < 5")
    assert made.lines() == ["job-straggler | rank 1 | 15 | 20 | high | compute +30.00 µs"]


def test_late_ranks_are_listed_as_they_are_to_be_fixed_whichever_rule_tells():
    made = computing([100, 110, 100, 101, 100])
    second = {"name": "rank 4", "units": [4], "place": 2, "adds": 50 * MS, "win": 20 * MS}
    made.put("straggler", STRAGGLER | second)
    made.connection.execute("update straggler set cause = 'idle_launch' where place = 2")
    assert [(each.rule, each.place) for each in made.told.findings] == [("slow-gpu", 1), ("job-straggler", 2)]


def test_more_calls_or_larger_grids_are_more_work():
    more = "work-imbalance | rank 1 | 15 | 20 | medium | more kernels"
    assert computing([100] * 4, calls=[10, 13, 10, 10]).lines() == [f"{more} +60.00 µs"]
    assert computing([100, 130, 100, 100], grids=[64, 96, 64, 64]).lines() == [f"{more} +60.00 µs"]


@pytest.mark.parametrize("recorded", [{}, {"calls": [10, 11, 10, 10], "steps": [10, 11, 10, 10]}])
def test_calls_are_those_of_a_step(recorded):
    """A rank that recorded more steps has not more to do."""
    assert computing([100, 120, 100, 100], **recorded).told.findings[0].rule == "slow-gpu"
    assert computing([100] * 4, **recorded).told.findings[0].rule == "job-straggler"


def test_kernels_that_nobody_else_launches_are_more_work():
    made = computing([100, 110, 100, 100], own=[0, 10_000, 0, 0])
    assert made.lines() == ["work-imbalance | rank 1 | 15 | 20 | medium | more kernels +1.000 ms"]
    (found,) = made.told.findings
    assert dict(zip(found.evidence.columns, found.evidence.rows[0], strict=True))["same_share"] == pytest.approx(
        0.18, abs=0.01
    )


def test_what_others_do_by_another_kernel_is_not_more_work():
    assert computing([100] * 4, own=[10_000] * 4).told.findings[0].rule == "job-straggler"
    # Of the same kernels only some are slower.
    assert computing([100, 110, 100, 100], own=[1000] * 4).told.findings[0].rule == "job-straggler"


def test_kernels_that_are_alike_do_not_tell_why_a_rank_is_late():
    told = ["job-straggler | rank 1 | 15 | 20 | high | compute +30.00 µs"]
    assert computing([100, 102, 100, 100]).lines() == told
    assert computing([100, 107, 100, 100]).lines() == told


@pytest.mark.parametrize(("durs", "grids"), [([100, 110], ()), ([100, 110, 100, 100], [None] * 4)])
def test_without_peers_or_grids_late_compute_is_not_explained(durs, grids):
    made = computing(durs, grids=grids)
    assert [line.partition(" ")[0] for line in made.lines()] == ["job-straggler"]
    reason = "the late rank's kernels have no grids, or its stage does not have two other ranks to compare it with"
    assert made.cannot_tell("slow-gpu") == [reason]
    assert made.cannot_tell("work-imbalance") == [reason]


def waits(unit):
    return {"wait": 90 * MS if unit else 0, "transfer": 30 * MS}


def test_waiting_is_no_fault_of_the_network():
    made = Made({}, rank=waits)
    assert made.lines()[1:] == ["waiting-not-network | all ranks | - | - | high | 69.2 % of collective time"]
    assert made.told.findings[1].evidence.rows[0] == (1, 30 * MS, 90 * MS, 0.75)


def test_waiting_that_nobody_causes_or_that_is_less_than_transfers_is_not_told():
    assert Made(rank=waits).lines() == []
    assert Made({}).lines()[1:] == []


def waiting(*, match=(), **job):
    """How sure it is that a job waits, and why; of the second half of its ranks the lists of collectives differ."""
    made = Made({}, rank=lambda unit: waits(unit) | {"stage": unit // 2}, **job)
    for number, each in enumerate(match):
        made.put("collective_match", MATCH | {"match_id": number, "transfer": 0} | each)
    (found,) = (each for each in made.told.findings if each.rule == "waiting-not-network")
    return found.confidence, found.confidence_reason.removeprefix(
        "The time that the last rank spent in each collective counts as "
    )


def test_absent_ranks_make_it_less_sure_that_transfers_are_transfers():
    absent = "medium", "transfer; ranks that were not captured may be later still."
    assert waiting(absent=4, wait_absent=0) == absent
    assert waiting(match=[{"members": 3, "group_size": 4}]) == absent
    assert waiting(match=[{"members": 4, "group_size": 4}]) == ("high", "transfer, and all ranks were captured.")
    # nobody knows without the size of the world, nor of the groups
    assert waiting(absent=None) == ("medium", "transfer.")
    assert waiting(absent=None, match=[{"members": 4}]) == ("medium", "transfer.")
    assert waiting(absent=None, match=[{"members": 4, "group_size": 4}])[0] == "high"


def test_the_bubble_is_told_of_pipelines_only():
    bubble = "high", "transfer, and all ranks were captured. In a pipeline the bubble is part of the waiting."
    assert waiting(stage_win=0) == bubble
    assert waiting(match=[{"members": 2, "group_size": 4, "op": "send_recv"}]) == bubble


def absent(**job):
    made = Made(ranks=2, world_size=4, absent=2, rank=lambda unit: {"wait_absent": unit * 60 * MS}, **job)
    made.counted(1000)
    return made


def test_collectives_wait_for_ranks_that_are_not_here():
    made = absent(wait_absent=60 * MS)
    assert made.lines() == ["absent-late-rank | ranks 2-3 | - | - | medium | 3.000 ms per rank (3.0 %)"]
    (found,) = made.told.findings
    assert found.evidence.rows == ((1, 60 * MS), (0, 0))
    assert found.fix == "Also capture ranks 2-3: only their traces show why they are late."


def test_little_waiting_for_absent_ranks_is_not_told():
    assert absent(wait_absent=59 * MS).lines() == []
    assert absent(wait_absent=0).lines() == []


def test_what_absent_ranks_do_cannot_be_told():
    rule = "absent-late-rank"
    reason = "only 80.0 % of the collectives are matched between ranks"
    assert absent(wait_absent=60 * MS, matched_share=0.8).cannot_tell(rule) == [reason]
    assert absent().cannot_tell(rule) == ["no collective of known size recurs eight times in a group"]
    uncounted = Made(ranks=2, absent=2, wait_absent=60 * MS)
    assert uncounted.cannot_tell(rule) == ["no counted step has GPU work to compare the waiting with"]
    assert Made().cannot_tell(rule) == []


def groups(*transfers, count=8, members=2, size=2):
    """A job of groups of two ranks, each with `count` all-reduces that transfer so long, in us."""
    made = Made(ranks=2 * len(transfers))
    for group, transfer in enumerate(transfers):
        for each in range(count):
            match = group * count + each
            row = MATCH | {"match_id": match, "group_id": f"g{group}", "group_size": size, "members": members}
            made.put("collective_match", row | {"transfer": (transfer + each) * 1000})
            made.member(match, 2 * group)
            made.member(match, 2 * group + 1)
    return made


def test_a_group_that_transfers_slower_than_its_sisters():
    made = groups(500, 500, 700, 500)
    assert made.lines() == ["slow-link | group of ranks 4-5 | - | - | medium | transfers take 1.40x the usual time"]
    assert made.told.findings[0].confidence_reason == (
        "At best, all-reduce of 1 MiB takes 700.0 µs; in the median of 4 similar groups it takes 500.0 µs."
    )


@pytest.mark.parametrize("slow", [500, 590, 400])
def test_groups_that_differ_by_less_than_a_fifth_are_alike(slow):
    assert groups(500, 500, slow, 500).lines() == []


def test_what_is_below_the_resolution_of_the_clocks_is_no_slow_link():
    assert groups(100, 100, 150, 100).lines() == []


def test_a_tiny_message_does_not_hide_a_slow_link():
    made = groups(500, 500, 5000, 500)
    for group in range(4):
        for each in range(100, 108):
            match = 8 * group + each
            row = MATCH | {"bytes": 8, "match_id": match, "group_id": f"g{group}", "group_size": 2, "members": 2}
            made.put("collective_match", row | {"transfer": 20_000 if group == 2 else 1000})
            made.member(match, 2 * group)
            made.member(match, 2 * group + 1)
    assert made.lines() == ["slow-link | group of ranks 4-5 | - | - | medium | transfers take 10.00x the usual time"]


@pytest.mark.parametrize(
    ("transfers", "sizes"),
    [((500, 700), {}), ((500, 500, 700), {"count": 7}), ((500, 500, 700), {"size": 3})],
    ids=["two", "few", "absent"],
)
def test_without_three_complete_groups_links_are_not_compared(transfers, sizes):
    made = groups(*transfers, **sizes)
    reason = "fewer than three complete groups have eight collectives of the same operation and size to compare"
    assert made.cannot_tell("slow-link") == [reason]


def starting(*ranks, op="all_reduce", path=1, **job):
    """A job whose ranks come so many ms later to their first collective, and whose traces begin so many ms later.

    The critical path begins with rank `path`.
    """
    made = Made(ranks=len(ranks), late_start=ranks[path][0] * MS, **job)
    made.put("collective_match", MATCH | {"match_id": 0, "op": op, "members": len(ranks), "transfer": 0})
    for unit, (later, begins) in enumerate(ranks):
        made.member(0, unit, own=later * MS, begins=None, on_path=unit == path)
        row = {"trace_id": unit + 1, "path": "t", "sha256": str(unit), "size_bytes": 0, "format": "made up"}
        made.insert("trace", row | {"ts": begins * MS, "ingested_at": "2026-01-01 00:00:00"})
    return made


def test_a_recording_that_began_later():
    made = starting((0, 5), (40, 35))
    made.member(2, 1, own=90 * MS)
    made.member(3, 0, own=90 * MS, begins=None)
    assert made.lines() == ["late-start | rank 1 | - | - | high | came 40.00 ms later"]
    assert made.told.findings[0].evidence.rows == ((1, 40 * MS, 30 * MS, True, False), (0, 0, 0, False, False))


@pytest.mark.parametrize("ranks", [((0, 0), (0, 0)), ((0, 0), (10, 10))], ids=["together", "hardly later"])
def test_a_start_that_is_hardly_later_is_not_told(ranks):
    assert starting(*ranks).lines() == []
    assert starting(*ranks).cannot_tell("late-start") == []


@pytest.mark.parametrize(
    ("ranks", "needed"),
    [(((0, 0), (40, 0)), "40.00 ms"), (((0, 0), (40, 20)), "20.00 ms"), (((0, 9), (40, 0)), "40.00 ms")],
    ids=["works longer", "works longer, too", "began first"],
)
def test_what_the_recording_does_not_explain_the_rank_needed_itself(ranks, needed):
    made = starting(*ranks)
    assert made.lines() == ["late-start | rank 1 | - | - | medium | came 40.00 ms later"]
    (found,) = made.told.findings
    assert found.confidence_reason.endswith(f"; the other {needed} are its own.")


def test_the_rank_that_the_first_collective_waits_for_began_later_and_not_the_last_of_all():
    line = starting((0, 0), (20, 20), (30, 30)).lines()[0]
    assert line == "late-start | rank 1 | - | - | high | came 20.00 ms later"


def test_a_recording_begins_with_its_first_counted_step():
    made = starting((0, 0), (40, 0))
    for trace, ts in ((1, 100), (2, 140)):
        made.insert(
            "step", {"trace_id": trace, "step": 3, "name": "s", "source": "made up", "ts": ts * MS, "dur": 60 * MS}
        )
    assert made.lines() == ["late-start | rank 1 | - | - | high | came 40.00 ms later"]


def test_a_later_start_cannot_be_told():
    late = (0, 0), (40, 40)
    assert starting(*late, clock_residual=None).cannot_tell("late-start") == ["no collective aligns the ranks' clocks"]
    reason = "the first wait is for data from another pipeline stage"
    assert starting(*late, op="send_recv").cannot_tell("late-start") == [reason]
    made = starting(*late)
    made.connection.execute("delete from trace")
    assert made.cannot_tell("late-start") == ["the traces do not say when they begin"]


def test_what_all_ranks_do_before_the_first_collective_is_no_late_start():
    made = Made(late_start=400 * MS)
    made.member(0, 0, own=0, begins=None)
    made.member(1, 1, own=1 * MS, begins=None)
    made.member(2, 1, own=400 * MS, begins=None, on_path=True)
    assert made.lines() == []


def numbered(*lists, size=None, raw=None):
    """A job whose ranks are one group; each has a list of numbers of all-reduces, or of (number, operation, bytes), as matched.

    `size` is that of the group. Those of one number, operation and size on several ranks are one collective.
    """
    made = Made(ranks=len(lists))
    size = size or len(lists)
    rows = [
        (unit, *(each if isinstance(each, tuple) else (each, "all_reduce", 64)))
        for unit, of in enumerate(lists)
        for each in of
    ]
    free = ("all_to_all", "gather", "scatter", "send_recv")
    keys = [(number, op, None if op in free else amount) for _, number, op, amount in rows]
    places = sorted({key for key in keys if keys.count(key) > 1}, key=str)
    for match, (number, op, amount) in enumerate(places):
        match_row = MATCH | {"match_id": match, "op": op, "bytes": amount, "group_id": "dp", "group_size": size}
        made.put("collective_match", match_row | {"members": keys.count((number, op, amount)), "transfer": 0})
    for slice_id, ((unit, number, op, amount), key) in enumerate(zip(rows, keys, strict=True)):
        where = {"trace_id": unit + 1, "slice_id": slice_id}
        match = places.index(key) if key in places else None
        made.put("collective_member", where | {"unit": unit, "match_id": match, "own_begins": 0, "on_path": False})
        slice_row = {"device": 0, "op": op, "group_name": "g", "group_size": size, "bytes": amount, "dur": 1}
        for table, row in (
            ("collective_slice", slice_row | {"overlapped": 0, "exposed": 1}),
            ("collective", {"op": raw or op, "sequence": number}),
            (
                "gpu_slice",
                {
                    "device": 0,
                    "kind": "kernel",
                    "name": "nccl",
                    "ts": 10 * (number or 0),
                    "dur": 1,
                    "is_communication": True,
                },
            ),
        ):
            made.insert(table, where | row)
    return made


def test_another_operation_at_the_same_number_is_a_desync():
    wrong = [0, (1, "broadcast", 64), 2]
    made = numbered([0, 1, 2], [0, 1, 2], wrong)
    assert made.lines() == ["desync | rank 2 | - | - | high | collective 1: broadcast, others all-reduce"]
    (found,) = made.told.findings
    assert found.ranks == (2,)
    assert found.evidence.rows == (
        ([2], 1, "operation", "broadcast", None, [0, 1], "all_reduce", None, 1, "dp", [0, 1, 2]),
    )
    # Of two nobody knows which is wrong.
    assert numbered([0, 1, 2], wrong).lines() == [
        "desync | ranks 0-1 | - | - | high | collective 1: rank 1 broadcast, rank 0 all-reduce"
    ]


def test_all_that_differ_are_told_and_the_group_is_complete():
    lists = [[0, (1, op, 64), 2] for op in ("broadcast", "reduce", "all_reduce", "all_reduce", "all_reduce")]
    made = numbered(*lists)
    assert made.lines() == [
        "desync | ranks 0-1 | - | - | high | collective 1: rank 0 broadcast, rank 1 reduce, others all-reduce"
    ]
    assert "the group of ranks 0-4 differs in 1 place" in made.told.findings[0].confidence_reason
    assert numbered(*lists[:3]).lines() == [
        "desync | ranks 0-2 | - | - | high | collective 1: rank 1 reduce, rank 2 all-reduce, rank 0 broadcast"
    ]
    # one that lacks it where others differ
    made = numbered(*lists[:1], *lists[2:], [0, 2])
    assert made.lines() == ["desync | rank 0 | - | - | high | collective 1: broadcast, ranks 1-3 all-reduce"]
    assert "the group of ranks 0-4 differs" in made.told.findings[0].confidence_reason


def test_of_many_that_differ_the_first_are_told():
    made = numbered(*([0, (1, "all_reduce", 64 + rank), 2] for rank in range(6)))
    (line,) = made.lines()
    assert line.endswith("rank 1 65 bytes, rank 2 66 bytes, rank 3 67 bytes, 2 more, rank 0 64 bytes")


def test_other_bytes_where_all_need_the_same_are_a_desync():
    made = numbered([0, 1, 2], [0, (1, "all_reduce", 65), (2, "all_reduce", 65)], [0, 1, 2])
    assert made.lines() == ["desync | rank 1 | - | - | medium | all-reduce 1: 65 bytes, others 64 bytes"]
    assert "the group of ranks 0-2 differs in 2 places" in made.told.findings[0].confidence_reason


@pytest.mark.parametrize("op", ["all_to_all", "gather", "scatter", "send_recv"])
def test_bytes_may_differ_where_each_rank_has_its_own_part(op):
    assert numbered([0, (1, op, 64), 2], [0, (1, op, 65), 2]).lines() == []


def test_lists_of_tensors_are_gathered_in_parts_of_any_size_and_single_ones_are_not():
    lists = [0, (1, "all_gather", 64), 2], [0, (1, "all_gather", 65), 2]
    assert numbered(*lists, raw="allgather").lines() == []
    assert len(numbered(*lists, raw="_allgather_base").lines()) == 1


def test_a_number_that_a_rank_lacks_between_those_that_all_have():
    assert numbered([0, 1, 2], [0, 2], [0, 1, 2]).lines() == [
        "desync | rank 1 | - | - | medium | collective 1: none, others all-reduce"
    ]
    assert numbered([0, 1, 2], [0, 2], [0, 2]).lines() == [
        "desync | rank 0 | - | - | medium | collective 1: all-reduce, others none"
    ]


@pytest.mark.parametrize(
    "lists",
    [
        ([0, 1, 2, 3], [1, 2, 3], [0, 1, 2]),
        ([0, 1, 2], [2, 3, 4]),
        # what has no number may be what it lacks
        ([0, 1, 2], [0, None, 2], [0, 1, 2]),
        # a rank that has no part in it launches nothing
        ([0, (1, "all_to_all", 64), 2], [0, 2], [0, (1, "all_to_all", 64), 2]),
        # sends have numbers of their own
        ([0, 1, 2, (3, "send_recv", 64)], [0, 2, (3, "send_recv", 64)]),
        # several at one number are called as one
        ([0, 1, 2], [0, 1, (1, "broadcast", 64), 2]),
    ],
    ids=["edges", "apart", "unnumbered", "no part", "sends", "coalesced"],
)
def test_what_is_no_evidence_of_a_desync(lists):
    assert numbered(*lists).lines() == []


def test_what_began_before_all_that_all_ranks_have_may_be_cut_off():
    made = numbered([0, 1, 2], [0, 2], [0, 1, 2])
    made.connection.execute("update gpu_slice set ts = -1 where ts = 10")
    assert made.lines() == []


def test_sends_that_name_no_group_may_be_of_any():
    lists = [0, 1, 2], [0, (1, "broadcast", 64), 2, (None, "send_recv", 64)]
    assert numbered(*lists).lines() == []
    made = numbered(*lists)
    made.connection.execute("update collective_slice set group_name = null where op = 'send_recv'")
    assert made.lines() == []
    made.connection.execute("update collective_slice set group_name = 'other' where op = 'send_recv'")
    assert len(made.lines()) == 1


def test_more_ranks_than_a_group_has_are_of_several_groups():
    assert numbered([0, 1, 2], [0, 1, 2], [0, (1, "broadcast", 64), 2], size=2).lines() == []


def test_without_numbers_desync_is_not_told():
    assert Made().cannot_tell("desync") == ["groups without sends and receives have no sequence numbers"]
    assert numbered([0, 1], [0, 1]).cannot_tell("desync") == []
    tables = Made(usual_source="operation")
    assert tables.cannot_tell("desync") == ["a table of operations has no sequence numbers of collectives"]
