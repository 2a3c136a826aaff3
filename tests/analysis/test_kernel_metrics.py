"""What was measured beside what is estimated, per step; nothing measured is NULL."""

from __future__ import annotations

import pytest
from kernel_tables import add_device, add_kernel, analyse_kernels
from tables import insert_row


def sample(tables, name, ts, value, on=0):
    insert_row(tables, "counter", device=on, name=name, unit="percent", ts=ts, value=value)


def add_steps(tables, *ends):
    start = 0
    for number, end in enumerate(ends):
        insert_row(tables, "step", step=number, name="s", source="annotation", ts=start, dur=end - start)
        start = end


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("SMs Active [Throughput %]", "sm_active"),
        ("SM Active [Throughput %]", "sm_active"),
        ("SM Issue [Throughput %]", "sm_issue"),
        ("Tensor Active [Throughput %]", "tensor_active"),
        ("Compute Warps in Flight [Throughput %]", "warps_active"),
        ("DRAM Read Bandwidth [Throughput %]", "dram_read"),
        ("DRAM Write Bandwidth [Throughput %]", "dram_write"),
        ("PCIe RX Throughput [Throughput %]", "pcie_read"),
        ("sm__cycles_active.avg.pct_of_peak_sustained_elapsed", "sm_active"),
        ("dram__bytes_read.sum.pct_of_peak_sustained_elapsed", "dram_read"),
        # nsys overflows on averages; others mean something else
        ("SMs Active [Avg]", None),
        ("Unallocated Warps in Active SMs [Throughput %]", None),
        ("memory_allocated", None),
    ],
)
def test_counters_are_known_by_their_names(tables, name, metric):
    add_steps(tables, 100)
    sample(tables, name, 10, 50)
    rows = tables.execute("select metric, name, mean from gpu_metric_step").fetchall()
    assert rows == ([] if metric is None else [(metric, name, 0.5)])


def test_samples_belong_to_the_step_in_which_they_are_taken(tables):
    add_steps(tables, 100, 200)
    for ts, value in ((10, 20), (50, 40), (100, 90), (120, float("nan")), (130, float("inf")), (150, -1), (200, 100)):
        sample(tables, "SMs Active [Throughput %]", ts, value)
    rows = tables.execute("select step, mean, highest, samples from gpu_metric_step order by step").fetchall()
    assert rows == [(0, pytest.approx(0.3), 0.4, 2), (1, 0.9, 0.9, 1)]


def test_estimates_are_weighted_by_time_and_stand_beside_measurements(tables):
    add_steps(tables, 100)
    add_device(tables, 0, "9.0")
    add_kernel(tables, 0, 0, 800, 256, 32, 0, name="nvjet_tst", step=0, dur=30, ts=0)
    add_kernel(tables, 1, 0, 50, 256, 32, 0, name="ampere_sgemm", step=0, dur=10, ts=30)
    add_kernel(tables, 2, 0, 50, 256, 32, 0, name="mine", step=0, dur=10, ts=40)
    analyse_kernels(tables, "*")
    sample(tables, "Tensor Active [Throughput %]", 10, 25)
    columns = "kernels, kernel_dur, estimated_occupancy, sm_coverage, tensor_core_share, tensor_core_told"
    rows = tables.execute(
        f"select {columns}, tensor_active, sm_active, warps_active, dram_read from step_occupancy"
    ).fetchall()
    assert rows == [(3, 50, pytest.approx((30 + 20 / 16) / 50), pytest.approx(0.8), 0.75, 0.8, 0.25, None, None, None)]


def test_on_a_gpu_that_is_not_known_estimates_are_null(tables):
    add_steps(tables, 100)
    add_device(tables, 0, sm_count=None)
    add_kernel(tables, 0, 0, 800, 256, 32, 0, name="mine", step=0)
    analyse_kernels(tables, "*")
    columns = "estimated_occupancy, sm_coverage, tensor_core_share, tensor_core_told, sm_active"
    assert tables.execute(f"select {columns} from step_occupancy").fetchall() == [(None, None, None, 0, None)]


def test_without_kernels_there_are_no_rows(tables):
    add_steps(tables, 100)
    assert analyse_kernels(tables, "*") == []
    for view in ("step_occupancy", "gpu_metric_step", "step_mfu"):
        assert tables.execute(f"from {view}").fetchall() == []
