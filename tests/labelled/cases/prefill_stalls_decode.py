from __future__ import annotations

DECODE, PROMPT = "step[DECODE bs=8]", "step[EXTEND bs=1 toks=2000]"
VLLM_DECODE, VLLM_MIXED = "execute_context_0(0)_generation_8(8)", "execute_context_1(2000)_generation_8(8)"


def serve(trace, *steps):
    """Steps, (name, us), one after the other."""
    at = 0
    for name, dur in steps:
        trace.annotation(name, at, 1000 * dur)
        trace.kernel("gemm", at + 5_000, 1000 * dur - 6_000, launched=(at + 1_000, 3_000))
        at += 1000 * dur


def found(trace):
    serve(trace, *[(DECODE, 100), (DECODE, 100), (PROMPT, 300), (DECODE, 100)] * 4)


def found_mixed(trace):
    serve(trace, *[(VLLM_DECODE, 100), (VLLM_DECODE, 100), (VLLM_MIXED, 300)] * 4)


def clean_chunked(trace):
    """Prompts in chunks, beside next tokens, cost these little."""
    serve(trace, *[(VLLM_DECODE, 100), (VLLM_DECODE, 100), (VLLM_MIXED, 115)] * 4)


def clean_prompts_first(trace):
    """Nobody decodes while the prompts are computed."""
    serve(trace, *[(PROMPT, 300)] * 4, *[(DECODE, 100)] * 6)


def clean_once(trace):
    serve(trace, *[(DECODE, 100)] * 4, (PROMPT, 400), *[(DECODE, 100)] * 4)


def clean_no_server(trace):
    serve(trace, *[(f"ProfilerStep#{number}", 100 + 200 * (number % 3 == 2)) for number in range(12)])


def cannot_tell_one_step(trace):
    serve(trace, (PROMPT, 300))


def cannot_tell_who_decodes(trace):
    serve(trace, *[("execute_new_1_cached_7", 100)] * 6)


def found_beside_earlier_work(trace):
    """The first step waits for what was launched before the capture, the others do not."""
    trace.annotation(DECODE, -5_000_000, 5_000_000)
    trace.kernel("gemm", -200_000, 190_000, launched=(-4_900_000, 3_000))
    found(trace)
