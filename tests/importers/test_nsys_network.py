"""Counters of network cards and switches in nsys exports become rows of counter, and lie beside the collectives."""

from __future__ import annotations

import pytest
from builder import TraceBuilder
from nsys_export import count_notes, pick_columns, read, write

METRICS = [
    {"metricsListId": 0, "metricsIdx": 6, "name": "IB: Bytes sent", "description": "", "unit": "bytes/ms"},
    {"metricsListId": 0, "metricsIdx": 7, "name": "IB: Bytes received", "description": "", "unit": "bytes/ms"},
]
CARDS = {
    "TARGET_INFO_NETWORK_METRICS": METRICS,
    "TARGET_INFO_NIC_INFO": [{"nicId": 3, "name": "mlx5_0"}, {"nicId": 4, "name": "mlx5_1"}],
    "NIC_ID_MAP": [{"nicId": 3, "globalId": 77}, {"nicId": 4, "globalId": 78}],
}


def sample(end, value, metric=6, card=77, **columns):
    return {
        "start": end - 1_000_000, "end": end, "globalId": card, "metricsListId": 0, "metricsIdx": metric, "value": value,
        **columns,
    }  # fmt: skip


def test_samples_of_cards_have_name_unit_and_card(tmp_path):
    rows = [sample(1_000_000, 5), sample(2_000_000, 7, 7), sample(2_000_000, 9, card=78, portId=2)]
    tables = read(write(tmp_path / "a.sqlite", **CARDS, NET_NIC_METRIC=rows))
    assert pick_columns(tables["counter"], "instance name unit ts value device") == [
        ("mlx5_0", "IB: Bytes sent", "bytes/ms", 1_000_000, 5.0, None),
        ("mlx5_0", "IB: Bytes received", "bytes/ms", 2_000_000, 7.0, None),
        ("mlx5_1 port 2", "IB: Bytes sent", "bytes/ms", 2_000_000, 9.0, None),
    ]
    assert "table_not_imported" not in count_notes(tables)


def test_samples_of_switches(tmp_path):
    named = [{"networkId": 12, "guid": 1 << 50, "name": "LEAF-3"}]
    rows = [sample(5, 1, card=12), sample(5, 2, card=1 << 50, portId=1), sample(5, 3, card=99)]
    tables = read(
        write(
            tmp_path / "a.sqlite",
            TARGET_INFO_NETWORK_METRICS=METRICS,
            NET_IB_DEVICE_INFO=named,
            NET_IB_SWITCH_METRIC=rows,
        )
    )
    assert pick_columns(tables["counter"], "instance value") == [
        ("switch LEAF-3", 1.0), ("switch LEAF-3 port 1", 2.0), ("switch 0x63", 3.0),
    ]  # fmt: skip


def test_what_cannot_be_a_sample_is_left_out_and_counted(tmp_path):
    rows = [sample(5, None), sample(6, 1), {"start": 0, "value": 3}, sample(-(1 << 61), 1)]
    tables = read(write(tmp_path / "a.sqlite", **CARDS, NET_NIC_METRIC=rows))
    assert pick_columns(tables["counter"], "ts value") == [(6, 1.0)]
    assert count_notes(tables)["no_value"] == 1


def test_without_descriptions_numbers_stand_for_names(tmp_path):
    tables = read(write(tmp_path / "a.sqlite", NET_NIC_METRIC=[sample(5, 1)]))
    assert pick_columns(tables["counter"], "instance name unit") == [("NIC 0x4d", "NIC metric 6", None)]


def test_bytes_beside_collectives():
    """A rate of 2,000,000 bytes a ms is 2 bytes a ns: in a slice of 1.5 ms 3,000,000 bytes."""
    trace = TraceBuilder()
    slice_id = trace.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 1_500_000, 1_500_000, (0, 10))
    for end in (1_000_000, 2_000_000, 3_000_000, 4_000_000):
        trace.add("counter", name="IB: Bytes sent", unit="bytes/ms", ts=end, value=2e6, instance="mlx5_0")
        trace.add("counter", name="IB: Bytes received", unit="bytes/ms", ts=end, value=1e6, instance="mlx5_0")
        trace.add("counter", name="IPoIB: Bytes sent", unit="bytes/ms", ts=end, value=9e6, instance="mlx5_0")
        trace.add("counter", name="IB: Bytes sent", unit="bytes/ms", ts=end, value=9e6, instance="switch LEAF-3")
    trace.fill("collective_slice")
    ((found, instance, sent, received, samples, covered),) = trace.rows(
        "select slice_id, instance, sent, received, samples, covered from collective_network"
    )
    assert (found, instance, samples, covered) == (slice_id, "mlx5_0", 4, 1_500_000)
    assert (sent, received) == pytest.approx((3e6, 1.5e6))
