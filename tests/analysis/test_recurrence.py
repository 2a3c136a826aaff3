"""Steps of traces that nothing marks: sequences of launches that recur."""

from __future__ import annotations

import numpy as np
import pytest
from builder import TraceBuilder
from hypothesis import given, settings
from hypothesis import strategies as st

from traceq.analysis.steps.recurrence import Launches, find_recurrence
from traceq.analysis.steps.recurring_communication import find_recurring_communication
from traceq.analysis.steps.regular import find_period
from traceq.health.identities import IDENTITIES, check_one

STEP = "ABABABABCCDE"
# Capitals are kernels; of the rest: < a copy to the GPU, > one to the host, u an update, g a graph, m a memset.
READ, INPUT, UPDATE, GRAPH, MEMSET = ">", "<", "u", "g", "m"


def number_letters(letters):
    return np.array([ord(letter) - ord("!") for letter in letters], np.int64)


def launch_letters(letters, gpu_behind=50, gpu_period=None):
    """A launch each, 100 ns apart and 20 long; a blank is a pause of 1,000 ns."""
    ts, now = [], 0
    for letter in letters:
        now += 1_000 if letter == " " else 100
        if letter != " ":
            ts.append(now)
    kinds = letters.replace(" ", "")
    ts = np.array(ts, np.int64)
    gpu_ts = ts + gpu_behind if gpu_period is None else ts[0] + 50 + gpu_period * np.arange(len(ts))
    flags = {name: np.array([each == kind for each in kinds]) for name, kind in (
        ("is_input", INPUT), ("is_read", READ), ("is_graph", GRAPH), ("is_update", UPDATE)
    )}  # fmt: skip
    return Launches(
        number=number_letters(kinds), thread_id=np.ones_like(ts), ts=ts, ts_end=ts + 20, settled=ts + 20,
        gpu_ts=gpu_ts, gpu_ts_end=gpu_ts + 30, is_aside=np.zeros(len(ts), np.bool_),
        is_compute=np.array([each not in (READ, INPUT, GRAPH, MEMSET) for each in kinds]),
        is_set_up=np.array([each in (INPUT, MEMSET) for each in kinds]), **flags,
    )  # fmt: skip


def find_rounds(letters, **times):
    """Return the rounds as text, with / before each and what is none in brackets; None where nothing recurs."""
    result = find_recurrence(launch_letters(letters, **times))
    if result is None:
        return None
    kinds = letters.replace(" ", "")
    said = [kinds[part.first : part.last] for part in result.parts]
    first, last = result.parts[0].first, result.parts[-1].last
    marked = [text if part.is_round else f"({text})" for text, part in zip(said, result.parts, strict=True)]
    return f"{kinds[:first]}/{'/'.join(marked)}/{kinds[last:]}"


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=2, max_size=60))
def test_the_period_is_the_smallest_lag_at_which_as_many_recur_as_at_any(sequence):
    sequence = np.array(sequence, np.int64)
    shares = {lag: np.mean(sequence[:-lag] == sequence[lag:]) for lag in range(1, len(sequence) // 2 + 1)}
    best = max(shares.values())
    result = find_period(sequence)
    if best == 0:
        assert result is None
        return
    smallest = min(lag for lag, share in shares.items() if share >= best - 0.002)
    # or a whole part of it at which nearly as many do
    parts = [lag for lag in range(1, smallest + 1) if smallest % lag == 0 and shares[lag] >= shares[smallest] - 0.02]
    assert result.lag == min(parts)
    assert result.share == shares[result.lag]


@pytest.mark.parametrize(
    ("letters", "rounds"),
    [
        (STEP * 2, f"/{STEP}/{STEP}/"),
        (STEP * 4, f"/{STEP}/{STEP}/{STEP}/{STEP}/"),
        ("ABC" * 3, "/ABC/ABC/ABC/"),
        ("CDE " + "ABABABABCCDE " * 2 + "ABAB", f"CDE/{STEP}/{STEP}/ABAB"),
        ("XYZXXYYZ" + STEP * 3, f"XYZXXYYZ/{STEP}/{STEP}/{STEP}/"),
        (STEP * 3 + "XYZ", f"/{STEP}/{STEP}/{STEP}/XYZ"),
        ("ABCD>EFGH>" * 3, "/ABCD>/EFGH>/ABCD>/EFGH>/ABCD>/EFGH>/"),
        (STEP * 3 + "XYZ" * 8 + STEP * 3, f"/{STEP}/{STEP}/{STEP}/({'XYZ' * 8})/{STEP}/{STEP}/{STEP}/"),
        (STEP * 3 + "XY" + STEP * 3, f"/{STEP}/{STEP}/{STEP}XY/{STEP}/{STEP}/{STEP}/"),
        ("ggg", "/g/g/g/"),
        ("<ABCu" * 4 + "<ABC", "/<ABCu/<ABCu/<ABCu/<ABCu/<ABC"),
        ("BCu" + "<ABCu" * 4, "BCu/<ABCu/<ABCu/<ABCu/<ABCu/"),
        ("<ABCu>" + ("<ABCu" * 2 + "<ABCu>") * 2, "/<ABCu>/<ABCu/<ABCu/<ABCu>/<ABCu/<ABCu/<ABCu>/"),
        (("<ABCDEF" * 3 + "uu") * 2 + "<ABCDEF" * 3 + "uXu", "/" + ("<ABCDEF" * 3 + "uu/") * 2 + "<ABCDEF" * 3 + "uXu/"),
        (("<ABCDEFGu" * 3 + "<ABC>" * 3) * 2, "/" + ("<ABCDEFGu/" * 3 + f"({'<ABC>' * 3})/") + "<ABCDEFGu/" * 3 + "<ABC>" * 3),
        ("<IJKLABCDEFGu" + "<ABCDEFGu" * 3, "/<IJKLABCDEFGu/<ABCDEFGu/<ABCDEFGu/<ABCDEFGu/"),
        ("A" * 300 + "mB" * 150 + "CDE>" * 80, "/" + "A/" * 300 + "mB/" * 150 + "CDE>/" * 80),
        ("mB" * 300 + "CDE>" * 150, "/" + "mB/" * 300 + "CDE>/" * 150),
        ("mA>HH" * 60 + "XY" + "mB>P" * 60, "/" + "mA>HH/" * 60 + "(XY)/" + "mB>P/" * 60),
        ("mA>HH" * 60 + "mB>P" * 90 + "mA>HH" * 60, "/" + "mA>HH/" * 60 + "mB>P/" * 90 + "mA>HH/" * 60),
    ],
    ids=[
        "two whole ones", "four", "short ones", "cut at both ends, between pauses", "after starting up",
        "before something else", "reads split rounds that differ in turn", "interrupted", "a little longer once",
        "graphs", "cut at the end, between update and input", "cut at the start",
        "a loss logged now and then", "micro-batches, and one launch more in one step", "epochs with validation",
        "a first step that tries out kernels", "one kernel, then two, then four",
        "a loop and twice as long a one", "a reference and then the solver", "a solver between references",
    ],
)  # fmt: skip
def test_rounds_are_found(letters, rounds):
    assert find_rounds(letters) == rounds


@pytest.mark.parametrize(
    "letters",
    ["A", "A  A" * 20, "ABAB", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "XYZUVW" * 2 + "ABCDEFGHIJKLMN" * 1, "mm<m" * 12],
    ids=["one", "one kernel at uneven times", "too few short ones", "no repetition", "little of all", "set-up"],
)
def test_what_does_not_recur_has_no_rounds(letters):
    assert find_rounds(letters) is None


def test_one_kernel_at_even_times_is_a_loop():
    assert find_rounds("B" + "A" * 8 + "CD") == "B/A/A/A/A/A/A/A/A/CD"
    assert find_recurrence(launch_letters("BCDEFG" + "A" * 12)).is_sure
    assert find_rounds("A" * 7) is None


@pytest.mark.parametrize(
    ("letters", "is_sure"),
    [(STEP * 4, True), ("XYZUVW" + STEP * 4 + "UVWXYZ", False), ("XYZUVW" + "<ABABABABCCDE" * 4 + "UVWXYZ", True)],
    ids=["all there is", "something around it, as around layers", "with an input of its own"],
)
def test_what_may_be_a_layer_is_not_sure(letters, is_sure):
    assert find_recurrence(launch_letters(letters)).is_sure == is_sure


def test_what_recurs_inside_a_round():
    result = find_recurrence(launch_letters(("ABCDEFGH" * 6 + "XYZ") * 3))
    assert (result.length, result.inner) == (51, 8)


def test_rounds_between_two_reads_may_be_steps_themselves():
    result = find_recurrence(launch_letters("ggggg>" * 4))
    assert (result.length, result.inner, result.inner_whole) == (6, 1, 20)
    assert find_recurrence(launch_letters(("ABCDEFGH" * 6 + "XYZ>") * 3)).inner_whole == 0


def test_a_host_that_runs_rounds_ahead_paces_nothing():
    assert find_recurrence(launch_letters("<Ag" * 8, gpu_period=1_000)).is_ahead
    assert not find_recurrence(launch_letters("<Ag" * 8)).is_ahead


@settings(max_examples=100, deadline=None)
@given(step=st.lists(st.integers(0, 5), min_size=8, max_size=30), times=st.integers(4, 9), cut=st.integers(0, 7))
def test_any_step_with_a_kernel_of_its_own_is_found_whole(step, times, cut):
    letters = "".join(chr(ord("A") + each) for each in [6, *step] * times)[cut:]
    result = find_recurrence(launch_letters(letters))
    assert {part.last - part.first for part in result.parts} == {len(step) + 1}
    assert len(result.parts) >= times - 1


def test_unmarked_launches_become_steps():
    trace = TraceBuilder()
    for number in range(5 * 10):
        trace.kernel(f"kernel {number % 10}", 1000 * number + 500, 300, launched=(1000 * number, 100))
    assert trace.fill().text("select step, name, source, ts, dur from step where step < 2 order by step") == (
        "0 sequence of 10 launches recurrence 0 9100\n1 sequence of 10 launches recurrence 9100 10000"
    )


def test_slices_belong_to_the_steps_that_the_gpu_paces_by_their_own_start():
    """The host launches all ten steps while the GPU does the first."""
    trace = TraceBuilder()
    for number in range(10 * 10):
        trace.kernel(f"kernel {number % 10}", 20_000 * number + 500, 19_900, launched=(1000 * number, 100))
    trace.fill_all()
    assert trace.rows("select count(*), bool_and(ts = gpu_ts) from step") == [(10, True)]
    (identity,) = (each for each in IDENTITIES if each.name == "step_of_slice")
    result = check_one(trace._connection, identity, 1)
    assert (result.checked, result.broken) == (100, 0)


def test_steps_that_begin_on_the_gpu_by_chance_keep_what_was_launched_in_them():
    trace = TraceBuilder()
    for step in range(2):
        trace.annotation(f"ProfilerStep#{step}", 100 * step, 100)
        trace.kernel("gemm", 100 * step, 10, launched=(100 * step, 1), stream=7)
        trace.kernel("late", 100 * step + 100, 5, launched=(100 * step + 95, 2), stream=8)
    trace.fill_all()
    assert trace.rows("select bool_and(ts = gpu_ts) from step") == [(True,)]
    assert trace.text("select name, step from gpu_slice order by ts, name") == "gemm 0\ngemm 1\nlate 0\nlate 1"
    (identity,) = (each for each in IDENTITIES if each.name == "step_of_slice")
    result = check_one(trace._connection, identity, 1)
    assert (result.checked, result.broken) == (4, 0)


def build_collectives(letters, long_after=(), pause=10):
    """Collectives 100 ns apart and `pause` times that after those positions."""
    pauses = [100 * (pause if position in long_after else 1) for position in range(len(letters))]
    ts = np.cumsum([0, *pauses[:-1]], dtype=np.int64)
    return number_letters(letters), ts, ts + 10


@pytest.mark.parametrize(
    ("letters", "long_after", "ends", "length"),
    [
        ("A" * 23, (3, 8, 13, 18), [3, 8, 13, 18], 5),
        ("X" + "ABACB" * 5, (0, 5, 10, 15, 20), [0, 5, 10, 15, 20, 25], 5),
        ("AAABBBBBCC" * 4, (), [0, 10, 20, 30], 10),
        ("CC" + "AAABBBBBCC" * 4 + "A", (9, 19, 29, 39), [9, 19, 29, 39], 10),
        ("AABBBBBBCC" * 3, (4, 14, 24), [4, 14, 24], 10),
    ],
    ids=["pauses alone", "first step unlike the others", "names alone", "cut at both ends", "names and pauses"],
)
def test_collectives_recur(letters, long_after, ends, length):
    assert find_recurring_communication(*build_collectives(letters, long_after)) == (ends, length)


@pytest.mark.parametrize(
    ("letters", "long_after", "pause"),
    [
        ("", (), 1),
        ("A" * 40, (), 1),
        ("A" * 40, (5, 15, 26, 35), 10),
        ("A" * 40, (5, 15, 25), 10),
        ("A" * 40, (13, 18, 23, 28), 10),
        ("A" * 40, (9, 19, 29), 1.5),
        ("AB" * 20, range(1, 40, 2), 10),
        ("ABAC" * 10, (), 1),
        ("AAABBBBBCC" * 2, (), 1),
        ("AAABBBBBCC" * 4 + "AAD", (), 1),
        ("ABABAB" + "BAABAB" + "ABABAB" * 3, (5, 11, 17, 23), 10),
    ],
    ids=[
        "nothing", "no pauses", "unevenly apart", "too few", "in the middle only", "hardly longer", "two a layer",
        "four a layer", "too few to repeat", "others at the end", "long pauses around unlike ones",
    ],
)  # fmt: skip
def test_collectives_that_do_not_recur_are_no_steps(letters, long_after, pause):
    assert find_recurring_communication(*build_collectives(letters, long_after, pause)) is None


@settings(max_examples=100, deadline=None)
@given(
    step=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 100)), min_size=4, max_size=12),
    pauses=st.lists(st.integers(300, 550), min_size=6, max_size=9),
    cut=st.tuples(st.integers(0, 3), st.integers(0, 3)),
)
def test_steps_with_a_long_pause_are_found_whole(step, pauses, cut):
    collectives = [(name, own, long) for long in pauses for name, own in [*step[:-1], (step[-1][0], None)]]
    names = np.array([name for name, _, _ in collectives])
    gaps = np.array([long if own is None else own for _, own, long in collectives])
    ts = np.cumsum([0, *gaps[:-1]])
    kept = slice(cut[0], len(names) - cut[1])
    found = find_recurring_communication(names[kept], ts[kept], ts[kept])
    assert found is not None
    assert found.length == len(step)
    assert {(end + cut[0] + 1) % len(step) for end in found.ends} == {0}


def add_varying_steps(trace, bytes_of=lambda _: None, **options):
    """Five steps of 1,000 ns, each with kernels of its own and four all-reduces launched at 500, 600, 700 and 800."""
    for step in range(5):
        for kernel in range(3 + step % 2):
            trace.kernel(f"gemm {step} {kernel}", 1000 * step + 100 * kernel + 30, 20, (1000 * step + 100 * kernel, 10))
        for bucket in range(4):
            ts = 1000 * step + 500 + 100 * bucket
            launched = options.get("launched", (ts, 10))
            reduce = trace.kernel("ncclDevKernel_AllReduce_Sum_f32", ts + 20, 60, launched, stream=9)
            trace.add("collective", slice_id=reduce, op="allreduce", bytes=bytes_of(bucket))
    return trace


STEPS = "select step, name, source, thread_id, ts, dur from step order by step"


def test_steps_of_varying_kernels_end_after_their_last_collective():
    assert add_varying_steps(TraceBuilder(), lambda bucket: 1 << bucket).fill().text(STEPS) == (
        "0 after a sequence of 4 collectives recurrence 0 810 1000\n"
        "1 after a sequence of 4 collectives recurrence 0 1810 1000\n"
        "2 after a sequence of 4 collectives recurrence 0 2810 1000\n"
        "3 after a sequence of 4 collectives recurrence 0 3810 1070"
    )


def test_without_launching_calls_steps_lie_between_collectives_on_the_device():
    assert add_varying_steps(TraceBuilder(), launched=None).fill().text(STEPS) == (
        "0 after a sequence of 4 collectives recurrence - 880 1000\n"
        "1 after a sequence of 4 collectives recurrence - 1880 1000\n"
        "2 after a sequence of 4 collectives recurrence - 2880 1000\n"
        "3 after a sequence of 4 collectives recurrence - 3880 1000"
    )


def test_collectives_of_the_host_recur_where_there_is_no_gpu():
    trace = TraceBuilder()
    for number in range(4 * 8):
        asked = trace.op("record_param_comms", 100 * number, 10, thread=number % 2)
        trace.add("collective", slice_id=asked, op="allreduce", bytes=number % 8)
    steps = trace.fill().text("select step, name, thread_id, ts, dur from step order by step")
    assert steps.splitlines()[0] == "0 after a sequence of 8 collectives 0 10 800"


def test_what_does_not_recur_leaves_the_window():
    trace = TraceBuilder()
    for number in range(40):
        trace.kernel("ncclDevKernel_AllReduce_Sum_f32", 1000 * number + 500, 300, launched=(1000 * number, 100))
    assert trace.fill().text("select source, count(*) from step group by source") == "window 1"


def test_kernels_of_one_stream_recur_where_launching_calls_are_missing():
    trace = TraceBuilder()
    for number in range(5 * 10):
        trace.kernel(f"kernel {number % 10}", 1000 * number, 300)
        if number % 7 == 0:
            trace.kernel("memset", 1000 * number + 10 * (number % 3), 30, stream=8)
    assert trace.fill().text("select step, source, ts, dur from step where step < 2 order by step") == (
        "0 recurrence 0 9300\n1 recurrence 9300 10000"
    )
