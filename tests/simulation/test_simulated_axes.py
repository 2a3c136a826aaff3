"""Jobs along several axes of parallelism: every collective is on its axis, and the time by axis is the simulator's own."""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import closing

import pytest
from simulator import simulate, write_kineto
from simulator.meshes import DEVICE_MESH, MEGATRON, UNTOLD, axis_of_group, experts, fsdp, pipeline

from traceq.analysis import order
from traceq.database import sql
from traceq.database.connect import connect
from traceq.diagnosis.job.judge import judge_job
from traceq.loading.ingest import ingest
from traceq.loading.options import TraceOptions

THREE = {"tp": 2, "dp": 2, "pp": 2}
JOBS = {
    "fsdp": fsdp(4, slow={2: 1.4}),
    "fsdp, untold": fsdp(4, UNTOLD),
    "experts": experts(slow={1: 1.3}),
    "experts, untold": experts(words=UNTOLD),
    "pipeline": pipeline({"pp": 4}, slow={3: 1.2}),
    "pipeline, mesh": pipeline({"pp": 4}, DEVICE_MESH),
    "pipeline, untold": pipeline({"pp": 2}, UNTOLD),
    "three axes": pipeline(THREE, MEGATRON, slow={5: 1.3}),
    "three axes, mesh": pipeline(THREE, DEVICE_MESH),
    "three axes, untold": pipeline(THREE, UNTOLD),
}
# Each way of telling axes once, by default.
USUAL = ("fsdp, untold", "experts", "pipeline", "three axes, untold")
NAMES = [name if name in USUAL else pytest.param(name, marks=pytest.mark.slow) for name in JOBS]


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """judged(name, **options): a connection to the database of a job, and the run that it is of."""
    # what the axes are told from
    topics = tuple(topic for topic in order.TOPICS if {"launch_state", "process_group"} & {*topic.members})
    made = {}

    def make(name, **options):
        key = (name, *options.items())
        if key not in made:
            run = simulate(JOBS[name])
            folder = tmp_path_factory.mktemp("job")
            for rank in run.ranks:
                write_kineto(run, folder / f"rank{rank}.json", rank)
            database = folder / "job.duckdb"
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(order, "TOPICS", topics)
                ingest([folder], database, options=TraceOptions(**options))
            made[key] = connect(database), run
        return made[key]

    yield make
    for connection, _ in made.values():
        connection.close()


def times_of(run):
    """(axis, time of all ranks, what the fastest rank of each collective needed, on all ranks), as the simulator has them."""
    met = defaultdict(list)
    for process in run.processes:
        for started in process.started:
            collective = getattr(started.item.action, "collective", None)
            if collective is not None:
                met[collective.group, collective.sequence].append(started.item.end - started.item.start)
    dur, transfer = Counter(), Counter()
    for (group, _), every in met.items():
        axis = axis_of_group(group)
        dur[axis] += sum(every)
        transfer[axis] += min(every) * len(every)
    return sorted((axis, dur[axis], transfer[axis]) for axis in dur)


@pytest.mark.parametrize("name", NAMES)
def test_every_collective_is_on_its_axis(judged, name):
    connection, _ = judged(name)
    told = connection.execute("select trace_id, group_name, axis from collective_axis group by all").fetchall()
    assert told
    assert [each for each in told if each[2] != axis_of_group(each[1])] == []
    source = {"untold": "mesh"}.get(name.partition(", ")[2], "description")
    whole_world = name in ("fsdp, untold", "pipeline, untold")
    (sources,) = connection.execute("select list(distinct axis_source) from collective_axis").fetchone()
    assert sources == ["inferred" if whole_world else source]


@pytest.mark.parametrize("name", NAMES)
def test_time_by_axis_is_that_of_the_simulator(judged, name):
    connection, run = judged(name)
    of_axis = "select axis, sum(dur), sum(transfer) from job_axis_rank group by axis order by axis"
    assert connection.execute(of_axis).fetchall() == times_of(run)
    # the sums of the axes are those of the groups, of the ranks, and of the slices
    (by_rank,), (by_slice,) = (
        connection.execute(query).fetchall()
        for query in (
            "select sum(dur), sum(transfer + wait), sum(exposed) from job_axis_rank",
            "select sum(dur), sum(dur), sum(exposed) from collective_slice",
        )
    )
    assert by_rank == by_slice
    by_group = "select axis, sum(dur)::bigint from (select any_value(axis) as axis, sum(dur) as dur from job_axis_rank group by group_id) group by axis order by axis"  # noqa: E501
    assert connection.execute(by_group).fetchall() == [(axis, dur) for axis, dur, _ in times_of(run)]


@pytest.mark.parametrize("name", ["experts", "pipeline"])
def test_sums_by_axis_are_those_by_group(judged, name):
    connection, _ = judged(name)
    for (trace_id,) in connection.execute("select trace_id from trace").fetchall():
        checked = sql.run(connection, "analysis/communication/identities/axis_time.sql", trace_id=trace_id).fetchall()
        assert checked == [(0, False, "device 0")]


@pytest.mark.slow
def test_the_slow_rank_comes_last_on_the_axes_where_others_wait_for_it(judged):
    connection, _ = judged("three axes")
    late = connection.execute(
        "select arg_max(unit, late_by) from job_axis_rank where late_by > 0 and axis = 'tp'"
    ).fetchall()
    assert late == [(5,)]
    # its tensor-parallel neighbour waits for it, and never the other way round
    waits = "select unit, other, wait > 0 from job_pair where unit in (4, 5) and other in (4, 5) order by unit"
    assert connection.execute(waits).fetchall() == [(4, 5, True), (5, 4, False)]


def test_pairs_are_those_of_groups_and_messages(judged):
    connection, _ = judged("pipeline")
    # messages go to the next stage and back, though all four are one group
    pairs = connection.execute("select unit, other, bytes // 1048576 from job_pair order by all").fetchall()
    mib = 3 * 2 * 4 * 2
    assert pairs == [(0, 1, mib), (1, 0, mib), (1, 2, mib), (2, 1, mib), (2, 3, mib), (3, 2, mib)]


def test_the_slow_stage_of_a_pipeline_waits_least(judged):
    connection, run = judged("pipeline")
    found = connection.execute(
        "select unit, stages, micro_batches, share_of_equal, share, wait from job_bubble order by unit"
    ).fetchall()
    assert {row[1:4] for row in found} == {(4, 4, 3 / 7)}
    assert min(found, key=lambda row: row[4])[0] == 3
    assert found[3][4] < 3 / 7 < found[0][4]
    # what the simulator has: time in messages beyond what the quicker side of each needed
    met = defaultdict(list)
    for process in run.processes:
        for started in process.started:
            collective = getattr(started.item.action, "collective", None)
            if collective is not None:
                met[collective.sequence].append((process.process.rank, started.item.end - started.item.start))
    waits = Counter()
    for both in met.values():
        for rank, dur in both:
            waits[rank] += dur - min(dur for _, dur in both)
    assert {row[0]: row[5] for row in found} == waits
    # a message has a rank that came last, though four ranks are in its group
    late = connection.execute(
        "select count(late_unit) > 0, count(*) from collective_match where group_size = 4"
    ).fetchall()
    assert late == [(True, 3 * 2 * 4 * 3)]


@pytest.mark.slow
def test_axes_that_are_given_come_first(judged):
    connection, _ = judged("three axes, untold", axes="cp=2,dp=2,pp=2")
    assert connection.execute("select distinct axis, axis_source, stride from job_group order by all").fetchall() == [
        ("cp", "given", 1),
        ("dp", "given", 2),
        ("pp", "given", 4),
    ]


@pytest.mark.slow
def test_a_dataset_has_the_tables_of_axes(tmp_path):
    from traceq.app.api import ingest, open_traces

    run = simulate(JOBS["experts"])
    for rank in run.ranks:
        write_kineto(run, tmp_path / f"rank{rank}.json", rank)
    ingest([str(tmp_path / f"rank{rank}.json") for rank in run.ranks], f"{tmp_path}/job/")
    with closing(open_traces(f"{tmp_path}/job/")) as opened:
        found = opened.sql("select axis, sum(dur), sum(transfer) from job_axis_rank group by axis order by axis")
        assert found.fetchall() == times_of(run)


def stages_of(connection):
    """The slow stage of a job with what evening it saves, ms, and the findings on it: unit, because, saving per step in us."""
    ((slow, win),) = connection.execute("select slow_stage, stage_win / 1e6 from job").fetchall()
    found = [each for each in judge_job(connection, 0, 0).findings if each.rule == "stage-imbalance"]
    return slow, win, [(each.unit, each.because, round((each.saving_ns or 0) / 1e3)) for each in found]


def lasts(program):
    """Return the time, ms, from the first to the last message of the simulated job."""
    run = simulate(program)
    met = [s.item for p in run.processes for s in p.started if getattr(s.item.action, "collective", None)]
    return (max(item.end for item in met) - min(item.start for item in met)) / 1e6


SLOW = {
    "slow last stage": {3: 1.2},
    "slow second stage": {1: 1.3},
    "slow first stage": {0: 1.4},
}
HEALTHY = {
    "equal stages": {},
    "a shorter first stage": {0: 0.5},
    "a shorter last stage": {3: 0.6},
}
JOBS |= {name: pipeline({"pp": 4}, slow=slow) for name, slow in (SLOW | HEALTHY).items()}


@pytest.mark.parametrize(
    "name", ["slow last stage", *(pytest.param(name, marks=pytest.mark.slow) for name in [*SLOW][1:])]
)
def test_a_slow_stage_of_one_rank_is_named_with_what_evening_it_saves(judged, name):
    connection, _ = judged(name)
    ((stage, factor),) = SLOW[name].items()
    found, win, (finding,) = stages_of(connection)
    assert (found, finding[0]) == (stage, f"stage {stage} of 4")
    # the simulator's own what-if: the same work, alike on all stages
    even = pipeline({"pp": 4}, slow=dict.fromkeys(range(4), (3 + factor) / 4))
    assert win == pytest.approx(lasts(pipeline({"pp": 4}, slow=SLOW[name])) - lasts(even), rel=0.25)


@pytest.mark.parametrize(
    "name", ["a shorter first stage", "equal stages", pytest.param("a shorter last stage", marks=pytest.mark.slow)]
)
def test_equal_stages_and_one_that_is_shorter_are_no_finding(judged, name):
    connection, _ = judged(name)
    found, win, findings = stages_of(connection)
    assert (found, findings) == (None, [])
    assert win < 0.01 * lasts(pipeline({"pp": 4}, slow=HEALTHY[name]))


def test_where_no_one_sends_no_stage_is_named(judged):
    connection, _ = judged("fsdp, untold")
    assert stages_of(connection) == (None, None, [])
