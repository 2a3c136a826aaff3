"""Every identity holds on a sound database, and finds what was broken on purpose, and where."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from traceq.database.connect import connect
from traceq.health.diagnosis import diagnose
from traceq.health.identities import IDENTITIES, IdentityCheck, check, check_one
from traceq.loading.ingest import ingest

NEVER_RELEASED = """
    insert into allocation by name
    select 1 as trace_id, 0 as allocation_id, 3 as device, 8 as address, 9 as requested_bytes, false as at_peak, false as is_lost
"""
# A job of 10 ns, and a path with the pieces that are put in.
JOB_WITH_PATH = """
    insert into job by name
    select 7 as job, 0 as time_window, 1 as ranks, 0 as short_ranks, 1 as steps, 0 as communication, 0 as mismatched,
        0 as violations, 10 as dur;
    insert into job_rank by name
    select 7 as job, 0 as time_window, 0 as unit, 1 as trace_id, 'trace' as rank_source, 0 as clock_samples;
    insert into job_path by name
    select 7 as job, 0 as time_window, 'own' as kind, 0 as unit, 1 as trace_id, 1 as slice_id, 0 as match_id, *
    from (values {}) as piece (place, ts_begin, dur)
"""
LAYER = """
    insert into layer by name
    select 1 as trace_id, 1 as device, 0 as place, 'layer 0 of 4' as name, 'order' as source, {kernels} as kernels,
        {dur} as forward_dur, 0 as backward_dur, 0 as step, 0 as first_kernel, 0 as last_kernel
"""
# (identity, what breaks it, where it is found)
BREAKING = (
    ("slice_time", "update gpu_slice set dur = -1 where name = 'relu' and device = 1", "slice 14"),
    ("slice_time", "update cpu_slice set ts = -5 where name = 'aten::mm'", "slice 1"),
    ("slice_time", "update trace set dur = 150", "slice 8"),
    ("slice_id", "update gpu_slice set slice_id = 1 where slice_id = 3", "slice 1"),
    ("nesting", "update cpu_slice set depth = 2 where name = 'aten::mm'", "cpu_slice 1"),
    ("nesting", "update cpu_slice set depth = 1 where name = 'ProfilerStep#0'", "cpu_slice 0"),
    ("nesting", "update cpu_slice set parent_id = 4711 where name = 'aten::mm'", "cpu_slice 1"),
    ("nesting", "update cpu_slice set thread_id = 1 where name = 'aten::relu'", "cpu_slice 9"),
    ("nesting", "update cpu_slice set ts = 101 where name = 'aten::mm'", "cpu_slice 1"),
    ("launch", "update gpu_slice set correlation_id = 99 where slice_id = 5", "gpu_slice 5"),
    ("launch", "update gpu_slice set launch_id = null where slice_id = 5", "gpu_slice 5"),
    ("launch", "update gpu_slice set launch_id = 1 where slice_id = 5", "gpu_slice 5"),
    ("launch", "update gpu_slice set pid = 2 where slice_id = 5", "gpu_slice 5"),
    ("step_order", "update step set ts = 101, dur = 99 where step = 1", "step 0"),
    ("step_order", "update step set step = -1 where step = 1", "step -1"),
    ("step_order", "update step set dur = 0 where step = 1", "step 1"),
    ("step_of_slice", "update gpu_slice set step = 1 where slice_id = 3", "gpu_slice 3"),
    ("step_of_slice", "update gpu_slice set step = null where slice_id = 3", "gpu_slice 3"),
    ("step_stats", "update step_stats set total = total + 1", "step_stats"),
    ("step_stats", "update step_stats set steps = 1, excluded = 1", "step_stats"),
    ("step_stats", "delete from step_stats", "step_stats"),
    ("activity_segment", "update device_activity set dur = dur + 1 where device = 1 and ts = 25", "device 1 at 25 ns"),
    ("activity_segment", "update device_activity set dur = 0 where device = 1 and ts = 25", "device 1 at 25 ns"),
    ("activity_segment", "update device_activity set step = 1 where device = 1 and ts = 25", "device 1 at 25 ns"),
    ("activity_step", "delete from device_activity where device = 1 and ts = 25", "device 1, step 0"),
    ("activity_step", "delete from device_activity where device = 1", "device 1, step 0"),
    ("activity_busy", "update device_activity set category = 'idle' where device = 1 and ts = 25", "device 1"),
    ("activity_busy", "delete from device_activity where device = 1", "device 1"),
    ("time_ledger", "update time_ledger set dur = dur + 1 where device = 1 and step = 1", "device 1, step 1"),
    ("time_ledger", "delete from time_ledger where device = 0 and step = 1", "device 0, step 1"),
    ("time_ledger", "insert into time_ledger values (1, 0, 0, 'memset', 0)", "device 0, step 0"),
    (
        "time_ledger_activity",
        "update time_ledger set category = 'memset' where device = 0 and step = 1 and category = 'compute'",
        "device 0, step 1: compute",
    ),
    (
        "time_ledger_busy",
        "update time_ledger set dur = 101 where device = 1 and category = 'compute'",
        "device 1, step 0",
    ),
    ("idle_gap", "delete from idle_gap where device = 1 and step = 0 and ts = 0", "device 1 at 0 ns"),
    ("idle_gap", "update idle_gap set dur = dur + 1 where device = 1 and step = 0 and ts = 0", "device 1 at 0 ns"),
    ("idle_gap_cause", "update idle_gap_cause set dur = dur + 1 where gap_id = 2", "gap 2"),
    ("idle_gap_cause", "delete from idle_gap_cause where gap_id = 2", "gap 2"),
    ("idle_gap_cause", "update idle_gap set cause = 'idle_os' where gap_id = 2", "gap 2"),
    ("idle_gap_cause", "insert into idle_gap_cause values (1, 2, 'idle_os', 0, 0, null, null)", "gap 2"),
    ("idle_culprit", "update idle_culprit set dur = dur - 1 where gap_id = 2", "gap 2, idle_data"),
    ("idle_culprit", "update idle_culprit set gap_id = 99 where gap_id = 2", "gap 2, idle_data"),
    ("idle_culprit", "delete from idle_culprit where gap_id = 2", "gap 2, idle_data"),
    ("idle_culprit_slice", "update idle_culprit set dur = dur + 100 where gap_id = 2", "cpu_slice 8 on device 0"),
    ("idle_culprit_slice", "update idle_culprit set slice_id = 99 where gap_id = 2", "cpu_slice 99 on device 0"),
    ("wait_debt", "insert into wait_debt values (1, 2, 8, 1000000)", "cpu_slice 8 on device 0"),
    ("stall_cost", "insert into stall_cost values (1, 0, 'idle_data', 2, null, 1)", "stall 0 on device 0"),
    ("host_ledger", "update host_ledger set dur = dur + 1 where step = 1", "step 1"),
    ("host_ledger", "delete from host_ledger where step = 1", "step 1"),
    ("copy_overlap", "update copy_overlap set exposed = exposed + 1", "gpu_slice 7"),
    ("copy_overlap", "update copy_overlap set overlapped = -1, exposed = 21", "gpu_slice 7"),
    ("copy_overlap", "update copy_overlap set could_overlap = exposed + 1", "gpu_slice 7"),
    ("copy_overlap", "update copy_overlap set dur = dur + 1, exposed = exposed + 1", "gpu_slice 7"),
    ("copy_overlap", "delete from copy_overlap", "gpu_slice 7"),
    ("copy_overlap", "insert into copy_overlap from copy_overlap", "gpu_slice 7"),
    ("copy_activity", "update copy_overlap set overlapped = 0, hidden = overlapped", "device 0: copy_h2d"),
    ("copy_activity", "update copy_overlap set overlapped = 0, exposed = dur", "device 0: copy_h2d"),
    ("copy_activity", "update copy_overlap set category = 'copy_other'", "device 0: copy_h2d"),
    ("copy_total", "delete from time_ledger where category = 'copy_h2d'", "device 0, step 0: copy_h2d"),
    ("copy_could_overlap", "update copy_overlap set could_overlap = 31", "device 0, step 0"),
    ("copy_could_overlap", "update copy_overlap set could_overlap = 1; delete from time_ledger", "device 0, step 0"),
    (
        "copy_total",
        "update device_activity set category = 'copy_h2d' where copy_h2d > 0 and compute > 0",
        "device 0, step 0: copy_h2d",
    ),
    (
        "communication_overlap",
        "update communication_overlap set overlapped = overlapped + 1 where device = 1 and step = 1",
        "device 1, step 1",
    ),
    (
        "communication_overlap",
        "update communication_overlap set exposed = 9, overlapped = 11 where device = 1 and step = 1",
        "device 1, step 1",
    ),
    (
        "communication_overlap",
        "update communication_overlap set compute = compute + 1 where device = 1 and step = 1",
        "device 1, step 1",
    ),
    ("communication_overlap", "delete from communication_overlap where device = 0 and step = 1", "device 0, step 1"),
    ("collective_slice", "update collective_slice set exposed = exposed + 1", "gpu_slice 17"),
    ("collective_slice", "update collective_slice set blocking = exposed + 1", "gpu_slice 17"),
    ("collective_slice", "delete from collective_slice", "gpu_slice 17"),
    ("collective_activity", "update collective_slice set exposed = 9, overlapped = 11", "device 1"),
    ("job_path", JOB_WITH_PATH.format("(0, 0, 4), (1, 4, 5)"), "job 7, window 0"),
    ("job_path", JOB_WITH_PATH.format("(0, 0, 4), (1, 5, 6)"), "job 7, window 0"),
    ("job_path", JOB_WITH_PATH.format("(0, 0, 4), (2, 4, 6)"), "job 7, window 0"),
    ("kernel_occupancy", "update kernel_occupancy set exclusive_dur = exclusive_dur + 2 where device = 1", "device 1"),
    ("kernel_occupancy", "delete from kernel_occupancy where device = 1", "device 1"),
    ("layer", LAYER.format(kernels=2, dur=20), "device 1"),
    ("layer", LAYER.format(kernels=1, dur=2_000_000), "device 1"),
    (
        "kernel_occupancy",
        "insert into kernel_occupancy select * replace (0 as exclusive_dur) from kernel_occupancy",
        "device 0",
    ),
    ("data_fetch", "update data_fetch set waiting = waiting + 1", "cpu_slice 15"),
    ("data_fetch", "update data_fetch set waiting = -1, reading = 1, unexplained = dur", "cpu_slice 15"),
    ("data_fetch", "update data_fetch set stalled = dur + 1", "cpu_slice 15"),
    ("data_stall", "update data_stall set data_wait = data_wait + 1 where step = 1", "step 1"),
    ("data_stall", "update data_stall set data_wait = null where step = 1", "step 1"),
    ("data_stall", "update data_stall set idle_data = 0, data_stall = input_copy where step = 1", "step 1"),
    ("data_stall", "update data_stall set data_stall = data_stall + 1 where step = 1", "step 1"),
    ("data_stall", "update data_stall set hidden = -1 where step = 1", "step 1"),
    ("data_stall", "delete from data_stall where step = 1", "step 1"),
    ("allocation_peak", "insert into memory_peak values (1, 2, 0, 0, 5, 9, 9, 0, 0, 0, 0, 0, 0, 0, 0, 9)", "device 2"),
    ("allocation_peak", NEVER_RELEASED, "device 3"),
    ("dependency", "update dependency set lag = lag + 1 where kind = 'thread' and source_id = 4", "thread from 4 to 6"),
    (
        "dependency",
        "update dependency set target_id = 99 where kind = 'stream' and source_id = 3",
        "stream from 3 to 99",
    ),
    ("dependency", "delete from gpu_slice where slice_id = 14", "stream from 5 to 14"),
    ("dependency", "update cpu_slice set ts = 11 where slice_id = 2", "launch from 2 to 3"),
    ("dependency", "update cpu_slice set dur = 21 where slice_id = 10", "synchronization from 5 to 10"),
    ("critical_path", "update critical_path set dur = dur + 1 where segment = 3", "step 0"),
    ("critical_path", "update critical_path set ts = ts + 1 where segment = 9", "step 1"),
    ("critical_path", "update critical_path set dur = dur + 1 where segment = 21", "step 1"),
    ("critical_path", "delete from critical_path where step = 1", "step 1"),
    ("critical_path", "delete from replay_step where step = 1", "step 1"),
    ("replay", "update replay set saved_low = saved + 1 where scenario = 'idle_data'", "scenario idle_data"),
    ("replay", "update replay set saved_high = saved - 1 where scenario = 'idle_sync'", "scenario idle_sync"),
    ("replay", "update replay set saved_quarter = saved + 1 where scenario = 'idle_sync'", "scenario idle_sync"),
    ("replay", "update replay set saved_quarter = 2 where scenario = 'idle_sync'", "scenario idle_sync"),
    ("replay", "update replay set share_high = 1.01 where scenario = 'compute'", "scenario compute"),
    ("replay", "update replay set share_low = -0.01 where scenario = 'compute'", "scenario compute"),
    ("replay", "update replay set error = 0.04 where scenario = 'compute'", "scenario compute"),
    ("replay", "update replay set unexplained = 0.06 where scenario = 'compute'", "scenario compute"),
    ("replay", "update replay set saved = null, share = null where scenario = 'idle_sync'", "scenario idle_sync"),
    (
        "replay",
        "update replay set scenario = 'idle_unattributed' where scenario = 'compute'",
        "scenario idle_unattributed",
    ),
    ("replay_busy", "update replay set saved = on_path + 1 where scenario = 'compute'", "scenario compute"),
    (
        "replay_busy",
        "update replay set on_path = 4, saved = 9, error = 0.02 where scenario = 'compute'",
        "scenario compute",
    ),
    ("replay_idle", "update replay set saved = 141 where scenario = 'idle_python'", "scenario idle_python"),
    ("replay_idle", "update replay set saved = 141 where scenario = 'launch_graph'", "scenario launch_graph"),
)


def found(connection, trace_id=1):
    """Identity -> rows that break it and the first of them, of those that do not hold."""
    checked = check(connection, trace_id)
    return {each.identity.name: (each.broken, each.example) for each in checked if each.broken}


def test_a_sound_database_breaks_nothing_and_everything_was_checked(whole):
    with connect(whole) as connection:
        checked = check(connection, 1)
    counted = " ".join(f"{each.identity.name}:{each.checked}" for each in checked)
    assert [each for each in checked if each.broken or each.example is not None] == []
    assert counted == (
        "slice_time:18 slice_id:18 nesting:12 launch:6 step_order:2 step_of_slice:6 step_stats:2"
        " activity_segment:16 activity_step:4 activity_busy:2 time_ledger:4 time_ledger_activity:10 time_ledger_busy:4"
        " idle_gap:8 idle_gap_cause:8 idle_culprit:20 idle_culprit_slice:18 wait_debt:0 host_ledger:2 stall_cost:0"
        " copy_overlap:1 copy_activity:1 copy_total:1 copy_could_overlap:1"
        " communication_overlap:4 collective_slice:1 collective_activity:1 job_path:0 kernel_occupancy:2 layer:0 data_fetch:1"
        " data_stall:2 allocation_peak:0 dependency:17 critical_path:2 replay:12 replay_busy:2 replay_idle:7"
    )


@pytest.mark.parametrize(("name", "statement", "example"), BREAKING)
def test_what_is_broken_on_purpose_is_found(changed, name, statement, example):
    (identity,) = (each for each in IDENTITIES if each.name == name)
    result = check_one(changed(statement), identity, 1)
    assert result.broken >= 1
    assert result.example == example


def test_a_path_without_a_hole_is_sound(changed):
    (identity,) = (each for each in IDENTITIES if each.name == "job_path")
    result = check_one(changed(JOB_WITH_PATH.format("(0, 0, 4), (1, 4, 6)")), identity, 1)
    assert (result.checked, result.broken) == (1, 0)


def test_every_identity_was_broken_on_purpose():
    assert {name for name, _, _ in BREAKING} == {identity.name for identity in IDENTITIES}


def test_what_the_replay_is_off_or_cannot_explain_is_no_fault(changed):
    scenario = "where scenario = 'compute'"
    sound = f"update replay set saved = 4, saved_low = 4, saved_high = 4, saved_quarter = 2 {scenario}"
    assert found(changed(f"{sound}; update replay set error = 0.02")) == {}
    assert found(changed("update replay set error = 0, unexplained = 0.02")) == {}
    assert "replay_busy" in found(changed("update replay set unexplained = 0.01"))


def test_where_nothing_ties_gpu_and_host_all_that_can_be_removed_is_a_bound(changed):
    untied = "update replay set saved = null, share = null, share_low = 0, share_high = 1, saved_low = 0"
    assert found(changed(f"{untied}, saved_high = removable")) == {}
    assert "replay" in found(changed(f"{untied}, saved_high = 5"))


def test_an_upgraded_database_has_nothing_of_it_to_check(changed):
    """Migrations leave the new tables empty, and what of a replay was not known then NULL."""
    old = "delete from critical_path; delete from replay_step; delete from dependency;"
    old += "update replay set unexplained = null, on_path = null, saved_high = 0; update copy_overlap set could_overlap = 9"
    assert found(changed(old)) == {}


def test_slices_that_overlap_need_no_depth_of_their_parent(changed):
    overlap = "insert into import_note values (1, 'info', 'overlapping_slices', 1, '')"
    assert found(changed(f"update cpu_slice set depth = 2 where name = 'aten::mm'; {overlap}")) == {}


def test_a_trace_is_judged_by_its_own_rows(tmp_path):
    """Ids, steps and devices are the same in both traces; only the second is broken."""
    paths = [kineto(tmp_path / f"rank{rank}.json", rank) for rank in range(2)]
    database = tmp_path / "job.duckdb"
    ingest(paths, database)
    with duckdb.connect(str(database)) as connection:
        assert (found(connection, 1), found(connection, 2)) == ({}, {})
        for table in ("host_ledger", "idle_gap_cause", "device_activity"):
            connection.execute(f"update {table} set dur = dur + 1 where trace_id = 2")
        connection.execute("update time_ledger set dur = dur + 3 where trace_id = 2")
        connection.execute("update idle_culprit set dur = dur + 100 where trace_id = 2")
        connection.execute("insert into wait_debt select 2, gap_id, 0, dur + 1 from idle_gap where trace_id = 2")
        connection.execute(
            "insert into stall_cost select 2, 0, 'idle_data', gap_id, null, dur + 1 from idle_gap where trace_id = 2"
        )
        connection.execute("insert into memory_peak values (2, 2, 0, 0, 5, 9, 9, 0, 0, 0, 0, 0, 0, 0, 0, 9)")
        connection.execute("update gpu_slice set launch_id = null where trace_id = 2")
        connection.execute("update cpu_slice set depth = 5 where trace_id = 2")
        for table in ("copy_overlap", "collective_slice", "communication_overlap"):
            connection.execute(f"update {table} set exposed = exposed + 2 where trace_id = 2")
        connection.execute("update kernel_occupancy set exclusive_dur = 0 where trace_id = 2")
        connection.execute(LAYER.replace("1 as trace_id", "2 as trace_id").format(kernels=99, dur=1))
        connection.execute("update data_fetch set waiting = 99 where trace_id = 2")
        connection.execute("update data_stall set data_wait = 99 where trace_id = 2")
        connection.execute("update copy_overlap set could_overlap = 99_999 where trace_id = 2")
        connection.execute("update dependency set lag = lag + 1 where trace_id = 2")
        connection.execute("update critical_path set dur = dur + 1 where trace_id = 2")
        connection.execute("update replay set saved = 999_999, share = 2 where trace_id = 2")
        broken = {identity.name for identity in IDENTITIES} - {
            *("slice_time", "slice_id", "step_order", "step_of_slice", "step_stats", "activity_segment", "idle_gap"),
            *("time_ledger_busy", "time_ledger_activity", "job_path"),
        }
        assert found(connection, 1) == {}
        assert broken <= set(found(connection, 2))


def test_work_that_either_of_two_processes_may_have_launched_is_rightly_unjoined(tmp_path):
    ingest([Path(__file__).parents[2] / "fixtures/broken/two_processes_one_file.json"], tmp_path / "t.duckdb")
    with connect(tmp_path / "t.duckdb") as connection:
        assert connection.execute("select count(*) from gpu_slice where launch_id is null").fetchone() == (2,)
        assert found(connection) == {}


def kineto(path, rank):
    """A kernel, communication beside it, a copy and a fetch; the kernel is longer on rank 1."""
    host = {"ph": "X", "pid": 1, "tid": 1}
    step = {**host, "cat": "user_annotation", "dur": 100}
    gpu = {"ph": "X", "pid": 0, "tid": 7}
    device = {"device": 0, "stream": 7}
    events = [
        {**step, "name": "ProfilerStep#0", "ts": 0},
        {**step, "name": "ProfilerStep#1", "ts": 100},
        {**step, "name": "traceq.fetch#train", "ts": 1, "dur": 5},
        {**host, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 10, "dur": 5, "args": {"correlation": 1}},
        {**gpu, "cat": "kernel", "name": "gemm", "ts": 20, "dur": 30 + rank, "args": {**device, "correlation": 1}},
        {**gpu, "cat": "kernel", "name": "ncclDevKernel_AllReduce", "ts": 45, "dur": 20, "args": device},
        {**gpu, "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "ts": 70, "dur": 9, "args": device},
    ]
    path.write_text(json.dumps({"distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": events}))
    return path


@pytest.mark.parametrize(
    ("launched_at", "broken", "damage"),
    [
        (90, ("wait_debt",), ("GPU slices that begin before the call that launched them (1)",)),
        (90, ("wait_debt", "time_ledger"), ()),
        (10, ("wait_debt",), ()),
    ],
    ids=["it explains waits", "it explains no ledger", "nothing is impossible"],
)
def test_only_what_cannot_have_happened_explains_what_does_not_hold(tmp_path, monkeypatch, launched_at, broken, damage):
    operator = {"cat": "cpu_op", "ph": "X", "pid": 1, "tid": 1, "name": "aten::mm"}
    call = {"cat": "cuda_runtime", "ph": "X", "pid": 1, "tid": 1, "name": "cudaLaunchKernel", "dur": 1}
    kernel = {"cat": "kernel", "ph": "X", "pid": 0, "tid": 7, "name": "gemm", "dur": 5}
    events = [
        {**operator, "ts": 1, "dur": 200},
        {**call, "ts": launched_at, "args": {"correlation": 1}},
        {**kernel, "ts": 50, "args": {"correlation": 1, "device": 0, "stream": 7}},
    ]
    (tmp_path / "t.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    ingest([tmp_path / "t.json"], tmp_path / "t.duckdb")
    checked = tuple(IdentityCheck(each, 9, int(each.name in broken), None) for each in IDENTITIES)
    monkeypatch.setattr("traceq.health.identities.check", lambda *_: checked)
    with closing(connect(tmp_path / "t.duckdb")) as connection:
        assert [each.damage for each in diagnose(connection)] == [damage]
