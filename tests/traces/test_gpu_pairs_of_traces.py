"""The same program recorded on two GPUs: what whatif --gpu predicts of the step on the other one, both ways (docs/whatif.md)."""

from __future__ import annotations

from pathlib import Path

import pytest
from trace_files import SHARED

import traceq

JUDGED, JUDGED3 = SHARED / "judged" / "torch", SHARED / "judged3" / "torch"
DSR1, QWEN3 = (JUDGED3 / f"sglang_{model}_decode_{{}}.json.gz" for model in ("deepseek_r1", "qwen3_30b_a3b"))
PAIRS = {
    "sglang-dsr1": (Path(str(DSR1).format("b300")), Path(str(DSR1).format("mi300"))),
    "sglang-qwen3": (Path(str(QWEN3).format("b300")), Path(str(QWEN3).format("mi300"))),
    "bert": (JUDGED3 / "tl_bert_small_h100.json.gz", JUDGED3 / "tl_bert_small_mi300.json.gz"),
    "timesformer": (JUDGED / "tracelens_h100_timesformer.json.gz", JUDGED3 / "tl_timesformer_mi300.json.gz"),
    "qwen": (JUDGED3 / "tracelens_h100_qwen.json.gz", JUDGED3 / "tracelens_mi300_qwen.json.gz"),
}
MODELS = {"b300": "B300", "h100": "H100 SXM", "mi300": "MI300X"}
# The step that was recorded on the other GPU lies within the bounds, which are no wider than this; and likely is so near.
MOST_WIDTH, MOST_ERROR = 3.0, 0.25

SLOW = ("timesformer", "qwen")
both_ways = pytest.mark.parametrize(
    ("name", "now", "then"),
    [
        pytest.param(name, now, 1 - now, id=f"{name}-{now}", marks=[pytest.mark.slow] if name in SLOW else [])
        for name in PAIRS
        for now in (0, 1)
    ],
)


@both_ways
def test_the_recorded_step_lies_within_the_bounds(name, now, then):
    files = PAIRS[name]
    if not all(file.exists() for file in files):
        pytest.skip("the traces are not beside the checkout")
    model = next(model for part, model in MODELS.items() if part in files[then].name)
    found, recorded = (
        traceq.whatif_platform(files[here], gpu=gpu, cache=False).content for here, gpu in ((now, model), (then, model))
    )
    assert found.gpu_then == recorded.gpu == model
    assert found.after_low_ns <= recorded.recorded_ns <= found.after_high_ns
    assert found.after_high_ns <= MOST_WIDTH * found.after_low_ns
    assert found.after_ns == pytest.approx(recorded.recorded_ns, rel=MOST_ERROR)
