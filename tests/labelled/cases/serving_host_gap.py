from __future__ import annotations


def serve(trace, names, pause):
    """Steps of 400 us of GPU work each, after each of which the host pauses for `pause` ns."""
    at = 0
    for name in names:
        trace.annotation(name, at, 420_000)
        trace.kernel("gemm", at + 15_000, 400_000, launched=(at + 5_000, 5_000))
        trace.call("cudaStreamSynchronize", at + 12_000, 405_000)
        at += 420_000 + pause
    trace.annotation("serve", 0, at)


def found(trace):
    serve(trace, ["step[DECODE bs=8]"] * 6, 200_000)


def found_mixed(trace):
    serve(trace, ["execute_context_1(100)_generation_7(7)", "execute_context_0(0)_generation_8(8)"] * 3, 200_000)


def clean(trace):
    """Nobody decodes when prompts come, one now and then."""
    serve(trace, ["step[EXTEND bs=1 toks=100]"] * 6, 200_000)


def clean_scheduled_ahead(trace):
    """The host takes as long, while the GPU computes the step before."""
    for number in range(6):
        trace.annotation("step[DECODE bs=8]", 400_000 * number, 150_000)
        trace.kernel("gemm", 400_000 * number + 300_000, 399_000, launched=(400_000 * number + 100_000, 5_000))


def clean_no_server(trace):
    serve(trace, [f"ProfilerStep#{number}" for number in range(6)], 200_000)


def clean_earlier_work(trace):
    """The first work waits for what was launched before the capture."""
    for number in range(6):
        trace.annotation("step[DECODE bs=8]", 400_000 * number, 150_000)
        trace.kernel("gemm", 2_000_000 + 400_000 * number, 399_000, launched=(400_000 * number + 100_000, 5_000))


def cannot_tell_one_step(trace):
    serve(trace, ["step[DECODE bs=8]"], 200_000)


def cannot_tell_who_decodes(trace):
    serve(trace, ["execute_new_1_cached_7"] * 6, 200_000)
