"""The step that the program printed, beside the steps of its trace: told where one is a multiple of the other."""

from __future__ import annotations

import pytest
from builder import TraceBuilder

from traceq.reports.model import PrintedStep
from traceq.reports.queries import print_query
from traceq.reports.sections.steps import _compare_printed

MS = 1_000_000


def printed(values, *, quantity="step_time", unit="ns", step=None, recorded=False, source="traceq.step"):
    """Return what the report says of printed values, one after each step of the trace; a step takes 100 ms."""
    trace = TraceBuilder()
    for number in range(6):
        trace.annotation(f"{source}#{number}", 100 * number * MS, 100 * MS)
        trace.cpu("op", "aten::mm", 100 * number * MS, 99 * MS)
    for line, value in enumerate(values):
        trace.add(
            "printed_value",
            ts=line,
            line=line,
            step=None if step is None else step(line),
            steps_completed=1 + line,
            quantity=quantity,
            value=value,
            unit=unit,
            is_recorded=recorded,
        )
    query = print_query("printed_step", trace_id=1)
    return trace.fill("step_stats").rows(f"select times, is_longer from ({query})")


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([100 * MS] * 5, []),
        ([130 * MS] * 5, []),
        ([150 * MS] * 5, []),
        ([25 * MS] * 5, [(4, False)]),
        ([24 * MS, 25 * MS, 25 * MS, 26 * MS, 90 * MS], [(4, False)]),
        ([300 * MS] * 5, [(3, True)]),
        ([MS] * 5, []),
        ([25 * MS] * 2, []),
        ([20 * MS, 25 * MS, 50 * MS, 80 * MS], []),
    ],
)
def test_a_whole_factor_between_the_times_is_told(values, told):
    assert printed(values) == told


def test_iterations_a_second_are_steps():
    assert printed([40.0] * 5, quantity="throughput", unit="it/s") == [(4, False)]
    assert printed([40.0] * 5, quantity="throughput", unit="samples/s") == []


def test_numbers_of_steps_decide_where_they_are_printed():
    # a time that is of ten steps, a step each
    assert printed([500 * MS] * 6, step=lambda line: line) == []
    # four passes a step, whose time is not steady
    assert printed([25 * MS, 31 * MS, 29 * MS, 30 * MS, 31 * MS], step=lambda line: 4 * line) == [(4, False)]
    # its numbers start again with each epoch, and several are printed: they tell nothing
    assert printed([25 * MS] * 6, step=lambda line: line % 2) == [(4, False)]


def test_sentences_say_which_is_longer():
    assert _compare_printed(PrintedStep(25e6, 5, 100e6, 4, is_longer=False)) == (
        "The program itself prints 25.00 ms a step (median of 5): 4 of its steps make one here, as when it counts the passes "
        "whose gradients it accumulates."
    )
    assert _compare_printed(PrintedStep(300e6, 1200, 100e6, 3, is_longer=True)) == (
        "The program itself prints 300.0 ms a step (median of 1,200), 3 times the step counted here: it may count "
        "3 of these as one."
    )
