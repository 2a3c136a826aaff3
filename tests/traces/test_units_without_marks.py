"""Real traces without their annotations: the same steps, at the same places."""

from __future__ import annotations

import statistics

import pytest
from tables import filled
from trace_files import SHARED
from transformations import unchanged, without_annotations

from traceq import importers

# Of a step.
NEAR = 0.01
MARKED = {
    "torch": [
        "hta_nccl_parser_config.json.gz",
        "hta_neg_queue_rank0.json.gz",
        "hta_ns_resolution_rank0.json.gz",
        "hta_trace_diff_control.json.gz",
        "hta_cpu_only_rank34.json.gz",
        "kineto_resnet50_w0.array.pt.trace.json.gz",
        "kineto_resnet50_w0.v19.pt.trace.json.gz",
        "kineto_resnet50_w4.array.pt.trace.json.gz",
        "kineto_resnet50_w4.v19.pt.trace.json.gz",
        "sidnb13_h100_transformer.pt.trace.json",
        "hta_trace_diff_test.json.gz",
        "tracelens_mi300_resnet_rank0of8.json.gz",
    ],
    "nsys": ["nsightful_power_iteration.sqlite"],
}
# Not among them: traces of one step, and hta_sampled_rank0 and 1, whose owners have thinned them, so that nothing recurs.

# The host fills the queue: the steps start on the GPU, their marks on the host.
ON_THE_GPU = {"hta_ns_resolution_rank0", "nsightful_power_iteration"}
# Between two steps lies what only annotations show: the bookkeeping of the profiler in steps of 0.8 ms, Python in one of 210 ms.
FURTHER = {"sidnb13_h100_transformer": 0.07, "hta_cpu_only_rank34": 0.013}


def _list_paths():
    for folder, names in MARKED.items():
        for name in names:
            path = next((each for each in SHARED.glob(f"*/{folder}/{name}")), None)
            absent = [] if path else [pytest.mark.skip(reason="the folder shared is not beside the checkout")]
            is_large = path is not None and path.stat().st_size > 1_150_000
            yield pytest.param(path, id=name.split(".")[0], marks=[*absent, *([pytest.mark.slow] if is_large else [])])


def _find_steps(path, change):
    importer = importers.find(path)
    rows = ((table, each) for table, batch in importer.read(path) for each in change(table, batch) if each.num_rows)
    return filled(rows, format_=importer.NAME).execute("select ts, dur, source from step order by step").fetchall()


@pytest.mark.parametrize("path", list(_list_paths()))
def test_steps_are_found_where_their_marks_were(path):
    marked, unmarked = _find_steps(path, unchanged), _find_steps(path, without_annotations())
    assert {source for *_, source in unmarked} == {"recurrence"}
    name = path.name.split(".")[0]
    step = statistics.median(dur for _, dur, _ in marked)
    # where the first one starts is where the capture does
    off = [min(abs(ts - other) for other, *_ in unmarked) / step for ts, *_ in marked[1:]]
    if name in ON_THE_GPU:
        assert len(unmarked) == len(marked)
        assert statistics.median(off) > NEAR
        return
    assert max(off) <= FURTHER.get(name, NEAR)
    assert (max(off) > NEAR) == (name in FURTHER), "is no exception any more"
