"""Tables of a job's operations: what is read from them, and what is said of files that are none."""

from __future__ import annotations

import json
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from operation_table import NAMES, make_pipeline, write_file

import traceq
from traceq.app.ingest import ingest
from traceq.errors import UnknownFormat, UnusableTrace
from traceq.importers import find, operations, sniff


def list_tables(path):
    found = {}
    for table, batch in operations.read(path):
        found.setdefault(table, []).extend(batch.to_pylist())
    return found


def job_of(tmp_path, rows):
    path = tmp_path / "job.duckdb"
    ingest([write_file(tmp_path / "job.parquet", rows)], path)
    return traceq.open(path)


def test_a_table_of_operations_is_recognised_by_its_columns(tmp_path):
    path = write_file(tmp_path / "named.anyhow", make_pipeline(steps=1))
    assert sniff(path) is operations


def test_other_parquet_files_are_told_what_they_lack(tmp_path):
    path = tmp_path / "other.parquet"
    pq.write_table(pa.table({"rank": [0], "op": ["x"], "value": [1.0]}), path)
    with pytest.raises(UnknownFormat, match=r"no column for start \(start_ts or start\), end or duration"):
        find(path)


def test_a_damaged_parquet_file_is_told_so(tmp_path):
    path = write_file(tmp_path / "cut.parquet", make_pipeline(steps=1))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UnknownFormat, match="a Parquet file, which cannot be read"):
        find(path)


@pytest.mark.parametrize(
    ("column", "values", "says"),
    [
        ("start_ts", ["now"], "the column for start holds string, not times"),
        ("rank", ["a"], "the column for rank holds string, not whole numbers"),
        ("end_ts", [1.0], "none of its 1 rows is an operation that took time"),
    ],
)
def test_columns_of_no_use_are_named(tmp_path, column, values, says):
    path = tmp_path / "wrong.parquet"
    columns = {"rank": [0], "optype": ["x"], "start_ts": [1.0], "end_ts": [2.0]} | {column: values}
    pq.write_table(pa.table(columns), path)
    with pytest.raises(UnusableTrace, match=says):
        list(operations.read(path))


def test_floats_are_seconds_and_whole_numbers_nanoseconds(tmp_path):
    for start, end in (([1.5], [2.0]), ([1_500_000_000], [2_000_000_000])):
        path = tmp_path / "times.parquet"
        pq.write_table(pa.table({"rank": [0], "op": ["x"], "start": start, "end": end}), path)
        (slice_,) = list_tables(path)["gpu_slice"]
        assert (slice_["ts"], slice_["dur"]) == (1_500_000_000, 500_000_000)


def test_steps_that_begin_anew_are_laid_out_one_after_the_other(tmp_path):
    found = list_tables(write_file(tmp_path / "job.parquet", make_pipeline(stages=1, copies=2, steps=3, norm=False)))
    marks = found["cpu_slice"]
    assert [mark["name"] for mark in marks] == [f"traceq.step#{step}" for step in range(3)]
    assert all(mark["ts"] + mark["dur"] == after["ts"] for mark, after in pairwise(marks))
    assert {note["code"] for note in found["import_note"]} == {"steps_laid_out"}


def test_steps_on_one_clock_stay_where_they_are(tmp_path):
    rows = [(*row[:5], row[5] + 10.0 * row[3], row[6] + 10.0 * row[3], *row[7:]) for row in make_pipeline(steps=3)]
    starts = [mark["ts"] for mark in list_tables(write_file(tmp_path / "job.parquet", rows))["cpu_slice"]]
    assert starts == [0, 10_000_000_000, 20_000_000_000]


def test_what_takes_no_time_or_has_no_rank_is_counted(tmp_path):
    path = tmp_path / "job.parquet"
    columns = {"rank": [0, 0, None], "op": ["x", "gc", "x"], "start": [0, 5, 5], "end": [5, 5, 6]}
    pq.write_table(pa.table(columns), path)
    assert [(note["code"], note["count"]) for note in list_tables(path)["import_note"]] == [
        ("unreadable_operations", 1),
        ("empty_operations", 1),
    ]


def test_sends_and_receives_have_one_group_and_one_number(tmp_path):
    found = list_tables(write_file(tmp_path / "job.parquet", make_pipeline(stages=2, copies=2, steps=2)))
    parts = [each for each in found["collective"] if each["op"] in ("send", "recv")]
    by_place = {}
    for part in parts:
        by_place.setdefault((part["group_name"], part["sequence"]), []).append(part["op"])
    assert len(parts) == 2 * 2 * 2 * 4 * 2
    assert all(sorted(each) == ["recv", "send"] for each in by_place.values())


def test_where_ranks_are_is_kept(tmp_path):
    found = list_tables(write_file(tmp_path / "job.parquet", make_pipeline(stages=2, copies=2, steps=1)))
    assert json.loads(found["trace"][0]["args"]) == {
        "operations": {"ranks": [{"device": rank, "rank": rank, "pp": rank // 2, "dp": rank % 2} for rank in range(4)]}
    }


def test_a_barrier_inside_an_operation_is_found(tmp_path):
    def slow(_step, copy, stage, _number):
        return 0.1 + 0.05 * copy + 0.1 * stage

    rows = make_pipeline(forward=slow)
    groups = {each["group_name"] for each in list_tables(write_file(tmp_path / "job.parquet", rows))["collective"]}
    assert "all ranks" in groups
    even = make_pipeline(stages=1, copies=4, forward=lambda *_place: 0.1)
    groups = {each["group_name"] for each in list_tables(write_file(tmp_path / "even.parquet", even))["collective"]}
    assert "all ranks" not in groups


def test_a_barrier_before_an_operation_is_found(tmp_path):
    rows = []
    for step in range(5):
        for rank in range(6):
            # ranks 0 to 3 wait for each other and for nothing in the table, 4 and 5 for nobody
            end, begin = 1.0 + 0.1 * rank, 2.0 if rank < 4 else 1.001 + 0.1 * rank
            rows += [(rank, step, "work", 0.0, end), (rank, step, "loss", begin, begin + 0.1)]
    path = write_file(tmp_path / "job.parquet", rows, ("rank", "step", "operation", "start", "end"))
    found = list_tables(path)
    barriers = [each for each in found["collective"] if each["op"] == "barrier"]
    assert len(barriers) == 4 * 5
    assert {each["group_size"] for each in barriers} == {4}
    waits = {each["slice_id"]: each for each in found["gpu_slice"]}
    assert {round(waits[each["slice_id"]]["dur"] / 1e8) for each in barriers} == {10, 9, 8, 7}


def test_a_barrier_holds_the_rank_that_goes_on_to_another_one(tmp_path):
    rows = []
    for step in range(5):
        for rank in range(8):
            # 3 to 5 wait for 2, which then waits with 0 and 1 for rank 0; the start of 6 and 7 is their own
            end = {0: 9.0, 1: 6.0, 2: 5.0, 3: 1.0, 4: 1.1, 5: 1.2}.get(rank, 2.0 + rank / 10)
            begin = {0: 9.5, 1: 9.5, 2: 9.5, 3: 5.1, 4: 5.103, 5: 5.101}.get(rank, end + 0.001)
            rows += [(rank, step, "work", 0.0, end), (rank, step, "loss", begin, begin + 0.1)]
    path = write_file(tmp_path / "job.parquet", rows, ("rank", "step", "operation", "start", "end"))
    found = list_tables(path)
    parts = {each["slice_id"]: each for each in found["gpu_slice"]}
    barriers = {}
    for each in found["collective"]:
        if each["op"] == "barrier":
            part = parts[each["slice_id"]]
            lasts = (each["group_name"], each["group_size"], part["device"], round(part["dur"] / 1e7) / 100)
            barriers[lasts] = barriers.get(lasts, 0) + 1
    second, first = (f"before loss, group {number}" for number in (0, 1))
    assert barriers == {
        (first, 3, 0, 0.5): 5, (first, 3, 1, 3.5): 5, (first, 3, 2, 4.4): 5,
        (second, 4, 2, 0.1): 5, (second, 4, 3, 4.1): 5, (second, 4, 4, 4.0): 5, (second, 4, 5, 3.9): 5,
    }  # fmt: skip


def test_a_rank_that_comes_after_the_others_have_gone_on_is_not_waited_for(tmp_path):
    rows = []
    for step in range(5):
        for rank in range(4):
            end = 1.0 + rank / 10 if rank < 3 else (2.9 if step else 3.1)
            begin = 3.0 if rank < 3 else 3.5
            rows += [(rank, step, "work", 0.0, end), (rank, step, "loss", begin, begin + 0.1)]
    path = write_file(tmp_path / "job.parquet", rows, ("rank", "step", "operation", "start", "end"))
    assert {each["group_size"] for each in list_tables(path)["collective"]} == {3}


def test_how_loose_ends_are_is_measured_where_there_are_many(tmp_path):
    rows, now = [], 0
    for number in range(400):
        rows.append((0, "work", now, now + 1_000_000))
        # an overlap of up to 117 us, then a gap
        now += 1_000_000 - (number % 10) * 13_000 * (-1 if number % 2 else 1)
    found = list_tables(write_file(tmp_path / "job.parquet", rows, ("rank", "op", "start", "end")))
    (note,) = found["import_note"]
    # twice the 104 us of nearly all of them
    assert (note["code"], note["count"]) == ("loose_ends", 160)
    assert "by less than 208 us" in note["text"]


def test_what_always_overlaps_or_overlaps_wholly_runs_beside_each_other(tmp_path):
    rows = []
    for number in range(200):
        rows += [(0, "compute", 5_000_000 * number, 5_000_000 * number + 3_000_000)]
        rows += [(0, "send", 5_000_000 * number + 2_100_000, 5_000_000 * number + 4_900_000)]
    found = list_tables(write_file(tmp_path / "job.parquet", rows, ("rank", "op", "start", "end")))
    assert {each["dur"] for each in found["gpu_slice"]} == {3_000_000, 2_800_000}
    assert found.get("import_note", []) == []


def test_ends_that_overlap_the_next_start_a_little_are_moved(tmp_path):
    rows = [(0, "recv", 0, 1_010_000), (0, "work", 1_000_000, 2_000_000), (0, "send", 1_900_000, 3_000_000)]
    path = write_file(tmp_path / "job.parquet", rows, ("rank", "op", "start", "end"))
    found = list_tables(path)
    assert [each["dur"] for each in found["gpu_slice"]] == [1_000_000, 1_000_000, 1_100_000]
    assert [(note["code"], note["count"]) for note in found["import_note"]] == [("loose_ends", 1)]


def test_a_stage_that_has_more_to_do_is_named(tmp_path):
    with job_of(
        tmp_path, make_pipeline(forward=lambda _step, _copy, stage, _number: 0.2 if stage == 2 else 0.1)
    ) as job:
        found = (
            "select ranks, matched_share, pattern, slow_stage, usual_source, slowdown > 1.1, stage_share > 1 from job"
        )
        assert job.sql(found).fetchall() == [(12, 1.0, "stage", 2, "operation", True, True)]
        named = "select name, units, cause, operator, operator_id, round(usual_operator_dur / 1e6) from straggler"
        assert job.sql(named).fetchall() == [("stage 2", [8, 9, 10, 11], "compute", "backward-compute", None, 267)]


def test_a_slow_worker_is_named_and_the_share_of_the_slowest_told(tmp_path):
    with job_of(
        tmp_path, make_pipeline(forward=lambda _step, copy, stage, _number: 0.3 if (copy, stage) == (1, 0) else 0.1)
    ) as job:
        found = "select pattern, slowdown > 1.5, worker_share > 0.9, stage_share > 0.9 from job"
        assert job.sql(found).fetchall() == [("fixed", True, True, True)]
        assert job.sql("select name, cause from straggler").fetchall() == [("rank 1", "compute")]
        once = "select max(own + r.transfer + wait) <= any_value(dur), min(own) > 0 from job_rank as r, job"
        assert job.sql(once).fetchall() == [(True, True)]


def test_lengths_that_differ_from_batch_to_batch_wander(tmp_path):
    def forward(step, copy, _stage, number):
        return 0.3 if (step * 5 + number * 3 + copy) % 4 == 0 else 0.1

    with job_of(tmp_path, make_pipeline(steps=12, forward=forward)) as job:
        assert job.sql("select pattern, slowdown > 1.1 from job").fetchall() == [("wandering", True)]


def test_an_even_job_has_nobody_to_name(tmp_path):
    with job_of(tmp_path, make_pipeline(steps=4)) as job:
        assert job.sql("select pattern, round(slowdown, 2), slow_stage from job").fetchall() == [("none", 1.0, None)]
        assert job.sql("select count(*) from straggler").fetchall() == [(0,)]


def test_ranks_have_the_numbers_of_the_table(tmp_path):
    rows = [(2 * row[0] + 6, *row[1:]) for row in make_pipeline(stages=2, copies=2, steps=3)]
    with job_of(tmp_path, rows) as job:
        found = "select rank, rank_source, device, pp, dp, stage from job_rank order by unit"
        assert job.sql(found).fetchall() == [
            (6, "trace", 0, 0, 0, 0), (8, "trace", 1, 0, 1, 0), (10, "trace", 2, 1, 0, 1), (12, "trace", 3, 1, 1, 1)
        ]  # fmt: skip
    assert NAMES[0] == "rank"
