"""Traces of devices that traceq does not measure: it says so, blames no host, and asks for no GPU's options."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from traceq.cli import main

STEPS = range(6)


def x(name, cat, ts, dur, pid=1, tid=1):
    return {"ph": "X", "name": name, "cat": cat, "ts": ts, "dur": dur, "pid": pid, "tid": tid}


def process(pid, name):
    return {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}


def trained(device):
    """Steps of an operator each, and of work that `device` makes from their start, us."""
    host = [x(f"ProfilerStep#{n}", "user_annotation", n * 10_000, 9_900) for n in STEPS]
    host += [x("aten::mm", "cpu_op", n * 10_000 + 100, 400) for n in STEPS]
    return [*host, *(device(n * 10_000 + 600) for n in STEPS)]


DEVICES = {
    "mtia": (trained(lambda ts: x("kernel", "mtia_ccp_events", ts, 8_000, 0, 5)), "MTIA devices"),
    "ascend": (
        [process(4, "Ascend Hardware"), *trained(lambda ts: x("MatMulV2", "", ts, 8_000, 4, 5))],
        "MindStudio Insight",
    ),
    "tpu": ([process(4, "/device:TPU:0"), *trained(lambda ts: x("fusion.1", "", ts, 8_000, 4, 5))], "XProf"),
    "jax": ([process(4, "/device:GPU:0"), *trained(lambda ts: x("fusion.1", "", ts, 8_000, 4, 5))], "xplane.pb"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DEVICES)
def test_what_is_said_of_other_devices(name, tmp_path):
    events, word = DEVICES[name]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": events}))
    report = CliRunner().invoke(main, ["report", "--no-cache", "--full", str(path)]).output
    assert f"{name if name != 'ascend' else 'npu'}_not_measured" in report
    assert word in " ".join(report.replace("\n! ", " ").split())
    assert "Fix first" not in report
    assert "ProfilerActivity.CUDA brings it" not in report
    assert "CUDA]" not in CliRunner().invoke(main, ["doctor", str(path)]).output.replace(
        "data    activities=[CPU, CUDA]", ""
    )
