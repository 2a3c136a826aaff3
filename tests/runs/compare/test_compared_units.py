"""Times of steps are set against each other only where a step is the same on both sides."""

from __future__ import annotations

import pytest
from handmade_runs import MS, item, noisy, run

from traceq.reports.comparison.comparison import compose_comparison
from traceq.reports.comparison.ticket import compose_ticket
from traceq.reports.renderers.comparison_to_json import comparison_to_json
from traceq.reports.renderers.to_text import blocks_to_text
from traceq.runs.compare.compare import compare
from traceq.runs.run import CaptureFacts

pytestmark = pytest.mark.usefixtures("fewer_draws")


def steps(middle=10, count=12, *, name="base", **facts):
    kernels = [item("gemm", middle * MS, 20, steps=count)]
    return run(*noisy(middle * MS, count, 0.01), **{"items": kernels, "name": name, "unit": "step", **facts})


def window(ms, calls=20, *, name="new", kernel="gemm", **facts):
    items = [item(kernel, ms * MS, calls)]
    return run(ms * MS, items=items, name=name, step_source="window", unit="window", **facts)


def test_steps_against_a_window_are_said_with_their_times_and_no_difference():
    found = compare([window(555, name="base")], [steps(1428, name="new", unit_name="epoch #")])
    assert found.obstacles[0] == (
        "a step of the new against the whole window of the base, in which no steps were found: 555.0 ms for the window against "
        "1.425 s for epoch #; mark them, or ingest with --step-range"
    )
    assert (found.verdict, found.change, found.causes) == ("cannot tell", None, ())
    for words in (
        blocks_to_text(compose_comparison(found, 10), 100),
        blocks_to_text(compose_ticket(found), 100),
    ):
        assert "157" not in words
        assert "%" not in words.replace("1.0 %", "").replace("98 %", "").replace("1%", "")
    assert '"delta_share":null' in comparison_to_json(found).replace(" ", "")
    assert compare([window(555, name="base")], [steps(1428, name="new")], anyway=True).change.delta_ns > 0


def test_windows_that_hold_other_work_have_no_common_unit():
    found = compare([window(500, 50, name="base")], [window(300, 30)])
    (obstacle,) = found.obstacles
    assert obstacle == (
        "no steps were found, and the windows, of 500.0 ms and 300.0 ms, do not contain the same work: only 0.0 % of one side's "
        "GPU time is in work that the other does as often; mark steps, or ingest with --step-range"
    )
    assert found.change is None


@pytest.mark.parametrize(
    ("base", "new"),
    [
        pytest.param(window(500, 50, name="base"), window(300, 50), id="as often"),
        pytest.param(
            window(500, 50, name="base", capture=CaptureFacts(kind="whole_run")),
            window(300, 30, capture=CaptureFacts(kind="whole_run")),
            id="whole runs of a program",
        ),
        pytest.param(window(500, 5, name="base"), window(300, 3), id="too few calls to tell"),
        pytest.param(
            window(500, 50, name="base"), window(300, 1, kernel="CUDA graph 3"), id="graphs hide what they run"
        ),
    ],
)
def test_windows_that_may_be_compared(base, new):
    found = compare([base], [new])
    assert found.obstacles == ()
    assert found.change.delta_ns == -200 * MS


def test_other_marks_around_other_work():
    facts = {"step_source": "annotation", "unit_name": "denoise #"}
    found = compare(
        [steps(20, unit_name="ProfilerStep#")],
        [steps(30, name="new", items=[item("gemm", 30 * MS, 24, steps=12)], **facts)],
    )
    assert found.obstacles[0].startswith("steps were found by different marks (20.")
    assert "only 0.0 % of one side's GPU time is in work that the other does as often" in found.obstacles[0]
    assert compare([steps(20, unit_name="ProfilerStep#")], [steps(30, name="new", **facts)]).obstacles == ()


def ends(tail, *, name, last=100, **facts):
    """Two steps of 100 ms of which the second waits `tail` ms for a last kernel."""
    return run(
        100 * MS,
        (last + tail) * MS,
        ledger={"idle_unattributed": 90 * MS},
        name=name,
        capture=CaptureFacts(idle_tail_ns=tail * MS),
        **facts,
    )


def test_a_last_step_that_waits_for_its_last_kernel_is_none_of_the_others():
    found = compare([ends(50, name="base")], [ends(0, name="new")])
    (obstacle,) = found.obstacles
    assert obstacle == (
        "the last steps end differently: after the mark, the GPU idles for 50.00 ms against 0 ns before the step's last "
        "work, which makes the difference of the steps; in all, the GPU works for 70.00 ms against 20.00 ms"
    )
    assert found.change is None


def test_a_tail_that_is_not_the_difference_is_no_obstacle():
    assert compare([ends(50, name="base")], [ends(49, name="new")]).obstacles == ()
    assert compare([ends(50, name="base")], [ends(0, name="new", last=600)]).obstacles == ()
    single = [run(ms * MS, name=f"{ms}", capture=CaptureFacts(idle_tail_ns=(ms - 90) * MS)) for ms in (150, 100)]
    assert compare(single[:1], single[1:]).obstacles == ()
