"""Real jobs: what was published of them, found from their files."""

from __future__ import annotations

from contextlib import closing

import pytest
from trace_files import SHARED

import traceq
from traceq.app.ingest import ingest
from traceq.database.connect import connect
from traceq.diagnosis.job.judge import judge_job

MEGATRON = sorted(
    [*SHARED.glob("traces/torch/megatron_tp8_rank*"), *SHARED.glob("judged/torch/megatron_tp8/*.json.gz")]
)
DLRM = sorted(SHARED.glob("judged/torch/dlrm/*.json.gz"))
HTA_PAIR = sorted(SHARED.glob("traces/torch/hta_sampled_rank?.json.gz"))
TWO_GPUS = SHARED / "traces" / "nsys" / "nsysai_mfu_2gpu_before.sqlite"
DDP = SHARED / "judged" / "nsys" / "cs336_ddp_2x3090.sqlite"
OPERATIONS = {
    "ST": SHARED / "judged" / "job" / "bytedance_straggler_ST.parquet",
    "SE": SHARED / "judged" / "job" / "bytedance_straggler_SE.parquet",
    "AR": SHARED / "judged3" / "job" / "bytedance_straggler_AR.parquet",
}
TOY, LLAMA = (sorted(SHARED.glob(f"judged3/**/tok_{name}_tp_rank?*")) for name in ("toy", "llama"))

_THERE = {
    "bytedance": all(path.exists() for path in OPERATIONS.values()),
    "tok": len(TOY) == len(LLAMA) == 2,
    "megatron": len(MEGATRON) == 8,
    "dlrm": bool(DLRM),
    "hta": bool(HTA_PAIR),
    "nsys": TWO_GPUS.exists(),
    "ddp": DDP.exists(),
}
needs = {name: pytest.mark.skipif(not there, reason="not beside the checkout") for name, there in _THERE.items()}


@pytest.fixture(scope="module")
def job(shared_file):
    """The database of some traces, made once."""

    def make_job_database(name, files):
        path = shared_file(f"{name}.job.duckdb", lambda target: ingest(files, target) and None)
        return traceq.open(path)

    return make_job_database


@pytest.mark.slow
@needs["megatron"]
def test_megatron(job):
    with job("megatron", MEGATRON) as traces:
        ((dur, ideal, slowdown, transfer, late_start, error, pattern),) = traces.sql(
            "select dur / 1e6, ideal / 1e6, slowdown, transfer / 1e6, late_start / 1e6, replay_error, pattern from job"
        ).fetchall()
        assert dur == pytest.approx(628.1, abs=0.1)
        assert slowdown == pytest.approx(2.78, abs=0.01)
        assert ideal == pytest.approx(226.1, abs=1.5)
        assert transfer == pytest.approx(50.2, abs=0.5)
        assert late_start == pytest.approx(41.7, abs=0.1)
        assert error < 0.001
        assert pattern == "alternating"
        ((excess,),) = traces.sql(
            "select sum(own - usual) / 1e6 from collective_member where on_path and own_begins is not null"
        ).fetchall()
        assert excess == pytest.approx(403, abs=2)
        named = traces.sql(
            "select name, adds / 1e6, win / 1e6, cause, round(cause_ns / 1e6) from straggler order by place limit 2"
        ).fetchall()
        assert [(row[0], row[3], row[4]) for row in named] == [
            ("rank 0", "idle_launch", 180),
            ("rank 6", "idle_launch", 165),
        ]
        assert [row[2] for row in named] == pytest.approx([153.5, 135.1], abs=1.5)
        assert sum(row[1] for row in named) == pytest.approx(324.2, abs=1.5)
        assert traces.sql("select rank, late_count from job_rank where late_count > 10 order by rank").fetchall() == [
            (0, 32),
            (6, 16),
        ]
        evidence = "select operator, operator_dur, usual_operator_dur, usual_unit from straggler where place = 1"
        assert traces.sql(evidence).fetchall() == [("aten::empty", 23_227_000, 13_000, 4)]


def find_in_job(name, shared_file):
    """Rule and unit of what is found in a job whose database `job` has made; each query gives its rows again."""
    path = shared_file(f"{name}.job.duckdb", lambda _: pytest.fail("made before"))
    with closing(connect(path)) as connection:
        told = judge_job(connection, 0, 0).findings
        assert [connection.execute(each.evidence.query).fetchall() for each in told] == [
            list(each.evidence.rows) for each in told
        ]
    return [(each.rule, each.unit) for each in told]


@pytest.mark.slow
@needs["megatron"]
@needs["bytedance"]
@needs["ddp"]
def test_findings_of_real_jobs(job, shared_file):
    parquet = {name: [path] for name, path in OPERATIONS.items()}
    rank3 = [path for path in MEGATRON if "rank3" in path.name]
    files = {"megatron": MEGATRON, "ddp": [DDP], "rank3": rank3, **parquet}
    for name, paths in files.items():
        job(name, paths).close()
    assert {name: find_in_job(name, shared_file) for name in files} == {
        "megatron": [
            *(("job-straggler", f"rank {rank}") for rank in (0, 6, 2, 3)),
            ("waiting-not-network", "all ranks"),
            ("late-start", "rank 0"),
        ],
        "ddp": [],
        "rank3": [("absent-late-rank", "ranks 0-2 and 4-7")],
        "ST": [("stage-imbalance", "stage 3"), ("waiting-not-network", "all ranks")],
        "SE": [("wandering-straggler", "all ranks"), ("waiting-not-network", "all ranks")],
        "AR": [("job-straggler", "rank 0"), ("waiting-not-network", "all ranks")],
    }


@pytest.mark.slow
@needs["megatron"]
def test_one_rank_alone_tells_how_long_it_waits(job):
    (rank,) = [path for path in MEGATRON if "rank3" in path.name]
    with job("rank3", [rank]) as traces:
        ((why, waits),) = traces.sql("select cannot_tell, wait_absent / 1e6 from job").fetchall()
        assert why == "only one of its ranks is in the database"
        assert waits == pytest.approx(403, rel=0.1)


@pytest.mark.slow  # analysis/test_job_tables.py has made-up ones of this kind
@needs["dlrm"]
def test_collectives_of_which_nothing_is_recorded_are_matched_by_their_ends(job):
    with job("dlrm", DLRM) as traces:
        found = (
            "select op, count(*), min(members), any_value(match_source) from collective_match group by op order by op"
        )
        assert traces.sql(found).fetchall() == [("all_reduce", 3, 8, "co_end"), ("all_to_all", 5, 8, "co_end")]


@pytest.mark.slow
@needs["hta"]
def test_two_of_128_ranks_are_not_judged(job):
    with job("hta", HTA_PAIR) as traces:
        ((absent, slowdown, why),) = traces.sql("select absent, slowdown, cannot_tell from job").fetchall()
        assert (absent, slowdown) == (126, None)
        assert "could be matched" in why


@pytest.mark.slow
@needs["nsys"]
def test_two_gpus_of_one_export(job):
    with job("two-gpus", [TWO_GPUS]) as traces:
        ((ranks, share, transfer),) = traces.sql("select ranks, matched_share, transfer / 1e6 from job").fetchall()
        assert (ranks, share) == (2, 1.0)
        assert transfer == pytest.approx(5.8, abs=0.1)
        assert traces.sql("select count(*) from collective_match").fetchall() == [(33,)]


@pytest.mark.slow
@needs["ddp"]
def test_ddp_under_nsys(job):
    with job("ddp", [DDP]) as traces:
        assert traces.sql("select count(*), count(match_id) from collective_member").fetchall() == [(460, 460)]
        assert traces.sql("select rank, rank_source from job_rank order by unit").fetchall() == [
            (0, "process"),
            (1, "process"),
        ]


# Whoever is late waits least; who waits for a late rank hands it on in a pipeline, and is last there without a fault of its own.
LATE_ALL_THE_TIME = ("ST", "AR", "llama")
WITHOUT_STAGES = ("megatron", "toy", "llama")


# Published: slowdown S, share of the last stage M_S and of the slowest 3 % of the workers M_W, and what holds the job up.
@pytest.mark.slow
@needs["bytedance"]
@pytest.mark.parametrize(
    ("name", "ranks", "slowdown", "stage", "stage_share", "worker_share", "pattern"),
    [
        ("ST", 8, 1.179, 3, 1.22, 0.03, "stage"),
        ("SE", 64, 1.537, 1, 0.69, 0.03, "wandering"),
        ("AR", 16, 1.973, 0, None, None, "fixed"),
    ],
)
def test_operation_tables(job, name, ranks, slowdown, stage, stage_share, worker_share, pattern):
    with job(name, [OPERATIONS[name]]) as traces:
        found = "select ranks, matched_share, slowdown, slow_stage, pattern, replay_error, stage_share, worker_share from job"
        ((there, matched, *told, error, of_stage, of_workers),) = traces.sql(found).fetchall()
        assert (there, matched) == (ranks, 1.0)
        assert told == [pytest.approx(slowdown, abs=0.02), stage, pattern]
        assert stage_share is None or of_stage == pytest.approx(stage_share, abs=0.08)
        assert worker_share is None or of_workers == pytest.approx(worker_share, abs=0.02)
        assert error < 0.001


@pytest.mark.slow
@needs["bytedance"]
def test_the_late_stage_of_an_operation_table(job):
    with job("ST", [OPERATIONS["ST"]]) as traces:
        found = "select name, late_steps, cause, operator from straggler"
        assert traces.sql(found).fetchall() == [("stage 3", 1.0, "compute", "forward-compute")]


@pytest.mark.slow
@needs["bytedance"]
def test_the_slow_worker_of_an_operation_table(job):
    with job("AR", [OPERATIONS["AR"]]) as traces:
        found = "select name, late_steps, cause, operator from straggler"
        assert traces.sql(found).fetchall() == [("rank 0", 1.0, "compute", "backward-compute")]
        assert traces.sql("select worker_share > 0.9 from job").fetchall() == [(True,)]
        of_rank_0 = "select round(own / steps / 1e9, 1) from job_rank join job using (job) where rank = 0"
        assert traces.sql(of_rank_0).fetchall() == [(45.5,)]


@pytest.mark.slow
@needs["bytedance"]
@needs["megatron"]
@needs["tok"]
@pytest.mark.parametrize("name", ["megatron", "toy", "llama", *OPERATIONS])
def test_a_verdict_agrees_with_its_table_and_no_time_counts_twice(job, name):
    files = {"megatron": MEGATRON, "toy": TOY, "llama": LLAMA} | {each: [path] for each, path in OPERATIONS.items()}
    with job(name, files[name]) as traces:
        twice = """
            select unit
            from job_rank as r
            inner join collective_member as m using (job, time_window, unit)
            inner join gpu_slice as g on g.trace_id = m.trace_id and g.slice_id = m.slice_id
            where m.match_id is not null
            group by unit
            having any_value(r.own + r.transfer + r.wait) > max(g.ts_end) - min(g.ts) + 3
        """
        assert traces.sql(twice).fetchall() == []
        named = {unit for (units,) in traces.sql("select units from straggler").fetchall() for unit in units}
        if name in LATE_ALL_THE_TIME:
            least = f"from (select unit from job_rank order by wait limit {len(named)}) order by unit"
            assert traces.sql(least).fetchall() == [(unit,) for unit in sorted(named)]
        if name in WITHOUT_STAGES and named:
            most = """
                select late_unit
                from collective_match
                inner join (select match_id, sum(wait) as wait from collective_member group by match_id) using (match_id)
                where late_unit is not null
                group by late_unit
                order by sum(wait) desc
                limit 1
            """
            first = "select units[1] from straggler where place = 1"
            assert traces.sql(most).fetchall() == traces.sql(first).fetchall()


@pytest.mark.slow
@needs["tok"]
def test_two_ranks_and_one_collective(job, shared_file):
    with job("toy", TOY) as traces:
        assert traces.sql("select ranks, round(late_start / 1e6, 2) from job").fetchall() == [(2, 11.26)]
        waits = traces.sql("select rank, round(wait / 1e6, 2) from job_rank order by rank").fetchall()
        assert waits == [(0, 0.0), (1, 11.26)]
    assert find_in_job("toy", shared_file) == [("late-start", "rank 0")]


@pytest.mark.slow
@needs["tok"]
def test_a_job_whose_transfers_take_most(job):
    with job("llama", LLAMA) as traces:
        ((said, *rest),) = traces.sql("select transfer > 0.8 * dur, slowdown < 1.05 from job").fetchall()
        assert (said, *rest) == (True, True)
        longest = "select op, round(max(transfer) / 1e6, 1) from collective_match group by op order by 2 desc limit 1"
        assert traces.sql(longest).fetchall() == [("all_gather", 441.4)]


AXES = """
select axis, axis_source, count(distinct unit), sum(collectives), sum(dur) = sum(transfer + wait)
from job_axis_rank
group by all
"""
SUMS = """
select
    (select (sum(collectives), sum(dur), sum(exposed)) from axis_time)
    = (select (sum(n), sum(dur), sum(exposed)) from (
        select trace_id, group_name, count(*) as n, sum(dur) as dur, sum(exposed) as exposed from collective_slice group by all
    ))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "files", "rows"),
    [
        # all groups are addresses, as large as the job
        pytest.param("megatron", MEGATRON, [("tp", "inferred", 8, 672, True)], marks=needs["megatron"]),
        # two ranks, whose collectives name no group: the only one that is listed
        pytest.param("llama", LLAMA, [("tp", "inferred", 2, 38, True)], marks=needs["tok"]),
        pytest.param("toy", TOY, [("tp", "inferred", 2, 2, True)], marks=needs["tok"]),
        # exchanges of embeddings and reductions of gradients, in no group that it names: cannot tell
        pytest.param("dlrm", DLRM, [(None, None, 8, 64, True)], marks=needs["dlrm"]),
    ],
)
def test_axes(job, name, files, rows):
    with job(name, files) as traces:
        assert traces.sql(AXES).fetchall() == rows
        assert traces.sql(SUMS).fetchall() == [(True,)]


@pytest.mark.slow
@needs["bytedance"]
def test_axes_of_tables_of_operations(job):
    with job("ST", [OPERATIONS["ST"]]) as traces:
        told = traces.sql(
            "select distinct split_part(group_name, ' ', 1) as name, axis, axis_source from job_group order by all"
        ).fetchall()
        assert told == [
            ("all", "world", "mesh"),
            ("backward", "pp", "coordinates"),
            ("copies", "dp", "coordinates"),
            ("embedding", "pp", "coordinates"),
            ("forward", "pp", "coordinates"),
        ]
        assert traces.sql(SUMS).fetchall() == [(True,)]
