"""traceq replay-op: which operator it takes, what it writes, and what it refuses."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

SHAPES = {"Input Dims": [[64, 32], [32, 48]], "Input type": ["float", "float"], "Input Strides": [[32, 1], [1, 32]]}
LIST = {"Input Dims": [[8], []], "Input type": ["float", ""], "Input Strides": [[1], []], "Concrete Inputs": ["", ""]}


def operator(name, ts, dur, **args):
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur, "args": args}


def kernel(name, ts, dur, correlation):
    args = {"device": 0, "context": 1, "stream": 7, "correlation": correlation}
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": ts, "dur": dur, "args": args}


def launch(ts, correlation):
    args = {"correlation": correlation}
    return {
        "ph": "X",
        "cat": "cuda_runtime",
        "name": "cudaLaunchKernel",
        "pid": 1,
        "tid": 1,
        "ts": ts,
        "dur": 2,
        "args": args,
    }


def write(path, *events, **content):
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events, **content}))
    return path


@pytest.fixture
def on_cpu(tmp_path):
    """Two products with one signature, and an index without shapes that takes longer."""
    mm = {**SHAPES, "Concrete Inputs": ["", ""]}
    events = [
        operator("aten::index", 0, 900, **LIST),
        operator("aten::mm", 1000, 100, **mm),
        operator("aten::mm", 2000, 300, **mm),
    ]
    return write(tmp_path / "cpu.json", *events)


@pytest.fixture
def on_gpu(tmp_path):
    """A convolution through cuDNN, and a product, with their kernels."""
    conv = {
        "Input Dims": [[2, 3, 8, 8], [4, 3, 3, 3], [], [], [], [], [], [], []],
        "Input type": [
            "c10::Half",
            "c10::Half",
            "",
            "ScalarList",
            "ScalarList",
            "ScalarList",
            "Scalar",
            "ScalarList",
            "Scalar",
        ],
        "Concrete Inputs": ["", "", "", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"],
    }
    inner = {"Input Dims": [[2, 3, 8, 8], [4, 3, 3, 3]], "Input type": ["c10::Half", "c10::Half"]}
    events = [
        operator("aten::convolution", 0, 90, **conv),
        operator("aten::cudnn_convolution", 10, 50, **inner),
        launch(20, 1),
        kernel("implicit_gemm", 100, 400, 1),
        operator("aten::mm", 600, 50, **SHAPES),
        launch(610, 2),
        kernel("ampere_sgemm_128x64", 700, 300, 2),
    ]
    gpu = [{"id": 0, "name": "NVIDIA A100-SXM4-80GB", "computeMajor": 8, "computeMinor": 0}]
    return write(tmp_path / "gpu.json", *events, deviceProperties=gpu)


def test_the_script_runs_what_took_longest_and_says_what_it_left_out(traceq, on_cpu, tmp_path):
    script = tmp_path / "replay.py"
    outcome = traceq("replay-op", on_cpu, "-o", script)
    assert outcome.exit_code == 0, outcome.output
    assert outcome.output.splitlines() == [
        "aten::mm: 2 calls, 400.0 µs, median 200.0 µs",
        "left out: aten::index (900.0 µs): PyTorch records no shapes of its indices (a list of optional tensors)",
        f"Run it: python {script}",
    ]
    assert 'Tensor((32, 48), (1, 32), "float32", "normal"),' in script.read_text()
    again = traceq("replay-op", on_cpu, "-o", script)
    assert (again.exit_code, "already exists" in again.output) == (2, True)
    assert traceq("replay-op", on_cpu, "-o", script, "--force").exit_code == 0
    pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, str(script), "--variants", "contiguous", "--runs", "3", "--json"],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    (found,) = json.loads(done.stdout)
    assert (found["name"], found["calls"], found["recorded_ns"], found["comparable"]) == ("aten::mm", 2, 200_000, True)
    assert [(row["variant"], row["runs"], row["is_same"]) for row in found["variants"]] == [
        ("recorded", 3, None),
        ("contiguous", 3, True),
    ]


def test_of_a_gpu_the_kernels_count_and_the_operator_that_runs_everywhere_is_meant(traceq, on_gpu):
    outcome = traceq("replay-op", on_gpu, "--batch", "5")
    assert outcome.exit_code == 0, outcome.output
    named = re.findall(
        r"^        (?:name|called|median_ns|device)=.*", outcome.stdout.partition("OPERATORS: ")[2], re.MULTILINE
    )
    assert [line.strip() for line in named] == [
        'name="aten::convolution",',
        'called="aten::convolution",',
        "median_ns=400_000,",
        'device="NVIDIA A100-SXM4-80GB",',
        'name="aten::mm",',
        'called="aten::mm",',
        "median_ns=300_000,",
        'device="NVIDIA A100-SXM4-80GB",',
    ]


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (["--op", "mm"], "aten::mm"),
        (["--op", "aten::convolution"], "aten::convolution"),
        (["--kernel", "SGEMM"], "aten::mm"),
        (["--kernel", "implicit"], "aten::convolution"),
    ],
)
def test_an_operator_is_named_or_its_kernel(traceq, on_gpu, options, name):
    outcome = traceq("replay-op", on_gpu, *options)
    assert outcome.exit_code == 0, outcome.output
    assert outcome.stderr.startswith(f"{name}: 1 call")


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (["--op", "bmm"], 1, "no operator called aten::bmm has time of its own; there are aten::mm"),
        (
            ["--kernel", "softmax"],
            1,
            "no operator launched a kernel whose name has 'softmax'; there are aten::convolution",
        ),
        (["--finding", "F9"], 1, "no finding is called 'F9'"),
        (["--op", "mm", "--kernel", "x"], 2, "--op, --kernel and --finding each say which operator: give only one"),
        (["--rank", "7"], 2, "rank 7"),
        (["--batch", "0"], 2, "0 is not in the range"),
    ],
)
def test_what_cannot_be_found_is_refused(traceq, on_gpu, options, status, message):
    outcome = traceq("replay-op", on_gpu, *options)
    assert outcome.exit_code == status
    assert message in " ".join(outcome.output.split())


def test_a_trace_without_shapes_says_how_to_record_them(traceq, tmp_path):
    trace = write(tmp_path / "bare.json", operator("aten::mm", 0, 100))
    outcome = traceq("replay-op", trace)
    assert outcome.exit_code == 1
    assert (
        "aten::mm cannot be run again: the trace has no shapes of its inputs; record the trace with" in outcome.output
    )
    nothing = traceq("replay-op", write(tmp_path / "none.json", kernel("k", 0, 10, 1)))
    assert (nothing.exit_code, "no operators with time of their own" in nothing.output) == (1, True)


def test_collectives_are_asked_for_by_their_kind(traceq, tmp_path):
    args = {
        "device": 0,
        "context": 1,
        "stream": 9,
        "correlation": 3,
        "Collective name": "allreduce",
        "dtype": "Half",
        "In msg nelems": 4096,
        "Out msg nelems": 4096,
        "Group size": 2,
        "Process Group Name": "0",
    }
    event = {
        "ph": "X",
        "cat": "kernel",
        "name": "ncclDevKernel_AllReduce",
        "pid": 0,
        "tid": 9,
        "ts": 10,
        "dur": 70,
        "args": args,
    }
    outcome = traceq("replay-op", write(tmp_path / "nccl.json", event), "--op", "all_reduce")
    assert outcome.exit_code == 0, outcome.output
    assert 'kind="all_reduce",\n        dtype="float16",\n        in_elements=4_096,' in outcome.stdout
    assert "ranks=2," in outcome.stdout
