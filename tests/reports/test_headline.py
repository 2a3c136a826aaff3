"""What a report says first when it has no findings."""

from __future__ import annotations

import pytest
from made_up import MadeUp, database

from traceq.reports.build import build
from traceq.reports.document import Verdict
from traceq.reports.sections.headline import headline


def words(trace):
    (report,) = build(database(trace), 10, rules=[]).traces
    return [block.spans[0] for block in headline(report) if isinstance(block, Verdict)]


@pytest.mark.parametrize(
    ("busy", "said"),
    [
        (95, "Nothing found that would win 1 % of the step or more."),
        (22, "GPU idle 78.0 %, cause not in this capture."),
    ],
)
def test_nothing_is_found_only_where_the_gpu_is_busy(busy, said):
    trace = MadeUp()
    for number in range(3):
        trace.step(1000 * number, 1000).gpu("compute", 1000 * number, 10 * busy)
    assert words(trace) == [said]
