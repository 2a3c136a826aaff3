"""A real sweep over batch sizes, one pass each, the largest of which is cold."""

from __future__ import annotations

import json

import pytest
from trace_files import SHARED

from traceq.app.tradeoff import tradeoff

FOLDER = SHARED / "judged3" / "torch"
SWEEP = [FOLDER / f"part_bs{batch}.json.gz" for batch in (2, 64, 128, 512)]


@pytest.mark.skipif(not SWEEP[0].exists(), reason="the folder shared/judged3 is not beside the checkout")
def test_warm_passes_are_measured_and_the_cold_one_is_told():
    found = json.loads(tradeoff(SWEEP).to_json())
    assert (found["knob"], found["work"], found["values_from"]) == ("batch_size", "batch_size", "names")
    measured = {each["value"]: each["work_per_s"] for each in found["values"]}
    assert measured == {
        2: pytest.approx(62, rel=0.05),
        64: pytest.approx(1626, rel=0.05),
        128: pytest.approx(4173, rel=0.05),
    }
    (cold,) = found["left_out"]
    assert (cold["value"], cold["reason"]) == (512, "cold")
    assert cold["start_up_ns"] == pytest.approx(923_000_000, rel=0.02)
    assert 512e9 / cold["warm_ns"] == pytest.approx(5300, rel=0.05)
