"""Steps of servers in the real traces that hold one: what the annotation says, and the work launched before the capture."""

from __future__ import annotations

import pytest
from trace_files import SHARED

JUDGED = SHARED / "judged" / "torch"

# Trace -> dialect, kind, requests, prompts, decoding, new tokens, tokens of the KV cache; ms that the first work
# of the step waits for earlier work, None where it waits before its step.
STEPS = {
    "sglang_decode": (("sglang", "decode", 32, 0, 32, 32, 32785), 463),
    "sglang_prefilldecode": (("sglang", "prefill", 15, 15, 0, 15360, 15360), None),
    "vllm_decode_full": (("vllm", "decode", 32, 0, 32, 32, 55086), 8),
    "vllm_piecewise_graph": (("vllm", "mixed", 46, 9, 37, 8192, 42919), 151),
}
COLUMNS = "dialect, kind, requests, prefill_requests, decode_requests, new_tokens, kv_tokens"


@pytest.mark.sample(4)
@pytest.mark.skipif(not JUDGED.exists(), reason="the folder shared/judged is not beside the checkout")
@pytest.mark.parametrize("name", STEPS)
def test_the_step_of_a_server_and_what_it_waits_for(databases, name):
    database = databases(JUDGED / f"tracelens_{name}.json.gz")
    step, waited = STEPS[name]
    assert database.execute(f"select {COLUMNS} from serving_mark").fetchall() == [step]
    earlier = database.execute("select dur / 1e6 from idle_gap_cause where cause = 'idle_earlier_work'").fetchall()
    assert waited is None or earlier == [(pytest.approx(waited, abs=1),)]
    assert database.execute("select rule from finding where rule = 'launch-latency'").fetchall() == []
