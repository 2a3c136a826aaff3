"""traceq whatif of traces without GPU work, with steps of which a change can be told by hand."""

from __future__ import annotations

import duckdb
import pytest
from builder import TraceBuilder
from click.testing import CliRunner

import traceq
from traceq.cli import main

STEP = 100_000


MEASURED = '{"traceq":{"profiled_step_ns":100000,"unprofiled_step_ns":100000,"unprofiled_steps":10}}'


def looped(folder, *, cores=None, recorded=MEASURED):
    """Ten steps of 100 us: a fetch of 40 us (of 70 in the last one), and a range of 20 us with four operators of 4 us.

    In 10 us of the range's end another thread reduces gradients, and in 5 us of it the training thread runs an operator.
    """
    trace = TraceBuilder()
    for number in range(10):
        begin = number * STEP
        trace.annotation(f"ProfilerStep#{number}", begin, STEP)
        trace.annotation("enumerate(DataLoader)#_Iter", begin, 70_000 if number == 9 else 40_000)
        trace.annotation("chain", begin + 75_000, 20_000)
        for operator in range(4):
            trace.op("aten::add", begin + 75_000 + operator * 5_000, 4_000)
        trace.annotation("gloo:all_reduce", begin + 90_000, 10_000, thread=1)
        trace.annotation("helper", begin, 60_000, thread=2)
    if recorded:
        trace.add("trace", producer="tests", args=recorded)
    trace.build(folder)
    trace._connection.close()
    if cores:
        with duckdb.connect(folder / "trace.duckdb") as connection:
            connection.execute("insert into made_with values (1, 'host', 0, 'cpus', ?, null, false)", [str(cores)])
    return folder / "trace.duckdb"


@pytest.fixture(scope="module")
def loop(tmp_path_factory):
    with traceq.open(looped(tmp_path_factory.mktemp("loop"), cores=2)) as traces:
        yield traces


def shares(view):
    """At least, likely and at most of a step."""
    saved = view.content.saved
    return [each / STEP for each in (saved.low_ns, saved.likely_ns, saved.high_ns)]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"remove": "host:chain"}, (0.2, 0.2, 0.2)),
        ({"scale": {"host:chain": 0.25}}, (0.15, 0.15, 0.15)),
        ({"scale": {"host:chain": 2}}, (-0.2, -0.2, -0.2)),
        ({"remove": "operator"}, (0.16, 0.16, 0.16)),
        ({"remove": "idle_launch"}, (0.16, 0.16, 0.16)),
        ({"remove": "host:aten::*", "scale": {"host:chain": 0.5}}, (0.18, 0.18, 0.18)),
        ({"remove": ["host:aten::*", "host:chain"]}, (0.2, 0.2, 0.2)),
        # what the training thread waits for: of the 10 us of another thread all but an operator of 4 us
        ({"remove": "host:gloo:*"}, (0.06, 0.06, 0.06)),
        ({"remove": "communication"}, (0.06, 0.06, 0.06)),
    ],
    ids=str,
)
def test_what_goes_from_the_training_thread_goes_from_the_step(loop, change, expected):
    view = loop.whatif(**change)
    assert shares(view) == pytest.approx(expected, abs=1e-4)
    assert view.content.reason is None
    assert view.content.after_ns == pytest.approx(view.content.recorded_ns - view.content.saved.likely_ns)
    assert sum(part.dur_ns for part in view.content.limits) == pytest.approx(view.content.after_ns)


def test_steps_that_differ_make_the_bounds_wide(loop):
    low, likely, high = shares(loop.whatif(remove="data"))
    assert likely == pytest.approx(0.43)
    assert low < likely < high


def test_work_beside_the_rest_lasts_as_long_as_the_longest(loop):
    """In nine steps 40 us move beside 60; in one 70 beside 30, so that one worker takes longer than the rest."""
    low, likely, high = shares(loop.whatif(move={"data": 1}))
    assert likely == pytest.approx((9 * 0.4 + 0.3) / 10)
    assert low == 0
    assert high >= likely
    assert shares(loop.whatif(move={"data": 4}))[1] == pytest.approx((9 * 0.4 + 0.5) / 10)


def test_without_free_cores_nothing_is_won_by_moving(tmp_path):
    with traceq.open(looped(tmp_path, cores=1)) as traces:
        low, likely, high = shares(traces.whatif(move={"data": 4}))
    assert (low, likely) == (0, pytest.approx(0))
    assert high > 0.4


def test_without_known_cores_there_are_enough(tmp_path):
    with traceq.open(looped(tmp_path)) as traces:
        assert shares(traces.whatif(move={"data": 4}))[1] > 0.4


def test_what_recording_took_is_in_the_bounds(tmp_path):
    """A step has seven slices on its thread; it took 7 us longer with recording: 1 us for each, 5 of them in the range."""
    recorded = '{"traceq":{"profiled_step_ns":100000,"unprofiled_step_ns":93000,"unprofiled_steps":10}}'
    with traceq.open(looped(tmp_path, recorded=recorded)) as traces:
        low, likely, high = shares(traces.whatif(remove="host:chain"))
    less = 15 / 93
    assert (low, likely, high) == pytest.approx((less, (less + 0.2) / 2, 0.2), abs=1e-3)


def test_operators_may_take_longer_for_being_recorded(tmp_path):
    """Where too few steps were measured without: the four operators, 16 of the range's 20 us, may take 8."""
    with traceq.open(looped(tmp_path, recorded="{}")) as traces:
        low, likely, high = shares(traces.whatif(remove="host:chain"))
        of_data = shares(traces.whatif(remove="data"))
    assert (low, likely, high) == pytest.approx((12 / 92, 0.2, 0.2), abs=1e-3)
    assert of_data[1] == pytest.approx(0.43)
    assert of_data[2] > 43 / 92


def test_cpu_time_tells_of_slower_operators(tmp_path):
    """Steps took 34 us of CPU more: 2 for each of seven events, and half of what three of the operators then take (6 us)."""
    recorded = '{"traceq":{"profiled_cpu_ns":90000,"unprofiled_cpu_ns":56000,"unprofiled_steps":10}}'
    with traceq.open(looped(tmp_path, recorded=recorded)) as traces:
        low, likely, high = shares(traces.whatif(remove="host:chain"))
    less = (4 + 3) / (100 - 14 - 3)
    assert likely == pytest.approx((0.2 + less) / 2, abs=0.01)
    assert low <= less + 0.001
    assert high == pytest.approx(0.2, abs=1e-3)


def test_what_runs_beside_the_training_thread_costs_nobody_knows_what(loop):
    content = loop.whatif(remove="host:helper").content
    assert content.saved is None
    assert "while the training thread works" in content.reason


def test_a_finding_saves_what_it_says(tmp_path):
    database = looped(tmp_path)
    finding = traceq.report(database).findings.iloc[0]
    content = traceq.whatif(database, finding=finding["id"]).content
    assert content.saved.likely_ns == pytest.approx(finding["saving_ns"])
    assert content.saved.low_ns == pytest.approx(finding["saving_low_ns"])
    assert content.saved.high_ns == pytest.approx(finding["saving_high_ns"])
    assert content.after_ns == pytest.approx(finding["expected_step_ns"])


def test_the_list_has_what_the_training_thread_does(loop):
    choices = {each.what: each for each in loop.whatif_choices().content.choices}
    assert list(choices)[-1] == "host:GLOB"
    assert choices["data"].dur_ns == pytest.approx(43_000)
    assert "--move" in choices["data"].options
    assert "--move" not in choices.get("communication", choices["host:GLOB"]).options or "communication" not in choices


@pytest.mark.parametrize(
    "arguments", [("--remove", "host:nope*"), ("--overlap", "communication"), ("--remove", "compute")]
)
def test_what_is_not_there_is_an_error(tmp_path, arguments):
    done = CliRunner().invoke(main, ["whatif", str(looped(tmp_path)), *arguments])
    assert done.exit_code != 0
    assert "has nothing in its counted steps" in done.output


def test_the_words(tmp_path):
    text = (
        CliRunner().invoke(main, ["whatif", str(looped(tmp_path)), "--remove", "data"], env={"COLUMNS": "100"}).output
    )
    assert "The step would be 43.00 us (43.0 %) shorter" in text.replace("µs", "us")
    assert "training thread then" in text
    assert "replay" not in text
