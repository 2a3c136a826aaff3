"""What the annotations of servers say of their steps."""

from __future__ import annotations

import pytest
from builder import TraceBuilder

PAYLOAD = (
    "select dialect, kind, requests, prefill_requests, decode_requests, new_tokens, prefill_tokens, decode_tokens,"
    " kv_tokens from serving_mark order by ts, slice_id"
)

FORMS = {
    # vLLM
    "execute_context_2(14721)_generation_0(0)": "vllm prefill 2 2 0 14721 14721 0 -",
    "execute_context_0(0)_generation_64(64)": "vllm decode 64 0 64 64 0 64 -",
    "execute_context_0(0)_generation_32(128)": "vllm decode 32 0 32 128 0 128 -",
    "execute_context_2(6144)_generation_3(3)": "vllm mixed 5 2 3 6147 6144 3 -",
    "execute_64_context_0(sq0sk0sqsq0sqsk0)_generation_64(sq64sk131072sqsq64sqsk131072)": (
        "vllm decode 64 0 64 64 0 64 131072"
    ),
    "execute_6147_context_2(sq6144sk7144sqsq20971520sqsk23019520)_generation_3(sq3sk6144sqsq3sqsk6144)": (
        "vllm mixed 5 2 3 6147 6144 3 13288"
    ),
    "execute_new_2_cached_30": "vllm - 32 - - - - - -",
    # SGLang
    "step[EXTEND bs=2 toks=14721]": "sglang prefill 2 2 0 14721 14721 0 -",
    "step[DECODE bs=64]": "sglang decode 64 0 64 64 0 64 -",
    "step[MIXED bs=2]": "sglang mixed 2 - - - - - -",
    "step[EXTEND bs=2 toks=12 c_sqsq=80 c_sqsk=120 c_sk=20]": "sglang prefill 2 2 0 12 12 0 20",
    "step[DECODE bs=2 g_sqsq=2 g_sqsk=30 g_sk=30]": "sglang decode 2 0 2 2 0 2 30",
    "step[DECODE bs=64 g_sq=128 g_sqsq=256 g_sqsk=262144 g_sk=131072]": "sglang decode 64 0 64 128 0 128 131072",
    "step[MIXED bs=2 c=1 g=1 c_sq=5 c_sk=8 c_sqsq=25 c_sqsk=40 g_sq=1 g_sk=12 g_sqsq=1 g_sqsk=12]": (
        "sglang mixed 2 1 1 6 5 1 20"
    ),
    "step[MIXED bs=1 c=1 g=0 c_sq=3 c_sk=3 c_sqsq=9 c_sqsk=9 g_sq=0 g_sk=0 g_sqsq=0 g_sqsk=0]": (
        "sglang prefill 1 1 0 3 3 0 3"
    ),
    "step[TARGET_VERIFY bs=4]": "sglang decode 4 0 4 - 0 - -",
    # TensorRT-LLM
    "[Executor] _forward_step: 2 ctx reqs, 5 gen reqs": "tensorrt_llm mixed 7 2 5 - - - -",
    "[Executor] _forward_step 60000: 0 ctx reqs, 0 ctx tokens, 32 gen reqs": "tensorrt_llm decode 32 0 32 - 0 - -",
    "[Executor] _forward_step 7: 3 ctx reqs, 96 ctx tokens, 0 gen reqs": "tensorrt_llm prefill 3 3 0 96 96 0 -",
    # ATOM
    "prefill[bs=6 tok=17408 ctx=[4096, 4096, 4096]...+3 sqsq=59768832 sqsk=59768832 sk=17408 tbo=1]": (
        "atom prefill 6 6 0 17408 17408 0 17408"
    ),
    "decode[bs=117/128 tok=117 d=117]": "atom decode 117 0 117 117 0 117 -",
    "decode[bs=128 tok=384 p=2 d=126 sqsq=132612 sqsk=1114112 sk=258048 tbo=1]": "atom mixed 128 2 126 384 - - 258048",
    # diffusion
    "execute_diffusion_1_256x256": "diffusion diffusion 1 - - - - - -",
    "execute_diffusion_1024x768_bf16": "diffusion diffusion - - - - - - -",
}


@pytest.fixture(scope="module")
def every_form():
    """The trace of a server that writes each form once, as rows of serving_mark."""
    trace = TraceBuilder()
    for number, name in enumerate(FORMS):
        trace.annotation(name, 100 * number, 90)
    return dict(zip(FORMS, trace.fill("serving_mark").text(PAYLOAD).split("\n"), strict=True))


@pytest.mark.parametrize("name", FORMS)
def test_what_an_annotation_says(every_form, name):
    assert every_form[name] == FORMS[name]


@pytest.mark.parametrize(
    "name",
    [
        "execute_context_0(0)_generation_0(0)",  # polls, and nothing to do
        "step[IDLE bs=0]",
        "step[DRAFT_EXTEND bs=4]",
        "execute_model",
        "execute_context_menu_item",
        "capture_32_DECODE",
        "prefill",
        "decode[3]",
        "step[3]",
        "[Executor] _forward_step",
        "ProfilerStep#3",
    ],
)
def test_what_is_no_step_of_requests(name):
    trace = TraceBuilder()
    trace.annotation(name, 0, 100)
    assert trace.fill("serving_mark").rows("from serving_mark") == []


def test_of_annotations_inside_one_another_the_outermost():
    trace = TraceBuilder()
    trace.annotation("execute_diffusion_1_256x256", 0, 500)
    trace.annotation("execute_context_0(0)_generation_8(8)", 10, 300)
    trace.annotation("execute_context_0(0)_generation_9(9)", 500, 500)
    assert trace.fill("serving_mark").text("select dialect, requests, ts from serving_mark order by ts") == (
        "diffusion 1 0\nvllm 9 500"
    )


def test_sglang_is_told_by_its_own_inside_one_in_the_form_of_vllm():
    around = "execute_8_context_0(sq0sk0sqsq0sqsk0)_generation_8(sq8sk77sqsq8sqsk77)"
    trace = TraceBuilder()
    trace.annotation(around, 0, 500)
    trace.annotation("step[DECODE bs=8]", 10, 400)
    trace.annotation(around, 1000, 500)
    trace.annotation("step[DECODE bs=8]", 1010, 100)
    trace.annotation("step[DECODE bs=8 g_sq=8 g_sk=30]", 1200, 100)
    trace.annotation("step[DECODE bs=8]", 1300, 100)
    trace.annotation(around, 2000, 500)
    assert trace.fill("serving_mark").text("select dialect, kv_tokens, ts from serving_mark order by ts") == (
        "sglang 77 10\nsglang - 1010\nsglang 30 1200\nsglang - 1300\nvllm 77 2000"
    )


def test_each_thread_has_its_own():
    trace = TraceBuilder()
    trace.annotation("step[DECODE bs=8]", 0, 100, thread=0)
    trace.annotation("step[DECODE bs=8]", 50, 100, thread=1)
    assert trace.fill("serving_mark").text("select thread_id, ts from serving_mark order by ts") == "0 0\n1 50"


def test_without_any_on_the_host_those_on_the_stream_with_most_of_them():
    trace = TraceBuilder()
    projected = [(7, 0, 100), (7, 10, 20), (7, 200, 100), (20, 50, 10)]
    for number, (stream, ts, dur) in enumerate(projected):
        name = "step[DECODE bs=8]"
        trace.add("gpu_annotation", slice_id=number, device=0, stream=stream, name=name, ts=ts, dur=dur)
    trace.kernel("gemm", 0, 300)
    assert trace.fill("serving_mark").text("select thread_id, slice_id, ts from serving_mark order by ts") == (
        "- 0 0\n- 2 200"
    )
    trace.annotation("step[DECODE bs=8]", 5, 7)
    assert trace.fill("serving_mark").text("select thread_id, ts from serving_mark order by ts") == "0 5"
