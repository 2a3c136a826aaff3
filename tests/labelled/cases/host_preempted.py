from __future__ import annotations

STEP = 40_000_000
LAYERS = 50


def _steps(trace, *, steps=3):
    for number in range(steps):
        trace.annotation(f"ProfilerStep#{number}", number * STEP, STEP)
        yield number * STEP


def _loop(trace, frozen, *, name="aten::view", usual=6_000, gpu=5_000):
    """Layers of an operator that calls `name` and launches; `frozen` says for how long `name` stands still in (step, layer), ns.

    The GPU runs dry after each kernel, as it is faster than the host.
    """
    for number, start in enumerate(_steps(trace)):
        at = start + 50_000
        for layer in range(LAYERS):
            held = frozen.get((number, layer), 0)
            trace.op("aten::linear", at, 60_000 + held)
            trace.op(name, at + 10_000, usual + held)
            launched = at + 30_000 + held
            trace.kernel("gemm", launched + 8_000, gpu, launched=(launched, 6_000))
            at += 80_000 + held


def _often(ns):
    """Six times a step, at places that differ from step to step; the first step is quiet."""
    return {(step, (7 * number + step) % LAYERS): ns for step in (1, 2) for number in range(1, 7)}


def found(trace):
    """A view takes 4 ms now and then."""
    _loop(trace, _often(4_000_000))


def found_beside_collectives(trace):
    """The GPU waits in collectives for other ranks, each time while the thread stands still."""
    for number, start in enumerate(_steps(trace)):
        at = start + 50_000
        for layer in range(30):
            held = 4_000_000 if number and layer % 5 == 4 else 0
            trace.op("aten::linear", at, 60_000)
            trace.kernel("gemm", at + 40_000, 10_000, launched=(at + 30_000, 6_000))
            reduce = trace.kernel(
                "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
                at + 60_000,
                20_000 + held,
                launched=(at + 50_000, 6_000),
                stream=20,
            )
            trace.add("collective", slice_id=reduce, op="nccl:all_reduce", bytes=1 << 20, group_name="0", group_size=8)
            trace.op("aten::view", at + 65_000, 6_000 + held)
            at += 90_000 + held


def found_between_calls(trace):
    """It stands still in calls, and as often between two operators that come one after the other."""
    for number, start in enumerate(_steps(trace)):
        at = start + 50_000
        for layer in range(LAYERS):
            held = 4_000_000 if number and layer % 10 == 3 else 0
            between = 4_000_000 if number and layer % 25 == 8 else 0
            trace.op("aten::linear", at, 60_000 + held)
            trace.op("aten::view", at + 10_000, 6_000 + held)
            launched = at + 30_000 + held
            trace.kernel("gemm", launched + 8_000, 5_000, launched=(launched, 6_000))
            at += 80_000 + held + between


def clean_seldom(trace):
    """Three times in all: that may be anything."""
    _loop(trace, {(1, 5): 4_000_000, (2, 9): 3_000_000, (2, 30): 2_000_000})


def clean_always(trace):
    """The operator takes as long every time: that is its work."""
    _loop(trace, {}, name="aten::mm", usual=500_000)


def clean_waits(trace):
    """The call waits for the GPU."""
    for number, start in enumerate(_steps(trace)):
        at = start + 50_000
        for layer in range(LAYERS):
            held = 4_000_000 if number and layer % 10 == 3 else 0
            trace.op("aten::linear", at, 60_000 + held)
            trace.call("cudaStreamSynchronize", at + 10_000, 6_000 + held)
            launched = at + 30_000 + held
            trace.kernel("gemm", launched + 8_000, 5_000, launched=(launched, 6_000))
            at += 80_000 + held


def clean_allocates(trace):
    """It is inside a call that allocates."""
    for number, start in enumerate(_steps(trace)):
        at = start + 50_000
        for layer in range(LAYERS):
            held = 4_000_000 if number and layer % 10 == 3 else 0
            trace.op("aten::empty", at, 60_000 + held)
            trace.call("cudaMalloc", at + 10_000, 6_000 + held)
            launched = at + 70_000 + held
            trace.kernel("gemm", launched + 8_000, 5_000, launched=(launched, 6_000))
            at += 90_000 + held


def clean_first_use(trace):
    """Each of the slow calls launches a kernel that was never launched before: its code is loaded."""
    for number, start in enumerate(_steps(trace)):
        at = start + 50_000
        for layer in range(LAYERS):
            held = 4_000_000 if number and layer % 10 == 3 else 0
            trace.op("aten::linear", at, 60_000 + held)
            kernel = f"gemm_{number}_{layer}" if held else "gemm"
            trace.kernel(kernel, at + 42_000 + held, 5_000, launched=(at + 30_000, 6_000 + held))
            at += 80_000 + held


def clean_python(trace):
    """A frame of Python takes long: what it does is not known."""
    for number, start in enumerate(_steps(trace)):
        at = start + 50_000
        for layer in range(LAYERS):
            held = 4_000_000 if number and layer % 10 == 3 else 0
            trace.cpu("python", "train.py(12): log", at, 20_000 + held)
            trace.op("aten::linear", at + 22_000 + held, 40_000)
            launched = at + 30_000 + held
            trace.kernel("gemm", launched + 8_000, 5_000, launched=(launched, 6_000))
            at += 80_000 + held


def clean_between_calls_only(trace):
    """Nothing but the time between two operators is long: Python's collector of garbage, or the program itself."""
    for number, start in enumerate(_steps(trace)):
        at = start + 50_000
        for layer in range(LAYERS):
            trace.op("aten::linear", at, 60_000)
            trace.kernel("gemm", at + 38_000, 5_000, launched=(at + 30_000, 6_000))
            at += 80_000 + (4_000_000 if number and layer % 10 == 3 else 0)


def clean_autograd_between_passes(trace):
    """Autograd's thread has nothing to do from one backward pass to the next, which is milliseconds away now and then."""
    for number, start in enumerate(_steps(trace)):
        at = start + 50_000
        for layer in range(LAYERS):
            forward = 4_000_000 if number and layer % 10 == 3 else 30_000
            trace.op("aten::linear", at, 20_000)
            trace.kernel("gemm", at + 16_000, 5_000, launched=(at + 8_000, 6_000))
            if forward > 30_000:
                trace.annotation("loss", at + 25_000, forward - 25_000)
            backward = at + forward + 10_000
            trace.op("autograd::engine::evaluate_function: AddmmBackward0", backward, 20_000, thread=1)
            trace.kernel("gemm", backward + 16_000, 5_000, launched=(backward + 8_000, 6_000), thread=1)
            trace.op("autograd::engine::evaluate_function: MmBackward0", backward + 24_000, 20_000, thread=1)
            trace.kernel("gemm", backward + 40_000, 5_000, launched=(backward + 32_000, 6_000), thread=1)
            at += forward + 70_000


def found_in_autograd(trace):
    """Autograd's thread stands still between two of its nodes, while nobody else begins anything."""
    for number, start in enumerate(_steps(trace)):
        trace.op("aten::linear", start + 50_000, 40_000)
        trace.kernel("gemm", start + 70_000, 5_000, launched=(start + 60_000, 6_000))
        at = start + 100_000
        for layer in range(LAYERS):
            held = 4_000_000 if number and layer % 10 == 3 else 0
            trace.op("autograd::engine::evaluate_function: AddmmBackward0", at, 20_000, thread=1)
            trace.kernel("gemm", at + 16_000, 5_000, launched=(at + 8_000, 6_000), thread=1)
            at += 24_000 + held


def clean_busy(trace):
    """The thread stands still while the GPU has enough to do."""
    for start in _steps(trace):
        for number in range(12):
            trace.op("aten::linear", start + number * 40_000, 30_000)
            trace.kernel(
                "gemm",
                start + 300_000 + number * 3_300_000,
                3_290_000,
                launched=(start + number * 40_000 + 5_000, 6_000),
            )
        for number in range(6):
            trace.op("aten::view", start + 1_000_000 + number * 5_000_000, 4_000_000)
        for number in range(30):
            trace.op("aten::view", start + 35_000_000 + number * 10_000, 6_000)


def cannot_tell(trace):
    """The launching calls were not traced."""
    for start in _steps(trace):
        trace.kernel("gemm", start + 20_000, 300_000)
