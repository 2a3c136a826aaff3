"""What a report says once of many GPUs that do much the same."""

from __future__ import annotations

import handmade_traces
import pytest
from handmade_traces import MadeUp

from traceq.reports.document import Fold, Table
from traceq.reports.sections.header import write_header
from traceq.reports.sections.where_time_goes import describe_account


def report(gpus):
    """Steps of 1,000 ns on each of so many GPUs, of which GPU 0 computes 500, GPU 1 400 and so on."""
    trace = MadeUp()
    for step in range(4):
        trace.step(step * 1000, 1000)
        for device in range(gpus):
            trace.gpu("compute", step * 1000, 500 - 100 * device, device)
    return handmade_traces.report(trace).traces[0]


@pytest.mark.parametrize(
    ("gpus", "rows"),
    [
        (1, {"GPU 0 time": "compute 50.0 %, other work 0.0 %, idle 50.0 %"}),
        (
            2,
            {
                "GPU 0 time": "compute 50.0 %, other work 0.0 %, idle 50.0 %",
                "GPU 1 time": "compute 40.0 %, other work 0.0 %, idle 60.0 %",
            },
        ),
        (3, {"time of 3 GPUs": "compute 30.0 % to 50.0 %, other work 0.0 %, idle 50.0 % to 70.0 %"}),
    ],
)
def test_the_header_has_a_row_for_each_of_two_gpus_and_one_row_for_more(gpus, rows):
    assert {name: "".join(spans) for name, spans in write_header(report(gpus)).more if "time" in name} == rows


def test_the_account_lists_the_judged_gpu_and_folds_the_others():
    blocks = list(describe_account(report(3)))
    (judged,) = [each for each in blocks if isinstance(each, Table)]
    (others,) = [each for each in blocks if isinstance(each, Fold)]
    assert "GPU" not in judged.columns
    assert {row[0] for row in others.blocks[0].rows} == {"1", "2"}


def test_the_account_of_one_gpu_folds_nothing():
    assert not [each for each in describe_account(report(1)) if isinstance(each, Fold)]
