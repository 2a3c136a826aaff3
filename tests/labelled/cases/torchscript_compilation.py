from __future__ import annotations

MS = 1_000_000


def loop(trace, first, *, rounds=6, inner="fused_mul_add_5680171862954066917", before=0):
    """A scripted function in a loop, between whose two operators `first` ns pass in the second call, 20 us in the others.

    `before` ns pass before the first call.
    """
    trace.op("aten::split", 0, 20_000)
    trace.kernel("split", 12_000, 5_000, launched=(5_000, 5_000))
    at = 30_000 + before
    for number in range(rounds):
        held = first if number == 1 else 20_000
        trace.op("delta_r2", at, 80_000 + held)
        trace.op("fallback_function", at + 5_000, 20_000)
        trace.kernel("sub", at + 20_000, 5_000, launched=(at + 10_000, 6_000))
        trace.op(inner, at + 30_000 + held, 40_000)
        trace.kernel("fused", at + 50_000 + held, 5_000, launched=(at + 40_000 + held, 6_000))
        trace.op("aten::mm", at + 90_000 + held, 30_000)
        trace.kernel("gemm", at + 110_000 + held, 60_000, launched=(at + 100_000 + held, 6_000))
        at += 200_000 + held


def found(trace):
    """The second call compiles, for 140 ms."""
    loop(trace, 140 * MS)


def found_before_the_first_call(trace):
    """Nothing is recorded for 290 ms before the function runs for the first time."""
    loop(trace, 20_000, before=290 * MS)


def clean(trace):
    """All calls take as long."""
    loop(trace, 20_000)


def clean_no_script(trace):
    """A function of the program that computes on the host for as long: nothing of TorchScript is in it."""
    for number in range(6):
        at = number * 150 * MS
        trace.op("delta_r2", at, 141 * MS if number == 1 else 60_000)
        trace.kernel("gemm", at + 142 * MS, 60_000, launched=(at + 141 * MS - 30_000, 6_000))


def cannot_tell(trace):
    """Operators were not recorded."""
    trace.annotation("ProfilerStep#1", 0, 10 * MS)
    trace.kernel("gemm", 5_000, 60_000, launched=(1_000, 2_000))
