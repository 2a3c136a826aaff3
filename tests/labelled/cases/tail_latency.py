from __future__ import annotations


def loop(trace, durations, busy):
    at = 0
    for step, dur in enumerate(durations):
        trace.annotation(f"ProfilerStep#{step}", at, dur)
        trace.kernel("gemm", at + dur - 400, busy, launched=(at + dur - 410, 5))
        at += dur


def found(trace):
    """The seventh of twelve."""
    loop(trace, [1000] * 6 + [3000] + [1000] * 5, 390)


def found_regular(trace):
    """Every fourth, half of them more than 1.5 medians."""
    loop(trace, [1000, 1000, 1000, 1800] * 3 + [1000], 390)


def found_without_gpu(trace):
    for step in range(12):
        trace.annotation(f"ProfilerStep#{step}", 1000 * step if step < 7 else 1000 * step + 2000, 900)
        trace.op("aten::mm", 1000 * step + 10 if step < 7 else 1000 * step + 2010, 800)


def found_function(trace):
    """Steps and samples of functions, from the ring of traceq.profile(on_slow=...)."""
    for step in range(6):
        begin, dur = 1000 * step, 3000 if step == 5 else 1000
        trace.annotation(f"traceq.step#{step}", begin, dur)
        trace.cpu("python", "train.py(1): train", begin, dur)
        trace.cpu("python", "train.py(8): write_log", begin + 100, dur - 900)


def clean(trace):
    """The last step waits for the GPU, which lags behind the host."""
    for step in range(8):
        trace.annotation(f"ProfilerStep#{step}", 1000 * step, 1000)
        trace.kernel("gemm", 1500 * step + 20, 1500, launched=(1000 * step + 10, 5))


def clean_jitter(trace):
    loop(trace, [1000, 1010, 990, 1000, 1050, 1000, 1100, 1000, 1000, 990, 1010, 1000], 390)


def cannot_tell(trace):
    loop(trace, [1000, 3000], 390)


def clean_prompts(trace):
    """Steps of a server are as long as their prompts."""
    at = 0
    for number in range(24):
        name, dur = ("step[EXTEND bs=1 toks=2000]", 3000) if number % 4 == 2 else ("step[DECODE bs=8]", 1000)
        trace.annotation(name, at, dur)
        trace.kernel("gemm", at + 400, dur - 500, launched=(at + 300, 5))
        at += dur
