"""Scripts of the slowest operators of real traces run on the CPU as they are printed."""

from __future__ import annotations

import json
import subprocess
import sys

import lazy_import
import pytest
from trace_files import SHARED

from traceq.app.read_options import ReadOptions
from traceq.app.replay_operator import ReplayChoice, replay_operators

torch = lazy_import.module("torch")

# Operators that are cut along the batch; attention over long sequences takes minutes on a CPU.
TRACES = (
    "judged3/torch/tl_bert_small_h100.json.gz",
    "judged3/torch/part_bs512.json.gz",
    "traces/torch/kineto_resnet50_w0.v19.pt.trace.json.gz",
    "traces/torch/megatron_tp8_rank0.json.gz",
    "traces/torch/tracelens_h100_owlv2.json.gz",
    "judged3/torch/tracelens_h100_qwen.json.gz",
    "judged3/torch/switchmoe_100Kpar_8batch_seq1024.json.gz",
    "judged3/torch/tl_norm_layers_mi300.json.gz",
    "traces/torch/hta_cpu_only_rank34.json.gz",
    "judged3/torch/part_cpu_only_on_gpu_host.pt.trace.json.gz",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", TRACES)
def test_the_slowest_operator_runs_on_the_cpu(name, tmp_path):
    if not (SHARED / name).exists():
        pytest.skip("real traces are not part of the repository")
    script = tmp_path / "replay.py"
    script.write_text(replay_operators(SHARED / name, ReplayChoice(), read=ReadOptions(cache=False)).script)
    options = ["--device", "cpu", "--variants", "recorded", "--seconds", "5", "--json"]
    done = subprocess.run(
        [sys.executable, str(script), *options], capture_output=True, text=True, check=True, timeout=300
    )
    (found,) = json.loads(done.stdout)
    assert "failed" not in found["variants"][0]
    assert found["variants"][0]["median_ns"] > 0
