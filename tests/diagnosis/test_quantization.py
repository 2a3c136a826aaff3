"""What fewer bits take away: numbers worked out by hand, and against a raw file."""

from __future__ import annotations

import gzip
import json
from contextlib import closing
from pathlib import Path

import pytest
from builder import TraceBuilder
from labelled.cases.quantization import found_decode, found_prefill_int8

from traceq.database.connect import connect
from traceq.diagnosis.judge import load_subjects
from traceq.loading.ingest import ingest

PREFILL = Path(__file__).parents[3] / "shared" / "judged" / "torch" / "tracelens_sglang_prefilldecode.json.gz"


def rows(make, folder):
    trace = TraceBuilder()
    make(trace)
    (subject,) = load_subjects(trace.build(folder)._connection)
    return subject.ask("quantization")


def test_weights_that_are_read(tmp_path):
    (row,) = rows(found_decode, tmp_path)
    # 4096 x 4096 weights of 8 x 4096 + 4096 x 4096 + 8 x 4096 numbers that are moved, in 22 us
    share = 4096 / (8 + 4096 + 8)
    assert (row["bound"], row["weight_bytes"], row["gpu_ns"]) == ("memory", 2 * 4096**2, 22_000)
    assert (row["eight_ns"], row["four_ns"]) == (round(22_000 * share / 2), round(22_000 * share * 3 / 4))


def test_arithmetic_of_a_gpu_without_fp8(tmp_path):
    (row,) = rows(found_prefill_int8, tmp_path)
    # an A100 does 624 TOP/s in int8, 312 TFLOP/s in fp16
    assert (row["bound"], row["faster"], row["gpu_ns"], row["eight_ns"]) == ("compute", "int8", 700_000, 350_000)


@pytest.mark.slow
@pytest.mark.skipif(not PREFILL.exists(), reason="the folder shared is not beside the checkout")
def test_a_prefill_in_16_bits(tmp_path):
    events = json.loads(gzip.decompress(PREFILL.read_bytes()))["traceEvents"]
    products = [
        each["args"]["Input Dims"] for each in events if each.get("cat") == "cpu_op" and each["name"] == "aten::mm"
    ]
    kernels = [each for each in events if each.get("cat") == "kernel" and each["name"].startswith("Cijk_")]
    assert len(products) == len(kernels) == 145
    ingest([str(PREFILL)], tmp_path / "prefill.duckdb")
    with closing(connect(tmp_path / "prefill.duckdb")) as connection:
        (subject,) = load_subjects(connection)
        compute, memory = subject.ask("quantization")
    assert compute["bound"] == "compute"
    assert memory["bound"] == "memory"
    assert compute["all_ns"] == pytest.approx(sum(each["dur"] for each in kernels) * 1000, rel=1e-4)
    assert compute["weight_bytes"] + memory["weight_bytes"] == sum(
        2 * weight[0] * weight[1] for _, weight, *_ in products
    )
    # an MI300X has 2,614.9 TFLOP/s in fp8, 1,307.4 in bf16
    assert compute["eight_ns"] == pytest.approx(compute["gpu_ns"] * (1 - 1307.4 / 2614.9), rel=1e-6)
