"""Where steps come from, how long they last, what belongs to them."""

from __future__ import annotations

import pytest
from builder import TraceBuilder

STEPS = "select step, name, source, ts, dur, gpu_ts, gpu_dur from step order by step"


def add_steps(trace, count, name="ProfilerStep#{}", dur=100, gap=0, launch=True):
    """Add `count` annotations one after another, each launching one kernel on its way."""
    for number in range(count):
        ts = number * (dur + gap)
        trace.annotation(name.format(number), ts, dur)
        if launch:
            trace.kernel("gemm", ts + 20, 50, launched=(ts + 10, 5))


def test_a_step_lasts_to_the_next_ones_start_and_the_last_to_the_end_of_its_work():
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#7", 0, 90)
    trace.annotation("ProfilerStep#8", 100, 80)
    trace.kernel("late", 120, 100, launched=(110, 5))
    assert trace.fill().text(STEPS) == (
        "7 ProfilerStep#7 profiler_step 0 100 - -\n8 ProfilerStep#8 profiler_step 100 120 120 100"
    )


def test_work_belongs_to_the_step_that_launched_it_and_time_to_the_step_it_elapsed_in():
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#0", 0, 100)
    trace.annotation("ProfilerStep#1", 100, 100)
    trace.kernel("queued", 110, 30, launched=(90, 5))
    trace.fill("time_ledger")
    assert trace.text("select step from kernel") == "0"
    # The kernel follows its call by 15 ns, the one that ends the second gap; step 0 ends 5 ns after the call.
    assert trace.text("select step, category, dur from time_ledger order by all") == (
        "0 idle_launch 5\n0 idle_launch_latency 5\n0 idle_python 90\n"
        "1 compute 30\n1 idle_launch_latency 10\n1 idle_python 60"
    )


def test_profiler_steps_win_over_other_annotations():
    trace = TraceBuilder()
    add_steps(trace, 3)
    for number in range(6):
        trace.annotation("train_step", 50 * number + 1, 40)
    assert trace.fill().text("select distinct source from step") == "profiler_step"


def test_numbered_annotations_that_cover_the_launches_are_steps():
    trace = TraceBuilder()
    add_steps(trace, 4, name="iteration {}", gap=10)
    assert trace.fill().text("select step, name, source, dur from step order by step") == (
        "0 iteration 0 annotation 110\n1 iteration 1 annotation 110\n2 iteration 2 annotation 110\n3 iteration 3 annotation 100"
    )


def test_the_thread_of_the_annotation_need_not_be_the_one_that_launches():
    trace = TraceBuilder()
    for number in range(3):
        ts = 100 * number
        trace.annotation("train_step", ts, 100)
        trace.kernel("backward", ts + 50, 20, launched=(ts + 40, 5), thread=1)
    assert trace.fill().text("select count(*), any_value(source) from step") == "3 annotation"


def test_annotations_that_cover_few_launches_are_no_steps():
    trace = TraceBuilder()
    for number in range(4):
        trace.annotation("log", 1000 * number, 10)
        for kernel in range(3):
            ts = 1000 * number + 100 * kernel + 100
            trace.kernel("gemm", ts + 20, 50, launched=(ts, 5))
    assert trace.fill().text("select name, source from step") == "window window"


def test_names_that_recur_in_cycles_are_layers_not_steps():
    trace = TraceBuilder()
    for number in range(12):
        trace.annotation(f"layer_{number % 4}", 100 * number, 100)
        trace.kernel("gemm", 100 * number + 20, 50, launched=(100 * number + 10, 5))
    assert trace.fill().text("select source from step") == "window"


def test_annotations_without_any_work_are_no_steps():
    trace = TraceBuilder()
    for number in range(4):
        trace.annotation("save_checkpoint", 1000 * number, 100)
    assert trace.fill().text("select source from step") == "window"


def test_optimizer_steps_are_boundaries():
    trace = TraceBuilder()
    for number in range(4):
        trace.annotation("Optimizer.step#Adam.step", 100 * number + 80, 10)
        trace.kernel("gemm", 100 * number + 20, 50, launched=(100 * number + 10, 5))
    assert trace.fill().text("select source, ts, dur from step order by step") == (
        "optimizer 90 100\noptimizer 190 100\noptimizer 290 100"
    )


def test_without_steps_the_gpu_work_is_judged_as_one():
    trace = TraceBuilder()
    trace.op("aten::mm", 5, 10)
    trace.kernel("gemm", 20, 50)
    assert trace.fill().text(STEPS) == "0 window window 20 50 20 50"


def test_a_given_step_range_wins():
    trace = TraceBuilder()
    add_steps(trace, 4)
    trace.annotation("epoch", 100, 200)
    trace.fill(step_range="^epoch$")
    assert trace.text("select name, source from step") == "epoch step_range"


def test_a_step_range_that_matches_nothing_is_noted():
    trace = TraceBuilder()
    add_steps(trace, 3)
    trace.fill("notes", step_range="^epoch$")
    assert trace.text("select distinct source from step") == "profiler_step"
    assert trace.text("select code from import_note where code like 'step_range%'") == "step_range_unmatched"


def test_nested_matches_are_not_steps_of_their_own():
    trace = TraceBuilder()
    trace.annotation("step a", 0, 100)
    trace.annotation("step b", 20, 10)
    trace.annotation("step c", 100, 50)
    assert trace.fill(step_range="^step").text("select name from step order by ts") == "step a\nstep c"


def test_a_slow_first_step_is_warm_up_and_left_out_of_statistics():
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#0", 0, 1000)
    for number in range(1, 5):
        trace.annotation(f"ProfilerStep#{number}", 900 + 100 * number, 100)
    trace.fill("step_stats")
    assert trace.text("select step from step where excluded is not null") == "0"
    assert trace.text("select steps, excluded, total, p50, max from step_stats") == "4 1 400 100.0 100"


def test_a_slow_second_step_is_warm_up_only_while_something_warms_up():
    def build_named_trace(name):
        result = TraceBuilder()
        durations = [1000, 900, 100, 100, 100, 100]
        ts = 0
        for number, dur in enumerate(durations):
            result.annotation(f"ProfilerStep#{number}", ts, dur)
            ts += dur
        result.call(name, 1200, 100)
        return result.fill()

    assert build_named_trace("cudaMalloc").text("select step from step where excluded is not null order by 1") == "0\n1"
    assert build_named_trace("cudaLaunchKernel").text("select step from step where excluded is not null") == "0"


def test_steps_of_equal_length_are_never_warm_up():
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#0", 0, 101)
    for number in range(1, 5):
        trace.annotation(f"ProfilerStep#{number}", 1 + 100 * number, 100)
    assert trace.fill("step_stats").text("select excluded from step_stats") == "0"


def test_a_last_step_that_launched_nothing_while_all_others_did_is_incomplete():
    trace = TraceBuilder()
    add_steps(trace, 3)
    trace.annotation("ProfilerStep#3", 300, 5)
    assert trace.fill().text("select step, excluded is not null from step order by step") == (
        "0 False\n1 False\n2 False\n3 True"
    )


def test_percentiles_interpolate():
    trace = TraceBuilder()
    ts = 0
    for number, dur in enumerate((100, 101, 102, 103, 104)):
        trace.annotation(f"ProfilerStep#{number}", ts, dur)
        ts += dur
    trace.fill("step_stats")
    assert trace.text(
        "select steps, mean, min, round(p50, 2), round(p90, 2), round(p95, 2), round(p99, 2), max from step_stats"
    ) == ("5 102.0 100 102.0 103.6 103.8 103.96 104")


def add_rounds(trace, count, length=10, name="kernel"):
    """Add `count` rounds of `length` kernels each, a launch every 100 ns."""
    for number in range(count * length):
        trace.kernel(f"{name} {number % length}", 100 * number + 50, 30, launched=(100 * number, 10))
    return trace


COUNTED = "select ts, dur from step where excluded is null order by step"


def test_two_steps_in_each_unit():
    trace = add_rounds(TraceBuilder(), 3)
    assert trace.fill(steps_per="2").text(COUNTED) == "0 500\n500 410\n910 590\n1500 410\n1910 590\n2500 480"


def test_two_whole_units_are_a_step_and_what_was_cut_is_left():
    trace = add_rounds(TraceBuilder(), 5)
    assert trace.fill(steps_per="1/2").text("select ts, dur, excluded from step order by step") == (
        "0 910 incomplete: cut by the start of the capture\n910 2000 -\n2910 2070 -"
    )


def test_a_window_keeps_the_steps_inside():
    trace = add_rounds(TraceBuilder(), 4)
    trace.fill(window="900ns..3us")
    assert trace.text("select ts, dur, excluded from step order by step") == (
        "0 910 incomplete: cut by the start of the capture\n910 1000 -\n1910 1000 -\n2910 1070 outside of --window"
    )
    assert trace.text("select phase, ts, dur from phase_of_run order by ts") == (
        "left_out 0 910\nwindow 910 2000\nleft_out 2910 1070"
    )


def test_a_window_between_annotations_without_a_whole_step_is_judged_itself():
    trace = add_rounds(TraceBuilder(), 4)
    trace.annotation("from", 1200, 10)
    trace.annotation("to", 1400, 100)
    assert trace.fill(window="from..to").text(STEPS) == "0 window window 1200 300 1250 230"


def test_samples_before_the_first_slice_are_part_of_the_trace():
    trace = TraceBuilder()
    trace.cpu("os", "read", 900, 100)
    for ts in (0, 500, 2000):
        trace.add("cpu_sample", thread_id=0, ts=ts, symbol="f", module="a.out", caller="f")
    assert trace.fill().text("select phase, ts, dur, share from phase_of_run") == "window 0 2000 1.0"


def test_a_window_that_names_no_annotation_is_noted():
    trace = add_rounds(TraceBuilder(), 4)
    trace.fill("notes", window="nowhere")
    assert trace.text("select count(*) from step") == "4"
    assert trace.text("select code from import_note where code like 'window%'") == "window_unmatched"


def test_all_gpu_work_is_a_window():
    trace = add_rounds(TraceBuilder(), 4)
    assert trace.fill(window="gpu").text(STEPS) == "0 window window 0 3980 50 3930"


@pytest.mark.parametrize(
    ("stray", "first_call", "window"),
    [
        ("memcpy", "cudaMalloc", "start_up 0 100000 10\nwindow 100000 2040 1800"),
        ("kernel", "cudaMalloc", "window 0 102040 1810"),
        ("kernel", "cudaGetDeviceProperties", "start_up 0 100000 10\nwindow 100000 2040 1800"),
    ],
    ids=["a copy", "a kernel of a program that runs", "a kernel of a program that starts"],
)
def test_stray_work_long_before_is_start_up(stray, first_call, window):
    trace = TraceBuilder()
    trace.call(first_call, 0, 0)
    trace.gpu(stray, "stray", 50, 10, launched=(0, 10))
    for number in range(20):
        trace.kernel(f"kernel {number}", 100_050 + 100 * number, 90, launched=(100_000 + 100 * number, 10))
    trace.fill()
    assert trace.text("select phase, ts, dur, gpu_busy from phase_of_run order by ts") == window


def add_forwards(trace, name, count=5):
    """Add `count` annotations of that name to the trace, each around three kernels."""
    for number in range(count):
        trace.annotation(name, 1_000 * number, 900)
        for place in range(3):
            trace.kernel(
                f"kernel {place}", 1_000 * number + 200 * place + 50, 100, launched=(1_000 * number + 200 * place, 10)
            )
    return trace


def test_names_in_camel_case_are_layers_too():
    trace = TraceBuilder()
    for number in range(8):
        trace.annotation(f"TransformerLayer_{number}", 1_000 * number, 900)
        for place in range(3):
            start = 1_000 * number + 200 * place
            trace.kernel(f"kernel {place}", start + 50, 100, launched=(start, 10))
    assert trace.fill().text("select source, count(*) from step group by source") == "window 1"


def test_annotations_that_hold_little_of_the_gpus_time_are_no_steps():
    trace = add_forwards(TraceBuilder(), "iteration", count=4)
    trace.kernel("all-gather", 10_000, 50_000, launched=(9_000, 10))
    assert "annotation" not in trace.fill().text("select distinct source from step")


def test_one_annotation_of_a_pass_is_a_step():
    trace = TraceBuilder()
    trace.annotation("Model_Forward", 0, 10_000)
    for number in range(20):
        trace.kernel(f"kernel {number}", 400 * number + 50, 100, launched=(400 * number, 10))
    assert trace.fill().text("select source, name, ts, dur from step") == "annotation Model_Forward 0 10000"


def test_rounds_inside_one_call_of_a_module_are_layers():
    trace = TraceBuilder()
    trace.cpu("python", "nn.Module: SwitchTransformer_0", 0, 40_000)
    for number in range(30):
        trace.kernel(f"kernel {number % 3}", 1_000 * number + 100, 10, launched=(1_000 * number + 50, 10))
    assert trace.fill().text("select source, count(*) from step group by source") == "window 1"
    assert trace.text("select level, evidence from unit where not is_step") == "layer all lie in one call of a module"


def test_what_the_program_marks_as_warming_up_does_not_count():
    trace = add_forwards(TraceBuilder(), "forward", count=8)
    trace.annotation("Warm-up", -10, 2_995)
    said = trace.fill().text("select excluded, count(*) from step group by excluded order by 2").splitlines()
    assert "the program marks it as warming up 3" in said


def test_the_last_unmarked_step_ends_where_its_work_does():
    trace = add_rounds(TraceBuilder(), 4)
    trace.call("cudaDeviceSynchronize", 50_000, 10_000)
    ends = trace.fill().rows("select max(ts_end) from step where excluded is null")
    assert ends[0][0] < 5_000


def test_layers_inside_steps_are_a_unit_of_their_own():
    trace = TraceBuilder()
    for number in range(3 * 35):
        place = number % 35
        name = f"layer {place % 8}" if place < 32 else f"head {place}"
        trace.kernel(name, 100 * number + 50, 30, launched=(100 * number, 10))
    trace.fill()
    assert trace.text("select level, count, launches, is_step, is_possible from unit order by unit") == (
        "step 3 35 True True\nlayer 12 8 False False"
    )


def test_annotations_of_layers_are_no_steps():
    trace = add_rounds(TraceBuilder(), 8)
    for number in range(8):
        trace.annotation(f"FSDP::pre_forward (blocks.{number})", 1000 * number, 900)
    trace.fill()
    assert trace.text("select level, source, count, is_step from unit order by level, source") == (
        "layer annotation 8 False\nlayer recurrence 8 False\nwindow window 1 True"
    )


def test_without_a_gpu_ranges_recur():
    trace = TraceBuilder()
    for number in range(5):
        trace.annotation("read", 1000 * number, 200)
        trace.annotation("think", 1000 * number + 300, 500)
    trace.fill()
    assert trace.text("select count(*), min(name) from step") == "5 sequence of 2 ranges"


def build_phases(*runs):
    """Build marked steps of 1,000 ns; `runs` says how many with how many launches each."""
    trace = TraceBuilder()
    work = [launches for steps, launches in runs for _ in range(steps)]
    for number, launches in enumerate(work):
        trace.annotation(f"ProfilerStep#{number}", 1000 * number, 1000)
        for launch in range(launches):
            at = 1000 * number + 20 * launch
            trace.kernel("gemm", at + 8, 10, launched=(at, 5))
    trace.fill()
    return trace.text("select string_agg(if(excluded is null, 'x', '-'), '' order by step) from step")


def test_of_several_phases_the_longest_is_judged():
    assert build_phases((8, 30), (4, 10)) == "xxxxxxxx----"
    assert build_phases((3, 30), (5, 10)) == "---xxxxx"
    assert build_phases((3, 30), (3, 10), (5, 30)) == "xxx---xxxxx"
    assert build_phases((3, 30), (3, 10)) == "xxx---"


def test_steps_that_vary_are_no_phases():
    assert build_phases((8, 30), (2, 10)) == "xxxxxxxxxx"
    assert build_phases(*[(3, 30), (3, 10)] * 3) == "x" * 18
    assert build_phases((4, 30), (4, 25)) == "xxxxxxxx"
    assert build_phases((3, 30), (1, 25), (4, 10)) == "xxxxxxxx"


def test_a_last_mark_that_stays_open_ends_where_the_program_did_something():
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 100_000)
    trace.kernel("gemm", 20, 50, launched=(10, 5))
    trace.fill()
    assert trace.text("select ts, dur from step") == "0 70"
    assert trace.text("select phase, ts, dur from phase_of_run order by ts") == "window 0 70\ntail 70 99930"


@pytest.mark.parametrize(("name", "dur"), [("save_checkpoint", 100_000), ("anything", 70)])
def test_saving_in_the_last_step_is_something_done_though_no_call_is_seen_in_it(name, dur):
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 100_000)
    trace.kernel("gemm", 20, 50, launched=(10, 5))
    trace.annotation(name, 80, 99_920)
    trace.fill()
    assert trace.text("select ts, dur from step") == f"0 {dur}"


@pytest.mark.parametrize(
    ("work", "dur", "excluded"),
    [
        (3, 220, "incomplete: the last step, with less work than any other"),
        (3, 1400, "incomplete: the last step, with less work than any other"),
        (0, 1000, "incomplete: the last step, with less work than any other"),
        (8, 700, None),
    ],
    ids=["raised", "raised, and the profiler took long to stop", "stub", "whole, and shorter"],
)
def test_a_last_step_that_an_exception_cut_does_not_count_without_a_gpu_either(work, dur, excluded):
    trace = TraceBuilder()
    for number in range(4):
        is_last = number == 3
        trace.annotation(f"traceq.step#{number}", 1000 * number, dur if is_last else 1000)
        for operator in range(work if is_last else 8):
            trace.op("aten::mm", 1000 * number + 20 * operator, 10)
    trace.fill()
    assert trace.rows("select step, excluded from step where step in (0, 3) order by step") == [
        (0, None),
        (3, excluded),
    ]


def test_where_steps_do_different_work_a_last_one_that_is_not_shorter_counts():
    trace = TraceBuilder()
    for number, work in enumerate((4, 40, 8, 3)):
        trace.annotation(f"traceq.step#{number}", 1000 * number, 1000)
        for operator in range(work):
            trace.op("aten::mm", 1000 * number + 20 * operator, 10)
    trace.fill()
    assert trace.rows("select excluded from step where step = 3") == [(None,)]


def test_a_last_step_that_the_capture_cut_does_not_count():
    trace = TraceBuilder()
    for number in range(4):
        ts = 1000 * number
        is_cut = number == 3
        trace.annotation(f"ProfilerStep#{number}", ts, 200 if is_cut else 1000)
        for kernel in range(2 if is_cut else 8):
            trace.kernel("gemm", ts + 100 * kernel + 20, 50, launched=(ts + 100 * kernel, 5))
    trace.fill()
    assert trace.text("select step, excluded from step where excluded is not null") == (
        "3 incomplete: the last step, with less work than any other"
    )


def test_rounds_that_the_capture_cut_say_so():
    trace = TraceBuilder()
    for number in range(52):
        ts = 1000 * (number // 10) + 50 * (number % 10)
        trace.kernel(f"kernel{number % 10}", ts + 10, 30, launched=(ts, 5))
    trace.fill()
    assert trace.text("select step, source, excluded from step where excluded is not null") == (
        # nor does the first: what the others begin with, the pause before their launches, is not in the capture
        "0 recurrence incomplete: cut by the start of the capture\n5 recurrence incomplete: cut by the end of the capture"
    )


def add_looping_steps(trace, count, since=0):
    """Add `count` steps of 10 kernels of different lengths, with a pause of the host between steps."""
    for number in range(count * 10):
        ts = since + 100 * number + 400 * (number // 10)
        trace.kernel(f"kernel {number % 10}", ts + 20, 30 + 5 * (number % 10), launched=(ts, 10))
    return trace


SHARES = """
    select category, sum(time_ledger.dur) / (select sum(dur) from step where excluded is null)
    from time_ledger inner join step using (step) where excluded is null group by category order by category
"""
UNITS = "select level, launches, period, is_step from unit order by unit"


@pytest.mark.parametrize("count", [4, 7])
def test_twice_as_long_a_capture_has_the_same_unit(count):
    once, twice = (add_looping_steps(TraceBuilder(), steps).fill().rows(UNITS) for steps in (count, 2 * count))
    assert once == twice == [("step", 10, 1400, True)]


def test_a_minute_of_starting_up_changes_no_share_of_the_window():
    plain = add_looping_steps(TraceBuilder(), 5).fill("time_ledger").rows(SHARES)
    later = TraceBuilder()
    later.cpu("os", "read", 0, 30_000_000_000)
    later.kernel("stray", 20_000_000_000, 1_000, launched=(19_999_990_000, 10))
    later = add_looping_steps(later, 5, since=60_000_000_000).fill("time_ledger")
    shares = later.rows(SHARES)
    # the pause before the first step is as long as the others, and not in the trace where it starts with the step
    assert [category for category, _ in shares] == [category for category, _ in plain]
    assert [share for _, share in shares] == pytest.approx([share for _, share in plain], abs=0.06)
    assert later.rows("select phase, round(share, 3) from phase_of_run order by ts") == [
        ("start_up", 1.0),
        ("window", 0.0),
    ]


def test_a_mark_that_holds_no_launch_is_no_step():
    """A loop that calls prof.step() once, at its end, marks nothing of its work (HolisticTraceAnalysis#238)."""
    trace = TraceBuilder()
    for number in range(6):
        trace.memcpy("h2d", 1000 * number + 10, 50, launched=(1000 * number, 5))
        for kernel in range(4):
            start = 1000 * number + 100 + 150 * kernel
            trace.kernel(f"k{kernel}", start, 140, launched=(start - 50, 5))
        trace.call("cudaDeviceSynchronize", 1000 * number + 600, 150)
    trace.annotation("ProfilerStep#0", 6100, 10)
    assert trace.fill("step").rows("select distinct source, name = 'ProfilerStep#0' from step") == [
        ("recurrence", False)
    ]


def test_numbered_steps_win_over_a_kernel_that_is_launched_again_and_again():
    trace = TraceBuilder()
    for step in range(6):
        trace.annotation(f"step {step}", 10_000 * step, 10_000)
        for kernel in range(20):
            start = 10_000 * step + 25 + 400 * kernel
            trace.kernel("gemm", start, 400, launched=(10_000 * step + 15 + 10 * kernel, 5))
        trace.call("cudaDeviceSynchronize", 10_000 * step + 600, 7_500)
    assert trace.fill("step").text("select name, dur from step order by step") == "\n".join(
        f"step {step} 10000" for step in range(6)
    )
