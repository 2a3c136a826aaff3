"""Where steps come from, how long they last, what belongs to them."""

from __future__ import annotations

from builder import TraceBuilder

STEPS = "select step, name, source, ts, dur, gpu_ts, gpu_dur from step order by step"


def steps(trace, count, name="ProfilerStep#{}", dur=100, gap=0, launch=True):
    """`count` annotations one after another, each launching one kernel on its way."""
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
        "0 ProfilerStep#7 profiler_step 0 100 - -\n1 ProfilerStep#8 profiler_step 100 120 120 100"
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
    steps(trace, 3)
    for number in range(6):
        trace.annotation("train_step", 50 * number + 1, 40)
    assert trace.fill().text("select distinct source from step") == "profiler_step"


def test_numbered_annotations_that_cover_the_launches_are_steps():
    trace = TraceBuilder()
    steps(trace, 4, name="iteration {}", gap=10)
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
    steps(trace, 4)
    trace.annotation("epoch", 100, 200)
    trace.fill(step_range="^epoch$")
    assert trace.text("select name, source from step") == "epoch step_range"


def test_a_step_range_that_matches_nothing_is_noted():
    trace = TraceBuilder()
    steps(trace, 3)
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
    def trace(name):
        result = TraceBuilder()
        durations = [1000, 900, 100, 100, 100, 100]
        ts = 0
        for number, dur in enumerate(durations):
            result.annotation(f"ProfilerStep#{number}", ts, dur)
            ts += dur
        result.call(name, 1200, 100)
        return result.fill()

    assert trace("cudaMalloc").text("select step from step where excluded is not null order by 1") == "0\n1"
    assert trace("cudaLaunchKernel").text("select step from step where excluded is not null") == "0"


def test_steps_of_equal_length_are_never_warm_up():
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#0", 0, 101)
    for number in range(1, 5):
        trace.annotation(f"ProfilerStep#{number}", 1 + 100 * number, 100)
    assert trace.fill("step_stats").text("select excluded from step_stats") == "0"


def test_a_last_step_that_launched_nothing_while_all_others_did_is_incomplete():
    trace = TraceBuilder()
    steps(trace, 3)
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
