"""What monitors said in each step: each sample counts for the time since the one before."""

from __future__ import annotations

from builder import TraceBuilder


def build_trace():
    made = TraceBuilder()
    for number in range(3):
        made.annotation(f"ProfilerStep#{number}", 1000 * number, 1000)
        made.kernel("gemm", 1000 * number + 100, 800, launched=(1000 * number + 50, 5))
    return made


def sample(made, name, ts, value, device=None, instance=None, unit=None, log_id=0):
    made.add(
        "counter", device=device, name=name, unit=unit, ts=ts, value=float(value), instance=instance, log_id=log_id
    )


def test_a_sample_counts_as_long_as_its_time_lies_in_the_step():
    made = build_trace()
    # 500 to 1500 and 1500 to 2500; the first stands for as long before it as they are apart
    for ts, watts in ((500, 100), (1500, 200), (2500, 400)):
        sample(made, "gpu_power", ts, watts, device=0, unit="W")
    sample(made, "disk_utilization", 1000, 80, instance="sda", unit="percent")
    sample(made, "disk_utilization", 2000, 20, instance="sda", unit="percent")
    made.fill("monitor_step")
    query = "select step, device, instance, name, unit, samples, mean, lowest, highest from monitor_step order by all"
    assert made.text(query) == (
        "0 0 - gpu_power W 2 150.0 100.0 200.0\n"
        "0 - sda disk_utilization percent 1 80.0 80.0 80.0\n"
        "1 0 - gpu_power W 2 300.0 200.0 400.0\n"
        "1 - sda disk_utilization percent 1 20.0 20.0 20.0\n"
        "2 0 - gpu_power W 1 400.0 400.0 400.0"
    )


def test_after_a_pause_a_sample_stands_for_as_long_as_the_others():
    made = build_trace()
    for ts in (100, 200, 300, 2900):
        sample(made, "run_queue", ts, ts)
    made.fill("monitor_step")
    assert made.text("select step, samples, mean from monitor_step order by all") == "0 3 200.0\n2 1 2900.0"
    assert made.text("select ts, ts_end from monitor_sample order by all") == "0 100\n100 200\n200 300\n2800 2900"


def test_what_the_trace_itself_counts_is_no_monitor():
    made = build_trace()
    made.add("counter", device=0, name="SMs Active [Throughput %]", unit="percent", ts=500, value=5.0)
    made.fill("monitor_step")
    assert made.rows("from monitor_step") == []


def test_processes_and_single_cpus_are_left_out_of_steps():
    made = build_trace()
    for ts in (500, 1500):
        sample(made, "process_cpu", ts, 5, instance="1 python")
        sample(made, "cpu_user", ts, 5, instance="0")
        sample(made, "cpu_user", ts, 7)
    made.fill("monitor_step")
    assert made.rows("select distinct name, instance, mean from monitor_step") == [("cpu_user", None, 7.0)]


def test_the_condition_of_a_step():
    made = build_trace()
    for ts in range(0, 4000, 500):
        hot = ts > 1000
        for name, value in {
            "power": 300 + 100 * hot,
            "sm_clock": 1700 - 800 * hot,
            "throttle_thermal_hw": hot,
            "utilization": 90,
        }.items():
            sample(made, f"gpu_{name}", ts, value, device=0)
        sample(made, "cpu_idle", ts, 25, log_id=1)
        sample(made, "cpu_steal", ts, 5, log_id=1)
        for disk in ("sda", "sdb"):
            sample(made, "disk_utilization", ts, 50 if disk == "sda" else 90, instance=disk, log_id=1)
            sample(made, "disk_read", ts, 1000, instance=disk, log_id=1)
        for interface in ("lo", "eth0"):
            sample(made, "network_receive", ts, 70, instance=interface, log_id=1)
    made.fill("monitor_step")
    query = (
        "select step, device, power, sm_clock, is_throttled, is_power_capped, cpu_busy, cpu_steal, disk_utilization, disk_read,"
        " network_receive from step_condition order by all"
    )
    assert made.text(query) == (
        "0 0 300.0 1700.0 False - 75.0 5.0 90.0 2000.0 70.0\n"
        "1 0 400.0 900.0 True - 75.0 5.0 90.0 2000.0 70.0\n"
        "2 0 400.0 900.0 True - 75.0 5.0 90.0 2000.0 70.0"
    )


def test_a_host_without_a_watched_gpu_has_its_condition_too():
    made = build_trace()
    for ts in (500, 1500, 2500):
        sample(made, "run_queue", ts, 3)
    made.fill("monitor_step")
    assert (
        made.text("select step, device, run_queue, power from step_condition order by all")
        == "0 - 3.0 -\n1 - 3.0 -\n2 - 3.0 -"
    )
