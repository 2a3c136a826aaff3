"""What traceq knows of GPUs, and how a GPU of a trace finds its model."""

from __future__ import annotations

import pytest
from kernel_tables import add_device

# as drivers and profilers write them
NAMES = {
    "Tesla V100-SXM2-16GB": "V100 SXM2 16GB",
    "Tesla V100-SXM2-32GB": "V100 SXM2 32GB",
    "Tesla V100-PCIE-32GB": "V100 PCIe 32GB",
    "Tesla V100S-PCIE-32GB": "V100S PCIe 32GB",
    "Tesla T4": "T4",
    "Quadro RTX 6000": "Quadro RTX 6000",
    "NVIDIA TITAN RTX": "TITAN RTX",
    "NVIDIA GeForce RTX 2080 Ti": "GeForce RTX 2080 Ti",
    "A100-PCIE-40GB": "A100 PCIe 40GB",
    "NVIDIA A100-SXM4-40GB": "A100 SXM 40GB",
    "NVIDIA A100-SXM4-80GB": "A100 SXM 80GB",
    "NVIDIA A100 80GB PCIe": "A100 PCIe 80GB",
    "NVIDIA A10": "A10",
    "NVIDIA A30": "A30",
    "NVIDIA A40": "A40",
    "NVIDIA RTX A6000": "RTX A6000",
    "NVIDIA GeForce RTX 3080": "GeForce RTX 3080",
    "NVIDIA GeForce RTX 3090": "GeForce RTX 3090",
    "NVIDIA GeForce RTX 4060 Ti": "GeForce RTX 4060 Ti",
    "NVIDIA GeForce RTX 4090": "GeForce RTX 4090",
    "NVIDIA RTX 6000 Ada Generation": "RTX 6000 Ada Generation",
    "NVIDIA L4": "L4",
    "NVIDIA L40": "L40",
    "NVIDIA L40S": "L40S",
    "NVIDIA H100 PCIe": "H100 PCIe",
    "NVIDIA H100 80GB HBM3": "H100 SXM",
    "NVIDIA H100-SXM5-80GB": "H100 SXM",
    "NVIDIA H100 NVL": "H100 NVL",
    "NVIDIA H800": "H800 SXM",
    "NVIDIA H200": "H200 SXM",
    "NVIDIA GH200 480GB": "GH200 96GB",
    "NVIDIA GH200 144G HBM3e": "GH200 144GB",
    "NVIDIA B200": "B200",
    "NVIDIA GB200": "GB200",
    "NVIDIA GeForce RTX 5090": "GeForce RTX 5090",
    "NVIDIA RTX PRO 6000 Blackwell Workstation Edition": "RTX PRO 6000 Blackwell Workstation",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition": "RTX PRO 6000 Blackwell Server",
    "AMD Instinct MI210": "MI210",
    "AMD Instinct MI250X": "MI250X (one of two dies)",
    "AMD Instinct MI250": "MI250 (one of two dies)",
    "AMD INSTINCT MI250X (MCM) OAM AC MBA": "MI250X (one of two dies)",
    "AMD INSTINCT MI250 (MCM) OAM AC MBA": "MI250 (one of two dies)",
    "AMD Instinct MI300A": "MI300A",
    "AMD Instinct MI300X": "MI300X",
    "AMD Instinct MI325X": "MI325X",
    "AMD Instinct MI350X": "MI350X",
    "AMD Instinct MI355X": "MI355X",
    "NVIDIA B300 SXM6 AC": "B300",
    "NVIDIA GB300": "GB300",
    "NVIDIA H20": "H20",
    "NVIDIA A800-SXM4-80GB": "A800 SXM 80GB",
    # Others that only look alike: cut down, for laptops, or not told apart by the name.
    "NVIDIA GeForce RTX 4090 D": None,
    "NVIDIA GeForce RTX 4090 Laptop GPU": None,
    "NVIDIA GeForce RTX 3080 Ti": None,
    "NVIDIA H100": None,
    "NVIDIA H800 PCIe": None,
    "NVIDIA A10G": None,
    "NVIDIA A100-SXM4-40GB MIG 1g.5gb": None,
    "AMD Radeon Graphics": None,
    "Tesla V100-SXM2-16GB-LS": None,
    "NVIDIA GH200": None,
    "NVIDIA H100 SXM5 64GB": None,
    "Quadro RTX 6000 with Max-Q Design": None,
    "AMD Instinct MI250X / MI250": None,
    "AMD Instinct MI250X/MI250": None,
    "AMD Instinct MI300X VF": None,
    "AMD Instinct MI300X HF": None,
    # a part of one
    "NVIDIA H100-SXM5-80GB MIG 1g.10gb": None,
    "NVIDIA H100 80GB HBM3 MIG 1g.10gb": None,
    "NVIDIA RTX PRO 6000 Blackwell Server Edition MIG 1g.24gb": None,
    "NVIDIA RTX PRO 6000 Blackwell Workstation Edition MIG 1g.24gb": None,
    None: None,
}


def test_names_find_their_model_and_what_only_looks_alike_does_not(tables):
    for number, name in enumerate(NAMES):
        add_device(tables, number, name=name)
    rows = tables.execute("select name, model from device_model order by device").fetchall()
    assert dict(rows) == NAMES


def test_every_figure_has_a_source(tables):
    rows = tables.execute(
        "select model from gpu_model where source is null or (host_link is not null and host_link_source is null)"
        " or (max_threads_per_sm is not null and limits_source is null)"
    ).fetchall()
    assert rows == []


def test_models_and_their_order_are_unique(tables):
    rows = tables.execute(
        "select count(*), count(distinct model), count(distinct rank_order) from gpu_model"
    ).fetchone()
    assert rows[0] == rows[1] == rows[2]


def test_peaks_are_dense(tables):
    """Tensor cores double their rate with every halving of the type; a figure with sparsity would be twice that again."""
    for column, half in (("fp16", "tf32"), ("fp8", "fp16"), ("int8", "fp16")):
        ratios = tables.execute(
            f"select model, {column} / {half} from gpu_model where {column} is not null and {half} is not null"
            # the exceptions: GeForce before Blackwell has four times the integers, matrix cores of MI200 no more of them
            f" and not (model like '%RTX%' and '{column}' = 'int8') and not (model like 'MI2%')"
        ).fetchall()
        assert [row for row in ratios if row[1] > 2.1] == []


def test_the_trace_goes_before_the_table_and_the_table_before_the_architecture(tables):
    add_device(tables, 0, name="NVIDIA H200", sm_count=None, memory_bandwidth=5)
    add_device(tables, 1, "8.9", max_blocks_per_sm=7)
    add_device(tables, 2, sm_count=None)
    rows = tables.execute(
        "select compute_capability, sm_count, memory_bandwidth, max_blocks_per_sm, fp16, host_link_bandwidth"
        " from device_model order by device"
    ).fetchall()
    assert rows == [
        ("9.0", 132, 5, 32, 989.5, 63.015),
        ("8.9", 100, None, 7, None, None),
        (None, None, None, None, None, None),
    ]


@pytest.mark.parametrize(("sm_count", "model"), [(304, "MI300X"), (38, None)])
def test_a_virtual_function_is_the_gpu_where_it_has_all_of_it(tables, sm_count, model):
    add_device(tables, 0, name="AMD Instinct MI300X VF", sm_count=sm_count)
    assert tables.execute("select model from device_model").fetchall() == [(model,)]


@pytest.mark.parametrize(
    "columns", [{"warp_size": 64}, {"name": "AMD Instinct MI210"}, {"name": "Intel(R) Data Center GPU"}]
)
def test_other_makers_have_no_compute_capability(tables, columns):
    add_device(tables, 0, "9.0", **columns)
    assert tables.execute("select compute_capability, max_blocks_per_sm from device_model").fetchall() == [(None, None)]
