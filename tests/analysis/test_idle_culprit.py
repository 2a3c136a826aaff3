"""Idle time is charged to every slice that filled it, for as long as it did."""

from __future__ import annotations

from builder import TraceBuilder

from traceq.health.identities import check


def build_late_launch(*frames):
    """Build a step of 1,000 us: a kernel up to 100, the next launched at 900, between them frames of Python."""
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 1_000_000)
    trace.kernel("first", 20_000, 80_000, launched=(1_000, 5_000))
    for name, ts, dur in frames:
        trace.cpu("python", name, ts * 1000, dur * 1000)
    trace.kernel("second", 910_000, 90_000, launched=(900_000, 5_000))
    return trace


FRAMES = (
    ("train.py(3): step", 10, 880),
    ("nn.Module: Encoder_0", 150, 100),
    ("data.py(7): preprocess", 300, 500),
    ("torch/nn/functional.py(9): pad", 310, 90),
    ("<built-in function zoom>", 400, 300),
    ("data.py(20): decode", 800, 60),
)


def test_each_slice_has_the_time_in_which_it_was_innermost():
    trace = build_late_launch(*FRAMES).fill("idle_gap")
    assert (
        trace.text(
            "select name, k.dur // 1000 from idle_culprit as k"
            " inner join cpu_slice using (slice_id)"
            " inner join idle_gap as g using (gap_id)"
            " where g.ts = 100_000 and k.cause = 'idle_python' order by cpu_slice.ts, depth"
        )
        == """ProfilerStep#1 10
train.py(3): step 130
nn.Module: Encoder_0 100
data.py(7): preprocess 110
torch/nn/functional.py(9): pad 90
<built-in function zoom> 300
data.py(20): decode 60"""
    )
    assert trace.rows("select dur, slice_dur from idle_gap_cause where cause = 'idle_python' and dur > 100_000") == [
        (800_000, 300_000)
    ]


def test_time_adds_up_by_line_module_and_operator():
    trace = build_late_launch(*FRAMES).fill_all()
    rolled = "select name, dur // 1000 from culprit_time where cause = 'idle_python' and what = '{}'"
    lines = dict(trace.rows(rolled.format("line")))
    assert lines["data.py(7): preprocess"] == 500
    assert lines["data.py(20): decode"] == 60
    modules = dict(trace.rows(rolled.format("module")))
    assert modules["nn.Module: Encoder_0"] == 100
    for what in ("slice", "operator", "annotation", "module", "line", "phase"):
        assert sum(dict(trace.rows(rolled.format(what))).values()) in (801, 802)


def test_while_a_launch_is_on_its_way_no_slice_is_charged():
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 1_000_000)
    trace.kernel("first", 20_000, 80_000, launched=(1_000, 5_000))
    trace.kernel("second", 910_000, 90_000, launched=(20_000, 5_000))
    trace.fill("idle_gap")
    assert trace.rows("select cause, cpu_slice_id is null, slice_dur from idle_gap_cause where dur > 100_000") == [
        ("idle_launch_latency", False, None)
    ]
    assert trace.rows("select count(*) from idle_culprit where cause = 'idle_launch_latency'") == [(0,)]


def test_no_slice_is_charged_for_two_gaps_with_more_than_its_length():
    """Two devices, a gap cut by the start of a step, slices in one another: the identities hold."""
    trace = TraceBuilder()
    for number in range(3):
        at = number * 1_000_000
        trace.annotation(f"ProfilerStep#{number}", at, 1_000_000)
        trace.op("aten::linear", at + 300_000, 500_000)
        trace.op("aten::addmm", at + 400_000, 300_000)
        trace.kernel("gemm", at + 500_000, 90_000, launched=(at + 450_000, 5_000))
        trace.kernel("gemm", at + 520_000, 90_000, launched=(at + 470_000, 5_000), device=1)
    trace.fill_all()
    checked = {each.identity.name: each for each in check(trace._connection, 1)}
    assert [(checked[name].checked > 10, checked[name].broken) for name in ("idle_culprit", "idle_culprit_slice")] == [
        (True, 0),
        (True, 0),
    ]
