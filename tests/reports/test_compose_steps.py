"""The section about steps: what counts as one, which share of the run is judged, and how to choose another."""

from __future__ import annotations

import json

import handmade_traces
import pytest
from handmade_traces import MadeUp, hostile, training, unmarked

from traceq.reports.renderers.to_text import blocks_to_text
from traceq.reports.sections.compose import compose_report
from traceq.reports.sections.header import write_header
from traceq.reports.sections.steps import judged_words


def section(trace):
    """The words of the section, on one line."""
    text = blocks_to_text(compose_report(handmade_traces.report(trace, rules=[])))
    return " ".join(text.split("\nSteps\n-----\n")[1].split("  traceq sql")[0].replace("\n! ", " ").split())


def steps(source="recurrence", count=10):
    trace = MadeUp()
    for number in range(count):
        trace.step(number * 1000, 1000, source=source, name="sequence of 1832 launches")
    return trace


def test_steps_found_by_launches_say_their_length_and_what_is_inside():
    trace = steps().unit("step", "sequence of 1832 launches", 10, source="recurrence", launches=1832)
    trace.unit("layer", "sequence of 57 launches", 320, source="recurrence", launches=57)
    assert section(trace).startswith(
        "10 steps of 1.000 µs (p50), found by a sequence of 1,832 launches that recurs; nothing marks steps; "
        "inside it 32 layers of 57 launches. steps p50"
    )


def test_steps_with_a_name_say_it_and_what_holds_several():
    trace = steps("annotation").unit("epoch", "epoch #", 2).unit("step", "sequence of #", 10)
    trace.unit("piece", "forward", 20)
    assert section(trace).startswith(
        "10 steps of 1.000 µs (p50), found by a repeated annotation (sequence of 1832 launches, ...); "
        "inside 2 longer units (epoch #). steps p50"
    )


def test_what_is_judged_is_told_as_a_share_of_the_run():
    trace = steps().run(("start_up", 50), ("left_out", 900), ("window", 8400), ("tail", 650))
    assert "Judged: 8.400 µs of 10.00 µs (84.0 %); left out 900 ns, tail 650 ns." in section(trace)
    assert ", 84.0 % of the capture" in " ".join(
        blocks_to_text(compose_report(handmade_traces.report(trace, rules=[]))).split()
    )


def test_nothing_is_said_of_a_run_without_phases():
    assert judged_words(()) == ""
    assert "Judged" not in section(steps())


@pytest.mark.parametrize(
    ("source", "other", "told"),
    [
        ("recurrence", 20, "fetch # (20 times, 500 ns each). Choose with --steps-per 2, --step-range REGEX"),
        ("recurrence", 5, "fetch # (5 times, 500 ns each). Choose with --steps-per 1/2, --step-range REGEX"),
        ("window", 8, "fetch # (8 times, 500 ns each). Choose with --steps-per 8, --step-range REGEX"),
    ],
)
def test_where_something_else_may_be_the_step_options_choose(source, other, told):
    count = 1 if source == "window" else 10
    trace = steps(source, count).unit("step", "mine", count, source=source)
    trace.unit("layer", "fetch #", other, is_possible=True, period=500)
    assert f"Something else may be the step: {told} or --window A..B." in section(trace)


def test_where_one_level_is_possible_nothing_has_to_be_chosen():
    trace = steps().unit("step", "mine", 10).unit("layer", "forward", 20)
    assert "Choose" not in section(trace)


def test_a_window_says_why_there_are_no_steps():
    text = section(unmarked())
    assert text.startswith("No steps: nothing recurs that could be a step. One window is analysed instead")
    assert "Judged: 2.000 s of 4.000 s (50.0 %); start-up 1.000 s, tail 1.000 s." in text


def test_savings_in_a_window_are_shares_of_it_and_of_the_run():
    trace = MadeUp().step(0, 1000, source="window").run(("start_up", 3000), ("window", 1000))
    trace.gpu("h2d", 0, 400).gpu("compute", 400, 600)
    text = " ".join(blocks_to_text(compose_report(handmade_traces.report(trace))).split())
    assert "no steps found: one window of 1.000 µs, 25.0 % of the capture" in text
    assert "1.000 µs -> 680 ns, 1.47x as fast (saves 32.0 %: " in text
    assert "; 8.0 % of the run)" in text


@pytest.mark.parametrize(
    ("recorded_ns", "words"),
    [(None, ""), (1_900_000, ""), (4_000_000, "; the recording lasted 4.000 ms")],
)
def test_a_recording_much_longer_than_its_rows_is_told(recorded_ns, words):
    trace = MadeUp(dur=1_000_000, args=json.dumps({"recording": {"dur_ns": recorded_ns}}))
    for number in range(10):
        trace.step(number * 100_000, 100_000, name="step")
    (unit,) = [
        spans for name, spans in write_header(handmade_traces.report(trace, rules=[]).traces[0]).rows if name == "unit"
    ]
    assert "".join(unit) == f"10 steps like step{words}"


def test_steps_left_out_say_why():
    assert "1 left out of all numbers in this report: - step 0, ProfilerStep#0, 50.00 ms: warm-up:" in section(
        training()
    )


def test_names_cannot_be_more_than_names():
    assert "Something else may be the step: x|y`z``<script>" in section(hostile())
