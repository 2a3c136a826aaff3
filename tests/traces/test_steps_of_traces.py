"""Steps: as many as a reader counted in each file, and exactly where ProfilerStep and docs/metrics.md put them."""

from __future__ import annotations

import pytest
from trace_files import every_chrome_trace, read_raw, strip_container

PROFILER_STEPS = {
    "hta_amd_mi250_train": 2,
    "hta_cpu_only_rank34": 5,
    "hta_nccl_parser_config": 3,
    "hta_neg_queue_rank0": 5,
    "hta_ns_resolution_rank0": 5,
    "hta_sampled_rank0": 2,
    "hta_sampled_rank1": 2,
    "hta_trace_diff_control": 6,
    "kineto_resnet50_w0.array.pt.trace": 6,
    "kineto_resnet50_w0.v19.pt.trace": 6,
    "kineto_resnet50_w4.array.pt.trace": 6,
    "kineto_resnet50_w4.v19.pt.trace": 6,
    "megatron_tp8_rank0": 1,
    "megatron_tp8_rank1": 1,
    "megatron_tp8_rank2": 1,
    "megatron_tp8_rank3": 1,
    "sidnb13_h100_transformer.pt.trace": 3,
    "hta_distributed_info_not_found": 1,
    "hta_rank_not_found": 1,
}


# Its one ProfilerStep holds five batches: those are the steps, by its label.
BATCHES = {"tracelens_h100_owlv2"}


def profiler_steps(path):
    if strip_container(path) in BATCHES:
        return []
    return sorted((row for row in read_raw(path).host if row.name.startswith("ProfilerStep#")), key=lambda row: row.ts)


@every_chrome_trace
def test_there_are_as_many_profiler_steps_as_a_reader_counted(path, databases):
    query = "select count(*) from step where source = 'profiler_step'"
    assert databases(path).execute(query).fetchone() == (PROFILER_STEPS.get(strip_container(path), 0),)
    assert len(profiler_steps(path)) == PROFILER_STEPS.get(strip_container(path), 0)


@every_chrome_trace
def test_a_profiler_step_lasts_until_the_next_one_starts(path, databases):
    expected = profiler_steps(path)
    if not expected:
        pytest.skip("no ProfilerStep in this file")
    found = databases(path).execute("select name, ts from step order by step").fetchall()
    assert found == [(row.name, row.ts) for row in expected]


@every_chrome_trace
def test_the_last_profiler_step_ends_with_the_work_it_launched(path, databases):
    steps = profiler_steps(path)
    if not steps:
        pytest.skip("no ProfilerStep in this file")
    last = steps[-1]
    launched = {
        row.correlation
        for row in read_raw(path).host
        if row.kind == "runtime" and last.ts <= row.ts < last.ts + last.dur
    }
    ends = [row.ts + row.dur for row in read_raw(path).device if row.correlation in launched]
    found = databases(path).execute("select max(ts_end) from step").fetchone()
    assert found == (max([last.ts + last.dur, *ends]),)
